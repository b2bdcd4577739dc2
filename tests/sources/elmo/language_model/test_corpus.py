"""Corpora: streams, collections and checksums."""

import numpy as np
import pytest

from sk_metaembed import ElmoLanguageModel

from .grammar import SMALL, sentences

ONE_EPOCH = {**SMALL, "max_epochs": 1}


class Stream:
    """Iterates over rows a limited number of times."""

    def __init__(self, rows, times):
        self.rows, self.left = rows, times

    def __iter__(self):
        self.left -= 1
        return (row for row in self.rows if self.left >= 0)


def test_iterators_are_kept_in_memory():
    rows = sentences(20)
    from_iterator = ElmoLanguageModel(**ONE_EPOCH).fit(row for row in rows)
    from_list = ElmoLanguageModel(**ONE_EPOCH).fit(rows)
    assert from_iterator.perplexity(iter(rows)) == from_list.perplexity(rows)


def test_a_stream_is_read_once_to_count_and_once_per_epoch():
    rows = sentences(20)
    stream = Stream(rows, 3)
    model = ElmoLanguageModel(**SMALL).fit(stream, X_val=Stream(rows[:5], 3))
    assert stream.left == 0
    assert np.isfinite(model.history_[:, "train_perplexity"]).all()


def test_an_exhausted_stream_is_refused():
    rows = sentences(20)
    with pytest.raises(ValueError, match="had 20 rows when its words were counted"):
        ElmoLanguageModel(**ONE_EPOCH).fit(Stream(rows, 1))
    with pytest.raises(ValueError, match="but 0 rows in a later pass"):
        ElmoLanguageModel(**SMALL).fit(rows, X_val=Stream(rows, 2))


def test_a_corpus_of_marks_is_refused():
    with pytest.raises(ValueError, match="word occurs 0 times.* the marks"):
        ElmoLanguageModel(**SMALL).fit([["<S>", "</S>"]])


def test_files_and_folders_give_their_lines(tmp_path):
    rows = sentences(20)
    for name, part in (("one.txt", rows[:9]), ("sub/two.txt", rows[9:])):
        file = tmp_path / "corpus" / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text("\n\n".join(map(" ".join, part)) + "\n", "utf-8")
    (tmp_path / "corpus" / "other.bin").write_bytes(b"\xff")
    model = ElmoLanguageModel(**ONE_EPOCH).fit(tmp_path / "corpus")
    assert model.n_words_ == 6 * len(rows)
    scores = model.score_samples(tmp_path / "corpus" / "one.txt")
    np.testing.assert_array_equal(scores, model.score_samples(rows[:9]))


def test_warns_of_words_that_are_cut(warn_again):
    shapes = {**SMALL["architecture"], "max_characters": 10}
    model = ElmoLanguageModel(**{**ONE_EPOCH, "architecture": shapes})
    with pytest.warns(UserWarning, match="up to 8 bytes .* larger max_characters in"):
        model.fit([["a", "abcdefghi"]])


def test_errors_name_invalid_corpora(tmp_path):
    def fails(corpus, match, error=ValueError):
        with pytest.raises(error, match=match):
            ElmoLanguageModel(**ONE_EPOCH).fit(corpus)

    file = tmp_path / "bad.txt"
    file.write_bytes(b"fine\nalso \xe9 here\n")
    fails(file, r"bad\.txt, line 2: byte 0xe9 at position 5")
    fails(tmp_path / "nowhere", "no file or folder .*nowhere", FileNotFoundError)
    (tmp_path / "empty").mkdir()
    fails(tmp_path / "empty", r"empty contains no \*\.txt", FileNotFoundError)
    for name in ("texts.csv", "texts.JSONL.gz"):
        (tmp_path / name).write_text('{"text": "fine"}')
        fails(tmp_path / name, f"{name} contains records, not plain te")
    fails("corpus.txt", r"pathlib\.Path", TypeError)
    fails(Stream(["fine", 3], 9), "row 1 of the stream is 3", TypeError)
