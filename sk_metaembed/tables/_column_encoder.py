"""Encode one column of a table by what it contains."""

import re
import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from .._core._errors import short_repr
from ._cells import typed_text
from ._column_format import ColumnFormat, choose_column_format
from ._column_reading import float_names, read_column, read_example, unread_cells
from ._dates import first_ambiguous, read_dates
from ._learners import as_float32, offset
from ._numbers import first_with_decimal, read_numbers
from ._string_features import StringFeatures
from ._text_meta_encoder import TextMetaEncoder
from ._times import has_database

_MAX_ONE_HOT = 40  # values of a category, one indicator per value
_STRINGS = ("category", "name", "code", "text", "url", "list")
# Values that repeat are known from the training rows, so their vectors add noise.
_REPEATED = ("category", "url")
_N_EXAMPLES = 3
# Number of distinct texts that are searched for an ambiguous text.
_SAMPLE = 2000
# For each notation, the other notations that are certainly read alike.
_SAME = {
    "time": ("h:mm", "duration"), "h:mm": ("time",),
    "duration": ("m:ss", "time"), "m:ss": ("duration",),
}  # fmt: skip
_ROUNDED = re.compile(r"\d(?:\.\d+)?[eE]\+\d\d")  # a number without its last digits


class Column(NamedTuple):
    """How a column of a table is encoded, an entry of `TableEncoder.columns_`.

    `kind` is the kind in `ColumnFormat`, or "duplicate". `encodings` names the
    encodings of the column, and is empty if the column is not used. `n_features` is the
    number of columns of the output, `n_distinct` and `n_missing` count values of the
    training rows. `r2` is the share of the target's variance that a ridge regression on
    the strings explains, out of fold.
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


def fit_column(
    name,
    cells,
    is_duplicate,
    targets,
    folds,
    weights,
    *,
    ngrams,
    sources,
    n_components,
    random_state,
):
    """Decide the format of a column, and fit its encoder to the training rows.

    Strings that have many values are encoded by n-grams, if ``ngrams=True``, and by
    `sources`, a TextMetaEncoder or None; categories and web addresses by only one of
    the two. There are no features if an earlier column has the same cells. The other
    parameters are described in `StringFeatures`.

    Returns the `ColumnEncoder` and the features, float32 (n_rows, n_features).
    """
    column_format = choose_column_format(cells, name)
    if is_duplicate:
        n_distinct, n_missing = column_format.n_distinct, column_format.n_missing
        column_format = ColumnFormat(
            "duplicate", n_distinct=n_distinct, n_missing=n_missing
        )
    kind = column_format.kind
    floats, texts, notations = read_column(cells, column_format)
    encoder = ColumnEncoder(name, column_format, notations)
    encoder._check_zones()
    is_string = kind in _STRINGS
    if is_string:
        encoder.codes, encoder.code_length = find_codes(texts)
        if cells.notation == "text" and kind != "list":
            encoder.notations = _notations_of_texts(cells) | notations
    if column_format.numbers is not None:
        encoder.offset = offset(floats)
        written = _texts(cells)
        if written:
            encoder.ambiguous = encoder._check_decimals(written)
        if not any({*".,"} & {*text} for text in written):
            is_whole = (floats[np.isfinite(floats)] % 1 == 0).all()
            encoder.unshown = ".," if is_whole else ","
    parts = [floats - encoder.offset]
    has_few = column_format.categorical and column_format.n_distinct <= _MAX_ONE_HOT
    dates = column_format.dates
    has_words = column_format.sentinels or (dates is not None and dates.placeholders)
    if has_few or has_words or (is_string and ngrams):
        encoder.strings = StringFeatures(
            one_hot=has_few or not is_string,
            n_components=n_components,
            random_state=random_state,
            lowercase=kind != "list",
        )
        strings = encoder.strings.fit_transform(texts, targets, folds, weights)
        parts.append(strings)
    is_known = ngrams and kind in _REPEATED
    if sources is not None and is_string and not (has_few or is_known):
        encoder.sources = clone(sources)
        parts.append(encoder.sources.fit_transform(texts.tolist()))
    features = as_float32(np.hstack(parts))
    if not features.shape[1]:
        encoder.notations = {}  # later cells may be written in any way
    return encoder, features


@dataclass(eq=False)
class ColumnEncoder:
    """The encoder of a column, which `fit_column` fits."""

    name: str
    format: ColumnFormat
    notations: dict  # first cell of each notation in the training rows
    offset: float = 0.0  # subtracted from the numbers of the column
    codes: dict | None = None  # the output of `find_codes`
    code_length: int = 0
    ambiguous: str = ""  # a number in fit that is valid with either decimal separator
    unshown: str = ""  # separators whose role no number in fit shows
    strings: StringFeatures | None = None
    sources: TextMetaEncoder | None = None

    def transform(self, cells):
        """Return the features of cells, float32."""
        floats, texts = self._read(cells)
        parts = [floats - self.offset]
        if self.strings is not None:
            parts.append(self.strings.transform(texts))
        if self.sources is not None:
            parts.append(self.sources.transform(texts.tolist()))
        return as_float32(np.hstack(parts))

    def feature_names(self, target_names):
        """Return the names of the features."""
        names = [*float_names(self.format)]
        if self.strings is not None:
            names += self.strings.feature_names(target_names)
        if self.sources is not None:
            names += self.sources.get_feature_names_out().tolist()
        return [f"{self.name}__{name}" if name else self.name for name in names]

    def _read(self, cells):
        """Return the numbers and the texts of cells.

        Issues a warning if some cells are not of the column's kind, or are written
        differently than in fit.
        """
        column_format = self.format
        reading = read_column(cells, column_format)
        floats, texts, notations = reading
        if cells.notation.endswith("date") and column_format.numbers is not None:
            dates = cells.values[~np.isnat(cells.values)]
            if len(dates) and not np.isfinite(floats).any():
                raise TypeError(
                    f"column {self.name!r} had numbers in fit, but has dates, such as "
                    f"{dates[0].astype('datetime64[s]')}. Convert them as in fit."
                )
        written = _texts(cells)
        if written and column_format.numbers is not None:
            self._check_decimals(written)
        if written and column_format.dates is not None:
            self._check_dates(written)
        if column_format.kind in _STRINGS:
            texts = self._restore_codes(texts, cells.notation == "number")
        self._check_notations(notations, texts)
        unread = unread_cells(cells, reading, column_format)
        if unread.any():
            values = [*dict.fromkeys(cells.values[unread].tolist())][:_N_EXAMPLES]
            if cells.notation != "text" and cells.notation != "number":
                values = [typed_text(value, cells.notation) for value in values]
            self._warn(
                f"was {column_format.noun} in fit; {np.count_nonzero(unread):,} of "
                f"{len(cells.values):,} values are not, and count as missing: "
                f"{', '.join(map(short_repr, values))}."
            )
        return floats, texts

    def _check_decimals(self, texts):
        """Warn about texts whose decimal separator differs from the format.

        Returns a number such as "1,234", which can have either separator, from these
        texts or else from fit; "" if there is none.
        """
        number_format = self.format.numbers
        mark, other = (".", ",") if number_format.decimal == "." else (",", ".")
        suspects = [text for text in texts if other in text or text.count(mark) > 1]
        against = first_with_decimal(suspects, other)
        either = first_with_decimal(texts[:_SAMPLE], "?") or self.ambiguous
        suspects = [text for text in texts if {*text} & {*self.unshown}]
        alone = first_with_decimal(suspects, "?")
        if against and either:
            number = read_numbers([either], number_format)[0][0]
            self._warn(
                f"has {against!r}, but {mark!r} is taken as its decimal separator, so "
                f"that {either!r} is read as {number:g}. Write all of its numbers in "
                "one way."
            )
        elif np.isfinite(number := read_numbers([alone], number_format)[0][0]):
            separator = other if other in alone else mark
            self._warn(
                f"has {alone!r}, which is read as {number:g}, but no value in fit "
                f"shows whether {separator!r} separates decimals. Write it as in fit, "
                f"without {separator!r}."
            )
        return either

    def _check_dates(self, texts):
        """Warn about dates if no cell in fit shows which number is the day."""
        order = self.format.dates.order
        text = first_ambiguous(texts, order)
        date = read_dates([text], order)[0][0].astype("datetime64[D]")
        if not np.isnat(date):
            self._warn(
                f"has {text!r}, which is read as {date}, but no value in fit shows the "
                "order of its day, month and year. Pass dates, or strings such as "
                f"{str(date)!r}."
            )

    def _restore_codes(self, texts, is_float):
        """Return texts with each number replaced by the only code in fit that matches.

        Warns about numbers that match several codes, or lack their last digits.
        """
        distinct_texts = [*dict.fromkeys(texts)]
        restored, several = {}, None
        for number in filter(str.isdecimal, distinct_texts):
            codes = self._codes_with_zeros(number)
            if len(codes) > 1 and (is_float or number not in codes):
                several = several or (number, codes)
            if len(codes) == 1 and codes[0] != number:
                restored[number] = codes[0]
        if several:
            self._warn(
                f"has the number {several[0]}, which can be "
                f"{' or '.join(map(short_repr, several[1]))}: a number has no zeros in "
                "front. Read it as str, as in fit."
            )
        rounded = [t for t in distinct_texts if "+" in t and _ROUNDED.fullmatch(t)]
        if rounded and not self._know_all(np.array(rounded, dtype=object)):
            self._warn(
                f"had strings in fit, but has the number {rounded[0]}: a float has at "
                "most 17 digits. Read it as str, as in fit."
            )
        if restored:
            texts = np.array([*(restored.get(t, t) for t in texts), None], object)[:-1]
        return texts

    def _codes_with_zeros(self, number):
        """Return the codes that match a number, such as "007" and "7" for 7."""
        padded = number.zfill(self.code_length)
        if self.codes is None:
            return [padded]
        return self.codes.get(number) or sorted({number, padded})

    def _check_zones(self):
        """Warn about zones of unknown offset, and times with and without zones."""
        for notation, example in self.notations.items():
            zone = notation.partition(" in ")[2]
            if zone:
                is_lost = "/" in zone and not has_database()
                self._warn(
                    f"has {short_repr(example)}, but the offset of {zone!r} from UTC "
                    f"is not known{' without the package tzdata' * is_lost}: times are "
                    "read as they are written. Write offsets, such as '+05:30'."
                )
        zoned = [n for n in self.notations if n.startswith("zoned") or " in " in n]
        others = [n for n in self.notations if n in ("date", "time", "h:mm")]
        if zoned and others:
            both = [short_repr(self.notations[n[0]]) for n in (zoned, others)]
            self._warn(
                f"has {both[0]}, with a time zone, and {both[1]}, without one, which "
                "is read as UTC. Write all of its times in one way."
            )

    def _check_notations(self, notations, texts):
        """Warn about cells in a notation that did not occur in fit."""
        if not self.notations:
            return
        same = {"bool", "number"} if self.format.kind == "binary" else set()
        same |= {each for n in self.notations for each in (n, *_SAME.get(n, ()))}
        new = next((notation for notation in notations if notation not in same), None)
        if new is None or (self.format.kind in _STRINGS and self._know_all(texts)):
            return
        known, example = next(iter(self.notations.values())), notations[new]
        meaning = read_example(example, self.format)
        self._warn(
            f"was written as {short_repr(known)} in fit, but has {short_repr(example)}"
            f"{', which is read as ' * bool(meaning)}{meaning}. Write it as in fit."
        )

    def _know_all(self, texts):
        """Return whether all texts are known to occur in the training rows."""
        return self.strings is not None and self.strings.know_all(texts)

    def _warn(self, message):
        warnings.warn(f"column {self.name!r} {message}", UserWarning, stacklevel=3)

    def describe(self, n_features):
        """Return the `Column` of this encoder."""
        column_format = self.format
        encodings = []
        if column_format.numbers or column_format.dates or column_format.inside:
            encodings.append("numbers" if column_format.inside else column_format.kind)
        if self.strings is not None:
            encodings.append("indicators" if self.strings.one_hot else "ngrams")
            if self.strings.coef_ is not None:
                encodings.append("predictions")
        if self.sources is not None:
            encodings.append("sources")
        r2 = None if self.strings is None else self.strings.r2_
        counts = n_features, column_format.n_distinct, column_format.n_missing
        return Column(self.name, column_format.kind, tuple(encodings), *counts, r2)


def _texts(cells):
    """Return the distinct texts among cells, excluding lists."""
    values = cells.values if cells.notation == "text" else ()
    return [text for text in dict.fromkeys(values) if isinstance(text, str)]


def _notations_of_texts(cells):
    """Return the notations that texts resemble, with the first text of each.

    Numbers, bools and dates in later tables are read as such texts.
    """
    texts, found = _texts(cells)[:_SAMPLE], {}
    for text, of_date in zip(texts, read_dates(texts, "mdy")[1], strict=True):
        notation = of_date.replace("year", "") or "text"
        if text in ("True", "False"):
            notation = "bool"
        with suppress(ValueError):
            float(text)
            notation = "number"
        found.setdefault(notation, text)
    # The first one is shown in warnings.
    return dict(sorted(found.items(), key=lambda item: item[0] != "text"))


# Codes of digits, whose leading zeros are lost in numbers.


def find_codes(texts):
    """Return codes such as "007" by their numbers, and the length of the codes.

    The length is 0 if no code has leading zeros. The codes are None if all codes have
    one length, to which numbers are padded with zeros. If few texts are digits, a
    number can also be a text by itself.
    """
    texts = {*texts} - {""}
    digits = sorted(filter(str.isdecimal, texts))
    length = max((len(text) for text in digits if text[0] == "0"), default=0)
    if length < 2:
        return None, 0
    are_most = len(digits) >= len(texts) / 2
    if are_most and {*map(len, digits)} == {length}:
        return None, length
    codes = {}
    for text in digits:
        codes.setdefault(text.lstrip("0") or "0", []).append(text)
    for number, found in codes.items():
        if not are_most and number not in found:
            found.append(number)
    return codes, length
