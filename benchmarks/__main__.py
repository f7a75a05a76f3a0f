"""Run all (or the named) benchmarks, print each number beside its peer, and store them in bench-out/."""

import json
import platform
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from rich.console import Console
from rich.table import Table

ALL = (
    "bench_training",
    "bench_context",
    "bench_choice",
    "bench_continue",
    "bench_inside",
    "bench_captions",
    "bench_words",
    "bench_map",
    "bench_margin",
    "bench_scaling",
    "bench_pictures",
    "bench_segment",
    "bench_network",
    "bench_catalogue",
    "bench_tagging",
)
OUT = Path("bench-out")
COLUMNS = ("what", "ours", "ncuts", "graph", "grid", "scikit-image", "peer")


def show(name: str, rows: list[dict[str, Any]], console: Console) -> list[str]:
    """Print a table of the rows and return the broken promises.

    A row's ``ratio`` must be at least its ``promise`` and at most its ``limit``, if it has them; its
    ``unit`` is × by default.
    """
    keys = [k for k in COLUMNS if any(k in row for row in rows)] or list(rows[0])
    table = Table(*keys, "ratio", "promised", title=name)
    broken = []
    for row in rows:
        ratio, (promised, kept) = row.get("ratio"), checked(row)
        shown = "" if ratio is None else f"{ratio:.3g} {row.get('unit', '×')}".strip()
        table.add_row(*(str(row.get(k, "")) for k in keys), shown, promised)
        if not kept:
            broken.append(f"{name}: {row['what']}: {shown} where {promised} is promised")
    console.print(table)
    return broken


def checked(row: dict[str, Any]) -> tuple[str, bool]:
    """Return the promise of a row as text, and whether it is kept."""
    unit = row.get("unit", "×")
    if "limit" in row:
        return f"<= {row['limit']:g} {unit}".strip(), row["ratio"] <= row["limit"]
    if row.get("promise") is None:
        return "", True
    return f">= {row['promise']:g} {unit}".strip(), row["ratio"] >= row["promise"]


def draw_curves(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw cost against tags and against pictures."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    for axis, curve in zip(axes, ("tags", "images"), strict=True):
        part = [row for row in rows if row.get("curve") == curve]
        x = [row[curve] for row in part]
        axis.loglog(x, [row["iteration"] for row in part], "o-", label="training, s an iteration")
        axis.loglog(
            x, [row["variational"] for row in part], "s-", label="annotation, variational, s an image"
        )
        axis.loglog(x, [row["map"] for row in part], "^-", label="annotation, MAP, s an image")
        axis.set_xlabel(f"number of {curve}")
        axis.set_ylabel("CPU seconds, one core")
        axis.grid(alpha=0.3)
    axes[0].legend()
    figure.tight_layout()
    figure.savefig(path)


def main() -> int:
    """Run, print and store; the exit code is 0 if every promise is kept."""
    console = Console(width=150)
    OUT.mkdir(exist_ok=True)
    results: dict[str, Any] = {
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
    }
    broken = []
    for name in sys.argv[1:] or ALL:
        module = import_module(f"benchmarks.{name}")
        missing = module.missing() if hasattr(module, "missing") else ""
        if missing and sys.argv[1:]:
            console.print(f"[red]{name} cannot run[/red]: {missing}")
            return 2
        if missing:
            console.print(f"{name} skipped: {missing}")
            continue
        console.print(f"running {name} …")
        results[name] = module.run()
        broken += show(name, results[name], console)
        (OUT / "results.json").write_text(json.dumps(results, indent=1, default=float))
    if "bench_scaling" in results:
        draw_curves(results["bench_scaling"], OUT / "curves.svg")
    for line in broken:
        console.print(f"[red]not kept[/red] {line}")
    console.print(
        f"results in {OUT}/results.json"
        + (", curves in bench-out/curves.svg" if "bench_scaling" in results else "")
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
