"""Files that each release of this library wrote are loaded by this version."""

import re
from pathlib import Path

import numpy as np
import pytest
import sklearn

from sk_metaembed import load

from . import write_fixtures
from .write_fixtures import DATA

SAVED = sorted(DATA.glob("*/*.skm"))
CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.InconsistentVersionWarning"
)


@pytest.fixture(scope="module")
def fitted():
    return write_fixtures.estimators()


def test_every_release_has_its_files(fitted):
    """`CHANGELOG.md` has a heading for each release, and for the one to come."""
    versions = re.findall(r"^## (\S+)", CHANGELOG.read_text(encoding="utf-8"), re.M)
    assert versions
    names = {path.relative_to(DATA).as_posix() for path in SAVED}
    assert names >= {f"{version}/sequences.skm" for version in versions}
    newest = {path.stem for path in SAVED if path.parent.name == versions[0]}
    assert newest == {*fitted}
    subpackages = {name.partition("-")[0] for name in fitted}
    assert subpackages >= {"adapters", "dynamic", "meta", "pooling", "sources"}
    assert all(path.stat().st_size < 300_000 for path in DATA.glob("*/*"))


@pytest.mark.parametrize(
    "path", SAVED, ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_a_saved_file(path, fitted):
    if sklearn.__version__ < "1.9":
        pytest.skip("files of newer versions of scikit-learn are not promised to load")
    loaded = load(path)
    estimator, X = fitted[path.stem]
    assert type(loaded) is type(estimator)
    result = write_fixtures.results(loaded, X)
    with np.load(path.with_suffix(".npz")) as expected:
        assert result.keys() == {*expected}
        for key, values in result.items():
            if values.dtype.kind == "U":
                assert values.tolist() == expected[key].tolist()
            else:
                np.testing.assert_allclose(
                    values, expected[key], rtol=1e-4, atol=1e-5, err_msg=key
                )
