"""What one run of a check means for its incident, rule by rule."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from checks import Kind, Message, OccurrenceMethod, Outcome, Severity, Status
from incidents import (
    Episode,
    Escalated,
    Event,
    Flapped,
    FoundBy,
    Merged,
    Onset,
    Opened,
    Policy,
    Reason,
    Reopened,
    Resolution,
    Resolved,
    RunTimes,
    State,
    Watch,
    advance,
    apply,
    encode,
)
from tests.incidents.histories import assert_valid, at
from tests.incidents.made import IDENTITY, opened, outcome, run

STATUSES = {"P": Status.PASS, "W": Status.WARN, "F": Status.FAIL, "U": Status.UNKNOWN}


class Life:
    """A check that is run again and again, and its incidents."""

    def __init__(self, policy=Policy(), identity=IDENTITY):  # noqa: B008 - a frozen value
        self.policy, self.identity = policy, identity
        self.watch = None
        self.incidents = []
        self.reasons = []

    @property
    def newest(self):
        """The newest incident."""
        return self.incidents[-1] if self.incidents else None

    def record(self, change, tick):
        """Write a change down."""
        if isinstance(change, Opened):
            self.incidents.append(apply(None, Event(len(self.incidents) + 1, at(tick), "tablewatch", change)))
        else:
            self.incidents[-1] = apply(self.newest, Event(self.newest.id, at(tick), "tablewatch", change))
        assert_valid(self.newest)

    def run(self, statuses, *, start=None, every=10, found=None):
        """Run with these outcomes, `every` ticks apart, the first at `start`; each run takes a tick."""
        tick = start if start is not None else (self.tick + every if self.watch else every)
        for letter in statuses:
            self.tick = tick
            step = advance(
                self.watch,
                self.newest,
                found or outcome(STATUSES[letter]),
                identity=self.identity,
                policy=self.policy,
                run=run(tick),
            )
            self.watch = step.watch
            self.reasons.append(step.reason)
            for change in step.changes:
                self.record(change, tick)
            tick += every
        return self


CONFIRM = Policy(confirm_after=timedelta(microseconds=15))


def test_a_fail_is_detected_by_its_first_run_once_a_later_one_confirms_it():
    """The incident opens with the run that is late enough, and was detected by the first of the streak."""
    life = Life(CONFIRM).run("PF")
    assert (life.newest, life.reasons[-1]) == (None, Reason.WAITING_TO_OPEN)
    assert life.run("F", every=5).newest is None, "it came too soon"
    life.run("F")
    assert life.reasons[-1] is Reason.OPENED
    episode = life.newest.last
    assert (episode.onset.at, episode.detected_at, episode.first_failed_at) == (at(11), at(20), at(20))
    assert episode.onset.latest == at(20)


@pytest.mark.parametrize("held", ["P", "W"])
def test_a_retry_in_which_the_limit_held_clears_a_fail(held):
    """A retry that passes, or breaks the softer limit only, leaves nothing: the next fail waits to be confirmed."""
    life = Life(CONFIRM).run("PF" + held + "F")
    assert life.newest is None
    assert life.run("UF").newest.last.detected_at == at(40)


def test_an_unknown_retry_neither_confirms_nor_clears():
    """What could not be evaluated says nothing; the next run that could decides."""
    life = Life(CONFIRM).run("PFU")
    assert (life.newest, life.reasons[-1]) == (None, Reason.UNKNOWN)
    assert life.run("F").newest.last.detected_at == at(20)


def test_a_confirmed_relapse_begins_at_its_first_fail():
    """After a resolution, the second episode was detected by the first fail after it, not by the one that confirmed."""
    life = Life(replace(CONFIRM, resolve_after=1)).run("PFFFPFFF")
    assert [episode.detected_at for episode in life.newest.episodes] == [at(20), at(60)]
    assert life.newest.episodes[0].resolved_at == at(50)


def test_the_first_failing_run_opens_an_incident():
    """The failing run detected it, and data went bad at the end of the last passing run, or since."""
    life = Life().run("PPF")
    episode = life.newest.last
    assert life.newest.state is State.OPEN
    assert episode.detected_at == episode.first_failed_at == at(30)
    assert episode.onset == Onset(at(21), at(21), at(30), OccurrenceMethod.LAST_GOOD_RUN)
    assert life.newest.found_by is FoundBy.CHECK
    assert (life.newest.title, life.newest.title_values) == ("{rows:count} rows are late", {"rows": 3})


def test_more_failing_runs_may_be_asked_for():
    """With three asked for, the third detects it; the first stands beside it, and the wait is time to detect."""
    life = Life(Policy(open_after=3)).run("PFF")
    assert life.newest is None
    assert life.reasons[-1] is Reason.WAITING_TO_OPEN
    life.run("F")
    assert life.newest.last.detected_at == at(40)
    assert life.newest.last.first_failed_at == at(20)
    assert life.newest.last.onset.at == at(11)


@pytest.mark.parametrize("between", ["U", "W", "UWU"])
def test_unknown_and_warn_neither_extend_nor_break_a_failing_streak(between):
    """Fail, something else, fail: two failing runs in a row, and one is not enough."""
    assert Life(Policy(open_after=2)).run("PF" + between).newest is None
    assert Life(Policy(open_after=2)).run("PF" + between + "F").newest is not None


@pytest.mark.parametrize("between", ["U", "W", "UWU"])
def test_unknown_and_warn_neither_extend_nor_break_a_passing_streak(between):
    """Pass, something else, pass resolves as of the first pass; one pass alone does not."""
    life = Life().run("PFP" + between)
    assert life.newest.state is State.OPEN
    life.run("P")
    assert life.newest.last.resolved_at == at(30)


@pytest.mark.parametrize(("letter", "reason"), [("U", Reason.UNKNOWN), ("W", Reason.WARNED)])
def test_unknown_and_warn_move_no_streak(letter, reason):
    """They open, extend and close nothing: only the last run changes, and with a warn the last passing run."""
    life = Life().run("PPF")
    before = life.watch
    life.run(letter)
    assert life.reasons[-1] is reason
    after = "unknown(timeout)" if letter == "U" else "warn"
    held = at(41) if letter == "W" else before.last_pass_ended_at
    assert life.watch == replace(before, last_run_at=at(40), last_status=after, last_pass_ended_at=held)
    assert life.watch.last_unknown == ("timeout" if letter == "U" else None)


def test_a_fail_joins_the_open_incident():
    """At most one incident of a check is open; more failing runs change nothing."""
    life = Life().run("PFFF")
    assert len(life.incidents) == 1
    assert life.reasons[-2:] == [Reason.JOINED, Reason.JOINED]


def test_a_changed_severity_escalates():
    """When the check's severity was configured again, its open incident follows, up or down, once."""
    life = Life().run("PF")
    for severity in (Severity.CRITICAL, Severity.INFO):
        life.identity = replace(IDENTITY, severity=severity)
        life.run("FF")
        assert life.newest.severity is severity
        assert life.reasons[-2:] == [Reason.ESCALATED, Reason.JOINED]


def test_the_passing_streak_resolves_as_of_its_first_run():
    """Two passing runs by default; data was good again at the first of them."""
    life = Life().run("PFFPP")
    assert life.newest.state is State.RESOLVED
    assert life.newest.resolution is Resolution.FIXED
    assert life.newest.last.resolved_at == at(40)
    assert life.reasons[-2:] == [Reason.WAITING_TO_RESOLVE, Reason.RESOLVED]


def test_a_fail_breaks_the_passing_streak():
    """Pass, fail, pass, pass: resolved as of the second pass."""
    assert Life().run("PFPFPP").newest.last.resolved_at == at(50)


def test_a_relapse_within_seven_days_is_the_same_incident():
    """A new episode of the same incident, marked as regressed; the healthy time between is in neither episode."""
    life = Life().run("PFPP").run("PF")
    assert len(life.incidents) == 1
    assert life.reasons[-1] is Reason.RELAPSED
    assert life.newest.regressed
    assert [(episode.onset.at, episode.resolved_at) for episode in life.newest.episodes] == [
        (at(11), at(30)),
        (at(51), None),
    ]


def test_a_relapse_after_seven_days_is_a_new_incident():
    """Seven days to the microsecond are still within; one more is not."""
    policy = Policy(regressed_within=timedelta(microseconds=100))
    assert len(Life(policy).run("PFPP").run("F", start=130).incidents) == 1
    assert len(Life(policy).run("PFPP").run("F", start=131).incidents) == 2


@pytest.mark.parametrize("resolution", list(Resolution))
def test_only_a_resolution_that_counts_can_relapse(resolution):
    """After 'expected', 'false-positive' or 'duplicate' a fail opens a new incident."""
    life = Life().run("PF")
    life.record(Resolved(at(25), resolution), 25)
    life.run("F")
    assert len(life.incidents) == (1 if resolution.counts else 2)


def test_a_merged_incident_does_not_relapse():
    """The next failing streak after a merge is a new incident."""
    life = Life().run("PF")
    life.record(Merged(99), 25)
    assert len(life.run("F").incidents) == 2


def test_a_resolution_breaks_the_failing_streak():
    """Runs that failed before a person resolved it say nothing about what follows: the count starts again."""
    life = Life(Policy(open_after=2)).run("PFFF")
    life.record(Resolved(at(45), Resolution.FIXED), 45)
    life.run("F")
    assert life.reasons[-1] is Reason.WAITING_TO_OPEN
    life.run("F")
    assert life.newest.last.first_failed_at == at(50)
    assert life.newest.last.onset.earliest == at(45), "it was good at the latest when somebody said so"


def test_a_detection_breaks_the_passing_streak():
    """When a person reopens while the check passes, passes from before that do not close it."""
    life = Life().run("PFPPP")
    life.record(Reopened(Episode(Onset(at(55), at(55), at(55), OccurrenceMethod.PERSON), at(55))), 55)
    life.run("P")
    assert life.reasons[-1] is Reason.WAITING_TO_RESOLVE
    life.run("P")
    assert life.newest.last.resolved_at == at(60)


def test_a_run_from_before_the_resolution_reopens_nothing():
    """A slow run that measured before data was delivered again says nothing about after."""
    life = Life().run("PF")
    life.record(Resolved(at(100), Resolution.FIXED), 100)
    life.run("F", start=90)
    assert life.reasons[-1] is Reason.SUPERSEDED
    assert life.newest.state is State.RESOLVED


def test_a_run_from_before_the_detection_closes_nothing():
    """A pass that measured before it was detected does not begin the passing streak."""
    life = Life(Policy(resolve_after=1)).run("PFP")
    life.record(Reopened(Episode(Onset(at(50), at(50), at(50), OccurrenceMethod.PERSON), at(50))), 50)
    life.run("P", start=45)
    assert life.reasons[-1] is Reason.SUPERSEDED
    assert life.newest.state is State.OPEN


def test_a_run_at_the_very_moment_says_nothing_about_after():
    """A fail measured at the resolution reopens nothing; a pass measured at the detection begins no streak."""
    life = Life(Policy(resolve_after=1)).run("PF")
    life.record(Resolved(at(30), Resolution.FIXED), 30)
    life.run("F", start=30)
    assert life.reasons[-1] is Reason.SUPERSEDED
    life.record(Reopened(Episode(Onset(at(40), at(40), at(40), OccurrenceMethod.PERSON), at(40))), 40)
    life.run("P", start=40)
    assert life.reasons[-1] is Reason.SUPERSEDED
    life.run("P", start=50)
    assert life.newest.last.resolved_at == at(50)


def test_without_a_passing_run_nobody_knows_when_it_began():
    """First observation: it occurred at the first failing run; the interval reaches back to the start of monitoring."""
    life = Life(Policy(open_after=2)).run("UFF")
    assert life.newest.last.onset == Onset(at(20), at(10), at(30), OccurrenceMethod.FIRST_OBSERVATION)


def test_without_a_passing_run_bad_rows_do_not_reach_back():
    """Rows that were bad for years before the first run are 'before monitoring', never downtime."""
    life = Life().run("F", found=outcome(Status.FAIL, occurred=-1000))
    assert life.newest.last.onset == Onset(at(10), at(10), at(10), OccurrenceMethod.FIRST_OBSERVATION)


@pytest.mark.parametrize(("said", "taken"), [(15, 15), (-1000, 11), (5000, 20)])
@pytest.mark.parametrize("method", [OccurrenceMethod.BAD_ROWS, OccurrenceMethod.FRESHNESS_DEADLINE])
def test_what_the_data_says_is_kept_within_what_is_known(method, said, taken):
    """A load time or a deadline is moved into the interval from the last passing run to detection."""
    life = Life().run("P").run("F", found=outcome(Status.FAIL, said, method))
    assert life.newest.last.onset == Onset(at(taken), at(11), at(20), method)


def test_a_run_may_end_after_the_next_one_measured():
    """The end of the last passing run is then later than detection, and it occurred when it was detected."""
    life = Life().run("P")
    life.watch = replace(life.watch, last_pass_ended_at=at(33))
    assert life.run("F").newest.last.onset == Onset(at(20), at(20), at(20), OccurrenceMethod.LAST_GOOD_RUN)


def test_a_person_closes_what_a_person_reported():
    """Passing runs do not close an incident that no check found, nor one of another check; a fail joins it."""
    for check_id in (None, "orders.key"):
        life = Life()
        life.record(opened(check_id=check_id), 5)
        life.run("PPP")
        assert life.newest.state is State.OPEN
        assert life.reasons[-1] is Reason.NOT_ITS_OWN
        life.run("F")
        assert life.reasons[-1] is Reason.JOINED


def test_a_segment_does_not_close_the_incident_of_another_segment():
    """Where people merged the incidents of two segments of one check, passing runs of one do not end what lasts."""
    life = Life()
    life.record(opened(check_id=IDENTITY.check_id, fingerprint=f"{IDENTITY.check_id}[country=JP]"), 5)
    life.run("PPP")
    assert life.newest.state is State.OPEN
    assert life.reasons[-1] is Reason.NOT_ITS_OWN


def test_a_check_does_not_relapse_into_what_a_person_reported():
    """A fail soon after a person's incident of the same fingerprint was resolved is the check's own, new incident."""
    life = Life()
    life.record(opened(check_id=None), 5)
    life.record(Resolved(at(8), Resolution.FIXED), 8)
    life.run("F")
    assert [incident.check_id for incident in life.incidents] == [None, "orders.fresh"]


@pytest.mark.parametrize(
    ("runs", "bound"),
    [("PWF", 21), ("PWWUF", 31), ("WF", 11), ("UWUF", 21), ("PUF", 11), ("PFPPWWF", 61)],
)
def test_a_warn_run_proves_that_the_fail_limit_held(runs, bound):
    """Data went bad after the last pass or warn, whichever is later; unknown proves nothing."""
    onset = Life().run(runs).newest.last.onset
    detected = 10 * len(runs)
    assert onset == Onset(at(bound), at(bound), at(detected), OccurrenceMethod.LAST_GOOD_RUN)


def test_a_warn_run_bounds_what_the_data_says():
    """A load time before the last warn run is moved to its end: the fail limit held then."""
    life = Life().run("PW").run("F", found=outcome(Status.FAIL, occurred=5))
    assert life.newest.last.onset == Onset(at(21), at(21), at(30), OccurrenceMethod.BAD_ROWS)


def test_a_warn_run_between_failing_runs_bounds_what_opens_later():
    """Where two failing runs are asked for, the one before the warn stands beside the incident."""
    episode = Life(Policy(open_after=2)).run("PFWF").newest.last
    assert episode.onset.at == at(31)
    assert episode.first_failed_at == at(20)


def test_a_warn_run_after_a_persons_resolution_bounds_the_next_episode():
    """The healthy time that a warn run shows after a resolution is not counted as downtime of the relapse."""
    life = Life().run("PF")
    life.record(Resolved(at(25), Resolution.FIXED), 25)
    life.run("WWF")
    assert life.reasons[-1] is Reason.RELAPSED
    assert life.newest.last.onset.earliest == at(41)


def test_runs_out_of_order_are_ignored():
    """A run that measured no later than the newest known one changes nothing at all."""
    life = Life().run("PP")
    for tick in (20, 15):
        step = advance(life.watch, None, outcome(Status.FAIL), identity=IDENTITY, policy=Policy(), run=run(tick))
        assert (step.watch, step.changes, step.reason) == (life.watch, (), Reason.OUT_OF_ORDER)


def test_a_passing_check_is_healthy():
    """No incident, nothing to do."""
    life = Life().run("PPP")
    assert set(life.reasons) == {Reason.HEALTHY}
    assert life.watch == Watch(
        "orders.fresh",
        monitored_since=at(10),
        last_run_at=at(30),
        last_status="pass",
        last_pass_ended_at=at(31),
        passing_since=at(10),
        pass_streak=3,
        recent="PPP",
    )


def test_flapping_marks_the_incident_once_and_unmarks_it_when_stable():
    """Pass and fail in turns: one incident, one mark; twenty stable runs later the mark is taken back."""
    life = Life()
    marks = []
    for letter in "PF" * 20 + "P" * 21:
        before = life.newest.flapping if life.newest else False
        life.run(letter)
        if life.newest and life.newest.flapping != before:
            marks.append(life.newest.flapping)
    assert len(life.incidents) == 1
    assert marks == [True, False]
    assert life.newest.state is State.RESOLVED


def test_a_new_incident_of_a_flapping_check_is_marked():
    """A check that flaps while its old incident is over marks the new one from the beginning."""
    life = Life(Policy(resolve_after=1)).run("PFPFPFPFP")
    assert life.newest.flapping
    life.record(Resolved(at(85), Resolution.EXPECTED), 85)
    life.run("F")
    assert len(life.incidents) == 2
    assert life.newest.flapping


def test_one_row_is_said_in_the_singular():
    """A title keeps the form that fits its number, and values that survive being stored."""
    message = Message(
        "{n:count} rows", {"n": 1, "newest": datetime(2026, 1, 1, tzinfo=UTC)}, one="one row", counted="n"
    )
    life = Life().run("F", found=Outcome(Status.FAIL, message))
    assert life.newest.title == "one row"
    assert life.newest.title_values == {"n": 1, "newest": "2026-01-01T00:00:00Z"}


def test_a_step_names_what_it_changes():
    """The changes of a step are ready to be stored."""
    step = advance(
        Life().run("P").watch,
        None,
        outcome(Status.FAIL),
        identity=replace(IDENTITY, kind=Kind.DISCLOSURE, severity=Severity.CRITICAL),
        policy=Policy(),
        run=RunTimes(at(20), at(22)),
    )
    (change,) = step.changes
    assert (change.kind, change.incident_kind, change.severity) == ("opened", Kind.DISCLOSURE, Severity.CRITICAL)
    assert encode(change)["fingerprint"] == "orders.fresh"
    assert step.reason is Reason.OPENED


def test_a_relapse_takes_the_severity_of_now():
    """A relapse of a check that was made more severe meanwhile is as severe as the check."""
    life = Life().run("PFPP")
    life.identity = replace(IDENTITY, severity=Severity.CRITICAL)
    step = advance(
        life.watch, life.newest, outcome(Status.FAIL), identity=life.identity, policy=life.policy, run=run(50)
    )
    assert [type(change) for change in step.changes] == [Reopened, Escalated]
    assert not any(isinstance(change, Flapped) for change in step.changes)
