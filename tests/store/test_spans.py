"""Episodes in columns."""

import numpy as np
import pytest

from checks import Kind, Severity
from incidents import OPEN_END, Assigned, Corrected, Reopened, Resolution, Resolved, RootNamed, Spans, from_us, to_us
from store import History, Store, _repository, _spans
from tests.store.made import AT, HOUR, episode, opened


def _fill(store: Store) -> list[int]:
    """Write down: one that ended, one that lasts, one with two episodes caused by the first."""
    with store.writing() as tx:
        one = tx.incidents.open(opened("a", table="raw.orders", severity=Severity.CRITICAL), recorded_at=AT, actor="x")
        one = tx.incidents.append(one, [Resolved(AT + HOUR, Resolution.EXPECTED)], recorded_at=AT, actor="x")
        result = opened("b", check_id=None, incident_kind=Kind.DISCLOSURE, episode=episode(AT + 2 * HOUR))
        two = tx.incidents.open(result, recorded_at=AT, actor="x")
        three = tx.incidents.open(opened("c", episode=episode(AT - 9 * HOUR)), recorded_at=AT, actor="x")
        again = Reopened(episode(AT + 9 * HOUR))
        changes = [Resolved(AT - 8 * HOUR, Resolution.FIXED), again, RootNamed(one.id), Assigned("mia")]
        three = tx.incidents.append(three, changes, recorded_at=AT, actor="x")
    return [one.id, two.id, three.id]


def test_episodes_become_columns(store: Store) -> None:
    """Every column says of each episode what the incident says, in the order of incidents and onsets."""
    one, two, three = _fill(store)
    with store.reading() as tx:
        spans = tx.incidents.spans(to_us(AT - 99 * HOUR), to_us(AT + 99 * HOUR))
    name = np.array([*spans.names, None], dtype=object)
    assert list(spans.incident) == [one, two, three, three]
    assert list(name[spans.table]) == ["raw.orders", "crm.customers", "crm.customers", "crm.customers"]
    assert list(name[spans.check]) == ["raw.orders.a", None, "crm.customers.c", "crm.customers.c"]
    assert list(name[spans.root_table]) == ["raw.orders", "crm.customers", "raw.orders", "raw.orders"]
    assert list(spans.severity) == [3, 2, 2, 2]
    assert list(spans.resolution) == [tuple(Resolution).index(Resolution.EXPECTED), -1, -1, -1]
    assert list(spans.disclosure) == [False, True, False, False]
    assert [from_us(int(us)) for us in spans.detected] == [AT, AT + 2 * HOUR, AT - 9 * HOUR, AT + 9 * HOUR]
    assert np.array_equal(spans.occurred, spans.detected - 3_600_000_000)
    assert np.array_equal(spans.earliest, spans.occurred)
    assert np.array_equal(spans.latest, spans.detected)
    assert list(spans.resolved) == [to_us(AT + HOUR), OPEN_END, to_us(AT - 8 * HOUR), OPEN_END]


def test_a_window_gets_whole_incidents(store: Store) -> None:
    """An incident that touches a window comes with all its episodes; one that does not, not at all."""
    one, _, three = _fill(store)
    with store.reading() as tx:
        early = tx.incidents.spans(to_us(AT - 10 * HOUR), to_us(AT - 9 * HOUR))
        assert list(early.incident) == [three, three]
        assert list(tx.incidents.spans(to_us(AT + HOUR), to_us(AT + HOUR)).incident) == [one]
        nothing = tx.incidents.spans(to_us(AT - 99 * HOUR), to_us(AT - 98 * HOUR))
    assert nothing.names == ()
    assert nothing.incident.shape == nothing.resolved.shape == nothing.disclosure.shape == (0,)


def test_reading_every_incident_comes_to_the_same(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where most incidents touch a window all are read, and those that do not are left out."""
    _fill(store)
    windows = [(AT + start * HOUR, AT + end * HOUR) for start in range(-11, 11, 2) for end in range(start, 12, 3)]
    for start, end in windows:
        with store.reading() as tx:
            monkeypatch.setattr(_spans, "_MOST_PART", 2)
            looked_up = tx.incidents.spans(to_us(start), to_us(end))
            monkeypatch.setattr(_spans, "_MOST_PART", -1)
            read = tx.incidents.spans(to_us(start), to_us(end))
        assert _rows(read) == _rows(looked_up)


def test_most_incidents_are_those_that_end_within_a_window(store: Store) -> None:
    """Two of three are not enough; seven of eight are."""
    _fill(store)
    with store.reading() as tx:
        window = {"since_us": to_us(AT - 99 * HOUR), "until_us": to_us(AT + 99 * HOUR)}
        assert not _spans._are_most(tx.incidents._connection, window)
    resolved = Resolved(AT + HOUR, Resolution.FIXED)
    with store.writing() as tx:
        tx.incidents.add_histories([History([opened(f"c{n}"), resolved], AT, "import") for n in range(5)])
    with store.reading() as tx:
        assert _spans._are_most(tx.incidents._connection, window)


def _said(spans: Spans) -> list[tuple[object, ...]]:
    """Return the rows with words in place of their codes."""
    name = np.array([*spans.names, None], dtype=object)
    words = [name[getattr(spans, column)] for column in _WORDS]
    others = [column for column in Spans.__dataclass_fields__ if column not in {"names", *_WORDS}]
    return list(zip(*words, *(getattr(spans, column).tolist() for column in others), strict=True))


_WORDS = ("table", "check", "root_table", "cause")


def test_kept_spans_follow_each_change(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """After few events only the changed incidents are read; the rows are those of reading all."""
    one, two, three = _fill(store)
    since = to_us(AT - 20 * HOUR)
    with store.reading() as tx:
        before = tx.incidents.shared_spans(since)
        assert tx.incidents.shared_spans(since) is before
    monkeypatch.setattr(_spans, "read_spans", None)  # all of them are not read again
    with store.writing() as tx:
        tx.incidents.append(
            tx.incidents.get(two), [Resolved(AT + 5 * HOUR, Resolution.FIXED)], recorded_at=AT, actor="x"
        )
        tx.incidents.append(tx.incidents.get(one), [RootNamed(three)], recorded_at=AT, actor="x")
        tx.incidents.open(opened("d", table="raw.items", episode=episode(AT + HOUR)), recorded_at=AT, actor="x")
        late = opened("e", episode=episode(AT - 90 * HOUR, resolved_at=None))
        ended = tx.incidents.open(late, recorded_at=AT, actor="x")
        tx.incidents.append(ended, [Resolved(AT - 80 * HOUR, Resolution.FIXED)], recorded_at=AT, actor="x")
    with store.reading() as tx:
        after = tx.incidents.shared_spans(since)
        whole = tx.incidents.spans(since // _DAY_US * _DAY_US, to_us(AT + 999 * HOUR))
        assert _said(after) == _said(whole)
        assert len(set(after.incident)) == 4
        assert tx.incidents.shared_spans(since) is after
    assert _said(before) != _said(after)


_DAY_US = 86_400_000_000


def test_many_episodes_come_in_batches(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """More episodes than are fetched at a time are all there, with one code for each name."""
    monkeypatch.setattr(_repository, "_BATCH", 100)
    resolved = Resolved(AT + HOUR, Resolution.FIXED)
    with store.writing() as tx:
        tx.incidents.add_histories(
            [History([opened(f"c{n % 7}", table=f"t{n % 5}"), resolved], AT, "import") for n in range(1050)]
        )
    with store.reading() as tx:
        spans = tx.incidents.spans(to_us(AT - HOUR), to_us(AT))
    assert len(spans.incident) == 1050
    assert len(spans.names) == len(set(spans.names)) == 5 + 35
    assert np.array_equal(np.bincount(spans.table)[np.unique(spans.table)], [210] * 5)


def _rows(spans: Spans) -> list[tuple[object, ...]]:
    """Return the rows of episodes, with names for codes."""
    name = np.array([*spans.names, None], dtype=object)
    named = [name[column].tolist() for column in (spans.table, spans.check, spans.root_table)]
    others = (spans.incident, spans.severity, spans.resolution, spans.occurred, spans.detected, spans.resolved)
    return list(zip(*named, *(column.tolist() for column in others), strict=True))


def test_episodes_are_as_they_were_known(store: Store) -> None:
    """What was corrected or resolved later is as it was before, what was recorded later is left out."""
    one, two, three = _fill(store)
    later = AT + 20 * HOUR
    with store.reading() as tx:
        before = tx.incidents.spans(to_us(AT - 99 * HOUR), to_us(AT + 99 * HOUR))
    with store.writing() as tx:
        corrected = Corrected(0, occurred_at=AT - 5 * HOUR)
        tx.incidents.append(tx.incidents.get(one), [corrected], recorded_at=later, actor="x")
        tx.incidents.append(tx.incidents.get(two), [Resolved(later, Resolution.FIXED)], recorded_at=later, actor="x")
        tx.incidents.open(opened("d", table="new.table"), recorded_at=later, actor="x")
    with store.reading() as tx:
        now = tx.incidents.spans(to_us(AT - 99 * HOUR), to_us(AT + 99 * HOUR))
        assert _rows(now) != _rows(before)
        assert _rows(tx.incidents.known_at(now, AT + HOUR)) == _rows(before)
        assert _rows(tx.incidents.known_at(now, later)) == _rows(now)
        assert _rows(tx.incidents.known_at(now, AT - HOUR)) == []
    assert three in before.incident
