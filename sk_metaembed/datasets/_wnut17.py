"""WNUT 2017: tweets and posts with tags of new and rare names."""

from __future__ import annotations

from typing import Any, Literal

from sklearn.utils import Bunch

from .._core._errors import prefix_errors
from ._conll import load_conll
from ._files import RemoteFile, check_choice, data_file

_URL = "https://raw.githubusercontent.com/leondz/emerging_entities_17/master"
# Checksums that Hugging Face's datasets publishes for these URLs.
_FILES = {
    "train": RemoteFile(
        "wnut17",
        (f"{_URL}/wnut17train.conll",),
        "731820e13f71af324c6b55a1575ec2ce59fbaa2a0806f8f0400b98d56cd6a7a5",
    ),
    "dev": RemoteFile(
        "wnut17",
        (f"{_URL}/emerging.dev.conll",),
        "e053b752b8155113ca66e7db08af5f2f5f43ab993694e4774f1ec5bad42312d8",
    ),
    "test": RemoteFile(
        "wnut17",
        (f"{_URL}/emerging.test.annotated",),
        "2aa79b764e56ec9264a1b30fdd9b70195bd00ff400b62edd8f399d5f13c178f0",
    ),
}


@prefix_errors
def fetch_wnut17(
    split: Literal["train", "dev", "test"] = "train", *, return_X_y: bool = False
) -> Bunch | Any:
    """Fetch the tweets and posts of WNUT 2017, with tags of new and rare names.

    Entities have six types: corporation, creative-work, group, location, person and
    product. Few entities of the test set occur in the training set, so it measures
    whether a tagger recognizes names, not whether it remembers them.

    Parameters
    ----------
    split : {"train", "dev", "test"}, default="train"
        3394, 1009 and 1287 sentences: tweets of 2010; comments on YouTube; posts on
        Reddit, Twitter, YouTube and Stack Exchange.
    return_X_y : bool, default=False
        Whether to return only data and target.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With the attributes

        data : TokenSequences
            The sentences.
        target : ndarray of object, shape (n_sentences,)
            A list of tags per sentence, in IOB2: "B-person", "I-person", "O", ...
    (data, target) : tuple
        Returned instead of the Bunch if `return_X_y`.

    Raises
    ------
    FileNotFoundError
        If the file is missing and cannot be downloaded; the message says where to
        place it.
    ValueError
        If the split is unknown, or the checksum does not match.

    See Also
    --------
    load_conll : Reads other files in this format.
    sk_metaembed.metrics.span_f1_score : Scores predicted tags.

    Notes
    -----
    The file is read from ``wnut17/`` in the folder in ``SK_METAEMBED_DATA`` if it is
    there. Otherwise it is downloaded once into the cache, below ``SK_METAEMBED_CACHE``
    or ``~/.cache/sk_metaembed``.

    References
    ----------
    L. Derczynski, E. Nichols, M. van Erp, N. Limsopatham (2017). Results of the
    WNUT2017 shared task on novel and emerging entity recognition. W-NUT.

    Examples
    --------
    >>> from sk_metaembed.datasets import fetch_wnut17
    >>> dev = fetch_wnut17("dev")  # doctest: +SKIP
    >>> len(dev.data), dev.target[0][:3]  # doctest: +SKIP
    (1009, ['O', 'O', 'O'])
    """
    check_choice(split, tuple(_FILES), "split")
    result = load_conll(data_file(_FILES[split]), return_X_y=return_X_y)
    if not return_X_y:
        del result["groups"]  # the file does not mark documents
    return result
