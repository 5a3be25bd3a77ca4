"""What would shorten downtime most follows from the figures."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Kind, OccurrenceMethod, Severity
from incidents import Episode, FoundBy, Incident, IncidentCosts, Lever, Onset, Resolution, Spans, State, Window
from monitor.reporting.model import Diagnosis
from monitor.reporting.sentences import diagnosis_sentences
from monitor.summaries.incident import title_of
from monitor.summaries.ranking import Advice, AdviceStep, advise, rank
from monitor.terminal.localizer import Localizer

START = datetime(2026, 11, 9, tzinfo=UTC)
WINDOW = Window.of(START, START + timedelta(days=7))


def incident(
    number: int, table: str, *hours: float, person: bool = False, slack: tuple[float, float] = (0, 0), **more: Any
) -> Incident:
    """Return an incident: when it occurred, was detected and resolved, in hours of the week."""
    occurred, detected, resolved = (START + timedelta(hours=hour) for hour in hours)
    earliest, latest = occurred - timedelta(hours=slack[0]), occurred + timedelta(hours=slack[1])
    onset = Onset(occurred, earliest, latest, OccurrenceMethod.LAST_GOOD_RUN)
    values: dict[str, Any] = {
        "id": number,
        "fingerprint": str(number),
        "table": table,
        "check_id": None if person else f"{table}.rows",
        "kind": Kind.QUALITY,
        "severity": Severity.ERROR,
        "title": "amounts {x}100",
        "title_values": {},
        "found_by": FoundBy.PERSON if person else FoundBy.CHECK,
        "state": State.RESOLVED,
        "episodes": (Episode(onset, detected, resolved),),
        "resolution": Resolution.FIXED,
    }
    return Incident(**{**values, **more})


def advice_on(*incidents: Incident, costs: dict[int, int] | None = None) -> Advice:
    """Return the advice on some incidents."""
    prices = None if costs is None else IncidentCosts(costs, 1)
    ranking = rank(Spans.of(incidents), WINDOW, as_of_us=WINDOW.end_us, maintenance=None, costs=prices)
    assert ranking is not None
    return advise(ranking)


def said(advice: Advice, title: Incident | None = None, language: str = "en") -> list[str]:
    """Return what the report says of an advice, with the sentences of an unknown lever."""
    shown = Diagnosis(Lever.NONE, Fraction(1, 2), 0, advice.n, None, advice, title and title_of(title))
    localizer = Localizer(language, "UTC")
    return [
        diagnosis_sentence.render(localizer).replace("\N{NO-BREAK SPACE}", " ")
        for diagnosis_sentence in diagnosis_sentences(shown)
    ]


def _two(table: str, *, person: bool) -> tuple[Incident, Incident]:
    return incident(1, table, 0, 9, 10, person=person), incident(2, table, 20, 29, 30, person=person)


BIG = incident(8, "orders", 0, 20, 24, person=True)
SMALL = incident(9, "refunds", 0, 1, 3)


def test_a_check_is_asked_for_where_a_person_had_to_notice() -> None:
    """The incident of most of the cost passed unnoticed until a person reported it: a check is missing there."""
    advice = advice_on(BIG, SMALL, costs={8: 700, 9: 300})
    assert (advice.step, advice.table, advice.incident, advice.share) == (
        AdviceStep.ADD_CHECK,
        "orders",
        8,
        Fraction(7, 10),
    )
    assert said(advice, BIG)[0] == (
        'Add a check on orders that detects "amounts {x}100": '
        "incident 8 accounts for 70% of the cost and was reported by a person."
    )
    assert "コストの70%" in said(advice, BIG, "ja")[0]
    assert "amounts {x}100" in said(advice, BIG, "ja")[0]


@pytest.mark.parametrize(
    ("incidents", "costs", "step", "about"),
    [
        ((incident(1, "a", 0, 20, 24), SMALL), None, AdviceStep.NOTICE_SOONER, 1),
        ((incident(1, "a", 0, 4, 24), SMALL), None, AdviceStep.REPAIR_FASTER, 1),
        ((incident(1, "a", 0, 4, 24, person=True), SMALL), None, AdviceStep.REPAIR_FASTER, 1),
        ((incident(1, "a", 0, 4, 24), SMALL), {1: 1, 9: 99}, AdviceStep.REPAIR_FASTER, 9),
        ((incident(1, "a", 0, 4, 24), SMALL), {1: 0, 9: 0}, AdviceStep.REPAIR_FASTER, 1),
        ((incident(1, "a", 10, 12, 20, slack=(10, 0)),), None, AdviceStep.LOOK_HERE_FIRST, 1),
        (
            (incident(1, "a", 0, 9, 10), incident(2, "a", 20, 29, 30), incident(3, "b", 0, 1, 12)),
            None,
            AdviceStep.NOTICE_SOONER,
            None,
        ),
        (
            (
                incident(1, "a", 0, 9, 10, person=True),
                incident(2, "a", 20, 29, 30, person=True),
                incident(3, "b", 0, 1, 12),
            ),
            None,
            AdviceStep.ADD_CHECK,
            None,
        ),
    ],
)
def test_the_step_follows_from_the_figures(
    incidents: tuple[Incident, ...], costs: dict[int, int] | None, step: AdviceStep, about: int | None
) -> None:
    """The heaviest incident, or else table, is named, with what its own hours say."""
    advice = advice_on(*incidents, costs=costs)
    assert (advice.step, advice.incident) == (step, about)
    for language in ("en", "ja"):
        assert all(said(advice, incidents[0], language))


def test_uncertainty_is_the_second_sentence() -> None:
    """Where it depends on when the data went bad, the place is named first and the range second."""
    first, second = said(advice_on(incident(1, "orders", 10, 12, 20, slack=(10, 0))))
    assert first == "Investigate incident 1 on orders first: it accounts for 100% of the data downtime."
    assert "between 20% and 60% of its duration" in second


@given(
    times=st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "c"]),
            st.integers(0, 50),
            st.integers(0, 50),
            st.integers(1, 50),
            st.booleans(),
            st.integers(0, 1000),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_there_is_always_one_recommendation_that_the_figures_bear_out(times: list[Any]) -> None:
    """For every week with downtime: the subject outweighs all others, and its larger part is the one that is named."""
    made = [
        incident(number, table, begun, begun + unnoticed, begun + unnoticed + repair, person=person)
        for number, (table, begun, unnoticed, repair, person, _) in enumerate(times, start=1)
    ]
    costs = {number: time[-1] for number, time in enumerate(times, start=1)}
    advice = advice_on(*made, costs=costs)
    priced = any(costs.values())
    weight = {one.id: costs[one.id] if priced else sum(times[one.id - 1][2:4]) for one in made}
    tables: dict[str, int] = {}
    for one in made:
        tables[one.table] = tables.get(one.table, 0) + weight[one.id]
    total = sum(weight.values())
    if 2 * max(weight.values()) > total:
        assert advice.incident is not None
        assert advice.share == Fraction(max(weight.values()), total)
    else:
        assert advice.share == Fraction(max(tables.values()), total)
    assert (advice.step is AdviceStep.REPAIR_FASTER) == (advice.unnoticed < Fraction(1, 2))
    assert said(advice, made[0])
