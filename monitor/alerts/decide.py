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
    from store import Told

FLAPPING_NOTICE: Final = timedelta(days=1)
"""A channel hears at most once in so long that an incident flaps."""
_NOTHING_YET: Final = "the channel was told nothing of it yet"


class Reason(StrEnum):
    """Why a channel is told, or that it is not."""

    FIRST = "first"
    ESCALATED = "escalated"
    REOPENED = "reopened"
    REMINDER = "reminder"
    RESOLVED = "resolved"
    FLAPPING = "flapping"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Decision:
    """What a channel is to be told, and why in a few words, for the log."""

    reason: Reason
    why: str

    @property
    def tells(self) -> bool:
        """Say whether there is anything to tell."""
        return self.reason is not Reason.NONE


def decide(
    incident: Incident,
    told: "Told | None",
    *,
    now: datetime,
    remind_every: timedelta,
    send_resolved: bool,
    owed: bool = False,
) -> Decision:
    """Give what there is to tell.

    Args:
        incident: as it stands.
        told: what the channel was last told about it; None if nothing.
        now: the present, UTC.
        remind_every: how often to remind of a problem that lasts.
        send_resolved: whether the end of a problem is told.
        owed: quiet hours or a full channel kept a problem of this incident back, which is to be told even if it is
            over by now.
    """
    if incident.flapping and incident.merged_into is None:
        return _flapping(incident, told, now, owed=owed)
    if incident.state is State.RESOLVED:
        return _over(incident, told, send_resolved=send_resolved, owed=owed)
    return _lasting(incident, told, now=now, remind_every=remind_every)


def _lasting(incident: Incident, told: "Told | None", *, now: datetime, remind_every: timedelta) -> Decision:
    if told is None:
        return Decision(Reason.FIRST, _NOTHING_YET)
    if _is_closed(told) or told.episodes < len(incident.episodes):
        return Decision(Reason.REOPENED, f"episode {len(incident.episodes)}")
    if incident.severity.rank > told.severity.rank:
        return Decision(Reason.ESCALATED, f"from {told.severity} to {incident.severity}")
    if told.reason == Reason.FLAPPING:
        return Decision(Reason.REMINDER, "it flaps no longer, and it lasts")
    return _reminder(incident, told, now=now, remind_every=remind_every)


def _reminder(incident: Incident, told: "Told", *, now: datetime, remind_every: timedelta) -> Decision:
    if incident.snoozed_until is not None and incident.snoozed_until > now:
        return Decision(Reason.NONE, "snoozed, so nobody is reminded")
    if incident.state is State.ACKNOWLEDGED:
        return Decision(Reason.NONE, "acknowledged, so nobody is reminded")
    if now - told.told_at >= remind_every:
        return Decision(Reason.REMINDER, "it lasts, and nobody takes care of it")
    return Decision(Reason.NONE, "the channel knows")


def _over(incident: Incident, told: "Told | None", *, send_resolved: bool, owed: bool) -> Decision:
    missed = told is None or (_is_closed(told) and told.episodes < len(incident.episodes))
    if missed:
        if owed and incident.merged_into is None:
            reason = Reason.FIRST if told is None else Reason.REOPENED
            return Decision(reason, "it was kept back, and is over by now")
        return Decision(Reason.NONE, "it is over, and the channel was never told of it")
    if told is not None and _is_closed(told):
        return Decision(Reason.NONE, "the channel knows that it is over")
    if not send_resolved:
        return Decision(Reason.NONE, "the end of an incident is not told (alerts.send_resolved)")
    same_as = "" if incident.merged_into is None else f": the same thing as #{incident.merged_into}"
    return Decision(Reason.RESOLVED, f"it is over{same_as}")


def _flapping(incident: Incident, told: "Told | None", now: datetime, *, owed: bool) -> Decision:
    is_over = incident.state is State.RESOLVED
    if told is None:
        if is_over and not owed:
            return Decision(Reason.NONE, "it passes at the moment, and the channel was never told of it")
        return Decision(Reason.FIRST, _NOTHING_YET)
    missed = owed and told.episodes < len(incident.episodes)
    if is_over and _is_closed(told) and not missed:
        return Decision(Reason.NONE, "it flaps, and the channel knows that it passes at the moment")
    worse = not is_over and incident.severity.rank > told.severity.rank
    if told.reason == Reason.FLAPPING and not worse and now - told.told_at < FLAPPING_NOTICE:
        return Decision(Reason.NONE, "it flaps, and the channel was told so today")
    return Decision(Reason.FLAPPING, f"it is now {incident.severity}, and flaps" if worse else "it changes too often")


def remembered(incident: Incident, reason: Reason) -> Reason:
    """Give what a channel believes after it was told for a reason: `first` of what is over means that it is over."""
    if reason in {Reason.FIRST, Reason.REOPENED} and incident.state is State.RESOLVED:
        return Reason.FLAPPING if incident.flapping else Reason.RESOLVED
    return reason


def believed(told: "Told") -> "Told | None":
    """Give what a channel believes although the last message was given up: what it heard before that.

    Nothing is told before the last message was delivered or given up, so all but a first one had others before it.
    """
    match told.reason:
        case Reason.FIRST:
            return None
        case Reason.REOPENED:
            return replace(told, reason=Reason.RESOLVED, episodes=told.episodes - 1)
        case Reason.ESCALATED:
            return replace(told, reason=Reason.REMINDER, severity=Severity.INFO)
    return told


def _is_closed(told: "Told") -> bool:
    """Say whether the channel believes that the incident is over."""
    return told.reason == Reason.RESOLVED
