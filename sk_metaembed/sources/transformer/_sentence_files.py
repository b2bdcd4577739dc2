"""The first module of a sentence encoder, a transformer, and its options."""

import tempfile
from pathlib import Path

from .._encoder_modules import (
    MODULES,
    check_model_type,
    listed_modules,
    optional_json,
    read_modules,
    read_settings,
    unknown_module,
)
from .._loaded_encoder import write_files

OPTIONS = "sentence_bert_config.json"  # of any transformer
_TRANSFORMER_FILES = (
    *(OPTIONS, "sentence_roberta_config.json"),
    *("sentence_distilbert_config.json", "sentence_camembert_config.json"),
    *("sentence_albert_config.json", "sentence_xlm-roberta_config.json"),
    "sentence_xlnet_config.json",
)
_TRANSFORMERS = (
    "Transformer",
    "BERT",
    "RoBERTa",
    "DistilBERT",
    "CamemBERT",
    "XLMRoBERTa",
)
# Options of the transformer that change neither its vectors nor its pieces, or that
# parameters of the source decide.
_IGNORED_MODEL_OPTIONS = {
    *("torch_dtype", "dtype", "attn_implementation", "device_map", "add_pooling_layer"),
    *("low_cpu_mem_usage", "use_safetensors", "unpad_inputs"),
}
_UNKNOWN_OPTIONS = (
    *("query_length", "document_length", "query_expansion", "processing_kwargs"),
)


def find_encoder(folder, task=None):
    """Return class and folder of each module, None for a folder without modules.

    A tuple, in which the transformer is first. A Router is replaced by its modules for
    the task.
    """
    modules = listed_modules(folder, task)
    if not modules and (Path(folder) / MODULES).is_file():
        raise ValueError(f"{Path(folder) / MODULES} lists no modules.")
    return tuple(modules) or None


def backbone_options(folder):
    """Return the options in a transformer's folder that sentence-transformers reads."""
    for name in _TRANSFORMER_FILES:
        options = optional_json(Path(folder) / name)
        if options:
            return options
    return {}


def tokenizer_options(folder):
    """Return the arguments with which configuration and tokenizer are loaded.

    Returns
    -------
    config, tokenizer : dict
    lower_case : bool
        Whether texts are lower-cased first.
    """
    options = backbone_options(folder)
    config = _renamed(options, "config_kwargs", "config_args")
    tokenizer = _renamed(options, "processor_kwargs", "tokenizer_args")
    return config, tokenizer, bool(options.get("do_lower_case"))


def _renamed(options, name, old):
    content = dict(options.get(name) or options.get(old) or {})
    for loading in ("trust_remote_code", "token", "cache_dir", "revision"):
        content.pop(loading, None)
    return content


def read_encoder(folder, encoder, settings):
    """Return the SentenceModules of a folder, whose modules `find_encoder` returned.

    Raises
    ------
    ValueError
        If a module or one of its options is not known.
    """
    check_model_type(settings)
    (first, place), *rest = encoder
    backbone = backbone_options(Path(folder) / place)
    check_transformer(first, backbone)
    limit = backbone.get("max_seq_length")
    return read_modules(Path(folder), rest, max_length=limit)


def read_loaded(content):
    """Return SentenceModules and EncoderSettings of the files of a loaded encoder."""
    with tempfile.TemporaryDirectory() as folder:
        write_files(content, folder)
        limit = backbone_options(folder).get("max_seq_length")
        settings = read_settings(folder)
        modules = listed_modules(folder)
        return read_modules(Path(folder), modules, max_length=limit), settings


def check_transformer(kind, options):
    """Raise ValueError if the first module is not a transformer of texts."""
    if kind not in _TRANSFORMERS:
        raise unknown_module(kind)
    task = options.get("transformer_task") or "feature-extraction"
    if task != "feature-extraction":
        raise unknown_module(kind, f"transformer_task={task!r}")
    for name in _UNKNOWN_OPTIONS:
        if options.get(name):
            raise unknown_module(kind, f"{name}={options[name]!r}")
    if options.get("modality_config") is not None:
        _check_modality(kind, options["modality_config"])
    if options.get("module_output_name") not in (None, "token_embeddings"):
        raise unknown_module(kind, f"output {options['module_output_name']!r}")
    model = _renamed(options, "model_kwargs", "model_args")
    other = sorted(set(model) - _IGNORED_MODEL_OPTIONS)
    if other:
        raise unknown_module(kind, f"model_args={other}")


def _check_modality(kind, modalities):
    """Raise ValueError unless texts are read as they are, to last hidden states."""
    text = modalities.get("text") or {}
    outputs = text.get("method_output_name")
    outputs = [outputs] if isinstance(outputs, str) else list(outputs or ())
    if text.get("method") != "forward" or outputs != ["last_hidden_state"]:
        raise unknown_module(kind, f"texts as {text or None}")
    if "message" in modalities:
        raise unknown_module(kind, "texts in a chat template")
