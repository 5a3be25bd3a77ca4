"""A data product is down while any of its tables is, and how it is, is how its worst table is."""

from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from checks import Kind, OccurrenceMethod, Severity
from incidents import Episode, FoundBy, Onset, Opened, Resolution, Resolved, Window
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.summaries.health import TableHealth
from monitor.summaries.products import ProductLine, ProductState, ports_of, product_states
from store import open_store

START = datetime(2026, 11, 1, tzinfo=UTC)
NOW = START + timedelta(hours=40)
HOUR = timedelta(hours=1)
CONFIG = """\
version: 1
project: products
sources: {lake: {files: "*.csv"}}
tables:
  - {name: a, source: lake, upstream: [outside], checks: [{type: not_null, columns: [id]}]}
  - {name: b, source: lake, upstream: [a], checks: [{type: not_null, columns: [id]}]}
  - {name: c, source: lake, upstream: [b], checks: [{type: not_null, columns: [id]}]}
  - {name: outside, source: lake}
maintenance: [{tables: [a], start: "2026-11-01T10:00", end: "2026-11-01T14:00", reason: planned}]
products:
  pair: {tables: [a, b], promises: {downtime: 2h per 12h, ttr: 3h}}
  quiet: {tables: [c]}
"""

Planted: TypeAlias = Sequence[tuple[str, int, int, int]]
"""Incidents: table, and the hours of begin, detection and end."""
_INCIDENTS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 30), st.integers(0, 8), st.integers(0, 12)).map(
        lambda row: (row[0], row[1], row[1] + row[2], row[1] + row[2] + row[3])
    ),
    max_size=6,
)


def states(folder: Path, planted: Planted) -> Sequence[ProductState]:
    """Return the products after some incidents, in a window from hour 5 to hour 35."""
    (folder / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    project = Project(load(folder / "tablewatch.yaml"), SimulatedClock(NOW))
    with closing(open_store(f"sqlite:///{folder}/store.db")) as store:
        for number, (table, occurred, detected, resolved) in enumerate(planted):
            at = START + occurred * HOUR
            opened = Opened(
                fingerprint=f"{table}.{number}",
                table=table,
                check_id=f"{table}.not-null",
                incident_kind=Kind.QUALITY,
                severity=Severity.ERROR,
                title="bad rows",
                title_values={},
                found_by=FoundBy.CHECK,
                episode=Episode(Onset(at, at, at, OccurrenceMethod.PERSON), START + detected * HOUR),
            )
            with store.writing() as tx:
                incident = tx.incidents.open(opened, recorded_at=NOW, actor="test")
                end = Resolved(START + resolved * HOUR, Resolution.FIXED)
                tx.incidents.append(incident, [end], recorded_at=NOW, actor="test")
        with store.reading() as tx:
            window = Window.of(START + 5 * HOUR, START + 35 * HOUR)
            return product_states(project, tx, ["pair", "quiet"], window, as_of=NOW)


def hours_down(planted: Planted, tables: str) -> int:
    """Count the hours in which any table is down, by what is detected in the window, without its own planned work."""
    planned = {("a", hour) for hour in range(10, 14)}
    known = [(name, begin, end) for name, begin, detected, end in planted if name in tables and detected < 35]
    return sum(
        any(begin <= hour < end and (name, hour) not in planned for name, begin, end in known) for hour in range(5, 35)
    )


@settings(max_examples=25, deadline=None)
@given(_INCIDENTS)
def test_downtime_is_the_union_over_the_tables(planted: Planted) -> None:
    """Counted hour by hour: not the sum, and planned work of a table is no downtime of that table only."""
    with TemporaryDirectory() as folder:
        pair, quiet = states(Path(folder), planted)
    for state, tables in ((pair, "ab"), (quiet, "c")):
        expected = hours_down(planted, tables)
        seen = 0 if state.down is None else state.down.seen
        assert seen == expected * HOUR // timedelta(microseconds=1)


def test_two_incidents_at_once_count_once(tmp_path: Path) -> None:
    """And the promises of the product are judged by the same hours."""
    pair, quiet = states(tmp_path, [("a", 20, 21, 26), ("b", 24, 25, 30)])
    assert pair.down is not None
    assert pair.down.seen == 10 * 3_600_000_000
    assert quiet.down is None
    assert [level.verdict.value for level in pair.contract.levels] == ["broken"]
    assert pair.contract.budget is not None
    assert pair.contract.budget.spent.seen == 7 * 3_600_000_000, "from hour 23, twelve before the end of the window"
    assert (quiet.contract.levels, quiet.contract.budget, ProductLine.of(quiet).promises) == ([], None, None)


def test_the_worst_table_decides(tmp_path: Path) -> None:
    """One that was never checked is worse than one that is fine; nothing is known of one without a check that ran."""
    pair, _ = states(tmp_path, [])
    assert pair.health is TableHealth.NOT_YET_CHECKED
    assert ProductLine.of(pair).downtime_h is None


def test_ports_are_what_crosses_the_border_of_a_product(tmp_path: Path) -> None:
    """Tables outside that feed it, and its tables that feed others; not what flows within."""
    (tmp_path / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    ports = ports_of(load(tmp_path / "tablewatch.yaml").config, ("a", "b"))
    assert (ports.inputs, ports.outputs) == (("outside",), ("b",))
