"""Where a transformer's files are, and what they hold.

Load what a transformer's folder holds, with errors that say what to bring.
"""

import os
import random
from contextlib import contextmanager
from pathlib import Path

from ._tokenizer_checks import check_found, has_vocabulary, no_tokenizer

_SAFE = "*.safetensors"
_OTHER = "pytorch_model*.bin"
_WANTED = ["*.json", "*.txt", "*.model", "*.jinja", "*.tiktoken"]
_TOLD = (".json", ".txt", ".model", ".py")  # what a model is beside its weights
_ADAPTER = "adapter_config.json"  # transformers reads it beside config.json
_NEEDED = (
    "config.json, model.safetensors (or its shards with "
    "model.safetensors.index.json) and the tokenizer's files (tokenizer.json, "
    "tokenizer_config.json; vocab.txt or the like)"
)


def folder_of(model, revision=None, *, safetensors=True, code=False):
    """Return the folder with a model's files, fetched from the hub if need be.

    Parameters
    ----------
    model : str
        A folder, or a name on the Hugging Face hub.
    revision : str, default=None
        Branch, tag or commit on the hub.
    safetensors : bool, default=True
        Whether weights of no other format are used.
    code : bool, default=False
        Whether the model's own Python files are fetched too.

    Returns
    -------
    Path

    Raises
    ------
    FileNotFoundError
        If there is none, or files lack.
    """
    if os.path.isdir(model):
        folder = Path(model)
    elif _looks_like_path(model):
        raise FileNotFoundError(
            f"TransformerEmbedding: there is no folder {model!r}. It should hold "
            f"{_NEEDED}."
        )
    else:
        folder = Path(_from_hub(model, revision, safetensors, code))
    if not (folder / "config.json").is_file():
        raise FileNotFoundError(
            f"TransformerEmbedding: the folder {folder} has no config.json, so it is "
            f"no transformer's. It should hold {_NEEDED}."
        )
    weight_files(folder, safetensors=safetensors)
    return folder


def _looks_like_path(model):
    return model.startswith(("/", ".", "~")) or "\\" in model or model.count("/") > 1


def _from_hub(name, revision, safetensors, code):
    from huggingface_hub import snapshot_download

    patterns = [*_WANTED, _SAFE if safetensors else _OTHER]
    if not safetensors:
        patterns.append(_SAFE)
    if code:
        patterns.append("*.py")
    try:
        return snapshot_download(
            name, revision=revision, allow_patterns=patterns, ignore_patterns=["*/*"]
        )
    except Exception as error:  # the client's errors share no base class
        of = "" if revision is None else f" (revision {revision!r})"
        raise FileNotFoundError(
            f"TransformerEmbedding: model={name!r}{of} is no folder here, and it could "
            f"not be got from the Hugging Face hub: {type(error).__name__}: "
            f"{_first_line(error)} Without a network bring a folder with {_NEEDED}, as "
            f"on https://huggingface.co/{name}/tree/{revision or 'main'}, and give "
            "its path as model."
        ) from error


def _first_line(error):
    line = (str(error).strip() or "no reason given").splitlines()[0]
    return line if line.endswith(".") else f"{line}."


def weight_files(folder, *, safetensors=True):
    """Return the files with weights in a folder.

    Raises
    ------
    FileNotFoundError
        If there are none, or none that may be read.
    """
    found = sorted(Path(folder).glob(_SAFE))
    other = sorted(Path(folder).glob(_OTHER))
    if found or (other and not safetensors):
        return found or other
    if other:
        raise FileNotFoundError(
            f"TransformerEmbedding: {folder} has weights only as pickles "
            f"({other[0].name}), which can run any code when they are read. Bring "
            "model.safetensors, or if you trust the file use trusted=True."
        )
    raise FileNotFoundError(
        f"TransformerEmbedding: {folder} has no model.safetensors. It should hold "
        f"{_NEEDED}."
    )


def bundled_files(folder, where, *, trusted):
    """Return the files that a saved file takes in, by name.

    Parameters
    ----------
    folder : Path
    where : str
        Begins the error message.
    trusted : bool
        Whether the model may need code or pickles.

    Raises
    ------
    TypeError
        If it does, or has an adapter: none of these goes into files.
    """
    refuse_adapter(folder, where)
    weights = weight_files(folder, safetensors=False)
    pickles = [path.name for path in weights if path.suffix != ".safetensors"]
    if pickles or trusted:
        raise TypeError(
            f"{where}: a model read with trusted=True or trust_remote_code=True cannot "
            "be bundled: the file would hold pickles or code. Save it with "
            "bundle=False, which refers to its folder, or convert it to safetensors "
            "and fit without them."
        )
    kept = (*_TOLD, ".jinja", ".tiktoken")
    files = [p for p in Path(folder).iterdir() if p.suffix in kept]
    return {p.name: p for p in [*files, *weights] if p.suffix != ".py"}


def refuse_adapter(folder, where):
    """See that a bundle has no adapter, which names more models and modules to load.

    Raises
    ------
    TypeError
        If it has one.
    """
    if Path(folder, _ADAPTER).exists():
        raise TypeError(
            f"{where}: {_ADAPTER} names another model, and modules to import, so a "
            "transformer with an adapter cannot be bundled. Merge the adapter into the "
            "weights (peft's merge_and_unload), and save that."
        )


def kept_locally(model, revision=None):
    """Return whether a folder, or a model of the hub, is on this machine."""
    if os.path.isdir(model):
        return True
    if _looks_like_path(model):
        return False
    from huggingface_hub import snapshot_download

    try:
        snapshot_download(model, revision=revision, local_files_only=True)
    except Exception:  # the client's errors share no base class
        return False
    return True


def signature_of(folder, *, safetensors=True):
    """Return names, sizes and times of a model's files: changes when they do."""
    files = [p for p in Path(folder).iterdir() if p.suffix in _TOLD]
    files += weight_files(folder, safetensors=safetensors)
    return tuple(sorted((str(path), *_stat(path)) for path in files))


def _stat(path):
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def load_config(folder, spec):
    """Return the model's configuration."""
    from transformers import AutoConfig

    with _said(folder, "configuration (config.json)"):
        return AutoConfig.from_pretrained(
            folder, trust_remote_code=spec.trust_remote_code, local_files_only=True
        )


def load_tokenizer(folder, spec):
    """Return the model's tokenizer.

    Raises
    ------
    FileNotFoundError
        If there is none in the folder.
    """
    from transformers import AutoTokenizer

    what = "tokenizer (tokenizer.json, tokenizer_config.json or vocab)"
    try:
        with _said(folder, what):
            tokenizer = AutoTokenizer.from_pretrained(
                folder, trust_remote_code=spec.trust_remote_code, local_files_only=True
            )
    except ValueError as error:
        if has_vocabulary(folder):
            raise
        raise no_tokenizer(folder) from error
    check_found(tokenizer, folder)
    return tokenizer


def load_network(folder, spec):
    """Return the network, for inference, on its device.

    Raises
    ------
    ValueError
        If the weights lack what the network computes with.
    """
    import torch
    from transformers import AutoModel

    options = {}
    if spec.attn_implementation is not None:
        options["attn_implementation"] = spec.attn_implementation
    with _said(folder, "weights"), own_randomness(), quiet():
        network, report = AutoModel.from_pretrained(
            folder,
            dtype=getattr(torch, spec.dtype),
            use_safetensors=None if spec.trusted else True,
            trust_remote_code=spec.trust_remote_code,
            local_files_only=True,
            output_loading_info=True,
            **options,
        )
    # A pooler is a head on top, and no hidden state depends on it.
    lacking = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    if lacking:
        raise ValueError(
            f"TransformerEmbedding: the weights in {folder} lack {len(lacking)} of the "
            f"parameters of {type(network).__name__}, such as {lacking[0]!r}: they "
            "would be random. Do config.json and the weights belong together?"
        )
    return network.eval().requires_grad_(False).to(spec.device)


@contextmanager
def _said(folder, what):
    try:
        yield
    except Exception as error:  # libraries' own errors share no base class
        kind = ImportError if isinstance(error, ImportError) else ValueError
        raise kind(
            f"TransformerEmbedding: the {what} of {folder} could not be read: {error}"
        ) from error


@contextmanager
def quiet():
    """Keep transformers' own bars and reports away; what matters is told here."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def own_randomness():
    """Leave the global generators as they are: networks begin with random weights."""
    from ..._training._random import local_generators, swap_default_generators

    # Its lock also guards the other global state that loading changes.
    with local_generators(0), swap_default_generators("cpu"):
        state = random.getstate()
        try:
            yield
        finally:
            random.setstate(state)
