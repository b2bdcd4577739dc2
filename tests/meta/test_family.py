"""All meta-embeddings on all edge cases of input.

A case is an input, and the message with which some classes refuse it. All others must
give a valid result: finite, without warnings of numpy, and the same when repeated, from
a pickle, and from fit followed by transform.
"""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from sk_metaembed import (
    AutoencodedMetaEmbedding,
    AverageMetaEmbedding,
    ConcatMetaEmbedding,
    GCCAMetaEmbedding,
    OneToNMetaEmbedding,
    ProcrustesMetaEmbedding,
    SourceImputer,
    SVDMetaEmbedding,
)

from .sources import sequences


def one_to_n(**options):
    return OneToNMetaEmbedding(max_iter=3, **options)


def autoencoded(variant, **options):
    return AutoencodedMetaEmbedding(
        variant, n_components=5, max_iter=2, random_state=0, **options
    )


VARIANTS = {
    "concat": ConcatMetaEmbedding(),
    "average": AverageMetaEmbedding(),
    "procrustes": ProcrustesMetaEmbedding(),
    "procrustes-known": ProcrustesMetaEmbedding(impute_missing=False),
    "imputer": SourceImputer(min_shared=1),
    "imputer-neighbors": SourceImputer("neighbors", min_shared=1),
    "svd": SVDMetaEmbedding(),
    "svd-as-is": SVDMetaEmbedding(4, whiten=False, normalize=False),
    "gcca": GCCAMetaEmbedding(),
    "gcca-pure-as-is": GCCAMetaEmbedding(regularization=0, normalize=False),
    "1ton": one_to_n(normalize=False),
    "1ton+": one_to_n(impute_missing=True, alpha=0),
    "averaged": autoencoded("averaged"),
    "concatenated-as-is": autoencoded("concatenated", normalize=False),
    "decoupled": autoencoded("decoupled"),
}
N = 24
RNG = np.random.default_rng(0)
MEANING = RNG.normal(size=(N, 4))
A = (MEANING @ RNG.normal(size=(4, 6))).astype(np.float32)
B = (MEANING @ RNG.normal(size=(4, 5)) + 0.1 * RNG.normal(size=(N, 5))).astype("f4")
PLACE = np.arange(N)
KNOW_A, KNOW_B = PLACE % 7 > 0, PLACE % 5 != 1
every = pytest.mark.parametrize("variant", VARIANTS)


def embedded(*arrays, known=None, level="type", unknown=0.0):
    """Return blocks x and y of the arrays; what is not known holds one number."""
    known = known or [np.ones(len(arrays[0]), dtype=bool)] * len(arrays)
    sources = {
        name: np.where(some[:, None], x, x.dtype.type(unknown))
        for name, x, some in zip("xy", arrays, known, strict=False)
    }
    return sequences(level, known, **sources)


def pair(a=A, b=B, **options):
    """Return both sources, each of which lacks some words."""
    return embedded(a, b, known=[KNOW_A, KNOW_B], **options)


def sized(values, largest):
    return (values / np.abs(values).max() * largest).astype(np.float32)


def with_columns(values, *columns):
    values = values.copy()
    values[:, : len(columns)] = columns
    return values


def by_row(values, factors):
    return values * np.float32(10.0) ** factors[:, None].astype(np.float32)


ZEROS = np.zeros_like(A)
SAME = np.tile(A[:1], (N, 1))
POWERS = PLACE % 37 - 18

CASES = {
    "tokens": pair(level="token"),
    "sequences": pair(level="sequence"),
    "a source that knows nothing": embedded(A, B, known=[PLACE >= 0, PLACE < 0]),
    "one shared word": embedded(A, B, known=[PLACE <= 9, PLACE >= 9]),
    "no shared word": embedded(A, B, known=[PLACE <= 9, PLACE > 9]),
    "nobody knows anything": embedded(A, B, known=[PLACE < 0, PLACE < 0]),
    "duplicates": pair(SAME, np.tile(B[:1], (N, 1))),
    "duplicates in one source": pair(SAME),
    "a source of zeros": pair(ZEROS),
    "sources of zeros": pair(ZEROS, ZEROS),
    "constant and zero columns": pair(with_columns(A, 3, 0), with_columns(B, 0, 0)),
    "zeros marked known": pair(np.where(PLACE[:, None] % 3, A, 0)),
    "huge": pair(sized(A, 1e18), sized(B, 1e18)),
    "tiny": pair(sized(A, 1e-18), sized(B, 1e-18)),
    "hardly more than zero": pair(sized(A, 1e-40), sized(B, 1e-40)),
    "huge next to tiny": pair(sized(A, 1e18), sized(B, 1e-18)),
    "lengths of all sizes": pair(by_row(A, POWERS), by_row(B, POWERS[::-1])),
    "half precision": pair(A.astype(np.float16), B.astype(np.float16)),
    "largest half precision": pair(sized(A, 6e4).astype(np.float16)),
    "fewer rows than dimensions": embedded(A[:3], B[:3]),
    "one row": embedded(A[:1], B[:1]),
    "no rows": embedded(A[:0], B[:0]),
    "one source": embedded(A, known=[KNOW_A]),
    "one dimension": pair(A[:, :1], B[:, :1]),
    "the same source twice": pair(A, A),
    "opposite sources": pair(A, -A),
    "dimension 0": pair(A[:, :0]),
}
LEARNED = (
    SVDMetaEmbedding,
    GCCAMetaEmbedding,
    OneToNMetaEmbedding,
    AutoencodedMetaEmbedding,
)
THE_SAME = r"\d+ words to learn from have the same vector in every source"
TOO_FEW = r"fit needs at least 2 words known to .*; got 1 .*'x': \d+, 'y': \d+"
NOTHING = {LEARNED: "the source 'x' knows none.*'x': 0"}
# By case: whose classes or variants refuse it, and how.
REFUSALS = {
    "a source that knows nothing": {LEARNED: "the source 'y' knows none.*'y': 0"},
    "no shared word": {LEARNED: "the source 'x' shares no word.*'x': 10, 'y': 14"},
    "one shared word": {
        (SVDMetaEmbedding, GCCAMetaEmbedding): TOO_FEW,
        "1ton": TOO_FEW,
    },
    "nobody knows anything": NOTHING,
    "no rows": {LEARNED: r"Found array with 0 sample\(s\): X has no tokens"},
    "one row": {LEARNED: TOO_FEW},
    "sources of zeros": {OneToNMetaEmbedding: THE_SAME},
    "hardly more than zero": {"1ton": THE_SAME},
    "duplicates": {OneToNMetaEmbedding: THE_SAME},
    "dimension 0": {object: r"the sources \['x'\] have vectors of dimension 0"},
}


def refusal(variant, case):
    """Return the sentence by which a variant refuses a case, or None."""
    for who, sentence in REFUSALS.get(case, {}).items():
        if who == variant or (
            not isinstance(who, str) and isinstance(VARIANTS[variant], who)
        ):
            return sentence
    return None


@pytest.fixture(autouse=True)
def only_warnings_of_numpy_fail():
    """Let through what a class says of its data: parts, rounds, words too few."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        yield


def check_sound(step, X):
    out = step.fit_transform(X)
    for block in out.blocks:
        assert block.values.dtype == np.float32
        assert np.isfinite(block.values).all()
    assert out == step.transform(X)
    assert pickle.loads(pickle.dumps(step)).transform(X) == out
    nobody = [~block.known & False for block in X.blocks]
    values = [np.zeros_like(block.values) for block in X.blocks]
    unknown = step.transform(embedded(*values, known=nobody, level=X.level))
    for block in unknown.blocks:
        assert not block.values.any() and not block.known.any()


@pytest.mark.parametrize("case", CASES)
def test_awkward_input(case):
    X = CASES[case]
    for variant in VARIANTS:
        step, sentence = clone(VARIANTS[variant]), refusal(variant, case)
        if sentence is None:
            check_sound(step, X)
            continue
        with pytest.raises(ValueError, match=f"^{type(step).__name__}: .*{sentence}"):
            step.fit(X)


@every
def test_values_of_unknown_words_are_never_used(variant):
    nobody = [KNOW_A & (PLACE > 0), KNOW_B & (PLACE > 0)]
    for level in ("type", "token", "sequence"):
        X = embedded(A, B, known=nobody, level=level)
        other = embedded(A, B, known=nobody, level=level, unknown=7e30)
        clean, junk = (clone(VARIANTS[variant]) for _ in range(2))
        assert junk.fit_transform(other) == clean.fit_transform(X)


@every
def test_transform_of_new_words_does_not_change_the_estimator(variant):
    known, new = [KNOW_A[:16], KNOW_B[:16]], [KNOW_A[16:20], KNOW_B[16:20]]
    X = embedded(A[:16], B[:16], known=known)
    step = clone(VARIANTS[variant])
    before, state = step.fit_transform(X), learned(step)
    unseen = step.transform(embedded(A[16:20], B[16:20], known=new))
    for block in unseen.blocks:
        assert block.values.any(axis=1).all() and block.known.all()
    assert learned(step) == state
    assert step.transform(X) == before
    # A part of the sequences keeps the words of all: they are not learned from.
    assert learned(clone(step).fit(pair()[:16])) == state


def learned(step):
    return {k: pickle.dumps(v) for k, v in vars(step).items() if k.endswith("_")}


@pytest.mark.parametrize(
    "combiner",
    [
        ConcatMetaEmbedding(),
        AverageMetaEmbedding(),
        ProcrustesMetaEmbedding(),
        SVDMetaEmbedding(),
        SVDMetaEmbedding(whiten=False),
        GCCAMetaEmbedding(regularization=0),
        OneToNMetaEmbedding(alpha=0),
        AutoencodedMetaEmbedding(
            "decoupled", n_components=4, max_iter=2, random_state=0
        ),
    ],
    ids=repr,
)
def test_one_source_comes_out_but_for_a_linear_map(combiner):
    source = A[:, :4]
    actual = combiner.fit_transform(embedded(source)).blocks[0].values
    expected = source / np.linalg.norm(source, axis=1, keepdims=True)
    if isinstance(combiner, ProcrustesMetaEmbedding):
        expected = expected - expected.mean(axis=0)
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    back = LinearRegression().fit(actual, expected).predict(actual)
    np.testing.assert_allclose(back, expected, atol=1e-4)
    if isinstance(combiner, SVDMetaEmbedding) and not combiner.whiten:
        np.testing.assert_allclose(actual @ actual.T, expected @ expected.T, atol=1e-5)


@pytest.mark.parametrize(
    "kind", [ConcatMetaEmbedding, AverageMetaEmbedding, ProcrustesMetaEmbedding]
)
def test_a_source_of_weight_zero_knows_nothing(kind):
    X = embedded(A, B, known=[PLACE > 2, PLACE > 5])
    model = kind(weights={"x": 0})
    if kind is ProcrustesMetaEmbedding:
        model.set_params(impute_missing=False)
    assert np.array_equal(model.fit_transform(X).blocks[0].known, PLACE > 5)
    with pytest.raises(ValueError, match=r"every weight is 0 \(sources \['x', 'y'\]"):
        kind(weights=[0, 0]).fit(X)
