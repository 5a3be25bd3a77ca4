"""What a person can do to an incident, and what is refused and how."""

import re
from dataclasses import replace

import pytest

from checks import Kind, OccurrenceMethod, Severity
from incidents import (
    Acknowledged,
    Assigned,
    Commented,
    Corrected,
    Event,
    FoundBy,
    ImpossibleOrder,
    MaintenanceSpans,
    Merged,
    NotAllowed,
    Reopened,
    Resolution,
    Resolved,
    RootNamed,
    Snoozed,
    Spans,
    apply,
    durations,
    replay,
    to_us,
    uncovered,
    verbs,
)
from tests.incidents.histories import at
from tests.incidents.made import episode, opened

NOW = at(1000)


def incident(*changes, number=1):
    """Fold changes after an opening at tick 5 (occurred at 0), recorded 10 ticks apart."""
    return replay(Event(number, at(every * 10), "x", change) for every, change in enumerate((opened(), *changes)))


OPEN = incident()
RESOLVED = incident(Resolved(at(20), Resolution.FIXED))


def test_a_report_opens_an_incident():
    """A person who noticed says when, and when it began; the interval is that word."""
    change = verbs.report(
        verbs.IncidentReport("orders", "totals are wrong"), detected_at=at(50), occurred_at=at(7), now=NOW
    )
    assert change.found_by is FoundBy.PERSON
    assert change.check_id is None
    assert change.episode.onset.at == change.episode.onset.earliest == change.episode.onset.latest == at(7)
    assert change.episode.onset.method is OccurrenceMethod.PERSON
    assert change.episode.detected_at == at(50)
    assert change.severity is Severity.ERROR


def test_a_report_without_a_beginning_begins_when_it_was_noticed():
    """Nothing is guessed: it is then a first observation without undetected time."""
    onset = verbs.report(verbs.IncidentReport("orders", "wrong"), detected_at=at(50), now=NOW).episode.onset
    assert (onset.at, onset.method) == (at(50), OccurrenceMethod.FIRST_OBSERVATION)


def test_the_same_report_twice_is_one_thing():
    """The fingerprint of a report is made of what it says, so that a request sent again can be recognised."""
    seen = verbs.IncidentReport("orders", "wrong")
    first, again = (verbs.report(seen, detected_at=at(50), now=NOW).fingerprint for _ in range(2))
    assert first == again
    others = {
        verbs.report(verbs.IncidentReport("orders", "late"), detected_at=at(50), now=NOW).fingerprint,
        verbs.report(verbs.IncidentReport("users", "wrong"), detected_at=at(50), now=NOW).fingerprint,
        verbs.report(seen, detected_at=at(51), now=NOW).fingerprint,
    }
    assert len(others | {first}) == 4
    assert verbs.report(seen, detected_at=at(50), now=NOW, fingerprint="mine").fingerprint == "mine"


@pytest.mark.parametrize(
    ("occurred", "detected", "message"),
    [
        (60, 50, "occurred 2026-01-01 00:00:00.000060+00:00 is after detected 2026-01-01 00:00:00.000050+00:00"),
        (None, 1001, "detected 2026-01-01 00:00:00.001001+00:00 is after now 2026-01-01 00:00:00.001000+00:00"),
    ],
)
def test_an_impossible_report_is_refused_by_name(occurred, detected, message):
    """It cannot have occurred after it was detected, nor be detected in the future; the message names both times."""
    when = None if occurred is None else at(occurred)
    with pytest.raises(ImpossibleOrder, match=re.escape(message)):
        verbs.report(verbs.IncidentReport("orders", "wrong"), detected_at=at(detected), occurred_at=when, now=NOW)


def test_verbs_depend_on_the_state():
    """Each state names its verbs; a merged incident cannot be merged again."""
    assert "ack" in verbs.available(OPEN)
    assert "ack" not in verbs.available(incident(Acknowledged(at(10))))
    assert set(verbs.available(RESOLVED)) == {"resolve", "reopen", "merge", "comment", "correct", "root"}
    assert "merge" not in verbs.available(incident(Merged(9)))


@pytest.mark.parametrize(
    "do",
    [
        lambda: verbs.acknowledge(RESOLVED, now=NOW),
        lambda: verbs.assign(RESOLVED, "a.sato"),
        lambda: verbs.snooze(RESOLVED, at(2000), now=NOW),
    ],
)
def test_a_verb_that_does_not_fit_names_those_that_do(do):
    """The refusal says in what state the incident is, and what is possible."""
    with pytest.raises(NotAllowed, match=r"incident #1 is resolved: \w+ is not possible; possible: resolve, reopen"):
        do()


def test_an_open_incident_is_not_reopened():
    """There is nothing to reopen."""
    with pytest.raises(NotAllowed, match="incident #1 is open: reopen is not possible"):
        verbs.reopen(OPEN, detected_at=NOW, now=NOW)


def test_small_verbs_give_their_change():
    """Acknowledge, assign, snooze and comment say what they say."""
    assert verbs.acknowledge(OPEN, now=NOW) == Acknowledged(NOW)
    assert verbs.assign(OPEN, "a.sato") == Assigned("a.sato")
    assert verbs.snooze(OPEN, at(1001), now=NOW) == Snoozed(at(1001))
    assert verbs.comment(RESOLVED, "the vendor was late") == Commented("the vendor was late")


def test_a_snooze_ends():
    """A snooze ends in the future; there is none for ever and none that is over."""
    with pytest.raises(ImpossibleOrder, match=r"snoozed until .* is not after now"):
        verbs.snooze(OPEN, NOW, now=NOW)


def test_an_empty_comment_is_refused():
    """There is nothing to write down."""
    with pytest.raises(NotAllowed, match=r"comment .* is empty"):
        verbs.comment(OPEN, "  \n")


def ending(tick, resolution=Resolution.FIXED):
    """Make an ending."""
    return verbs.Ending(at(tick), resolution, "late load")


def test_resolving_says_when_and_how():
    """Resolved at the time a person gives, with a resolution and a cause."""
    assert verbs.resolve(OPEN, ending(700), now=NOW) == Resolved(at(700), Resolution.FIXED, "late load")


@pytest.mark.parametrize(("tick", "names"), [(4, ("detected", "resolved")), (1001, ("resolved", "now"))])
def test_an_impossible_end_is_refused_by_name(tick, names):
    """Not before it was detected, not in the future."""
    with pytest.raises(ImpossibleOrder, match="{} .* is after {} ".format(*names)):
        verbs.resolve(OPEN, ending(tick), now=NOW)


def test_what_still_fails_is_not_resolved_unless_forced():
    """An incident whose check still fails would open again: that is said, and can be forced."""
    with pytest.raises(NotAllowed, match=r"its check orders\.fresh still fails"):
        verbs.resolve(OPEN, ending(700), now=NOW, check_still_fails=True)
    assert verbs.resolve(OPEN, ending(700), now=NOW, check_still_fails=True, force=True).at == at(700)


def test_resolving_again_corrects_how_it_ended():
    """A wrong resolution is put right by resolving again, though the check may fail by now."""
    change = verbs.resolve(RESOLVED, ending(20, Resolution.EXPECTED), now=NOW, check_still_fails=True)
    assert replay([Event(1, at(0), "x", opened()), Event(1, at(1), "x", change)]).resolution is Resolution.EXPECTED


def test_reopening_begins_a_new_episode():
    """Without a time of occurrence it begins when it was noticed; with the time it was resolved nothing is left out."""
    assert verbs.reopen(RESOLVED, detected_at=at(90), now=NOW).episode.onset.at == at(90)
    change = verbs.reopen(RESOLVED, detected_at=at(90), occurred_at=at(20), now=NOW)
    assert (change.episode.onset.at, change.episode.onset.method) == (at(20), OccurrenceMethod.PERSON)
    assert not change.regressed


@pytest.mark.parametrize(
    ("occurred", "detected", "names"),
    [
        (19, 90, ("resolved", "occurred")),
        (91, 90, ("occurred", "detected")),
        (None, 1001, ("detected", "now")),
        (None, 15, ("resolved", "occurred")),
    ],
)
def test_an_impossible_reopening_is_refused_by_name(occurred, detected, names):
    """A new episode begins after the last one ended."""
    with pytest.raises(ImpossibleOrder, match="{} .* is after {} ".format(*names)):
        verbs.reopen(
            RESOLVED, detected_at=at(detected), occurred_at=None if occurred is None else at(occurred), now=NOW
        )


def test_one_incident_of_a_fingerprint_is_open():
    """While another of the same check is open, an old one stays closed."""
    with pytest.raises(NotAllowed, match="cannot be reopened while #8, of the same fingerprint, is open"):
        verbs.reopen(RESOLVED, detected_at=at(90), now=NOW, other_open=8)


TWICE = incident(Resolved(at(20), Resolution.FIXED), Reopened(episode(40, 45)), Resolved(at(60), Resolution.FIXED))


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (Corrected(0, occurred_at=at(6)), ("occurred", "detected")),
        (Corrected(0, detected_at=at(-1)), ("occurred", "detected")),
        (Corrected(0, detected_at=at(21)), ("detected", "resolved")),
        (Corrected(0, resolved_at=at(4)), ("detected", "resolved")),
        (Corrected(0, resolved_at=at(41)), ("resolved", r"occurred \(episode after\)")),
        (Corrected(1, occurred_at=at(19)), (r"resolved \(episode before\)", "occurred")),
        (Corrected(-1, resolved_at=at(1001)), ("resolved", "now")),
    ],
)
def test_impossible_corrections_are_refused_by_name(change, names):
    """Occurred, detected, resolved, now, and no episode reaches into the next; the message names the two that clash."""
    with pytest.raises(ImpossibleOrder, match="{} .* is after {} ".format(*names)):
        verbs.correct(TWICE, change, now=NOW)


def test_the_detection_of_what_lasts_is_not_in_the_future():
    """An open incident has no end to compare with, but there is the present."""
    with pytest.raises(ImpossibleOrder, match=r"detected .* is after now "):
        verbs.correct(OPEN, Corrected(0, detected_at=at(1001)), now=NOW)


def test_times_may_be_corrected_together():
    """What would be impossible one by one may be right together, and as far back as needed."""
    change = Corrected(0, occurred_at=at(-500), detected_at=at(-400), resolved_at=at(-300))
    assert verbs.correct(TWICE, change, now=NOW) == change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (Corrected(2, occurred_at=at(1)), "has no episode 2; it has 1, the first is 0"),
        (Corrected(0), "nothing to correct"),
        (Corrected(0, resolved_at=at(50)), "has not ended, so its end cannot be corrected; resolve it"),
    ],
)
def test_a_correction_corrects_something(change, message):
    """It names an episode that is there and a time that is known."""
    with pytest.raises(NotAllowed, match=message):
        verbs.correct(OPEN, change, now=NOW)


def lookup(*incidents):
    """Return a look-up among some incidents."""
    return {incident.id: incident for incident in incidents}.get


def test_merging_names_the_other():
    """It becomes a duplicate of the other."""
    other = incident(number=2)
    assert verbs.merge(OPEN, other, lookup=lookup(OPEN, other), now=NOW) == Merged(2)


def test_merging_makes_no_cycle():
    """Not into itself, and not into one that was merged; the end of that chain is proposed unless it is this one."""
    third = incident(number=3)
    second = incident(Merged(3), number=2)
    known = lookup(OPEN, second, third)
    with pytest.raises(NotAllowed, match="#1 cannot be merged into itself"):
        verbs.merge(OPEN, OPEN, lookup=known, now=NOW)
    with pytest.raises(NotAllowed, match=r"#2 was itself merged into #3; merge into #3$"):
        verbs.merge(OPEN, second, lookup=known, now=NOW)
    with pytest.raises(NotAllowed, match=r"#2 was itself merged into #3$"):
        verbs.merge(third, second, lookup=known, now=NOW)


def test_a_root_is_named_and_taken_back():
    """The incident that caused this one; None takes it back."""
    other = incident(number=2)
    assert verbs.name_root(OPEN, other, lookup=lookup(OPEN, other)) == RootNamed(2)
    assert verbs.name_root(OPEN, None, lookup=lookup(OPEN)) == RootNamed(None)


def test_nothing_causes_itself():
    """A chain of causes that comes back is refused, and shown."""
    second, third = incident(RootNamed(3), number=2), incident(RootNamed(1), number=3)
    with pytest.raises(NotAllowed, match="#1 would be its own root cause: #1 -> #2 -> #3 -> #1"):
        verbs.name_root(OPEN, second, lookup=lookup(OPEN, second, third))
    with pytest.raises(NotAllowed, match="#1 would be its own root cause: #1 -> #1"):
        verbs.name_root(OPEN, OPEN, lookup=lookup(OPEN))


def test_what_is_merged_is_about_one_table():
    """A fault of another table is a cause, never the same thing, forced or not."""
    other = incident(number=2)
    elsewhere = replace(other, table="refunds")
    with pytest.raises(NotAllowed, match=r"#1 is about orders, #2 about refunds.*set it as the root cause"):
        verbs.merge(OPEN, elsewhere, lookup=lookup(OPEN, elsewhere), now=NOW, force=True)


def test_what_lasts_is_not_merged_into_what_is_over():
    """The time that still runs would no longer be counted."""
    over = incident(Resolved(at(20), Resolution.FIXED), number=2)
    known = lookup(OPEN, over)
    with pytest.raises(
        NotAllowed, match=r"#2 is resolved and #1 is not.*merge #2 into #1, reopen #2 first, or force it"
    ):
        verbs.merge(OPEN, over, lookup=known, now=NOW)
    assert verbs.merge(OPEN, over, lookup=known, now=NOW, force=True) == Merged(2)
    assert verbs.merge(over, OPEN, lookup=known, now=NOW) == Merged(1)


def test_what_was_never_bad_at_one_time_is_hardly_the_same():
    """Two incidents that do not touch are refused, without force."""
    later = replace(RESOLVED, id=2, episodes=(replace(RESOLVED.last, onset=episode(21, 25).onset, detected_at=at(25)),))
    later = replace(later, episodes=(replace(later.last, resolved_at=at(30)),))
    known = lookup(RESOLVED, later)
    with pytest.raises(NotAllowed, match="#1 and #2 did not overlap in time"):
        verbs.merge(RESOLVED, later, lookup=known, now=NOW)
    assert verbs.merge(RESOLVED, later, lookup=known, now=NOW, force=True) == Merged(2)


def test_what_a_merge_takes_out_is_what_the_other_does_not_cover():
    """Time of one outside the other; time that both cover is still counted by the other."""
    assert uncovered(OPEN, RESOLVED, as_of_us=to_us(at(50))) == 50 - 20
    assert uncovered(RESOLVED, OPEN, as_of_us=to_us(at(50))) == 0


@pytest.mark.parametrize("resolution", [one for one in Resolution if not one.counts])
def test_what_counts_is_not_merged_into_what_does_not(resolution):
    """All of it would no longer be counted: that needs force, and is noted; the other way nothing starts to count."""
    uncounted = incident(Resolved(at(20), resolution), number=2)
    known = lookup(OPEN, RESOLVED, uncounted)
    for one in (OPEN, RESOLVED):
        with pytest.raises(NotAllowed, match=rf"#2 is not counted as downtime, since it ended as {resolution}"):
            verbs.merge(one, uncounted, lookup=known, now=NOW)
        assert verbs.merge(one, uncounted, lookup=known, now=NOW, force=True) == Merged(2)
        assert uncovered(one, uncounted, as_of_us=to_us(at(50))) == bad_for(one, at(50))
        assert verbs.merge(uncounted, one, lookup=known, now=NOW) == Merged(1)
        assert uncovered(uncounted, one, as_of_us=to_us(at(50))) == 0
        assert not apply(uncounted, Event(2, NOW, "ann", Merged(1))).counts


def test_kinds_are_counted_apart():
    """What counts as downtime is not merged into a disclosure, nor the other way, unless forced; and that is noted."""
    other = replace(incident(number=2), kind=Kind.DISCLOSURE)
    known = lookup(OPEN, other)
    with pytest.raises(NotAllowed, match="#1 is of kind quality, #2 of kind disclosure"):
        verbs.merge(OPEN, other, lookup=known, now=NOW)
    assert verbs.merge(OPEN, other, lookup=known, now=NOW, force=True) == Merged(2)
    assert uncovered(OPEN, other, as_of_us=to_us(at(50))) == bad_for(OPEN, at(50))


def test_a_merge_takes_no_planned_maintenance_out():
    """Planned maintenance was never counted, so a merge does not take it out of the downtime."""
    names = Spans.of([OPEN]).names
    planned = MaintenanceSpans.of(names, {"orders": [(to_us(at(30)), to_us(at(45)))]})
    assert uncovered(OPEN, RESOLVED, as_of_us=to_us(at(50)), maintenance=planned) == 50 - 20 - 15


def bad_for(incident, moment):
    """Return how long an incident was bad by a moment, in microseconds."""
    return durations(Spans.of([incident]), as_of_us=to_us(moment))[incident.id].total
