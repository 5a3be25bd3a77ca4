"""Incidents: what is written comes back, one open at a time, events for ever."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import text

from checks import Kind, OccurrenceMethod, Severity
from incidents import (
    Acknowledged,
    Assigned,
    BrokenHistory,
    Commented,
    Corrected,
    Escalated,
    Event,
    Flapped,
    FoundBy,
    Incident,
    Merged,
    Reopened,
    Resolution,
    Resolved,
    RootNamed,
    Snoozed,
    State,
    TicketSaid,
)
from store import (
    Discrepancy,
    History,
    IncidentFilter,
    NotRecorded,
    Store,
    StoreConflict,
    StoreError,
    WriteTransaction,
    open_store,
)
from tests.store.made import AT, HOUR, episode, opened


def _open(store: Store, name: str = "not-null", **said: object) -> Incident:
    with store.writing() as tx:
        return tx.incidents.open(opened(name, **said), recorded_at=AT, actor="tablewatch")


def _append(store: Store, incident: Incident, *changes: object, at: datetime = AT) -> Incident:
    with store.writing() as tx:
        return tx.incidents.append(incident, changes, recorded_at=at, actor="mia")


def test_an_incident_comes_back_as_it_was_opened(store: Store) -> None:
    """An opened incident has a number, its episode, and one event."""
    incident = _open(store)
    with store.reading() as tx:
        assert tx.incidents.get(incident.id) == incident
        assert tx.incidents.matching() == [incident]
        assert tx.incidents.events(incident.id) == [Event(incident.id, AT, "tablewatch", opened())]
    assert incident.state is State.OPEN
    assert incident.episodes == (episode(),)


def test_every_kind_of_change_is_kept(store: Store) -> None:
    """Each change is kept as an event, and the incident is what all of them amount to."""
    root, other = _open(store, "root"), _open(store, "other")
    incident = _open(store)
    changes = [
        Escalated(Severity.CRITICAL),
        Acknowledged(AT + HOUR),
        Assigned("mia"),
        Snoozed(AT + 5 * HOUR),
        Commented("名前: it's the loader; 100 %"),
        RootNamed(root.id),
        Flapped(True),  # noqa: FBT003 - the only thing this change says
        TicketSaid({"title": "名前", "resolved": None}),
        Resolved(AT + 2 * HOUR, Resolution.FIXED, "loader"),
        Reopened(episode(AT + 9 * HOUR), regressed=True),
        Corrected(0, occurred_at=AT - 3 * HOUR, resolved_at=AT + 3 * HOUR),
        Merged(other.id),
    ]
    for change in changes:
        incident = _append(store, incident, change, at=AT + 10 * HOUR)
    with store.reading() as tx:
        assert tx.incidents.get(incident.id) == incident
        assert [event.change for event in tx.incidents.events(incident.id)] == [opened(), *changes]
        both = tx.incidents.histories([other.id, incident.id, 99])
        assert both == {one: tx.incidents.events(one) for one in (other.id, incident.id)}
    assert incident.merged_into == other.id
    assert incident.episodes[0].onset.method is OccurrenceMethod.PERSON
    assert len(incident.episodes) == 2
    assert store.rebuild_check() == []


def test_times_come_back_in_utc(store: Store) -> None:
    """A time that a person gave in another zone is the same moment, read back in UTC."""
    tokyo = timezone(timedelta(hours=9))
    incident = _open(store, episode=episode(AT.astimezone(tokyo)))
    with store.reading() as tx:
        assert tx.incidents.get(incident.id).last.detected_at == AT
        assert tx.incidents.get(incident.id).last.detected_at.tzinfo is UTC


def test_a_second_open_incident_of_a_fingerprint_is_refused(store: Store) -> None:
    """At most one incident of a fingerprint is open; the refusal names the one that is."""
    first = _open(store)
    with pytest.raises(StoreConflict, match=f"#{first.id} is open already"):
        _open(store)
    _append(store, first, Resolved(AT + HOUR, Resolution.FIXED))
    second = _open(store)
    assert second.id > first.id
    with pytest.raises(StoreConflict, match=f"#{second.id} is open already"):
        _append(store, _incident(store, first.id), Reopened(episode(AT + 2 * HOUR)))


def _is_sqlite(store: Store) -> bool:
    return store.name.endswith(".db")


def _run(store: Store, *statements: str) -> None:
    """Do something behind the store's back."""
    with store.writing() as tx:
        for statement in statements:
            tx._connection.execute(text(statement))


def _incident(store: Store, incident_id: int) -> Incident:
    with store.reading() as tx:
        return tx.incidents.get(incident_id)


def test_the_database_itself_keeps_open_incidents_unique(store: Store) -> None:
    """A writer that does not ask is stopped by the index."""
    first = _open(store)
    with store.writing() as tx:
        tx.incidents.append(first, [Resolved(AT + HOUR, Resolution.FIXED)], recorded_at=AT, actor="mia")
        tx.incidents.open(opened(), recorded_at=AT, actor="tablewatch")
    with pytest.raises(StoreConflict):
        _run(store, f"UPDATE incident SET state = 'open', resolution = NULL, ended_us = NULL WHERE id = {first.id}")


def test_a_change_based_on_an_old_look_is_refused(store: Store) -> None:
    """A change of an incident that was changed meanwhile is refused, and nothing is lost."""
    seen = _open(store)
    _append(store, seen, Assigned("mia"))
    with pytest.raises(StoreConflict, match="changed concurrently"):
        _append(store, seen, Assigned("noa"))
    with store.reading() as tx:
        assert tx.incidents.get(seen.id).assignee == "mia"
        assert len(tx.incidents.events(seen.id)) == 2


def test_what_cannot_follow_is_refused(store: Store) -> None:
    """A history that does not begin with its opening, or opens twice, or an unknown incident, is refused."""
    incident = _open(store)
    with pytest.raises(BrokenHistory):
        _append(store, incident, opened())
    with pytest.raises(BrokenHistory), store.writing() as tx:
        tx.incidents.add_histories([History([Assigned("mia")], AT, "import")])
    with pytest.raises(BrokenHistory), store.writing() as tx:
        tx.incidents.add_histories([History([], AT, "import")])
    with pytest.raises(NotRecorded, match="#99 is not in the store"):
        _append(store, replace(incident, id=99), Assigned("mia"))
    with store.reading() as tx:
        assert tx.incidents.get(incident.id) == incident
        assert tx.counts().events == 1


def test_whole_histories_are_written_at_once(store: Store) -> None:
    """An import writes many incidents in one go; two open ones of a fingerprint among them are refused."""
    with store.writing() as tx:
        assert tx.incidents.add_histories([]) == []
        written = tx.incidents.add_histories(
            [
                History([opened(f"c{number}"), Resolved(AT + HOUR, Resolution.NO_ACTION)], AT, "import")
                for number in range(500)
            ]
        )
    assert [incident.state for incident in written] == [State.RESOLVED] * 500
    with store.reading() as tx:
        assert tx.counts().incidents == 500
        assert tx.incidents.get(written[250].id) == written[250]
    with pytest.raises(StoreConflict, match="two of these"), store.writing() as tx:
        tx.incidents.add_histories([History([opened("twice")], AT, "import")] * 2)
    assert _open(store).id > written[-1].id
    assert store.rebuild_check() == []


def test_of_each_fingerprint_the_one_that_matters_is_given(store: Store) -> None:
    """The open incident of a fingerprint is given; without one, the one that ended last, not the last recorded."""
    late = _open(store, "a", episode=episode(AT))
    _append(store, late, Resolved(AT + 9 * HOUR, Resolution.FIXED))
    early = _open(store, "a", episode=episode(AT - 24 * HOUR))
    _append(store, early, Resolved(AT - 20 * HOUR, Resolution.FIXED))
    was = _open(store, "b")
    _append(store, was, Resolved(AT + 99 * HOUR, Resolution.FIXED))
    now = _open(store, "b")
    with store.reading() as tx:
        found = tx.incidents.latest(["crm.customers.a", "crm.customers.b", "crm.customers.c"])
    assert {key: incident.id for key, incident in found.items()} == {
        "crm.customers.a": late.id,
        "crm.customers.b": now.id,
    }


def _shelf(tx: WriteTransaction) -> dict[str, Incident]:
    """Write down incidents that differ in one thing each."""
    plain = {
        "plain": opened("plain"),
        "critical": opened("critical", severity=Severity.CRITICAL),
        "other table": opened("elsewhere", table="sales.orders_2"),
        "disclosure": opened("risk", incident_kind=Kind.DISCLOSURE),
        "by a person": opened(
            "told", check_id=None, found_by=FoundBy.PERSON, title="{title}", title_values={"title": "名前 100%_"}
        ),
        "old": opened("old", episode=episode(AT - 240 * HOUR)),
        "assigned": opened("assigned", episode=episode(AT + HOUR)),
    }
    shelf = {key: tx.incidents.open(change, recorded_at=AT, actor="tablewatch") for key, change in plain.items()}
    ended = Resolved(AT - 200 * HOUR, Resolution.FIXED)
    shelf["old"] = tx.incidents.append(shelf["old"], [ended], recorded_at=AT, actor="mia")
    shelf["assigned"] = tx.incidents.append(shelf["assigned"], [Assigned("mia")], recorded_at=AT, actor="mia")
    return shelf


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (IncidentFilter(states=(State.RESOLVED,)), {"old"}),
        (IncidentFilter(tables=("sales.orders_2",)), {"other table"}),
        (IncidentFilter(check_ids=("crm.customers.plain",)), {"plain"}),
        (IncidentFilter(severities=(Severity.CRITICAL, Severity.INFO)), {"critical"}),
        (IncidentFilter(kinds=(Kind.DISCLOSURE,)), {"disclosure"}),
        (IncidentFilter(assignees=("mia",)), {"assigned"}),
        (IncidentFilter(until=AT - 100 * HOUR), {"old"}),
        (IncidentFilter(since=AT - 300 * HOUR, until=AT - 241 * HOUR), set()),
        (IncidentFilter(since=AT - 199 * HOUR, until=AT - 2 * HOUR), set()),
        (IncidentFilter(since=AT - 200 * HOUR, until=AT - 2 * HOUR), {"old"}),
        (IncidentFilter(text="名前"), {"by a person"}),
        (IncidentFilter(text="%_"), {"by a person"}),
        (IncidentFilter(text="ORDERS_2"), {"other table"}),
        (IncidentFilter(text="nobody"), set()),
        (IncidentFilter(limit=1), {"assigned"}),
        (IncidentFilter(states=(State.OPEN,), kinds=(Kind.QUALITY,), limit=2), {"assigned", "by a person"}),
    ],
)
def test_a_filter_gives_what_it_says(store: Store, wanted: IncidentFilter, expected: set[str]) -> None:
    """Each part of a filter narrows what is given, and a limit keeps the newest detections."""
    with store.writing() as tx:
        shelf = _shelf(tx)
        found = tx.incidents.matching(wanted)
    assert {incident.id for incident in found} == {shelf[key].id for key in expected}
    assert [incident.last.detected_at for incident in found] == sorted(
        (one.last.detected_at for one in found), reverse=True
    )


_REPLACE = "INSERT OR REPLACE INTO incident_event (id, incident_id, number, recorded_us, actor, kind, body)"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE incident_event SET actor = 'nobody'",
        "UPDATE incident_event SET body = '{}' WHERE id = 1",
        "DELETE FROM incident_event",
        f"{_REPLACE} VALUES (1, 1, 0, 0, 'nobody', 'opened', '{{}}')",
        f"{_REPLACE} VALUES (99, 1, 0, 0, 'nobody', 'opened', '{{}}')",
        "TRUNCATE incident_event",
    ],
)
def test_events_are_append_only(store: Store, statement: str) -> None:
    """The database refuses to change, replace or remove an event while its incident is there."""
    incident = _open(store)
    with store.reading() as tx:
        before = tx.incidents.events(incident.id)
    said = ("TRUNCATE", "DELETE FROM") if _is_sqlite(store) else ("INSERT OR REPLACE", "INSERT")
    with pytest.raises(StoreError):
        _run(store, statement.replace(*said))
    with store.reading() as tx:
        assert tx.incidents.events(incident.id) == before


def test_events_do_not_outlive_their_incident(store: Store) -> None:
    """Removing an incident without its events is refused when the transaction ends."""
    incident = _open(store)
    with pytest.raises(StoreError):
        _run(store, "DELETE FROM episode", "DELETE FROM incident")
    with store.reading() as tx:
        assert tx.incidents.get(incident.id) == incident


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE incident SET assignee = 'nobody' WHERE id =",
        "UPDATE episode SET resolved_us = resolved_us + 1 WHERE incident_id =",
        "DELETE FROM episode WHERE incident_id =",
    ],
)
def test_a_projection_that_lies_is_found(store: Store, damage: str) -> None:
    """What was changed behind the store's back is named by its number."""
    incident = _append(store, _open(store), Resolved(AT + HOUR, Resolution.FIXED))
    _open(store, "other")
    assert store.rebuild_check() == []
    _run(store, f"{damage} {incident.id}")
    assert store.rebuild_check() == [Discrepancy(incident.id, "it is not what its events amount to")]


def test_a_lost_or_unreadable_event_is_found(store: Store) -> None:
    """An incident with a missing event, with an unreadable one, or with none at all is named."""
    lost, odd, silent = (_append(store, _open(store, name), Assigned("mia"), Commented("x")) for name in "abc")
    on = "" if _is_sqlite(store) else " ON incident_event"
    _run(store, *(f"DROP TRIGGER IF EXISTS incident_event_{name}{on}" for name in ("no_update", "no_delete", "guard")))
    _run(
        store,
        f"DELETE FROM incident_event WHERE incident_id = {lost.id} AND number = 1",
        f"UPDATE incident_event SET body = '{{}}' WHERE incident_id = {odd.id} AND number = 1",
        f"UPDATE incident_event SET body = 'x' WHERE incident_id = {odd.id} AND number = 2",
        f"DELETE FROM incident_event WHERE incident_id = {silent.id}",
    )
    found = {one.incident_id: one.problem for one in store.rebuild_check()}
    assert found.keys() == {lost.id, odd.id, silent.id}
    assert found[lost.id] == "an event is missing"
    assert found[odd.id] == "an event cannot be read"
    assert "without events" in found[silent.id]


def test_events_without_an_incident_are_found(file: Path) -> None:
    """Events whose incident was removed with foreign keys off are named."""
    with open_store(f"sqlite:///{file}") as store:
        incident = _open(store)
        with closing(sqlite3.connect(file)) as stranger, stranger:
            stranger.execute("DELETE FROM episode")
            stranger.execute("DELETE FROM incident")
        assert store.rebuild_check() == [Discrepancy(incident.id, "its events are there, but it is not")]


def test_the_newest_incidents_of_a_table_are_read_by_when_they_were_detected(store: Store) -> None:
    """Those of a half-open time, newest first, at most so many, and none of other tables."""
    with store.writing() as tx:
        numbers = [
            tx.incidents.open(
                opened(f"check-{hour}", episode=episode(AT + hour * HOUR)), recorded_at=AT, actor="tablewatch"
            ).id
            for hour in range(4)
        ]
        tx.incidents.open(opened(table="other"), recorded_at=AT, actor="tablewatch")

        def read(until: int, most: int = 9) -> list[int]:
            its = tx.incidents.of_table("crm.customers", since=AT + HOUR, until=AT + until * HOUR, most=most)
            return [incident.id for incident in its]

        assert read(3) == [numbers[2], numbers[1]]
        assert read(9, 1) == [numbers[3]]
        assert read(1) == []
