"""Files of torch are read as tensors and plain values, without running code."""

import os
import pickle

import pytest
import torch

from sk_metaembed import ElmoLanguageModel, TransformerEmbedding

from .. import tiny_bert
from ..test_estimators import LANGUAGE_MODEL


class Gadget:
    """Creates a folder when it is unpickled."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def by_torch(content, file):
    torch.save(content, file)


def by_pickle(content, file):
    file.write_bytes(pickle.dumps(content, protocol=2))


@pytest.mark.parametrize("write", [by_torch, by_pickle])
def test_a_checkpoint_runs_nothing(write, tmp_path):
    canary, file = tmp_path / "canary", tmp_path / "checkpoint.pt"
    write({"identity": {}, "gadget": Gadget(canary)}, file)
    with pytest.raises(ValueError, match="is not a checkpoint, or it is corrupt"):
        ElmoLanguageModel(**LANGUAGE_MODEL, checkpoint=file).fit(["a cup", "of tea"])
    assert not canary.exists()


def test_weights_that_are_pickles_are_not_opened_unless_trusted(tmp_path):
    canary, folder = tmp_path / "canary", tiny_bert.save(tmp_path / "bert")
    (folder / "model.safetensors").unlink()
    by_torch({"w": Gadget(canary)}, folder / "pytorch_model.bin")
    with pytest.raises(FileNotFoundError, match="can run any code .* trusted=True"):
        TransformerEmbedding(folder).fit([["good", "film"]])
    assert not canary.exists()
