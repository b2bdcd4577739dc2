"""Speed of a transformer's word vectors: the source, and the forward pass alone.

2,000 SST-2 sentences through MiniLM. The forward pass alone is the fastest simple
implementation: tokenizer, sentences sorted by length, batches of 32, the last layer,
without extracting vectors; with torch's own linear layers, and with weights in oneDNN's
layout as in the source, which is the limit. The source also computes word vectors in
input order on the host. The implementations alternate, and the median of the rounds is
reported.

sentence-transformers computes one vector per sentence; it is skipped if it is not
installed. ``--lengths``: vectors of texts of 5 to 500 words, cut from BBC articles,
next to ``SentenceTransformer.encode``. ``--documents``: long texts, in windows; the
source only. ``--host``: the source with zeros in place of the network's states, next to
its tokenizer alone, on BBC articles, whole and cut into texts of 20 words.

Needs ``SK_METAEMBED_DATA``.
Run: python benchmarks/transformer_speed.py [--lengths 6000] [--documents 100]
     [--host 400]
"""

import argparse
import os
from functools import partial
from types import SimpleNamespace

import numpy as np
import torch
from _data import load_sst2
from _measure import alternate
from transformers import AutoConfig, AutoModel, AutoTokenizer

from sk_metaembed import Tokenizer, TokenSequences, TransformerEmbedding
from sk_metaembed._training._onednn import pack_layers
from sk_metaembed.datasets import load_bbc_news

LENGTHS = (5, 20, 50, 100, 200, 500)


class Bare:
    """Tokenizer, sorting, and forward pass in batches of sentences."""

    def __init__(self, path, tokens, device, dtype="float32", size=32, packed=False):
        self.tokenizer = AutoTokenizer.from_pretrained(path)
        dtype = getattr(torch, dtype)
        self.network = AutoModel.from_pretrained(path, dtype=dtype).eval().to(device)
        self.rows, self.device, self.size = tokens.to_list(), device, size
        if packed:
            ids = {"input_ids": torch.ones((1, 8), dtype=torch.int64)}
            pack_layers(
                self.network.requires_grad_(False),
                lambda: self.network(**ids).last_hidden_state.float(),
                lambda a, b: torch.allclose(a, b, atol=0.1),
            )

    @torch.inference_mode()
    def __call__(self):
        """Embed all sentences."""
        ids = self.tokenizer(self.rows, is_split_into_words=True)["input_ids"]
        ids.sort(key=len)
        for start in range(0, len(ids), self.size):
            some = {"input_ids": ids[start : start + self.size]}
            batch = self.tokenizer.pad(some, return_tensors="pt").to(self.device)
            self.network(**batch)
        if self.device != "cpu":
            torch.cuda.synchronize()


class Ours:
    """The source with options."""

    def __init__(self, path, tokens, device, **options):
        options = {"output": "words", **options}
        self.source = TransformerEmbedding(path, device=device, **options)
        self.source.fit(tokens[:8])
        self.tokens = tokens

    def __call__(self):
        """Embed all sentences."""
        self.values = self.source.transform(self.tokens).blocks[0].values


class SentenceVectors:
    """sentence-transformers: the mean over the subwords of each sentence."""

    def __init__(self, path, texts, device, dtype="float32"):
        from sentence_transformers import SentenceTransformer

        options = {"dtype": getattr(torch, dtype)}
        self.model = SentenceTransformer(path, device=device, model_kwargs=options)
        self.texts = list(texts)

    def __call__(self):
        """Embed all sentences."""
        self.model.encode(self.texts, batch_size=32)


def sides_of(args, path, tokens):
    """Return the implementations by name."""
    device = args.device
    given = path, tokens, device
    sides = {
        "forward pass alone, batches of 32": Bare(*given),
        "`TransformerEmbedding`": Ours(*given),
        "ours, dtype='bfloat16'": Ours(*given, dtype="bfloat16"),
        "ours, output='mean'": Ours(*given, output="mean"),
        "ours, output='sentence'": Ours(*given, output="sentence"),
    }
    if device == "cpu":
        for dtype in ("float32", "bfloat16"):
            name = f"forward pass alone, {dtype}, oneDNN's layout"
            sides[name] = Bare(*given, dtype, packed=True)
    try:
        texts = map(" ".join, tokens)
        sides["sentence-transformers"] = SentenceVectors(path, texts, device)
    except ImportError as error:
        print(f"sentence-transformers is skipped: {error}")
    if device != "cpu":
        sides["forward pass alone, bfloat16"] = Bare(*given, "bfloat16")
    return sides


def table(sides, tokens, rounds):
    """Print the median round of each implementation, relative to the forward pass."""
    for side in sides.values():
        side()  # the first call allocates memory and may compile
    times, _ = alternate(sides, rounds)
    medians = {name: np.median(result, axis=0) for name, result in times.items()}
    bare = medians[next(iter(sides))]
    n_words, n_rows = len(tokens.codes), len(tokens)
    print("| | words/s | sentences/s | relative | CPU s | relative |")
    print("|---|---|---|---|---|---|")
    for name, (wall, cpu) in medians.items():
        print(
            f"| {name} | {n_words / wall:,.0f} | {n_rows / wall:,.0f} "
            f"| {bare[0] / wall:.2f} | {cpu:.1f} | {bare[1] / cpu:.2f} |"
        )


def lengths(path, device, dtype, n_words, rounds):
    """Print the speed of sentence vectors by length, relative to ``encode``."""
    words = " ".join(load_bbc_news().data).split()
    print("| words per text | texts | encode, CPU s | ours | ratio | wall, ratio |")
    print("|---|---|---|---|---|---|")
    for length in (*LENGTHS, None):
        rng, texts, total = np.random.default_rng(0), [], 0
        while total < n_words:
            size = length or int(rng.choice(LENGTHS))
            start = rng.integers(len(words) - size)
            texts.append(" ".join(words[start : start + size]))
            total += size
        sides = {
            "encode": SentenceVectors(path, texts, device, dtype),
            "ours": Ours(path, texts, device, output="sentence", dtype=dtype),
        }
        times, _ = alternate(sides, rounds + 1)  # the first warms up
        theirs, ours = (np.median(times[side][1:], axis=0) for side in sides)
        print(
            f"| {length or 'mixed'} | {len(texts)} | {theirs[1]:.3f} | {ours[1]:.3f} "
            f"| {theirs[1] / ours[1]:.2f} | {theirs[0] / ours[0]:.2f} |",
            flush=True,
        )


def documents(path, device, n_documents, rounds):
    """Print how many long texts per second the source embeds in each precision."""
    tokens = Tokenizer().transform(load_bbc_news().data[:n_documents])
    sides = {
        dtype: Ours(path, tokens, device, dtype=dtype)
        for dtype in ("float32", "bfloat16")
    }
    print(f"{len(tokens)} documents, {len(tokens.codes)} words")
    for name, result in alternate(sides, rounds)[0].items():
        wall, cpu = np.median(result, axis=0)
        rate, cpu_rate = len(tokens) / wall, len(tokens) / cpu
        print(f"{name}: {rate:.1f} documents/s, {cpu_rate:.1f} per CPU second")


class Zeros(torch.nn.Module):
    """A network whose hidden states are zeros and take no time to compute."""

    def __init__(self, config):
        super().__init__()
        self.config, n_states = config, config.num_hidden_layers + 1
        self.weight = torch.nn.Parameter(torch.zeros(1, 1))
        self._states = [torch.zeros(2**15, config.hidden_size)] * n_states

    def forward(
        self,
        input_ids,
        attention_mask=None,
        token_type_ids=None,
        output_hidden_states=True,
        return_dict=True,
    ):
        """Return zeros of the shape of the hidden states."""
        size = input_ids.numel()
        states = [s[:size].view(*input_ids.shape, -1) for s in self._states]
        return SimpleNamespace(hidden_states=states)


def host(path, n_documents, rounds):
    """Print the speed of the source without its network, and of the tokenizer alone."""
    documents = list(load_bbc_news().data[:n_documents])
    words = " ".join(documents).split()
    short = [" ".join(words[i : i + 20]) for i in range(0, len(words), 20)]
    tokenizer = AutoTokenizer.from_pretrained(path)
    pair = Zeros(AutoConfig.from_pretrained(path)), tokenizer
    split = tokenizer.backend_tokenizer.encode_batch
    print("| | tokens | tokenizer, tokens/CPU s | source | relative |")
    print("|---|---|---|---|---|")
    for name, texts in (("texts of 20 words", short), ("articles", documents)):
        tokens = Tokenizer().transform(texts)
        lists = TokenSequences(tokens.types, tokens.codes, tokens.offsets)
        for kind, data in (("", texts), (", as token lists", lists)):
            given = [" ".join(row) for row in data] if kind else texts
            source = TransformerEmbedding(pair, output="words").fit(data[:20])
            alone = partial(split, given, add_special_tokens=False)
            sides = {"alone": alone, "whole": partial(source.transform, data)}
            times, _ = alternate(sides, rounds + 1)  # the first warms up
            alone, whole = (np.median(times[side][1:, 1]) for side in sides)
            n = tokens.n_tokens
            print(
                f"| {name}{kind} | {n:,} | {n / alone:,.0f} | {n / whole:,.0f} "
                f"| {alone / whole:.2f} |"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="a folder; MiniLM if none is given")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, help="torch's, on a CPU")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--dtype", default="float32", help="of --lengths")
    parser.add_argument("--lengths", type=int, help="number of words per length")
    parser.add_argument("--documents", type=int, help="number of BBC articles")
    parser.add_argument("--host", type=int, help="number of BBC articles; no network")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    path = args.model
    if path is None:
        from sk_metaembed.datasets import encoder_path

        path = encoder_path("minilm")
    if args.host:
        host(str(path), args.host, args.rounds)
        return
    if args.lengths:
        lengths(str(path), args.device, args.dtype, args.lengths, args.rounds)
        return
    if args.documents:
        documents(str(path), args.device, args.documents, args.rounds)
        return
    tokens = load_sst2("train").data[: args.sentences]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(
        f"{len(tokens)} sentences, {len(tokens.codes)} words; {args.device}, "
        f"{torch.get_num_threads()} threads; load before: {load:.1f}"
    )
    table(sides_of(args, str(path), tokens), tokens, args.rounds)


if __name__ == "__main__":
    main()
