"""Products with weights in oneDNN's layout against torch's own, by shape and dtype.

    OMP_NUM_THREADS=1 python benchmarks/packed_layers.py

The figures decide the rule in `sk_metaembed/_training/_onednn.py`, so that no process
measures at run time: two processes of one machine choose alike, whatever its load. Run
it on an idle machine, with one thread and with all, and add what it prints to the table
in that file. A ratio above 1 means that the packed weight is faster; "equal" whether
both give the same bits.
"""

import argparse
import time

import torch

from sk_metaembed._training._onednn import (
    _PACKED_ROWS,
    _REORDER,
    has_onednn,
    packed_product,
    vendor,
)

SHAPES = [  # (n_out, n_in): gates of ELMo, and layers of small and base transformers
    (64, 32),
    (128, 128),
    (384, 384),
    (1536, 384),
    (384, 1536),
    (768, 768),
    (3072, 768),
    (768, 3072),
    (1024, 1024),
    (4096, 1024),
    (16384, 512),
]
ROWS = 16, 128, 1024


def ratio(shape, dtype, n_rows, seconds):
    """Return the time of torch's product over that of the packed one, and if equal."""
    weight, x = torch.randn(shape, dtype=dtype), torch.randn(n_rows, shape[1]).to(dtype)
    packed = _REORDER(weight, _PACKED_ROWS)
    products = [
        lambda: torch.nn.functional.linear(x, weight),
        lambda: packed_product(x, packed),
    ]
    results, times = [], ([], [])
    with torch.inference_mode():
        results = [product() for product in products]
        stop = time.perf_counter() + seconds
        while time.perf_counter() < stop or len(times[0]) < 5:
            for product, taken in zip(products, times, strict=True):
                begin = time.perf_counter()
                product()
                taken.append(time.perf_counter() - begin)
    return min(times[0]) / min(times[1]), torch.equal(*results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=0.3, help="per figure")
    seconds = parser.parse_args().seconds
    print(vendor(), torch.backends.cpu.get_cpu_capability(), end=", ")
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    for dtype in (torch.float32, torch.bfloat16):
        if not has_onednn("cpu", dtype):
            print(f"{dtype}: the operators do not work here")
            continue
        print(f"{dtype}: ratio for {', '.join(map(str, ROWS))} rows")
        for shape in SHAPES:
            found = [ratio(shape, dtype, n_rows, seconds) for n_rows in ROWS]
            figures = "  ".join(f"{each:5.2f}" for each, _ in found)
            equal = "  equal" if all(equal for _, equal in found) else ""
            print(f"{shape[0]:7} {shape[1]:6}  {figures}{equal}")


if __name__ == "__main__":
    main()
