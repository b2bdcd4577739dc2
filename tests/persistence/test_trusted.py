"""The list of what files may hold runs nothing when it is made."""

from importlib import import_module

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

import sk_metaembed
from sk_metaembed.persistence import _trusted
from sk_metaembed.persistence._functions import _found
from sk_metaembed.sources import TransformerEmbedding
from sk_metaembed.sources._ngrams import NgramVectors

# Looked through: they put attributes into place.
SETS_STATE = {
    BaseEstimator.__setstate__,
    TransformerEmbedding.__setstate__,
    NgramVectors.__setstate__,
}
RUNS_LATER = ("__del__", "__setattr__", "__getattribute__", "__getattr__")


def classes(listed):
    return [getattr(import_module(m), n) for m, names in listed.items() for n in names]


@pytest.mark.parametrize("kind", classes(_trusted.OBJECTS), ids=lambda k: k.__name__)
def test_an_object_is_made_by_putting_attributes_into_place(kind):
    assert kind.__new__ is object.__new__
    assert getattr(kind, "__setstate__", None) in {None, *SETS_STATE}
    for name in RUNS_LATER:
        assert getattr(kind, name, None) is getattr(object, name, None), name


@pytest.mark.parametrize("kind", classes(_trusted.TUPLES), ids=lambda k: k.__name__)
def test_a_tuple_only_keeps_what_it_is_given(kind):
    assert kind.__bases__ == (tuple,)
    given = list(range(len(kind._fields)))
    assert list(kind(*given)) == given
    assert "__setstate__" not in vars(kind)


def test_a_mapping_is_made_empty():
    assert classes(_trusted.MAPPINGS) == [Bunch]
    assert Bunch() == {}


def test_no_name_stands_for_more_than_one_class():
    for listed in (_trusted.OBJECTS, _trusted.TUPLES, _trusted.MAPPINGS):
        for module, names in listed.items():
            for name in names:
                kind = getattr(import_module(module), name)
                assert (kind.__module__, kind.__qualname__) == (module, name)
    assert not any("*" in name for name in _trusted.TYPES)
    assert {n.partition(".")[0] for n in _trusted.TYPES} == {
        "numpy",
        "sk_metaembed",
        "sklearn",
    }


def test_every_public_estimator_is_on_the_list():
    public = [getattr(sk_metaembed, name) for name in sk_metaembed.__all__]
    steps = [t for t in public if isinstance(t, type) and issubclass(t, BaseEstimator)]
    assert {f"{t.__module__}.{t.__name__}" for t in steps} <= {*_trusted.TYPES}


@pytest.mark.parametrize("name", sorted(_trusted.FUNCTIONS))
def test_functions_on_the_list_are_ours(name):
    module, _, function = name.rpartition(".")
    assert _found(module, function).__module__ == module
    assert module.startswith("sk_metaembed.pooling.")
