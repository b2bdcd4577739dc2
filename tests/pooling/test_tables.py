"""Pooling reads memory-mapped tables without copying them."""

import numpy as np
import pytest

from sk_metaembed import (
    Block,
    Pooling,
    PretrainedEmbedding,
    WordVectors,
)

from .oracles import LABELS

ROWS = [["b", "zzz", "a", "b"], [], ["zzz"], ["d", "a"], ["c"]]


@pytest.fixture
def embedded(tmp_path):
    matrix = np.random.default_rng(0).standard_normal((5, 4), dtype=np.float32)
    store = WordVectors.from_arrays(list("abcde"), matrix, path=tmp_path / "store")
    return PretrainedEmbedding(store).fit_transform(ROWS)


def gathered(embedded):
    """Return a copy with values in memory."""
    block = embedded.blocks[0]
    values = np.array(block.take(np.arange(block.n_rows)).values)
    return embedded.with_blocks([Block(block.name, values, "type", block.known)])


@pytest.mark.parametrize("weights", [None, "idf", "sif", "usif"])
def test_a_table_and_a_copy_of_its_rows_pool_alike(embedded, weights):
    pooling = Pooling(list(LABELS), weights=weights)
    from_table = pooling.fit_transform(embedded)
    assert embedded.blocks[0].indexed()[1] is not None  # nothing was gathered
    np.testing.assert_array_equal(from_table, pooling.transform(gathered(embedded)))
