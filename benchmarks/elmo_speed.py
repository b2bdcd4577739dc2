"""Speed of ELMo's forward pass compared with a plain PyTorch loop over steps.

Random weights of the original and the small size, on the test sentences of SST-2 (from
``SK_METAEMBED_DATA``, or sampled to match). The plain loop uses batches of 32 in input
order, runs the character CNN on every token, and the LSTM one step at a time with two
products per step. "shrinking" sorts each batch by length and drops finished sentences,
as AllenNLP does; "padded" computes all steps. The implementations alternate, and their
vectors are compared.

Run: python benchmarks/elmo_speed.py [--size small] [--sentences 256] [--threads 2]
     [--device auto] [--dtype float32] [--plain shrinking padded]
"""

import argparse
import os
import tempfile
from statistics import median

import numpy as np
import torch
import torch.nn.functional as F
from _measure import alternate

from sk_metaembed import ElmoEmbedding, TokenSequences
from sk_metaembed.sources.elmo._model_files import cell_key, weight_shapes
from sk_metaembed.sources.elmo._options import ElmoOptions
from sk_metaembed.sources.elmo.language_model._model_files import write_model

FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
SIZES = {"original": (4096, 512, 2), "small": (1024, 128, 1)}


def make_options(size):
    cells, projection, n_highway = SIZES[size]
    return ElmoOptions(
        projection_dim=projection,
        cell_dim=cells,
        n_layers=2,
        cell_clip=3.0,
        proj_clip=3.0,
        skip_connections=True,
        char_dim=16,
        max_characters=50,
        filters=FILTERS,
        n_highway=n_highway,
        activation="relu",
    )


def random_weights(options):
    """Return random weights for which cells neither vanish nor saturate."""
    rng = np.random.default_rng(0)
    weights = {}
    for name, shape in weight_shapes(options).items():
        n_in = int(np.prod(shape[:-1])) if len(shape) > 1 else 1
        array = rng.standard_normal(shape, dtype=np.float32)
        weights[name] = array * np.float32(1.0 if len(shape) == 1 else n_in**-0.5)
    weights["char_embed"] = rng.standard_normal((261, 16), dtype=np.float32)
    return weights


def sentences(n):
    """Return SST-2's first test sentences, or random ones of similar lengths."""
    if os.environ.get("SK_METAEMBED_DATA"):
        from _data import load_sst2

        return load_sst2("test").data[:n].to_list()
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.gamma(4.3, 4.5, n).astype(int), 2, 52)
    share = 1 / np.arange(1, 15_001)
    codes = rng.choice(15_000, size=lengths.sum(), p=share / share.sum())
    words = np.array([f"{'word'[: 1 + i % 4]}{i}" for i in range(15_000)])
    return [row.tolist() for row in np.split(words[codes], np.cumsum(lengths)[:-1])]


class PlainElmo:
    """A straightforward implementation of the same network."""

    def __init__(self, options, weights, device, shrinking):
        self.options, self.shrinking = options, shrinking
        self.w = {k: torch.from_numpy(v).to(device) for k, v in weights.items()}
        self.device = device
        # In the layout of nn.Linear and nn.Conv1d.
        for name in list(self.w):
            if "W_cnn" in name:
                self.w[name] = self.w[name][0].permute(2, 1, 0).contiguous()
            elif name.endswith("/W_0"):  # from the input and the hidden state
                parts = self.w[name].split(options.projection_dim)
                self.w[name] = [part.t().contiguous() for part in parts]
            elif self.w[name].dim() == 2 and name != "char_embed":
                self.w[name] = self.w[name].t().contiguous()

    def characters(self, batch):
        """Return padded ids, (n_sentences, n_words, 50), of marked sentences."""
        longest = max(map(len, batch)) + 2
        ids = np.full((len(batch), longest, 50), 260)
        for i, words in enumerate(batch):
            spelled = [list(word.encode()[:48]) for word in words]
            for j, s in enumerate([[256], *spelled, [257]]):
                ids[i, j, : len(s) + 2] = [258, *s, 259]
        return torch.from_numpy(ids).to(self.device)

    def words(self, ids):
        """Return token vectors, (n_sentences, n_words, projection_dim)."""
        w, o = self.w, self.options
        x = w["char_embed"][ids.flatten(0, 1)].transpose(1, 2)
        results = [
            F.conv1d(x, w[f"CNN/W_cnn_{i}"], w[f"CNN/b_cnn_{i}"]).amax(-1)
            for i in range(len(o.filters))
        ]
        x = torch.relu(torch.cat(results, dim=1))
        for k in range(o.n_highway):
            at = f"CNN_high_{k}/"
            carry = torch.sigmoid(F.linear(x, w[at + "W_carry"], w[at + "b_carry"]))
            new = F.linear(x, w[at + "W_transform"], w[at + "b_transform"])
            x = carry * torch.relu(new) + (1 - carry) * x
        x = F.linear(x, w["CNN_proj/W_proj"], w["CNN_proj/b_proj"])
        return x.view(*ids.shape[:2], -1)

    def lstm(self, x, lengths, direction, layer):
        """Return hidden states, (n_sentences, n_words, projection_dim)."""
        o = self.options
        w, b, p = (self.w[cell_key(direction, layer, n)] for n in ("W_0", "B", "W_P_0"))
        w_x, w_h = w
        hidden = x.new_zeros(len(x), o.projection_dim)
        cell = x.new_zeros(len(x), o.cell_dim)
        out = torch.zeros_like(x)
        for t in range(x.shape[1]):
            n = int((lengths > t).sum()) if self.shrinking else len(x)
            gates = F.linear(x[:n, t], w_x, b) + F.linear(hidden[:n], w_h)
            i, j, f, og = gates.chunk(4, dim=1)
            c = torch.sigmoid(f + 1) * cell[:n] + torch.sigmoid(i) * torch.tanh(j)
            c = c.clamp(-o.cell_clip, o.cell_clip)
            h = F.linear(torch.sigmoid(og) * torch.tanh(c), p)
            h = h.clamp(-o.proj_clip, o.proj_clip)
            cell[:n], hidden[:n] = c, h
            out[:n, t] = h
        return out

    def batch(self, sentences):
        """Return the last layer of a batch, one tensor per sentence."""
        lengths = torch.tensor([len(s) + 2 for s in sentences])
        order = torch.argsort(-lengths, stable=True)
        lengths = lengths[order]
        x = self.words(self.characters([sentences[i] for i in order]))
        steps = torch.arange(x.shape[1])
        # Backward direction: each sentence is reversed within its own length.
        turned = torch.where(
            steps < lengths[:, None], lengths[:, None] - 1 - steps, steps
        )
        rows = torch.arange(len(x))[:, None]
        turned, rows = turned.to(self.device), rows.to(self.device)
        both = [x, x[rows, turned]]
        for layer in range(self.options.n_layers):
            for d in (0, 1):
                out = self.lstm(both[d], lengths, d, layer)
                both[d] = out + both[d] if layer else out
        last = torch.cat([both[0], both[1][rows, turned]], dim=2)
        back = torch.argsort(order)
        return [
            last[k, 1 : length - 1]
            for k, length in zip(back, lengths[back], strict=True)
        ]

    @torch.inference_mode()
    def __call__(self, sentences):
        """Return the last layer over all tokens, in batches of 32."""
        results = []
        for start in range(0, len(sentences), 32):
            results += self.batch(sentences[start : start + 32])
        return torch.cat(results).cpu().numpy()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=SIZES, default="original")
    parser.add_argument("--sentences", type=int, default=256)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--batch-tokens", type=int, default=None)
    parser.add_argument("--plain", nargs="*", default=["shrinking", "padded"])
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)

    rows = sentences(args.sentences)
    tokens = TokenSequences.from_lists(rows)
    options = make_options(args.size)
    weights = random_weights(options)
    with tempfile.TemporaryDirectory() as folder:
        source = ElmoEmbedding(
            *write_model(folder, options, weights),
            device=args.device,
            dtype=args.dtype,
            batch_tokens=args.batch_tokens,
        ).fit(tokens[:1])
        source.transform(tokens[:2])  # reads the weights
    device = source._model._spec.device
    sides = {"ours": lambda: source.transform(tokens).blocks[-1].values}
    for kind in args.plain:
        plain = PlainElmo(options, weights, device, kind == "shrinking")
        plain(rows[:2])
        sides[f"plain, {kind}"] = lambda plain=plain: plain(rows)

    times, results = alternate(sides, args.repeats)
    load = os.getloadavg()[0]
    print(
        f"{args.size}, {device}, {args.dtype}, {torch.get_num_threads()} threads, load "
        f"{load:.1f}; {len(rows)} sentences, {tokens.n_tokens} tokens, "
        f"{tokens.n_types} types"
    )
    ours = times["ours"]
    for name, seconds in times.items():
        gap = np.abs(results[name] - results["ours"]).max()
        print(
            f"{name:17} {tokens.n_tokens / median(seconds[:, 0]):8.0f} tokens/s, "
            f"{1e3 * median(seconds[:, 1]) / tokens.n_tokens:6.2f} ms CPU a token; "
            f"ours is {median(seconds[:, 0] / ours[:, 0]):.2f} times as fast (wall), "
            f"{median(seconds[:, 1] / ours[:, 1]):.2f} (CPU); largest gap {gap:.1e}"
        )


if __name__ == "__main__":
    main()
