"""Models of LightGBM, XGBoost and CatBoost, each in its library's own format.

LightGBM's text, XGBoost's UBJSON and CatBoost's cbm hold no code, but the compiled code
that reads them and predicts with them does not validate all of their contents. A file
with such a model is therefore loaded only if the library's class is trusted.
"""

import json
import sys

from ._codecs import StandIn, Untold, part
from ._functions import _found

_BOOSTERS = {
    "lightgbm": ("lightgbm.basic", "Booster"),
    "xgboost": ("xgboost.core", "Booster"),
}
KINDS = (*_BOOSTERS, "catboost")
_OF_LIGHTGBM = ("best_iteration", "best_score", "params")


def booster(thing, where, rewrite, put):
    """Return a stand-in for a model of another library, or NotImplemented.

    Parameters
    ----------
    thing : object
    where : str
    rewrite : callable
        Called with the Python attributes of the model and ``where``.
    put : callable
        Called with the bytes and a suffix; returns the name of the member they go to.

    Returns
    -------
    StandIn or NotImplemented
    """
    for kind, write in _WRITERS.items():
        if kind in sys.modules and _is_of(thing, kind):
            return write(thing, where, rewrite, put)
    return NotImplemented


def _is_of(thing, kind):
    if kind == "catboost":
        return isinstance(thing, sys.modules[kind].CatBoost)
    return type(thing) is sys.modules[kind].Booster


def _lightgbm(thing, where, rewrite, put):
    text = thing.model_to_string(num_iteration=-1)
    told = {name: rewrite(getattr(thing, name), where) for name in _OF_LIGHTGBM}
    return StandIn("lightgbm", model=put(text.encode(), "txt"), **told)


def _xgboost(thing, where, rewrite, put):
    # The format leaves out the number of threads; without it, all cores are used.
    config = json.loads(thing.save_config())["learner"]["generic_param"]
    model = put(bytes(thing.save_raw("ubj")), "ubj")
    return StandIn("xgboost", model=model, n_threads=int(config["nthread"]))


def _catboost(thing, where, rewrite, put):
    state = thing.__getstate__()
    model = state.pop("__model", None)
    return StandIn(
        "catboost",
        module=type(thing).__module__,
        name=type(thing).__qualname__,
        model=None if model is None else put(model, "cbm"),
        state=rewrite(state, where),
    )


_WRITERS = {"lightgbm": _lightgbm, "xgboost": _xgboost, "catboost": _catboost}


def booster_name(kind, content):
    """Return the name of the class that a file with the model asks to trust."""
    return ".".join(_class_of(kind, content))


def _class_of(kind, content):
    if kind != "catboost":
        return _BOOSTERS[kind]
    return part(content, "module", str), part(content, "name", str)


def booster_of(kind, content, file):
    """Return a model that is trusted, read by its library.

    Parameters
    ----------
    kind : str
    content : dict
    file : SealedFile
        With the member that the content names.
    """
    made = _found(*_class_of(kind, content))
    return _READERS[kind](made, content, file)


def _model(kind, member, file):
    model = file.read(member)
    if not _is_whole(kind, model):
        raise Untold(f"the member {member!r} is not a model of {kind}")
    return model


def _is_whole(kind, model):
    """Return whether a model starts and ends as it should.

    Readers of the libraries may crash on, or even accept, a model that was cut short.
    """
    if kind == "lightgbm":
        return model.startswith(b"tree\n") and b"\npandas_categorical:" in model
    if kind == "xgboost":
        return model.startswith(b"{") and model.endswith(b"}")
    size = 8 + int.from_bytes(model[4:8], "little")  # of the trees, after the header
    return model.startswith(b"CBM1") and len(model) >= size


def _lightgbm_of(made, content, file):
    model = _model("lightgbm", part(content, "model", str), file)
    new = made(model_str=model.decode())
    for name in _OF_LIGHTGBM:
        setattr(new, name, content[name])
    return new


def _xgboost_of(made, content, file):
    new = made({"nthread": part(content, "n_threads", int)})
    model = _model("xgboost", part(content, "model", str), file)
    new.load_model(bytearray(model))
    return new


def _catboost_of(made, content, file):
    from catboost import CatBoost

    if not (isinstance(made, type) and issubclass(made, CatBoost)):
        raise Untold(f"{booster_name('catboost', content)} is not a model of CatBoost")
    state = dict(part(content, "state", dict))
    member = part(content, "model", str, type(None))
    if member is not None:
        state["__model"] = _model("catboost", member, file)
    new = made()
    new.__setstate__(state)
    return new


_READERS = {"lightgbm": _lightgbm_of, "xgboost": _xgboost_of, "catboost": _catboost_of}
