"""The device that the tests of this folder run on."""

import pytest
import torch


@pytest.fixture(scope="session")
def device(request):
    """Return the name of the device, from ``--gpu-device``; skip if there is none."""
    name = request.config.getoption("--gpu-device")
    if name.startswith("cuda") and not torch.cuda.is_available():
        pytest.skip(f"torch {torch.__version__} finds no GPU")
    return name


@pytest.fixture
def gpu(device):
    """Return the device if it is a GPU."""
    if not device.startswith("cuda"):
        pytest.skip("only a GPU has this")
    return device
