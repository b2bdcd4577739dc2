"""ElmoOptions: the content of options.json of a bidirectional language model."""

import json
from numbers import Integral, Real
from pathlib import Path
from typing import NamedTuple

from ..._core._sklearn import Interval, StrOptions, validate_parameter_constraints

# The 256 bytes, and marks: sentence begin and end, word begin and end, padding.
N_CHARACTERS = 261


class ElmoOptions(NamedTuple):
    """Shapes and options of a network; `ElmoLanguageModel` documents them."""

    projection_dim: int = 128
    cell_dim: int = 512
    n_layers: int = 2
    cell_clip: float | None = 3.0
    proj_clip: float | None = 3.0
    skip_connections: bool = True
    char_dim: int = 16
    max_characters: int = 50
    filters: tuple = ((1, 32), (2, 32), (3, 64), (4, 128))
    n_highway: int = 1
    activation: str = "relu"

    @property
    def n_filters(self):
        """Total number of filters of all widths."""
        return sum(number for _, number in self.filters)


_COUNT = [Interval(Integral, 1, None, closed="left")]
_CLIP = [Interval(Real, 0, None, closed="neither"), None]
_REQUIRED = object()


class _Option(NamedTuple):
    """An option in files and in `architecture`."""

    path: str  # keys in options.json of AllenNLP and bilm-tf, joined by dots
    constraints: list
    default: object = _REQUIRED  # the value of an option that a file lacks


_OPTIONS = {
    "projection_dim": _Option("lstm.projection_dim", _COUNT),
    "cell_dim": _Option("lstm.dim", _COUNT),
    "n_layers": _Option("lstm.n_layers", _COUNT),
    "cell_clip": _Option("lstm.cell_clip", _CLIP, None),
    "proj_clip": _Option("lstm.proj_clip", _CLIP, None),
    "skip_connections": _Option("lstm.use_skip_connections", ["boolean"], False),
    "char_dim": _Option("char_cnn.embedding.dim", _COUNT),
    "max_characters": _Option(
        "char_cnn.max_characters_per_token",
        [Interval(Integral, 3, None, closed="left")],
        50,
    ),
    "filters": _Option("char_cnn.filters", ["array-like"]),
    "n_highway": _Option(
        "char_cnn.n_highway", [Interval(Integral, 0, None, closed="left")], 0
    ),
    "activation": _Option(
        "char_cnn.activation", [StrOptions({"relu", "tanh"})], "relu"
    ),
}


def read_options(file):
    """Return the ElmoOptions in a file in AllenNLP's or bilm-tf's format.

    Raises FileNotFoundError, or a ValueError that names the file and the invalid
    option.

    >>> import json, pathlib, tempfile
    >>> lstm = {"projection_dim": 2, "dim": 3, "n_layers": 2}
    >>> cnn = {"embedding": {"dim": 4}, "filters": [[1, 4], [2, 8]], "n_highway": 1}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "options.json")
    ...     text = json.dumps({"lstm": {**lstm, "cell_clip": 3}, "char_cnn": cnn})
    ...     _ = file.write_text(text)
    ...     options = read_options(file)
    >>> options.filters, options.cell_clip, options.proj_clip, options.max_characters
    (((1, 4), (2, 8)), 3, None, 50)
    """
    content = _parse(file)
    if content.get("bidirectional") is False:
        raise ValueError(
            f"'bidirectional' in {file} must be true: ELMo has two directions."
        )
    # Options for inference count the padding row, options for training do not.
    n_characters = content["char_cnn"].get("n_characters", N_CHARACTERS)
    if n_characters not in (N_CHARACTERS, N_CHARACTERS + 1):
        raise ValueError(
            f"'char_cnn.n_characters' in {file} must be {N_CHARACTERS} (for "
            f"training) or {N_CHARACTERS + 1}; got {n_characters!r}."
        )
    values = {name: _value(file, content, name) for name in _OPTIONS}
    values["skip_connections"] = bool(values["skip_connections"])
    shown_names = {name: option.path for name, option in _OPTIONS.items()}
    return _make_options(values, shown_names, f"ELMo in {file}")


def options_to_dict(options):
    """Return options in AllenNLP's format for inference."""
    content = {}
    for name, option in _OPTIONS.items():
        *groups, key = option.path.split(".")
        inner = content
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[key] = getattr(options, name)
    # Including AllenNLP's padding row.
    content["char_cnn"]["n_characters"] = N_CHARACTERS + 1
    return content


def checked_options(architecture):
    """Return the ElmoOptions of the `architecture` of an `ElmoLanguageModel`.

    >>> checked_options({"n_layers": 1}).n_layers
    1
    """
    unknown = sorted(set(architecture) - set(_OPTIONS))
    if unknown:
        raise ValueError(
            f"architecture has no key {unknown[0]!r}; its keys are {[*_OPTIONS]}."
        )
    shown_names = {name: name for name in _OPTIONS}
    return _make_options(
        architecture, shown_names, "the architecture of ElmoLanguageModel"
    )


def _make_options(values, shown_names, owner):
    """Return ElmoOptions, or raise a ValueError with the owner and the shown name.

    Other options have their defaults. Filters become pairs of int.
    """
    for name, value in values.items():
        if isinstance(value, bool) and name != "skip_connections":
            value = repr(value)  # in Python, a bool is a number
        shown = shown_names[name]
        constraints = {shown: _OPTIONS[name].constraints}
        validate_parameter_constraints(constraints, {shown: value}, owner)
    options = ElmoOptions(**values)
    most = options.max_characters
    try:
        filters = tuple((int(width), int(number)) for width, number in options.filters)
    except (TypeError, ValueError):
        filters = ()
    if not filters or not all(1 <= w <= most and n >= 1 for w, n in filters):
        raise ValueError(
            f"The {shown_names['filters']!r} parameter of {owner} must be pairs of "
            "width and number, such as ((1, 32), (2, 64)), with widths up to the "
            f"{most} characters of a word. Got {options.filters!r} instead."
        )
    return options._replace(filters=filters)


def _parse(file):
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(
            f"no options file {str(path)!r}. Pass the options.json of the same "
            "model as the weights, as a path or URL."
        )
    try:
        content = json.loads(path.read_text("utf-8"))
    except ValueError as error:  # includes UnicodeDecodeError
        raise ValueError(f"the options {path} are not JSON: {error}.") from error
    if not isinstance(content, dict) or "lstm" not in content:
        raise ValueError(
            f"{path} does not hold ELMo options: 'lstm' is missing. It must be a "
            "JSON object with the keys 'lstm' and 'char_cnn'."
        )
    if not isinstance(content.get("char_cnn"), dict):
        raise ValueError(
            f"'char_cnn' is missing in {path}: it is a model of whole words. Only "
            "models that read characters are supported, because they embed any word."
        )
    return content


def _value(file, content, name):
    """Return an option of a file, or its default if the file lacks it or has null."""
    path, _, default = _OPTIONS[name]
    for depth, key in enumerate(path.split("."), 1):
        if not isinstance(content, dict) or key not in content:
            if default is _REQUIRED:
                missing = ".".join(path.split(".")[:depth])
                raise ValueError(f"{missing!r} is missing in the options {file}.")
            return default
        content = content[key]
    return default if content is None and default is not _REQUIRED else content
