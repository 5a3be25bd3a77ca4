"""Incidents reported by hand or from a ticket system, as the changes that record them."""

from datetime import datetime
from typing import NamedTuple

from checks import Severity
from incidents._model import FoundBy, Resolution
from incidents.events import Change
from incidents.verbs import Ending, IncidentReport, end_reported, report


class ReportedIncident(NamedTuple):
    """A reported incident; times are aware, None if not reported.

    `occurred_at`: when data went bad (by default `detected_at`); `resolved_at`: when correct data was there again.
    `fingerprint`: equal for reports of the same incident. A tuple, because an import makes a million of them.
    """

    table: str
    title: str
    detected_at: datetime
    occurred_at: datetime | None = None
    resolved_at: datetime | None = None
    resolution: Resolution = Resolution.FIXED
    severity: Severity = Severity.ERROR
    found_by: FoundBy = FoundBy.PERSON
    cause: str | None = None
    fingerprint: str | None = None

    def changes(self, now: datetime) -> tuple[Change, ...]:
        """Return the change that opens it and, if it is resolved, the one that resolves it.

        Raises:
            incidents.ImpossibleOrder: its times are in an impossible order, or lie in the future.
        """
        opened = report(
            IncidentReport(self.table, self.title, self.severity),
            detected_at=self.detected_at,
            now=now,
            occurred_at=self.occurred_at,
            fingerprint=self.fingerprint,
            found_by=self.found_by,
        )
        if self.resolved_at is None:
            return (opened,)
        ending = Ending(self.resolved_at, self.resolution, self.cause)
        return opened, end_reported(opened, ending, now=now)

    def check_order(self, now: datetime) -> None:
        """Check the order of its times, without making the changes.

        Raises:
            incidents.ImpossibleOrder: as `changes`.
        """
        begun = self.occurred_at is None or self.occurred_at <= self.detected_at
        over = self.detected_at if self.resolved_at is None else self.resolved_at
        if not (begun and self.detected_at <= over <= now):
            self.changes(now)
