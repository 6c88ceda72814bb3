"""The sentence layer: every sentence of a kept turn becomes the description of extractive triplets (ours).

A sentence with its speaker is one description; from the speaker to each key phrase of the sentence goes one triplet. It is
applied after any analyzer, since it adds to what a model extracts, and it works in any language that Unicode holds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import regex

from memorai_core.identity import canonical_name
from memorai_core.indexing.stopwords import STOPWORDS
from memorai_core.models import SegmentMemory, TripletDraft, Turn
from memorai_core.terms import stem

RELATION = "speaks_of"
SENTENCES_A_TURN = 64
"""A longer turn's further sentences are found through its text and its words alone."""
PHRASES_A_SENTENCE = 16
WORDS_A_PHRASE = 3
SHORTEST = 4
LONG_ENOUGH = 20
"""A sentence of fewer words and characters goes with its neighbour: "Wow!" says nothing alone."""
LONGEST = 1000
"""Characters of a sentence; a run without any stop (a log, a table) is cut into pieces of this length."""

_END = regex.compile(  # possessive, and only from where a run begins: a long run of dots must not be tried from each of them
    r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s)|[。！？｡؟۔।॥]+[\"'”’)\]」』]*|\n+"
)
_WORD = regex.compile(r"\w+")
_UNSPACED_CHARACTER = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}]")
_MARKUP = " \t\r\n*-#•"
_DOTTED = "mr mrs ms dr prof st vs etc e.g i.e no jr sr inc ltd approx dept fig a.m p.m"
_ABBREVIATIONS = frozenset(_DOTTED.split())
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}"
_PHRASE_TOKEN = regex.compile(  # Hiragana is left out: it mostly writes particles and endings, so phrases break at it
    rf"""\p{{Han}}+ | [\p{{Katakana}}ー]+ | \p{{Hangul}}+
    | [[\p{{L}}\p{{N}}]--[{_UNSPACED}]] [[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]* (?:['’]\p{{L}}+)?""",
    regex.V1 | regex.VERBOSE,
)


def sentences(text: str) -> list[str]:
    """The sentences of a text in order, without list marks; those of under SHORTEST words joined to the next."""
    found: list[str] = []
    waiting = ""
    for sentence in _cut(text):
        waiting = f"{waiting} {sentence}" if waiting else sentence
        if len(waiting) >= LONG_ENOUGH or len(_WORD.findall(waiting)) + len(_UNSPACED_CHARACTER.findall(waiting)) // 2 >= SHORTEST:
            found.append(waiting)
            waiting = ""
    if waiting and found:
        found[-1] = f"{found[-1]} {waiting}"
    elif waiting:
        found.append(waiting)
    return found


@dataclass(frozen=True, slots=True)
class KeyPhrase:
    """A run of content words: as written, and the key by which it is the same phrase elsewhere."""

    text: str
    key: str


def key_phrases(sentence: str) -> list[KeyPhrase]:
    """The runs of content words of a sentence, of a long run the last three words, each once, in order.

    A key is case-folded, and stemmed but for words that begin with a capital: names are not to run together.
    """
    found: dict[str, KeyPhrase] = {}
    run: list[tuple[str, str]] = []

    def close() -> None:
        if run:
            phrase = KeyPhrase(" ".join(text for text, _ in run[-WORDS_A_PHRASE:]), " ".join(key for _, key in run[-WORDS_A_PHRASE:]))
            found.setdefault(phrase.key, phrase)
            run.clear()

    end = 0
    for token in _PHRASE_TOKEN.finditer(sentence):
        word = token.group().replace("’", "'").removesuffix("'s")
        folded = word.casefold()
        empty = folded in STOPWORDS or folded.partition("'")[0] in STOPWORDS
        if empty or sentence[end : token.start()].strip():
            close()
        end = token.end()
        if not empty and (len(word) > 1 or not word.isascii()):
            run.append((word, folded if word[0].isupper() else stem(folded)))
    close()
    return list(found.values())[:PHRASES_A_SENTENCE]


def with_sentences(segment: SegmentMemory, turns: Sequence[Turn]) -> SegmentMemory:
    """A segment's memory with the sentence layer of its kept turns added; `turns` are the segment's own.

    What is said twice is one triplet.
    """
    added = [draft for turn in turns if turn.turn_id in segment.kept for draft in _drafts(turn)]
    return replace(segment, triplets=tuple(dict.fromkeys((*segment.triplets, *added))))


def _drafts(turn: Turn) -> Iterable[TripletDraft]:
    speaker = canonical_name(turn.speaker)
    for sentence in sentences(turn.text)[:SENTENCES_A_TURN]:
        description = f"{turn.speaker}: {sentence}"
        for phrase in key_phrases(sentence):
            if speaker not in (phrase.key, canonical_name(phrase.text)):
                yield TripletDraft(turn.speaker, RELATION, phrase.text, description, (turn.turn_id,), object_key=phrase.key)


def _cut(text: str) -> Iterable[str]:
    start = 0
    for end in _END.finditer(text):
        if end.group() == "." and _abbreviated(text[max(start, end.start() - 40) : end.start()]):
            continue
        yield from _pieces(text[start : end.end()])
        start = end.end()
    yield from _pieces(text[start:])


def _pieces(sentence: str) -> Iterable[str]:
    sentence = sentence.strip(_MARKUP)
    for start in range(0, len(sentence), LONGEST):
        if _WORD.search(piece := sentence[start : start + LONGEST]):
            yield piece


def _abbreviated(before: str) -> bool:
    """Whether the stop after this text belongs to an abbreviation, an initial or a list number."""
    words = before.split()
    if not words:
        return False
    last = words[-1].lstrip("(\"'").casefold()
    return last in _ABBREVIATIONS or (len(last) == 1 and last.isalpha()) or (last.isdigit() and len(words) == 1)
