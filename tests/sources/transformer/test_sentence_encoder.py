"""output="sentence" computes what the files of a sentence encoder say."""

import json
import pickle
import shutil
import warnings
from fnmatch import fnmatch

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings, strategies
from sklearn.base import clone
from transformers import AutoConfig

from sk_metaembed import (
    EmbeddingCache,
    TrainableTransformer,
    TransformerEmbedding,
    load,
    save,
)

from ... import tiny_bert
from ... import tiny_encoder as tiny

TEXTS = ["the film was good", "a plot", "Kings and the queen", "?!", "good " * 9]
MODES = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
MEAN = tiny.pooling("mean")
PROMPTS = {"prompts": {"query": "query: ", "plot": "the plot: "}}


def states(folder, text, family="Bert", limit=None, network=None):
    """Return ids and last hidden states of one text, (n_subwords, dim)."""
    options = {} if limit is None else {"truncation": True, "max_length": limit}
    ids = tiny.tokenizer(family)(text, **options)["input_ids"]
    if network is None:
        network = tiny.network(family)
    with torch.no_grad():
        output = network(input_ids=torch.tensor([ids]))
    return np.array(ids), output.last_hidden_state[0].numpy().astype(float)


def pooled(vectors, mode):
    """Return the pooling of one text's subwords, as the papers define it."""
    places = np.arange(1, len(vectors) + 1)[:, None]
    return {
        "cls": lambda: vectors[0],
        "max": lambda: vectors.max(0),
        "mean": lambda: vectors.mean(0),
        "mean_sqrt_len_tokens": lambda: vectors.sum(0) / len(vectors) ** 0.5,
        "weightedmean": lambda: (vectors * places).sum(0) / places.sum(),
        "lasttoken": lambda: vectors[-1],
    }[mode]()


def embed(folder, texts=TEXTS, **options):
    return TransformerEmbedding(folder, **options).fit_transform(texts).blocks[0].values


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_each_architecture_and_pooling(tmp_path, family):
    folder = tiny.save(tmp_path, family, [tiny.pooling(*MODES), tiny.NORMALIZE])
    network = tiny.network(family)
    window = getattr(network.config, "sliding_window", None)
    loaded = AutoConfig.from_pretrained(folder)
    if getattr(loaded, "sliding_window", None) != window:
        pytest.skip("this version of transformers loads another window than it saves")
    source = TransformerEmbedding(folder)
    block = source.fit_transform(TEXTS).blocks[0]
    names = block.name, block.level, source.output_
    assert names == ("sentence", "sequence", "sentence")
    for text, vector in zip(TEXTS, block.values, strict=True):
        _, subwords = states(folder, text, family, network=network)
        expected = np.concatenate([pooled(subwords, mode) for mode in MODES])
        expected /= np.linalg.norm(expected)
        np.testing.assert_allclose(vector, expected, atol=1e-5)
        alone = source.transform([text]).blocks[0].values
        np.testing.assert_allclose(alone, [expected], atol=1e-5)


def test_dense_layer_norm_and_residuals(tmp_path):
    steps = [
        MEAN,
        tiny.dense(16, 24, "activation.GELU", use_residual=True),
        tiny.dense(24, 24, "linear.Identity", bias=False, use_residual=True, seed=1),
        tiny.layer_norm(24),
        tiny.dense(24, 6, seed=2),
    ]
    folder = tiny.save(tmp_path, steps=steps)
    first, second, norm, last = (weights for _, _, weights in steps[1:])
    rows = embed(folder)
    assert rows.shape == (len(TEXTS), 6)
    for text, vector in zip(TEXTS, rows, strict=True):
        x = states(folder, text)[1].mean(0)
        gelu = torch.nn.functional.gelu
        y = first["linear.weight"] @ x + first["linear.bias"]
        y = gelu(torch.tensor(y)).numpy() + first["residual.weight"] @ x
        y = second["linear.weight"] @ y + y
        y = (y - y.mean()) / np.sqrt(y.var() + 1e-5)
        y = y * norm["norm.weight"] + norm["norm.bias"]
        y = np.tanh(last["linear.weight"] @ y + last["linear.bias"])
        np.testing.assert_allclose(vector, y, atol=1e-5)


def test_weights_in_a_pickle_of_tensors(tmp_path):
    folder = tiny.save(tmp_path, steps=[MEAN, tiny.dense(16, 4)])
    expected = embed(folder)
    place = folder / "2_Dense"
    tensors = {k: torch.from_numpy(w) for k, w in tiny.dense(16, 4)[2].items()}
    (place / "model.safetensors").unlink()
    torch.save(tensors, place / "pytorch_model.bin")
    np.testing.assert_array_equal(embed(folder), expected)
    torch.save({"linear.weight": Harmful()}, place / "pytorch_model.bin")
    with pytest.raises(ValueError, match="(?s)not a file of tensors.*[Ww]eights"):
        embed(folder)


class Harmful:
    def __reduce__(self):
        return print, ("run",)


@pytest.mark.parametrize(
    ("options", "prompt"),
    [
        ({}, "query: "),
        ({"prompt_name": "plot"}, "the plot: "),
        ({"prompt": ""}, ""),
    ],
)
def test_prompts(tmp_path, options, prompt):
    saved = {**PROMPTS, "default_prompt_name": "query"}
    steps = [tiny.pooling("mean", "cls", include_prompt=False)]
    folder = tiny.save(tmp_path, steps=steps, settings=saved)
    source = TransformerEmbedding(folder, **options)
    rows = source.fit_transform(TEXTS).blocks[0].values
    assert source.prompt_ == prompt
    n_prompt = len(tiny.tokenizer("Bert")(prompt)["input_ids"]) - 1 if prompt else 0
    for text, vector in zip(TEXTS, rows, strict=True):
        _, subwords = states(folder, prompt + text)
        subwords = subwords[n_prompt:]
        expected = np.concatenate([subwords.mean(0), subwords[0]])
        np.testing.assert_allclose(vector, expected, atol=1e-5)


def test_long_texts_are_cut_and_counted_or_read_in_windows(tmp_path):
    folder = tiny.save(tmp_path, steps=[MEAN], options={"max_seq_length": 8})
    texts = ["good film", "the film was good " * 5]
    source = TransformerEmbedding(folder)
    with pytest.warns(UserWarning, match="1 of 2 sequences .* 8 subwords: 14 subwords"):
        rows = source.fit_transform(texts).blocks[0].values
    assert (source.max_length_, source.n_long_) == (8, 1)
    for text, vector in zip(texts, rows, strict=True):
        expected = states(folder, text, limit=8)[1].mean(0)
        np.testing.assert_allclose(vector, expected, atol=1e-5)
    with warnings.catch_warnings(action="error"):
        windows = embed(folder, texts, truncate=False)
    np.testing.assert_array_equal(windows[0], rows[0])
    subwords = tiny.tokenizer("Bert")(texts[1], add_special_tokens=False)["input_ids"]
    network, means = tiny.network("Bert"), []
    for start in (*range(0, len(subwords) - 6, 3), len(subwords) - 6):
        ids = torch.tensor([[2, *subwords[start : start + 6], 3]])
        with torch.no_grad():
            means.append(network(input_ids=ids).last_hidden_state[0].mean(0).numpy())
    np.testing.assert_allclose(windows[1], np.mean(means, 0), atol=1e-5)


@pytest.mark.parametrize(("asked", "limit"), [(None, 8), (6, 6), (20, 20), (99, 64)])
def test_a_maximum_length_overrides_the_one_in_the_files(asked, limit, tmp_path):
    folder = tiny.save(tmp_path, steps=[MEAN], options={"max_seq_length": 8})
    source = TransformerEmbedding(folder, max_length=asked, truncate=False)
    assert source.fit(TEXTS).max_length_ == limit


def test_dimensions_are_cut_after_the_modules(tmp_path):
    steps = [MEAN, tiny.NORMALIZE]
    whole = embed(tiny.save(tmp_path / "a", steps=steps))
    saved = {"truncate_dim": 6}
    folder = tiny.save(tmp_path / "b", steps=steps, settings=saved)
    np.testing.assert_array_equal(embed(folder), whole[:, :6])
    np.testing.assert_array_equal(embed(folder, truncate_dim=3), whole[:, :3])
    np.testing.assert_array_equal(embed(folder, truncate_dim=99), whole)


def test_text_is_lower_cased_if_the_files_say_so(tmp_path):
    folder = tiny.save(tmp_path, steps=[MEAN], options={"do_lower_case": True})
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["normalizer"] = None
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    rows = embed(folder, ["GOOD Film", "good film"])
    np.testing.assert_array_equal(rows[0], rows[1])


def test_a_download_includes_the_folders_of_modules(tmp_path, monkeypatch):
    import huggingface_hub

    origin = tmp_path / "origin"
    tiny.save(origin, steps=[MEAN, tiny.dense(16, 4)])
    (origin / "onnx").mkdir()
    (origin / "onnx" / "model.safetensors").write_bytes(b"large")
    commit = tmp_path / "0123abc"

    def download(name, allow_patterns, ignore_patterns, **options):
        for path in origin.rglob("*"):
            file = path.relative_to(origin).as_posix()
            taken = any(fnmatch(file, pattern) for pattern in allow_patterns)
            left = any(fnmatch(file, pattern) for pattern in ignore_patterns)
            if path.is_file() and taken and not left:
                (commit / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, commit / file)
        return str(commit)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    source = TransformerEmbedding("somebody/encoder")
    rows = source.fit_transform(TEXTS).blocks[0].values
    np.testing.assert_array_equal(rows, embed(origin))
    assert source._model._spec.revision == "0123abc"
    assert not (commit / "onnx").exists()


@pytest.mark.parametrize(
    ("steps", "options", "saved", "message"),
    [
        ([("CNN", {}), MEAN], {}, {}, "the module CNN"),
        ([], {}, {}, r"the modules \[\] after it"),
        ([("WordWeights", {}), MEAN], {}, {}, "the module WordWeights"),
        ([tiny.NORMALIZE, MEAN], {}, {}, r"the modules \['Normalize', 'Pooling'\]"),
        ([MEAN, tiny.dense(16, 4, module_input_name="token_embeddings")], {}, {}, "to"),
        ([MEAN, ("Dense", {"activation_function": "os.system"})], {}, {}, "os.system"),
        ([MEAN], {"transformer_task": "fill-mask"}, {}, "fill-mask"),
        ([MEAN], {"model_args": {"rotary": 1}}, {}, r"model_args=\['rotary'\]"),
        ([MEAN], {"modality_config": {"image": {}}}, {}, "texts as None"),
        ([MEAN], {}, {"model_type": "Other"}, "the module Other"),
    ],
)
def test_unknown_modules_and_options_are_refused_by_name(
    tmp_path, steps, options, saved, message
):
    folder = tiny.save(tmp_path, steps=steps, options=options, settings=saved)
    with pytest.raises(
        ValueError, match=rf"{message}.*FunctionEmbedding\(model.encode"
    ):
        embed(folder)
    assert embed(folder, output="words").shape[1] == tiny.DIM


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("SparseEncoder", "vectors of the size of its vocabulary"),
        ("CrossEncoder", "scores of pairs of texts"),
        ("MultiVectorEncoder", "one vector per subword"),
    ],
)
def test_a_model_of_another_kind_is_refused_by_name(tmp_path, kind, message):
    folder = tiny.save(tmp_path, steps=[MEAN], settings={"model_type": kind})
    with pytest.raises(ValueError, match=rf"has a {kind} .*{message}.*output='words'"):
        embed(folder)
    assert embed(folder, output="words").shape[1] == tiny.DIM


def test_a_module_of_another_library_is_refused(tmp_path):
    folder = tiny.save(tmp_path, steps=[MEAN])
    text = (folder / "modules.json").read_text()
    other = text.replace("sentence_transformers.models.Pooling", "custom_st.Pooling")
    (folder / "modules.json").write_text(other)
    with pytest.raises(ValueError, match=r"the module custom_st\.Pooling"):
        embed(folder)
    (folder / "modules.json").write_text(text.replace("1_Pooling", "../1_Pooling"))
    with pytest.raises(ValueError, match="leads out of the folder"):
        embed(folder)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": 1}, "layers=1 applies to hidden states"),
        ({"static": True}, "static=True applies"),
        ({"prompt": "a", "prompt_name": "b"}, "both set"),
        (
            {"prompt_name": "title"},
            r"prompt_name='title'.*prompts are \['plot', 'query'",
        ),
        ({"max_length": 3, "prompt": "the film: "}, "no room for text"),
        ({"output": "words", "truncate_dim": 3}, "truncate_dim applies to"),
    ],
)
def test_options_that_contradict_each_other(tmp_path, options, message):
    folder = tiny.save(tmp_path, steps=[MEAN], settings=PROMPTS)
    with pytest.raises(ValueError, match=message):
        TransformerEmbedding(folder, **{"output": "sentence", **options}).fit(TEXTS)


def test_the_default_is_the_files_or_words(tmp_path):
    folder = tiny.save(tmp_path, steps=[MEAN])
    for options in ({"layers": "all"}, {"static": True}, {"subword": "max"}):
        assert TransformerEmbedding(folder, **options).fit(TEXTS).output_ == "words"
    for last in ((-1,), [-1], -1, np.array([-1])):
        source = TransformerEmbedding(folder, layers=last).fit(TEXTS)
        assert source.output_ == "sentence"
    two = TransformerEmbedding(folder, layers=np.array([-1, 0])).fit(TEXTS)
    assert two.output_ == "words"
    plain = tiny_bert.folder()
    assert TransformerEmbedding(plain).fit(TEXTS).output_ == "words"
    with pytest.raises(ValueError, match=r"modules.json.*does not have"):
        TransformerEmbedding(plain, output="sentence").fit(TEXTS)
    assert TrainableTransformer(TransformerEmbedding(folder)).source.output == "auto"


def test_another_output_than_the_files_say_warns_once(tmp_path):
    folder = tiny.save(tmp_path / "cls", steps=[tiny.pooling("cls")])
    source = TransformerEmbedding(folder, output="mean")
    with pytest.warns(UserWarning, match="pooling by cls. Use output='sentence'"):
        source.fit(TEXTS)
    steps = [MEAN, tiny.dense(16, 4)]
    dense = tiny.save(tmp_path / "dense", steps=steps, seed=1)
    with pytest.warns(UserWarning, match="the module Dense"):
        TransformerEmbedding(dense, output="mean").fit(TEXTS)
    alike = tiny.save(tmp_path / "mean", steps=[MEAN, tiny.NORMALIZE], seed=2)
    with warnings.catch_warnings(action="error"):
        source.fit(TEXTS)
        TransformerEmbedding(alike, output="mean").fit(TEXTS)


def test_empty_texts_are_unknown_zeros(tmp_path):
    folder = tiny.save(tmp_path, steps=[tiny.pooling(*MODES), tiny.layer_norm(96)])
    texts = ["good film", "", "  ", "\x00", "?!"]
    block = TransformerEmbedding(folder).fit_transform(texts).blocks[0]
    assert block.known.tolist() == [True, False, False, False, True]
    assert not block.values[1:4].any()


def test_cache_clones_pickles_and_files(tmp_path, monkeypatch):
    seen = []
    folder = tiny.save(tmp_path / "a", steps=[MEAN, tiny.dense(16, 4)])
    Network = type(TransformerEmbedding(folder).fit(TEXTS)._model.network)
    whole = Network.last_states

    def counting(self, ids, lengths, types):
        seen.extend(lengths)
        return whole(self, ids, lengths, types)

    monkeypatch.setattr(Network, "last_states", counting)
    cache = tmp_path / "cache"
    source = TransformerEmbedding(folder, cache=cache)
    first = source.fit_transform(TEXTS)
    assert len(seen) == EmbeddingCache(cache).info().entries == len(TEXTS)
    bundle = save(source, tmp_path / "bundle.skm", bundle=True)
    others = [
        pickle.loads(pickle.dumps(source)),
        load(bundle),
        clone(source).fit(TEXTS),
    ]
    for other in others:
        assert other.transform(TEXTS) == first
    assert len(seen) == len(TEXTS)
    for other in others:
        rows = other.set_params(cache=None).transform(TEXTS).blocks[0].values
        np.testing.assert_allclose(rows, first.blocks[0].values, atol=1e-6)
    place = folder / "2_Dense" / "config.json"
    identity = "torch.nn.modules.linear.Identity"
    place.write_text(
        place.read_text().replace("torch.nn.modules.activation.Tanh", identity)
    )
    changed = TransformerEmbedding(folder, cache=cache).fit_transform(TEXTS)
    assert changed != first
    with pytest.raises(ValueError, match="they changed"):
        pickle.loads(pickle.dumps(source))


ACTIVATIONS = ["linear.Identity", "activation.Tanh", "activation.GELU"]


def random_steps(rng):
    """Return steps, settings and options for `tiny.save`, and for ``encode``."""
    steps, dim = [], tiny.DIM
    modes = [str(m) for m in rng.permutation(MODES)[: rng.integers(1, 4)]]
    steps.append(tiny.pooling(*modes, include_prompt=bool(rng.random() < 0.7)))
    dim *= len(modes)
    for _ in range(rng.integers(0, 4)):
        kind = rng.choice(["dense", "norm", "layer"])
        if kind == "dense":
            new = int(rng.integers(2, 30))
            activation = str(rng.choice(ACTIVATIONS))
            residual = bool(rng.random() < 0.3)
            bias = bool(rng.random() < 0.7)
            steps.append(
                tiny.dense(dim, new, activation, bias=bias, use_residual=residual)
            )
            dim = new
        else:
            steps.append(tiny.NORMALIZE if kind == "norm" else tiny.layer_norm(dim))
    saved = [{}, PROMPTS, {**PROMPTS, "default_prompt_name": "query"}][rng.integers(3)]
    if rng.random() < 0.3:
        saved = {**saved, "truncate_dim": int(rng.integers(1, dim + 1))}
    options = (
        {"max_seq_length": int(rng.integers(10, 64))} if rng.random() < 0.5 else {}
    )
    options["do_lower_case"] = bool(rng.random() < 0.3)
    encode = [{}, {"prompt": "plot: "}, {"prompt_name": "plot"}][rng.integers(3)]
    if "prompts" not in saved:
        encode.pop("prompt_name", None)
    return steps, saved, options, encode


@pytest.mark.filterwarnings("ignore:TransformerEmbedding.*longer than")
@pytest.mark.skipif(transformers.__version__ < "5", reason="requires transformers 5")
def test_random_modules_against_sentence_transformers(tmp_path):
    library = pytest.importorskip("sentence_transformers")

    @settings(max_examples=8, database=None, derandomize=True)
    @given(strategies.integers(0, 2**32), strategies.sampled_from(["MPNet", "T5"]))
    def check(seed, family):
        steps, saved, options, encode = random_steps(np.random.default_rng(seed))
        folder = tmp_path / f"{family}-{seed}"
        tiny.save(folder, family, steps, saved, options)
        model = library.SentenceTransformer(str(folder), device="cpu")
        expected = model.encode(TEXTS, **encode)
        # Coordinates of sums over subwords are large.
        scale = max(1.0, np.abs(expected).max())
        found = embed(folder, **encode)
        np.testing.assert_allclose(found, expected, atol=1e-5 * scale)

    check()
