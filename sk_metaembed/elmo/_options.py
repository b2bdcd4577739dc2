"""ElmoOptions: what options.json tells of a bidirectional language model."""

import json
from pathlib import Path
from typing import NamedTuple

# The 256 bytes, and marks: sentence begin and end, word begin and end, padding.
N_CHARACTERS = 261
_ACTIVATIONS = ("relu", "tanh")


class ElmoOptions(NamedTuple):
    """Shapes and switches of a bidirectional language model.

    Parameters
    ----------
    projection_dim, cell_dim, n_layers : int
        Of the LSTMs, in each direction.
    cell_clip, proj_clip : float or None
        Largest absolute value of cells and of projections; None for any.
    skip_connections : bool
        Whether layers after the first add their input to their output.
    char_dim, max_characters : int
        Dimension of a character; characters a word, its two marks included.
    filters : tuple of (width, number)
    n_highway : int
    activation : {"relu", "tanh"}
        Of the filters.
    """

    projection_dim: int
    cell_dim: int
    n_layers: int
    cell_clip: float | None
    proj_clip: float | None
    skip_connections: bool
    char_dim: int
    max_characters: int
    filters: tuple
    n_highway: int
    activation: str

    @property
    def n_filters(self):
        """Number of filters of all widths."""
        return sum(number for _, number in self.filters)


def read_options(file):
    """Return the options in a file of AllenNLP's or bilm-tf's format.

    Parameters
    ----------
    file : path-like

    Returns
    -------
    ElmoOptions

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is no JSON, or lacks an option or has a strange one; the message names
        file and option.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> lstm = {"projection_dim": 2, "dim": 3, "n_layers": 2}
    >>> cnn = {"embedding": {"dim": 4}, "filters": [[1, 4], [2, 8]], "n_highway": 1}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "options.json")
    ...     text = json.dumps({"lstm": {**lstm, "cell_clip": 3}, "char_cnn": cnn})
    ...     _ = file.write_text(text)
    ...     options = read_options(file)
    >>> options.filters, options.cell_clip, options.proj_clip, options.max_characters
    (((1, 4), (2, 8)), 3.0, None, 50)
    """
    told = _parsed(file)
    if told.get("bidirectional") is False:
        raise _wrong(file, "'bidirectional'", False, "true: ELMo has two directions")
    _check_characters(file, told)
    most = _number(
        file, told, "char_cnn", "max_characters_per_token", default=50, least=3
    )
    return ElmoOptions(
        projection_dim=_number(file, told, "lstm", "projection_dim"),
        cell_dim=_number(file, told, "lstm", "dim"),
        n_layers=_number(file, told, "lstm", "n_layers"),
        cell_clip=_clip(file, told, "cell_clip"),
        proj_clip=_clip(file, told, "proj_clip"),
        skip_connections=bool(
            _found(file, told, "lstm", "use_skip_connections", default=False)
        ),
        char_dim=_number(file, told, "char_cnn", "embedding", "dim"),
        max_characters=most,
        filters=_filters(file, told, most),
        n_highway=_number(file, told, "char_cnn", "n_highway", default=0, least=0),
        activation=_activation(file, told),
    )


def options_of(model, *, caller):
    """Return the options of an `ElmoLanguageModel` that begins from nothing.

    Parameters
    ----------
    model : ElmoLanguageModel
    caller : str
        Begins the error message.

    Returns
    -------
    ElmoOptions

    Raises
    ------
    ValueError
        If the filters are none.
    """
    try:
        filters = tuple((int(width), int(n)) for width, n in model.filters)
    except (TypeError, ValueError):
        filters = ()
    fit = [1 <= width <= model.max_characters and n >= 1 for width, n in filters]
    if not fit or not all(fit):
        raise ValueError(
            f"{caller}: filters must be pairs of width and number, such as ((1, 32), "
            f"(2, 64)), no wider than the {model.max_characters} characters of a word; "
            f"got {model.filters!r}."
        )
    return ElmoOptions(
        model.projection_dim,
        model.cell_dim,
        model.n_layers,
        model.cell_clip,
        model.proj_clip,
        bool(model.skip_connections),
        model.char_dim,
        model.max_characters,
        filters,
        model.n_highway,
        model.activation,
    )


def _parsed(file):
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(
            f"ELMo: there is no options file {str(path)!r}. Give the options.json that "
            "belongs to the weights: its path, or its URL."
        )
    try:
        told = json.loads(path.read_text("utf-8"))
    except ValueError as error:  # also what is no text
        raise ValueError(
            f"ELMo: {path} cannot be read as options: it is no JSON ({error})."
        ) from error
    if not isinstance(told, dict) or "lstm" not in told:
        raise ValueError(
            f"ELMo: {path} holds no options of ELMo: there is no 'lstm' in it. "
            "Expected is a JSON object with 'lstm' and 'char_cnn'."
        )
    if "char_cnn" not in told:
        raise ValueError(
            f"ELMo: {path} has no 'char_cnn': a model over whole words. Only models "
            "that read characters embed any word, and only they can be loaded."
        )
    return told


_REQUIRED = object()


def _found(file, told, *keys, default=_REQUIRED):
    for depth, key in enumerate(keys):
        if not isinstance(told, dict) or key not in told:
            if default is not _REQUIRED:
                return default
            path = ".".join(keys[: depth + 1])
            raise ValueError(f"ELMo: the options {file} lack {path!r}.")
        told = told[key]
    return told


def _number(file, told, *keys, default=_REQUIRED, least=1):
    value = _found(file, told, *keys, default=default)
    if value is None and default is not _REQUIRED:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise _wrong(file, repr(".".join(keys)), value, f"a whole number >= {least}")
    return value


def _clip(file, told, key):
    value = _found(file, told, "lstm", key, default=None)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise _wrong(file, f"'lstm.{key}'", value, "a positive number or null")
    return float(value)


def _filters(file, told, longest):
    value = _found(file, told, "char_cnn", "filters")
    try:
        pairs = tuple((int(width), int(number)) for width, number in value)
    except (TypeError, ValueError):
        pairs = ()
    usable = [1 <= width <= longest and number >= 1 for width, number in pairs]
    if not usable or not all(usable):
        wanted = (
            "pairs of width and number, such as [[1, 32], [2, 64]], no wider than the "
            f"{longest} characters of a word"
        )
        raise _wrong(file, "'char_cnn.filters'", value, wanted)
    return pairs


def _activation(file, told):
    value = _found(file, told, "char_cnn", "activation", default="relu")
    if value not in _ACTIVATIONS:
        raise _wrong(file, "'char_cnn.activation'", value, f"one of {_ACTIVATIONS}")
    return value


def _check_characters(file, told):
    # Files for training leave the padding row out, those for use count it.
    value = _found(file, told, "char_cnn", "n_characters", default=N_CHARACTERS)
    if value not in (N_CHARACTERS, N_CHARACTERS + 1):
        wanted = f"{N_CHARACTERS} (from training) or {N_CHARACTERS + 1}"
        raise _wrong(file, "'char_cnn.n_characters'", value, wanted)


def _wrong(file, key, value, wanted):
    return ValueError(f"ELMo: {key} in {file} is {value!r}; it must be {wanted}.")
