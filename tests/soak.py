"""Kill daemons and type hostile inputs as often as asked, and print what was counted; ends with the tests' exit code.

python -m tests.soak [--kills 300] [--inputs 20000] [--only-counted]
"""

import argparse
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from xml.etree import ElementTree as ET

COUNTED: Final = ("tests/crash/test_random_kills.py", "tests/monitor/commands/test_hostile_arguments.py")
OTHERS: Final = ("tests/crash", "tests/monitor/daemon/test_soak.py", "tests/store/test_ledger_laws.py")
_OPTIONS: Final = ("-q", "-n0", "--tier", "all", "--timeout", "14400", "-o", "junit_family=xunit1")
_NAMES: Final = (
    *("kills", "acknowledged", "lost", "doubled", "slots", "incidents", "messages", "repeats"),
    *("inputs", "exits of 70"),
)


def main() -> None:
    """Run the tests and print the sums of what they recorded."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--only-counted", action="store_true", help="leave out the tests that count neither")
    options = parser.parse_args()
    sizes = {
        "TABLEWATCH_CRASH_ROUNDS": str(options.kills),
        "TABLEWATCH_HOSTILE_INPUTS": str(options.inputs),
        "TABLEWATCH_CRASH_EVERY": "1",
        "TABLEWATCH_SOAK_RUNS": os.environ.get("TABLEWATCH_SOAK_RUNS", "10000"),
    }
    files = COUNTED if options.only_counted else (*OTHERS, COUNTED[1])
    with TemporaryDirectory() as name:
        report = Path(name) / "report.xml"
        words = (*_OPTIONS, f"--junitxml={report}", *files)
        code = subprocess.call([sys.executable, "-m", "pytest", *words], env={**os.environ, **sizes})
        counts = count(report) if report.is_file() else Counter[str]()  # pytest was ended before it wrote one
    for counted in _NAMES:
        number = f"{counts[counted]:,}" if counted in counts else "not counted"
        sys.stdout.write(f"{counted}: {number}\n")
    sys.exit(code)


def count(report: Path) -> Counter[str]:
    """Return the sums of what the tests of a report in JUnit's form recorded."""
    sums: Counter[str] = Counter()
    for recorded in ET.parse(report).iter("property"):  # noqa: S314 - written by pytest a moment ago
        if recorded.get("name") in _NAMES:
            sums[recorded.get("name", "")] += int(recorded.get("value", ""))
    return sums


if __name__ == "__main__":
    main()
