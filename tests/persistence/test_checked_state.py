"""Fitted attributes that compiled code takes positions from are checked by `load`."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.cluster import Birch, BisectingKMeans, KMeans, MiniBatchKMeans
from sklearn.covariance import EllipticEnvelope, EmpiricalCovariance
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import KBinsDiscretizer, MultiLabelBinarizer, OneHotEncoder
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from sk_metaembed import Tokenizer, load, save
from sk_metaembed.persistence import SavedFileError, UntrustedError

from . import forge

X = np.random.default_rng(0).normal(size=(60, 4))
Y = np.sort(np.arange(60) % 3)
WORDS = ["a b c d", "b c", "c d a"]
PAIRS = [{"a": 1, "b": 2}, {"b": 1}]
CELLS = np.array([["a", 1], ["b", 2], ["b", 3], ["b", 3]], object)
LABELS = [["a"], ["b", "c"]]
rare = {"min_frequency": 2, "handle_unknown": "infrequent_if_exist"}

HONEST = {
    "counts": (CountVectorizer(analyzer="char"), WORDS),
    "limited": (CountVectorizer(token_pattern=r"\w", max_features=3), WORDS),
    "given words": (CountVectorizer(vocabulary={"b": 1, "a": 0}), WORDS),
    "tfidf": (TfidfVectorizer(analyzer="char"), WORDS),
    "dicts": (DictVectorizer(), PAIRS),
    "one hot": (OneHotEncoder(handle_unknown="ignore"), CELLS),
    "rare": (OneHotEncoder(**rare), CELLS),
    "dropped": (OneHotEncoder(drop="if_binary", min_frequency=2), CELLS),
    "given": (OneHotEncoder(categories=[["b", "a"], [1, 2, 3]]), CELLS),
    "missing": (OneHotEncoder(), np.array([[1.0], [0.0], [np.nan]])),
    "bins": (KBinsDiscretizer(3), X),
    "labels": (MultiLabelBinarizer(classes=["c", "a", "b"]), LABELS),
    "clusters": (KMeans(3, random_state=0), X),
    "batches": (MiniBatchKMeans(3, random_state=0), X),
    "tree of clusters": (Birch(n_clusters=None), X),
    "outliers": (EllipticEnvelope(support_fraction=1), X),
    "covariance": (EmpiricalCovariance(store_precision=False), X),
    "hashes": (FeatureHasher(8), PAIRS),
    "neighbors": (KNeighborsClassifier(algorithm="brute"), X),
    "svc": (SVC(), X),
    "binary": (SVC(class_weight="balanced"), X[:40]),
    "sparse": (NuSVC(kernel="linear"), csr_array(X)),
    "precomputed": (SVC(kernel="precomputed"), X @ X.T),
    "svr": (SVR(), X),
    "nu svr": (NuSVR(), csr_array(X)),
    "one class": (OneClassSVM(), X),
}


# Links of the tree of Birch refer to one another; predictions do not use them.
UNSAVABLE = {"root_", "dummy_leaf_"}


def outputs(model, inputs):
    values = [
        getattr(model, name)(inputs)
        for name in ("transform", "predict", "decision_function")
        if hasattr(model, name)
    ]
    return [value.toarray() if issparse(value) else value for value in values]


def fitted(name):
    model, inputs = clone(HONEST[name][0]), HONEST[name][1]
    has_labels = getattr(inputs, "shape", (0,))[0] >= 40
    model.fit(inputs, Y[: inputs.shape[0]]) if has_labels else model.fit(inputs)
    for attribute in UNSAVABLE & vars(model).keys():
        delattr(model, attribute)
    return model


@pytest.mark.parametrize("name", HONEST)
def test_fitted_estimators_round_trip(name, tmp_path):
    inputs = HONEST[name][1]
    model = fitted(name)
    expected = outputs(model, inputs)
    result = load(save(model, tmp_path / "m.skm"))
    for value, other in zip(outputs(result, inputs), expected, strict=True):
        np.testing.assert_array_equal(value, other)


BIG = 10**8


def numbers(*values):
    return np.array(values, np.int32)


def masked(*values):
    """Return an array of which only the last number is not hidden."""
    return np.ma.MaskedArray(numbers(*values), [True] * (len(values) - 1) + [False])


HIDDEN = [masked(BIG, 1), masked(BIG, 0, 1)]
OF_TWO = {"_n_support": numbers(2, 0, 0), "_dual_coef_": np.zeros((2, 2))}
FORGED = {
    "counts": {"vocabulary_": {"a": BIG}},
    "tfidf": {"vocabulary_": {"a": -1, "b": 0}},
    "limited": {"vocabulary_": {"a": 0, "b": 0}},
    "dicts": {"vocabulary_": {"a": BIG}},
    "one hot": {"_n_features_outs": [BIG, 5 - BIG]},
    "given": {"categories_": [np.array([5.0, 1.0]), np.array([1, 2, 3])]},
    "rare": {"_default_to_infrequent_mappings": [None, np.array([BIG, 0, 0])]},
    "rare, masked": {"_default_to_infrequent_mappings": HIDDEN},
    "given, masked": {"categories_": [masked(5, 1), np.array([1, 2, 3])]},
    "dropped": {"_drop_idx_after_grouping": np.array([BIG, None], object)},
    "labels": {"classes_": np.array(["a", "a", "b"], object)},
    "clusters": {"cluster_centers_": np.zeros((10**6, 0))},
    "batches": {"cluster_centers_": np.zeros((3, 1))},
    "batches, threads": {"_n_threads": BIG},
    "tree of clusters": {"_subcluster_norms": np.zeros(1)},
    "outliers": {"precision_": np.zeros((1, 1))},
    "covariance": {"covariance_": np.zeros((1, 1))},
    "hashes": {"n_features": 0},
    "neighbors": {"_fit_X": np.zeros((10**6, 0))},
    "neighbors, rows": {"n_samples_fit_": 1},
    "svc": {"_n_support": numbers(-BIG, BIG, 60)},
    "binary": {"_intercept_": np.zeros(0)},
    "sparse": {"_n_support": numbers(-BIG, BIG, 60)},
    "precomputed": {"support_": numbers(BIG)},
    "precomputed, masked": {"support_": masked(BIG, 0), **OF_TWO},
    "svr": {"_dual_coef_": np.zeros((1, 1))},
    "nu svr": {"_probA": np.zeros(9)},
    "one class": {"support_vectors_": np.zeros((10**6, 0))},
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_attributes_are_refused(name, tmp_path):
    model = fitted(name.partition(", ")[0])
    for attribute, value in FORGED[name].items():
        setattr(model, attribute, value)
    path = save(model, tmp_path / "m.skm")
    with pytest.raises(SavedFileError, match="contradict one another"):
        load(path)


def test_centers_of_a_bisection_are_those_of_a_class_that_requires_trust(tmp_path):
    model = BisectingKMeans(3, random_state=0).fit(X)
    path = tmp_path / "m.skm"
    with pytest.warns(UserWarning, match="_BisectingTree"):
        save(model, path)
    with pytest.raises(UntrustedError, match="_BisectingTree") as caught:
        load(path)
    result = load(path, trusted=caught.value.names)
    np.testing.assert_array_equal(result.predict(X), model.predict(X))
    del model._kmeans_single
    model._bisecting_tree = KMeans()
    with pytest.raises(SavedFileError, match="contradict one another"):
        load(save(model, path))


@pytest.mark.parametrize(
    ("name", "attribute", "value"),
    [
        ("svr", "_impl", "c_svc"),
        ("sparse", "_sparse_kernels", ["linear", "precomputed"]),
        ("sparse", "kernel", "precomputed"),
        ("precomputed", "kernel", np.add),
        ("sparse", "_effective_probability", True),
    ],
)
def test_forged_options_of_svms_are_refused(name, attribute, value, tmp_path):
    model = fitted(name)
    setattr(model, attribute, value)
    path = save(model, tmp_path / "m.skm")
    with pytest.raises(SavedFileError):
        load(path)


def test_the_cache_of_a_binarizer_is_not_used(tmp_path):
    model = fitted("labels")
    model._cached_dict = {"a": BIG, "b": 1}
    result = load(save(model, tmp_path / "m.skm"))
    np.testing.assert_array_equal(result.transform(LABELS), [[0, 1, 0], [1, 0, 1]])


@pytest.mark.parametrize("name", ["TransformerModel", "StaticModel"])
def test_references_to_the_hub_cause_no_download(name, tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    calls = []

    def snapshot(*args, local_files_only=False, **options):
        calls.append(local_files_only)
        return str(tmp_path)

    monkeypatch.setattr(hub, "snapshot_download", snapshot)
    path = save(Tokenizer(), tmp_path / "m.skm")
    parts = forge.members(path.read_bytes())
    nodes = forge.nodes_of(parts)
    content = {"model": "org/m", "revision": None, "fingerprint": "x"}
    content |= {"module": "sk_metaembed.sources", "name": name}
    forge.set_attribute(nodes, "lower", forge.add(nodes, "handle", **content))
    path.write_bytes(forge.zipped(forge.with_nodes(parts, nodes)))
    with pytest.raises(SavedFileError, match="moved or changed"):
        load(path)
    assert calls
    assert all(calls)
