"""Alarms are counted by their answers, and what came back by its times: checked against plain counts of the events."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import comb
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Kind
from incidents import (
    AGENT,
    AnsweredAlarms,
    Event,
    Incident,
    Merged,
    Repeats,
    Resolution,
    Resolved,
    Spans,
    Window,
    alarms_by_check,
    answer_of,
    repeats_by,
    replay,
)
from tests.incidents.histories import BASE_US, at, histories, tick

_ANSWERS = {"acknowledged", "assigned", "merged", "resolved"}


@st.composite
def _recorded(draw: st.DrawFn) -> tuple[dict[int, list[Event]], Window, int]:
    """Draw events of incidents, some of them by the agent itself, a window, and a moment of knowing."""
    history = draw(histories())
    by_incident: dict[int, list[Event]] = defaultdict(list)
    for event in history.events:
        actor = draw(st.sampled_from([AGENT, "mia"]))
        by_incident[event.incident_id].append(replace(event, actor=actor))
    start, length = draw(st.integers(-5, 200)), draw(st.integers(1, 300))
    return by_incident, Window(BASE_US + start, BASE_US + start + length), BASE_US + draw(st.integers(0, 400))


def _is_answered(events: Sequence[Event]) -> bool:
    return any(event.change.kind in _ANSWERS and event.actor != AGENT for event in events)


@given(_recorded())
def test_alarms_are_counted_by_the_answers_of_people(case: tuple[dict[int, list[Event]], Window, int]) -> None:
    """Real, expected, false and unanswered alarms of each check are those that its events tell one by one."""
    by_incident, window, as_of_us = case
    result: dict[str, Counter[str]] = defaultdict(Counter)
    incidents = {number: replay(events) for number, events in by_incident.items()}
    for number, incident in incidents.items():
        detected_us = BASE_US + tick(incident.episodes[0].detected_at)
        if incident.check_id is None or incident.kind is Kind.DISCLOSURE or not detected_us <= as_of_us:
            continue
        if not window.start_us <= detected_us < window.end_us or incident.resolution is Resolution.DUPLICATE:
            continue
        end = incident.last.resolved_at
        is_over = end is not None and BASE_US + tick(end) <= as_of_us
        word = {None: "unanswered", "false-positive": "false", "expected": "expected"}.get(incident.resolution, "real")
        result[incident.check_id][word if is_over and _is_answered(by_incident[number]) else "unanswered"] += 1
    expected = {check_id: AnsweredAlarms(**numbers) for check_id, numbers in result.items()}
    assert dict(alarms_by_check(Spans.of(incidents.values()), window, as_of_us=as_of_us)) == expected


@given(_recorded())
def test_an_incident_is_answered_by_a_person(case: tuple[dict[int, list[Event]], Window, int]) -> None:
    """What the agent itself does answers nothing; what lasts has no answer."""
    for events in case[0].values():
        incident = replay(events)
        assert incident.answered == _is_answered(events)
        assert answer_of(incident) == (incident.resolution if incident.answered else None)


@given(_recorded(), st.integers(0, 60))
def test_what_came_back_is_counted(case: tuple[dict[int, list[Event]], Window, int], within_us: int) -> None:
    """An episode came back if all earlier ones of its check were over, the last of them not long before."""
    by_incident, window, as_of_us = case
    incidents = [replay(events) for events in by_incident.values()]
    spans = Spans.of(incidents)
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    series: dict[Any, list[tuple[int, int | None, Incident, int]]] = defaultdict(list)
    for incident in incidents:
        if incident.counts and incident.kind is Kind.QUALITY:
            for number, episode in enumerate(incident.episodes):
                end = None if episode.resolved_at is None else BASE_US + tick(episode.resolved_at)
                row = (BASE_US + tick(episode.detected_at), end, incident, number)
                series[incident.check_id or incident.id].append(row)
    for rows in series.values():
        ordered = sorted((row for row in rows if row[0] <= as_of_us), key=lambda row: (row[0], row[2].id, row[3]))
        for place, (detected, _, incident, number) in enumerate(ordered):
            if not window.start_us <= detected < window.end_us:
                continue
            ends = [end for _, end, _, _ in ordered[:place]]
            back = bool(ends) and all(end is not None and end <= detected for end in ends)
            back = back and detected - max(end or 0 for end in ends) <= within_us
            counted[incident.table]["incidents"] += number == 0
            counted[incident.table]["reopened"] += back and number > 0
            counted[incident.table]["anew"] += back and number == 0
    expected = {table: Repeats(**numbers) for table, numbers in counted.items() if any(numbers.values())}
    result = repeats_by(spans, window, as_of_us=as_of_us, group=spans.table, within_us=within_us)
    assert {spans.names[code]: item for code, item in result.items()} == expected


def test_the_precision_is_shown_with_and_without_what_nobody_answered() -> None:
    """Of 12 answered alarms 3 were false; 8 more may all have been."""
    alarms = AnsweredAlarms(real=7, expected=2, false=3, unanswered=8)
    assert (alarms.alarms, alarms.answered) == (20, 12)
    assert (alarms.least, alarms.precision, alarms.most) == (Fraction(9, 20), Fraction(3, 4), Fraction(17, 20))
    assert AnsweredAlarms(unanswered=3).precision is None
    assert AnsweredAlarms(unanswered=3).interval is None
    assert AnsweredAlarms().least is None


@pytest.mark.parametrize(
    ("good", "n", "low", "high"),
    # roots of (p - s)^2 = z^2 p (1 - p) / n, by hand with z = 1.959964 (Wilson 1927)
    [(9, 12, 0.467695, 0.911059), (0, 10, 0.0, 0.277533), (10, 10, 0.722467, 1.0), (1, 2, 0.094531, 0.905469)],
)
def test_the_interval_is_that_of_wilson(good: int, n: int, low: float, high: float) -> None:
    """Each end is where a test of that share would just not be refused."""
    interval = AnsweredAlarms(real=good, false=n - good).interval
    assert interval is not None
    assert interval == pytest.approx((low, high), abs=1e-6)
    for end in interval:
        if 0 < end < 1:
            assert (end - good / n) ** 2 == pytest.approx(1.959963984540054**2 * end * (1 - end) / n)


def test_the_interval_holds_the_true_share_often_enough() -> None:
    """Over all outcomes of 30 alarms, it holds the true share in about 95 % of cases, whatever that share is."""
    for share in (0.5, 0.7, 0.9):
        held = 0.0
        for good in range(31):
            low, high = AnsweredAlarms(real=good, false=30 - good).interval or (1.0, 0.0)
            held += comb(30, good) * share**good * (1 - share) ** (30 - good) * (low <= share <= high)
        assert 0.92 < held < 0.99


def test_an_alarm_that_ends_later_has_no_answer_yet() -> None:
    """As of a moment before its end, an alarm lasts."""
    found = Event(1, at(0), AGENT, _opened())
    ended = Event(1, at(9), "mia", Resolved(at(9), Resolution.FALSE_POSITIVE))
    spans = Spans.of([replay([found, ended])])
    window = Window(BASE_US, BASE_US + 20)
    assert alarms_by_check(spans, window, as_of_us=BASE_US + 9) == {"a.key": AnsweredAlarms(false=1)}
    assert alarms_by_check(spans, window, as_of_us=BASE_US + 8) == {"a.key": AnsweredAlarms(unanswered=1)}


def _opened() -> Any:
    from checks import OccurrenceMethod, Severity
    from incidents import Episode, FoundBy, Onset, Opened

    onset = Onset(at(0), at(0), at(0), OccurrenceMethod.LAST_GOOD_RUN)
    return Opened("f", "a", "a.key", Kind.QUALITY, Severity.ERROR, "t", {}, FoundBy.CHECK, Episode(onset, at(0)))


def test_a_merge_answers_for_the_one_that_is_merged() -> None:
    """A duplicate is no alarm of its own."""
    events = [Event(1, at(0), AGENT, _opened()), Event(1, at(4), "mia", Merged(2))]
    window = Window(BASE_US, BASE_US + 20)
    assert alarms_by_check(Spans.of([replay(events)]), window, as_of_us=BASE_US + 20) == {}
