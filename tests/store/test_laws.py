"""Laws of every history: the projection is the replay, columns are the episodes, nothing changes on the way."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import Kind, OccurrenceMethod, Severity
from incidents import (
    OPEN_END,
    Acknowledged,
    Assigned,
    Change,
    Commented,
    Corrected,
    Episode,
    Escalated,
    Flapped,
    FoundBy,
    Incident,
    Merged,
    Onset,
    Opened,
    Reopened,
    Resolution,
    Resolved,
    RootNamed,
    Snoozed,
    State,
    TicketSaid,
    replay,
    to_us,
)
from store import History, Store, open_store
from tests.store.made import AT, HOUR
from tests.tiers import examples

CHECKS = ("a.x", "a.y", "b.x")

_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
_moments = st.integers(-(10**12), 10**12).map(lambda us: AT + timedelta(microseconds=us))
_flags = st.booleans()
_hours = st.timedeltas(timedelta(), 9 * HOUR)
_values = st.dictionaries(
    _texts, st.none() | _flags | st.integers() | st.floats(allow_nan=False) | _texts | st.lists(_texts), max_size=3
)


@st.composite
def _episodes(draw: st.DrawFn, *, begins: datetime | None = None) -> Episode:
    detected_at = draw(_moments) if begins is None else begins + draw(st.timedeltas(timedelta(), 99 * HOUR))
    earliest, at, latest = sorted(detected_at - draw(st.timedeltas(timedelta(), 9 * HOUR)) for _ in range(3))
    onset = Onset(at, earliest, latest, draw(st.sampled_from(OccurrenceMethod)))
    return Episode(onset, detected_at, None, draw(st.none() | st.just(at)))


@st.composite
def _stories(draw: st.DrawFn) -> list[Change]:
    """Return what can happen to an incident.

    What is resolved may be reopened, what is open resolved, times corrected.
    """
    check = draw(st.sampled_from(CHECKS))
    last = draw(_episodes())
    changes: list[Change] = [draw(_beginnings(check, last))]
    episodes, is_open = 1, True
    for _ in range(draw(st.integers(0, 6))):
        match draw(st.sampled_from(["say", "turn", "correct"])):
            case "say":
                changes.append(draw(_SAID_OF_OPEN if is_open else _SAID))
            case "turn" if is_open:
                last = replace(last, resolved_at=last.detected_at + draw(_hours))
                changes.append(Resolved(last.resolved_at, draw(st.sampled_from(Resolution)), draw(st.none() | _texts)))
                is_open = False
            case "turn":
                last = draw(_episodes(begins=last.resolved_at))
                changes.append(Reopened(last, regressed=draw(_flags)))
                episodes, is_open = episodes + 1, True
            case _:
                which = draw(st.integers(-1, episodes - 1))
                changes.append(Corrected(which, draw(st.none() | _moments), draw(st.none() | _moments)))
    return changes


def _beginnings(check: str, first: Episode) -> st.SearchStrategy[Opened]:
    return st.builds(
        Opened,
        fingerprint=st.just(check),
        table=st.just(check[0]),
        check_id=st.none() | st.just(check),
        incident_kind=st.sampled_from(Kind),
        severity=st.sampled_from(Severity),
        title=_texts,
        title_values=_values,
        found_by=st.sampled_from(FoundBy),
        episode=st.just(first),
    )


_SAID = st.one_of(
    st.builds(Escalated, st.sampled_from(Severity)),
    st.builds(Assigned, _texts),
    st.builds(Snoozed, _moments),
    st.builds(Commented, _texts),
    st.builds(RootNamed, st.none() | st.integers(1, 3)),
    st.builds(Flapped, _flags),
    st.builds(TicketSaid, st.dictionaries(st.sampled_from(["title", "resolved"]), st.none() | _texts)),
)
_SAID_OF_OPEN = _SAID | st.builds(Acknowledged, _moments)


@contextmanager
def _fresh(empty_file: Path) -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder, open_store(f"sqlite:///{shutil.copy(empty_file, folder)}") as store:
        yield store


def _write(store: Store, stories: Sequence[Sequence[Change]]) -> list[Incident]:
    """Write stories down change by change; where two would be open at once, the first is merged into the second."""
    written: list[Incident] = []
    for story in stories:
        with store.writing() as tx:
            rival = tx.incidents.latest([story[0].fingerprint]).get(story[0].fingerprint)
            if rival is not None and rival.state is not State.RESOLVED:
                tx.incidents.append(rival, [Merged(rival.id + 1)], recorded_at=AT, actor="mia")
            incident = tx.incidents.open(story[0], recorded_at=AT, actor="tablewatch")
            for change in story[1:]:
                incident = tx.incidents.append(incident, [change], recorded_at=AT, actor="mia")
            written.append(incident)
    return written


@given(stories=st.lists(_stories(), max_size=5))
@settings(max_examples=examples(50))
def test_a_stored_incident_is_the_replay_of_its_events(empty_file: Path, stories: list[list[Change]]) -> None:
    """Whatever happened: the stored incident, the fold of its stored events and the fold in memory are one."""
    with _fresh(empty_file) as store:
        last = {incident.id: incident for incident in _write(store, stories)}
        assert store.rebuild_check() == []
        with store.reading() as tx:
            for incident in tx.incidents.matching():
                assert incident == replay(tx.incidents.events(incident.id))
                if incident.merged_into is None:
                    assert incident == last[incident.id]
            fingerprints = [
                incident.fingerprint for incident in tx.incidents.matching() if incident.state is not State.RESOLVED
            ]
        assert len(fingerprints) == len(set(fingerprints))


@given(stories=st.lists(_stories(), max_size=5))
@settings(max_examples=examples(30))
def test_every_change_comes_back_as_it_was(empty_file: Path, stories: list[list[Change]]) -> None:
    """What is written of a story, at once or bit by bit, is read back change for change."""
    with _fresh(empty_file) as store:
        bit_by_bit = _write(store, stories)
        with store.reading() as tx:
            for incident, story in zip(bit_by_bit, stories, strict=True):
                result = [event.change for event in tx.incidents.events(incident.id)]
                assert result[: len(story)] == story
        closed = Resolved(AT, Resolution.FIXED)
        with store.writing() as tx:
            apart = [replace(story[0], fingerprint=f"whole {number}") for number, story in enumerate(stories)]
            whole = tx.incidents.add_histories([History([first, closed], AT, "import") for first in apart])
            assert [[event.change for event in tx.incidents.events(one.id)] for one in whole] == [
                [first, closed] for first in apart
            ]


@given(stories=st.lists(_stories(), max_size=5), ends=st.tuples(_moments, _moments))
@settings(max_examples=examples(30))
def test_columns_say_what_the_episodes_say(
    empty_file: Path, stories: list[list[Change]], ends: tuple[datetime, datetime]
) -> None:
    """Of any window the columns hold exactly the episodes of the incidents that touch it, sorted."""
    since, until = sorted(ends)
    with _fresh(empty_file) as store:
        _write(store, stories)
        with store.reading() as tx:
            spans = tx.incidents.spans(to_us(since), to_us(until))
            everything = tx.incidents.spans(-(2**62), 2**62)
            known = tx.incidents.matching()
    chosen = everything.touching(to_us(since), to_us(until))
    assert (chosen.incident.tolist(), chosen.occurred.tolist()) == (spans.incident.tolist(), spans.occurred.tolist())
    touching = [incident for incident in known if any(_touches(episode, since, until) for episode in incident.episodes)]
    expected = sorted(_row(incident, episode) for incident in touching for episode in incident.episodes)
    names = np.array([*spans.names, ""], dtype=object)
    columns = (
        spans.incident,
        spans.occurred,
        spans.detected,
        spans.earliest,
        spans.latest,
        spans.resolved,
        spans.severity,
    )
    rows = zip(*(column.tolist() for column in columns), names[spans.table], names[spans.check], strict=True)
    assert sorted(rows) == expected
    order = list(zip(spans.incident.tolist(), spans.occurred.tolist(), strict=True))
    assert order == sorted(order)


def _touches(episode: Episode, since: datetime, until: datetime) -> bool:
    begins = min(episode.onset.at, episode.onset.earliest)
    return begins < until and (episode.resolved_at is None or episode.resolved_at >= since)


def _row(incident: Incident, episode: Episode) -> tuple[object, ...]:
    onset = episode.onset
    return (
        incident.id,
        to_us(onset.at),
        to_us(episode.detected_at),
        to_us(onset.earliest),
        to_us(onset.latest),
        OPEN_END if episode.resolved_at is None else to_us(episode.resolved_at),
        incident.severity.rank,
        incident.table,
        incident.check_id or "",
    )
