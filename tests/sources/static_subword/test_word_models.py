"""WordEmbeddings and Router of sentence-transformers, without the library."""

import json
from pathlib import Path

import numpy as np
import pytest

from sk_metaembed import make_embedding

from ... import tiny_static

WORDS = ["PADDING_TOKEN", "tea", "Cup", "cup", "the", "new_york"]
TABLE = np.array([[9, 9], [1, 2], [3, 4], [5, 6], [7, 8], [0, 1]], np.float32)


def save_words(folder, words, table, modules=(("Pooling", {}),), **tokenizer):
    """Write a folder of sentence-transformers that begins with WordEmbeddings.

    `modules` are the kinds and options of the modules after it.
    """
    from safetensors.numpy import save_file

    place = Path(folder) / "0_WordEmbeddings"
    place.mkdir(parents=True)
    room = "sentence_transformers.models"
    kind = f"{room}.tokenizer.WhitespaceTokenizer.WhitespaceTokenizer"
    config = {"tokenizer_class": kind, "max_seq_length": 1000}
    (place / "wordembedding_config.json").write_text(json.dumps(config))
    options = {"vocab": words, "stop_words": [], "do_lower_case": False, **tokenizer}
    (place / "whitespacetokenizer_config.json").write_text(json.dumps(options))
    save_file({"emb_layer.weight": table}, place / "model.safetensors")
    listed = [{"path": place.name, "type": f"{room}.WordEmbeddings"}]
    for i, (kind, options) in enumerate(modules, 1):
        part = Path(folder, f"{i}_{kind}")
        part.mkdir()
        (part / "config.json").write_text(json.dumps(options))
        listed.append({"path": part.name, "type": f"{room}.{kind}"})
    Path(folder, "modules.json").write_text(json.dumps(listed), encoding="utf-8")
    return Path(folder)


def vectors(folder, texts, **options):
    return make_embedding(folder, **options).fit_transform(texts).blocks[0]


@pytest.fixture
def folder(tmp_path):
    return save_words(tmp_path / "a", WORDS, TABLE, stop_words=["the"])


def test_words_are_found_as_written_then_bare_then_in_lowercase(folder):
    texts = ["tea", "Tea!", "Cup", "(CUP)", "tea the cup.", "The", "zzq", "", "--"]
    block = vectors(folder, texts)
    expected = [[1, 2], [1, 2], [3, 4], [5, 6], [3, 4], [0, 0], [0, 0], [0, 0], [0, 0]]
    np.testing.assert_array_equal(block.values, expected)
    assert block.known.tolist() == [True] * 5 + [False] * 4
    words = vectors(folder, [["tea", "the", "TEA", "zzq"]], output="words")
    assert words.known.tolist() == [True, False, True, False]
    np.testing.assert_array_equal(words.values[[0, 2]], [[1, 2], [1, 2]])


def test_a_router_selects_modules_by_the_task(tmp_path):
    query = tiny_static.save_sentence_encoder(tmp_path / "a" / "q", normalize=True)
    words = save_words(tmp_path / "a" / "d", WORDS, TABLE)
    places = {"query": "q/0_StaticEmbedding", "document": "d/0_WordEmbeddings"}
    kinds = {"query": "StaticEmbedding", "document": "WordEmbeddings"}
    package = "sentence_transformers.sentence_transformer.modules.any_file"
    routing = {
        "types": {place: f"{package}.{kinds[key]}" for key, place in places.items()},
        "structure": {key: [place] for key, place in places.items()},
        "parameters": {"default_route": "document", "allow_empty_key": True},
    }
    routing["types"]["pool"] = f"{package}.Pooling"
    routing["structure"]["document"].append("pool")
    router = tmp_path / "a" / "router_config.json"
    router.write_text(json.dumps(routing))
    listed = [{"path": "", "type": f"{package}.Router"}]
    (tmp_path / "a" / "modules.json").write_text(json.dumps(listed))
    prompts = {"prompts": {"query": "film "}, "default_prompt_name": None}
    settings = tmp_path / "a" / "config_sentence_transformers.json"
    settings.write_text(json.dumps(prompts))
    texts = ["tea cup", "film c"]
    for task in (None, "document"):
        found = vectors(tmp_path / "a", texts, task=task)
        assert found == vectors(words, texts)
    found = vectors(tmp_path / "a", texts, task="query").values
    prompted = ["film tea cup", "film film c"]
    alone = vectors(query / "0_StaticEmbedding", prompted, output="mean").values
    np.testing.assert_array_equal(found, alone)
    with pytest.raises(ValueError, match=r"routes \['document', 'query'\].*'a'"):
        make_embedding(tmp_path / "a", task="a")
    routing["parameters"] = {"allow_empty_key": False}
    router.write_text(json.dumps(routing))
    with pytest.raises(ValueError, match=r"no default route. Use task='document'"):
        make_embedding(tmp_path / "a")
    router.write_text("{}")
    with pytest.raises(ValueError, match=r"router_config.json is corrupt"):
        make_embedding(tmp_path / "a")
    with pytest.raises(ValueError, match="task='a', but .* has no Router"):
        make_embedding(words, task="a")


def test_truncate_dim_in_the_files_cuts_texts_after_all_modules(tmp_path):
    folder = tiny_static.save_sentence_encoder(tmp_path / "a", normalize=True)
    whole = vectors(folder, ["film c", "c"]).values
    path = folder / "config_sentence_transformers.json"
    path.write_text(json.dumps({"truncate_dim": 4}))
    np.testing.assert_array_equal(vectors(folder, ["film c", "c"]).values, whole[:, :4])
    rows = vectors(folder, ["film c", "c"], dim=2).values
    np.testing.assert_array_equal(rows, whole[:, :2])
    assert vectors(folder, ["film"], output="words").values.shape == (1, 6)
    assert vectors(folder, ["film"], output="words", dim=2).values.shape == (1, 2)
    path.write_text(json.dumps({"truncate_dim": 99}))
    np.testing.assert_array_equal(vectors(folder, ["film c", "c"]).values, whole)
    path.write_text(json.dumps({"truncate_dim": -1}))
    with pytest.raises(ValueError, match="truncate_dim=-1; expected a positive int"):
        vectors(folder, ["film"])


def test_tables_in_bfloat16_are_read_exactly(tmp_path):
    import torch
    from safetensors.torch import save_file

    folder = tiny_static.save(tmp_path / "m", config={"normalize": False})
    n_subwords = tiny_static.wordpiece().get_vocab_size()
    table = torch.randn(n_subwords, 4, generator=torch.manual_seed(0)).bfloat16()
    weights = torch.arange(n_subwords, dtype=torch.float64)
    path = folder / "model.safetensors"
    save_file({"embeddings": table, "weights": weights}, path)
    row = tiny_static.wordpiece().token_to_id("film")
    found = vectors(folder, ["film"]).values[0]
    np.testing.assert_array_equal(found, (table[row].double() * row).float().numpy())
    save_file({"embeddings": table.to(torch.float8_e4m3fn)}, path)
    with pytest.raises(ValueError, match="the type F8_E4M3, which is not supported"):
        vectors(folder, ["film"])


def test_words_and_modules_that_cannot_be_read_are_named(folder, tmp_path):
    def fails(match, error=ValueError):
        with pytest.raises(error, match=match):
            vectors(folder, ["tea"])

    place = folder / "0_WordEmbeddings"
    tokenizer = place / "whitespacetokenizer_config.json"
    tokenizer.write_text(json.dumps({"vocab": WORDS}))
    fails("'stop_words' must be a list of strings")
    tokenizer.unlink()
    fails("no whitespacetokenizer_config.json", FileNotFoundError)
    config = json.loads((place / "wordembedding_config.json").read_text())
    kind = "sentence_transformers.models.tokenizer.PhraseTokenizer.PhraseTokenizer"
    config["tokenizer_class"] = kind
    (place / "wordembedding_config.json").write_text(json.dumps(config))
    fails("tokenizer PhraseTokenizer, which is not computed here")
    for part, match in (
        (("CNN", {}), "CNN"),
        (("WordWeights", {}), "WordWeights"),
        (("Pooling", {"pooling_mode": "max"}), r"Pooling with .*\['max'\]"),
    ):
        other = save_words(tmp_path / part[0], WORDS, TABLE, [part])
        with pytest.raises(ValueError, match=f"the module {match}"):
            vectors(other, ["tea"])


def test_a_corrupt_file_of_tensors_is_named(folder):
    place = folder / "0_WordEmbeddings"
    (place / "model.safetensors").unlink()
    (place / "pytorch_model.bin").write_bytes(b"not a pickle")
    with pytest.raises(ValueError, match=r"pytorch_model.bin is not a file of tensors"):
        vectors(folder, ["tea"])
