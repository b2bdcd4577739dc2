import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from sk_metaembed import PretrainedEmbedding, WordVectors
from sk_metaembed.metrics import analogy_score

RNG = np.random.default_rng(3)
WORDS = [f"{chr(97 + i % 26)}{i}x" for i in range(300)]
# Some words stand twice, in different case: the first is the more frequent.
WORDS[40], WORDS[200], WORDS[260] = WORDS[7].upper(), WORDS[150].title(), "ONLY"
# Words 2 k and 2 k + 1 are a pair; one offset, and noise, lies between the two.
MATRIX = RNG.normal(size=(150, 16)).astype(np.float32)[np.arange(300) // 2]
MATRIX += np.outer(np.arange(300) % 2, RNG.normal(size=16))
MATRIX += 0.5 * RNG.normal(size=MATRIX.shape)


def planted_questions(n=200):
    rows = 2 * RNG.integers(0, 150, size=(n, 2))
    questions = [(WORDS[i], WORDS[i + 1], WORDS[j], WORDS[j + 1]) for i, j in rows]
    questions[5] = (WORDS[7].upper(), *questions[5][1:])
    questions[6] = ("nowhere", *questions[6][1:])
    questions[7] = (*questions[7][:3], "nowhere")
    questions[8] = (WORDS[3], WORDS[3], WORDS[9], WORDS[9])
    questions[9] = (WORDS[150], WORDS[200], WORDS[1], WORDS[2])
    questions[10] = ("only", WORDS[5], WORDS[17], WORDS[29])
    return questions


QUESTIONS = planted_questions()
VECTORS = dict(zip(WORDS, MATRIX, strict=True))


@pytest.mark.parametrize("ignore_case", [True, False])
def test_agrees_with_gensim(tmp_path, monkeypatch, ignore_case):
    parts = "sk_metaembed.metrics._analogy._ENTRIES_AT_ONCE"
    monkeypatch.setattr(parts, 64 * 200)
    path = tmp_path / "questions.txt"
    path.write_text(": all\n" + "\n".join(map(" ".join, QUESTIONS)))
    kv = WordVectors.from_arrays(WORDS, MATRIX).to_keyed_vectors()
    score, sections = kv.evaluate_word_analogies(
        str(path), restrict_vocab=220, case_insensitive=ignore_case
    )
    report = analogy_score(
        kv, QUESTIONS, vocabulary=220, ignore_case=ignore_case, return_report=True
    )
    assert 0.1 < report.score < 0.9
    assert report.score == pytest.approx(score)
    right = [QUESTIONS[i] for i in np.flatnonzero(report.correct)]
    if ignore_case:
        right = [tuple(map(str.upper, question)) for question in right]
    assert right == sections[-1]["correct"]
    n_scored = len(sections[-1]["correct"]) + len(sections[-1]["incorrect"])
    assert report.n_missing == len(QUESTIONS) - n_scored > 0


def test_answers_maximize_the_formula():
    unit = MATRIX.astype(float)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    report = analogy_score(VECTORS, QUESTIONS, ignore_case=False, return_report=True)
    for question, answer in zip(QUESTIONS, report.answers, strict=True):
        if answer is None:
            continue
        a, b, c = (WORDS.index(word) for word in question[:3])
        cos = unit @ unit[[a, b, c]].T
        fit = cos[:, 1] - cos[:, 0] + cos[:, 2]
        fit[[a, b, c]] = -np.inf
        assert answer == WORDS[fit.argmax()]


def test_all_missing_is_zero():
    questions = [("p", "q", "r", "s")]
    with pytest.warns(UndefinedMetricWarning, match="each of the 1 questions"):
        report = analogy_score(VECTORS, questions, return_report=True)
    assert analogy_score(VECTORS, questions, missing="wrong") == 0
    assert (report.score, report.n_missing) == (0, 1)


def test_invalid_input():
    source = PretrainedEmbedding(WordVectors.from_arrays(WORDS, MATRIX)).fit(WORDS)
    with pytest.raises(ValueError, match="PretrainedEmbedding has none. Pass a list"):
        analogy_score(source, QUESTIONS)
    with pytest.raises(ValueError, match="row 0: expected 4 words"):
        analogy_score(VECTORS, [("a", "b")])
    with pytest.raises(ValueError, match="a number above 0; got 0"):
        analogy_score(VECTORS, QUESTIONS, vocabulary=0)
    for vocabulary in ("king", True, 2.5):
        with pytest.raises(TypeError, match="vocabulary must be a list of words"):
            analogy_score(VECTORS, QUESTIONS, vocabulary=vocabulary)
    with pytest.raises(TypeError, match="got 1 of type int"):
        analogy_score(VECTORS, QUESTIONS, vocabulary=["king", 1])


def test_vocabulary_without_other_candidates():
    few = {word: VECTORS[word] for word in WORDS[:3]}
    report = analogy_score(few, [(*WORDS[:3], WORDS[0])], return_report=True)
    assert report.answers.tolist() == [None]
    assert (report.score, report.n_missing) == (0, 0)


def test_unicode_forms_of_words_do_not_matter():
    table = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 0.1], "e\u0301": [0.0, 1.1]}
    assert analogy_score(table, [("a", "b", "c", "\u00e9")]) == 1.0
