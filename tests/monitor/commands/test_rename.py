"""`tablewatch table rename` and `tablewatch config rename`."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from monitor.cli import run
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.releases.digests import SameTable
from monitor.scan.recorder import retire
from monitor.terminal.output import Invocation
from tests.monitor.commands.protected import protect
from tests.monitor.commands.terminal import NOW, Terminal
from tests.monitor.releases.desk import Desk, people

_ROOT = Path(__file__).parents[3]
REFERENCES = """\
version: 1
project: test-shop
storage: {url: "sqlite:///store.db"}
sources: {shop: {url: "sqlite:///shop.sqlite"}}
owners: {desk: {}, "crew": {}}
ownership: {"orders": desk}
domains: {sales: {owner: crew}, stock: {}}
cost: {tables: {orders: {per_hour: 5}}, history: []}
products: {front: {tables: ["domain:sales", 'orders']}, back: {tables: ["*", "!orders"]}}
alerts: {channels: {}, routes: []}
slo: {"domain:sales": {ttd: 1h}, orders: {ttd: 2h}}
maintenance: [{tables: [orders], domains: [sales], start: 2026-01-01, end: 2026-01-02, reason: orders move}]
tables:
  # the orders of the shop
  - name: 'orders'   # one row for each
    source: shop
    domain: sales
    checks:
      - type: not_null
        columns: [customer]   # orders without one are lost
      - {type: accepted_values, column: customer, values: [orders, ann, bob]}
  - name: refunds
    source: shop
    upstream: [orders]
    owner: desk
    checks: [{type: foreign_key, column: id, references: orders.id}]
"""
RENAMED = """\
version: 1
project: test-shop
storage: {url: "sqlite:///store.db"}
sources: {shop: {url: "sqlite:///shop.sqlite"}}
owners: {office: {}, "crew": {}}
ownership: {"bought goods": office}
domains: {sales: {owner: crew}, stock: {}}
cost: {tables: {"bought goods": {per_hour: 5}}, history: []}
products: {front: {tables: ["domain:trade", 'bought goods']}, back: {tables: ["*", "!bought goods"]}}
alerts: {channels: {}, routes: []}
slo: {"domain:trade": {ttd: 1h}, "bought goods": {ttd: 2h}}
maintenance: [{tables: ["bought goods"], domains: [trade], start: 2026-01-01, end: 2026-01-02, reason: orders move}]
tables:
  # the orders of the shop
  - name: 'bought goods'
    table: orders   # one row for each
    source: shop
    domain: trade
    checks:
      - id: has-customer
        type: not_null
        columns: [customer]   # orders without one are lost
      - {id: known, type: accepted_values, column: customer, values: [orders, ann, bob]}
  - name: refunds
    source: shop
    upstream: ["bought goods"]
    owner: office
    checks: [{type: foreign_key, column: id, references: "bought goods.id"}]
""".replace("domains: {sales:", "domains: {trade:")


def _write(terminal: Terminal, text: str) -> Path:
    file = terminal.folder / "tablewatch.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_names_change_where_they_are_names(terminal: Terminal) -> None:
    """Each place that names the thing is changed, with its comments and quotes; the same text elsewhere is not."""
    file = _write(terminal, REFERENCES)
    shown = terminal.json("table", "rename", "orders", "bought goods")
    assert (shown["written"], file.read_text(encoding="utf-8")) == (False, REFERENCES)
    terminal.json("table", "rename", "orders", "bought goods", "--write", "--keep-relation")
    terminal.json("config", "rename", "owner", "desk", "office", "--write")
    terminal.json("config", "rename", "domain", "sales", "trade", "--write")
    for old, new in (("not-null", "has-customer"), ("accepted-values", "known")):
        terminal.json("config", "rename", "check", f"bought goods.{old}", f"bought goods.{new}", "--write")
    assert file.read_text(encoding="utf-8") == RENAMED
    assert terminal.json("config", "check")["tables"] == 2


def test_the_past_of_a_table_stays_its_own(terminal: Terminal) -> None:
    """The next run goes on with the incident and its results, and everything that is verified agrees."""
    terminal.sql("UPDATE orders SET customer = NULL")
    terminal("check")
    before = terminal.json("incident", "show", "1")
    rows = terminal.json("table", "rename", "orders", "sales", "--write", "--keep-relation", "--by", "mia")["rows"]
    assert rows["incident"] == 1
    with terminal.at(NOW + timedelta(hours=1)):
        terminal("check")
        (incident,) = terminal.json("incident", "list", "--state", "open")["incidents"]
        assert (incident["id"], incident["table"], incident["check_id"]) == (1, "sales", "sales.not-null")
        assert incident["detected_at"] == before["detected_at"]
        (event,) = terminal.json("event", "list")["events"]
        assert (event["table"], event["note"]) == ("sales", "renamed from 'orders'")
        findings = terminal("doctor", "--full", "--format", "json").json["findings"]
        assert {item["subject"]: item["verdict"] for item in findings}["store"] == "ok"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("table", "rename", "order", "x"), "no table 'order' is configured; did you mean 'orders'"),
        (("table", "rename", "orders", "refunds"), "table 'refunds' is configured already"),
        (("config", "rename", "check", "orders.not-null", "refunds.x"), "is no check of 'orders'"),
        (("config", "rename", "owner", "desk", "crew"), "owner 'crew' is configured already"),
    ],
)
def test_what_cannot_be_is_refused(terminal: Terminal, words: tuple[str, ...], message: str) -> None:
    """The message says why, and nothing changes."""
    before = (terminal.folder / "tablewatch.yaml").read_text(encoding="utf-8")
    (error,) = terminal.refused(*words, "--write")
    assert message in error["message"]
    assert (terminal.folder / "tablewatch.yaml").read_text(encoding="utf-8") == before


def test_a_file_that_would_be_wrong_is_not_written(terminal: Terminal) -> None:
    """A name in a place that no program can edit is an error with its place, before anything changes."""
    text = REFERENCES.replace("upstream: [orders]", "upstream: &all [orders]").replace(
        "name: 'orders'", 'name: "or\\x64ers"'
    )
    file = _write(terminal, text)
    (error,) = terminal.refused("table", "rename", "orders", "sales", "--write")
    assert "is not written on one line" in error["message"]
    assert file.read_text(encoding="utf-8") == text
    assert terminal.json("event", "list")["events"] == []


def test_a_process_that_dies_between_store_and_file_loses_nothing(terminal: Terminal) -> None:
    """The incident stays open for a daemon with the old file, and the same command writes the file."""
    terminal.sql("UPDATE orders SET customer = NULL")
    terminal("check")
    words = ["table", "rename", "orders", "sales", "--write", "--keep-relation"]
    before = (terminal.folder / "tablewatch.yaml").read_text(encoding="utf-8")
    armed = {"TABLEWATCH_CRASH_TEST": "1", "TABLEWATCH_FAILPOINT": "after-rename", "PYTHONPATH": str(_ROOT)}
    command = [sys.executable, "-m", "monitor", *words]
    killed = subprocess.run(command, cwd=terminal.folder, env={**os.environ, **armed}, check=False, capture_output=True)
    assert killed.returncode == -9, killed.stderr
    assert (terminal.folder / "tablewatch.yaml").read_text(encoding="utf-8") == before
    project = Project(load(terminal.folder / "tablewatch.yaml"), SimulatedClock(NOW + timedelta(minutes=1)))
    with project.open_store() as store:
        assert retire(project, store) == 0
        with store.reading() as tx:
            assert {check for check, *_ in tx.results.last_statuses()} >= {"sales.not-null"}
    done = terminal.json(*words)
    assert (done["rows"], len(done["files"])) == ({}, 1)
    project = project.reload()
    with project.open_store() as store:
        assert retire(project, store) == 0
        assert store.rebuild_check() == []
    assert terminal.json("incident", "show", "1")["state"] == "open"


def test_a_file_that_was_changed_by_hand_is_followed(terminal: Terminal) -> None:
    """With the new name in the file already, the store follows."""
    terminal("check")
    file = terminal.folder / "tablewatch.yaml"
    text = file.read_text(encoding="utf-8").replace("name: orders", "name: sales, table: orders")
    text = text.replace("  - name: sales, table: orders", "  - name: sales\n    table: orders").replace(
        "[orders]", "[sales]"
    )
    file.write_text(text, encoding="utf-8")
    done = terminal.json("table", "rename", "orders", "sales", "--write")
    assert (done["files"], done["rows"]["series.check_id"]) == ([], 2)


def test_results_under_both_names_are_joined_on_request(terminal: Terminal) -> None:
    """Without --merge, a name that has results of its own is refused."""
    terminal("check")
    terminal.configure(orders="sales")
    terminal.sql("ALTER TABLE orders RENAME TO sales")
    with terminal.at(NOW + timedelta(hours=1)):
        terminal("check")
        (error,) = terminal.refused("table", "rename", "orders", "sales", "--write")
        assert "has results or incidents of 'sales' already" in error["message"]
        done = terminal.json("table", "rename", "orders", "sales", "--write", "--merge")
    assert done["merged"] is True
    with (
        Project(load(terminal.folder / "tablewatch.yaml"), SimulatedClock(NOW)).open_store() as store,
        store.reading() as tx,
    ):
        assert len(tx.results.around("sales.not-null", NOW, before=9, after=9)) == 2


def test_a_rename_in_the_source_is_proposed(terminal: Terminal) -> None:
    """Where one table has all the columns of one that is gone, and about as many rows, doctor names the command."""
    terminal("check")
    terminal.sql("ALTER TABLE orders RENAME TO sales; CREATE TABLE visits (id INTEGER, customer TEXT)")
    hints = [item["hint"] for item in terminal("doctor", "--format", "json").json["findings"]]
    proposal = "'sales' is like it: if it was renamed, 'tablewatch table rename orders sales --write' keeps its history"
    assert proposal not in hints  # visits may be it as well
    terminal.sql("DROP TABLE visits")
    hints = [item["hint"] for item in terminal("doctor", "--format", "json").json["findings"]]
    assert proposal in hints


def test_a_rename_of_a_table_of_a_pattern_is_proposed_and_joined(terminal: Terminal) -> None:
    """The table is taken off the list of known tables, and what it was goes on under the name that joined."""
    pattern = """  - {match: "*", source: shop, checks: [{type: not_null, columns: [id]}]}\n"""
    text = REFERENCES.partition("ownership:")[0] + "tables:\n" + pattern
    _write(terminal, text)
    terminal("check")
    terminal.sql("ALTER TABLE orders RENAME TO sales")
    with terminal.at(NOW + timedelta(hours=1)):
        said = terminal("table", "refresh")
        assert "if it was renamed, 'tablewatch table rename orders sales --write' keeps its history" in said.err
        terminal("check")
        done = terminal.json("table", "rename", "orders", "sales", "--write", "--merge")
        assert done["files"] == ["tablewatch.d/tables.json"]
        assert [item["table"] for item in terminal.json("table", "list")["tables"]] == ["refunds", "sales"]
        terminal("check")
    with (
        Project(load(terminal.folder / "tablewatch.yaml"), SimulatedClock(NOW)).open_store() as store,
        store.reading() as tx,
    ):
        assert len(tx.results.around("sales.not-null", NOW, before=9, after=9)) == 4


def test_a_budget_follows_its_table(terminal: Terminal) -> None:
    """What was spent stays spent under the new name, and the ledger is intact."""
    protect(terminal)
    terminal.json("privacy", "budget", "create", "customers")
    terminal.json("privacy", "answer", "count", "customers", "--epsilon", "1")
    terminal.json("table", "rename", "customers", "clients", "--write", "--keep-relation")
    (left,) = terminal.json("privacy", "budget", "show", "clients")["budgets"]
    assert (left["table"], left["spent"]) == ("clients", "1")
    assert terminal.json("privacy", "budget", "verify")["ok"] is True
    terminal.json("privacy", "answer", "count", "clients", "--epsilon", "1")
    assert terminal.json("privacy", "budget", "show", "clients")["budgets"][0]["spent"] == "2"


def test_exports_of_a_renamed_table_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Though its file is another one, the table is compared with what was exported under its old name."""
    monkeypatch.chdir(tmp_path)
    desk = Desk(tmp_path).write(people(), limits={"k": 5}, person_key="id")
    desk.approve()
    desk.export("given.csv")
    people(32).to_parquet(tmp_path / "persons.parquet")
    (tmp_path / "people.parquet").unlink()
    text = desk.config.read_text(encoding="utf-8").replace("files: people.parquet", "files: '*.parquet'")
    desk.config.write_text(text, encoding="utf-8")
    assert run(["table", "rename", "people", "persons", "--write"], Invocation()) == 0
    capsys.readouterr()
    with desk.decisions() as decisions, decisions.store.reading() as tx:
        assert decisions.case.release.table == "persons"
        assert len(SameTable.of(decisions.case, tx).exports(tx)) == 1
        assert decisions.ledger.verify().flaws == []
    assert run(["release", "verify", "given.csv"], Invocation()) == 0
