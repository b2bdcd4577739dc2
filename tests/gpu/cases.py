"""What is computed on each device: every torch component, as named arrays.

A case is a function of a device and a dtype. Dropout is off, because devices draw
different numbers, and batches hold all rows, because the order of rows may differ.
"""

import tempfile
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback

from sk_metaembed import (
    AutoencodedMetaEmbedding,
    Block,
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaTagger,
    ElmoEmbedding,
    ElmoLanguageModel,
    EmbeddedSequences,
    SequencePairs,
    TokenSequences,
    TrainableCharacters,
    TrainableTokens,
    TrainableTransformer,
    TransformerEmbedding,
)

from .. import tiny_bert, tiny_elmo

N_ROWS = 24
BOTH = ("float32", "bfloat16")
OFF = {"embedding_dropout": 0.0, "head_dropout": 0.0}
PUBLISHED = {"mixer": "published"}


class Case(NamedTuple):
    """A function of (device, dtype), its dtypes, and the packages that it needs."""

    compute: object
    dtypes: tuple = BOTH
    needs: tuple = ()


def tokens(n_rows=N_ROWS, longest=12):
    """Return sentences of short words, one of them empty."""
    rng = np.random.default_rng(0)
    words = [
        "".join(rng.choice(list("abcdefgh"), rng.integers(1, 7))) for _ in "ab" * 30
    ]
    lengths = rng.integers(1, longest + 1, n_rows)
    lengths[1] = 0
    return TokenSequences.from_lists(
        [[str(w) for w in rng.choice(words, size)] for size in lengths]
    )


def embedded(levels=("type", "type"), dims=(24, 40), n_rows=N_ROWS):
    """Return sentences under sources that do not know all words."""
    rng, sentences = np.random.default_rng(1), tokens(n_rows)
    sizes = {"type": sentences.n_types, "token": sentences.n_tokens}
    sizes["sequence"] = n_rows
    blocks = []
    for i, (level, dim) in enumerate(zip(levels, dims, strict=False)):
        known = rng.random(sizes[level]) > 0.2
        values = rng.normal(size=(sizes[level], dim)) * known[:, None]
        blocks.append(Block(f"s{i}", values, level, known))
    return EmbeddedSequences(sentences, blocks)


class FirstStep(Callback):
    """Record the weights around the first step of a fit, its gradients and its loss."""

    last = None  # of the last fit: estimators train with copies of their callbacks
    noise = None  # applied to the initial weights

    def on_train_begin(self, net, **kwargs):
        """Record the initial weights."""
        self.gradients_, self.after_, self.loss_ = {}, None, None
        if FirstStep.noise is not None:
            for _, weight in net.get_all_learnable_params():
                FirstStep.noise(weight.detach())
        self.before_ = _weights(net)
        FirstStep.last = self

    def on_grad_computed(self, net, named_parameters=(), **kwargs):
        """Record the gradients of the first step."""
        if self.gradients_:
            return
        for name, weight in named_parameters:
            if weight.grad is not None:
                self.gradients_[name] = weight.grad.float().cpu().numpy().copy()

    def on_batch_end(self, net, training=False, loss=None, **kwargs):
        """Record weights and loss after the first step."""
        if training and self.after_ is None:
            self.after_, self.loss_ = _weights(net), float(loss.detach())

    def arrays(self):
        """Return loss, gradients and steps by name."""
        result = {"value loss": np.array([self.loss_])}
        for name, gradient in self.gradients_.items():
            result[f"gradient {name}"] = gradient
            result[f"step {name}"] = self.after_[name] - self.before_[name]
        return result


def rounding_effects(case, expected, n_repeats=8):
    """Return how far noise of the size of bfloat16's rounding moves each gradient.

    This is far where large contributions cancel, as in the gradients of biases, and
    where a unit is so close to the kink of relu that rounding turns it on or off.

    Returns
    -------
    dict of str to float
        The largest norm of the change of each gradient of `expected`, the arrays of the
        case on the CPU in float32.
    """
    generator = torch.Generator().manual_seed(0)

    def noise(weight):
        weight.mul_(1 + 2**-8 * torch.randn(weight.shape, generator=generator))

    effects = dict.fromkeys((n for n in expected if n.startswith("gradient")), 0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FirstStep, "noise", noise)
        for _ in range(n_repeats if effects else 0):
            moved = case.compute("cpu", "float32")
            for name in effects:
                change = np.linalg.norm(moved[name] - expected[name])
                effects[name] = max(effects[name], change)
    return effects


def _weights(net):
    named = net.get_all_learnable_params()
    return {name: w.detach().float().cpu().numpy().copy() for name, w in named}


def one_step(model, X, y, device, dtype, *outputs):
    """Train for one step of all rows; return its arrays and those of methods of X."""
    options = {"gradient_clip": None, "dtype": dtype} | (model.train_options or {})
    model.set_params(
        device=device,
        max_epochs=1,
        batch_size=4 * N_ROWS,
        early_stopping=False,
        train_options=options,
        callbacks=[FirstStep()],
        random_state=0,
    )
    model.fit(X, y)
    result = FirstStep.last.arrays()
    for name in outputs:
        result[f"value {name}"] = _flat(getattr(model, name)(X))
    return result


def _flat(values):
    """Return the numbers or labels of an output as one array."""
    if isinstance(values, EmbeddedSequences):
        values = [block.values for block in values.blocks]
    if hasattr(values, "select_dtypes"):  # a table of weights
        values = values.select_dtypes("number").to_numpy(np.float64)
    if not isinstance(values, np.ndarray) or values.dtype.kind == "O":
        values = np.concatenate([np.ravel(part) for part in values])
    values = np.asarray(values)
    return values.astype(np.float64) if values.dtype.kind == "f" else values


def classifier(attention="word", **options):
    """Return a small classifier without dropout."""
    small = {"projection_dim": 32, "encoder_dim": 24, "hidden_dims": (16,)}
    return DynamicMetaClassifier(attention, **small | OFF | options)


def labels(n_rows=N_ROWS):
    """Return two classes."""
    return np.array(["no", "yes"])[np.random.default_rng(2).integers(0, 2, n_rows)]


def mixer(attention, levels=("type", "type"), dims=(24, 40), **options):
    """Return the case of a mixer behind a mean."""

    def compute(device, dtype):
        model = classifier(attention, encoder="mean", **options)
        X = embedded(levels, dims)
        outputs = "predict_proba", "attention_weights"
        return one_step(model, X, labels(), device, dtype, *outputs)

    return Case(compute)


MIXERS = {
    "task": mixer("task", network_options={"mix_penalty": 0.01}),
    "word": mixer("word"),
    "context": mixer("context"),
    "uniform": mixer("uniform"),
    "sigmoid": mixer("word", network_options={"gate": "sigmoid"}),
    "published": mixer("word", network_options=PUBLISHED),
    "published context": mixer("context", network_options=PUBLISHED),
    "layer norm": mixer(
        "word", network_options={"layer_norm": True, "activation": None}
    ),
    "no projection": mixer("word", dims=(24, 24), projection_dim=None),
    "levels": mixer("word", ("type", "token", "sequence"), (24, 40, 16)),
    "sequences": mixer("word", ("sequence", "sequence")),
}


def encoder(name, **options):
    """Return the case of an encoder behind a mixer."""

    def compute(device, dtype):
        model = classifier(encoder=name, **options)
        return one_step(model, embedded(), labels(), device, dtype, "predict_proba")

    return Case(compute)


ENCODERS = {
    "conv": encoder(
        "conv", encoder_dim=(24, 16), network_options={"conv_widths": (1, 4)}
    ),
    "bilstm-max": encoder("bilstm-max", encoder_dim=(24, 16)),
    "mean": encoder("mean"),
    "max": encoder("max"),
}


def pairs(device, dtype):
    """Return the arrays of a classifier of pairs."""
    X = SequencePairs(embedded(n_rows=2 * N_ROWS))
    model = classifier(encoder="bilstm-max")
    return one_step(model, X, labels(), device, dtype, "predict_proba")


def embedding(device, dtype):
    """Return the arrays of meta-embeddings of words."""
    model = DynamicMetaEmbedding(projection_dim=32, hidden_dims=(16,), **OFF)
    return one_step(model, embedded(), labels(), device, dtype, "transform")


def spans(row):
    """Return valid IOB2 tags of a sentence that its words decide."""
    tags = []
    for word in row:
        inside = tags and tags[-1] != "O" and len(word) % 3 == 2
        tags.append("I-x" if inside else ("O", "B-x", "O")[len(word) % 3])
    return tags


def tagger(**options):
    """Return the case of a tagger."""

    def compute(device, dtype):
        X = embedded()
        tags = [spans(row) for row in X.tokens.to_list()]
        model = DynamicMetaTagger(projection_dim=32, encoder_dim=24, **OFF, **options)
        return one_step(model, X, tags, device, dtype, "predict", "predict_proba")

    return Case(compute)


PREDICTORS = {
    "pairs": Case(pairs),
    "word embedding": Case(embedding),
    "crf": tagger(),
    "crf with scheme": tagger(scheme="IOB2"),
    "softmax tagger": tagger(network_options={"decoder": "softmax"}),
}


@cache
def bert_folder():
    """Return the folder of a BERT without dropout."""
    folder = tempfile.TemporaryDirectory(prefix="sk_metaembed-gpu-bert-")
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4}
    no_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    # A larger range, as in the other tests, makes logits of attention extreme.
    tiny_bert.save(folder.name, initializer_range=0.1, **sizes, **no_dropout)
    return folder


def vectors_of(make_source, *needs, **options):
    """Return the case of the vectors of a source that a function makes."""

    def compute(device, dtype):
        source = make_source(device=device, dtype=dtype, missing="empty", **options)
        blocks = source.fit_transform(tokens()).blocks
        return {f"value {block.name}": block.values for block in blocks}

    return Case(compute, needs=needs)


def bert(**options):
    return TransformerEmbedding(bert_folder().name, **options)


def transformer(**options):
    """Return the case of a transformer's vectors."""
    return vectors_of(bert, "transformers", "safetensors", **options)


def trained_with(trainable, *needs):
    """Return the case of a step of a trainable source next to a fixed one."""

    def compute(device, dtype):
        model = classifier(encoder="mean", trainable=trainable())
        return one_step(model, embedded(), labels(), device, dtype, "predict_proba")

    return Case(compute, needs=needs)


def _tuned(**options):
    # On the CPU until training begins, so that new weights are the same everywhere.
    return TrainableTransformer(bert(device="cpu", missing="empty"), **options)


SOURCES = {
    "transformer layers": transformer(layers="all"),
    "transformer texts": transformer(layers="all", output="mean"),
    "transformer static": transformer(static=True),
    "characters": trained_with(lambda: TrainableCharacters(dropout=0.0)),
    "tokens": trained_with(TrainableTokens),
    "trainable transformer": trained_with(_tuned, "transformers", "safetensors"),
}


@cache
def elmo_files():
    """Return folder, options and weights of an ELMo of 2 x 32 dimensions."""
    folder = tempfile.TemporaryDirectory(prefix="sk_metaembed-gpu-elmo-")
    options = tiny_elmo.OPTIONS._replace(
        projection_dim=32, cell_dim=64, char_dim=8, filters=((1, 8), (2, 16), (3, 16))
    )
    weights = tiny_elmo.random_weights(options, scale=0.2)
    return folder, *tiny_elmo.write_model(folder.name, options, weights)


def elmo(**options):
    """Return the case of ELMo's vectors."""

    def source(**more):
        return ElmoEmbedding(*elmo_files()[1:], **more)

    return vectors_of(source, "h5py", **options)


def language_model(softmax):
    """Return the case of the first step of a language model, and of its perplexity."""

    def compute(device, dtype):
        rows = [row for row in tokens(2 * N_ROWS).to_list() if row]
        model = ElmoLanguageModel(
            architecture={
                "projection_dim": 32,
                "cell_dim": 48,
                "filters": ((1, 8), (2, 16)),
                "char_dim": 8,
            },
            batch_size=8,
            n_steps=7,
            max_epochs=1,
            dropout=0.0,
            lr=1e-3,
            softmax=softmax,
            device=device,
            dtype=dtype,
            callbacks=[FirstStep()],
            random_state=0,
        ).fit(rows)
        result = FirstStep.last.arrays()
        return result | {"trained perplexity": np.array([model.perplexity(rows)])}

    return Case(compute)


ELMO = {
    "elmo": elmo(),
    "elmo, last layer": elmo(layers=(2,)),
    "language model": language_model("full"),
    "language model, adaptive": language_model("adaptive"),
}


def autoencoder(variant):
    """Return the case of a few steps of an autoencoder."""

    def compute(device, dtype):
        model = AutoencodedMetaEmbedding(
            variant,
            n_components=16,
            noise=0.0,
            batch_size=10**6,
            max_iter=3,
            device=device,
            random_state=0,
        )
        vectors = model.fit_transform(embedded()).blocks[0].values
        return {"trained loss": np.array(model.loss_curve_), "trained vectors": vectors}

    return Case(compute, ("float32",))


META = {
    "averaged": autoencoder("averaged"),
    "concatenated": autoencoder("concatenated"),
    "decoupled": autoencoder("decoupled"),
}

CASES = MIXERS | ENCODERS | PREDICTORS | SOURCES | ELMO | META
