"""Against datacontract-cli: it accepts our contracts, and on what both execute it passes and fails the same rules."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.monitor.commands.terminal import Terminal
from tests.monitor.integrations.contracts import write_contract
from tests.needs import peer_program

CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: orders
version: 1.0.0
status: active
servers: [{server: files, type: local, path: orders.csv, format: csv}]
schema:
  - name: orders
    properties:
      - {name: order_id, logicalType: integer, required: true, unique: true}
      - name: status
        logicalType: string
        quality:
          - {id: known-status, metric: invalidValues, mustBe: 0, arguments: {validValues: [open, paid]}}
          - {id: some-status, metric: nullValues, mustBeLessOrEqualTo: 40, unit: percent}
      - name: customer
        logicalType: string
        quality:
          - {id: named, metric: missingValues, mustBeLessThan: 2, arguments: {missingValues: ["N/A"]}}
          - {id: letters, metric: invalidValues, mustBe: 0, arguments: {pattern: "^[a-z]+$"}}
          - {id: once, metric: duplicateValues, mustBe: 0}
      - name: amount
        logicalType: number
        logicalTypeOptions: {minimum: 0, maximum: 100}
        quality:
          - {id: mean, type: sql, query: "SELECT avg(${property}) FROM ${object}", mustBeBetween: [5, 50]}
      - {name: placed_at, logicalType: timestamp, logicalTypeOptions: {defaultTimezone: UTC}}
    quality:
      - {id: rows, metric: rowCount, mustBeBetween: [3, 4]}
slaProperties:
  - {property: freshness, value: 30000, unit: d, element: orders.placed_at}
  - {property: retention, value: 30000, unit: d, element: orders.placed_at}
"""
HEADER = "order_id,status,customer,amount,placed_at\n"
AT = "2026-11-01 08:00:00"
GOOD = "1,open,ann,10\n2,paid,bob,20\n3,,cyd,30\n"
CASES = {
    "good": GOOD,
    "duplicate key": "1,open,ann,10\n1,paid,bob,20\n3,,cyd,30\n",
    "no key": ",open,ann,10\n2,paid,bob,20\n3,,cyd,30\n",
    "strange status": "1,lost,ann,10\n2,paid,bob,20\n3,,cyd,30\n",
    "no status": "1,,ann,10\n2,,bob,20\n3,,cyd,30\n",
    "missing names": "1,open,N/A,10\n2,paid,,20\n3,,cyd,30\n",
    "odd name": "1,open,Ann,10\n2,paid,bob,20\n3,,cyd,30\n",
    "name twice": "1,open,ann,10\n2,paid,ann,20\n3,,cyd,30\n",
    "amount too large": "1,open,ann,10\n2,paid,bob,101\n3,,cyd,30\n",
    "mean too small": "1,open,ann,1\n2,paid,bob,1\n3,,cyd,1\n",
    "too few rows": "1,open,ann,10\n2,paid,bob,20\n",
    "too many rows": GOOD + "4,open,dan,10\n5,open,eve,10\n",
}
CASES = {case: "".join(f"{row},{AT}\n" for row in rows.splitlines()) for case, rows in CASES.items()}
CASES["no new row"] = CASES["good"].replace(AT, "1925-11-01 08:00:00")
CASES["an old row"] = CASES["good"].replace(AT, "1925-11-01 08:00:00", 1)
RULES = {"known-status", "some-status", "named", "letters", "once", "mean", "rows"}
SAME = {
    "field_required order_id": "not-null-order-id",
    "field_unique order_id": "unique-order-id",
    "field_minimum amount": "range-amount",
    "field_maximum amount": "range-amount",
    "servicelevel_freshness placed_at": "freshness-placed-at",
    "servicelevel_retention placed_at": "retention-placed-at",
}
"""What schema and service levels demand, by datacontract-cli's type and field, and the check of ours that asks it."""


@pytest.fixture(scope="module")
def datacontract() -> str:
    """Return the program of datacontract-cli."""
    return peer_program("datacontract") or ""


_TEST = """
import os, sys
from datacontract.data_contract import DataContract
for folder in sys.argv[1:]:
    os.chdir(folder)
    run = DataContract(data_contract_file="orders.odcs.yaml").test()
    with open("out.json", "w") as file:
        file.write(run.model_dump_json())
"""


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def theirs(datacontract: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bool]]:
    """Return for each case whether each rule passed there, under the name of our check; one process for all."""
    folders = {}
    for case, rows in CASES.items():
        folders[case] = tmp_path_factory.mktemp("contract")
        write_contract(folders[case], CONTRACT, HEADER + rows)
    python = str(Path(datacontract).parent / "python")
    done = _run(next(iter(folders.values())), python, "-c", _TEST, *map(str, folders.values()))
    assert done.returncode == 0, done.stdout + done.stderr
    return {case: _passed(json.loads((path / "out.json").read_text())["checks"]) for case, path in folders.items()}


def _passed(checks: Sequence[Mapping[str, Any]]) -> dict[str, bool]:
    results: dict[str, bool] = {}
    for check in checks:
        name = check.get("quality_id") or SAME.get(f"{check['type']} {check['field']}")
        if name is not None:
            assert check["result"] in {"passed", "failed"}, check
            results[name] = results.get(name, True) and check["result"] == "passed"
    return results


def _ours(terminal: Terminal) -> dict[str, bool]:
    config = terminal.folder / "tablewatch.yaml"
    config.unlink(missing_ok=True)
    config.write_text(terminal("import", "contract", "orders.odcs.yaml").out, encoding="utf-8")
    checked: Any = terminal("check", "--no-store", "--format", "json").json
    return {item["check_id"].removeprefix("orders."): item["status"] == "pass" for item in checked["results"]}


@pytest.mark.parametrize("case", list(CASES))
def test_both_pass_and_fail_the_same_rules(case: str, theirs: dict[str, dict[str, bool]], terminal: Terminal) -> None:
    """Over good data, and data that breaks one rule at a time."""
    write_contract(terminal.folder, CONTRACT, HEADER + CASES[case])
    ours = _ours(terminal)
    assert set(theirs[case]) == {*RULES, *SAME.values()}
    others = dict(theirs[case])
    if case == "no status":  # a rule that compared no value passes there, and is unknown here
        assert others.pop("known-status")
        assert not ours["known-status"]
    assert {name: ours[name] for name in others} == others
    assert all(theirs[case].values()) is (case == "good")


def test_our_contract_is_accepted(datacontract: str, terminal: Terminal) -> None:
    """`datacontract lint` finds no fault in what is exported."""
    write_contract(terminal.folder)
    config = terminal.folder / "tablewatch.yaml"
    config.unlink()
    config.write_text(terminal("import", "contract", "orders.odcs.yaml").out, encoding="utf-8")
    assert terminal("export", "contract", "orders", "--out", "exported.odcs.yaml").code == 0
    linted = _run(terminal.folder, datacontract, "lint", "exported.odcs.yaml")
    assert linted.returncode == 0, linted.stdout + linted.stderr
