"""ColumnsEncoder: one encoder for several columns of texts."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sk_metaembed import (
    ColumnsEncoder,
    ConcatMetaEmbedding,
    DynamicMetaEmbedding,
    EmbeddedSequences,
    EmbeddingUnion,
    FunctionEmbedding,
    PairEncoder,
    Pooling,
    StackedMetaClassifier,
    Tokenizer,
    Word2VecEmbedding,
)

TITLES = ["a dog", "no cat", "a dog", "", "cat runs", "dogs"] * 3
BODIES = ["a dog runs", "a dog", "no dog", "a cat sleeps", "no", "runs"] * 3
FRAME = pd.DataFrame({"title": TITLES, "body": BODIES}, index=range(50, 68))
ARRAY = FRAME.to_numpy(object)
Y = np.array([1, 0, 1, 0, 0, 1] * 3)
LSA = make_pipeline(TfidfVectorizer(), TruncatedSVD(3, random_state=0))
KNOWN = ["a", "dog", "cat", "runs"]


def lengths(words):
    return np.array([[len(w), w.count("o"), 1.0] for w in words])


def table(words):
    """Return fixed vectors, None for words that have none."""
    rows = dict(zip(KNOWN, np.eye(4), strict=True))
    return [rows.get(word) for word in words]


def sentence(rows):
    return np.array([[len(row), "dog" in row] for row in rows], dtype=float)


UNION = EmbeddingUnion(
    [
        ("table", FunctionEmbedding(table)),
        ("length", FunctionEmbedding(lengths)),
        ("sentence", FunctionEmbedding(sentence, level="sequence")),
    ],
    missing="empty",
)


class Recorder(TransformerMixin, BaseEstimator):
    """Record the input; the vector of a text is its length."""

    def fit(self, X, y=None):
        self.fitted_on_, self.y_ = list(X), y
        self.given_ = []
        return self

    def transform(self, X):
        self.given_.append(list(X))
        return np.array([[len(x), 1.0] for x in X])


def test_the_encoder_reads_all_columns_as_one_corpus_and_distinct_cells_once():
    step = ColumnsEncoder(Recorder()).fit(FRAME, Y)
    corpus = [*TITLES, *BODIES]
    assert step.encoder_.fitted_on_ == corpus
    assert step.encoder_.y_ is None
    assert not hasattr(step.encoder, "fitted_on_")
    step.encoder_.given_.clear()
    out = step.transform(FRAME)
    assert step.encoder_.given_ == [list(dict.fromkeys(corpus))]
    expected = [[len(t), 1, len(b), 1] for t, b in ARRAY]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("level", ["blocks", "one block"])
def test_blocks_are_the_means_of_each_column_alone(level):
    encoder = UNION if level == "blocks" else UNION["length"]
    step = ColumnsEncoder(encoder).fit(FRAME)
    both = step.fit_transform(FRAME)
    assert isinstance(both, EmbeddedSequences)
    assert {block.level for block in both.blocks} == {"sequence"}
    assert step.transform(FRAME) == both
    start = 0
    for name in FRAME:
        alone = step.encoder_.transform(FRAME[name])
        values = Pooling().fit_transform(alone)
        column = 0
        for block in alone.blocks:
            mine = both.blocks[start]
            assert mine.name == f"{name}__{block.name}"
            expected = values[:, column : column + block.dim]
            np.testing.assert_allclose(mine.values, expected, rtol=1e-6)
            known = block if block.level == "sequence" else _broadcast(alone, block)
            np.testing.assert_array_equal(mine.known, known.known)
            column, start = column + block.dim, start + 1
    assert start == len(both.blocks)


def _broadcast(embedded, block):
    """Return which sequences have a known word, as a block with `known`."""
    known = embedded.broadcast(block, "token").known
    counts = np.bincount(embedded.tokens.segment_ids(), known, len(embedded))
    return pd.DataFrame({"known": counts > 0})


def test_unknown_cells_and_missing_ones():
    frame = pd.DataFrame(
        {"title": ["dog", None, "zzz", None], "body": [None, "cat", "", None]},
        index=list("abcd"),
    )
    step = ColumnsEncoder(UNION, missing="empty").fit(frame)
    assert step.n_missing_ == 4
    both = step.transform(frame)
    known = {block.name: block.known.tolist() for block in both.blocks}
    assert known["title__table"] == [True, False, False, False]
    assert known["title__length"] == [True, False, True, False]
    assert known["body__table"] == known["body__length"] == [False, True, False, False]
    assert both.index.tolist() == list("abcd")
    assert both.tokens.missing.tolist() == [False, False, False, True]
    assert not both.block("title__table").values[1:].any()
    assert both[1:3].block("body__table").known.tolist() == [True, False]
    for cell in (None, np.nan, pd.NA, pd.NaT):
        rows = np.array([["dog", cell]], dtype=object)
        assert not step.transform(rows).block("body__sentence").known[0]
    with pytest.raises(TypeError, match=r"row 1, column 'title' is missing .*"):
        ColumnsEncoder(UNION).fit(frame)


def test_tokens_of_a_row_are_those_of_its_columns_in_order():
    step = ColumnsEncoder(UNION)
    both = step.fit_transform(FRAME)
    expected = [f"{title} {body}".split() for title, body in ARRAY]
    assert both.tokens.to_list() == expected
    assert both.index is FRAME.index or both.index.equals(FRAME.index)
    assert both.tokens.missing is None and both.tokens.texts is None


@pytest.mark.parametrize("encoder", [TfidfVectorizer(), LSA], ids=["sparse", "dense"])
def test_arrays_are_side_by_side(encoder):
    step = ColumnsEncoder(encoder).fit(FRAME)
    groups = [step.encoder_.transform(FRAME[name]) for name in FRAME]
    groups = [g.toarray() if sparse.issparse(g) else g for g in groups]
    for out in (step.transform(FRAME), step.fit_transform(FRAME)):
        assert out.dtype == np.float32
        assert sparse.issparse(out) == (encoder is not LSA)
        out = out.toarray() if sparse.issparse(out) else out
        np.testing.assert_allclose(out, np.hstack(groups), atol=1e-5)


@pytest.mark.parametrize("encoder", [CountVectorizer(), LSA], ids=["sparse", "dense"])
def test_indicator_columns(encoder):
    rows = np.array([("a dog", None), ("no cat", "a dog"), (None, None)], dtype=object)
    step = ColumnsEncoder(encoder, missing="empty", add_indicator=True).fit(rows)
    out = step.transform(rows)
    out = out.toarray() if sparse.issparse(out) else out
    assert out[:, -2:].tolist() == [[0, 1], [0, 0], [1, 1]]
    assert not out[2, :-2].any()
    names = step.get_feature_names_out()
    assert len(names) == out.shape[1]
    assert names[-2:].tolist() == ["missing__x0", "missing__x1"]
    assert step.transform(rows[:0]).shape == (0, out.shape[1])
    step.set_params(add_indicator=False)
    assert step.transform(rows).shape == out.shape


def _frame(texts):
    return pd.DataFrame({"length": [len(t) for t in texts], "one": 1.0})


def test_names_tell_column_and_source():
    step = ColumnsEncoder(CountVectorizer()).fit(FRAME)
    words = step.encoder_.get_feature_names_out()
    names = [f"{c}__{w}" for c in ("title", "body") for w in words]
    assert step.get_feature_names_out().tolist() == names
    assert step.feature_names_in_.tolist() == ["title", "body"]
    nameless = ColumnsEncoder(Recorder()).fit(ARRAY)
    assert nameless.get_feature_names_out().tolist() == [
        *("x0__0", "x0__1", "x1__0", "x1__1")
    ]
    assert not hasattr(nameless, "feature_names_in_")
    framed = ColumnsEncoder(FunctionTransformer(_frame)).fit(FRAME)
    assert framed.get_feature_names_out()[-1] == "body__one"
    blocks = ColumnsEncoder(UNION).fit(FRAME)
    names = blocks.get_feature_names_out()
    assert len(names) == blocks.transform(FRAME).dim == 18
    assert names[0].startswith("title__table") and names[-1].startswith("body__sent")
    joined = make_pipeline(blocks, ConcatMetaEmbedding(), Pooling()).fit(FRAME)
    assert joined[:-1].transform(FRAME).dim == 18


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_out(kind):
    frame = FRAME if kind == "pandas" else pl.from_pandas(FRAME)
    step = ColumnsEncoder(LSA).set_output(transform=kind)
    out = step.fit_transform(frame)
    assert type(out).__module__.startswith(kind)
    assert list(out.columns) == step.get_feature_names_out().tolist()
    if kind == "pandas":
        assert out.index.equals(FRAME.index)
    # Sequences are not changed.
    blocks = ColumnsEncoder(UNION).set_output(transform=kind)
    with config_context(transform_output=kind):
        assert isinstance(blocks.fit_transform(frame), EmbeddedSequences)


CONTAINERS = {
    "array": lambda: ARRAY,
    "str array": lambda: ARRAY.astype(str),
    "rows": lambda: [tuple(row) for row in ARRAY],
    "lists": lambda: ARRAY.tolist(),
    "generator": lambda: (list(row) for row in ARRAY),
    "unnamed frame": lambda: pd.DataFrame(ARRAY),
    "categories": lambda: pd.DataFrame(ARRAY).astype("category"),
    "string dtype": lambda: pd.DataFrame(ARRAY).astype("string"),
    "polars": lambda: pl.DataFrame({"x0": TITLES, "x1": BODIES}),
    "polars categories": lambda: pl.DataFrame({"x0": TITLES, "x1": BODIES}).cast(
        pl.Categorical
    ),
    "token lists": lambda: [(t.split(), b.split()) for t, b in ARRAY],
    "arrow": lambda: pl.DataFrame({"x0": TITLES, "x1": BODIES}).to_arrow(),
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_containers(kind):
    expected = ColumnsEncoder(UNION).fit_transform(ARRAY)
    make = CONTAINERS[kind]
    if kind == "arrow":
        pytest.importorskip("pyarrow")
    step = ColumnsEncoder(UNION).fit(make())
    assert step.transform(make()) == expected
    assert step.fit_transform(make()) == expected


@pytest.mark.parametrize(
    "column",
    [
        FRAME["title"],
        FRAME[["title"]],
        pl.Series("title", TITLES),
        TITLES,
        np.array(TITLES),
        pd.Series([t.split() for t in TITLES], name="title"),
    ],
    ids=["series", "frame", "polars", "list", "array", "token lists"],
)
def test_one_column(column):
    step = ColumnsEncoder(UNION)
    out = step.fit_transform(column)
    name = "title" if hasattr(column, "name") or hasattr(column, "columns") else "x0"
    assert out.names == tuple(f"{name}__{n}" for n in ("table", "length", "sentence"))
    expected = clone(UNION).fit_transform(TITLES)
    assert out.tokens.to_list() == expected.tokens.to_list()
    assert step.transform(column) == out


def test_columns_in_another_order_are_refused():
    step = ColumnsEncoder(LSA).fit(FRAME)
    for other in (FRAME[["body", "title"]], FRAME.assign(more="text")):
        with pytest.raises(ValueError, match=r"feature names should match.*this order"):
            step.transform(other)
    with pytest.raises(ValueError, match=r"X has 3 columns, but in fit it had 2"):
        step.transform(ARRAY[:, [0, 1, 1]])
    assert step.transform(ARRAY).shape == (18, 6)


def test_selected_columns_are_found_by_name():
    mixed = FRAME.assign(price=1.5)[["price", "body", "title"]]
    expected = ColumnsEncoder(UNION).fit_transform(FRAME)
    step = ColumnsEncoder(UNION, columns=["title", "body"])
    assert step.fit_transform(mixed) == expected
    assert step.feature_names_in_.tolist() == ["title", "body"]
    for other in (mixed, FRAME, FRAME[["body", "title"]], pl.from_pandas(mixed)):
        assert step.transform(other) == expected
    assert step.set_params(columns=["body"]).transform(mixed) == expected
    assert step.fit_transform(mixed).names[0] == "body__table"
    with pytest.raises(ValueError, match=r"\['body'\] are not among its columns"):
        step.transform(FRAME[["title"]])
    with pytest.raises(ValueError, match="selects by name"):
        ColumnsEncoder(UNION, columns=["title"]).fit(ARRAY)
    with pytest.raises(ValueError, match="distinct names"):
        ColumnsEncoder(UNION, columns=["title", "title"]).fit(FRAME)
    with pytest.raises(ValueError, match="distinct names"):
        ColumnsEncoder(UNION, columns=[]).fit(FRAME)
    with pytest.raises(ValueError, match="distinct names"):
        ColumnsEncoder(UNION).fit(FRAME.set_axis(["a", "a"], axis=1))


def test_a_refit_takes_other_columns_and_a_failed_one_changes_nothing():
    step = ColumnsEncoder(UNION).fit(FRAME)
    with pytest.raises(TypeError, match="column 'price' does not contain texts"):
        step.fit(FRAME.assign(price=2.0))
    assert step.transform(FRAME).names[-1] == "body__sentence"
    three = step.fit_transform(FRAME.assign(more=BODIES))
    assert len(three.blocks) == 9
    assert not hasattr(step.fit(ARRAY), "feature_names_in_")


def test_columns_that_say_nothing():
    frame = FRAME.assign(constant="dog", empty="", null=None)
    step = ColumnsEncoder(UNION, missing="empty").fit(frame)
    both = step.transform(frame)
    assert not both.block("empty__table").known.any()
    assert not both.block("null__length").known.any()
    assert len(np.unique(both.block("constant__table").values, axis=0)) == 1
    stacked = StackedMetaClassifier(LogisticRegression(), cv=2, random_state=0)
    model = make_pipeline(step, stacked).fit(frame, Y)
    assert np.isfinite(model.decision_function(frame)).all()
    dense = ColumnsEncoder(LSA, missing="empty").fit_transform(frame)
    assert np.isfinite(dense).all() and not dense[:, -3:].any()


def test_no_rows():
    with pytest.raises(ValueError, match="at least one row"):
        ColumnsEncoder(LSA).fit([])
    with pytest.raises(ValueError, match="at least one"):
        ColumnsEncoder(LSA).fit(FRAME[:0])
    step = ColumnsEncoder(LSA).fit(FRAME)
    assert step.transform(FRAME[:0]).shape == step.transform([]).shape == (0, 6)
    blocks = ColumnsEncoder(UNION).fit(FRAME)
    assert len(blocks.transform(FRAME[:0])) == 0
    assert blocks.transform([]).names == blocks.transform(FRAME).names
    assert ColumnsEncoder(LSA.set_params(truncatedsvd__n_components=1)).fit_transform(
        FRAME[:1]
    ).shape == (1, 2)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (FRAME.assign(n=1), TypeError, r"column 'n' .* row 0 is 1.*columns=\["),
        (ARRAY[:, :, None], ValueError, r"array of shape \(18, 2, 1\)"),
        ([("a", "b"), ("a",)], ValueError, "row 1 has 1 cell, but row 0 has 2"),
        ([("a", "b"), "c"], TypeError, "row 1 is of type str .*not a row of cells"),
        ([("a", 3)], TypeError, "column 'x1' does not contain texts: row 0 is 3"),
        ([("a", "b"), ("a", 3)], TypeError, "row 1, column 'x1'.*Every cell"),
        ([("a", ["b"])], TypeError, "row 0, column 'x1'.*cannot be mixed"),
        ({"title": TITLES}, TypeError, "got dict"),
        ("a text", TypeError, "a single str"),
        (None, TypeError, "got NoneType"),
        (pl.LazyFrame({"a": ["b"]}), TypeError, "collect"),
        (sparse.eye_array(3).tocsr(), TypeError, "got csr_array"),
        (Tokenizer().fit_transform(TITLES), TypeError, "takes columns of texts"),
        (PairEncoder(Tokenizer()).fit_transform(FRAME), TypeError, "Pairs.*columns"),
    ],
)
def test_other_input_is_refused(X, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        ColumnsEncoder(UNION).fit(X)


@pytest.mark.parametrize(
    "encoder",
    [
        DynamicMetaEmbedding(),
        make_pipeline(CountVectorizer(), NeighborhoodComponentsAnalysis()),
        EmbeddingUnion([("tokens", make_pipeline(UNION, DynamicMetaEmbedding()))]),
    ],
)
def test_an_encoder_that_needs_labels_is_refused(encoder):
    with pytest.raises(ValueError, match="label belongs to all.*after the ColumnsE"):
        ColumnsEncoder(encoder).fit(FRAME, Y)


def test_a_frozen_encoder_may_have_learned_from_labels():
    words = make_pipeline(CountVectorizer(), SelectKBest(k=2)).fit(TITLES, Y)
    out = ColumnsEncoder(FrozenEstimator(words)).fit_transform(FRAME)
    assert out.shape == (18, 4)
    pairs = PairEncoder(FrozenEstimator(words)).fit_transform(FRAME)
    assert pairs.shape == (18, 8)


def test_encoders_of_tokens_are_refused():
    for method in ("fit", "fit_transform"):
        with pytest.raises(TypeError, match=r"returns tokens.*Tokenizer\(\), source"):
            getattr(ColumnsEncoder(Tokenizer()), method)(FRAME)


def _ragged(texts):
    return np.ones((len(texts), 1 + (texts[0] == "zzz")))


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda texts: np.full((len(texts), 2), np.nan), ValueError, "NaN"),
        (lambda texts: np.ones((1, 2)), ValueError, "one row of numbers per text"),
        (lambda texts: [object()] * len(texts), TypeError, "must return numbers"),
    ],
)
def test_output_other_than_vectors_is_refused(function, error, message):
    with pytest.raises(error, match=f"ColumnsEncoder: .*{message}"):
        ColumnsEncoder(FunctionTransformer(function)).fit(FRAME)
    step = ColumnsEncoder(FunctionTransformer(_ragged)).fit(FRAME)
    with pytest.raises(ValueError, match="returned 2 columns, but 1 in fit"):
        step.transform([("zzz", "a")])


@pytest.mark.parametrize("adapter", [ColumnsEncoder, PairEncoder])
def test_every_text_needs_a_sequence(adapter):
    drop = FunctionTransformer(lambda texts: clone(UNION).fit_transform(texts[1:]))
    with pytest.raises(ValueError, match="returned 35 sequences for 36 texts"):
        adapter(drop).fit_transform(FRAME)


def test_stacking_weights_each_column_and_source():
    rng = np.random.default_rng(0)
    words = np.array(["bad", "good"])
    y = np.tile([0, 1], 60)
    title = words[np.where(rng.random(120) < 0.8, y, 1 - y)]
    title = [f"{word} {i}" for i, word in enumerate(title)]  # equal rows are one group
    frame = pd.DataFrame({"noise": words[rng.integers(2, size=120)], "title": title})
    stacked = StackedMetaClassifier(concat=False, tfidf=False, random_state=0)
    source = EmbeddingUnion([("letters", FunctionEmbedding(letters))])
    model = make_pipeline(ColumnsEncoder(source), stacked)
    model.fit(frame, y)
    weights = model[1].weights_
    assert weights.keys() == {"noise__letters", "title__letters"}
    assert weights["title__letters"] > weights["noise__letters"]
    assert model[1].scores_["title__letters"] > 0.7 > model[1].scores_["noise__letters"]


def letters(words):
    return [[word.count(letter) for letter in "abdfgino"] for word in words]


def test_steps_of_one_column_say_what_to_do_with_several():
    for step in (Tokenizer(), Word2VecEmbedding(), UNION):
        with pytest.raises(
            ValueError, match=r"(?s)got 2 columns.*ColumnsEncoder\(enc.*ColumnTransf"
        ):
            step.fit(FRAME)
