"""What holds for every sequence of runs, with people in between or without."""

from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from checks import OccurrenceMethod, Severity, Status
from incidents import (
    Corrected,
    Event,
    ImpossibleOrder,
    NotAllowed,
    Opened,
    Policy,
    Reason,
    Reopened,
    Resolution,
    Resolved,
    Spans,
    State,
    Window,
    advance,
    apply,
    measure,
    to_us,
    verbs,
)
from tests.incidents.histories import assert_valid, at
from tests.incidents.made import IDENTITY, outcome, run

policies = st.builds(Policy, open_after=st.integers(1, 3), resolve_after=st.integers(1, 3))
confirming = st.builds(
    Policy, resolve_after=st.integers(1, 3), confirm_after=st.integers(0, 40).map(lambda ticks: at(ticks) - at(0))
)
found = st.builds(
    outcome,
    st.sampled_from([Status.PASS, Status.PASS, Status.FAIL, Status.FAIL, Status.WARN, Status.UNKNOWN]),
    st.none() | st.integers(-50, 600),
    st.sampled_from([OccurrenceMethod.BAD_ROWS, OccurrenceMethod.FRESHNESS_DEADLINE]),
)


@dataclass(frozen=True)
class Look:
    """A run `after` ticks after the one before, which took some ticks; negative: it arrives out of order."""

    found: object
    after: int
    took: int
    severity: Severity


@dataclass(frozen=True)
class Word:
    """What a person says, some ticks after the last thing that happened."""

    verb: str
    after: int
    back: int
    resolution: Resolution


looks = st.builds(
    Look, found, st.integers(-5, 30), st.integers(0, 40), st.sampled_from([Severity.ERROR, Severity.CRITICAL])
)
words = st.builds(
    Word,
    st.sampled_from(["resolve", "reopen", "correct", "acknowledge"]),
    st.integers(0, 10),
    st.integers(0, 40),
    st.sampled_from(list(Resolution)),
)


class World:
    """One check, its incidents, and the time."""

    def __init__(self, policy):
        self.policy, self.watch, self.incidents, self.now = policy, None, [], 0

    @property
    def newest(self):
        """The newest incident."""
        return self.incidents[-1] if self.incidents else None

    def look(self, one):
        """Run the check, and give the step."""
        measured = self.now + one.after
        self.now = max(self.now, measured)
        identity = replace(IDENTITY, severity=one.severity)
        step = advance(
            self.watch, self.newest, one.found, identity=identity, policy=self.policy, run=run(measured, one.took)
        )
        self.watch = step.watch
        for change in step.changes:
            self.record(change)
        return step

    def hear(self, word):
        """Let a person do something, if the verbs allow it."""
        self.now += word.after
        incident, then = self.newest, at(max(0, self.now - word.back))
        if incident is None:
            return
        said = {
            "resolve": lambda: verbs.resolve(incident, verbs.Ending(then, word.resolution), now=at(self.now)),
            "reopen": lambda: verbs.reopen(incident, detected_at=then, now=at(self.now)),
            "correct": lambda: verbs.correct(incident, Corrected(-1, detected_at=then), now=at(self.now)),
            "acknowledge": lambda: verbs.acknowledge(incident, now=at(self.now)),
        }
        try:
            self.record(said[word.verb]())
        except (ImpossibleOrder, NotAllowed):
            return

    def record(self, change):
        """Write a change down."""
        if isinstance(change, Opened):
            self.incidents.append(apply(None, Event(len(self.incidents) + 1, at(self.now), "x", change)))
        else:
            self.incidents[-1] = apply(self.newest, Event(self.newest.id, at(self.now), "x", change))


@given(policies | confirming, st.lists(looks | words, max_size=40))
def test_people_and_runs_leave_valid_incidents(policy, happenings):
    """Every incident stays valid and at most one is open, whatever happens in what order."""
    world = World(policy)
    for happening in happenings:
        if isinstance(happening, Look):
            was_open = world.newest is not None and world.newest.state is not State.RESOLVED
            step = world.look(happening)
            assert not (was_open and any(isinstance(change, Opened | Reopened) for change in step.changes))
        else:
            world.hear(happening)
        for incident in world.incidents:
            assert_valid(incident)
        assert all(incident.state is State.RESOLVED for incident in world.incidents[:-1])


@given(policies, st.lists(looks | words, max_size=40))
def test_no_incident_opens_or_closes_on_unknown_or_warn(policy, happenings):
    """A run that was not evaluated, or broke a softer limit only, changes no incident and no streak."""
    world = World(policy)
    for happening in happenings:
        before = world.watch
        if isinstance(happening, Word):
            world.hear(happening)
        elif happening.found.status in {Status.PASS, Status.FAIL}:
            world.look(happening)
        else:
            step = world.look(happening)
            assert step.changes == ()
            if before is not None:
                assert step.watch == replace(
                    before,
                    last_run_at=step.watch.last_run_at,
                    last_status=step.watch.last_status,
                    last_pass_ended_at=step.watch.last_pass_ended_at,
                )
                held = happening.found.status is Status.WARN and step.reason is not Reason.OUT_OF_ORDER
                assert held or step.watch.last_pass_ended_at == before.last_pass_ended_at


@given(policies, st.lists(looks, max_size=40))
def test_an_episode_begins_after_the_last_run_in_which_the_fail_limit_held(policy, happenings):
    """The interval of occurrence begins at the end of the last pass or warn before detection, never earlier."""
    world = World(policy)
    held: list = []
    for happening in happenings:
        step = world.look(happening)
        if step.reason is Reason.OUT_OF_ORDER:
            continue
        begun = [change.episode for change in step.changes if isinstance(change, Opened | Reopened)]
        for episode in begun:
            assert not held or episode.onset.earliest >= min(held[-1], episode.detected_at)
        if happening.found.status in {Status.PASS, Status.WARN}:
            held.append(step.watch.last_pass_ended_at)


@given(policies | confirming, st.lists(looks, max_size=40))
def test_detection_lies_between_the_first_fail_and_the_resolution(policy, happenings):
    """A run detects: the incident's detection is a failing run's time, not before its first failing run."""
    world = World(policy)
    failed, passed = set(), set()
    for happening in happenings:
        step = world.look(happening)
        if step.reason is Reason.OUT_OF_ORDER:
            continue
        {Status.FAIL: failed, Status.PASS: passed}.get(happening.found.status, set()).add(step.watch.last_run_at)
    for episode in (episode for incident in world.incidents for episode in incident.episodes):
        assert episode.detected_at in failed
        assert episode.first_failed_at in failed
        assert episode.first_failed_at <= episode.detected_at
        assert episode.resolved_at is None or episode.resolved_at in passed


@given(policies, st.lists(st.sampled_from("PFWU"), max_size=40))
def test_streaks_open_and_close(policy, letters):
    """Without people, an incident is open exactly from the n-th fail in a row until the m-th pass in a row."""
    world = World(policy)
    statuses = {"P": Status.PASS, "F": Status.FAIL, "W": Status.WARN, "U": Status.UNKNOWN}
    evaluated, is_open = "", False
    for letter in letters:
        world.look(Look(outcome(statuses[letter]), 10, 1, Severity.ERROR))
        evaluated += letter if letter in "PF" else ""
        if not is_open and evaluated.endswith("F" * policy.open_after):
            is_open = True
        elif is_open and evaluated.endswith("P" * policy.resolve_after):
            is_open = False
        assert is_open == (world.newest is not None and world.newest.state is not State.RESOLVED)


@given(policies | confirming, st.lists(looks | words, max_size=40))
def test_runs_only_resolve_as_fixed(policy, happenings):
    """What a run changes is recorded as such: resolved means fixed, and never in the future of that run."""
    world = World(policy)
    for happening in happenings:
        if isinstance(happening, Word):
            world.hear(happening)
            continue
        for change in world.look(happening).changes:
            if isinstance(change, Resolved):
                assert change.resolution is Resolution.FIXED
                assert change.at <= world.watch.last_run_at


def _confirmed(runs, after, resolve_after):
    """Return the episodes that runs `(tick, letter)` make, `[earliest, detected, resolved]`, without the product."""
    episodes, failing, passing, held = [], [], [], None
    for tick, letter in runs:
        lasts = bool(episodes) and episodes[-1][2] is None
        if letter in "PW":
            failing = []
        if letter == "P" and lasts:
            passing.append(tick)
            if len(passing) == resolve_after:
                episodes[-1][2], passing = passing[0], []
        if letter == "F" and lasts:
            passing = []
        if letter == "F" and not lasts:
            failing.append(tick)
            if tick - failing[0] >= after:
                episodes.append([runs[0][0] if held is None else min(held + 1, failing[0]), failing[0], None])
                failing, passing = [], []
        if letter in "PW":
            held = tick
    return episodes


@given(st.integers(0, 40), st.integers(1, 3), st.lists(st.tuples(st.integers(1, 30), st.sampled_from("PFFWU"))))
def test_confirmed_incidents_are_as_computed_apart(after, resolve_after, steps):
    """A fail opens when a later one confirms it, nothing having held between; undetected and repair hours follow."""
    world = World(Policy(resolve_after=resolve_after, confirm_after=at(after) - at(0)))
    statuses = {"P": Status.PASS, "F": Status.FAIL, "W": Status.WARN, "U": Status.UNKNOWN}
    runs = []
    for pause, letter in steps:
        world.look(Look(outcome(statuses[letter]), pause, 1, Severity.ERROR))
        runs.append((world.now, letter))
    expected = _confirmed(runs, after, resolve_after)
    episodes = [episode for incident in world.incidents for episode in incident.episodes]
    times = [(one.onset.earliest, one.detected_at, one.resolved_at) for one in episodes]
    assert times == [tuple(None if time is None else at(time) for time in times) for times in expected]
    if not episodes:
        return
    end = world.now + 5
    assert all(one.first_failed_at == one.detected_at for one in episodes)
    downtime = measure(Spans.of(world.incidents), Window.of(at(-1), at(end)), as_of_us=to_us(at(end)))
    parts = [
        (detected - occurred, (resolved or end) - detected)
        for (_, detected, resolved), occurred in zip(expected, map(_occurred, episodes), strict=True)
    ]
    assert (downtime.undetected, downtime.repair) == tuple(map(sum, zip(*parts, strict=True)))


warning = st.builds(
    Policy,
    open_after=st.integers(1, 3),
    resolve_after=st.integers(1, 3),
    confirm_after=st.none() | st.just(at(15) - at(0)),
    warn_opens=st.sampled_from([True]),
)


def _softer_incidents(letters, policy):
    """Return the episodes of runs ten ticks apart, `[severity, first, detected, resolved]`, without the product."""
    episodes, bad, good = [], [], []
    for number, letter in enumerate(letters, 1):
        lasts = bool(episodes) and episodes[-1][3] is None
        if letter == "P":
            bad, good = [], [*good, number]
            if lasts and len(good) == policy.resolve_after:
                episodes[-1][3] = good[0]
        elif letter in "FW":
            bad, good = [*bad, (number, letter)], []
            if lasts and letter == "F":
                episodes[-1][0] = "error"
            enough = len(bad) >= policy.open_after if policy.confirm_after is None else number - bad[0][0] >= 2
            if not lasts and enough:
                before = episodes[-1][0] if episodes else "warning"
                soft = any(kind == "W" for _, kind in bad)
                first = bad[0][0]
                detected = number if policy.confirm_after is None else first
                episodes.append([before if soft else "error", first, detected, None])
    return episodes


@given(warning, st.lists(st.sampled_from("PFWU"), max_size=40))
def test_a_warn_that_opens_is_a_fail_of_a_softer_limit(policy, letters):
    """Episodes, their times and their severity are as computed apart; between them passing runs alone lie."""
    world = World(policy)
    statuses = {"P": Status.PASS, "F": Status.FAIL, "W": Status.WARN, "U": Status.UNKNOWN}
    severities = []
    for letter in letters:
        step = world.look(Look(outcome(statuses[letter]), 10, 1, Severity.ERROR))
        if any(isinstance(change, Opened | Reopened) for change in step.changes):
            severities.append(None)
        if world.newest is not None and world.newest.state is not State.RESOLVED:
            severities[-1] = world.newest.severity.value
    episodes = [episode for incident in world.incidents for episode in incident.episodes]
    times = [(one.first_failed_at, one.detected_at, one.resolved_at) for one in episodes]
    expected = _softer_incidents(letters, policy)
    assert times == [tuple(None if one is None else at(one * 10) for one in wanted[1:]) for wanted in expected]
    assert severities == [wanted[0] for wanted in expected]
    held = [number for number, letter in enumerate(letters, 1) if letter == "P"]
    for episode, (_, first, _, _) in zip(episodes, expected, strict=True):
        before = [number for number in held if number < first]
        assert episode.onset.earliest == (at(before[-1] * 10 + 1) if before else at(10))


def _occurred(episode):
    return (episode.onset.at - at(0)) // (at(1) - at(0))
