"""Colors, markers and short texts of all displays."""

# Okabe and Ito's palette; hatches and markers distinguish groups without color.
_COLORS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#999999",
)
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "ooo", "---")
_MARKERS = ("o", "^", "s", "D", "P", "v", "X")


def bar_style(number):
    """Return the color and hatch of bar group `number`."""
    return {**_style(number), "hatch": _HATCHES[number % len(_HATCHES)]}


def point_style(number):
    """Return the color and marker of point group `number`."""
    return {**_style(number), "marker": _MARKERS[number % len(_MARKERS)]}


def _style(number):
    color = _COLORS[number % len(_COLORS)]
    return {"color": color, "edgecolor": "black", "linewidth": 0.6}


def shorten(text, length):
    """Return a text cut to a number of characters, with an ellipsis if it is longer."""
    return text if len(text) <= length else text[: length - 1] + "…"
