"""Natural language inference: the sentence pairs of SNLI and MultiNLI."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._core._messages import short_repr
from .._core._named_errors import names_errors
from ._bunch import make_bunch
from ._files import RemoteFile, check_choice, data_file

if TYPE_CHECKING:
    from sklearn.utils import Bunch

# Checksums that TensorFlow Datasets and Hugging Face's datasets publish.
_SNLI = {
    split: RemoteFile(
        "snli",
        ("https://nlp.stanford.edu/projects/snli/snli_1.0.zip",),
        "afb3d70a5af5d8de0d9d81e2637e0fb8c22d1235c2749d83125ca43dab0dbd3e",
        f"snli_1.0/snli_1.0_{split}.jsonl",
    )
    for split in ("train", "dev", "test")
}
_MULTINLI = {
    split: RemoteFile(
        "multinli",
        (
            "https://cims.nyu.edu/~sbowman/multinli/multinli_1.0.zip",
            "https://storage.googleapis.com/tfds-data/downloads/multi_nli/"
            "multinli_1.0.zip",
        ),
        "049f507b9e36b1fcb756cfd5aeb3b7a0cfcb84bf023793652987f7e7e0957822",
        f"multinli_1.0/multinli_1.0_{file}.jsonl",
    )
    for split, file in {
        "train": "train",
        "matched": "dev_matched",
        "mismatched": "dev_mismatched",
    }.items()
}
_NO_LABEL = "-"


@names_errors
def fetch_snli(
    split: Literal["train", "dev", "test"] = "train",
    *,
    drop_unlabeled: bool = True,
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Bunch | Any:
    """Fetch SNLI: image captions as premises, with labeled hypotheses.

    A premise is the caption of an image; people who saw only the caption wrote the
    hypotheses. An image has several pairs, so split by `groups` in cross-validation.

    Parameters
    ----------
    split : {"train", "dev", "test"}, default="train"
        549,367, 9842 and 9824 pairs with a label.
    drop_unlabeled : bool, default=True
        Whether to drop the 785, 158 and 176 pairs without a majority label, as
        published results do. False keeps them, with the label "-".
    as_frame : bool, default=False
        Whether to return pandas objects instead of arrays.
    return_X_y : bool, default=False
        Whether to return only data and target.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With the attributes

        data : ndarray of object or DataFrame, shape (n_pairs, 2)
            Premise and hypothesis, str.
        target : ndarray or Series of str, shape (n_pairs,)
            "contradiction", "entailment" or "neutral".
        target_names : list of str
            The labels in `target`, sorted.
        feature_names : list of str
            "premise", "hypothesis".
        frame : DataFrame of shape (n_pairs, 3) or None
            The data and the target, named "label"; None if not `as_frame`.
        groups : ndarray of int64, shape (n_pairs,)
            Equal for pairs of one image; for ``GroupKFold``.
        n_dropped : int
            Number of dropped pairs without a label.
    (data, target) : tuple
        Returned instead of the Bunch if `return_X_y`.

    Raises
    ------
    FileNotFoundError
        If the file is missing and cannot be downloaded; the message says where to
        place it.
    ValueError
        If the split is unknown, a line is not a pair, or the checksum does not match.

    See Also
    --------
    fetch_multinli : Fetches premises of ten genres.
    PairEncoder : Encodes pairs for a classifier.

    Notes
    -----
    The data is read from ``snli/`` in the folder in ``SK_METAEMBED_DATA`` if
    ``snli_1.0_<split>.jsonl`` or ``snli_1.0.zip`` is there. Otherwise the archive
    (95 MB) is downloaded once into the cache, below ``SK_METAEMBED_CACHE`` or
    ``~/.cache/sk_metaembed``.

    References
    ----------
    S. R. Bowman, G. Angeli, C. Potts, C. D. Manning (2015). A large annotated corpus
    for learning natural language inference. EMNLP.

    Examples
    --------
    >>> from sk_metaembed.datasets import fetch_snli
    >>> fetch_snli("test").data.shape  # doctest: +SKIP
    (9824, 2)
    """
    check_choice(split, tuple(_SNLI), "split")
    path = data_file(_SNLI[split])
    return _read(path, drop_unlabeled, "captionID", as_frame, return_X_y)


@names_errors
def fetch_multinli(
    split: Literal["train", "matched", "mismatched"] = "train",
    *,
    drop_unlabeled: bool = True,
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Bunch | Any:
    """Fetch MultiNLI: premises of ten genres, with labeled hypotheses.

    It is the successor of SNLI, with written and spoken English instead of captions.
    The two development sets show whether a model generalizes to unseen genres.

    Parameters
    ----------
    split : {"train", "matched", "mismatched"}, default="train"
        392,702, 9815 and 9832 pairs with a label. "matched" and "mismatched" are the
        development sets, of the genres of the training set and of five others; the
        labels of the test sets are not published.
    drop_unlabeled : bool, default=True
        Whether to drop the 0, 185 and 168 pairs without a majority label, as published
        results do. False keeps them, with the label "-".
    as_frame : bool, default=False
        Whether to return pandas objects instead of arrays.
    return_X_y : bool, default=False
        Whether to return only data and target.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With the attributes

        data : ndarray of object or DataFrame, shape (n_pairs, 2)
            Premise and hypothesis, str.
        target : ndarray or Series of str, shape (n_pairs,)
            "contradiction", "entailment" or "neutral".
        target_names : list of str
            The labels in `target`, sorted.
        feature_names : list of str
            "premise", "hypothesis".
        frame : DataFrame of shape (n_pairs, 3) or None
            The data and the target, named "label"; None if not `as_frame`.
        groups : ndarray of int64, shape (n_pairs,)
            Equal for pairs with the same premise; for ``GroupKFold``.
        genres : ndarray of str, shape (n_pairs,)
            Genre, such as "fiction" or "telephone".
        n_dropped : int
            Number of dropped pairs without a label.
    (data, target) : tuple
        Returned instead of the Bunch if `return_X_y`.

    Raises
    ------
    FileNotFoundError
        If the file is missing and cannot be downloaded; the message says where to
        place it.
    ValueError
        If the split is unknown, a line is not a pair, or the checksum does not match.

    See Also
    --------
    fetch_snli : Fetches premises from image captions.
    PairEncoder : Encodes pairs for a classifier.

    Notes
    -----
    The data is read from ``multinli/`` in the folder in ``SK_METAEMBED_DATA`` if the
    ``.jsonl`` file of the split or ``multinli_1.0.zip`` is there. Otherwise the archive
    (227 MB) is downloaded once into the cache, as for `fetch_snli`.

    References
    ----------
    A. Williams, N. Nangia, S. R. Bowman (2018). A broad-coverage challenge corpus for
    sentence understanding through inference. NAACL.

    Examples
    --------
    >>> from sk_metaembed.datasets import fetch_multinli
    >>> fetch_multinli("matched").data.shape  # doctest: +SKIP
    (9815, 2)
    """
    check_choice(split, tuple(_MULTINLI), "split")
    path = data_file(_MULTINLI[split])
    return _read(path, drop_unlabeled, "promptID", as_frame, return_X_y, genres="genre")


def _read(path, drop_unlabeled, group, as_frame, return_X_y, **columns):
    """Return the `Bunch` of a file with one JSON object per line."""
    rows, groups, n_dropped = [], {}, 0
    keys = ("sentence1", "sentence2", "gold_label", group, *columns.values())
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fields = _fields(line, keys, f"{path}, line {number}")
            if drop_unlabeled and fields[2] == _NO_LABEL:
                n_dropped += 1
                continue
            # SNLI appends a number to the image for each of its captions.
            image = fields[3].partition("#")[0]
            fields[3] = groups.setdefault(image, len(groups))
            rows.append(fields)
    if not rows:
        raise ValueError(f"{path} contains no pair with a label.")
    values = list(zip(*rows, strict=True))
    pairs = np.empty((len(rows), 2), dtype=object)
    pairs[:, 0], pairs[:, 1] = values[:2]
    target = np.array(values[2])
    return make_bunch(
        pairs,
        target,
        ["premise", "hypothesis"],
        target_name="label",
        as_frame=as_frame,
        return_X_y=return_X_y,
        target_names=np.unique(target).tolist(),
        groups=np.array(values[3], dtype=np.int64),
        n_dropped=n_dropped,
        **{name: np.array(values[4 + i]) for i, name in enumerate(columns)},
    )


def _fields(line, keys, place):
    try:
        record = json.loads(line)
        return [str(record[key]) for key in keys]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{place}: expected a JSON object with {', '.join(keys)}; got "
            f"{short_repr(line.strip())}."
        ) from error
