"""Candidates for causes: the score, its parts, the order, and how alike incidents are."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Kind, OccurrenceMethod, Severity
from incidents import Episode, FoundBy, Incident, Onset, Resolution, State
from incidents.causes import (
    COLUMNS,
    FURTHER,
    HALF_SHOWN,
    LOADED,
    OVER_BEFORE,
    OVER_SINCE,
    PRIORS,
    RARE,
    Beginning,
    CauseKind,
    Clue,
    Likelihood,
    earlier_clues,
    rank_causes,
    similarity,
    upstream_clue,
)

AT = datetime(2026, 11, 20, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
BEGAN = Beginning(AT, AT + HOUR)
MINUTES = st.integers(-5_000, 5_000)


def _clue(kind: CauseKind = CauseKind.EVENT, *, hours: float = 0, length: float = 0, **more: object) -> Clue:
    since = AT + hours * HOUR
    return Clue(kind, "orders", {}, since, since + length * HOUR, **more)


def _incident(number: int, *, hours: float = 0, table: str = "orders", **more: object) -> Incident:
    """Return an incident that went bad within the hour before it was detected, and was fixed an hour later."""
    at = AT + hours * HOUR
    onset = Onset(at - HOUR, at - HOUR, at, OccurrenceMethod.LAST_GOOD_RUN)
    return Incident(
        **{
            "id": number,
            "fingerprint": f"{table}.nulls",
            "table": table,
            "check_id": f"{table}.nulls",
            "kind": Kind.QUALITY,
            "severity": Severity.ERROR,
            "title": "{n:count} rows",
            "title_values": {"n": 100},
            "found_by": FoundBy.CHECK,
            "state": State.RESOLVED,
            "episodes": (Episode(onset, at, at + HOUR),),
            "resolution": Resolution.FIXED,
            **more,
        }
    )


@given(
    MINUTES,
    st.integers(0, 3_000),
    st.tuples(st.integers(0, 3_000), st.none() | st.floats(0, 1)),
    st.integers(0, 6),
    st.floats(0, 1),
    st.floats(0, 50),
)
def test_every_part_of_a_score_lies_between_0_and_1(at, length, beginning, distance, strength, a_day):
    """Whatever happened whenever, load time known or not; what began after the incident is no candidate."""
    width, share = timedelta(minutes=beginning[0]), beginning[1]
    began = Beginning(AT, AT + width, None if share is None else AT + share * width)
    clue = _clue(hours=at / 60, length=length / 60, distance=distance, strength=strength, a_day=a_day)
    ranked = rank_causes(began, [clue])
    assert clue.since <= began.latest or not ranked
    for candidate in ranked:
        parts = [getattr(candidate.parts, name) for name in candidate.parts.__slots__]
        assert all(0 <= part <= 1 for part in parts)
        assert 0 < candidate.parts.score <= min(parts)


@given(st.integers(0, 5_000), st.integers(0, 5_000))
def test_what_is_nearer_before_the_beginning_fits_better(one, two):
    """Of two facts before the incident, time favours the later one; at its very beginning it has its whole part."""
    near, far = sorted((one, two))
    assert BEGAN.fit(*[AT - timedelta(minutes=near)] * 2) >= BEGAN.fit(*[AT - timedelta(minutes=far)] * 2)
    assert BEGAN.fit(AT, AT) == 1


def test_time_is_the_chance_that_the_effect_first_shows_in_the_beginning():
    """Half of all effects show within two hours; the part is relative to a cause at the beginning."""
    at = AT - 2 * HOUR
    shown_by_then = 3 / 5 - 2 / 4
    assert BEGAN.fit(at, at) == pytest.approx(shown_by_then / (1 / 3))
    assert HALF_SHOWN == 2 * HOUR
    inside = AT + HOUR / 2
    assert BEGAN.fit(inside, inside) == pytest.approx((0.5 / 2.5) / (1 / 3))


def test_the_load_time_of_bad_rows_favours_what_happened_right_before_it():
    """Most of the part is how likely the delay to it is; what happened after the load keeps the rest."""
    loaded = replace(BEGAN, loaded_at=AT + HOUR / 2)
    early, right_before, later = AT, AT + HOUR * 0.4, AT + HOUR * 0.6
    assert BEGAN.fit(early, early) > BEGAN.fit(right_before, right_before)
    assert loaded.fit(right_before, right_before) > loaded.fit(early, early)
    likely = (120 / 126) ** 2  # six minutes, beside none
    assert loaded.fit(right_before, right_before) == pytest.approx(
        LOADED * likely + (1 - LOADED) * BEGAN.fit(right_before, right_before)
    )
    assert loaded.fit(later, later) == pytest.approx((1 - LOADED) * BEGAN.fit(later, later))


def test_an_incident_upstream_has_the_load_time_of_its_bad_rows():
    """Where it is known, it and not the interval says when the data of the table upstream went bad."""
    onset = Onset(AT - HOUR, AT - 9 * HOUR, AT, OccurrenceMethod.BAD_ROWS)
    clue = upstream_clue(BEGAN, [_incident(1, table="raw", episodes=(Episode(onset, AT),))], distance=1)
    assert clue is not None
    assert (clue.since, clue.until) == (AT - HOUR, AT - HOUR)


def test_a_load_time_no_later_than_the_last_good_run_says_nothing():
    """Load times that contradict what was observed leave the interval, of the incident and of one upstream."""
    onset = Onset(AT - HOUR, AT - HOUR, AT, OccurrenceMethod.BAD_ROWS)
    incident = _incident(1, table="raw", episodes=(Episode(onset, AT),))
    assert Beginning.of(incident).loaded_at is None
    clue = upstream_clue(BEGAN, [incident], distance=1)
    assert clue is not None
    assert (clue.since, clue.until) == (AT - HOUR, AT)


def test_a_fact_of_uncertain_time_has_the_mean_over_its_interval():
    """What lies to a half after the incident keeps no more than half."""
    whole, half = BEGAN.fit(AT - HOUR, AT), BEGAN.fit(AT, AT + 2 * HOUR)
    assert BEGAN.fit(AT - HOUR, AT - HOUR) < whole < 1
    assert 0 < half < 0.5


@pytest.mark.parametrize(
    ("change", "part", "share"),
    [
        ({"distance": 2}, "lineage", FURTHER**2),
        ({"strength": 0.4}, "strength", 0.4),
        ({"a_day": RARE * 24 / 5 - 1 / 28}, "rarity", 0.5),
        ({"feeds": True}, "columns", 1.0),
        ({"feeds": False}, "columns", COLUMNS[False]),
        ({"ended_at": AT - HOUR}, "lasting", OVER_BEFORE),
        ({"ended_at": AT + HOUR}, "lasting", OVER_SINCE),
        ({"ended_at": AT + 3 * HOUR}, "lasting", 1.0),
    ],
)
def test_each_part_lowers_the_score_by_its_share(change, part, share):
    """Further upstream, smaller, as frequent as this in five hours, of other columns, over before or since."""
    began = replace(BEGAN, until=AT + 26 * HOUR)
    (plain,), (changed,) = rank_causes(began, [_clue()]), rank_causes(began, [_clue(**change)])
    assert getattr(changed.parts, part) == pytest.approx(share)
    assert changed.parts.score == pytest.approx(plain.parts.score * share / getattr(plain.parts, part))


def test_candidates_alike_are_ordered_by_distance_and_then_by_time():
    """The nearer first, then the earlier."""
    clues = [
        Clue(CauseKind.SEGMENT, "a", {}, distance=0),
        Clue(CauseKind.EARLIER, "b", {}, distance=0, strength=PRIORS[CauseKind.SEGMENT] / PRIORS[CauseKind.EARLIER]),
    ]
    twins = [_clue(hours=-9, length=0), _clue(hours=-9, length=0)]
    assert [candidate.clue for candidate in rank_causes(BEGAN, clues)] == clues
    assert len(rank_causes(BEGAN, twins)) == 2


def test_a_word_says_how_much_speaks_for_it():
    """The bounds of the words are those of the score."""
    alike = {"kind": CauseKind.SCHEMA, "distance": 0, "feeds": True}
    words = {rank_causes(BEGAN, [_clue(strength=size, **alike)])[0].likelihood for size in (1, 0.05, 0.001)}
    assert words == set(Likelihood)


def test_the_incident_upstream_that_fits_best_stands_for_its_table():
    """Others that fit almost as well are counted; those of other days say what is usual; mistakes are left out."""
    near = [_incident(number, hours=hours, table="raw") for number, hours in ((1, 0.5), (2, 0.6), (3, -300), (4, 30))]
    mistake = _incident(5, hours=0.2, table="raw", resolution=Resolution.FALSE_POSITIVE)
    clue = upstream_clue(BEGAN, [*near, mistake], distance=1)
    assert clue is not None
    assert (clue.evidence["incident"].id, clue.evidence["incidents"], clue.distance) == (1, 2, 1)
    assert clue.a_day == pytest.approx(2 / 28)
    assert clue.until <= BEGAN.latest


def test_what_began_later_upstream_is_no_clue():
    """An incident whose data went bad after those of the table caused nothing there."""
    assert upstream_clue(BEGAN, [_incident(1, hours=4, table="raw")], distance=1) is None
    assert upstream_clue(BEGAN, [], distance=1) is None


def test_what_began_upstream_in_the_same_minute_is_a_clue():
    """People log times by the minute: of two that are the same, either may have been first."""
    logged = Beginning(AT, AT)
    onset = Onset(AT, AT, AT, OccurrenceMethod.PERSON)
    clue = upstream_clue(logged, [_incident(1, table="raw", episodes=(Episode(onset, AT),))], distance=1)
    assert clue is not None
    (candidate,) = rank_causes(logged, [clue])
    assert 0 < candidate.parts.time <= 1
    assert logged.fit(AT + timedelta(seconds=1), AT + timedelta(seconds=1)) == 0


def test_incidents_are_alike_in_what_failed_how_far_and_what_with_it():
    """The same again is 1; twice the figure, another segment, another check and other company count less."""
    incident = _incident(9, hours=500)
    beside = _incident(8, hours=500, check_id="orders.rows", fingerprint="orders.rows")
    twin = _incident(1)
    assert similarity(incident, twin, [incident, twin]) == 1
    assert similarity(incident, twin, [incident, twin, beside]) == 0.75
    twice = _incident(2, title_values={"n": 201})
    assert similarity(incident, twice, []) == pytest.approx(1 - 1 / 8)
    assert similarity(incident, _incident(3, fingerprint="orders.nulls[a]"), []) == pytest.approx(0.85)
    assert similarity(incident, _incident(4, check_id="orders.rows", title="x"), []) == 0.25


def test_earlier_incidents_are_one_clue_for_each_cause_that_was_given():
    """Of those with one cause the most alike; without a cause, later, or unlike, there is none."""
    incident = _incident(9, hours=500)
    others = [
        _incident(1, cause="The unit", title_values={"n": 900}),
        _incident(2, hours=50, cause="the unit"),
        _incident(3, hours=60, root=77),
        _incident(4, hours=70),
        _incident(5, hours=600, cause="later"),
        _incident(6, hours=80, cause="unlike", check_id="orders.rows", title="x"),
    ]
    clues = earlier_clues(incident, [incident, *others])
    assert [clue.evidence["incident"].id for clue in clues] == [2, 3]
    assert clues[0].evidence["incidents"] == 2
    assert clues[0].strength > clues[1].strength
    assert all(clue.since is None for clue in clues)
