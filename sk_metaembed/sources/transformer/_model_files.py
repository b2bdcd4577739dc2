"""The files of a transformer: find them, and load what they contain."""

import random
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec
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
from .._model_folder import find_folder, hint_of_folder

# Weights in other formats than safetensors are pickles.
_SAFETENSORS = "*.safetensors"
_PICKLES = "pytorch_model*.bin"
SETTINGS = (".json", ".txt", ".model", ".jinja", ".tiktoken")
_OTHER_FORMATS = ["onnx/*", "openvino/*", "*checkpoint*/*"]  # not downloaded
_EXPECTED = (
    "config.json, model.safetensors (or its shards with "
    "model.safetensors.index.json) and the tokenizer's files (tokenizer.json, "
    "tokenizer_config.json; vocab.txt or similar)"
)
_ADAPTER = "adapter_config.json"  # transformers reads it along with config.json
# Other formats of weights, by name.
_FORMATS = {
    "ONNX": ("*.onnx", "onnx/*.onnx"),
    "OpenVINO": ("openvino*.xml", "openvino/*.xml"),
    "GGUF": ("*.gguf",),
    "TensorFlow": ("tf_model.h5", "*.ckpt.index"),
    "Flax": ("flax_model.msgpack",),
    "AllenNLP": ("weights.th",),
}
# Input tables are padded, at most to the next multiple of 256. Real tokenizers of
# thousands of subwords have 98 % of the rows or more.
_PADDING = 256
OPTIONS = "sentence_bert_config.json"  # options of any transformer
_OPTIONS = "sentence_*_config.json"  # older name, with the class name
_TRANSFORMERS = (
    "Transformer",
    "BERT",
    "RoBERTa",
    "DistilBERT",
    "CamemBERT",
    "XLMRoBERTa",
)
# Options of the transformer that change neither its vectors nor its subwords, or that
# parameters of the source decide.
_IGNORED_MODEL_OPTIONS = {
    *("torch_dtype", "dtype", "attn_implementation", "device_map", "add_pooling_layer"),
    *("low_cpu_mem_usage", "use_safetensors", "unpad_inputs"),
}


def find_root(spec, *, local):
    """Return a ModelSpec as `find_folder` does, and the folder."""
    patterns = [f"*{suffix}" for suffix in SETTINGS] + [_SAFETENSORS]
    patterns.append("*/pytorch_model.bin")  # weights of the modules
    patterns += [_PICKLES] if spec.trusted else []
    patterns += ["*.py"] if spec.trust_remote_code else []
    options = {"allow_patterns": patterns, "ignore_patterns": _OTHER_FORMATS}
    spec, root = find_folder(spec, _EXPECTED, local=local, **options)
    return spec, Path(root)


def backbone_of(folder, encoder):
    """Return the folder of the transformer itself."""
    return folder if encoder is None else folder / encoder[0][1]


def model_files(root, encoder, spec):
    """Return the sorted paths of a model's settings and weights, and of its code."""
    backbone = backbone_of(root, encoder)
    hint = hint_of_folder(root, "TransformerEmbedding", spec.task)
    if hint:
        raise ValueError(f"{root} has no transformer.{hint}")
    _refuse_adapter(backbone)
    if not (backbone / "config.json").is_file():
        _refuse_format(backbone)
        raise FileNotFoundError(
            f"the folder {backbone} has no config.json, so it does not contain a "
            f"transformer. It should contain {_EXPECTED}."
        )
    if encoder is not None and not _has_model_type(backbone):
        raise unknown_module(encoder[0][0])
    files = set(_weight_files(backbone, safetensors=not spec.trusted))
    places = [root / place for _, place in encoder or ()]
    folders = {place for place in places if place.is_dir()}
    for folder in folders - {root, backbone}:
        files |= set(folder.glob(_SAFETENSORS)) or set(folder.glob(_PICKLES))
    suffixes = (*SETTINGS, ".py") if spec.trust_remote_code else SETTINGS
    for folder in {root, *folders}:
        files |= {path for path in folder.iterdir() if path.suffix in suffixes}
    return sorted(files)


def _weight_files(folder, *, safetensors=True):
    """Return the files with weights in a folder; raise FileNotFoundError if none."""
    folder = Path(folder)
    safe = sorted(folder.glob(_SAFETENSORS))
    pickles = sorted(folder.glob(_PICKLES))
    if safe or (pickles and not safetensors):
        return safe or pickles
    if pickles:
        raise FileNotFoundError(
            f"{folder} has weights only as pickles ({pickles[0].name}), which can run "
            "any code when they are read. Provide model.safetensors, or if you trust "
            "the file use trusted=True."
        )
    _refuse_format(folder)
    raise FileNotFoundError(
        f"{folder} has no model.safetensors. It should contain {_EXPECTED}."
    )


def _refuse_format(folder):
    """Raise ValueError if a folder has weights in another format."""
    for name, patterns in _FORMATS.items():
        files = [path for pattern in patterns for path in folder.glob(pattern)]
        if files:
            raise ValueError(
                f"{folder} has its weights as {name} only "
                f"({files[0].relative_to(folder).as_posix()}), which is not read here. "
                "Use the folder of the original model, convert it to safetensors by "
                "model.save_pretrained, or call another library: FunctionEmbedding("
                "model.encode, level='sequence', as_text=True)."
            )


def _refuse_adapter(folder):
    """Raise ValueError if a folder has an adapter that transformers would not read."""
    path = folder / _ADAPTER
    if not path.is_file() or ((folder / "config.json").is_file() and find_spec("peft")):
        return
    kind = optional_json(path).get("peft_type") or "PEFT"
    base = optional_json(path).get("base_model_name_or_path")
    raise ValueError(
        f"{folder} has a {kind} adapter of {base!r}, not a whole model. Merge "
        "it into the weights (peft's merge_and_unload), and save the result: "
        "model.save_pretrained(folder)."
    )


def _has_model_type(folder):
    """Return whether transformers can determine a model's class from config.json."""
    return "model_type" in optional_json(folder / "config.json")


def refuse_unsafe(paths, *, trusted=False):
    """Raise TypeError if the files of a bundle are trusted, or could run code.

    Pickles and code run, and an adapter names modules to import.
    """
    names = {path.name for path in paths}
    if _ADAPTER in names:
        raise TypeError(
            f"{_ADAPTER} names another model, and modules to import, so a transformer "
            "with an adapter cannot be bundled. Merge the adapter into the weights "
            "(peft's merge_and_unload), and save the result."
        )
    if trusted or any(name.endswith((".bin", ".py")) for name in names):
        raise TypeError(
            "a model with weights in pickles, or read with trusted=True or "
            "trust_remote_code=True, cannot be bundled: the file would contain pickles "
            "or code. Save it with bundle=False, which refers to its folder, or "
            "convert it to safetensors and fit without these options."
        )


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
    with _named_errors(folder, what):
        _, options, lower_case = tokenizer_options(folder)
        tokenizer = AutoTokenizer.from_pretrained(
            folder,
            trust_remote_code=spec.trust_remote_code,
            local_files_only=True,
            **options,
        )
    # transformers makes an empty tokenizer if there are no files.
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        raise FileNotFoundError(
            f"the folder {folder} has a model but no tokenizer: no "
            "tokenizer.json, vocab.txt or similar. Save the model's own tokenizer "
            "there too, by tokenizer.save_pretrained(folder), or pass (model, "
            "tokenizer)."
        )
    if lower_case:
        _lower_case(tokenizer)
    return tokenizer


def _lower_case(tokenizer):
    """Make a tokenizer convert texts to lower case first, unless it already does."""
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
    """Return the torch module for inference on its device."""
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
            f"the weights in {folder} lack {len(missing)} of the parameters of "
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

    # The lock also protects the other global state that loading changes.
    with local_generators(0), swap_default_generators("cpu"):
        state = random.getstate()
        try:
            yield
        finally:
            random.setstate(state)


def check_size(tokenizer, config):
    """Raise ValueError if a tokenizer is far smaller than the model's vocabulary.

    The threshold is half of the subwords, if padding cannot explain the difference.
    """
    expected = getattr(config.get_text_config(), "vocab_size", None)
    actual = len(tokenizer)
    if not isinstance(expected, int):
        return
    if actual < expected / 2 and expected - actual > _PADDING:
        raise ValueError(
            f"{type(tokenizer).__name__} has {actual:,} subwords, but the model's "
            f"vocabulary has {expected:,}, so this is not the model's tokenizer. Load "
            "the tokenizer that belongs to the model."
        )


def find_encoder(folder, task=None):
    """Return class and folder of each module for a task, or None without modules."""
    modules = listed_modules(folder, task)
    if not modules and (Path(folder) / MODULES).is_file():
        raise ValueError(f"{Path(folder) / MODULES} lists no modules.")
    return tuple(modules) or None


def backbone_options(folder):
    """Return the options in a transformer's folder that sentence-transformers reads."""
    paths = Path(folder) / OPTIONS, *sorted(Path(folder).glob(_OPTIONS))
    return next(filter(None, map(optional_json, paths)), {})


def tokenizer_options(folder):
    """Return arguments of configuration and tokenizer, and whether to lower-case."""
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
    """Return the SentenceModules of a folder, whose modules `find_encoder` returned."""
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
    if options.get("processing_kwargs"):
        raise unknown_module(
            kind, f"processing_kwargs={options['processing_kwargs']!r}"
        )
    if options.get("modality_config") is not None:
        _check_modality(kind, options["modality_config"])
    if options.get("module_output_name") not in (None, "token_embeddings"):
        raise unknown_module(kind, f"output {options['module_output_name']!r}")
    model = _renamed(options, "model_kwargs", "model_args")
    other = sorted(set(model) - _IGNORED_MODEL_OPTIONS)
    if other:
        raise unknown_module(kind, f"model_args={other}")


def _check_modality(kind, modalities):
    """Raise ValueError unless the model reads plain texts and returns hidden states."""
    text = modalities.get("text") or {}
    outputs = text.get("method_output_name")
    outputs = [outputs] if isinstance(outputs, str) else list(outputs or ())
    if text.get("method") != "forward" or outputs != ["last_hidden_state"]:
        raise unknown_module(kind, f"texts as {text or None}")
    if "message" in modalities:
        raise unknown_module(kind, "texts in a chat template")
