"""A model is used by another user than the one who wrote it, or on a read-only disk."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    FunctionEmbedding,
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    WordVectors,
    load,
    save,
)

from .handles import clear_handles
from .processes import run_script, small_disk

TEXTS = ["a fine film", "a sad film", "a fine plot", "a sad plot"] * 3


def length(rows):
    return np.array([[len(tokens)] for tokens in rows], np.float32)


length.cache_key = "1"


NOBODY = 12345  # has no entry in the password database, like the users of OpenShift
# Without rights other than to read, for a Python in the home directory of root.
READS = "-all,+dac_read_search"
AS_NOBODY = (
    *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
    *(f"--inh-caps={READS}", f"--ambient-caps={READS}", f"--bounding-set={READS}"),
)
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


@pytest.fixture
def deployed(monkeypatch):
    """Return a folder with models, a file of vectors, and caches that are filled."""
    with tempfile.TemporaryDirectory() as name:  # others may read it, unlike pytest's
        folder = Path(name)
        folder.chmod(0o755)
        fill(folder, monkeypatch)
        yield folder


def restricted(folder):
    """Return the beginning of a command for another user with a read-only disk."""
    command = ["unshare", "--mount", "sh", "-c", READ_ONLY, str(folder), *AS_NOBODY]
    for program in ("unshare", "setpriv"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    if subprocess.run([*command, "test", "!", "-w", str(folder)]).returncode:
        pytest.skip("another user and a read-only disk are not allowed")
    return command


def fill(folder, monkeypatch):
    vectors = folder / "vectors.txt"
    rows = zip(["a", "fine", "sad", "film", "plot"], np.eye(5).tolist(), strict=True)
    vectors.write_text("\n".join(" ".join([w, *map(str, row)]) for w, row in rows))
    monkeypatch.setenv("SK_METAEMBED_CACHE", str(folder / "cache"))
    source = PretrainedEmbedding(WordVectors.open(vectors))
    steps = Tokenizer(), source, Pooling(), LogisticRegression()
    pipe = make_pipeline(*steps).fit(TEXTS, [1, 0] * 6)
    save(pipe, folder / "bundle.skm", bundle=True)
    save(pipe, folder / "plain.skm")
    clear_handles()
    load(folder / "bundle.skm").predict(["warm up"])
    source = FunctionEmbedding(length, level="sequence", cache=folder / "sentences")
    source.fit_transform(TEXTS)


USE = """
import json, os, sys
from pathlib import Path
from sk_metaembed import EmbeddingCache, FunctionEmbedding, WordVectors, load
folder = Path(sys.argv[1])
texts = json.loads(sys.argv[2])
results = [load(folder / name).predict(texts) for name in ("plain.skm", "bundle.skm")]
store = WordVectors.open(folder / "vectors.txt")
def fail(texts):
    raise AssertionError("the cache is not read")
fail.cache_key = "1"
source = FunctionEmbedding(fail, level="sequence", cache=folder / "sentences", dim=1)
lengths = source.fit_transform(texts).blocks[0].values
errors = []
for name, value in ("SK_METAEMBED_CACHE", str(folder / "none")), ("HOME", None):
    os.environ.pop("SK_METAEMBED_CACHE", None)
    os.environ.pop("HOME", None)
    if value:
        os.environ[name] = value
    load(folder / "plain.skm")
    try:
        load(folder / "bundle.skm")
    except OSError as error:
        errors.append(f"{type(error).__name__}: {error}")
print(json.dumps([
    *(result.tolist() for result in results), len(store),
    EmbeddingCache(folder / "sentences").info().entries, lengths.ravel().tolist(),
    errors,
]))
"""


def test_reading_writes_nothing(deployed):
    before = sorted(deployed.rglob("*"))
    prefix = restricted(deployed)
    shown = run_script(USE, deployed, json.dumps(TEXTS), prefix=prefix)
    *others, errors = json.loads(shown)
    assert others == [[1, 0] * 6, [1, 0] * 6, 5, 4, [3] * 12]
    assert sorted(deployed.rglob("*")) == before
    assert errors[0].startswith("OSError")
    assert f"user {NOBODY} cannot read or create this path" in errors[0]
    assert "Set SK_METAEMBED_CACHE to a writable directory" in errors[0]
    assert str(deployed / "none" / "bundles") in errors[0]
    assert f"user {NOBODY} has no home directory for the cache" in errors[1]


def test_a_full_disk_names_the_variable(deployed, monkeypatch):
    with small_disk(deployed / "disk", "4k") as disk:
        monkeypatch.setenv("SK_METAEMBED_CACHE", str(disk))
        clear_handles()
        with pytest.raises(OSError, match="no space left .*SK_METAEMBED_CACHE"):
            load(deployed / "bundle.skm")
        assert [path for path in disk.rglob("*") if path.is_file()] == []


UNREADABLE = """
import os, sys
from sk_metaembed import WordVectors, load
path, vectors, *caches = sys.argv[1:]
load(path)
WordVectors.open(vectors)
os.setgroups([])
os.setgid(12345)
os.setuid(12345)
for cache in caches:
    os.environ["SK_METAEMBED_CACHE"] = cache
    try:
        WordVectors.open(vectors) if cache == caches[-1] else load(path)
    except OSError as error:
        print(f"{type(error).__name__}: {error}")
"""


def test_files_that_only_their_owner_reads_are_not_called_corrupt(deployed):
    if os.name != "posix" or os.geteuid():
        pytest.skip("only root may become another user")
    caches = []
    bundles = ["bundles", "bundles/*", "bundles/*/meta.json", "bundles/*/w*.npy"]
    for private in [*bundles, "vectors"]:  # those of converted files
        caches.append(deployed / f"cache {len(caches)}")
        shutil.copytree(deployed / "cache", caches[-1])
        for path in caches[-1].glob(private):
            path.chmod(0o600)
    files = deployed / "bundle.skm", deployed / "vectors.txt"
    messages = run_script(UNREADABLE, *files, *caches).splitlines()
    assert len(messages) == 5
    for message in messages:
        start = f"PermissionError: [Errno 13] user {NOBODY} cannot read or create"
        assert message.startswith(start)
    assert "Set SK_METAEMBED_CACHE to a writable directory" in messages[-1]
