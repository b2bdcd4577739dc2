"""How transformers come back from files that `save` wrote."""

from ._portable_pair import PortablePair
from ._transformer_files import kept_locally, refuse_adapter
from ._transformer_model import ModelSpec, _reopen, loaded_model


def from_reference(kind, content):
    """Return the handle on a model that a saved file refers to; nothing is fetched.

    Raises
    ------
    FileNotFoundError
        If it is not on this machine.
    ValueError
        If it is another model by now.
    """
    spec = ModelSpec(*(content[name] for name in ModelSpec._fields))
    if not kept_locally(spec.model, spec.revision):
        raise FileNotFoundError(
            f"the transformer {spec.model!r} is not on this machine, and loading a "
            "file fetches nothing."
        )
    return _reopen(spec, content["fingerprint"])


def from_files(kind, content, folder):
    """Return the model that came in a saved file: a handle, or both parts loaded."""
    refuse_adapter(folder, "TransformerEmbedding")
    if kind == "transformer":
        place = {"model": str(folder), "revision": None}
        return from_reference(kind, {**content, **place})
    pair = PortablePair.of_files(folder).pair
    return loaded_model(*pair)
