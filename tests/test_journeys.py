"""How much of the package four calls enter, so that it cannot grow unseen."""

from pathlib import Path

import pytest
from sklearn.preprocessing import Binarizer

# Files and functions: a few more than the script prints, because calls enter others in
# a process that has loaded compiled code. A change that needs more says why; a change
# that needs fewer lowers the bound.
BOUNDS = {
    "DynamicMetaClassifier.fit": (26, 197),
    'make_table_pipeline("classifier").fit': (34, 187),
    "text, new file, union, concatenation, Pooling": (31, 141),
    "StackedMetaClassifier.fit": (28, 141),
}


@pytest.fixture
def journeys(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    import journeys

    return journeys


def test_calls_enter_few_files_and_functions(journeys, tmp_path):
    counts = {
        name: journeys.count(journeys.enter(run, "sk_metaembed"))
        for name, run, _, _ in journeys.journeys(tmp_path)
    }

    too_many = {
        name: count
        for name, count in counts.items()
        if count[0] > BOUNDS[name][0] or count[1] > BOUNDS[name][1]
    }
    assert [*counts] == [*BOUNDS]
    assert not too_many


def test_functions_of_a_package_are_counted_once(journeys):
    def fit_twice():
        for _ in range(2):
            Binarizer().fit([[1]])

    entered = journeys.enter(fit_twice, "sklearn")

    assert "Binarizer.fit" in entered["preprocessing/_data.py"]
    assert journeys.count({"a.py": {"f", "g"}, "b.py": {"f"}}) == (2, 3)
