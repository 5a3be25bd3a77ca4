"""Checks whose segments are judged one by one are replayed segment by segment."""

import shutil
import tempfile
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checks import Status
from incidents import Resolution, Spans, measure, to_us
from monitor.config import load
from monitor.config.cron import Schedule
from monitor.config.project import Project
from monitor.simulation.plan import RuleProposal
from tests.monitor.simulation.played import CHECK, START, Play, made
from tests.monitor.simulation.test_replay import POLICIES, WORDS, perform
from tests.tiers import examples

BY = "{type: not_null, columns: [id], max_ratio: 0.01, warn: {max_ratio: 0}, by: {columns: country, most: %d%s}}"
LISTED = ("aa",)
SEGMENTS = ("aa", "bb", "cc", "dd")


@contextmanager
def playing(alerts="", *, most=2, listed=True):
    """Open a project whose check judges its segments, of which one is listed, in a folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp())
    check = BY % (most, ", values: [aa]" if listed else "")
    before = "{type: not_null, columns: [id], max_ratio: 0.01}"
    try:
        project = made(folder, "  routes: [{to: [desk]}]\n" + alerts, check=(before, check))
        with closing(project.open_store()) as store:
            yield Play(project, store, listed=LISTED if listed else ())
    finally:
        shutil.rmtree(folder)


@st.composite
def looks(draw):
    """Return what a run measured: a letter for each segment that came back; listed ones always come back."""
    letters = {name: draw(st.sampled_from("PPPFFW" + ("E" if name in LISTED else "--"))) for name in SEGMENTS}
    came = {name: letter for name, letter in letters.items() if letter != "-"}
    took, since = draw(st.integers(0, 20)), draw(st.none() | st.integers(-200, 200))
    return came, draw(st.integers(1, 90)), took, since


def play_out(play, happenings):
    """Let runs, runs that saw nothing, and people follow one another."""
    for happening in happenings:
        if happening == "timeout":
            play.look(Status.UNKNOWN, at=play.now + 30)
        elif isinstance(happening[0], str):
            perform(play, [happening])
        else:
            came, after, took, since = happening
            at = play.now + after
            play.look_at_segments(came, at=at, took=took, since=None if since is None else at + since)


@given(POLICIES, st.sampled_from([1, 2, 4]), st.lists(looks() | WORDS | st.just("timeout"), min_size=1, max_size=20))
@settings(max_examples=examples(25), deadline=None)
def test_the_same_configuration_gives_what_was_recorded_of_each_segment(alerts, most, happenings):
    """Times, ends, severities and downtime of the incidents of all segments and of the rest, to the microsecond."""
    with playing(alerts, most=most) as play:
        play_out(play, happenings)
        recorded = [incident for incident in play.incidents() if incident.check_id is not None]
        result = play.simulated(everything=True)
        whole = measure(Spans.of(recorded), result.window, as_of_us=to_us(result.as_of))
        assert (result.reproduced, result.recorded) == (result.recorded, len(recorded))
        for figures in (result.now, *result.then.every):
            assert (figures.downtime.undetected, figures.downtime.repair) == (whole.undetected, whole.repair)
            assert figures.downtime.n == whole.n
        assert {item.effect for item in result.problems} <= {"same"}


def runs_at_once():
    """Return runs that overlap: how much later than the last each measured, how long it took, and what came back."""
    came = st.fixed_dictionaries({name: st.sampled_from("PPFFW" if name in LISTED else "PPFFW--") for name in SEGMENTS})
    return st.lists(st.tuples(st.integers(-20, 40), st.integers(0, 70), came), min_size=2, max_size=14)


@given(st.sampled_from([1, 2]), st.sampled_from([1, 2, 3]), st.sampled_from([1, 2, 4]), runs_at_once())
@example(
    1,
    2,
    2,
    [
        *[(0, 0, {"aa": "P", "bb": "P", "cc": "P", "dd": "P"})] * 8,
        (1, 0, {"aa": "P", "bb": "P", "cc": "F", "dd": "P"}),
        (1, 0, {"aa": "P", "bb": "P", "cc": "-", "dd": "F"}),
        (1, 0, {"aa": "P", "dd": "P", "cc": "P", "bb": "P"}),
    ],
)
@example(1, 1, 4, [(12, 29, {"aa": "F", "bb": "P"}), (-10, 60, {"aa": "P"}), (42, 29, {"aa": "P", "bb": "F"})])
@example(2, 2, 4, [(0, 69, {"aa": "F", "dd": "F"}), (72, 4, {"aa": "F"}), (-14, 26, {"aa": "P", "dd": "F"})])
@example(
    1,
    2,
    2,
    [
        (38, 54, {"aa": "W", "bb": "F", "cc": "F"}),
        (16, 70, {"aa": "F", "cc": "W", "dd": "F"}),
        (70, 3, {"aa": "P", "bb": "P", "cc": "P", "dd": "P"}),
        (-11, 61, {"aa": "P", "bb": "P", "cc": "F", "dd": "P"}),
        (33, 60, {"aa": "F"}),
    ],
)
@settings(max_examples=examples(25), deadline=None)
def test_runs_that_overlap_give_what_was_recorded_of_each_segment(open_after, resolve_after, most, runs):
    """A run that ended after one that measured later counts only for segments without a newer result."""
    at, by_end = 0, {}
    for after, took, came in runs:
        at = max(0, at + after)
        by_end.setdefault(at, (at + took, at, took, came))
    with playing(f"  open_after: {open_after}\n  resolve_after: {resolve_after}\n", most=most) as play:
        for _, at, took, came in sorted(by_end.values(), key=lambda run: run[:2]):
            play.look_at_segments({name: letter for name, letter in came.items() if letter != "-"}, at=at, took=took)
        recorded = [incident for incident in play.incidents() if incident.check_id is not None]
        result = play.simulated(everything=True)
        assert (result.reproduced, result.recorded) == (len(recorded), len(recorded))


def _hourly(play, *letters):
    for hour, came in enumerate(letters):
        play.look_at_segments(dict(zip(("aa", "bb"), came, strict=True)), at=60 * hour)


def test_each_segment_opens_and_resolves_by_the_proposal():
    """With two fails in a row, the segment that failed once has no incident; the other one has it an hour later."""
    with playing(listed=False) as play:
        _hourly(play, "PP", "FF", "FP", "FP", "PP", "PP")
        result = play.simulated(RuleProposal(open_after=2))
        effects = {item.segment: (item.effect, item.earliest) for item in result.problems}
    assert effects == {"aa": ("later", START + timedelta(hours=2)), "bb": ("missed", None)}
    assert (result.reproduced, result.recorded) == (2, 2)
    assert result.now.downtime.n == 2
    assert result.then.as_ended[0].downtime.n == 1


def test_a_segment_that_went_is_gone_in_the_replay_too():
    """Its incident ends as no-action at the first run of two without it, as it did, also by the third."""
    with playing(listed=False) as play:
        for hour, came in enumerate([{"bb": "P", "cc": "P"}, {"bb": "P", "cc": "F"}, *[{"bb": "P"}] * 4]):
            play.look_at_segments(came, at=60 * hour)
        (incident,) = play.incidents()
        assert incident.resolution is Resolution.NO_ACTION
        result = play.simulated(everything=True)
        assert (result.reproduced, result.recorded) == (1, 1)
        (problem,) = play.simulated(RuleProposal(resolve_after=3)).problems
        assert (problem.effect, problem.resolved_at) == ("same", incident.last.resolved_at)


def test_a_segment_that_is_left_out_is_not_gone():
    """Two incidents last where one segment may be followed beside the listed one: the second by name waits its turn."""
    with playing("  open_after: 1\n") as play:
        for hour, (bb, cc) in enumerate(["F-", "-F", "FF", "PP", "PP", "-P", "-P"]):
            came = {"aa": "P", "bb": bb, "cc": cc}
            play.look_at_segments({name: letter for name, letter in came.items() if letter != "-"}, at=60 * hour)
        assert [item.resolution for item in play.incidents()] == [Resolution.FIXED] * 3  # both, and the rest
        result = play.simulated(everything=True)
        assert (result.reproduced, result.recorded) == (3, 3)


def test_a_schedule_is_replayed_for_each_segment():
    """Every two hours the fails of odd hours are not seen; the runs of each segment and of the rest are counted."""
    with playing(listed=False) as play:
        _hourly(play, "PP", "FP", "PF", "PF", "PF", "PP", "PP")
        result = play.simulated(RuleProposal(schedule=Schedule.parse("every 2h")))
    assert {item.segment: item.effect for item in result.problems} == {"aa": "missed", "bb": "same"}
    assert result.cover.runs == 3 * 4


@pytest.mark.parametrize(("limit", "failing"), [("0.2", 0), ("0.001", 2)])
def test_segments_are_judged_between_other_limits_by_their_own_numbers(limit, failing):
    """A tenth of NULL is within a fifth; 0.5 per cent, a warning until now, is more than a tenth of a per cent."""
    with playing() as play:
        _hourly(play, "PP", "WF", "WF", "PP")
        text = play.project.loaded.path.read_text(encoding="utf-8")
        assert "max_ratio: 0.01" in text
        text = text.replace("max_ratio: 0.01", f"max_ratio: {limit}")
        other = play.project.loaded.path.with_name("other.yaml")
        other.write_text(text, encoding="utf-8")
        result = play.simulated(other=Project(load(other, environment={}), play.project.clock))
    noticed = {item.segment for item in result.problems if item.earliest is not None}
    assert len(noticed) == failing
    assert result.covers[CHECK].unknown == 4  # of the others, no numbers are stored
