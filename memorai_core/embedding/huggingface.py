"""Any Hugging Face encoder as an embedder; needs the extra `transformers`."""

import threading
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from memorai_core.embedding.encoders import Choices, EncoderSettings, encoder_settings
from memorai_core.embedding.windows import Pooling, Tokens, cut, embed_in_windows, first_tokens, padded, pooled, unit
from memorai_core.errors import ConfigurationError
from memorai_core.models import clean_text
from memorai_core.threads import in_thread

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedTokenizerBase

_TOKENS_A_WINDOW = 128
"""A batch of `batch_size` windows may have this many tokens a window on average; of longer windows it takes fewer."""
_LONGEST_UNASKED = 512


class TransformersEmbedder:
    """Embeds with an encoder given by its name on the Hugging Face Hub or by a local folder.

    How a model pools, whether its vectors are scaled to length 1, which prefixes it was trained with and how many tokens it
    takes at once comes from the arguments; what they leave open, from the model's sentence-transformers files; else, for
    Contriever, all-mpnet-base-v2, all-MiniLM-L6-v2, BGE-M3, BGE v1.5 and E5, from what memorai knows; else it is the mean,
    scaled, without prefixes. A longer text is embedded in overlapping windows, at most 16, each behind the prefix.

    The model is loaded on first use, in single precision; one embedder may be used from several threads. `device` is torch's
    ("cpu", "cuda:1"); by default the first GPU where there is one. `batch_size` is for texts of up to 128 tokens.
    """

    def __init__(
        self,
        name_or_path: str | Path,
        *,
        pooling: Pooling | None = None,
        normalise: bool | None = None,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
        window: int | None = None,
        device: str | None = None,
        batch_size: int = 32,
    ) -> None:
        if batch_size < 1:
            raise ConfigurationError(f"batch_size must be at least 1, not {batch_size}")
        if missing := [library for library in ("torch", "transformers") if find_spec(library) is None]:
            raise ConfigurationError(f"TransformersEmbedder needs {' and '.join(missing)}: pip install 'memorai-plugins[transformers]'")
        self._name = str(name_or_path)
        given = {
            "pooling": pooling,
            "normalise": normalise,
            "query_prefix": query_prefix,
            "document_prefix": document_prefix,
            "window": window,
        }
        self._chosen = cast(Choices, {name: value for name, value in given.items() if value is not None})
        self._device = device
        self._batch_size = batch_size
        self._encoder: _Encoder | None = None
        self._loading = threading.Lock()

    def embed_windows(self, texts: list[str]) -> list[np.ndarray]:
        """One array of shape (windows, dimension), float32, for each text."""
        encoder = self._loaded()
        return self._embed(encoder, texts, encoder.settings.document_prefix)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text: the mean of its windows, scaled to length 1 if the model's vectors are."""
        encoder = self._loaded()
        return [_mean(encoder, windows) for windows in self._embed(encoder, texts, encoder.settings.document_prefix)]

    def embed_query(self, text: str) -> list[float]:
        """One vector, made with the model's prefix for questions."""
        encoder = self._loaded()
        return _mean(encoder, self._embed(encoder, [text], encoder.settings.query_prefix)[0])

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """`embed_documents`, in a thread."""
        return await in_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """`embed_query`, in a thread."""
        return await in_thread(self.embed_query, text)

    def _embed(self, encoder: "_Encoder", texts: list[str], prefix: str) -> list[np.ndarray]:
        return embed_in_windows(
            texts,
            lambda text: encoder.windows(prefix, text),
            encoder.vectors,
            batch_size=self._batch_size,
            batch_tokens=self._batch_size * _TOKENS_A_WINDOW,
        )

    def _loaded(self) -> "_Encoder":
        with self._loading:
            if self._encoder is None:
                self._encoder = _load(self._name, self._chosen, self._device)
            return self._encoder


def _mean(encoder: "_Encoder", windows: np.ndarray) -> list[float]:
    mean: np.ndarray = windows.mean(axis=0)
    vector: list[float] = (unit(mean) if encoder.settings.normalise else mean).tolist()
    return vector


@dataclass(frozen=True, slots=True)
class _Encoder:
    """A loaded model, and how it is used."""

    model: "nn.Module"
    tokenizer: "PreTrainedTokenizerBase"
    settings: EncoderSettings
    device: str
    head: Tokens
    """The special tokens before a text."""
    tail: Tokens
    pad: int
    window: int

    def windows(self, prefix: str, text: str) -> list[Tokens]:
        before = _encode(self.tokenizer, prefix.rstrip())
        size = self.window - len(self.head) - len(before) - len(self.tail)
        if size < 1:
            raise ConfigurationError(f"a window of {self.window} tokens has no room for a text behind the prefix {prefix!r}")

        def encode(part: str) -> Tokens:
            tokens = _encode(self.tokenizer, prefix + part)
            # Some tokenizers make another first token of a word at the beginning than of one behind a prefix.
            return tokens[len(before) :] if tokens[: len(before)] == before else _encode(self.tokenizer, part)

        tokens = first_tokens(encode, clean_text(text), size)
        # An empty text in a tokenizer without special tokens would be no token at all.
        return [[*self.head, *before, *window, *self.tail] or [self.pad] for window in cut(tokens, size)]

    def vectors(self, windows: list[Tokens]) -> np.ndarray:
        import torch

        ids, mask = padded(windows, self.pad)
        with torch.inference_mode():
            output = self.model(
                input_ids=torch.from_numpy(ids).to(self.device),
                attention_mask=torch.from_numpy(mask).to(self.device),
            )
        vectors = pooled(output.last_hidden_state.cpu().numpy(), mask, self.settings.pooling)
        return unit(vectors) if self.settings.normalise else vectors


def _load(name: str, chosen: Choices, device: str | None) -> _Encoder:
    # Imported here, so that importing memorai loads no model library.
    import torch
    import transformers

    settings = encoder_settings(name, lambda file: _file_of(name, file), chosen)
    try:
        config = transformers.AutoConfig.from_pretrained(name)
        tokenizer = transformers.AutoTokenizer.from_pretrained(name)
        # Of T5 and its like only the encoder is wanted.
        kind = transformers.AutoModelForTextEncoding if config.is_encoder_decoder else transformers.AutoModel
        model = kind.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"the model {name!r} cannot be loaded: {error}") from error
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    head, tail = _special_tokens(tokenizer)
    return _Encoder(
        model=model.to(device).float().eval(),
        tokenizer=tokenizer,
        settings=settings,
        device=device,
        head=head,
        tail=tail,
        pad=tokenizer.pad_token_id or 0,
        window=_window(name, settings.window, tokenizer.model_max_length, getattr(config, "max_position_embeddings", None)),
    )


def _file_of(name: str, file: str) -> str | None:
    from transformers.utils.hub import cached_file

    try:
        path = cached_file(name, file)
    except OSError:
        return None
    return Path(path).read_text(encoding="utf-8") if path else None


def _encode(tokenizer: "PreTrainedTokenizerBase", text: str) -> Tokens:
    # Not verbose: a text longer than the model's window is no reason for a warning here.
    tokens: Tokens = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    return tokens


def _special_tokens(tokenizer: "PreTrainedTokenizerBase") -> tuple[Tokens, Tokens]:
    """What the tokenizer puts before and behind a text."""
    bare = _encode(tokenizer, "a")
    whole: Tokens = tokenizer("a")["input_ids"]
    start = next(i for i in range(len(whole)) if whole[i : i + len(bare)] == bare)
    return whole[:start], whole[start + len(bare) :]


def _window(name: str, wanted: int | None, of_tokenizer: int, of_model: int | None) -> int:
    if wanted is None:
        return min(_LONGEST_UNASKED, of_tokenizer, of_model or _LONGEST_UNASKED)
    if of_model is not None and wanted > of_model:
        raise ConfigurationError(f"the model {name!r} takes at most {of_model} tokens at once, not {wanted}: pass a smaller window")
    return wanted
