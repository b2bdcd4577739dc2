"""Parameters that several estimators share are described by the same text.

The text is repeated, so that editors and `help` show it, and compared here, so that a
change of one copy is made in all.
"""

from numpydoc.docscrape import ClassDoc

import sk_metaembed as sk


def described(name):
    """Return type and text of each parameter of a class, without its default."""
    parameters = ClassDoc(getattr(sk, name))["Parameters"]
    return {
        p.name: (p.type.partition(", default=")[0], " ".join(p.desc).split())
        for p in parameters
    }


def test_shared_parameters_of_word_vectors_have_one_text():
    one, other = described("Word2VecEmbedding"), described("FastTextEmbedding")
    shared = one.keys() & other.keys()
    assert len(shared) > 3
    differ = {name for name in shared if one[name] != other[name]}
    assert differ == {"min_count", "oov"}
