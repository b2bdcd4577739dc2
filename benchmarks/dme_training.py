"""Training speed of DME compared with a plain loop over the same network.

Three random sources of 300 dimensions, projection 256, BiLSTM-max 512, batches of 64,
and the sentence lengths of SST-2 (from ``SK_METAEMBED_DATA``, or sampled to match). The
plain loop is a straightforward implementation: it shuffles, pads to the longest
sequence of the batch, packs, and looks up every token in every source. With
``--encoder gru`` both have one GRU and its last state. All are timed in turn, and the
medians are shown. The limit is the time of the matrix products alone, at the rate that
is measured for one of them.

`quick.py` and `gpu.py` use the plain networks too, `quick.py` also a BiLSTM-CRF.

Run: python benchmarks/dme_training.py [--encoder gru] [--repeats 5] [--threads 1]
"""

import argparse
import os
import time

import numpy as np
import torch
from torch import nn

from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    EmbeddedSequences,
    TokenSequences,
)

N_SOURCES, DIM, PROJECTION, ENCODER, BATCH = 3, 300, 256, 512, 64


def sst2_tokens():
    """Return SST-2's training sentences, or random sentences of the same lengths."""
    if os.environ.get("SK_METAEMBED_DATA"):
        from _data import load_sst2

        return load_sst2("train").data
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.gamma(4.3, 4.5, 6920).astype(int), 2, 52)
    share = 1 / np.arange(1, 15_001)
    codes = rng.choice(15_000, size=lengths.sum(), p=share / share.sum())
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return TokenSequences([f"w{i}" for i in range(15_000)], codes, offsets)


def make_data():
    """Return the sentences over three random sources, and labels."""
    rng = np.random.default_rng(0)
    tokens = sst2_tokens()
    blocks = [
        Block(f"s{i}", rng.normal(size=(tokens.n_types, DIM)), "type")
        for i in range(N_SOURCES)
    ]
    return EmbeddedSequences(tokens, blocks), rng.integers(0, 2, len(tokens))


def states_of(lstm, tokens, lengths, padding=0.0):
    """Return the states of a recurrent layer over padded tokens, which are packed."""
    packed = nn.utils.rnn.pack_padded_sequence(
        tokens, lengths, batch_first=True, enforce_sorted=False
    )
    return nn.utils.rnn.pad_packed_sequence(
        lstm(packed)[0], batch_first=True, padding_value=padding
    )[0]


def crf_loss(scores, tags, mask, transitions, starts=0.0, ends=0.0):
    """Return the negative log-likelihood of the tags of each sentence."""
    rows, last = torch.arange(len(tags)), mask.sum(dim=1) - 1
    emitted = scores.gather(2, tags[:, :, None])[:, :, 0]
    moved = transitions[tags[:, :-1], tags[:, 1:]]
    path = (emitted * mask).sum(dim=1) + (moved * mask[:, 1:]).sum(dim=1)
    if torch.is_tensor(starts):
        path = path + starts[tags[:, 0]] + ends[tags[rows, last]]
    total = starts + scores[:, 0]
    for step in range(1, tags.shape[1]):
        reached = torch.logsumexp(total[:, :, None] + transitions, dim=1)
        total = torch.where(mask[:, step, None], reached + scores[:, step], total)
    return torch.logsumexp(total + ends, dim=1) - path


class PlainNet(nn.Module):
    """The same network over padded tokens."""

    def __init__(self, tables, projection=PROJECTION, encoder=ENCODER):
        super().__init__()
        self.tables = nn.ModuleList(
            nn.Embedding.from_pretrained(torch.from_numpy(t)) for t in tables
        )
        self.projections = nn.ModuleList(
            nn.Linear(table.shape[1], projection) for table in tables
        )
        self.score = nn.Linear(projection, 1)
        self.lstm = nn.LSTM(projection, encoder, bidirectional=True, batch_first=True)
        self.head = nn.Sequential(
            nn.Linear(2 * encoder, 512),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(512, 512),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(512, 2),
        )

    def embed(self, codes):
        """Return mixed vectors of padded codes, (batch, time, projection)."""
        projected = torch.stack(
            [p(t(codes)) for p, t in zip(self.projections, self.tables, strict=True)],
            dim=2,
        )
        weights = torch.softmax(self.score(projected), dim=2)
        return torch.relu((projected * weights).sum(dim=2))

    def forward(self, codes, lengths):
        """Return logits."""
        tokens = nn.functional.dropout(self.embed(codes), 0.2, self.training)
        states = states_of(self.lstm, tokens, lengths, padding=-1e4)
        return self.head(states.max(dim=1).values)


class PlainGRU(PlainNet):
    """A GRU in one direction, of which the last state is read."""

    def __init__(self, tables, projection=PROJECTION, encoder=ENCODER):
        super().__init__(tables, projection, encoder)
        self.lstm = nn.GRU(projection, encoder, batch_first=True)
        self.head[0] = nn.Linear(encoder, self.head[0].out_features)

    def forward(self, codes, lengths):
        """Return logits."""
        tokens = nn.functional.dropout(self.embed(codes), 0.2, self.training)
        packed = nn.utils.rnn.pack_padded_sequence(
            tokens, lengths, batch_first=True, enforce_sorted=False
        )
        return self.head(self.lstm(packed)[1][0])


class PlainTagger(nn.Module):
    """A BiLSTM-CRF: projection, packed BiLSTM, and a linear-chain CRF."""

    def __init__(self, table, n_tags, projection, encoder):
        super().__init__()
        self.table = nn.Embedding.from_pretrained(torch.from_numpy(table))
        self.projection = nn.Linear(table.shape[1], projection)
        self.lstm = nn.LSTM(projection, encoder, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * encoder, n_tags)
        self.transitions = nn.Parameter(torch.zeros(n_tags, n_tags))
        self.starts = nn.Parameter(torch.zeros(n_tags))
        self.ends = nn.Parameter(torch.zeros(n_tags))

    def scores(self, codes, lengths):
        """Return the scores of the tags, (batch, time, n_tags)."""
        tokens = torch.relu(self.projection(self.table(codes)))
        tokens = nn.functional.dropout(tokens, 0.5, self.training)
        states = states_of(self.lstm, tokens, lengths)
        return self.out(nn.functional.dropout(states, 0.5, self.training))

    def forward(self, codes, tags, mask):
        """Return the mean negative log-likelihood of the tags."""
        scores = self.scores(codes, mask.sum(dim=1))
        chain = self.transitions, self.starts, self.ends
        return crf_loss(scores, tags, mask, *chain).mean()


def train_plain_tagger(table, codes, tags, mask, n_tags, sizes):
    """Train one epoch over padded codes and tags, (n_sentences, longest)."""
    torch.manual_seed(0)
    net = PlainTagger(table, n_tags, *sizes)
    optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad])
    lengths = mask.sum(dim=1)
    for rows in torch.randperm(len(codes)).split(BATCH):
        longest = int(lengths[rows].max())
        part = (codes[rows, :longest], tags[rows, :longest], mask[rows, :longest])
        loss = net(*part)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimizer.step()
        loss.item()


def time_plain(
    X, y, epochs, device, make_net=PlainNet, *, dtype="float32", batch=BATCH, **sizes
):
    """Return the plain loop's tokens per second in each epoch."""
    torch.manual_seed(0)
    tables = [np.array(block.values) for block in X.blocks]
    net = make_net(tables, **sizes).to(device)
    codes, mask = X.tokens.to_padded()
    codes, lengths = torch.from_numpy(codes).long(), torch.from_numpy(mask.sum(1))
    labels = torch.from_numpy(y)

    def loss_of(rows):
        longest = int(lengths[rows].max())
        logits = net(codes[rows, :longest].to(device), lengths[rows])
        return nn.functional.cross_entropy(logits, labels[rows].to(device))

    return time_loop(net, loss_of, X, epochs, device, dtype, batch)


def time_loop(net, loss_of, X, epochs, device, dtype="float32", batch=BATCH):
    """Train a network by a plain loop; return tokens per second in each epoch.

    ``loss_of(rows)`` is the loss of some sentences; bfloat16 is that of autocast.
    """
    learned = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(learned, lr=4e-4)
    kind, low = torch.device(device).type, dtype == "bfloat16"
    speeds = []
    for _ in range(epochs):
        synchronise(device)
        start = time.perf_counter()
        for rows in torch.randperm(len(X)).split(batch):
            with torch.autocast(kind, torch.bfloat16, enabled=low):
                loss = loss_of(rows)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learned, 5.0)
            optimizer.step()
            loss.item()
        synchronise(device)
        speeds.append(X.tokens.n_tokens / (time.perf_counter() - start))
    return speeds


def model(attention="word", epochs=1, device="auto", dtype="float32", **options):
    """Return the estimator to be timed."""
    default = {"encoder_dim": ENCODER, "batch_size": BATCH}
    return DynamicMetaClassifier.published(
        attention,
        projection_dim=PROJECTION,
        max_epochs=epochs,
        early_stopping=False,
        device=device,
        train_options={"dtype": dtype},
        random_state=0,
        **default | options,
    )


def time_ours(X, y, epochs, attention, device, dtype, encoder):
    """Return the estimator's tokens per second, set-up included."""
    estimator = model(attention, epochs, device, dtype, encoder=encoder)
    start = time.perf_counter()
    estimator.fit(X, y)
    return epochs * X.tokens.n_tokens / (time.perf_counter() - start)


def _seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def synchronise(device):
    """Wait for the GPU, if there is one."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()


def product_rate(dtype):
    """Return the multiplications per second of a product of the step's shape."""
    x = torch.randn(BATCH, ENCODER, dtype=dtype)
    weight = torch.randn(ENCODER, 4 * ENCODER, dtype=dtype)
    calls = 100
    seconds = min(
        _seconds(lambda: [x @ weight for _ in range(calls)]) for _ in range(5)
    )
    return calls * BATCH * 4 * ENCODER * ENCODER / seconds


def limit(X, dtype, encoder):
    """Return the tokens per second if a step were its recurrent products alone.

    They are computed once forward and twice backward.
    """
    n_gates = 8 if encoder == "bilstm-max" else 3  # of both directions
    of_input, of_state = PROJECTION * ENCODER, ENCODER * ENCODER
    later = 1 - len(X) / X.tokens.n_tokens  # first tokens have no last state
    per_token = 3 * n_gates * (of_input + later * of_state)
    return product_rate(getattr(torch, dtype)) / per_token


def compare(X, y, options, device):
    """Print the medians of all implementations, timed in turn."""
    shared, encoder = (X, y, options.epochs), options.encoder
    make_net = PlainGRU if encoder == "gru" else PlainNet
    runs = {"plain loop": lambda: np.mean(time_plain(*shared, device, make_net))}
    kinds = {"uniform": "unweighted", "word": "DME", "context": "CDME"}
    for dtype in options.dtypes:
        for attention, name in kinds.items():
            arguments = attention, device, dtype, encoder
            runs[f"{name}, {dtype}"] = lambda a=arguments: time_ours(*shared, *a)
            time_ours(X[:128], y[:128], 1, *arguments)
    limits = {dtype: limit(X, dtype, encoder) for dtype in options.dtypes}
    rates = {name: [] for name in runs}
    for _ in range(options.repeats):
        for name, run in runs.items():
            rates[name].append(run())
    medians = {name: float(np.median(each)) for name, each in rates.items()}
    print("| training | tokens/s | ratio | share of limit |\n|---|---|---|---|")
    for name, rate in medians.items():
        share = ""
        if name != "plain loop" and device == "cpu":
            share = f"{rate / limits[name.rpartition(' ')[2]]:.2f}"
        ratio = rate / medians["plain loop"]
        print(f"| {name} | {rate:,.0f} | {ratio:.2f} | {share} |", flush=True)


def main():
    """Time all implementations and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument(
        "--encoder", default="bilstm-max", choices=["bilstm-max", "gru"]
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    device = options.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    X, y = (part[: options.sentences] for part in make_data())
    print(
        f"{len(X)} sentences, {X.tokens.n_tokens} tokens, {options.encoder}, "
        f"{device}, {options.threads} threads\n"
    )
    compare(X, y, options, device)


if __name__ == "__main__":
    main()
