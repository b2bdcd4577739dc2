"""Effect of int8 and ONNX Runtime on the speed and vectors of a transformer on a CPU.

Several forms of MiniLM in the same source, so that only the network differs: words/s
over SST-2 sentences; the cosine of word vectors with those of float32; the cosine of
the vectors of a word computed alone and in a batch, which is 1 for all other sources;
accuracy of mean vectors with logistic regression. ONNX Runtime is skipped if onnx,
onnxruntime or onnxscript is not installed.

Needs ``SK_METAEMBED_DATA``.
Run: python benchmarks/transformer_int8.py [--threads 1]
"""

import argparse
import copy
import os
import tempfile
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from transformers import AutoModel, AutoTokenizer

from sk_metaembed import Pooling, TransformerEmbedding
from sk_metaembed.datasets import load_minilm, load_sst2

INT8 = "dynamic int8"
BY_ROWS = "torchao, dynamic int8 by rows, compiled"


class Form(torch.nn.Module):
    """A stand-in for the network that returns only its last layer."""

    def __init__(self, config, run):
        super().__init__()
        self.config = copy.deepcopy(config)
        self.config.num_hidden_layers = 0
        self.place = torch.nn.Parameter(torch.zeros(1))
        self.run = run

    def forward(self, input_ids, attention_mask, token_type_ids=None, **options):
        """Return the last layer as the only hidden state."""
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        last = self.run(input_ids, attention_mask, token_type_ids)
        return SimpleNamespace(hidden_states=(last,))


class LastLayer(torch.nn.Module):
    """The network as a function of three arrays."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, input_ids, attention_mask, token_type_ids):
        """Return the last hidden state."""
        return self.network(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
        ).last_hidden_state


def torch_int8(network):
    """Quantise linear layers; activations by the range of the whole batch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the move to torchao
        linear = {torch.nn.Linear}
        return torch.ao.quantization.quantize_dynamic(network, linear, torch.qint8)


def torchao_int8(network):
    """Quantise linear layers; activations by the range of each row."""
    from torchao.quantization import Int8DynamicActivationInt8WeightConfig, quantize_

    quantize_(network, Int8DynamicActivationInt8WeightConfig())
    return torch.compile(network, dynamic=True)


def onnx_runs(network, folder):
    """Return functions that run the network in ONNX Runtime: float32 and int8."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    file, small = Path(folder, "model.onnx"), Path(folder, "int8.onnx")
    names = ["input_ids", "attention_mask", "token_type_ids"]
    given = {name: torch.ones((3, 7), dtype=torch.int64) for name in names}
    sizes = {0: torch.export.Dim("rows"), 1: torch.export.Dim("pieces", max=512)}
    torch.onnx.export(
        LastLayer(network).eval(),
        tuple(given.values()),
        file,
        input_names=names,
        output_names=["last"],
        dynamic_shapes=dict.fromkeys(names, sizes),
        dynamo=True,
        verbose=False,
    )
    quantize_dynamic(file, small, weight_type=QuantType.QInt8)
    return onnx_run(file, names), onnx_run(small, names)


def onnx_run(file, names):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        str(file), options, providers=["CPUExecutionProvider"]
    )
    expected = {entry.name for entry in session.get_inputs()}

    def run(*arrays):
        given = zip(names, arrays, strict=True)
        given = {name: array.numpy() for name, array in given if name in expected}
        return torch.from_numpy(session.run(None, given)[0])

    return run


def forms(path, folder, by_rows):
    """Return sources by name, for batches and for single sentences."""
    tokenizer = AutoTokenizer.from_pretrained(path)

    def fresh():
        return AutoModel.from_pretrained(path).eval()

    results = {
        "float32": TransformerEmbedding(path, output="words"),
        "float32, torch's layers": TransformerEmbedding((fresh(), tokenizer)),
        "bfloat16": TransformerEmbedding(path, output="words", dtype="bfloat16"),
    }
    runs = {f"torch, {INT8}": lambda: LastLayer(torch_int8(fresh()))}
    try:
        both = onnx_runs(fresh(), folder)
        runs["ONNX Runtime, float32"] = lambda: both[0]
        runs[f"ONNX Runtime, {INT8}"] = lambda: both[1]
    except ImportError as error:
        print(f"ONNX Runtime is skipped: {error}")
    if by_rows:
        runs[BY_ROWS] = lambda: LastLayer(torchao_int8(fresh()))
    for name, make in runs.items():
        pair = Form(fresh().config, hidden(make())), tokenizer
        results[name] = TransformerEmbedding(pair)
        if INT8 in name and name != BY_ROWS:
            results[f"{name}, each alone"] = TransformerEmbedding(pair, batch_tokens=1)
    return results


def hidden(run):
    """Wrap a module in a function, so that its weights are not registered."""
    return lambda *arrays: run(*arrays)


def vectors(source, tokens):
    return source.transform(tokens).blocks[0].values


def cosines(a, b):
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return (a * b).sum(1) / lengths


def seconds(sources, tokens, rounds):
    """Return the median CPU and wall seconds of each source, run alternately."""
    times = {name: [] for name in sources}
    for _ in range(rounds):
        for name, source in sources.items():
            wall, cpu = time.perf_counter(), time.process_time()
            source.transform(tokens)
            times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return {name: np.median(result, axis=0) for name, result in times.items()}


def accuracy(source, parts):
    """Return the test accuracy of mean vectors with logistic regression."""
    if not len(parts["train"].target):
        return float("nan")
    means = {
        name: Pooling("mean").fit_transform(source.transform(part.data))
        for name, part in parts.items()
    }
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=1000))
    model.fit(means["train"], parts["train"].target)
    return model.score(means["test"], parts["test"].target)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--train", type=int, default=3000, help="0: no accuracy")
    parser.add_argument("--test", type=int, default=1821)
    parser.add_argument("--torchao", action="store_true", help="minutes of compiling")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    parts = {name: load_sst2(name) for name in ("train", "test")}
    tokens = parts["train"].data[: args.sentences]
    for name, n_rows in (("train", args.train), ("test", args.test)):
        part = parts[name]
        part.data, part.target = part.data[:n_rows], part.target[:n_rows]
    print(f"{torch.get_num_threads()} threads; load: {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        sources = forms(load_minilm(), folder, args.torchao)
        table(sources, tokens, parts, args.rounds)


def table(sources, tokens, parts, rounds):
    few = tokens[:200]
    for source in sources.values():
        source.fit(tokens[:8])
        # The source's check would detect that these depend on the batch.
        source._model.network.batching_policy = lambda pad: "any"
        source.transform(few)
    times = seconds(sources, tokens, rounds)
    exact = vectors(sources["float32"], tokens)
    print("| | words/s | relative | CPU | cosine, mean | min | alone, min | SST-2 |")
    print("|---|---|---|---|---|---|---|---|")
    for name, source in sources.items():
        (wall, cpu), (usual, usual_cpu) = times[name], times["float32"]
        close = cosines(vectors(source, tokens), exact)
        alone = np.concatenate([vectors(source, few[[i]]) for i in range(len(few))])
        alone = cosines(alone, vectors(source, few)).min()
        print(
            f"| {name} | {len(tokens.codes) / wall:,.0f} | {usual / wall:.2f} "
            f"| {usual_cpu / cpu:.2f} | {close.mean():.4f} | {close.min():.4f} "
            f"| {alone:.6f} | {accuracy(source, parts):.4f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
