"""Texts that mean a missing value: what tools write for it, and errors of spreadsheets.

The first list holds in every column: these texts are missing when `read_cells` returns.
The others are words that people write for a missing number or date, and may be values
of a category: `is_missing` adds them in columns of numbers and dates.
"""

# Read as missing by pandas, in any column.
_PANDAS = """
#N/A #NA -1.#IND -1.#QNAN -NaN -nan 1.#IND 1.#QNAN
<NA> N/A NA NULL NaN None n/a nan null
"""
# PostgreSQL and MySQL, database clients, Hive, Excel's pivot tables, MATLAB, Go, NumPy.
_TOOLS = r"""
\N (null) (NULL) [NULL] <null> <NULL> __HIVE_DEFAULT_PARTITION__ (blank) (Blank)
<missing> <undefined> <nil> NaT
"""
# Errors of Excel, LibreOffice and Google Sheets, in the languages of their users.
_ERRORS = """
#DIV/0! #VALUE! #REF! #NAME? #NUM! #NULL! #N/A! #SPILL! #CALC! #FIELD! #BLOCKED! #ERROR!
#CONNECT! #UNKNOWN! #BUSY! #PYTHON! #TIMEOUT! #EXTERNAL! #GETTING_DATA
#WERT! #BEZUG! #ZAHL! #NV #ÜBERLAUF! #KALK!
#VALEUR! #NOM? #NOMBRE! #NUL! #PROPAGATION! #CALCUL!
#¡DIV/0! #¡VALOR! #¡REF! #¿NOMBRE? #¡NUM! #¡NULO! #¡DESBORDAMIENTO!
#VALOR! #NOME? #NÚM! #NULO! #N/D #N/D! #DESPEJAR! #RIF! #VALORE! #NULLO!
#DEEL/0! #WAARDE! #VERW! #NAAM? #GETAL! #LEEG! #N/B #OVERLOOP!
#DZIEL/0! #ARG! #ADR! #NAZWA? #LICZBA! #ZERO!
#DIVISION/0! #VÄRDEFEL! #REFERENS! #NAMN? #OGILTIGT! #SAKNAS! #SKÄRNINGSPUNKT!
#ДЕЛ/0! #ЗНАЧ! #ССЫЛКА! #ИМЯ? #ЧИСЛО! #ПУСТО! #Н/Д
"""
_MISSING = frozenset(
    ["", "#N/A N/A", *f"{_PANDAS} {_TOOLS} {_ERRORS}".split()]
    + [f"Err:{number}" for number in range(501, 541)]  # LibreOffice
    + ["#" * width for width in range(3, 40)]  # a cell that is too narrow
)
# Of numbers and dates only, in lower case; ".a" to ".z" are those of SAS and Stata.
_ALSO = frozenset(
    ["na", "n.a.", "nat", "nil", "none", "undefined", "#n/a", "-nan", "\\n"]
    + ["nan(ind)", "-nan(ind)", "nan(snan)", "-nan(snan)"]  # of Microsoft's C
    + ["-", "--", "---", ".", "...", "?", "–", "—", "._"]
    + [f".{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    # of MySQL, and day 0 of Excel
    + ["0000-00-00", "0000-00-00 00:00:00", "00/00/0000", "1900-01-00", "1/0/1900"]
)
_LOWER = _ALSO | {text.casefold() for text in _MISSING}


def is_missing_anywhere(text):
    """Return whether a stripped text means a missing value in any column."""
    return text in _MISSING


def is_missing(text):
    """Return whether a text marks a missing number or date, such as "N/A" or "-"."""
    return text.strip().casefold() in _LOWER
