"""What displays share: matplotlib, late, and colours that all can tell apart."""

# Okabe and Ito's palette; hatches and markers tell apart where there is no colour.
_COLOURS = (
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
    """Return colour and hatch of the bars with that number."""
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "hatch": _HATCHES[number % len(_HATCHES)],
        "edgecolor": "black",
        "linewidth": 0.6,
    }


def point_style(number):
    """Return colour and marker of the points with that number."""
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "marker": _MARKERS[number % len(_MARKERS)],
        "edgecolor": "black",
        "linewidth": 0.6,
    }


def without_math(legend):
    """Return a legend whose names are shown as they are, dollars and all."""
    for text in [legend.get_title(), *legend.get_texts()]:
        text.set_parse_math(False)
    return legend


def make_axes(ax, size, caller):
    """Return axes to draw on: the given ones, or those of a new figure.

    Parameters
    ----------
    ax : matplotlib Axes or None
    size : (float, float)
        Width and height of a new figure in inches.
    caller : str
        Named where matplotlib is missing.
    """
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{caller}.plot needs matplotlib: pip install 'sk_metaembed[plot]'."
        ) from error
    return plt.subplots(figsize=size, layout="constrained")[1]
