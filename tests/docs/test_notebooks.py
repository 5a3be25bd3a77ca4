"""The notebooks of the documentation run from top to bottom and hold no output of a machine."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from docs.refresh import ROOT

_NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def _run(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does: the value of its last expression is shown."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102 - a cell of our own documentation
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307 - the same


def _shown(value: Any) -> str:
    html = getattr(value, "_repr_html_", None)
    return html() if html is not None else repr(value)


@pytest.mark.parametrize("notebook", _NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell, in order, in an empty folder; what a cell shows can be shown."""
    monkeypatch.chdir(tmp_path)
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    shown = [_shown(_run(source, names)) for source in sources]
    assert sum(text != "None" for text in shown) >= 4
    if notebook.stem == "risk":
        assert names["before"].k < 5 <= names["after"].k


@pytest.mark.parametrize("notebook", _NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_has_no_outputs(notebook: Path) -> None:
    """Outputs hold paths and times of a machine; a reader makes their own."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
