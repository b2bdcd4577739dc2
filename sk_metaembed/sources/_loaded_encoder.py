"""Encoders that users have loaded: their files, copies and pickles."""

import json
import os
import sys
import tempfile
from copy import copy
from pathlib import Path

from ._encoder_modules import MODULES, SETTINGS, check_task, select_route


class LoadedHandle:
    """Handle on a model that the user has loaded: pickles and saved files contain it.

    A mixin to the left of a `Handle`. A subclass sets `_contents`, the arguments with
    which its class method `of` returns the process's handle.
    """

    _contents: tuple

    def _reference(self):
        """Return {}: a saved file contains the model itself."""
        return {}

    def __reduce__(self):
        return _of_contents, (type(self), *self._contents)


def _of_contents(cls, *contents):
    """Return the handle of a pickle; cloudpickle would write a method by value."""
    return cls.of(*contents)


class ModelParameterMixin:
    """Share a loaded model among clones, and make it picklable.

    A subclass defines `_portable_model`.
    """

    def _portable_model(self):
        """Return the object that pickles contain for a loaded model, else None.

        Its attribute `parameter` is a value of the parameter `model`.
        """
        raise NotImplementedError

    def __sklearn_clone__(self):
        # scikit-learn copies parameters deeply; a loaded model is shared instead.
        if isinstance(self.model, str | os.PathLike):
            return super().__sklearn_clone__()
        light = copy(self)
        light.model = None
        new = super(ModelParameterMixin, light).__sklearn_clone__()
        new.model = self.model
        return new

    def _saved_attributes(self):
        """Return the attributes that files contain, with a loaded model portable."""
        portable = self._portable_model()
        return vars(self) if portable is None else {**vars(self), "model": portable}

    def __getstate__(self):
        state, portable = super().__getstate__(), self._portable_model()
        return state if portable is None else {**state, "model": portable}

    def __setstate__(self, state):
        model = state["model"]
        super().__setstate__({**state, "model": getattr(model, "parameter", model)})


_ROUTER = "Router"
_TASK = "task.json"  # names the task of the saved modules


def is_sentence_encoder(model):
    """Return whether an object is a SentenceTransformer."""
    library = sys.modules.get("sentence_transformers")
    return library is not None and isinstance(model, library.SentenceTransformer)


def is_static_model(model):
    """Return whether an object is a StaticModel of model2vec."""
    library = sys.modules.get("model2vec")
    return library is not None and isinstance(model, library.StaticModel)


def loaded_modules(model, task):
    """Return class and module of each step of a SentenceTransformer.

    A Router is replaced by its modules for the task.
    """
    if not _has_router(model):
        check_task(task, f"the {type(model).__name__}")
    results = []
    for module in model.children():
        parts = [module]
        if type(module).__name__ == _ROUTER:
            route = select_route(
                list(module.sub_modules),
                module.route_mappings,
                module.default_route,
                task,
                type(model).__name__,
            )
            parts = module.sub_modules[route]
        results += [(type(part).__name__, part) for part in parts]
    return results


def _has_router(model):
    return any(type(module).__name__ == _ROUTER for module in model.children())


def check_route(files, task):
    """Raise ValueError if files have the modules of a Router for another task."""
    if _TASK not in files:
        return
    expected = json.loads(files[_TASK])
    if task != expected:
        raise ValueError(
            f"task={task!r}, but this copy of a loaded model contains the modules for "
            f"task={expected!r} only. Pass the whole model again."
        )


def write_modules(model, modules, folder, task):
    """Write modules of a SentenceTransformer for a task, and its settings."""
    folder, listed = Path(folder), []
    for i, (kind, module) in enumerate(modules):
        place = folder / f"{i}_{kind}"
        place.mkdir()
        module.save(str(place))
        _write_current(kind, module, place)
        name = f"{type(module).__module__}.{kind}"
        listed.append({"idx": i, "name": str(i), "path": place.name, "type": name})
    settings = {
        "prompts": dict(model.prompts),
        "default_prompt_name": model.default_prompt_name,
        "truncate_dim": model.truncate_dim,
    }
    contents = {MODULES: listed, SETTINGS: settings}
    if _has_router(model):
        contents[_TASK] = task
    for name, content in contents.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")


def _write_current(kind, module, place):
    """Write all words of WordEmbeddings; the library saves a repeated word once.

    Saving it once would move the rows of later words.
    """
    if kind != "WordEmbeddings" or not hasattr(module.tokenizer, "word2idx"):
        return
    path = next(place.glob("*tokenizer_config.json"))
    rows = module.tokenizer.word2idx
    words = [max(rows, key=rows.get)] * len(module.emb_layer.weight)
    for word, row in rows.items():
        words[row] = word
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(content | {"vocab": words}), encoding="utf-8")


def content_of(write):
    """Return the files that ``write(folder)`` writes, bytes by name."""
    with tempfile.TemporaryDirectory() as folder:
        write(folder)
        return read_files(folder)


def read_files(folder):
    """Return the files of a folder, bytes by name."""
    paths = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in paths}


def write_files(content, folder):
    """Write files, bytes by name, into a folder."""
    for name, data in content.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
