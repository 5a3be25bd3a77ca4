"""Where Great Expectations may be imported."""

import ast
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[3]
_PACKAGES = ("sources", "checks", "incidents", "remedies", "store", "monitor", "templates")
_LOOK = """
import sys
import checks.gx.worker_door, checks.gx.suite, monitor.scan.run
from checks._catalog import load_catalog
dict(load_catalog())
sys.exit("great_expectations" in sys.modules)
"""


def _imports(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Call) and getattr(node.func, "id", None) == "import_extra":
            names.update(word.value for word in node.args if isinstance(word, ast.Constant))
    return names


def test_one_door():
    """One module of the product imports Great Expectations, and the two that its users import."""
    found = {
        str(path.relative_to(_ROOT))
        for package in _PACKAGES
        for path in (_ROOT / package).rglob("*.py")
        if "great_expectations" in _imports(path)
    }
    assert found == {"checks/gx/worker_door.py", "checks/gx/custom.py", "checks/gx/metric.py"}


def test_nothing_imports_it_before_it_is_asked():
    """The catalogue of checks, the engine and the translation of suites load without Great Expectations."""
    done = subprocess.run([sys.executable, "-c", _LOOK], cwd=_ROOT, check=False)
    assert done.returncode == 0
