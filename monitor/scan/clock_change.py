"""Bring stored times back from the future, where they lie when the clock was set back."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from incidents import AGENT, Watch, set_back, set_incident_back
from store import IncidentFilter, WriteTransaction


def bring_back(tx: WriteTransaction, watches: Iterable[Watch], *, to: datetime, now: datetime) -> Mapping[str, Watch]:
    """Put the times of checks and their incidents that lie after a moment at that moment.

    Incidents of other checks are put there only if they lie in the future. Return the watches as they are now.
    """
    present = {watch.check_id: set_back(watch, to=to) for watch in watches}
    for incident in tx.incidents.matching(IncidentFilter(since=to)):
        if incident.series in present or set_incident_back(incident, to=now):
            tx.incidents.append(incident, set_incident_back(incident, to=to), recorded_at=to, actor=AGENT)
    tx.results.save_watches([*present.values()])
    return present


def bring_run_back(tx: WriteTransaction, ahead: Iterable[Watch], *, to: datetime, now: datetime) -> Mapping[str, Watch]:
    """Do `bring_back` for the checks of a run that ran before at a later time, and bring notifications back too.

    Not those where only the clock of this machine is behind: on PostgreSQL they go by the server's clock, and what is
    held back or waits for another attempt would be due with every run.
    """
    ahead = list(ahead)
    present = bring_back(tx, ahead, to=to, now=now)
    clock = tx.schedule.clock(now)
    if any(watch.last_run_at > clock for watch in ahead):
        bring_notifications_back(tx, clock)
    return present


def bring_notifications_back(tx: WriteTransaction, now: datetime) -> None:
    """Put the times of everything about notifications that lie in the future at the present; what waits is due now."""
    for part in (tx.outbox, tx.deliveries, tx.external_items, tx.silences, tx.warnings):
        part.set_back(now)
