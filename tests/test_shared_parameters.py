"""Parameters that several estimators share are described by the same text.

The text is repeated, so that editors and `help` show it, and compared here, so that a
change of one copy is made in all.
"""

import pytest
from numpydoc.docscrape import ClassDoc

import sk_metaembed as sk

# Estimators, and the parameters that mean something else in the second one.
PAIRS = [
    ("StackedMetaClassifier", "StackedMetaRegressor", {"cv", "estimator", "models"}),
    ("TableClassifier", "TableRegressor", {"learners"}),
    ("Word2VecEmbedding", "FastTextEmbedding", {"min_count", "oov"}),
]


def described(name):
    """Return type and text of each parameter of a class, without its default."""
    parameters = ClassDoc(getattr(sk, name))["Parameters"]
    return {
        p.name: (p.type.partition(", default=")[0], " ".join(p.desc).split())
        for p in parameters
    }


@pytest.mark.parametrize(("first", "second", "different"), PAIRS)
def test_shared_parameters_have_one_text(first, second, different):
    one, other = described(first), described(second)
    shared = one.keys() & other.keys()
    assert len(shared) > 3
    assert {name for name in shared if one[name] != other[name]} == different
