"""How an encoder wants its texts and gives its vectors: what is known of some models, and what a model's own files say."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypedDict, TypeVar, cast, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from memorai_core.embedding.windows import Pooling
from memorai_core.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class EncoderSettings:
    """What makes a sentence vector of an encoder's hidden states; the defaults are for a model that nothing is known of."""

    pooling: Pooling = "mean"
    normalise: bool = True
    query_prefix: str = ""
    document_prefix: str = ""
    window: int | None = None
    """Tokens the model takes at once, special ones and prefix included; None for what it allows, at most 512."""


class Choices(TypedDict, total=False):
    """Some of an encoder's settings."""

    pooling: Pooling
    normalise: bool
    query_prefix: str
    document_prefix: str
    window: int | None


_BGE_QUERY = "Represent this sentence for searching relevant passages: "
_E5_QUERY = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
_KNOWN: dict[str, EncoderSettings] = {
    r"m?contriever(-msmarco)?": EncoderSettings(normalise=False, window=512),
    r"all-mpnet-base-v2": EncoderSettings(window=384),
    r"all-minilm-l6-v2": EncoderSettings(window=256),
    r"bge-m3": EncoderSettings(pooling="cls", window=8192),
    r"bge-(small|base|large)-en-v1\.5": EncoderSettings(pooling="cls", query_prefix=_BGE_QUERY, window=512),
    r"(multilingual-)?e5-(small|base|large)(-v2|-unsupervised)?": EncoderSettings(
        query_prefix="query: ", document_prefix="passage: ", window=512
    ),
    r"multilingual-e5-large-instruct": EncoderSettings(query_prefix=_E5_QUERY, window=512),
}
"""By the last part of a model's name or folder, in lower case."""

ReadText = Callable[[str], str | None]
"""Gives a file of the model, or None where it has no such file."""


def encoder_settings(name_or_path: str, read: ReadText, chosen: Choices) -> EncoderSettings:
    """The settings of a model: what was chosen, else what its sentence-transformers files say, else what is known of it."""
    settings = replace(_known(name_or_path), **(_from_files(name_or_path, read) | chosen))
    if settings.pooling not in get_args(Pooling):
        raise ConfigurationError(
            f"{name_or_path} pools by {settings.pooling!r}, which memorai cannot; pass pooling='mean' or 'cls', or take another model"
        )
    if settings.window is not None and settings.window < 1:
        raise ConfigurationError(f"window must be at least 1, not {settings.window}")
    return settings


def _known(name_or_path: str) -> EncoderSettings:
    name = re.split(r"[/\\]", name_or_path.rstrip("/\\"))[-1].lower()
    return next((settings for pattern, settings in _KNOWN.items() if re.fullmatch(pattern, name)), EncoderSettings())


class _Module(BaseModel):
    type: str
    path: str = ""


class _Transformer(BaseModel):
    max_seq_length: int | None = None


_MODULES = TypeAdapter(list[_Module])
_TRANSFORMER = TypeAdapter(_Transformer)
_POOLING = TypeAdapter(dict[str, object])


def _from_files(name_or_path: str, read: ReadText) -> Choices:
    modules = _parsed(_MODULES, read, "modules.json")
    if modules is None:
        return {}
    paths = {module.type.rsplit(".", 1)[-1]: module.path for module in modules}
    if others := paths.keys() - {"Transformer", "Pooling", "Normalize"}:
        raise ConfigurationError(f"{name_or_path} has layers behind its encoder that memorai cannot run: {', '.join(sorted(others))}")
    choices: Choices = {"normalise": "Normalize" in paths}
    pooling = _parsed(_POOLING, read, f"{paths['Pooling']}/config.json") if "Pooling" in paths else None
    if pooling is not None:
        choices["pooling"] = _pooling(pooling)
    transformer = _parsed(_TRANSFORMER, read, "sentence_bert_config.json")
    if transformer is not None and transformer.max_seq_length is not None:
        choices["window"] = transformer.max_seq_length
    return choices


def _pooling(config: dict[str, object]) -> Pooling:
    """What the file names, in its newer or its older form; what memorai cannot do is refused later, unless another was chosen."""
    older = [
        key.removeprefix("pooling_mode_").removesuffix("_token").removesuffix("_tokens")
        for key, on in config.items()
        if key.startswith("pooling_mode_") and on is True
    ]
    return cast(Pooling, config.get("pooling_mode", "+".join(older)))


T = TypeVar("T")


def _parsed(kind: TypeAdapter[T], read: ReadText, file: str) -> T | None:
    text = read(file)
    if text is None:
        return None
    try:
        return kind.validate_json(text)
    except ValidationError as error:
        raise ConfigurationError(f"{file} of the model is not what sentence-transformers writes: {error}") from error
