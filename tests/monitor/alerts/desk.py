"""A store with incidents, and its notifications."""

from datetime import timedelta

from checks import Kind, Severity
from incidents import FoundBy, Opened, Reopened, Resolution, Resolved
from monitor.alerts.notify import notify
from monitor.alerts.reminders import decide_again
from store import Scope
from tests.monitor.alerts.made import NOW, at, episode, project

MINUTE = timedelta(minutes=1)
ALL_TO_DESK = "  routes: [{to: [desk]}]"
NIGHTS = """
  routes: [{to: [desk], quiet_hours: nights}]
  quiet_hours: {nights: {start: "22:00", end: "07:00", let_through: [critical]}}
"""
NIGHT, MORNING = at(11), at(19)
"""23:00 and 07:00 in Tokyo."""


def made_opened(table, when, severity=Severity.ERROR, kind=Kind.QUALITY, check="not-null"):
    """Make what opens an incident of a check."""
    return Opened(
        fingerprint=f"{table}.{check}",
        table=table,
        check_id=f"{table}.{check}",
        incident_kind=kind,
        severity=severity,
        title="{rows:count} rows are bad",
        title_values={"rows": 3},
        found_by=FoundBy.CHECK,
        episode=episode((when - NOW) / timedelta(hours=1)),
    )


class Desk:
    """A store with incidents, and its notifications."""

    def __init__(self, made, store):
        self.project, self.store = made, store

    def open(self, table="orders", when=NOW, severity=Severity.ERROR, kind=Kind.QUALITY, check="not-null"):
        """Open an incident."""
        with self.store.writing() as tx:
            opened = made_opened(table, when, severity, kind, check)
            return tx.incidents.open(opened, recorded_at=when, actor="tablewatch")

    def change(self, incident, *changes, when):
        """Change an incident."""
        with self.store.writing() as tx:
            return tx.incidents.append(tx.incidents.get(incident.id), changes, recorded_at=when, actor="tablewatch")

    def end(self, incident, when, resolution=Resolution.FIXED):
        """Resolve an incident."""
        return self.change(incident, Resolved(when, resolution), when=when)

    def back(self, incident, when):
        """Begin another episode."""
        return self.change(incident, Reopened(episode((when - NOW) / timedelta(hours=1))), when=when)

    def told(self, now, *, arrives=True):
        """Announce, let the messages arrive, and give them: channel, numbers, reasons."""
        notify(self.project, self.store, now)
        return self.arrive(now) if arrives else None

    def arrive(self, now):
        """Let what waits to be sent arrive."""
        with self.store.writing() as tx:
            gone = {*tx.silences.disabled_channels()}
            sent = tx.deliveries.lease(now, holder="me", lease_until=now + MINUTE, limit=1000, channels_busy=gone)
            for one in sent:
                tx.deliveries.mark_sent(one.id, now, "me")
        return [
            (one.channel, one.payload["ids"], [each["reason"] for each in one.payload["incidents"]]) for one in sent
        ]

    def give_up(self, now):
        """Let what waits to be sent be given up."""
        with self.store.writing() as tx:
            for lease_delivery in tx.deliveries.lease(now, holder="me", lease_until=now, limit=1000):
                tx.deliveries.mark_dead(lease_delivery.id, now, "nobody answers", "me")

    def gone(self, channel):
        """Let the other end of a channel be gone."""
        with self.store.writing() as tx:
            tx.silences.disable_channel(channel, "it answered 410 Gone", NOW)

    def enable(self, channel, now):
        """Use a channel again, as `tablewatch alert enable` does."""
        with self.store.writing() as tx:
            tx.silences.enable_channel(channel)
        decide_again(self.store, now)

    def route(self, alerts):
        """Write other lines into the section `alerts` of the configuration."""
        self.project = project(self.project.loaded.files[0].parent, alerts)

    def silence(self, table, *, until):
        """Want silence over a table from the beginning on."""
        with self.store.writing() as tx:
            return tx.silences.add(
                scope=Scope.TABLE, name=table, starts_at=NOW, until=until, reason="moving", by="sato"
            )

    def decisions(self):
        """Return what was decided, oldest first."""
        with self.store.reading() as tx:
            return tx.outbox.decided_since(at(-1000), 1000)[::-1]

    def last(self, channel="desk"):
        """Return the newest decision on a channel."""
        return self.decisions()[-1].decision["channels"][channel]
