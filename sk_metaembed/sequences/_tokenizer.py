"""Tokenizer: texts to token sequences."""

import re
from collections.abc import Iterator
from functools import partial
from operator import is_
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import StrOptions

from .._core._decorators import fit_context
from ._characters import run_rule, word_rule
from ._mixins import MISSING_CONSTRAINT, SequencesOutputMixin
from ._split import (
    prepare_texts,
    split_texts,
    split_words,
    with_texts,
)
from ._text_spans import locate_in_order, locate_matches, locate_words
from ._token_sequences import TokenSequences
from ._validation import check_tokens, count_missing

# Checking the parameters takes as long as splitting a short text, so it is done once.
_SPLITTERS: WeakKeyDictionary["Tokenizer", tuple] = WeakKeyDictionary()  # by step


class Tokenizer(
    SequencesOutputMixin, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    r"""Split texts into tokens and give each distinct token a code.

    The first step of a pipeline that starts from strings. What is split already,
    token lists or a `TokenSequences`, passes through untouched, so that one pipeline
    serves both. It learns nothing: `fit` checks the parameters and the input.

    Parameters
    ----------
    token_pattern : str, default=None
        Regular expression whose matches are the tokens, as ``re.findall`` gives them;
        with one capturing group, what the group captures. None stands for Unicode
        words, see Notes.
    tokenizer : callable, default=None
        Function of one text that returns its tokens as a list of str, in place of
        `token_pattern`.
    lowercase : bool, default=True
        Whether texts are lowered first, by ``str.lower``.
    punctuation : bool, default=False
        Whether every other visible sign is a token too, not only words. Vectors such
        as GloVe's have them. Only for Unicode words.
    normalize : {"NFC", "NFKC", "NFD", "NFKD"} or None, default="NFC"
        Unicode normal form that texts are brought to once they are lowered, so that
        an accent is one character however it was typed. Stores of vectors are in NFC
        as a rule.
    missing : {"raise", "empty"}, default="raise"
        What to do with missing rows (None, NaN, ``pd.NA``, null of polars): raise an
        error, or take them as empty sequences. ``Pooling(add_indicator=True)`` adds a
        column that marks them.

    Attributes
    ----------
    n_missing_ : int
        Number of missing rows in the data of `fit` or `fit_transform`. Not set where
        `fit` is given an iterator, which it does not read.

    Raises
    ------
    TypeError
        If X is a single string or no collection, a row is neither a str nor a list of
        str, or `tokenizer` returns something else than a list of str.
    ValueError
        If `token_pattern` is no regular expression, has several groups or matches the
        empty string, or parameters exclude each other.

    See Also
    --------
    TokenSequences : What comes out.
    sklearn.feature_extraction.text.CountVectorizer : Splits and counts, without order.

    Notes
    -----
    A *Unicode word* is a letter, digit or underscore and all letters, digits,
    underscores, combining marks, variation selectors and zero-width joiners or
    non-joiners that follow. (The ``\w`` of Python's `re` leaves combining marks out
    and so cuts Devanagari words, and accents typed as two characters, to pieces.)
    Scripts without spaces give runs of characters.

    With ``punctuation=True`` each further visible character is one token, together
    with the marks, variation selectors, joiners, skin tones and tags behind it, with
    the symbol that a zero-width joiner ties to it, and with the second half of a
    flag: one emoji is one token. A mark that follows nothing visible is a token of
    its own. White space, control and format characters, lone surrogates, and
    selectors or joiners that follow nothing visible only separate.

    Long input is split by compiled code in as many threads as numba may use
    (``NUMBA_NUM_THREADS``, which joblib lowers in its workers). That holds for Unicode
    words and for patterns that mean runs of one kind of character, such as ``\S+`` or
    ``(?u)\b\w\w+\b``; every other pattern goes through `re`. The tokens are the same.

    Examples
    --------
    >>> from sk_metaembed import Tokenizer
    >>> tokens = Tokenizer().transform(["To be, or not to be.", ""])
    >>> tokens
    TokenSequences(2 sequences, 6 tokens, 4 types)
    >>> tokens[0]
    ['to', 'be', 'or', 'not', 'to', 'be']
    >>> Tokenizer(punctuation=True).transform(["¡Olé, 100%!"])[0]
    ['¡', 'olé', ',', '100', '%', '!']
    >>> Tokenizer(token_pattern=r"[^;]+", lowercase=False).transform(["GET;/a b"])[0]
    ['GET', '/a b']
    >>> Tokenizer(tokenizer=list).transform(["MKV"])[0]
    ['m', 'k', 'v']
    >>> Tokenizer().transform([["add-to-cart", "PAY"]])[0]
    ['add-to-cart', 'PAY']
    >>> Tokenizer(missing="empty").transform(["To be", None]).to_list()
    [['to', 'be'], []]
    """

    _parameter_constraints = {
        "token_pattern": [str, None],
        "tokenizer": [callable, None],
        "lowercase": ["boolean"],
        "punctuation": ["boolean"],
        "normalize": [StrOptions({"NFC", "NFKC", "NFD", "NFKD"}), None],
        "missing": MISSING_CONSTRAINT,
    }

    def __init__(
        self,
        token_pattern=None,
        *,
        tokenizer=None,
        lowercase=True,
        punctuation=False,
        normalize="NFC",
        missing="raise",
    ):
        self.token_pattern = token_pattern
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.punctuation = punctuation
        self.normalize = normalize
        self.missing = missing

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Check the parameters and the input; nothing is learned.

        It is there so that a wrong pattern or input is told when a pipeline is fitted;
        `transform` works without it.

        Parameters
        ----------
        X : collection of str or of token lists, or TokenSequences
            Rows of an iterator are not looked at, so that none is used up.
        y : None
            Ignored.

        Returns
        -------
        Tokenizer
            As it was.
        """
        self._splitter()
        if not isinstance(X, Iterator):
            self._count_missing(self._read(X, _no_tokens))
        return self

    def fit_transform(self, X, y=None):
        """Check the parameters and split X in one go, also if it is an iterator.

        An iterator is read once, from its beginning to its end.

        Parameters
        ----------
        X : collection of str or of token lists, or TokenSequences
            As for `transform`.
        y : None
            Ignored.

        Returns
        -------
        TokenSequences
            One sequence a row of X.
        """
        tokens = self.transform(X)
        self._count_missing(tokens)
        return tokens

    def transform(self, X):
        """Split texts into tokens.

        The same text gives the same tokens whatever else is in X; the codes are those
        of X, in first-seen order.

        Parameters
        ----------
        X : collection of str or of token lists, or TokenSequences
            List, tuple, array, generator, or pandas or polars Series or one-column
            DataFrame. Token lists are taken as they are.

        Returns
        -------
        TokenSequences
            One sequence a row of X.
        """
        return self._read(X, self._checked_splitter())

    def _read(self, X, split):
        return check_tokens(X, caller="Tokenizer", split=split, missing=self.missing)

    def _count_missing(self, tokens):
        self.n_missing_ = count_missing(tokens)

    def get_feature_names_out(self, input_features=None):
        """Return one name, "tokens": the output is one column of sequences.

        A pipeline asks each of its steps; names of dimensions come from the sources
        behind.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Ignored.

        Returns
        -------
        ndarray of object, shape (1,)
            The one name.
        """
        return np.array(["tokens"], dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def _checked_splitter(self):
        """Return `_splitter()`; parameters are checked again only if they changed."""
        params = [getattr(self, name) for name in self._parameter_constraints]
        known = _SPLITTERS.get(self)
        if known is None or not all(map(is_, known[0], params)):
            self._validate_params()
            known = _SPLITTERS[self] = params, self._splitter()
        return known[1]

    def _splitter(self):
        """Return the function from texts to TokenSequences that is asked for."""
        self._check_exclusive()
        prepare = partial(
            prepare_texts, lowercase=self.lowercase, normalize=self.normalize
        )
        if self.tokenizer is not None:
            split = partial(_split_by_call, self.tokenizer, prepare)
            return partial(_split, split, prepare, locate_in_order)
        if self.token_pattern is None:
            rule = word_rule(self.punctuation)
            plain = partial(split_words, rule=rule)
            locate = partial(locate_words, punctuation=self.punctuation)
        else:
            pattern = _checked_pattern(self.token_pattern)
            rule = run_rule(self.token_pattern)
            plain = partial(_split_by_pattern, pattern.findall)
            locate = partial(locate_matches, pattern=pattern)
        split = partial(split_texts, rule=rule, plain=plain, prepare=prepare)
        return partial(_split, split, prepare, locate)

    def _check_exclusive(self):
        if self.token_pattern is not None and self.tokenizer is not None:
            raise ValueError(
                "Tokenizer: token_pattern and tokenizer are both given, but only one "
                "of them can say what a token is. Set the other to None."
            )
        own = self.token_pattern is not None or self.tokenizer is not None
        if self.punctuation and own:
            raise ValueError(
                "Tokenizer: punctuation=True belongs to the default splitting into "
                "words, but token_pattern or tokenizer is given and says itself "
                "whether punctuation is a token. Set punctuation=False."
            )


def _checked_pattern(pattern):
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ValueError(
            f"Tokenizer: token_pattern={pattern!r} is no regular expression that "
            f"Python's re can read: {error}. Allowed is any such expression, for "
            r"example r'\w+'; signs such as ( [ * + ? need a backslash before them."
        ) from error
    if compiled.groups > 1:
        raise ValueError(
            f"Tokenizer: token_pattern={pattern!r} has {compiled.groups} capturing "
            "groups; at most one is allowed, it marks the token. Write (?:...) for "
            "groups that capture nothing."
        )
    if compiled.fullmatch("") is not None:
        raise ValueError(
            f"Tokenizer: token_pattern={pattern!r} matches the empty string, so empty "
            "tokens would stand in every gap. Use + in place of *, for example."
        )
    return compiled


def _no_tokens(texts):
    return TokenSequences.from_lists([[]] * len(texts))


def _split(split, prepare, locate, texts):
    return with_texts(split(texts), texts, prepare, locate)


def _split_by_pattern(findall, texts):
    return [findall(text) for text in texts]


def _split_by_call(function, prepare, texts):
    return TokenSequences.from_lists(
        [_called(function, text, i) for i, text in enumerate(prepare(texts))]
    )


def _called(function, text, i):
    tokens = function(text)
    wanted = "It must return a list (or tuple) of str."
    if not isinstance(tokens, list | tuple):
        raise TypeError(
            f"Tokenizer: tokenizer returned {type(tokens).__name__} for row {i}. "
            + wanted
        )
    for j, token in enumerate(tokens):
        if not isinstance(token, str):
            raise TypeError(
                f"Tokenizer: tokenizer returned {type(token).__name__} ({token!r}) as "
                f"token {j} of row {i}. {wanted}"
            )
    return [str(token) for token in tokens]
