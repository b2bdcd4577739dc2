"""Memory that is used again."""

import torch

from sk_metaembed._training._memory import Arena, reused_memory


def test_memory_that_is_given_back_is_used_again():
    with reused_memory():
        first = Arena(100)
        pointer = first.take(4, 5).data_ptr()
        first.give_back()
        assert Arena(50).take(3).data_ptr() == pointer


def test_tensors_of_an_arena_do_not_overlap():
    arena = Arena(60)
    parts = [arena.take(4, 5), arena.take(20, dtype=torch.bfloat16), arena.take(20)]
    for i, part in enumerate(parts):
        part.fill_(i)
    assert [part.dtype for part in parts] == [
        torch.float32,
        torch.bfloat16,
        torch.float32,
    ]
    assert all(bool((part == i).all()) for i, part in enumerate(parts))
    arena.give_back()


def test_outside_the_context_memory_is_not_kept():
    arena = Arena(10)
    arena.give_back()
    with reused_memory():
        assert Arena(10).take(2, 5).shape == (2, 5)
