"""The base classes, as used by third-party sources; fits on rows without tokens."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

import sk_metaembed as sk
from sk_metaembed import Block
from sk_metaembed.sources import BaseEmbedding, BaseWordEmbedding


class LayersEmbedding(BaseEmbedding):
    """Two blocks of different levels; counts how often it computes."""

    def __init__(self, preprocess=None):
        self.preprocess = preprocess
        self.n_calls = 0

    def _fit_vectors(self, tokens, y):
        self.seen_ = (tokens, y)

    def _embed(self, tokens):
        self.n_calls += 1
        lengths = [[len(word), 1] for word in tokens.types]
        places = np.arange(tokens.n_tokens, dtype=float)[:, None]
        known = places[:, 0] > 0
        return [
            Block("static", np.array(lengths), "type"),
            Block("place", places * known[:, None], "token", known),
        ]


class DigitsEmbedding(BaseWordEmbedding):
    """Rows of a table; no parameters."""

    def _table(self):
        return np.eye(10, dtype=np.float32)

    def _find(self, words):
        return np.array([int(w) if w.isdigit() else -1 for w in words], dtype=int)


ROWS = [["a", "bb"], ["a", "ccc"]]


def test_blocks_names_and_coverage():
    source = LayersEmbedding().fit(ROWS)
    assert source.block_name == "layers"
    assert source.dims_ == {"static": 2, "place": 1}
    assert source.get_feature_names_out().tolist() == ["static0", "static1", "place0"]
    assert source.coverage_ == {"types": 1.0, "tokens": 1.0}
    source.dims_ = {"layer1": 11, "layer11": 1}
    assert source.get_feature_names_out()[-2:].tolist() == ["layer1_10", "layer11_0"]


def test_fit_transform_computes_once():
    source = LayersEmbedding()
    embedded = source.fit_transform(ROWS)
    assert source.n_calls == 1
    assert embedded == source.transform(ROWS)


def test_each_block_is_preprocessed_by_its_own_known_rows():
    embedded = LayersEmbedding("center").fit_transform(ROWS)
    np.testing.assert_allclose(embedded.block("static").values.mean(axis=0), 0)
    assert embedded.block("place").values.ravel().tolist() == [0, -1, 0, 1]


def test_blocks_must_stay_the_same():
    source = LayersEmbedding().fit(ROWS)
    source._embed = lambda tokens: Block("other", np.ones((tokens.n_types, 1)), "type")
    with pytest.raises(ValueError, match="blocks with dimensions {'other': 1}"):
        source.transform(ROWS)


def test_embed_must_return_blocks():
    source = LayersEmbedding()
    source._embed = lambda tokens: [np.ones((3, 2))]
    with pytest.raises(TypeError, match="must return a Block"):
        source.fit(ROWS)


def test_missing_hooks_are_named():
    class Empty(BaseEmbedding):
        pass

    class EmptyWords(BaseWordEmbedding):
        pass

    with pytest.raises(NotImplementedError, match=r"Empty must define _embed"):
        Empty().fit(ROWS)
    with pytest.raises(NotImplementedError, match=r"EmptyWords must define _find"):
        EmptyWords().fit(ROWS)


class LooseEmbedding(DigitsEmbedding):
    """A table that was not thought about: float64, with a hole."""

    def _table(self):
        return np.diag([*range(9), np.nan])

    def _find(self, words):
        return [int(word) for word in words]


def test_table_of_doubles_gives_single_precision():
    for writeable in (True, False):
        table = np.eye(10)
        table.flags.writeable = writeable
        source = LooseEmbedding()
        source._table = lambda table=table: table
        block = source.fit([["1"]]).transform([["3", "4"]]).blocks[0]
        assert block.values.dtype == np.float32
        assert block.values.argmax(axis=1).tolist() == [3, 4]


def test_find_must_give_a_row_a_word():
    source = LooseEmbedding()
    source._find = lambda words: [0]
    with pytest.raises(TypeError, match="_find must return the table row"):
        source.fit([["1", "2"]])


def test_find_must_give_rows_of_the_table():
    source = LooseEmbedding()
    source._find = lambda words: [0, 10]
    with pytest.raises(ValueError, match="below 10, .* got 10 for '2'"):
        source.fit([["1", "2"]])


def test_vectors_do_not_change_with_the_arrays_of_a_subclass():
    table, rows = np.eye(3, dtype=np.float32), np.array([2, 0])
    source = LooseEmbedding()
    view = table.view()
    view.flags.writeable = False
    source._table, source._find = lambda: view, lambda words: rows
    block = source.fit_transform([["a", "b"]]).blocks[0]
    table[:], rows[:] = np.nan, 10**8
    assert block.values.tolist() == [[0, 0, 1], [1, 0, 0]]


EMOJI = ["\U0001f600\U0001f600", "\U0001f389 !!"]
SOURCES = [
    sk.Word2VecEmbedding(min_count=1),
    sk.FastTextEmbedding(min_count=1, bucket=10),
    sk.LSAEmbedding(2),
    sk.DistilledEmbedding(sk.LSAEmbedding(2)),
    sk.EstimatorEmbedding(sk.Pooling()),
    sk.FunctionEmbedding(lambda words: np.ones((len(words), 2)), "type"),
    sk.FunctionEmbedding(lambda rows: np.ones((len(rows), 2)), "sequence"),
]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: type(source).__name__)
def test_texts_without_words_are_named(source):
    expected = (
        r"found no tokens in 2 sequences\. The texts have no words, such as "
        rf"'{EMOJI[0]}'\. .*Tokenizer\(punctuation=True\) before this step"
    )
    for fit in (source.fit, source.fit_transform):
        with pytest.raises(ValueError, match=expected):
            fit(EMOJI)
        with pytest.raises(ValueError, match="2 sequences. All of them are empty"):
            fit([[], []])


def test_symbols_can_be_tokens():
    tokens = sk.Tokenizer(punctuation=True).fit_transform(EMOJI)
    assert sk.LSAEmbedding(2).fit(tokens).transform(tokens).blocks[0].known.all()
    texts = sk.EstimatorEmbedding(CountVectorizer(token_pattern=r"\S"), as_text=True)
    assert texts.fit(EMOJI).transform(EMOJI).blocks[0].known.all()


@pytest.mark.parametrize(
    "source", SOURCES[:2], ids=lambda source: type(source).__name__
)
def test_a_corpus_named_by_a_str_needs_a_path(source):
    with pytest.raises(TypeError, match=r"'corpus.txt'\. .* pathlib.Path\(\.\.\.\)"):
        source.fit("corpus.txt")
    with pytest.raises(TypeError, match=r"'corpus.txt'\. .* Read a file first"):
        source.fit_transform("corpus.txt")
