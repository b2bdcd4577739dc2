"""The modules of a sentence encoder: the list in a folder, its settings, and the steps.

The file modules.json of sentence-transformers lists the steps from texts to vectors,
each with a class and a folder. A Router, in older versions Asym, has a list of modules
per route, of which a task selects one. Steps are read without sentence-transformers,
from JSON and tensors only. An unknown class raises an error, because vectors without
its step would differ from the authors' vectors.
"""

import json
import re
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ._fingerprint import fingerprint_of

MODULES = "modules.json"
SETTINGS = "config_sentence_transformers.json"
ROUTES = "router_config.json"
_ROUTERS = ("Router", "Asym")
# A key of a Router's mapping, for texts of one task or of any task.
_MAPPING = re.compile(r"""\((None|(['"])(\w+)\2), (None|(['"])text\5)\)""")
# Tasks that encode_query and encode_document pass to any model.
_USUAL_TASKS = ("query", "document")


class EncoderSettings(NamedTuple):
    """Settings of a sentence encoder outside of its modules."""

    prompts: dict = {}  # text of each prompt, by name
    default_prompt: str | None = None  # name of a prompt
    truncate_dim: int | None = None
    model_type: str = "SentenceTransformer"  # class of sentence-transformers

    def prompt(self, text, name, task, *, use_default=True):
        """Return `text`, the prompt for a name or a task, or the default prompt.

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
    """Return class and path of each module for texts of a task, [] if there are none.

    Classes that do not belong to sentence-transformers keep their whole name. Paths are
    relative to the folder. Raises ValueError if no route belongs to the task.
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
    """Raise ValueError if a model without a Router does not support a task."""
    if task not in (None, *_USUAL_TASKS):
        raise ValueError(
            f"task={task!r}, but {place} has no Router. Use task=None, 'query' or "
            "'document'; prompt_name selects a prompt."
        )


def _routed(folder, place, task):
    """Return the modules of a Router's route for a task, as `listed_modules` does."""
    file = Path(folder) / place / ROUTES
    if not file.is_file():
        file = file.with_name("config.json")  # the file of Asym
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
    """Return the routes of texts by (task, modality); either may be None.

    >>> _mappings({"route_mappings": {"('query', 'text')": "q", "(None, None)": "i"}})
    {('query', 'text'): 'q', (None, None): 'i'}
    """
    found = {}
    for key, route in (options.get("route_mappings") or {}).items():
        if match := _MAPPING.fullmatch(key):
            found[match[3], None if match[4] == "None" else "text"] = route
    return found


def select_route(routes, mappings, default, task, place):
    """Return the route of texts with a task; `place` is shown in the error.

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
    """Return a relative path, or raise if it leads out of the folder."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    if ".." in parts or path.startswith("/") or ":" in path:
        raise ValueError(f"the module's path {path!r} leads out of the folder.")
    return "/".join(part for part in parts if part != ".")


def optional_json(path):
    """Return the dict in a JSON file, {} if there is no file."""
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


_POOLING_FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_ACTIVATIONS = ("torch.nn.modules.activation", "torch.nn.modules.linear", "torch.nn")
_SENTENCE = "sentence_embedding"
# Classes of sentence-transformers whose results are not one dense vector per text.
_OTHER_MODELS = {
    "SparseEncoder": "vectors of the size of its vocabulary",
    "CrossEncoder": "scores of pairs of texts, and no vectors of texts",
    "MultiVectorEncoder": "one vector per subword, and none of whole texts",
}


class SentenceModules(NamedTuple):
    """The steps of a sentence encoder from vectors of subwords to vectors of texts."""

    steps: tuple  # the pooling and others, dicts of "kind" and options; see `_STEPS`
    weights: dict  # by step number and name in the step, "1.linear.weight"
    max_length: int | None = None  # None for the limit of tokenizer and network

    @property
    def pooling(self):
        """The options of the pooling step."""
        return self.steps[0]

    def dim(self, dim):
        """Return the dimension of vectors of texts, given the dimension of subwords."""
        dim *= len(self.pooling["modes"])
        for i, step in enumerate(self.steps):
            if step["kind"] == "Dense":
                dim = len(self.weights[f"{i}.linear.weight"])
        return dim

    def differs_from(self, output):
        """Return how modules change the pooled vectors, None if there is no change."""
        modes = self.pooling["modes"]
        if modes != [output]:
            return f"pooling by {', '.join(modes)}"
        kinds = [step["kind"] for step in self.steps[1:]]
        others = [kind for kind in kinds if kind != "Normalize"]
        return f"the module {others[0]}" if others else None

    @property
    def fingerprint(self):
        """Digest of the steps and their weights."""
        return fingerprint_of({"steps": self.steps}, self.weights.items())


def read_modules(folder, modules, *, pooling=None, max_length=None):
    """Return the SentenceModules of a folder; raise ValueError if one is not known.

    `modules` has (kind, place) of each module after the first. If the first module
    pools subwords, `pooling` has its modes.
    """
    steps, weights = [], {}
    if pooling is not None:
        steps.append({"kind": "Pooling", "modes": pooling, "include_prompt": True})
    for kind, place in modules:
        if kind not in _STEPS:
            raise unknown_module(kind)
        options = optional_json(folder / place / "config.json")
        step = {"kind": kind, **_STEPS[kind](options)}
        if kind in _WITH_WEIGHTS:
            arrays = read_weights(folder / place).items()
            weights |= {f"{len(steps)}.{name}": array for name, array in arrays}
        if kind != "Dropout":  # has no effect on frozen models
            steps.append(step)
    kinds = [step["kind"] for step in steps]
    if kinds[:1] != ["Pooling"] or kinds.count("Pooling") > 1:
        raise unknown_module("Transformer", f"the modules {kinds} after it")
    return SentenceModules(tuple(steps), weights, max_length)


def check_model_type(settings):
    """Raise ValueError if the EncoderSettings belong to a model of another type."""
    if settings.model_type in _OTHER_MODELS:
        raise ValueError(
            f"this folder has a {settings.model_type} of sentence-transformers, which "
            f"has {_OTHER_MODELS[settings.model_type]}. Use sentence-transformers "
            "itself. TransformerEmbedding(folder, output='words') reads its "
            "transformer."
        )
    if settings.model_type != "SentenceTransformer":
        raise unknown_module(settings.model_type, "a model of another type")


def _pooling(options):
    modes = options.get("pooling_mode")
    if modes is None:
        modes = [mode for flag, mode in _POOLING_FLAGS.items() if options.get(flag)]
        modes = modes or ["mean"]
    modes = [modes] if isinstance(modes, str) else list(modes)
    unknown = [mode for mode in modes if mode not in _POOLING_FLAGS.values()]
    if unknown:
        raise unknown_module("Pooling", f"pooling_mode={unknown[0]!r}")
    return {"modes": modes, "include_prompt": bool(options.get("include_prompt", True))}


def _dense(options):
    name = options.get("activation_function", "torch.nn.modules.activation.Tanh")
    module, _, activation = name.rpartition(".")
    if module not in _ACTIVATIONS:
        raise unknown_module("Dense", f"activation_function={name!r}")
    residual = bool(options.get("use_residual", False))
    _checked_place("Dense", options)
    return {"activation": activation, "use_residual": residual}


def _checked_place(kind, options):
    """Raise ValueError unless a module maps vectors of texts to vectors of texts."""
    source = options.get("module_input_name") or _SENTENCE
    target = options.get("module_output_name") or source
    if {source, target} != {_SENTENCE}:
        raise unknown_module(kind, f"{source!r} to {target!r}")
    return {}


_STEPS = {
    "Pooling": _pooling,
    "Dense": _dense,
    "LayerNorm": lambda options: {},
    "Normalize": lambda options: _checked_place("Normalize", options),
    "Dropout": lambda options: {},
}
_WITH_WEIGHTS = ("Dense", "LayerNorm")


def unknown_module(kind, what=None):
    """Return the error for a module that is not supported."""
    what = f" with {what}" if what else ""
    return ValueError(
        f"this sentence encoder has the module {kind}{what}, which is not computed "
        "here and cannot be skipped. Use sentence-transformers itself: "
        "FunctionEmbedding(model.encode, level='sequence', as_text=True). "
        "If it begins with a transformer, output='words' needs no modules."
    )


def read_weights(folder):
    """Return the arrays of a module by name, from safetensors or a pickle of tensors.

    torch reads only tensors from the pickle (``weights_only``), and runs no code.
    """
    path = Path(folder) / "model.safetensors"
    if path.is_file():
        from safetensors.torch import load_file

        tensors = load_file(path)
    else:
        path = Path(folder) / "pytorch_model.bin"
        if not path.is_file():
            raise FileNotFoundError(
                f"the module in {folder} has no weights. Expected model.safetensors or "
                "pytorch_model.bin."
            )
        tensors = read_pickle(path)
    return {name: tensor.float().numpy() for name, tensor in tensors.items()}


def read_pickle(path):
    """Return the tensors in a pickle by name; torch reads nothing else from it."""
    import torch

    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch's errors share no base class
        raise ValueError(
            f"{path} is not a file of tensors, or is corrupt: {error}"
        ) from error
    if not isinstance(tensors, dict):
        raise ValueError(f"{path} is corrupt: expected tensors by name.")
    return tensors
