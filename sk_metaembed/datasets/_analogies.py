"""Analogy questions: a is to b as c is to d."""

import csv

import numpy as np
from sklearn.utils import Bunch

from ._files import check_choice, data_path, gensim_file


def load_analogies(name="google"):
    """Load analogy questions: a is to b as c is to d.

    Answers are looked for among all words of an embedding, and accuracy depends on how
    many these are: give the number of words along with a figure.

    Parameters
    ----------
    name : {"google", "msr"}, default="google"
        "google": 19,544 questions in 14 categories, about facts and grammar; they come
        with gensim. "msr": 8000 about grammar in 16 categories, read from
        ``analogy/msr.csv`` in the folder that ``SK_METAEMBED_DATA`` names.

    Returns
    -------
    sklearn.utils.Bunch
        With the attributes

        questions : ndarray of str, shape (n_questions, 4)
            The words a, b, c and the answer d, as written.
        categories : ndarray of str, shape (n_questions,)
            Category of each question.
        category_names : list of str
            In order of appearance.

    Raises
    ------
    FileNotFoundError
        If the folder is not set or lacks the file.
    ValueError
        If there is no set of that name, or a line is no question.

    See Also
    --------
    sk_metaembed.metrics.make_analogy_scorer : Scores an embedding on such questions.
    load_word_similarity : Pairs that people rated.

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
    """Read lines of four words under lines of a colon and a category."""
    rows, category = [], None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.split()
            if words[:1] == [":"] and len(words) > 1:
                category = " ".join(words[1:])
            elif category is None or len(words) != 4:
                raise _no_question(path, number, line)
            else:
                rows.append((category, words))
    return rows


def _table(path):
    """Read lines of a number, a category and four words, split by commas."""
    rows = []
    with open(path, encoding="utf-8", newline="") as file:
        for number, fields in enumerate(csv.reader(file), 1):
            if len(fields) != 6 or not all(fields[1:]):
                raise _no_question(path, number, ",".join(fields))
            if number > 1:
                rows.append((fields[1], fields[2:]))
    return rows


def _no_question(path, number, line):
    return ValueError(
        f"{path}, line {number}: expected four words under a category, got "
        f"{line.strip()[:60]!r}."
    )
