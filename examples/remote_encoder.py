"""
An embedding API as a source
============================

`RemoteEncoder` computes vectors of texts on a server with OpenAI's interface,
``POST /v1/embeddings``. Copy this file next to your script and import it; it needs only
NumPy. The page "Remote encoders" of the user guide shows how to use it in a search.
"""

import base64
import contextlib
import email.utils
import http.client
import json
import os
import random
import time
import urllib.error
import urllib.request
from dataclasses import dataclass

import numpy as np


@dataclass
class RemoteEncoder:
    """A function from a list of texts to an array of vectors, one request per call.

    Parameters
    ----------
    url : str
        URL of the endpoint, for example "https://api.openai.com/v1/embeddings".
    model : str
        Name of the model on the server.
    dimensions : int, default=None
        Length of the vectors, for models that can shorten them.
    key_variable : str or None, default="OPENAI_API_KEY"
        Environment variable that contains the API key. It is read for every request and
        not stored. None for servers that need no key.
    usage_log : str, default=None
        File to which every answer adds a line: time, model, texts, tokens and cost.
    price : float, default=0.0
        Cost per million tokens.
    requests_per_minute : float, default=inf
        Maximum number of requests per minute, in total over the processes that share a
        cache.
    timeout : float, default=60.0
        Seconds to wait for an answer.
    max_retries : int, default=6
        Maximum number of repetitions of a request that fails temporarily.
    max_wait : float, default=120.0
        Maximum time in seconds to wait before a request is repeated.
    prompt : str, default=""
        Text to prepend to each text, for models that expect one, such as "query: ".
    options : dict, default=None
        Additional fields of a request, such as {"input_type": "classification"}.
    """

    url: str
    model: str
    dimensions: int | None = None
    key_variable: str | None = "OPENAI_API_KEY"
    usage_log: str | None = None
    price: float = 0.0
    requests_per_minute: float = float("inf")
    timeout: float = 60.0
    max_retries: int = 6
    max_wait: float = 120.0
    prompt: str = ""
    options: dict | None = None

    def __post_init__(self):
        """Raise ValueError for limits that allow no request."""
        for name in ("requests_per_minute", "timeout"):
            if not getattr(self, name) > 0:  # nor if it is not a number
                raise ValueError(
                    f"RemoteEncoder: {name} must be above 0; got {getattr(self, name)}."
                )
        if self.max_retries < 0:
            raise ValueError(
                f"RemoteEncoder: max_retries={self.max_retries}, but it must be 0 or "
                "more: 0 sends each request once."
            )

    @property
    def cache_key(self):
        """Return everything that the vectors depend on, except for the text."""
        key = [self.url, self.model, self.dimensions]
        if self.prompt or self.options:  # the key of others stays as it was
            key += [self.prompt, self.options]
        return json.dumps(key, sort_keys=True)

    def __call__(self, texts):
        """Return the vectors of texts, float32 of shape (n_texts, dim)."""
        texts = [self.prompt + text for text in texts]
        body = {"model": self.model, "input": texts, "encoding_format": "base64"}
        body |= self.options or {}
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        content = self._request(json.dumps(body).encode())
        try:
            answer = json.loads(content)
        except ValueError:
            raise self._malformed(content) from None
        self._log(answer, len(texts))  # before checks: it is paid for
        return self._vectors(answer, len(texts))

    def _request(self, body):
        """Return the body of an answer; repeat requests that fail temporarily.

        A call takes at least the time between two requests. Calls with the same cache
        take turns, so the processes that share a cache keep the limit together.
        """
        for attempt in range(self.max_retries + 1):
            next_turn = time.monotonic() + 60 / self.requests_per_minute
            try:
                with self._send(body) as response:
                    content = response.read()
                time.sleep(max(0.0, next_turn - time.monotonic()))
                return content
            except urllib.error.HTTPError as error:
                failure, wait = self._failure(error), _retry_after(error)
                if error.code not in (408, 409, 429) and error.code < 500:
                    raise RuntimeError(failure) from None
            except (OSError, http.client.HTTPException) as error:
                failure, wait = f"{self.url}: {type(error).__name__}: {error}", None
            if wait is None:
                wait = min(2**attempt, self.max_wait) * random.uniform(0.5, 1)
            if attempt == self.max_retries or wait > self.max_wait:
                break
            time.sleep(max(wait, next_turn - time.monotonic()))
        raise RuntimeError(
            f"{failure}. Given up after {attempt + 1} requests; run it again in "
            f"{wait:.0f} s or later: texts in the cache are not requested again."
        )

    def _send(self, body):
        request = urllib.request.Request(self.url, body, method="POST")
        request.add_header("Content-Type", "application/json")
        if self.key_variable is not None:
            # Not sent to the target of a redirect.
            key = f"Bearer {self._key()}"
            request.add_unredirected_header("Authorization", key)
        return urllib.request.urlopen(request, timeout=self.timeout)

    def _key(self):
        key = os.environ.get(self.key_variable, "").strip()
        if not (key and key.isascii() and key.isprintable()):
            raise RuntimeError(
                f"RemoteEncoder: set the environment variable {self.key_variable} to "
                "your API key, or key_variable=None if the server needs none."
            )
        return key

    def _failure(self, error):
        """Return a message for an HTTP error: the server's message, and what to do."""
        try:
            content = error.read(10_000).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException):
            content = ""
        with contextlib.suppress(ValueError, KeyError, TypeError):
            content = json.loads(content)["error"]["message"]
        said = " ".join(str(content).split())[:500] or error.reason
        if self.key_variable is not None:
            said = said.replace(self._key(), "***")
        what = f"{self.url} answered {error.code} for model {self.model!r}: {said}"
        hint = {
            400: "Lower batch_size or shorten the texts if they are too long",
            401: f"Check the API key in the environment variable {self.key_variable}",
            403: f"Check the API key in the environment variable {self.key_variable}",
            404: "Check url and model",
            413: "Lower batch_size",
            429: "Lower requests_per_minute, or check your quota",
        }.get(error.code)
        return f"{what}. {hint}" if hint else what

    def _log(self, answer, n_texts):
        if self.usage_log is None:
            return
        usage = answer.get("usage") if isinstance(answer, dict) else None
        tokens = (usage or {}).get("prompt_tokens") or 0
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "model": self.model,
            "texts": n_texts,
            "tokens": tokens,
            "cost": tokens * self.price / 1e6,
        }
        with open(self.usage_log, "a", encoding="utf-8") as file:  # one write per line
            file.write(json.dumps(line) + "\n")

    def _vectors(self, answer, n_texts):
        try:
            items = sorted(answer["data"], key=lambda item: item["index"])
            indices = [item["index"] for item in items]
            vectors = np.array([_decoded(item["embedding"]) for item in items])
        except (KeyError, TypeError, ValueError):
            raise self._malformed(answer) from None
        if indices != list(range(n_texts)):
            raise self._malformed(f"{len(items)} vectors for {n_texts} texts")
        if vectors.ndim != 2 or self.dimensions not in (None, vectors.shape[1]):
            raise self._malformed(f"vectors of shape {vectors.shape[1:]}")
        if not np.isfinite(vectors).all():
            raise self._malformed("vectors that contain NaN or infinity")
        return vectors

    def _malformed(self, answer):
        return RuntimeError(
            f"{self.url} did not answer as /v1/embeddings does for model "
            f"{self.model!r}: {str(answer)[:200]}. Check url, model and dimensions."
        )


def _decoded(embedding):
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    return np.asarray(embedding, dtype=np.float32)


def _retry_after(error):
    """Return the seconds to wait according to the server, or None."""
    value = error.headers.get("Retry-After", "")
    with contextlib.suppress(ValueError):
        return max(0.0, float(value))
    with contextlib.suppress(ValueError):
        until = email.utils.parsedate_to_datetime(value).timestamp()
        return max(0.0, until - time.time())
    return None


def spent(usage_log):
    """Return the numbers of requests, texts and tokens in a usage log, and the cost."""
    with open(usage_log, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    totals = {name: sum(line[name] for line in lines) for name in ("texts", "tokens")}
    return {
        "requests": len(lines),
        **totals,
        "cost": sum(line["cost"] for line in lines),
    }
