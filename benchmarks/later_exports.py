"""Exports of one release while its table changes: each is compared with all before it. Seconds and memory.

python -m benchmarks later_exports [--rows 100000] [--exports 4]

Half a per cent of the rows leave and a little more than that come before each export, which holds back what would break
a limit (k 5, l 2). Each export is a process of its own.
"""

import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks._measure import table

CONFIG: Final = """\
version: 1
project: hospital
sources: {files: {files: "people.csv"}}
domains: {care: {owner: owner}}
owners: {owner: {name: Owner}, desk: {name: Desk}}
tables: [{name: people, source: files, domain: care}]
releases:
  extract:
    table: people
    audience: researchers
    purpose: statistics
    columns: {patient: direct-identifier, zip: quasi-identifier, sex: quasi-identifier, diagnosis: sensitive}
    person_key: patient
    limits: {k: 5, l: 2}
    re_release: refuse
    remedies: [{remedy: suppress}]
    approvers: [desk]
    expires_after: 90d
"""
_RELEASE: Final = ("extract", "--remedy", "suppress")
_STAY: Final = 0.995
_GROW: Final = 1.007
_ROWS_OF_A_CLASS: Final = 20
_DIAGNOSES: Final = 12


def main() -> None:
    """Export again and again, and print what each takes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--exports", type=int, default=4)
    options = parser.parse_args(sys.argv[2:] if sys.argv[0].endswith("__main__.py") else sys.argv[1:])
    print(table(("export", "rows", "held back or suppressed", "cpu s", "most memory MB"), ()))
    with tempfile.TemporaryDirectory() as name:
        for row in _rows(Path(name), options.rows, options.exports):
            print(f"| {' | '.join(row)} |", flush=True)


def _rows(folder: Path, count: int, exports: int) -> Iterator[Sequence[str]]:
    draw = random.Random(1)
    (folder / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    people: list[Sequence[object]] = []
    number = 0
    for export in range(1, exports + 1):
        people = [person for person in people if draw.random() < _STAY]
        while len(people) < count * _GROW ** (export - 1):
            place, sex = draw.randrange(count // _ROWS_OF_A_CLASS // 2), draw.choice("FM")
            people.append((f"p{number}", f"z{place}", sex, f"d{draw.randrange(_DIAGNOSES)}"))
            number += 1
        with (folder / "people.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("patient", "zip", "sex", "diagnosis"), *people])
        _run(folder, "approve", "--by", "desk", "--note", "benchmark")
        out = folder / f"{export}.csv"
        cpu, memory = _run(folder, "export", "--out", str(out), *(["--hold-back"] if export > 1 else []))
        left = len(people) - sum(1 for _ in out.open(encoding="utf-8")) + 1
        yield str(export), f"{len(people):,}", f"{left:,}", f"{cpu:.1f}", f"{memory:.0f}"


def _run(folder: Path, verb: str, *words: str) -> tuple[float, float]:
    """Run a verb of the release; return its processor seconds and memory, its children included.

    Raises:
        RuntimeError: it was refused.
    """
    command = [sys.executable, "-m", "tablewatch", "-c", str(folder), "release", verb, *_RELEASE, *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(process.stderr.read().decode() if process.stderr else verb)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3


if __name__ == "__main__":
    main()
