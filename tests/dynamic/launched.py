"""What each process of a launch runs; it writes its results to a folder."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from skorch.callbacks import Callback, Checkpoint

from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    EmbeddedSequences,
    TokenSequences,
)


def data():
    """Return sequences of one source, and labels."""
    rng = np.random.default_rng(0)
    rows = [
        [f"w{i}" for i in rng.integers(0, 20, rng.integers(1, 6))] for _ in range(49)
    ]
    tokens = TokenSequences.from_lists(rows)
    X = EmbeddedSequences(
        tokens, [Block("s", rng.normal(size=(tokens.n_types, 4)), "type")]
    )
    return X, np.array([len(row) % 2 for row in rows])


def model(**options):
    """Return an estimator whose training is the same however it is shared."""
    small = {"projection_dim": 6, "encoder_dim": 4, "hidden_dims": (), "lr": 0.02}
    rates = {"embedding_dropout": 0.0, "head_dropout": 0.0}
    rest = {"batch_size": 15, "max_epochs": 4, "random_state": 0}
    rest |= {"encoder": "bilstm-max", "early_stopping": True}
    return DynamicMetaClassifier(**small | rates | rest | options)


def losses(estimator):
    """Return the losses of an estimator's epochs."""
    names = ("train_loss", "valid_loss", "valid_acc")
    return [[float(epoch[name]) for name in names] for epoch in estimator.history_]


class Fails(Callback):
    """Raises in the second process."""

    def on_batch_begin(self, net, **kwargs):
        if os.environ["RANK"] == "1":
            raise OSError("the disk is full")


class Ends(Fails):
    """Raises in the second process in the second epoch."""

    def on_batch_begin(self, net, **kwargs):
        if len(net.history) == 2:
            super().on_batch_begin(net)


class Leaves(Callback):
    """Ends the second process."""

    def on_batch_begin(self, net, **kwargs):
        if os.environ["RANK"] == "1":
            os._exit(0)


class Seed(Callback):
    """Notes the seed of dropout."""

    def on_epoch_begin(self, net, **kwargs):
        self.seed_ = torch.initial_seed()


def failure(estimator, X, y):
    """Return what an estimator says that cannot be trained."""
    try:
        estimator.fit(X, y)
    except (OSError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"


def main(folder):
    """Train and write the results."""
    X, y = data()
    rank = os.environ["RANK"]
    writer = Checkpoint(dirname=str(folder / f"checkpoints{rank}"))
    seed = Seed()
    together = model(device="accelerate", callbacks=[writer, seed], verbose=1)
    together.fit(X, y)
    weights = [w.tolist() for w in together.net_.module_.state_dict().values()]
    results = {
        "count": Accelerator().num_processes,
        "losses": losses(together),
        "weights": weights,
        "seed": dict(together.net_.callbacks_)["Seed"].seed_,
    }
    if rank == "0":  # in one process alone: nothing waits for the others
        results["labels"] = together.predict(X).tolist()
    half = model(
        device="accelerate",
        train_options={"dtype": "bfloat16", "micro_batch_size": 4},
        max_epochs=2,
    )
    results["bfloat16"] = losses(half.fit(X, y))
    drops = {"device": "accelerate", "embedding_dropout": 0.5, "max_epochs": 3}
    results["unbroken"] = losses(model(**drops).fit(X, y))
    states = folder / f"states{rank}"  # as if not on one machine
    drops |= {"train_options": {"checkpoint": states}}
    failure(model(callbacks=[Ends()], **drops), X, y)
    results["broken"] = losses(model(**drops).fit(X, y))
    results["failed"] = failure(model(device="accelerate", callbacks=[Fails()]), X, y)
    path = folder / f"{rank}.json"
    path.write_text(json.dumps(results))
    results["left"] = failure(model(device="accelerate", callbacks=[Leaves()]), X, y)
    path.write_text(json.dumps(results))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
