"""compare_sources: cross-validate sources alone, and all sources together."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import check_random_state

from .._core._arrays import normalize_rows
from .._core._errors import check_choice, plural, prefix_errors, short_repr
from .._core._optional import progress_bar
from .._core._sample_weights import fit_model
from .._core._sklearn import safe_indexing
from .._pipelines import flat_steps, reads_texts
from .._stacking import make_folds
from .._targets import (
    check_groups,
    check_target,
    class_probabilities,
    for_scorers,
    is_continuous,
    no_warning_of_rare_classes,
    predicted_numbers,
    read_target,
)
from ..meta import StackedMetaClassifier, StackedMetaRegressor
from ..pooling._api import sequence_blocks
from ..sequences import Block, EmbeddedSequences, Tokenizer
from ..sequences._api import equal_rows, find_copies, folds_case, without_case
from ..sources import (
    EmbeddingUnion,
    FunctionEmbedding,
    TransformerEmbedding,
    make_embedding_union,
)
from ._explained_texts import with_column
from ._source_comparison import SourceComparisonDisplay

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from numpy.typing import ArrayLike

    from .._core._typing import Texts


_TFIDF, _CONCAT, _STACK = "TF-IDF", "concat", "stack"
_STACKS = (StackedMetaClassifier, StackedMetaRegressor)
# Sources whose vectors do not depend on the training texts, without `preprocess`.
_FIXED = (FunctionEmbedding, TransformerEmbedding)
_IMPORTANCE_ROWS = 1000  # per fold, at most


@prefix_errors
def compare_sources(
    sources: Any,
    X: Texts | pd.DataFrame,
    y: ArrayLike,
    *,
    cv: Any = 5,
    scoring: str | Callable[..., float] | None = None,
    groups: ArrayLike | None = None,
    target_type: Literal["auto", "continuous"] = "auto",
    random_state: int | np.random.RandomState | None = None,
    verbose: bool = False,
) -> SourceComparisonDisplay:
    """Compare each source with all of them together by cross-validation.

    The candidates for texts are TF-IDF, a linear model of each source, a linear model
    of all sources concatenated, and a stack of these models. The candidates for a table
    are its pipeline without strings of many values, with these strings encoded by each
    source alone, and with all sources. All candidates are scored on the same folds.

    Parameters
    ----------
    sources : list of sources or of (str, source) pairs, EmbeddingUnion or Pipeline
        The sources to compare. For a Pipeline of `make_text_pipeline`, its Tokenizer,
        sources and stack are used; a Pipeline of `make_table_pipeline` is compared as a
        whole. The arguments are not modified.
    X : texts, token lists, TokenSequences or DataFrame
        The rows; a DataFrame of pandas or polars only for a pipeline of tables. Texts
        are split as by `make_text_pipeline`, which keeps punctuation and treats missing
        texts as empty.
    y : array-like of shape (n_rows,)
        Classes or numbers.
    cv : int, cross-validation generator or an iterable, default=5
        Folds that hold out each row once. An int is a number of folds, stratified by
        class. Equal texts, or copies of rows of a table, are held out together, unless
        `groups` are passed. A row that is the only one of its class is in all training
        parts and not scored; it is predicted by a model of all other classes.
    scoring : str or callable, default=None
        As in scikit-learn, greater is better. None is "roc_auc" for two classes,
        "accuracy" for more, and "r2" for numbers.
    groups : array-like of shape (n_rows,), default=None
        Rows of one group are held out in the same fold, including the inner folds, by
        which a stack or a table chooses weights and penalties.
    target_type : {"auto", "continuous"}, default="auto"
        Type of y; a Pipeline must end in a regressor for "continuous". "auto" is the
        type that a Pipeline predicts; without one, it decides like scikit-learn's
        `type_of_target`, for which integers are classes.
    random_state : int, RandomState instance or None, default=None
        Determines the folds and the stack. The stack of a Pipeline uses its own
        `random_state`.
    verbose : bool, default=False
        Show a progress bar, if the output is a terminal.

    Returns
    -------
    SourceComparisonDisplay
        Its `frame` has one row per candidate, and `plot` draws them. The last candidate
        is the stack, or the table with all sources.

    Raises
    ------
    TypeError
        If `sources` is not one of these types.
    ValueError
        If there are fewer than two folds, a row is not held out exactly once, a source
        has the name of another candidate, y has several columns, or the Pipeline has
        other steps.

    See Also
    --------
    sk_metaembed.source_subsets : Subsets of sources, for a grid search.
    sk_metaembed.StackedMetaClassifier : The stack.

    Notes
    -----
    TF-IDF is a `LogisticRegression` with C=10, or a `Ridge`, of words and pairs of
    adjacent words, in lower case for texts. A source alone is a stack of that source
    without words and characters: one linear model, whose penalty is chosen in the
    training part. The concatenation is the same model on the vectors of all sources,
    each scaled to unit length unless the stack has an `estimator`.

    Seconds are per fit: the time of the model and of embedding the training part with
    its sources. A source is embedded once per fold for all candidates. A
    `TransformerEmbedding` or `FunctionEmbedding` without `preprocess`, which learns
    nothing from the fold, is embedded once for all folds, and its time counts in
    proportion to the rows of the training part. The time of predictions is not
    included.

    Examples
    --------
    >>> from sk_metaembed import FunctionEmbedding
    >>> from sk_metaembed.inspection import compare_sources
    >>> def length(words):
    ...     return [[len(word)] for word in words]
    >>> def vowels(words):
    ...     return [[sum(letter in "aeiou" for letter in word), 1] for word in words]
    >>> sources = [
    ...     ("length", FunctionEmbedding(length)),
    ...     ("vowels", FunctionEmbedding(vowels)),
    ... ]
    >>> texts = [f"{a} {b}" for a in ("go", "see", "stop") for b in "abcdefghij"]
    >>> y = [0] * 10 + [1] * 20
    >>> display = compare_sources(sources, texts, y, cv=3, random_state=0)
    >>> display.frame()["sources"].tolist()
    ['TF-IDF', 'length', 'vowels', 'concat', 'stack']
    """
    is_number = _predicts_numbers(sources, y, target_type)
    candidates: _TableCandidates | _TextCandidates
    if isinstance(sources, Pipeline) and _reads_tables(sources):
        _check_frame(X)
        table = _TableCandidates(sources, X)
        candidates, copies, n_rows = table, None, len(table.X)
    else:
        tokenizer, pairs, stack = _text_steps(sources, is_number, random_state)
        tokens = tokenizer.fit_transform(X)
        candidates = _TextCandidates(pairs, stack, tokens)
        copies, n_rows = equal_rows(tokens), len(tokens)
    kind = "numbers" if is_number else "classes"
    target = read_target(check_target(y, n_rows, kind), kind)
    if target.y.ndim > 1:
        raise ValueError(
            f"y must have one column, got shape {target.y.shape}. Compare "
            "for each column separately."
        )
    groups = check_groups(groups, n_rows)
    if isinstance(candidates, _TableCandidates):
        copies = find_copies([*candidates.features.T], target.columns)
    folds = make_folds(cv, target, groups, copies, random_state).pairs
    if len(folds) < 2:
        raise ValueError(
            f"needs at least two folds for intervals; cv={short_repr(cv)} "
            f"makes {len(folds)} of {n_rows} rows. Pass more rows of each class, or "
            "another cv."
        )
    if scoring is None:
        scoring = _default_scoring(target.y, is_number)
    if scoring == "roc_auc":
        _check_both_classes(target.y, folds)
    data = candidates, target.y, groups, folds
    with no_warning_of_rare_classes():  # of the rows of each fold
        return _evaluate(*data, scoring, random_state, verbose)


def _default_scoring(y, is_number):
    """Return the name of the default score for classes or numbers, (n_rows,)."""
    if is_number:
        return "r2"
    return "roc_auc" if len(np.unique(y)) == 2 else "accuracy"


def _check_both_classes(y, folds):
    """Raise a ValueError if the held-out rows of a fold have one class only."""
    classes, counts = np.unique(y, return_counts=True)
    for k, (_, test) in enumerate(folds):
        if (y[test] == y[test[0]]).all():
            rarest, only = classes.tolist()[counts.argmin()], y[test[:1]].tolist()[0]
            raise ValueError(
                'scoring="roc_auc" needs held-out rows of both classes, but all rows '
                f"of fold {k} are {only!r}. Class {rarest!r} has "
                f"{plural(counts.min(), 'row')}: pass more of them, fewer folds, or "
                'scoring="accuracy".'
            )


def _evaluate(candidates, y, groups, folds, scoring, random_state, verbose):
    """Fit all candidates on the same folds and return the display of their scores."""
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    names = candidates.names
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    scores, seconds = np.empty((2, len(names), len(folds)))
    predictions, classes = np.empty_like(y), np.unique(y)
    probabilities, drops = None, []
    total = len(names) * len(folds)
    # None disables the bar unless the output is a terminal.
    disable = None if verbose else True
    shown = {"desc": "compare", "unit": "fit", "disable": disable}
    with progress_bar(total=total, **shown) as bar:
        for k, (train, test) in enumerate(folds):
            for i, part in enumerate(candidates.parts(train, test, y)):
                model, rows, held_out, spent = part
                start = time.perf_counter()
                model = _fit(model, rows, y, groups, train)
                seconds[i, k] = spent + time.perf_counter() - start
                scores[i, k] = scorer(model, held_out, y[test])
                bar.update()
            # The last candidate uses all sources.
            predictions[test] = _predict(model, held_out)
            if is_classifier(model) and hasattr(model, "predict_proba"):
                if probabilities is None:
                    probabilities = np.zeros((len(y), len(classes)))
                probabilities[test] = class_probabilities(model, held_out, classes)
            if isinstance(candidates, _TableCandidates):
                drops.append(_drops(model, held_out, y[test], scorer, seed))
    alone = np.setdiff1d(np.arange(len(y)), np.concatenate([test for _, test in folds]))
    if len(alone):
        predictions[alone] = _predict_alone(candidates, alone, y, groups)
        if probabilities is not None:
            probabilities[alone] = predictions[alone, None] == classes
    importances = None
    if drops:
        importances = {name: np.array([d[name] for d in drops]) for name in drops[0]}
    return SourceComparisonDisplay(
        scores,
        seconds=seconds,
        names=names,
        metric=_name(scoring),
        predictions=predictions,
        errors=_errors(y, predictions, probabilities, is_classifier(model)),
        probabilities=probabilities,
        importances=importances,
    )


def _fit(model, X, y, groups, rows):
    """Return a clone fitted on some rows, with folds that keep groups together."""
    groups = None if groups is None else groups[rows]
    return for_scorers(fit_model(clone(model), X, y[rows], groups=groups), X)


def _predict(model, X):
    """Return predicted classes or numbers, (n_rows,)."""
    return (
        model.predict(X) if is_classifier(model) else predicted_numbers(model, X)[:, 0]
    )


def _predict_alone(candidates, rows, y, groups):
    """Return the last candidate's predictions of rows that are alone in their class.

    A model that is fitted on the other rows gives their classes the probability 0.
    """
    train = np.setdiff1d(np.arange(len(y)), rows)
    if (y[train] == y[train[0]]).all():
        return y[train[0]]
    *_, (model, training_rows, held_out, _) = candidates.parts(train, rows, y)
    return _predict(_fit(model, training_rows, y, groups, train), held_out)


def _errors(y, predictions, probabilities, is_class):
    """Return absolute errors, or 1 - probability of the class, (n_rows,)."""
    if probabilities is not None:
        codes = np.unique(y, return_inverse=True)[1]
        return 1 - probabilities[np.arange(len(y)), codes]
    return (
        (predictions != y).astype(np.float64) if is_class else np.abs(predictions - y)
    )


def _name(scoring):
    if isinstance(scoring, str):
        return scoring
    function = getattr(scoring, "_score_func", scoring)  # set by make_scorer
    return getattr(function, "__name__", "score")


def _drops(model, X, y, scorer, seed):
    """Return the decrease of the score when a column is shuffled, by column.

    scikit-learn's `permutation_importance` does the same, but not for polars.
    """
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(X))[:_IMPORTANCE_ROWS])
    X, y = safe_indexing(X, rows), y[rows]
    score, drops = scorer(model, X, y), {}
    for name in X.columns:
        column = safe_indexing(X[name], rng.permutation(len(X)))
        drops[name] = score - scorer(model, with_column(X, name, column), y)
    return drops


class _TableCandidates:
    """Candidates for tables: a pipeline without strings, with one source, and complete.

    Parameters
    ----------
    pipeline : Pipeline
        The result of `make_table_pipeline`.
    X : DataFrame of pandas or polars, shape (n_rows, n_columns)

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features)
        Features in which copies of rows are equal.
    """

    def __init__(self, pipeline, X):
        self.X = X
        encoder = flat_steps(pipeline)[0]
        active = encoder.active
        names = encoder.source_names if active is None else active
        names = [names] if isinstance(names, str) else [*names]
        # N-grams encode all strings that some source encodes.
        kinds = clone(encoder).set_params(active="ngrams", n_components=1)
        self.features = np.asarray(kinds.fit_transform(X))
        columns = [each for each in kinds.columns_ if each.n_features]
        embedded = [column.is_embedded for column in columns]
        models = {}
        if names and any(embedded) and not all(embedded):
            models["without strings"] = ()
        if len(names) > 1 and any(embedded):
            models |= {f"strings by {name}": (name,) for name in names}
        models["everything"] = active
        self._active, self._pipeline, self.names = models, pipeline, [*models]

    def parts(self, train, test, y):
        """Yield (model, training rows, test rows, seconds spent) of each candidate."""
        rows, held_out = (safe_indexing(self.X, part) for part in (train, test))
        for active in self._active.values():
            model = clone(self._pipeline)
            flat_steps(model)[0].set_params(active=active)
            yield model, rows, held_out, 0.0


class _TextCandidates:
    """Candidates for texts: TF-IDF, linear models of each source and of all, the stack.

    Parameters
    ----------
    sources : list of (str, source) pairs
    stack : StackedMetaClassifier or StackedMetaRegressor
    tokens : TokenSequences
    """

    def __init__(self, sources, stack, tokens):
        self._sources, self._stack, self._tokens = sources, stack, tokens
        own = [name for name, _ in sources]
        concat = [_CONCAT] if len(own) > 1 else []
        self.names = [_TFIDF, *own, *concat, _STACK]
        taken = [name for name in own if name in (_TFIDF, _CONCAT, _STACK)]
        if taken:
            raise ValueError(
                f"a source is named {taken[0]!r}, which is also the name of another "
                "candidate. Rename the source."
            )
        self._fixed = {}
        self._words = without_case(tokens) if folds_case(tokens) else tokens

    def _vectors(self, embedded):
        """Return the input of the stack: vectors of sequences, or of words if needed.

        A `DynamicMeta*` among `models` combines the vectors of words.
        """
        models = [model for _, model in self._stack.models or ()]
        return _pooled(embedded) if all(map(reads_texts, models)) else embedded

    def parts(self, train, test, y):
        """Yield (model, training rows, test rows, seconds spent) of each candidate."""
        stack, rows, held_out = self._stack, self._tokens[train], self._tokens[test]
        yield _tfidf(stack), [*self._words[train]], [*self._words[test]], 0.0
        if not self._sources:
            yield stack, rows, held_out, 0.0
            return
        alone = clone(stack).set_params(concat=False, tfidf=False, models=None)
        embedded = [
            self._embed(name, source, train, test, y) for name, source in self._sources
        ]
        # A source of several blocks is one linear model of their concatenation.
        for parts, spent in embedded:
            yield alone, *map(self._side_by_side, parts), spent
        united = [
            EmbeddedSequences(
                tokens, [b for parts, _ in embedded for b in parts[i].blocks]
            )
            for i, tokens in enumerate((rows, held_out))
        ]
        spent = sum(seconds for _, seconds in embedded)
        if len(embedded) > 1:
            yield alone, *map(self._side_by_side, united), spent
        yield stack, *united, spent

    def _embed(self, name, source, train, test, y):
        """Return the sequence vectors of both parts, and the seconds of training."""
        union = EmbeddingUnion([(name, source)])
        if type(source) in _FIXED and source.preprocess is None:
            if name not in self._fixed:
                self._fixed[name] = self._timed_fit(union, self._tokens, None)[1:]
            embedded, seconds = self._fixed[name]
            share = len(train) / len(self._tokens)
            return (embedded[train], embedded[test]), seconds * share
        rows, held_out = self._tokens[train], self._tokens[test]
        fitted, embedded, seconds = self._timed_fit(union, rows, y[train])
        return (embedded, self._vectors(fitted.transform(held_out))), seconds

    def _timed_fit(self, union, tokens, y):
        """Return a fitted union, its vectors of tokens, and the seconds of the fit."""
        start = time.perf_counter()
        union = clone(union)
        embedded = self._vectors(union.fit_transform(tokens, y))
        return union, embedded, time.perf_counter() - start

    def _side_by_side(self, embedded):
        """Return EmbeddedSequences with their blocks concatenated into one."""
        blocks = embedded.blocks
        if len(blocks) == 1:
            return embedded
        blocks = sequence_blocks(embedded)
        values = [block.values for block in blocks]
        if self._stack.estimator is None:
            values = [normalize_rows(each) for each in values]
        known = np.any([block.known for block in blocks], axis=0)
        block = Block(_CONCAT, np.hstack(values), "sequence", known, copy=False)
        return EmbeddedSequences(embedded.tokens, [block])


def _pooled(embedded):
    return EmbeddedSequences(embedded.tokens, sequence_blocks(embedded))


def _tfidf(stack):
    vectorizer = TfidfVectorizer(
        lowercase=False, tokenizer=list, token_pattern=None, ngram_range=(1, 2)
    )
    if is_regressor(stack):
        return make_pipeline(vectorizer, Ridge())
    weight = stack.class_weight
    model = LogisticRegression(C=10, max_iter=1000, class_weight=weight)
    return make_pipeline(vectorizer, model)


def _predicts_numbers(sources, y, target_type):
    """Return whether y has numbers instead of classes."""
    check_choice(target_type, ("auto", "continuous"), "target_type")
    if isinstance(sources, Pipeline):
        if target_type == "continuous" and not is_regressor(sources):
            raise ValueError(
                'target_type="continuous" contradicts the Pipeline, whose last step is '
                f"{short_repr(sources[-1])}. Pass a Pipeline that ends in a regressor."
            )
        return is_regressor(sources)
    return target_type == "continuous" or is_continuous(check_target(y))


def _text_steps(sources, is_number, random_state):
    """Return the Tokenizer, the (name, source) pairs and the stack to compare."""
    tokenizer = Tokenizer(punctuation=True, missing="empty")
    kind = StackedMetaRegressor if is_number else StackedMetaClassifier
    stack = kind(random_state=random_state)
    if isinstance(sources, Pipeline):
        steps = flat_steps(sources)
        if isinstance(steps[0], Tokenizer):
            tokenizer = clone(steps.pop(0))
        stack = steps.pop() if steps and isinstance(steps[-1], _STACKS) else None
        union = steps.pop() if steps else None
        if stack is None or steps or not isinstance(union, EmbeddingUnion | None):
            kinds = [type(step).__name__ for step in flat_steps(sources)]
            raise ValueError(
                f"takes pipelines with the steps of make_text_pipeline (a "
                "Tokenizer, an EmbeddingUnion, and a StackedMetaClassifier or "
                "StackedMetaRegressor) or of make_table_pipeline; got the steps "
                f"{kinds}. Pass the sources alone."
            )
        return tokenizer, union._active_sources() if union else [], stack
    return tokenizer, _union(sources)._active_sources(), stack


def _reads_tables(pipeline):
    """Return whether a pipeline begins with a TableEncoder."""
    first = flat_steps(pipeline)[0]
    return hasattr(first, "source_names") and hasattr(first, "active")


def _union(sources):
    if isinstance(sources, EmbeddingUnion):
        return sources
    if not isinstance(sources, list | tuple) or not sources:
        raise TypeError(
            f"sources must be a list of sources or of (name, source) pairs, "
            f"an EmbeddingUnion or a Pipeline; got {short_repr(sources)}."
        )
    if all(isinstance(each, tuple | list) for each in sources):
        return EmbeddingUnion([*sources])
    return make_embedding_union(*sources)


def _check_frame(X):
    is_polars = hasattr(X, "with_columns") and hasattr(X, "shape")
    if not is_polars and not (hasattr(X, "iloc") and hasattr(X, "columns")):
        raise TypeError(
            "X must be a pandas or polars DataFrame for a pipeline of tables; got "
            f"{type(X).__name__}. Convert it, for example with pandas.DataFrame(X)."
        )
