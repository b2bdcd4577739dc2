"""Word pairs with human similarity ratings."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils import Bunch

from ._files import check_choice, gensim_file, read_rows, read_score

_FILES = {"ws353": "wordsim353.tsv", "simlex999": "simlex999.txt"}
_HEADER = 2  # lines


def load_word_similarity(
    name: Literal["ws353", "simlex999"], *, return_X_y: bool = False
) -> Bunch | Any:
    """Load word pairs with human similarity ratings.

    Both sets are part of gensim.

    Parameters
    ----------
    name : {"ws353", "simlex999"}
        "ws353": 353 pairs, rated by similarity and relatedness. "simlex999": 999 pairs,
        rated by similarity, not relatedness.
    return_X_y : bool, default=False
        Whether to return only the pairs and their ratings.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With the attributes

        data : ndarray of str, shape (n_pairs, 2)
            Words as in the file, with upper and lower case.
        target : ndarray of float64, shape (n_pairs,)
            Mean ratings, larger for more similar; each set has its own scale.
        name : str
            The given name.
    (data, target) : tuple
        Returned instead of the Bunch if `return_X_y`.

    Raises
    ------
    ValueError
        If the name is unknown, or a line is not a pair with a score.

    See Also
    --------
    load_analogies : Questions about pairs of words.

    Notes
    -----
    A few pairs occur twice, in both orders or with two ratings: "ws353" has 351
    distinct pairs. They are kept, as in published results.

    References
    ----------
    L. Finkelstein et al. (2001). Placing search in context: the concept revisited.
    WWW.

    F. Hill, R. Reichart, A. Korhonen (2015). SimLex-999: evaluating semantic models
    with (genuine) similarity estimation. Computational Linguistics 41.

    Examples
    --------
    >>> from sk_metaembed.datasets import load_word_similarity
    >>> simlex = load_word_similarity("simlex999")
    >>> simlex.data.shape
    (999, 2)
    >>> print(*simlex.data[1], simlex.target[1])
    smart intelligent 9.2
    """
    check_choice(name, _FILES, "name")
    expected = "two words and a score, separated by tabs"
    rows = read_rows(gensim_file(_FILES[name]), 3, expected, header=_HEADER)
    data = np.array([fields[:2] for fields, _ in rows])
    target = np.array([read_score(fields[2], place) for fields, place in rows])
    return (data, target) if return_X_y else Bunch(data=data, target=target, name=name)
