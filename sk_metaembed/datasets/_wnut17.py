"""WNUT 2017: tweets and posts with new and rare names in them."""

from ._conll import load_conll
from ._files import Remote, check_choice, data_file

_PLACE = "https://raw.githubusercontent.com/leondz/emerging_entities_17/master"
# The checksums that Hugging Face's datasets publishes for these URLs.
_FILES = {
    "train": Remote(
        "wnut17",
        (f"{_PLACE}/wnut17train.conll",),
        "731820e13f71af324c6b55a1575ec2ce59fbaa2a0806f8f0400b98d56cd6a7a5",
    ),
    "dev": Remote(
        "wnut17",
        (f"{_PLACE}/emerging.dev.conll",),
        "e053b752b8155113ca66e7db08af5f2f5f43ab993694e4774f1ec5bad42312d8",
    ),
    "test": Remote(
        "wnut17",
        (f"{_PLACE}/emerging.test.annotated",),
        "2aa79b764e56ec9264a1b30fdd9b70195bd00ff400b62edd8f399d5f13c178f0",
    ),
}


def fetch_wnut17(split="train"):
    """Fetch the tweets and posts of WNUT 2017, with new and rare names tagged.

    Names are of six kinds: corporation, creative-work, group, location, person and
    product. Few names of the test part occur in the training part, so that it tells
    whether a tagger has learned what names look like, and not which there are.

    Parameters
    ----------
    split : {"train", "dev", "test"}, default="train"
        3394, 1009 and 1287 sentences. The first are tweets of 2010, the second
        comments from YouTube, the third from Reddit, Twitter, YouTube and Stack
        Exchange.

    Returns
    -------
    sklearn.utils.Bunch
        With the attributes

        tokens : TokenSequences
            The sentences.
        tags : ndarray of object, shape (n_sentences,)
            A list of str a sentence, in IOB2, such as "B-person", "I-person" and "O".

    Raises
    ------
    FileNotFoundError
        If the file is not at hand and cannot be fetched; with what to bring where.
    ValueError
        If there is no such split, or the file is not the one that is expected.

    See Also
    --------
    load_conll : Reads tagged files of your own.
    sk_metaembed.metrics.span_f1_score : Scores predicted tags.

    Notes
    -----
    Read from ``wnut17/`` in the folder that ``SK_METAEMBED_DATA`` names, if it is
    there. Otherwise it is fetched once and kept in the cache, below
    ``SK_METAEMBED_CACHE`` or ``~/.cache/sk_metaembed``.

    References
    ----------
    L. Derczynski, E. Nichols, M. van Erp, N. Limsopatham (2017). Results of the
    WNUT2017 shared task on novel and emerging entity recognition. W-NUT.

    Examples
    --------
    >>> from sk_metaembed.datasets import fetch_wnut17
    >>> dev = fetch_wnut17("dev")  # doctest: +SKIP
    >>> len(dev.tokens), dev.tags[0][:3]  # doctest: +SKIP
    (1009, ['O', 'O', 'O'])
    """
    check_choice(split, tuple(_FILES), "split")
    bunch = load_conll(data_file(_FILES[split], caller="fetch_wnut17"))
    del bunch["groups"]
    return bunch
