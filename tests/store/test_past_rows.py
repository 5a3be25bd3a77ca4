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
from incidents import FoundBy, ReportedIncident, Resolution
from store import History, RowRefused, Store, StoreConflict, open_store
from tests.tiers import examples

NOW = datetime(2026, 11, 16, tzinfo=UTC)
TEXTS = st.one_of(
    st.sampled_from(["late", "", '"$map"', "{rows} of {all}", "a\\b\"c'", "日本語 ☃ 🎈", "a\nb", "\x7f\u202e", "%s ?"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
)
ACTOR = "m.möri (import)"
LENGTHS = st.timedeltas(timedelta(0), timedelta(days=9))


@st.composite
def _reports(draw: st.DrawFn) -> ReportedIncident:
    resolved = NOW - draw(LENGTHS)
    detected = resolved - draw(LENGTHS)
    is_over = draw(st.booleans())
    return ReportedIncident(
        draw(TEXTS),
        draw(TEXTS),
        detected,
        draw(st.none() | LENGTHS.map(lambda length: detected - length)),
        resolved if is_over else None,
        draw(st.sampled_from(Resolution)),
        draw(st.sampled_from(Severity)),
        draw(st.sampled_from(FoundBy)),
        draw(st.none() | TEXTS) if is_over else None,
        f"import:{draw(TEXTS)}",
    )


def _rows(file: Path) -> Sequence[Any]:
    tables = ("incident", "episode", "incident_event", "transition")
    with closing(sqlite3.connect(file)) as connection:
        return [sorted(connection.execute(f"SELECT * FROM {table}"), key=repr) for table in tables]


def _without_ids(rows: Sequence[Any]) -> Sequence[Any]:
    """Drop the running number of events: each table's rows are written in another order."""
    incidents, episodes, events, transitions = rows
    return [incidents, episodes, sorted(row[1:] for row in events), transitions]


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(_reports(), min_size=1, max_size=6, unique_by=lambda reported: reported.fingerprint))
def test_what_is_written_fast_is_what_the_ordinary_way_writes(reports: list[ReportedIncident]) -> None:
    """Every cell of incidents, episodes and events, checksums included; and neither is notified."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        with open_store(f"sqlite:///{folder}/slow.db") as store, store.writing() as tx:
            incidents = tx.incidents.add_histories([History(item.changes(NOW), NOW, ACTOR) for item in reports])
        with open_store(f"sqlite:///{folder}/fast.db") as store:
            with store.writing() as tx:
                numbers = tx.incidents.add_past(reports, recorded_at=NOW, actor=ACTOR)
            assert len(numbers) == len(incidents)
            assert store.rebuild_check() == []
        assert _without_ids(_rows(folder / "fast.db")) == _without_ids(_rows(folder / "slow.db"))


def _reported(fingerprint: str = "import:1", *, over: bool = False) -> ReportedIncident:
    return ReportedIncident("orders", "late", NOW, resolved_at=NOW if over else None, fingerprint=fingerprint)


def test_times_of_other_zones_are_written_too() -> None:
    """An aware time of any zone is the same moment; the ordinary way writes it."""
    tokyo = NOW.astimezone(timezone(timedelta(hours=9)))
    with TemporaryDirectory() as name, open_store(f"sqlite:///{name}/store.db") as store:
        with store.writing() as tx:
            tx.incidents.add_past([_reported()._replace(detected_at=tokyo)], recorded_at=NOW, actor=ACTOR)
        with store.reading() as tx:
            assert tx.incidents.get(1).last.detected_at == NOW
        assert store.rebuild_check() == []


@pytest.mark.parametrize("place", ["table", "title", "cause", "fingerprint"])
@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_text_that_no_database_stores_is_refused(store: Store, place: str, text: str) -> None:
    """Half a character or NUL is refused with a reason, and nothing of the rest stays."""
    bad = _reported("import:2", over=True)._replace(**{place: text})
    with pytest.raises(RowRefused), store.writing() as tx:
        tx.incidents.add_past([_reported(), bad], recorded_at=NOW, actor=ACTOR)
    with store.reading() as tx:
        assert tx.incidents.matching() == []


def test_past_incidents_on_both_databases(store: Store) -> None:
    """They are read back as they were written, and numbered after those that are there."""
    with store.writing() as tx:
        tx.incidents.add_histories([History(_reported("import:0").changes(NOW), NOW, ACTOR)])
        numbers = tx.incidents.add_past(
            [_reported("import:1"), _reported("import:2", over=True)], recorded_at=NOW, actor=ACTOR
        )
    with store.reading() as tx:
        incidents = [tx.incidents.get(number) for number in numbers]
    assert [(incident.fingerprint, incident.state.value) for incident in incidents] == [
        ("import:1", "open"),
        ("import:2", "resolved"),
    ]
    assert store.rebuild_check() == []


def test_past_incidents_are_all_written_or_none(store: Store) -> None:
    """Two that are open with one fingerprint are refused, also if one is there already; nothing of the rest stays."""
    with pytest.raises(StoreConflict), store.writing() as tx:
        tx.incidents.add_past([_reported("import:1"), _reported("import:1")], recorded_at=NOW, actor=ACTOR)
    with store.writing() as tx:
        tx.incidents.add_past([_reported("import:1")], recorded_at=NOW, actor=ACTOR)
    with pytest.raises(StoreConflict), store.writing() as tx:
        tx.incidents.add_past([_reported("import:2"), _reported("import:1")], recorded_at=NOW, actor=ACTOR)
    with store.reading() as tx:
        assert [incident.fingerprint for incident in tx.incidents.matching()] == ["import:1"]
