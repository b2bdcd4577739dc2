import numpy as np
import pytest

from sk_metaembed import datasets
from sk_metaembed.datasets import load_bbc_news, load_glove_6b_50d


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


def test_glove_is_converted_once(tmp_path):
    glove = load_glove_6b_50d(cache_dir=tmp_path)
    assert (len(glove), glove.dim) == (400_000, 50)
    assert glove.lookup(["the", ",", "Paris", "paris"]).tolist()[:3] == [0, 1, -1]
    np.testing.assert_allclose(glove["the"][:2], [0.418, 0.24968], atol=1e-6)
    (meta,) = tmp_path.glob("glove-6b-50d-1.0.0*/meta.json")
    written = meta.stat()
    again = load_glove_6b_50d(cache_dir=tmp_path)
    assert (again.path, meta.stat()) == (glove.path, written)


@pytest.mark.parametrize("load", ["load_bbc_news", "load_glove_6b_50d"])
def test_a_missing_package_is_named_with_the_command(load, monkeypatch, tmp_path):
    monkeypatch.setattr(datasets._files, "find_spec", lambda name: None)
    monkeypatch.setenv("SK_METAEMBED_CACHE", str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match=r"pip install [a-z0-9-]+==1\.0\.0"):
        getattr(datasets, load)()
