"""What the keys of the project, its sources, tables, owners, costs and maintenance change: what commands print."""

import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

import pyarrow as pa

from monitor.config import ConfigError, Schedule, load
from monitor.config.web_model import allowed_hosts, cookie_name
from monitor.daemon.daily_limit import DailyLimits
from monitor.daemon.timetable import Timetable
from monitor.web.oidc import OidcProvider, grant_of, name_of
from sources import ReadVolume, SourceError, open_source
from store import Grant, Run, RunCost, WebRole
from tests.monitor.config.effects.effect import ABSENT, Effect
from tests.monitor.config.effects.folder import BASE, IMPORT, NOW, command, folder_of, nested, project_of
from tests.sources.lake import KINDS, write

CHECKED: Final = command(("check", "--no-store", "--format", "json"))
SHEET: Final = command(IMPORT, ("table", "show", "orders"))
DOWNTIME: Final = command(
    IMPORT, ("downtime", "--from", "2026-11-16T00:00Z", "--to", "2026-11-23T00:00Z", "--format", "json")
)
WEEKLY: Final = command(IMPORT, ("report", "--period", "2026-W47", "--format", "markdown"))
FAILURE: Final = command(("check",))

_ODD: Final = {
    "delimiter": ";", "quote": "'", "escape": "'", "skip_lines": 1, "date_format": "%d/%m/%Y", "null_values": ["n/a"],
    "timestamp_format": "%d/%m/%Y %H:%M:%S", "header": True,
}  # fmt: skip


def _odd_file(config: Mapping[str, Any]) -> object:
    """Return the columns, their types and the rows of the file, or the class of the failure."""
    with project_of(config) as project, open_source(project.source_spec("lake")) as source:
        try:
            table = source.table("odd")
            return str(table.schema()), source.fetch(source.compile(table))
        except SourceError as error:
            return type(error).__name__


def _lakes(config: Mapping[str, Any]) -> object:
    """Return the tables of a source among two Delta and two Iceberg ones, or the class of the failure."""
    with project_of(config) as project:
        folder = project.loaded.folder("lake").resolve()
        for kind in KINDS:
            for name, data in (("orders", {"id": [1]}), ("refunds", {"id": [1]})):
                write(kind, folder, name, pa.table(data))
        try:
            with open_source(project.source_spec("lake")) as source:
                return source.tables()
        except SourceError as error:
            return type(error).__name__


def _of_lakes() -> Iterator[Effect]:
    base = {**BASE, "sources": {"lake": {}}}
    catalogue = {"catalog": "default", "uri": "sqlite:///lake.db", "namespace": "shop"}
    yield Effect("Source.delta", base, ("*", "ord*"), _lakes, ("sources", "lake", "delta"), KINDS)
    other = {**catalogue, "uri": "sqlite:///other.db"}
    yield Effect("Source.iceberg", base, (catalogue, other), _lakes, ("sources", "lake", "iceberg"), KINDS)
    base = nested(base, "sources", "lake", iceberg=catalogue)
    for key, second in (("catalog", "other"), ("uri", "sqlite:///other.db"), ("namespace", ABSENT)):
        place = ("sources", "lake", "iceberg", key)
        yield Effect(f"IcebergSource.{key}", base, (catalogue[key], second), _lakes, place, KINDS)


def _delayed(config: Mapping[str, Any]) -> object:
    """Return whether the daily limit delays a table of which one run was recorded today: 10 s, 10 rows, 10 bytes."""
    with project_of(config) as project, project.open_store() as store, store.writing() as tx:
        cost = RunCost("lake", NOW.date(), 10.0, ReadVolume(10, 10))
        tx.results.add_runs([Run("one", "orders", NOW, NOW, cost)], [])
        every = Schedule.parse("every 1h")
        timetable = Timetable.of_name("orders", every, zone="UTC", jitter=timedelta(), catch_up="latest")
        due = [timetable.scheduled(NOW)]
        return len(DailyLimits.of(project, {"orders": timetable}).split(tx, due, NOW).delayed)


def _daily_limits() -> Iterator[Effect]:
    place = ("sources", "lake", "daily_limit")
    yield Effect("Source.daily_limit", BASE, ({"seconds": 15}, ABSENT), _delayed, place)
    for key in ("seconds", "rows", "bytes"):
        base = nested(BASE, *place, **{key: 15})
        yield Effect(f"DailyLimit.{key}", base, (15, 25), _delayed, (*place, key))


def _csv() -> Iterator[Effect]:
    for key, first, second in (
        ("delimiter", ";", ","),
        ("quote", "'", '"'),
        ("escape", "'", "\\"),
        ("skip_lines", 1, 2),
        ("header", True, False),
        ("date_format", "%d/%m/%Y", "%m/%d/%Y"),
        ("timestamp_format", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S"),
        ("null_values", ["n/a"], []),
        ("types", {}, {"id": "VARCHAR"}),
        ("encoding", "utf-8", "utf-16-le"),
        ("strict", True, False),
    ):
        base = nested(BASE, "sources", "lake", "csv", **_ODD)
        yield Effect(f"CsvFormat.{key}", base, (first, second), _odd_file, ("sources", "lake", "csv", key))


def _cost() -> Iterator[Effect]:
    hours = {"start": "09:00", "end": "17:00"}
    role = {"role": "analyst", "headcount": 2, "hourly": 40, "share": "0.5"}
    earlier = {"valid_from": "2026-01-01", "tiers": {"gold": {"per_hour": 7}}}
    dated = nested(BASE, "cost", valid_from="2026-11-19", history=[earlier])
    for key, base, first, second in (
        ("currency", BASE, "EUR", "JPY"),
        ("valid_from", BASE, ABSENT, "2026-11-22"),
        ("tiers", BASE, {}, {"gold": {"per_hour": 3}}),
        ("tables", BASE, {}, {"orders": {"per_hour": 3}}),
        ("roles", BASE, [], [role]),
        ("business_hours", BASE, ABSENT, hours),
        ("history", nested(BASE, "cost", valid_from="2026-11-22"), [], [earlier]),
    ):
        yield Effect(f"Cost.{key}", base, (first, second), DOWNTIME, ("cost", key))
    yield Effect("Cost.note", BASE, (ABSENT, "agreed in spring"), WEEKLY, ("cost", "note"))
    for key, first, second in (
        ("valid_from", "2026-01-01", "2026-11-18"),
        ("tiers", {}, {"gold": {"per_hour": 3}}),
        ("tables", {}, {"orders": {"per_hour": 3}}),
        ("roles", [], [role]),
        ("business_hours", ABSENT, hours),
    ):
        yield Effect(f"Rates.{key}", dated, (first, second), DOWNTIME, ("cost", "history", 0, key))
    yield Effect("Rates.note", dated, (ABSENT, "agreed in spring"), WEEKLY, ("cost", "history", 0, "note"))
    yield Effect("Rate.per_hour", BASE, (100, 3), DOWNTIME, ("cost", "tiers", "gold", "per_hour"))
    with_role = nested(BASE, "cost", roles=[role])
    for key, second in (("headcount", 3), ("hourly", 50), ("share", "0.25")):
        yield Effect(f"Role.{key}", with_role, (role[key], second), DOWNTIME, ("cost", "roles", 0, key))
    at_work = nested(BASE, "cost", business_hours=hours)
    for key, first, second in (
        ("days", "mon-fri", "wed-sun"),
        ("start", "09:00", "12:00"),
        ("end", "17:00", "12:00"),
        ("outside_factor", 0, "0.5"),
        ("timezone", ABSENT, "Asia/Tokyo"),
    ):
        path = ("cost", "business_hours", key)
        yield Effect(f"BusinessHours.{key}", at_work, (first, second), DOWNTIME, path)


def _contracts() -> Iterator[Effect]:
    base = {**BASE, "contracts": {"board": {"tables": ["orders"], "availability": "0.9"}}}
    for key, first, second in (
        ("tables", ["orders"], ["refunds"]),
        ("time_to_detect", "1h", "2d"),
        ("time_to_notify", ABSENT, "15m"),
        ("time_to_repair", ABSENT, "4h"),
        ("availability", "0.9", "0.2"),
        ("downtime", ABSENT, "2h per 30d"),
    ):
        yield Effect(f"Contract.{key}", base, (first, second), WEEKLY, ("contracts", "board", key))
    yield Effect("Config.contracts", base, ({}, base["contracts"]), WEEKLY, ("contracts",))
    base = {**BASE, "slo": {"orders": {"ttd": "1h"}}}
    for key, first, second in (("downtime", ABSENT, "2h per 30d"), ("ttd", "1h", "2h"), ("ttr", ABSENT, "8h")):
        yield Effect(f"Slo.{key}", base, (first, second), WEEKLY, ("slo", "orders", key))
    yield Effect("Config.slo", base, ({}, base["slo"]), WEEKLY, ("slo",))
    yield Effect("Table.slo", base, (ABSENT, {"ttd": "2h"}), WEEKLY, ("tables", 0, "slo"))


_TEAM_FILE: Final = {
    "tables": [
        {"name": "web.visits", "source": "lake", "owner": "crew", "domain": "sales", "description": "${NOTE:-}"}
    ],
    "alerts": {"channels": {"chat": {"webhook": {"url": "https://chat.example.org/1"}}}},
}


def _refused(config: Mapping[str, Any]) -> object:
    """Return what the file of a team may not define, or all that is wrong with its folder."""
    with folder_of(config) as folder:
        (folder / "web").mkdir()
        (folder / "web" / "a.yaml").write_text(json.dumps(_TEAM_FILE), encoding="utf-8")
        try:
            return [table.name for table in load(folder / "tablewatch.yaml", environment={}).config.tables]
        except ConfigError as error:
            return [problem.message for problem in error.problems]


def _teams() -> Iterator[Effect]:
    """Yield the keys of teams by what a file may define that needs all of them."""
    grants = {"owners": ["crew"], "domains": ["sales"], "channels": ["chat"], "variables": ["NOTE"]}
    team = {"folder": "web", "may": ["tables", "alerts"], "tables": ["web.*"], "sources": ["lake"], **grants}
    base = {**BASE, "teams": {"web": team}}
    for key, value in team.items():
        other = {"folder": "day", "may": ["tables"], "tables": ["other.*"]}.get(key, [])
        yield Effect(f"Team.{key}", base, (value, other), _refused, ("teams", "web", key))
    yield Effect("Config.teams", base, ({}, base["teams"]), _refused, ("teams",))


def _products() -> Iterator[Effect]:
    """Yield the keys of data products by what is shown of one, and those of its promises by what is judged."""
    shown = command(IMPORT, ("product", "list", "--format", "json"))
    judged = command(IMPORT, ("contract", "show", "--format", "json"))
    base = {**BASE, "products": {"all": {"tables": ["*"], "promises": {"ttr": "1h"}}}}
    for key, value in (
        ("tables", ["orders"]),
        ("title", "All"),
        ("owner", "crew"),
        ("description", "Everything."),
        ("consumers", ["finance"]),
    ):
        first = ["*"] if key == "tables" else ABSENT
        yield Effect(f"Product.{key}", base, (first, value), shown, ("products", "all", key))
    yield Effect("Product.promises", base, ({"ttr": "1h"}, {"ttr": "9h"}), judged, ("products", "all", "promises"))
    yield Effect("Config.products", base, (base["products"], {"all": {"tables": ["orders"]}}), shown, ("products",))


def _rules() -> Iterator[Effect]:
    """Yield the keys of rules by the test of the configuration, and those of ownership by who owns a table."""
    tested = command(("config", "test", "--format", "json"))
    base = {**BASE, "rules": {"house": {"require": ["schedule"], "tables": ["orders"]}}}
    for key, first, second in (
        ("tables", ["orders"], []),
        ("require", ["schedule"], ["checks"]),
        ("checks", [], ["freshness"]),
        ("forbid", [], ["not_null"]),
        ("of_checks", [], ["why"]),
        ("at_least_every", ABSENT, "1h"),
        ("reason", ABSENT, "A user waits for it."),
    ):
        yield Effect(f"Rule.{key}", base, (first, second), tested, ("rules", "house", key))
    yield Effect("Config.rules", base, ({}, base["rules"]), tested, ("rules",))
    owned = {**BASE, "owners": {"desk": {}, "crew": {}}, "ownership": {"ord*": "desk"}}
    owned = nested(owned, "tables", 0, owner=None)
    yield Effect("Config.ownership", owned, ({}, owned["ownership"]), SHEET, ("ownership",))


def _tables() -> Iterator[Effect]:
    fresh = {"type": "freshness", "column": "at", "max_age": "1h"}
    zoned = nested(BASE, "tables", 1, checks=[fresh], timezones={"at": "UTC"})
    anonymous = nested(BASE, "tables", 0, checks=[{"type": "k_anonymity", "k": 2}])
    fed = nested(BASE, "tables", 1, upstream=["orders"])
    for key, base, first, second, observe, number in (
        ("name", BASE, "refunds", "odd", CHECKED, 1),
        ("source", nested(BASE, "sources", other={"files": "none/*.csv"}), "lake", "other", CHECKED, 0),
        ("table", BASE, ABSENT, "refunds", CHECKED, 0),
        ("domain", BASE, "sales", "other", SHEET, 0),
        ("owner", BASE, ABSENT, "desk", SHEET, 0),
        ("tier", BASE, "gold", "silver", SHEET, 0),
        ("description", BASE, ABSENT, "One row an order.", SHEET, 0),
        ("schedule", BASE, ABSENT, "every 1h", SHEET, 0),
        ("upstream", BASE, [], ["refunds"], SHEET, 0),
        ("upstream_columns", fed, {}, {"orders": {"total": ["id"]}}, SHEET, 1),
        ("consumers", BASE, [], ["the board"], SHEET, 0),
        ("timezones", zoned, {"at": "UTC"}, {"at": "Asia/Tokyo"}, CHECKED, 1),
        ("columns", anonymous, {}, {"customer": "quasi-identifier"}, CHECKED, 0),
        ("checks", BASE, [], [{"type": "not_null", "columns": ["id"]}], CHECKED, 0),
    ):
        yield Effect(f"Table.{key}", base, (first, second), observe, ("tables", number, key))
    used = nested(BASE, "tables", 0, consumers=[{"name": "the board"}])
    as_json = command(IMPORT, ("table", "show", "orders", "--format", "json"))
    for key, first, second in (
        ("name", "the board", "the desk"),
        ("type", ABSENT, "dashboard"),
        ("owner", ABSENT, "desk"),
        ("url", ABSENT, "https://bi.example.org/7"),
        ("columns", [], ["id"]),
    ):
        yield Effect(f"Consumer.{key}", used, (first, second), as_json, ("tables", 0, "consumers", 0, key))


def _patterns() -> Iterator[Effect]:
    """Yield the keys of an entry that stands for two tables."""
    entry = {"match": "*r*", "source": "lake", "checks": [{"type": "not_null", "columns": ["id"]}]}
    base: Mapping[str, Any] = {**nested(BASE, "sources", other={"files": "none/*.csv"}), "tables": [entry]}
    for key, first, second, observe in (
        ("match", "*r*", "refunds", CHECKED),
        ("exclude", [], ["orders"], CHECKED),
        ("source", "lake", "other", CHECKED),
        ("suggest", ABSENT, "sure", CHECKED),
        ("monitors", ABSENT, "free", CHECKED),
        ("domain", "sales", "other", SHEET),
        ("owner", ABSENT, "desk", SHEET),
        ("tier", "gold", "silver", SHEET),
        ("description", ABSENT, "One row an order.", SHEET),
        ("schedule", ABSENT, "every 1h", SHEET),
        ("upstream", [], ["refunds"], SHEET),
        ("consumers", [], ["the board"], SHEET),
        ("loaded_at", ABSENT, "at", command(("config", "show", "--expanded"))),
    ):
        yield Effect(f"TablePattern.{key}", base, (first, second), observe, ("tables", 0, key))
    fed = {**base, "tables": [{**entry, "upstream": ["orders"]}]}
    columns = {"orders": {"total": ["id"]}}
    yield Effect("TablePattern.upstream_columns", fed, ({}, columns), SHEET, ("tables", 0, "upstream_columns"))


def _file_times() -> Iterator[Effect]:
    """Yield the keys of files that are one for each period, by the age of the last of them."""
    times = {"name": "orders-%Y-%m-%d", "after": "26h"}
    source = {"files": "day/orders-2026-11-*.csv", "table": "orders", "timezone": "UTC", "file_times": times}
    fresh = {"type": "freshness", "column": "file_time", "max_age": "12h"}
    base = nested(nested(BASE, "sources", daily=source), "tables", 0, source="daily", checks=[fresh])
    yield Effect("Source.file_times", base, (ABSENT, times), CHECKED, ("sources", "daily", "file_times"))
    for key, second in (("name", "orders-%Y-%d-%m"), ("after", "60h")):
        place = ("sources", "daily", "file_times", key)
        yield Effect(f"FileTimesFormat.{key}", base, (times[key], second), CHECKED, place)


def _external() -> Iterator[Effect]:
    """Yield the keys of checks that another tool evaluates: what was imported, three hours later."""
    check = {"type": "external", "origin": "other", "id": "totals", "reference": "sums"}
    base = nested(BASE, "tables", 0, checks=[check])
    later = command(("import", "results", "results.json"), ("status", "--format", "json"), after=timedelta(hours=3))
    for key, first, second in (("origin", "other", "dbt"), ("reference", ABSENT, "sums"), ("every", "1d", "1h")):
        yield Effect(f"External.{key}", base, (first, second), later, ("tables", 0, "checks", 0, key))
    built = {**check, "origin": "dbt", "reference": "test.ids"}
    base = nested(nested(BASE, "tables", 0, checks=[built]), "sources", "lake", dbt={"target": "prod"})
    of_dbt = command(("import", "dbt", "run_results.json"), ("status", "--format", "json"))
    for key, first, second in (
        ("target", "prod", "dev"),
        ("vars", {"day": 1}, {"day": 2}),
        ("defer", True, False),
        ("favor_state", True, False),
    ):
        yield Effect(f"DbtRuns.{key}", base, (first, second), of_dbt, ("sources", "lake", "dbt", key))
    yield Effect("Source.dbt", base, (ABSENT, {"target": "dev"}), of_dbt, ("sources", "lake", "dbt"))
    sources = {"files": "*.csv"}, {"external": True}
    yield Effect("Source.external", BASE, sources, CHECKED, ("sources", "lake"))


def _check_parameters() -> Iterator[Effect]:
    """Yield the keys that all checks have from one place and use in one way."""
    for key, first, second in (
        ("id", ABSENT, "customers-are-there"),
        ("severity", "error", "critical"),
        ("why", ABSENT, "It is billed."),
        ("runbook", ABSENT, "https://example.org/book"),
    ):
        yield Effect(f"CheckParameters.{key}", BASE, (first, second), FAILURE, ("tables", 0, "checks", 0, key))


def _web(config: Mapping[str, Any]) -> object:
    """Return where the application listens and by which names it may be called."""
    with project_of(config) as project:
        web = project.config.web
        return web.host, web.port, sorted(allowed_hosts(web)), cookie_name(web)


_OIDC: Final[Mapping[str, Any]] = {
    "issuer": "https://login.example.org",
    "client_id": "tablewatch",
    "roles": [{"group": "sales-data", "role": "owner", "owners": ["crew"], "domains": ["sales"]}],
}


def _person(config: Mapping[str, Any]) -> object:
    """Return the name of a user of the provider, and their role."""
    claims = {"preferred_username": "mia", "upn": "mia@example.org", "groups": ["sales-data"], "teams": ["other"]}
    with project_of(config) as project:
        oidc = project.config.web.oidc
        assert oidc is not None
        return name_of(oidc, claims), grant_of(oidc, claims, of_store=Grant(WebRole.VIEWER))


def _client(config: Mapping[str, Any]) -> object:
    """Return which provider is named, and as what we call it."""
    with project_of(config) as project:
        oidc = project.config.web.oidc
        assert oidc is not None
        session = OidcProvider(oidc, "https://watch.example.org/back", lambda: 0.0)._session()
        return oidc.host, session.client_id, session.client_secret, session.scope


def _oidc() -> Iterator[Effect]:
    base = nested(BASE, "web", public_url="https://watch.example.org", oidc=_OIDC)
    for key, first, second, observe in (
        ("name_claim", ABSENT, "upn", _person),
        ("groups_claim", ABSENT, "teams", _person),
        ("roles", _OIDC["roles"], [], _person),
        ("issuer", _OIDC["issuer"], "https://login.example.com", _client),
        ("client_id", "tablewatch", "other", _client),
        ("client_secret", ABSENT, "s3cret", _client),
        ("scopes", ABSENT, ["openid"], _client),
    ):
        yield Effect(f"OidcSignIn.{key}", base, (first, second), observe, ("web", "oidc", key))
    for key, first, second in (
        ("group", "sales-data", "elsewhere"),
        ("role", "owner", "responder"),
        ("owners", ["crew"], ["desk"]),
        ("domains", ["sales"], ["other"]),
    ):
        yield Effect(f"GroupRole.{key}", base, (first, second), _person, ("web", "oidc", "roles", 0, key))


def entries() -> Iterator[Effect]:
    """Yield an entry for each key."""
    yield Effect("Web.listen", BASE, (ABSENT, "127.0.0.2:80"), _web, ("web", "listen"))
    yield Effect("Web.public_url", BASE, (ABSENT, "https://watch.example.org"), _web, ("web", "public_url"))
    yield Effect("Web.hosts", BASE, (ABSENT, ["watch.example.org"]), _web, ("web", "hosts"))
    yield from _oidc()
    yield Effect("Config.project", BASE, ("shop", "store"), WEEKLY, ("project",))
    yield Effect("Config.timezone", BASE, ("UTC", "Asia/Tokyo"), WEEKLY, ("timezone",))
    yield Effect("Config.locale", BASE, ("en", "ja"), WEEKLY, ("locale",))
    yield Effect("Domain.owner", BASE, ("crew", "desk"), SHEET, ("domains", "sales", "owner"))
    yield Effect("Domain.title", BASE, (ABSENT, "Sales of goods"), SHEET, ("domains", "sales", "title"))
    yield Effect("Owner.name", BASE, (ABSENT, "The crew"), SHEET, ("owners", "crew", "name"))
    yield Effect("Owner.email", BASE, (ABSENT, "crew@example.org"), SHEET, ("owners", "crew", "email"))
    fresh = nested(BASE, "tables", 1, checks=[{"type": "freshness", "column": "at", "max_age": "1h"}])
    yield Effect("Source.timezone", fresh, ("UTC", "Asia/Tokyo"), CHECKED, ("sources", "lake", "timezone"))
    yield Effect("Source.files", BASE, ("*.csv", "orders.csv"), CHECKED, ("sources", "lake", "files"))
    one = nested(BASE, "sources", "lake", files="orders.csv")
    yield Effect("Source.table", one, (ABSENT, "refunds"), CHECKED, ("sources", "lake", "table"))
    yield from _file_times()
    work = {"start": "2026-11-17T00:00:00Z", "end": "2026-11-17T06:00:00Z", "reason": "a move"}
    planned = {**BASE, "maintenance": [work]}
    for key, base, first, second, observe in (
        ("tables", planned, [], ["refunds"], DOWNTIME),
        ("domains", planned, [], ["other"], DOWNTIME),
        ("start", planned, work["start"], "2026-11-17T03:00:00Z", DOWNTIME),
        ("end", planned, work["end"], "2026-11-17T12:00:00Z", DOWNTIME),
        ("reason", planned, "a move", "an update", WEEKLY),
    ):
        yield Effect(f"Maintenance.{key}", base, (first, second), observe, ("maintenance", 0, key))
    yield from _csv()
    yield from _daily_limits()
    yield from _of_lakes()
    yield from _cost()
    yield from _tables()
    yield from _patterns()
    yield from _contracts()
    yield from _rules()
    yield from _teams()
    yield from _products()
    yield from _external()
    yield from _check_parameters()
