"""What a data contract becomes: checks that ask the same, and a list of what is not taken."""

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from checks import load_catalog
from checks.parameters.regex import portable
from monitor.config import load
from monitor.config.project import Project
from monitor.integrations.odcs import propose_contract
from monitor.integrations.odcs_columns import strptime_format
from monitor.integrations.odcs_document import UnreadableContract, length_of
from monitor.integrations.odcs_quality import Limit, NotExpressible, Relation, checks_of_rule
from tests.monitor.integrations.contracts import CONTRACT, write_contract

ORDERS = Relation("duckdb", "orders")
HEAD = "apiVersion: v3.1.0\nkind: DataContract\n"
SERVER = "servers: [{server: s, type: local, path: orders.csv, format: csv}]\n"


def _proposed(path: Path) -> Any:
    return yaml.safe_load(propose_contract(path, None).text)


def _table(folder: Path, schema: str) -> Any:
    return _proposed(write_contract(folder, f"{HEAD}{SERVER}schema:\n{schema}"))["tables"][0]


def _project(path: Path, text: str) -> Project:
    config = path.parent / "tablewatch.yaml"
    config.write_text(text, encoding="utf-8")
    return Project(load(config))


def test_a_contract_becomes_a_whole_configuration(tmp_path: Path) -> None:
    """Source, owner, domain and a check for each demand of schema, quality and age; it can be loaded as it is."""
    path = write_contract(tmp_path)
    proposal = propose_contract(path, None)
    config = yaml.safe_load(proposal.text)
    assert config["sources"] == {
        "files-orders": {
            "files": "orders.csv",
            "table": "orders",
            "timezone": "UTC",
            "csv": {"delimiter": ",", "types": {"status": "VARCHAR", "customer": "VARCHAR"}},
        }
    }
    assert config["owners"] == {"order-team": {"name": "Order team"}}
    (table,) = config["tables"]
    assert (table["name"], table["owner"], table["domain"]) == ("orders", "order-team", "sales")
    checks = {check["id"]: check for check in table["checks"]}
    assert checks["known-status"] == {
        "type": "accepted_values",
        "column": "status",
        "values": ["open", "paid"],
        "id": "known-status",
        "severity": "warning",
    }
    assert checks["mean-amount"]["why"] == "Orders are neither free nor huge."
    assert checks["schema"]["columns"]["order_id"] == "int"
    assert checks["freshness-placed-at"]["max_age"] == "2d"
    assert config["contracts"] == {
        "shop-orders": {"tables": ["orders"], "time_to_detect": "36h", "time_to_repair": "8h", "availability": 0.995}
    }
    assert len(_project(path, proposal.text).config.tables[0].checks) == proposal.checks == len(checks)


def test_what_is_not_taken_is_named_with_its_line(tmp_path: Path) -> None:
    """A rule that no check asks is never dropped in silence."""
    not_taken = propose_contract(write_contract(tmp_path), None).not_taken
    lines = CONTRACT.splitlines()
    named = {item.name.partition(": ")[2] for item in not_taken}
    assert named == {
        "servers[cloud]",
        "schema[orders].properties[customer].logicalTypeOptions.format",
        "schema[orders].properties[amount].quality[1]",
        "schema[orders].properties[amount].quality[2]",
        "schema[orders].quality[2]",
        "slaProperties[timeOfAvailability]",
        "slaProperties[endOfSupport]",
    }
    assert "09:00-08:00" in next(item.reason for item in not_taken if "timeOf" in item.name)
    by_name = {item.name.partition(": ")[2]: item.name for item in not_taken}
    number = int(by_name["schema[orders].quality[2]"].split()[1].rstrip(":"))
    assert "engine: soda" in lines[number - 1]


def test_a_second_import_changes_nothing(tmp_path: Path) -> None:
    """With the configuration that the first one printed, nothing is new."""
    path = write_contract(tmp_path)
    project = _project(path, propose_contract(path, None).text)
    again = propose_contract(path, project)
    assert (again.tables, again.checks) == (0, 0)
    assert again.text == "# everything that can be taken of the contract is configured\n"


def test_only_what_is_new_is_printed(tmp_path: Path) -> None:
    """A check that a configured table has under another name is the same; the missing ones are comments to copy."""
    path = write_contract(tmp_path)
    text = propose_contract(path, None).text
    lines = [line for line in text.splitlines() if "id: mean-amount" not in line]
    again = propose_contract(path, _project(path, "\n".join(lines).replace("id: known-status", "id: other")))
    assert again.checks == 1
    assert "# add to the checks of table orders:\n#   - {type: sql" in again.text


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"metric": "strange"}, "its metric is none of nullValues"),
        ({"rule": "strange"}, "its rule, which is called metric since ODCS 3.1, is none of nullValues"),
        ({"rule": "duplicateCount"}, "rowCount; write metric: duplicateValues"),
        ({"rule": "validValues"}, "write metric: invalidValues, with arguments.validValues"),
    ],
)
def test_a_rule_of_odcs_3_0_names_the_key_of_today(rule: dict[str, Any], said: str) -> None:
    """What is not taken is named by the word in the contract, with the new one."""
    with pytest.raises(NotExpressible, match=re.escape(said)):
        checks_of_rule({**rule, "mustBe": 0}, "a", ORDERS)


@pytest.mark.parametrize(
    ("rule", "column", "expected"),
    [
        ({"metric": "nullValues", "mustBe": 0}, "a", {"type": "not_null", "columns": ["a"]}),
        ({"metric": "nullValues", "mustBeLessThan": 1}, "a", {"type": "not_null", "columns": ["a"]}),
        (
            {"metric": "nullValues", "mustBeLessOrEqualTo": 5, "unit": "percent"},
            "a",
            {"type": "not_null", "columns": ["a"], "max_ratio": 0.05},
        ),
        (
            {"metric": "nullValues", "mustBeLessThan": 10},
            "a",
            {"type": "sql", "query": 'SELECT 1 AS bad FROM "orders" WHERE "a" IS NULL', "max": 9},
        ),
        (
            {"metric": "missingValues", "mustBe": 0, "arguments": {"missingValues": [None, "it's"]}},
            "a",
            {"type": "sql", "query": """SELECT 1 AS bad FROM "orders" WHERE "a" IS NULL OR "a" IN ('it''s')"""},
        ),
        ({"metric": "duplicateValues", "mustBe": 0}, "a", {"type": "unique", "columns": ["a"]}),
        (
            {"metric": "duplicateValues", "mustBeLessThan": 1, "arguments": {"properties": ["a", "b"]}},
            None,
            {"type": "unique", "columns": ["a", "b"]},
        ),
        (
            {"metric": "invalidValues", "mustBe": 0, "arguments": {"pattern": "^a+$"}},
            "a",
            {"type": "pattern", "column": "a", "pattern": "^a+$"},
        ),
        ({"metric": "rowCount", "mustBeBetween": [1, 9]}, None, {"type": "volume", "min": 1, "max": 9}),
        ({"rule": "rowCount", "mustBe": 3}, None, {"type": "volume", "min": 3, "max": 3}),
    ],
)
def test_a_rule_is_the_check_that_asks_the_same(rule: Any, column: str | None, expected: dict[str, Any]) -> None:
    """The standard's metrics with a limit become our checks, counts above 0 a `sql` check that counts."""
    (check,) = checks_of_rule(rule, column, ORDERS)
    assert check == expected


@pytest.mark.parametrize(
    ("rule", "column"),
    [
        ({"metric": "nullValues"}, "a"),
        ({"metric": "nullValues", "mustBe": 0, "mustNotBe": 1}, "a"),
        ({"metric": "nullValues", "mustBe": 0}, None),
        ({"metric": "madeUp", "mustBe": 0}, "a"),
        ({"metric": "duplicateValues", "mustBeLessThan": 5}, "a"),
        ({"metric": "invalidValues", "mustBe": 0, "arguments": {"validValues": [1], "maximum": 3}}, "a"),
        ({"metric": "invalidValues", "mustBe": 0}, "a"),
        ({"metric": "rowCount", "mustBeBetween": [1]}, None),
        ({"metric": "rowCount", "mustBeLessThan": "many"}, None),
        ({"type": "sql", "mustBe": 0}, None),
        ({"type": "sql", "query": "SELECT 1", "mustBe": {}}, None),
        ({"type": "sql", "query": "SELECT count(*) FROM ${dataset}", "mustBe": 0}, None),
        ({"type": "sql", "query": "SELECT max(${property}) FROM ${object}", "mustBe": 0}, None),
        ({"type": "text"}, None),
        ({"type": "custom", "engine": "soda"}, None),
        ({"type": "other"}, None),
    ],
)
def test_a_rule_that_no_check_asks_is_refused(rule: Any, column: str | None) -> None:
    """Half of a rule is no rule."""
    with pytest.raises(NotExpressible):
        checks_of_rule(rule, column, ORDERS)


_HOLDS: dict[str, Any] = {
    "mustBe": lambda n, a, _b: n == a,
    "mustBeGreaterThan": lambda n, a, _b: n > a,
    "mustBeGreaterOrEqualTo": lambda n, a, _b: n >= a,
    "mustBeLessThan": lambda n, a, _b: n < a,
    "mustBeLessOrEqualTo": lambda n, a, _b: n <= a,
    "mustBeBetween": lambda n, a, b: a <= n <= b,
}
_NUMBERS = st.integers(-3, 12) | st.sampled_from([0.5, 1.5, 7.25, -0.5])


@given(st.sampled_from(sorted(_HOLDS)), _NUMBERS, _NUMBERS, st.integers(0, 12))
def test_the_bounds_of_a_limit_hold_for_the_counts_that_the_operator_holds_for(
    operator: str, low: float, high: float, count: int
) -> None:
    """For every count, the interval and the operator agree."""
    value = [low, high] if operator == "mustBeBetween" else low
    bounds = Limit.of({operator: value}).bounds
    assert bounds is not None
    inside = (bounds[0] is None or count >= bounds[0]) and (bounds[1] is None or count <= bounds[1])
    assert inside is _HOLDS[operator](count, low, high)


@given(st.sampled_from([*sorted(_HOLDS), "mustNotBe", "mustNotBeBetween"]), _NUMBERS, _NUMBERS, st.integers(0, 5))
def test_a_query_that_a_limit_makes_has_a_row_where_it_is_broken(
    operator: str, low: float, high: float, count: int
) -> None:
    """The generated SQL, run by an engine, agrees with the operator; without a value the limit is broken."""
    value = [low, high] if operator.endswith("Between") else low
    limit = Limit.of({operator: value})
    positive = operator.replace("mustNotBe", "mustBe")
    holds = _HOLDS[positive](count, low, high) is not operator.startswith("mustNot")
    relation = Relation("sqlite", "t")
    with sqlite3.connect(":memory:") as connection:
        assert bool(connection.execute(limit.broken(f"SELECT {count}", relation)).fetchall()) is not holds
        assert connection.execute(limit.broken("SELECT NULL", relation)).fetchall() == [(1,)]
        assert connection.execute(limit.broken("SELECT 1 WHERE 1 = 0", relation)).fetchall() == [(1,)]
    connection.close()


def test_every_proposed_check_is_one() -> None:
    """What a rule becomes can be built, whatever its names hold."""
    relation = Relation("duckdb", 's."t"')
    (check,) = checks_of_rule({"metric": "nullValues", "mustNotBe": 3}, 'x"y', relation)
    built = load_catalog()["sql"].model_validate(check)  # type: ignore[attr-defined]  # a pydantic model
    assert built.sql_errors("duckdb") == {}


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("logicalTypeOptions: {minimum: 1, maximum: 3}", {"type": "range", "column": "a", "min": 1, "max": 3}),
        (
            "logicalTypeOptions: {exclusiveMinimum: 1}",
            {"type": "range", "column": "a", "min": 1, "exclusive_min": True},
        ),
        ("enum: [{value: x}, {value: y}]", {"type": "accepted_values", "column": "a", "values": ["x", "y"]}),
        ("logicalTypeOptions: {pattern: '^x'}", {"type": "pattern", "column": "a", "pattern": "^x"}),
        (
            "logicalType: string, logicalTypeOptions: {format: uuid}",
            {"type": "pattern", "column": "a", "pattern": "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"},
        ),
        (
            "logicalType: integer, logicalTypeOptions: {format: u8}",
            {"type": "range", "column": "a", "min": 0, "max": 255},
        ),
        (
            "logicalType: integer, logicalTypeOptions: {format: i64}",
            {"type": "range", "column": "a", "min": -(2**63), "max": 2**63 - 1},
        ),
        (
            "logicalType: integer, logicalTypeOptions: {multipleOf: 5}",
            {"type": "sql", "query": 'SELECT 1 AS bad FROM "t" WHERE "a" % 5 <> 0'},
        ),
        ("unique: true", {"type": "unique", "columns": ["a"]}),
        ("relationships: [{to: u.b}]", {"type": "foreign_key", "column": "a", "references": "u.b"}),
    ],
)
def test_what_a_column_demands_is_a_check(tmp_path: Path, column: str, expected: dict[str, Any]) -> None:
    """Limits, lists, patterns, keys and references of a column are checks of it."""
    table = _table(tmp_path, f"  - name: t\n    properties:\n      - {{name: a, {column}}}\n")
    asked = [{key: value for key, value in check.items() if key != "id"} for check in table["checks"]]
    assert expected in asked


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("email", "a.b@example.org", "example.org"),
        ("uuid", "01234567-89ab-cdef-0123-456789abcdef", "0123"),
        ("uri", "https://example.org/a?b=c", "example"),
        ("hostname", "a.example.org", "a b"),
        ("ipv4", "192.168.0.255", "192.168.0.256"),
        ("ipv6", "2001:db8::1", "2001:db8::x"),
    ],
)
def test_a_format_of_texts_is_a_pattern(tmp_path: Path, kind: str, good: str, bad: str) -> None:
    """What has the format matches, what has not does not."""
    column = f"{{name: a, logicalType: string, logicalTypeOptions: {{format: {kind}}}}}"
    table = _table(tmp_path, f"  - name: t\n    properties: [{column}]\n")
    (pattern,) = [check["pattern"] for check in table["checks"] if check["id"] == "format-a"]
    assert re.search(portable(pattern), good)
    assert not re.search(portable(pattern), bad)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("dd/MM/yyyy", "%d/%m/%Y"),
        ("yyyyMMdd", "%Y%m%d"),
        ("dd.MM.yy HH:mm:ss", "%d.%m.%y %H:%M:%S"),
        ("yyyy-MM-dd'T'HH:mm", "%Y-%m-%dT%H:%M"),
        ("dd MMM yyyy", None),
        ("yyyy 'of", None),
        ("yyyy%", None),
    ],
)
def test_formats_of_dates_are_those_of_the_source(wanted: str, expected: str | None) -> None:
    """A letter whose meaning has no other form there is not read as another."""
    assert strptime_format(wanted) == expected


def test_how_dates_are_written_is_a_setting_of_the_file(tmp_path: Path) -> None:
    """Where all columns of dates are written alike; else the format is named, and so is one of a database."""
    columns = "{name: a, logicalType: date, logicalTypeOptions: {format: dd/MM/yyyy}}"
    iso = "{name: b, logicalType: date, logicalTypeOptions: {format: yyyy-MM-dd}}"
    day = "{name: c, logicalType: timestamp, logicalTypeOptions: {format: 'dd.MM.yyyy HH:mm'}}"
    duckdb = "servers: [{server: s, type: duckdb, database: shop.duckdb}]\n"
    for server, properties, formats, refused in (
        (SERVER, [columns, day], {"date_format": "%d/%m/%Y", "timestamp_format": "%d.%m.%Y %H:%M"}, 0),
        (SERVER, [columns, iso], None, 1),
        (SERVER, [columns, "{name: b, logicalType: date}"], None, 1),
        (duckdb, [columns, iso], None, 1),
    ):
        text = f"{HEAD}{server}schema: [{{name: t, properties: [{', '.join(properties)}]}}]\n"
        path = write_contract(tmp_path, text)
        assert len(propose_contract(path, None).not_taken) == refused, properties
        assert next(iter(_proposed(path)["sources"].values())).get("csv") == formats


@pytest.mark.parametrize(
    ("value", "by"),
    [("09:00-08:00", "17:00"), ("23:30+05:30", "18:00"), ("08:00Z", "08:00"), ("08:00:00+00:00", "08:00")],
)
def test_a_time_of_availability_is_when_rows_are_due(tmp_path: Path, value: str, by: str) -> None:
    """At that time of every day, by its own offset, there is a row of the last day."""
    levels = f'slaProperties: [{{property: TimeOfAvailability, value: "{value}", element: a}}]\n'
    schema = "schema: [{name: t, properties: [{name: a, logicalType: timestamp}]}]\n"
    path = write_contract(tmp_path, HEAD + SERVER + schema + levels)
    assert propose_contract(path, None).not_taken == []
    due = next(check for check in _proposed(path)["tables"][0]["checks"] if check["type"] == "freshness")
    assert due == {
        "type": "freshness",
        "column": "a",
        "max_age": "1d",
        "expected": {"by": by, "timezone": "UTC"},
        "id": "available-a",
    }


@pytest.mark.parametrize("value", ["09:00", "9-8", "25:00Z", "09:00+25:00", "soon", ""])
def test_a_time_of_availability_that_is_none_is_named(tmp_path: Path, value: str) -> None:
    """Nor is one without an offset read as one of some zone."""
    levels = f'slaProperties: [{{property: timeOfAvailability, value: "{value}", element: t.a}}]\n'
    path = write_contract(tmp_path, HEAD + SERVER + "schema: [{name: t, properties: [{name: a}]}]\n" + levels)
    (item,) = propose_contract(path, None).not_taken
    assert "09:00-08:00" in item.reason


def test_levels_have_synonyms_and_columns_a_zone(tmp_path: Path) -> None:
    """The short names of the standard are read, a column alone where there is one table, and its default zone."""
    levels = (
        "[{property: LY, value: 4, unit: h, element: a}, {property: td, value: 1, unit: h}, {property: AV, value: 99}]"
    )
    options = "logicalType: timestamp, logicalTypeOptions: {defaultTimezone: Asia/Tokyo}"
    schema = f"schema: [{{name: t, properties: [{{name: a, {options}}}]}}]\nslaProperties: {levels}\n"
    path = write_contract(tmp_path, HEAD + SERVER + schema)
    assert propose_contract(path, None).not_taken == []
    config = _proposed(path)
    (contract,) = config["contracts"].values()
    assert contract == {"tables": ["t"], "time_to_detect": "1h", "availability": 0.99}
    (age,) = [check for check in config["tables"][0]["checks"] if check["type"] == "freshness"]
    assert (age["column"], age["max_age"], age["timezone"]) == ("a", "4h", "Asia/Tokyo")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: 1\n", "contract.not_contract"),
        ("- 1\n", "contract.not_contract"),
        ("kind: DataContract\napiVersion: v2.2.0\n", "contract.version"),
        ("kind: DataContract\n", "contract.version"),
        (f"{HEAD}schema: [{{name: t}}]\n", "contract.no_source"),
        ("a: [\n", "config.syntax"),
        ("", "config.empty"),
        (f"{HEAD}kind: DataContract\n", "config.duplicate_key"),
    ],
)
def test_what_is_no_contract_is_refused(tmp_path: Path, text: str, code: str) -> None:
    """The problem says what was expected."""
    with pytest.raises(UnreadableContract) as error:
        propose_contract(write_contract(tmp_path, text), None)
    assert error.value.problem.code == code


@pytest.mark.parametrize(
    "schema",
    ["  - 3\n", "  - {properties: 4}\n", "  - {name: t, properties: [5, {logicalType: 6}]}\n", "  {a: 1}\n"],
)
def test_parts_of_another_shape_are_named(tmp_path: Path, schema: str) -> None:
    """A list where a mapping was expected is not taken, and nothing breaks."""
    assert propose_contract(write_contract(tmp_path, f"{HEAD}{SERVER}schema:\n{schema}"), None).not_taken


@pytest.mark.parametrize(
    ("value", "unit", "seconds"),
    [(2, "d", 172_800), ("90", "min", 5400), ("PT4H30M", None, 16_200), ("P1D", "x", 86_400), (1.5, "h", 5400)],
)
def test_a_length_of_time_has_a_unit(value: Any, unit: str | None, seconds: int) -> None:
    """Numbers with units and ISO 8601 are read."""
    length = length_of(value, unit)
    assert length is not None
    assert length.total_seconds() == seconds


@pytest.mark.parametrize(
    ("value", "unit"), [("soon", "d"), (0, "d"), (-1, "d"), (1, "fortnight"), (True, "d"), ("nan", "d"), (1e9, "y")]
)
def test_what_is_no_length_of_time_is_none(value: Any, unit: str) -> None:
    """Words, nothing, the past and eternity are no lengths."""
    assert length_of(value, unit) is None


def test_a_promise_about_some_tables_is_a_contract_of_its_own(tmp_path: Path) -> None:
    """A level with an element holds for its tables only; a second value, or one that is none, is named."""
    schema = "schema: [{name: t, properties: [{name: a}]}, {name: u, properties: [{name: a}]}]\n"
    levels = [
        "{property: timeToDetect, value: 1, unit: h}",
        "{property: timeToDetect, value: 2, unit: h}",
        "{property: timeToRepair, value: 1, element: u.a}",
        "{property: availability, value: often}",
        "{property: downtime, value: 2h}",
        "{property: availability, value: '99.9%', element: nowhere}",
    ]
    text = f"{HEAD}id: c\n{SERVER}{schema}slaProperties: [{', '.join(levels)}]\n"
    proposal = propose_contract(write_contract(tmp_path, text), None)
    assert yaml.safe_load(proposal.text)["contracts"] == {
        "c": {"tables": ["t", "u"], "time_to_detect": "1h"},
        "c-u": {"tables": ["u"], "time_to_repair": "1d"},
    }
    assert len(proposal.not_taken) == 4


def test_promises_that_changed_are_pointed_out(tmp_path: Path) -> None:
    """The configuration has the contract with other numbers: the new ones are printed as a comment."""
    path = write_contract(tmp_path)
    project = _project(path, propose_contract(path, None).text.replace("time_to_repair: 8h", "time_to_repair: 9h"))
    assert "# contract shop-orders has other service levels in the file:" in propose_contract(path, project).text


@pytest.mark.parametrize(
    ("server", "url"),
    [
        ("{server: s, type: duckdb, database: shop.duckdb, schema: main}", "duckdb:///shop.duckdb"),
        (
            "{server: s, type: postgres, host: db, port: 5433, database: shop, schema: public}",
            "postgresql://${POSTGRES_USER}:${POSTGRES_PASSWORD}@db:5433/shop",
        ),
    ],
)
def test_a_server_is_a_source(tmp_path: Path, server: str, url: str) -> None:
    """DuckDB files and PostgreSQL are sources; a password is never written, only where it comes from."""
    text = f"{HEAD}servers: [{server}]\nschema: [{{name: t, properties: [{{name: a}}]}}]\n"
    config = _proposed(write_contract(tmp_path, text))
    assert config["sources"] == {"s": {"url": url, "timezone": "UTC"}}
