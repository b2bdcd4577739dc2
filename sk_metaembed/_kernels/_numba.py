"""Compile loops with numba; bytes in them: unaligned reads, prefetching, hash, UTF-8.

Imported inside functions only, because numba is slow to load.
"""

import sys

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.extending import intrinsic

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_WHOLE = np.uint64(0xFFFFFFFFFFFFFFFF)


def cached_njit(function, **options):
    """Compile without the GIL; cache the machine code where a directory is writable."""
    try:
        return njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # no writable directory: compiled again in each process
        return njit(nogil=True, **options)(function)


def inlined_njit(function):
    """Compile a function into its callers; LLVM would not inline one of this size.

    Without the call, looking up a word takes a quarter of the time, and reading a
    number less than half.
    """
    return cached_njit(function, inline="always")


def _little_endian(builder, word):
    return builder.bswap(word) if sys.byteorder == "big" else word


def _data(context, builder, array_type, array):
    """Return the address of an array's first element as a pointer to bytes."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(data, _BYTE.as_pointer())


def _read_word(builder, pointer):
    word = builder.load(builder.bitcast(pointer, _WORD.as_pointer()), align=1)
    return _little_endian(builder, word)


@intrinsic
def word_at(typing_context, buffer, i):
    """Return bytes i to i + 7 of a contiguous uint8 array as a little-endian uint64."""

    def generate(context, builder, signature, arguments):
        data = _data(context, builder, signature.args[0], arguments[0])
        return _read_word(builder, builder.gep(data, [arguments[1]]))

    return types.uint64(buffer, types.int64), generate


@intrinsic
def prefetch(typing_context, array, offset):
    """Begin to load the cache line at an offset in bytes from the start of an array.

    A hint, which never fails; processors without such an instruction ignore it.
    """

    def generate(context, builder, signature, arguments):
        data = _data(context, builder, signature.args[0], arguments[0])
        integer = ir.IntType(32)
        kinds = [data.type, integer, integer, integer]
        call = builder.module.declare_intrinsic(
            "llvm.prefetch", [data.type], ir.FunctionType(ir.VoidType(), kinds)
        )
        # Arguments of llvm.prefetch: 0 = read, 3 = all cache levels, 1 = data.
        hints = [ir.Constant(integer, value) for value in (0, 3, 1)]
        builder.call(call, [builder.gep(data, [arguments[1]]), *hints])
        return context.get_dummy_value()

    return types.none(array, types.int64), generate


if config.DISABLE_JIT:  # loops over a store run in Python, as in fuzzing

    def word_at(buffer, i):  # noqa: F811
        return np.uint64(int.from_bytes(bytes(buffer[i : i + 8]), "little"))

    def prefetch(array, offset):  # noqa: F811
        pass


@inlined_njit
def low_bytes(buffer, i, n):
    """Return up to 8 bytes of a buffer as a little-endian uint64, zeros above."""
    if n >= 8:
        return word_at(buffer, i)
    if i + 8 <= len(buffer):
        if n == 0:
            return np.uint64(0)
        return word_at(buffer, i) & (_WHOLE >> np.uint64(64 - 8 * n))
    word = np.uint64(0)
    for j in range(n):
        word |= np.uint64(buffer[i + j]) << np.uint64(8 * j)
    return word


@inlined_njit
def hash_bytes(buffer, start, end):
    """Return a hash of ``buffer[start:end]``, uint64.

    A round is a bijection of 64 bits, so spans of one length up to 8 bytes, which take
    a single round, never collide.
    """
    left = end - start
    hashed = np.uint64(left) * np.uint64(0x9E3779B97F4A7C15)
    while left > 0:
        word = low_bytes(buffer, start, left)
        hashed = (hashed ^ word) * np.uint64(0xFF51AFD7ED558CCD)
        hashed ^= hashed >> np.uint64(32)
        start += 8
        left -= 8
    return hashed


@inlined_njit
def same_bytes(a, a_start, b, b_start, size):
    """Return whether two spans of equal size hold the same bytes."""
    for i in range(size):  # noqa: SIM110 (numba has no generators)
        if a[a_start + i] != b[b_start + i]:
            return False
    return True


@inlined_njit
def code_point(buffer, i):
    """Return the code point at a byte of UTF-8, and its length in bytes."""
    lead = np.int64(buffer[i])
    if lead < 0x80:
        return lead, 1
    if lead < 0xE0:
        return (lead & 0x1F) << 6 | (buffer[i + 1] & 0x3F), 2
    middle = np.int64(buffer[i + 1] & 0x3F) << 6 | (buffer[i + 2] & 0x3F)
    if lead < 0xF0:
        return (lead & 0x0F) << 12 | middle, 3
    return (lead & 0x07) << 18 | middle << 6 | (buffer[i + 3] & 0x3F), 4
