import json

import pytest

from memorai_core.embedding.encoders import Choices, EncoderSettings, encoder_settings
from memorai_core.errors import ConfigurationError

PLAIN = {"0": "Transformer", "1_Pooling": "Pooling"}
NORMALISED = {**PLAIN, "2_Normalize": "Normalize"}


def settings(name: str, files: dict[str, object] | None = None, chosen: Choices | None = None) -> EncoderSettings:
    texts = {path: json.dumps(content) for path, content in (files or {}).items()}
    return encoder_settings(name, texts.get, chosen or {})


def modules(kinds: dict[str, str]) -> list[dict[str, object]]:
    return [{"idx": n, "path": path, "type": f"sentence_transformers.models.{kind}"} for n, (path, kind) in enumerate(kinds.items())]


@pytest.mark.parametrize(
    ("name", "pooling", "normalise", "query_prefix", "document_prefix", "window"),
    [
        ("facebook/contriever", "mean", False, "", "", 512),
        ("facebook/contriever-msmarco", "mean", False, "", "", 512),
        ("sentence-transformers/all-mpnet-base-v2", "mean", True, "", "", 384),
        ("sentence-transformers/all-MiniLM-L6-v2", "mean", True, "", "", 256),
        ("BAAI/bge-m3", "cls", True, "", "", 8192),
        ("BAAI/bge-small-en-v1.5", "cls", True, "Represent this sentence for searching relevant passages: ", "", 512),
        ("intfloat/e5-small-v2", "mean", True, "query: ", "passage: ", 512),
        ("intfloat/multilingual-e5-base", "mean", True, "query: ", "passage: ", 512),
        ("/models/multilingual-e5-base/", "mean", True, "query: ", "passage: ", 512),
        ("C:\\models\\bge-m3", "cls", True, "", "", 8192),
        ("someone/unknown", "mean", True, "", "", None),
        ("intfloat/e5-mistral-7b-instruct", "mean", True, "", "", None),
    ],
)
def test_known_models(name: str, pooling: str, normalise: bool, query_prefix: str, document_prefix: str, window: int | None) -> None:
    known = settings(name)
    assert (known.pooling, known.normalise, known.window) == (pooling, normalise, window)
    assert (known.query_prefix, known.document_prefix) == (query_prefix, document_prefix)


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False, "word_embedding_dimension": 384}, "cls"),
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_lasttoken": False, "include_prompt": True}, "cls"),
        ({"pooling_mode": "cls", "include_prompt": True}, "cls"),
    ],
)
def test_a_models_own_files_say_how_it_pools(config: dict[str, object], pooling: str) -> None:
    assert settings("x", {"modules.json": modules(PLAIN), "1_Pooling/config.json": config}).pooling == pooling


def test_a_models_own_files_say_whether_it_normalises_and_its_window() -> None:
    window = {"sentence_bert_config.json": {"max_seq_length": 77, "do_lower_case": False}}
    assert settings("x", {"modules.json": modules(PLAIN), **window}) == EncoderSettings(normalise=False, window=77)
    assert settings("x", {"modules.json": modules(NORMALISED)}) == EncoderSettings(normalise=True)


def test_files_go_before_what_is_known_and_arguments_before_files() -> None:
    files = {
        "modules.json": modules(PLAIN),
        "1_Pooling/config.json": {"pooling_mode_mean_tokens": True},
        "sentence_bert_config.json": {"max_seq_length": 99},
    }
    assert settings("intfloat/e5-base", files) == EncoderSettings("mean", False, "query: ", "passage: ", 99)
    chosen: Choices = {"pooling": "cls", "normalise": True, "query_prefix": "", "document_prefix": "d: ", "window": 12}
    assert settings("intfloat/e5-base", files, chosen) == EncoderSettings("cls", True, "", "d: ", 12)


def test_another_pooling_is_refused_unless_one_is_chosen() -> None:
    files = {"modules.json": modules(NORMALISED), "1_Pooling/config.json": {"pooling_mode_lasttoken": True}}
    with pytest.raises(ConfigurationError, match=r"x pools by 'lasttoken'.*pooling='mean' or 'cls'"):
        settings("x", files)
    assert settings("x", files, {"pooling": "mean"}).pooling == "mean"
    both = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}
    with pytest.raises(ConfigurationError, match=r"pools by 'cls\+mean'"):
        settings("x", {"modules.json": modules(PLAIN), "1_Pooling/config.json": both})


def test_layers_behind_the_encoder_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"x has layers .*: Dense"):
        settings("x", {"modules.json": modules({**PLAIN, "2_Dense": "Dense"})})


@pytest.mark.parametrize("content", [{"not": "a list"}, [1], [{"path": ""}]])
def test_files_of_another_form_are_refused(content: object) -> None:
    with pytest.raises(ConfigurationError, match=r"modules\.json"):
        settings("x", {"modules.json": content})


def test_a_file_that_is_no_json_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"modules\.json"):
        encoder_settings("x", {"modules.json": "[{"}.get, {})


def test_a_window_must_hold_something() -> None:
    with pytest.raises(ConfigurationError, match="window must be at least 1, not 0"):
        settings("x", chosen={"window": 0})
