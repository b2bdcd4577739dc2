import numpy as np
import pytest

from sk_metaembed import (
    AverageMetaEmbedding,
    Pooling,
    PretrainedEmbedding,
    Word2VecEmbedding,
)

UNKNOWN = [["the", "zork"], ["blorb", "zork"]]


def source(store, **options):
    return PretrainedEmbedding(store, **options).fit([["the"]])


def test_the_mean_takes_part_like_any_other_vector(store):
    fitted = PretrainedEmbedding(store, oov="mean").fit(UNKNOWN)
    assert fitted.coverage_["types"] == pytest.approx(1 / 3)
    embedded = fitted.transform(UNKNOWN)
    means = [row.mean(axis=0) for row in embedded.to_list()]
    np.testing.assert_allclose(Pooling().fit_transform(embedded), means, atol=1e-6)
    average = AverageMetaEmbedding(normalize=False).fit_transform(embedded)
    assert np.array_equal(average.blocks[0].values, embedded.blocks[0].values)


def test_error_names_words_and_places(store):
    fitted = source(store, oov="error")
    assert fitted.transform([["the", "Cat"]]).blocks[0].known.all()
    message = (
        r"2 of 3 distinct tokens: 'zork' \(row 0, token 1\), 'blorb' \(row 1, token 0\)"
    )
    with pytest.raises(ValueError, match=message):
        fitted.transform(UNKNOWN)


def test_subword_needs_subwords(store, texts):
    for refusing in (
        PretrainedEmbedding(store, oov="subword"),
        Word2VecEmbedding(min_count=1, oov="subword"),
    ):
        with pytest.raises(ValueError, match="requires subword vectors"):
            refusing.fit(texts)


@pytest.mark.parametrize("policy", ["zero", "mean"])
@pytest.mark.parametrize("preprocess", [None, "unit", "center", "all-but-the-top"])
def test_policies_fill_after_preprocessing(store, policy, preprocess):
    fitted = source(store, oov=policy, preprocess=preprocess)
    every = fitted.transform([store.words.tolist()]).blocks[0].values
    unknown = fitted.transform([["zork"]]).blocks[0].values
    if policy == "zero":
        assert not unknown.any()
    else:
        np.testing.assert_allclose(unknown[0], every.mean(axis=0), atol=1e-6)
