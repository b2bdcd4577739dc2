"""LoadedEncoder: a SentenceTransformer object as a model.

Its network, tokenizer and modules are used without a copy. Pickles and saved files
refer to the files that it was loaded from, if they contain the same weights.
"""

from weakref import WeakKeyDictionary

from ..._io._handle import Handle, shared
from .._fingerprint import fingerprint_of
from ._loaded_model import LoadedModel
from ._model import ModelSpec, TransformerModel
from ._sentence_files import as_arrays, route_of, sentence_modules

# Handles stay open as long as the SentenceTransformer, which they do not refer to.
_in_use: WeakKeyDictionary = WeakKeyDictionary()


def is_encoder(model):
    """Return whether something is a SentenceTransformer or works like one."""
    return (
        hasattr(model, "encode")
        and hasattr(model, "tokenizer")
        and hasattr(model, "prompts")
        and hasattr(model, "state_dict")
        and hasattr(model, "__getitem__")
    )


def encoder_place(model):
    """Return the folder or name of the files of a SentenceTransformer.

    Raises TypeError if there are none, or they have other weights.
    """
    return loaded_encoder(model)._by_reference()._spec.model


def loaded_encoder(model, task=None):
    """Return the process's LoadedEncoder; a new one if weights or options changed."""
    parts, tasks = _parts(model, task)
    settings = {
        "prompts": dict(model.prompts),
        "default_prompt_name": model.default_prompt_name,
        "truncate_dim": getattr(model, "truncate_dim", None),
    }
    modules = sentence_modules(parts, settings, _weights)
    transformer = parts[0][2]
    network, tokenizer = transformer.auto_model, transformer.tokenizer
    key = task, modules.fingerprint, repr(modules._replace(weights={}))
    handle = LoadedEncoder.of(network, tokenizer, modules, tasks, task, key=key)
    _in_use.setdefault(model, {})[task] = handle
    return handle


def _parts(model, task):
    """Return (kind, options, module) of each module, and the Router's routes."""
    first, *rest = list(model)
    tasks = ()
    if hasattr(first, "sub_modules"):
        tasks = tuple(first.sub_modules)
        options = {
            name: getattr(first, name, None)
            for name in ("route_mappings", "default_route", "allow_empty_key")
        }
        route = first.sub_modules[route_of(list(tasks), options, task)]
        first, rest = route[0], [*route[1:], *rest]
    return [(type(m).__name__, _options(m), m) for m in (first, *rest)], tasks


def _options(module):
    options = dict(module.get_config_dict())
    if getattr(module, "tokenizer", None) is not None:
        options["max_seq_length"] = module.max_seq_length
    return options


def _weights(module):
    return as_arrays(module.state_dict())


class LoadedEncoder(LoadedModel):
    """The transformer and the modules of a SentenceTransformer; see `LoadedModel`.

    Parameters
    ----------
    module : torch Module
    tokenizer : transformers tokenizer
    modules : SentenceModules
    tasks : tuple of str
        The routes of a Router.
    task : str or None
        The route that is used.
    """

    has_modules = True
    __reduce__ = Handle.__reduce__  # a pickle refers to the encoder's files

    def __init__(self, module, tokenizer, modules, tasks, task):
        self.modules, self.prompts = modules, modules.prompts
        super().__init__(module, tokenizer)
        self.tasks, self._task = tasks, task if tasks else None
        self._on_disk = None

    def _computed_fingerprint(self):
        network = super()._computed_fingerprint()
        return fingerprint_of({"network": network, "modules": self.modules.fingerprint})

    def _by_reference(self):
        """Return the TransformerModel of the files that the encoder was loaded from.

        Raises
        ------
        TypeError
            If there are no files, or they have other weights or modules.
        """
        import torch

        self.check_unchanged()
        if self._on_disk is not None:
            return self._on_disk
        place = getattr(self.config, "_name_or_path", "")
        options = {"device": str(self.network.device), "dtype": self.dtype}
        spec = ModelSpec(place, task=self._task, **options)
        try:
            handle = shared(TransformerModel, spec, local=True) if place else None
        except FileNotFoundError:
            handle = None
        if handle is None:
            raise TypeError(
                "TransformerEmbedding: the SentenceTransformer was not loaded from "
                "files on this machine, to which a pickle or saved file could refer. "
                "Save it with model.save_pretrained(folder), and pass the folder."
            )
        ours = self.module.state_dict()
        theirs = handle.private_module().state_dict()
        same = ours.keys() == theirs.keys() and all(
            torch.equal(ours[name].cpu(), theirs[name].to(ours[name].dtype))
            for name in ours
        )
        same &= handle.sentence_limit == self.sentence_limit
        if not same or handle.modules.fingerprint != self.modules.fingerprint:
            raise TypeError(
                f"TransformerEmbedding: the SentenceTransformer differs from the files "
                f"at {place} that it was loaded from, so that a pickle or saved file "
                "cannot refer to them. Save it with model.save_pretrained(folder), and "
                "pass the folder."
            )
        self._on_disk = handle
        return handle
