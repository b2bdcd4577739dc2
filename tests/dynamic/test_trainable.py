"""Sources that are trained along: what is trained, what is not, and what comes out."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from skorch.callbacks import Callback

from sk_metaembed import (
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    EmbeddingUnion,
    FunctionEmbedding,
    Pooling,
    Tokenizer,
    TokenSequences,
    TrainableCharacters,
    TransformerEmbedding,
)
from sk_metaembed import TrainableTransformer as Tuned

from .. import tiny_bert, tiny_encoder
from ..rounding import assert_close
from ..sources.transformer.test_families import FAMILIES, network
from .test_estimators import SMALL

OPTIONS = SMALL | {"encoder": "mean", "max_epochs": 2, "early_stopping": False}
NOTHING = "\u200b"  # a word for which the tokenizer has no subword
LONG = "good film kings the warm plot was very bad and dull"


@pytest.fixture(scope="module")
def data():
    """Sentences of two classes: one empty, one long, one with an unknown word."""
    rng = np.random.default_rng(0)
    own = ["good", "fine", "great", "happy"], ["bad", "poor", "awful", "sad"]
    rows = [
        [*rng.choice(own[i % 2], 2), *rng.permutation(["the", "film", "was"])]
        for i in range(32)
    ]
    rows = [[str(word) for word in row] for row in rows]
    rows[3], rows[4], rows[7] = [], LONG.split(), ["good", NOTHING, "film"]
    return TokenSequences.from_lists(rows), np.arange(32) % 2


def source(**options):
    return TransformerEmbedding(tiny_bert.TinyBert(), **options)


def classifier(tuned=None, **options):
    tuned = Tuned(source(), lr=1e-3) if tuned is None else tuned
    return DynamicMetaClassifier(trainable=tuned, **OPTIONS | options)


def spelling(words):
    return np.array([[w.count(c) for c in "aeiod"] for w in words], dtype=float)


def state_of(network):
    state = network.state_dict(keep_vars=True)
    return {name: weight.detach().clone() for name, weight in state.items()}


def vectors(tuned, tokens, rows=None, network=None):
    """Return the vectors that training starts from, and where they are known."""
    opened = tuned.prepare(tokens)
    network = (network or opened.network()).eval()
    inputs = opened.inputs(tokens)
    rows = np.arange(len(tokens))[slice(None) if rows is None else rows]
    with torch.no_grad():
        result = network(inputs.batch(rows, torch.from_numpy))
    return [(values.numpy(), known.numpy()) for values, known in result]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"subword": "first", "layers": "all"},
        {"subword": "max", "max_length": 6},
        {"subword": "last", "max_length": 4},
        {"output": "mean", "prompt": "query: ", "batch_tokens": 20},
    ],
    ids=str,
)
def test_training_starts_from_the_vectors_of_the_source(data, options):
    tokens, _ = data
    embedded = source(**options).fit_transform(tokens)
    result = vectors(Tuned(source(**options)), tokens)
    assert len(result) == len(embedded.blocks)
    for (values, known), block in zip(result, embedded.blocks, strict=True):
        assert_close(values, block.values, precision=1e-4)
        np.testing.assert_array_equal(known, block.known)


@pytest.mark.parametrize("options", [{}, {"prompt": "bad "}, {"prompt_name": "q"}])
@pytest.mark.parametrize("mode", ["cls", "mean"])
def test_pooling_and_prompt_of_a_sentence_encoder_are_trained(mode, options, tmp_path):
    settings = {"prompts": {"q": "a ", "d": "is "}, "default_prompt_name": "d"}
    steps = [tiny_encoder.pooling(mode)]
    folder = tiny_encoder.save(tmp_path, steps=steps, settings=settings)
    texts = TokenSequences.from_lists([["good", "film"], [], ["bad"]])
    tuned = Tuned(TransformerEmbedding(folder, output="sentence", **options))
    (values, known) = vectors(tuned, texts)[0]
    frozen = TransformerEmbedding(folder, **options).fit_transform(texts).blocks[0]
    np.testing.assert_allclose(values, frozen.values, atol=1e-5)
    np.testing.assert_array_equal(known, frozen.known)


def test_vectors_unlike_those_of_a_sentence_encoder_are_named_in_a_warning(tmp_path):
    texts = TokenSequences.from_lists([["good", "film"]])
    steps = [tiny_encoder.pooling("max")]
    folder = tiny_encoder.save(tmp_path / "max", steps=steps)
    tuned = Tuned(TransformerEmbedding(folder, output="sentence"))
    with pytest.warns(UserWarning, match="say pooling by max.* uses output='mean'"):
        tuned.prepare(texts)
    settings = {"prompts": {"d": "is "}, "default_prompt_name": "d"}
    steps = [tiny_encoder.pooling("mean")]
    options = {"steps": steps, "settings": settings, "seed": 11}  # warns once per model
    folder = tiny_encoder.save(tmp_path / "prompt", **options)
    tuned = Tuned(TransformerEmbedding(folder, output="mean"))
    with pytest.warns(UserWarning, match="say the prompt 'is '"):
        tuned.prepare(texts)
    assert Tuned(source(output="sentence")).prepare(texts).source.output_ == "mean"


def test_cut_words_are_not_known_and_counted_in_a_warning(data):
    tuned = Tuned(source(max_length=6, truncate=True))
    with pytest.warns(UserWarning, match="subwords at their ends are cut off"):
        ((values, known),) = vectors(tuned, data[0])
    with pytest.warns(UserWarning, match="are cut off"):
        (block,) = tuned.source.fit_transform(data[0]).blocks
    assert_close(values, block.values, precision=1e-4)
    np.testing.assert_array_equal(known, block.known)


def test_predictions_do_not_depend_on_the_batch(data):
    tokens, y = data
    tuned = Tuned(source(max_length=9), lr=0.01)
    model = classifier(tuned, attention="context", encoder="bilstm-max", encoder_dim=4)
    together = model.fit(tokens, y).predict_proba(tokens)
    alone = np.concatenate([model.predict_proba(tokens[i : i + 1]) for i in range(32)])
    np.testing.assert_allclose(alone, together, atol=1e-5)
    np.testing.assert_array_equal(model.predict_proba(tokens), together)


def changed(tuned, data, **options):
    """Return the names of the weights that training changed, and all names."""
    model = classifier(tuned, **options).fit(*data)
    (network,) = model.trained_.values()
    before = state_of(network.spec.network().network)
    after = state_of(network.network)
    assert before.keys() == after.keys()
    moved = {n for n, w in after.items() if not torch.equal(w, before[n])}
    return moved, set(after)


@pytest.mark.parametrize(("taken", "trained"), [(-1, 1), (1, 0)])
def test_layers_are_counted_down_from_the_hidden_state(data, taken, trained):
    moved, _ = changed(Tuned(source(layers=taken), n_layers=1, lr=0.01), data)
    assert moved
    assert all(name.startswith(f"encoder.layer.{trained}.") for name in moved)


def test_all_of_it_is_trained_but_what_the_vectors_do_not_depend_on(data):
    moved, names = changed(Tuned(source(), lr=0.01), data)
    assert "embeddings.word_embeddings.weight" in moved
    assert "encoder.layer.0.output.dense.weight" in moved
    assert not any(name.startswith("pooler") for name in moved)
    # The key's bias moves no attention weight, so that it has no gradient.
    still = {n for n in names - moved if not n.startswith("pooler")}
    assert all(n.endswith(("key.bias", "token_type_embeddings.weight")) for n in still)
    moved, _ = changed(Tuned(source(layers=(1,)), lr=0.01), data)
    assert not any(name.startswith("encoder.layer.1.") for name in moved)


@pytest.mark.parametrize("loaded", [False, True], ids=["folder", "pair"])
def test_the_model_that_others_use_is_never_touched(data, loaded):
    pair = tiny_bert.network(), tiny_bert.tokenizer()
    frozen = TransformerEmbedding(pair) if loaded else source()
    before = frozen.fit_transform(data[0]).blocks[0].values
    network = frozen._model.network.module
    state = state_of(network)
    training = [module.training for module in network.modules()]
    needs = [weight.requires_grad for weight in network.parameters()]
    model = classifier(Tuned(clone(frozen), lr=0.1)).fit(*data)
    assert not np.allclose(
        vectors(model.trainable, data[0], network=model.trained_["transformer"])[0][0],
        before,
    )
    assert all(torch.equal(w, state[n]) for n, w in state_of(network).items())
    assert training == [module.training for module in network.modules()]
    assert needs == [weight.requires_grad for weight in network.parameters()]
    np.testing.assert_array_equal(frozen.transform(data[0]).blocks[0].values, before)


def test_parameters_are_reached_by_name_and_cloned():
    one = classifier()
    assert one.get_params()["trainable__n_layers"] == "all"
    assert one.get_params()["trainable__source__subword"] == "mean"
    one.set_params(trainable__lr=0.5, trainable__source__layers=1)
    assert clone(one).trainable.lr == 0.5
    assert clone(one).trainable.source.layers == 1
    several = classifier([("bert", Tuned(source())), ("b", Tuned(source()))])
    several.set_params(bert__n_layers=1, b=Tuned(source(), lr=0.5))
    copy = clone(several)
    assert copy.get_params()["bert__n_layers"] == 1
    assert dict(copy.trainable)["b"].lr == 0.5
    assert copy.trainable[0][1] is not several.trainable[0][1]


def test_trained_and_frozen_sources_combine(data):
    tokens, y = data
    union = EmbeddingUnion(
        [("frozen", source()), ("spelling", FunctionEmbedding(spelling))]
    )
    tuned = [("bert", Tuned(source(layers=(1, 2)))), ("b", Tuned(source()))]
    pipe = make_pipeline(Tokenizer(), union, classifier(tuned)).fit(tokens, y)
    weights = pipe[-1].attention_weights(pipe[:-1].transform(tokens))
    names = ["frozen", "spelling", "bert__layer1", "bert__layer2", "b"]
    assert list(weights.columns) == ["sequence", "position", "token", *names]
    np.testing.assert_allclose(weights[names].sum(axis=1), 1, atol=1e-5)
    unknown = weights[weights["token"] == NOTHING][names].to_numpy()
    np.testing.assert_allclose(unknown, [[0, 1, 0, 0, 0]], atol=1e-5)
    assert list(pipe[-1].trained_) == ["bert", "b"]
    text = [" ".join(row) for row in tokens]
    assert pipe.predict(text).shape == (32,)


@pytest.mark.parametrize("output", ["words", "cls"])
def test_vectors_of_words_and_of_sentences_are_trained(data, output):
    tuned = Tuned(source(output=output), lr=1e-3)
    step = DynamicMetaEmbedding(trainable=tuned, **OPTIONS)
    (block,) = step.fit_transform(*data).blocks
    assert block.level == ("token" if "words" in output else "sequence")
    if "words" not in output:
        np.testing.assert_array_equal(block.known, data[0].lengths > 0)
    pipe = make_pipeline(Tokenizer(), step, Pooling(), LogisticRegression())
    if "words" in output:
        assert pipe.fit(*data).predict(["good film"]).shape == (1,)
    whole = DynamicMetaEmbedding(trainable=tuned, output="sequence", **OPTIONS)
    rows = whole.fit_transform(*data)
    assert rows.shape == (32, 8)
    assert not rows[3].any()


class Rates(Callback):
    """Record the learning rates of groups of weights."""

    def on_train_begin(self, net, **kwargs):
        self.rates = [group["lr"] for group in net.optimizer_.param_groups]


def test_each_has_a_learning_rate_of_its_own(data):
    tuned = [("a", Tuned(source())), ("b", Tuned(source(), lr=0.5))]
    model = classifier(tuned, callbacks=[Rates()]).fit(*data)
    assert dict(model.net_.callbacks_)["Rates"].rates == [5e-5, 0.5, 0.02]


def test_a_saved_model_is_a_source_again(data, tmp_path):
    tokens, y = data
    model = classifier(Tuned(source(), lr=0.01)).fit(tokens, y)
    network = model.trained_["transformer"]
    network.save(tmp_path / "tuned")
    block = TransformerEmbedding(tmp_path / "tuned").fit_transform(tokens).blocks[0]
    ((values, known),) = vectors(model.trainable, tokens, network=network)
    np.testing.assert_allclose(block.values, values, atol=1e-5)
    np.testing.assert_array_equal(block.known, known)
    assert not np.allclose(values, source().fit_transform(tokens).blocks[0].values)


def test_a_loaded_pair_travels_whole_and_is_noticed_when_it_changes(data):
    pair = tiny_bert.network(), tiny_bert.tokenizer()
    model = classifier(Tuned(TransformerEmbedding(pair), lr=0.01)).fit(*data)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.predict_proba(data[0]), model.predict_proba(data[0])
    )
    opened = model.trainable.prepare(data[0])
    with torch.no_grad():
        next(pair[0].parameters()).add_(1)
    with pytest.raises(ValueError, match="weights changed"):
        opened.network()


@pytest.mark.parametrize(
    ("trainable", "error", "message"),
    [
        (source(), TypeError, r"got TransformerEmbedding. Wrap a trans"),
        ([("bert", source())], TypeError, "got TransformerEmbedding"),
        (Tuned, TypeError, "got class TrainableTransformer. Pass an instance"),
        ([Tuned(source())], TypeError, "got TrainableTransformer. Give each one"),
        ([("lr", Tuned(source()))], ValueError, "conflict with constructor"),
        ([("a", Tuned(source()))] * 2, ValueError, "not unique"),
        (Tuned(FunctionEmbedding(spelling)), TypeError, "got FunctionEmbedding"),
        (Tuned(source(static=True)), ValueError, "static=True: the input table"),
        (Tuned(source(preprocess="unit")), ValueError, "preprocess='unit'"),
        (Tuned(source(truncate_dim=4)), ValueError, "truncate_dim=4: all dimensions"),
        (Tuned(source(layers=1), n_layers=2), ValueError, "there are 1 layers"),
        (Tuned(source(layers=0), n_layers=1), ValueError, "there"),
        (Tuned(source(), lr=0), ValueError, "'lr' parameter"),
        (Tuned(TransformerEmbedding("/no/where")), OSError, "/no/where"),
    ],
)
def test_untrainable_sources_raise(data, trainable, error, message):
    with pytest.raises(error, match=message):
        classifier(trainable).fit(*data)


def test_input_that_does_not_fit_the_sources_raises(data):
    tokens, y = data
    embedded = FunctionEmbedding(spelling).fit_transform(tokens)
    model = classifier()
    with pytest.raises(ValueError, match="must have the same dimension without"):
        classifier(projection_dim=None).fit(embedded, y)
    with pytest.raises(ValueError, match="Duplicate source name 'function'"):
        classifier([("function", Tuned(source()))]).fit(embedded, y)
    model.fit(embedded, y)
    with pytest.raises(TypeError, match="takes EmbeddedSequences, got TokenSequences"):
        model.predict(tokens)
    model.fit(tokens, y)
    with pytest.raises(ValueError, match="on tokens without vectors, got .*list"):
        model.predict(embedded)


# ConvBERT lets padding into the vectors next to it; T5 is a pair of networks; XLM has
# the parts of its layers in several lists.
@pytest.mark.parametrize("family", ["ConvBert", "T5", "XLM"])
def test_other_families_are_trained_at_their_top_too(data, family):
    tokens, y = data
    pair = network(family, **FAMILIES[family]), tiny_bert.tokenizer()
    tuned = Tuned(TransformerEmbedding(pair, max_length=40), n_layers=1, lr=0.01)
    moved, _ = changed(tuned, data, max_epochs=1)
    top = {"ConvBert": "encoder.layer.1.", "T5": "encoder.block.1."}
    parts = ("attentions.1.", "layer_norm1.1.", "ffns.1.", "layer_norm2.1.")
    parts = parts if family == "XLM" else (top[family],)
    assert all(name.startswith(parts) for name in moved)
    assert all(any(name.startswith(part) for name in moved) for part in parts)
    model = classifier(tuned, max_epochs=1).fit(tokens, y)
    together = model.predict_proba(tokens)
    alone = np.concatenate([model.predict_proba(tokens[i : i + 1]) for i in range(8)])
    np.testing.assert_allclose(alone, together[:8], atol=1e-5)


def test_indistinguishable_layers_raise(data):
    albert = network("Albert", **FAMILIES["Albert"])
    shared = TransformerEmbedding((albert, tiny_bert.tokenizer()))
    with pytest.raises(ValueError, match="Use n_layers='all'"):
        classifier(Tuned(shared, n_layers=1)).fit(*data)
    assert classifier(Tuned(shared)).fit(*data).predict(data[0]).shape == (32,)


def test_sources_are_shown_side_by_side():
    several = [("one", TrainableCharacters()), ("two", TrainableCharacters(char_dim=8))]
    html = DynamicMetaClassifier(trainable=several)._repr_html_()
    for text in ("sk-parallel", "one", "two", "TrainableCharacters"):
        assert text in html
    html = DynamicMetaClassifier(trainable=TrainableCharacters())._repr_html_()
    assert "trainable: TrainableCharacters" in html
