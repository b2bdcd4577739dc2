"""Tensors and recurrent layers on a GPU.

This module imports torch, so only modules that need torch may import it.
"""

import numpy as np
import torch

# Devices on which autocast computes recurrent layers in float16 even if bfloat16 is
# requested (cuDNN's layers in torch). Gradients would underflow without loss scaling.
_HALF_UNDER_AUTOCAST = {"cuda"}


def send(array, device):
    """Return an array as a tensor on a device.

    Arrays for a GPU are copied from pinned memory, which is asynchronous: a copy from
    other memory would wait for the GPU.
    """
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def run_recurrent(layer, x):
    """Return the states of all steps of a torch RNN, in float32 instead of float16.

    Under autocast on a GPU, torch would compute these layers in float16. They may still
    use TensorFloat-32, which torch allows for them by default.
    """
    kind = x.device.type
    if kind not in _HALF_UNDER_AUTOCAST or not torch.is_autocast_enabled(kind):
        return layer(x)[0]
    with torch.autocast(kind, enabled=False):
        return layer(x.float())[0]


def fits(array, device):
    """Return whether an array needs at most half of the free memory of a GPU.

    The other half is for later arrays, the network, its gradients and batches. True for
    other devices.
    """
    if device.type != "cuda":
        return True
    free, _ = torch.cuda.mem_get_info(device)
    # Memory that torch has reserved but not allocated is available too.
    free += torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return array.nbytes <= free // 2
