"""The network of a ranker, its loss, and the score of early stopping."""

import numpy as np
import torch
from skorch.callbacks import Callback
from torch import nn

from .._retrieval import mean_recall
from ._mixing import DynamicMetaNet


class RankingNet(DynamicMetaNet):
    """Map captions and images to vectors of length one in a shared space.

    Parameters
    ----------
    dims, n_outputs, **options
        As for `DynamicMetaNet`.
    n_features : int
        Of an image.
    """

    def __init__(self, dims, n_outputs, *, n_features, **options):
        super().__init__(dims, n_outputs, **options)
        self.image_map = nn.Linear(n_features, n_outputs)

    def forward(self, batch):
        """Return the captions' vectors, (n_captions, n_outputs), in float32."""
        return nn.functional.normalize(super().forward(batch))

    def image_vectors(self, features):
        """Return the images' vectors, (n_images, n_outputs)."""
        return nn.functional.normalize(self.image_map(features).float())

    def target(self, y):
        """Return the vectors and numbers of the captions' images."""
        return self.image_vectors(y[:, :-1]), y[:, -1]


class RankingLoss(nn.Module):
    """Hinge loss between the similarity of a pair and those of non-matching ones.

    Parameters
    ----------
    kind : tuple of ({"sum", "hardest"}, float)
        Which negatives of a batch are used, and the margin.
    """

    compares_rows = True  # the loss of a row depends on the others

    def __init__(self, kind):
        super().__init__()
        self.negatives, self.margin = kind

    def forward(self, captions, target, weights):
        """Return the scalar loss of captions and their images."""
        images, codes = target
        similarity = captions @ images.T
        own = similarity.diagonal()
        same = codes[:, None] == codes
        sides = [
            self._hinges(similarity, own, same),
            self._hinges(similarity.T, own, same),
        ]
        losses = sum(sides)
        return (losses * weights).sum() / weights.sum().clamp(min=1e-12)

    def _hinges(self, similarity, own, same):
        hinges = (self.margin + similarity - own[:, None]).clamp(min=0)
        hinges = hinges.masked_fill(same, 0.0)
        return hinges.sum(dim=1) if self.negatives == "sum" else hinges.amax(dim=1)


class ValidRecall(Callback):
    """Record ``valid_recall``: the mean of R@1, R@5 and R@10 in both directions."""

    def on_epoch_begin(self, net, **kwargs):
        """Discard the results of the last epoch."""
        self.parts_ = []

    def on_batch_end(self, net, batch=None, training=False, y_pred=None, **kwargs):
        """Store the vectors of a batch of the held-out part."""
        if training or y_pred is None:
            return
        with torch.no_grad():
            images, codes = net.module_.target(batch[1])
        parts = y_pred, images, codes
        self.parts_.append([part.float().cpu().numpy() for part in parts])

    def on_epoch_end(self, net, **kwargs):
        """Write the score into the history."""
        parts = sum(net.processes_.all_gather(self.parts_), [])
        captions, images, codes = map(np.concatenate, zip(*parts, strict=True))
        self.parts_ = []
        _, firsts, codes = np.unique(codes, return_index=True, return_inverse=True)
        net.history.record("valid_recall", mean_recall(captions, images[firsts], codes))
