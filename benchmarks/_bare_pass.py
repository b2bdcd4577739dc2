"""Lower bound for the time from strings to mean vectors: a minimal compiled program.

It handles only ASCII words, without types, containers or checks. gcc compiles it.
With ``ahead``, it first finds the rows of all words, then requests each row of the
matrix before it is needed.
"""

import ctypes
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

C_SOURCE = r"""
#include <stdint.h>
#include <stdlib.h>
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

void mean_vectors_ahead(const uint8_t *text, const int64_t *text_ends,
                        int64_t first, int64_t last,
                        const uint8_t *words, const int64_t *ends,
                        const int32_t *slots, uint64_t mask,
                        const float *matrix, int64_t dim, float *out) {
    enum { LONGEST = 256, AHEAD = 8 };
    uint8_t word[LONGEST];
    int64_t i = first ? text_ends[first - 1] : 0, n = 0;
    int32_t *rows = malloc(sizeof(int32_t) * (text_ends[last - 1] - i + 1));
    int64_t *stops = malloc(sizeof(int64_t) * (last - first));
    for (int64_t d = first; d < last; d++) {
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
            int32_t row = find(word, length, h, words, ends, slots, mask);
            if (row >= 0) rows[n++] = row;
        }
        i = text_ends[d];
        stops[d - first] = n;
    }
    int64_t k = 0;
    for (int64_t d = first; d < last; d++) {
        float *sum = out + d * dim;
        int64_t begin = k;
        memset(sum, 0, dim * sizeof(float));
        for (; k < stops[d - first]; k++) {
            const float *later = matrix + rows[k + AHEAD < n ? k + AHEAD : k] * dim;
            for (int64_t j = 0; j < dim; j += 16) __builtin_prefetch(later + j);
            const float *vector = matrix + rows[k] * dim;
            for (int64_t j = 0; j < dim; j++) sum[j] += vector[j];
        }
        for (int64_t j = 0; k > begin && j < dim; j++) sum[j] /= k - begin;
    }
    free(rows);
    free(stops);
}
"""


def _packed(texts):
    encoded = [text.encode() for text in texts]
    ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, count=len(encoded)))
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), ends


def _c_functions(folder):
    source, library = Path(folder, "bare.c"), Path(folder, "bare.so")
    source.write_text(C_SOURCE, encoding="utf-8")
    flags = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-o", library, source], check=True)
    loaded = ctypes.CDLL(str(library))
    names = "fill", "mean_vectors", "mean_vectors_ahead"
    return [_pointed(getattr(loaded, name)) for name in names]


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


class BarePass:
    """Convert texts to mean vectors in `n_threads` threads."""

    def __init__(self, words, matrix, folder):
        fill, self._run, self._run_ahead = _c_functions(folder)
        self._words, self._ends = _packed(words)
        self._matrix = np.ascontiguousarray(matrix)
        capacity = 1 << (4 * len(words) - 1).bit_length()
        self._slots = np.full(capacity, -1, dtype=np.int32)
        self._mask = capacity - 1
        fill(self._words, self._ends, len(words), self._slots, self._mask)

    def __call__(self, texts, n_threads, *, ahead=False):
        """Return the mean vector of each text."""
        run = self._run_ahead if ahead else self._run
        text, text_ends = _packed(texts)
        out = np.empty((len(texts), self._matrix.shape[1]), dtype=np.float32)
        bounds = np.linspace(0, len(texts), n_threads + 1).astype(int).tolist()

        def part(first, last):
            run(
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

        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(part, bounds[:-1], bounds[1:]))
        return out
