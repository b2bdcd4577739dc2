"""The parameter `mixer_options`: each option against its definition in NumPy."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import sk_metaembed as sk
from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRanker,
    DynamicMetaRegressor,
    DynamicMetaTagger,
    EmbeddedSequences,
    SequencePairs,
    TokenSequences,
)
from sk_metaembed.dynamic._options import MIXER_OPTIONS, PUBLISHED
from sk_metaembed.dynamic._word_features import (
    N_FEATURES,
    count_words,
    word_features,
)
from sk_metaembed.dynamic.nets._mixer import Mixer
from sk_metaembed.dynamic.nets._mixing import source_means
from sk_metaembed.dynamic.training._data import SequenceData

from .conftest import make_embedded
from .test_estimators import SMALL

POOLED = SMALL | {"encoder": "mean", "early_stopping": False, "max_epochs": 4}
EVERYTHING = {
    "standardize": True,
    "n_heads": "dimensions",
    "combine": "concat",
    "source_dropout": 0.3,
    "auxiliary_weight": 0.5,
    "word_features": True,
    "joint_init": True,
}


def classifier(mixer_options=None, **params):
    return DynamicMetaClassifier(**POOLED | {"mixer_options": mixer_options} | params)


def mixer_of(embedded, attention="word", gate="softmax", **options):
    torch.manual_seed(0)
    dims = [block.dim for block in embedded.blocks]
    mixer = Mixer(dims, 6, attention, gate, None, False, PUBLISHED | options)
    for parameter in mixer.parameters():
        torch.nn.init.normal_(parameter)
    return mixer.eval()


def batch_of(embedded):
    data = SequenceData(embedded, torch.device("cpu"))
    return data.batch(np.arange(len(embedded)))


def projected(mixer, embedded):
    """Return projections and known tokens, (n_tokens, n_sources, dim) and 2-D."""
    parts, known = [], []
    for block, layer in zip(embedded.blocks, mixer.projections, strict=True):
        block = embedded.broadcast(block, "token")
        weight, bias = (p.detach().double().numpy() for p in layer.parameters())
        parts.append(block.values @ weight.T + bias)
        known.append(block.known)
    return np.stack(parts, 1), np.stack(known, 1)


def gated(scores, known, gate):
    """Return the weights of (n_tokens, n_sources, n_heads) scores."""
    if gate == "sigmoid":
        return known[:, :, None] / (1 + np.exp(-scores))
    raised = np.exp(scores - scores.max(1, keepdims=True)) * known[:, :, None]
    return raised / np.maximum(raised.sum(1, keepdims=True), 1e-300)


@pytest.mark.parametrize("levels", [("type", "type"), ("type", "token")])
@pytest.mark.parametrize("gate", ["softmax", "sigmoid"])
@pytest.mark.parametrize("n_heads", [1, 2, 3, "dimensions"])
@pytest.mark.parametrize("combine", ["sum", "concat"])
def test_heads_weight_groups_of_dimensions(levels, gate, n_heads, combine):
    embedded = make_embedded(levels=levels)
    mixer = mixer_of(embedded, gate=gate, n_heads=n_heads, combine=combine)
    vectors, known = projected(mixer, embedded)
    weight, bias = (p.detach().double().numpy() for p in mixer.score.parameters())
    weights = gated(vectors @ weight.T + bias, known, gate)
    n_heads = 6 if n_heads == "dimensions" else n_heads
    weighted = np.repeat(weights, 6 // n_heads, axis=2) * vectors
    expected = weighted.sum(axis=1)
    if combine == "concat":
        weight, bias = (p.detach().double().numpy() for p in mixer.joined.parameters())
        expected = weighted.reshape(len(weighted), -1) @ weight.T + bias
        expected *= known.any(axis=1, keepdims=True)
    mixed = mixer.mix(batch_of(embedded))
    np.testing.assert_allclose(mixed.vectors.detach(), expected, atol=1e-4)
    np.testing.assert_allclose(mixed.weights.detach(), weights.mean(2), atol=1e-5)


@pytest.mark.parametrize("attention", ["task", "context", "uniform"])
def test_one_head_per_dimension_can_choose_a_source_per_dimension(attention):
    embedded = make_embedded()
    mixer = mixer_of(embedded, attention, n_heads="dimensions")
    vectors, known = projected(mixer, embedded)
    mixed = mixer.mix(batch_of(embedded))
    if attention == "task":
        with torch.no_grad():
            mixer.source_scores.copy_(torch.tensor([[9.0] * 3 + [-9] * 3, [0.0] * 6]))
            mixer.gamma.fill_(1.0)
        mixed = mixer.mix(batch_of(embedded))
        both = known.all(1)
        np.testing.assert_allclose(
            mixed.vectors.detach()[both, :3], vectors[both, 0, :3], atol=1e-2
        )
        np.testing.assert_allclose(
            mixed.vectors.detach()[both, 3:], vectors[both, 1, 3:], atol=1e-2
        )
    assert mixed.weights.shape == known.shape
    assert not mixed.weights.detach().numpy()[~known].any()


@pytest.mark.parametrize("levels", [("type", "type"), ("token", "sequence")])
def test_standardized_sources_are_those_of_a_standard_scaler(levels):
    embedded = make_embedded(levels=levels, lengths=(1, 9))
    y = np.arange(len(embedded)) % 2
    model = classifier({"standardize": True}).fit(embedded, y)
    by_hand = []
    for block in embedded.blocks:
        rows = block.values[block.known].astype(np.float64)
        values = (block.values - rows.mean(0)) / rows.std(0) * block.known[:, None]
        by_hand.append(Block(block.name, values, block.level, block.known))
    by_hand = embedded.with_blocks(by_hand)
    same = classifier({"standardize": False}).fit(by_hand, y)
    np.testing.assert_allclose(
        model.predict_proba(embedded), same.predict_proba(by_hand), atol=1e-3
    )
    scaled = embedded.with_blocks(
        [
            Block(b.name, b.values * 50 * b.known[:, None], b.level, b.known)
            for b in embedded.blocks
        ]
    )
    np.testing.assert_allclose(
        classifier({"standardize": True}).fit(scaled, y).predict_proba(scaled),
        model.predict_proba(embedded),
        atol=1e-3,
    )


def test_statistics_are_those_of_the_training_rows_only():
    embedded = make_embedded(lengths=(1, 9))
    y = np.arange(len(embedded)) % 2
    rows = np.arange(20)
    weights = np.zeros(len(embedded))
    weights[rows] = 1.0
    by_rows = classifier({"standardize": True}).fit(embedded[rows], y[rows])
    by_weight = classifier({"standardize": True}).fit(embedded, y, weights)
    standards = by_rows.net_.module_.mixer.standards
    for one, other in zip(
        standards, by_weight.net_.module_.mixer.standards, strict=True
    ):
        torch.testing.assert_close(one.mean, other.mean)
        torch.testing.assert_close(one.factor, other.factor)
    used = np.unique(embedded.tokens[rows].codes)
    block = embedded.blocks[0]
    used = used[block.known[used]]
    np.testing.assert_allclose(standards[0].mean, block.values[used].mean(0), atol=1e-5)
    before = standards[0].mean.clone()
    by_rows.partial_fit(embedded[20:], y[20:])
    assert torch.equal(by_rows.net_.module_.mixer.standards[0].mean, before)


def test_a_dimension_that_does_not_vary_is_centered():
    tokens = TokenSequences.from_lists([["a"], ["b"]] * 10)
    X = EmbeddedSequences(tokens, [Block("s", np.array([[7.0, 1], [7, 2]]), "type")])
    model = classifier({"standardize": True}).fit(X, ["x", "y"] * 10)
    standard = model.net_.module_.mixer.standards[0]
    assert standard.mean.tolist() == [7.0, 1.5]
    assert standard.factor.tolist() == [1.0, 2.0]
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("attention", ["word", "uniform", "context"])
def test_source_dropout_leaves_out_whole_sources_of_sequences(attention):
    embedded = make_embedded(200, levels=("type", "type", "token"), lengths=(1, 9))
    known = [np.ones(len(block.known), dtype=bool) for block in embedded.blocks]
    blocks = zip(embedded.blocks, known, strict=True)
    embedded = embedded.with_blocks(
        [Block(b.name, b.values, b.level, k) for b, k in blocks]
    )
    mixer = mixer_of(embedded, attention, source_dropout=0.5)
    batch = batch_of(embedded)
    whole = mixer.mix(batch)
    assert (whole.weights > 0).all()
    weights = mixer.train().mix(batch).weights
    segments = batch.grid.segments
    out = weights == 0
    for sequence in range(len(embedded)):
        own = out[segments == sequence]
        assert (own == own[0]).all()
        assert not own[0].all()  # one source remains
    share = float(out.float().mean())
    assert 0.3 < share < 0.5  # half, less those kept in any case
    if attention == "uniform":  # others are larger, so that the sum keeps its size
        torch.testing.assert_close(weights.sum(1), torch.full((len(weights),), 3.0))
    else:
        torch.testing.assert_close(weights.sum(1), torch.ones(len(weights)))


def test_auxiliary_heads_add_the_loss_of_each_source():
    embedded = make_embedded(lengths=(1, 9))
    y = np.arange(len(embedded)) % 3
    plain = classifier(embedding_dropout=0, head_dropout=0).fit(embedded, y)
    model = classifier(
        {"auxiliary_weight": 0.7}, embedding_dropout=0, head_dropout=0
    ).fit(embedded, y)
    module, batch = model.net_.module_, batch_of(embedded)
    batch = type(batch)(**vars(batch) | {"weights": torch.ones(len(embedded))})
    labels = torch.from_numpy(y)
    entropy = torch.nn.functional.cross_entropy
    mixed = module.mix(batch)
    means = [source_means(mixed, i, batch.grid) for i in range(2)]
    expected = entropy(module.eval()(batch), labels) + 0.7 * np.mean(
        [
            float(entropy(head(mean), labels).detach())
            for head, mean in zip(module.auxiliary, means, strict=True)
        ]
    )
    output = module.train()(batch)
    loss = model.net_.get_loss(output, labels, X=batch, training=True)
    torch.testing.assert_close(loss, expected.to(loss.dtype))
    assert len(output.auxiliary) == 2
    assert not np.allclose(plain.predict_proba(embedded), model.predict_proba(embedded))


def test_the_mean_of_a_source_is_over_the_words_it_knows():
    embedded = make_embedded(lengths=(0, 9))
    mixer = mixer_of(embedded)
    vectors, known = projected(mixer, embedded)
    batch = batch_of(embedded)
    means = source_means(mixer.mix(batch), 1, batch.grid).detach().numpy()
    rows = embedded.tokens.segment_ids()
    for i in range(len(embedded)):
        own = np.maximum(vectors[(rows == i) & known[:, 1], 1], 0)
        expected = own.mean(0) if len(own) else np.zeros(6)
        np.testing.assert_allclose(means[i], expected, atol=1e-4)


def test_word_features():
    tokens = TokenSequences.from_lists([["the", "the", "Cats"], ["3-D", "the"]])
    types = np.array(["the", "Cats", "3-D", "NEW", ""], dtype=object)
    table = word_features(types, count_words(tokens))
    assert table.shape == (5, N_FEATURES) and table.dtype == np.float32
    frequency, rare, length, upper, first, digits, others = table.T
    np.testing.assert_allclose(
        frequency, [1, *[np.log(2) / np.log(4)] * 2, 0, 0], rtol=1e-6
    )
    assert rare.tolist() == [0, 1, 1, 1, 1]
    np.testing.assert_allclose(length, np.log([3, 4, 3, 3, 1]) / 3, rtol=1e-6)
    np.testing.assert_allclose(upper, [0, 1 / 4, 1 / 3, 1, 0], rtol=1e-6)
    assert first.tolist() == [0, 1, 0, 1, 0]
    np.testing.assert_allclose(digits, [0, 0, 1 / 3, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(others, [0, 0, 1 / 3, 0, 0], rtol=1e-6)


@pytest.mark.parametrize("attention", ["word", "context"])
def test_attention_reads_word_features(attention):
    # Both sources have random vectors: only the capital says which one to trust.
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(40)] + [f"W{i}" for i in range(40)]
    rows = [[str(rng.choice(words))] for _ in range(400)]
    tokens = TokenSequences.from_lists(rows)
    sign = rng.choice([-1.0, 1.0], size=(tokens.n_types, 2))
    X = EmbeddedSequences(
        tokens, [Block(name, sign[:, i : i + 1], "type") for i, name in enumerate("ab")]
    )
    upper = np.array([word[0].isupper() for word in tokens.types])
    y = np.where(upper, sign[:, 0], sign[:, 1])[tokens.codes] > 0
    params = {"max_epochs": 40, "lr": 0.05, "projection_dim": 4}
    scores = [
        classifier({"word_features": reads}, attention=attention, **params)
        .fit(X[:300], y[:300])
        .score(X[300:], y[300:])
        for reads in (False, True)
    ]
    assert scores[1] > max(scores[0] + 0.1, 0.9)


@pytest.mark.parametrize("levels", [("type",), ("token", "token"), ("token", "type")])
def test_word_features_are_those_of_the_token(levels):
    X = make_embedded(levels=levels, lengths=(1, 9))
    y = np.arange(len(X)) % 2
    model = classifier({"word_features": True, "n_heads": 4}, lr=0.1).fit(X, y)
    scores = model.net_.module_.mixer.feature_scores
    assert scores.weight.abs().max() > 0 or len(levels) == 1
    by_token = model.attention_weights(X)
    as_tokens = X.with_blocks([X.broadcast(block, "token") for block in X.blocks])
    frame = model.attention_weights(as_tokens)
    np.testing.assert_allclose(
        frame.iloc[:, 3:].to_numpy(), by_token.iloc[:, 3:].to_numpy(), atol=1e-5
    )


def test_frequencies_are_those_of_the_first_fit():
    embedded = make_embedded(lengths=(1, 9))
    y = np.arange(len(embedded)) % 2
    model = classifier({"word_features": True}).fit(embedded[:30], y[:30])
    counts = model._trained.word_counts
    assert sum(counts.values()) == embedded.tokens[:30].n_tokens
    model.partial_fit(embedded[30:], y[30:])
    assert model._trained.word_counts is counts


def test_word_features_need_words():
    X = make_embedded(levels=("sequence", "sequence"))
    y = np.arange(len(X)) % 2
    proba = classifier({"word_features": True}).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(proba, classifier().fit(X, y).predict_proba(X))


def test_joint_init_has_the_range_of_one_matrix():
    embedded = make_embedded(levels=("type",) * 3)
    torch.manual_seed(0)
    mixer = Mixer([4, 5, 6], 50, "word", "softmax", None, False, PUBLISHED)
    joint = PUBLISHED | {"joint_init": True}
    other = Mixer([4, 5, 6], 50, "word", "softmax", None, False, joint)
    for dim, apart, together in zip(
        (4, 5, 6), mixer.projections, other.projections, strict=True
    ):
        bounds = np.sqrt(6 / (dim + 50)), np.sqrt(6 / (15 + 50))
        largest = [float(p.weight.abs().max()) for p in (apart, together)]
        np.testing.assert_allclose(largest, bounds, rtol=0.05)
    assert embedded.names == ("s0", "s1", "s2")


@pytest.mark.parametrize(
    ("estimator", "target"),
    [
        (DynamicMetaClassifier, lambda X: np.arange(len(X)) % 3),
        (DynamicMetaClassifier, lambda X: np.array([["a", "x"], ["b", "y"]] * 30)),
        (DynamicMetaRegressor, lambda X: np.linspace(0, 1, len(X))),
        (DynamicMetaEmbedding, lambda X: np.arange(len(X)) % 2),
        (
            DynamicMetaTagger,
            lambda X: [
                ["O", "B-x"][: len(r)] + ["O"] * (len(r) - 2)
                for r in X.tokens.to_list()
            ],
        ),
        (DynamicMetaRanker, lambda X: np.eye(len(X), 5) + 1),
    ],
)
@pytest.mark.parametrize("attention", ["word", "context"])
def test_all_options_together(estimator, target, attention, tmp_path):
    X = make_embedded(levels=("type", "token", "type"), lengths=(1, 9))
    options = dict(EVERYTHING)
    if estimator is DynamicMetaRanker:
        with pytest.raises(ValueError, match="unknown key 'auxiliary_weight'"):
            estimator(mixer_options=options).fit(X, target(X))
        del options["auxiliary_weight"]
    params = {k: v for k, v in SMALL.items() if k in estimator().get_params()}
    params |= {"max_epochs": 3, "train_options": {"average_epochs": 2}}
    model = estimator(attention, mixer_options=options, **params)
    model.fit(X, target(X))
    name = "transform" if hasattr(model, "transform") else "predict"
    if hasattr(model, "predict_proba"):
        name = "predict_proba"
    function = getattr(model, name)

    def rows(output):
        if isinstance(output, EmbeddedSequences):
            output = output.to_list()
        if isinstance(output, list) and len(output) == 2 and len(X) != 2:
            output = np.hstack(output)  # columns of labels
        return [np.asarray(row, dtype=np.float64) for row in output]

    together = rows(function(X))
    for i in (0, 7, 31):
        np.testing.assert_allclose(
            np.ravel(rows(function(X[i : i + 1]))[0]), np.ravel(together[i]), atol=1e-5
        )
    again = clone(model).fit(X, target(X))
    for a, b in zip(rows(getattr(again, name)(X)), together, strict=True):
        np.testing.assert_array_equal(a, b)
    loaded = sk.load(sk.save(model, tmp_path / "model.skm"))
    for a, b in zip(rows(getattr(loaded, name)(X)), together, strict=True):
        np.testing.assert_array_equal(a, b)
    frame = model.attention_weights(X)
    assert len(frame) == X.tokens.n_tokens
    assert frame[["s0", "s1", "s2"]].to_numpy().max() <= 1 + 1e-6


def test_pairs_with_all_options():
    X = SequencePairs(make_embedded(lengths=(1, 9)))
    y = np.arange(len(X)) % 2
    model = classifier(EVERYTHING).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    statistics = model.net_.module_.mixer.standards[0]
    block = X.sequences.blocks[0]
    used = np.unique(X.sequences.tokens.codes)
    used = used[block.known[used]]
    np.testing.assert_allclose(statistics.mean, block.values[used].mean(0), atol=1e-5)


def test_micro_batches_have_the_same_steps_with_auxiliary_heads():
    X = make_embedded(lengths=(1, 9))
    y = np.arange(len(X)) % 2
    quiet = {"embedding_dropout": 0, "head_dropout": 0}
    options = {"auxiliary_weight": 0.5}
    whole = classifier(options, **quiet).fit(X, y)
    parts = classifier(options, **quiet, train_options={"micro_batch_size": 5})
    np.testing.assert_allclose(
        parts.fit(X, y).predict_proba(X), whole.predict_proba(X), atol=1e-4
    )


def test_published_is_the_mixer_without_options():
    X = make_embedded(lengths=(1, 9))
    y = np.arange(len(X)) % 2
    published = classifier("published").fit(X, y)
    by_hand = classifier(PUBLISHED).fit(X, y)
    np.testing.assert_array_equal(published.predict_proba(X), by_hand.predict_proba(X))
    network = published.net_.module_.mixer
    assert network.n_heads == 1 and network.standards is None and network.joined is None
    params = published.get_params()
    assert params["mixer_options"] == "published"
    for name, value in PUBLISHED.items():
        assert params[f"mixer_options__{name}"] == value
    changed = clone(published).set_params(mixer_options__n_heads=2)
    assert changed.mixer_options == PUBLISHED | {"n_heads": 2}
    DynamicMetaRanker(mixer_options="published").set_params(
        mixer_options__n_heads=2, mixer_options__combine="concat"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heads": 2}, r"unknown key 'heads'. Allowed keys are \['auxiliary_weight'"),
        ({"n_heads": 0}, r"'mixer_options__n_heads' .* Got 0"),
        ({"n_heads": "all"}, r"'mixer_options__n_heads' .* Got 'all'"),
        ({"n_heads": 3}, "n_heads=3 must divide the dimension of the mixed vectors, 8"),
        ({"combine": "product"}, r"'mixer_options__combine' .* Got 'product'"),
        ({"source_dropout": 1}, r"'mixer_options__source_dropout' .* Got 1"),
        ({"auxiliary_weight": -1}, r"'mixer_options__auxiliary_weight' .* Got -1"),
        ({"standardize": "yes"}, r"'mixer_options__standardize' .* Got 'yes'"),
        ("dme", r"'mixer_options' .* Got 'dme'"),
    ],
)
def test_wrong_options_are_refused(embedded, labels, options, message):
    with pytest.raises(ValueError, match=message) as error:
        classifier(options).fit(embedded, labels)
    assert "DynamicMetaClassifier" in str(error.value)


@pytest.mark.parametrize("estimator", [DynamicMetaClassifier, DynamicMetaRanker])
def test_the_docstring_has_each_option_with_its_default(estimator):
    documented = " ".join(estimator.__doc__.split())
    for name, default in estimator._mixer_options.defaults.items():
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        assert f"default={shown}." in documented.split(f"``{name}`` : ")[1][:99]
    assert ("``auxiliary_weight``" in documented) == (
        estimator is not DynamicMetaRanker
    )
    assert MIXER_OPTIONS.name in documented


def test_a_search_over_options(embedded, labels):
    grid = {"mixer_options__n_heads": [1, 4], "mixer_options": [None, "published"]}
    search = GridSearchCV(classifier(max_epochs=1), grid, cv=2).fit(embedded, labels)
    assert len(search.cv_results_["params"]) == 4


def test_averaged_weights_are_the_mean_over_the_last_epochs(embedded, labels):
    from skorch.callbacks import Callback

    seen = []

    class Record(Callback):
        def on_epoch_begin(self, net, **kwargs):
            seen.append(None)

        def on_batch_end(self, net, training=False, **kwargs):
            if training:
                seen[-1] = net.module_.head[0].weight.detach().clone()

    options = {"average_epochs": 3}
    model = classifier(train_options=options, callbacks=[Record()], max_epochs=5)
    model.fit(embedded, labels)
    torch.testing.assert_close(
        model.net_.module_.head[0].weight.detach(), sum(seen[-3:]) / 3
    )
    # The epochs themselves are those of a training without averages.
    plain = classifier(max_epochs=5).fit(embedded, labels)
    torch.testing.assert_close(
        plain.net_.module_.head[0].weight.detach(), seen[-1], atol=0, rtol=0
    )
    assert dict(model.net_.callbacks_)["average"].last_ == []


def test_held_out_scores_are_those_of_the_average(embedded, labels):
    model = classifier(
        train_options={"average_epochs": 2}, early_stopping=True, max_epochs=6
    )
    model.fit(embedded[:40], labels[:40], X_val=embedded[40:], y_val=labels[40:])
    best = max(model.history_[:, "valid_acc"])
    assert model.score(embedded[40:], labels[40:]) == pytest.approx(best)


@pytest.mark.parametrize("combine", ["sum", "concat"])
def test_words_that_no_source_knows_are_zeros(combine):
    embedded = make_embedded(levels=("type", "token"))
    mixer = mixer_of(embedded, combine=combine)
    mixed = mixer.mix(batch_of(embedded))
    unknown = ~mixed.known.any(dim=1)
    assert unknown.any()
    assert not mixed.vectors[unknown].any()


def test_source_dropout_leaves_words_their_only_source():
    embedded = make_embedded(200, lengths=(1, 9))
    mixer = mixer_of(embedded, source_dropout=0.5).train()
    mixed = mixer.mix(batch_of(embedded))
    torch.testing.assert_close(mixed.known.any(dim=1), mixed.weights.sum(1) > 0)


def test_rows_of_weight_0_do_not_count_words():
    X = make_embedded(lengths=(1, 9))
    y, weights = np.arange(len(X)) % 2, np.ones(len(X))
    weights[:20] = 0
    with_weights = classifier({"word_features": True}).fit(X, y, weights)
    rest = classifier({"word_features": True}).fit(X[20:], y[20:])
    assert with_weights._trained.word_counts == rest._trained.word_counts
