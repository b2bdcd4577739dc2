"""Working on local files sends no request over the network."""

import socket

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import sk_metaembed as sk
from sk_metaembed.datasets import load_conll

from .tiny_bert import TinyBert
from .tiny_elmo import TinyElmo

TEXTS = ["a good film", "a dull plot", "good old fun", "a bad film"] * 3
Y = [1, 0, 1, 0] * 3


@pytest.fixture
def requests(monkeypatch):
    """Refuse every connection beyond this machine's own pipes, and list them."""
    requests = []

    def refuse(*args, **kwargs):
        if isinstance(args[0], socket.socket) and args[0].family == socket.AF_UNIX:
            return None
        requests.append(args)
        raise OSError("no network in this test")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    for name in ("create_connection", "getaddrinfo", "gethostbyname"):
        monkeypatch.setattr(socket, name, refuse)
    return requests


def test_a_local_pipeline_sends_no_requests(requests, tmp_path, monkeypatch):
    monkeypatch.setenv("SK_METAEMBED_CACHE", str(tmp_path / "cache"))
    lines = [f"{w} {i} {i % 3} 1\n" for i, w in enumerate(["a", "good", "bad", "dull"])]
    (tmp_path / "x.txt").write_text("".join(lines))
    (tmp_path / "x.conll").write_text("Ada B\nsat O\n")
    vectors = sk.WordVectors.open(tmp_path / "x.txt")
    union = sk.make_embedding_union(
        sk.PretrainedEmbedding(vectors),
        sk.Word2VecEmbedding(vector_size=3, min_count=1, epochs=1),
        sk.TransformerEmbedding(TinyBert(), cache=str(tmp_path / "sentences")),
        sk.ElmoEmbedding(TinyElmo("options"), TinyElmo("weights")),
    )
    pipe = make_pipeline(
        sk.Tokenizer(), union, sk.SVDMetaEmbedding(), sk.Pooling(), LogisticRegression()
    )
    search = GridSearchCV(pipe, {"svdmetaembedding__n_components": [1, 2]}, cv=2)
    search.fit(TEXTS, Y)
    embedding = search.best_estimator_[:-1]
    sk.transform_in_batches(embedding, TEXTS, tmp_path / "out.npy", batch_size=5)
    net = sk.DynamicMetaClassifier(
        projection_dim=3, encoder="mean", max_epochs=1, early_stopping=False
    )
    net.fit(union.fit_transform(sk.Tokenizer().fit_transform(TEXTS)), Y)
    source = make_pipeline(sk.Tokenizer(), sk.PretrainedEmbedding(vectors)).fit(TEXTS)
    loaded = sk.load(sk.save(source, tmp_path / "v.skm", bundle=True))
    assert loaded.transform(TEXTS).tokens.n_tokens > 30
    assert len(load_conll(tmp_path / "x.conll").data) == 1
    assert np.load(tmp_path / "out.npy").shape[0] == 12
    assert requests == []


def test_requests_are_detected(requests, tmp_path, monkeypatch):
    monkeypatch.setenv("SK_METAEMBED_CACHE", str(tmp_path))
    place = "https://example.org/options.json"
    with pytest.raises(FileNotFoundError, match=r"example\.org.*no network"):
        sk.ElmoEmbedding(place, "https://example.org/weights.hdf5").fit([["a"]])
    assert requests
