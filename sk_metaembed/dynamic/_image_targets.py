"""What a ranker is trained towards: the features of each caption's image."""

import numpy as np

from .._core._messages import plural
from ._targets import PerSequence, check_target


def read_images(y, n_captions, *, caller):
    """Return features of images, one row a caption.

    Parameters
    ----------
    y : array-like of shape (n_captions, n_features) or (n_captions,)
    n_captions : int
    caller : str
        The estimator's name.

    Returns
    -------
    ndarray of float32, shape (n_captions, n_features)

    Raises
    ------
    ValueError
        If there are more or fewer rows, gaps, or no numbers.
    """
    n_images = _n_rows(y)
    if n_images is not None and 0 < n_images < n_captions:
        raise ValueError(
            f"{caller}: Found input variables with inconsistent numbers of samples: "
            f"there are {n_captions} captions, and features of "
            f"{plural(n_images, 'image')}. y takes a row a caption: repeat an image's "
            "row for each of its captions, for example as features[image_of_caption]."
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
    """Return the distinct rows of features, and which of them each row is.

    Parameters
    ----------
    features : ndarray of float32, shape (n_captions, n_features)

    Returns
    -------
    images : ndarray of float32, shape (n_images, n_features)
        In order of appearance.
    codes : ndarray of int64, shape (n_captions,)
    """
    numbers = {}
    codes = np.array(
        # + 0.0 makes 0 of -0, which has other bytes; row by row, as tables are large.
        [numbers.setdefault((row + 0.0).tobytes(), len(numbers)) for row in features],
        dtype=np.int64,
    )
    firsts = np.unique(codes, return_index=True)[1]
    return features[firsts], codes


class ImageRows:
    """The features of each caption's image, and behind them the image's number.

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
    """The features of an image, standardised by those of training.

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
        """Return standardised features and numbers of images, `ImageRows`."""
        images, codes = image_codes(y)
        return ImageRows(self.standardized(images, caller=caller), codes)

    def standardized(self, images, *, caller):
        """Return features on the scale of training, float32.

        Raises
        ------
        ValueError
            If there are more or fewer features than in training.
        """
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
    """Return captions to train on and captions to hold out, with all of an image's.

    Parameters
    ----------
    codes : ndarray of int64, shape (n_captions,)
        Each caption's image.
    weights : ndarray of shape (n_captions,)
        Captions of weight 0 go to neither part.
    fraction : float
        What share of the images is held out; at least one stays on each side.
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
