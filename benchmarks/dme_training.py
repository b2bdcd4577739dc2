"""Training speed of DME compared with a plain loop over the same network.

Three random sources of 300 dimensions, projection 256, BiLSTM-max 512, batches of 64,
and the sentence lengths of SST-2 (from ``SK_METAEMBED_DATA``, or sampled to match). The
plain loop is a straightforward implementation: it shuffles, pads to the longest
sequence of the batch, packs, and looks up every token in every source.

Run: python benchmarks/dme_training.py [--epochs 1] [--device auto] [--dtype float32]
"""

import argparse
import time

import numpy as np
import torch
from _plain_loop import N_SOURCES, PROJECTION, make_data, model, time_plain

from sk_metaembed import DynamicMetaEmbedding


def time_ours(X, y, epochs, attention, device, dtype):
    """Return the estimator's tokens per second, set-up included."""
    estimator = model(attention, epochs, device, dtype)
    start = time.perf_counter()
    estimator.fit(X, y)
    return epochs * X.tokens.n_tokens / (time.perf_counter() - start)


def time_transform(X):
    """Return seconds of word-level attention per type and per token."""
    dme = DynamicMetaEmbedding("word", projection_dim=PROJECTION, max_epochs=1)
    dme.fit(X[:64], np.arange(64) % 2)
    best = min(_seconds(lambda: dme.transform(X)) for _ in range(3))
    mixer = dme.net_.module_.mixer.eval().cpu()
    tables = [torch.from_numpy(np.array(block.values)) for block in X.blocks]

    def per_token():
        codes = torch.from_numpy(X.tokens.codes.astype(np.int64))
        with torch.inference_mode():
            for part in codes.split(4096):
                projected = [
                    p(t[part]) for p, t in zip(mixer.projections, tables, strict=True)
                ]
                known = torch.ones(len(part), N_SOURCES, dtype=torch.bool)
                mixer.mix_rows(projected, known)[0].numpy()

    return best, min(_seconds(per_token) for _ in range(3))


def _seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main():
    """Time all implementations and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="float32")
    options = parser.parse_args()
    device = options.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    everything, y = make_data()
    X, y = everything[: options.sentences], y[: options.sentences]
    time_ours(X[:128], y[:128], 1, "word", device, options.dtype)
    plain = np.mean(time_plain(X, y, options.epochs, device))
    print(
        f"{len(X)} sentences, {X.tokens.n_tokens} tokens, {device}, {options.dtype}\n"
    )
    print("| training | tokens/s | ratio |\n|---|---|---|")
    print(f"| plain loop, shuffled, padded and packed | {plain:,.0f} | 1.0 |")
    for attention, name in (("word", "DME"), ("context", "CDME")):
        ours = time_ours(X, y, options.epochs, attention, device, options.dtype)
        print(f"| {name} | {ours:,.0f} | {ours / plain:.2f} |", flush=True)
    per_type, per_token = time_transform(everything)
    tokens = everything.tokens
    print(f"\nTransform of {tokens.n_tokens} tokens of {tokens.n_types} types\n")
    print("| word attention | ms | ratio |\n|---|---|---|")
    print(f"| per token | {per_token * 1e3:.1f} | 1.0 |")
    print(f"| per type | {per_type * 1e3:.1f} | {per_token / per_type:.1f} |")


if __name__ == "__main__":
    main()
