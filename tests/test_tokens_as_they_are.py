"""Texts may be normalized; tokens are kept as they are, in every step."""

import re
from enum import Enum

import numpy as np
import pandas as pd
import polars
import pytest
from gensim.models.word2vec import LineSentence
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import sk_metaembed as sk
from sk_metaembed.inspection import compare_sources

TINY = {"vector_size": 8, "min_count": 1, "epochs": 30, "random_state": 0}
# In each line, tokens differ in case alone, or in Unicode form alone.
ALIKE = [
    *("C", "c"),
    *("Event", "event"),
    *("\u212a", "K"),  # NFC of the first is the second
    *("e\u0301", "\u00e9"),
]


def rows_of(tokens, n):
    """Return rows of which one token tells the class, and the classes."""
    rng = np.random.RandomState(0)
    y = np.arange(n) % len(tokens)
    return [[*rng.choice(["x", "y", "z"], 3).tolist(), tokens[k]] for k in y], y


def constant():
    return sk.FunctionEmbedding(lambda words: np.ones((len(words), 1)))


def net():
    return sk.DynamicMetaClassifier(max_epochs=1, random_state=0)


MODELS = {
    "text pipeline": sk.make_text_pipeline,
    "words and vectors": lambda: make_pipeline(
        sk.Word2VecEmbedding(**TINY), sk.StackedMetaClassifier(cv=2, random_state=0)
    ),
    "lsa": lambda: make_pipeline(
        sk.Tokenizer(), sk.LSAEmbedding(12), sk.Pooling(), LogisticRegression(C=100)
    ),
    "word2vec": lambda: make_pipeline(
        sk.Word2VecEmbedding(**TINY), sk.Pooling("last"), LogisticRegression(C=1e4)
    ),
    "linear model beside a network": lambda: make_pipeline(constant(), net()),
}


@pytest.mark.parametrize("name", MODELS)
def test_tokens_that_differ_in_case_or_unicode_form_are_different(name):
    rows, y = rows_of(ALIKE, 96)
    model = MODELS[name]().fit(rows, y)
    new, classes = rows_of(ALIKE, 16)
    assert model.score(new, classes) == 1


def test_tokens_of_a_function_keep_their_case_in_texts_of_words():
    rows, y = rows_of(["C", "c"], 40)
    texts = ["".join(row) for row in rows]
    atoms = sk.Tokenizer(tokenizer=list, lowercase=False)
    model = make_pipeline(atoms, sk.StackedMetaClassifier(random_state=0))
    assert model.fit(texts, y).score(texts, y) == 1


def test_words_of_texts_are_counted_without_case():
    lower = ["tea is good", "milk is bad", "good tea", "bad milk"] * 5
    y = [1, 0, 1, 0] * 5
    upper = [text.title() for text in lower]
    cased = sk.Tokenizer(lowercase=False)
    model = make_pipeline(cased, sk.StackedMetaClassifier(random_state=0, cv=2))
    expected = clone(model).fit(lower, y).predict_proba(lower)
    model.fit(upper, y)
    np.testing.assert_allclose(model.predict_proba(upper), expected, rtol=1e-6)
    # What is learned in fit holds for token lists, too.
    lists = [text.split() for text in upper]
    np.testing.assert_allclose(model.predict_proba(lists), expected, rtol=1e-6)


def test_candidates_of_compare_sources_keep_tokens():
    rows, y = rows_of(["C", "c"], 40)
    found = compare_sources([constant()], rows, y, cv=2, random_state=0).frame()
    assert found.set_index("sources")["score"][["TF-IDF", "stack"]].tolist() == [1, 1]


class Event(str, Enum):  # noqa: UP042
    """Not a StrEnum: its str() is "Event.LOGIN"."""

    LOGIN = "login"
    LOGOUT = "logout"


EVENTS = [Event.LOGIN, Event.LOGOUT] * 8
NAMES = [event.value for event in EVENTS]


@pytest.mark.parametrize("kind", [Event, np.str_])
def test_subclasses_of_str_are_read_by_their_characters(kind):
    row = [kind("login"), "view", kind("logout")]
    expected = [["login", "view", "logout"]]
    containers = {
        "list": sk.Tokenizer().transform([row]),
        "texts": sk.Tokenizer().transform(row),
        "function": sk.Tokenizer(tokenizer=lambda text: row).transform(["text"]),
        "from_lists": sk.TokenSequences.from_lists([row]),
        "codes": sk.TokenSequences(row, [0, 1, 2], [0, 3]),
        "pairs": sk.SequencePairs.from_lists([(row, row)]).first,
    }
    for name, tokens in containers.items():
        assert {*map(type, tokens.types)} == {str}, name
        assert sum(tokens.to_list(), []) == expected[0], name
    store = sk.WordVectors.from_arrays(row, np.eye(3))
    assert store.words.tolist() == expected[0]
    assert kind("login") in store


@pytest.mark.parametrize(
    "y",
    [
        EVENTS,
        tuple(EVENTS),
        np.array(EVENTS, dtype=object),
        pd.Series(EVENTS, dtype=object),
        [[event] for event in EVENTS],
    ],
    ids=["list", "tuple", "array", "series", "column"],
)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_labels_of_an_enum_are_their_characters(y):
    rows = [[name, f"x{i}"] for i, name in enumerate(NAMES)]
    model = sk.make_text_pipeline().fit(rows, y)
    assert model.classes_.tolist() == ["login", "logout"]
    assert model.predict(rows).tolist() == NAMES


def test_groups_and_tags_of_an_enum_are_their_characters():
    tagger = make_pipeline(constant(), sk.DynamicMetaTagger(max_epochs=1))
    tagger.fit([["a", "b"]] * 8, [[Event.LOGIN, Event.LOGOUT]] * 8)
    assert tagger[-1].classes_.tolist() == ["login", "logout"]
    rows = [[name] for name in NAMES]
    model = sk.StackedMetaClassifier(cv=2).fit(
        sk.Tokenizer().transform(rows), [0, 0, 1, 1] * 4, groups=EVENTS
    )
    assert model.classes_.tolist() == [0, 1]
    cells = pd.DataFrame({"event": pd.Series(EVENTS, dtype=object), "n": range(16)})
    encoder = sk.TableEncoder().fit(cells)
    assert "event__login" in encoder.get_feature_names_out().tolist()


STATES = [["school", "school", "job"], ["job", "job", "job"], ["school", "job", None]]
KNOWN = [[state for state in row if state] for row in STATES]
WIDE = {
    "frame": pd.DataFrame(STATES, columns=["m1", "m2", "m3"]),
    "array": np.array(STATES, dtype=object),
    "polars": polars.DataFrame(STATES, orient="row"),
}


@pytest.mark.parametrize("name", WIDE)
def test_columns_of_positions_are_converted_as_the_error_says(name):
    X = WIDE[name]
    with pytest.raises(ValueError, match="each row is a sequence") as error:
        sk.make_text_pipeline().fit(X, range(len(X)))
    code = re.search(r"lists of str: (.*?)\. NumPy", str(error.value))[1]
    rows = eval(code, {"pandas": pd, "X": X})
    assert sk.Tokenizer().transform(rows).to_list() == KNOWN


def test_columns_of_different_meaning_are_named():
    with pytest.raises(ValueError, match="Encode several columns"):
        sk.Tokenizer().fit(pd.DataFrame({name: [["a"]] for name in "abc"}))


class Letters:
    """Iterable but no Sequence, as sequences of Biopython."""

    def __iter__(self):
        return iter("MKV")


class Kind(Enum):
    A = 1


@pytest.mark.parametrize(
    ("row", "remedy"),
    [
        (Letters(), r"list\(row\), if its items are str"),
        (iter("ab"), r"list\(row\), if its items are str"),
        ({"a", "b"}, r"sets have no order; .* sorted\(row\)"),
        ([Kind.A], r"names of the members: \[t.name for t in row\]"),
        ([1], r"\[str\(t\) for t in row\]"),
        ([True], "numbers are not tokens"),
        ([np.int64(3)], "numbers are not tokens"),
        ([b"a"], r"token.decode\('utf-8'\)"),
        ([None], "leave missing tokens out"),
        ([float("nan")], "leave missing tokens out"),
    ],
)
def test_rows_of_other_objects_are_refused_with_a_remedy(row, remedy):
    with pytest.raises(TypeError, match=remedy):
        sk.Tokenizer().transform([["a"], row])


def test_files_of_arrays_are_refused_with_the_way_in(tmp_path):
    path = tmp_path / "graph.npz"
    np.savez(path, IDs=["a", "b"], data=np.eye(2))  # as pecanpy writes vectors
    for source in (sk.Word2VecEmbedding(), sk.ElmoLanguageModel()):
        with pytest.raises(ValueError, match="contains records, not plain text"):
            source.fit(path)
    with pytest.raises(TypeError, match="numpy.load"):
        sk.Tokenizer().fit(path)
    with pytest.raises(ValueError, match="archive.*from_arrays"):
        sk.PretrainedEmbedding(path).fit([["a"]])
    file = np.load(path)
    store = sk.WordVectors.from_arrays(file["IDs"], file["data"])
    assert store["b"].tolist() == [0, 1]


WALKS = "A-1 GET/x -1\nGET/x -1 A-1\n" * 5


def test_a_file_of_walks_is_named_and_kept_by_line_sentence(tmp_path):
    path = tmp_path / "walks.txt"
    path.write_text(WALKS)
    source = sk.Word2VecEmbedding(4, min_count=1, epochs=1, random_state=0)
    with pytest.warns(UserWarning, match="tokens with spaces between them.*'A-1'"):
        source.fit(path)
    assert set(source.vocabulary_) == {"a", "1", "get", "x"}
    source.fit(LineSentence(str(path)))
    assert set(source.vocabulary_) == {"A-1", "GET/x", "-1"}


def test_a_file_of_texts_is_not_taken_for_walks(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("She said: \"Don't go, it's late!\" (I agree.)\nOK, 3 more.\n" * 3)
    sk.Word2VecEmbedding(4, min_count=1, epochs=1).fit(path)  # warnings are errors


def test_lists_in_tables_keep_the_case_of_items():
    rng = np.random.RandomState(0)
    y = np.arange(300) % 2
    rows = [[*rng.choice([*"uvwxyz"], 5).tolist(), "Cc"[label]] for label in y]
    table = pd.DataFrame({"items": pd.Series(rows, dtype=object)})
    model = sk.make_table_pipeline(random_state=0).fit(table[:200], y[:200])
    assert model.score(table[200:], y[200:]) == 1


ODD = [" ", "\t", "\n", "", "\0", "a b", "a\nb", "\u2028", "\ufeff", "</s>", "\ud800"]


def test_odd_tokens_are_kept_through_models_and_files(tmp_path):
    rows, y = rows_of(ODD, 4 * len(ODD))
    for model in (
        make_pipeline(sk.Word2VecEmbedding(**TINY), sk.Pooling("sum", weights="sif")),
        make_pipeline(sk.Tokenizer(), sk.LSAEmbedding(12), sk.Pooling()),
        sk.make_text_pipeline(random_state=0),
    ):
        model.fit(rows, y)
        loaded = sk.load(sk.save(model, tmp_path / "model.skm"))
        method = "transform" if hasattr(model, "transform") else "predict_proba"
        result = getattr(model, method)(rows)
        np.testing.assert_array_equal(getattr(loaded, method)(rows), result)
    assert model.score(rows, y) == 1


@pytest.mark.parametrize("token", ODD)
def test_stores_keep_odd_tokens_or_name_them(token, tmp_path):
    if token == "\ud800":
        with pytest.raises(ValueError, match="surrogate"):
            sk.WordVectors.from_arrays([token, "q"], np.eye(2))
        return
    store = sk.WordVectors.from_arrays([token, "q"], np.eye(2))
    source = sk.PretrainedEmbedding(store).fit([["q"]])
    sk.export_vectors(source, [token, "q"], tmp_path / "store", format="store")
    for each in (store, sk.WordVectors.open(tmp_path / "store")):
        assert each.words.tolist() == [token, "q"]
        assert each[token].tolist() == [1, 0]


def test_tokens_of_white_space_alone_are_learned():
    rows = [["  "], ["  "] * 2] * 8
    model = sk.make_text_pipeline().fit(rows, [0, 1] * 8, model__groups=range(16))
    assert model.predict(rows).shape == (16,)


def test_case_falls_back_for_words_and_not_for_ids():
    cased = ["tea", "o'brien", "c", "n", "N", "a-1", "id7", "ph", "caf\u00e9", "Paris"]
    rows = [["Tea", "TEA", "O'Brien", "CAFE\u0301", "Cafe\u0301", "N"]]
    ids = [["C", "A-1", "ID7", "pH", "tEA"]]
    store = sk.WordVectors.from_arrays(cased, np.eye(len(cased)))
    source = sk.PretrainedEmbedding(store).fit(rows)
    assert source.coverage_["tokens"] == 1
    assert source.transform(rows)[0][-1].argmax() == cased.index("N")
    assert not source.transform(ids).blocks[0].known.any()
    # Without capitals in the store, its authors lower-cased all words.
    lower = [word for word in cased if word.islower()]
    store = sk.WordVectors.from_arrays(lower, np.eye(len(lower)))
    assert sk.PretrainedEmbedding(store).fit(ids).coverage_["tokens"] == 1
    exact = sk.PretrainedEmbedding(store, case_fallback=False, oov="zero")
    with pytest.warns(UserWarning, match="only 0.0% of the 5"):
        assert exact.fit(ids).coverage_["tokens"] == 0
