"""Load the configuration, tokenizer and network of a transformer from its folder."""

import random
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

from ._sentence_files import tokenizer_options

# Usual names of vocabulary files; a class lists its own in `vocab_files_names`.
_VOCABULARIES = (
    *("tokenizer*.json", "*vocab*", "merges.txt", "*.model", "*.tiktoken"),
    *("*.codes", "tekken.json"),
)
_SETTINGS = "tokenizer_config.json"  # contains no vocabulary
# Input tables are padded, at most to the next multiple of 256. Real tokenizers of
# thousands of pieces have 98 % of the rows or more.
_PADDING = 256


def load_config(folder, spec):
    """Return the model's configuration."""
    from transformers import AutoConfig

    with _named_errors(folder, "configuration (config.json)"):
        options, _, _ = tokenizer_options(folder)
        return AutoConfig.from_pretrained(
            folder,
            trust_remote_code=spec.trust_remote_code,
            local_files_only=True,
            **options,
        )


def load_tokenizer(folder, spec):
    """Return the model's tokenizer; raise FileNotFoundError if there is none."""
    from transformers import AutoTokenizer

    what = "tokenizer (tokenizer.json, tokenizer_config.json or vocab)"
    try:
        with _named_errors(folder, what):
            _, options, lower_case = tokenizer_options(folder)
            tokenizer = AutoTokenizer.from_pretrained(
                folder,
                trust_remote_code=spec.trust_remote_code,
                local_files_only=True,
                **options,
            )
    except (ValueError, ImportError) as error:
        # Without files, transformers 4 asks for the library that reads other formats.
        if has_vocabulary(folder):
            raise
        raise no_tokenizer(folder) from error
    # transformers makes an empty tokenizer if there are no files. CANINE, ByT5 and
    # Perceiver read characters or bytes and need none.
    names = (getattr(tokenizer, "vocab_files_names", None) or {}).values()
    if names and not has_vocabulary(folder, names):
        raise no_tokenizer(folder)
    if lower_case:
        _lower_case(tokenizer)
    return tokenizer


def _lower_case(tokenizer):
    """Make a tokenizer lower-case texts first, unless it does."""
    from tokenizers import normalizers

    if not getattr(tokenizer, "is_fast", False):
        tokenizer.do_lower_case = True
        return
    backend = tokenizer.backend_tokenizer
    current = backend.normalizer
    parts = [] if current is None else [current]
    if isinstance(current, normalizers.Sequence):
        parts = list(current)
    if not any(isinstance(part, normalizers.Lowercase) for part in parts):
        backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), *parts])


def load_network(folder, spec):
    """Return the torch module for inference on its device.

    Raises
    ------
    ValueError
        If the weights miss parameters that hidden states depend on.
    """
    import torch

    config = load_config(folder, spec)
    with _named_errors(folder, "weights"), own_randomness(), quiet():
        module, report = _model_class(config).from_pretrained(
            folder,
            config=config,
            dtype=getattr(torch, spec.dtype),
            use_safetensors=None if spec.trusted else True,
            trust_remote_code=spec.trust_remote_code,
            local_files_only=True,
            output_loading_info=True,
        )
    # A pooler is a head on top, and no hidden state depends on it.
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    if missing:
        raise ValueError(
            f"the weights in {folder} miss {len(missing)} of the parameters of "
            f"{type(module).__name__}, such as {missing[0]!r}, which would be random. "
            "Check that config.json and the weights belong together."
        )
    return module.eval().requires_grad_(False).to(spec.device)


def _model_class(config):
    """Return the class that loads a model; for T5, the encoder alone.

    The folder of a sentence encoder based on T5 has no weights of a decoder.
    """
    import transformers

    name = type(config).__name__.removesuffix("Config")
    if name in ("T5", "MT5", "UMT5", "LongT5", "SwitchTransformers"):
        return getattr(transformers, f"{name}EncoderModel")
    return transformers.AutoModel


@contextmanager
def _named_errors(folder, what):
    try:
        yield
    except Exception as error:  # the libraries' errors share no base class
        error_class = ImportError if isinstance(error, ImportError) else ValueError
        raise error_class(
            f"the {what} of {folder} could not be read: {error}"
        ) from error


@contextmanager
def quiet():
    """Disable the progress bars and reports of transformers."""
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
    """Leave the global generators unchanged: networks begin with random weights."""
    from ..._training._random import local_generators, swap_default_generators

    # Its lock also protects the other global state that loading changes.
    with local_generators(0), swap_default_generators("cpu"):
        state = random.getstate()
        try:
            yield
        finally:
            random.setstate(state)


def has_vocabulary(folder, names=()):
    """Return whether a folder has a vocabulary file, of a usual name or of `names`."""
    files = {path.name for path in Path(folder).iterdir()} - {_SETTINGS}
    patterns = (*_VOCABULARIES, *names)
    return any(fnmatch(name, pattern) for pattern in patterns for name in files)


def no_tokenizer(folder):
    """Return the error for a folder with a model and no tokenizer."""
    return FileNotFoundError(
        f"the folder {folder} has a model but no tokenizer: no "
        "tokenizer.json, vocab.txt or similar. Save the model's own tokenizer there "
        "too, by tokenizer.save_pretrained(folder), or pass (model, tokenizer)."
    )


def check_size(tokenizer, config):
    """Raise ValueError if a tokenizer is far smaller than the model's vocabulary.

    The threshold is half of the pieces, if padding cannot explain the difference.
    """
    expected = getattr(config.get_text_config(), "vocab_size", None)
    actual = len(tokenizer)
    if not isinstance(expected, int):
        return
    if actual < expected / 2 and expected - actual > _PADDING:
        raise ValueError(
            f"{type(tokenizer).__name__} has {actual:,} pieces, but the model's "
            f"vocabulary has {expected:,}, so this is not the model's tokenizer. Load "
            "the tokenizer that belongs to the model."
        )
