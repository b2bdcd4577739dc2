"""The files of a transformer: where they are, and which of them a model consists of."""

import os
from pathlib import Path

from .._folder_kind import hint_of_folder
from .._hub import download, looks_like_path

# Weights in other formats than safetensors are pickles.
_SAFETENSORS = "*.safetensors"
_PICKLES = "pytorch_model*.bin"
SETTINGS = (".json", ".txt", ".model", ".jinja", ".tiktoken")
_OTHER_FORMATS = ["onnx/*", "openvino/*", "*checkpoint*/*"]  # on the hub
_EXPECTED = (
    "config.json, model.safetensors (or its shards with "
    "model.safetensors.index.json) and the tokenizer's files (tokenizer.json, "
    "tokenizer_config.json; vocab.txt or similar)"
)


def find_folder(spec, *, local):
    """Return a spec with an absolute path or a commit, and the folder of its files.

    Nothing is downloaded if `local`.

    Raises
    ------
    FileNotFoundError
        If there is no such model, or it cannot be downloaded.
    """
    if os.path.isdir(spec.model):
        root = Path(os.path.abspath(spec.model))
        return spec._replace(model=str(root)), root
    if local and not is_local(spec.model, spec.revision):
        raise FileNotFoundError(
            f"the transformer {spec.model!r} is not on this machine, and loading a "
            "file downloads nothing."
        )
    if looks_like_path(spec.model):
        raise FileNotFoundError(
            f"there is no folder {spec.model!r}. It should contain {_EXPECTED}."
        )
    root = Path(_downloaded(spec, local))
    # The folder of the hub's cache is named after the commit; pickles refer to it.
    return spec._replace(revision=root.name), root


def is_local(model, revision=None):
    """Return whether a folder, or a model of the hub, is on this machine."""
    if os.path.isdir(model):
        return True
    if looks_like_path(model):
        return False
    from huggingface_hub import snapshot_download

    try:
        snapshot_download(model, revision=revision, local_files_only=True)
    except Exception:  # the client's errors share no base class
        return False
    return True


def _downloaded(spec, local_files_only):
    patterns = [f"*{suffix}" for suffix in SETTINGS] + [_SAFETENSORS]
    patterns.append("*/pytorch_model.bin")  # of modules, from which tensors are read
    patterns += [_PICKLES] if spec.trusted else []
    patterns += ["*.py"] if spec.trust_remote_code else []
    return download(
        spec.model,
        _EXPECTED,
        revision=spec.revision,
        allow_patterns=patterns,
        ignore_patterns=_OTHER_FORMATS,
        local_files_only=local_files_only,
    )


def backbone_of(folder, encoder):
    """Return the folder of the transformer itself."""
    return folder if encoder is None else folder / encoder.modules[0][1]


def model_files(root, encoder, spec):
    """Return the sorted paths of a model's settings and weights, and of its code."""
    backbone = backbone_of(root, encoder)
    hint = hint_of_folder(root, "TransformerEmbedding")
    if hint:
        raise ValueError(f"{root} has no transformer.{hint}")
    if not (backbone / "config.json").is_file():
        raise FileNotFoundError(
            f"the folder {backbone} has no config.json, so it does not contain a "
            f"transformer. It should contain {_EXPECTED}."
        )
    files = set(_weight_files(backbone, safetensors=not spec.trusted))
    modules = () if encoder is None else encoder.modules
    folders = {root / place for _, place in modules if (root / place).is_dir()}
    for folder in folders - {root, backbone}:
        files |= set(folder.glob(_SAFETENSORS)) or set(folder.glob(_PICKLES))
    suffixes = (*SETTINGS, ".py") if spec.trust_remote_code else SETTINGS
    for folder in {root, *folders}:
        files |= {path for path in folder.iterdir() if path.suffix in suffixes}
    return sorted(files)


def _weight_files(folder, *, safetensors=True):
    """Return the files with weights in a folder; raise FileNotFoundError if none."""
    safe = sorted(Path(folder).glob(_SAFETENSORS))
    pickles = sorted(Path(folder).glob(_PICKLES))
    if safe or (pickles and not safetensors):
        return safe or pickles
    if pickles:
        raise FileNotFoundError(
            f"{folder} has weights only as pickles ({pickles[0].name}), which can run "
            "any code when they are read. Provide model.safetensors, or if you trust "
            "the file use trusted=True."
        )
    raise FileNotFoundError(
        f"{folder} has no model.safetensors. It should contain {_EXPECTED}."
    )
