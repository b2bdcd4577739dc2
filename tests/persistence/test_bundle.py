"""A bundle can be loaded without the files of the machine it was saved on."""

import pickle
import shutil

import numpy as np
import pytest

from sk_metaembed import (
    DynamicMetaClassifier,
    ElmoEmbedding,
    EmbeddingUnion,
    Pooling,
    PretrainedEmbedding,
    TrainableTransformer,
    TransformerEmbedding,
    WordVectors,
    load,
    make_embedding_union,
    save,
)
from sk_metaembed.utils.estimator_checks import WORDS

from .. import tiny_bert
from ..handles import clear_handles
from ..test_estimators import NET
from ..tiny_elmo import files as elmo_files
from . import same

ROWS = [row for row in same.ROWS if row]


@pytest.fixture
def union(tmp_path):
    """Return a fitted union of sources from files, and the folder of these."""
    folder = tmp_path / "originals"
    folder.mkdir()
    rng, file = np.random.default_rng(0), folder / "vectors.txt"
    lines = [" ".join([w, *map(str, rng.normal(size=4))]) for w in WORDS]
    file.write_text("\n".join(lines), "utf-8")
    matrix = rng.normal(size=(len(WORDS), 3))
    store = WordVectors.from_arrays(WORDS, matrix, path=folder / "s")
    elmo = [shutil.copy(file, folder) for file in elmo_files()]
    bert = tiny_bert.save(folder / "bert")
    union = make_embedding_union(
        PretrainedEmbedding(store, oov="mean"),
        PretrainedEmbedding(file, cache_dir=folder / "cache"),
        ElmoEmbedding(*elmo),
        TransformerEmbedding(bert, static=True),
    )
    return union.fit(ROWS), folder


def values(embedded):
    return [block.values for block in embedded.blocks]


def assert_equal(results, expected):
    for one, other in zip(results, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_without_the_originals_it_gives_the_same(union, tmp_path):
    trained, folder = union
    expected = values(trained.transform(ROWS))
    path = save(trained, tmp_path / "e.skm", bundle=True)
    shutil.rmtree(folder)
    clear_handles()
    assert_equal(values(load(path).transform(ROWS)), expected)


def test_bundles_are_unpacked_once_and_by_content(union, tmp_path, monkeypatch):
    trained, _ = union
    monkeypatch.setenv("SK_METAEMBED_CACHE", str(tmp_path / "cache"))
    path = save(trained, tmp_path / "e.skm", bundle=True)
    clear_handles()
    one, _ = load(path), load(path)
    folders = [f for f in (tmp_path / "cache" / "bundles").iterdir() if f.is_dir()]
    assert len(folders) == 4
    again = pickle.loads(pickle.dumps(one))
    assert_equal(values(again.transform(ROWS)), values(trained.transform(ROWS)))


def test_error_on_a_damaged_unpacked_bundle(union, tmp_path, monkeypatch):
    monkeypatch.setenv("SK_METAEMBED_CACHE", str(tmp_path / "cache"))
    path = save(union[0], tmp_path / "e.skm", bundle=True)
    for name in ("vectors.npy", "weights.hdf5", "config.json"):
        clear_handles()
        load(path)
        file = next((tmp_path / "cache" / "bundles").glob(f"*/{name}"))
        for data in (file.read_bytes()[:-8], None):
            file.unlink() if data is None else file.write_bytes(data)
            clear_handles()
            with pytest.raises(ValueError, match="delete that folder and load"):
                load(path)
        shutil.rmtree(file.parent)


def test_loaded_model_is_always_bundled(tmp_path):
    pair = tiny_bert.network(), tiny_bert.tokenizer()
    source = TransformerEmbedding(pair, layers="all").fit(ROWS)
    loaded = load(save(source, tmp_path / "e.skm"))
    assert loaded.fingerprint_ == source.fingerprint_
    assert loaded._model.module is loaded.model[0]
    assert_equal(values(loaded.transform(ROWS)), values(source.transform(ROWS)))
    unfitted = load(save(TransformerEmbedding(pair), tmp_path / "u.skm"))
    assert type(unfitted.model) is tuple
    assert unfitted.fit(ROWS).fingerprint_ == source.fingerprint_


def test_a_trained_transformer(tmp_path):
    bert = tiny_bert.save(tmp_path / "bert")
    tuned = TrainableTransformer(TransformerEmbedding(bert), n_layers=1)
    net = DynamicMetaClassifier(**NET, trainable=tuned, random_state=0)
    trained = net.fit(ROWS, np.arange(len(ROWS)) % 2)
    expected = trained.predict_proba(ROWS)
    path = save(trained, tmp_path / "e.skm", bundle=True)
    shutil.rmtree(bert)
    clear_handles()
    np.testing.assert_array_equal(load(path).predict_proba(ROWS), expected)


def test_a_step_without_files_is_no_larger_in_a_bundle(tmp_path):
    paths = [save(Pooling(), tmp_path / str(b), bundle=b) for b in (False, True)]
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("cached", [False, True])
def test_networks_are_loaded_unless_a_cache_may_replace_them(cached, tmp_path):
    folder = tmp_path / "cache" if cached else None
    bert = TransformerEmbedding(tiny_bert.save(tmp_path / "bert"), cache=folder)
    sources = [("bert", bert), ("elmo", ElmoEmbedding(*elmo_files(), cache=folder))]
    trained = EmbeddingUnion(sources).fit(ROWS)
    path = save(trained, tmp_path / "pipe.skm")
    expected = values(trained.transform(ROWS))
    del trained
    clear_handles()
    given = load(path)
    for name in ("bert", "elmo"):
        assert (given.named_sources_[name]._model._network is None) is cached
    assert_equal(values(given.transform(ROWS)), expected)
