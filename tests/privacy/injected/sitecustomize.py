"""Bugs, as a test asks for them by the names of checks; Python imports this by itself where the folder is on its path.

What is raised quotes what the code has in hand at that moment: rows, measurements, results.
"""

import os
import signal
from typing import Any, NoReturn

from tests.privacy.tokens import WORD


class _UnforeseenError(Exception):
    """An error without a message of its own."""


def _stumbling(original: Any) -> Any:
    def judge(self: Any, measurement: Any, history: Any) -> Any:
        if self.name.endswith("-bug"):
            raise _UnforeseenError(f"{WORD}judge {measurement!r} {history!r}")
        return original(self, measurement, history)

    return judge


def _stumbling_plan(original: Any) -> Any:
    def wants(self: Any, context: Any) -> Any:
        if self.name.endswith("-plan-slip"):
            raise _UnforeseenError(f"{WORD}wants {context!r}")
        return original(self, context)

    return wants


def _stumbling_driver(original: Any) -> Any:
    def fetch(self: Any, sql: str) -> Any:
        if "driver-slip" in sql or "worker-slip" in sql:
            rows = original(self, "SELECT * FROM people")
            if "worker-slip" in sql:
                _end(rows)
            raise _UnforeseenError(f"{WORD}fetch {rows!r}")
        return original(self, sql)

    return fetch


def _end(rows: Any) -> NoReturn:
    os.kill(os.getpid(), signal.SIGABRT)
    raise AssertionError(rows)


def _crashing(original: Any) -> Any:
    def show(report: Any, **options: Any) -> Any:
        if os.environ.get("CANARY_CRASH"):
            _crash(report)
        return original(report, **options)

    return show


def _crash(report: Any) -> NoReturn:
    cause = _UnforeseenError(f"{WORD}inner {report!r}")
    raise KeyError(f"{WORD}outer {cause} {os.environ!r}") from cause


def _plant() -> None:
    from checks._catalog import load_catalog
    from monitor.reporting.terminal_views import pass_report
    from sources._engine import EngineSource

    kinds: list[Any] = [*load_catalog().values()]
    for check in kinds:
        check.judge = _stumbling(check.judge)
        check.wants = _stumbling_plan(check.wants)
    places: list[Any] = [EngineSource, pass_report]
    source, report = places
    source.fetch = _stumbling_driver(source.fetch)
    report.pass_as_json, report.pass_lines = _crashing(report.pass_as_json), _crashing(report.pass_lines)


_plant()
