"""SST-2: sentences of film reviews, positive or negative."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils import Bunch

from .._core._messages import short_repr
from ..sequences import TokenSequences
from ._files import check_choice, data_path


def load_sst2(
    split: Literal["train", "dev", "test"] = "train", *, return_X_y: bool = False
) -> Bunch | Any:
    """Load the sentences of the Stanford Sentiment Treebank with two classes.

    Read from ``sst2/<split>.tsv`` in the folder in ``SK_METAEMBED_DATA``: a label, a
    tab, and the sentence with a space between tokens.

    Parameters
    ----------
    split : {"train", "dev", "test"}, default="train"
        6920, 872 and 1821 sentences. These are full sentences: results of training on
        the 67,349 phrases are not comparable.
    return_X_y : bool, default=False
        Whether to return only data and target.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With the attributes

        data : TokenSequences
            The sentences, lowercased, ready for a source or `Tokenizer`.
        target : ndarray of int64
            0 or 1, an index into `target_names`.
        target_names : list of str
            negative, positive.
    (data, target) : tuple
        Returned instead of the Bunch if `return_X_y`.

    Raises
    ------
    FileNotFoundError
        If the variable is not set or the file is missing.
    ValueError
        If the split is unknown, or a line has no label.

    See Also
    --------
    load_bbc_news : Long texts in five classes.

    References
    ----------
    R. Socher et al. (2013). Recursive deep models for semantic compositionality over
    a sentiment treebank. EMNLP.

    Examples
    --------
    >>> from sk_metaembed.datasets import load_sst2
    >>> test = load_sst2("test")  # doctest: +SKIP
    >>> len(test.data), test.target.shape  # doctest: +SKIP
    (1821, (1821,))
    """
    check_choice(split, ("train", "dev", "test"), "split")
    path = data_path("sst2", f"{split}.tsv")
    lines = path.read_text("utf-8").rstrip("\n").split("\n")
    rows = [line.partition("\t") for line in lines]
    _check(rows, path)
    sentences = [list(filter(None, text.split(" "))) for _, _, text in rows]
    data = TokenSequences.from_lists(sentences)
    target = np.array([int(label) for label, _, _ in rows], dtype=np.int64)
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, target_names=["negative", "positive"])


def _check(rows, path):
    for number, (label, tab, _) in enumerate(rows, 1):
        if label not in ("0", "1") or not tab:
            raise ValueError(
                f"{path}, line {number}: expected 0 or 1, a tab and a sentence; got "
                f"{short_repr(label)}."
            )
