"""Retrieval of images by captions and back: the training target, ranks and recall.

Equal rows of features are one image with several captions. torch is not imported.
"""

import numpy as np

from .._core._messages import plural
from ..sequences._targets import check_target
from ._targets import PerSequence

_ROWS_PER_CHUNK = 1024


def read_images(y, n_captions, *, caller):
    """Return the features of each caption's image, float32 (n_captions, n_features)."""
    n_images = _n_rows(y)
    if n_images is not None and 0 < n_images < n_captions:
        raise ValueError(
            f"{caller}: Found input variables with inconsistent numbers of samples: "
            f"there are {n_captions} captions, and features of "
            f"{plural(n_images, 'image')}. y must have one row per caption: repeat "
            "the row of an image for each of its captions, for example as "
            "features[image_of_caption]."
        )
    y = check_target(y, n_captions, caller=caller)
    y = y[:, None] if y.ndim == 1 else y
    try:
        with np.errstate(over="ignore"):
            y = np.ascontiguousarray(y, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{caller}: y must hold the features of each caption's image, numbers of "
            f"shape (n_captions, n_features); got dtype {y.dtype}."
        ) from error
    huge = np.flatnonzero(~np.isfinite(y).all(axis=1))
    if len(huge):
        raise ValueError(
            f"{caller}: the features at row {huge[0]} are too large for float32."
        )
    return y


def _n_rows(y):
    if isinstance(y, list | tuple):
        return len(y)
    return y.shape[0] if getattr(y, "shape", ()) else None


def image_codes(features):
    """Return distinct rows in order of appearance, and the number of each row's."""
    numbers = {}
    codes = np.array(
        # + 0.0 makes 0 of -0, which has other bytes; row by row, as tables are large.
        [numbers.setdefault((row + 0.0).tobytes(), len(numbers)) for row in features],
        dtype=np.int64,
    )
    firsts = np.unique(codes, return_index=True)[1]
    return features[firsts], codes


class ImageRows:
    """The features of each caption's image, with the number of the image appended.

    Parameters
    ----------
    images : ndarray of float32, shape (n_images, n_features)
    codes : ndarray of int64, shape (n_captions,)
    """

    def __init__(self, images, codes):
        self.images, self.codes = images, codes

    def __getitem__(self, rows):
        codes = self.codes[rows]
        return np.column_stack([self.images[codes], codes.astype(np.float32)])


class ImageTarget(PerSequence):
    """The features of an image, standardized by those of the training images.

    Parameters
    ----------
    y : ndarray of float32, shape (n_captions, n_features)
    dim : int
        Of the space that captions and images share.
    loss : tuple of (str, float)
        As `RankingLoss` takes it.
    """

    monitor = "valid_recall"
    is_classification = False
    classes = None

    def __init__(self, y, dim, loss):
        images, _ = image_codes(y)
        self.n_outputs, self.loss = dim, loss
        self.n_features = y.shape[1]
        self.mean = images.mean(axis=0, dtype=np.float64)
        scale = images.std(axis=0, dtype=np.float64)
        self.scale = np.where(scale > 1e-12, scale, 1.0)

    def encode(self, y, *, caller):
        """Return standardized features and image numbers, as `ImageRows`."""
        images, codes = image_codes(y)
        return ImageRows(self.standardized(images, caller=caller), codes)

    def standardized(self, images, *, caller):
        """Return features on the scale of training, float32 (n_images, n_features)."""
        if images.shape[1] != self.n_features:
            raise ValueError(
                f"{caller}: images must have {self.n_features} features, as in fit; "
                f"got {images.shape[1]}."
            )
        return ((images - self.mean) / self.scale).astype(np.float32)

    def stratify(self, y):
        """Return None: images have no classes."""
        return None


def split_images(codes, weights, fraction, random_state):
    """Return captions to train on and to hold out, all captions of an image together.

    Parameters
    ----------
    codes : ndarray of int64, shape (n_captions,)
        The image of each caption.
    weights : ndarray of shape (n_captions,)
        Captions of weight 0 are in neither part.
    fraction : float
        Fraction of the images to hold out; each part has at least one.
    random_state : numpy RandomState

    Returns
    -------
    tuple of two ndarrays of int64, or None for a single image
    """
    rows = np.flatnonzero(weights)
    images = random_state.permutation(np.unique(codes[rows]))
    if len(images) < 2:
        return None
    size = min(max(1, round(fraction * len(images))), len(images) - 1)
    out = np.isin(codes[rows], images[:size])
    return rows[~out], rows[out]


def best_matches(queries, others, n):
    """Return the rows of the n most similar others, best first, (n_queries, n).

    Equally similar ones are in order of their rows.
    """
    n = min(n, len(others))
    best = np.empty((len(queries), n), dtype=np.int64)
    for rows in _chunks(len(queries)):
        similarity = queries[rows] @ others.T
        best[rows] = np.argsort(-similarity, axis=1, kind="stable")[:, :n]
    return best


def ranks(captions, images, codes):
    """Return the ranks of the right images and captions, from 1.

    Everything that is as similar as the right one ranks before it, so that a model to
    which all are equally similar has the worst ranks.

    Parameters
    ----------
    captions : ndarray of shape (n_captions, dim)
    images : ndarray of shape (n_images, dim)
    codes : ndarray of int64, shape (n_captions,)
        The image of each caption. Every image has a caption.

    Returns
    -------
    of_images : ndarray of int64, shape (n_captions,)
        The rank of each caption's image among the images.
    of_captions : ndarray of int64, shape (n_images,)
        The rank of each image's best caption, among that and the captions of others.
    """
    own = np.empty(len(captions), dtype=np.float32)
    of_images = np.empty(len(captions), dtype=np.int64)
    best = np.full(len(images), -np.inf, dtype=np.float32)
    for rows in _chunks(len(captions)):
        similarity = captions[rows] @ images.T
        own[rows] = similarity[np.arange(len(similarity)), codes[rows]]
        # The image itself is counted too.
        of_images[rows] = (similarity >= own[rows, None]).sum(axis=1)
    np.maximum.at(best, codes, own)
    of_captions = np.ones(len(images), dtype=np.int64)
    for rows in _chunks(len(captions)):
        similarity = captions[rows] @ images.T
        before = similarity >= best
        before[np.arange(len(similarity)), codes[rows]] = False
        of_captions += before.sum(axis=0)
    return of_images, of_captions


def recall(ranks, k):
    """Return the fraction of ranks that are k or better.

    >>> recall(np.array([1, 3, 7, 2]), 2)
    0.5
    """
    return float((ranks <= k).mean())


def mean_recall(captions, images, codes, ks=(1, 5, 10)):
    """Return the mean recall at all k in both directions; arguments as for `ranks`."""
    both = ranks(captions, images, codes)
    return float(np.mean([recall(each, k) for each in both for k in ks]))


def _chunks(n):
    return [
        slice(start, start + _ROWS_PER_CHUNK) for start in range(0, n, _ROWS_PER_CHUNK)
    ]
