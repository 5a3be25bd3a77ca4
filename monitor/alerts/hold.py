"""Determine what holds the news of a problem back, for every channel alike, and until when.

A snooze, planned maintenance, a silence, and an open incident upstream. What is held back is decided again when the
hold ends: a problem that is still there then is told, one that is over is not. The end of a problem that a channel was
told about is never held back here.

An incident is downstream of another if its table is made, directly or not, from the other's, the other is at least as
severe, both are about quality, and somebody was told of the other or is about to be (`Audience`). Where lineage goes in
a circle, the incident that was detected first is the root: whatever is silent has, somewhere upstream, an incident that
is not. After the root was repaired, downstream tables get the time of their own next runs to pass, before they are told
about.

Determine until when quiet hours hold an alert back, by the wall clock of their zone.

`days` are those on which a quiet stretch begins; one that ends before it starts ends on the next day. A time that the
clocks show twice is quiet both times, one that they skip never was. Stretches that touch are one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from checks import Kind, Severity
from incidents import BusinessCalendar, Incident, Resolution, State, from_us, to_us
from monitor.alerts.route import channels_of
from monitor.config import Config, QuietHours
from monitor.config.project import policy_of

if TYPE_CHECKING:
    from store import Silence
from collections.abc import Collection
from dataclasses import field
from typing import TYPE_CHECKING

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


_AHEAD: Final = timedelta(days=8)
"""Further than any stretch reaches: not all days of a week are quiet."""


def held_until(quiet: QuietHours, severity: Severity, now: datetime, *, zone: str) -> datetime | None:
    """Return when the quiet hours end that hold an alert of a severity back; None if nothing holds it.

    `zone` is the project's, for quiet hours without one of their own. What is at least as severe as one of
    `let_through` is let through.
    """
    return None if passes_quiet_hours(quiet, severity) else quiet_until(quiet, now, zone=zone)


def passes_quiet_hours(quiet: QuietHours, severity: Severity) -> bool:
    """Check whether alerts of a severity pass quiet hours."""
    return any(severity.rank >= loud.rank for loud in quiet.let_through)


def quiet_until(quiet: QuietHours, now: datetime, *, zone: str) -> datetime | None:
    """Return when the stretch of quiet hours ends that a moment lies in, in UTC; None if it lies in none."""
    hours = BusinessCalendar(frozenset(quiet.days), quiet.start, quiet.end, Decimal(0), quiet.timezone or zone)
    stretches = hours.between(to_us(now), to_us(now + _AHEAD))
    if stretches.starts.size == 0 or int(stretches.starts[0]) > to_us(now):
        return None
    return from_us(int(stretches.ends[0]))


LONGEST_SETTLING: Final = timedelta(days=1)
"""The most time a downstream table gets to pass after its root was repaired."""


class HoldReason(StrEnum):
    """What holds an alert back."""

    SNOOZE = "snooze"
    MAINTENANCE = "maintenance"
    SILENCE = "silence"
    DOWNSTREAM = "downstream"
    QUIET_HOURS = "quiet-hours"
    DIGEST = "digest"
    """The channel gets one message a day."""
    CAP = "cap"
    DELIVERY = "delivery"
    """What the channel was to be told before is not delivered yet."""
    DISABLED = "disabled"
    """The channel's other end said that it is gone; until somebody enables it."""

    @property
    def owes(self) -> bool:
        """Check whether what it holds back is told afterwards even if it is over by then."""
        return self in {HoldReason.QUIET_HOURS, HoldReason.DIGEST, HoldReason.CAP}


@dataclass(frozen=True, slots=True)
class Hold:
    """What holds an alert back, in a few words for the log, and until when; None if only events will tell."""

    by: HoldReason
    why: str
    until: datetime | None


class Lineage:
    """Which tables are made from which, directly or not. A table is never its own ancestor, even in a circle."""

    def __init__(self, upstream: Mapping[str, Iterable[str]]) -> None:
        self._upstream = {table: tuple(parents) for table, parents in upstream.items()}
        self._ancestors: dict[str, frozenset[str]] = {}

    @classmethod
    def of(cls, config: Config) -> "Lineage":
        """Return the lineage that a configuration declares."""
        return cls({table.name: table.upstream for table in config.tables if table.upstream})

    def ancestors(self, table: str) -> frozenset[str]:
        """Return the tables that a table is made from."""
        if table not in self._ancestors:
            self._ancestors[table] = _reach(table, self._upstream)
        return self._ancestors[table]

    def descendants(self, table: str) -> frozenset[str]:
        """Return the tables that are made from a table."""
        return _reach(table, self._downstream)

    @cached_property
    def _downstream(self) -> Mapping[str, Sequence[str]]:
        children: dict[str, list[str]] = {}
        for table, parents in self._upstream.items():
            for parent in parents:
                children.setdefault(parent, []).append(table)
        return children


def _reach(table: str, steps: Mapping[str, Sequence[str]]) -> frozenset[str]:
    names: set[str] = set()
    waiting = list(steps.get(table, ()))
    while waiting:
        item = waiting.pop()
        if item not in names:
            names.add(item)
            waiting += steps.get(item, ())
    return frozenset(names - {table})


class Circumstances:
    """What holds alerts back at one moment: the configuration, the active silences, the incidents around."""

    def __init__(
        self,
        config: Config,
        *,
        silences: Sequence["Silence"],
        around: Iterable[Incident],
        now: datetime,
        hearing: Audience = NOBODY,
    ) -> None:
        """Take what is there.

        Args:
            config: planned maintenance, lineage, routes.
            silences: those that are active now.
            around: incidents of tables up- and downstream: those that last, and those resolved within
                `LONGEST_SETTLING`.
            now: the present, UTC.
            hearing: who knows of the incidents around, or is about to: what nobody hears of mutes nothing.
        """
        self._config = config
        self._hearing = hearing
        self._now = now
        self._silences = silences
        self.lineage = Lineage.of(config)
        self._heard: dict[int, bool] = {}
        self._around: dict[str, list[Incident]] = {}
        for incident in around:
            if incident.kind is Kind.QUALITY and incident.merged_into is None:
                self._around.setdefault(incident.table, []).append(incident)

    def hold(self, incident: Incident) -> Hold | None:
        """Return what holds the news of a problem back; None if nothing does."""
        for reason in (*self._own_holds, self._downstream):
            text = reason(incident)
            if text is not None:
                return text
        return None

    def muted_by(self, root: Incident) -> Sequence[Incident]:
        """Return the lasting incidents that are silent because of a lasting one, the first that was detected first."""
        if not self._config.alerts.mute_downstream or root.state is State.RESOLVED:
            return ()
        below = self._on(self.lineage.descendants(root.table))
        return sorted(
            (incident for incident in below if incident.state is not State.RESOLVED and self._mutes(root, incident)),
            key=_rank,
        )

    def _snoozed(self, incident: Incident) -> Hold | None:
        until = incident.snoozed_until
        if until is None or until <= self._now:
            return None
        return Hold(HoldReason.SNOOZE, "snoozed", until)

    def _maintained(self, incident: Incident) -> Hold | None:
        table = self._config.table(incident.table)
        domain = None if table is None else table.domain
        ends = []
        for work in self._config.maintenance:
            start, end = work.span(self._config.timezone)
            everything = not work.tables and not work.domains
            about = everything or incident.table in work.tables or (domain is not None and domain in work.domains)
            if about and start <= self._now < end:
                ends.append((end, work.reason))
        if not ends:
            return None
        until, reason = max(ends)
        return Hold(HoldReason.MAINTENANCE, f"maintenance: {reason}", until)

    def _silenced(self, incident: Incident) -> Hold | None:
        table = self._config.table(incident.table)
        names = {"all": None, "table": incident.table, "domain": None if table is None else table.domain}
        about = [
            silence for silence in self._silences if silence.scope == "all" or silence.name == names[silence.scope]
        ]
        if not about:
            return None
        silence = max(about, key=lambda item: item.until)
        return Hold(HoldReason.SILENCE, f"silence #{silence.id}: {silence.reason}", silence.until)

    def _downstream(self, incident: Incident) -> Hold | None:
        if not self._config.alerts.mute_downstream:
            return None
        above = self._on(self.lineage.ancestors(incident.table))
        roots = sorted(
            (current_incident for current_incident in above if self._mutes(current_incident, incident)), key=_rank
        )
        lasting = [root for root in roots if root.state is not State.RESOLVED]
        if lasting:
            return Hold(HoldReason.DOWNSTREAM, f"downstream of #{lasting[0].id} on {lasting[0].table}", None)
        settling = [(end, root) for root in roots if (end := self._settles(root, incident)) > self._now]
        if not settling:
            return None
        end, root = max(settling, key=lambda pair: pair[0])
        return Hold(HoldReason.DOWNSTREAM, f"downstream of #{root.id} on {root.table}, which was just resolved", end)

    def _on(self, tables: Iterable[str]) -> Iterator[Incident]:
        return (item for table in tables for item in self._around.get(table, ()))

    def _mutes(self, root: Incident, incident: Incident) -> bool:
        """Check whether an incident on a table upstream mutes another."""
        if root.id == incident.id or incident.kind is not Kind.QUALITY or root.severity.rank < incident.severity.rank:
            return False
        in_circle = incident.table in self.lineage.ancestors(root.table)
        return (not in_circle or _rank(root) < _rank(incident)) and self._is_heard(root)

    def _is_heard(self, incident: Incident) -> bool:
        if incident.id not in self._heard:
            self._heard[incident.id] = self._finds_ears(incident)
        return self._heard[incident.id]

    def _finds_ears(self, incident: Incident) -> bool:
        """Check whether somebody knows of this episode, or hears of it as soon as a message may be sent."""
        if self._hearing.knows(incident):
            return True
        if incident.state is State.RESOLVED or any(hold(incident) for hold in self._own_holds):
            return False
        routing = channels_of(incident, self._config, self._now)
        return self._hearing.awaits(incident, routing.channels)

    @property
    def _own_holds(self) -> Sequence[Callable[[Incident], Hold | None]]:
        return self._snoozed, self._maintained, self._silenced

    def _settles(self, root: Incident, incident: Incident) -> datetime:
        """Return until when a table downstream of a repaired one may still fail without being told about."""
        if root.resolution is not Resolution.FIXED or root.last.resolved_at is None:
            return self._now
        table = self._config.table(incident.table)
        if table is None or table.schedule is None:
            return self._now
        check = table.check(incident.check_id)
        alerts = self._config.alerts
        runs = (alerts.resolve_after if check is None else policy_of(check, alerts).resolve_after) + 1
        return root.last.resolved_at + min(runs * table.schedule.longest_period(), LONGEST_SETTLING)


def _rank(incident: Incident) -> tuple[datetime, int]:
    return incident.last.detected_at, incident.id
