"""Encode one column of a table by what it contains."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._core._errors import short_repr
from ._cells import typed_text
from ._codes import codes_by_float, find_codes, is_rounded, may_be_rounded
from ._column_kinds import ColumnKind, as_noun, column_kind
from ._column_reading import (
    float_names,
    read_column,
    read_example,
    read_texts,
    unread_cells,
)
from ._date_order import first_ambiguous
from ._dates import parse_dates
from ._forms import find_new_form, forms_in_fit
from ._levels import has_fine_levels
from ._numbers import first_with_decimal, parse_numbers
from ._numbers_input import as_float32, offset
from ._zones import has_database

_MAX_ONE_HOT = 40  # values of a category with an indicator each
_STRINGS = ("category", "name", "code", "text", "url", "list")
# Values that repeat are known from the training rows; vectors of them add noise.
_REPEATED = ("category", "url")
_N_EXAMPLES = 3
# Distinct numbers that are searched for one that can be read in two ways.
_SAMPLE = 2000
_LARGEST_SINGLE = 2**24  # integers up to it are exact as float32
_WHOLE = "?"  # in place of a number that can be read in two ways


def _texts(cells):
    """Return the distinct str among cells."""
    values = cells.values if cells.form == "text" else ()
    return [text for text in dict.fromkeys(values) if isinstance(text, str)]


class Column(NamedTuple):
    """How a column of a table is encoded, an entry of `TableEncoder.columns_`.

    Attributes
    ----------
    name : str
    kind : str
        "number", "binary" (yes or no, 1 or 0), "date", "category" (few values, or
        values that repeat), "name" (short strings), "code" (strings with numbers
        inside), "text" (prose), "list", "url", "key" (distinct in each row, such as a
        counter), "constant", "empty" or "duplicate".
    encodings : tuple of str
        What is made of it; empty if the column is not used.
    n_features : int
        Number of columns in the output.
    n_distinct, n_missing : int
        Of the training rows.
    r2 : float or None
        How much of the target's variance a ridge regression on the strings explains,
        out of fold.
    """

    name: str
    kind: str
    encodings: tuple[str, ...]
    n_features: int
    n_distinct: int
    n_missing: int
    r2: float | None

    @property
    def is_string(self):
        """Whether the cells are read as strings."""
        return self.kind in _STRINGS

    @property
    def is_embedded(self):
        """Whether n-grams or sources encode the strings, rather than indicators."""
        return "ngrams" in self.encodings or "sources" in self.encodings


class ColumnEncoder(BaseEstimator):
    """Encode the `Cells` of a column as numbers.

    Not public.

    Parameters
    ----------
    name : str
    strings : StringFeatures
        For strings.
    ngrams : bool
        Whether to encode strings that have many values by n-grams.
    sources : TextMetaEncoder or None
        For strings that have many values, in addition; for categories and addresses
        of web pages only in place of n-grams.
    is_duplicate : bool
        Whether an earlier column has the same cells; it has no features then.
    """

    codes_, code_length_ = None, 0  # of columns from files without them
    forms_, zeros_ = None, None

    def __init__(self, name, strings, ngrams, sources, is_duplicate):
        self.name = name
        self.strings = strings
        self.ngrams = ngrams
        self.sources = sources
        self.is_duplicate = is_duplicate

    def fit_transform(self, cells, targets, folds, weights):
        """Decide the kind, fit, and return the features of the training rows."""
        kind = column_kind(cells, self.name)
        if self.is_duplicate:
            counts = {"n_distinct": kind.n_distinct, "n_missing": kind.n_missing}
            kind = ColumnKind("duplicate", **counts)
        self.kind_ = kind
        self.codes_, self.code_length_ = None, 0
        self.strings_ = self.sources_ = None
        is_string = kind.kind in _STRINGS
        is_listed = kind.categorical and kind.n_distinct <= _MAX_ONE_HOT
        (floats, forms), texts = read_column(cells, kind), read_texts(cells, kind)
        self.forms_ = forms_in_fit(cells, kind, forms)
        self.zeros_ = {}
        self.zeros_ = self._check_zeros(cells)
        self._check_zones(forms)
        if is_string:
            self.codes_, self.code_length_ = find_codes(texts)
        self.ambiguous_ = self._check_decimals(cells, known="")
        if not any("." in text or "," in text for text in _texts(cells)):
            is_whole = (floats[np.isfinite(floats)] % 1 == 0).all()
            self.ambiguous_ = _WHOLE if is_whole else None
        self.offset_ = offset(floats) if kind.number_format is not None else 0.0
        parts = [floats - self.offset_]
        if is_listed or kind.strays or (is_string and self.ngrams):
            self.strings_ = clone(self.strings)
            self.strings_.set_params(
                one_hot=is_listed or not is_string, lowercase=kind.kind != "list"
            )
            parts.append(self.strings_.fit_transform(texts, targets, folds, weights))
        is_known = self.ngrams and kind.kind in _REPEATED
        if self.sources is not None and is_string and not (is_listed or is_known):
            self.sources_ = clone(self.sources)
            parts.append(self.sources_.fit_transform(texts.tolist()))
        return as_float32(np.hstack(parts))

    def transform(self, cells):
        """Return the features of cells, float32."""
        parts = [self.read_floats(cells) - self.offset_]
        if self.strings_ is not None or self.sources_ is not None:
            texts = self._read_texts(cells)
        if self.strings_ is not None:
            parts.append(self.strings_.transform(texts))
        if self.sources_ is not None:
            parts.append(self.sources_.transform(texts.tolist()))
        return as_float32(np.hstack(parts))

    def _read_texts(self, cells):
        """Return texts of cells; numbers as the codes whose digits they lost."""
        texts = read_texts(cells, self.kind_)
        is_long = self.kind_.kind in _STRINGS and any(map(is_rounded, texts))
        long_codes = codes_by_float(self._known_texts()) if is_long else {}
        if self.code_length_ or long_codes:
            codes = {t: self._as_code(t, long_codes) for t in dict.fromkeys(texts)}
            texts = np.array([*map(codes.get, texts), None], dtype=object)[:-1]
        return texts

    def _as_code(self, text, long_codes):
        """Return the code of fit that a number can only be, else the text."""
        if is_rounded(text):
            found = long_codes.get(float(text), ())
        elif not self.codes_ and text.isdecimal() and self.code_length_:
            return text.zfill(self.code_length_)
        else:
            found = self.codes_.get(text, ()) if self.codes_ else ()
        return found[0] if len(found) == 1 else text

    def read_floats(self, cells):
        """Return the numbers of cells, with a warning if some are of another kind."""
        kind = self.kind_
        floats, forms = read_column(cells, kind)
        unread = unread_cells(cells, floats, kind)
        if cells.form.endswith("date") and kind.number_format is not None:
            dates = cells.values[~np.isnat(cells.values)]
            if len(dates) and not np.isfinite(floats).any():
                raise TypeError(
                    f"column {self.name!r} had numbers in fit, but has dates, such as "
                    f"{dates[0].astype('datetime64[s]')}. Convert them as in fit."
                )
        self._check_decimals(cells, known=self.ambiguous_)
        self._check_dates(cells)
        self._check_codes(cells)
        self._check_precision(cells)
        self._check_zeros(cells)
        self._check_forms(cells, forms)
        if unread.any():
            values = [*dict.fromkeys(cells.values[unread].tolist())][:_N_EXAMPLES]
            if cells.form != "text" and cells.form != "number":
                values = [typed_text(value, cells.form) for value in values]
            self._warn(
                f"was {as_noun(kind)} in fit; {np.count_nonzero(unread):,} of "
                f"{len(cells):,} values are not, and count as missing: "
                f"{', '.join(map(short_repr, values))}."
            )
        return floats

    def _check_decimals(self, cells, known):
        """Warn of other decimal separators; return a number that can have either.

        `known` is one of earlier cells, and "" if there is none. It is None if no
        earlier cell is a text with a separator, and `_WHOLE` if all are whole numbers.
        """
        number_format = self.kind_.number_format
        if number_format is None:
            return ""
        texts = _texts(cells)
        mark, other = (".", ",") if number_format.decimal == "." else (",", ".")
        suspects = [text for text in texts if other in text or text.count(mark) > 1]
        against = first_with_decimal(suspects, other)
        either = first_with_decimal(texts[:_SAMPLE], "?")
        either = either or (known if known != _WHOLE else "")
        if against and either:
            number = parse_numbers([either], number_format)[0]
            self._warn(
                f"has {against!r}, but {mark!r} is taken as its decimal separator, so "
                f"that {either!r} is read as {number:g}. Write all of its numbers in "
                "one way."
            )
            return either
        if known == _WHOLE:
            suspects = [text for text in texts if mark in text or other in text]
        elif known is not None:
            suspects = []
        alone = first_with_decimal(suspects, "?")
        separator = other if other in alone else mark
        number = parse_numbers([alone], number_format)[0]
        if np.isfinite(number):
            self._warn(
                f"has {alone!r}, which is read as {number:g}, but no value in fit "
                f"shows whether {separator!r} separates decimals. Write it as in fit, "
                f"without {separator!r}."
            )
        return either

    def _check_dates(self, cells):
        """Warn of dates whose day and month no cell of fit tells apart."""
        if self.kind_.dates is None:
            return
        order = self.kind_.dates.order
        text = first_ambiguous(_texts(cells), order)
        date = parse_dates([text], order)[0].astype("datetime64[D]")
        if not np.isnat(date):
            self._warn(
                f"has {text!r}, which is read as {date}, but no value in fit shows the "
                "order of its day, month and year. Pass dates, or strings such as "
                f"{str(date)!r}."
            )

    def _check_precision(self, cells):
        """Warn of float32 where the numbers of fit have more digits than it has."""
        if not cells.is_single:
            return
        kind = self.kind_
        has_codes = kind.kind in _STRINGS and "number" in (self.forms_ or ())
        is_fine = has_codes or self.offset_ or has_fine_levels(kind.levels)
        large = cells.values[np.abs(cells.values) >= _LARGEST_SINGLE]
        if is_fine and len(large):
            self._warn(
                f"has {large[0]:.0f} as float32, which does not tell all integers "
                f"from {_LARGEST_SINGLE:,} on apart, as fit did. Pass float64, "
                "integers or str."
            )

    def _check_zeros(self, cells):
        """Warn of digits that differ in zeros; return those of fit by their numbers."""
        if self.kind_.number_format is None:
            return {}
        texts = [text for text in _texts(cells) if text.isdecimal()]
        with_zeros = {text.lstrip("0") for text in texts if text[0] == "0" != text}
        known = dict(self.zeros_ or {})
        for text in texts:
            number = text.lstrip("0")
            is_zero = text[0] == "0" != text
            if number not in with_zeros or (self.zeros_ and not is_zero):
                continue
            first = known.setdefault(number, text)
            if first != text:
                self._warn(
                    f"has {first!r} and {text!r}, which are both read as "
                    f"{number or '0'}. Write codes with a letter in front, and numbers "
                    "without zeros in front."
                )
                break
        return known

    def _check_codes(self, cells):
        """Warn of numbers in a column of strings that can be several codes, or none.

        A number has no zeros in front, such as "007", and a float at most 17 digits.
        """
        is_encoded = self.strings_ is not None or self.sources_ is not None
        if self.kind_.kind not in _STRINGS or not is_encoded:
            return
        is_float, texts = cells.form == "number", read_texts(cells, self.kind_)
        texts = [text for text in dict.fromkeys(texts) if text]
        numbers = [text for text in texts if is_float or text.isdecimal()]
        for number in filter(str.isdecimal, numbers if self.codes_ else ()):
            padded = number.zfill(self.code_length_)
            found = self.codes_.get(number) or sorted({number, padded})
            if len(found) > 1 and (is_float or number not in found):
                self._warn(
                    f"has the number {number}, which can be "
                    f"{' or '.join(map(short_repr, found))}: a number has no zeros in "
                    "front. Read it as str, as in fit."
                )
                break
        rounded = [text for text in texts if may_be_rounded(text)]
        rounded = [text for text in rounded if not self._are_known_texts([text])]
        long_codes = codes_by_float(self._known_texts()) if rounded else {}
        for number in rounded:
            codes = long_codes.get(float(number), [])
            if codes if number.isdecimal() else len(codes) != 1:
                seen = " and ".join(map(short_repr, codes[:2])) or "strings"
                self._warn(
                    f"had {seen} in fit, but has the number {number}: a float has at "
                    "most 17 digits. Read it as str, as in fit."
                )
                break

    def _check_zones(self, forms):
        """Warn of zones without a known offset, and of times without one among others.

        `forms` are those of the training rows.
        """
        for form, example in forms.items():
            zone = form.partition(" in ")[2]
            if zone:
                is_lost = "/" in zone and not has_database()
                self._warn(
                    f"has {short_repr(example)}, but the offset of {zone!r} from UTC "
                    f"is not known{' without the package tzdata' * is_lost}: times are "
                    "read as they are written. Write offsets, such as '+05:30'."
                )
        zoned = [form for form in forms if form.startswith("zoned") or " in " in form]
        others = [form for form in forms if form in ("date", "time", "h:mm")]
        if zoned and others and self.kind_.kind != "duplicate":
            with_zone, without = (short_repr(forms[f[0]]) for f in (zoned, others))
            self._warn(
                f"has {with_zone}, with a time zone, and {without}, without one, which "
                "is read as UTC. Write all of its times in one way."
            )

    def _check_forms(self, cells, forms):
        """Warn of cells that are written in another way than all cells of fit."""
        if not self.forms_ or self.is_duplicate:
            return
        new = find_new_form(forms, self.forms_, self.kind_)
        if not new or (self.kind_.kind in _STRINGS and self._are_known(cells)):
            return
        known, example = next(iter(self.forms_.values())), forms[new]
        meaning = read_example(example, self.kind_)
        self._warn(
            f"was written as {short_repr(known)} in fit, but has {short_repr(example)}"
            f"{', which is read as ' * bool(meaning)}{meaning}. Write it as in fit."
        )

    def _are_known(self, cells):
        """Return whether all strings of cells occur in the training rows."""
        return self._are_known_texts([*{*self._read_texts(cells).tolist()} - {""}])

    def _known_texts(self):
        """Return the distinct strings of the training rows, if n-grams encode them."""
        return [] if self.strings_ is None else self.strings_.values_.tolist()

    def _are_known_texts(self, texts):
        return self.strings_ is not None and self.strings_.are_known(texts).all()

    def _warn(self, message):
        warnings.warn(f"column {self.name!r} {message}", UserWarning, stacklevel=3)

    def feature_names(self, target_names):
        """Return the names of the features."""
        names = [*float_names(self.kind_)]
        if self.strings_ is not None:
            names += self.strings_.feature_names(target_names)
        if self.sources_ is not None:
            names += self.sources_.get_feature_names_out().tolist()
        return [f"{self.name}__{name}" if name else self.name for name in names]

    def describe(self, n_features):
        """Return the `Column`."""
        kind = self.kind_
        encodings = []
        if float_names(kind):
            encodings.append("numbers" if kind.numbers else kind.kind)
        if self.strings_ is not None:
            encodings.append("indicators" if self.strings_.one_hot else "ngrams")
            if self.strings_.coef_ is not None:
                encodings.append("predictions")
        if self.sources_ is not None:
            encodings.append("sources")
        r2 = None if self.strings_ is None else self.strings_.r2_
        counts = n_features, kind.n_distinct, kind.n_missing
        return Column(self.name, kind.kind, tuple(encodings), *counts, r2)
