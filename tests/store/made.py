"""Values to write in a store, with only what a test is about to be said."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from checks import Kind, Message, OccurrenceMethod, Severity, Status, UnknownReason
from incidents import Episode, FoundBy, Onset, Opened, Watch
from store import Result, Run, Store

AT = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def run(number: int = 0, *, at: datetime = AT, table: str = "crm.customers") -> Run:
    """Return a run of two seconds."""
    return Run(f"run-{table}-{number}", table, at, at + timedelta(seconds=2))


def result(
    of: Run,
    name: str = "not-null",
    status: Status = Status.PASS,
    *,
    reason: UnknownReason | None = None,
    observed: Mapping[str, Any] | None = None,
) -> Result:
    """Return what a check found in a run."""
    return Result(
        run_id=of.id,
        check_id=f"{of.table}.{name}",
        table=of.table,
        measured_at=of.started_at,
        status=status,
        reason=UnknownReason.TIMEOUT if status is Status.UNKNOWN and reason is None else reason,
        observed={"rows": 3} if observed is None else observed,
        message=Message("{rows:count} rows", {"rows": 3}, one="one row", counted="rows"),
        duration_s=0.25,
    )


def measure(store: Store, *what: tuple[datetime, Status], name: str = "volume") -> None:
    """Write down measurements of `crm.customers.<name>`; each observed its own place in the list."""
    runs = [Run(f"run-{name}-{at.isoformat()}", "crm.customers", at, at) for at, _ in what]
    results = [
        result(one, name, status, observed={"number": number})
        for number, (one, (_, status)) in enumerate(zip(runs, what, strict=True))
    ]
    with store.writing() as tx:
        tx.results.add_runs(runs, results)


def watch(check_id: str = "crm.customers.not-null", **known: Any) -> Watch:
    """Return what is known of a check that passed once."""
    return Watch(check_id, **{"monitored_since": AT, "last_run_at": AT, "last_status": "pass", **known})


def episode(detected_at: datetime = AT, *, hours_before: float = 1, resolved_at: datetime | None = None) -> Episode:
    """Return an episode that began some hours before it was detected."""
    began = detected_at - timedelta(hours=hours_before)
    onset = Onset(began, began, detected_at, OccurrenceMethod.LAST_GOOD_RUN)
    return Episode(onset, detected_at, resolved_at, first_failed_at=detected_at)


def opened(name: str = "not-null", *, table: str = "crm.customers", **said: Any) -> Opened:
    """Return the change that opens an incident of a check."""
    check_id = f"{table}.{name}"
    told = {
        "fingerprint": check_id,
        "table": table,
        "check_id": check_id,
        "incident_kind": Kind.QUALITY,
        "severity": Severity.ERROR,
        "title": "{column}: {nulls:count} rows are NULL",
        "title_values": {"column": "email", "nulls": 12},
        "found_by": FoundBy.CHECK,
        "episode": episode(),
        **said,
    }
    return Opened(**told)
