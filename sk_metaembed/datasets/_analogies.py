"""Analogy questions: a is to b as c is to d."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

from .._core._errors import short_repr
from ._files import gensim_file


def load_analogies() -> Bunch:
    """Load the analogy questions of Google: a is to b as c is to d.

    The 19,544 questions in 14 categories, on facts and grammar, are part of gensim.

    The answer is searched among all words of an embedding, so accuracy depends on their
    number: report it with every figure.

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
    ValueError
        If a line of the file is not a question.

    See Also
    --------
    load_word_similarity : Word pairs with human similarity ratings.

    References
    ----------
    T. Mikolov, K. Chen, G. Corrado, J. Dean (2013). Efficient estimation of word
    representations in vector space. ICLR workshop.

    Examples
    --------
    >>> from sk_metaembed.datasets import load_analogies
    >>> google = load_analogies()
    >>> google.questions.shape, len(google.category_names)
    ((19544, 4), 14)
    >>> print(google.categories[0], *google.questions[0], sep=", ")
    capital-common-countries, Athens, Greece, Baghdad, Iraq
    """
    rows = _sections(gensim_file("questions-words.txt"))
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
                raise ValueError(
                    f"{path}, line {number}: expected four words below a category; "
                    f"got {short_repr(line.strip())}."
                )
            else:
                rows.append((category, words))
    return rows
