"""What benchmarks/gpu.py measures: networks, and their bare versions.

A row is a function of `Sizes`, device and dtype that returns tokens per second, and a
shorter run of the same to be profiled.
"""

import math
import tempfile
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from dme_training import (
    ENCODER,
    PROJECTION,
    PlainNet,
    crf_loss,
    make_data,
    model,
    states_of,
    synchronise,
    time_loop,
    time_plain,
)
from torch import nn

from sk_metaembed import (
    DynamicMetaTagger,
    ElmoEmbedding,
    ElmoLanguageModel,
    TokenSequences,
    TransformerEmbedding,
)

TAGS = ["O", "B-x", "I-x", "B-y", "I-y", "B-z", "I-z", "B-u", "I-u"]


class Sizes(NamedTuple):
    """How much is measured."""

    sentences: int = 6400
    epochs: int = 4
    encoder: int = ENCODER  # its dimension
    texts: int = 8000  # through transformers and ELMo
    elmo: tuple = (512, 4096)  # projection and cell dimension, as published
    elmo_training: tuple = (512, 2048)
    transformers: bool = True  # of the published sizes; otherwise tiny


QUICK = Sizes(32, 2, 32, 48, (32, 64), (32, 64), False)


class Skipped(Exception):
    """A row cannot run here."""


class Run(NamedTuple):
    """Something to be measured.

    Attributes
    ----------
    speed : callable
        Returns tokens per second.
    sample : callable
        Runs a part of it, to be profiled; returns its number of tokens.
    """

    speed: object
    sample: object


@cache
def _data():
    return make_data()


def training_data(sizes):
    """Return sentences over three sources, and labels."""
    X, y = _data()
    repeated = np.arange(sizes.sentences) % len(X)
    return X[repeated], y[repeated]


def _steady(speeds):
    """Return the median without the first epoch, which allocates and compiles."""
    return float(np.median(speeds[1:] or speeds))


def _speeds(estimator, X):
    return [X.tokens.n_tokens / epoch["dur"] for epoch in estimator.history_]


def plain(make_net=PlainNet):
    """Return the row of the plain loop over a network."""

    def run(sizes, device, dtype, batch):
        X, y = training_data(sizes)
        options = {"dtype": dtype, "batch": batch, "make_net": make_net}
        options |= {"projection": PROJECTION, "encoder": sizes.encoder}
        few = slice(0, 10 * batch)

        def sample():
            time_plain(X[few], y[few], 1, device, **options)
            return X[few].tokens.n_tokens

        epochs = sizes.epochs
        return Run(lambda: _steady(time_plain(X, y, epochs, device, **options)), sample)

    return run


def dynamic(attention, **options):
    """Return the row of an estimator."""

    def run(sizes, device, dtype, batch):
        X, y = training_data(sizes)

        def fit(part, epochs):
            estimator = model(attention, epochs, device, dtype, **options)
            estimator.set_params(batch_size=batch, encoder_dim=sizes.encoder)
            estimator.set_params(train_options={"dtype": dtype})
            return estimator.fit(X[part], y[part])

        def sample():
            few = slice(0, 10 * batch)
            fit(few, 1)
            return X[few].tokens.n_tokens

        whole = slice(None)
        return Run(lambda: _steady(_speeds(fit(whole, sizes.epochs), X)), sample)

    return run


class PlainTagger(PlainNet):
    """A BiLSTM-CRF over padded tokens, with the usual loop over steps."""

    def __init__(self, tables, dim):
        super().__init__(tables, encoder=dim)
        self.head = nn.Linear(2 * dim, len(TAGS))
        self.transitions = nn.Parameter(torch.zeros(len(TAGS), len(TAGS)))

    def forward(self, codes, lengths, tags):
        """Return the mean negative log-likelihood of a token."""
        tokens = nn.functional.dropout(self.embed(codes), 0.2, self.training)
        scores = self.head(states_of(self.lstm, tokens, lengths)).float()
        steps = torch.arange(codes.shape[1], device=codes.device)
        mask = steps < lengths.to(codes.device)[:, None]
        return crf_loss(scores, tags, mask, self.transitions).sum() / mask.sum()


def _tags(X):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, len(TAGS), X.tokens.n_tokens)
    return TokenSequences(TAGS, codes, X.tokens.offsets)


def plain_tagger(sizes, device, dtype, batch):
    """Return the row of the plain loop over a BiLSTM-CRF."""
    X, _ = training_data(sizes)
    padded, mask = X.tokens.to_padded()
    codes, lengths = torch.from_numpy(padded).long(), torch.from_numpy(mask.sum(1))
    tags = torch.from_numpy(_tags(X).to_padded()[0]).long().clamp(min=0)

    def speeds(part, epochs):
        torch.manual_seed(0)
        tables = [np.array(block.values) for block in part.blocks]
        net = PlainTagger(tables, sizes.encoder).to(device)

        def loss(rows):
            cut = rows, slice(0, int(lengths[rows].max()))
            return net(codes[cut].to(device), lengths[rows], tags[cut].to(device))

        return time_loop(net, loss, part, epochs, device, dtype, batch)

    def sample():
        few = X[: 10 * batch]
        speeds(few, 1)
        return few.tokens.n_tokens

    return Run(lambda: _steady(speeds(X, sizes.epochs)), sample)


def tagger(sizes, device, dtype, batch):
    """Return the row of `DynamicMetaTagger` with a CRF."""
    X, _ = training_data(sizes)
    tags = _tags(X)

    def fit(part, epochs):
        return DynamicMetaTagger(
            network_options={"mixer": "published"},
            projection_dim=PROJECTION,
            encoder_dim=sizes.encoder,
            batch_size=batch,
            max_epochs=epochs,
            early_stopping=False,
            device=device,
            train_options={"dtype": dtype},
            random_state=0,
        ).fit(X[part], tags[part])

    def sample():
        few = slice(0, 10 * batch)
        fit(few, 1)
        return X[few].tokens.n_tokens

    whole = slice(None)
    return Run(lambda: _steady(_speeds(fit(whole, sizes.epochs), X)), sample)


_FOLDERS = {}  # of models with random weights, until the process ends


def _folder(name, write):
    if name not in _FOLDERS:
        _FOLDERS[name] = tempfile.TemporaryDirectory(prefix="sk_metaembed-gpu-")
        write(Path(_FOLDERS[name].name))
    return Path(_FOLDERS[name].name)


def _texts(sizes):
    """Return sentences of the lengths of SST-2 whose words are single subwords."""
    X, _ = _data()
    tokens = X[np.arange(sizes.texts) % len(X)].tokens
    words = [f"word{i}" for i in range(tokens.n_types)]
    return TokenSequences(words, tokens.codes, tokens.offsets)


def _write_transformer(name, sizes, words):
    """Write an architecture with random weights, and a tokenizer that knows the words.

    Padding is subword 1, as in MPNet.
    """
    from transformers import (
        BertConfig,
        BertModel,
        BertTokenizer,
        MPNetConfig,
        MPNetModel,
    )

    subwords = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]", *words]
    subwords += [f"[unused{i}]" for i in range(len(subwords), 30_527)]
    vocabulary = {subword: i for i, subword in enumerate(subwords)}
    common = {"vocab_size": len(subwords), "pad_token_id": 1}
    if not sizes.transformers:
        common |= {"num_hidden_layers": 2, "num_attention_heads": 2}
        common |= {"hidden_size": 32, "intermediate_size": 64}
    if name == "mpnet":
        network = MPNetModel(MPNetConfig(**common))
    else:
        minilm = {"num_hidden_layers": 6, "num_attention_heads": 12}
        minilm |= {"hidden_size": 384, "intermediate_size": 1536}
        network = BertModel(BertConfig(**minilm | common))

    def write(folder):
        network.save_pretrained(folder)
        BertTokenizer(vocab=vocabulary).save_pretrained(folder)

    return write


def _transformer_folder(name, sizes, words):
    try:
        import transformers
    except ImportError as error:
        raise Skipped("needs transformers") from error
    transformers.logging.disable_progress_bar()
    write = _write_transformer(name, sizes, words)
    return _folder((name, sizes.transformers), write)


def bare_transformer(name):
    """Return the row of the network alone, on sorted batches of subword numbers."""

    def run(sizes, device, dtype, batch):
        from transformers import AutoModel

        tokens = _texts(sizes)
        folder = _transformer_folder(name, sizes, tokens.types.tolist())
        kind = getattr(torch, dtype)
        network = AutoModel.from_pretrained(folder, dtype=kind).eval().to(device)
        rows = [np.r_[0, codes + 5, 2] for codes in _split(tokens)]
        rows.sort(key=len)

        @torch.inference_mode()
        def forward(rows):
            for start in range(0, len(rows), batch):
                some = [torch.from_numpy(row) for row in rows[start : start + batch]]
                ids = nn.utils.rnn.pad_sequence(some, True, 1).to(device)
                network(input_ids=ids, attention_mask=(ids != 1).long())
            synchronise(device)
            return sum(map(len, rows)) - 2 * len(rows)

        return Run(lambda: _rate(forward, rows), lambda: forward(rows[: 10 * batch]))

    return run


def _split(tokens):
    return np.split(tokens.codes.astype(np.int64), tokens.offsets[1:-1])


def _rate(function, *args):
    """Return tokens per second of the faster of two calls, after one more."""
    speeds = []
    for _ in range(3):
        start = time.perf_counter()
        n_tokens = function(*args)
        speeds.append(n_tokens / (time.perf_counter() - start))
    return max(speeds[1:])


def _transforming(source, tokens, batch):
    """Return the row of a fitted source's `transform`."""

    def transform(part):
        source.transform(part)
        return part.n_tokens

    few = tokens[: 10 * batch]
    return Run(lambda: _rate(transform, tokens), lambda: transform(few))


def transformer(name, **options):
    """Return the row of `TransformerEmbedding`, from words to arrays of the host."""

    def run(sizes, device, dtype, batch):
        tokens = _texts(sizes)
        folder = _transformer_folder(name, sizes, tokens.types.tolist())
        longest = math.ceil(tokens.n_tokens / len(tokens)) + 2
        source = TransformerEmbedding(
            folder, device=device, dtype=dtype, batch_tokens=batch * longest, **options
        ).fit(tokens[:8])
        return _transforming(source, tokens, batch)

    return run


def _elmo_files(sizes):
    try:
        import h5py  # noqa: F401
    except ImportError as error:
        raise Skipped("needs h5py") from error
    from elmo_speed import FILTERS, make_options, random_weights, write_model

    dim, cells = sizes.elmo
    filters = FILTERS if dim > 100 else FILTERS[:3]
    changes = {"projection_dim": dim, "cell_dim": cells, "filters": filters}
    options = make_options("original")._replace(**changes)
    weights = random_weights(options)
    folder = _folder(("elmo", dim), lambda at: write_model(at, options, weights))
    return folder / "options.json", folder / "weights.hdf5"


def elmo(sizes, device, dtype, batch):
    """Return the row of `ElmoEmbedding`, from words to arrays of the host."""
    tokens = _texts(sizes)
    longest = math.ceil(tokens.n_tokens / len(tokens)) + 2
    source = ElmoEmbedding(
        *_elmo_files(sizes), device=device, dtype=dtype, batch_tokens=batch * longest
    ).fit(tokens[:8])
    return _transforming(source, tokens, batch)


class BareElmo(nn.Module):
    """torch's projected LSTMs of both directions over words of a table; no clips."""

    def __init__(self, n_words, dim, cells, n_layers=2):
        super().__init__()
        self.words = nn.Embedding(n_words, dim)
        self.layers = nn.ModuleList(
            nn.LSTM(dim, cells, proj_size=dim, num_layers=n_layers) for _ in range(2)
        )

    def forward(self, codes):
        """Return the states of both directions, (2, n_steps, n_rows, dim)."""
        words = self.words(codes)
        return torch.stack([self.layers[0](words)[0], self.layers[1](words.flip(0))[0]])


def bare_elmo(sizes, device, dtype, batch):
    """Return the row of torch's LSTMs of that size, on sorted batches."""
    tokens = _texts(sizes)
    kind = torch.float32 if device == "cpu" else getattr(torch, dtype)
    network = BareElmo(tokens.n_types, *sizes.elmo).to(device, kind).eval()
    rows = sorted(_split(tokens), key=len)

    @torch.inference_mode()
    def forward(rows):
        for start in range(0, len(rows), batch):
            some = [torch.from_numpy(row) for row in rows[start : start + batch]]
            network(nn.utils.rnn.pad_sequence(some).to(device))
        synchronise(device)
        return sum(map(len, rows))

    return Run(lambda: _rate(forward, rows), lambda: forward(rows[: 10 * batch]))


def language_model(sizes, device, dtype, batch):
    """Return the row of training an `ElmoLanguageModel`."""
    tokens, (dim, cells) = _texts(sizes), sizes.elmo_training

    def fit(part, epochs):
        return ElmoLanguageModel(
            architecture={"projection_dim": dim, "cell_dim": cells},
            batch_size=batch,
            softmax="adaptive",
            max_epochs=epochs,
            device=device,
            dtype=dtype,
            random_state=0,
        ).fit(part)

    def sample():
        few = tokens[: 4 * batch]
        fit(few, 1)
        return few.n_tokens

    def speed():
        history = fit(tokens, 2).history_
        return _steady([tokens.n_tokens / epoch["dur"] for epoch in history])

    return Run(speed, sample)


def bare_language_model(sizes, device, dtype, batch):
    """Return the row of torch's LSTMs and adaptive softmax, with vectors of a table."""
    tokens, (dim, cells), n_steps = _texts(sizes), sizes.elmo_training, 20
    n_words = tokens.n_types
    cutoffs = [c for c in (2000, 10_000) if c < n_words] or [n_words // 2]
    size = batch * n_steps
    codes = np.resize(tokens.codes.astype(np.int64), -(-tokens.n_tokens // size) * size)
    grid = torch.from_numpy(codes).view(batch, -1).T.split(n_steps)
    network = BareElmo(n_words, dim, cells).to(device)
    softmax = nn.AdaptiveLogSoftmaxWithLoss(dim, n_words, cutoffs, 2.0).to(device)
    learned = [*network.parameters(), *softmax.parameters()]
    optimizer = torch.optim.Adam(learned)
    low = dtype == "bfloat16"

    def train(steps):
        for codes in steps:
            codes = codes.contiguous().to(device)
            with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=low):
                states = network(codes).flatten(0, 2)
            loss = softmax(states.float(), codes.repeat(2, 1).flatten()).loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learned, 1.0)
            optimizer.step()
            loss.item()
        synchronise(device)
        return len(steps) * size

    return Run(lambda: _rate(train, grid), lambda: train(grid[:4]))


@contextmanager
def products(kind):
    """Set the precision of float32 products: "tf32" allows TensorFloat-32."""
    torch.set_float32_matmul_precision("high" if kind == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision("highest")
