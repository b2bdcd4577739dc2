"""Pairs of sentences, and whether the first entails the second: SNLI and MultiNLI."""

import json

import numpy as np
from sklearn.utils import Bunch

from ._files import Remote, check_choice, data_file

# The checksums that TensorFlow Datasets and Hugging Face's datasets publish.
_SNLI = {
    split: Remote(
        "snli",
        ("https://nlp.stanford.edu/projects/snli/snli_1.0.zip",),
        "afb3d70a5af5d8de0d9d81e2637e0fb8c22d1235c2749d83125ca43dab0dbd3e",
        f"snli_1.0/snli_1.0_{split}.jsonl",
    )
    for split in ("train", "dev", "test")
}
_MULTINLI = {
    split: Remote(
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


def fetch_snli(split="train", *, labelled=True):
    """Fetch SNLI: captions of images, and sentences that follow from them or do not.

    A premise is a caption of an image; people who saw the caption alone wrote the
    hypotheses. One image has several pairs, so that folds of your own should go by
    `groups`.

    Parameters
    ----------
    split : {"train", "dev", "test"}, default="train"
        549,367, 9842 and 9824 pairs with a label.
    labelled : bool, default=True
        Leave out the pairs on which people did not agree, as published figures do:
        785, 158 and 176. False keeps them, with the label "-".

    Returns
    -------
    sklearn.utils.Bunch
        With the attributes

        pairs : ndarray of object, shape (n_pairs, 2)
            Premise and hypothesis, as str.
        target : ndarray of str, shape (n_pairs,)
            "contradiction", "entailment" or "neutral".
        groups : ndarray of int64, shape (n_pairs,)
            Equal for pairs about the same image; for ``GroupKFold``.
        n_left_out : int
            Pairs without a label that were left out.

    Raises
    ------
    FileNotFoundError
        If the file is not at hand and cannot be fetched; with what to bring where.
    ValueError
        If there is no such split, a line is no pair, or the file that was fetched is
        not the one that is expected.

    See Also
    --------
    fetch_multinli : Premises of ten genres.
    PairEncoder : Makes features of both sides.

    Notes
    -----
    Read from ``snli/`` in the folder that ``SK_METAEMBED_DATA`` names, if
    ``snli_1.0_<split>.jsonl`` or ``snli_1.0.zip`` is there. Otherwise the archive
    (95 MB) is fetched once and kept in the cache, below ``SK_METAEMBED_CACHE`` or
    ``~/.cache/sk_metaembed``; a download that was interrupted goes on.

    References
    ----------
    S. R. Bowman, G. Angeli, C. Potts, C. D. Manning (2015). A large annotated corpus
    for learning natural language inference. EMNLP.

    Examples
    --------
    >>> from sk_metaembed.datasets import fetch_snli
    >>> fetch_snli("test").pairs.shape  # doctest: +SKIP
    (9824, 2)
    """
    check_choice(split, tuple(_SNLI), "split")
    path = data_file(_SNLI[split], caller="fetch_snli")
    return _read(path, labelled, "captionID")


def fetch_multinli(split="train", *, labelled=True):
    """Fetch MultiNLI: premises of ten genres, and what follows from them or does not.

    It is SNLI's successor, written and spoken English in place of captions. The two
    development parts tell whether a model carries over to genres that it has not seen.

    Parameters
    ----------
    split : {"train", "matched", "mismatched"}, default="train"
        392,702, 9815 and 9832 pairs with a label. "matched" and "mismatched" are the
        development parts, of the genres of the training part and of five others; the
        labels of the test parts were never published.
    labelled : bool, default=True
        Leave out the pairs on which people did not agree, as published figures do: 0,
        185 and 168. False keeps them, with the label "-".

    Returns
    -------
    sklearn.utils.Bunch
        With the attributes

        pairs : ndarray of object, shape (n_pairs, 2)
            Premise and hypothesis, as str.
        target : ndarray of str, shape (n_pairs,)
            "contradiction", "entailment" or "neutral".
        groups : ndarray of int64, shape (n_pairs,)
            Equal for pairs with the same premise; for ``GroupKFold``.
        genres : ndarray of str, shape (n_pairs,)
            Such as "fiction" and "telephone".
        n_left_out : int
            Pairs without a label that were left out.

    Raises
    ------
    FileNotFoundError
        If the file is not at hand and cannot be fetched; with what to bring where.
    ValueError
        If there is no such split, a line is no pair, or the file that was fetched is
        not the one that is expected.

    See Also
    --------
    fetch_snli : Pairs about images.
    PairEncoder : Makes features of both sides.

    Notes
    -----
    Read from ``multinli/`` in the folder that ``SK_METAEMBED_DATA`` names, if the
    split's ``.jsonl`` file or ``multinli_1.0.zip`` is there. Otherwise the archive
    (227 MB) is fetched once and kept in the cache, as for `fetch_snli`.

    References
    ----------
    A. Williams, N. Nangia, S. R. Bowman (2018). A broad-coverage challenge corpus for
    sentence understanding through inference. NAACL.

    Examples
    --------
    >>> from sk_metaembed.datasets import fetch_multinli
    >>> fetch_multinli("matched").pairs.shape  # doctest: +SKIP
    (9815, 2)
    """
    check_choice(split, tuple(_MULTINLI), "split")
    path = data_file(_MULTINLI[split], caller="fetch_multinli")
    return _read(path, labelled, "promptID", genres="genre")


def _read(path, labelled, group, **more):
    """Read one JSON object a line."""
    rows, numbers, n_left_out = [], {}, 0
    wanted = ("sentence1", "sentence2", "gold_label", group, *more.values())
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fields = _fields(line, wanted, f"{path}, line {number}")
            if labelled and fields[2] == _NO_LABEL:
                n_left_out += 1
                continue
            # SNLI numbers the captions of an image behind its name.
            image = fields[3].partition("#")[0]
            fields[3] = numbers.setdefault(image, len(numbers))
            rows.append(fields)
    if not rows:
        raise ValueError(f"{path} holds no pair with a label.")
    columns = list(zip(*rows, strict=True))
    pairs = np.empty((len(rows), 2), dtype=object)
    pairs[:, 0], pairs[:, 1] = columns[:2]
    return Bunch(
        pairs=pairs,
        target=np.array(columns[2]),
        groups=np.array(columns[3], dtype=np.int64),
        n_left_out=n_left_out,
        **{name: np.array(columns[4 + i]) for i, name in enumerate(more)},
    )


def _fields(line, wanted, place):
    try:
        found = json.loads(line)
        return [str(found[name]) for name in wanted]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{place}: expected a JSON object with {', '.join(wanted)}, got "
            f"{line.strip()[:60]!r}."
        ) from error
