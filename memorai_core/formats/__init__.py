"""Readers: files of conversations as sessions of `Message`, recognised by what they hold, not by their names."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from memorai_core.errors import ConfigurationError
from memorai_core.formats import chat, locomo, longmemeval
from memorai_core.formats.conversation import Conversation, Session
from memorai_core.formats.ids import file_stem
from memorai_core.formats.records import Record, read_records, shown

__all__ = ["Conversation", "Session", "read_conversations"]


def read_conversations(path: Path, *, user_id: str | None = None) -> Iterator[Conversation]:
    """The conversations of a LoCoMo, LongMemEval or chat-message file, JSON or JSONL, gzipped or not, in the file's order.

    Users are named by LoCoMo's `sample_id`, LongMemEval's `question_id`, or the name of a chat file. `user_id` names the
    user otherwise, where the file holds one conversation. Each conversation is checked as a whole before it is given;
    what cannot be read raises FormatError with the file, the place, what was found and the fix.
    """
    if user_id is not None and not user_id.strip():
        raise ConfigurationError("user_id is blank; name the user, or leave it out")
    records = read_records(path)
    first = next(records)  # read_records raises rather than give nothing
    if chat.recognises(first.value):
        yield _checked(first, chat.read(chain([first], records), user_id or file_stem(path), path))
    elif locomo.recognises(first.value) or longmemeval.recognises(first.value):
        yield from _datasets(first, records, user_id)
    else:
        raise first.place.error(
            f"found {shown(first.value)}; it should be a LoCoMo sample (sample_id, conversation), a LongMemEval instance "
            "(question_id, haystack_sessions) or a chat message (role, content)"
        )


def _datasets(first: Record, records: Iterator[Record], user_id: str | None) -> Iterator[Conversation]:
    reader = locomo.read if locomo.recognises(first.value) else longmemeval.read
    if user_id is not None:
        if next(records, None) is not None:
            raise ConfigurationError(f"{first.place.path} holds several conversations, so one user_id does not do: leave it out")
        yield Conversation(user_id, _checked(first, reader(first)).sessions)
        return
    places: dict[str, str] = {}
    for record in chain([first], records):
        conversation = _checked(record, reader(record))
        if conversation.user_id in places:
            raise record.place.error(f"the id {conversation.user_id!r} already names {places[conversation.user_id]}; ids must differ")
        places[conversation.user_id] = record.place.where
        yield conversation


def _checked(record: Record, conversation: Conversation) -> Conversation:
    if not conversation.sessions:
        raise record.place.error("found no turns; a conversation needs at least one")
    return conversation
