"""LoadedModel: a model and its tokenizer that the user has loaded."""

from copy import deepcopy

from .._fingerprint import fingerprint_of
from .._loaded_encoder import LoadedHandle
from ._loaded_pair import LoadedPair
from ._model import Transformer, options_of
from ._model_files import refuse_unsafe
from ._network import Network
from ._sentence_files import read_loaded


class LoadedModel(LoadedHandle, Transformer, keep=0):
    """A model and a tokenizer that the user has loaded, on their current device.

    Pickles, copies and saved files contain the weights.

    Parameters
    ----------
    portable : LoadedPair
    """

    _kind = "loaded model"
    __deepcopy__ = None  # type: ignore[assignment]  # copied by `__reduce__`

    def __init__(self, portable):
        module, tokenizer = portable.pair
        super().__init__(None, tokenizer, module.config)
        self.module, self.portable = module, portable
        self._contents = (portable,)
        self.has_modules = portable.encoder is not None
        if self.has_modules:
            self.modules, self.settings = read_loaded(portable.encoder)
        self._network = Network(module, self.config, self.padding_id)
        self._versions = _versions(module)
        self.fingerprint = self._computed_fingerprint()

    @classmethod
    def of(cls, portable):
        """Return the process's handle of a model; a new one if its weights changed."""
        module, tokenizer = portable.pair
        versions = _versions(module)
        if None in versions:
            return cls(portable)
        encoder = portable.encoder and tuple(portable.encoder.items())
        key = id(module), id(tokenizer), versions, encoder
        return cls._handles.get(key, lambda: cls(portable))

    @property
    def parameter(self):
        """The value of the parameter `model` of a source."""
        return self.portable.parameter

    @property
    def device_type(self):
        """Type of the device of the network, "cpu" or "cuda"."""
        return self.network.device.type

    @property
    def dtype(self):
        """Name of the precision of the network."""
        return str(next(self.module.parameters()).dtype).removeprefix("torch.")

    def private_module(self):
        """Return a copy of the module: frozen, float32, on the CPU."""
        self.check_unchanged()
        module, _ = deepcopy(self.portable).pair
        return module.float().cpu().eval().requires_grad_(False)

    def check_unchanged(self):
        """Raise ValueError if the weights changed since fit."""
        now = _versions(self.module)
        if now == self._versions and None not in now:
            return
        if self._computed_fingerprint() != self.fingerprint:
            raise ValueError(
                "the loaded model's weights changed since fit. Fit the source again."
            )
        self._versions = now

    def _computed_fingerprint(self):
        state = self.module.state_dict()
        options = options_of(self.config, self.tokenizer)
        if self.has_modules:
            options["modules"] = self.modules.fingerprint
        return fingerprint_of(options, state.items())

    def _files(self):
        """Return the files that a saved file contains, by name."""
        return self.portable.files()

    @classmethod
    def _from_reference(cls, content, folder=None):
        """Return the handle of the model in a folder."""
        refuse_unsafe(folder.rglob("*"))
        return cls.of(LoadedPair.from_files(folder))


def _versions(module):
    """Return values that change when a parameter is replaced or modified in place.

    None for tensors of inference mode, which do not count modifications.
    """
    tensors = [*module.parameters(), *module.buffers()]
    return tuple(
        None if t.is_inference() else (t.data_ptr(), t._version, str(t.dtype))
        for t in tensors
    )
