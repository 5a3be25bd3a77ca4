"""What a replay of stored results gives: the same for the same configuration, bounds where it is unknown."""

import shutil
import tempfile
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from checks import Status
from incidents import Resolution, Spans, measure, to_us
from monitor.config.cron import Schedule
from monitor.simulation.plan import RuleProposal
from tests.monitor.simulation.played import MINUTE, START, Play, made
from tests.tiers import examples

LETTERS = {"P": Status.PASS, "F": Status.FAIL, "W": Status.WARN, "U": Status.UNKNOWN}
POLICIES = st.sampled_from(
    [
        "  open_after: 1\n",
        "  open_after: 2\n  resolve_after: 1\n",
        "  open_after: 3\n  resolve_after: 3\n",
        "  confirm: {after: 20m}\n",
        "  open_on: warn\n",
    ]
)
LOOKS = st.tuples(
    st.sampled_from("PPPFFFWU"), st.integers(-5, 90), st.integers(0, 20), st.none() | st.integers(-200, 200)
)
WORDS = st.tuples(
    st.sampled_from(["resolve", "reopen", "acknowledge", "report", "merge", "correct", "snooze", "assign"]),
    st.integers(0, 60),
    st.sampled_from(list(Resolution)),
)


@contextmanager
def playing(alerts=""):
    """Open a project with a store, in a folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp())
    try:
        project = made(folder, "  routes: [{to: [desk]}]\n" + alerts)
        with closing(project.open_store()) as store:
            yield Play(project, store)
    finally:
        shutil.rmtree(folder)


def perform(play, happenings):
    """Let results and people follow one another."""
    for happening in happenings:
        if isinstance(happening[0], str) and len(happening[0]) == 1:
            letter, after, took, since = happening
            at = max(0, play.now + after)
            play.look(LETTERS[letter], at=at, took=took, occurred=None if since is None else at + since)
        else:
            verb, back, resolution = happening
            play.say(verb, back=back, resolution=resolution)


@given(POLICIES, st.lists(LOOKS | WORDS, min_size=1, max_size=25))
@settings(max_examples=examples(25), deadline=None)
def test_the_same_configuration_gives_what_was_recorded(alerts, happenings):
    """Times, ends, severities, downtime and cost of every recorded incident come out the same, to the microsecond."""
    with playing(alerts) as play:
        perform(play, happenings)
        recorded = [incident for incident in play.incidents() if incident.check_id is not None]
        result = play.simulated(everything=True)
        spans = Spans.of(recorded)
        whole = measure(spans, result.window, as_of_us=to_us(result.as_of))
        assert (result.reproduced, result.recorded) == (result.recorded, len(recorded))
        for figures in (result.now, *result.then.every):
            assert (figures.downtime.undetected, figures.downtime.repair) == (whole.undetected, whole.repair)
            assert figures.downtime.n == whole.n
            assert figures.cost == whole.downtime * 120_000 / 3_600_000_000
        assert {item.effect for item in result.problems} <= {"same"}


def _reproduced(play):
    result = play.simulated(everything=True)
    return result.reproduced, result.recorded, [item.effect for item in result.problems]


def test_an_estimate_is_of_the_fails_since_the_last_good_result():
    """A warn amid a failing streak proves that the fail limit held, so the data went bad after it."""
    with playing("  open_after: 2\n") as play:
        play.look(Status.FAIL, at=78)
        play.look(Status.WARN, at=102)
        play.look(Status.FAIL, at=167, occurred=150)
        assert _reproduced(play) == (1, 1, ["same"])


def test_what_people_did_happens_to_the_incident_that_opened_as_it_did():
    """Though its end was corrected since, so that it is about the time of a later one too."""
    with playing("  open_after: 1\n  resolve_after: 1\n") as play:
        play.look(Status.FAIL, at=60)
        play.say("resolve", after=60, resolution=Resolution.DUPLICATE)
        play.look(Status.FAIL, at=180)
        play.look(Status.PASS, at=240)
        play.say("resolve", older=1, back=20, resolution=Resolution.FALSE_POSITIVE)
        assert _reproduced(play) == (2, 2, ["same"])


def test_what_was_merged_is_spoken_for_while_the_other_lasts():
    """Also where the merge was taken back later, and only until a person resolved the other one."""
    with playing("  open_after: 1\n") as play:
        play.look(Status.FAIL, at=60)
        play.say("report", after=10)
        play.say("merge")
        play.look(Status.FAIL, at=120)
        assert len(play.incidents()) == 2
        play.say("reopen", after=30)
        play.look(Status.FAIL, at=180)
        assert _reproduced(play)[:2] == (1, 1)


def test_an_incident_is_merged_after_it_ended():
    """It ends as a duplicate then as it did, and nothing that was done is without an incident."""
    with playing("  open_after: 1\n  resolve_after: 1\n") as play:
        play.say("report")
        play.look(Status.FAIL, at=60)
        play.look(Status.PASS, at=120)
        play.say("merge")
        assert play.incidents()[1].resolution is Resolution.DUPLICATE
        assert _reproduced(play) == (1, 1, ["same"])
        assert play.simulated(everything=True).dropped == 0


def test_a_run_that_ended_before_an_earlier_one_resolves():
    """Two runs at once: the one that measured later ended first, and the alerts have the incident before its end."""
    with playing("  resolve_after: 1\n") as play:
        play.look(Status.FAIL, at=60, took=8)
        play.look(Status.PASS, at=64, took=3)
        assert _reproduced(play) == (1, 1, ["same"])


@given(st.text("PPPFFFWU", min_size=1, max_size=24), st.integers(1, 9), st.sampled_from([1, 2, 3]))
@settings(max_examples=examples(25), deadline=None)
def test_a_coarser_schedule_never_notices_earlier(letters, times, resolve_after):
    """Where the first fail opens an incident, whatever a coarser schedule notices was noticed by then."""
    with playing(f"  resolve_after: {resolve_after}\n") as play:
        for hour, letter in enumerate(letters):
            play.look(LETTERS[letter], at=60 * hour)
        proposal = RuleProposal(schedule=Schedule.parse(f"every {times}h"))
        result = play.simulated(proposal, everything=times == 1)
        assert result.cover.recorded + result.cover.unknown == result.cover.runs
        for item in result.problems:
            assert item.earliest == item.latest
            assert item.earliest is None or (item.now is not None and item.now <= item.earliest)


@given(st.text("PPPFFF", min_size=2, max_size=16), st.sampled_from(["15m", "20m", "30m"]))
@settings(max_examples=examples(25), deadline=None)
def test_a_finer_schedule_is_bounded_by_the_results_around(letters, length):
    """A finer schedule notices at a run between the last good result and the one that noticed it; never later."""
    with playing() as play:
        for hour, letter in enumerate(letters):
            play.look(LETTERS[letter], at=60 * hour)
        result = play.simulated(RuleProposal(schedule=Schedule.parse(f"every {length}")))
        for item in result.problems:
            assert item.now is not None
            assert item.earliest is not None
            assert item.latest == item.now
            assert item.now - timedelta(hours=1) < item.earliest <= item.now


def test_a_history_by_hand():
    """Hourly results, replayed every three hours: the figures are those of a table worked out on paper.

    Bad from after 00:00, noticed 01:00, repaired by 08:00: every three hours it is noticed at 03:00, and the passes at
    09:00 and 12:00 resolve it as of 09:00. Bad at 14:00 only: between 12:00 and 15:00, so it is not noticed.
    """
    with playing("  resolve_after: 2\n") as play:
        for hour, letter in enumerate("PFFFFFFFPPPPPPFPPPP"):
            play.look(LETTERS[letter], at=60 * hour)
        result = play.simulated(RuleProposal(schedule=Schedule.parse("every 3h")))
        first, second = result.problems
        hour = timedelta(hours=1)
        assert (first.now, first.earliest, first.latest) == (START + hour, START + 3 * hour, START + 3 * hour)
        assert (second.now, second.earliest, second.effect) == (START + 14 * hour, None, "missed")
        microseconds = 3_600_000_000
        assert (result.now.downtime.undetected, result.now.downtime.repair) == (2 * microseconds, 8 * microseconds)
        ended, _ = result.then.as_ended
        assert (ended.downtime.undetected, ended.downtime.repair) == (3 * microseconds, 6 * microseconds)
        long, _ = result.then.as_long
        assert (long.downtime.undetected, long.downtime.repair) == (3 * microseconds, 7 * microseconds)
        assert (ended.cost, long.cost, result.now.cost) == (9 * 120_000, 10 * 120_000, 10 * 120_000)
        assert result.unnoticed.downtime.downtime == 2 * microseconds
        assert (result.cover.runs, result.cover.recorded) == (7, 7)


def test_runs_in_unobserved_time_are_unknown():
    """Where a scheduled check did not run, what another schedule would have seen there is unknown."""
    with playing() as play:
        for hour in (0, 1, 9, 10):
            play.look(Status.PASS, at=60 * hour)
        result = play.simulated(RuleProposal(schedule=Schedule.parse("every 30m")))
        assert (result.cover.runs, result.cover.recorded, result.cover.unknown) == (21, 4, 14)


def test_a_fail_that_is_confirmed_between_two_results_is_bounded():
    """Whether a fail would have been confirmed is not known where the next result is a pass: both are shown."""
    with playing() as play:
        for hour, letter in enumerate("PFPPPFFPP"):
            play.look(LETTERS[letter], at=60 * hour)
        result = play.simulated(RuleProposal(confirm=5 * MINUTE))
        assert [item.effect for item in result.problems] == ["perhaps-missed", "same"]
        assert result.cover.bounded == 1


def test_problems_need_two_fails_in_a_row_then():
    """With `open_after: 2` a single failing run opens no incident, and the others one run later."""
    with playing() as play:
        for hour, letter in enumerate("PFPPPFFFPP"):
            play.look(LETTERS[letter], at=60 * hour)
        result = play.simulated(RuleProposal(open_after=2))
        assert [(item.effect, item.earliest) for item in result.problems] == [
            ("missed", None),
            ("later", START + timedelta(hours=6)),
        ]


def test_limits_are_judged_again_from_stored_numbers():
    """Stored numbers are judged by the proposed limits; where those of then do not explain the outcome, by none."""
    folder = Path(tempfile.mkdtemp())
    try:
        project = made(folder)
        other = made(folder, name="other.yaml", limits=("max_ratio: 0.01", "max_ratio: 0.1"))
        with closing(project.open_store()) as store:
            play = Play(project, store)
            for hour, nulls in enumerate([0, 5, 5, 50, 50, 0, 0]):
                status = Status.FAIL if nulls else Status.PASS
                play.look(status, at=60 * hour, observed={"rows": 100, "nulls": {"id": nulls}})
            play.look(Status.FAIL, at=60 * 7, observed={"rows": 100, "nulls": {"id": 0}})
            result = play.simulated(other=other)
        first, second = result.problems
        assert (first.now, first.earliest) == (START + timedelta(hours=1), START + timedelta(hours=3))
        assert second.effect == "missed"
        assert (result.cover.runs, result.cover.recorded, result.cover.unknown) == (8, 7, 1)
        assert result.changes[0].changed == ("limits",)
    finally:
        shutil.rmtree(folder)
