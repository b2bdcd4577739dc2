"""Compare how a column is written in fit with how it is written later.

A form is what a tool hands over ("number", "bool", "date", "zoned date", "time",
"duration", "text", "list"), or the family of a unit, such as "share" for "84.9%".
`read_column` returns the forms of the cells that it reads.
"""

from ._cells import distinct
from ._dates import dates_and_forms
from ._durations import same_forms

_SAMPLE = 2000  # distinct texts that are examined in fit


def forms_in_fit(cells, kind, forms):
    """Return the forms of the training rows, each with its first cell.

    In a column of strings, these include the forms that its texts look like.
    """
    is_string = kind.number_format is None and kind.dates is None
    if not is_string or kind.kind == "list" or cells.form != "text":
        return forms
    texts = [cell for cell in distinct(cells.values)[0][:_SAMPLE] if type(cell) is str]
    found = dict.fromkeys(["text"])
    for text, form in zip(texts, dates_and_forms(texts, "mdy")[1], strict=True):
        form = _plain_form(text) or form.replace("year", "") or "text"
        if found.get(form) is None:
            found[form] = text
    return {form: text for form, text in found.items() if text is not None} | forms


def _plain_form(text):
    """Return "bool" or "number" if a text is one as Python writes it, else ""."""
    if text in ("True", "False"):
        return "bool"
    try:
        float(text)
    except ValueError:
        return ""
    return "number"


def find_new_form(forms, known, kind):
    """Return the first form that is not known from fit, "" if there is none."""
    same = {"bool", "number"} if kind.kind == "binary" else set()
    same |= {other for form in known for other in (form, *same_forms(form))}
    return next((form for form in forms if form not in same), "")
