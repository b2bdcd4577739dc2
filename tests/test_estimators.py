"""The check suite on every public estimator, in variants that differ in code."""

from itertools import zip_longest

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.utils._param_validation import StrOptions

import sk_metaembed as sk
from sk_metaembed.utils.estimator_checks import WORDS

from .checks.data import assert_same, fitted, outputs
from .checks.state import data
from .checks.suite import parametrize_with_checks
from .persistence.write_fixtures import LANGUAGE_MODEL
from .tiny_bert import TinyBert
from .tiny_elmo import TinyElmo
from .tiny_static import TinyStatic


def spelling(words):
    """Return the share of each of five letters in a word, as a small embedding."""
    return np.array([[w.count(c) / len(w) for c in "aeiod"] for w in words])


def sentence(texts):
    return np.array([[len(text), text.count("o")] for text in texts])


def in_context(sequences):
    """Return vectors that depend on the position, one list per sequence."""
    return [
        [(len(word), len(row), place) for place, word in enumerate(row)]
        for row in sequences
    ]


def vectors():
    rng = np.random.default_rng(0)
    known = [word for word in WORDS if word != "plot"]
    return sk.WordVectors.from_arrays(known, rng.normal(size=(len(known), 5)))


GENSIM = {"vector_size": 6, "min_count": 1, "epochs": 2}
FASTTEXT = {**GENSIM, "bucket": 100}
NET = {"projection_dim": 4, "encoder_dim": 4, "hidden_dims": (4,), "max_epochs": 2}
# scikit-learn's checks require that a classifier learns its blobs.
LEARNING_NET = {
    "projection_dim": 8,
    "encoder": "mean",
    "hidden_dims": (),
    "embedding_dropout": 0.0,
    "head_dropout": 0.0,
    "lr": 0.05,
    "max_epochs": 15,
}
TAGGING_NET = {**NET, "hidden_dims": ()}
PENALIZED = {"layer_norm": True, "mix_penalty": 0.1}
PUBLISHED, SOFTMAX = {"mixer": "published"}, {"decoder": "softmax"}
ELMO = {"options": TinyElmo("options"), "weights": TinyElmo("weights")}
TUNED = sk.TrainableTransformer(sk.TransformerEmbedding(TinyBert()), n_layers=1)
CHARACTERS = sk.TrainableCharacters(char_dim=3, filters=((1, 2), (3, 2)))
SOURCES = [
    ("spelling", sk.FunctionEmbedding(spelling)),
    ("file", sk.PretrainedEmbedding(vectors())),
]
SENTENCES = sk.FunctionEmbedding(sentence, level="sequence", as_text=True)
MEANS = make_pipeline(sk.PretrainedEmbedding(vectors()), sk.Pooling())

# One per class, on which every check is run.
ESTIMATORS = [
    sk.Tokenizer(),
    sk.PretrainedEmbedding(vectors()),
    sk.Word2VecEmbedding(**GENSIM),
    sk.FastTextEmbedding(**FASTTEXT),
    sk.FunctionEmbedding(spelling),
    sk.EstimatorEmbedding(
        make_pipeline(sk.PretrainedEmbedding(vectors()), sk.Pooling())
    ),
    sk.LSAEmbedding(5, random_state=0),
    sk.DistilledEmbedding(SENTENCES, random_state=0),
    sk.StaticSubwordEmbedding(TinyStatic()),
    sk.TransformerEmbedding(TinyBert()),
    sk.ContrastiveEmbedding(TinyBert(), n_steps=1, lr=1e-2, random_state=0),
    sk.ElmoEmbedding(**ELMO),
    sk.ElmoLanguageModel(**LANGUAGE_MODEL),
    sk.EmbeddingUnion(SOURCES),
    sk.ConcatMetaEmbedding(),
    sk.AverageMetaEmbedding(),
    sk.ProcrustesMetaEmbedding(n_neighbors=3),
    sk.SourceImputer(),
    sk.BlockPCA(2),
    sk.GCCAMetaEmbedding(3),
    sk.SVDMetaEmbedding(3),
    sk.OneToNMetaEmbedding(4),
    sk.AutoencodedMetaEmbedding(n_components=4, max_iter=3),
    sk.StackedMetaClassifier(LogisticRegression(), concat=False, tfidf=False, cv=2),
    sk.StackedMetaRegressor(Ridge(), concat=False, tfidf=False, cv=2),
    sk.DynamicMetaEmbedding(**NET),
    sk.DynamicMetaClassifier(**LEARNING_NET),
    sk.DynamicMetaRegressor(**LEARNING_NET),
    sk.TextMetaEncoder(n_components=3, random_state=0),
    sk.TableEncoder(n_components=3, random_state=0),
    sk.TableClassifier(["linear", "trees"], random_state=0),
    sk.TableRegressor(random_state=0),
    sk.PairEncoder(make_pipeline(sk.PretrainedEmbedding(vectors()), sk.Pooling())),
    sk.DynamicMetaTagger(**TAGGING_NET),
    # Strongly regularized, so that the solver converges alike on every processor.
    sk.TokenClassifier(LogisticRegression(C=0.01, max_iter=1000)),
    sk.Pooling(),
    sk.CommonComponentRemoval(),
]

# Other code paths of the same classes. Names, tags, errors and containers do not depend
# on them, so that only what depends on the vectors is checked again, see VARIED; the
# rest, copies and fit_transform among it, is checked on them nightly.
VARIANTS = [
    sk.Tokenizer(token_pattern=r"\S+", lowercase=False),
    sk.Tokenizer(tokenizer=str.split),
    sk.PretrainedEmbedding(vectors(), oov="mean", preprocess="unit-center-unit"),
    sk.PretrainedEmbedding(vectors(), preprocess="all-but-the-top"),
    sk.Word2VecEmbedding(**GENSIM, sg=True, preprocess="unit", n_jobs=1),
    sk.FunctionEmbedding(in_context, level="token", preprocess="center"),
    sk.FunctionEmbedding(sentence, level="sequence", as_text=True),
    sk.EstimatorEmbedding(TfidfVectorizer(), as_text=True, preprocess="unit"),
    sk.DistilledEmbedding(SENTENCES, base=MEANS, max_ngram=1, preprocess="center"),
    sk.LSAEmbedding(5, char_ngrams=(2, 3), preprocess="unit", random_state=0),
    sk.StaticSubwordEmbedding(TinyStatic(), output="mean", dim=4, preprocess="center"),
    sk.TransformerEmbedding(TinyBert(), "all", static=True, subword="max"),
    sk.TransformerEmbedding(
        TinyBert(), 1, output="mean", max_length=6, preprocess="center"
    ),
    sk.ContrastiveEmbedding(
        TinyBert(), n_steps=2, batch_size=4, max_length=32, preprocess=None
    ),
    sk.ElmoEmbedding(**ELMO, layers=(0, 2), preprocess="center"),
    sk.EmbeddingUnion(
        [*SOURCES, ("context", sk.FunctionEmbedding(in_context, level="token"))],
        active=("context", "file"),
    ),
    sk.ConcatMetaEmbedding(weights=[1.0, 8.0], normalize=False),
    sk.AverageMetaEmbedding(weights=[1.0, 2.0], normalize=False),
    sk.ProcrustesMetaEmbedding(impute_missing=False, weights=[1.0, 2.0]),
    sk.SourceImputer("neighbors", n_neighbors=3),
    sk.GCCAMetaEmbedding(regularization=0, normalize=False),
    sk.SVDMetaEmbedding(whiten=False),
    sk.OneToNMetaEmbedding(4, impute_missing=True, weights=[1.0, 2.0]),
    sk.AutoencodedMetaEmbedding("concatenated", n_components=3, max_iter=3),
    sk.AutoencodedMetaEmbedding(
        "decoupled", n_components=3, max_iter=3, normalize=False
    ),
    sk.StackedMetaClassifier(cv=2),
    sk.StackedMetaClassifier(LogisticRegression(C=0.01), tfidf=False, cv=2),
    sk.StackedMetaRegressor(cv=2),
    sk.DynamicMetaEmbedding(**NET, attention="context", encoder="bilstm-max"),
    sk.DynamicMetaEmbedding(**NET, trainable=[("tuned", TUNED)]),
    sk.DynamicMetaEmbedding(**NET, attention="task", encoder="gru", output="sequence"),
    sk.DynamicMetaEmbedding(**NET, attention="task", network_options=PENALIZED),
    sk.DynamicMetaEmbedding(**NET, network_options=PUBLISHED, output="sequence"),
    sk.DynamicMetaEmbedding(**NET, trainable=[("char", CHARACTERS)]),
    sk.PairEncoder(sk.EmbeddingUnion(SOURCES)),
    sk.DynamicMetaTagger(**TAGGING_NET, network_options=SOFTMAX, scheme="IOB2"),
    sk.TokenClassifier(GaussianNB(var_smoothing=1e-2), window=1, scheme="IOB2"),
    sk.Pooling(("mean", "max", "min"), weights="idf"),
    sk.Pooling(("sum", "first", "last"), weights="sif"),
    sk.Pooling(("power-means", "dct", "hierarchical"), weights="usif"),
    sk.CommonComponentRemoval(2, weighted=True, center=True),
    # Other heads and kinds of trainable sources.
    sk.DynamicMetaRegressor(**NET, encoder="mean", trainable=TUNED),
    sk.DynamicMetaRegressor(
        **NET, trainable=sk.TrainableCharacters(2, filters=[(2, 2)])
    ),
    sk.DynamicMetaClassifier(**NET, trainable=sk.TrainableTokens(2)),
    sk.DynamicMetaEmbedding(
        **NET, trainable=[("pair", sk.TrainableTokens(2, ngram=2))]
    ),
    sk.TextMetaEncoder(SOURCES, active=("words", "file"), cv=2, random_state=0),
]
VARIED = (
    "check_row_alone",
    "check_edge_case_rows",
    "check_unknown_rows",
    "check_levels",
    "check_missing_rows",
)
# One estimator of each base class, on which all is checked. What bases decide is
# checked nightly on the others.
OF_EACH_BASE = (
    "CommonComponentRemoval(",
    "ConcatMetaEmbedding(",
    "DynamicMetaEmbedding(",
    "EmbeddingUnion(",
    "FunctionEmbedding(",
    "LSAEmbedding(",
    "PairEncoder(",
    "Pooling(",
    "PretrainedEmbedding(",
    "StackedMetaClassifier(",
    "SVDMetaEmbedding(",
    "TableClassifier(",
    "TableEncoder(",
    "TokenClassifier(",
    "Tokenizer(",
    "TransformerEmbedding(",
)
OF_BASES = (
    "check_containers",
    "check_dtype_object",
    "check_estimators_dtypes",
    "check_estimators_fit_returns_self",
    "check_estimators_overwrite_params",
    "check_fit1d",
    "check_fit2d",
    "check_fit_check_is_fitted",
    "check_fit_score_takes_y",
    "check_no_rows",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_refuses",
    "check_row_index",
    "check_sample_weights",
    "check_set_output",
    "check_transformer",
)


def expected_failed_checks(estimator):
    """Return the reasons of expected failures by name of the check."""
    if isinstance(estimator, sk.DistilledEmbedding):
        return {}
    if hasattr(estimator, "network_options"):
        reason = "Validation rows and batches are drawn by row, whatever their weights."
        reasons = {"check_sample_weight_equivalence_on_dense_data": reason}
        if not estimator.trainable:
            reason = "Without vectors, it learns those of tokens."
            reasons["check_refuses_unembedded"] = reason
        return reasons
    if isinstance(estimator, sk.StackedMetaClassifier | sk.StackedMetaRegressor):
        return _expected_of_stacked(estimator)
    if isinstance(estimator, sk.TableClassifier | sk.TableRegressor):
        reason = "Folds and the rows of trees are drawn by row, whatever their weights."
        return {"check_sample_weight_equivalence_on_dense_data": reason}
    if isinstance(estimator, sk.TextMetaEncoder):
        return _expected_of_tables(estimator)
    if isinstance(getattr(estimator, "estimator", None), GaussianNB):
        reason = "GaussianNB adds a share of the variance of X without weights."
        return {"check_sample_weight_equivalence_on_dense_data": reason}
    if isinstance(getattr(estimator, "weights", None), list):
        return {"check_one_source": "The weights are for two sources."}
    return {}


def _expected_of_stacked(estimator):
    reason = "fit_transform returns out-of-fold predictions."
    reasons = {"check_transformer_general": reason}
    reasons["check_unknown_gives_zeros"] = "Predictions have an intercept."
    if estimator.estimator is None:
        reason = "Folds are drawn by row, whatever their weights."
        reasons["check_sample_weight_equivalence_on_dense_data"] = reason
    if estimator.tfidf:
        reason = "Without sources, it reads the words of a sk.TokenSequences."
        reasons["check_refuses_unembedded"] = reason
    return reasons


def _expected_of_tables(estimator):
    if estimator.cv is None:
        return {}
    names = "check_containers", "check_transformer_general"
    return dict.fromkeys(names, "fit_transform returns out-of-fold predictions.")


def checks(estimators, is_slow):
    """Return the checks of estimators; those whose name `is_slow` are marked so.

    So are those of weights that are expected to fail.
    """
    mark = parametrize_with_checks(
        estimators, expected_failed_checks=expected_failed_checks
    )
    names, params = mark.args
    for i, param in enumerate(params):
        fails = param.marks and "check_sample_weight_equivalence" in param.id
        if fails or is_slow(param.id):
            marks = [*param.marks, pytest.mark.slow]
            params[i] = pytest.param(*param.values, marks=marks, id=param.id)
    return pytest.mark.parametrize(names, params)


def is_nightly(name):
    return not name.startswith(OF_EACH_BASE) and any(c in name for c in OF_BASES)


@checks(ESTIMATORS, is_nightly)
def test_estimator(estimator, check):
    check(estimator)


@checks(VARIANTS, lambda name: not name.endswith(VARIED))
def test_variant(estimator, check):
    check(estimator)


def test_every_public_estimator_is_checked():
    public = [getattr(sk, name) for name in sk.__all__]
    estimators = {
        thing
        for thing in public
        if isinstance(thing, type) and issubclass(thing, BaseEstimator)
    }
    # These are fitted within an estimator that trains them.
    estimators -= {sk.TrainableCharacters, sk.TrainablePositions, sk.TrainableTokens}
    estimators -= {sk.TrainableTransformer}
    assert {type(estimator) for estimator in ESTIMATORS} == estimators


@pytest.mark.parametrize(
    "kind", [sk.DynamicMetaClassifier, sk.DynamicMetaEmbedding, sk.DynamicMetaRegressor]
)
def test_weights_equal_repeated_rows_without_splits(kind):
    rng = np.random.default_rng(0)
    tokens = sk.TokenSequences.from_lists([[w, "the"] for w in WORDS])
    values = rng.normal(size=(tokens.n_types, 3))
    X = sk.EmbeddedSequences(tokens, [sk.Block("one", values, "type")])
    y = np.arange(len(X)) % 2
    weights = np.arange(len(X)) % 3
    copies = np.repeat(np.arange(len(X)), weights)
    # Copies count in document frequencies, and are left out one by one.
    fixed = {"weight_decay": 0.01, "linear_share": 0}
    options = {name: fixed[name] for name in fixed if name in kind._train_options}
    step = kind(
        **LEARNING_NET,
        train_options=options,
        early_stopping=False,
        batch_size=100,
        random_state=0,
    )
    method = "predict" if hasattr(step, "predict") else "transform"
    weighted = getattr(step.fit(X, y, sample_weight=weights), method)(X)
    copied = getattr(step.fit(X[copies], y[copies]), method)(X)
    if method == "transform":
        weighted, copied = (X.blocks[0].values for X in (weighted, copied))
    np.testing.assert_allclose(weighted, copied, rtol=1e-4, atol=1e-5)


# Rows of another kind, and fits that take seconds.
SKIPPED = ("Tokenizer", "Contrastive", "Distilled", "Table", "Common")
# What to do with missing rows, and whether to warn, is not learned; one network has
# both outputs.
LIVE = {"missing", "truncate", ("DynamicMetaEmbedding", "output")}


def other_values(estimator):
    """Yield the other values of each parameter that has obvious ones, as pairs."""
    constraints = estimator._parameter_constraints
    for name, value in estimator.get_params(deep=False).items():
        if {name, (type(estimator).__name__, name)} & LIVE:
            continue
        if name == "char_ngrams":
            yield [(name, (1, 2) if value is None else None)]
        elif isinstance(value, bool):
            yield [(name, not value)]
        elif isinstance(value, int):
            yield [(name, value + 1)]
        elif constraints.get(name) != "no_validation":
            for constraint in constraints.get(name, ()):
                options = getattr(constraint, "options", ())
                if isinstance(constraint, StrOptions):
                    yield [(name, other) for other in sorted(options - {value})]


@pytest.mark.filterwarnings("ignore:.*are noisy:UserWarning")
@pytest.mark.parametrize(
    "estimator",
    [e for e in ESTIMATORS + VARIANTS if not type(e).__name__.startswith(SKIPPED)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_parameters_that_change_after_fit_have_no_effect(estimator):
    X, _ = data(estimator)
    step = fitted(estimator, X)
    expected = outputs(step, X)
    for pairs in zip_longest(*other_values(step)):
        changed = dict(filter(None, pairs))
        assert_same(outputs(step.set_params(**changed), X), expected, f"{changed}")
