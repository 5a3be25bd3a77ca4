"""Decide whether a channel is notified of an incident now, later or never, at one moment."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from incidents import Incident
from monitor.alerts.decide import (
    NotificationDecision,
    NotificationReason,
    decide_reason,
    is_warning,
    needs_acknowledged_notice,
)
from monitor.alerts.decision_record import DecisionAction, DecisionRecord
from monitor.alerts.hold import Hold, HoldReason, HoldRules, passes_quiet_hours, quiet_until
from monitor.alerts.route import RoutedChannel
from monitor.config import Config

if TYPE_CHECKING:
    from store import LastNotification


DELIVERY_RECHECK: Final = timedelta(seconds=30)
"""After how long it is looked again whether the last message was delivered."""


_PASSING: Final = frozenset({NotificationReason.RESOLVED, NotificationReason.ACKNOWLEDGED})
"""Reasons that only quiet hours hold back: the channel was notified of the problem."""
_NEW: Final = frozenset({NotificationReason.FIRST, NotificationReason.REOPENED})


@dataclass(frozen=True, slots=True)
class ChannelState:
    """The state of a channel with regard to an incident.

    `reached`: how it is reached, and `routed` whether the incident is still routed there. `last_notification`: the last
    one that was not given up, or the last one. `undelivered`: its message is not delivered yet; `given_up`: its message
    was given up. `disabled`: why the channel is disabled. `even_if_resolved`: what was held back before is sent even if
    the incident is resolved by now. `follows`: each incident is one item there. `since`: when the change was recorded.
    `digest_at`: the time of the digest that the notification waits for.
    """

    reached: RoutedChannel
    since: datetime
    routed: bool = True
    last_notification: "LastNotification | None" = None
    undelivered: bool = False
    given_up: bool = False
    disabled: str | None = None
    even_if_resolved: bool = False
    follows: bool = False
    digest_at: datetime | None = None


class NotificationPolicy:
    """Decides at one moment."""

    def __init__(self, config: Config, hold_rules: HoldRules, now: datetime) -> None:
        self._config = config
        self._hold_rules = hold_rules
        self._now = now
        self._quiet: dict[tuple[str, datetime], datetime | None] = {}

    def decide_for_channel(self, incident: Incident, state: ChannelState) -> DecisionRecord:
        """Return whether a channel is notified now, later or not at all.

        Acknowledgements and resolutions of problems that the channel was notified of are held back by quiet hours only.
        """
        decision = decide_reason(
            incident,
            state.last_notification,
            now=self._now,
            remind_every=self._remind_every(incident, state),
            send_resolved=self._config.alerts.send_resolved,
            even_if_resolved=state.even_if_resolved,
        )
        if state.follows and not decision.notifies and needs_acknowledged_notice(incident, state.last_notification):
            decision = NotificationDecision(NotificationReason.ACKNOWLEDGED, "acknowledged")
        record = DecisionRecord(
            DecisionAction.NOTIFIED,
            decision.reason,
            decision.why,
            by=state.reached.by,
            even_if_resolved=state.even_if_resolved,
            escalates=state.reached.later and decision.reason in _NEW,
        )
        if record.escalates and incident.last.acknowledged_at is not None:
            return _dropped(record, "acknowledged by then, so it is not escalated")
        if not decision.notifies:
            return replace(record, action=DecisionAction.NOTHING)
        if not state.routed and decision.reason is not NotificationReason.RESOLVED:
            return replace(record, action=DecisionAction.NOTHING, why="no route leads to the channel any longer")
        return self._held(record, incident, state) or record

    def _remind_every(self, incident: Incident, state: ChannelState) -> timedelta:
        if is_warning(incident):
            return timedelta.max
        return timedelta(0) if state.reached.digest else self._config.alerts.remind_every

    def _held(self, record: DecisionRecord, incident: Incident, state: ChannelState) -> DecisionRecord | None:
        """Return the decision to hold it back, or to drop it; None if it may be sent now."""
        hold = self._hold(record, incident, state)
        if hold is not None:
            return record.held(hold)
        until = self._quiet_until(incident, state.reached)
        if until is None:
            digest_at = state.digest_at
            why = "the channel gets one message a day"
            return None if digest_at is None else record.held(Hold(HoldReason.DIGEST, why, digest_at))
        names = ", ".join(state.reached.quiet)
        if record.reason not in _PASSING and self._drops(state):
            return _dropped(record, f"{record.why}; dropped by quiet hours {names}")
        return record.held(Hold(HoldReason.QUIET_HOURS, f"quiet hours {names}", until))

    def _hold(self, record: DecisionRecord, incident: Incident, state: ChannelState) -> Hold | None:
        """Return what holds it back at any time of day."""
        if state.disabled is not None:
            return Hold(HoldReason.DISABLED, f"the channel is disabled: {state.disabled}", None)
        if state.undelivered:
            return Hold(HoldReason.DELIVERY, "an earlier message is not delivered yet", self._now + DELIVERY_RECHECK)
        return None if record.reason in _PASSING else self._hold_rules.hold(incident)

    def _drops(self, state: ChannelState) -> bool:
        """Check whether quiet hours drop problems that start in them; earlier ones wait for their end."""
        hours = [self._config.alerts.quiet_hours[name] for name in state.reached.quiet]
        if any(hour.afterwards != "drop" for hour in hours):
            return False
        return any(
            self._quiet_end(name, state.since) == self._quiet_end(name, self._now) for name in state.reached.quiet
        )

    def _quiet_end(self, name: str, moment: datetime) -> datetime | None:
        if (name, moment) not in self._quiet:
            quiet = self._config.alerts.quiet_hours[name]
            self._quiet[name, moment] = quiet_until(quiet, moment, zone=self._config.timezone)
        return self._quiet[name, moment]

    def _quiet_until(self, incident: Incident, reached: RoutedChannel) -> datetime | None:
        """Return when the first quiet hours of a channel's routes end; None if one of the routes has none now."""
        ends = []
        for name in reached.quiet:
            quiet = self._config.alerts.quiet_hours[name]
            if passes_quiet_hours(quiet, incident.severity):
                return None
            ends.append(self._quiet_end(name, self._now))
        entries = [end for end in ends if end is not None]
        return min(entries) if entries and len(entries) == len(ends) else None


def _dropped(record: DecisionRecord, why: str) -> DecisionRecord:
    return replace(record, action=DecisionAction.DROPPED, why=why, even_if_resolved=False, escalates=False)
