"""Batches contain every word of a corpus once, in both directions."""

import numpy as np
import pytest
import torch

from sk_metaembed.sources.elmo.language_model._batches import NO_TARGET, BPTTBatches
from sk_metaembed.sources.elmo.language_model._corpus import (
    SPECIAL,
    StreamCorpus,
    read_corpus,
)

ROWS = [["a", "b", "c", "a", "d"], ["b"], [], ["c", "zz", "a"], ["d", "d"]]
VOCABULARY = [*SPECIAL, "a", "b", "c", "d"]


def stream(batch_size, n_steps, seed=None, rows=ROWS):
    corpus = read_corpus(rows)
    return BPTTBatches(
        corpus, VOCABULARY, 10, batch_size, n_steps, torch.device("cpu"), seed
    )


def targets_of_rows(batches):
    actual = {}
    for batch, _ in batches:
        for t, slot in torch.nonzero(batch.targets[0] != NO_TARGET).tolist():
            row = actual.setdefault(int(batch.rows[t, slot]), ([], []))
            for d in (0, 1):
                row[d].append(int(batch.targets[d, t, slot]))
    return [actual[i] for i in sorted(actual)]


@pytest.mark.parametrize(("batch_size", "n_steps"), [(1, 1), (2, 3), (7, 50)])
def test_targets_are_the_rows_words_and_marks(batch_size, n_steps):
    expected = []
    for row in ROWS:
        numbers = [VOCABULARY.index(w) if w in VOCABULARY else 2 for w in row]
        expected.append(([*numbers, 1], [*numbers[::-1], 0]))
    assert targets_of_rows(stream(batch_size, n_steps)) == expected


def test_shuffled_epochs_differ_and_have_the_same_words():
    batches = stream(2, 3, seed=0)
    first, second = list(batches), list(batches)
    recorded = [sorted(targets_of_rows(epoch)) for epoch in (first, second)]
    assert recorded[0] == recorded[1] == sorted(targets_of_rows(stream(2, 3)))
    assert [b.targets.tolist() for b, _ in first] != [
        b.targets.tolist() for b, _ in second
    ]


def test_a_word_spelled_like_a_mark_is_unknown():
    (row,) = targets_of_rows(stream(1, 9, rows=[["<S>", "a"]]))
    assert row == ([2, 3, 1], [3, 2, 0])


def test_warns_of_words_that_are_cut(warn_again):
    with pytest.warns(UserWarning, match="up to 8 bytes .* larger max_characters in"):
        list(stream(1, 2, rows=[["a", "abcdefghi"]]))


def test_files_folders_and_streams_give_the_same_rows(tmp_path):
    for name, rows in (("one.txt", ROWS[:2]), ("sub/two.txt", ROWS[2:])):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join(map(" ".join, rows)) + "\n", "utf-8")
    (tmp_path / "other.bin").write_bytes(b"\xff")
    recorded = [row for row in ROWS if row]
    assert list(read_corpus(tmp_path).rows()) == recorded
    assert list(read_corpus(tmp_path / "one.txt").rows()) == recorded[:2]

    class Again:
        def __iter__(self):
            return iter([" ".join(ROWS[0]), ROWS[1]])

    corpus = read_corpus(Again())
    assert isinstance(corpus, StreamCorpus)
    assert list(corpus.rows()) == list(corpus.rows()) == ROWS[:2]
    assert sorted(corpus.rows(np.random.default_rng(0))) == sorted(ROWS[:2])


def test_errors_name_invalid_corpora(tmp_path):
    file = tmp_path / "bad.txt"
    file.write_bytes(b"fine\nalso \xe9 here\n")
    with pytest.raises(ValueError, match=r"bad\.txt, line 2: byte 0xe9 at position 5"):
        list(read_corpus(file).rows())
    with pytest.raises(FileNotFoundError, match=r"no file or folder .*nowhere"):
        read_corpus(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"empty contains no \*\.txt"):
        read_corpus(tmp_path / "empty")
    for name in ("texts.csv", "texts.JSONL.gz"):
        (tmp_path / name).write_text('{"text": "fine"}')
        with pytest.raises(ValueError, match=f"{name} contains records, not plain te"):
            read_corpus(tmp_path / name)
    with pytest.raises(TypeError, match=r"pathlib\.Path"):
        read_corpus("corpus.txt")

    class Numbers:
        def __iter__(self):
            return iter(["fine", 3])

    with pytest.raises(TypeError, match="row 1 of the stream is 3"):
        list(read_corpus(Numbers()).rows())
