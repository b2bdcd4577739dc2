"""Evaluation sets of gensim's wheel and of small test folders."""

import os
from functools import partial

import pytest

from sk_metaembed.datasets import (
    fetch_sentence_pairs,
    fetch_wnut17,
    load_word_similarity,
)

DATA = os.environ.get("SK_METAEMBED_DATA")
with_data = pytest.mark.skipif(not DATA, reason="needs SK_METAEMBED_DATA")
SETS = "sk_metaembed.datasets._evaluation_sets"
N_PAIRS = {"ws353": 353, "simlex999": 999}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SK_METAEMBED_DATA", str(tmp_path))
    return tmp_path


def write(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode())


@pytest.mark.parametrize("name", ["ws353", "simlex999"])
def test_word_sets_need_no_folder(monkeypatch, name):
    monkeypatch.delenv("SK_METAEMBED_DATA", raising=False)
    bunch = load_word_similarity(name)
    assert bunch.data.shape == (N_PAIRS[name], 2)
    assert bunch.target.shape == (N_PAIRS[name],)
    assert bunch.name == name


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("a b 3", r"pairs.tsv, line 2: expected two words and a score"),
        ("a\t\t3", "line 2: expected two words and a score.*got"),
        ("a\tb\tmuch", "line 2: the score must be a number; got 'much'"),
        ("", "line 2: expected two words"),
    ],
)
def test_invalid_line_of_word_pairs_is_named(tmp_path, monkeypatch, line, match):
    file = tmp_path / "pairs.tsv"
    file.write_text(f"x\ty\t1\n{line}\nz\tz\t1\n")
    monkeypatch.setattr(f"{SETS}.gensim_file", lambda name: file)
    monkeypatch.setattr(f"{SETS}._HEADER", 0)
    with pytest.raises(ValueError, match=match):
        load_word_similarity("ws353")


def test_sts_takes_the_right_columns_of_longer_lines(folder):
    path = folder / "stsb" / "sts-dev.csv"
    row = 'main-news\tx\t2016\t0012\t4.5\tA "man.\tB man.'
    write(path, f"{row}\n{row}\tsource one\tsource two\n")
    bunch = fetch_sentence_pairs("stsb", "dev")
    assert bunch.data.tolist() == [['A "man.', "B man."]] * 2
    assert bunch.target.tolist() == [4.5, 4.5]
    frame = fetch_sentence_pairs("stsb", "dev", as_frame=True).frame
    assert list(frame) == ["sentence_1", "sentence_2", "score"]
    assert frame["score"].tolist() == [4.5, 4.5]
    assert bunch.genres.tolist() == ["main-news"] * 2
    write(path, f"{row}\nmain-news\tx\t2016\t0012\t4.5\tA man.\n")
    with pytest.raises(ValueError, match=r"sts-dev.csv, line 2: expected genre"):
        fetch_sentence_pairs("stsb", "dev")


def test_sick_has_scores_and_labels(folder):
    path = folder / "sick" / "SICK_trial.txt"
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    write(path, f"{header}\r\n7\tA man\tA boy\t3.5\tNEUTRAL\r\n")
    bunch = fetch_sentence_pairs("sick", "dev")
    assert bunch.data.tolist() == [["A man", "A boy"]]
    assert (bunch.target.tolist(), bunch.labels.tolist()) == ([3.5], ["NEUTRAL"])
    X, y = fetch_sentence_pairs("sick", "dev", as_frame=True, return_X_y=True)
    assert X.to_numpy().tolist() == bunch.data.tolist()
    assert (list(X), y.tolist()) == (bunch.feature_names, [3.5])
    write(path, f"{header}\n7\tA man\tA boy\thigh\tNEUTRAL\n")
    with pytest.raises(
        ValueError, match=r"SICK_trial.txt, line 2: the score must be a number"
    ):
        fetch_sentence_pairs("sick", "dev")


def test_unknown_name_lists_the_choices():
    with pytest.raises(ValueError, match=r"name must be one of \('ws353', .*'ws'"):
        load_word_similarity("ws")
    with pytest.raises(ValueError, match="name must be one of"):
        fetch_sentence_pairs("sts")
    for fetch in (partial(fetch_sentence_pairs, "stsb"), fetch_wnut17):
        with pytest.raises(ValueError, match="split must be one of .* got 'valid'"):
            fetch("valid")


@with_data
@pytest.mark.parametrize(
    ("name", "sizes"), [("stsb", [5749, 1500, 1379]), ("sick", [4500, 500, 4927])]
)
def test_the_real_sets_are_whole(name, sizes):
    splits = "train", "dev", "test"
    assert [len(fetch_sentence_pairs(name, s).data) for s in splits] == sizes
