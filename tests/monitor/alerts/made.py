"""Incidents, configurations and stores for tests of alerts."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from checks import Kind, OccurrenceMethod, Severity
from incidents import Episode, FoundBy, Incident, Onset, Resolution, State
from monitor.alerts.hold import Recipients
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project

NOW = datetime(2026, 11, 20, 3, 0, tzinfo=UTC)
"""Noon in Tokyo."""

CONFIG = """
version: 1
project: shop
timezone: Asia/Tokyo
storage: {{url: "sqlite:///{folder}/store.db"}}
sources: {{files: {{files: "*.csv"}}}}
domains: {{sales: {{owner: desk}}}}
owners:
  desk: {{name: The desk, channel: desk}}
  crew: {{name: The crew, channel: crew}}
  mute: {{name: Nobody hears}}
cost: {{currency: JPY, tiers: {{gold: {{per_hour: 120000}}}}}}
tables:
  - name: orders
    source: files
    domain: sales
    tier: gold
    schedule: every 1h
    checks: [{{type: not_null, columns: [id], why: It is billed twice., runbook: "https://wiki/orders"}}]
  - {{name: lines, source: files, domain: sales, upstream: [orders], schedule: every 1h}}
  - {{name: board, source: files, owner: crew, upstream: [lines], schedule: every 1h}}
  - {{name: stray, source: files, owner: mute}}
alerts:
  group_wait: 2m
  channels:
    desk: {{apprise: "json://localhost:9/"}}
    crew: {{apprise: "json://localhost:9/", locale: ja}}
    audit: {{webhook: {{url: "https://example.org/hook", secret: "s3cret-key"}}}}
{alerts}
"""


def project(folder: Path, alerts: str = "", *, now: datetime = NOW, **changes: tuple[str, str]) -> Project:
    """Return a project with four tables; `alerts` are more lines of that section, `changes` replace texts."""
    text = CONFIG.format(folder=folder, alerts=alerts)
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    (folder / "tablewatch.yaml").write_text(text, encoding="utf-8")
    return Project(load(folder / "tablewatch.yaml", environment={}), SimulatedClock(now))


def at(hours: float) -> datetime:
    """Return a time in hours after NOW."""
    return NOW + timedelta(hours=hours)


def episode(detected: float = 0, resolved: float | None = None) -> Episode:
    """Make an episode that was noticed an hour after it began; in hours after NOW."""
    began = at(detected - 1)
    onset = Onset(began, began, at(detected), OccurrenceMethod.LAST_GOOD_RUN)
    return Episode(onset, at(detected), None if resolved is None else at(resolved))


def incident(number: int = 1, **others: Any) -> Incident:
    """Make an open incident on `orders`."""
    made = Incident(
        id=number,
        fingerprint=f"orders.not-null-{number}",
        table="orders",
        check_id="orders.not-null",
        kind=Kind.QUALITY,
        severity=Severity.ERROR,
        title="{nulls:count} of {rows:count} rows have no id",
        title_values={"nulls": 3, "rows": 26115},
        found_by=FoundBy.CHECK,
        state=State.OPEN,
        episodes=(episode(),),
    )
    return replace(made, **others)


def over(number: int = 1, *, hours: float = 2, episodes: tuple[Episode, ...] = (), **others: Any) -> Incident:
    """Make a resolved incident."""
    given: Mapping[str, Any] = {"state": State.RESOLVED, "resolution": Resolution.FIXED, **others}
    return incident(number, episodes=episodes or (episode(0, hours),), **given)


def waiting(*incidents: Incident, channels: Collection[str] = ("desk", "crew", "audit")) -> Recipients:
    """Return what is heard while news of these incidents waits for channels."""
    return Recipients(pending={incident.id: channels for incident in incidents})
