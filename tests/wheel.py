"""What `.ci/run` asks of the wheel, installed alone: run by its Python from standard input, in an empty folder.

Its packages lie in `tablewatch` (ADR 82), every command answers `--help`, and what needs an extra names it.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from importlib.metadata import packages_distributions
from io import StringIO
from pathlib import Path
from typing import Any

from tablewatch._internal.monitor.cli import _build_root, build_command, command_files, main

NAMES = {"checks", "incidents", "pytest_tablewatch", "remedies", "tablewatch"}
"""Names at the top that belong to tablewatch, three of them former ones (`tablewatch._former`)."""
CONFIG = """\
version: 1
project: wheel
sources: {{s: {source}}}
tables: [{{name: t, source: s, checks: [{{type: volume, min: 1}}]}}]
"""
LOCAL = CONFIG.format(source='{files: "*.csv"}')
OIDC = (
    "web: {oidc: {issuer: 'https://example.org', client_id: a, client_secret: b}, public_url: 'https://example.org'}\n"
)
ON_CALL = """\
alerts:
  channels:
    a: {apprise: "json://localhost:9/"}
    duty: {on_call: {calendar: duty.ics, people: {Sato: a}, fallback: a}}
"""
MISSING = {
    "mysql": (CONFIG.format(source='{url: "mysql://u:p@127.0.0.1:1/d"}'), ["check"]),
    "postgres": (CONFIG.format(source='{url: "postgresql://u:p@127.0.0.1:1/d"}'), ["check"]),
    "delta": (CONFIG.format(source='{delta: "*"}'), ["check"]),
    "iceberg": (CONFIG.format(source='{iceberg: {uri: "sqlite:///lake.db"}}'), ["check"]),
    "spark": (CONFIG.format(source='{spark: "sc://127.0.0.1:1"}'), ["check"]),
    "web": (LOCAL, ["serve"]),
    "web,oidc": (LOCAL + OIDC, ["serve"]),
    "mcp": (LOCAL, ["mcp"]),
    "apprise": (LOCAL + ON_CALL, ["config", "check"]),
    "disclosure": (LOCAL, ["privacy", "risk", "t.csv", "-q", "a,b", "--sampling-fraction", "0.5"]),
    "gx": (LOCAL.replace("volume, min: 1", "expectation, expectation: ExpectTableColumnCountToEqual"), ["check"]),
    "oncall": (LOCAL + ON_CALL, ["alert", "on-call"]),
}
"""By extra: a configuration, and a command that needs the extra there."""


def commands() -> Iterator[Sequence[str]]:
    """Yield the words of every command and of every group."""
    yield []
    for name in command_files():
        yield from _below([name], build_command(name))


def _below(words: Sequence[str], command: Any) -> Iterator[Sequence[str]]:
    yield words
    for name, child in getattr(command, "commands", {}).items():
        yield from _below([*words, name], child)


def help_of(words: Sequence[str]) -> str:
    """Return what a command prints for `--help`; empty where it does not leave with 0."""
    sys.argv = ["tablewatch", *words, "--help"]
    with redirect_stdout(StringIO()) as printed:
        try:
            main()
        except SystemExit as ended:
            return printed.getvalue() if ended.code in {0, None} else ""
    return printed.getvalue()


def problems() -> Iterator[str]:
    """Yield a line for each promise that does not hold."""
    owners = packages_distributions()
    names = {name for name, distributions in owners.items() if "tablewatch" in distributions}
    if names != NAMES:
        yield f"at the top are {sorted(names)}, expected {sorted(NAMES)}"
    _build_root()
    yield from (f"no help: tablewatch {' '.join(words)}" for words in commands() if not help_of(words))
    Path("duty.ics").write_text("BEGIN:VCALENDAR\nVERSION:2.0\nEND:VCALENDAR\n", encoding="utf-8")
    Path("t.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    for extra, (config, words) in MISSING.items():
        Path("tablewatch.yaml").write_text(config, encoding="utf-8")
        line = [sys.executable, "-m", "tablewatch", *words]
        done = subprocess.run(line, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=300)
        answer = " ".join((done.stdout + done.stderr).split())
        if f"tablewatch[{extra}]" not in answer or done.returncode not in {0, 2, 3}:
            yield f"tablewatch {' '.join(words)} does not name [{extra}] (exit {done.returncode}): {answer}"


if __name__ == "__main__":
    sys.exit("\n".join(problems()) or None)
