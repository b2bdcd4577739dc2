"""Models of LightGBM, XGBoost and CatBoost, each in its library's own format.

LightGBM's text, XGBoost's UBJSON and CatBoost's cbm contain no code, but the compiled
code that reads them and predicts with them does not validate all of their contents. A
file with such a model is therefore loaded only if the library's class is trusted.
"""

import json
import sys

from ._codecs import MalformedEntryError, Placeholder, entry
from ._functions import import_object

_CLASSES = {
    "lightgbm": ("lightgbm.basic", "Booster"),
    "xgboost": ("xgboost.core", "Booster"),
}
BOOSTER_KINDS = (*_CLASSES, "catboost")
_LIGHTGBM_ATTRIBUTES = ("best_iteration", "best_score", "params")


def encode_booster(value, where, copy, add_member):
    """Return a Placeholder for a model of a booster library, or NotImplemented.

    ``add_member(content, suffix)`` stores bytes and returns the name of their member.
    """
    for kind, encode in _ENCODERS.items():
        if kind in sys.modules and _is_booster(value, kind):
            return encode(value, where, copy, add_member)
    return NotImplemented


def _is_booster(value, kind):
    if kind == "catboost":
        return isinstance(value, sys.modules[kind].CatBoost)
    return type(value) is sys.modules[kind].Booster


def _encode_lightgbm(value, where, copy, add_member):
    text = value.model_to_string(num_iteration=-1)
    extra = {name: copy(getattr(value, name), where) for name in _LIGHTGBM_ATTRIBUTES}
    return Placeholder("lightgbm", model=add_member(text.encode(), "txt"), **extra)


def _encode_xgboost(value, where, copy, add_member):
    # The format leaves out the number of threads; without it, all cores are used.
    config = json.loads(value.save_config())["learner"]["generic_param"]
    model = add_member(bytes(value.save_raw("ubj")), "ubj")
    return Placeholder("xgboost", model=model, n_threads=int(config["nthread"]))


def _encode_catboost(value, where, copy, add_member):
    state = value.__getstate__()
    model = state.pop("__model", None)
    return Placeholder(
        "catboost",
        module=type(value).__module__,
        name=type(value).__qualname__,
        model=None if model is None else add_member(model, "cbm"),
        state=copy(state, where),
    )


_ENCODERS = {
    "lightgbm": _encode_lightgbm,
    "xgboost": _encode_xgboost,
    "catboost": _encode_catboost,
}


def booster_name(kind, content):
    """Return the name of the class that must be trusted to load a model."""
    return ".".join(_class_of(kind, content))


def _class_of(kind, content):
    if kind != "catboost":
        return _CLASSES[kind]
    return entry(content, "module", str), entry(content, "name", str)


def decode_booster(kind, content, file):
    """Return a trusted model, read by its library from a member of a SavedFile."""
    cls = import_object(*_class_of(kind, content))
    return _DECODERS[kind](cls, content, file)


def _read_model(kind, member, file):
    model = file.read(member)
    if not _is_complete(kind, model):
        raise MalformedEntryError(f"the member {member!r} is not a model of {kind}")
    return model


def _is_complete(kind, model):
    """Return whether a model starts and ends as it should.

    The libraries may crash on a truncated model, or even accept it.
    """
    if kind == "lightgbm":
        return model.startswith(b"tree\n") and b"\npandas_categorical:" in model
    if kind == "xgboost":
        return model.startswith(b"{") and model.endswith(b"}")
    size = 8 + int.from_bytes(model[4:8], "little")  # of the trees, after the header
    return model.startswith(b"CBM1") and len(model) >= size


def _decode_lightgbm(cls, content, file):
    model = _read_model("lightgbm", entry(content, "model", str), file)
    new = cls(model_str=model.decode())
    for name in _LIGHTGBM_ATTRIBUTES:
        setattr(new, name, content[name])
    return new


def _decode_xgboost(cls, content, file):
    new = cls({"nthread": entry(content, "n_threads", int)})
    model = _read_model("xgboost", entry(content, "model", str), file)
    new.load_model(bytearray(model))
    return new


def _decode_catboost(cls, content, file):
    from catboost import CatBoost

    if not (isinstance(cls, type) and issubclass(cls, CatBoost)):
        name = booster_name("catboost", content)
        raise MalformedEntryError(f"{name} is not a model of CatBoost")
    state = dict(entry(content, "state", dict))
    member = entry(content, "model", str, type(None))
    if member is not None:
        state["__model"] = _read_model("catboost", member, file)
    new = cls()
    new.__setstate__(state)
    return new


_DECODERS = {
    "lightgbm": _decode_lightgbm,
    "xgboost": _decode_xgboost,
    "catboost": _decode_catboost,
}
