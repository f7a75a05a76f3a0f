"""The documents have the numbers of the page, as Markdown that shows names as they are."""

from dataclasses import replace

from tagmix.report import markdown, page
from tagmix.studies.documents import commits_of, write_documents
from tests.report.comparison.makers import compared, curve
from tests.studies.test_ablation import POINTS, changed


def test_a_table_leaves_out_empty_columns_and_escapes_names():
    lines = [page.Line("a|b_c", "", [page.Cell(""), page.Cell("1", "0 … 2")])]
    assert markdown.table(["", "Empty", "Score"], lines).splitlines() == [
        "| | Score |",
        "|---|---|",
        "| a\\|b\\_c | 1 (0 … 2) |",
    ]


def test_scores_claims_regions_ablation_and_published_figures_have_tables(tmp_path):
    made = compared(data="corel5k", regions=True) + compared(data="corel5k", views=("sift", "colour"))
    made += curve("tags", [10, 20], data="corel5k", views=("sift", "colour"))
    made += curve("words", [0.1, 0.5], data="corel5k", views=("sift", "colour"))
    (path,) = write_documents(tmp_path, made + changed(POINTS))
    text = path.read_text(encoding="utf-8")
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# Tables",
        "## Corel5k, SIFT words",
        "### The paper's claims",
        "### Regions",
        "## Corel5k, SIFT and colour words",
        "### The paper's claims",
        "### Loss as tags increase",
        "### Why: words",
        "## MSRC v2, rich description: SIFT, layout and map",
        "### Regions",
        "## Ablation of EMM with context",
        "### MSRC v2, rich description: SIFT, layout and map",
        "## Published results on Corel5k",
    ]
    best = next(record for record in made if record.task.method == "KNN")
    assert f"{best.metrics['top_k_accuracy']:.3f} (" in text
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"figure2.svg", "figure3.svg"}
    assert "![figure2: Corel5k, SIFT words](figures/figure2.svg)" in text


def test_figures_are_of_the_papers_data_sets_wherever_these_stand(tmp_path):
    made = compared(data="album", regions=True) + compared(data="corel5k")
    (path,) = write_documents(tmp_path, made + compared(data="msrc_v2", regions=True))
    text = path.read_text(encoding="utf-8")
    assert text.index("## album") < text.index("## Corel5k")
    assert "![figure2: Corel5k, SIFT words]" in text
    assert "![figure3: MSRC v2, SIFT words]" in text


def test_the_commits_of_records_are_named():
    first, second, *_ = compared()
    made = [replace(first, provenance={"commit": "b"}), replace(second, provenance={"commit": None})]
    assert commits_of(made) == ["b", "unknown"]
