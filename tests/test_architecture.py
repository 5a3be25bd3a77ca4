"""The shape of the product: where names live, and in which words it describes itself."""

import ast
import functools
import importlib
import re
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "sources",
    "checks",
    "incidents",
    "remedies",
    "store",
    "monitor",
    "templates",
    "tablewatch",
    "pytest_tablewatch",
)
_CATALOGUE_VERBS = re.compile(r"(Give|Say|Tell)s?\b")


@functools.cache
def _modules() -> Mapping[Path, ast.Module]:
    """Return the syntax tree of each module of the product."""
    paths = (path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def _package(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).parts[:-1])


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the full names that a module imports from, type-only imports and those inside functions included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _outsiders(path: Path, tree: ast.Module) -> Iterator[str]:
    """Yield names with a leading underscore that a module imports from another package than its own."""
    package = _package(path)
    for name in _imported(tree):
        parts = name.split(".")
        private = next(
            (at for at, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")), None
        )
        if parts[0] not in PACKAGES or private is None:
            continue
        owner = ".".join(parts[:private])
        if package != owner and not package.startswith(f"{owner}."):
            yield f"{path.relative_to(ROOT)}: {name}"


def test_private_modules_stay_in_their_package() -> None:
    """A name with a leading underscore is imported only inside its own package."""
    assert [text for path, tree in _modules().items() for text in _outsiders(path, tree)] == []


def test_docstrings_begin_with_programmers_verbs() -> None:
    """No docstring says that a function "gives", "says" or "tells" something: functions return, compute and write."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    assert [
        f"{path.relative_to(ROOT)}: {text.splitlines()[0]}"
        for path, tree in _modules().items()
        for node in ast.walk(tree)
        if isinstance(node, kinds) and _CATALOGUE_VERBS.match(text := ast.get_docstring(node) or "")
    ] == []


_PROCESS_MODULES = frozenset({"_posixsubprocess", "multiprocessing", "pty", "subprocess"})
_PROCESS_CALLS = re.compile(
    r"os\.(fork(pty)?|posix_spawnp?|spawn[lv]p?e?|popen|system)|asyncio\.create_subprocess_\w+|.*\.ProcessPoolExecutor"
)


def _starts_processes(tree: ast.Module) -> bool:
    names = [*_imported(tree), *(ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute))]
    return any(name.split(".")[0] in _PROCESS_MODULES or _PROCESS_CALLS.fullmatch(name) for name in names)


def test_processes_are_started_by_the_pool() -> None:
    """One package supervises processes; else the daemon starts the web application, and a browser prints PDF."""
    starting = {path.relative_to(ROOT).as_posix() for path, tree in _modules().items() if _starts_processes(tree)}
    assert starting == {
        "monitor/daemon/web_process.py",
        "monitor/reporting/pdf.py",
        "monitor/workers/forkserver.py",
        "monitor/workers/spawner.py",
    }


TWICE = frozenset({"Source"})
"""An open source, and the section of the configuration that describes it (docs/architecture.md)."""


def _reached(start: str, graph: grimp.ImportGraph) -> set[str]:
    """Return every module that a module imports, directly or through others."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph.find_modules_directly_imported_by(waiting.pop()) - reached
        reached |= new
        waiting += new
    return reached


def test_no_module_imports_itself_through_others() -> None:
    """A module can be read without those that use it; imports for types only, and inside of functions, count."""
    graph = grimp.build_graph(*PACKAGES, "tablewatch", cache_dir=None)
    assert sorted(module for module in graph.modules if module in _reached(module, graph)) == []


def test_public_class_names_are_defined_once() -> None:
    """A concept has one name, and a name one concept: two public classes of one name are two things to tell apart."""
    places = defaultdict(list)
    for path, tree in _modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert {name for name, paths in places.items() if len(paths) > 1} == set(TWICE)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Great Expectations, which `tablewatch.gx` imports
def test_packages_export_what_they_name() -> None:
    """Every name of `__all__` is there, also where a package loads its modules when they are first used."""
    missing = []
    for path in _modules():
        if path.name == "__init__.py" and "migrations" not in path.parts:
            package = importlib.import_module(".".join(path.relative_to(ROOT).parent.parts))
            missing += [
                f"{package.__name__}.{name}" for name in getattr(package, "__all__", ()) if not hasattr(package, name)
            ]
    assert missing == []


def test_packages_load_late_what_type_checkers_see() -> None:
    """A package that loads its modules late has each name twice: for type checkers, and with its home; both agree."""
    late = [(path, tree) for path, tree in _modules().items() if "_HOME_OF: Final" in path.read_text(encoding="utf-8")]
    assert len(late) == 5
    for path, tree in late:
        package = importlib.import_module(_package(path))
        [block] = [node for node in tree.body if isinstance(node, ast.If)]
        seen = dict(name.rsplit(".", 1)[::-1] for name in _imported(ast.Module(block.body, [])))
        assert sorted(seen) == sorted(package.__all__)
        assert [
            name
            for name, home in seen.items()
            if getattr(importlib.import_module(home), name) is not getattr(package, name)
        ] == []
        assert not hasattr(package, "no_such_name")


MOST_FILES = 63
"""The files that a reader goes through who follows a first check, with its plan, from the command to the store."""
_SMALL = """\
version: 1
project: small
sources: {shop: {url: "sqlite:///shop.sqlite"}}
tables:
  - name: orders
    source: shop
    checks: [{type: primary_key, columns: [id]}, {type: not_null, columns: [customer]}]
"""


def test_a_check_runs_in_few_files(tmp_path: Path) -> None:
    """`check` of one table, from the command to the store, runs few files (benchmarks.files_run)."""
    (tmp_path / "tablewatch.yaml").write_text(_SMALL, encoding="utf-8")
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as connection:
        connection.executescript("CREATE TABLE orders (id INTEGER, customer TEXT); INSERT INTO orders VALUES (1, 'a');")
    command = [sys.executable, "-m", "benchmarks.files_run", "--command", "check orders"]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    files = [line.split()[0] for line in done.stderr.splitlines() if ".py " in line]
    assert "monitor/scan/run.py" in files
    assert len(files) <= MOST_FILES, "\n".join(files)


def test_the_reading_path_is_short():
    """The files that docs/architecture.md tells a newcomer to read exist, and have about 3,000 lines together."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.split("## Reading path", 1)[1].split("## ", 1)[0]
    files = re.findall(r"^\| `(\S+\.py)` \|", section, re.MULTILINE)
    assert len(files) == 11
    assert sum(len((ROOT / name).read_text(encoding="utf-8").splitlines()) for name in files) <= 3_300
