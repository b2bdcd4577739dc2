"""SST-2: sentences of film reviews, positive or negative."""

import numpy as np
from sklearn.utils import Bunch

from ..sequences import TokenSequences
from ._files import data_path

_SPLITS = ("train", "dev", "test")


def load_sst2(split="train"):
    """Load the sentences of the Stanford Sentiment Treebank with two classes.

    Read from ``sst2/<split>.tsv`` in the folder that ``SK_METAEMBED_DATA`` names: a
    label, a tab, and the sentence, split into tokens by spaces already.

    Parameters
    ----------
    split : {"train", "dev", "test"}, default="train"
        6920, 872 and 1821 sentences. These are whole sentences: results that were
        trained on the 67,349 phrases do not compare.

    Returns
    -------
    sklearn.utils.Bunch
        With the attributes

        tokens : TokenSequences
            The sentences, lowercased, ready for a source or `Tokenizer`.
        target : ndarray of int64
            0 or 1, a row of `target_names`.
        target_names : list of str
            negative, positive.

    Raises
    ------
    FileNotFoundError
        If the folder is not set or lacks the file.
    ValueError
        If there is no such split, or a line has no label.

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
    >>> len(test.tokens), test.target.shape  # doctest: +SKIP
    (1821, (1821,))
    """
    if split not in _SPLITS:
        raise ValueError(f"split must be one of {_SPLITS}, got {split!r}.")
    path = data_path("sst2", f"{split}.tsv")
    lines = path.read_text("utf-8").rstrip("\n").split("\n")
    rows = [line.partition("\t") for line in lines]
    _check(rows, path)
    sentences = [list(filter(None, text.split(" "))) for _, _, text in rows]
    return Bunch(
        tokens=TokenSequences.from_lists(sentences),
        target=np.array([int(label) for label, _, _ in rows], dtype=np.int64),
        target_names=["negative", "positive"],
    )


def _check(rows, path):
    for number, (label, tab, _) in enumerate(rows, 1):
        if label not in ("0", "1") or not tab:
            raise ValueError(
                f"{path}, line {number}: expected 0 or 1, a tab and a sentence, got "
                f"{label[:40]!r}."
            )
