"""A student with a hidden layer, to compare with the linear one."""

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler
from torch.nn import functional


class ReluStudent(TransformerMixin, BaseEstimator):
    """TF-IDF of words and bigrams and vectors of `base`, a ReLU layer, a linear layer.

    As Luxical's networks, but of one hidden layer. The loss is one minus the cosine
    with the teacher's centered vector. Settings were chosen on SST-2's development
    part.
    """

    def __init__(self, teacher, base, hidden=256, epochs=14, lr=4e-3, dropout=0.4):
        self.teacher = teacher
        self.base = base
        self.hidden = hidden
        self.epochs = epochs
        self.lr = lr
        self.dropout = dropout

    def fit(self, X, y=None):
        """Train on texts."""
        targets = clone(self.teacher).fit(X).transform(X)
        targets = torch.from_numpy(targets - targets.mean(axis=0))
        self.vectorizer_ = TfidfVectorizer(
            ngram_range=(1, 2),
            token_pattern=r"\w+",
            sublinear_tf=True,
            max_features=20_000,
            dtype=np.float32,
        ).fit(X)
        self.base_ = clone(self.base).fit(X)
        self.scaler_ = StandardScaler().fit(self.base_.transform(X))
        weights, base = self._inputs(X)
        torch.manual_seed(0)
        self.rows_ = torch.nn.EmbeddingBag(weights.shape[1], self.hidden, mode="sum")
        torch.nn.init.normal_(self.rows_.weight, std=self.hidden**-0.5)
        self.from_base_ = torch.nn.Linear(base.shape[1], self.hidden)
        self.output_ = torch.nn.Linear(self.hidden, targets.shape[1])
        layers = self.rows_, self.from_base_, self.output_
        parameters = [weight for layer in layers for weight in layer.parameters()]
        optimizer = torch.optim.Adam(parameters, lr=self.lr)
        for _ in range(self.epochs):
            for batch in torch.randperm(len(targets)).split(256):
                output = self._forward(
                    weights[batch.numpy()], base[batch], self.dropout
                )
                cosines = functional.cosine_similarity(output, targets[batch])
                optimizer.zero_grad()
                (1 - cosines.mean()).backward()
                optimizer.step()
        return self

    def transform(self, X):
        """Return the vectors of texts."""
        with torch.no_grad():
            return self._forward(*self._inputs(X), 0).numpy()

    def _inputs(self, X):
        base = self.scaler_.transform(self.base_.transform(X)) / 10  # rows of length 1
        return self.vectorizer_.transform(X), torch.from_numpy(base.astype(np.float32))

    def _forward(self, weights, base, dropout):
        indices = torch.from_numpy(weights.indices.astype(np.int64))
        starts = torch.from_numpy(weights.indptr[:-1].astype(np.int64))
        values = functional.dropout(torch.from_numpy(weights.data), dropout)
        hidden = self.rows_(indices, starts, values) + self.from_base_(base)
        return self.output_(functional.dropout(torch.relu(hidden), dropout / 2))
