"""Words as BM25 counts them, in any script.

A term is a case-folded, stemmed word; scripts written without spaces give characters and their bigrams; an emoji is a term of its own.
"""

from collections import Counter
from functools import lru_cache
from hashlib import blake2b
from unicodedata import normalize

import numpy as np
import regex
import Stemmer

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー"
_TOKEN = regex.compile(
    rf"""(?P<unspaced>[{_UNSPACED}][\p{{M}}{_UNSPACED}]*)
    | [[\p{{L}}\p{{N}}]--[{_UNSPACED}]] [[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]* (?:['’][[\p{{L}}]--[{_UNSPACED}]]+)?
    | \p{{So}}""",
    regex.V1 | regex.VERBOSE,
)
_ENGLISH = Stemmer.Stemmer("english")

HASH = np.dtype("<u8")
COUNT = np.dtype("<u2")


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The stem of a case-folded word; words that are not ASCII are their own stem."""
    word = word.replace("’", "'").removesuffix("'s")
    return str(_ENGLISH.stemWord(word)) if word.isascii() else word


def terms(text: str) -> list[str]:
    """The terms of a text in order, repeats included."""
    found: list[str] = []
    for token in _TOKEN.finditer(normalize("NFKC", text).casefold()):
        word = token.group()
        if token.lastgroup != "unspaced":
            found.append(stem(word))
        else:
            found.extend(word)
            found.extend(word[i : i + 2] for i in range(len(word) - 1))
    return found


@lru_cache(maxsize=100_000)
def term_hash(term: str) -> int:
    """64 bits that stand for a term; two terms of one memory meet by chance once in billions."""
    return int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "little")


def term_hashes(text: str) -> np.ndarray:
    """The distinct terms of a text as hashes, sorted, uint64."""
    return np.unique(np.fromiter((term_hash(term) for term in terms(text)), HASH))


def term_counts(text: str) -> tuple[bytes, bytes]:
    """The distinct terms of a text (uint64 hashes) and how often each stands in it (uint16), as bytes for storing."""
    counts = Counter(terms(text))
    hashes = np.fromiter(map(term_hash, counts), HASH, len(counts))
    return hashes.tobytes(), np.minimum(np.fromiter(counts.values(), np.int64, len(counts)), 65535).astype(COUNT).tobytes()
