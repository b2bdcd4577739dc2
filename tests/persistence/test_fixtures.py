"""Files that an earlier version of this library wrote are loaded by this one."""

import json
import pickle

import numpy as np
import pytest

from sk_metaembed import load

from . import write_fixtures
from .write_fixtures import DATA

SAVED = sorted(path.stem for path in DATA.glob("*.skm"))
PICKLED = sorted(path.stem for path in DATA.glob("*.pkl"))
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.InconsistentVersionWarning"
)


@pytest.fixture(scope="module")
def fitted():
    return write_fixtures.estimators()


def assert_as_expected(name, loaded, fitted):
    estimator, X = fitted[name]
    assert type(loaded) is type(estimator)
    result = write_fixtures.results(loaded, X)
    with np.load(DATA / f"{name}.npz") as expected:
        assert result.keys() == {*expected}
        for key, values in result.items():
            if values.dtype.kind == "U":
                assert values.tolist() == expected[key].tolist()
            else:
                np.testing.assert_allclose(
                    values, expected[key], rtol=1e-4, atol=1e-5, err_msg=key
                )


def test_every_estimator_has_its_files(fitted):
    assert {*fitted} == {*SAVED}
    assert {*PICKLED} == {*fitted} - {"vectors"} | {*write_fixtures.objects()}
    rooms = {name.partition("-")[0] for name in PICKLED + SAVED}
    assert rooms >= {"adapters", "dynamic", "elmo", "meta", "pooling", "sources"}
    assert all(path.stat().st_size < 100_000 for path in DATA.iterdir())


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_file(name, fitted):
    assert_as_expected(name, load(DATA / f"{name}.skm"), fitted)


@pytest.mark.parametrize("name", PICKLED)
def test_a_pickle(name, fitted):
    recorded = json.loads((DATA / "versions.json").read_text())
    if write_fixtures.versions() != recorded:
        pytest.skip(f"the pickles are of {recorded}")
    loaded = pickle.loads((DATA / f"{name}.pkl").read_bytes())
    if name in fitted:
        assert_as_expected(name, loaded, fitted)
    else:
        expected = write_fixtures.objects()[name]
        assert type(loaded) is type(expected)
        assert attributes(loaded) == attributes(expected)


def attributes(value):
    return repr(vars(value)) if hasattr(value, "__dict__") else value
