"""Train EMM on pictures drawn from its own story and write a page of what it found."""

import sys
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tagmix.report.planted import Results, Sizes, compute
from tagmix.report.planted_page import planted_page

# Forty tags from frequent to rare, each in a colour that reminds of it.
TAGS = {
    "sky": "#8fbfe0", "people": "#c99a86", "tree": "#4f7d46", "water": "#62a9c9", "grass": "#86a94f",
    "cloud": "#d3dce3", "house": "#c58a63", "street": "#908a84", "sea": "#2f7f9e", "sand": "#e3cf9f",
    "mountain": "#6d7f92", "car": "#a4443c", "flower": "#d4709a", "rock": "#8a8580", "window": "#9fb8c4",
    "sun": "#f2c14e", "snow": "#e9eef2", "dog": "#9c7148", "boat": "#3f5f87", "bird": "#5c6f9c",
    "river": "#4d94b8", "wall": "#b9ada0", "field": "#b9b35b", "bridge": "#a39382", "face": "#e0b79c",
    "cat": "#b58f6a", "city": "#73788a", "forest": "#33573a", "table": "#a87e52", "food": "#cf7a45",
    "horse": "#7a5238", "door": "#87593b", "leaf": "#6a9a3d", "night": "#2b3350", "fruit": "#d95f4b",
    "road": "#77736e", "rain": "#7d93a6", "fire": "#e0642d", "moon": "#cfd0b8", "ice": "#c5e1e8",
}  # fmt: skip


def run(sizes: Sizes, folder: Path) -> Results:
    """Compute everything, write ``folder/index.html`` and return the results."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description:<42}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=sizes.n_steps)

        def step(text: str) -> None:
            progress.update(task, description=text, advance=1)

        results = compute(sizes, list(TAGS), step)
        step("drawing the page")
        folder.mkdir(parents=True, exist_ok=True)
        document = planted_page(results, TAGS, f"tagmix {version('tagmix')}")
        (folder / "index.html").write_text(document, encoding="utf-8")
    return results


def main(sizes: Sizes | None = None, folder: Path = Path("demo-out")) -> int:
    results = run(sizes or Sizes(), folder)
    scores = results.scores
    margin, control, frequency = scores["margin"], scores["control"], scores["frequency"]
    print(folder / "index.html")
    print(
        f"tags of a picture    top-5 accuracy {margin.top5:.3f} of at most {scores['ceiling'].top5:.3f}; "
        f"tag frequency alone {frequency.top5:.3f}"
    )
    print(
        f"tag of a region      {margin.free:.3f} right without caption, {margin.captioned:.3f} with it; "
        f"chance {scores['chance'].free:.3f} and {scores['chance'].captioned:.3f}"
    )
    print(f"shuffled captions    {control.top5:.3f} and {control.free:.3f}: {results.verdict}")
    return 0 if results.control_fails else 1


if __name__ == "__main__":
    sys.exit(main())
