"""ElmoEmbedding against a reference; results do not depend on the batch."""

import pickle
import warnings

import numpy as np
import pytest
import torch
from sklearn.base import clone

from sk_metaembed import ElmoEmbedding, load, save
from sk_metaembed.sources import _base
from sk_metaembed.sources.elmo import _embedding, _network

from ...rounding import assert_close
from ...tiny_elmo import OPTIONS, Oracle, files, random_weights, write, write_model

pytestmark = pytest.mark.filterwarnings("ignore:.*words are read up to:UserWarning")
SENTENCES = [
    ["the", "film", "was", "plotting"],
    ["Good", "can't", "the", "very", "東京", "the"],
    [],
    ["queen"],
    ["Good", "can't", "the", "very", "東京", "the"],
    ["a", "café", "x" * 60, "é" * 24 + "ab", "", "\ud800", "🎬🎬"],
]
OTHERS = {
    "no highway": {"n_highway": 0},
    "no skip connections": {"skip_connections": False},
    "tanh and other filters": {
        "activation": "tanh",
        "filters": ((2, 7), (5, 2), (7, 3)),
        "char_dim": 5,
    },
    "clips that bite": {"cell_clip": 0.3, "proj_clip": 0.2},
    "one layer without clips": {
        "n_layers": 1,
        "cell_clip": None,
        "proj_clip": None,
    },
    "short words": {"max_characters": 12, "filters": ((1, 3), (12, 2))},
    "cells as wide as what they are projected to": {"cell_dim": 4},
}


def source(**options):
    return ElmoEmbedding(*files(), **options)


def rows_of(sentences, layers, k):
    return np.concatenate([layer[k] for layer in layers if len(layer[k])])


@pytest.fixture(scope="module")
def layers():
    oracle = Oracle(OPTIONS, random_weights(OPTIONS))
    return [oracle.sentence(s) if s else [np.zeros((0, 8))] * 3 for s in SENTENCES]


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_any_shape_is_as_written_out_in_numpy(other, tmp_path):
    options = OPTIONS._replace(**other)
    weights = random_weights(options, seed=1)
    oracle = Oracle(options, weights)
    result = ElmoEmbedding(*write(tmp_path, options, seed=1)).fit_transform(SENTENCES)
    expected = [oracle.sentence(s) for s in SENTENCES if s]
    assert len(result.blocks) == options.n_layers + 1
    for k, block in enumerate(result.blocks[1:], start=1):
        assert_close(block.values, rows_of(SENTENCES, expected, k))
    tokens = result.tokens
    assert_close(result.blocks[0].values[tokens.codes], rows_of(SENTENCES, expected, 0))
    if "cell_clip" in other and options.cell_clip:
        assert (np.abs(result.blocks[1].values) == np.float32(0.2)).mean() > 0.1


def test_no_projection_where_the_dimensions_agree(tmp_path):
    options = OPTIONS._replace(filters=((1, 2), (2, 2)))
    weights = random_weights(options)
    del weights["CNN_proj/W_proj"], weights["CNN_proj/b_proj"]
    result = ElmoEmbedding(*write_model(tmp_path, options, weights)).fit_transform(
        SENTENCES[:2]
    )
    expected = [Oracle(options, weights).sentence(s) for s in SENTENCES[:2]]
    assert_close(result.blocks[2].values, rows_of(SENTENCES, expected, 2))


@pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="torch is built without oneDNN"
)
def test_packed_matrices_give_the_same(monkeypatch, tmp_path):
    plain = source().fit_transform(SENTENCES)
    rule = "sk_metaembed._training._onednn.is_faster"
    monkeypatch.setattr(rule, lambda shape: True)
    assert _network.Product(torch.eye(3))._packed is not None
    packed = ElmoEmbedding(*write(tmp_path)).fit_transform(SENTENCES)
    for a, b in zip(plain.blocks, packed.blocks, strict=True):
        assert_close(a.values, b.values)


def test_both_directions_in_one_layer_give_the_same(monkeypatch, tmp_path):
    expected = source(stateful=True).fit(SENTENCES)
    expected = [expected.transform(SENTENCES) for _ in range(2)]
    # As on a GPU.
    monkeypatch.setattr(
        "sk_metaembed.sources.elmo._network._direction_groups", lambda device: [(0, 1)]
    )
    step = ElmoEmbedding(*write(tmp_path), stateful=True).fit(SENTENCES)
    assert len(step._model.network._layers[0]) == 1
    for before in expected:
        result = step.transform(SENTENCES)
        for a, b in zip(before.blocks, result.blocks, strict=True):
            assert_close(a.values, b.values)


def test_layers_and_the_outputs_of_the_hub_module(layers):
    result = source().fit_transform(SENTENCES)
    outputs = {block.name: block for block in result.blocks}
    for name in ("word_emb", "lstm_outputs1", "lstm_outputs2", "elmo", "default"):
        (outputs[name],) = source(output=name).fit_transform(SENTENCES).blocks
    assert {name: (block.level, block.dim) for name, block in outputs.items()} == {
        "layer0": ("type", 8),
        "layer1": ("token", 8),
        "layer2": ("token", 8),
        "word_emb": ("type", 4),
        "lstm_outputs1": ("token", 8),
        "lstm_outputs2": ("token", 8),
        "elmo": ("token", 8),
        "default": ("sequence", 8),
    }
    values = {name: block.values for name, block in outputs.items()}
    codes = result.tokens.codes
    np.testing.assert_array_equal(values["layer0"], np.tile(values["word_emb"], 2))
    texts = source().fit_transform(["Don't  stop.\n", ""])
    assert texts.tokens.to_list() == [["Don't", "stop."], []]
    assert_close(values["word_emb"][codes], rows_of(SENTENCES, layers, 0)[:, :4])
    expected = [rows_of(SENTENCES, layers, k) for k in range(3)]
    assert_close(values["layer1"], expected[1])
    assert_close(values["lstm_outputs1"], expected[1])
    assert_close(values["lstm_outputs2"], expected[2])
    assert_close(values["elmo"], np.mean(expected, axis=0))
    assert outputs["default"].known.tolist() == [bool(words) for words in SENTENCES]
    for sentence, layer, row in zip(SENTENCES, layers, values["default"], strict=True):
        assert_close(row, np.mean(layer, axis=(0, 1)) if sentence else np.zeros(8))


def test_the_mix_is_gamma_times_softmax_weighted_layers(layers):
    shares = np.array([0.2, 0.5, 0.3])
    mixing = {"mix_weights": np.log(shares) + 7, "gamma": -2.0}
    step = source(output="elmo", **mixing).fit(SENTENCES)
    weights = dict(zip(["layer0", "layer1", "layer2"], shares, strict=True))
    assert step.layer_weights_ == pytest.approx(weights)
    expected = [rows_of(SENTENCES, layers, k) for k in range(3)]
    mix = -2 * np.tensordot(shares, expected, axes=1)
    assert_close(step.transform(SENTENCES).blocks[0].values, mix)
    step = source(output="elmo", layer_norm=True, **mixing)
    normed = [
        (h - h.mean(1, keepdims=True)) / h.std(1, keepdims=True) for h in expected
    ]
    assert_close(
        step.fit_transform(SENTENCES).blocks[0].values,
        -2 * np.tensordot(shares, normed, axes=1),
    )


@pytest.mark.parametrize("batch_tokens", [1, 10])
def test_batches_and_company_do_not_matter(batch_tokens, layers):
    step = source(batch_tokens=batch_tokens).fit(SENTENCES)
    order = [5, 0, 3, 1]
    shuffled = step.transform([SENTENCES[i] for i in order])
    for place, i in enumerate(order):
        alone = step.transform([SENTENCES[i]])
        for k in (1, 2):
            assert_close(alone.blocks[k].values, layers[i][k])
            start, stop = shuffled.tokens.offsets[place : place + 2]
            assert_close(shuffled.blocks[k].values[start:stop], layers[i][k])


def test_equal_sentences_and_words_are_computed_once(monkeypatch):
    step = source().fit(SENTENCES)
    network = step._model.network
    sentences, words = [], []
    run, encode = network.layers, type(network.encoder).__call__

    def layers(table, some, *args):
        sentences.extend(some)
        return run(table, some, *args)

    def spy(encoder, new):
        words.extend(new)
        return encode(encoder, new)

    monkeypatch.setattr(network, "layers", layers)
    monkeypatch.setattr(type(network.encoder), "__call__", spy)
    step.transform(SENTENCES * 3)
    assert len(sentences) == 4
    assert sorted(words) == sorted({word for s in SENTENCES for word in s})


def test_state_is_carried_row_by_row(layers):
    oracle = Oracle(OPTIONS, random_weights(OPTIONS))
    step = source(stateful=True).fit(SENTENCES)
    batches = [SENTENCES[:2], SENTENCES, [[], ["queen", "the"]], SENTENCES[::-1]]
    for batch in batches:
        result = step.transform(batch)
        expected = [oracle.sentence(s, row=i) for i, s in enumerate(batch) if s]
        for k in (1, 2):
            assert_close(result.blocks[k].values, rows_of(batch, expected, k))
    first = step.reset_states().transform(SENTENCES)
    assert_close(first.blocks[2].values, rows_of(SENTENCES, layers, 2))
    again = step.transform(SENTENCES)
    assert np.abs(first.blocks[2].values - again.blocks[2].values).max() > 1e-2


def test_states_are_saved(tmp_path):
    step = source(stateful=True)
    step.fit_transform(SENTENCES)
    save(step, tmp_path / "elmo.skm")
    loaded = load(tmp_path / "elmo.skm")
    assert loaded.transform(SENTENCES[::-1]) == step.transform(SENTENCES[::-1])


@pytest.mark.parametrize("output", ["layers", "default"])
def test_the_cache_gives_the_same_without_computing(output, tmp_path, monkeypatch):
    plain = source(output=output).fit_transform(SENTENCES)
    step = source(output=output, cache=tmp_path)
    assert step.fit_transform(SENTENCES) == plain
    monkeypatch.setattr(_embedding.ElmoForward, "__call__", None)
    monkeypatch.setattr(_embedding.ElmoForward, "words", None)
    assert clone(step).fit_transform(SENTENCES[::-1])[::-1] == plain
    with pytest.raises(TypeError):  # another mix is not there
        source(output="elmo", gamma=2.0, cache=tmp_path).fit_transform(SENTENCES)


def test_pickles_hold_no_weights_and_notice_other_ones(tmp_path):
    step = ElmoEmbedding(*map(str, write(tmp_path))).fit(SENTENCES)
    data = pickle.dumps(step)
    assert len(data) < 3000
    assert pickle.loads(data)._model is step._model
    write(tmp_path, seed=2)
    with pytest.raises(ValueError, match=r"fingerprint .* but .*options\.json have"):
        pickle.loads(data)


def test_out_of_memory_halves_the_batch(monkeypatch):
    step = source().fit(SENTENCES)
    expected = step.transform(SENTENCES)
    network = step._model.network
    run = network.layers

    def small(table, some, *args):
        if len(some) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return run(table, some, *args)

    monkeypatch.setattr(network, "layers", small)
    with pytest.warns(UserWarning, match="out of GPU memory on a batch"):
        result = step.transform(SENTENCES)
    for a, b in zip(expected.blocks, result.blocks, strict=True):
        assert_close(a.values, b.values)
    monkeypatch.setattr(network, "layers", lambda *args: small(args[0], [1, 2]))
    with pytest.raises(MemoryError, match="ElmoEmbedding: .* single sequence"):
        step.transform([["a"]])


def test_warns_of_words_that_are_cut(monkeypatch):
    monkeypatch.setattr(_base, "_warned", set())
    whole, cut = [["a", "x" * 48, "é" * 24]], [["a", "x" * 49, "é" * 25]]
    message = "up to 48 bytes of UTF-8, without the rest of longer ones such as 'xxx"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step = source().fit(whole)
        step.transform(whole)
    with pytest.warns(UserWarning, match=message):
        result = step.transform([*cut, *whole])
    assert_close(result[0], result[1])
    _base._warned.clear()
    with pytest.warns(UserWarning, match=f"ElmoEmbedding: words are read {message}"):
        assert source().fit(cut).n_truncated_words_ == 2


@pytest.mark.parametrize(
    ("output", "dims"),
    [
        ("layers", {"layer0": 8, "layer1": 8, "layer2": 8}),
        ("word_emb", {"word_emb": 4}),
        ("default", {"default": 8}),
    ],
)
def test_fit_computes_nothing_unless_something_is_learned(output, dims, monkeypatch):
    monkeypatch.setattr(_embedding.ElmoForward, "__call__", None)
    step = source(output=output).fit(SENTENCES)
    assert step.dims_ == dims
    assert step.coverage_ == {"types": 1.0, "tokens": 1.0}
    assert step.n_truncated_words_ == 2
    with pytest.raises(TypeError):
        source(preprocess="center").fit(SENTENCES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "lstm_outputs3"}, r"output must be .*'lstm_outputs2'.* 2 LSTM"),
        ({"mix_weights": [1, 2]}, "mix_weights must be 3 finite numbers"),
        ({"stateful": True, "cache": "folder"}, "cannot be cached"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        source(**options).fit(SENTENCES)
