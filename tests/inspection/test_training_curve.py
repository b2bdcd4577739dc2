import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    AutoencodedMetaEmbedding,
    Block,
    DynamicMetaClassifier,
    ElmoLanguageModel,
    EmbeddedSequences,
    OneToNMetaEmbedding,
    Pooling,
    TokenSequences,
)
from sk_metaembed.inspection import TrainingCurveDisplay

matplotlib.use("Agg")
HISTORY = [
    {
        "epoch": i + 1,
        "train_loss": 1 / (i + 1),
        "valid_loss": (i - 3) ** 2 / 9,
        "valid_acc": [0.5, 0.7, 0.8, 0.8, 0.75][i],
        "event_lr": 0.1 / 5**i,
        "train_perplexity": 100.0 / (i + 1),
        "valid_forward": np.float32(90.0),
        "dur": 0.1,
        "valid_loss_best": i < 3,
        "train_batch_count": 4,
        "batches": [{}],
    }
    for i in range(5)
]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def embedded():
    rng = np.random.default_rng(0)
    tokens = TokenSequences.from_lists([["a", "b"], ["b", "c"], ["c"], ["d", "a"]] * 5)
    blocks = [Block(name, rng.normal(size=(4, 3)), "type") for name in ("x", "y")]
    return EmbeddedSequences(tokens, blocks)


def test_each_kind_of_curve_has_a_panel():
    display = TrainingCurveDisplay.from_history(HISTORY)
    names = [ax.get_ylabel() for ax in display.axes_]
    assert names == ["loss", "accuracy", "perplexity", "learning rate"]
    assert all(ax.get_xlabel() == "epoch" for ax in display.axes_)
    scales = [ax.get_yscale() for ax in display.axes_]
    assert scales == ["linear", "linear", "log", "log"]
    assert sorted(display.lines_) == sorted(display.curves)
    for name, line in display.lines_.items():
        np.testing.assert_array_equal(line.get_xdata(), [1, 2, 3, 4, 5])
        np.testing.assert_array_equal(line.get_ydata(), display.curves[name])
    frame = display.frame()
    assert frame["epoch"].tolist() == [1, 2, 3, 4, 5]
    assert set(frame) == {"epoch", *display.curves}


def test_held_out_and_training_differ_without_colour():
    display = TrainingCurveDisplay.from_history(HISTORY)
    train, valid = display.lines_["train_loss"], display.lines_["valid_loss"]
    assert (train.get_linestyle(), valid.get_linestyle()) == ("-", "--")
    assert train.get_marker() != valid.get_marker()
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["training", "held out", "best: epoch 3"]
    names = [text.get_text() for text in display.axes_[2].get_legend().get_texts()]
    assert names == ["training", "held out, forward", "best: epoch 3"]


@pytest.mark.parametrize(
    ("left_out", "best"),
    [((), 3), (("valid_acc",), 4), (("valid_acc", "valid_loss"), None)],
)
def test_best_epoch_is_from_held_out_data(left_out, best):
    history = [
        {name: value for name, value in epoch.items() if name not in left_out}
        for epoch in HISTORY
    ]
    display = TrainingCurveDisplay.from_history(history)
    assert display.best_epoch == best
    marked = [line for line in display.ax_.lines if line.get_linestyle() == ":"]
    assert len(marked) == (best is not None)


def test_curves_and_axes_can_be_given():
    figure, axes = plt.subplots(1, 2)
    display = TrainingCurveDisplay.from_history(
        HISTORY, ax=axes, curves=["valid_acc", "event_lr"], line_kw={"linewidth": 5}
    )
    assert display.axes_.tolist() == axes.tolist()
    assert list(display.lines_) == ["valid_acc", "event_lr"]
    assert display.lines_["valid_acc"].get_linewidth() == 5
    with pytest.raises(ValueError, match=r"some of \['train_loss'.*got 'loss'"):
        display.plot(curves=["loss"])
    with pytest.raises(ValueError, match="got none"):
        display.plot(curves=[])


def test_nothing_overlaps():
    display = TrainingCurveDisplay.from_history(HISTORY)
    display.figure_.canvas.draw()
    boxes = [ax.get_tightbbox() for ax in display.axes_]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[i + 1 :])
    for ax in display.axes_[:3]:
        legend = ax.get_legend().get_window_extent()
        assert legend.y0 >= ax.get_window_extent().y1 - 1
    whole = display.figure_.bbox.padded(1)
    assert all(whole.x0 <= box.x0 <= box.x1 <= whole.x1 for box in boxes)


def test_one_epoch_and_gaps_are_drawn():
    display = TrainingCurveDisplay.from_history(HISTORY[:1])
    display.figure_.canvas.draw()
    assert display.best_epoch == 1
    gaps = [{"epoch": 1, "train_loss": 1.0}, {"epoch": 2, "valid_f1": 0.5}]
    display = TrainingCurveDisplay.from_history(gaps)
    assert np.isnan(display.curves["valid_f1"][0])
    assert display.best_epoch == 2
    assert display.axes_[1].get_ylabel() == "F1"


def test_a_dynamic_classifier_in_a_pipeline(embedded):
    net = DynamicMetaClassifier(
        projection_dim=4,
        encoder="mean",
        hidden_dims=(),
        max_epochs=3,
        early_stopping=True,
        train_options={"lr_patience": 0},
        random_state=0,
    )
    pipe = make_pipeline(net).fit(embedded, [0, 1] * 10)
    display = TrainingCurveDisplay.from_estimator(pipe)
    assert {"train_loss", "valid_loss", "valid_acc", "event_lr"} <= set(display.curves)
    assert len(display.epochs) == net.n_iter_
    expected = [epoch["valid_acc"] for epoch in net.history_]
    assert display.curves["valid_acc"].tolist() == expected


@pytest.mark.parametrize("make", [AutoencodedMetaEmbedding, OneToNMetaEmbedding])
def test_meta_embedders_with_a_loss_curve(embedded, make):
    combiner = make(n_components=2, random_state=0)
    combiner.set_params(max_iter=3) if "max_iter" in combiner.get_params() else None
    display = TrainingCurveDisplay.from_estimator(combiner.fit(embedded))
    assert display.curves["train_loss"].tolist() == list(combiner.loss_curve_)
    assert display.best_epoch is None


def test_scikit_learn_network(embedded):
    net = MLPClassifier((2,), early_stopping=True, max_iter=3, random_state=0)
    with pytest.warns(UserWarning):
        pipe = make_pipeline(Pooling(), net).fit(embedded.select(["x"]), [0, 1] * 10)
    display = TrainingCurveDisplay.from_estimator(pipe)
    assert list(display.curves) == ["train_loss", "validation_score"]
    assert display.axes_[1].get_ylabel() == "score"


def test_a_language_model_shows_perplexities_and_rate():
    texts = ["the cat sat on the mat", "the dog sat on the rug"] * 6
    model = ElmoLanguageModel(
        architecture={
            "projection_dim": 4,
            "cell_dim": 8,
            "filters": ((1, 4),),
            "char_dim": 2,
        },
        batch_size=4,
        max_epochs=2,
        random_state=0,
    )
    display = TrainingCurveDisplay.from_estimator(model.fit(texts, X_val=texts[:2]))
    names = [ax.get_ylabel() for ax in display.axes_]
    assert {"perplexity", "learning rate"} <= set(names)
    assert {"train_forward", "valid_backward", "lr"} <= set(display.curves)
    assert display.curves["lr"][0] > display.curves["lr"][1] > 0


def test_errors_say_what_is_wrong():
    make = TrainingCurveDisplay
    with pytest.raises(TypeError, match="history_ or loss_curve_.*got Pooling"):
        make.from_estimator(Pooling())
    with pytest.raises(TypeError, match="one per epoch, each with 'epoch'; got list"):
        make.from_history([{"source": "a"}])
    with pytest.raises(ValueError, match="history have no numbers"):
        make.from_history([{"epoch": 1, "dur": 1.0}])
