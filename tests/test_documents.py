"""The documents are right: their Python blocks run in order, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WITH_CODE = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


def blocks(document):
    """Yield the code of each block behind as many empty lines as precede it, so that errors name the line."""
    text = document.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        yield "\n" * text.count("\n", 0, found.start(1)) + found[1]


@pytest.mark.parametrize("document", WITH_CODE, ids=lambda path: path.name)
def test_every_python_block_of_a_document_runs(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": document.stem}
    for code in blocks(document):
        exec(compile(code, str(document), "exec"), namespace)


def test_the_landing_page_shows_the_code_of_the_readme():
    readme, landing = (list(blocks(ROOT / page)) for page in ("README.md", "docs/index.md"))
    assert readme
    assert [code.strip() for code in landing] == [code.strip() for code in readme]


@pytest.mark.parametrize("name", ["start.md", "choosing.md", "scikit-learn.md", "files.md"])
def test_these_documents_show_code(name):
    assert list(blocks(ROOT / "docs" / "guide" / name))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(document):
    for target, _ in LINK.findall(document.read_text(encoding="utf-8")):
        assert not target or (document.parent / target).exists(), target


def test_the_picture_of_the_readme_is_small_enough_to_load_quickly():
    assert (ROOT / "docs" / "img" / "demo.png").stat().st_size < 300_000
