"""Stand-ins for models, for the tests of memorai and of what is built on it."""

import asyncio
import hashlib
import json
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import cycle as endlessly
from threading import Lock
from xml.etree import ElementTree

import numpy as np

from memorai_core.errors import ConfigurationError
from memorai_core.flow import Prompt, Reply
from memorai_core.identity import canonical_name
from memorai_core.indexing.grounding import content_terms

_WORD = re.compile(r"\w+|[^\w\s\x00-\x7f]")
"""Words, and signs beyond ASCII one by one, so that an emoji counts as a word and a full stop does not."""


class HashingEmbedder:
    """Embeds without a model: texts with words, or parts of words, in common have similar vectors, in any script.

    The same text has the same vector in every process. Vectors have length 1, or 0 for a text without a word.
    """

    def __init__(self, dimension: int = 64) -> None:
        if dimension < 1:
            raise ConfigurationError(f"dimension must be at least 1, not {dimension}")
        self.dimension = dimension
        self._of_word = lru_cache(maxsize=50_000)(self._hashed)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector of `dimension` numbers a text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector that `embed_documents` gives."""
        vector = np.zeros(self.dimension)
        for word in _WORD.findall(text.casefold()):
            vector += self._of_word(word)
        # The sum of squares is whole numbers, so the same on every machine.
        length = math.sqrt(float(vector @ vector)) or 1.0
        return [float(component) / length for component in vector]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """`embed_documents`, in a thread."""
        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """`embed_query`, in a thread."""
        return await asyncio.to_thread(self.embed_query, text)

    def _hashed(self, word: str) -> np.ndarray:
        """The word and its stretches of three letters, of two in other scripts, each as plus or minus 1 in one place."""
        size = 3 if word.isascii() else 2
        bounded = f"<{word}>"
        vector = np.zeros(self.dimension)
        for part in [word, *(bounded[i : i + size] for i in range(len(bounded) - size + 1))]:
            number = int.from_bytes(hashlib.sha256(part.encode("utf-8", "surrogatepass")).digest()[:8])
            vector[number // 2 % self.dimension] += 1 if number % 2 else -1
        return vector


class ScriptedChatModel:
    """A chat model that says what it is told to, and records what it is asked.

    `replies` are texts in order (over and over with `cycle`), or a function that computes one from its prompt, such as
    `faithful_reply`; an exception among them is raised, as an error of transport would be. `faults` puts another text or an
    exception in place of single replies, by number from 0. `delay` is how many seconds a batch takes.
    """

    def __init__(
        self,
        replies: Sequence[str | Exception] | Callable[[Prompt], str | Exception],
        *,
        cycle: bool = False,
        delay: float = 0.0,
        faults: Mapping[int, str | Exception] | None = None,
        count_tokens: Callable[[str], int] = lambda text: len(text.split()),
    ) -> None:
        if not callable(replies) and not replies:
            raise ConfigurationError("a script needs at least one reply")
        self.prompts: list[Prompt] = []
        """Every prompt so far, in order."""
        self.batches: list[int] = []
        """How many prompts each call brought."""
        self._compute = replies if callable(replies) else None
        self._script = None if callable(replies) else endlessly(replies) if cycle else iter(replies)
        self._delay = delay
        self._faults = dict(faults or {})
        self._count_tokens = count_tokens
        self._lock = Lock()

    def generate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """One reply a prompt, in order."""
        time.sleep(self._delay)
        return self._replies(prompts)

    async def agenerate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """What `generate` gives; batches of several callers run side by side."""
        await asyncio.sleep(self._delay)
        return self._replies(prompts)

    def _replies(self, prompts: Sequence[Prompt]) -> list[Reply]:
        with self._lock:
            self.batches.append(len(prompts))
            texts = [self._next(prompt) for prompt in prompts]
        return [Reply(text, self._count_tokens(prompt.text), self._count_tokens(text)) for prompt, text in zip(prompts, texts, strict=True)]

    def _next(self, prompt: Prompt) -> str:
        number = len(self.prompts)
        self.prompts.append(prompt)
        said = self._compute(prompt) if self._compute else next(self._script or iter(()), None)
        said = self._faults.get(number, said)
        if said is None:
            raise AssertionError(f"the script has no reply left for prompt {number}, {prompt.made_by}")
        if isinstance(said, Exception):
            raise said
        return said


def faithful_reply(prompt: Prompt) -> str:
    """What a model that makes no mistake could say to each of memorai's prompts: rules in place of understanding.

    A segment every six turns; a turn of four words and more is kept, and says one thing of its speaker, by its longest word.
    """
    start = prompt.text.rindex("<conversation>") if "<conversation>" in prompt.text else len(prompt.text)
    turns = _numbered_turns(prompt.text[start : prompt.text.rfind("</conversation>")] + "</conversation>")
    told = {number: (speaker, word) for number, speaker, words in turns if len(words) >= 4 and (word := _longest(words, speaker))}
    summary = (
        f"{' and '.join(dict.fromkeys(speaker for _, speaker, _ in turns))} talk: {' '.join(w for *_, ws in turns[:3] for w in ws[:8])}."
    )
    triplets = [
        {"subject": speaker, "relation": "speaks_of", "object": word, "description": f"{speaker} speaks of {word}.", "turns": [number]}
        for number, (speaker, word) in told.items()
    ]
    mentions: dict[str, list[int]] = {}
    for number, names in told.items():
        for name in dict.fromkeys(names):
            mentions.setdefault(name, []).append(number)
    entities = [{"name": name, "description": f"{name} is spoken of.", "turns": numbers} for name, numbers in mentions.items()]
    parts = {
        "segmentation": {"starts": list(range(1, prompt.cites + 1, 6))},
        "gate": {"kept": list(told)},
        "summary": {"summary": summary},
        "triplets": {"triplets": triplets},
        "entities": {"entities": entities},
        "fused": {"kept": list(told), "summary": summary, "triplets": triplets, "entities": entities},
        "judge": {"reason": "The response is the reference.", "right": True},
    }
    return json.dumps(parts[prompt.name]) if prompt.name in parts else "It is as the memory says [1]."


def _longest(words: list[str], speaker: str) -> str:
    """The longest word that has a meaning of its own, is fit for a name and is not the speaker's, or nothing."""
    longest_first = sorted(words, key=len, reverse=True)
    fit = (word for word in longest_first if word[0].isalpha() and len(word) <= 60 and content_terms(word))
    return next((word for word in fit if canonical_name(word) != canonical_name(speaker)), "")


def _numbered_turns(conversation: str) -> list[tuple[int, str, list[str]]]:
    """The number, speaker and words of each numbered turn."""
    turns = ElementTree.fromstring(conversation).iter("turn") if conversation.startswith("<conversation>") else ()
    return [(int(turn.get("n", 0)), turn.get("by", ""), _WORD.findall(turn.text or "")) for turn in turns if turn.get("n")]
