"""Read lists in cells, as tools save them, and join their items for encoding.

`["a", "b"]` is saved as `['a', 'b']` by pandas (`[np.str_('a'), np.str_('b')]` for
strings of NumPy), `['a' 'b']` by NumPy, as `["a","b"]` in JSON, as `[a, b]` by DuckDB
and Spark, `{a,b}` by PostgreSQL and `c("a", "b")` by R. All of these, and the list
itself, are encoded as `a, b`.
"""

import re
import unicodedata
from collections import Counter

_SAVED = re.compile(
    r"(?:(?:c|list|set|frozenset|tuple|array)(?=\())?"
    r"(?P<open>[\[({])(?P<items>.*)[\])}]",
    re.DOTALL,
)
_CLOSING = {"[": "]", "(": ")", "{": "}"}
# The items of "array([...], dtype='<U5')".
_INNER = re.compile(r"[\[{](.*)[\]}](?:,\s*dtype=[\w'<>|]+)?", re.DOTALL)
# An item in quotes before a comma or a space, or an item without quotes before a comma.
_ITEM = re.compile(
    r"""\s*(?:(?:np\.str_\()?(?:'((?:[^'\\]|\\.|'')*)'|"((?:[^"\\]|\\.|"")*)")\)?"""
    r"""\s*(?:,|(?=['"]|np\.)|$)|([^\s,\[\](){}'"][^,\[\]{}]*)?(?:,|$))""",
    re.DOTALL,
)
_BRACKETS = re.compile(r"[\[({].*[\])}]", re.DOTALL)
_SEPARATORS = (";", "|", ",", " / ", "\n")
_MISSING = frozenset(["None", "NULL", "null", "NA", "nan", "NaN", "<NA>"])
_PAIR = re.compile(r"\S\s*[:=]\s*\S")  # an item of a mapping such as {"a": 1}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)|''|\"\"", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


def parse_list(text):
    """Return the items of a list saved as text, or None if the text is not a list.

    Missing items are left out. In parentheses, items need quotes.
    """
    match = _SAVED.fullmatch(text)
    if match is None or _CLOSING[match["open"]] != text[-1]:
        return None
    body = match["items"]
    inner = _INNER.fullmatch(body) if match["open"] == "(" else None
    body = (inner[1] if inner else body).rstrip()
    items, place = [], 0
    while place < len(body):
        item = _ITEM.match(body, place)
        if item is None:
            return None
        single, double, bare = item.groups()
        quoted = single if double is None else double
        if quoted is not None:
            items.append(_unescape(quoted))
        elif bare is not None and bare.strip() not in _MISSING:
            if match["open"] == "(" or (match["open"] == "{" and _PAIR.search(bare)):
                return None
            items.append(bare)
        place = item.end()
    return tuple(unicodedata.normalize("NFC", item.strip()) for item in items)


def as_list_text(cell, separator):
    """Return the items of a list, or of a list saved as text, joined by a separator.

    Other texts are returned unchanged: they contain the separator, or are one item.
    """
    items = cell if isinstance(cell, tuple) else parse_list(cell)
    return cell if items is None else separator.join(filter(None, items))


def _unescape(text):
    """Return a quoted text without backslashes and repeated quotes."""
    if "\\" not in text and "''" not in text and '""' not in text:
        return text
    return _ESCAPE.sub(_escaped, text)


def _escaped(match):
    code = match[1]
    if code is None:
        return match[0][0]
    is_number = len(code) > 1
    return chr(int(code[1:], 16)) if is_number else _ESCAPED.get(code, code)


def are_saved_lists(sample):
    """Return whether nearly all values are saved lists of texts."""
    lists = [parse_list(text) for text in sample.texts]
    if sample.share([each is not None for each in lists]) < 0.9:
        return False
    # An item in quotes is a str.
    bare = [
        x or () for x, t in zip(lists, sample.texts, strict=True) if not {*t} & {*"'\""}
    ]
    items = [item for each in bare for item in each]
    n_numbers = sum(item.strip("+-").replace(".", "").isdecimal() for item in items)
    has_several = any(len(each) > 1 for each in bare)
    are_repeated = sample.counts.sum() >= 2 * len(lists)
    are_bare_lists = 2 * n_numbers < len(items) and (has_several or are_repeated)
    return any(lists) and (not items or are_bare_lists)


def find_separator(sample):
    """Return the separator of lists that share their items, or "" if there is none."""
    if sample.share(map(_BRACKETS.fullmatch, sample.texts)) >= 0.9:
        return ""
    for mark in _SEPARATORS:
        rows = [[*filter(None, map(str.strip, t.split(mark)))] for t in sample.texts]
        rows = [[*dict.fromkeys(row)] for row in rows]
        several = sample.share(len(row) > 1 for row in rows)
        if several >= 0.1 and _share_items([row for row in rows if len(row) > 1]):
            has_one = sample.share(mark in text for text in sample.texts)
            has_space = sample.share(f"{mark} " in text for text in sample.texts)
            return f"{mark} " if has_space > has_one / 2 else mark
    return ""


def _share_items(rows):
    """Return whether rows share short items with other rows, in any position."""
    first = {row[0] for row in rows}
    later = {item for row in rows for item in row[1:]}
    items = [item for row in rows for item in row]
    n_rows = Counter(items)
    shared = sum(n_rows[item] > 1 for item in items)
    anywhere = sum(item in first and item in later for item in items)
    words = sum(len(item.split()) for item in items)
    digits = sum(any(map(str.isdecimal, item)) for item in items)
    n = len(items)
    short = words < 4 * n and digits < n / 10
    return short and shared > 0.4 * n and anywhere > 0.15 * n
