"""Seconds of `DynamicMetaClassifier.fit`, from 1,000 to 400,000 short texts.

Texts are generated: 20 words of 30,000, drawn with the frequencies of Zipf's law, of
which a fifth belongs to the text's class, one of four. Two static sources of 100 and
300 dimensions have random vectors. The last 1,000 texts are held out.

Prints, for each number of texts and threads, epochs, CPU and wall-clock seconds, tokens
per second, and the accuracy. ``--parts`` prints where a step of training spends its
time instead.

Run: python benchmarks/dynamic_speed.py [--rows 1000 10000] [--threads 1 2] [--parts]
"""

import argparse
import time
from collections import defaultdict

import numpy as np
import torch
from skorch.callbacks import Callback
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    EmbeddedSequences,
    TokenSequences,
)

N_WORDS, N_TYPES, N_CLASSES, N_HELD_OUT = 20, 30_000, 4, 1_000
DIMS = {"small": 100, "large": 300}
SHARE = 0.2  # of words that belong to the class


def generate(n_texts, seed=0):
    """Return `EmbeddedSequences` and their classes."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(10, N_TYPES + 10)
    y = rng.integers(0, N_CLASSES, n_texts)
    words = rng.choice(N_TYPES, (n_texts, N_WORDS), p=frequency / frequency.sum())
    own = rng.random(words.shape) < SHARE
    words = np.where(own, words - words % N_CLASSES + y[:, None], words)
    offsets = np.arange(n_texts + 1) * N_WORDS
    names = [f"w{i}" for i in range(N_TYPES)]
    tokens = TokenSequences(names, words.ravel(), offsets)
    blocks = [
        Block(name, rng.normal(size=(N_TYPES, dim)).astype(np.float32), "type")
        for name, dim in DIMS.items()
    ]
    return EmbeddedSequences(tokens, blocks), y


def measure(X, y, **parameters):
    """Return epochs, CPU and wall-clock seconds of a fit, and the held-out accuracy."""
    train = np.arange(len(y) - N_HELD_OUT)
    model = DynamicMetaClassifier(random_state=0, device="cpu", **parameters)
    part = X[train]
    start = time.process_time(), time.perf_counter()
    model.fit(part, y[train])
    cpu, wall = time.process_time() - start[0], time.perf_counter() - start[1]
    score = model.score(X[len(train) :], y[len(train) :])
    return model.n_iter_, cpu, wall, score


class Parts(Callback):
    """Measure the parts of the steps of an epoch, after 20 others.

    The time of a module is without that of modules in it.
    """

    N_SKIPPED = 20

    def on_train_begin(self, net, **kwargs):
        """Listen to the modules."""
        self.seconds, self.n_steps, self.n_texts = defaultdict(float), 0, 0
        self.inside, self.last = [], time.perf_counter()
        self.hooks = [
            register_module_forward_pre_hook(lambda module, _: self.enter(module)),
            register_module_forward_hook(lambda *_: self.count(self.inside.pop())),
        ]

    def count(self, part):
        """Add the time since the last call to a part."""
        now = time.perf_counter()
        self.seconds[part] += now - self.last
        self.last = now

    def enter(self, module):
        """Begin a module, in the last one or in none."""
        self.count(self.inside[-1] if self.inside else "forward, other")
        self.inside.append(type(module).__name__)

    def on_batch_begin(self, net, batch, **kwargs):
        """End the making of a batch."""
        self.count("batches")
        self.n_steps += 1
        self.n_texts += len(batch[0])
        if self.n_steps == self.N_SKIPPED:
            self.seconds.clear()
            self.n_steps = self.n_texts = 0

    def on_grad_computed(self, net, named_parameters, **kwargs):
        """End the backward pass."""
        self.count("loss and backward")

    def on_batch_end(self, net, **kwargs):
        """End the step of the optimizer."""
        self.count("optimizer")

    def on_train_end(self, net, **kwargs):
        """Print the table."""
        for hook in self.hooks:
            hook.remove()
        self.seconds["all"] = sum(self.seconds.values())
        print("| part | ms per step | tokens/s |\n|---|---|---|")
        for part, seconds in sorted(self.seconds.items(), key=lambda pair: pair[1]):
            speed = self.n_texts * N_WORDS / seconds
            print(f"| {part} | {1e3 * seconds / self.n_steps:.2f} | {speed:,.0f} |")


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    rows = [1_000, 4_000, 10_000, 40_000, 100_000, 400_000]
    parser.add_argument("--rows", type=int, nargs="+", default=rows)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--parts", action="store_true")
    arguments = parser.parse_args()
    if arguments.parts:
        for n_texts in arguments.rows:
            print(f"\n{n_texts:,} texts, one thread\n")
            torch.set_num_threads(1)
            measure(*generate(n_texts + N_HELD_OUT), max_epochs=1, callbacks=[Parts()])
        return
    print("| texts | threads | epochs | CPU s | wall s | tokens/s | accuracy |")
    print("|---|---|---|---|---|---|---|")
    for n_texts in arguments.rows:
        X, y = generate(n_texts + N_HELD_OUT)
        for threads in arguments.threads:
            torch.set_num_threads(threads)
            epochs, cpu, wall, score = measure(X, y)
            speed = epochs * n_texts * N_WORDS / wall
            print(
                f"| {n_texts:,} | {threads} | {epochs} | {cpu:.1f} | {wall:.1f} | "
                f"{speed:,.0f} | {score:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
