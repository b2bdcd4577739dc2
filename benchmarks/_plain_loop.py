"""Network and data of the training benchmarks, and a straightforward training loop.

Three random sources of 300 dimensions, projection 256, an encoder of 512, and the
sentence lengths of SST-2 (from ``SK_METAEMBED_DATA``, or sampled to match).
"""

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
        from sk_metaembed.datasets import load_sst2

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


class PlainNet(nn.Module):
    """The same network over padded tokens: a BiLSTM and the maximum, or a GRU."""

    def __init__(self, tables, encoder="bilstm-max", dim=ENCODER):
        super().__init__()
        self.encoder = encoder
        self.tables = nn.ModuleList(
            nn.Embedding.from_pretrained(torch.from_numpy(t)) for t in tables
        )
        self.projections = nn.ModuleList(nn.Linear(DIM, PROJECTION) for _ in tables)
        self.score = nn.Linear(PROJECTION, 1)
        options = {"batch_first": True}
        if encoder == "gru":
            self.recurrent = nn.GRU(PROJECTION, dim, **options)
        else:
            self.recurrent = nn.LSTM(PROJECTION, dim, bidirectional=True, **options)
        self.head = nn.Sequential(
            nn.Linear(dim if encoder == "gru" else 2 * dim, 512),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(512, 512),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(512, 2),
        )

    def embed(self, codes):
        """Return mixed vectors of padded codes, (batch, time, PROJECTION)."""
        projected = torch.stack(
            [p(t(codes)) for p, t in zip(self.projections, self.tables, strict=True)],
            dim=2,
        )
        weights = torch.softmax(self.score(projected), dim=2)
        return torch.relu((projected * weights).sum(dim=2))

    def forward(self, codes, lengths):
        """Return logits."""
        tokens = nn.functional.dropout(self.embed(codes), 0.2, self.training)
        packed = nn.utils.rnn.pack_padded_sequence(
            tokens, lengths, batch_first=True, enforce_sorted=False
        )
        states, last = self.recurrent(packed)
        if self.encoder == "gru":
            return self.head(last[0])
        states, _ = nn.utils.rnn.pad_packed_sequence(
            states, batch_first=True, padding_value=-1e4
        )
        return self.head(states.max(dim=1).values)


def time_plain(X, y, epochs, device, *, dtype="float32", batch=BATCH, **options):
    """Return the plain loop's tokens per second in each epoch.

    In bfloat16 it computes under autocast. `options` are those of `PlainNet`.
    """
    torch.manual_seed(0)
    net = PlainNet([np.array(block.values) for block in X.blocks], **options)
    net = net.to(device)
    codes, mask = X.tokens.to_padded()
    codes, lengths = torch.from_numpy(codes).long(), torch.from_numpy(mask.sum(1))
    labels = torch.from_numpy(y)

    def loss(rows):
        longest = int(lengths[rows].max())
        logits = net(codes[rows, :longest].to(device), lengths[rows])
        return nn.functional.cross_entropy(logits, labels[rows].to(device))

    return time_loop(net, loss, X, epochs, device, dtype, batch)


def time_loop(net, loss_of, X, epochs, device, dtype, batch):
    """Train a network by a plain loop; return tokens per second in each epoch."""
    learned = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(learned, lr=4e-4)
    low = torch.autocast(
        torch.device(device).type, torch.bfloat16, enabled=dtype == "bfloat16"
    )
    speeds = []
    for _ in range(epochs):
        synchronise(device)
        start = time.perf_counter()
        for rows in torch.randperm(len(X)).split(batch):
            with low:
                loss = loss_of(rows)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learned, 5.0)
            optimizer.step()
            loss.item()
        synchronise(device)
        speeds.append(X.tokens.n_tokens / (time.perf_counter() - start))
    return speeds


def synchronise(device):
    """Wait for the GPU, if there is one."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()


def model(attention="word", epochs=1, device="auto", dtype="float32", **options):
    """Return the estimator to be timed."""
    defaults = {"encoder_dim": ENCODER, "batch_size": BATCH}
    return DynamicMetaClassifier(
        attention,
        projection_dim=PROJECTION,
        max_epochs=epochs,
        early_stopping=False,
        device=device,
        train_options={"dtype": dtype},
        random_state=0,
        **defaults | options,
    )
