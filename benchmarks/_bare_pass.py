"""Lower bound for the time from strings to mean vectors: a minimal compiled program.

It handles only ASCII words, without types, containers or checks. The C and numba
versions are equivalent; the C version is used if gcc is available.
"""

import ctypes
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

C_SOURCE = r"""
#include <stdint.h>
#include <string.h>

static inline int letter(uint8_t c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

void fill(const uint8_t *words, const int64_t *ends, int64_t n,
          int32_t *slots, uint64_t mask) {
    for (int64_t row = 0; row < n; row++) {
        uint64_t h = 1469598103934665603ULL;
        for (int64_t j = row ? ends[row - 1] : 0; j < ends[row]; j++)
            h = (h ^ words[j]) * 1099511628211ULL;
        uint64_t at = (h ^ h >> 32) & mask;
        while (slots[at] >= 0) at = (at + 1) & mask;
        slots[at] = row;
    }
}

static int32_t find(const uint8_t *word, int64_t length, uint64_t h,
                    const uint8_t *words, const int64_t *ends,
                    const int32_t *slots, uint64_t mask) {
    for (uint64_t at = (h ^ h >> 32) & mask; slots[at] >= 0; at = (at + 1) & mask) {
        int32_t row = slots[at];
        int64_t begin = row ? ends[row - 1] : 0;
        if (ends[row] - begin == length && !memcmp(words + begin, word, length))
            return row;
    }
    return -1;
}

void mean_vectors(const uint8_t *text, const int64_t *text_ends,
                  int64_t first, int64_t last,
                  const uint8_t *words, const int64_t *ends,
                  const int32_t *slots, uint64_t mask,
                  const float *matrix, int64_t dim, float *out) {
    static const int64_t LONGEST = 256;
    uint8_t word[256];
    for (int64_t d = first; d < last; d++) {
        float *sum = out + d * dim;
        int64_t i = d ? text_ends[d - 1] : 0, n_tokens = 0;
        memset(sum, 0, dim * sizeof(float));
        while (i < text_ends[d]) {
            uint64_t h = 1469598103934665603ULL;
            int64_t length = 0;
            for (; i < text_ends[d]; i++) {
                uint8_t c = text[i];
                if (c >= 'A' && c <= 'Z') c |= 32;
                if (!letter(c)) break;
                h = (h ^ c) * 1099511628211ULL;
                if (length < LONGEST) word[length++] = c;
            }
            i++;
            if (!length) continue;
            n_tokens++;
            int32_t row = find(word, length, h, words, ends, slots, mask);
            if (row < 0) continue;
            const float *vector = matrix + row * dim;
            for (int64_t j = 0; j < dim; j++) sum[j] += vector[j];
        }
        for (int64_t j = 0; n_tokens && j < dim; j++) sum[j] /= n_tokens;
    }
}
"""


def _packed(texts):
    encoded = [text.encode() for text in texts]
    ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, count=len(encoded)))
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), ends


def _c_functions(folder):
    source, library = Path(folder, "bare.c"), Path(folder, "bare.so")
    source.write_text(C_SOURCE)
    flags = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-o", library, source], check=True)
    loaded = ctypes.CDLL(str(library))
    return _pointed(loaded.fill), _pointed(loaded.mean_vectors)


def _pointed(function):
    function.restype = None

    def call(*arguments):
        function(
            *(
                ctypes.c_void_p(a.ctypes.data)
                if isinstance(a, np.ndarray)
                else ctypes.c_int64(a)
                for a in arguments
            )
        )

    return call


def _numba_functions():
    from _bare_numba import fill, mean_vectors

    return fill, mean_vectors


class BarePass:
    """Convert texts to mean vectors with one thread per core."""

    def __init__(self, words, matrix, folder):
        self.language = "C" if shutil.which("gcc") else "numba"
        functions = _c_functions(folder) if shutil.which("gcc") else _numba_functions()
        fill, self._run = functions
        self._words, self._ends = _packed(words)
        self._matrix = np.ascontiguousarray(matrix)
        capacity = 1 << (4 * len(words) - 1).bit_length()
        self._slots = np.full(capacity, -1, dtype=np.int32)
        self._mask = capacity - 1
        fill(self._words, self._ends, len(words), self._slots, self._mask)
        self.n_threads = min(os.cpu_count(), 2)

    def __call__(self, texts):
        """Return the mean vector of each text."""
        text, text_ends = _packed(texts)
        out = np.empty((len(texts), self._matrix.shape[1]), dtype=np.float32)
        bounds = np.linspace(0, len(texts), self.n_threads + 1).astype(int).tolist()

        def part(first, last):
            self._run(
                text,
                text_ends,
                first,
                last,
                self._words,
                self._ends,
                self._slots,
                self._mask,
                self._matrix,
                self._matrix.shape[1],
                out,
            )

        with ThreadPoolExecutor(self.n_threads) as pool:
            list(pool.map(part, bounds[:-1], bounds[1:]))
        return out
