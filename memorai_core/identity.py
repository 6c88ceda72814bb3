"""How ids are made: sha256 over the parts that make a thing what it is, never a random or a process-bound number."""

from collections.abc import Iterable
from hashlib import sha256
from unicodedata import normalize


def digest(*parts: str) -> str:
    """32 hex digits for a tuple of texts; no two tuples run together, since each part's length goes in."""
    encoded = [part.encode("utf-8", "replace") for part in parts]
    return sha256(b"".join([len(data).to_bytes(8, "big") + data for data in encoded])).hexdigest()[:32]


def turn_id(user_id: str, session_id: str, source_id: str | None, position: int) -> str:
    """A turn is known by its message's own id, or else by its place in the session, which is never given twice."""
    key = ("source", source_id) if source_id is not None else ("position", str(position))
    return digest("turn", user_id, session_id, *key)


def segment_id(user_id: str, session_id: str, turn_ids: tuple[str, ...]) -> str:
    """A segment is known by its turns."""
    return digest("segment", user_id, session_id, *turn_ids)


def canonical_name(name: str) -> str:
    """The form in which two names are the same entity: NFKC, case-folded, white space collapsed."""
    return " ".join(normalize("NFKC", name).casefold().split())


def entity_id(user_id: str, name: str) -> str:
    """An entity is known by its canonical name."""
    return digest("entity", user_id, canonical_name(name))


def triplet_id(user_id: str, segment: str, *said: str) -> str:
    """A triplet is known by its segment, what it says (subject, relation, object, description), and the turns it rests on."""
    return digest("triplet", user_id, segment, *said)


def text_key(text: str) -> bytes:
    """16 bytes that stand for a text, so that it is embedded once."""
    return sha256(text.encode("utf-8", "replace")).digest()[:16]


def text_keys(texts: Iterable[str]) -> dict[str, bytes]:
    """The key of each text that is not empty."""
    return {text: text_key(text) for text in dict.fromkeys(texts) if text}
