"""Pairs of sentences with the similarity that people gave them."""

import numpy as np
from sklearn.utils import Bunch

from ._files import Remote, check_choice, data_file, read_rows, read_score

# The archive's MD5 as torchtext publishes it is 4eb0065aba063ef77873d3a9c8088811; this
# is the SHA-256 of the file with that MD5. The first address does not always answer.
_STS_URLS = (
    "http://ixa2.si.ehu.eus/stswiki/images/4/48/Stsbenchmark.tar.gz",
    "https://web.archive.org/web/20220101000000id_/"
    "http://ixa2.si.ehu.es/stswiki/images/4/48/Stsbenchmark.tar.gz",
)
_STS_SHA256 = "557a86abbd2b76ee6768d8b5103b659601a9d26b797898c7467812f303b21280"
_STS = {
    split: Remote("stsb", _STS_URLS, _STS_SHA256, f"stsbenchmark/sts-{split}.csv")
    for split in ("train", "dev", "test")
}
# Of the archives no checksum is published; these are the members'.
_SICK_PLACE = "https://alt.qcri.org/semeval2014/task1/data/uploads"
_SICK = {
    "train": Remote(
        "sick",
        (f"{_SICK_PLACE}/sick_train.zip",),
        member="SICK_train.txt",
        member_sha256="266cf8047149bd1d68138dd30439f3122bff30069740ac6705bb6197d9f1b48e",
    ),
    "trial": Remote(
        "sick",
        (f"{_SICK_PLACE}/sick_trial.zip",),
        member="SICK_trial.txt",
        member_sha256="5a88cfb62f8c6bd2a3cce0f2421ba2cb8c2be5ab4a800f6f01e2c64aafb7db56",
    ),
    "test": Remote(
        "sick",
        (f"{_SICK_PLACE}/sick_test_annotated.zip",),
        member="SICK_test_annotated.txt",
        member_sha256="2b8aa806658d6fc23c6824c83776c2d4fee7556000817b5ec0f982861413b7d0",
    ),
}
_STS_COLUMNS = "genre, file, year, id, score and two sentences, split by tabs"
_SICK_COLUMNS = "id, two sentences, score and judgment, split by tabs"


def fetch_sts_benchmark(split="test"):
    """Fetch the sentence pairs of the STS benchmark, rated from 0 to 5.

    The usual measure is Pearson's or Spearman's correlation of the cosine of two
    sentence vectors with the score; nothing is trained for it, but pooling may be
    chosen on "dev".

    Parameters
    ----------
    split : {"train", "dev", "test"}, default="test"
        5749, 1500 and 1379 pairs.

    Returns
    -------
    sklearn.utils.Bunch
        With the attributes

        pairs : ndarray of object, shape (n_pairs, 2)
            The sentences, as str.
        scores : ndarray of float64, shape (n_pairs,)
            From 0 (unrelated) to 5 (the same meaning).
        genres : ndarray of str, shape (n_pairs,)
            "main-captions", "main-news", "main-forum" or "main-forums".

    Raises
    ------
    FileNotFoundError
        If the file is not at hand and cannot be fetched; with what to bring where.
    ValueError
        If there is no such split, a line lacks a sentence or a score, or the file that
        was fetched is not the one that is expected.

    See Also
    --------
    fetch_sick : Pairs rated and judged.
    sk_metaembed.metrics.make_sentence_similarity_scorer : Scores an embedding on them.

    Notes
    -----
    Read from ``stsb/sts-<split>.csv`` in the folder that ``SK_METAEMBED_DATA`` names,
    if it is there. Otherwise the archive (400 kB) is fetched once and kept in the
    cache, below ``SK_METAEMBED_CACHE`` or ``~/.cache/sk_metaembed``.

    Some lines name the sources of their sentences in two more columns, which are left
    out. Quotation marks are part of the sentences.

    References
    ----------
    D. Cer et al. (2017). SemEval-2017 task 1: semantic textual similarity,
    multilingual and crosslingual focused evaluation. SemEval.

    Examples
    --------
    >>> from sk_metaembed.datasets import fetch_sts_benchmark
    >>> fetch_sts_benchmark("dev").pairs.shape  # doctest: +SKIP
    (1500, 2)
    """
    check_choice(split, tuple(_STS), "split")
    path = data_file(_STS[split], caller="fetch_sts_benchmark")
    rows = read_rows(path, 7, _STS_COLUMNS)
    return Bunch(
        pairs=_pairs(rows, 5),
        scores=np.array([read_score(fields[4], place) for fields, place in rows]),
        genres=np.array([fields[0] for fields, _ in rows]),
    )


def fetch_sick(split="test"):
    """Fetch the sentence pairs of SICK, rated from 1 to 5 and judged for entailment.

    The sentences describe images and videos, and were changed by rule, so that word
    order and negation matter more than in the STS benchmark.

    Parameters
    ----------
    split : {"train", "trial", "test"}, default="test"
        4500, 500 and 4927 pairs.

    Returns
    -------
    sklearn.utils.Bunch
        With the attributes

        pairs : ndarray of object, shape (n_pairs, 2)
            The sentences, as str.
        scores : ndarray of float64, shape (n_pairs,)
            Relatedness, from 1 to 5.
        target : ndarray of str, shape (n_pairs,)
            "CONTRADICTION", "ENTAILMENT" or "NEUTRAL".

    Raises
    ------
    FileNotFoundError
        If the file is not at hand and cannot be fetched; with what to bring where.
    ValueError
        If there is no such split, a line lacks a sentence, score or judgment, or the
        file that was fetched is not the one that is expected.

    See Also
    --------
    fetch_sts_benchmark : Pairs of news, captions and forums.
    sk_metaembed.metrics.make_sentence_similarity_scorer : Scores an embedding on them.

    Notes
    -----
    The data of SemEval 2014, task 1. Read from ``sick/`` in the folder that
    ``SK_METAEMBED_DATA`` names, if they are there. Otherwise they are fetched once and
    kept in the cache, as for `fetch_sts_benchmark`.

    References
    ----------
    M. Marelli et al. (2014). A SICK cure for the evaluation of compositional
    distributional semantic models. LREC.

    Examples
    --------
    >>> from sk_metaembed.datasets import fetch_sick
    >>> fetch_sick("trial").pairs.shape  # doctest: +SKIP
    (500, 2)
    """
    check_choice(split, tuple(_SICK), "split")
    path = data_file(_SICK[split], caller="fetch_sick")
    rows = read_rows(path, 5, _SICK_COLUMNS, header=1)
    return Bunch(
        pairs=_pairs(rows, 1),
        scores=np.array([read_score(fields[3], place) for fields, place in rows]),
        target=np.array([fields[4] for fields, _ in rows]),
    )


def _pairs(rows, first):
    pairs = np.empty((len(rows), 2), dtype=object)
    pairs[:] = [fields[first : first + 2] for fields, _ in rows]
    return pairs
