"""Checkpoints: all that training needs to go on as if it had never been interrupted."""

from skorch.callbacks import Callback

from ..sequences._own_random import own_generators
from ..sequences._state_file import NoStateError, StateWriter, read_state


class Checkpoints(Callback):
    """Writes a file every so many batches, and after each epoch.

    The file is written beside its place and put there in one go: a process that is
    killed leaves the last one whole. A disk that is full is told once.

    Parameters
    ----------
    file : Path
    every : int
        Batches.
    belongs : dict of str to str
        What the fit is told by; a file of another fit is refused.
    seed : int
        Of the fit.
    perplexities : Perplexities
    schedule : Schedule
    keeper : KeepBest
    """

    def __init__(self, file, every, belongs, seed, perplexities, schedule, keeper):
        self.writer = StateWriter(file, "ElmoLanguageModel")
        self.every, self.belongs, self.seed = every, belongs, seed
        self.perplexities, self.schedule, self.keeper = perplexities, schedule, keeper
        self.n_batches = 0

    def on_batch_end(self, net, training=False, **kwargs):
        """Write, if it is time."""
        if training:
            self.n_batches += 1
            if self.n_batches % self.every == 0:
                self._write(net, epoch_over=False)

    def on_epoch_end(self, net, **kwargs):
        """Write that the epoch is over."""
        self.n_batches = 0
        self._write(net, epoch_over=True)

    def _write(self, net, epoch_over):
        finished = net.history if epoch_over else net.history[:-1]
        self.writer.write(
            {
                "belongs": self.belongs,
                "seed": self.seed,
                "module": net.module_.state_dict(),
                "optimizer": net.optimizer_.state_dict(),
                "generators": own_generators().states(net.device),
                "history": [_plain(epoch) for epoch in finished],
                "n_batches": self.n_batches,
                "sums": None if epoch_over else self.perplexities.sums_["train"],
                "carried": None if epoch_over else net.carried_,
                "step": self.schedule.step,
                "best": [self.keeper.best, self.keeper.n_worse],
                "best_weights": self.keeper.weights,
            },
        )

    def restore(self, net, found):
        """Bring a net and the other callbacks to where a checkpoint was written.

        Parameters
        ----------
        net : LanguageNet
            Initialised.
        found : dict
            As `read_checkpoint` gives it.
        """
        net.module_.load_state_dict(found["module"])
        net.optimizer_.load_state_dict(found["optimizer"])
        for epoch in found["history"]:
            net.history.new_epoch()
            net.history.record("batches", [])
            for name, value in epoch.items():
                net.history.record(name, value)
        net.carried_ = found["carried"]
        self.n_batches = found["n_batches"]
        self.perplexities.restored = found["sums"]
        self.schedule.step = found["step"]
        self.keeper.best, self.keeper.n_worse = found["best"]
        self.keeper.weights = found["best_weights"]
        own_generators().set_states(found["generators"], net.device)


def read_checkpoint(file, belongs, device):
    """Return what a checkpoint holds, or None where there is none.

    Parameters
    ----------
    file : Path
    belongs : dict of str to str
        As the fit at hand would write it.
    device : torch.device

    Returns
    -------
    dict or None

    Raises
    ------
    ValueError
        If the file is damaged, or of another fit.
    """
    if not file.exists():
        return None
    try:
        found = read_state(file, device)
        told = found["belongs"]
    except (NoStateError, KeyError) as error:
        raise ValueError(
            f"ElmoLanguageModel: {file} is no checkpoint, or damaged ({error}). "
            "Delete it, or give another place as checkpoint."
        ) from error
    for name, value in belongs.items():
        if told.get(name) != value:
            raise ValueError(
                f"ElmoLanguageModel: the checkpoint {file} is of another fit: its "
                f"{name} is {told.get(name)}, and {value} is asked for. Delete it, or "
                "give another place as checkpoint."
            )
    return found


def _plain(epoch):
    return {k: v for k, v in epoch.items() if isinstance(v, int | float | bool)}
