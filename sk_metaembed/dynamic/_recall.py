"""Ranks of what belongs together, among all that could: pure functions of arrays."""

import numpy as np

_AT_ONCE = 1024


def best_matches(queries, others, n):
    """Return what is most like each query, the best first.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, dim)
    others : ndarray of shape (n_others, dim)
    n : int
        How many, if there are as many.

    Returns
    -------
    ndarray of int64, shape (n_queries, min(n, n_others))
        Row numbers of `others`; of equals the earlier one comes first.
    """
    n = min(n, len(others))
    best = np.empty((len(queries), n), dtype=np.int64)
    for rows in _chunks(len(queries)):
        likeness = queries[rows] @ others.T
        best[rows] = np.argsort(-likeness, axis=1, kind="stable")[:, :n]
    return best


def ranks(captions, images, codes):
    """Return where what belongs together stands, counted from 1.

    What is just as like as the right one stands before it, so that a model that
    finds all alike finds nothing.

    Parameters
    ----------
    captions : ndarray of shape (n_captions, dim)
    images : ndarray of shape (n_images, dim)
    codes : ndarray of int64, shape (n_captions,)
        Each caption's image. Every image has a caption.

    Returns
    -------
    of_images : ndarray of int64, shape (n_captions,)
        The rank of each caption's image among the images.
    of_captions : ndarray of int64, shape (n_images,)
        The rank of each image's best caption, among the captions of others and itself.
    """
    own = np.empty(len(captions), dtype=np.float32)
    of_images = np.empty(len(captions), dtype=np.int64)
    best = np.full(len(images), -np.inf, dtype=np.float32)
    for rows in _chunks(len(captions)):
        likeness = captions[rows] @ images.T
        own[rows] = likeness[np.arange(len(likeness)), codes[rows]]
        # Its own image is among those that are as like as it.
        of_images[rows] = (likeness >= own[rows, None]).sum(axis=1)
    np.maximum.at(best, codes, own)
    of_captions = np.ones(len(images), dtype=np.int64)
    for rows in _chunks(len(captions)):
        likeness = captions[rows] @ images.T
        before = likeness >= best
        before[np.arange(len(likeness)), codes[rows]] = False
        of_captions += before.sum(axis=0)
    return of_images, of_captions


def recall(found, k):
    """Return the share of ranks that are k or better.

    >>> recall(np.array([1, 3, 7, 2]), 2)
    0.5
    """
    return float((found <= k).mean())


def mean_recall(captions, images, codes, ks=(1, 5, 10)):
    """Return the mean of the recalls in both directions, as `ranks` takes them."""
    both = ranks(captions, images, codes)
    return float(np.mean([recall(found, k) for found in both for k in ks]))


def _chunks(n):
    return [slice(start, start + _AT_ONCE) for start in range(0, n, _AT_ONCE)]
