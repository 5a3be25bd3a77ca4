"""The wheel has the packages of a checkout inside `tablewatch`, so that a project may have some of the same names."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from docs.audit import ROOT
from release.wheel_layout import FORMER, INNER, rewritten, write_layout

PLACE: Final = "tablewatch._internal"
MODULES: Final = ("checks", "checks.range", "monitor", "monitor.workers.worker")


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the packages of this checkout as a wheel has them."""
    folder = tmp_path_factory.mktemp("layout")
    write_layout(ROOT, folder)
    return folder


def _run(layout: Path, project: Path, statements: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(project), str(layout)])
    command = [sys.executable, "-W", "always", "-c", statements]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=project, env=environment)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from checks import A", f"from {PLACE}.checks import A"),
        ("from checks.range import A as B, C", f"from {PLACE}.checks.range import A as B, C"),
        ("if x:\n  from monitor import (\n    a\n  )", f"if x:\n  from {PLACE}.monitor import (\n    a\n  )"),
        ("import checks", f"import {PLACE}.checks as checks"),
        ("import checks as c, os", f"import {PLACE}.checks as c, os"),
        ("import checks.range as r", f"import {PLACE}.checks.range as r"),
        ('x = "monitor.workers.worker"', f'x = "{PLACE}.monitor.workers.worker"'),
        ('あ = "あ", "checks.range"', f'あ = "あ", "{PLACE}.checks.range"'),
        ('import_module(f"checks.{name}")', f'import_module(f"{PLACE}.checks.{{name}}")'),
        ('importlib.resources.files("templates")', f'importlib.resources.files("{PLACE}.templates")'),
    ],
)  # fmt: skip
def test_what_is_rewritten(text: str, expected: str) -> None:
    """Imports, and names of modules in texts; lines keep their numbers."""
    assert rewritten(text, MODULES) == expected


@pytest.mark.parametrize(
    "text",
    [
        "from tablewatch import checks",
        "from . import checks",
        "import checkstyle, os.path",
        'say("checks")',
        'x = "checks.none"',
        '"""See monitor.workers.worker."""',
        'f"checks.{name}"',
    ],
)
def test_what_is_not_rewritten(text: str) -> None:
    """Packages of others, words, and texts that only mention a module."""
    assert rewritten(text, MODULES) == text


def test_an_import_that_binds_a_package_by_its_module_is_refused() -> None:
    """`import checks.range` binds `checks`, which nothing in a wheel could stand for."""
    with pytest.raises(ValueError, match=r"'import checks\.range' binds the package"):
        rewritten("import checks.range", MODULES)


def test_no_module_of_the_wheel_imports_a_package_that_moved(layout: Path) -> None:
    """Every module has the lines of its source, and files of other kinds their bytes."""
    count = 0
    for path in layout.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [str(node.module)]
            assert not {name.partition(".")[0] for name in names} & set(INNER), path
        count += 1
    inner = layout / "tablewatch" / "_internal"
    for source in (path for name in INNER for path in (ROOT / name).rglob("*.py")):
        copy = inner / source.relative_to(ROOT)
        assert copy.read_text(encoding="utf-8").count("\n") == source.read_text(encoding="utf-8").count("\n")
    page = "templates/web/overview.html.j2"
    assert (inner / page).read_bytes() == (ROOT / page).read_bytes()
    assert count > 700


def test_packages_of_a_project_hide_none_of_ours(layout: Path, tmp_path: Path) -> None:
    """A project with packages of all seven names imports `tablewatch` and checks a frame; its packages stay its own."""
    for name in INNER:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"WHOSE = 'the {name} of the project'\n", encoding="utf-8")
    done = _run(
        layout,
        tmp_path,
        "import checks, monitor, store, pandas as pd, tablewatch as tw\n"
        "report = tw.check(pd.DataFrame({'id': [1, 1]}), [{'type': 'unique', 'columns': ['id']}])\n"
        "print(checks.WHOSE, '/', monitor.WHOSE, '/', store.WHOSE, '/', report.ok, '/', tw.incidents.Spans.__module__)",
    )
    assert done.returncode == 0, done.stderr
    words = [f"the {name} of the project" for name in ("checks", "monitor", "store")]
    assert done.stdout.strip() == " / ".join([*words, "False", f"{PLACE}.incidents.spans"])


def test_former_names_are_the_modules_themselves(layout: Path, tmp_path: Path) -> None:
    """`from checks.risk import ...` works in a wheel, with a warning that names what to import."""
    done = _run(
        layout,
        tmp_path,
        "from checks.risk import k_anonymity; import incidents, remedies.generalise as former\n"
        f"import {PLACE}.checks.risk as risk, {PLACE}.remedies.generalise as now\n"
        "print(k_anonymity is risk.k_anonymity, former is now, now.__spec__.name, incidents.Spans.__name__)",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "True", f"{PLACE}.remedies.generalise", "Spans"]
    for name in FORMER:
        assert f"DeprecationWarning: '{name}' is tablewatch." in done.stderr
