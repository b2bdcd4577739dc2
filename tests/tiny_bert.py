"""A BERT with random weights, made once a process in a temporary folder."""

import os
import tempfile
from functools import cache
from pathlib import Path

from sk_metaembed.utils.estimator_checks import WORDS

_FOLDER = tempfile.TemporaryDirectory(prefix="sk_metaembed-tiny-bert-")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LETTERS = tuple("abcdefghijklmnopqrstuvwxyz.:,1")
VOCABULARY = [
    *SPECIAL,
    *LETTERS,
    *(f"##{letter}" for letter in LETTERS),
    *(word for word in WORDS if word.isascii() and word != "plot"),
    *("king", "queen", "query", "cafe", "東", "##ing"),
]


def tokenizer():
    return bert_tokenizer(VOCABULARY)


def bert_tokenizer(words, *, lowercase=True):
    """Return a BertTokenizer; `BertTokenizer(vocab=)` is of transformers 5."""
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertTokenizerFast

    vocabulary = {word: i for i, word in enumerate(words)}
    backend = BertWordPieceTokenizer(vocabulary, lowercase=lowercase)._tokenizer
    return BertTokenizerFast(tokenizer_object=backend, do_lower_case=lowercase)


def network(seed=0, **options):
    import torch
    from transformers import BertConfig, BertModel

    config = {
        "vocab_size": len(VOCABULARY),
        "hidden_size": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "max_position_embeddings": 48,
        "initializer_range": 0.5,  # so that layers differ visibly
    }
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return BertModel(BertConfig(**{**config, **options})).eval()


def random_model(kind, config, seed=0):
    """Return a model of a class of transformers whose layers differ visibly."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        module = kind(config).eval()
        for parameter in module.parameters():
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, std=0.3)
    return module


def save(folder, seed=0, **options):
    network(seed, **options).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return Path(folder)


@cache
def folder():
    return str(save(os.path.join(_FOLDER.name, "tiny-bert")))


class TinyBert(os.PathLike):
    """The folder, made when it is first asked for: transformers loads slowly."""

    def __fspath__(self):
        return folder()

    def __repr__(self):
        return "TinyBert()"
