"""Determine who knows of an incident, or is about to: only what somebody hears of may stand for what is muted."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from incidents import Incident, State
from monitor.alerts.decide import NotificationReason

if TYPE_CHECKING:
    from store import LastNotification


@dataclass(frozen=True, slots=True)
class Audience:
    """What channels know, and which of them news may still reach; both by incident.

    `told` leaves out what was lost on its way; `waiting` has no channel that is not used or that drops the news.
    """

    told: Mapping[int, Sequence["LastNotification"]] = field(default_factory=dict)
    waiting: Mapping[int, Collection[str]] = field(default_factory=dict)

    def knows(self, incident: Incident) -> bool:
        """Check whether a channel was told of this episode."""
        return any(_is_of_this_episode(item, incident) for item in self.told.get(incident.id, ()))

    def awaits(self, incident: Incident, channels: Iterable[str]) -> bool:
        """Check whether news of it waits for one of these channels."""
        return not set(self.waiting.get(incident.id, ())).isdisjoint(channels)


def _is_of_this_episode(last_notification: "LastNotification", incident: Incident) -> bool:
    if last_notification.reason == NotificationReason.FLAPPING and incident.flapping:
        return True  # its channel was told that episodes come and go
    lasts = incident.state is not State.RESOLVED
    return last_notification.episodes == len(incident.episodes) and not (
        lasts and last_notification.reason == NotificationReason.RESOLVED
    )


NOBODY: Final = Audience()
