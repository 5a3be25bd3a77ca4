"""Decide whether a channel is notified of an incident, given its last notification.

The decision looks at the state of the incident, not at its events: whatever was missed, repeated or late, each channel
ends up with the present state, and gets nothing twice. Whether it is sent now is for `policy`.

- The first notification is of the problem: a channel gets no "resolved" for an incident that it was not notified of.
- A new episode is `reopened`; a severity above that of the last notification is `escalated`.
- While an incident flaps, a channel gets one notification a day (and one when the severity rises), then none until the
  incident is stable.
- An acknowledged incident has no reminders.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from checks import Severity
from incidents import Incident, State

if TYPE_CHECKING:
    from store import LastNotification

ACKNOWLEDGEMENT_KNOWN_FROM: Final = ("acknowledged", "resolved", "flapping")
"""Reasons of a last notification after which `acknowledged` is not sent."""
FLAPPING_NOTICE: Final = timedelta(days=1)
"""How often a channel is notified at most that an incident flaps."""
_NOTHING_YET: Final = "the channel has not been notified yet"


def is_warning(incident: Incident) -> bool:
    """Check whether it is a warning in the form of an incident (`facts.as_incident`), which has a negative id."""
    return incident.id < 0


class NotificationReason(StrEnum):
    """Why a channel is notified; `none` if it is not."""

    FIRST = "first"
    ESCALATED = "escalated"
    REOPENED = "reopened"
    REMINDER = "reminder"
    RESOLVED = "resolved"
    FLAPPING = "flapping"
    ACKNOWLEDGED = "acknowledged"
    """Only for channels in which an item follows each incident (`ChannelKind.follows`)."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class NotificationDecision:
    """The reason to notify a channel, and an explanation in a few words for the log."""

    reason: NotificationReason
    why: str

    @property
    def notifies(self) -> bool:
        """Check whether the channel is notified."""
        return self.reason is not NotificationReason.NONE


def decide_reason(
    incident: Incident,
    last_notification: "LastNotification | None",
    *,
    now: datetime,
    remind_every: timedelta,
    send_resolved: bool,
    even_if_resolved: bool = False,
) -> NotificationDecision:
    """Return whether a channel is notified, and why.

    Args:
        incident: its present state.
        last_notification: the channel's last one about it; None if there was none.
        now: the present, UTC.
        remind_every: the interval of reminders of an open incident.
        send_resolved: whether resolutions are sent.
        even_if_resolved: quiet hours, a digest or the rate limit held back a problem of this incident, which is sent
            even if it is resolved by now.
    """
    if incident.flapping and incident.merged_into is None:
        return _decide_flapping(incident, last_notification, now, even_if_resolved=even_if_resolved)
    if incident.state is State.RESOLVED:
        return _decide_resolved(
            incident, last_notification, send_resolved=send_resolved, even_if_resolved=even_if_resolved
        )
    return _decide_open(incident, last_notification, now=now, remind_every=remind_every)


def needs_acknowledged_notice(incident: Incident, last_notification: "LastNotification | None") -> bool:
    """Check whether a channel was notified of an incident, and not yet that it is acknowledged."""
    reason = None if last_notification is None else last_notification.reason
    return incident.state is State.ACKNOWLEDGED and reason not in {None, *ACKNOWLEDGEMENT_KNOWN_FROM}


def _decide_open(
    incident: Incident, last_notification: "LastNotification | None", *, now: datetime, remind_every: timedelta
) -> NotificationDecision:
    if last_notification is None:
        return NotificationDecision(NotificationReason.FIRST, _NOTHING_YET)
    if _is_of_resolution(last_notification) or last_notification.episodes < len(incident.episodes):
        return NotificationDecision(NotificationReason.REOPENED, f"episode {len(incident.episodes)}")
    if incident.severity.rank > last_notification.severity.rank:
        return NotificationDecision(
            NotificationReason.ESCALATED, f"from {last_notification.severity} to {incident.severity}"
        )
    if last_notification.reason == NotificationReason.FLAPPING:
        return NotificationDecision(NotificationReason.REMINDER, "no longer flapping, still open")
    return _decide_reminder(incident, last_notification, now=now, remind_every=remind_every)


def _decide_reminder(
    incident: Incident, last_notification: "LastNotification", *, now: datetime, remind_every: timedelta
) -> NotificationDecision:
    if incident.snoozed_until is not None and incident.snoozed_until > now:
        return NotificationDecision(NotificationReason.NONE, "snoozed, no reminder")
    if incident.state is State.ACKNOWLEDGED:
        return NotificationDecision(NotificationReason.NONE, "acknowledged, no reminder")
    if now - last_notification.told_at >= remind_every:
        return NotificationDecision(NotificationReason.REMINDER, "still open and not acknowledged")
    return NotificationDecision(NotificationReason.NONE, "the channel was already notified")


def _decide_resolved(
    incident: Incident, last_notification: "LastNotification | None", *, send_resolved: bool, even_if_resolved: bool
) -> NotificationDecision:
    missed = last_notification is None or (
        _is_of_resolution(last_notification) and last_notification.episodes < len(incident.episodes)
    )
    if missed:
        if even_if_resolved and incident.merged_into is None:
            reason = NotificationReason.FIRST if last_notification is None else NotificationReason.REOPENED
            return NotificationDecision(reason, "held back, and resolved meanwhile")
        return NotificationDecision(NotificationReason.NONE, "resolved, and the channel was never notified")
    if last_notification is not None and _is_of_resolution(last_notification):
        return NotificationDecision(NotificationReason.NONE, "the channel was already notified of the resolution")
    if not send_resolved:
        return NotificationDecision(NotificationReason.NONE, "resolutions are not sent (alerts.send_resolved)")
    same_as = "" if incident.merged_into is None else f": duplicate of #{incident.merged_into}"
    return NotificationDecision(NotificationReason.RESOLVED, f"resolved{same_as}")


def _decide_flapping(
    incident: Incident, last_notification: "LastNotification | None", now: datetime, *, even_if_resolved: bool
) -> NotificationDecision:
    is_resolved = incident.state is State.RESOLVED
    if last_notification is None:
        if is_resolved and not even_if_resolved:
            return NotificationDecision(
                NotificationReason.NONE, "currently passing, and the channel was never notified"
            )
        return NotificationDecision(NotificationReason.FIRST, _NOTHING_YET)
    missed = even_if_resolved and last_notification.episodes < len(incident.episodes)
    if is_resolved and _is_of_resolution(last_notification) and not missed:
        return NotificationDecision(
            NotificationReason.NONE, "flapping, and the channel was already notified that it is passing"
        )
    worse = not is_resolved and incident.severity.rank > last_notification.severity.rank
    if (
        last_notification.reason == NotificationReason.FLAPPING
        and not worse
        and now - last_notification.told_at < FLAPPING_NOTICE
    ):
        return NotificationDecision(NotificationReason.NONE, "flapping, and the channel was already notified today")
    return NotificationDecision(
        NotificationReason.FLAPPING, f"now {incident.severity}, and flapping" if worse else "flapping"
    )


def stored_reason(incident: Incident, reason: NotificationReason, *, follows: bool = False) -> NotificationReason:
    """Return the reason to store with a notification: `first` of a resolved incident counts as its resolution.

    In a channel in which an item follows each incident (`follows`), every message shows that it is acknowledged.
    """
    if (
        follows
        and incident.state is State.ACKNOWLEDGED
        and reason in {NotificationReason.ESCALATED, NotificationReason.REMINDER}
    ):
        return NotificationReason.ACKNOWLEDGED
    if reason in {NotificationReason.FIRST, NotificationReason.REOPENED} and incident.state is State.RESOLVED:
        return NotificationReason.FLAPPING if incident.flapping else NotificationReason.RESOLVED
    return reason


def last_delivered(last_notification: "LastNotification") -> "LastNotification | None":
    """Return the notification before the last one, whose message was given up; None if there was none.

    Nothing is sent before the last message was delivered or given up, so before all but a first one there was another.
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


def _is_of_resolution(last_notification: "LastNotification") -> bool:
    return last_notification.reason == NotificationReason.RESOLVED
