"""Rechecks that a simulation skips change no alert."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from checks import Kind, OccurrenceMethod, Severity
from incidents import Event, FoundBy, Incident, Resolution, State, apply
from incidents._model import Episode, Onset
from incidents.events import Acknowledged, Change, Corrected, Escalated, Flapped, Opened, Reopened, Resolved, Snoozed
from monitor.simulation.replayed_alerts import Alarm, ReplayedAlerts
from store import Scope, Silence
from tests.monitor.simulation.played import MINUTE, START, made
from tests.tiers import examples

TABLES = ("orders", "lines", "stock")
"""`lines` is downstream of `orders`."""
KEY = "0123456789abcdef0123456789abcdef"
"""No key: 32 characters."""
ROUTES = (
    "{to: [desk]}",
    "{to: [desk], quiet_hours: night}",
    "{to: [desk], quiet_hours: lunch}",
    "{to: [boss], quiet_hours: lunch}",
    "{to: [boss], unacknowledged_for: 2h}",
    "{to: [boss], unacknowledged_for: 25m, quiet_hours: night}",
    '{to: [boss], digest: {at: "03:11"}}',
    '{to: [boss], digest: {at: "03:11"}, quiet_hours: night}',
    '{to: [boss], digest: {at: "08:03"}, quiet_hours: night}',
    '{to: [boss], digest: {at: "08:03"}, match: {table: lines}}',
    "{to: [desk], match: {table: lines}}",
    "{to: [pager], match: {severity: error}}",
    "{to: [pager], unacknowledged_for: 40m, quiet_hours: lunch}",
)
RULES = st.fixed_dictionaries(
    {
        "routes": st.lists(st.sampled_from(ROUTES), min_size=1, max_size=4).map(tuple),
        "group_wait": st.sampled_from(["0s", "30s", "7m"]),
        "remind_every": st.sampled_from(["47m", "3h", "2d"]),
        "hourly_cap": st.sampled_from([1, 2, 60]),
        "maintenance": st.none() | st.tuples(st.sampled_from(TABLES), st.integers(0, 500), st.integers(10, 300)),
    }
)
SILENCES = st.lists(
    st.tuples(st.sampled_from(TABLES), st.integers(0, 500), st.integers(10, 300), st.sampled_from([0, 7])), max_size=2
)
"""Of a table: the minute at which each starts, its length, and by how much it was ended earlier."""
GAPS = st.sampled_from([0, 0, 1, 2, 4, 6, 11, 35, 60, 100, 200])
STEPS = st.tuples(
    GAPS,
    st.sampled_from(TABLES),
    st.sampled_from(["fail", "fail", "fail", "pass", "pass", "pass", "acknowledge", "snooze", "flap", "correct"]),
    st.sampled_from(Severity),
)
HOURS = st.sampled_from([4, 8, 26])
FAIL, FLAP, SNOOZE, ACKNOWLEDGE = ((verb, Severity.ERROR) for verb in ("fail", "flap", "snooze", "acknowledge"))
BOTH = [(1, "orders", *FAIL), (1, "lines", *FAIL)]
HELD = ("{to: [desk]}", '{to: [boss], digest: {at: "08:03"}, match: {table: lines}}')
"""An alert of `lines` waits for a digest, so that it is decided on again every five minutes."""
PAGED = ("{to: [pager], quiet_hours: night}", HELD[1])
MUTED = ('{to: [boss], digest: {at: "08:03"}}', "{to: [desk], match: {table: lines}}")
"""An alert of `orders` waits for a digest, and until then mutes one of `lines`, of which `desk` may be notified."""

LATER = (
    '{to: [boss], digest: {at: "03:11"}, match: {table: lines}}',
    "{to: [desk], quiet_hours: night, match: {table: orders}}",
)
"""An alert of `orders` waits for the end of the night, and mutes one of `lines`, which waits for a digest before it."""
LATER_IN_NIGHT = (
    '{to: [boss], digest: {at: "03:11"}, quiet_hours: night, match: {table: stock}}',
    "{to: [desk], match: {table: lines}}",
    '{to: [boss], digest: {at: "08:03"}, match: {table: orders}}',
)
"""The digest for an alert of `stock` is due in the night, so that it waits for its end."""


def configured(folder: Path, rules: dict[str, Any]) -> Any:
    """Return a project with these rules."""
    values = {"routes": ["{to: [desk]}"], "group_wait": "0s", "remind_every": "2d", "hourly_cap": 60} | rules
    alerts = f"""    pager: {{pagerduty: {{routing_key: "{KEY}"}}}}
  remind_every: {values["remind_every"]}
  hourly_cap: {values["hourly_cap"]}
  quiet_hours:
    night: {{start: "01:02", end: "05:31"}}
    lunch: {{start: "00:32", end: "02:17", afterwards: drop}}
  routes: [{", ".join(values["routes"])}]
"""
    head = "project: shop\n"
    if values.get("maintenance"):
        table, start, length = values["maintenance"]
        begin, end = (moment(minute).isoformat() for minute in (start, start + length))
        head += f"maintenance: [{{tables: [{table}], start: '{begin}', end: '{end}', reason: move}}]\n"
    stock = "tables:\n  - {name: stock, source: files, checks: [{type: not_null, columns: [id]}]}\n  - name: orders\n"
    return made(
        folder,
        alerts,
        wait=("group_wait: 0s", f"group_wait: {values['group_wait']}"),
        tables=("tables:\n  - name: orders\n", stock),
        head=("project: shop\n", head),
    )


def moment(minute: int) -> datetime:
    """Return a time in minutes after the start."""
    return START + minute * MINUTE


def history(steps: Iterable[tuple[int, str, str, Severity]]) -> Iterator[Event]:
    """Yield the events of incidents, at most one of a table; a step has the minutes since the one before."""
    incidents: dict[str, Incident] = {}
    minute = 0
    for gap, table, verb, severity in steps:
        minute += gap
        incident = incidents.get(table)
        change = changed(incident, verb, severity, table=table, at=moment(minute))
        if change is not None:
            event = Event(TABLES.index(table) + 1, moment(minute), "mina", change)
            incidents[table] = apply(incident, event)
            yield event


def changed(incident: Incident | None, verb: str, severity: Severity, *, table: str, at: datetime) -> Change | None:
    """Return what a step means for the incident of a table; None if it cannot be."""
    episode = Episode(Onset(at, at, at, OccurrenceMethod.LAST_GOOD_RUN), at)
    if incident is None:
        opened = (f"{table}.not-null", table, f"{table}.not-null", Kind.QUALITY, severity, "x", {}, FoundBy.CHECK)
        return Opened(*opened, episode) if verb == "fail" else None
    if incident.state is State.RESOLVED:
        return Reopened(episode) if verb == "fail" else None
    changes = {
        "fail": lambda: Escalated(severity),
        "pass": lambda: Resolved(at, Resolution.FIXED),
        "acknowledge": lambda: Acknowledged(at),
        "snooze": lambda: Snoozed(at + 33 * MINUTE),
        "flap": lambda: Flapped(not incident.flapping),
        "correct": lambda: Corrected(-1, detected_at=max(incident.last.onset.at, at - 40 * MINUTE)),
    }
    return changes[verb]()


class EveryRecheck(ReplayedAlerts):
    """Decides on what is held back every five minutes, as the daemon does."""

    def _skip_rechecks(self, *_: object) -> None:
        pass


def alarms(
    replayed: type[ReplayedAlerts], project: Any, silences: Sequence[Silence], events: Iterable[Event], hours: int
) -> list[Alarm]:
    """Return the alerts of some hours."""
    checks = frozenset(f"{table}.not-null" for table in TABLES)
    return list(replayed(project, silences, checks).play(events, until=START + timedelta(hours=hours)))


@given(RULES, SILENCES, st.lists(STEPS, min_size=2, max_size=20), HOURS)
@example({"routes": MUTED}, [("orders", 101, 200, 0)], BOTH, 7).via("the start of a silence upstream")
@example({"routes": MUTED, "maintenance": ("orders", 101, 200)}, [], BOTH, 7).via("the start of maintenance upstream")
@example({}, [("stock", 0, 200, 7)], [(1, "stock", *FAIL)], 7).via("a silence that was ended")
@example({"routes": HELD, "remind_every": "47m"}, [], [(1, "lines", *FAIL)], 7).via("a reminder")
@example({"routes": HELD}, [], [(1, "stock", *FAIL), (1, "stock", *FLAP), (700, "lines", *FAIL)], 25).via(
    "a flapping day"
)
@example(
    {"routes": HELD, "remind_every": "47m"}, [], [(1, "stock", *FAIL), (39, "stock", *SNOOZE), (1, "lines", *FAIL)], 3
).via("the end of a snooze")
@example(
    {"routes": (*HELD, "{to: [boss], unacknowledged_for: 2h}")},
    [],
    [(1, "stock", *FAIL), (3, "lines", *FAIL), (7, "lines", *ACKNOWLEDGE)],
    7,
).via("the next in line")
@example({"routes": MUTED}, [], [*BOTH, (31, "orders", "pass", Severity.ERROR)], 4).via("an end upstream")
@example({"routes": PAGED}, [], [(70, "lines", *FAIL), (10, "lines", *ACKNOWLEDGE)], 7).via("a notice that follows")
@example(
    {"routes": LATER, "maintenance": ("orders", 60, 100)},
    [],
    [(62, "lines", *FAIL), (38, "orders", *FAIL), (110, "orders", "pass", Severity.ERROR)],
    7,
).via("the end of maintenance upstream")
@example(
    {"routes": LATER_IN_NIGHT, "remind_every": "3h", "maintenance": ("orders", 201, 100)},
    [],
    [(12, "lines", *FAIL), (28, "orders", *FAIL), (8, "stock", *FAIL)],
    7,
).via("the start of quiet hours before a digest")
@settings(max_examples=examples(120), deadline=None)
def test_skipped_rechecks_change_no_alert(rules, silences, steps, hours):
    """Every alert is sent at the same time, in the same message, as if each recheck had been made."""
    with tempfile.TemporaryDirectory() as folder:
        project = configured(Path(folder), rules)
    events = list(history(steps))
    stored = [
        Silence(
            number,
            Scope.TABLE,
            table,
            moment(start),
            moment(start + length),
            "x",
            "mina",
            moment(start + length - early),
        )
        for number, (table, start, length, early) in enumerate(silences)
    ]
    every = alarms(EveryRecheck, project, stored, events, hours)
    assert alarms(ReplayedAlerts, project, stored, events, hours) == every
