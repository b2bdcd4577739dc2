"""Sentence encoders with random weights, in the files of sentence-transformers."""

import json
from pathlib import Path

import numpy as np

from . import tiny_bert

DIM = 16
_SIZE = {
    "hidden_size": DIM,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 64,
}
_DECODER = {**_SIZE, "num_key_value_heads": 1, "head_dim": 8}
_T5 = {"d_model": DIM, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2}
FAMILIES = {
    "Bert": ("BertConfig", "BertModel", _SIZE),
    "MPNet": ("MPNetConfig", "MPNetModel", {**_SIZE, "pad_token_id": 0}),
    "XLMRoberta": ("XLMRobertaConfig", "XLMRobertaModel", {**_SIZE, "pad_token_id": 0}),
    "ModernBert": (
        "ModernBertConfig",
        "ModernBertModel",
        {**_SIZE, "global_attn_every_n_layers": 2, "local_attention": 8},
    ),
    "Qwen3": ("Qwen3Config", "Qwen3Model", _DECODER),
    "Gemma3": (
        "Gemma3TextConfig",
        "Gemma3TextModel",
        {**_DECODER, "use_bidirectional_attention": True, "sliding_window": 16},
    ),
    "T5": ("T5Config", "T5EncoderModel", {**_T5, "n_positions": 64}),
}
_DECODERS = ("Qwen3", "Gemma3")


def tokenizer(family):
    """Return a tokenizer over letters with the special tokens of a family."""
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast

    whole = tiny_bert.tokenizer()
    backend = whole.backend_tokenizer
    if family in (*_DECODERS, "T5"):
        backend.post_processor = processors.TemplateProcessing(
            single="$A [SEP]", special_tokens=[("[SEP]", 3)]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        eos_token="[SEP]",
        model_max_length=64,
        padding_side="left" if family == "Qwen3" else "right",
    )


def network(family, seed=0):
    import transformers

    config, model, size = FAMILIES[family]
    ids = {"bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
    options = {"vocab_size": len(tiny_bert.VOCABULARY), "pad_token_id": 0, **ids}
    config = getattr(transformers, config)(**{**options, **size})
    return tiny_bert.random_model(getattr(transformers, model), config, seed)


def save(folder, family="Bert", steps=(), settings=None, options=None, seed=0):
    """Write an encoder whose modules behind the transformer are `steps`.

    Parameters
    ----------
    folder : path-like
    family : str
    steps : sequence of (kind, options) or (kind, options, weights)
    settings : dict, default=None
        Of config_sentence_transformers.json.
    options : dict, default=None
        Of sentence_bert_config.json.
    """
    from safetensors.numpy import save_file

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    network(family, seed).save_pretrained(folder)
    tokenizer(family).save_pretrained(folder)
    modules = [module(0, "Transformer", "")]
    for i, (kind, content, *weights) in enumerate(steps, 1):
        place = f"{i}_{kind}"
        (folder / place).mkdir(exist_ok=True)
        _write(folder / place / "config.json", content)
        if weights:
            save_file(weights[0], folder / place / "model.safetensors")
        modules.append(module(i, kind, place))
    _write(folder / "modules.json", modules)
    _write(folder / "sentence_bert_config.json", options or {})
    _write(folder / "config_sentence_transformers.json", settings or {})
    return folder


def module(number, kind, place):
    package = "sentence_transformers.models"
    name = {"idx": number, "name": str(number), "path": place}
    return {**name, "type": f"{package}.{kind}"}


def pooling(*modes, **options):
    return "Pooling", {
        "embedding_dimension": DIM,
        "pooling_mode": list(modes),
        **options,
    }


def dense(n_in, n_out, activation="activation.Tanh", *, bias=True, seed=0, **options):
    rng = np.random.default_rng(seed)
    weights = {"linear.weight": _normal(rng, n_out, n_in)}
    if bias:
        weights["linear.bias"] = _normal(rng, n_out)
    if options.get("use_residual") and n_in != n_out:
        weights["residual.weight"] = _normal(rng, n_out, n_in)
    if activation.endswith("PReLU"):
        weights["activation_function.weight"] = _normal(rng, 1)
    content = {
        "in_features": n_in,
        "out_features": n_out,
        "bias": bias,
        "activation_function": f"torch.nn.modules.{activation}",
        **options,
    }
    return "Dense", content, weights


def layer_norm(dim, seed=0):
    rng = np.random.default_rng(seed)
    weights = {"norm.weight": _normal(rng, dim), "norm.bias": _normal(rng, dim)}
    return "LayerNorm", {"dimension": dim}, weights


NORMALIZE = "Normalize", {}


def _normal(rng, *shape):
    return rng.normal(0, 0.5, shape).astype(np.float32)


def _write(path, content):
    path.write_text(json.dumps(content))
