import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from sk_metaembed import WordVectors
from sk_metaembed.metrics import word_translation_score

GERMAN = {"Hund": [1.0, 0.1], "Haus": [0.0, 1.0], "gehen": [-1.0, 0.2]}
ENGLISH = {
    "dog": [1.0, 0.0],
    "hound": [0.9, 0.0],
    "house": [0.1, 1.0],
    "go": [0.9, 0.2],
}
PAIRS = [("Hund", "dog"), ("Haus", "house"), ("gehen", "go"), ("Baum", "tree")]


def test_report():
    report = word_translation_score(
        GERMAN, ENGLISH, PAIRS, method="cosine", return_report=True
    )
    assert report.words.tolist() == ["Hund", "Haus", "gehen", "Baum"]
    assert report.answers.tolist()[1:] == ["house", "house", None]
    assert (report.n_words, report.n_missing) == (4, 1)
    assert report.n_correct == report.correct.sum()
    assert report.score == report.n_correct / 3


def test_any_translation_is_correct():
    german, english = {"Hund": [1.0, 0.0]}, {"dog": [1.0, 0.5], "hound": [1.0, 0.0]}
    score = lambda *pairs: word_translation_score(german, english, pairs)  # noqa: E731
    assert score(("Hund", "dog")) == 0
    assert score(("Hund", "dog"), ("Hund", "hound")) == 1
    assert score(("Hund", "dog"), ("Hund", "absent"), ("Hund", "hound")) == 1


def test_hubs_are_penalized():
    """A vector in the middle is the neighbor of all by cosine, but not by CSLS."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 20)) + 1
    words = [f"w{i}" for i in range(60)]
    y = x + rng.normal(size=x.shape)
    target = dict(zip([*words, "hub"], [*y, x.mean(axis=0)], strict=True))
    source = dict(zip(words, x, strict=True))
    pairs = [(word, word) for word in words]
    answers = {
        method: word_translation_score(
            source, target, pairs, method=method, return_report=True
        ).answers.tolist()
        for method in ("cosine", "csls")
    }
    assert answers["cosine"].count("hub") > 10
    assert answers["csls"].count("hub") <= 1


def test_vocabulary_limits_the_candidates(tmp_path):
    store = WordVectors.from_arrays(
        list(ENGLISH), list(ENGLISH.values()), cache_dir=tmp_path
    )
    pairs = [("dog", "dog"), ("go", "go")]
    report = word_translation_score(
        store, store, pairs, vocabulary=2, return_report=True
    )
    assert (report.score, report.n_missing) == (1, 1)
    listed = word_translation_score(
        store, store, pairs, vocabulary=["go", "dog"], return_report=True
    )
    assert (listed.score, listed.n_missing) == (1, 0)


def test_nothing_to_score_warns():
    with pytest.warns(UndefinedMetricWarning, match="none of the 1 words"):
        assert word_translation_score(GERMAN, ENGLISH, [("Baum", "tree")]) == 0
    with pytest.warns(UndefinedMetricWarning):
        assert word_translation_score(GERMAN, ENGLISH, [("Baum", "dog")]) == 0


def test_errors():
    wide = {word: [*vector, 0.0] for word, vector in ENGLISH.items()}
    with pytest.raises(
        ValueError, match="2 dimensions and the target 3.*align_vectors"
    ):
        word_translation_score(GERMAN, wide, PAIRS)
    for options in ({"method": "dot"}, {"missing": "drop"}):
        with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
            word_translation_score(GERMAN, ENGLISH, PAIRS, **options)
    with pytest.raises(ValueError, match="expected 2 words"):
        word_translation_score(GERMAN, ENGLISH, [("a", "b", "c")])
