"""Change one operator at a time in the parts that must not be wrong, and see which tests notice.

    python -m tests._postgres python -m tests.mutants [--count 40] [--seed 1] [--processes 2]

Each change is made in a copy of the tracked files and judged by the tests of the parts: those of the quick tier first,
then, where none notices, all of them. A test that never evaluates the changed expression cannot notice, so the tests
of a tier run once unchanged, with a record of which of them evaluates what, and each change meets only those.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests import _reached

ROOT: Final = Path(__file__).parents[1]
PARTS: Final[Mapping[str, tuple[Sequence[str], Sequence[str]]]] = {
    "scan": (
        ["monitor/scan"],
        ["tests/monitor/scan", "tests/monitor/daemon", "tests/tablewatch", "tests/monitor/commands/test_backfill.py"],
    ),
    "incidents": (
        ["incidents"],
        ["tests/incidents", *(f"tests/monitor/{name}" for name in ("triage", "summaries", "simulation"))],
    ),
    "alerts": (
        ["monitor/alerts"],
        [
            "tests/monitor/alerts",
            "tests/monitor/daemon",
            *(f"tests/monitor/commands/test_{name}.py" for name in ("alert", "alert_sending", "report")),
        ],
    ),
    "ledger": (
        ["store/_ledger.py", "store/_ledger_repository.py", "store/_ledger_audit.py", "store/_ledger_chain.py"],
        ["tests/store", "tests/monitor/answers", "tests/remedies/differential_privacy"],
    ),
    "risk": (
        ["checks/risk", "checks/k_anonymity.py", "checks/l_diversity.py"],
        ["tests/checks", "tests/remedies/generalisation", "tests/monitor/releases"],
    ),
}
"""The parts: where their code is, and which tests are theirs."""

_COMPARE: Final = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
_ARITHMETIC: Final = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+"}


_WORDS: Final = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_SIGNS: Final = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
_NOTICED: Final = {pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED}
"""Interrupted: a module could not be imported, or xdist stopped at the first failure."""


@dataclass(frozen=True)
class Span:
    """Where a piece of a text starts and ends."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """Return the piece."""
        return text[self.start : self.end]


@dataclass(frozen=True)
class Mutant:
    """One change: what of an expression becomes what."""

    part: str
    path: str
    line: int
    expression: Span
    changed: Span
    new: str

    def __str__(self) -> str:
        """Return where it is, and what becomes of what."""
        old = self.changed.of((ROOT / self.path).read_text(encoding="utf-8"))
        return f"{self.path}:{self.line}: {' '.join(old.split())} -> {' '.join(self.new.split())}"

    def applied(self, text: str) -> str:
        """Return the text with the change."""
        return text[: self.changed.start] + self.new + text[self.changed.end :]


class _Text:
    """A file, whose nodes are found by offset instead of line and column."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text(encoding="utf-8")
        self._rows = self.text.splitlines(keepends=True)
        self._begins = [0]
        for row in self._rows:
            self._begins.append(self._begins[-1] + len(row))

    def span(self, node: ast.expr) -> Span:
        """Return where a node is."""
        return Span(
            self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno or 0, node.end_col_offset or 0)
        )

    def between(self, left: ast.expr, right: ast.expr, old: str) -> Span | None:
        """Return where an operator is, None if that is not plain."""
        gap = Span(self.span(left).end, self.span(right).start)
        start = gap.start + gap.of(self.text).find(old)
        return Span(start, start + len(old)) if gap.of(self.text).count(old) == 1 else None

    def nodes(self) -> Iterator[ast.AST]:
        """Yield the nodes, but not those of types and of f-strings, whose places are not exact."""
        todo: list[ast.AST] = [ast.parse(self.text)]
        while todo:
            node = todo.pop()
            if not isinstance(node, ast.JoinedStr) and not (isinstance(node, ast.If) and _is_for_types(node)):
                yield node
                todo += ast.iter_child_nodes(node)

    def _offset(self, line: int, column: int) -> int:
        return self._begins[line - 1] + len(self._rows[line - 1].encode()[:column].decode())


def _is_for_types(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def mutants_of(part: str, path: Path) -> Iterator[Mutant]:
    """Yield every change of a file: another comparison or operation, `and` for `or`, a condition turned round."""
    file = _Text(path)
    name = path.relative_to(ROOT).as_posix()
    for node in file.nodes():
        if isinstance(node, ast.If | ast.IfExp):
            span = file.span(node.test)
            yield Mutant(part, name, node.test.lineno, span, span, f"not ({span.of(file.text)})")
        elif isinstance(node, ast.Compare | ast.BinOp | ast.BoolOp) and (change := _operator(node)):
            left, right, old, new = change
            if changed := file.between(left, right, old):
                yield Mutant(part, name, node.lineno, file.span(node), changed, new)


def _operator(node: ast.Compare | ast.BinOp | ast.BoolOp) -> tuple[ast.expr, ast.expr, str, str] | None:
    """Return what stands left and right of an operator, the operator, and another; None if it has no other."""
    if isinstance(node, ast.BoolOp):
        old, new = (" and ", " or ") if isinstance(node.op, ast.And) else (" or ", " and ")
        return node.values[0], node.values[1], old, new
    if isinstance(node, ast.BinOp):
        operation = type(node.op)
        return (node.left, node.right, _SIGNS[operation], _ARITHMETIC[operation]) if operation in _ARITHMETIC else None
    comparison = type(node.ops[0])
    if len(node.ops) > 1 or comparison not in _COMPARE:
        return None
    return node.left, node.comparators[0], _WORDS[comparison], _COMPARE[comparison]


def sample(count: int, seed: int) -> Sequence[Mutant]:
    """Return as many changes of each part, drawn from all that there are."""
    draw = random.Random(seed)
    chosen: list[Mutant] = []
    for part, (places, _) in PARTS.items():
        files = [
            file
            for place in places
            for file in ([ROOT / place] if place.endswith(".py") else sorted((ROOT / place).rglob("*.py")))
        ]
        chosen += draw.sample([mutant for file in files for mutant in mutants_of(part, file)], count // len(PARTS))
    return chosen


class Tree:
    """A copy of the tracked files, in which changes are made and tests run."""

    def __init__(self, folder: Path, processes: int) -> None:
        self._folder = folder / "tree"
        self._arguments = folder / "arguments"
        self._records = folder / "records"
        self._processes = processes
        self._failing: Sequence[str] = ()
        names = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()  # noqa: S607 - git's name
        for name in names:
            (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, self._folder / name)

    def reaching(self, mutants: Sequence[Mutant], tier: str) -> Mapping[Mutant, Sequence[str]]:
        """Return the functions of a tier that evaluate the changed expression of each."""
        for path in {mutant.path for mutant in mutants}:
            self._write(path, _with_records((ROOT / path).read_text(encoding="utf-8"), path, mutants))
        self._records.write_text("", encoding="utf-8")
        self._run(sorted({test for mutant in mutants for test in PARTS[mutant.part][1]}), tier, "-p", "tests._reached")
        for path in {mutant.path for mutant in mutants}:
            self._write(path, (ROOT / path).read_text(encoding="utf-8"))
        reached: dict[int, set[str]] = defaultdict(set)
        for number, function, phase in _reached.records(self._records):
            if function is None:  # while modules are imported: any test of the part may notice
                reached[number] |= set(PARTS[mutants[number].part][1])
            else:  # in a fixture, which other tests of the file may use as well
                reached[number].add(function if phase == "call" else function.split("::")[0])
        self._failing = sorted(reached.pop(_reached.FAILED, set()))
        if self._failing:
            sys.stdout.write(f"fail without a change, and are left out: {', '.join(self._failing)}\n")
        return {mutant: sorted(reached[number]) for number, mutant in enumerate(mutants)}

    def is_noticed(self, mutant: Mutant, tests: Sequence[str], tier: str) -> bool:
        """Return whether one of some tests fails with a change; those of the same folder are asked first."""
        folder = f"tests/{Path(mutant.path).parent.as_posix()}/"
        near = [test for test in tests if test.startswith(folder)]
        self._write(mutant.path, mutant.applied((ROOT / mutant.path).read_text(encoding="utf-8")))
        try:
            return any(
                self._run(group, tier, "-x", "--hypothesis-profile", "unshrunk") in _NOTICED
                for group in (near, [test for test in tests if test not in near])
                if group
            )
        finally:
            self._write(mutant.path, (ROOT / mutant.path).read_text(encoding="utf-8"))

    def _run(self, tests: Iterable[str], tier: str, *options: str) -> int:
        self._arguments.write_text("\n".join(tests), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "120", "--tier", tier]
        command += ["-n", str(self._processes), "--dist", "loadfile", *options]
        command += [*(f"--deselect={test}" for test in self._failing), f"@{self._arguments}"]
        environment = os.environ | {"PYTHONPATH": str(self._folder), _reached.FILE: str(self._records)}
        run = subprocess.run(command, cwd=self._folder, env=environment, capture_output=True, text=True, check=False)
        if run.returncode not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED, *_NOTICED}:
            raise RuntimeError(run.stdout + run.stderr)
        return run.returncode

    def _write(self, path: str, text: str) -> None:
        (self._folder / path).write_text(text, encoding="utf-8")


def _with_records(text: str, path: str, mutants: Sequence[Mutant]) -> str:
    """Return the text of a file with a record at each of its mutants."""
    inserted: list[tuple[int, str]] = []
    for number, mutant in enumerate(mutants):
        if mutant.path == path:
            record = f'(__import__("tests._reached", fromlist=["at"]).at({number}) or ('
            inserted += [(mutant.expression.start, record), (mutant.expression.end, "))")]
    for place, words in sorted(inserted, reverse=True):
        text = text[:place] + words + text[place:]
    return text


def main() -> None:
    """Print one line for each change, then how many of each part each tier noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    left, totals = list(sample(options.count, options.seed)), Counter[tuple[str, str]]()
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(Path(folder), options.processes)
        for tier in ("quick", "all"):
            reaching = tree.reaching(left, tier)
            for mutant in left.copy():
                tests = reaching[mutant]
                noticed = bool(tests) and tree.is_noticed(mutant, tests, tier)
                sys.stdout.write(f"{tier:6} {'noticed' if noticed else 'NOT    '} {len(tests):5} {mutant}\n")
                sys.stdout.flush()
                if noticed:
                    left.remove(mutant)
                    totals[mutant.part, tier] += 1
    totals.update((mutant.part, "none") for mutant in left)
    for part in PARTS:
        sys.stdout.write(f"{part}: {', '.join(f'{totals[part, tier]} {tier}' for tier in ('quick', 'all', 'none'))}\n")


if __name__ == "__main__":
    main()
