"""Rated pairs of words and of sentences."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils import Bunch

from .._core._errors import check_choice, prefix_errors
from ._files import (
    RemoteFile,
    data_file,
    gensim_file,
    make_bunch,
    read_rows,
    read_score,
)

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
    fetch_sentence_pairs : Rated pairs of sentences.

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


# torchtext publishes the MD5 of the archive, 4eb0065aba063ef77873d3a9c8088811; this is
# the SHA-256 of the file with that MD5. The first server does not always respond.
_STS_URLS = (
    "http://ixa2.si.ehu.eus/stswiki/images/4/48/Stsbenchmark.tar.gz",
    "https://web.archive.org/web/20220101000000id_/"
    "http://ixa2.si.ehu.es/stswiki/images/4/48/Stsbenchmark.tar.gz",
)
_STS_SHA256 = "557a86abbd2b76ee6768d8b5103b659601a9d26b797898c7467812f303b21280"
_STS = {
    split: RemoteFile("stsb", _STS_URLS, _STS_SHA256, f"stsbenchmark/sts-{split}.csv")
    for split in ("train", "dev", "test")
}
# Checksums of the members: none are published for the archives.
_SICK_URL = "https://alt.qcri.org/semeval2014/task1/data/uploads"
_SICK = {
    "train": RemoteFile(
        "sick",
        (f"{_SICK_URL}/sick_train.zip",),
        member="SICK_train.txt",
        member_sha256="266cf8047149bd1d68138dd30439f3122bff30069740ac6705bb6197d9f1b48e",
    ),
    "dev": RemoteFile(
        "sick",
        (f"{_SICK_URL}/sick_trial.zip",),
        member="SICK_trial.txt",
        member_sha256="5a88cfb62f8c6bd2a3cce0f2421ba2cb8c2be5ab4a800f6f01e2c64aafb7db56",
    ),
    "test": RemoteFile(
        "sick",
        (f"{_SICK_URL}/sick_test_annotated.zip",),
        member="SICK_test_annotated.txt",
        member_sha256="2b8aa806658d6fc23c6824c83776c2d4fee7556000817b5ec0f982861413b7d0",
    ),
}
_STS_COLUMNS = "genre, file, year, id, score and two sentences, separated by tabs"
_SICK_COLUMNS = "id, two sentences, score and judgment, separated by tabs"


@prefix_errors
def fetch_sentence_pairs(
    name: Literal["stsb", "sick"],
    split: Literal["train", "dev", "test"] = "test",
    *,
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Bunch | Any:
    """Fetch pairs of sentences with human similarity ratings.

    The usual metric is the Pearson or Spearman correlation of the ratings with the
    cosines of the sentence vectors, without training; choose pooling on "dev".

    Parameters
    ----------
    name : {"stsb", "sick"}
        "stsb": the STS benchmark, sentences of captions, news and forums. "sick":
        descriptions of images and videos, modified by rules so that word order and
        negation matter more, also labeled by entailment.
    split : {"train", "dev", "test"}, default="test"
        5749, 1500 and 1379 pairs of "stsb"; 4500, 500 (the trial set) and 4927 pairs of
        "sick".
    as_frame : bool, default=False
        Whether to return pandas objects instead of arrays.
    return_X_y : bool, default=False
        Whether to return only data and target.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With the attributes

        data : ndarray of object or DataFrame, shape (n_pairs, 2)
            The sentences, str.
        target : ndarray or Series of float64, shape (n_pairs,)
            Ratings from 0 (unrelated) to 5 (equal meaning); of "sick" from 1 to 5.
        feature_names : list of str
            "sentence_1", "sentence_2".
        frame : DataFrame of shape (n_pairs, 3) or None
            The data and the target, named "score"; None if not `as_frame`.
        genres : ndarray of str, shape (n_pairs,)
            Only of "stsb": "main-captions", "main-news", "main-forum" or "main-forums".
        labels : ndarray of str, shape (n_pairs,)
            Only of "sick": "CONTRADICTION", "ENTAILMENT" or "NEUTRAL".
    (data, target) : tuple
        Returned instead of the Bunch if `return_X_y`.

    Raises
    ------
    FileNotFoundError
        If the file is missing and cannot be downloaded; the message says where to
        place it.
    ValueError
        If the name or split is unknown, a field is missing in a line, or the checksum
        does not match.

    See Also
    --------
    load_word_similarity : Pairs of words with human similarity ratings.
    sk_metaembed.metrics.sentence_similarity_score : Scores sentence vectors.

    Notes
    -----
    The file is read from ``stsb/`` or ``sick/`` in the folder in ``SK_METAEMBED_DATA``
    if it is there. Otherwise the archive (up to 400 kB) is downloaded once into the
    cache, below ``SK_METAEMBED_CACHE`` or ``~/.cache/sk_metaembed``. Quotation marks
    are part of the sentences.

    References
    ----------
    D. Cer et al. (2017). SemEval-2017 task 1: semantic textual similarity,
    multilingual and crosslingual focused evaluation. SemEval.

    M. Marelli et al. (2014). A SICK cure for the evaluation of compositional
    distributional semantic models. LREC.

    Examples
    --------
    >>> from sk_metaembed.datasets import fetch_sentence_pairs
    >>> fetch_sentence_pairs("stsb", "dev").data.shape  # doctest: +SKIP
    (1500, 2)
    """
    check_choice(name, ("stsb", "sick"), "name")
    check_choice(split, tuple(_STS), "split")
    if name == "stsb":
        file, sentences, score = data_file(_STS[split]), 5, 4
        rows = read_rows(file, 7, _STS_COLUMNS)
        others = {"genres": np.array([fields[0] for fields, _ in rows])}
    else:
        file, sentences, score = data_file(_SICK[split]), 1, 3
        rows = read_rows(file, 5, _SICK_COLUMNS, header=1)
        others = {"labels": np.array([fields[4] for fields, _ in rows])}
    pairs = [fields[sentences : sentences + 2] for fields, _ in rows]
    return make_bunch(
        np.array(pairs, dtype=object).reshape(-1, 2),
        np.array([read_score(fields[score], place) for fields, place in rows]),
        ["sentence_1", "sentence_2"],
        target_name="score",
        as_frame=as_frame,
        return_X_y=return_X_y,
        **others,
    )
