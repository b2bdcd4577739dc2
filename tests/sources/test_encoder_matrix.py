"""Folders that sentence-transformers and model2vec write give the vectors they return.

Each case builds a small model with the library, saves it, and reads the folder through
`make_embedding`. The expected vectors are those of the library for the saved folder.
Blank texts, and texts without known words, are unknown zeros here.
"""

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from sk_metaembed import StaticSubwordEmbedding, TransformerEmbedding, make_embedding
from sk_metaembed import load as load_file
from sk_metaembed import save as save_file

from .. import tiny_encoder, tiny_static
from ..rounding import assert_close

torch = pytest.importorskip("torch")
library = pytest.importorskip("sentence_transformers", minversion="6")
modules = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
tokenizers = pytest.importorskip(
    "sentence_transformers.sentence_transformer.modules.tokenizer"
)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*longer than")]

TEXTS = [
    *("The film was good, good!", "Queens", "zzqx 9 ünknown", "good " * 700),
    *(
        "New York is the Plot .",
        "don't stop-it 'good' (film)",
        "GOOD FILM",
        "ΟΔΟΣ film",
    ),
]
WORDS = [
    *("PADDING_TOKEN", "good", "film", "the", "New_York", "york", "plot", "queens"),
    *("do", "n't", "stop-it", "Queens", "was", "is", "it"),
]
DIM = 6
WHITESPACE = tokenizers.WhitespaceTokenizer


def rng(seed=0):
    return np.random.default_rng(seed)


def pooling(*modes, dim=DIM):
    return modules.Pooling(dim, modes or "mean")


def words(**options):
    table = rng().normal(size=(len(WORDS), DIM)).astype(np.float32)
    return modules.WordEmbeddings(WHITESPACE(WORDS, **options), table)


def subwords(dtype="float32", seed=0, side=None):
    tokenizer = tiny_static.wordpiece()
    if side is not None:
        tokenizer.enable_truncation(3, direction=side)
    table = rng(seed).normal(size=(tokenizer.get_vocab_size(), DIM))
    table = torch.tensor(table).to(getattr(torch, dtype))
    return modules.StaticEmbedding(tokenizer, table)


def dense(n_in, n_out, activation=torch.nn.Tanh, seed=0):
    torch.manual_seed(seed)
    return modules.Dense(n_in, n_out, activation_function=activation())


def layer_norm(dim):
    module = modules.LayerNorm(dim)
    module.norm.weight.data += torch.arange(dim) / dim
    return module


def network(folder, family="Bert"):
    tiny_encoder.save(folder, family)
    Path(folder, "modules.json").unlink()
    return modules.Transformer(str(folder))


def routes(folder, **options):
    document = [network(folder), pooling(dim=16), dense(16, DIM)]
    return modules.Router({"query": [subwords()], "document": document}, **options)


def normalize():
    return modules.Normalize()


PROMPTS = {"query": "film: ", "document": "the ", "title": "good "}
TRUNCATED = {"truncate_dim": 3}
# The modules after a folder for a transformer is given, settings of the model, and
# arguments of encode: the same that make_embedding takes.
CASES = {
    "words": lambda f: [words(), pooling()],
    "words, lowercase": lambda f: [
        words(stop_words=(), do_lower_case=True),
        pooling(),
    ],
    "words, stop words": lambda f: [words(stop_words={"good", "film!"}), pooling()],
    "words, rounded": lambda f: [words().half(), pooling()],
    "words, dense": lambda f: [words(), pooling(), dense(DIM, 4), normalize()],
    "static, unit": lambda f: [subwords(), normalize()],
    "static, cut": lambda f: [subwords(side="left")],
    "static, dense": lambda f: [subwords(), dense(DIM, 4), layer_norm(4)],
    "static, dropout": lambda f: [subwords(), modules.Dropout(0.5), normalize()],
    "static, order": lambda f: [subwords(), normalize(), dense(DIM, 3, torch.nn.ReLU)],
    "transformer": lambda f: [network(f), pooling("cls", "mean", dim=16)],
    "transformer, dense": lambda f: [
        *(network(f), pooling("lasttoken", dim=16)),
        *(dense(16, DIM), layer_norm(DIM), normalize()),
    ],
    "Router": lambda f: [routes(f, default_route="document"), normalize()],
    "Router, first": lambda f: [routes(f), normalize()],
    "Router last": lambda f: [
        *(network(f), pooling(dim=16)),
        modules.Router({"query": [dense(16, 3)], "document": [dense(16, 3, seed=1)]}),
    ],
    "Router, mapped": lambda f: [
        modules.Router(
            {"a": [subwords()], "b": [subwords(seed=1)]},
            route_mappings={("query", "text"): "b", (None, "text"): "a"},
        )
    ],
    "Router of words": lambda f: [
        modules.Router({"query": [words(), pooling()], "document": [subwords()]})
    ],
}


def encoded(folder, texts=TEXTS, task=None, **options):
    model = library.SentenceTransformer(str(folder), device="cpu")
    encode = {"query": model.encode_query, "document": model.encode_document}
    encode = encode.get(task, model.encode)
    return encode(texts, batch_size=3, **options).astype(np.float64)


def save(folder, parts, **settings):
    model = library.SentenceTransformer(modules=parts, device="cpu", **settings)
    model.save(str(folder), create_model_card=False)
    return folder


def compare(folder, expected, precision=1e-5, **options):
    """Compare the folder's vectors with those expected, where texts are known."""
    source = make_embedding(folder, **options)
    block = source.fit_transform(TEXTS).blocks[0]
    assert block.values.shape == expected.shape
    known = block.known
    assert_close(block.values[known], expected[known], precision)
    assert not block.values[~known].any()
    assert set(np.flatnonzero(~known)) <= {2, 3}  # without known words
    rows = [source.transform([text]).blocks[0].values[0] for text in TEXTS]
    assert_close(np.stack(rows), block.values)
    return source


@pytest.mark.parametrize("name", CASES)
def test_modules(tmp_path, name):
    parts = CASES[name](tmp_path / "network")
    folder = save(tmp_path / "model", parts)
    precision = 2e-3 if "rounded" in name else 1e-5
    compare(folder, encoded(folder), precision)
    tasks = ("query", "document") if "Router" in name else ()
    for task in tasks:
        compare(folder, encoded(folder, task=task), task=task)


@pytest.mark.parametrize("name", ["words", "static, unit", "transformer"])
def test_prompts_dimensions_and_tasks(tmp_path, name):
    parts = CASES[name](tmp_path / "network")
    folder = save(
        *(tmp_path / "model", parts),
        prompts=PROMPTS,
        default_prompt_name="title",
        truncate_dim=3,
    )
    cut = "truncate_dim" if name == "transformer" else "dim"
    for options in (
        *({}, {"prompt_name": "query"}, {"prompt": "plot "}, {"prompt": ""}),
        *({"task": "query"}, {"task": "document", "prompt_name": "title"}),
    ):
        compare(folder, encoded(folder, **options), **options)
    compare(folder, encoded(folder, truncate_dim=2), **{cut: 2})


@pytest.mark.parametrize("name", ["words, dense", "static, dense"])
def test_pickles_of_tensors(tmp_path, name):
    model = library.SentenceTransformer(modules=CASES[name](tmp_path), device="cpu")
    folder = tmp_path / "model"
    model.save(str(folder), create_model_card=False, safe_serialization=False)
    assert not list(folder.rglob("*.safetensors"))
    source = compare(folder, encoded(folder))
    with pytest.raises(TypeError, match=r"is a pickle.*convert it to safetensors"):
        save_file(source, tmp_path / "a.skm", bundle=True)


OLD = {
    "base.modules.router.Router": "models.Asym",
    "base.modules.transformer.": "models.",
    "base.modules.dense.": "models.",
    "base.modules.normalize.": "models.",
    "sentence_transformer.modules.tokenizer.whitespace.": (
        "models.tokenizer.WhitespaceTokenizer."
    ),
    "sentence_transformer.modules.static_embedding.": "models.",
    "sentence_transformer.modules.word_embeddings.": "models.",
    "sentence_transformer.modules.pooling.": "models.",
}


@pytest.mark.parametrize("name", ["words", "static, unit", "Router", "transformer"])
def test_layouts_of_older_versions(tmp_path, name):
    new = save(tmp_path / "new", CASES[name](tmp_path / "network"))
    expected = encoded(new)
    for path in new.rglob("*.json"):
        text = path.read_text(encoding="utf-8")
        for now, before in OLD.items():
            text = text.replace(
                f"sentence_transformers.{now}", f"sentence_transformers.{before}"
            )
        path.write_text(text, encoding="utf-8")
    if name == "Router":
        (new / "router_config.json").rename(new / "config.json")
    assert "sentence_transformers.models." in (new / "modules.json").read_text()
    assert ".modules." not in (new / "modules.json").read_text()
    for path in new.glob("config_sentence*"):
        path.unlink()
    if name == "words":  # each module had a folder of its own
        first = new / "0_WordEmbeddings"
        first.mkdir()
        for path in new.iterdir():
            if path.is_file() and path.name != "modules.json":
                path.rename(first / path.name)
        listed = json.loads((new / "modules.json").read_text())
        listed[0]["path"] = first.name
        (new / "modules.json").write_text(json.dumps(listed))
    assert_close(encoded(new), expected)
    compare(new, expected)


IN_MEMORY = ["words, dense", "static, unit", "transformer, dense", "Router"]


@pytest.mark.parametrize("name", IN_MEMORY)
def test_models_in_memory(tmp_path, name):
    parts = CASES[name](tmp_path / "network")
    settings = {"prompts": PROMPTS, "default_prompt_name": "title", **TRUNCATED}
    model = library.SentenceTransformer(modules=parts, device="cpu", **settings)
    expected = model.encode(TEXTS, batch_size=3)
    for task, encode in (
        *((None, model.encode), ("query", model.encode_query)),
        ("document", model.encode_document),
    ):
        expected = encode(TEXTS, batch_size=3)
        source = compare(model, expected, task=task)
        assert source.model is model
        copies = [
            clone(source).fit(TEXTS),
            copy.deepcopy(source),
            pickle.loads(pickle.dumps(source)),
            load_file(save_file(source, tmp_path / "a.skm")),
        ]
        assert copies[0].model is model
        for other in copies:
            result = other.transform(TEXTS).blocks[0]
            assert_close(result.values[result.known], expected[result.known])
            again = clone(other).fit(TEXTS).transform(TEXTS).blocks[0]
            np.testing.assert_array_equal(again.values, result.values)
        if name == "Router" and task == "query":
            with pytest.raises(ValueError, match=r"for task='query' only. Pass"):
                copies[2].set_params(task="document").fit(TEXTS)
        # A pickle has the weights once, and does not need the library.
        data = pickle.dumps(source)
        assert b"sentence_transformers" not in data.replace(
            b"config_sentence_transformers", b""
        ).replace(b'"sentence_transformers.', b"")
        once = len(pickle.dumps(clone(source)))
        assert len(data) < once + 60_000
    folder = tmp_path / "saved"
    model.save(str(folder), create_model_card=False)
    assert make_embedding(folder).fit(TEXTS).transform(TEXTS) == (
        make_embedding(model).fit(TEXTS).transform(TEXTS)
    )


def test_a_repeated_word(tmp_path):
    lines = ["good 1 0", "film 2 0", "good 3 0", "plot 4 0", "the 5 0", "queens 6 0"]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    embeddings = modules.WordEmbeddings.from_text_file(
        str(tmp_path / "a.txt"), tokenizer=WHITESPACE(stop_words=())
    )
    parts = [embeddings, pooling(dim=2)]
    model = library.SentenceTransformer(modules=parts, device="cpu")
    compare(model, model.encode(TEXTS))
    folder = tmp_path / "model"
    model.save(str(folder), create_model_card=False)
    # The library moves the words after the repeated one.
    assert np.abs(encoded(folder) - model.encode(TEXTS)).max() > 0.5
    with pytest.warns(UserWarning, match="has 7 vectors for the 6 words of whitespace"):
        compare(folder, encoded(folder))


def test_a_longest_text_that_is_set_in_memory_counts(tmp_path):
    model = library.SentenceTransformer(
        modules=[network(tmp_path), pooling(dim=16)], device="cpu"
    )
    model.max_seq_length = 7
    compare(model, model.encode(TEXTS))


def test_wrong_objects_are_named(tmp_path):
    for model in (
        library.SentenceTransformer(modules=[subwords()], device="cpu"),
        save(tmp_path / "model", [subwords()]),
    ):
        with pytest.raises(ValueError, match="task='a', but .* has no Router"):
            make_embedding(model, task="a").fit(TEXTS)
    encoder = library.SentenceTransformer(modules=[subwords()], device="cpu")
    with pytest.raises(ValueError, match="begins with the module StaticEmbedding"):
        TransformerEmbedding(encoder).fit(TEXTS)
    encoder = library.SentenceTransformer(
        modules=[network(tmp_path), pooling(dim=16)], device="cpu"
    )
    with pytest.raises(ValueError, match=r"modules \['Transformer', 'Pooling'\]"):
        StaticSubwordEmbedding(encoder).fit(TEXTS)


MODEL2VEC = {
    "plain": {},
    "unit": {"normalize": True},
    "weights": {"weights": np.linspace(0.1, 2, 60)},
    "mapping": {"token_mapping": np.arange(60) // 2},
    "short": {"max_length": 5},
    "whole": {"max_length": None},
}


@pytest.mark.parametrize(
    ("name", "quantized"),
    [
        *((name, None) for name in MODEL2VEC),
        ("weights", "float16"),
        ("mapping", "int8"),
    ],
)
def test_model2vec(tmp_path, name, quantized):
    model2vec = pytest.importorskip("model2vec")
    tokenizer, options = tiny_static.wordpiece(), dict(MODEL2VEC[name])
    n_subwords = tokenizer.get_vocab_size()
    for part in ("weights", "token_mapping"):
        if part in options:
            options[part] = np.resize(options[part], n_subwords)
    rows = options.get("token_mapping", np.arange(n_subwords)).max() + 1
    table = rng().normal(size=(rows, DIM)).astype(np.float32)
    model = model2vec.StaticModel(table, tokenizer, **options)
    model.save_pretrained(tmp_path / "a")
    if quantized is not None:
        kinds = {"quantize_to": quantized}
        model = model2vec.StaticModel.from_pretrained(tmp_path / "a", **kinds)
        model.save_pretrained(tmp_path / "b")
    folder = tmp_path / ("a" if quantized is None else "b")
    assert (folder / "modules.json").is_file()
    precision = 2e-3 if quantized == "float16" else 1e-5
    for options in ({}, {"dim": 4}):
        cut = {"dimensionality": options.get("dim"), "force_download": False}
        expected = model2vec.StaticModel.from_pretrained(folder, **cut)
        compare(folder, expected.encode(TEXTS).astype(np.float64), precision, **options)
    compare(model, model.encode(TEXTS).astype(np.float64), precision)
