"""Promised service levels are judged as the definitions say: checked against a plain count of minutes."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import Kind, OccurrenceMethod, Severity
from incidents import (
    Episode,
    FoundBy,
    Incident,
    IncidentHistory,
    Level,
    LevelResult,
    LevelSurvey,
    LevelVerdict,
    Onset,
    Resolution,
    Spans,
    State,
    Window,
    to_us,
)

START = datetime(2026, 11, 16, tzinfo=UTC)
MINUTE_US = 60_000_000
WORST_FIRST = (LevelVerdict.BROKEN, LevelVerdict.UNKNOWN, LevelVerdict.PENDING)
METHODS = (OccurrenceMethod.LAST_GOOD_RUN, OccurrenceMethod.BAD_ROWS)


def _at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def _us(minute: int) -> int:
    return to_us(_at(minute))


def _episode(
    earliest: int, occurred: int, detected: int, resolved: int | None, method: OccurrenceMethod = METHODS[0]
) -> Episode:
    onset = Onset(_at(occurred), _at(earliest), _at(detected), method)
    return Episode(onset, _at(detected), None if resolved is None else _at(resolved))


def _incident(number: int, *episodes: Episode, table: str = "orders", **about: Any) -> Incident:
    over = episodes[-1].resolved_at is not None
    values: dict[str, Any] = {
        "kind": Kind.QUALITY,
        "resolution": Resolution.FIXED if over else None,
        "state": State.RESOLVED if over else State.OPEN,
        **about,
    }
    return Incident(
        number, f"f{number}", table, f"{table}.c", severity=Severity.ERROR, title="t", title_values={},
        found_by=FoundBy.CHECK, episodes=episodes, **values,
    )  # fmt: skip


def _history(incidents: Sequence[Incident], **about: Any) -> IncidentHistory:
    return IncidentHistory(Spans.of(incidents), **about)


def _judge(
    level: Level, limit: Fraction | int, history: IncidentHistory, *, to: int = 100, at: int = 200
) -> LevelResult:
    promised = Fraction(limit) if level is Level.AVAILABILITY else Fraction(limit * MINUTE_US)
    return LevelSurvey.of(history, Window(_us(0), _us(to)), as_of_us=_us(at)).judge(level, promised)


def _minutes(value: Fraction | None) -> Fraction | None:
    return None if value is None else value / MINUTE_US


# --- single cases -----------------------------------------------------------------------------------------------------


def test_a_detection_is_broken_only_where_evidence_says_when_data_went_bad() -> None:
    """Between two runs it is unknown; the load time of a bad row is known."""
    guessed = _judge(Level.TIME_TO_DETECT, 10, _history([_incident(1, _episode(10, 10, 30, 40))]))
    assert (guessed.verdict, _minutes(guessed.low), _minutes(guessed.high)) == (LevelVerdict.UNKNOWN, 0, 20)
    assert guessed.undecided == (1,)
    seen = _episode(10, 15, 30, 40, OccurrenceMethod.BAD_ROWS)
    proven = _judge(Level.TIME_TO_DETECT, 10, _history([_incident(1, seen)]))
    assert (proven.verdict, proven.incidents, _minutes(proven.missed_by)) == (LevelVerdict.BROKEN, (1,), 5)
    assert (_minutes(proven.low), _minutes(proven.seen), _minutes(proven.high)) == (15, 15, 20)


def test_a_level_is_kept_when_the_last_good_run_was_near_enough() -> None:
    """Whenever it happened after that run, the detection was in time."""
    result = _judge(Level.TIME_TO_DETECT, 20, _history([_incident(1, _episode(10, 10, 30, None))]))
    assert (result.verdict, result.judged) == (LevelVerdict.KEPT, 1)


def test_an_open_incident_is_broken_once_it_takes_too_long_and_pending_before() -> None:
    """Neither is guessed: what is not over yet may still be kept."""
    history = _history([_incident(1, _episode(10, 10, 30, None))])
    assert _judge(Level.TIME_TO_REPAIR, 30, history, at=50).verdict is LevelVerdict.PENDING
    late = _judge(Level.TIME_TO_REPAIR, 30, history, at=61)
    assert (late.verdict, _minutes(late.seen), _minutes(late.missed_by)) == (LevelVerdict.BROKEN, 31, 1)
    assert _judge(Level.TIME_TO_REPAIR, 30, history, at=50).judged == 0


def test_nothing_of_a_period_that_is_over_is_pending() -> None:
    """A repair that lasted beyond it within the promise is kept there; the next period breaks it, if any does."""
    history = _history([_incident(1, _episode(80, 80, 90, 150))])
    assert _judge(Level.TIME_TO_REPAIR, 30, history, to=100, at=100).verdict is LevelVerdict.PENDING
    for at in (101, 130, 1000):
        assert _judge(Level.TIME_TO_REPAIR, 30, history, to=100, at=at).verdict is LevelVerdict.KEPT
    assert _judge(Level.TIME_TO_REPAIR, 30, history, to=200, at=110).verdict is LevelVerdict.PENDING
    assert _judge(Level.TIME_TO_REPAIR, 30, history, to=200, at=125).verdict is LevelVerdict.BROKEN


def test_an_overdue_repair_counts_in_every_period_that_it_touches() -> None:
    """In the period of its end as in the one before; one in time counts where it ended."""
    late = _history([_incident(1, _episode(10, 10, 30, 150))])
    for start in (0, 100):
        window = Window(_us(start), _us(start + 100))
        survey = LevelSurvey.of(late, window, as_of_us=_us(300))
        result = survey.judge(Level.TIME_TO_REPAIR, Fraction(60 * MINUTE_US))
        assert result.verdict is LevelVerdict.BROKEN
    window = Window(_us(200), _us(300))
    after = LevelSurvey.of(late, window, as_of_us=_us(300)).judge(Level.TIME_TO_REPAIR, Fraction(60 * MINUTE_US))
    assert (after.verdict, after.judged) == (LevelVerdict.KEPT, 0)


def test_a_notification_is_the_first_message_that_arrived() -> None:
    """Kept by a message in time, broken by none, unknown where deliveries are not recorded any more."""
    incident = _incident(1, _episode(10, 10, 30, 60))
    in_time = _history([incident], notified={(1, 0): _at(34)})
    assert _minutes(_judge(Level.TIME_TO_NOTIFY, 5, in_time).seen) == 4
    assert _judge(Level.TIME_TO_NOTIFY, 5, in_time).verdict is LevelVerdict.KEPT
    assert _judge(Level.TIME_TO_NOTIFY, 5, _history([incident], notified={(1, 0): None})).incidents == (1,)
    assert _judge(Level.TIME_TO_NOTIFY, 5, _history([incident])).verdict is LevelVerdict.UNKNOWN


def test_an_episode_that_ended_before_anybody_had_to_hear_of_it_breaks_nothing() -> None:
    """After ten minutes it was over; the promise was half an hour."""
    history = _history([_incident(1, _episode(10, 10, 30, 40))], notified={(1, 0): None})
    assert _judge(Level.TIME_TO_NOTIFY, 30, history).verdict is LevelVerdict.KEPT


@pytest.mark.parametrize(
    "about",
    [
        {"resolution": Resolution.FALSE_POSITIVE},
        {"resolution": Resolution.EXPECTED},
        {"resolution": Resolution.DUPLICATE},
        {"kind": Kind.DISCLOSURE},
    ],
)
def test_what_is_no_downtime_breaks_no_level(about: dict[str, Any]) -> None:
    """False alarms, duplicates and disclosure incidents are counted elsewhere."""
    history = _history([_incident(1, _episode(0, 5, 30, 90, OccurrenceMethod.PERSON), **about)])
    for level, limit in ((Level.TIME_TO_DETECT, 1), (Level.TIME_TO_REPAIR, 1), (Level.AVAILABILITY, 1)):
        assert _judge(level, limit, history).verdict is LevelVerdict.KEPT


def test_planned_maintenance_is_no_time_of_any_level() -> None:
    """Repair of 60 minutes with 40 planned ones is one of 20."""
    history = _history([_incident(1, _episode(10, 10, 20, 80))], planned={"orders": [(_us(30), _us(70))]})
    assert _minutes(_judge(Level.TIME_TO_REPAIR, 20, history).seen) == 20
    assert _judge(Level.AVAILABILITY, Fraction(7, 10), history).seen == Fraction(7, 10)


def test_time_in_which_nobody_looked_may_have_been_downtime() -> None:
    """Availability is kept only if it holds even then."""
    history = _history([], unseen={"orders": [(_us(0), _us(20))]})
    result = _judge(Level.AVAILABILITY, Fraction(9, 10), history)
    assert (result.verdict, result.low, result.high) == (LevelVerdict.UNKNOWN, Fraction(8, 10), 1)
    assert _judge(Level.AVAILABILITY, Fraction(8, 10), history).verdict is LevelVerdict.KEPT


def test_what_all_checks_saw_is_the_time_that_nobody_missed() -> None:
    """The unobserved time of several tables counts once, only inside the period, and planned work is none of it."""
    unseen = {"orders": [(_us(-50), _us(20)), (_us(40), _us(50))], "refunds": [(_us(10), _us(30))]}
    history = _history([], unseen=unseen, planned={"orders": [(_us(0), _us(5))]})
    survey = LevelSurvey.of(history, Window(_us(0), _us(100)), as_of_us=_us(45))
    assert survey.observed_us(["orders", "refunds"]) == (45 - 25 - 5) * MINUTE_US
    assert survey.observed_us(["refunds"]) == (45 - 20) * MINUTE_US
    assert LevelSurvey.of(history, Window(_us(0), _us(100)), as_of_us=_us(0)).observed_us(["orders"]) == 0


def test_without_any_look_nothing_is_kept() -> None:
    """No incident of an unmonitored table is no evidence."""
    for level in Level:
        assert _judge(level, 1, _history([], observed=())).verdict is LevelVerdict.UNKNOWN


def test_availability_of_a_period_that_goes_on_is_broken_or_pending() -> None:
    """Ten of a hundred minutes are allowed: eleven are too many at once, five may be kept."""
    history = _history([_incident(1, _episode(20, 20, 20, 31))])
    assert _judge(Level.AVAILABILITY, Fraction(9, 10), history, at=60).verdict is LevelVerdict.BROKEN
    shorter = _history([_incident(1, _episode(20, 20, 20, 25))])
    assert _judge(Level.AVAILABILITY, Fraction(9, 10), shorter, at=60).verdict is LevelVerdict.PENDING
    assert _judge(Level.AVAILABILITY, Fraction(9, 10), shorter).verdict is LevelVerdict.KEPT


def test_a_period_that_has_not_begun_is_pending() -> None:
    """Nothing is said of the future."""
    assert _judge(Level.AVAILABILITY, 1, _history([]), at=0).verdict is LevelVerdict.PENDING


def test_all_of_an_episode_in_maintenance_is_no_incident() -> None:
    """As in the figures of downtime."""
    history = _history([_incident(1, _episode(10, 10, 20, 30))], planned={"orders": [(_us(0), _us(40))]})
    assert _judge(Level.TIME_TO_REPAIR, 1, history).judged == 0


# --- against a count of minutes ---------------------------------------------------------------------------------------

LENGTH = 60


@st.composite
def _histories(draw: st.DrawFn) -> tuple[Sequence[Incident], dict[tuple[int, int], datetime | None], set[int]]:
    incidents, notified = [], {}
    for number in range(1, draw(st.integers(0, 3)) + 1):
        begin, episodes = draw(st.integers(-20, 40)), []
        for place in range(draw(st.integers(1, 2))):
            earliest = begin + draw(st.integers(0, 15))
            detected = earliest + draw(st.integers(0, 15))
            occurred = draw(st.integers(earliest, detected))
            method = draw(st.sampled_from(METHODS))
            resolved = detected + draw(st.integers(0, 30))
            lasts = draw(st.booleans()) and place == 1
            if method is METHODS[0]:
                occurred = earliest
            episodes.append(_episode(earliest, occurred, detected, None if lasts else resolved, method))
            if draw(st.booleans()):
                notified[number, place] = draw(st.sampled_from([None, _at(detected + draw(st.integers(0, 20)))]))
            begin = resolved
            if lasts:
                break
        incidents.append(_incident(number, *episodes, table=draw(st.sampled_from(["orders", "refunds"]))))
    return incidents, notified, draw(st.sets(st.integers(-20, 80), max_size=25))


def _minute(at: datetime | None) -> int:
    return 10**6 if at is None else round((at - START) / timedelta(minutes=1))


def _counted(planned: set[int], start: int, end: int) -> int:
    return sum(minute not in planned for minute in range(start, end))


def _expected_detection(episode: Episode, limit: int, planned: set[int]) -> LevelVerdict | None:
    detected, occurred = _minute(episode.detected_at), _minute(episode.onset.at)
    if detected < 0:
        return None
    latest = occurred if episode.onset.method is METHODS[1] else detected
    if _counted(planned, latest, detected) > limit:
        return LevelVerdict.BROKEN
    earliest = _minute(episode.onset.earliest)
    return LevelVerdict.KEPT if _counted(planned, earliest, detected) <= limit else LevelVerdict.UNKNOWN


def _expected_wait(detected: int, over: int, limit: int, planned: set[int], end: int) -> LevelVerdict | None:
    if over < 0:
        return None
    if _counted(planned, detected, min(over, end)) > limit:
        return LevelVerdict.BROKEN
    return LevelVerdict.PENDING if over >= end else LevelVerdict.KEPT


def _expected_verdict(
    level: Level, limit: int, episode: Episode, notified: Any, planned: set[int], end: int
) -> LevelVerdict | None:
    """Judge an episode by counting minutes; None for one that the period is not about."""
    detected, occurred = _minute(episode.detected_at), _minute(episode.onset.at)
    resolved = _minute(episode.resolved_at)
    lasted = range(occurred, min(resolved, end))
    if detected >= end or (lasted and planned.issuperset(lasted)):
        return None
    if level is Level.TIME_TO_DETECT:
        return _expected_detection(episode, limit, planned)
    if level is Level.TIME_TO_REPAIR:
        return _expected_wait(detected, resolved, limit, planned, end)
    if notified == "not recorded":
        return LevelVerdict.UNKNOWN if detected >= 0 else None
    return _expected_wait(detected, min(resolved, max(detected, _minute(notified))), limit, planned, end)


@settings(deadline=None)
@given(_histories(), st.integers(0, 25), st.sampled_from(list(Level)[:3]), st.integers(1, 90))
def test_times_agree_with_a_count_of_minutes(history: Any, limit: int, level: Level, at: int) -> None:
    """LevelVerdict and incidents of all three times, over any history, maintenance and moment."""
    incidents, notified, planned = history
    spans = {table: [(_us(minute), _us(minute + 1)) for minute in planned] for table in ("orders", "refunds")}
    result = _judge(level, limit, _history(incidents, planned=spans, notified=notified), to=LENGTH, at=at)
    expected: dict[LevelVerdict | None, set[int]] = defaultdict(set)
    for incident in incidents:
        for place, episode in enumerate(incident.episodes):
            first = notified.get((incident.id, place), "not recorded")
            word = _expected_verdict(level, limit, episode, first, planned, min(LENGTH, at))
            is_kept = word is LevelVerdict.PENDING and at > LENGTH
            expected[LevelVerdict.KEPT if is_kept else word].add(incident.id)
    worst = next((word for word in WORST_FIRST if expected[word]), LevelVerdict.KEPT)
    undecided = expected[LevelVerdict.UNKNOWN] | expected[LevelVerdict.PENDING]
    assert result.verdict is worst
    assert (set(result.incidents), set(result.undecided)) == (expected[LevelVerdict.BROKEN], undecided)


@settings(deadline=None)
@given(_histories(), st.integers(1, 60), st.integers(1, 90), st.sets(st.integers(-5, 70), max_size=10))
def test_availability_agrees_with_a_count_of_minutes(history: Any, wanted: int, at: int, unseen: set[int]) -> None:
    """A minute is down when any table is, outside of its maintenance; low and high by the bounds and unseen time."""
    incidents, _, planned = history
    end = min(LENGTH, at)
    spans = {"orders": [(_us(minute), _us(minute + 1)) for minute in planned]}
    blind = {"refunds": [(_us(minute), _us(minute + 1)) for minute in unseen]}
    limit = Fraction(wanted, LENGTH)
    result = _judge(Level.AVAILABILITY, limit, _history(incidents, planned=spans, unseen=blind), to=LENGTH, at=at)

    def down(which: str) -> int:
        minutes = set(unseen) if which == "most" else set()
        for incident in incidents:
            for episode in incident.episodes:
                onset, detected = episode.onset, _minute(episode.detected_at)
                if detected >= end:
                    continue
                latest = onset.at if onset.method is METHODS[1] else onset.latest
                begin = _minute({"seen": onset.at, "least": latest, "most": onset.earliest}[which])
                bad = set(range(begin, min(_minute(episode.resolved_at), end)))
                minutes |= bad - planned if incident.table == "orders" else bad
        return len(minutes & set(range(end)))

    assert result.seen == 1 - Fraction(down("seen"), end)
    assert (result.low, result.high) == (1 - Fraction(down("most"), end), 1 - Fraction(down("least"), end))
    allowed = LENGTH - wanted
    kept = LevelVerdict.KEPT if down("most") <= allowed else LevelVerdict.UNKNOWN
    expected = LevelVerdict.BROKEN if down("least") > allowed else kept if end == LENGTH else LevelVerdict.PENDING
    assert result.verdict is expected
