"""Files of torch are read as tensors and plain values, without running code."""

import os

import pytest
import torch

from sk_metaembed import TransformerEmbedding

from .. import tiny_bert


class Gadget:
    """Creates a folder when it is unpickled."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_weights_that_are_pickles_are_not_opened_unless_trusted(tmp_path):
    canary, folder = tmp_path / "canary", tiny_bert.save(tmp_path / "bert")
    (folder / "model.safetensors").unlink()
    torch.save({"w": Gadget(canary)}, folder / "pytorch_model.bin")
    with pytest.raises(FileNotFoundError, match="can run any code .* trusted=True"):
        TransformerEmbedding(folder).fit([["good", "film"]])
    assert not canary.exists()
