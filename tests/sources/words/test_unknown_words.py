"""Warning if a store knows almost none of the words."""

import warnings

import numpy as np
import pytest

from sk_metaembed import PretrainedEmbedding, WordVectors

ENGLISH = ["the", "of", "and", "to", "in", "film", "good", "bad", "plot", "was", "very"]
GERMAN = ["der", "die", "und", "das", "nicht", "von", "sie", "ist", "des", "auf"]
TEXTS = ["The plot of the plot", "and to in very good film", "the bad film was"]


def store(words, cache_dir):
    vectors = np.random.default_rng(0).normal(size=(len(words), 4))
    return WordVectors.from_arrays(words, vectors, cache_dir=cache_dir)


@pytest.mark.parametrize("words", [GERMAN, [f"/c/en/{w}" for w in ENGLISH]])
def test_words_of_both_are_shown(words, tmp_path):
    source = PretrainedEmbedding(store(words, tmp_path))
    message = rf"only 0.0% of the 15 .*such as \['{words[0]}.* such as \['the', 'plot'"
    with pytest.warns(UserWarning, match=message):
        source.fit(TEXTS)


def test_texts_given_as_single_tokens(tmp_path):
    source = PretrainedEmbedding(store(ENGLISH, tmp_path))
    with pytest.warns(UserWarning, match="contain spaces: they are texts, not"):
        source.fit([[text] for text in TEXTS])


def test_the_bound_is_one_in_twenty_and_only_fit_warns(tmp_path):
    source = PretrainedEmbedding(store(ENGLISH, tmp_path))
    with warnings.catch_warnings(action="error"):
        source.fit([["the", *GERMAN, *GERMAN[:9]]])
        assert source.coverage_["tokens"] == 1 / 20
        source.transform([GERMAN])
        source.fit([[], []])
    with pytest.warns(UserWarning, match=r"only 4.8% of the 21 training tokens"):
        source.fit([["the", *GERMAN, *GERMAN]])
