"""source_subsets: the values of a grid over an EmbeddingUnion's active."""

import numpy as np
import pytest

from sk_metaembed import EmbeddingUnion, FunctionEmbedding, source_subsets


def lengths(words):
    return np.array([[len(word)] for word in words])


def test_sizes_are_bounded():
    names = list("abcd")
    assert {len(s) for s in source_subsets(names, min_size=2, max_size=3)} == {2, 3}
    assert source_subsets(names, min_size=4) == [tuple(names)]
    assert repr(source_subsets(np.array(names), min_size=4)) == repr([tuple(names)])
    assert source_subsets(names, max_size=np.int64(1)) == [(name,) for name in names]


def test_a_union_gives_its_names_without_what_is_dropped():
    sources = [(name, FunctionEmbedding(lengths)) for name in "abc"]
    some = EmbeddingUnion(sources, active=("c",)).set_params(b="drop")
    assert source_subsets(some) == [("a",), ("c",), ("a", "c")]


@pytest.mark.parametrize(
    ("names", "options", "error", "words"),
    [
        ("glove", {}, TypeError, "source_subsets: names must.*'glove'"),
        (3, {}, TypeError, "list of str.*3"),
        ([("a", None)], {}, TypeError, "not .name, source. pairs"),
        (["a", "b", "a"], {}, ValueError, "at least one, and distinct"),
        ([], {}, ValueError, "at least one"),
        (["a", "b"], {"min_size": 0}, ValueError, "1 <= min_size.*min_size=0"),
        (["a", "b"], {"max_size": 3}, ValueError, "2, the number.*max_size=3"),
        (["a", "b"], {"min_size": 2, "max_size": 1}, ValueError, "min_size=2"),
    ],
)
def test_invalid_subsets_raise(names, options, error, words):
    with pytest.raises(error, match=words):
        source_subsets(names, **options)
