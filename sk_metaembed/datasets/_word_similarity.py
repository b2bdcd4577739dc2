"""Word pairs with human similarity ratings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from ._files import (
    check_choice,
    data_path,
    gensim_file,
    read_rows,
    read_score,
)

# File of each set; in gensim also the number of header lines.
_IN_GENSIM = {"ws353": ("wordsim353.tsv", 2), "simlex999": ("simlex999.txt", 2)}
_IN_FOLDER = {
    "ws353-sim": "EN-WS-353-SIM.txt",
    "ws353-rel": "EN-WS-353-REL.txt",
    "simverb3500": "EN-SimVerb-3500.txt",
    "men": "EN-MEN-TR-3k.txt",
    "rw": "EN-RW-STANFORD.txt",
    "mturk287": "EN-MTurk-287.txt",
    "mturk771": "EN-MTurk-771.txt",
    "rg65": "EN-RG-65.txt",
    "mc30": "EN-MC-30.txt",
    "yp130": "EN-YP-130.txt",
    "verb143": "EN-VERB-143.txt",
}
WORD_SIMILARITY = (*_IN_GENSIM, *_IN_FOLDER)


def load_word_similarity(name: str, *, return_X_y: bool = False) -> Bunch | Any:
    """Load word pairs with human similarity ratings.

    Two sets are part of gensim: "ws353" and "simlex999". The others are read from
    ``wordsim/EN-*.txt`` in the folder in ``SK_METAEMBED_DATA``. `WORD_SIMILARITY`
    lists all names.

    Parameters
    ----------
    name : str
        "ws353" (353 pairs), its parts "ws353-sim" (203, similarity) and "ws353-rel"
        (252, relatedness), "simlex999" (999, similarity, not relatedness),
        "simverb3500" (3500 verbs), "men" (3000), "rw" (2034 with rare words),
        "mturk287", "mturk771", "rg65", "mc30", "yp130" (verbs), "verb143" (verb forms;
        144 pairs).
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
    FileNotFoundError
        If the variable is not set or the file is missing.
    ValueError
        If the name is unknown, or a line is not a pair with a score.

    See Also
    --------
    load_word_similarities : Loads several sets.
    sk_metaembed.metrics.make_unsupervised_scorer : Makes a scorer of the pairs.

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

    M. Faruqui, C. Dyer (2014). Community evaluation and exchange of word vectors at
    wordvectors.org. ACL demonstrations.

    Examples
    --------
    >>> from sk_metaembed.datasets import load_word_similarity
    >>> simlex = load_word_similarity("simlex999")
    >>> simlex.data.shape
    (999, 2)
    >>> print(*simlex.data[1], simlex.target[1])
    smart intelligent 9.2
    """
    check_choice(name, WORD_SIMILARITY, "name")
    if name in _IN_GENSIM:
        file, header = _IN_GENSIM[name]
        path = gensim_file(file)
    else:
        path, header = data_path("wordsim", _IN_FOLDER[name]), 0
    expected = "two words and a score, separated by tabs"
    rows = read_rows(path, 3, expected, header=header)
    data = np.array([fields[:2] for fields, _ in rows])
    target = np.array([read_score(fields[2], place) for fields, place in rows])
    return (data, target) if return_X_y else Bunch(data=data, target=target, name=name)


def load_word_similarities(
    names: Iterable[str] = WORD_SIMILARITY,
) -> dict[str, Bunch]:
    """Load several sets of word pairs with human similarity ratings.

    The result is an argument of `metrics.make_unsupervised_scorer`, which scores an
    embedding on the mean of the sets or on each of them.

    Parameters
    ----------
    names : sequence of str, default=WORD_SIMILARITY
        As for `load_word_similarity`. All thirteen need the folder in
        ``SK_METAEMBED_DATA``.

    Returns
    -------
    dict of str to sklearn.utils.Bunch
        In the order of `names`.

    Raises
    ------
    TypeError
        If `names` is a single str.
    FileNotFoundError
        If the variable is not set or a file is missing.
    ValueError
        If a name is unknown.

    See Also
    --------
    load_word_similarity : Loads one set.
    sk_metaembed.metrics.make_unsupervised_scorer : Makes a scorer of the sets.

    Examples
    --------
    >>> from sk_metaembed.datasets import load_word_similarities
    >>> sets = load_word_similarities(["ws353", "simlex999"])
    >>> {name: len(each.data) for name, each in sets.items()}
    {'ws353': 353, 'simlex999': 999}
    """
    if isinstance(names, str):
        raise TypeError(f"names must be a list; got a single str: pass [{names!r}].")
    return {name: load_word_similarity(name) for name in names}
