"""The recipe examples/remote_encoder.py, against a server in this process."""

import base64
import importlib.util
import json
import pickle
import sys
import time
from collections import Counter
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    EmbeddingCache,
    FunctionEmbedding,
    Pooling,
    Tokenizer,
    load,
    save,
)

from .file_server import LocalServer

FILE = Path(__file__).resolve().parents[1] / "examples" / "remote_encoder.py"
KEY = "sk-secret-123"
TEXTS = [f"text {i} {'good film' if i % 2 else 'dull plot'}" for i in range(20)] * 2
Y = [i % 2 for i in range(40)]


@pytest.fixture
def recipe(monkeypatch):
    """Return the module, without waits longer than a moment; record them."""
    spec = importlib.util.spec_from_file_location("remote_encoder", FILE)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "remote_encoder", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(time, "sleep", lambda seconds: module.waits.append(seconds))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    module.waits = []
    return module


def vector(text):
    return np.array([len(text), text.count("good"), sum(text.encode()) % 7], "<f4")


class Server(LocalServer):
    """Answers like an embedding API, with failures on request.

    Attributes
    ----------
    requests : list of dict
        Headers and content of each request.
    texts : Counter
        How often the vector of each text was returned.
    failures : list of callable
        The next answers: each takes the handler and the regular answer.
    base64 : bool
        Whether vectors are bytes, as requested, and not lists of numbers.
    """

    def __init__(self):
        self.requests, self.texts, self.failures = [], Counter(), []
        self.base64 = True
        super().__init__(_Handler)
        self.url += "/v1/embeddings"


class _Handler(BaseHTTPRequestHandler):
    own: Server

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.own.requests.append({"headers": dict(self.headers), "body": body})
        answer = {
            "data": [
                {"index": i, "embedding": self.written(body, text)}
                for i, text in enumerate(body["input"])
            ][::-1],  # in any order
            "usage": {"prompt_tokens": sum(map(len, map(str.split, body["input"])))},
        }
        if self.own.failures:
            self.own.failures.pop(0)(self, answer)
            return
        self.own.texts.update(body["input"])
        self.reply(200, answer)

    def written(self, body, text):
        values = vector(text)[: body.get("dimensions")]
        if not self.own.base64:
            return values.tolist()
        return base64.b64encode(values.tobytes()).decode()

    def reply(self, code, answer, **headers):
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


def says(code, message="not now", **headers):
    """Return a failure: an error with a message."""
    error = {"error": {"message": message}}
    return lambda handler, answer: handler.reply(code, error, **headers)


def answers(change):
    """Return a failure: an answer that is not as it should be."""
    return lambda handler, answer: handler.reply(200, change(answer))


@pytest.mark.parametrize("as_bytes", [True, False])
def test_vectors_are_in_the_order_of_the_texts(as_bytes, recipe, server):
    server.base64 = as_bytes
    encode = recipe.RemoteEncoder(server.url, "small")
    np.testing.assert_array_equal(encode(TEXTS), [vector(text) for text in TEXTS])
    assert encode(TEXTS).dtype == np.float32
    last = recipe.RemoteEncoder(server.url, "small", 2, key_variable=None)
    assert last(["a"]).shape == (1, 2)
    first, _, last = (request["body"] for request in server.requests)
    assert (first["model"], first["encoding_format"]) == ("small", "base64")
    assert "dimensions" not in first and last["dimensions"] == 2
    assert server.requests[0]["headers"]["Authorization"] == f"Bearer {KEY}"
    assert "Authorization" not in server.requests[-1]["headers"]


def source_of(recipe, server, folder, **options):
    encode = recipe.RemoteEncoder(
        server.url, "small", usage_log=str(folder / "usage.jsonl"), price=0.5, **options
    )
    return FunctionEmbedding(
        encode, "sequence", as_text=True, batch_size=8, cache=folder / "cache"
    )


def test_a_search_requests_each_text_once(recipe, server, tmp_path):
    source = source_of(recipe, server, tmp_path)
    pipe = make_pipeline(Tokenizer(), source, Pooling(), LogisticRegression())
    grid = {"logisticregression__C": [0.1, 1.0]}
    search = GridSearchCV(pipe, grid, cv=5, error_score="raise").fit(TEXTS, Y)
    assert search.predict(TEXTS[:2]).tolist() == [0, 1]
    assert server.texts == Counter(set(TEXTS))
    totals = recipe.spent(tmp_path / "usage.jsonl")
    tokens = sum(len(text.split()) for text in set(TEXTS))
    assert totals["requests"] == len(server.requests) <= 4
    assert (totals["texts"], totals["tokens"]) == (20, tokens)
    assert totals["cost"] == pytest.approx(tokens * 0.5e-6)
    # A later run requests nothing, a clone with another model everything.
    again = clone(source).fit_transform(TEXTS)
    assert server.texts == Counter(set(TEXTS))
    np.testing.assert_array_equal(again[3][0], vector(TEXTS[3]))
    other = clone(source).set_params(func=recipe.RemoteEncoder(server.url, "large"))
    other.fit(TEXTS)
    assert set(server.texts.values()) == {2}
    assert len(EmbeddingCache(tmp_path / "cache").info().sources) == 2


def cut(handler, answer):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"data": [')


def test_passing_failures_are_repeated(recipe, server):
    moment = formatdate(time.time() + 60, usegmt=True)
    server.failures = [
        says(429, Retry_After="7"),
        says(429, Retry_After=moment),
        says(500),
        lambda handler, answer: handler.reply(503, b"<html>busy</html>"),
        lambda handler, answer: handler.connection.close(),
        cut,
        says(503, Retry_After=formatdate(0, usegmt=True)),
    ]
    encode = recipe.RemoteEncoder(server.url, "small", max_retries=7)
    np.testing.assert_array_equal(encode(["a"]), [vector("a")])
    assert len(server.requests) == 8
    asked, until, *doubled, passed, paced = recipe.waits
    assert asked == 7
    assert 55 < until <= 60
    for attempt, wait in enumerate(doubled, start=2):  # half random
        assert 2**attempt / 2 <= wait <= 2**attempt
    assert passed >= 0
    assert paced == 0


@pytest.mark.parametrize(
    ("failure", "options", "message"),
    [
        (says(401, f"Incorrect API key: {KEY}."), {}, r"key: \*\*\*.*OPENAI_API_KEY"),
        (says(404, "no such model"), {}, "no such model. Check url and model"),
        (says(429, "quota", Retry_After="9000"), {}, "quota.*after 1 req.*9000 s"),
        (says(500), {"max_retries": 0}, "500 .* not now.*after 1 requests"),
    ],
)
def test_errors_say_what_to_do(recipe, server, failure, options, message):
    server.failures = [failure]
    encode = recipe.RemoteEncoder(server.url, "small", **options)
    with pytest.raises(RuntimeError, match=message) as caught:
        encode(["a"])
    assert len(server.requests) == 1
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None


def test_the_key_is_read_for_each_request_and_kept_nowhere(
    recipe, server, tmp_path, monkeypatch
):
    source = source_of(recipe, server, tmp_path).fit(TEXTS)
    path = tmp_path / "source.skm"
    with pytest.warns(UserWarning, match="remote_encoder.RemoteEncoder"):
        save(source, path)
    texts = [repr(source), pickle.dumps(source).decode("latin-1")]
    texts += [file.read_bytes().decode("latin-1") for file in tmp_path.rglob("*.*")]
    assert not any(KEY in text for text in texts)
    again = load(path, trusted=["remote_encoder.RemoteEncoder"])
    monkeypatch.delenv("OPENAI_API_KEY")
    assert again.transform(TEXTS) == source.transform(TEXTS)  # from the cache
    for key in (None, "two\nlines"):
        if key:
            monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(RuntimeError, match="set the environment variable OPENAI"):
            again.transform(["a new text"])


def test_prompts_and_options_are_sent_and_part_of_the_key(recipe, server):
    plain = recipe.RemoteEncoder(server.url, "small")
    options = {"input_type": "classification"}
    other = recipe.RemoteEncoder(server.url, "small", prompt="query: ", options=options)
    np.testing.assert_array_equal(other(["a"]), [vector("query: a")])
    assert plain.cache_key == '["' + server.url + '", "small", null]'
    assert other.cache_key != plain.cache_key
