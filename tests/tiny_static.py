"""Static subword models with random vectors, in a temporary folder."""

import json
import os
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from .tiny_bert import LETTERS, VOCABULARY

_FOLDER = tempfile.TemporaryDirectory(prefix="sk_metaembed-tiny-static-")
DIM = 6


def wordpiece(**options):
    """Return BERT's kind of tokenizer."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    vocabulary = {subword: i for i, subword in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(**options)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]"])
    return tokenizer


def unigram():
    """Return a tokenizer as of XLM-R: words between spaces, a mark in front."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    subwords = [("<unk>", 0.0), *((f"▁{w}", -2.0) for w in ("film", "the", "plo", "c"))]
    subwords += [("▁", -3.0), *((letter, -4.0) for letter in (*LETTERS, "é", "京"))]
    tokenizer = Tokenizer(models.Unigram(subwords, unk_id=0))
    tokenizer.normalizer = normalizers.NFKC()
    splits = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splits)
    tokenizer.add_special_tokens(["<unk>"])
    return tokenizer


def save(folder, tokenizer=None, *, table=None, config=None, **tensors):
    """Write a model2vec folder; `tensors` are weights and mapping."""
    from safetensors.numpy import save_file

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = tokenizer or wordpiece()
    if table is None:
        rng = np.random.default_rng(0)
        table = rng.normal(size=(tokenizer.get_vocab_size(), DIM)).astype(np.float32)
    save_file({"embeddings": table, **tensors}, folder / "model.safetensors")
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"normalize": True, "max_length": 512} if config is None else config
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def save_sentence_encoder(folder, tokenizer=None, *, normalize=False, prompt=None):
    """Write a folder of sentence-transformers with its module in a subfolder."""
    from safetensors.numpy import load_file, save_file

    part = save(Path(folder) / "0_StaticEmbedding", tokenizer)
    (part / "config.json").unlink()
    table = load_file(part / "model.safetensors")["embeddings"]
    save_file({"embedding.weight": table}, part / "model.safetensors")
    room = "sentence_transformers.models"
    kinds = ["StaticEmbedding", "Normalize"] if normalize else ["StaticEmbedding"]
    modules = [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}", "type": f"{room}.{kind}"}
        for i, kind in enumerate(kinds)
    ]
    (Path(folder) / "1_Normalize").mkdir()
    (Path(folder) / "modules.json").write_text(json.dumps(modules))
    options = {"prompts": {"query": prompt}, "default_prompt_name": prompt and "query"}
    Path(folder, "config_sentence_transformers.json").write_text(
        json.dumps(options), encoding="utf-8"
    )
    return Path(folder)


@cache
def folder():
    return str(save(os.path.join(_FOLDER.name, "tiny-static")))


class TinyStatic(os.PathLike):
    """The folder, made when it is first needed."""

    def __fspath__(self):
        return folder()

    def __repr__(self):
        return "TinyStatic()"
