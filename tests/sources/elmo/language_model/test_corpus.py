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
