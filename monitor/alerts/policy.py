"""Weigh what there is to tell a channel against what may hold it back: one incident, one channel, one moment."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from incidents import Incident
from monitor.alerts.decide import (
    NotificationDecision,
    NotificationReason,
    decide,
    is_acknowledged_unheard,
    is_warning,
)
from monitor.alerts.decision_record import DecisionAction, DecisionRecord
from monitor.alerts.hold import Circumstances, Hold, HoldReason, passes_quiet_hours, quiet_until
from monitor.alerts.route import RoutedChannel
from monitor.config import Config

if TYPE_CHECKING:
    from store import LastNotification


DELIVERED_SOON: Final = timedelta(seconds=30)
"""When to look again whether a message was delivered."""


_PASSING: Final = frozenset({NotificationReason.RESOLVED, NotificationReason.ACKNOWLEDGED})
"""What a channel hears of a problem that it knows passes everything but quiet hours."""
_NEW: Final = frozenset({NotificationReason.FIRST, NotificationReason.REOPENED})


@dataclass(frozen=True, slots=True)
class ChannelState:
    """How a channel stands to an incident.

    `reached`: how it is reached, and `routed` whether still for this incident. `told`: what it was last told and heard.
    `undelivered`: that is not delivered yet; `given_up`: what followed it was not delivered in the end. `disabled` says
    why it is not used. `owed`: quiet hours or its cap kept something back. `follows`: it shows incidents as they stand.
    `since`: when its news came up. `digest`: when the message of the day is due that it waits for.
    """

    reached: RoutedChannel
    since: datetime
    routed: bool = True
    told: "LastNotification | None" = None
    undelivered: bool = False
    given_up: bool = False
    disabled: str | None = None
    owed: bool = False
    follows: bool = False
    digest: datetime | None = None


class NotificationPolicy:
    """Weighs at one moment."""

    def __init__(self, config: Config, circumstances: Circumstances, now: datetime) -> None:
        self._config = config
        self._circumstances = circumstances
        self._now = now
        self._quiet: dict[tuple[str, datetime], datetime | None] = {}

    def weigh(self, incident: Incident, state: ChannelState) -> DecisionRecord:
        """Return what is to be told, held back or left.

        That a problem which the channel knows of is taken care of, or over, passes everything but quiet hours.
        """
        decision = decide(
            incident,
            state.told,
            now=self._now,
            remind_every=self._remind_every(incident, state),
            send_resolved=self._config.alerts.send_resolved,
            owed=state.owed,
        )
        if state.follows and not decision.tells and is_acknowledged_unheard(incident, state.told):
            decision = NotificationDecision(NotificationReason.ACKNOWLEDGED, "acknowledged")
        record = DecisionRecord(
            DecisionAction.TOLD,
            decision.reason,
            decision.why,
            by=state.reached.by,
            owed=state.owed,
            escalates=state.reached.later and decision.reason in _NEW,
        )
        if record.escalates and incident.last.acknowledged_at is not None:
            return _replace(record, DecisionAction.DROPPED, "acknowledged by then, so it goes to nobody else")
        return self._without_ear(record, decision, state) or self._not_now(record, incident, state) or record

    def _remind_every(self, incident: Incident, state: ChannelState) -> timedelta:
        if is_warning(incident):
            return timedelta.max
        return timedelta(0) if state.reached.digest else self._config.alerts.remind_every

    def _without_ear(
        self, record: DecisionRecord, decision: NotificationDecision, state: ChannelState
    ) -> DecisionRecord | None:
        why = None
        if not decision.tells:
            why = decision.why
        elif not state.routed and decision.reason is not NotificationReason.RESOLVED:
            why = "no route leads to the channel any longer"
        return None if why is None else _replace(record, DecisionAction.NOTHING, why)

    def _not_now(self, record: DecisionRecord, incident: Incident, state: ChannelState) -> DecisionRecord | None:
        if state.disabled is not None:
            return record.held(Hold(HoldReason.DISABLED, f"the channel is disabled: {state.disabled}", None))
        if state.undelivered:
            why = "an earlier message is not delivered yet"
            return record.held(Hold(HoldReason.DELIVERY, why, self._now + DELIVERED_SOON))
        hold = None if record.reason in _PASSING else self._circumstances.hold(incident)
        if hold is not None:
            return record.held(hold)
        until = self._quiet_until(incident, state.reached)
        if until is None:
            return self._until_digest(record, state)
        names = ", ".join(state.reached.quiet)
        if record.reason not in _PASSING and self._drops(state):
            return _replace(record, DecisionAction.DROPPED, f"{record.why}; dropped by quiet hours {names}")
        return record.held(Hold(HoldReason.QUIET_HOURS, f"quiet hours {names}", until))

    def _until_digest(self, record: DecisionRecord, state: ChannelState) -> DecisionRecord | None:
        if state.digest is None:
            return None
        return record.held(Hold(HoldReason.DIGEST, "the channel gets one message a day", state.digest))

    def _drops(self, state: ChannelState) -> bool:
        """Check whether quiet hours drop what is new: what began before them waits for their end."""
        hours = [self._config.alerts.quiet_hours[name] for name in state.reached.quiet]
        if any(hour.afterwards != "drop" for hour in hours):
            return False
        return any(self._ends(name, state.since) == self._ends(name, self._now) for name in state.reached.quiet)

    def _ends(self, name: str, moment: datetime) -> datetime | None:
        if (name, moment) not in self._quiet:
            quiet = self._config.alerts.quiet_hours[name]
            self._quiet[name, moment] = quiet_until(quiet, moment, zone=self._config.timezone)
        return self._quiet[name, moment]

    def _quiet_until(self, incident: Incident, reached: RoutedChannel) -> datetime | None:
        """Return when the first of the ways to a channel opens; None if one is open."""
        ends = []
        for name in reached.quiet:
            quiet = self._config.alerts.quiet_hours[name]
            if passes_quiet_hours(quiet, incident.severity):
                return None
            ends.append(self._ends(name, self._now))
        entries = [end for end in ends if end is not None]
        return min(entries) if entries and len(entries) == len(ends) else None


def _replace(record: DecisionRecord, action: DecisionAction, why: str) -> DecisionRecord:
    return DecisionRecord(
        action, record.reason, why, by=record.by, owed=record.owed and action is not DecisionAction.DROPPED
    )
