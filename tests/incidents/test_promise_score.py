"""Scores of statements: intervals cover the true rate, verdicts need the whole interval, undecided counts both ways."""

from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from checks import Kind, OccurrenceMethod, Severity
from incidents import Episode, FoundBy, LevelVerdict, Onset, Resolution
from incidents.events import Corrected, Event, Opened, Reopened, Resolved
from incidents.promise_score import (
    Bound,
    StatementCount,
    StatementScore,
    corrected_starts,
    interval_of,
    score_ranges,
    score_starts,
)
from tests.incidents.histories import BASE

KEPT, BROKEN, UNKNOWN = LevelVerdict.KEPT, LevelVerdict.BROKEN, LevelVerdict.UNKNOWN
MINUTE = timedelta(minutes=1)


def at(minutes: int) -> datetime:
    """Return a moment."""
    return BASE + minutes * MINUTE


def _score(*counts: tuple[int, ...]) -> StatementScore:
    return StatementScore.of(StatementCount(*count) for count in counts)


@pytest.mark.parametrize("made", [5, 30, 300])
@pytest.mark.parametrize("rate", [0.003, 0.05, 0.5, 0.95, 0.999])
def test_the_interval_covers_the_true_rate_at_its_nominal_level(made: int, rate: float) -> None:
    """Of independent observations, exactly: counts whose interval has the rate have a probability of 95 % or more."""
    ends = [interval_of(true, made) for true in range(made + 1)]
    covered = sum(stats.binom.pmf(true, made, rate) for true, (low, high) in enumerate(ends) if low <= rate <= high)
    assert covered >= 0.95


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.9])
def test_groups_that_differ_widen_the_interval_until_it_covers(rate: float) -> None:
    """Of 40 groups with rates of their own (beta) 93 of 100 intervals or more have the rate; of plain ones fewer."""
    rng, histories = np.random.default_rng(7), 400
    rates = rng.beta(8 * rate, 8 * (1 - rate), (histories, 40))
    hits, plain = 0, 0
    for true in rng.binomial(20, rates).tolist():
        score = _score(*((20, count) for count in true))
        assert score.low is not None
        assert score.high is not None
        hits += score.low <= rate <= score.high
        low, high = interval_of(score.true, score.made)
        plain += low <= rate <= high
    assert hits >= 0.93 * histories
    assert plain < 0.9 * histories


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=8))
def test_the_interval_has_both_ends_of_what_is_not_decided(groups: list[tuple[int, int, int]]) -> None:
    """The interval holds the rate with all undecided ones true, and with all false; no rate is given then."""
    counts = [(true + false + open_, true, open_) for true, false, open_ in groups]
    score = _score(*counts)
    if not score.made:
        assert (score.low, score.high, score.rate) == (None, None, None)
        assert score.verdict(Bound.AT_LEAST, 0.5) is UNKNOWN
        return
    assert score.low is not None
    assert score.high is not None
    assert 0 <= score.low <= score.true / score.made
    assert (score.true + score.undecided) / score.made <= score.high <= 1
    assert (score.rate is None) == bool(score.undecided)


@pytest.mark.parametrize(
    ("bound", "promised", "count", "verdict"),
    [
        (Bound.AT_MOST, 0.01, (300, 3), KEPT),
        (Bound.AT_MOST, 0.01, (300, 7), KEPT),
        (Bound.AT_MOST, 0.01, (300, 10), BROKEN),
        (Bound.AT_MOST, 0.01, (300, 3, 10), UNKNOWN),
        (Bound.AT_LEAST, 1.0, (50, 50), KEPT),
        (Bound.AT_LEAST, 1.0, (50, 49), BROKEN),
        (Bound.AT_LEAST, 0.95, (40, 36), KEPT),
        (Bound.AT_LEAST, 0.95, (40, 20), BROKEN),
        (Bound.EQUAL, 0.5, (100, 45), KEPT),
        (Bound.EQUAL, 0.5, (100, 20), BROKEN),
        (Bound.EQUAL, 0.5, (100, 80), BROKEN),
        (Bound.EQUAL, 0.5, (0, 0), UNKNOWN),
    ],
)
def test_a_promise_is_broken_only_by_its_whole_interval(bound, promised, count, verdict) -> None:
    """And nothing observed is not known, never kept."""
    assert _score(count).verdict(bound, promised) is verdict


def test_without_a_promise_there_is_no_verdict() -> None:
    """A rate that was not promised is only shown; a bound without its rate is not known."""
    assert _score((9, 3)).verdict(None, None) is None
    assert _score((9, 3)).verdict(Bound.AT_MOST, None) is UNKNOWN


def _event(change, *, minutes: int = 0, actor: str = "mia") -> Event:
    return Event(1, at(minutes), actor, change)


def _episode(earliest: int, detected: int, method: OccurrenceMethod = OccurrenceMethod.LAST_GOOD_RUN) -> Episode:
    return Episode(Onset(at(earliest), at(earliest), at(detected), method), at(detected))


def _opened(episode: Episode, found_by: FoundBy = FoundBy.CHECK) -> Opened:
    return Opened("o.c", "o", "o.c", Kind.QUALITY, Severity.ERROR, "t", {}, found_by, episode)


def test_the_estimate_at_detection_is_compared_with_the_last_word_of_a_person() -> None:
    """Later episodes have an estimate of their own; a correction of other times is none of the start."""
    events = [
        _event(_opened(_episode(0, 60))),
        _event(Corrected(0, occurred_at=at(-30))),
        _event(Corrected(-1, occurred_at=at(45))),
        _event(Resolved(at(90), Resolution.FIXED)),
        _event(Reopened(_episode(100, 120))),
        _event(Corrected(1, detected_at=at(115))),
        _event(Corrected(-1, occurred_at=at(99))),
    ]
    first, second = corrected_starts(events)
    assert (first.is_inside, first.width_h, second.is_inside) == (True, 1.0, False)
    assert (first.person, second.person) == (at(45), at(99))
    assert score_starts([first, second]).counts == [StatementCount(2, 1)]


@pytest.mark.parametrize(
    "opened",
    [_opened(_episode(0, 60, OccurrenceMethod.FIRST_OBSERVATION)), _opened(_episode(0, 60), FoundBy.PERSON)],
)
def test_what_no_check_estimated_is_no_statement(opened: Opened) -> None:
    """Neither before monitoring, nor where a person reported it."""
    assert corrected_starts([_event(opened), _event(Corrected(0, occurred_at=at(30)))]) == []


def test_a_week_holds_where_its_sums_do() -> None:
    """Misses on both sides cancel in the sum of a week, as in a total of downtime."""
    outside = [
        corrected_starts([_event(_opened(_episode(0, 60))), _event(Corrected(0, occurred_at=at(moment)))])[0]
        for moment in (-10, 70)
    ]
    assert score_starts(outside).counts == [StatementCount(2, 0)]
    assert score_ranges(outside).counts == [StatementCount(1, 1)]
    assert score_ranges(outside[:1]).counts == [StatementCount(1, 0)]
    assert StatementScore.of(score_ranges([]).counts).made == 0
