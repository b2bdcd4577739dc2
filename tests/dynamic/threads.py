"""Processes of one training that are threads, of which one runs at a time.

What they do together is what real processes do, by other means; that those means do
the same is tested with real processes.
"""

import copy
import threading

import torch

from sk_metaembed.dynamic.training import _distributed
from sk_metaembed.dynamic.training._distributed import (
    SINGLE_PROCESS,
    Processes,
    ProcessFailedError,
)


class Meeting:
    """A place where threads meet; between meetings they run one after the other."""

    def __init__(self, count):
        self.count = count
        self.turn = threading.Condition()
        self.next, self.brought, self.taken = 0, [], []

    def exchange(self, rank, value):
        """Return what all have brought, in their order."""
        with self.turn:
            self.brought.append(value)
            if len(self.brought) == self.count:
                self.taken, self.brought = self.brought, []
            result = self._pass_on(rank)
        return self.taken if result else None

    def _pass_on(self, rank):
        self.next = (rank + 1) % self.count
        self.turn.notify_all()
        return self.turn.wait_for(lambda: self.next == rank, timeout=30)

    def begin(self, rank):
        """Wait for this thread's turn."""
        with self.turn:
            assert self.turn.wait_for(lambda: self.next == rank, timeout=30)

    def leave(self, rank):
        """Let the others go on."""
        with self.turn:
            self.next = (rank + 1) % self.count
            self.turn.notify_all()


class ThreadProcesses(Processes):
    """`Processes` whose means are a `Meeting`."""

    def __init__(self, rank, meeting):
        super().__init__(rank, meeting.count, torch.device("cpu"))
        self.meeting = meeting

    def _all_reduce(self, tensor):
        parts = self._all_gather(tensor.clone())
        tensor.copy_(sum(parts[1:], parts[0]))

    def _broadcast(self, tensor):
        tensor.copy_(self._all_gather(tensor.clone())[0])

    def _all_gather(self, value):
        result = self.meeting.exchange(self.rank, copy.deepcopy(value))
        if result is None:
            raise ProcessFailedError("nobody came")
        return copy.deepcopy(result)


def run_together(monkeypatch, count, function):
    """Return what a function of the rank returns in each of some processes."""
    meeting, own = Meeting(count), threading.local()
    results = [None] * count

    def processes_of(device, *, caller):
        return own.processes if device == "accelerate" else SINGLE_PROCESS

    monkeypatch.setattr(_distributed, "processes_of", processes_of)

    def run(rank):
        own.processes = ThreadProcesses(rank, meeting)
        meeting.begin(rank)
        try:
            results[rank] = function(rank)
        except BaseException as error:
            results[rank] = error
        meeting.leave(rank)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def together(monkeypatch, count, function):
    """Return what `run_together` does, of a function that must not fail."""
    results = run_together(monkeypatch, count, function)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results
