"""Send warnings that are no incidents, once when one begins and once when it ends, the way that incidents take.

A warning stands there as an incident that nobody stores: its number is below zero, it has one episode, and nobody is
reminded of it. Who knows of it follows from what was decided on its beginning and its end.
"""

from collections.abc import Iterable, Iterator, Mapping

from checks import OccurrenceMethod
from incidents import Episode, FoundBy, Incident, Onset, Resolution, State, WarningSpell
from monitor.alerts.decide import NotificationReason
from monitor.alerts.decision_record import DecisionAction, DecisionRecord
from store import Changed, LastNotification, ReadTransaction, Transition


def incidents_and_warnings(tx: ReadTransaction, ids: Iterable[int]) -> Mapping[int, Incident]:
    """Return incidents by id, and warnings by theirs below zero."""
    ids = list(ids)
    results = dict(tx.incidents.get_many([number for number in ids if number > 0]))
    warnings = [-number for number in ids if number < 0]
    if warnings:
        results |= {-number: as_incident(spell) for number, spell in tx.warnings.get_many(warnings).items()}
    return results


def notified_id(transition: Transition) -> int:
    """Return the id of the incident, or of the warning in the place of one, that changed."""
    return transition.incident_id if transition.incident_id is not None else -(transition.warning_id or 0)


def as_incident(spell: WarningSpell) -> Incident:
    """Return a warning in the place of an incident."""
    is_over = spell.ended_at is not None
    onset = Onset(spell.began_at, spell.began_at, spell.began_at, OccurrenceMethod.FIRST_OBSERVATION)
    return Incident(
        id=-spell.id,
        fingerprint=spell.series,
        table=spell.table,
        check_id=spell.check_id,
        kind=spell.kind,
        severity=spell.severity,
        title=spell.title,
        title_values=spell.title_values,
        found_by=FoundBy.CHECK,
        state=State.RESOLVED if is_over else State.OPEN,
        episodes=(Episode(onset, spell.began_at, spell.ended_at),),
        resolution=Resolution.FIXED if is_over else None,
    )


def last_notifications(tx: ReadTransaction, incidents: Mapping[int, Incident]) -> list[LastNotification]:
    """Return what each channel was last told about incidents and warnings."""
    warnings = [-number for number in incidents if number < 0]
    results = tx.outbox.last_notifications(number for number in incidents if number > 0)
    return [*results, *_told_of_warnings(tx, warnings, incidents)] if warnings else results


def _told_of_warnings(
    tx: ReadTransaction, warnings: Iterable[int], incidents: Mapping[int, Incident]
) -> Iterator[LastNotification]:
    """Yield what channels know: whoever was told of an end, or of a beginning after the end, knows that it is over."""
    last: dict[tuple[int, str], LastNotification] = {}
    for transition in tx.outbox.of_warnings(warnings):
        is_end = transition.change is Changed.RESOLVED
        for channel in (transition.decision or {}).get("channels", {}):
            record = DecisionRecord.read(transition.decision, channel)
            if record is None or record.action is not DecisionAction.TOLD or record.delivery is None:
                continue
            number = notified_id(transition)
            last[number, channel] = LastNotification(
                incident_id=number,
                channel=channel,
                reason=NotificationReason.RESOLVED if is_end else NotificationReason.FIRST,
                severity=incidents[number].severity,
                episodes=1,
                told_at=transition.recorded_at,
                delivery_id=record.delivery,
            )
    yield from last.values()
