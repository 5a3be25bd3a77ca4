"""What there is to tell a channel."""

from dataclasses import replace
from datetime import timedelta

import pytest

from checks import Severity
from incidents import Resolution, State
from monitor.alerts.decide import NotificationReason, decide_reason, last_delivered, stored_reason
from store import LastNotification
from tests.monitor.alerts.made import NOW, at, episode, incident, over

HOUR = timedelta(hours=1)
LASTS = incident()
AGAIN = incident(episodes=(episode(-9, -8), episode(0)))
OVER = over()
OVER_AGAIN = over(episodes=(episode(-9, -8), episode(-2, -1)))


def told(reason=NotificationReason.FIRST, *, ago=HOUR, severity=Severity.ERROR, episodes=1):
    """Make the last notification of a channel."""
    return LastNotification(1, "desk", reason, severity, episodes, NOW - ago, "msg_1")


def flaps(one):
    """Make it flap."""
    return replace(one, flapping=True)


DAY = timedelta(days=1)
TABLE = [
    # the incident, the last notification, the reason of the next
    ("a new problem", LASTS, None, NotificationReason.FIRST),
    ("a new problem, in its second episode", AGAIN, None, NotificationReason.FIRST),
    ("known", LASTS, told(), NotificationReason.NONE),
    ("known for a day", LASTS, told(ago=DAY), NotificationReason.REMINDER),
    ("reminded an hour ago", LASTS, told(NotificationReason.REMINDER), NotificationReason.NONE),
    ("reminded a day ago", LASTS, told(NotificationReason.REMINDER, ago=DAY), NotificationReason.REMINDER),
    ("worse", replace(LASTS, severity=Severity.CRITICAL), told(), NotificationReason.ESCALATED),
    ("less bad", replace(LASTS, severity=Severity.WARNING), told(), NotificationReason.NONE),
    ("back, after its end was told", AGAIN, told(NotificationReason.RESOLVED), NotificationReason.REOPENED),
    ("back, before its end was told", AGAIN, told(), NotificationReason.REOPENED),
    ("back, and that was told", AGAIN, told(NotificationReason.REOPENED, episodes=2), NotificationReason.NONE),
    ("acknowledged for days", replace(LASTS, state=State.ACKNOWLEDGED), told(ago=3 * DAY), NotificationReason.NONE),
    (
        "acknowledged, then worse",
        replace(LASTS, state=State.ACKNOWLEDGED, severity=Severity.CRITICAL),
        told(ago=3 * DAY),
        NotificationReason.ESCALATED,
    ),
    ("snoozed for days", replace(LASTS, snoozed_until=NOW + HOUR), told(ago=3 * DAY), NotificationReason.NONE),
    (
        "snoozed until an hour ago",
        replace(LASTS, snoozed_until=NOW - HOUR),
        told(ago=3 * DAY),
        NotificationReason.REMINDER,
    ),
    ("over", OVER, told(), NotificationReason.RESOLVED),
    ("over after a reminder", OVER, told(NotificationReason.REMINDER), NotificationReason.RESOLVED),
    ("over, and never told", OVER, None, NotificationReason.NONE),
    ("over, and that was told", OVER, told(NotificationReason.RESOLVED), NotificationReason.NONE),
    (
        "over again, of which only the first was told",
        OVER_AGAIN,
        told(NotificationReason.RESOLVED),
        NotificationReason.NONE,
    ),
    (
        "over again, of which the beginning was told",
        OVER_AGAIN,
        told(NotificationReason.REOPENED, episodes=2),
        NotificationReason.RESOLVED,
    ),
    (
        "the same as another",
        replace(OVER, resolution=Resolution.DUPLICATE, merged_into=7),
        told(),
        NotificationReason.RESOLVED,
    ),
    ("flaps, and is new", flaps(LASTS), None, NotificationReason.FIRST),
    ("flaps, passes at the moment, and is new", flaps(OVER), None, NotificationReason.NONE),
    ("begins to flap", flaps(LASTS), told(), NotificationReason.FLAPPING),
    ("begins to flap while it passes", flaps(OVER), told(), NotificationReason.FLAPPING),
    ("flaps, and its end was told", flaps(OVER), told(NotificationReason.RESOLVED), NotificationReason.NONE),
    ("flaps, and is back", flaps(AGAIN), told(NotificationReason.RESOLVED), NotificationReason.FLAPPING),
    ("flaps, and that was told", flaps(AGAIN), told(NotificationReason.FLAPPING), NotificationReason.NONE),
    (
        "flaps, and passes, and that was told",
        flaps(OVER_AGAIN),
        told(NotificationReason.FLAPPING),
        NotificationReason.NONE,
    ),
    ("flaps for a day", flaps(AGAIN), told(NotificationReason.FLAPPING, ago=DAY), NotificationReason.FLAPPING),
    (
        "flaps, and gets worse",
        replace(flaps(AGAIN), severity=Severity.CRITICAL),
        told(NotificationReason.FLAPPING),
        NotificationReason.FLAPPING,
    ),
    ("settled, and over", OVER_AGAIN, told(NotificationReason.FLAPPING, episodes=2), NotificationReason.RESOLVED),
    ("settled, and lasts", AGAIN, told(NotificationReason.FLAPPING, episodes=2), NotificationReason.REMINDER),
    ("settled, and back", AGAIN, told(NotificationReason.FLAPPING), NotificationReason.REOPENED),
]


@pytest.mark.parametrize(("case", "one", "known", "reason"), TABLE, ids=[row[0] for row in TABLE])
def test_what_there_is_to_tell(case, one, known, reason):
    """A channel is notified of what it does not know, once, and not of the end of what it was never notified of."""
    decision = decide_reason(one, known, now=NOW, remind_every=DAY, send_resolved=True)
    assert decision.reason is reason, case
    assert decision.why


def test_the_end_is_not_told_if_nobody_wants_it():
    """Without `send_resolved` the end of a problem is not reported, and its next episode is."""
    ended = decide_reason(OVER, told(), now=NOW, remind_every=DAY, send_resolved=False)
    assert (ended.reason, "send_resolved" in ended.why) == (NotificationReason.NONE, True)
    assert (
        decide_reason(AGAIN, told(), now=NOW, remind_every=DAY, send_resolved=False).reason
        is NotificationReason.REOPENED
    )


OWED = [
    ("a new problem that passed", OVER, None, NotificationReason.FIRST, NotificationReason.RESOLVED),
    (
        "one that came back and passed",
        OVER_AGAIN,
        told(NotificationReason.RESOLVED),
        NotificationReason.REOPENED,
        NotificationReason.RESOLVED,
    ),
    (
        "one that flaps and passes at the moment",
        flaps(OVER),
        None,
        NotificationReason.FIRST,
        NotificationReason.FLAPPING,
    ),
    (
        "one that flaps again",
        flaps(OVER_AGAIN),
        told(NotificationReason.RESOLVED),
        NotificationReason.FLAPPING,
        NotificationReason.FLAPPING,
    ),
    ("one that the channel knows", OVER, told(NotificationReason.RESOLVED), NotificationReason.NONE, None),
    ("the same as another", replace(OVER, merged_into=7), None, NotificationReason.NONE, None),
    ("one that lasts", LASTS, None, NotificationReason.FIRST, NotificationReason.FIRST),
]


@pytest.mark.parametrize(("case", "one", "known", "reason", "then"), OWED, ids=[row[0] for row in OWED])
def test_what_quiet_hours_kept_back_is_told_even_if_it_is_over(case, one, known, reason, then):
    """What was kept back is reported once, in one message that says that resolved; nothing else follows."""
    decision = decide_reason(one, known, now=NOW, remind_every=DAY, send_resolved=True, even_if_resolved=True)
    assert decision.reason is reason, case
    if then is None:
        return
    assert stored_reason(one, reason) is then
    afterwards = told(stored_reason(one, reason), ago=timedelta(), episodes=len(one.episodes))
    again = decide_reason(one, afterwards, now=at(1), remind_every=DAY, send_resolved=True, even_if_resolved=True)
    assert again.reason is NotificationReason.NONE


@pytest.mark.parametrize(
    ("last", "one", "reason"),
    [
        (told(), LASTS, NotificationReason.FIRST),
        (told(NotificationReason.REOPENED, episodes=2), AGAIN, NotificationReason.REOPENED),
        (told(NotificationReason.ESCALATED), LASTS, NotificationReason.ESCALATED),
        (told(NotificationReason.ESCALATED), OVER, NotificationReason.RESOLVED),
        (told(NotificationReason.REMINDER), OVER, NotificationReason.RESOLVED),
        (told(NotificationReason.FLAPPING), OVER, NotificationReason.RESOLVED),
        (told(), OVER, NotificationReason.NONE),
        (told(NotificationReason.RESOLVED), OVER, NotificationReason.NONE),
        (told(NotificationReason.REOPENED, episodes=2), OVER_AGAIN, NotificationReason.NONE),
    ],
)
def test_what_was_given_up_was_not_heard(last, one, reason):
    """After a message that was given up, a channel is notified of what it missed, and no end of what it never heard."""
    assert decide_reason(one, last_delivered(last), now=NOW, remind_every=DAY, send_resolved=True).reason is reason
