"""The modules of a sentence encoder that a folder lists, and its settings.

The file modules.json of sentence-transformers lists the steps from texts to vectors,
each with a class and a folder. A Router, in older versions Asym, has a list of modules
per route, of which a task selects one.
"""

import json
import re
from pathlib import Path, PurePosixPath
from typing import NamedTuple

MODULES = "modules.json"
SETTINGS = "config_sentence_transformers.json"
ROUTES = "router_config.json"
_ROUTERS = ("Router", "Asym")
# The key of a Router's mapping, for texts of a task or of any.
_MAPPING = re.compile(r"""\((None|(['"])(\w+)\2), (None|(['"])text\5)\)""")
# Tasks that encode_query and encode_document pass to any model.
_USUAL_TASKS = ("query", "document")


class EncoderSettings(NamedTuple):
    """Settings of a sentence encoder that belong to no module.

    Attributes
    ----------
    prompts : dict of str to str
    default_prompt : str or None
        Name of the prompt that is used by default.
    truncate_dim : int or None
        Number of dimensions to keep.
    model_type : str
        Class of sentence-transformers.
    """

    prompts: dict = {}
    default_prompt: str | None = None
    truncate_dim: int | None = None
    model_type: str = "SentenceTransformer"

    def prompt(self, text, name, task, *, use_default=True):
        """Return the prompt: `text`, that called `name`, that of a task or the default.

        A task has the prompt with its name, as in `encode_query`; the default prompt
        belongs to texts without a task.
        """
        if text is not None and name is not None:
            raise ValueError("prompt and prompt_name are both set. Use one.")
        if text is not None:
            return text
        if name is not None:
            if name not in self.prompts:
                raise ValueError(
                    f"prompt_name={name!r}, but the model's prompts are "
                    f"{sorted(self.prompts)}. Use one of them, or the text itself as "
                    "prompt."
                )
            return self.prompts[name]
        if not use_default:
            return ""
        usual = task in _USUAL_TASKS
        return self.prompts.get(task if usual else self.default_prompt, "")


def read_settings(folder):
    """Return the EncoderSettings of a folder."""
    path = Path(folder) / SETTINGS
    content = optional_json(path)
    prompts = content.get("prompts") or {}
    dim = content.get("truncate_dim")
    if dim is not None and not (type(dim) is int and dim > 0):
        raise ValueError(f"{path} has truncate_dim={dim!r}; expected a positive int.")
    return EncoderSettings(
        {name: text or "" for name, text in prompts.items()},
        content.get("default_prompt_name"),
        dim,
        content.get("model_type") or "SentenceTransformer",
    )


def listed_modules(folder, task=None):
    """Return class and path of each module that texts of a task pass; [] without any.

    Classes that do not belong to sentence-transformers keep their whole name. Paths are
    relative to the folder.

    Raises
    ------
    ValueError
        If files are corrupt, or no route belongs to the task.
    """
    file = Path(folder) / MODULES
    modules = read_json(file, list) if file.is_file() else []
    if not all(
        isinstance(module, dict)
        and isinstance(module.get("type"), str)
        and isinstance(module.get("path", ""), str)
        for module in modules
    ):
        raise ValueError(f"{file} is corrupt: expected a type and a path per module.")
    pairs = [(module_kind(m["type"]), _inside(m.get("path", ""))) for m in modules]
    if not any(kind in _ROUTERS for kind, _ in pairs):
        check_task(task, folder)
    results = []
    for kind, place in pairs:
        is_router = kind in _ROUTERS
        results += _routed(folder, place, task) if is_router else [(kind, place)]
    return results


def check_task(task, place):
    """Raise ValueError if a model without a Router cannot know a task."""
    if task not in (None, *_USUAL_TASKS):
        raise ValueError(
            f"task={task!r}, but {place} has no Router. Use task=None, 'query' or "
            "'document'; prompt_name selects a prompt."
        )


def _routed(folder, place, task):
    """Return the modules of a Router's route for a task, as `listed_modules` does."""
    file = Path(folder) / place / ROUTES
    if not file.is_file():
        file = file.with_name("config.json")  # of Asym
    content = read_json(file, dict)
    try:
        structure, types = dict(content["structure"]), dict(content["types"])
        options = dict(content.get("parameters") or {})
        default, mappings = options.get("default_route"), _mappings(options)
        if default is None and options.get("allow_empty_key", True):
            default = next(iter(structure))
        lists = {
            route: [(module_kind(types[name]), name) for name in names]
            for route, names in structure.items()
        }
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration) as error:
        raise ValueError(
            f"{file} is corrupt: expected the types and the structure of routes."
        ) from error
    route = select_route(list(lists), mappings, default, task, folder)
    modules = lists.get(route, [])
    return [(kind, _inside(f"{place}/{name}".strip("/"))) for kind, name in modules]


def _mappings(options):
    """Return the routes by task and modality, both or either None, of texts.

    >>> _mappings({"route_mappings": {"('query', 'text')": "q", "(None, None)": "i"}})
    {('query', 'text'): 'q', (None, None): 'i'}
    """
    found = {}
    for key, route in (options.get("route_mappings") or {}).items():
        if match := _MAPPING.fullmatch(key):
            found[match[3], None if match[4] == "None" else "text"] = route
    return found


def select_route(routes, mappings, default, task, place):
    """Return the route of texts with a task; `place` is for the message of the error.

    >>> select_route(["query", "document"], {}, "document", "query", "")
    'query'
    >>> select_route(["a", "b"], {(None, "text"): "b"}, "a", "query", "")
    'b'
    """
    for key in ((task, "text"), (task, None), (None, "text"), (None, None)):
        if key in mappings:
            return mappings[key]
    for name in (task, "text"):
        if name in routes:
            return name
    if task is None and default is not None:
        return default
    given = "no default route" if task is None else f"none for task={task!r}"
    raise ValueError(
        f"the Router of {place} has the routes {sorted(routes)}, and {given}. Use "
        f"task={sorted(routes)[0]!r} or another route."
    )


def module_kind(reference):
    """Return a module's class without its package, which changed between versions."""
    package, _, kind = reference.rpartition(".")
    return kind if package.partition(".")[0] == "sentence_transformers" else reference


def _inside(path):
    """Return a relative path as it is, or raise: it must not lead out of the folder."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    if ".." in parts or path.startswith("/") or ":" in path:
        raise ValueError(f"the module's path {path!r} leads out of the folder.")
    return "/".join(part for part in parts if part != ".")


def optional_json(path):
    """Return the dict in a JSON file, empty without the file."""
    return read_json(path, dict) if path.is_file() else {}


def read_json(path, kind):
    """Return the content of a JSON file; raise ValueError unless it is a `kind`."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not readable: {error}") from error
    if not isinstance(content, kind):
        raise ValueError(f"{path} is corrupt: expected a JSON {kind.__name__}.")
    return content
