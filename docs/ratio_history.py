"""The table and the picture of the page "History of the ratios", from the records."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = 5


def records_and_workloads():
    """Return the records by commit, the noise, and the workloads by name."""
    folder = ROOT / "benchmarks"
    sys.path.insert(0, str(folder))
    try:
        from _quick_compare import read_noise, read_records
        from _quick_workloads import WORKLOADS
    finally:
        sys.path.remove(str(folder))
    records = read_records(folder / "quick_history.jsonl")
    return records, read_noise(folder / "quick_noise.json"), WORKLOADS


def table(head, rows):
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def figure(value):
    """Return a ratio in three digits."""
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def ratio_table(records, noise, workloads):
    """Return the newest and the oldest ratio of each workload, in Markdown."""
    rows = []
    for name, has in workloads.items():
        known = [r["ratios"][name] for r in records if name in r["ratios"]]
        if not known:
            continue
        ratio, low, high = known[-1]
        row = [f"`{name}`", f"{has.ours}, relative to {has.reference}"]
        row += [figure(known[0][0]), figure(ratio)]
        row += [f"{figure(low)} to {figure(high)}"]
        rows.append([*row, f"{100 * noise[name]:.0f} %" if name in noise else ""])
    head = ["workload", "what is compared", "first", "newest", "interval", "noise"]
    return table(head, rows)


def record_table(records):
    """Return when, where and with which libraries each record was taken."""
    rows = []
    for r in reversed(records):
        row = [f"`{r['commit']}`", r["committed"][:10], r["date"][:10], r["processor"]]
        row += [r["python"], r["torch"], str(len(r["ratios"]))]
        rows.append([*row, ", ".join(f"`{name}`" for name in r["missing"])])
    head = ["commit", "committed", "measured", "processor", "Python", "torch"]
    return table([*head, "ratios", "cannot run"], rows)


def draw(records, noise, workloads, path):
    """Draw the ratio of each workload over the recorded commits."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = [n for n in workloads if any(n in r["ratios"] for r in records)]
    n_rows = -(-len(names) // COLUMNS)
    processors = sorted({r["processor"] for r in records})
    with rc_context({"font.size": 7, "axes.titlesize": 8, "svg.hashsalt": "ratios"}):
        whole = Figure(figsize=(10, 1.5 * n_rows + 0.5), layout="constrained")
        FigureCanvasAgg(whole)
        axes = whole.subplots(n_rows, COLUMNS, sharex=True, squeeze=False).ravel()
        for ax, name in zip(axes, names, strict=False):
            panel(ax, name, records, noise, processors)
        for ax in axes[len(names) :]:
            ax.set_axis_off()
        for ax in axes[max(0, len(names) - COLUMNS) : len(names)]:
            ax.tick_params(labelbottom=True)
            commits = [r["commit"] for r in records]
            ax.set_xticks(range(len(records)), commits, rotation=90)
        if len(processors) > 1:
            whole.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left")
        whole.savefig(path, metadata={"Date": None})


def panel(ax, name, records, noise, processors):
    """Draw one workload: a line per processor, and a band of noise at its end."""
    for color, processor in enumerate(processors):
        points = [
            (x, *r["ratios"][name])
            for x, r in enumerate(records)
            if r["processor"] == processor and name in r["ratios"]
        ]
        if not points:
            continue
        x, ratio, low, high = zip(*points, strict=True)
        below = [a - b for a, b in zip(ratio, low, strict=True)]
        above = [b - a for a, b in zip(ratio, high, strict=True)]
        style = {"marker": "o", "markersize": 3, "linewidth": 1, "capsize": 2}
        ax.errorbar(
            x, ratio, [below, above], color=f"C{color}", label=processor, **style
        )
        share = noise.get(name, 0)
        band = ratio[-1] * (1 - share), ratio[-1] * (1 + share)
        ax.axhspan(*band, color=f"C{color}", alpha=0.15, linewidth=0)
    ax.set_title(name)
    bottom, top = ax.get_ylim()
    ax.set_ylim(min(0, bottom), top * 1.05)
    ax.set_xlim(-0.5, len(records) - 0.5)
    ax.tick_params(length=2)
    ax.spines[["top", "right"]].set_visible(False)


def write(app, config=None):
    """Write what the page includes."""
    folder = Path(app.srcdir, "_generated")
    folder.mkdir(exist_ok=True)
    records, noise, workloads = records_and_workloads()
    text = ratio_table(records, noise, workloads)
    (folder / "ratios.md").write_text(text, "utf-8")
    (folder / "records.md").write_text(record_table(records), "utf-8")
    draw(records, noise, workloads, folder / "ratios.svg")
