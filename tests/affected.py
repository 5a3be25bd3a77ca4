"""Print the test files that a change reaches: `python -m tests.affected [--since COMMIT]`, or `make affected`.

A changed module is reached by the tests that import it, or a name that it defines from a package above it, or that
import a module of the same folder which imports it; and by the tests of the same name (`monitor/scan/planner.py`,
`tests/monitor/scan/test_planner*.py`), without one by those of its folder. A changed test, and what lies in a folder of
its own (pages, documents), have their own tests. What a change reaches through several folders is not found: `make
test` decides.
"""

import argparse
import ast
import subprocess
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = (
    "sources",
    "checks",
    "incidents",
    "remedies",
    "store",
    "monitor",
    "tablewatch",
    "pytest_tablewatch",
    "release",
)
ALWAYS: Final = ("tests/test_architecture.py", "tests/test_conventions.py", "tests/test_wording.py")
"""The rules for all files."""
OTHERS: Final = {
    "templates/": ("tests/templates", "tests/monitor/web", "tests/monitor/reporting"),
    "docs/": ("tests/docs",),
    "README.md": ("tests/docs",),
    "examples/skeletons/": ("tests/monitor/commands/test_dev.py",),
    "CONTRIBUTING.md": ("tests/docs",),
    "pyproject.toml": ("tests/test_extras.py", "tests/release"),
}
"""The tests of what is no module, by the begin of its path."""


def affected(changed: Iterable[str]) -> Collection[str]:
    """Return the paths of tests to run, for changed paths, both relative to the repository."""
    paths = sorted(changed)
    modules = {_module(path) for path in paths if path.endswith(".py") and path.split("/")[0] in PACKAGES}
    reached = modules | {name for name in _product() for module in modules if _is_neighbour(name, module)}
    tests = {path for path in paths if Path(path).name.startswith("test_") and (ROOT / path).is_file()}
    tests |= {test for begin, own in OTHERS.items() if any(path.startswith(begin) for path in paths) for test in own}
    tests |= {path for path, imported in _imports_of("tests").items() if _is_test(path) and _reaches(imported, reached)}
    tests |= {path for module in modules for path in _tests_of(module)}
    return sorted({*tests, *ALWAYS} if paths else tests)


def changed_since(commit: str) -> Iterator[str]:
    """Yield the paths that differ from a commit, also those that git does not know yet."""
    for words in (["diff", "--name-only", commit], ["ls-files", "--others", "--exclude-standard"]):
        done = subprocess.run(["/usr/bin/env", "git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
        yield from done.stdout.splitlines()


def _is_test(path: str) -> bool:
    return Path(path).name.startswith("test_")


def _tests_of(module: str) -> Collection[str]:
    """Return the tests of a module's name, else those of its folder."""
    folder, _, name = f"tests.{module}".rpartition(".")
    tests = [path for path in _imports_of("tests") if path.rpartition("/test_")[0] == folder.replace(".", "/")]
    return [path for path in tests if path.rpartition("/test_")[2].startswith(name.strip("_"))] or tests


def _is_neighbour(name: str, module: str) -> bool:
    """Check whether a module of the same folder imports another."""
    folder, _, _ = module.rpartition(".")
    return name.rpartition(".")[0] == folder and (module in _product()[name] or (folder, module) in _product()[name])


def _reaches(imported: Collection[object], modules: Collection[str]) -> bool:
    for module in modules:
        if module in imported:
            return True
        above = module.rpartition(".")[0]
        while above:
            if any((above, name) in imported for name in _defined(module)):
                return True
            above = above.rpartition(".")[0]
    return False


@cache
def _product() -> dict[str, Collection[object]]:
    return {_module(path): imported for package in PACKAGES for path, imported in _imports_of(package).items()}


@cache
def _imports_of(folder: str) -> dict[str, Collection[object]]:
    """Return by path what the modules below a folder import: names of modules, and pairs of module and name."""
    return {
        path.relative_to(ROOT).as_posix(): frozenset(_imported(ast.parse(path.read_text(encoding="utf-8"))))
        for path in (ROOT / folder).rglob("*.py")
    }


def _imported(tree: ast.AST) -> Iterator[object]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            for alias in node.names:
                yield f"{node.module}.{alias.name}"
                yield node.module, alias.name


@cache
def _defined(module: str) -> Collection[str]:
    path = ROOT / f"{module.replace('.', '/')}.py"
    if not path.is_file():
        return ()
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return [node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)]


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def main() -> None:
    """Print the paths, one on each line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", default="main", help="the commit that the work tree is compared with (main)")
    print("\n".join(affected(changed_since(parser.parse_args().since))))  # noqa: T201 - its output


if __name__ == "__main__":
    main()
