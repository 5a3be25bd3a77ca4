"""What the sections of the configuration demand of each other."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from checks import load_catalog
from incidents import Policy
from monitor.config import (
    Alerts,
    BusinessHours,
    Channel,
    Config,
    Cost,
    Domain,
    Maintenance,
    Owner,
    Release,
    Route,
    Source,
    Storage,
    Table,
)
from monitor.config.alerts_model import LifecycleRules
from monitor.config.model import FileTimesFormat
from monitor.config.project import policy_of
from monitor.config.scalars import Section


@pytest.mark.parametrize(
    ("section", "value", "said"),
    [
        (Storage, {"url": "mysql://h/db"}, "begins with sqlite:/// or postgresql://"),
        *((Table, {"name": name, "source": "s"}, "pattern") for name in ("shop.\0", "a\nb", "\x1b[1m", "x\x85")),
        (Source, {}, "exactly one of files, delta, iceberg, url, spark, external; seen: none"),
        (Source, {"url": "sqlite:///a", "table": "x"}, "'table' and 'csv' go with 'files' only"),
        (Source, {"url": "sqlite:///a", "csv": {"header": True}}, "'table' and 'csv' go with 'files' only"),
        (Source, {"files": "x", "file_times": {"name": "x-%Y", "after": "1d"}}, "'file_times' goes with 'files' and"),
        (FileTimesFormat, {"name": "orders", "after": "1d"}, "a name with %Y"),
        (FileTimesFormat, {"name": "orders-%Y-%j", "after": "1d"}, "a name with %Y"),
        (FileTimesFormat, {"name": "orders-%Y-%Y", "after": "1d"}, "each once"),
        (Source, {"files": "x", "query_timeout": "0s"}, "longer than 0s"),
        (Source, {"files": "x", "memory_limit": "much"}, "match pattern"),
        (BusinessHours, {"start": "19:00", "end": "09:00"}, "comes after 'start'"),
        (Cost, {"history": [{"valid_from": "2026-01-01"}]}, "every set of rates has 'valid_from'"),
        (Cost, {"valid_from": "2026-01-01", "history": [{"valid_from": "2026-01-01"}]}, "the same 'valid_from'"),
        (Cost, {"currency": "yen"}, "match pattern"),
        (Cost, {"tiers": {"gold": {"per_hour": -1}}}, "greater than or equal to 0"),
        (Cost, {"roles": [{"role": "x", "headcount": 1, "hourly": 1, "share": 1.5}]}, "less than or equal to 1"),
        (Maintenance, {"start": "2026-01-02T00:00", "end": "2026-01-01T00:00", "reason": "x"}, "after its 'start'"),
        (Maintenance, {"start": "2026-01-01T00:00Z", "end": "2026-01-02T00:00", "reason": "x"}, "or neither has"),
        (Channel, {}, "a channel has exactly one of "),
        (Channel, {"apprise": "json://h", "webhook": {"url": "https://h"}}, "a channel has exactly one of "),
        (Channel, {"webhook": {"url": "ftp://h"}}, "match pattern"),
        (Route, {"to": []}, "at least 1 item"),
        (Release, {"table": "t", "remedies": [{"k": 5}]}, "each of 'remedies' names its 'remedy'"),
    ],
)
def test_values_that_do_not_fit_together_are_refused(section: type[Section], value: dict[str, Any], said: str) -> None:
    """Each rule between keys says what it wants."""
    with pytest.raises(ValidationError) as caught:
        section.model_validate(value)
    assert said in str(caught.value)


def test_planned_work_without_an_offset_is_by_the_projects_clock() -> None:
    """A wall clock time belongs to the project's zone, a time with an offset to itself."""
    wall = Maintenance(start=datetime(2026, 7, 1, 22, 0), end=datetime(2026, 7, 2, 2, 0), reason="x")  # noqa: DTZ001 - the case
    assert wall.span("Asia/Tokyo") == (datetime(2026, 7, 1, 13, 0, tzinfo=UTC), datetime(2026, 7, 1, 17, 0, tzinfo=UTC))
    exact = Maintenance.model_validate(
        {"start": "2026-07-01T22:00+02:00", "end": "2026-07-02T02:00+02:00", "reason": "x"}
    )
    assert exact.span("Asia/Tokyo")[0] == datetime(2026, 7, 1, 20, 0, tzinfo=UTC)
    skipped = Maintenance(start=datetime(2026, 3, 29, 2, 30), end=datetime(2026, 3, 29, 4), reason="x")  # noqa: DTZ001 - the case
    change = datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
    assert skipped.span("Europe/Berlin") == (change, datetime(2026, 3, 29, 2, 0, tzinfo=UTC))


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
@pytest.mark.parametrize("offsets", [("", ""), ("+14:00", "-14:00")])
def test_maintenance_without_an_end_is_one_to_the_last_moment(zone: str, offsets: tuple[str, str]) -> None:
    """The year 9999 is no bug where that is the year 10000 in UTC."""
    start, end = (
        datetime.fromisoformat(text) for text in ("0001-01-01T00:00" + offsets[0], "9999-12-31T23:59" + offsets[1])
    )
    first, last = Maintenance(start=start, end=end, reason="x").span(zone)
    assert first < datetime(2, 1, 1, tzinfo=UTC) < datetime(9999, 1, 1, tzinfo=UTC) < last


def test_a_table_belongs_to_its_owner_or_its_domains() -> None:
    """The owner of a table is its own, else its domain's, else none."""
    tables = (
        Table(name="a", source="s", domain="sales", owner="desk"),
        Table(name="b", source="s", domain="sales"),
        Table(name="c", source="s"),
    )
    config = Config(
        version=1,
        project="p",
        sources={"s": Source(files="x")},
        domains={"sales": Domain(owner="crew")},
        owners={"crew": Owner(), "desk": Owner()},
        tables=tables,
    )
    assert [config.owner_of(table) for table in config.tables] == ["desk", "crew", None]
    assert config.table("b") is tables[1]
    assert config.table("z") is None


def test_numbers_that_are_none_are_refused() -> None:
    """Infinity is no limit."""
    with pytest.raises(ValidationError):
        Release.model_validate({"table": "t", "limits": {"k": float("inf")}})


@pytest.mark.parametrize(
    ("alerts", "check", "policy"),
    [
        ({}, {}, Policy()),
        ({"open_after": 3, "resolve_after": 4}, {}, Policy(3, 4)),
        ({"open_after": 3, "severities": {"error": {"resolve_after": 1}}}, {}, Policy(3, 1)),
        ({"open_after": 3, "severities": {"critical": {"open_after": 1}}}, {}, Policy(3)),
        ({"open_after": 3, "severities": {"error": {"open_after": 2}}}, {"open_after": 5}, Policy(5)),
        ({"open_after": 3}, {"confirm": {"after": "5m"}}, Policy(confirm_after=timedelta(minutes=5))),
        ({"confirm": {"after": "5m"}}, {"open_after": 1}, Policy()),
        ({"confirm": {"after": "5m"}}, {"resolve_after": 1}, Policy(1, 1, confirm_after=timedelta(minutes=5))),
        ({"confirm": {"after": "5m"}, "severities": {"error": {"open_after": 2}}}, {}, Policy(2)),
        ({"open_on": "warn"}, {}, Policy(warn_opens=True)),
        ({"open_on": "warn", "severities": {"error": {"open_on": "fail"}}}, {"open_after": 2}, Policy(2)),
    ],
)
def test_the_nearest_rule_decides_when_an_incident_opens_and_resolves(alerts, check, policy):
    """A check's rules go before those of its severity, and these before the project's, each end for itself."""
    made = load_catalog()["not_null"].model_validate({"type": "not_null", "columns": ["id"], **check})
    assert policy_of(made, Alerts.model_validate(alerts)) == policy


@pytest.mark.parametrize("section", [Alerts, LifecycleRules, load_catalog()["not_null"]])
def test_fails_are_counted_or_confirmed(section):
    """Both in one place are refused, with what to do."""
    rules = {"open_after": 2, "confirm": {"after": "5m"}}
    more = {} if section in (Alerts, LifecycleRules) else {"type": "not_null", "columns": ["id"]}
    with pytest.raises(ValidationError, match="either 'confirm' or 'open_after: 2' decides"):
        section.model_validate({**rules, **more})
