"""Events fold into incidents, and changes survive being stored."""

import json
from datetime import timedelta

import pytest
from hypothesis import given
from pydantic import ValidationError

from checks import OccurrenceMethod, Severity
from incidents import (
    Acknowledged,
    BrokenHistory,
    Corrected,
    Escalated,
    Event,
    Merged,
    Reopened,
    Resolution,
    Resolved,
    Snoozed,
    Spans,
    State,
    apply,
    decode,
    durations,
    encode,
    episode_durations,
    replay,
    set_incident_back,
    to_us,
)
from tests.incidents.histories import assert_valid, at, histories
from tests.incidents.made import episode, opened


def fold(*changes, every=10):
    """Fold changes recorded `every` ticks apart."""
    return replay(Event(1, at(number * every), "somebody", change) for number, change in enumerate(changes))


@given(histories())
def test_any_allowed_history_folds_to_valid_incidents(history):
    """Whatever people and checks do in whatever order, an incident keeps its times in order and its state sound."""
    for incident in history.incidents.values():
        assert_valid(incident)


@given(histories())
def test_a_history_can_be_replayed(history):
    """The incident is nothing but its events: replaying them gives it again."""
    for number, incident in history.incidents.items():
        assert replay(event for event in history.events if event.incident_id == number) == incident


@given(histories())
def test_changes_survive_json(history):
    """A change written as JSON text and read back is the same change."""
    for event in history.events:
        assert decode(json.loads(json.dumps(encode(event.change)))) == event.change


def test_a_change_of_unknown_kind_is_refused():
    """Values that are no change are not silently read as one."""
    with pytest.raises(ValidationError):
        decode({"kind": "exploded"})


def test_an_incident_begins_by_opening():
    """A history that does not begin with 'opened' is refused."""
    with pytest.raises(BrokenHistory, match="begins with 'acknowledged', expected 'opened'"):
        fold(Acknowledged(at(1)))


def test_an_incident_opens_once():
    """A second 'opened' is refused: a relapse is 'reopened'."""
    with pytest.raises(BrokenHistory, match="opened a second time"):
        fold(opened(), opened())


def test_an_incident_without_events_is_refused():
    """Nothing happened, so there is no incident."""
    with pytest.raises(BrokenHistory, match="without events"):
        replay([])


def test_events_of_another_incident_are_refused():
    """An event changes its own incident only."""
    with pytest.raises(BrokenHistory, match="event of incident #2 was applied to incident #1"):
        apply(fold(opened()), Event(2, at(5), "somebody", Acknowledged(at(5))))


def test_reopening_forgets_how_it_ended():
    """A new episode makes an incident open, unacknowledged and without a resolution; the cause that was found stays."""
    incident = fold(
        opened(),
        Acknowledged(at(11)),
        Resolved(at(20), Resolution.FIXED, "late load"),
        Reopened(episode(30, 35), regressed=True),
    )
    assert incident.state is State.OPEN
    assert incident.resolution is None
    assert incident.acknowledged_at is None
    assert incident.cause == "late load"
    assert incident.regressed
    assert len(incident.episodes) == 2


def test_what_gets_worse_ends_a_snooze():
    """A snooze was granted for the severity of then; a higher one is heard at once, a lower one is not."""
    assert fold(opened(), Snoozed(at(99)), Escalated(Severity.CRITICAL)).snoozed_until is None
    assert fold(opened(), Snoozed(at(99)), Escalated(Severity.INFO)).snoozed_until == at(99)


def test_a_merged_incident_ends_as_a_duplicate_when_it_was_merged():
    """An open incident that is merged ends then; one that was resolved keeps its end."""
    assert fold(opened(), Merged(7)).last.resolved_at == at(10)
    ended = fold(opened(), Resolved(at(7), Resolution.FIXED), Merged(7))
    assert (ended.last.resolved_at, ended.resolution, ended.merged_into) == (at(7), Resolution.DUPLICATE, 7)


def test_a_persons_word_leaves_no_interval():
    """A corrected time of occurrence is all three, earliest, best and latest, outside of the old interval too."""
    onset = fold(opened(), Corrected(0, occurred_at=at(-50))).last.onset
    assert onset.earliest == onset.at == onset.latest == at(-50)
    assert onset.method is OccurrenceMethod.PERSON


def test_an_estimate_ends_at_the_corrected_detection():
    """When detection was later than recorded, an estimated occurrence could have been later too."""
    corrected = fold(opened(), Corrected(0, detected_at=at(8))).last
    assert corrected.onset.latest == corrected.detected_at == at(8)
    assert corrected.onset.at == at(0)


def test_a_detection_corrected_to_before_the_interval_keeps_it_in_order():
    """An interval of the occurrence never begins after it ends, however early the corrected detection is."""
    onset = fold(opened(3, 5, episode=episode(3, 5, earliest=2)), Corrected(0, detected_at=at(1))).last.onset
    assert (onset.earliest, onset.at, onset.latest) == (at(1), at(1), at(1))


def test_a_detection_corrected_to_after_the_acknowledgement_waited_for_nobody():
    """Who acknowledged before the corrected detection did so at once: the time to acknowledge is 0, not missing."""
    incident = fold(opened(), Acknowledged(at(7)), Corrected(0, detected_at=at(9)), Resolved(at(20), Resolution.FIXED))
    spans = Spans.of([incident])
    assert durations(spans, as_of_us=to_us(at(30)))[incident.id].tta == 0
    assert [one.tta for one in episode_durations(spans, as_of_us=to_us(at(30)))] == [0]
    assert incident.last.unacknowledged(at(30)) == timedelta()


def test_times_in_the_future_are_set_back_with_the_clock():
    """After the clock was set back, an acknowledgement of the time before is as of now, like a detection or an end."""
    incident = fold(opened(), Acknowledged(at(42)), Resolved(at(50), Resolution.FIXED))
    (back,) = set_incident_back(incident, to=at(20))
    assert (back.detected_at, back.acknowledged_at, back.resolved_at) == (at(5), at(20), at(20))
    (alone,) = set_incident_back(fold(opened(), Acknowledged(at(42))), to=at(20))
    assert (alone.acknowledged_at, alone.resolved_at) == (at(20), None)
    (early,) = set_incident_back(incident, to=at(45))
    assert (early.acknowledged_at, early.resolved_at) == (at(42), at(45))
    assert set_incident_back(incident, to=at(50)) == ()


def test_a_later_end_narrows_the_next_beginning():
    """When the first episode is corrected to end later, the second cannot have begun before that."""
    incident = fold(
        opened(),
        Resolved(at(10), Resolution.FIXED),
        Reopened(episode(30, 40, earliest=10)),
        Corrected(0, resolved_at=at(25)),
    )
    assert incident.last.onset.earliest == at(25)
    assert_valid(incident)


def test_time_to_acknowledge_begins_with_the_first_episode_that_somebody_acknowledged():
    """Each episode keeps when; what was acknowledged later than the moment asked for is not known yet."""
    incident = fold(
        opened(),
        Resolved(at(10), Resolution.FIXED),
        Reopened(episode(30, 35)),
        Acknowledged(at(42)),
        Resolved(at(50), Resolution.FIXED),
        Reopened(episode(60, 65)),
        Acknowledged(at(66)),
    )
    spans = Spans.of([incident])
    assert [one.acknowledged_at for one in incident.episodes] == [None, at(42), at(66)]
    assert durations(spans, as_of_us=to_us(at(70)))[incident.id].tta == 42 - 35
    assert [one.tta for one in episode_durations(spans, as_of_us=to_us(at(70)))] == [None, 7, 1]
    assert durations(spans, as_of_us=to_us(at(41)))[incident.id].tta is None


def test_undetected_and_repair_sum_episodes():
    """The figures of one incident sum its episodes; one that lasts is repaired up to the moment asked for."""
    incident = fold(opened(), Resolved(at(10), Resolution.FIXED), Reopened(episode(30, 35)))
    length = durations(Spans.of([incident]), as_of_us=to_us(at(55)))[incident.id]
    assert (length.ttd, length.ttr, length.lasts) == (5 + 5, 5 + 20, True)
    assert [
        (episode_duration.ttd, episode_duration.ttr, episode_duration.lasts)
        for episode_duration in episode_durations(Spans.of([incident]), as_of_us=to_us(at(55)))
    ] == [
        (5, 5, False),
        (5, 20, True),
    ]
