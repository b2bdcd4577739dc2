"""ElmoEmbedding against a reference; results do not depend on the batch."""

import pickle
import warnings

import numpy as np
import pytest
import torch
from sklearn.base import clone

from sk_metaembed import ElmoEmbedding

from ...rounding import assert_close
from ...tiny_elmo import (
    OPTIONS,
    Oracle,
    files,
    random_weights,
    write,
    write_model,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*words are read up to:UserWarning")
FORWARD = "sk_metaembed.sources.elmo._embedding.ElmoForward"
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
    step = ElmoEmbedding(*write(tmp_path)).fit(SENTENCES)
    assert step._model.network._layers[0][0]._projection._packed is not None
    packed = step.transform(SENTENCES)
    for a, b in zip(plain.blocks, packed.blocks, strict=True):
        assert_close(a.values, b.values)


def test_both_directions_in_one_layer_give_the_same(monkeypatch, tmp_path):
    expected = source().fit_transform(SENTENCES)
    # As on a GPU.
    monkeypatch.setattr(
        "sk_metaembed.sources.elmo._network._direction_groups", lambda device: [(0, 1)]
    )
    step = ElmoEmbedding(*write(tmp_path)).fit(SENTENCES)
    assert len(step._model.network._layers[0]) == 1
    for a, b in zip(expected.blocks, step.transform(SENTENCES).blocks, strict=True):
        assert_close(a.values, b.values)


def test_layers(layers):
    result = source().fit_transform(SENTENCES)
    assert [(block.name, block.level, block.dim) for block in result.blocks] == [
        ("layer0", "type", 8),
        ("layer1", "token", 8),
        ("layer2", "token", 8),
    ]
    for k, block in enumerate(result.blocks):
        values = result.broadcast(block, "token").values
        assert_close(values, rows_of(SENTENCES, layers, k))
    for chosen in ([2, 0], (1,), (0,)):
        some = source(layers=chosen).fit_transform(SENTENCES)
        assert some == result.select([f"layer{k}" for k in sorted(chosen)])
    texts = source().fit_transform(["Don't  stop.\n", ""])
    assert texts.tokens.to_list() == [["Don't", "stop."], []]


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


def test_the_cache_gives_the_same_without_computing(tmp_path, monkeypatch):
    plain = source().fit_transform(SENTENCES)
    step = source(cache=tmp_path)
    assert step.fit_transform(SENTENCES) == plain
    monkeypatch.setattr(f"{FORWARD}.__call__", None)
    monkeypatch.setattr(f"{FORWARD}.words", None)
    assert clone(step).fit_transform(SENTENCES[::-1])[::-1] == plain
    last = source(layers=(2,), cache=tmp_path).fit_transform(SENTENCES)
    assert last == plain.select(["layer2"])


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
    monkeypatch.setattr("sk_metaembed.sources._base._warned", set())
    whole, cut = [["a", "x" * 48, "é" * 24]], [["a", "x" * 49, "é" * 25]]
    message = "up to 48 bytes of UTF-8, and the rest of longer words such as 'xxx"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step = source().fit(whole)
        step.transform(whole)
    with pytest.warns(UserWarning, match=message):
        result = step.transform([*cut, *whole])
    assert_close(result[0], result[1])
    monkeypatch.setattr("sk_metaembed.sources._base._warned", set())
    with pytest.warns(UserWarning, match=f"ElmoEmbedding: words are read {message}"):
        assert source().fit(cut).n_truncated_words_ == 2


@pytest.mark.parametrize("layers", [None, (1,)])
def test_fit_computes_nothing_unless_something_is_learned(layers, monkeypatch):
    monkeypatch.setattr(f"{FORWARD}.__call__", None)
    step = source(layers=layers).fit(SENTENCES)
    assert step.dims_ == {f"layer{k}": 8 for k in layers or range(3)}
    assert step.coverage_ == {"types": 1.0, "tokens": 1.0}
    assert step.n_truncated_words_ == 2
    with pytest.raises(TypeError):
        source(preprocess="center").fit(SENTENCES)


@pytest.mark.parametrize("layers", [(), (3,), (-1,), (0, 0), (1.5,), (True,)])
def test_layers_that_the_model_lacks_are_refused(layers):
    with pytest.raises(ValueError, match="layers must be .* 2 for the last LSTM"):
        source(layers=layers).fit(SENTENCES)
