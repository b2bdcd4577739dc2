"""LoadedStaticModel: a static model that the user has loaded."""

import hashlib
import json
import tempfile
from functools import partial

from .._loaded_encoder import (
    check_route,
    content_of,
    is_sentence_encoder,
    is_static_model,
    loaded_modules,
    read_files,
    write_files,
    write_modules,
)
from .._module_list import check_task
from ._model import StaticModel, StaticSpec
from ._model_files import find_files

_OPTIONS = "loaded.json"


class StaticContent:
    """The files of a static model, which pickles and saved files contain.

    Parameters
    ----------
    files : dict of str to bytes
    """

    def __init__(self, files):
        self.files = files

    @classmethod
    def of(cls, model, task):
        """Return the files that a model's library writes, for the texts of a task.

        None for something that is not a model of model2vec or sentence-transformers.
        """
        if isinstance(model, StaticContent):
            check_route(model.files, task)
            return model
        if is_static_model(model):
            check_task(task, "the StaticModel")
            return cls(content_of(model.save_pretrained))
        if is_sentence_encoder(model):
            modules = loaded_modules(model, task)
            write = partial(write_modules, model, modules, task=task)
            return cls(content_of(write))
        return None

    @property
    def parameter(self):
        """The value of the parameter `model` of a source."""
        return self

    def __repr__(self):
        size = sum(map(len, self.files.values()))
        return f"StaticContent({size:,} bytes)"


class LoadedStaticModel(StaticModel, keep=2):
    """A static model that the user has loaded, as it was at that time.

    Pickles and saved files contain its files.

    Parameters
    ----------
    content : StaticContent
    dim : int or None
        Of `StaticSpec`.
    """

    _kind = "loaded static model"

    def __init__(self, content, dim):
        self.content = content
        with tempfile.TemporaryDirectory() as folder:
            write_files(content.files, folder)
            super().__init__(StaticSpec(folder, None, dim), find_files(folder))

    @classmethod
    def of(cls, content, dim):
        """Return the process's handle of a model."""
        digest = hashlib.blake2b(digest_size=16)
        for name, data in sorted(content.files.items()):
            digest.update(f"{name} {len(data)} ".encode() + data)
        key = digest.hexdigest(), dim
        return cls._handles.get(key, lambda: cls(content, dim))

    @property
    def parameter(self):
        """The value of the parameter `model` of a source."""
        return self.content

    def _reference(self):
        """Return {}: a saved file contains the model itself."""
        return {}

    def _files(self):
        """Return the files that a saved file contains, by name."""
        options = json.dumps({"dim": self._spec.dim}).encode()
        return {**self.content.files, _OPTIONS: options}

    @classmethod
    def _from_reference(cls, content, folder=None):
        """Return the handle of the model in a folder."""
        files = read_files(folder)
        dim = json.loads(files.pop(_OPTIONS))["dim"]
        return cls.of(StaticContent(files), dim)

    def __reduce__(self):
        return _of_content, (self.content, self._spec.dim)


def _of_content(content, dim):
    return LoadedStaticModel.of(content, dim)
