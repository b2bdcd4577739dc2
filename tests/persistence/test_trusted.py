"""Creating objects of the trusted classes runs no code."""

from importlib import import_module
from inspect import isabstract
from pkgutil import iter_modules

import pytest
from sklearn import model_selection
from sklearn.base import BaseEstimator
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.utils import all_estimators

import sk_metaembed
from sk_metaembed._io._handle import Handle
from sk_metaembed.persistence import _trust
from sk_metaembed.sources import TransformerEmbedding

# Reviewed: they set attributes.
SETS_STATE = {
    BaseEstimator.__setstate__,
    TransformerEmbedding.__setstate__,
}
RUNS_LATER = ("__del__", "__setattr__", "__getattribute__", "__getattr__")


def classes(listed):
    return [getattr(import_module(m), n) for m, names in listed.items() for n in names]


def of_package(listed):
    files = {f"sk_metaembed.{file}": names for file, names in listed.items()}
    return classes(files)


def estimators():
    """Return the public estimators of the package."""
    names = {name for _, name, _ in iter_modules(sk_metaembed.__path__)}
    subpackages = [f"sk_metaembed.{name}" for name in sorted(names) if name[0] != "_"]
    listed = {subpackage: dir(import_module(subpackage)) for subpackage in subpackages}
    trusted = {
        subpackage: [n for n in names if _trust.is_estimator(subpackage, n)]
        for subpackage, names in listed.items()
    }
    return classes(trusted)


def splitters():
    """Return the classes of scikit-learn's exported splitters."""
    kinds = [getattr(model_selection, name) for name in model_selection.__all__]
    return [kind for kind in kinds if hasattr(kind, "split") and not isabstract(kind)]


LOSSES = [kind for m in _trust.MODULES for kind in vars(import_module(m)).values()]
LOSSES = [k for k in LOSSES if isinstance(k, type) and k.__module__ in _trust.MODULES]
DECLARED = of_package(_trust.CLASSES)
TUPLES = [kind for kind in DECLARED if issubclass(kind, tuple)]
KINDS = {*DECLARED, *estimators(), *classes(_trust.OBJECTS), *splitters()}
KINDS = sorted({*KINDS, *LOSSES} - {*TUPLES}, key=str)


def test_objects_are_created_by_setting_attributes():
    for kind in KINDS:
        assert kind.__new__ is object.__new__, kind
        assert getattr(kind, "__setstate__", None) in {None, *SETS_STATE}, kind
        for name in RUNS_LATER:
            assert getattr(kind, name, None) is getattr(object, name, None), kind


def test_files_name_classes_by_their_subpackage():
    for kind in DECLARED:
        assert _trust.is_trusted("object", *_trust.saved_name(kind)), kind
        assert not _trust.is_trusted("object", kind.__module__, kind.__name__), kind
        assert _trust.module_of(*_trust.saved_name(kind)) == kind.__module__
    assert not _trust.is_trusted("object", "sk_metaembed.sequences", "TokenSequences")


def test_handles_are_opened_and_not_created_by_setting_attributes():
    handles = of_package(_trust.HANDLES)
    assert all(issubclass(handle, Handle) for handle in handles)
    for handle in map(_trust.saved_name, handles):
        assert _trust.is_trusted("handle", *handle)
        assert not _trust.is_trusted("object", *handle)
    for other in (
        ("sk_metaembed.sources", "PretrainedEmbedding"),
        ("sk_metaembed.sources", "Preprocessing"),
        ("sk_metaembed.sources.transformer._model", "TransformerModel"),
        ("sk_metaembed._io._handle", "Handle"),
        ("sklearn.linear_model", "LinearRegression"),
    ):
        assert not _trust.is_trusted("handle", *other)


def test_tuples_only_store_their_arguments():
    for kind in TUPLES:
        assert kind.__bases__ == (tuple,), kind
        given = list(range(len(kind._fields)))
        assert list(kind(*given)) == given
        assert "__setstate__" not in vars(kind), kind


def test_each_name_is_one_class():
    for module, names in _trust.OBJECTS.items():
        for name in names:
            kind = getattr(import_module(module), name)
            assert (kind.__module__, kind.__qualname__) == (module, name)


def test_every_public_estimator_is_on_the_list():
    public = [getattr(sk_metaembed, name) for name in sk_metaembed.__all__]
    steps = [t for t in public if isinstance(t, type) and issubclass(t, BaseEstimator)]
    assert len(steps) > 30
    assert all(_trust.is_estimator(*_trust.saved_name(t)) for t in steps)
    assert not _trust.is_estimator("sk_metaembed.persistence", "Net")
    assert not _trust.is_estimator("sk_metaembed.sources.words._pretrained", "Pooling")


@pytest.mark.parametrize("name", sorted(_trust.FUNCTIONS))
def test_functions_are_defined_where_they_are_listed(name):
    module, _, function = name.rpartition(".")
    assert getattr(import_module(module), function).__module__ == module


def test_estimators_and_splitters_of_scikit_learn_are_trusted():
    for kind in [kind for _, kind in all_estimators()] + splitters():
        assert _trust.is_estimator(kind.__module__, kind.__name__), kind


@pytest.mark.parametrize(
    "name",
    [
        "sklearn.base.BaseEstimator",
        "sklearn.ensemble._base.BaseEnsemble",  # abstract
        "sklearn.experimental.enable_iterative_imputer.IterativeImputer",
        "sklearn.externals.array_api_compat.torch.Tensor",
        "sklearn.model_selection.check_cv",
        "sklearn.pipeline._Pipeline",
        "sklearn.pipeline.BaseEstimator",  # imported, not defined there
        "sklearn_like.pipeline.Pipeline",
    ],
)
def test_what_scikit_learn_does_not_export_is_not_trusted(name):
    assert not _trust.is_estimator(*name.rpartition(".")[::2])
