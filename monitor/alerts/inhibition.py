"""Look around incidents: at silences, at what is wrong up- and downstream, and at who hears of that."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from incidents import Incident, State
from monitor.alerts.decide import believed
from monitor.alerts.decision_record import was_dropped
from monitor.alerts.hold import LONGEST_SETTLING, NOBODY, Audience, Circumstances, Lineage
from monitor.config import Config
from store import DeliveryState, Disabled, IncidentFilter, LastNotification, ReadTransaction, Transition

_LASTING: Final = tuple(state for state in State if state is not State.RESOLVED)


def circumstances_of(
    config: Config,
    tx: ReadTransaction,
    incidents: Iterable[Incident],
    *,
    disabled: Mapping[str, Disabled],
    now: datetime,
) -> Circumstances:
    """Return what holds alerts about these incidents back now. `disabled` are the channels that are not used."""
    tables = {incident.table for incident in incidents}
    lineage = Lineage.of(config)
    above = {table for current_incident in tables for table in lineage.ancestors(current_incident)}
    related = tuple(sorted(above.union(*(lineage.descendants(table) for table in tables))))
    around: list[Incident] = []
    if related and config.alerts.mute_downstream:
        around = tx.incidents.matching(IncidentFilter(states=_LASTING, tables=related))
        since = now - LONGEST_SETTLING
        above_ones = IncidentFilter(states=(State.RESOLVED,), tables=tuple(sorted(above)), since=since)
        around += tx.incidents.matching(above_ones) if above else []
    hearing = _listen(config, tx, [incident.id for incident in around], disabled) if around else NOBODY
    return Circumstances(config, silences=tx.silences.all(now), around=around, now=now, hearing=hearing)


def _listen(
    config: Config, tx: ReadTransaction, incident_ids: Sequence[int], disabled: Mapping[str, Disabled]
) -> Audience:
    """Look who hears of incidents. What was given up reached nobody, nor does what waits for a disabled channel."""
    rows = tx.outbox.last_notifications(incident_ids)
    states = tx.deliveries.states({row.delivery_id for row in rows})
    response: dict[int, list[LastNotification]] = {}
    for row in rows:
        state = states.get(row.delivery_id)
        lost = state is DeliveryState.DEAD or (state is DeliveryState.WAITING and row.channel in disabled)
        last_notification = believed(row) if lost else row
        if last_notification is not None:
            response.setdefault(row.incident_id, []).append(last_notification)
    used = [channel for channel in config.alerts.channels if channel not in disabled]
    return Audience(response, news_of(tx.outbox.latest(incident_ids), used))


def news_of(latest: Mapping[int, Transition], channels: Iterable[str]) -> Mapping[int, Sequence[str]]:
    """Return which channels news of incidents waits for; `latest`: their last changes."""
    return {
        number: [channel for channel in channels if not was_dropped(news.decision, channel)]
        for number, news in latest.items()
        if news.settled_at is None
    }
