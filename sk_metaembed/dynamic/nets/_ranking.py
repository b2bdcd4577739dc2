"""A ranker's network, its loss, and the score that early stopping follows."""

import numpy as np
import torch
from skorch.callbacks import Callback
from torch import nn

from .._retrieval import mean_recall
from ._mixing import DynamicMetaNet


class RankingNet(DynamicMetaNet):
    """Captions and images to vectors of length one in a space that they share.

    Parameters
    ----------
    dims, n_outputs, **options
        As `DynamicMetaNet` takes them.
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
        """Return the vectors and numbers of the images that belong to captions."""
        return self.image_vectors(y[:, :-1]), y[:, -1]


class RankingLoss(nn.Module):
    """Hinges on how much more like its own image a caption is than like others.

    Parameters
    ----------
    kind : tuple of ({"sum", "hardest"}, float)
        Which of a batch's negatives count, and the margin.
    """

    compares_rows = True  # a row's loss is told by the other rows of its batch

    def __init__(self, kind):
        super().__init__()
        self.negatives, self.margin = kind

    def forward(self, captions, target, weights):
        """Return the scalar loss of captions and their images."""
        images, codes = target
        likeness = captions @ images.T
        own = likeness.diagonal()
        same = codes[:, None] == codes
        sides = [self._hinges(likeness, own, same), self._hinges(likeness.T, own, same)]
        losses = sum(sides)
        return (losses * weights).sum() / weights.sum().clamp(min=1e-12)

    def _hinges(self, likeness, own, same):
        hinges = (self.margin + likeness - own[:, None]).clamp(min=0)
        hinges = hinges.masked_fill(same, 0.0)
        return hinges.sum(dim=1) if self.negatives == "sum" else hinges.amax(dim=1)


class ValidRecall(Callback):
    """Records ``valid_recall``: the mean of R@1, R@5 and R@10 in both directions."""

    def on_epoch_begin(self, net, **kwargs):
        """Forget the last epoch."""
        self.parts_ = []

    def on_batch_end(self, net, batch=None, training=False, y_pred=None, **kwargs):
        """Keep the vectors of a batch of the held-out part."""
        if training or y_pred is None:
            return
        with torch.no_grad():
            images, codes = net.module_.target(batch[1])
        parts = y_pred, images, codes
        self.parts_.append([part.float().cpu().numpy() for part in parts])

    def on_epoch_end(self, net, **kwargs):
        """Write the score into the history."""
        parts = sum(net.processes_.gathered(self.parts_), [])
        captions, images, codes = map(np.concatenate, zip(*parts, strict=True))
        self.parts_ = []
        _, firsts, codes = np.unique(codes, return_index=True, return_inverse=True)
        net.history.record("valid_recall", mean_recall(captions, images[firsts], codes))
