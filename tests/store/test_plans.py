"""However many tables there are, a step of the daemon reads as many rows as it asks for: indexes lead to them."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event

from checks import Severity
from store import (
    Delivery,
    LastNotification,
    Lease,
    MessageSubject,
    Run,
    RunCost,
    Scheduled,
    Skip,
    SkipReason,
    SlotDecision,
    Store,
    WriteTransaction,
    open_store,
)
from tests.store.made import AT, HOUR, opened, run

ROWS = 300
STEPS: dict[str, Callable[[WriteTransaction], Any]] = {
    "due": lambda tx: tx.schedule.due(AT, 5),
    "waiting": lambda tx: tx.schedule.waiting(AT, 5),
    "next due": lambda tx: tx.schedule.next_due(),
    "lag": lambda tx: tx.schedule.lag(AT),
    "delayed": lambda tx: tx.schedule.delayed(),
    "spent today": lambda tx: tx.costs.of_source("shop", AT.date()),
    "expected costs": lambda tx: tx.costs.expected(["t1", "t2"]),
    "costs of a table": lambda tx: tx.costs.of_table("t1", AT.date(), AT.date()),
    "add costs": lambda tx: tx.results.add_runs([_costly_run()], []),
    "claim": lambda tx: tx.slots.claim(_claims(tx), holder="one", now=AT, lease_until=AT),
    "renew": lambda tx: tx.slots.renew(_leases(), now=AT, lease_until=AT),
    "finish": lambda tx: tx.slots.finish(_leases(), now=AT, run_ids={1: "run"}),
    "is over": lambda tx: tx.slots.tables_over(AT, 5),
    "take over": lambda tx: tx.slots.take_over(AT, holder="two", lease_until=AT, limit=5),
    "take over from anyone": lambda tx: tx.slots.take_over(AT, holder="two", lease_until=AT, limit=5, anyone=True),
    "slots": lambda tx: tx.slots.since(AT, 5),
    "skips": lambda tx: tx.schedule.skips(AT, 5),
    "transitions": lambda tx: tx.outbox.due(AT, 5),
    "incidents of a table": lambda tx: tx.incidents.of_table("crm.customers", since=AT - HOUR, until=AT + HOUR, most=5),
    "logged events": lambda tx: tx.logged_events.between(AT - HOUR, AT + HOUR, most=5),
    "results around": lambda tx: tx.results.around("t7.not-null", AT, before=5, after=2),
    "settle": lambda tx: tx.outbox.settle([1, 2], AT, {}),
    "decisions": lambda tx: tx.outbox.decided_since(AT, 5),
    "lasting warnings": lambda tx: tx.warnings.lasting(["t1.not-null", "t2.not-null"]),
    "news of warnings": lambda tx: tx.outbox.of_warnings([1, 2]),
    "newest news": lambda tx: tx.outbox.latest([1, 2]),
    "requeue": lambda tx: tx.outbox.requeue([1, 2], AT),
    "lasting incidents": lambda tx: tx.outbox.open_incidents(),
    "told": lambda tx: tx.outbox.last_notifications([1, 2]),
    "told of lasting incidents": lambda tx: tx.outbox.last_notifications_of_open(),
    "lease messages": lambda tx: tx.deliveries.lease(AT, holder="one", lease_until=AT, limit=5),
    "sent": lambda tx: tx.deliveries.mark_sent("msg_1", AT, "one"),
    "messages": lambda tx: tx.deliveries.since(AT, 5),
    "sent at": lambda tx: tx.deliveries.sent_at(["msg_1", "msg_2"]),
    "cap": lambda tx: tx.deliveries.created_since(AT, ["ops", "mail"]),
}
BOUNDED = (
    r"SCAN json_each ",  # what was asked for
    r"SCAN clock$",  # one row
    r"SCAN name_change$",  # a row for each rename
    r"SCAN schedule USING COVERING INDEX ix_schedule_due_us_table_name$",  # in the order that is asked for, to a limit
    r"SCAN slot USING INDEX ix_slot_running_lease$",  # what runs
    r"SCAN schedule USING INDEX ix_schedule_delayed$",  # what is delayed
    r"SCAN incident USING INDEX uq_incident_open_fingerprint$",  # what lasts
    r"SCAN delivery USING INDEX ix_delivery_(waiting|dead)$",
)
"""What may be read whole: it is short, or left as soon as there is enough."""


def _claims(tx: WriteTransaction) -> list[SlotDecision]:
    skip = Skip("t", AT, AT, 1, SkipReason.LATE)
    return [SlotDecision(due, due.next_slot, AT + HOUR, AT + HOUR, skip) for due in tx.schedule.due(AT, 5)]


def _costly_run() -> Run:
    return replace(run(ROWS), cost=RunCost("shop", AT.date(), 1.0))


def _leases() -> list[Lease]:
    return [Lease(number, "t", AT, 1, 0) for number in (1, 2)]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Yield a store with a few hundred rows in every table that grows."""
    file = tmp_path_factory.mktemp("plans") / "store.db"
    tables = [f"t{number}" for number in range(ROWS)]
    with open_store(f"sqlite:///{file}") as store:
        with store.writing() as tx:
            tx.schedule.replace([Scheduled(table, "every 1h", "UTC", AT, AT) for table in tables])
            incidents = [tx.incidents.open(opened(table), recorded_at=AT, actor="x") for table in tables]
            tx.outbox.save_notifications(
                [
                    LastNotification(incident.id, "ops", "first", Severity.ERROR, 1, AT, "msg_1")
                    for incident in incidents
                ]
            )
            tx.deliveries.add(
                [Delivery(f"msg_{table}", "ops", MessageSubject.INCIDENTS, {}, AT, AT, about=table) for table in tables]
            )
        with store.writing() as tx:
            claims = [SlotDecision(due, AT, AT + HOUR, AT + HOUR) for due in tx.schedule.due(AT, ROWS // 2)]
            tx.slots.claim(claims, holder="one", now=AT, lease_until=AT + HOUR)
        yield store


@contextmanager
def _plans(store: Store) -> Iterator[list[str]]:
    """Gather how SQLite would run what is run in the block, a line for each loop."""
    lines: list[str] = []

    def explain(_connection: Any, cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        if statement.startswith(("SELECT", "UPDATE", "INSERT", "DELETE")):
            asked = parameters[0] if isinstance(parameters, list) else parameters
            plan = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", asked)
            lines.extend(row[3] for row in plan)

    event.listen(store._writer, "before_cursor_execute", explain)
    try:
        yield lines
    finally:
        event.remove(store._writer, "before_cursor_execute", explain)


@pytest.mark.parametrize("step", STEPS)
def test_no_step_reads_whole_tables(full: Store, step: str) -> None:
    """No statement of a step passes over all rows of a table that grows, or sorts what an index has in order."""
    with _plans(full) as lines, full.writing() as tx:
        STEPS[step](tx)
    assert lines
    assert [line for line in lines if line.startswith("SCAN") and not re.match("|".join(BOUNDED), line)] == []
    assert [line for line in lines if "TEMP B-TREE" in line] == []


def test_results_of_a_period_are_counted_from_its_runs(full: Store) -> None:
    """Results of other times are not read, however many there are."""
    with _plans(full) as lines, full.writing() as tx:
        tx.results.count_by_status(AT, AT + HOUR)
    read = [line for line in lines if line.startswith(("SEARCH", "SCAN"))]
    assert "ix_run_started_us" in read[0]
    assert "(run=?)" in read[1]


def test_counting_messages_reads_no_message(full: Store) -> None:
    """Messages are counted by indexes: what they say, which is long, is not read."""
    with _plans(full) as lines, full.writing() as tx:
        tx.deliveries.count_by_state()
    assert len(lines) == 3
    assert all("USING" in line for line in lines)


def test_messages_are_leased_by_what_waits(full: Store) -> None:
    """To find what is to be sent next, nothing is read of all the messages that were sent already."""
    with _plans(full) as lines, full.writing() as tx:
        tx.deliveries.lease(AT, holder="one", lease_until=AT, limit=5)
    read = [line for line in lines if line.startswith(("SEARCH", "SCAN"))]
    assert [line for line in read if "ix_delivery_waiting" not in line and "INTEGER PRIMARY KEY" not in line] == []
