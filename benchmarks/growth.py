"""Measure how time and memory grow with documents, words, sources and workers.

Each point is a process of its own, which first runs the operation on the smallest size,
so that imports and compilation are not counted. Time is CPU time, the least of a few
repetitions; memory is what the operation adds at its peak, by the kernel. Workers are
processes of joblib that have loaded a pipeline on a mapped store of 153 MiB: their
memory is the proportional set size of all, their time is the wall time per empty task.

The slope is that of a line through the logarithms, over the last two decades of sizes,
with an interval of 95 % (no interval for two points); the last slope is that between
the two largest sizes. 1 is linear.

Points are appended to a file of JSON lines, and a second call skips those in it.

    python benchmarks/growth.py                        # 10 minutes
    python benchmarks/growth.py --large                # also the long end
    python benchmarks/growth.py --only GCCA SVD        # operations by name
    python benchmarks/growth.py --limit 0 --plot docs/images/growth.png   # draw only
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from _growth_cases import CASES
from _memory import peak_of
from scipy import stats

AXES = ("documents", "words", "sources", "workers")
ENDS = {"documents": 10**7, "words": 3 * 10**6, "sources": 8, "workers": 16}
REPEAT_BELOW = 0.5  # seconds
SMALL_MIB = 8  # peaks below are no more than what allocators keep


def measure(name, size):
    """Return the figures of one point, in this process."""
    case = CASES[name]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        if case.axis == "workers":
            return case.make(size, folder)()
        import numba  # noqa: F401 -- the package loads it for large work only

        (folder / "warm").mkdir()
        case.make(min(*case.sizes, size), folder / "warm")()
        run = case.make(size, folder)
        cpu, wall = time.process_time(), time.perf_counter()
        with peak_of() as peak:
            run()
        times = [(time.process_time() - cpu, time.perf_counter() - wall)]
        while times[0][1] < REPEAT_BELOW and len(times) < 5:
            cpu, wall = time.process_time(), time.perf_counter()
            run()
            times.append((time.process_time() - cpu, time.perf_counter() - wall))
        cpu, wall = map(min, zip(*times, strict=True))
    return {"cpu": cpu, "wall": wall, "mib": peak.mebibytes}


def collect(options):
    """Measure the missing points and append them to the file of results."""
    points = read(options.results)
    known = {(point["name"], point["size"]) for point in points}
    for name, case in CASES.items():
        if options.only and not any(part in name for part in options.only):
            continue
        for size in (*case.sizes, *(case.large if options.large else ())):
            if (name, size) in known:
                continue
            point = {"name": name, "size": size, **one(name, size, options.limit)}
            print(point, file=sys.stderr, flush=True)
            with options.results.open("a") as file:
                file.write(json.dumps(point) + "\n")
            if "failed" in point:
                break  # larger sizes would fail as well


def one(name, size, limit):
    """Return the figures of a point, measured in a new process."""
    command = [sys.executable, "-W", "ignore", __file__, "--point", name, str(size)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {limit} s"}
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1:]}
    return json.loads(done.stdout.splitlines()[-1])


def read(path):
    """Return the measured points."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def slope(sizes, values):
    """Return the slope on logarithms and the half width of its interval."""
    last = sizes >= sizes[-1] / 100
    x, y = np.log(sizes[last]), np.log(values[last])
    if len(x) < 2:
        return np.nan, np.nan
    fit = stats.linregress(x, y)
    if len(x) == 2:
        return fit.slope, np.nan
    return fit.slope, fit.stderr * stats.t.ppf(0.975, len(x) - 2)


def series(points):
    """Return {name: (sizes, seconds, MiB)} of the operations measured."""
    out = {}
    for name in CASES:
        rows = [p for p in points if p["name"] == name and "failed" not in p]
        rows.sort(key=lambda point: point["size"])
        if len(rows) > 1:
            seconds = [p["cpu"] if "cpu" in p else p["ms per task"] / 1e3 for p in rows]
            columns = [p["size"] for p in rows], seconds, [p["mib"] for p in rows]
            out[name] = tuple(np.array(column, float) for column in columns)
    return out


def number(value, width=np.nan):
    """Return a slope as text, with the half width of its interval."""
    if np.isnan(value):
        return ""
    return f"{value:.2f}" + ("" if np.isnan(width) else f" ± {width:.2f}")


def table(points):
    """Print the slopes."""
    print(
        "| operation | by | from | to | s at the end | slope | last slope "
        "| MiB at the end | slope |\n|---|---|---|---|---|---|---|---|---|"
    )
    for name, (sizes, seconds, mib) in series(points).items():
        last, memory = slope(sizes[-2:], seconds[-2:])[0], ""
        if mib[-1] > SMALL_MIB:
            kept = mib > SMALL_MIB
            memory = number(*slope(sizes[kept], mib[kept]))
        print(
            f"| {name} | {CASES[name].axis} | {sizes[0]:,.0f} | {sizes[-1]:,.0f} | "
            f"{seconds[-1]:.3g} | {number(*slope(sizes, seconds))} | {number(last)} | "
            f"{max(mib[-1], 0):,.0f} | {memory} |"
        )
    for point in points:
        if "failed" in point:
            print(f"\n{point['name']}, {point['size']:,}: {point['failed']}.")


def spread(heights, gap):
    """Return positions of labels at least a gap apart, near the given heights."""
    order, places = np.argsort(heights), np.array(heights, float)
    for _ in range(200):
        for below, above in zip(order, order[1:], strict=False):
            overlap = gap - (places[above] - places[below])
            if overlap > 0:
                places[below] -= overlap / 2
                places[above] += overlap / 2
    return places


def draw_panel(ax, lines, end, ylabel):
    """Draw lines with their slopes; beyond the last point they are extrapolated."""
    colors = [f"C{i}" for i in range(10)] + ["black", "gold"]
    ends, labels = [], []
    first = min(sizes[0] for _, sizes, _ in lines)
    for color, (name, sizes, values) in zip(colors, lines, strict=False):
        ax.plot(sizes, values, "o-", markersize=3, linewidth=1.2, color=color)
        angle = slope(sizes, values)[0]
        last = values[-1] * (end / sizes[-1]) ** angle
        ax.plot([sizes[-1], end], [values[-1], last], ":", linewidth=1, color=color)
        ends.append(np.log10(last))
        labels.append(f"{name}  {angle:.2f}")
    ax.set(xscale="log", yscale="log", ylabel=ylabel)
    low, high = np.log10(ax.get_ylim())
    places = spread(ends, (high - low) / 17)
    for color, label, at, height in zip(colors, labels, places, ends, strict=False):
        far = {"arrowstyle": "-", "linewidth": 0.4, "color": color}
        ax.annotate(
            label,
            xy=(end, 10**height),
            xytext=(end * (end / first) ** 0.05, 10**at),
            va="center",
            fontsize=7.5,
            color=color,
            arrowprops=far,
            annotation_clip=False,
        )
    if end < 100:
        ticks = [2**i for i in range(int(np.log2(end)) + 1)]
        ax.set_xticks(ticks, map(str, ticks))
        ax.set_xticks([], minor=True)
    ax.grid(alpha=0.3)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def plot(points, path):
    """Draw time and memory against each size."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from PIL import Image

    measured = series(points)
    figure, axes = plt.subplots(4, 2, figsize=(13, 17), layout="constrained")
    for row, axis in zip(axes, AXES, strict=True):
        names = [name for name in measured if CASES[name].axis == axis]
        of_axis = [(name, *measured[name]) for name in names]
        short = [(n.split(" by ")[0], s, t, m) for n, s, t, m in of_axis]
        times = [(name, sizes, seconds) for name, sizes, seconds, _ in short]
        memory = [
            (name, sizes[mib > SMALL_MIB], mib[mib > SMALL_MIB])
            for name, sizes, _, mib in short
            if mib[-1] > SMALL_MIB and (mib > SMALL_MIB).sum() > 1
        ]
        what = "s per task, wall" if axis == "workers" else "CPU s"
        for ax, lines, label in zip(row, (times, memory), (what, "MiB"), strict=True):
            if lines:
                draw_panel(ax, lines, ENDS[axis], label)
            ax.set_xlabel(axis)
    axes[0, 0].set_title("time, and the slope of each line")
    axes[0, 1].set_title("peak memory added, and the slope of each line")
    figure.savefig(path, dpi=75)
    Image.open(path).convert("RGB").quantize(64).save(path, optimize=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=Path("growth.jsonl"))
    parser.add_argument("--plot", type=Path, help="draw the picture to this file")
    parser.add_argument("--only", nargs="+", help="operations with one of these names")
    parser.add_argument("--large", action="store_true", help="also the long end")
    parser.add_argument("--limit", type=float, default=60, help="seconds; 0 only reads")
    parser.add_argument("--point", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point:
        print(json.dumps(measure(options.point[0], int(options.point[1]))))
        return
    if options.limit:
        collect(options)
    points = read(options.results)
    table(points)
    if options.plot:
        plot(points, options.plot)


if __name__ == "__main__":
    main()
