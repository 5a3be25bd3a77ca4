"""Tables as a contract: what is written comes back as the same checks, what has no words is named."""

from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.config import Contract, load
from monitor.config.project import Project
from monitor.config.promised import promised_contracts
from monitor.integrations.odcs import propose_contract
from monitor.integrations.odcs_export import ExportedContract, contract_of
from tests.monitor.integrations.contracts import write_contract

CONFIG = """\
version: 1
project: shop
sources: {lake: {files: "*.csv"}}
domains: {sales: {owner: crew}}
owners: {crew: {}}
tables:
  - name: orders
    source: lake
    domain: sales
    description: One row for each order
    checks:
CHECKS
  - {name: refunds, source: lake}
contracts:
  board: {tables: [orders], time_to_detect: 90m, time_to_notify: 45s, availability: 0.995}
  both: {tables: [orders, refunds], time_to_repair: 2d}
"""
BOTH_KNOW = [
    "{type: schema, columns: {id: int, status: string, amount: number, at: timestamp}, extra: allow}",
    "{type: not_null, columns: [status, amount]}",
    "{type: not_null, id: few, columns: [at], max_ratio: 0.015}",
    "{type: unique, columns: [status]}",
    "{type: unique, id: pairs, columns: [status, amount]}",
    "{type: primary_key, columns: [id]}",
    "{type: accepted_values, column: status, values: [open, 3, paid], severity: critical, why: The board counts them.}",
    "{type: accepted_values, id: most, column: amount, values: [1, 2], max_ratio: 0.1}",
    "{type: pattern, column: status, pattern: '^[a-z]+$'}",
    "{type: range, column: amount, min: 0, max: 10.5, exclusive_max: true}",
    "{type: foreign_key, column: id, references: refunds.id}",
    "{type: volume, min: 3}",
    "{type: volume, id: bounds, min: 3, max: 9}",
    "{type: volume, id: at-most, max: 9}",
    "{type: sql, query: 'SELECT id FROM orders WHERE amount < 0;', max: 2}",
    "{type: freshness, column: at, max_age: 90m}",
    "{type: freshness, id: by-nine, column: at, max_age: 1d, expected: {by: '09:00', timezone: UTC}}",
]
ZONES = ("Asia/Tokyo", "Europe/London")
OURS_ALONE = [
    "{type: not_null, columns: [id], where: id > 1}",
    "{type: schema}",
    "{type: schema, columns: [id]}",
    "{type: unique, columns: [id], nulls: equal}",
    "{type: accepted_values, column: id, values: [1], allow_null: false}",
    "{type: range, column: at, min: '2026-01-01'}",
    "{type: range, column: id, min: 1, max_ratio: 0.5}",
    "{type: foreign_key, columns: [id], references: [refunds.id]}",
    "{type: volume, min_ratio: 0.5}",
    "{type: volume, limits: {learned: {false_alarms: 1 per 90d}}}",
    "{type: freshness, column: at, max_age: 1h, expected: {days: mon-fri}}",
    "{type: freshness, column: at, max_age: 2d, expected: {by: '09:00', timezone: UTC}}",
    "{type: freshness, column: at, max_age: 1d, expected: {by: '09:00', timezone: Asia/Tokyo}}",
    "{type: freshness, column: at, max_age: 1d, expected: {timezone: UTC}}",
    "{type: metric, aggregate: sum, column: amount, max: 5}",
    "{type: sql, query: \"SELECT id FROM orders WHERE status = '{x}'\"}",
]


def _project(folder: Path, checks: list[str]) -> Project:
    lines = "\n".join(f"      - {check}" for check in checks)
    path = folder / "tablewatch.yaml"
    path.write_text(CONFIG.replace("CHECKS", lines), encoding="utf-8")
    return Project(load(path))


def _exported(project: Project, *names: str) -> ExportedContract:
    tables = [table for table in project.config.tables if table.name in (names or ("orders",))]
    return contract_of(project.config, tables, {"orders": {"id": "!int64", "extra": "json"}}, {"lake": "duckdb"})


def test_what_both_know_comes_back_as_it_was(tmp_path: Path) -> None:
    """Import of an export finds nothing new: every check asks the same, every promise is the same."""
    project = _project(tmp_path, BOTH_KNOW)
    exported = _exported(project)
    assert exported.left_out == []
    path = write_contract(tmp_path, yaml.safe_dump(exported.document, sort_keys=False))
    again = propose_contract(path, project)
    new = [line for line in again.text.splitlines() if "type: schema" not in line]
    assert new == ["# add to the checks of table orders:"], again.text  # its columns have one more, of the source
    assert not [item for item in again.not_taken if "servers" not in item.name], again.not_taken


def test_the_zone_of_a_column_comes_back(tmp_path: Path) -> None:
    """One zone for each column; a second one is named."""
    checks = [f"{{type: freshness, id: {zone[:3]}, column: at, max_age: 1h, timezone: {zone}}}" for zone in ZONES]
    project = _project(tmp_path, checks[:1])
    path = write_contract(tmp_path, yaml.safe_dump(_exported(project).document, sort_keys=False))
    assert "freshness" not in propose_contract(path, project).text
    assert [item.name for item in _exported(_project(tmp_path, checks)).left_out] == ["orders.Eur"]


def test_what_the_standard_has_no_words_for_is_named(tmp_path: Path) -> None:
    """Half of a check is never written as if it were the whole, and nothing is dropped in silence."""
    for number, check in enumerate(OURS_ALONE):
        exported = _exported(_project(tmp_path, [f"{check[:-1]}, id: c{number}}}"]))
        assert [item.name for item in exported.left_out] == [f"orders.c{number}"], check


def test_a_contract_holds_what_its_readers_need(tmp_path: Path) -> None:
    """Owner, domain, types of the source, severity and reason of each rule, and the promises about these tables."""
    document = _exported(_project(tmp_path, BOTH_KNOW)).document
    assert (document["domain"], document["team"], document["id"]) == ("sales", {"name": "crew"}, "shop.orders")
    (schema,) = document["schema"]
    columns = {column["name"]: column for column in schema["properties"]}
    assert columns["id"]["logicalType"] == "integer"
    assert "logicalType" not in columns["extra"]
    (listed, _) = columns["status"]["quality"]
    assert (listed["severity"], listed["description"]) == ("critical", "The board counts them.")
    assert document["slaProperties"] == [
        {"property": "freshness", "value": 90, "unit": "m", "element": "orders.at"},
        {"property": "timeOfAvailability", "value": "09:00+00:00", "element": "orders.at"},
        {"property": "timeToDetect", "value": 90, "unit": "m"},
        {"property": "timeToNotify", "value": "PT45S", "unit": "s"},
        {"property": "availability", "value": 99.5, "unit": "percent"},
    ]


def test_promises_about_some_of_the_tables_name_them(tmp_path: Path) -> None:
    """With both tables, a level about one has it as its element."""
    levels = _exported(_project(tmp_path, BOTH_KNOW), "orders", "refunds").document["slaProperties"]
    by_name = {level["property"]: level.get("element") for level in levels[2:]}
    expected = dict.fromkeys(("timeToDetect", "timeToNotify", "availability"), "orders")
    assert by_name == {**expected, "timeToRepair": None}


_LENGTHS = st.builds(lambda n, unit: f"{n}{unit}", st.integers(1, 60), st.sampled_from("mhd"))


@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_LENGTHS, st.integers(61, 90), st.one_of(st.none(), _LENGTHS), st.booleans())
def test_what_is_promised_comes_back_as_it_was(
    tmp_path: Path, allowed: str, days: int, ttr: str | None, of_table: bool
) -> None:
    """Error budgets and times of `slo` and of `contracts` are the same promises after an export and an import."""
    promised = {"downtime": f"{allowed} per {days}d", "ttr" if of_table else "time_to_repair": ttr}
    entry = {key: value for key, value in promised.items() if value is not None}
    tables = [{"name": "orders", "source": "lake"}]
    words = {"slo": {"ord*": entry}} if of_table else {"contracts": {"board": {"tables": ["orders"], **entry}}}
    config = {"version": 1, "project": "p", "sources": {"lake": {"files": "*.csv"}}, "tables": tables, **words}
    bare = {key: value for key, value in config.items() if key not in words}
    (tmp_path / "bare.yaml").write_text(yaml.safe_dump(bare), encoding="utf-8")
    (tmp_path / "tablewatch.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    project, elsewhere = (Project(load(tmp_path / name)) for name in ("tablewatch.yaml", "bare.yaml"))
    (before,) = promised_contracts(project.config)
    path = write_contract(tmp_path, yaml.safe_dump(_exported(project).document, sort_keys=False))
    (after,) = yaml.safe_load(propose_contract(path, elsewhere).text)["contracts"].values()
    assert Contract.model_validate(after) == before.contract
    assert "contracts:" not in propose_contract(path, project).text  # it is promised there already


@pytest.mark.parametrize("kind", ["int64", "decimal(10, 2)", "timestamp('UTC')", "array<string>", "!string"])
def test_types_of_the_source_have_words(tmp_path: Path, kind: str) -> None:
    """Whatever the size or zone of a type, its family has a word in the standard."""
    project = _project(tmp_path, ["{type: volume, min: 1}"])
    (schema,) = contract_of(
        project.config, [project.config.tables[0]], {"orders": {"a": kind}}, {"lake": "duckdb"}
    ).document["schema"]
    words = {"int64": "integer", "decimal(10, 2)": "number", "array<string>": "array", "!string": "string"}
    assert schema["properties"] == [{"name": "a", "logicalType": words.get(kind, "timestamp")}]
