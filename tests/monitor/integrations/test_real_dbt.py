"""A dbt project that is run by dbt itself: its results become incidents, in two commands."""

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from monitor.cli import run
from monitor.config import load
from monitor.config.project import Project
from monitor.terminal.output import Invocation
from store import IncidentFilter
from tests.needs import peer_program

FILES = {
    "dbt_project.yml": """
name: shop
version: "1.0"
profile: shop
flags: {send_anonymous_usage_stats: false}
models: {shop: {+materialized: table}}
""",
    "profiles.yml": "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb, threads: 1}}}\n",
    "models/orders.sql": "select * from {{ source('raw', 'raw_orders') }}\n",
    "models/customers.sql": "select 1 as customer_id union all select 2\n",
    "models/broken.sql": "select cast('a' as integer) as x from {{ ref('orders') }}\n",
    "tests/total_is_positive.sql": "select no_such_column from {{ ref('orders') }}\n",
    "models/schema.yml": """
version: 2
groups: [{name: sales, owner: {name: Sales data, email: sales-data@example.org}}]
sources:
  - name: raw
    schema: main
    loaded_at_field: loaded_at
    freshness: {error_after: {count: 24, period: hour}}
    tables: [{name: raw_orders}, {name: gone}]
models:
  - name: orders
    config: {group: sales, meta: {tier: gold}}
    columns:
      - {name: order_id, data_tests: [unique, not_null]}
      - name: status
        data_tests: [{accepted_values: {arguments: {values: [placed, shipped]}, config: {severity: warn}}}]
      - name: customer_id
        data_tests: [{relationships: {arguments: {to: ref('customers'), field: customer_id}}}]
  - name: customers
    columns: [{name: customer_id, data_tests: [unique]}]
  - name: broken
    columns: [{name: x, data_tests: [not_null]}]
""",
    "seeds/raw_orders.csv": """order_id,customer_id,status,loaded_at
1,1,placed,2026-11-01 00:00:00
2,2,lost,2026-11-01 00:00:00
2,9,shipped,2026-11-01 00:00:00
""",
}


def command(*words: str) -> int:
    """Run a command of ours, and return its exit code."""
    return run(words, Invocation())


class DbtProject:
    """A folder with a dbt project, and Tablewatch's configuration beside it."""

    def __init__(self, folder: Path, program: str) -> None:
        self.folder = folder
        self._program = program
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        """Write a file of the project."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def dbt(self, *words: str) -> int:
        """Run dbt, and return its exit code: 1 if a test failed."""
        environment = {**os.environ, "DBT_PROFILES_DIR": str(self.folder), "DO_NOT_TRACK": "1"}
        environment.pop("PYTHONPATH", None)  # dbt has an environment of its own
        done = subprocess.run(
            [self._program, *words], cwd=self.folder, env=environment, capture_output=True, check=False
        )
        return done.returncode

    def beside_duckdb_of_dbt(self) -> dict[str, str]:
        """Return an environment in which this Python imports dbt's DuckDB instead of its own."""
        script = "import duckdb, _duckdb; print(duckdb.__path__[0], _duckdb.__file__, sep='\\n')"
        answer = subprocess.run(
            [Path(self._program).with_name("python"), "-c", script], capture_output=True, text=True, check=True
        )
        newer = self.folder / "newer"
        newer.mkdir()
        for path in map(Path, answer.stdout.splitlines()):
            (newer / path.name).symlink_to(path)
        root = Path(__file__).parents[3]
        return {**os.environ, "PYTHONPATH": os.pathsep.join([str(newer), str(root)])}

    def statuses(self) -> dict[str, str]:
        """Return what each check found last, by check id."""
        with Project(load(self.folder / "tablewatch.yaml")).open_store() as store, store.reading() as tx:
            return {name: result.status.value for name, result in tx.results.latest().items()}

    def open_checks(self) -> set[str]:
        """Return the checks with an open incident."""
        with Project(load(self.folder / "tablewatch.yaml")).open_store() as store, store.reading() as tx:
            incidents = tx.incidents.matching(IncidentFilter())
            return {item.check_id or "" for item in incidents if item.state.value == "open"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DbtProject:
    """Return the project, its seed loaded."""
    program = peer_program("dbt") or ""
    monkeypatch.chdir(tmp_path)
    made = DbtProject(tmp_path, program)
    assert made.dbt("seed") == 0
    return made


@pytest.mark.dbt
@pytest.mark.timeout(600)
def test_a_dbt_project_becomes_incidents(project: DbtProject, capsys: pytest.CaptureFixture[str]) -> None:
    """Six kinds of result, freshness, a second import, a retry and a renamed test."""
    assert project.dbt("build") == 1
    assert command("import", "dbt", "target", "--config") == 0
    project.write("tablewatch.yaml", capsys.readouterr().out)
    assert command("import", "dbt", "target") == 0
    assert project.statuses() == {
        "broken.not_null_broken_x": "unknown",
        "customers.unique_customers_customer_id": "pass",
        "orders.accepted_values_orders_status__placed__shipped": "warn",
        "orders.not_null_orders_order_id": "pass",
        "orders.relationships_orders_customer_id__customer_id__ref_customers_": "fail",
        "orders.total_is_positive": "unknown",
        "orders.unique_orders_order_id": "fail",
    }
    failing = {
        "orders.relationships_orders_customer_id__customer_id__ref_customers_",
        "orders.unique_orders_order_id",
    }
    assert project.open_checks() == failing
    assert command("downtime", "--format", "json") == 0
    assert '"n": 2' in capsys.readouterr().out

    assert command("import", "dbt", "target") == 0
    assert "imported before" in capsys.readouterr().out

    project.dbt("source", "freshness")
    assert command("import", "dbt", "target/sources.json") == 0
    statuses = project.statuses()
    assert (statuses["raw.raw_orders.source-freshness"], statuses["gone.source-freshness"]) == ("fail", "unknown")

    # a retry runs what failed, and says nothing of the rest
    project.write("seeds/raw_orders.csv", FILES["seeds/raw_orders.csv"].replace("2,9,", "3,1,"))
    project.write("tests/total_is_positive.sql", "select 1 as x where false\n")
    assert project.dbt("seed") == 0
    assert project.dbt("build", "--select", "orders", "customers") == 0
    assert command("import", "dbt", "target") == 0
    assert project.statuses()["orders.unique_orders_order_id"] == "pass"
    assert project.statuses()["broken.not_null_broken_x"] == "unknown"

    # a renamed test is unknown under its old name, and announced under its new one
    schema = FILES["models/schema.yml"].replace("data_tests: [unique]", "data_tests: [{unique: {name: one_id}}]")
    project.write("models/schema.yml", schema)
    project.dbt("build")
    capsys.readouterr()
    assert command("import", "dbt", "target") == 0
    assert "one_id" in capsys.readouterr().err
    assert project.statuses()["customers.unique_customers_customer_id"] == "unknown"


WATCHED = """
version: 1
project: shop
sources: {shop: {url: "duckdb:///shop.duckdb"}}
tables:
  - name: orders
    source: shop
    checks:
      - {type: unique, columns: [order_id]}
      - {type: not_null, columns: [customer_id]}
      - {type: volume, min: 3}
"""


@pytest.mark.dbt
@pytest.mark.timeout(600)
def test_tables_of_a_file_that_duckdb_2_wrote_are_watched(
    project: DbtProject, capsys: pytest.CaptureFixture[str]
) -> None:
    """With DuckDB 2 installed they are checked like all others; with DuckDB 1 the message says what to install."""
    project.dbt("build")
    project.write("tablewatch.yaml", WATCHED)
    done = subprocess.run(
        [sys.executable, "-m", "monitor", "check", "--format", "json"],
        cwd=project.folder,
        env=project.beside_duckdb_of_dbt(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    results = {line["check_id"]: line for line in json.loads(done.stdout)["results"]}
    assert {name: line["status"] for name, line in results.items()} == {
        "orders.unique": "fail",
        "orders.not-null": "pass",
        "orders.volume": "pass",
    }
    if duckdb.__version__.startswith("1."):
        assert command("check") == 3
        assert "install 'duckdb>=2,<3'" in capsys.readouterr().out
