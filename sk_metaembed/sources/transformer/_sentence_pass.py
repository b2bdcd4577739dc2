"""SentencePass: texts through a sentence encoder, as its authors use it.

Texts with their prompt go through the tokenizer with its special tokens, and are cut to
the encoder's length or computed in windows.
"""

import numpy as np

from .._batching import BatchRunner
from .._sentences import OriginalText
from ._alignment import encodable
from ._forward import window_spans

_TEXTS_PER_CALL = 1024


class SentenceReader:
    """Split whole texts into pieces, with the prompt and special tokens around them.

    Parameters
    ----------
    tokenizer : transformers tokenizer
    n_right : int
        Number of special tokens behind a text.
    n_left : int
        Number of special tokens before it.
    prompt : str, default=""

    Attributes
    ----------
    n_prompt : int
        Number of pieces of the prompt, with the special tokens before it; 0 without.
    overhead : int
        Number of pieces around a text.
    remembered : dict
        Results of `_tokenizer_checks`, by text.
    """

    def __init__(self, tokenizer, n_left, n_right, prompt=""):
        self.tokenizer, self.prompt = tokenizer, prompt
        self._n_right = n_right
        alone = self._encode([""])[0][0]
        self._n_alone = len(alone)
        special = set(getattr(tokenizer, "all_special_ids", ()))
        trailing = bool(len(alone)) and int(alone[-1]) in special
        self.n_prompt = len(alone) - trailing if prompt else 0
        self._n_head = self.n_prompt if prompt else n_left
        self.overhead = len(alone)
        self.remembered = {}

    def pieces(self, sentences, limit=None):
        """Return ids and token types of texts, cut to `limit` pieces if it is given.

        A text without pieces of its own has no ids.
        """
        ids, types = [], []
        for start in range(0, len(sentences), _TEXTS_PER_CALL):
            part = [_text(s) for s in sentences[start : start + _TEXTS_PER_CALL]]
            rows, kinds = self._encode(part, limit)
            ids += [row if len(row) > self._n_alone else row[:0] for row in rows]
            types += kinds or [None] * len(rows)
        return ids, types if ids and types[0] is not None else None

    def _encode(self, texts, limit=None):
        options = {}
        if limit is not None:
            options = {"truncation": True, "max_length": limit}
        encoded = self.tokenizer(
            [self.prompt + text for text in texts],
            return_attention_mask=False,
            verbose=False,
            **options,
        )
        ids = [np.array(row, dtype=np.int64) for row in encoded["input_ids"]]
        kinds = encoded.get("token_type_ids")
        return ids, kinds and [np.array(row, dtype=np.int64) for row in kinds]

    def n_cut(self, sentences, limit):
        """Return how many pieces of each text are beyond `limit`."""
        ids, _ = self.pieces(sentences)
        return [max(0, len(row) - limit) for row in ids]

    def windows(self, sentences, limit):
        """Return the windows of texts: ids, types, and the text of each.

        Each has the prompt and the special tokens.
        """
        ids, types = self.pieces(sentences)
        rows, kinds, owners = [], [], []
        for i, row in enumerate(ids):
            for place in self._window_places(len(row), limit):
                rows.append(row[place])
                kinds.append(None if types is None else types[i][place])
                owners.append(i)
        return rows, kinds if types is not None else None, owners

    def _window_places(self, size, limit):
        if not size:
            return []
        if limit is None or size <= limit:
            return [np.arange(size)]
        around = self._n_head + self._n_right
        if limit <= around:
            raise ValueError(
                f"TransformerEmbedding: windows of {limit} pieces have no room for "
                f"text between {around} pieces of special tokens and prompt. Use a "
                "larger max_length or a shorter prompt."
            )
        head, tail = np.arange(self._n_head), np.arange(size - self._n_right, size)
        spans = window_spans(size - around, limit - around) + self._n_head
        return [np.concatenate([head, np.arange(*span), tail]) for span in spans]


class SentencePass:
    """Compute the vectors of texts; the `compute` of `sentence_blocks`.

    Parameters
    ----------
    model : TransformerModel or LoadedModel
    fingerprint : str
        Digest of the modules in fit.
    prompt : str
    spec : OutputSpec
        With the number of dimensions that are returned.
    limit : int or None
        Maximum number of pieces.
    truncate : bool
        Whether longer texts are cut, instead of using windows.
    budget : int
        Pieces per batch.
    progress : callable, default=None
        Called with the number of words of each batch.
    """

    def __init__(
        self, model, fingerprint, prompt, spec, limit, truncate, budget, progress=None
    ):
        self.model, self.reader, self.dim = model, model.reader(prompt), spec.dim
        self.limit, self.truncate = limit, truncate
        self._fingerprint, self.head = fingerprint, None
        self._runner = BatchRunner(budget)
        self._progress = progress

    def __call__(self, sentences):
        """Yield a list of one (values, known) per sentence."""
        import torch

        self.head = self.model.head(self._fingerprint)
        with self.model.lock:
            rows, types, owners = self._rows(sentences)
        owners = np.array(owners, dtype=np.int64)
        network, pad = self.model.network, self.model.padding_id
        n_prompt = 0 if self.head.include_prompt else self.reader.n_prompt
        # sentence-transformers passes hidden states on only if the model returns them.
        returned = getattr(self.model.config, "output_hidden_states", False)
        reads_layers = self.head.mixes_layers and bool(returned)
        pooled = [None] * len(rows)

        def forward(batch):
            kinds = None if types is None else [types[k] for k in batch]
            with self.model.lock:
                states = network.last_states(
                    [rows[k] for k in batch], kinds, pad, layers=reads_layers
                )
                with torch.inference_mode():
                    vectors = self.head.pool(*states, n_prompt)
            for k, vector in zip(batch, vectors, strict=True):
                pooled[k] = vector
            if self._progress is not None:
                self._progress(sum(len(sentences[i]) for i in owners[batch]))

        with self.model.lock:
            policy = network.batching_policy(pad)
        self._runner.run([len(row) for row in rows], forward, policy)
        values = np.zeros((len(sentences), self.dim), np.float32)
        known = np.isin(np.arange(len(sentences)), owners)
        if len(rows):
            with torch.inference_mode():
                means = _window_means(torch.stack(pooled), owners, rows)
                vectors = self.head.finish(means)[:, : self.dim]
            values[known] = vectors.float().cpu().numpy()
        if not np.isfinite(values).all():
            raise ValueError(
                f"TransformerEmbedding: vectors computed in {self.model.dtype} have "
                "NaN or infinity. float16 is too narrow for some networks: use "
                "dtype='bfloat16' or 'float32'. In float32 the weights are corrupt."
            )
        for vector, is_known in zip(values, known, strict=True):
            yield [(vector, bool(is_known))]

    def _rows(self, sentences):
        if not self.truncate:
            return self.reader.windows(sentences, self.limit)
        ids, types = self.reader.pieces(sentences, self.limit)
        owners = [i for i, row in enumerate(ids) if len(row)]
        types = None if types is None else [types[i] for i in owners]
        return [ids[i] for i in owners], types, owners


def _window_means(pooled, owners, rows):
    """Return the mean over each text's windows, weighted by their pieces."""
    import torch

    if len(np.unique(owners)) == len(owners):
        return pooled
    texts = np.unique(owners, return_inverse=True)[1]
    sizes = torch.tensor([len(row) for row in rows], dtype=torch.float64)
    places = torch.from_numpy(texts)
    total = torch.zeros(int(texts.max()) + 1, dtype=torch.float64)
    total.index_add_(0, places, sizes)
    weights = (sizes / total[places]).to(pooled.device, pooled.dtype)
    means = pooled.new_zeros(len(total), pooled.shape[1])
    return means.index_add_(0, places.to(pooled.device), pooled * weights[:, None])


def _text(sentence):
    """Return the text of an OriginalText, or tokens joined by spaces."""
    if isinstance(sentence, OriginalText):
        return encodable(sentence.text)
    return encodable(" ".join(sentence))
