"""A folder with small tables, in which commands are run with one configuration or another, without a process."""

import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import time_machine

from monitor.cli import run
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.terminal.output import Invocation

NOW: Final = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)
"""Monday of week 48, 18:00 in Tokyo."""
FILES: Final = {
    "orders.csv": "id,customer,amount\n1,ann,5\n2,,7\n3,,9\n",
    "refunds.csv": "id,customer,at\n1,ann,2026-11-23 08:30:00\n",
    "odd.csv": "made by a tool\nid;when;day;what\n"
    "1;05/04/2026 10:00:00;05/04/2026;'a;''b'\n2;06/04/2026 11:00:00;06/04/2026;n/a\n",
    "day/orders-2026-11-21.csv": "id\n1\n",
    "day/orders-2026-11-22.csv": "id\n2\n",
    "run_results.json": '{"metadata": {"invocation_id": "1", "generated_at": "2026-11-20T08:00:00Z"}, "results": '
    '[{"unique_id": "test.ids", "status": "pass"}], "args": {"which": "build", "target": "prod", "vars": {"day": 1}, '
    '"defer": true, "favor_state": true}}',
    "results.json": '{"origin": "other", "run_id": "1", '
    '"started_at": "2026-11-23T08:00Z", "ended_at": "2026-11-23T08:00Z", '
    '"results": [{"check": "sums", "status": "pass"}]}',
    "incidents.csv": "table,title,occurred,detected,resolved\n"
    "orders,A,2026-11-17T00:00Z,2026-11-17T04:00Z,2026-11-17T13:00Z\n"
    "refunds,B,2026-11-20T00:00Z,2026-11-20T04:00Z,2026-11-21T13:00Z\n",
}
BASE: Final[Mapping[str, Any]] = {
    "version": 1,
    "project": "shop",
    "timezone": "UTC",
    "sources": {"lake": {"files": "*.csv"}},
    "domains": {"sales": {"owner": "crew"}, "other": {}},
    "owners": {"crew": {}, "desk": {}},
    "cost": {"currency": "EUR", "tiers": {"gold": {"per_hour": 100}, "silver": {"per_hour": 10}}},
    "tables": [
        {
            "name": "orders",
            "source": "lake",
            "domain": "sales",
            "tier": "gold",
            "checks": [{"type": "not_null", "columns": ["customer"]}],
        },
        {"name": "refunds", "source": "lake", "checks": [{"type": "not_null", "columns": ["id"]}]},
    ],
}
IMPORT: Final = ("import", "incidents", "incidents.csv", "--set", "severity=critical")
CHECK: Final = ("check",)
_CHANGING: Final = frozenset({"duration_s", "duration", "measured_at", "seconds", "elapsed_s", "files_read"})


def nested(base: Mapping[str, Any], *path: str | int, **changes: Any) -> Mapping[str, Any]:
    """Return a configuration with some keys of a section set."""
    copy: Any = json.loads(json.dumps(base))
    place = copy
    for step in path:
        place = place.setdefault(step, {}) if isinstance(place, dict) else place[step]
    place.update(changes)
    return dict(copy)


@contextmanager
def folder_of(config: Mapping[str, Any]) -> Iterator[Path]:
    """Yield a working folder with the tables and a configuration."""
    with TemporaryDirectory() as name, chdir(name):
        for file, text in FILES.items():
            Path(file).parent.mkdir(exist_ok=True)
            Path(file).write_text(text, encoding="utf-8")
        Path("tablewatch.yaml").write_text(json.dumps(config), encoding="utf-8")
        if any("match" in table for table in config["tables"]):
            _run(("table", "refresh"), NOW)
        yield Path(name)


@contextmanager
def project_of(config: Mapping[str, Any], now: datetime = NOW) -> Iterator[Project]:
    """Yield a project in such a folder."""
    with folder_of(config) as folder:
        yield Project(load(folder / "tablewatch.yaml", environment={}), SimulatedClock(now))


def command(*commands: tuple[str, ...], after: timedelta = timedelta()) -> Callable[[Mapping[str, Any]], object]:
    """Return an observation: the exit code and the output of the last of some commands, each `after` the one before."""

    def observe(config: Mapping[str, Any]) -> object:
        with folder_of(config) as folder:
            for number, words in enumerate(commands):
                code, text = _run(words, NOW + number * after)
            return code, _steady(text.replace(str(folder), "FOLDER"))

    return observe


def _run(words: tuple[str, ...], now: datetime) -> tuple[int, str]:
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with time_machine.travel(now, tick=False), redirect_stdout(out), redirect_stderr(out):
        code = run(words, Invocation())
    return code, out.buffer.getvalue().decode()  # type: ignore[attr-defined]  # a BytesIO


def _steady(text: str) -> object:
    """Return a text, or what it holds as JSON, without what differs from run to run."""
    try:
        return _without(json.loads(text))
    except ValueError:
        return text.replace(os.sep, "/")


def _without(value: Any) -> Any:
    if isinstance(value, list):
        return [_without(one) for one in value]
    if isinstance(value, dict):
        return {name: _without(one) for name, one in value.items() if name not in _CHANGING}
    return value
