"""Models are loaded once, shared, not pickled, and checked for changes."""

import copy
import json
import pickle
import shutil
import warnings

import numpy as np
import pytest
import torch
import transformers
from sklearn.base import clone
from transformers import AutoModel

from sk_metaembed import EmbeddingCache, TransformerEmbedding

from ... import tiny_bert
from ...handles import clear_handles

SENTENCES = [["the", "film", "was", "plotting"], ["good", "king"], [], ["good", "king"]]


@pytest.fixture
def folder(tmp_path):
    return tiny_bert.save(tmp_path / "bert")


@pytest.fixture
def passes(monkeypatch):
    """Count the rows that go through any network."""
    seen = []
    pair = tiny_bert.network(), tiny_bert.tokenizer()
    Network = type(TransformerEmbedding(pair).fit(SENTENCES)._model.network)
    whole = Network.hidden_states

    def counting(self, ids, lengths, types):
        seen.extend(lengths.tolist())
        return whole(self, ids, lengths, types)

    monkeypatch.setattr(Network, "hidden_states", counting)
    return seen


def values(source, rows=SENTENCES):
    return source.transform(rows).blocks[0].values


def test_a_model_without_its_tokenizer_raises(folder):
    model = AutoModel.from_pretrained(folder)
    message = r"\(model, tokenizer\) as transformers loads them.*got \['BertModel'\]"
    with pytest.raises(TypeError, match=message) as caught:
        TransformerEmbedding(model).fit(SENTENCES)
    assert len(str(caught.value)) < 300


def test_clones_and_other_options_share_one_model(folder):
    first = TransformerEmbedding(folder).fit(SENTENCES)
    again = clone(first).fit(SENTENCES)
    other = TransformerEmbedding(str(folder), 0, subword="max").fit(SENTENCES)
    assert first._model is again._model is other._model
    half = TransformerEmbedding(folder, dtype="bfloat16").fit(SENTENCES)
    assert half._model is not first._model


def test_nothing_is_loaded_before_fit_nor_by_a_warm_cache(folder, tmp_path, passes):
    source = TransformerEmbedding(folder, "all", cache=tmp_path / "cache")
    cold = source.fit_transform(SENTENCES)
    assert len(passes) == 2  # each distinct sentence once
    clear_handles()
    warm = clone(source)
    assert cold == warm.fit_transform(SENTENCES)
    assert len(passes) == 2
    assert warm._model is not source._model
    assert warm._model._network is None
    assert EmbeddingCache(tmp_path / "cache").info().entries == 6


@pytest.mark.parametrize(("first", "n_passes"), [("all", 1), (2, 3)])
def test_a_cache_stores_layers_for_later_requests(
    folder, tmp_path, passes, first, n_passes
):
    options = {"cache": tmp_path / "cache"}
    alone = TransformerEmbedding(folder, "all").fit_transform(SENTENCES)
    passes.clear()
    TransformerEmbedding(folder, first, **options).fit(SENTENCES)
    for layer in (2, 0, 1):
        source = TransformerEmbedding(folder, layer, **options)
        block = source.fit_transform(SENTENCES).blocks[0]
        assert np.array_equal(block.values, alone.blocks[layer].values)
    assert len(passes) == 2 * n_passes


def test_options_that_change_vectors_are_part_of_the_key(folder):
    options = [
        {},
        {"subword": "max"},
        {"prompt": "query:"},
        {"max_length": 7},
        {"max_length": 7, "truncate": True},
        {"dtype": "bfloat16"},
    ]
    with warnings.catch_warnings(action="ignore"):
        fingerprints = {
            TransformerEmbedding(folder, **o).fit(SENTENCES).fingerprint_
            for o in options
        }
    assert len(fingerprints) == len(options)
    same = TransformerEmbedding(folder, 0, batch_tokens=3, verbose=0, static=True)
    assert same.fit(SENTENCES).fingerprint_ in fingerprints


def test_a_pickle_holds_no_weights(folder):
    big = tiny_bert.save(folder.parent / "big", intermediate_size=4096)
    source = TransformerEmbedding(big, "all", static=True).fit(SENTENCES)
    data = pickle.dumps(source)
    assert len(data) < 5000
    clear_handles()
    again = pickle.loads(data)
    assert again._model._network is None
    assert again.transform(SENTENCES) == source.transform(SENTENCES)


def test_a_pickle_notices_other_weights(folder):
    data = pickle.dumps(TransformerEmbedding(folder).fit(SENTENCES))
    tiny_bert.save(folder, seed=1)
    with pytest.raises(ValueError, match="have .*: they changed"):
        pickle.loads(data)
    shutil.rmtree(folder)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        pickle.loads(data)


def test_fit_notices_other_weights(folder):
    source = TransformerEmbedding(folder).fit(SENTENCES)
    before, fingerprint = values(source), source.fingerprint_
    tiny_bert.save(folder, seed=1)
    np.testing.assert_array_equal(values(source), before)  # what was loaded stays
    source.fit(SENTENCES)
    assert source.fingerprint_ != fingerprint
    assert not np.allclose(values(source), before)


def test_a_loaded_pair_is_shared_by_clones_and_copied_by_pickles():
    pair = tiny_bert.network(), tiny_bert.tokenizer()
    source = TransformerEmbedding(pair).fit(SENTENCES)
    again = clone(source)
    assert again.model is pair
    assert again.fit(SENTENCES)._model is source._model
    expected = values(source)
    for copied in (pickle.loads(pickle.dumps(source)), copy.deepcopy(source)):
        assert copied.model[0] is not pair[0]
        np.testing.assert_array_equal(values(copied), expected)
    assert pickle.loads(pickle.dumps(source)).fingerprint_ == source.fingerprint_


def test_a_loaded_pair_that_was_trained_needs_a_new_fit():
    pair = tiny_bert.network(), tiny_bert.tokenizer()
    source = TransformerEmbedding(pair).fit(SENTENCES)
    before = source.fingerprint_
    with torch.no_grad():
        pair[0].embeddings.word_embeddings.weight.mul_(2)
    with pytest.raises(ValueError, match="weights changed since fit"):
        source.transform(SENTENCES)
    assert source.fit(SENTENCES).fingerprint_ != before


@pytest.mark.skipif(
    transformers.__version__.startswith("5.0."), reason="asks the hub for a list"
)
def test_a_name_on_the_hub_is_read_from_its_cache(folder, tmp_path, monkeypatch):
    from huggingface_hub import constants

    commit = "0123456789abcdef0123456789abcdef01234567"
    place = tmp_path / "hub" / "models--someone--bert"
    shutil.copytree(folder, place / "snapshots" / commit)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(commit)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    source = TransformerEmbedding("someone/bert").fit(SENTENCES)
    expected = values(TransformerEmbedding(folder).fit(SENTENCES))
    np.testing.assert_array_equal(values(source), expected)
    assert source._model._spec.revision == commit  # what a pickle asks for
    np.testing.assert_array_equal(values(pickle.loads(pickle.dumps(source))), expected)
    with pytest.raises(FileNotFoundError, match="revision 'v2'"):
        TransformerEmbedding("someone/bert", revision="v2").fit(SENTENCES)


def test_no_such_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder .*model.safetens"):
        TransformerEmbedding(tmp_path / "nowhere").fit(SENTENCES)


def test_no_network_names_the_expected_files():
    source = TransformerEmbedding("nobody/no-such-model", revision="v1")
    with pytest.raises(FileNotFoundError) as error:
        source.fit(SENTENCES)
    for part in (
        "(revision 'v1')",
        "Without a network, pass the path of a folder with config.json",
        "https://huggingface.co/nobody/no-such-model/tree/v1",
    ):
        assert part in str(error.value)


def test_no_weights(folder):
    (folder / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match="has no model.safetensors"):
        TransformerEmbedding(folder).fit(SENTENCES)


def test_pickled_weights_are_read_only_if_trusted(folder):
    expected = values(TransformerEmbedding(folder).fit(SENTENCES))
    torch.save(tiny_bert.network().state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match="only as pickles"):
        TransformerEmbedding(folder).fit(SENTENCES)
    trusting = TransformerEmbedding(folder, trusted=True).fit(SENTENCES)
    np.testing.assert_array_equal(values(trusting), expected)


def test_weights_of_another_model(folder):
    network = tiny_bert.network(num_hidden_layers=3)
    network.config.save_pretrained(folder)
    with pytest.raises(ValueError, match="lack 16 of the parameters of BertModel"):
        TransformerEmbedding(folder).fit(SENTENCES)


@pytest.mark.parametrize("part", ["weights", "tokenizer"])
def test_corrupt_files_raise(folder, part):
    for file in folder.glob("model.safetensors" if part == "weights" else "*token*"):
        file.write_bytes(b"{")
    with pytest.raises(ValueError, match=rf"the {part} .*could not be read"):
        TransformerEmbedding(folder).fit(SENTENCES)


CODE = """
from transformers import BertConfig, BertModel

class OwnConfig(BertConfig):
    model_type = "own"

class OwnModel(BertModel):
    config_class = OwnConfig

    def forward(self, *args, **kwargs):
        output = super().forward(*args, **kwargs)
        output.hidden_states = tuple(FACTOR * state for state in output.hidden_states)
        return output
"""


def test_code_of_a_model_is_run_only_if_trusted(folder):
    config = json.loads((folder / "config.json").read_text())
    names = {"AutoConfig": "own.OwnConfig", "AutoModel": "own.OwnModel"}
    config |= {"model_type": "own", "auto_map": names}
    (folder / "config.json").write_text(json.dumps(config))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings["tokenizer_class"] = "BertTokenizer"
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "own.py").write_text(CODE.replace("FACTOR", "2"))
    with pytest.raises(ValueError, match="trust_remote_code=True"):
        TransformerEmbedding(folder).fit(SENTENCES)
    trusting = TransformerEmbedding(folder, trust_remote_code=True).fit(SENTENCES)
    usual = TransformerEmbedding(tiny_bert.folder()).fit(SENTENCES)
    np.testing.assert_allclose(values(trusting), 2 * values(usual), atol=1e-5)
    np.testing.assert_array_equal(
        values(pickle.loads(pickle.dumps(trusting))), values(trusting)
    )
    before = trusting.fingerprint_
    (folder / "own.py").write_text(CODE.replace("FACTOR", "3"))
    assert trusting.fit(SENTENCES).fingerprint_ != before


@pytest.mark.parametrize("family", ["Roberta", "IBert"])
def test_some_count_positions_from_their_padding(family):
    config = getattr(transformers, f"{family}Config")(
        vocab_size=len(tiny_bert.VOCABULARY),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=12,
        pad_token_id=1,
    )
    network = getattr(transformers, f"{family}Model")(config).eval()
    source = TransformerEmbedding((network, tiny_bert.tokenizer()))
    block = source.fit_transform([["good"] * 30, ["good"] * 3]).blocks[0]
    assert source.max_length_ == 10
    assert block.known.all()
    np.testing.assert_allclose(values(source, [["good"] * 3]), block.values[30:], 1e-5)


def test_a_loaded_pair_keeps_its_precision():
    pair = tiny_bert.network().bfloat16(), tiny_bert.tokenizer()
    assert TransformerEmbedding(pair).fit(SENTENCES).dtype_ == "bfloat16"
    with pytest.raises(ValueError, match=r"\['dtype'\] must have their default"):
        TransformerEmbedding(pair, dtype="float16").fit(SENTENCES)
