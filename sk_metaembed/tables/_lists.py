"""Lists in a cell: how tools save them, and the text by which they are encoded.

`["a", "b"]` is saved as `['a', 'b']` by pandas (`[np.str_('a'), np.str_('b')]` if its
items are of NumPy), `['a' 'b']` by NumPy, as `["a","b"]` in JSON, as `[a, b]` by DuckDB
and Spark, `{a,b}` by PostgreSQL and `c("a", "b")` by R. All of these, and the list
itself, are encoded as `a, b`.
"""

import re
import unicodedata

_SAVED = re.compile(
    r"(?:(?:c|list|set|frozenset|tuple|array)(?=\())?"
    r"(?P<open>[\[({])(?P<items>.*)[\])}]",
    re.DOTALL,
)
_CLOSING = {"[": "]", "(": ")", "{": "}"}
# Of "array([...], dtype='<U5')".
_INNER = re.compile(r"[\[{](.*)[\]}](?:,\s*dtype=[\w'<>|]+)?", re.DOTALL)
# An item in quotes, which a comma or a space ends, or an item without, up to a comma.
_ITEM = re.compile(
    r"""\s*(?:(?:np\.str_\()?(?:'((?:[^'\\]|\\.|'')*)'|"((?:[^"\\]|\\.|"")*)")\)?"""
    r"""\s*(?:,|(?=['"]|np\.)|$)|([^\s,\[\](){}'"][^,\[\]{}]*)?(?:,|$))""",
    re.DOTALL,
)
_MISSING = frozenset(["None", "NULL", "null", "NA", "nan", "NaN", "<NA>"])
_PAIR = re.compile(r"\S\s*[:=]\s*\S")  # of a mapping such as {"a": 1}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)|''|\"\"", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


def parse_list(text):
    """Return the items of a list saved as text, None if the text is not such a list.

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


def is_saved_list(text):
    """Return whether a text is a list that a tool saved."""
    return parse_list(text) is not None


def as_list_text(cell, separator):
    """Return a list, or the text in which it is saved, as items with a separator.

    Other texts are returned as they are: they have the separator, or a single item.
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
