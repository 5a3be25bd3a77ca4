"""Make a store as large as a page may meet, with bulk inserts: what it holds is made up, its shape is not."""

import random
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final

from incidents import from_us, to_us
from store import open_store

END: Final = datetime(2026, 11, 18, 9, 0, tzinfo=UTC)
"""The present: a Wednesday."""
YEARS: Final = timedelta(days=3 * 365)
_HOUR_US: Final = 3_600_000_000
CHECKS: Final = ("rows", "nulls")
OWNERS: Final = 20
CAUSES: Final = ("late upstream", "code change", "schema change", "manual edit")
_HEAD: Final = """version: 1
project: large
timezone: Asia/Tokyo
sources: {s: {url: "sqlite:///source.db"}}
cost:
  currency: JPY
  tiers: {gold: {per_hour: 120000}, silver: {per_hour: 30000}, bronze: {per_hour: 3000}}
  business_hours: {days: mon-fri, start: "09:00", end: "19:00", outside_factor: 0.2}
alerts:
  channels: {desk: {apprise: "json://localhost:9/"}}
"""
_PROMISES: Final = """slo:
  "tier:gold": {downtime: 2h per 30d, ttd: 1h, ttr: 4h}
  "tier:silver": {downtime: 8h per 30d, ttd: 2h, ttr: 8h}
  "tier:bronze": {downtime: 1d per 30d, ttd: 4h, ttr: 1d}
products:
"""
_PRODUCT: Final = "  p{0}: {{tables: ['domain:d{0}'], owner: o{0}, promises: {{downtime: 2d per 30d, ttd: 4h}}}}"
_INCIDENT: Final = (
    "INSERT INTO incident (id, fingerprint, table_name, check_id, kind, severity, title, title_values, found_by, state,"
    " resolution, detected_us, ended_us, regressed, flapping, cause, answered)"
    " VALUES (?, ?, ?, ?, 'quality', ?, '{rows:count} rows', '{\"rows\":41203}', ?, ?, ?, ?, ?, 0, 0, ?, ?)"
)
_EPISODE: Final = (
    "INSERT INTO episode (incident_id, number, occurred_us, earliest_us, latest_us, method, detected_us, resolved_us,"
    " acknowledged_us) VALUES (?, 0, ?, ?, ?, 'last-good-run', ?, ?, ?)"
)
_EVENT: Final = (
    "INSERT INTO incident_event (incident_id, number, recorded_us, actor, kind, body, checksum)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_WATCH: Final = (
    "INSERT INTO check_state (check_id, monitored_since_us, last_run_us, last_status, last_pass_ended_us, fail_streak,"
    " pass_streak, recent, flapping) VALUES (?, ?, ?, ?, ?, 0, 1, 'P', 0)"
)
_COUNTER: Final = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) "
_RUN: Final = (
    _COUNTER + "INSERT INTO run (number, id, table_name, started_us, ended_us) "
    "SELECT i + 1, 'run-' || i, 't' || (i % :tables), :start + (i / :tables) * :step, "
    ":start + (i / :tables) * :step + 250000 FROM n"
)
_MEASUREMENT: Final = (
    "INSERT INTO measurement (run, series, measured_us, status, reason, observed, text, message_values, duration_us) "
    "SELECT number, (SELECT id FROM series WHERE check_id = run.table_name || '.' || :check), started_us, "
    "CASE number % 997 WHEN 0 THEN 'fail' WHEN 1 THEN 'warn' ELSE 'pass' END, NULL, "
    "'{\"baseline\":41000,\"rows\":' || (41000 + number % 500) || '}', "
    "(SELECT id FROM message_text), '{\"rows\":41203}', 120000 + number % 1000 FROM run"
)


@dataclass(frozen=True, slots=True)
class Size:
    """How many rows a store has; `measurements` are spread over two checks of each table."""

    incidents: int
    measurements: int
    tables: int

    @property
    def runs(self) -> int:
        """Return how many runs that makes."""
        return self.measurements // len(CHECKS)


def configure(folder: Path, size: Size, *, promises: bool = False) -> Path:
    """Write the configuration of a large project, perhaps with `slo` and data products, and return its file."""
    lines = ["owners:", *(f"  o{number}: {{name: Team {number}}}" for number in range(OWNERS))]
    lines += ["domains:", *(f"  d{number}: {{owner: o{number}}}" for number in range(OWNERS)), "tables:"]
    for number in range(size.tables):
        tier = ("gold", "silver", "bronze")[number % 3]
        fed_by = f", upstream: [t{number // 3}]" if number else ""
        lines.append(
            f"  - {{name: t{number}, source: s, domain: d{number % OWNERS}, tier: {tier}, schedule: every 2h{fed_by}, "
            "checks: [{type: volume, id: rows, min: 1000}, {type: not_null, id: nulls, columns: [a]}]}"
        )
    storage = f'storage: {{url: "sqlite:///{folder}/store.db"}}\n'
    if promises:
        lines += [_PROMISES, *(_PRODUCT.format(number) for number in range(OWNERS))]
    file = folder / "tablewatch.yaml"
    file.write_text(_HEAD + storage + "\n".join(lines) + "\n", encoding="utf-8")
    return file


def fill(database: Path, size: Size) -> None:
    """Write the rows of a large store."""
    with open_store(f"sqlite:///{database}"):
        pass
    connection = sqlite3.connect(database, isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = OFF", "cache_size = -500000", "temp_store = MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("BEGIN")
    _fill_incidents(connection, size)
    _fill_measurements(connection, size)
    _fill_alerts(connection, size)
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def _fill_incidents(connection: sqlite3.Connection, size: Size) -> None:
    incidents = _incidents(size)
    while rows := list(islice(incidents, 10_000)):
        connection.executemany(_INCIDENT, [incident for incident, _, _ in rows])
        connection.executemany(_EPISODE, [episode for _, episode, _ in rows])
        connection.executemany(_EVENT, [event for _, _, events in rows for event in events])
    last = to_us(END) - _HOUR_US
    for number in range(size.tables):
        status = ("fail", "warn", "unknown(timeout)")[number % 3] if number % 50 == 0 else "pass"
        states = [(f"t{number}.{name}", to_us(END - YEARS), last, status, last) for name in CHECKS]
        connection.executemany(_WATCH, states)


def _incidents(size: Size) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...], Sequence[tuple[Any, ...]]]]:
    """Yield incidents spread evenly over three years, as rows of three tables; those at the end still last."""
    chance = random.Random(7)
    start, end = to_us(END - YEARS), to_us(END)
    for number in range(1, size.incidents + 1):
        occurred = start + (end - start) * number // size.incidents - _HOUR_US
        detected = min(occurred + int(chance.expovariate(1 / (2 * _HOUR_US))), end)
        resolved = detected + int(chance.expovariate(1 / (6 * _HOUR_US)))
        over = resolved < end
        person, good = chance.random() < 0.02, chance.random() < 0.9
        name = f"t{chance.randrange(size.tables)}"
        ended = ("fixed" if good else "false-positive", resolved) if over else (None, None)
        check = None if person else f"{name}.{CHECKS[number % len(CHECKS)]}"
        severity = ("info", "warning", "error", "critical")[number % 4]
        cause = CAUSES[number % len(CAUSES)] if over and number % 3 == 0 else None
        seen = detected + int(chance.expovariate(1 / _HOUR_US))
        seen_at = seen if number % 3 and seen < min(resolved, end) else None
        state = "resolved" if over else "open" if seen_at is None else "acknowledged"
        words = ("person" if person else "check", state, ended[0], detected, ended[1])
        answered = cause is not None or (over and not good)
        incident = (number, f"f{number}", name, check, severity, *words, cause, answered)
        episode = (number, occurred, occurred - _HOUR_US, detected, detected, ended[1], seen_at)
        yield incident, episode, [*_events(incident, episode)]


def _events(incident: tuple[Any, ...], episode: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the events of an incident, from which its rows follow."""
    from store._incidents import checksum_of
    from store._json import to_text

    number, fingerprint, table, check, severity, found_by, _, resolution, _, ended, cause, answered = incident
    occurred, earliest, latest, detected, _, seen = map(_iso, episode[1:])
    onset = {"at": occurred, "earliest": earliest, "latest": latest, "method": "last-good-run"}
    times = {"detected_at": detected, "resolved_at": None, "first_failed_at": None, "acknowledged_at": None}
    told = {"check_id": check, "incident_kind": "quality", "severity": severity, "found_by": found_by}
    title = {"title": "{rows:count} rows", "title_values": {"rows": 41203}}
    opened = {"fingerprint": fingerprint, "table": table, **told, **title, "episode": {"onset": onset, **times}}
    changes = [(episode[4], "tablewatch", "opened", opened)]
    if seen is not None:
        changes.append((episode[6], "tablewatch", "acknowledged", {"at": seen}))
    if ended is not None:
        actor = "mia" if answered else "tablewatch"
        changes.append((ended, actor, "resolved", {"at": _iso(ended), "resolution": resolution, "cause": cause}))
    for order, (recorded, actor, kind, body) in enumerate(changes):
        cells = (number, order, recorded, actor, kind, to_text({**body, "kind": kind}))
        yield *cells, checksum_of(*cells)


def _iso(microseconds: int | None) -> str | None:
    return None if microseconds is None else from_us(microseconds).isoformat().replace("+00:00", "Z")


def _fill_measurements(connection: sqlite3.Connection, size: Size) -> None:
    step = 2 * _HOUR_US
    start = to_us(END) - _HOUR_US - step * (size.runs // size.tables - 1)
    given = {"tables": size.tables, "start": start, "step": step}
    connection.execute(_RUN.replace("?", ":runs"), {**given, "runs": size.runs})
    connection.execute('INSERT INTO message_text (body) VALUES (\'{"text":"{rows:count} rows"}\')')
    for name in CHECKS:
        series = [(f"t{number}.{name}", f"t{number}") for number in range(size.tables)]
        connection.executemany("INSERT INTO series (check_id, table_name) VALUES (?, ?)", series)
        connection.execute(_MEASUREMENT, {"check": name})
    connection.execute(
        "INSERT INTO schedule (table_name, schedule, zone, next_slot_us, due_us) "
        "SELECT DISTINCT table_name, 'every 2h', 'UTC', ?1 + rowid % 7200 * 1000000, ?1 + rowid % 7200 * 1000000 "
        "FROM run WHERE number <= ?2",
        [to_us(END), size.tables],
    )


def _fill_alerts(connection: sqlite3.Connection, size: Size) -> None:
    decision = (
        '{"channels":{"desk":{"action":"told","by":["default"],"delivery":"msg_1","hold":null,"held_by":null,'
        '"owed":false,"reason":"first","until":null,"why":"it is new"}},"why":null}'
    )
    connection.execute(
        'INSERT INTO "transition" (incident_id, change, recorded_us, not_before_us, settled_us, decision) '
        "SELECT id, 'opened', detected_us, 0, detected_us + 1000000, ? FROM incident",
        [decision],
    )
    connection.execute(
        "INSERT INTO delivery (number, id, channel, subject, payload, created_us, state, attempts, next_try_us,"
        " sent_us) "
        "SELECT id, 'msg_' || id, 'desk', 'incidents', '{\"title\":\"41,203 rows\"}', detected_us, 'sent', 1, "
        "detected_us, detected_us + 1000000 FROM incident WHERE id > ?",
        [size.incidents - 100_000],
    )
