"""Warning and likely cause if a store knows almost none of the words."""

import warnings

import numpy as np
import pytest

from sk_metaembed import PretrainedEmbedding, WordVectors

ENGLISH = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "film",
    "good",
    "bad",
    "plot",
    "story",
    "was",
    "very",
]
GERMAN = ["der", "die", "und", "das", "nicht", "von", "sie", "ist", "des", "auf"]
RUSSIAN = ["он", "она", "не", "на", "что", "это", "как", "все", "они", "был"]
TEXTS = ["The story of the plot", "and to in very good film", "the bad film was"]


def store(words, cache_dir):
    vectors = np.random.default_rng(0).normal(size=(len(words), 4))
    return WordVectors.from_arrays(words, vectors, cache_dir=cache_dir)


CAUSES = {
    "prefix": (
        [
            f"/c/{code}/{w}"
            for code, ws in (("de", GERMAN), ("en", ENGLISH))
            for w in ws
        ],
        r"have the prefix '/c/en/': it has 'the' as '/c/en/the'",
    ),
    "suffix": (
        [f"{w}_NOUN" for w in ENGLISH] + [f"{w}_VERB" for w in ENGLISH[:4]],
        r"have the suffix '_NOUN': it has 'the' as 'the_NOUN'",
    ),
    "both": (
        [f"<{w.upper()}>" for w in ENGLISH],
        r"have the prefix '<' and the suffix '>': it has 'the' as '<THE>'",
    ),
    "capitals": (
        [w.upper() for w in ENGLISH],
        r"are in capitals: it has 'the' as 'THE'\. Convert",
    ),
    "title": (
        [w.title() for w in ENGLISH],
        r"are in title case: it has 'the' as 'The'",
    ),
    "script": (RUSSIAN, r"are in Cyrillic script, such as 'он'.* Latin script"),
    "language": (
        GERMAN,
        r"such as 'der', 'die'.* texts have words such as 'the', 'film'",
    ),
    "chance": (["w1", "athex", *GERMAN], r"in the same language"),
    "numbers": (["1", "2"], r"The store has words such as '1', '2'"),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_the_likely_cause_is_found_in_the_words_of_the_store(cause, tmp_path):
    words, message = CAUSES[cause]
    source = PretrainedEmbedding(store(words, tmp_path))
    with pytest.warns(
        UserWarning, match=f"only 0.0% of the 15 training tokens.*{message}"
    ):
        source.fit(TEXTS)


def test_tokens_in_capitals_without_fallback(tmp_path):
    rows = [text.upper().split() for text in TEXTS]
    source = PretrainedEmbedding(store(ENGLISH, tmp_path), case_fallback=False)
    message = r"in lower case: it has 'THE' as 'the'\. Use case_fallback=True"
    with pytest.warns(UserWarning, match=message):
        source.fit(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source.set_params(case_fallback=True).fit(rows)


def test_texts_given_as_single_tokens(tmp_path):
    source = PretrainedEmbedding(store(ENGLISH, tmp_path))
    with pytest.warns(UserWarning, match="contain spaces: they are texts, not"):
        source.fit([[text] for text in TEXTS])


def test_the_bound_is_one_in_twenty_and_only_fit_warns(tmp_path):
    source = PretrainedEmbedding(store(ENGLISH, tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source.fit([["the", *GERMAN, *GERMAN[:9]]])
        assert source.coverage_["tokens"] == 1 / 20
        source.transform([GERMAN])
        source.fit([[], []])
    with pytest.warns(UserWarning, match=r"only 4.8% of the 21 training tokens"):
        source.fit([["the", *GERMAN, *GERMAN]])


def test_nothing_learned_depends_on_the_warning(tmp_path):
    source = PretrainedEmbedding(store(GERMAN, tmp_path))
    with pytest.warns(UserWarning):
        embedded = source.fit_transform(TEXTS)
    assert not embedded.blocks[0].known.any()
    assert source.coverage_ == {"types": 0.0, "tokens": 0.0}
