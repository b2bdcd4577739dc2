"""Tokenizer: split texts into token sequences."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import is_
from typing import Literal, Self
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from .._core._estimators import fit_context
from .._core._frames import as_list
from .._core._sklearn import StrOptions
from .._core._typing import Names, Texts
from ._characters import run_rule
from ._mixins import MISSING_CONSTRAINT, SequencesOutputMixin
from ._row_errors import is_token_list, plain_tokens
from ._split import prepare_texts, split_texts, words_splitter
from ._text_spans import locate_in_order, locate_matches
from ._token_sequences import TokenSequences
from ._validation import check_tokens, count_missing

# Checking the parameters takes as long as splitting a short text, so (parameters,
# splitter) are stored for each Tokenizer.
_SPLITTERS: WeakKeyDictionary[Tokenizer, tuple] = WeakKeyDictionary()


class Tokenizer(SequencesOutputMixin, TransformerMixin, BaseEstimator):
    r"""Split texts into tokens and code each distinct token.

    The first step of a pipeline on texts. Token lists and a `TokenSequences` pass
    through unchanged. It learns nothing: `fit` only checks the parameters and the
    input.

    Parameters
    ----------
    token_pattern : str, default=None
        Regular expression whose matches are the tokens, as in ``re.findall``; with one
        capturing group, the content of the group. None splits into Unicode words, see
        Notes.
    tokenizer : callable, default=None
        Function from one text to its tokens, a list, tuple, array or iterator of str,
        instead of `token_pattern`.
    lowercase : bool, default=True
        Whether to lowercase texts first, by ``str.lower``.
    punctuation : bool, default=False
        Whether every other visible character is a token too, as in the vocabulary of
        GloVe. Applies only to the default splitting into Unicode words.
    normalize : {"NFC", "NFKC", "NFD", "NFKD"} or None, default="NFC"
        Unicode normal form of the lowercased texts. In NFC, an accented letter is one
        character, however it was typed; word vectors are usually stored in this form.
    missing : {"raise", "empty"}, default="raise"
        Whether missing rows (None, NaN, ``pd.NA``, null of polars) raise an error or
        are empty sequences. ``Pooling(add_indicator=True)`` adds a column that marks
        them.

    Attributes
    ----------
    n_missing_ : int
        Number of missing rows in the data of `fit` or `fit_transform`. Not set if `fit`
        is passed an iterator, which it does not read.

    Raises
    ------
    TypeError
        If X is a single string or not a collection, a row is neither a str nor a list
        of str, or `tokenizer` does not return tokens.
    ValueError
        If `token_pattern` is not a valid regular expression, has several groups or
        matches the empty string, or parameters exclude each other.

    Warns
    -----
    UserWarning
        If `fit` sees texts without spaces between words, such as Chinese, Japanese or
        Thai, and neither `token_pattern` nor `tokenizer` is set.

    See Also
    --------
    TokenSequences : The output.
    sklearn.feature_extraction.text.CountVectorizer : Splits and counts, without order.

    Notes
    -----
    A *Unicode word* is a letter, digit or underscore, together with all letters,
    digits, underscores, combining marks, variation selectors and zero-width joiners or
    non-joiners that follow. (The ``\w`` of Python's `re` excludes combining marks and
    so splits Devanagari words, and accents typed as two characters.) Scripts without
    spaces give runs of characters: pass a segmenter, such as ``tokenizer=jieba.lcut``
    for Chinese, or a pattern for characters.

    With ``punctuation=True`` each further visible character is one token, together with
    the marks, variation selectors, joiners, skin tones and tags after it, the symbol
    that a zero-width joiner joins to it, and the second half of a flag: one emoji is
    one token. A mark that follows nothing visible is a token of its own. White space,
    control and format characters, lone surrogates, and selectors or joiners that follow
    nothing visible are separators.

    Long input is split into Unicode words, and into runs of one class of characters
    such as ``\S+`` or ``(?u)\b\w\w+\b``, by compiled code, in as many threads as numba
    may use (``NUMBA_NUM_THREADS``). Other patterns are matched by `re`.

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
    >>> han = r"\u4e00-\u9fff"
    >>> characters = Tokenizer(token_pattern=rf"[{han}]|[^\W{han}]+")
    >>> characters.transform(["用iPhone打开灯"])[0]
    ['用', 'iphone', '打', '开', '灯']
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
        token_pattern: str | None = None,
        *,
        tokenizer: Callable[[str], Iterable[str]] | None = None,
        lowercase: bool = True,
        punctuation: bool = False,
        normalize: Literal["NFC", "NFKC", "NFD", "NFKD"] | None = "NFC",
        missing: Literal["raise", "empty"] = "raise",
    ) -> None:
        self.token_pattern = token_pattern
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.punctuation = punctuation
        self.normalize = normalize
        self.missing = missing

    @fit_context
    def fit(self, X: Texts, y: object = None) -> Self:
        """Check the parameters and the input; `transform` works without it.

        Parameters
        ----------
        X : collection of str or of token lists, or TokenSequences
            Rows of an iterator are not checked, because that would consume them.
        y : None
            Ignored.

        Returns
        -------
        Tokenizer
            The estimator itself.
        """
        self._splitter()
        self.__dict__.pop("n_missing_", None)  # from an earlier fit
        if not isinstance(X, Iterator):
            tokens = check_tokens(X, split=_no_tokens, missing=self.missing)
            self._check_input(X, tokens)
        return self

    def fit_transform(self, X: Texts, y: object = None) -> TokenSequences:
        """Check the parameters and split X; an iterator is read once.

        Parameters
        ----------
        X : collection of str or of token lists, or TokenSequences
            As for `transform`.
        y : None
            Ignored.

        Returns
        -------
        TokenSequences
            One sequence per row of X.
        """
        tokens = self.transform(X)
        self._check_input(X, tokens)
        return tokens

    def transform(self, X: Texts) -> TokenSequences:
        """Split texts into tokens; codes number the types in first-seen order.

        Parameters
        ----------
        X : collection of str or of token lists, or TokenSequences
            List, tuple, array, generator, or pandas or polars Series or one-column
            DataFrame. Token lists are not changed.

        Returns
        -------
        TokenSequences
            One sequence per row of X.
        """
        return check_tokens(X, split=self._checked_splitter(), missing=self.missing)

    def _check_input(self, X, tokens):
        """Count the missing rows, and warn about texts without spaces."""
        self.n_missing_ = count_missing(tokens)
        by_default = self.token_pattern is None and self.tokenizer is None
        if by_default and tokens is not X and tokens.texts is not None:
            warn_unspaced(tokens.texts)

    def get_feature_names_out(self, input_features: object = None) -> Names:
        """Return the name of the only output column, "tokens".

        Parameters
        ----------
        input_features : array-like of str, default=None
            Ignored.

        Returns
        -------
        ndarray of object, shape (1,)
            The name.
        """
        return np.array(["tokens"], dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def _checked_splitter(self):
        """Return `_splitter()`, stored until a parameter changes."""
        params = [getattr(self, name) for name in self._parameter_constraints]
        cached = _SPLITTERS.get(self)
        if cached is None or not all(map(is_, cached[0], params)):
            self._validate_params()
            cached = _SPLITTERS[self] = params, self._splitter()
        return cached[1]

    def _splitter(self):
        """Return a function from texts to TokenSequences, as the parameters specify."""
        self._check_exclusive()
        prepare = partial(
            prepare_texts, lowercase=self.lowercase, normalize=self.normalize
        )
        if self.tokenizer is not None:
            rule, split = None, partial(_split_by_function, self.tokenizer)
            locate = locate_in_order
        elif self.token_pattern is not None:
            pattern = _checked_pattern(self.token_pattern)
            rule = run_rule(self.token_pattern)
            split = partial(map, pattern.findall)
            locate = partial(locate_matches, pattern=pattern)
        else:
            return words_splitter(bool(self.punctuation), prepare)
        return partial(
            split_texts, rule=rule, split=split, prepare=prepare, locate=locate
        )

    def _check_exclusive(self):
        if self.token_pattern is not None and self.tokenizer is not None:
            raise ValueError(
                "token_pattern and tokenizer are both set, but only one of "
                "them can define the tokens. Set the other to None."
            )
        is_custom = self.token_pattern is not None or self.tokenizer is not None
        if self.punctuation and is_custom:
            raise ValueError(
                "punctuation=True applies to the default splitting into words, but "
                "token_pattern or tokenizer is set, which defines the tokens. Set "
                "punctuation=False."
            )


def _checked_pattern(pattern):
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ValueError(
            f"token_pattern={pattern!r} is not a regular expression of "
            rf"Python's re: {error}. Pass one such as r'\w+', with a backslash before "
            "characters such as ( [ * + ?"
        ) from error
    if compiled.groups > 1:
        raise ValueError(
            f"token_pattern={pattern!r} has {compiled.groups} capturing "
            "groups; at most one is allowed, which captures the token. Write (?:...) "
            "for groups that do not capture."
        )
    if compiled.fullmatch("") is not None:
        raise ValueError(
            f"token_pattern={pattern!r} matches the empty string, so there "
            "would be an empty token in every gap. Use + instead of *, for example."
        )
    return compiled


def _no_tokens(texts):
    tokens = TokenSequences.from_lists([[]] * len(texts))
    return tokens._with_row_info(texts=np.fromiter(texts, object, len(texts)))


def _split_by_function(function, texts):
    for i, text in enumerate(texts):
        tokens = function(text)
        if not (is_token_list(tokens) or isinstance(tokens, Iterator)):
            raise TypeError(
                f"tokenizer returned {type(tokens).__name__} for row {i}. It must "
                "return the tokens of a text, a list, tuple, array or iterator of str."
            )
        yield plain_tokens(as_list(tokens), f"the output of tokenizer for row {i}")


# Thai, Lao, Burmese, Khmer, Hiragana, Katakana and Chinese characters.
_SCRIPTS = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff"
_RUN = re.compile(f"[{_SCRIPTS}]+")
_KATAKANA = re.compile("[\u30a0-\u30ff]+")  # alone: a loan word, which may be long
_LETTER = re.compile(r"\w")
_N_TEXTS, _N_CHARACTERS = 100, 200  # size of the sample: texts, and characters of each
_MIN_SHARE = 0.5  # of letters in runs, among all letters
_MIN_LENGTH = 4  # mean letters per run: in segmented texts, runs are words and shorter


def warn_unspaced(texts):
    """Warn if texts are mostly in scripts without spaces, and not segmented."""
    sample = "\n".join(text[:_N_CHARACTERS] for text in texts[:_N_TEXTS])
    if sample.isascii():
        return
    runs = [run for run in _RUN.findall(sample) if not _KATAKANA.fullmatch(run)]
    n_letters = len(_LETTER.findall("".join(runs)))
    is_segmented = n_letters < _MIN_LENGTH * max(len(runs), 1)
    if is_segmented or n_letters < _MIN_SHARE * len(_LETTER.findall(sample)):
        return
    longest = max(runs, key=len)
    warnings.warn(
        "Tokenizer: the texts have no spaces between words, so a token is a whole run "
        f"of characters, such as {longest[:20]!r}, and hardly any occurs twice. Pass a "
        "function that splits a text into words or characters as tokenizer; see "
        '"Several languages" in the user guide. Sources that read the texts themselves '
        "do not depend on it.",
        UserWarning,
        stacklevel=4,
    )
