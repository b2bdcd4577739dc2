"""Missing texts: an error, or empty sequences that are counted."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    EmbeddingUnion,
    FunctionEmbedding,
    PairEncoder,
    Pooling,
    Tokenizer,
    Word2VecEmbedding,
)

LENGTHS = FunctionEmbedding(lambda words: [[len(w)] for w in words], missing="empty")
MISSING = [None, np.nan, pd.NA, float("nan"), pd.NaT]
MISSING += [np.float32("nan"), Decimal("nan"), np.datetime64("NaT", "ns"), np.ma.masked]


@pytest.mark.parametrize("missing", MISSING, ids=repr)
def test_missing_rows_are_empty(missing):
    row = "to be"
    tokenizer = Tokenizer(missing="empty")
    tokens = tokenizer.fit_transform([missing, row, missing])
    assert tokens.to_list() == [[], ["to", "be"], []]
    assert tokens.missing.tolist() == [True, False, True]
    assert tokenizer.n_missing_ == 2
    assert not hasattr(tokenizer.fit(iter(["to"])), "n_missing_")
    assert tokens[1:].missing.tolist() == [False, True]
    with pytest.raises(TypeError, match=r"row 0 is missing .*Tokenizer\(missing="):
        Tokenizer().fit([missing, row])


def test_frames_with_nulls():
    values = ["to be", None, "or"]
    masked = np.ma.array(["to be", "hidden", "or"], mask=[0, 1, 0])
    columns = [pd.Series(values), pd.DataFrame({"t": values}), pl.Series(values)]
    for column in (*columns, masked, masked[:, None]):
        tokens = Tokenizer(missing="empty").fit_transform(column)
        assert tokens.missing.tolist() == [False, True, False]
    nothing = Tokenizer(missing="empty").fit(pd.Series([None, None]))
    assert nothing.n_missing_ == 2
    assert nothing.transform([None]).to_list() == [[]]


def test_sources_given_texts():
    assert LENGTHS.fit(["to", None]).n_missing_ == 1
    assert LENGTHS.fit_transform(["to", None]).tokens.missing.tolist() == [False, True]
    with pytest.raises(TypeError, match="row 1 is missing"):
        FunctionEmbedding(len).fit(["to", None])
    union = EmbeddingUnion([("length", LENGTHS)], missing="empty").fit(["to", None])
    assert union.n_missing_ == 1 and union.named_sources_.length.n_missing_ == 1
    source = Word2VecEmbedding(4, min_count=1, missing="empty")
    assert source.fit(Stream()).n_missing_ == 3


class Stream:
    """An iterable, not a collection, which sources read several times."""

    def __iter__(self):
        return iter(["to be", None] * 3)


def test_indicator():
    pooling = Pooling(add_indicator=True)
    pipe = make_pipeline(Tokenizer(missing="empty"), LENGTHS, pooling)
    array = pipe.fit_transform(["to be", None, ""])
    assert pipe.get_feature_names_out()[-1] == "missing"
    assert array[:, -1].tolist() == [0.0, 1.0, 0.0]
    assert not array[1:, :-1].any()
    assert pipe.transform(["to"])[:, -1].tolist() == [0.0]
    # Steps that do not record missing rows have none.
    plain = make_pipeline(Tokenizer(), LENGTHS, pooling).fit_transform(["to", ""])
    assert plain[:, -1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "encoder", [CountVectorizer(), make_pipeline(LENGTHS, Pooling())]
)
def test_pairs_with_missing_sides(encoder):
    pairs = pd.DataFrame({"a": ["one dog", None], "b": [np.nan, "cat"]})
    with pytest.raises(TypeError, match="row 1, first side is missing .*PairEncoder"):
        PairEncoder(encoder).fit(pairs)
    step = PairEncoder(encoder, missing="empty").fit(pairs)
    assert step.n_missing_ == 2
    n_features = len(step.get_feature_names_out())
    for features in (step.transform(pairs), step.fit_transform(pairs)):
        features = features if isinstance(features, np.ndarray) else features.toarray()
        assert features.shape == (2, n_features)
        assert np.isfinite(features).all()
    assert step.transform(pairs[:0]).shape == (0, n_features)


def test_pairs_of_tokens_know_missing_sides():
    pairs = [("one dog", None), ("cat", "dog")]
    pairs = PairEncoder(Tokenizer(), missing="empty").fit_transform(pairs)
    assert pairs.second.missing.tolist() == [True, False]
    assert pairs[1:].sequences.missing.tolist() == [False, False]
    pairs = [(None, ["a"]), (None, np.nan)]
    pairs = PairEncoder(Tokenizer(), missing="empty").fit_transform(pairs)
    assert pairs.to_list() == [([], ["a"]), ([], [])]
    assert pairs.first.missing.tolist() == [True, True]
    assert pairs.second.missing.tolist() == [False, True]
