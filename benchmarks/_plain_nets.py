"""Networks of `quick.py` as one would write them in torch by hand.

They extend the plain network of `dme_training.py`: a GRU in place of the BiLSTM, and a
BiLSTM-CRF that tags tokens.
"""

import torch
from dme_training import BATCH, ENCODER, PROJECTION, PlainNet
from torch import nn


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
        packed = nn.utils.rnn.pack_padded_sequence(
            tokens, lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = nn.utils.rnn.pad_packed_sequence(
            self.lstm(packed)[0], batch_first=True
        )
        return self.out(nn.functional.dropout(states, 0.5, self.training))

    def forward(self, codes, tags, mask):
        """Return the mean negative log-likelihood of the tags."""
        scores = self.scores(codes, mask.sum(dim=1))
        rows, last = torch.arange(len(tags)), mask.sum(dim=1) - 1
        emitted = scores.gather(2, tags[:, :, None])[:, :, 0]
        moved = self.transitions[tags[:, :-1], tags[:, 1:]]
        path = self.starts[tags[:, 0]] + self.ends[tags[rows, last]]
        path = path + (emitted * mask).sum(dim=1) + (moved * mask[:, 1:]).sum(dim=1)
        total = self.starts + scores[:, 0]
        for step in range(1, tags.shape[1]):
            reached = torch.logsumexp(total[:, :, None] + self.transitions, dim=1)
            total = torch.where(mask[:, step, None], reached + scores[:, step], total)
        return (torch.logsumexp(total + self.ends, dim=1) - path).mean()


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
