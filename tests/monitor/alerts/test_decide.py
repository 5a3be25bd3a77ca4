"""What there is to tell a channel."""

from dataclasses import replace
from datetime import timedelta

import pytest

from checks import Severity
from incidents import Resolution, State
from monitor.alerts.decide import Reason, believed, decide, remembered
from store import Told
from tests.monitor.alerts.made import NOW, at, episode, incident, over

HOUR = timedelta(hours=1)
LASTS = incident()
AGAIN = incident(episodes=(episode(-9, -8), episode(0)))
OVER = over()
OVER_AGAIN = over(episodes=(episode(-9, -8), episode(-2, -1)))


def told(reason=Reason.FIRST, *, ago=HOUR, severity=Severity.ERROR, episodes=1):
    """Make what a channel was told."""
    return Told(1, "desk", reason, severity, episodes, NOW - ago, "msg_1")


def flaps(one):
    """Make it flap."""
    return replace(one, flapping=True)


DAY = timedelta(days=1)
TABLE = [
    # what it is, what the channel was told, what is told now
    ("a new problem", LASTS, None, Reason.FIRST),
    ("a new problem, in its second episode", AGAIN, None, Reason.FIRST),
    ("known", LASTS, told(), Reason.NONE),
    ("known for a day", LASTS, told(ago=DAY), Reason.REMINDER),
    ("reminded an hour ago", LASTS, told(Reason.REMINDER), Reason.NONE),
    ("reminded a day ago", LASTS, told(Reason.REMINDER, ago=DAY), Reason.REMINDER),
    ("worse", replace(LASTS, severity=Severity.CRITICAL), told(), Reason.ESCALATED),
    ("less bad", replace(LASTS, severity=Severity.WARNING), told(), Reason.NONE),
    ("back, after its end was told", AGAIN, told(Reason.RESOLVED), Reason.REOPENED),
    ("back, before its end was told", AGAIN, told(), Reason.REOPENED),
    ("back, and that was told", AGAIN, told(Reason.REOPENED, episodes=2), Reason.NONE),
    ("acknowledged for days", replace(LASTS, state=State.ACKNOWLEDGED), told(ago=3 * DAY), Reason.NONE),
    (
        "acknowledged, then worse",
        replace(LASTS, state=State.ACKNOWLEDGED, severity=Severity.CRITICAL),
        told(ago=3 * DAY),
        Reason.ESCALATED,
    ),
    ("snoozed for days", replace(LASTS, snoozed_until=NOW + HOUR), told(ago=3 * DAY), Reason.NONE),
    ("snoozed until an hour ago", replace(LASTS, snoozed_until=NOW - HOUR), told(ago=3 * DAY), Reason.REMINDER),
    ("over", OVER, told(), Reason.RESOLVED),
    ("over after a reminder", OVER, told(Reason.REMINDER), Reason.RESOLVED),
    ("over, and never told", OVER, None, Reason.NONE),
    ("over, and that was told", OVER, told(Reason.RESOLVED), Reason.NONE),
    ("over again, of which only the first was told", OVER_AGAIN, told(Reason.RESOLVED), Reason.NONE),
    ("over again, of which the beginning was told", OVER_AGAIN, told(Reason.REOPENED, episodes=2), Reason.RESOLVED),
    ("the same as another", replace(OVER, resolution=Resolution.DUPLICATE, merged_into=7), told(), Reason.RESOLVED),
    ("flaps, and is new", flaps(LASTS), None, Reason.FIRST),
    ("flaps, passes at the moment, and is new", flaps(OVER), None, Reason.NONE),
    ("begins to flap", flaps(LASTS), told(), Reason.FLAPPING),
    ("begins to flap while it passes", flaps(OVER), told(), Reason.FLAPPING),
    ("flaps, and its end was told", flaps(OVER), told(Reason.RESOLVED), Reason.NONE),
    ("flaps, and is back", flaps(AGAIN), told(Reason.RESOLVED), Reason.FLAPPING),
    ("flaps, and that was told", flaps(AGAIN), told(Reason.FLAPPING), Reason.NONE),
    ("flaps, and passes, and that was told", flaps(OVER_AGAIN), told(Reason.FLAPPING), Reason.NONE),
    ("flaps for a day", flaps(AGAIN), told(Reason.FLAPPING, ago=DAY), Reason.FLAPPING),
    (
        "flaps, and gets worse",
        replace(flaps(AGAIN), severity=Severity.CRITICAL),
        told(Reason.FLAPPING),
        Reason.FLAPPING,
    ),
    ("settled, and over", OVER_AGAIN, told(Reason.FLAPPING, episodes=2), Reason.RESOLVED),
    ("settled, and lasts", AGAIN, told(Reason.FLAPPING, episodes=2), Reason.REMINDER),
    ("settled, and back", AGAIN, told(Reason.FLAPPING), Reason.REOPENED),
]


@pytest.mark.parametrize(("case", "one", "known", "reason"), TABLE, ids=[row[0] for row in TABLE])
def test_what_there_is_to_tell(case, one, known, reason):
    """A channel is told what it does not know, once, and nothing of what is over if it was never told of it."""
    decision = decide(one, known, now=NOW, remind_every=DAY, send_resolved=True)
    assert decision.reason is reason, case
    assert decision.why


def test_the_end_is_not_told_if_nobody_wants_it():
    """Without `send_resolved` the end of a problem is not told, and its next episode is."""
    ended = decide(OVER, told(), now=NOW, remind_every=DAY, send_resolved=False)
    assert (ended.reason, "send_resolved" in ended.why) == (Reason.NONE, True)
    assert decide(AGAIN, told(), now=NOW, remind_every=DAY, send_resolved=False).reason is Reason.REOPENED


OWED = [
    ("a new problem that passed", OVER, None, Reason.FIRST, Reason.RESOLVED),
    ("one that came back and passed", OVER_AGAIN, told(Reason.RESOLVED), Reason.REOPENED, Reason.RESOLVED),
    ("one that flaps and passes at the moment", flaps(OVER), None, Reason.FIRST, Reason.FLAPPING),
    ("one that flaps again", flaps(OVER_AGAIN), told(Reason.RESOLVED), Reason.FLAPPING, Reason.FLAPPING),
    ("one that the channel knows", OVER, told(Reason.RESOLVED), Reason.NONE, None),
    ("the same as another", replace(OVER, merged_into=7), None, Reason.NONE, None),
    ("one that lasts", LASTS, None, Reason.FIRST, Reason.FIRST),
]


@pytest.mark.parametrize(("case", "one", "known", "reason", "then"), OWED, ids=[row[0] for row in OWED])
def test_what_quiet_hours_kept_back_is_told_even_if_it_is_over(case, one, known, reason, then):
    """What was kept back is told once, in one message that says that it is over; nothing else follows."""
    decision = decide(one, known, now=NOW, remind_every=DAY, send_resolved=True, owed=True)
    assert decision.reason is reason, case
    if then is None:
        return
    assert remembered(one, reason) is then
    afterwards = told(remembered(one, reason), ago=timedelta(), episodes=len(one.episodes))
    again = decide(one, afterwards, now=at(1), remind_every=DAY, send_resolved=True, owed=True)
    assert again.reason is Reason.NONE


@pytest.mark.parametrize(
    ("last", "one", "reason"),
    [
        (told(), LASTS, Reason.FIRST),
        (told(Reason.REOPENED, episodes=2), AGAIN, Reason.REOPENED),
        (told(Reason.ESCALATED), LASTS, Reason.ESCALATED),
        (told(Reason.ESCALATED), OVER, Reason.RESOLVED),
        (told(Reason.REMINDER), OVER, Reason.RESOLVED),
        (told(Reason.FLAPPING), OVER, Reason.RESOLVED),
        (told(), OVER, Reason.NONE),
        (told(Reason.RESOLVED), OVER, Reason.NONE),
        (told(Reason.REOPENED, episodes=2), OVER_AGAIN, Reason.NONE),
    ],
)
def test_what_was_given_up_was_not_heard(last, one, reason):
    """After a message that was given up, a channel is told what it has not heard, and no end of what it never heard."""
    assert decide(one, believed(last), now=NOW, remind_every=DAY, send_resolved=True).reason is reason
