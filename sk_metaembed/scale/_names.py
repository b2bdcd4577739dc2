"""Names of columns, as users pass them."""


def listed(names, what, whose):
    """Return names as a list without repetitions.

    Parameters
    ----------
    names : str, iterable of str, or None
    what : str
        The parameter.
    whose : str
        Begins the error message.

    Raises
    ------
    TypeError
        If one is no str.

    Examples
    --------
    >>> listed("id", "keep", "f"), listed(("a", "b", "a"), "keep", "f")
    (['id'], ['a', 'b'])
    """
    if names is None:
        return []
    if isinstance(names, str):
        return [names]
    try:
        found = list(dict.fromkeys(names))
    except TypeError:
        found = None
    if found is None or not all(isinstance(name, str) for name in found):
        raise TypeError(
            f"{whose}: {what}={names!r:.60} must be the name of a column, a str, or a "
            "list of them. Columns that are numbered get names by "
            "frame.rename(columns=str)."
        )
    return found
