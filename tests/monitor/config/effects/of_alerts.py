"""What the keys of alerts, the daemon and the weekly report change: messages, times, channels."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from checks import Kind, Severity
from monitor.alerts.notify import notify
from monitor.alerts.route import channels_for, operators
from monitor.config.selector import select
from monitor.daemon.claims import _timetables
from monitor.daemon.periodic_report import report_if_due
from monitor.reporting.period import PERIODS, Period, Week
from monitor.scan.run import run_checks
from tests.monitor.alerts.desk import Desk
from tests.monitor.alerts.made import NOW, at
from tests.monitor.config.effects.effect import ABSENT, Effect
from tests.monitor.config.effects.folder import BASE, nested, project_of
from tests.monitor.config.effects.folder import NOW as MONDAY

GOOD: Final = True
BAD: Final = False
_CHANNEL: Final = {"apprise": "json://localhost:9/"}
_ALERTS: Final = nested(
    {**BASE, "timezone": "Asia/Tokyo"},
    "alerts",
    channels={"desk": _CHANNEL, "crew": _CHANNEL},
    routes=[{"to": ["desk"]}],
)
_NIGHTS: Final = nested(
    nested(_ALERTS, "alerts", quiet_hours={"nights": {"start": "22:00", "end": "07:00"}}),
    "alerts", "routes", 0, quiet_hours="nights",
)  # fmt: skip


def told(config: Mapping[str, Any]) -> object:
    """Return what two days of incidents make the channels hear: when, which channel, of what, in which words.

    One incident is at noon in Tokyo and lasts, one downstream follows; one ends; one begins in the night.
    """
    with project_of(config, NOW) as project, project.open_store() as store:
        desk, log = Desk(project, store), []

        def tell(hours: float) -> None:
            notify(project, store, at(hours))
            log.extend((hours, *message) for message in desk.arrive(at(hours)))

        desk.open("orders", at(0))
        desk.open("refunds", at(0.01))
        for hours in (0.02, 0.1, 0.2, 1.5):
            tell(hours)
        ending = desk.open("odd", at(2))
        tell(2.2)
        desk.end(ending, at(3))
        tell(3.1)
        desk.open("night", at(11))
        for hours in (11.2, 15, 19.1, 25, 40):
            tell(hours)
        with store.reading() as tx:
            texts = [
                json.dumps(one.payload, default=str, ensure_ascii=False) for one in tx.deliveries.since(at(-9), 100)
            ]
        return log, re.search("[ぁ-ん]", "".join(texts)) is not None


def routed(config: Mapping[str, Any]) -> object:
    """Return the channels of an incident on `orders`."""
    with project_of(config) as project:
        return dict(channels_for("orders", project.config, severity=Severity.ERROR, kind=Kind.QUALITY).channels)


def _operators(config: Mapping[str, Any]) -> object:
    with project_of(config) as project:
        return operators(project.config)


def incidents_after(*outcomes: bool) -> Any:
    """Return an observation: the states of the incidents after runs of the check of `orders` that pass or not."""

    def observe(config: Mapping[str, Any]) -> object:
        states = []
        with project_of(config) as project, project.open_store() as store:
            for passes in outcomes:
                Path("orders.csv").write_text(
                    "id,customer\n1,ann\n" if passes else "id,customer\n1,\n", encoding="utf-8"
                )
                results = run_checks(project, select(["orders"], project.config), store=store)
                states.append([result.incident for result in results.results])
                project.clock.advance(timedelta(hours=1))  # type: ignore[attr-defined]  # a simulated one
        return states

    return observe


def onset(config: Mapping[str, Any]) -> object:
    """Return when an incident began whose bad row arrived between two runs."""
    with project_of(config) as project, project.open_store() as store:
        for customer in ("ann", ""):
            rows = f"id,customer,at\n1,{customer},2026-11-23 09:30:00\n"
            Path("orders.csv").write_text(rows, encoding="utf-8")
            run_checks(project, select(["orders"], project.config), store=store)
            project.clock.advance(timedelta(hours=1))  # type: ignore[attr-defined]  # a simulated one
        with store.reading() as tx:
            return [episode.onset for episode in tx.incidents.get(1).episodes]


def reading(config: Mapping[str, Any]) -> object:
    """Return what two runs of a table read, a week apart, and up to when its rows are closed."""
    with project_of(config) as project, project.open_store() as store:
        rows = "".join(f"{day},ann,2026-11-{day} 08:00:00,2026-11-{day}\n" for day in range(10, 24))
        Path("orders.csv").write_text(f"id,customer,at,day\n{rows}", encoding="utf-8")
        reads = []
        for _ in range(2):
            run_checks(project, select(["orders"], project.config), store=store)
            with store.reading() as tx:
                parts = tx.classes.closed_parts(["orders"])
            reads += [(part.read, part.before, part.why) for part in parts.values()]
            project.clock.advance(timedelta(days=7))  # type: ignore[attr-defined]  # a simulated one
        return reads


def slots(config: Mapping[str, Any]) -> object:
    """Return which slots a daemon runs that was away for five hours, and when the next is due."""
    with project_of(config) as project:
        (timetable, *_) = _timetables(project, at_once=False).values()
        row = timetable.first(MONDAY)
        return row, timetable.claim(row, MONDAY + timedelta(hours=5))


def scheduled(kind: type[Period], config: Mapping[str, Any]) -> object:
    """Return the files and deliveries of the report that is due after the check ran, at two moments."""
    with project_of(config) as project, project.open_store() as store:
        run_checks(project, select([], project.config), store=store)
        made: list[object] = []
        end = kind.containing(MONDAY, project.config.timezone).end
        for hours in (8.2, 14):
            report_if_due(project, store, end + timedelta(hours=hours), kind)
            with store.reading() as tx:
                sent = sorted(one.channel for one in tx.deliveries.since(MONDAY, 100))
            made.append((sorted(str(path) for path in Path().rglob("*.html")), sent))
        return made


def _of_alerts() -> Iterator[Effect]:
    related = nested(_ALERTS, "tables", 1, upstream=["orders"])
    for key, base, first, second, observe in (
        ("open_after", _ALERTS, 1, 2, incidents_after(BAD)),
        ("resolve_after", _ALERTS, 1, 2, incidents_after(BAD, GOOD, BAD)),
        ("group_wait", _ALERTS, "1m", "30m", told),
        ("remind_every", _ALERTS, "12h", "2d", told),
        ("send_resolved", _ALERTS, True, False, told),
        ("mute_downstream", related, True, False, told),
        ("hourly_cap", nested(_ALERTS, "alerts", group_wait="1m"), 1, 30, told),
        ("operators", _ALERTS, [], ["crew"], _operators),
    ):
        yield Effect(f"Alerts.{key}", base, (first, second), observe, ("alerts", key))
    for key, first, second, outcomes in (
        ("open_after", 1, 2, (BAD,)),
        ("resolve_after", 1, 2, (BAD, GOOD, BAD)),
    ):
        for section, path in (
            ("LifecycleRules", ("alerts", "severities", "error", key)),
            ("CheckParameters", ("tables", 0, "checks", 0, key)),
        ):
            yield Effect(f"{section}.{key}", _ALERTS, (first, second), incidents_after(*outcomes), path)
    soft = {"type": "not_null", "columns": ["customer"], "max_ratio": 1, "warn": {"max_ratio": 0}}
    warns = nested(_ALERTS, "tables", 0, checks=[soft])
    for section, path in (
        ("Alerts", ("alerts",)),
        ("LifecycleRules", ("alerts", "severities", "error")),
        ("CheckParameters", ("tables", 0, "checks", 0)),
    ):
        yield Effect(f"{section}.open_on", warns, ("fail", "warn"), incidents_after(BAD), (*path, "open_on"))
    confirmed = nested(_ALERTS, "alerts", confirm={"after": "1h"})
    waits = ("1h", "90m")
    yield Effect("Confirmation.after", confirmed, waits, incidents_after(BAD, BAD), ("alerts", "confirm", "after"))
    yield Effect("Channel.locale", _ALERTS, ("en", "ja"), told, ("alerts", "channels", "desk", "locale"))
    yield Effect(
        "Owner.channel", nested(_ALERTS, "alerts", routes=[]), (ABSENT, "crew"), routed, ("owners", "crew", "channel")
    )
    yield Effect("Route.to", _ALERTS, (["desk"], ["crew"]), routed, ("alerts", "routes", 0, "to"))
    yield Effect("Route.quiet_hours", _NIGHTS, (ABSENT, "nights"), told, ("alerts", "routes", 0, "quiet_hours"))
    wait = ("alerts", "routes", 0, "unacknowledged_for")
    yield Effect("Route.unacknowledged_for", _ALERTS, (ABSENT, "1h"), told, wait)
    daily = nested(_ALERTS, "alerts", "routes", 0, digest={"at": "08:00"})
    at_eight = ("alerts", "routes", 0, "digest", "at")
    yield Effect("Digest.at", daily, ("08:00", "13:00"), told, at_eight)
    matching = nested(_ALERTS, "alerts", "routes", 0, match={})
    for key, first, second in (
        ("table", "orders", "refunds"),
        ("domain", "sales", "other"),
        ("owner", "crew", "desk"),
        ("tier", "gold", "silver"),
        ("source", "lake", "sea"),
        ("severity", "error", "critical"),
        ("kind", "quality", "disclosure"),
        ("product", "mine", "others"),
    ):
        base = nested(matching, "sources", "sea", files="*.parquet")
        base = nested(base, "products", mine={"tables": ["orders"]}, others={"tables": ["refunds"]})
        yield Effect(f"Match.{key}", base, (first, second), routed, ("alerts", "routes", 0, "match", key))
    yield Effect("Match.outcome", matching, (ABSENT, "warn"), routed, ("alerts", "routes", 0, "match", "outcome"))
    for key, first, second in (
        ("days", "mon-sun", "mon"),
        ("start", "22:00", "23:55"),
        ("end", "07:00", "02:00"),
        ("timezone", ABSENT, "UTC"),
        ("let_through", [], ["error"]),
        ("afterwards", "catch-up", "drop"),
    ):
        yield Effect(f"QuietHours.{key}", _NIGHTS, (first, second), told, ("alerts", "quiet_hours", "nights", key))


def _of_the_daemon() -> Iterator[Effect]:
    hourly = nested(BASE, "tables", 0, schedule="every 1h")
    zoned = nested(BASE, "sources", "lake", timezone="UTC")
    yield Effect("Table.loaded_at", zoned, (ABSENT, "at"), onset, ("tables", 0, "loaded_at"))
    asked = {"column": "at"}
    yield Effect("Table.incremental", zoned, (ABSENT, asked), reading, ("tables", 0, "incremental"))
    for key, first, second in (("column", "at", "day"), ("lookback", "3d", "5d"), ("full", "weekly", "monthly")):
        place = ("tables", 0, "incremental")
        yield Effect(f"Incremental.{key}", nested(zoned, *place, **asked), (first, second), reading, (*place, key))
    daily = nested(BASE, "tables", 0, schedule="cron: 0 6 * * *")
    yield Effect("Table.schedule", BASE, ("every 1h", "every 30m"), slots, ("tables", 0, "schedule"))
    yield Effect("Table.schedule_timezone", daily, (ABSENT, "Asia/Tokyo"), slots, ("tables", 0, "schedule_timezone"))
    matching = {"match" if key == "name" else key: value for key, value in daily["tables"][0].items()}
    matched: Mapping[str, Any] = {**daily, "tables": [matching]}
    place = ("tables", 0, "schedule_timezone")
    yield Effect("TablePattern.schedule_timezone", matched, (ABSENT, "Asia/Tokyo"), slots, place)
    yield Effect("Daemon.catch_up", hourly, ("latest", "all"), slots, ("daemon", "catch_up"))
    yield Effect("Daemon.jitter", hourly, ("0s", "5m"), slots, ("daemon", "jitter"))
    for kind, days in zip(PERIODS, ("* * mon", "1 * *", "1 1,4,7,10 *"), strict=True):
        name = kind.frequency
        offered = nested(_ALERTS, "products", mine={"tables": ["orders"]})
        planned = nested(offered, "report", name, cron=f"0 8 {days}", to=["desk"], keep="reports")
        for key, first, second in (
            ("cron", f"0 8 {days}", f"0 12 {days}"),
            ("locales", ["en"], ["en", "ja"]),
            ("to", ["desk"], ["desk", "crew"]),
            ("keep", "reports", ABSENT),
            ("domains", {}, {"sales": {"keep": "sales", "to": ["crew"]}}),
            ("owners", {}, {"crew": {"keep": "crew", "to": ["crew"]}}),
            ("products", {}, {"mine": {"keep": "mine", "to": ["crew"]}}),
        ):
            place = ("report", name, key)
            yield Effect(
                f"{name.capitalize()}ReportPlan.{key}", planned, (first, second), partial(scheduled, kind), place
            )

    planned = nested(_ALERTS, "report", "weekly", domains={"sales": {"to": ["desk"], "keep": "sales"}})
    for key, first, second in (("to", ["desk"], ["crew"]), ("keep", "sales", ABSENT)):
        place = ("report", "weekly", "domains", "sales", key)
        yield Effect(f"ReportRecipients.{key}", planned, (first, second), partial(scheduled, Week), place)


def _of_statistics() -> Iterator[Effect]:
    domain = {"customer": ["ann"], "amount": {"low": 0, "high": 9}}
    for section, words in (
        ("Count", {"statistic": "count"}),
        ("Histogram", {"statistic": "histogram", "by": ["customer"]}),
        ("Sum", {"statistic": "sum", "column": "amount"}),
        ("Mean", {"statistic": "mean", "column": "amount"}),
        ("Quantile", {"statistic": "quantile", "column": "amount"}),
    ):
        budget = {"total": "1", "domain": domain, "statistics": {"s": {"epsilon": "0.1", **words}}}
        path = ("budgets", "orders", "statistics", "s", "schedule")
        yield Effect(
            f"{section}.schedule", {**BASE, "budgets": {"orders": budget}}, ("every 7d", "every 1d"), slots, path
        )


def entries() -> Iterator[Effect]:
    """Yield an entry for each key."""
    yield from _of_statistics()
    yield from _of_alerts()
    yield from _of_the_daemon()
