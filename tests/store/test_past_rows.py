"""Incidents of the past are written fast, and exactly as the ordinary way writes them."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import Severity
from incidents import BrokenHistory, Change, Commented, FoundBy, Resolution
from incidents.verbs import Ending, IncidentReport, end_reported, report
from store import History, Store, StoreConflict, open_store
from store._past_rows import past_rows
from tests.tiers import examples

NOW = datetime(2026, 11, 16, tzinfo=UTC)
TEXTS = st.one_of(
    st.sampled_from(["late", "", '"$map"', "{rows} of {all}", "a\\b\"c'", "日本語 ☃ 🎈", "a\nb", "\x7f\u202e", "%s ?"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
)
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=9))])
LENGTHS = st.timedeltas(timedelta(0), timedelta(days=9))


@st.composite
def _histories(draw: st.DrawFn) -> History:
    zone = draw(ZONES)
    resolved = NOW.astimezone(zone) - draw(LENGTHS)
    detected = resolved - draw(LENGTHS)
    opened = report(
        IncidentReport(draw(TEXTS), draw(TEXTS), draw(st.sampled_from(Severity))),
        detected_at=detected,
        now=NOW,
        occurred_at=draw(st.none() | LENGTHS.map(lambda length: detected - length)),
        fingerprint=f"import:{draw(TEXTS)}",
        found_by=draw(st.sampled_from(FoundBy)),
    )
    changes: list[Change] = [opened]
    if draw(st.booleans()):
        ending = Ending(resolved, draw(st.sampled_from(Resolution)), draw(st.none() | TEXTS))
        changes.append(end_reported(opened, ending, now=NOW))
        if draw(st.booleans()):
            changes.append(Commented("seen"))
    return History(changes, NOW, "m.möri (import)")


def _rows(file: Path) -> Sequence[Any]:
    tables = ("incident", "episode", "incident_event", "transition")
    with closing(sqlite3.connect(file)) as connection:
        return [sorted(connection.execute(f"SELECT * FROM {table}"), key=repr) for table in tables]


def _without_ids(rows: Sequence[Any]) -> Sequence[Any]:
    """Drop the running number of events: each table's rows are written in another order."""
    incidents, episodes, events, transitions = rows
    return [incidents, episodes, sorted(row[1:] for row in events), transitions]


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(_histories(), min_size=1, max_size=6, unique_by=lambda one: one.changes[0].fingerprint))  # type: ignore[union-attr]  # all begin with Opened
def test_what_is_written_fast_is_what_the_ordinary_way_writes(histories: list[History]) -> None:
    """Every cell of incidents, episodes and events, checksums included; and nobody hears of either."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        with open_store(f"sqlite:///{folder}/slow.db") as store, store.writing() as tx:
            incidents = tx.incidents.add_histories(histories)
        with open_store(f"sqlite:///{folder}/fast.db") as store:
            with store.writing() as tx:
                numbers = tx.incidents.add_past(histories)
            assert list(numbers) == [incident.id for incident in incidents]
            assert store.rebuild_check() == []
        assert _without_ids(_rows(folder / "fast.db")) == _without_ids(_rows(folder / "slow.db"))


def _reported(fingerprint: str = "import:1", *, over: bool = False) -> History:
    opened = report(IncidentReport("orders", "late"), detected_at=NOW, now=NOW, fingerprint=fingerprint)
    return History(
        [opened, end_reported(opened, Ending(NOW, Resolution.FIXED), now=NOW)] if over else [opened], NOW, "a"
    )


def test_tickets_are_written_fast() -> None:
    """What an import writes needs no fold; what has another shape is left to it."""
    assert past_rows(1, _reported()) is not None
    assert past_rows(1, _reported(over=True)) is not None
    assert past_rows(1, History([*_reported(over=True).changes, Commented("x")], NOW, "a")) is None


def test_past_incidents_on_both_databases(store: Store) -> None:
    """They are read back as they were told, and numbered after those that are there."""
    with store.writing() as tx:
        tx.incidents.add_histories([_reported("import:0")])
        numbers = tx.incidents.add_past([_reported("import:1"), _reported("import:2", over=True)])
    with store.reading() as tx:
        incidents = [tx.incidents.get(number) for number in numbers]
    assert [(incident.fingerprint, incident.state.value) for incident in incidents] == [
        ("import:1", "open"),
        ("import:2", "resolved"),
    ]
    assert store.rebuild_check() == []


def test_past_incidents_are_all_written_or_none(store: Store) -> None:
    """Two that are open with one fingerprint, or a history of nothing, are refused, and nothing of the rest stays."""
    for histories, error in (
        ([_reported("import:1"), _reported("import:1")], StoreConflict),
        ([_reported("import:1"), History([], NOW, "a")], BrokenHistory),
    ):
        with pytest.raises(error), store.writing() as tx:
            tx.incidents.add_past(histories)
    with store.writing() as tx:
        tx.incidents.add_past([_reported("import:1")])
    with pytest.raises(StoreConflict), store.writing() as tx:
        tx.incidents.add_past([_reported("import:2"), _reported("import:1")])
    with store.reading() as tx:
        assert [incident.fingerprint for incident in tx.incidents.matching()] == ["import:1"]
