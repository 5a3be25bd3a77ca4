"""Decide what there is to tell a channel about an incident, given what it was told last.

The decision looks at how the incident stands, not at what happened to it: whatever was missed, repeated or told late,
a channel ends up knowing the truth, and hears nothing twice. It does not ask whether this is a good moment; that is for
`suppress`, `quiet` and `pace`.

- The first thing a channel hears is the problem. It never hears "resolved" of something it was not told about.
- A new episode is `reopened`, a severity above the one that was told is `escalated`.
- While an incident flaps, a channel hears so at most once a day (and when it gets worse), and then nothing until it
  has settled.
- Reminders stop when somebody takes care of it.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from checks import Severity
from incidents import Incident, State

if TYPE_CHECKING:
    from store import LastNotification

HEARD_OF_ACKNOWLEDGEMENT: Final = ("acknowledged", "resolved", "flapping")
"""Why a channel was last told, where it need not hear that somebody takes care of the incident."""
FLAPPING_NOTICE: Final = timedelta(days=1)
"""A channel hears at most once in so long that an incident flaps."""
_NOTHING_YET: Final = "the channel has not been notified yet"


def is_warning(incident: Incident) -> bool:
    """Check whether it is a warning that stands where incidents do."""
    return incident.id < 0


class NotificationReason(StrEnum):
    """Why a channel is told, or that it is not."""

    FIRST = "first"
    ESCALATED = "escalated"
    REOPENED = "reopened"
    REMINDER = "reminder"
    RESOLVED = "resolved"
    FLAPPING = "flapping"
    ACKNOWLEDGED = "acknowledged"
    """Only told where an incident is one thing that follows it (`ChannelKind.follows`)."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class NotificationDecision:
    """What a channel is to be told, and why in a few words, for the log."""

    reason: NotificationReason
    why: str

    @property
    def tells(self) -> bool:
        """Check whether there is anything to tell."""
        return self.reason is not NotificationReason.NONE


def decide(
    incident: Incident,
    last_notification: "LastNotification | None",
    *,
    now: datetime,
    remind_every: timedelta,
    send_resolved: bool,
    owed: bool = False,
) -> NotificationDecision:
    """Return what there is to tell.

    Args:
        incident: as it stands.
        last_notification: what the channel was last told about it; None if nothing.
        now: the present, UTC.
        remind_every: how often to remind of a problem that lasts.
        send_resolved: whether the end of a problem is told.
        owed: quiet hours or a full channel kept a problem of this incident back, which is to be told even if it is
            over by now.
    """
    if incident.flapping and incident.merged_into is None:
        return _flapping(incident, last_notification, now, owed=owed)
    if incident.state is State.RESOLVED:
        return _over(incident, last_notification, send_resolved=send_resolved, owed=owed)
    return _lasting(incident, last_notification, now=now, remind_every=remind_every)


def is_acknowledged_unheard(incident: Incident, last_notification: "LastNotification | None") -> bool:
    """Check whether a channel knows of an incident, and not yet that somebody takes care of it."""
    heard = None if last_notification is None else last_notification.reason
    return incident.state is State.ACKNOWLEDGED and heard not in {None, *HEARD_OF_ACKNOWLEDGEMENT}


def _lasting(
    incident: Incident, last_notification: "LastNotification | None", *, now: datetime, remind_every: timedelta
) -> NotificationDecision:
    if last_notification is None:
        return NotificationDecision(NotificationReason.FIRST, _NOTHING_YET)
    if _is_closed(last_notification) or last_notification.episodes < len(incident.episodes):
        return NotificationDecision(NotificationReason.REOPENED, f"episode {len(incident.episodes)}")
    if incident.severity.rank > last_notification.severity.rank:
        return NotificationDecision(
            NotificationReason.ESCALATED, f"from {last_notification.severity} to {incident.severity}"
        )
    if last_notification.reason == NotificationReason.FLAPPING:
        return NotificationDecision(NotificationReason.REMINDER, "no longer flapping, still open")
    return _reminder(incident, last_notification, now=now, remind_every=remind_every)


def _reminder(
    incident: Incident, last_notification: "LastNotification", *, now: datetime, remind_every: timedelta
) -> NotificationDecision:
    if incident.snoozed_until is not None and incident.snoozed_until > now:
        return NotificationDecision(NotificationReason.NONE, "snoozed, no reminder")
    if incident.state is State.ACKNOWLEDGED:
        return NotificationDecision(NotificationReason.NONE, "acknowledged, no reminder")
    if now - last_notification.told_at >= remind_every:
        return NotificationDecision(NotificationReason.REMINDER, "still open and not acknowledged")
    return NotificationDecision(NotificationReason.NONE, "the channel was already notified")


def _over(
    incident: Incident, last_notification: "LastNotification | None", *, send_resolved: bool, owed: bool
) -> NotificationDecision:
    missed = last_notification is None or (
        _is_closed(last_notification) and last_notification.episodes < len(incident.episodes)
    )
    if missed:
        if owed and incident.merged_into is None:
            reason = NotificationReason.FIRST if last_notification is None else NotificationReason.REOPENED
            return NotificationDecision(reason, "held back, and resolved meanwhile")
        return NotificationDecision(NotificationReason.NONE, "resolved, and the channel was never notified")
    if last_notification is not None and _is_closed(last_notification):
        return NotificationDecision(NotificationReason.NONE, "the channel was already notified of the resolution")
    if not send_resolved:
        return NotificationDecision(NotificationReason.NONE, "resolutions are not sent (alerts.send_resolved)")
    same_as = "" if incident.merged_into is None else f": duplicate of #{incident.merged_into}"
    return NotificationDecision(NotificationReason.RESOLVED, f"resolved{same_as}")


def _flapping(
    incident: Incident, last_notification: "LastNotification | None", now: datetime, *, owed: bool
) -> NotificationDecision:
    is_over = incident.state is State.RESOLVED
    if last_notification is None:
        if is_over and not owed:
            return NotificationDecision(
                NotificationReason.NONE, "currently passing, and the channel was never notified"
            )
        return NotificationDecision(NotificationReason.FIRST, _NOTHING_YET)
    missed = owed and last_notification.episodes < len(incident.episodes)
    if is_over and _is_closed(last_notification) and not missed:
        return NotificationDecision(
            NotificationReason.NONE, "flapping, and the channel was already notified that it is passing"
        )
    worse = not is_over and incident.severity.rank > last_notification.severity.rank
    if (
        last_notification.reason == NotificationReason.FLAPPING
        and not worse
        and now - last_notification.told_at < FLAPPING_NOTICE
    ):
        return NotificationDecision(NotificationReason.NONE, "flapping, and the channel was already notified today")
    return NotificationDecision(
        NotificationReason.FLAPPING, f"now {incident.severity}, and flapping" if worse else "flapping"
    )


def remembered(incident: Incident, reason: NotificationReason, *, follows: bool = False) -> NotificationReason:
    """Return what a channel believes after it was told for a reason: `first` of what is over means that it is over.

    Where incidents are shown as they stand (`follows`), it knows by any message that one is acknowledged.
    """
    heard = {NotificationReason.ESCALATED, NotificationReason.REMINDER}
    if follows and incident.state is State.ACKNOWLEDGED and reason in heard:
        return NotificationReason.ACKNOWLEDGED
    if reason in {NotificationReason.FIRST, NotificationReason.REOPENED} and incident.state is State.RESOLVED:
        return NotificationReason.FLAPPING if incident.flapping else NotificationReason.RESOLVED
    return reason


def believed(last_notification: "LastNotification") -> "LastNotification | None":
    """Return what a channel believes although the last message was given up: what it heard before that.

    Nothing is told before the last message was delivered or given up, so all but a first one had others before it.
    """
    match last_notification.reason:
        case NotificationReason.FIRST:
            return None
        case NotificationReason.REOPENED:
            return replace(
                last_notification, reason=NotificationReason.RESOLVED, episodes=last_notification.episodes - 1
            )
        case NotificationReason.ESCALATED:
            return replace(last_notification, reason=NotificationReason.REMINDER, severity=Severity.INFO)
    return last_notification


def _is_closed(last_notification: "LastNotification") -> bool:
    """Check whether the channel believes that the incident is over."""
    return last_notification.reason == NotificationReason.RESOLVED
