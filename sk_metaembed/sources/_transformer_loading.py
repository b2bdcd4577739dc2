"""Load what a transformer's folder holds, with errors that say what to bring."""

import random
from contextlib import contextmanager

from ._tokenizer_checks import check_found, has_vocabulary, no_tokenizer


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
    from ..sequences._own_random import lend_default, own_random

    # Its lock also guards the other global state that loading changes.
    with own_random(0), lend_default("cpu"):
        state = random.getstate()
        try:
            yield
        finally:
            random.setstate(state)
