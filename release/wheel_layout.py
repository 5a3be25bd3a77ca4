"""The wheel has the packages of a checkout (`checks`, `monitor`, `store` ...) in `tablewatch/_internal` (ADR 82).

Their names are so plain that a Django or Airflow project may have packages of the same names; two distributions would
overwrite each other. Hatchling calls `WheelLayout` while it builds a wheel; an editable installation stays a checkout.

What is rewritten: imports, and the names of modules in texts, where a text is one (`"monitor.workers.worker"`) or the
argument of a call that wants one (`files("templates")`). Nothing else: a test builds the wheel and runs it.
"""

import ast
import shutil
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

INNER: Final = ("sources", "checks", "incidents", "remedies", "store", "monitor", "templates")
"""The packages that move."""
OUTER: Final = ("tablewatch", "pytest_tablewatch")
"""The packages that stay at the top."""
FORMER: Final = ("checks", "incidents", "remedies")
"""Packages of which a wheel has the name still, as a module: any package of that name comes before it."""
_PLACE: Final = "tablewatch._internal"
_NAMES_A_MODULE: Final = frozenset({"PackageLoader", "files", "find_spec", "import_module"})
"""Functions whose first argument is a module's name, or begins with one."""


class WheelLayout(BuildHookInterface):  # type: ignore[type-arg]
    """Writes the wheel's packages into a folder of its own, of which the wheel is made."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Put the rewritten packages into the wheel in place of those of the checkout."""
        if version == "editable":
            return
        self._folder = Path(tempfile.mkdtemp())
        write_layout(Path(self.root), self._folder)
        self.build_config.set_exclude_all()
        build_data["force_include"].update({str(path): path.name for path in self._folder.iterdir()})

    def finalize(self, version: str, *_: object) -> None:
        """Remove the folder."""
        if version != "editable":
            shutil.rmtree(self._folder)


def write_layout(root: Path, target: Path) -> None:
    """Write the packages of a checkout below a folder as a wheel has them."""
    modules = {name for package in INNER for name in _modules(root / package)}
    for package in (*INNER, *OUTER):
        above = target if package in OUTER else target / _PLACE.replace(".", "/")
        for path in sorted((root / package).rglob("*")):
            if path.is_dir() or "__pycache__" in path.parts or path.suffix in {".nbi", ".nbc"}:
                continue
            copy = above / path.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix in {".py", ".pyi"}:
                copy.write_text(rewritten(path.read_text(encoding="utf-8"), modules), encoding="utf-8")
            else:
                shutil.copy(path, copy)
    text = '"""The packages of Tablewatch; import `tablewatch`: what lies here changes without notice."""\n'
    (target / _PLACE.replace(".", "/") / "__init__.py").write_text(text, encoding="utf-8")
    for name in FORMER:
        lines = ('"""Former name of a package of Tablewatch."""', "", "from tablewatch._former import alias", "")
        (target / f"{name}.py").write_text("\n".join([*lines, f'alias("{name}")', ""]), encoding="utf-8")


def _modules(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def rewritten(text: str, modules: Collection[str]) -> str:
    """Return a module's text with other names for the packages that move; `modules`: what is in them."""
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    changes = sorted({change for node in ast.walk(ast.parse(text)) for change in _changes(node, modules)}, reverse=True)
    for line, begin, end, old, new in changes:
        part = lines[line - 1][begin:end]
        if old.encode() not in part:
            raise ValueError(f"'{old}' is not where it was expected, in: {lines[line - 1].decode()}")
        lines[line - 1] = lines[line - 1][:begin] + part.replace(old.encode(), new.encode(), 1) + lines[line - 1][end:]
    return b"".join(lines).decode()


_Change = tuple[int, int, int, str, str]
"""The line, the bytes from and to, the text there, and what takes its place."""


def _changes(node: ast.AST, modules: Collection[str]) -> Iterator[_Change]:
    match node:
        case ast.ImportFrom(module=str(name), level=0) if _moves(name):
            start = node.col_offset + len("from ")
            yield node.lineno, start, start + len(name), name, f"{_PLACE}.{name}"
        case ast.Import(names=aliases):
            yield from (change for alias in aliases if _moves(alias.name) for change in _import(alias))
        case ast.Constant(value=str(name)) if "." in name and name in modules:
            yield _change(node, name)
        case ast.Call(func=function, args=[ast.Constant(value=str(name)) as first, *_]) if _names_a_module(function):
            if name in INNER:
                yield _change(first, name)
        case ast.Call(func=function, args=[ast.JoinedStr(values=[ast.Constant(value=str(name)), *_]) as first, *_]):
            if _names_a_module(function) and _moves(name):
                yield _change(first, name)


def _change(node: ast.expr, name: str) -> _Change:
    if node.end_col_offset is None or node.end_lineno != node.lineno:
        raise ValueError(f"'{name}' stands on several lines, from {node.lineno}")
    return node.lineno, node.col_offset, node.end_col_offset, name, f"{_PLACE}.{name}"


def _import(alias: ast.alias) -> Iterator[_Change]:
    """Yield the change of `import checks`, which becomes `import tablewatch._internal.checks as checks`."""
    if alias.asname is None and "." in alias.name:
        raise ValueError(f"'import {alias.name}' binds the package that moves; write 'from ... import ...'")
    new = f"{_PLACE}.{alias.name}" + ("" if alias.asname else f" as {alias.name}")
    yield alias.lineno, alias.col_offset, alias.col_offset + len(alias.name), alias.name, new


def _moves(name: str) -> bool:
    return name.partition(".")[0] in INNER


def _names_a_module(function: ast.expr) -> bool:
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    return name in _NAMES_A_MODULE
