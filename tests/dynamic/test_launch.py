"""Training by processes that Accelerate launches, and what it is asked in one."""

import json
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.base import clone

from sk_metaembed._training import _choose_device
from sk_metaembed._training._choose_device import resolve_device
from sk_metaembed.dynamic.training import _distributed
from sk_metaembed.dynamic.training._distributed import Processes, ProcessFailedError

from . import launched

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def launch(tmp_path_factory):
    """Return the results and the output of two processes of one launch."""
    pytest.importorskip("accelerate")
    if not torch.distributed.is_gloo_available():
        pytest.skip("torch is built without gloo")
    folder = tmp_path_factory.mktemp("launch")
    root = str(HERE.parents[1])
    environment = os.environ | {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(
        [root, os.environ.get("PYTHONPATH", "")]
    )
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu"]
    options = ["--num_processes=2", "--num_machines=1", "--main_process_port=0"]
    options += ["--mixed_precision=no", "--dynamo_backend=no"]
    done = subprocess.run(
        [*launch, *options, str(HERE / "launched.py"), str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (folder / "0.json").exists(), done.stderr[-3000:]
    return SimpleNamespace(
        main=json.loads((folder / "0.json").read_text()),
        other=json.loads((folder / "1.json").read_text()),
        folder=folder,
        printed=done.stdout,
    )


@pytest.fixture(scope="module")
def alone():
    """Return the same training in this process."""
    return launched.model(device="cpu").fit(*launched.data())


def test_two_processes_have_the_losses_of_one(launch, alone):
    assert launch.main["count"] == 2
    assert launch.main["losses"] == launch.other["losses"]
    np.testing.assert_allclose(
        launch.main["losses"], launched.losses(alone), rtol=0, atol=1e-5
    )


def test_all_have_the_same_weights(launch):
    assert launch.main["weights"] == launch.other["weights"]


def test_one_process_predicts_like_training_alone(launch, alone):
    labels = alone.predict(launched.data()[0]).tolist()
    assert np.mean(np.array(launch.main["labels"]) == labels) > 0.95


def test_each_draws_its_own_dropout(launch):
    assert launch.other["seed"] != launch.main["seed"]


def test_one_writes_checkpoints_and_prints(launch):
    assert (launch.folder / "checkpoints0" / "params.pt").exists()
    assert not list((launch.folder / "checkpoints1").iterdir())
    assert launch.printed.count("train_loss") == 1


def test_bfloat16_and_parts_of_batches_are_close(launch, alone):
    assert launch.main["bfloat16"] == launch.other["bfloat16"]
    exact = launched.losses(alone)[:2]
    assert launch.main["bfloat16"] != exact
    np.testing.assert_allclose(launch.main["bfloat16"], exact, atol=0.01)


def test_killed_training_resumes_to_the_same_weights(launch):
    assert launch.main["broken"] == launch.main["unbroken"]
    assert launch.other["broken"] == launch.main["unbroken"]
    assert not list((launch.folder / "states1").iterdir())


def test_an_error_reaches_the_other_processes(launch):
    assert launch.other["failed"] == "OSError: the disk is full"
    assert "because process 1 of 2 could not continue" in launch.main["failed"]
    assert "OSError: the disk is full" in launch.main["failed"]


def test_a_process_that_is_gone_is_not_waited_for(launch):
    assert "another of the 2 processes ended" in launch.main["left"]


@pytest.fixture
def accelerate(monkeypatch):
    """Let Accelerate begin anew, on the CPU."""
    state = pytest.importorskip("accelerate.state")
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    state.AcceleratorState._reset_state(reset_partial_state=True)
    yield
    state.AcceleratorState._reset_state(reset_partial_state=True)


def test_a_script_runs_without_a_launch_too(accelerate, alone):
    model = clone(launched.model(device="accelerate")).fit(*launched.data())
    assert launched.losses(model) == launched.losses(alone)
    copied = pickle.loads(pickle.dumps(model))
    assert copied.device == "accelerate"
    assert copied.predict(launched.data()[0]).shape == (49,)


def test_the_launch_requests_bfloat16(accelerate, monkeypatch):
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")
    model = launched.model(device="accelerate", max_epochs=1).fit(*launched.data())
    assert model.net_.autocast == torch.bfloat16
    monkeypatch.delenv("ACCELERATE_MIXED_PRECISION")
    same = launched.model(
        device="cpu", train_options={"dtype": "bfloat16"}, max_epochs=1
    )
    assert launched.losses(model) == launched.losses(same.fit(*launched.data()))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "FSDP"}, "the Accelerate backend FSDP is not"),
        ({"precision": "fp16"}, "is set to 'fp16'. Use --mixed_precision bf16"),
        ({"launched": "4"}, "4 processes were started, but Accelerate sees only this"),
    ],
)
def test_unsupported_settings_raise(monkeypatch, settings, message):
    monkeypatch.setenv("WORLD_SIZE", settings.get("launched", "1"))
    accelerator = SimpleNamespace(
        distributed_type=SimpleNamespace(name=settings.get("kind", "NO")),
        mixed_precision=settings.get("precision", "no"),
        num_processes=1,
        device="cpu",
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        _distributed._check_settings(accelerator, "DynamicMetaClassifier")


def test_missing_accelerate_raises(monkeypatch):
    monkeypatch.setitem(sys.modules, "accelerate", None)
    with pytest.raises(ImportError, match=r"sk_metaembed\[distributed\]"):
        launched.model(device="accelerate").fit(*launched.data())


def test_workers_of_joblib_cannot_share_a_fit(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(_distributed, "worker_index", lambda: 0)
    with pytest.raises(ValueError, match="Use n_jobs=1"):
        launched.model(device="accelerate").fit(*launched.data())


def test_a_timed_out_wait_raises(monkeypatch):
    def wait(tensor):
        raise RuntimeError("Timed out waiting 1800000ms")

    monkeypatch.setattr(torch.distributed, "all_reduce", wait)
    with pytest.raises(ProcessFailedError, match=r"InitProcessGroupKwargs.*Timed out"):
        Processes(0, 2, torch.device("cpu")).check()


def named(monkeypatch, name):
    process = SimpleNamespace(name=name)
    monkeypatch.setattr(multiprocessing, "current_process", lambda: process)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("LokyProcess-1", 0),
        ("LokyInitMainProcess-5", 4),
        ("ForkPoolWorker-3", 2),
        ("MainProcess", None),
        ("Process-2", None),
    ],
)
def test_workers_are_numbered(monkeypatch, name, number):
    named(monkeypatch, name)
    assert _choose_device.worker_index() == number


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("MainProcess", 0),
        ("LokyProcess-1", 0),
        ("LokyProcess-3", 2),
        ("LokyProcess-5", 1),
    ],
)
def test_workers_take_the_gpus_in_turn(monkeypatch, name, device):
    named(monkeypatch, name)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    result = resolve_device("cuda:auto", caller="DynamicMetaClassifier")
    assert result == torch.device("cuda", device)


def test_without_a_gpu_none_is_spread():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(ValueError, match="device='cuda:auto' was requested, but torch"):
        launched.model(device="cuda:auto").fit(*launched.data())


def test_a_process_leaves_the_group_before_it_ends(tmp_path, monkeypatch):
    pytest.importorskip("accelerate")
    left = []
    monkeypatch.setattr("atexit.register", left.append)
    two = SimpleNamespace(
        process_index=0,
        num_processes=2,
        device=torch.device("cpu"),
        mixed_precision="no",
        distributed_type=SimpleNamespace(name="MULTI_CPU"),
    )
    monkeypatch.setattr("accelerate.Accelerator", lambda: two)
    _distributed._leave_at_exit.cache_clear()
    for _ in range(2):
        _distributed.processes_of("accelerate", caller="Net")
    assert len(left) == 1
    _distributed._leave_at_exit.cache_clear()
    if not torch.distributed.is_gloo_available():
        pytest.skip("torch is built without gloo")
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1
    )
    left[0]()
    assert not torch.distributed.is_initialized()
    left[0]()  # nothing where the script has done it itself
