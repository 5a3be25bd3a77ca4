"""Change one operator at a time in the parts that must not be wrong, and see which tests notice.

    python -m tests.mutants [--count 40] [--seed 1]

Each change is made in a copy of the tracked files and judged by the tests of its part: the quick tier first, then,
where that notices nothing, the rest. A change that neither notices is a missing test, or changes nothing.
"""

import argparse
import ast
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PARTS: Final[Mapping[str, tuple[Sequence[str], Sequence[str]]]] = {
    "scan": (["monitor/scan"], ["tests/monitor/scan", "tests/monitor/commands/test_check.py", "tests/monitor/daemon"]),
    "incidents": (["incidents"], ["tests/incidents", "tests/monitor/triage", "tests/monitor/summaries"]),
    "alerts": (["monitor/alerts"], ["tests/monitor/alerts", "tests/monitor/daemon"]),
    "ledger": (
        ["store/_ledger.py", "store/_ledger_repository.py", "store/_ledger_audit.py", "store/_ledger_chain.py"],
        ["tests/store", "tests/monitor/answers", "tests/remedies/differential_privacy"],
    ),
    "risk": (["checks/risk", "checks/k_anonymity.py", "checks/l_diversity.py"], ["tests/checks"]),
}
"""The parts: where their code is, and which tests are theirs."""

_COMPARE: Final = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
_ARITHMETIC: Final = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+"}


@dataclass(frozen=True)
class Mutant:
    """One change. `start` and `end` are offsets in the text of the file."""

    part: str
    path: str
    line: int
    start: int
    end: int
    new: str

    def __str__(self) -> str:
        """Return where it is, and what becomes of what."""
        old = (ROOT / self.path).read_text(encoding="utf-8")[self.start : self.end]
        return f"{self.path}:{self.line}: {old.strip()} -> {self.new.strip()}"

    def applied(self, text: str) -> str:
        """Return the text with the change."""
        return text[: self.start] + self.new + text[self.end :]


def mutants_of(part: str, path: Path) -> Iterator[Mutant]:
    """Yield every change of a file: another comparison or operation, `and` for `or`, a condition turned round."""
    text = path.read_text(encoding="utf-8")
    begins = [0]
    for row in text.splitlines(keepends=True):
        begins.append(begins[-1] + len(row))

    def at(line: int, column: int) -> int:
        row = text[begins[line - 1] : begins[line]]
        return begins[line - 1] + len(row.encode()[:column].decode())

    def between(left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[Mutant]:
        start, end = at(left.end_lineno or 0, left.end_col_offset or 0), at(right.lineno, right.col_offset)
        if text[start:end].count(old) == 1:
            place = start + text[start:end].index(old)
            yield Mutant(part, str(path.relative_to(ROOT)), left.lineno, place, place + len(old), new)

    words = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
    signs = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
            kind = type(node.ops[0])
            yield from between(node.left, node.comparators[0], words[kind], _COMPARE[kind])
        elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            yield from between(node.left, node.right, signs[type(node.op)], _ARITHMETIC[type(node.op)])
        elif isinstance(node, ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            yield from between(node.values[0], node.values[1], f" {old} ", f" {new} ")
        elif isinstance(node, ast.If | ast.IfExp):
            start, end = (
                at(node.test.lineno, node.test.col_offset),
                at(node.test.end_lineno or 0, node.test.end_col_offset or 0),
            )
            yield Mutant(part, str(path.relative_to(ROOT)), node.test.lineno, start, end, f"not ({text[start:end]})")


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


def is_noticed(tree: Path, tests: Sequence[str], tier: str) -> bool:
    """Return whether a test of a tier fails in a tree."""
    command = [sys.executable, "-m", "tests._postgres", sys.executable, "-m", "pytest", "-q", "-x", "--tier", tier]
    command += ["-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=tree, capture_output=True, check=False).returncode in {
        1,
        2,
    }  # 2: xdist stopped at the first


def main() -> None:
    """Print one line for each change, then how many each tier noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        names = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()  # noqa: S607 - git's name
        for name in names:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
        for part, (_, tests) in PARTS.items():
            if is_noticed(tree, tests, "quick"):
                parser.error(f"the tests of {part} fail without any change")
        totals: Counter[str] = Counter()
        for mutant in sample(options.count, options.seed):
            tier = judged(tree, mutant)
            totals[tier] += 1
            sys.stdout.write(f"{tier:6} {mutant}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{dict(totals)}\n")


def judged(tree: Path, mutant: Mutant) -> str:
    """Return the tier that notices a change, `none` if neither does."""
    file = tree / mutant.path
    text = file.read_text(encoding="utf-8")
    file.write_text(mutant.applied(text), encoding="utf-8")
    try:
        return next((tier for tier in ("quick", "rest") if is_noticed(tree, PARTS[mutant.part][1], tier)), "none")
    finally:
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
