"""DistilledEmbedding: a fast student of n-grams that imitates a slow teacher."""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..._core._arrays import normalize_rows, row_product
from ..._core._errors import prefix_input_errors
from ..._core._inherited_docs import inherit_docs
from ..._core._sklearn import COUNT, POSITIVE, SHARE, HasMethods
from ..._core._typing import RandomState, Texts
from ...sequences import Block, EmbeddedSequences, TokenSequences, check_tokens
from ...sequences._api import (
    Ngrams,
    explained_token_errors,
    learn_ngrams,
    ngram_weights,
)
from .._base import BaseEmbedding, Preprocess, SourceDocs, no_tokens_error
from .._estimator import as_dense_rows, columns_beyond_rank, targets_of
from .._sentences import equal_sequences

_TOLERANCE = 1e-3  # relative residual at which conjugate gradients stop
_DIRECT = 4096  # texts up to which solving for all dimensions at once is faster
_FEWEST = 2  # texts to hold out, and to learn from without them


class Student(NamedTuple):
    """A linear map from n-grams, and from vectors of `base`, to a teacher's vectors.

    Parameters
    ----------
    ngrams : Ngrams
    mean : ndarray of float32, shape (dim,)
        Mean of the teacher's vectors.
    coefs : ndarray of float32, shape (n_features, dim)
        A vector per n-gram.
    base_mean : ndarray of float32, shape (n_base,), or None
    base_coefs : ndarray of float32, shape (n_base, dim), or None
    """

    ngrams: Ngrams
    mean: np.ndarray
    coefs: np.ndarray
    base_mean: np.ndarray | None = None
    base_coefs: np.ndarray | None = None

    def predict(self, tokens, base=None):
        """Return the vectors of sequences, (n, dim), and which have a known feature."""
        weights = ngram_weights(tokens, self.ngrams)
        values = weights @ self.coefs
        known = np.diff(weights.indptr) > 0
        if base is not None:
            known |= base.any(axis=1)
            values += row_product(_directions(base, self.base_mean), self.base_coefs)
        values += self.mean
        values[~known] = 0
        return values, known


def train_student(tokens, targets, base, *, max_ngram, max_features, alpha):
    """Return the `Student` of targets (n, dim), by ridge regression.

    With `base`, (n, n_base), n-grams learn the residuals of a regression on `base`.
    """
    from sklearn.linear_model import Ridge

    ridge = Ridge(alpha, fit_intercept=False, tol=_TOLERANCE)
    mean = targets.mean(axis=0)
    rest = targets - mean
    base_mean = base_coefs = None
    if base is not None:
        base_mean = base.mean(axis=0)
        rows = _directions(base, base_mean)
        base_coefs = _coefs(ridge.set_params(solver="cholesky").fit(rows, rest))
        rest -= rows @ base_coefs
    ngrams = learn_ngrams(tokens, max_ngram, max_features)
    weights = ngram_weights(tokens, ngrams)
    solver = "cholesky" if len(rest) <= _DIRECT else "sparse_cg"
    if solver == "cholesky" and weights.shape[1] <= len(rest):
        weights = weights.toarray()  # Ridge solves singular systems if they are dense
    coefs = _coefs(ridge.set_params(solver=solver).fit(weights, rest))
    return Student(ngrams, mean, coefs, base_mean, base_coefs)


def _directions(base, mean):
    """Return unit vectors from the mean to each row; zeros for rows of zeros."""
    directions = normalize_rows(base - mean)
    directions[~base.any(axis=1)] = 0
    return directions


def _coefs(ridge):
    """Return the coefficients of a fitted Ridge, float32 (n_features, dim)."""
    return np.ascontiguousarray(np.atleast_2d(ridge.coef_).T, dtype=np.float32)


@inherit_docs(SourceDocs)
class DistilledEmbedding(BaseEmbedding):
    r"""Train a fast n-gram model to predict the vectors of a slow source or pipeline.

    The teacher is any transformer that returns one vector per text: a sentence encoder,
    or a pipeline that combines several sources. It embeds the training texts once,
    without their labels. The student learns to predict these vectors from words and
    n-grams of words, and then replaces the teacher, at more than a hundred times the
    speed of a small sentence encoder. Use it if many texts are embedded, especially if
    few of them are labeled.

    Parameters
    ----------
    teacher : transformer or Pipeline
        Returns an array of shape (n_sequences, dim), or EmbeddedSequences at the
        sequence level, whose blocks are concatenated. It is cloned before fitting,
        unless it is fitted and wrapped in scikit-learn's FrozenEstimator. If the
        teacher has a cache, further fits are fast. Wrap steps that read strings, such
        as TfidfVectorizer, in an `EstimatorEmbedding` with ``as_text=True``.
    base : transformer or Pipeline, default=None
        A fast source of text vectors that knows more words than the training texts
        contain, such as ``make_pipeline(PretrainedEmbedding(path), Pooling())``. Its
        vectors are additional features of the student. None for n-grams only.
    unlabeled : texts, token lists or TokenSequences, default=None
        Additional texts to learn from, similar to the texts to be embedded. Texts are
        split as `Tokenizer` does by default: if X is split in another way, pass a
        TokenSequences of the same Tokenizer.
    max_ngram : int, default=2
        Length of the longest n-grams of words.
    max_features : int, default=20000
        Maximum number of n-grams of each length. The n-grams that occur in most texts
        are selected, if their shorter parts were selected too.
    alpha : float, default=1.0
        Penalty of the ridge regressions. Smaller values fit the training texts more
        closely.
    validation_fraction : float, default=0.1
        Fraction of the texts on which `cosine_` is measured, with a student that is
        trained on the others. With 0, `cosine_` is not computed.
    random_state : int, RandomState instance or None, default=None
        Selects the texts on which `cosine_` is measured. The student does not depend on
        it.

    Attributes
    ----------
    student_ : Student
        Named tuple of the n-grams, the teacher's mean vector and the coefficients.
    base_ : transformer or None
        The fitted clone of `base`.
    cosine_ : float or None
        Mean cosine of the vectors of student and teacher on held-out texts, after
        subtracting the teacher's mean vector from both. Copies of training texts are
        not held out. The best value is 1. None if there are too few texts.
    n_texts_ : int
        Number of texts that the student is trained on.

    Raises
    ------
    TypeError
        If teacher or base do not return numbers at the sequence level.
    ValueError
        If there is no teacher, as in an estimator from a file, or it has no vector for
        any text.

    Warns
    -----
    UserWarning
        If the texts of `unlabeled` are split in another way than those of X.

    See Also
    --------
    EstimatorEmbedding : Uses the teacher itself as a source.
    LSAEmbedding : Vectors of n-grams without a teacher.
    contextual_to_static : One vector per word, averaged over its contexts.

    Notes
    -----
    With x the TF-IDF weights of a text's n-grams, scaled to unit length, g the unit
    vector from the mean of `base` to its vector of the text, and t the teacher's vector
    of mean :math:`\bar t`, the student is

    .. math:: \hat t = \bar t + g M + x W

    where M minimizes :math:`\sum |t - \bar t - g M|^2 + \alpha |M|^2`, and then W
    :math:`\sum |t - \bar t - g M - x W|^2 + \alpha |W|^2`: in closed form the kind
    of regression that tokenlearn [1]_ solves by gradient steps, and the linear form of
    Luxical [2]_, whose hidden layer was no more accurate with a few thousand texts. A
    feature that occurs c times in a text, and in n_f of n training texts, weighs
    :math:`(1 + \ln c)(1 + \ln \frac{1 + n}{1 + n_f})`. Rows of W are thus vectors of
    words and n-grams, and embedding a text is looking up and adding them, without the
    teacher or torch.

    The teacher is fitted on X alone, with y; the student learns from X and `unlabeled`.
    Texts without tokens are omitted, as are those for which the teacher returns only
    zeros. A text without a known n-gram, and without a vector of `base`, is unknown:
    its vector is zero. `sk_metaembed.save` leaves `teacher` and `unlabeled`, which only
    `fit` needs, out of the file of a fitted estimator; pickles contain both.

    The student is linear in n-grams. For example, it can only learn that "not" reverses
    the meaning of a word from their bigram. With many labels, a TF-IDF classifier may
    be as good.

    References
    ----------
    .. [1] S. Tulkens, T. van Dongen, "Model2Vec" and "tokenlearn", 2024.
       https://github.com/MinishLab
    .. [2] L. Merrick et al., "Luxical: High-Speed Lexical-Dense Text Embeddings", 2025.
       https://arxiv.org/abs/2512.09015

    Examples
    --------
    Here a function is the teacher; in practice it is a `TransformerEmbedding`:

    >>> from sk_metaembed import DistilledEmbedding, FunctionEmbedding
    >>> warm = {"tea": 1.0, "soup": 1.0, "ice": -1.0, "snow": -1.0}
    >>> def teach(texts):
    ...     return [[sum(warm.get(w, 0) for w in t.split()), 1.0] for t in texts]
    >>> teacher = FunctionEmbedding(teach, level="sequence", as_text=True)
    >>> texts = ["hot tea", "hot soup", "cold ice", "cold snow", "tea", "snow"] * 5
    >>> student = DistilledEmbedding(teacher, random_state=0).fit(texts)
    >>> vectors = student.transform(["hot hot tea", "cold"]).block("distilled").values
    >>> (vectors[:, 0] > 0).tolist()
    [True, False]
    >>> student.cosine_ > 0.9
    True
    """

    _parameter_constraints: dict = {
        "teacher": [HasMethods(["fit", "transform"]), None],
        "base": [HasMethods(["fit", "transform"]), None],
        "unlabeled": "no_validation",  # check_tokens validates it
        "max_ngram": [COUNT],
        "max_features": [COUNT],
        "alpha": [POSITIVE],
        "validation_fraction": [SHARE],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        teacher: Any,
        *,
        base: Any = None,
        unlabeled: Texts | None = None,
        max_ngram: int = 2,
        max_features: int = 20_000,
        alpha: float = 1.0,
        validation_fraction: float = 0.1,
        random_state: RandomState = None,
        preprocess: Preprocess | None = None,
        missing: Literal["raise", "empty"] = "raise",
    ) -> None:
        self.teacher = teacher
        self.base = base
        self.unlabeled = unlabeled
        self.max_ngram = max_ngram
        self.max_features = max_features
        self.alpha = alpha
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.preprocess = preprocess
        self.missing = missing

    def _fit_vectors(self, tokens, y):
        if self.teacher is None:
            raise ValueError(
                "teacher is None, so there is nothing to learn. Files of a fitted "
                "estimator omit it: set it again with set_params(teacher=...)."
            )
        filled = np.flatnonzero(tokens.lengths)
        if not len(filled):
            raise no_tokens_error(len(tokens), tokens.texts)
        y, tokens = targets_of(y, filled, len(tokens)), tokens[filled]
        with _explained_errors(self.teacher, "teacher"):
            teacher = clone(self.teacher).fit(tokens, y)
        with _explained_errors(self.base, "base"):
            self.base_ = None if self.base is None else clone(self.base).fit(tokens, y)
        parts = [tokens]
        if self.unlabeled is not None:
            with prefix_input_errors("unlabeled"):
                more = check_tokens(self.unlabeled, missing=self.missing)
            if not isinstance(self.unlabeled, TokenSequences):
                _warn_if_split_differently(tokens, more)
            more = more[np.flatnonzero(more.lengths)]
            parts += [more] if len(more) else []
        targets = [_vectors(teacher, part, "teacher") for part in parts]
        base = None
        if self.base_ is not None:
            base = np.vstack([_vectors(self.base_, part, "base") for part in parts])
        if len(parts) > 1:
            tokens = TokenSequences.from_lists([row for part in parts for row in part])
        beyond_rank = columns_beyond_rank(teacher, targets[0])
        targets = np.vstack(targets)
        targets[:, beyond_rank] = 0
        self._train(tokens, targets, base)

    def _train(self, tokens, targets, base):
        """Set the student, learned from nonempty sequences, and its cosine."""
        rows = np.flatnonzero(targets.any(axis=1))
        if not len(rows):
            raise ValueError(
                f"the teacher has no vector for any of the "
                f"{len(targets)} nonempty texts."
            )
        self.n_texts_ = len(rows)
        self.student_ = self._student_of(rows, tokens, targets, base)
        self.cosine_ = None
        n_held_out = round(self.validation_fraction * len(rows))
        random = check_random_state(self.random_state)
        held_out, others = np.split(random.permutation(rows), [n_held_out])
        numbers = np.empty(len(tokens), dtype=np.int64)
        for number, places in enumerate(equal_sequences(tokens)):
            numbers[places] = number
        others = others[~np.isin(numbers[others], numbers[held_out])]  # omit copies
        if min(len(held_out), len(others)) >= _FEWEST:
            student = self._student_of(np.sort(others), tokens, targets, base)
            held_base = None if base is None else base[held_out]
            values, _ = student.predict(tokens[held_out], held_base)
            self.cosine_ = _mean_cosine(
                values - student.mean, targets[held_out] - student.mean
            )

    def _student_of(self, rows, tokens, targets, base):
        return train_student(
            tokens[rows],
            targets[rows],
            None if base is None else base[rows],
            max_ngram=self.max_ngram,
            max_features=self.max_features,
            alpha=self.alpha,
        )

    def _base_vectors(self, tokens):
        """Return the vectors of `base`, (n_sequences, n_base), None without one.

        The vectors of empty sequences are zeros, even if a step of `base` subtracts a
        mean.
        """
        if self.base_ is None:
            return None
        filled = np.flatnonzero(tokens.lengths)
        if len(filled) == len(tokens) > 0:
            return _vectors(self.base_, tokens, "base")
        values = np.zeros((len(tokens), len(self.student_.base_mean)), np.float32)
        if len(filled):
            values[filled] = _vectors(self.base_, tokens[filled], "base")
        return values

    def _embed(self, tokens):
        values, known = self.student_.predict(tokens, self._base_vectors(tokens))
        return Block(self.block_name, values, "sequence", known, copy=False)

    def _saved_attributes(self):
        """Return the attributes to save; a fitted estimator omits inputs of `fit`."""
        fit_only = {"teacher": None, "unlabeled": None}
        return vars(self) | (fit_only if hasattr(self, "student_") else {})


def _warn_if_split_differently(tokens, unlabeled):
    """Warn if the texts of `tokens` were not split by default, as `unlabeled` was."""
    if tokens.texts is None or unlabeled.texts is None:
        return
    differing = {*check_tokens(tokens.texts).types} ^ {*tokens.types}
    if differing:
        warnings.warn(
            "DistilledEmbedding: the texts of unlabeled are split as Tokenizer does by "
            "default, but those of X in another way: only one of them has the token "
            f"{min(differing)!r}. Pass Tokenizer(...).transform(unlabeled), with the "
            "parameters of the Tokenizer of X.",
            stacklevel=2,
        )


def _explained_errors(transformer, name):
    """Advise how to wrap a teacher or base that takes str instead of tokens."""
    what = f"{name} {type(transformer).__name__}"
    remedy = "Wrap steps that take str: EstimatorEmbedding(..., as_text=True)."
    return explained_token_errors(transformer, what, remedy)


def _vectors(transformer, tokens, name):
    """Return the sequence vectors of a fitted transformer, float32 (n, dim)."""
    with _explained_errors(transformer, name):
        output = transformer.transform(tokens)
    if isinstance(output, EmbeddedSequences) and all(
        block.level == "sequence" for block in output.blocks
    ):
        output = np.hstack([block.values for block in output.blocks])
    with prefix_input_errors(f"{name} {type(transformer).__name__}"):
        return as_dense_rows(output, len(tokens))


def _mean_cosine(first, second):
    """Return the mean cosine of rows, 0 for rows of zeros."""
    units = normalize_rows(first), normalize_rows(second)
    return float(np.mean(np.einsum("ij,ij->i", *units)))
