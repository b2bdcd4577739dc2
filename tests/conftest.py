"""Settings for every test."""

import importlib.util
import multiprocessing
import os
import re
import tempfile

import pytest

from .file_server import FileServer
from .windows_files import refuse_files_in_use

pytest.register_assert_rewrite("tests.checks")

# Nets in tests are tiny: threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No test opens a window.
os.environ["MPLBACKEND"] = "Agg"

# No test asks the network for a model.
os.environ["HF_HUB_OFFLINE"] = "1"

# No test reads or fills the user's own cache. The folder goes when the process ends.
CACHE = tempfile.TemporaryDirectory(prefix="sk_metaembed-")
os.environ["SK_METAEMBED_CACHE"] = CACHE.name


def pytest_configure(config):
    """Draw few inputs, the same in every run, and many if slow tests are run too."""
    if importlib.util.find_spec("hypothesis") is None:
        return  # the tests of a GPU do without
    from hypothesis import HealthCheck, settings

    settings.register_profile(
        "here",
        max_examples=10 if config.option.markexpr else 100,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    settings.load_profile("here")


ALL_SLOW = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.slow", re.MULTILINE)


def pytest_ignore_collect(collection_path, config):
    """Import no tests that are all slow, and what they need, unless they are run."""
    if "not slow" in config.option.markexpr and collection_path.suffix == ".py":
        return bool(ALL_SLOW.search(collection_path.read_text("utf-8"))) or None
    return None


@pytest.fixture(autouse=True)
def simulated_system(monkeypatch):
    """Refuse what Windows refuses, if the environment asks for it."""
    if os.environ.get("SK_METAEMBED_TEST_AS") == "windows":
        refuse_files_in_use(monkeypatch)


@pytest.fixture(autouse=True, scope="session")
def few_trees():
    """Fit models of tables that are a tenth of the usual size."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("sk_metaembed.tables._learners._ROUNDS", 5)
        monkeypatch.setattr("sk_metaembed.tables._learners._TREES", 10)
        yield


@pytest.fixture
def limit_of_bombs(monkeypatch):
    """Return a function that sets the size from which files may be bombs, in bytes."""
    name = "sk_metaembed._io._compression._HARMLESS"
    return lambda size: monkeypatch.setattr(name, size)


@pytest.fixture
def warn_again(monkeypatch):
    """Issue the warnings again that are issued once per process."""
    monkeypatch.setattr("sk_metaembed.sources._base._warned", set())


@pytest.fixture
def server():
    server = FileServer()
    yield server
    server.close()


# The start method of macOS and Windows, and of Linux from Python 3.14 on is not fork.
if method := os.environ.get("SK_METAEMBED_TEST_START"):
    multiprocessing.set_start_method(method, force=True)


# gensim has no wheel for Python 3.14.
NO_GENSIM = importlib.util.find_spec("gensim") is None
OF_GENSIM = [
    "sources/words/test_word2vec.py",
    "vectors/test_export.py",
    "vectors/test_formats.py",
    "vectors/test_malicious_files.py",
    "vectors/test_subwords.py",
]
collect_ignore = OF_GENSIM if NO_GENSIM else []


def pytest_report_header():
    """Name what is not tested without gensim."""
    if NO_GENSIM:
        return f"gensim is not installed: without {', '.join(OF_GENSIM)}"


def _skip_without_gensim(item):
    """Skip a test that fails because gensim is not installed."""
    try:
        return (yield)
    except Exception as error:
        if NO_GENSIM and re.search("(requires|module named) '?gensim", str(error)):
            pytest.skip("gensim is not installed")
        raise


pytest_runtest_setup = pytest.hookimpl(wrapper=True)(_skip_without_gensim)
pytest_runtest_call = pytest.hookimpl(wrapper=True)(_skip_without_gensim)
