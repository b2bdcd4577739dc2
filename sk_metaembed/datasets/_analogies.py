"""Analogy questions: a is to b as c is to d."""

from __future__ import annotations

import csv
from typing import Literal

import numpy as np
from sklearn.utils import Bunch

from .._core._messages import short_repr
from ._files import check_choice, data_path, gensim_file


def load_analogies(name: Literal["google", "msr"] = "google") -> Bunch:
    """Load analogy questions: a is to b as c is to d.

    The answer is searched among all words of an embedding, so accuracy depends on their
    number: report it with every figure.

    Parameters
    ----------
    name : {"google", "msr"}, default="google"
        "google": 19,544 questions in 14 categories, on facts and grammar, which are
        part of gensim. "msr": 8000 questions on grammar in 16 categories, read from
        ``analogy/msr.csv`` in the folder in ``SK_METAEMBED_DATA``.

    Returns
    -------
    sklearn.utils.Bunch
        With the attributes

        questions : ndarray of str, shape (n_questions, 4)
            The words a, b, c and the answer d, as in the file.
        categories : ndarray of str, shape (n_questions,)
            Category of each question.
        category_names : list of str
            Categories in order of appearance.

    Raises
    ------
    FileNotFoundError
        If the variable is not set or the file is missing.
    ValueError
        If the name is unknown, or a line is not a question.

    See Also
    --------
    sk_metaembed.metrics.make_unsupervised_scorer : Makes a scorer of the questions.
    load_word_similarity : Word pairs with human similarity ratings.

    References
    ----------
    T. Mikolov, K. Chen, G. Corrado, J. Dean (2013). Efficient estimation of word
    representations in vector space. ICLR workshop.

    T. Mikolov, W. Yih, G. Zweig (2013). Linguistic regularities in continuous space
    word representations. NAACL.

    Examples
    --------
    >>> from sk_metaembed.datasets import load_analogies
    >>> google = load_analogies("google")
    >>> google.questions.shape, len(google.category_names)
    ((19544, 4), 14)
    >>> print(google.categories[0], *google.questions[0], sep=", ")
    capital-common-countries, Athens, Greece, Baghdad, Iraq
    """
    check_choice(name, ("google", "msr"), "name")
    if name == "google":
        rows = _sections(gensim_file("questions-words.txt"))
    else:
        rows = _table(data_path("analogy", "msr.csv"))
    categories = [category for category, _ in rows]
    return Bunch(
        questions=np.array([words for _, words in rows]),
        categories=np.array(categories),
        category_names=list(dict.fromkeys(categories)),
    )


def _sections(path):
    """Read lines of four words, below lines of a colon and a category."""
    rows, category = [], None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.split()
            if words[:1] == [":"] and len(words) > 1:
                category = " ".join(words[1:])
            elif category is None or len(words) != 4:
                raise _question_error(path, number, line)
            else:
                rows.append((category, words))
    return rows


def _table(path):
    """Read comma-separated lines of a number, a category and four words."""
    rows = []
    with open(path, encoding="utf-8", newline="") as file:
        for number, fields in enumerate(csv.reader(file), 1):
            if len(fields) != 6 or not all(fields[1:]):
                raise _question_error(path, number, ",".join(fields))
            if number > 1:
                rows.append((fields[1], fields[2:]))
    return rows


def _question_error(path, number, line):
    return ValueError(
        f"{path}, line {number}: expected four words below a category; got "
        f"{short_repr(line.strip())}."
    )
