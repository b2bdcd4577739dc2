"""Files of the folder in SK_METAEMBED_DATA, in small test folders."""

import gzip

import pytest

from sk_metaembed.datasets import load_sst2, load_vectors
from sk_metaembed.datasets._word_vectors import _FILES


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SK_METAEMBED_DATA", str(tmp_path))
    monkeypatch.setenv("SK_METAEMBED_CACHE", str(tmp_path / "cache"))
    return tmp_path


def _write(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")


def test_sst2_splits_on_spaces_only(folder):
    _write(folder / "sst2" / "dev.tsv", "1\tit 's 1\xa01/2 hours  .\n0\tdull\n")
    bunch = load_sst2("dev")
    assert bunch.data.to_list() == [["it", "'s", "1\xa01/2", "hours", "."], ["dull"]]
    assert bunch.target.tolist() == [1, 0]
    assert bunch.target_names == ["negative", "positive"]
    X, y = load_sst2("dev", return_X_y=True)
    assert (bunch.data == X, y.tolist()) == (True, [1, 0])


def test_sst2_names_the_line_without_a_label(folder):
    _write(folder / "sst2" / "train.tsv", "1\tgood\nbad\n")
    with pytest.raises(ValueError, match=r"line 2: expected 0 or 1, a tab.*got 'bad'"):
        load_sst2()


def test_unknown_split_or_name_lists_the_choices():
    with pytest.raises(ValueError, match=r"\('train', 'dev', 'test'\); got 'valid'"):
        load_sst2("valid")
    with pytest.raises(ValueError, match=r"'word2vec-300'\); got 'glove'"):
        load_vectors("glove")


@pytest.mark.parametrize("name", list(_FILES))
def test_vectors_are_opened_by_name(folder, name):
    (folder / "vectors").mkdir()
    with gzip.open(folder / "vectors" / _FILES[name], "wt") as file:
        file.write("2 3\ntea 1 0 0\nmilk 0 1 0\n")
    vectors = load_vectors(name)
    assert (len(vectors), vectors.dim) == (2, 3)
    assert vectors.path.startswith(str(folder / "cache"))


def test_without_the_variable_the_error_says_what_to_set(monkeypatch):
    monkeypatch.delenv("SK_METAEMBED_DATA", raising=False)
    with pytest.raises(
        FileNotFoundError, match=r"Set it to the folder that contains sst"
    ):
        load_sst2()


def test_missing_file_is_named_with_the_folder(folder):
    with pytest.raises(FileNotFoundError, match=r"vectors/glove.* is missing in /"):
        load_vectors("glove-50")
