"""Artifacts as dbt writes them, with the keys that are read and some that are not."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.monitor.shop import NOW


def metadata(schema: str, *, at: datetime = NOW, invocation: str = "f0b42944-eeee") -> dict[str, Any]:
    """Return the metadata of an artifact."""
    return {
        "dbt_schema_version": f"https://schemas.getdbt.com/dbt/{schema}.json",
        "dbt_version": "1.11.16",
        "generated_at": at.isoformat(),
        "invocation_id": invocation,
        "invocation_started_at": (at - timedelta(minutes=1)).isoformat(),
        "env": {},
    }


def entry_of_test(reference: str, status: str, failures: int | None = None, *, at: datetime = NOW) -> dict[str, Any]:
    """Return the entry of a test; one that was skipped has no timing."""
    start = (at - timedelta(seconds=30)).isoformat()
    timing = [{"name": name, "started_at": start, "completed_at": start} for name in ("compile", "execute")]
    return {
        "unique_id": reference,
        "status": status,
        "failures": failures,
        "message": "Got 1 result, canary-7f3a, configured to fail if != 0",
        "timing": [] if status == "skipped" else timing,
        "execution_time": 0.02,
        "adapter_response": {"_message": "OK"},
        "compiled_code": "select canary-7f3a",
    }


def aged(reference: str, status: str, hours: float, *, at: datetime = NOW) -> dict[str, Any]:
    """Return the entry of a source's freshness: the newest row is so many hours old, 24 are too many."""
    return {
        "unique_id": reference,
        "status": status,
        "max_loaded_at": (at - timedelta(hours=hours)).isoformat(),
        "snapshotted_at": at.isoformat(),
        "max_loaded_at_time_ago_in_s": hours * 3600,
        "criteria": {"warn_after": None, "error_after": {"count": 24, "period": "hour"}, "filter": None},
        "execution_time": 0.1,
    }


_OPTIONS = ("sample", "limit", "vars", "target", "defer", "favor_state")


def write_run_results(folder: Path, *entries: Any, which: str = "test", **about: Any) -> Path:
    """Write `run_results.json` of an invocation of everything; `select` and the like may be given."""
    args = {"which": which, "select": [], "exclude": [], "resource_types": [], "empty": False}
    args |= {key: about.pop(key) for key in list(about) if key in {*args, *_OPTIONS}}
    return _write(folder / "run_results.json", "run-results/v6", entries, args=args, **about)


def write_sources(folder: Path, *entries: Any, name: str = "sources.json", **about: Any) -> Path:
    """Write `sources.json`, or `freshness.json` of dbt 2."""
    return _write(folder / name, "sources/v3" if name == "sources.json" else "freshness/v0", entries, **about)


def _write(path: Path, schema: str, entries: Any, *, args: Any = None, **about: Any) -> Path:
    content = {"metadata": metadata(schema, **about), "results": list(entries), "elapsed_time": 0.4}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content if args is None else content | {"args": args}), encoding="utf-8")
    return path
