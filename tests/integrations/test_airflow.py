"""The Airflow provider against a real daemon and a real API: a Dag is run by Airflow itself."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.clock import SystemClock
from monitor.config import load
from monitor.config.project import Project
from monitor.verbs.account_secrets import make_token
from store import Grant, WebRole
from tests.monitor.shop import build_shop
from tests.needs import peer_program

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROVIDER = ROOT / "integrations" / "airflow"
TABLES = """
  - name: refunds
    source: shop
    owner: desk
    tier: gold
    schedule: every 1h
    checks: [{type: unique, columns: [id]}]
  - {name: lost, source: shop, schedule: every 1h, checks: [{type: not_null, columns: [id]}]}
  - name: people
    source: shop
    schedule: every 1h
    checks: [{type: external, reference: reviewed, origin: other, every: 1d}]
daemon: {jitter: 0s, metrics: "off"}
releases:
  extract:
    table: people
    columns: {id: other, town: quasi-identifier}
    audience: a university
    limits: {k: 3}
    remedies: [{remedy: suppress}]
  public:
    table: people
    columns: {id: other, town: quasi-identifier}
    audience: everybody
    limits: {k: 2}
    remedies: [{remedy: suppress}]
"""


@pytest.fixture
def python() -> str:
    """Return the Python of an environment with apache-airflow-core 3.3."""
    return peer_program("airflow") or ""


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    """Return a shop: `refunds` has a duplicate, `lost` is not there, `people` has two people of a town."""
    made = build_shop(tmp_path)
    made.config.write_text(made.config.read_text().rstrip() + TABLES)
    made.sql("CREATE TABLE refunds (id INTEGER); INSERT INTO refunds VALUES (1), (1)")
    made.sql("CREATE TABLE people (id INTEGER, town TEXT); INSERT INTO people VALUES (1, 'Nara'), (2, 'Nara')")
    return Project(load(made.config))


@pytest.fixture
def address(shop: Project) -> Iterator[str]:
    """Run the daemon and the API, and return the address of the API."""
    words = [sys.executable, "-m", "monitor", "-c", str(shop.loaded.path)]
    with ExitStack() as stack:
        serve = stack.enter_context(subprocess.Popen([*words, "serve", "--port", "0"], stderr=subprocess.PIPE))
        stack.callback(serve.terminate)
        assert serve.stderr is not None
        port = int(serve.stderr.readline().partition(b"127.0.0.1:")[2].partition(b";")[0])
        log = stack.enter_context((Path(shop.loaded.path).parent / "run.log").open("wb"))
        daemon = stack.enter_context(subprocess.Popen([*words, "run"], stdout=log, stderr=log))
        stack.callback(daemon.terminate)
        yield f"http://127.0.0.1:{port}"


def _connections(project: Project, address: str) -> dict[str, str]:
    tokens = {}
    with project.open_store() as store, store.writing() as tx:
        for name, role in (("tablewatch_default", WebRole.RESPONDER), ("viewer", WebRole.VIEWER)):
            tokens[name] = make_token(tx, name, Grant(role), now=SystemClock().now(), life=timedelta(days=1))
    connections = {
        name: {"conn_type": "tablewatch", "host": address, "password": token} for name, token in tokens.items()
    }
    connections["closed"] = {"conn_type": "tablewatch", "host": "http://127.0.0.1:9"}
    return {f"AIRFLOW_CONN_{name.upper()}": json.dumps(connection) for name, connection in connections.items()}


def _run_dag(python: str, folder: Path, project: Project, connections: dict[str, str]) -> tuple[dict[str, Any], str]:
    """Return what became of each task, and all that Airflow printed."""
    program = folder / "tablewatch"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m monitor "$@"\n')
    program.chmod(0o755)
    home = folder / "airflow"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")} | {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
        "AIRFLOW__CORE__DAGS_FOLDER": str(HERE),
        "PYTHONPATH": str(PROVIDER),
        "SHOP_PROGRAM": str(program),
        "SHOP_CONFIG": str(project.loaded.path),
        **connections,
    }
    printed = ""
    for words in ([python, "-m", "airflow", "db", "migrate"], [python, str(HERE / "airflow_dag.py"), "out.json"]):
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        printed += done.stdout + done.stderr
        assert done.returncode == 0, printed[-5000:]
    return json.loads((folder / "out.json").read_text()), printed


@pytest.mark.airflow
@pytest.mark.timeout(900)
def test_a_dag_runs_checks_and_stops_at_a_release_on_hold(
    python: str, shop: Project, address: str, tmp_path: Path
) -> None:
    """Over HTTP, deferred and by the command: states, errors, XComs and links are those of the checks."""
    connections = _connections(shop, address)
    tasks, printed = _run_dag(python, tmp_path, shop, connections)
    errors = {name: task["error"].partition(":")[0] for name, task in tasks.items() if task["error"]}
    assert errors == {
        **dict.fromkeys(("fails", "fails_deferred", "program_fails"), "ChecksFailed"),
        "unknown": "ChecksNotEvaluated",
        **dict.fromkeys(("no_such_table", "viewer", "program_option", "gate_unknown"), "Refused"),
        "nobody_answers": "NotAnswered",
        "gate": "ReleaseOnHold",
    }, [task["error"] for task in tasks.values()]
    states = {name: task["state"] for name, task in tasks.items()}
    passing = {"passes", "passes_deferred", "fails_below_limit", "unknown_allowed", "program_passes", "gate_opens"}
    skipped = {"unknown_skips", "gate_skips", "after_skip"}
    expected = dict.fromkeys(tasks, "failed") | dict.fromkeys(passing, "success") | dict.fromkeys(skipped, "skipped")
    assert states == expected | {"after_gate": "upstream_failed"}, printed[-5000:]
    for name in ("fails_deferred", "program_fails"):
        value = tasks[name]["xcom"]
        assert (value["tables"], value["checks"], value["fail"]) == (["refunds"], 1, 1)
        assert value["failed"] == ["refunds.unique"]
    (incident,) = tasks["fails"]["xcom"]["incidents"]
    assert incident["url"] == f"{address}/incidents/{incident['id']}"
    assert tasks["fails"]["link"] == tasks["fails_deferred"]["link"] == incident["url"]
    assert tasks["unknown_allowed"]["xcom"]["not_evaluated"] == ["lost.not-null"]
    assert tasks["gate"]["xcom"]["state"] == "hold"
    with shop.open_store() as store, store.reading() as tx:
        (event,) = tx.logged_events.between(None, None, most=9)
    assert (event.job, event.table, event.note) == ("shop.fails", "refunds", "Airflow: failed")
    for text in ("Nara", *(json.loads(value).get("password") for value in connections.values())):
        assert text is None or text not in json.dumps(tasks)


@pytest.mark.airflow
@pytest.mark.timeout(900)
def test_the_recipes_of_the_page_are_those_of_airflow(python: str, tmp_path: Path) -> None:
    """The connection is added by its command, and Airflow reads the Dag, with the task that runs the command in it."""
    page = (PROVIDER / "README.md").read_text(encoding="utf-8")
    over_http, by_command = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    dag = f"{over_http}    {by_command.replace(chr(10), chr(10) + '    ').strip()}\n"
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "shop.py").write_text(dag.replace('"check",\n', '"command",\n'), encoding="utf-8")
    (command,) = re.findall(r"^(airflow .*)$", page, re.MULTILINE)
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(tmp_path / "home"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
        "AIRFLOW__CORE__DAGS_FOLDER": str(tmp_path / "dags"),
        "PYTHONPATH": str(PROVIDER),
        "TOKEN": "tww_canary",
    }
    script = (
        "from airflow.dag_processing.dagbag import DagBag\n"
        "bag = DagBag()\n"
        "assert not bag.import_errors, bag.import_errors\n"
        "print(*sorted((task.task_id, task.task_type) for task in bag.dags['shop'].tasks), sep='\\n')\n"
    )
    airflow = f'"{python}" -m airflow'
    for line in (f"{airflow} db migrate", command.replace("airflow", airflow, 1), f'"{python}" - <<"E"\n{script}E'):
        done = subprocess.run(
            ["/bin/sh", "-c", line], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert done.stdout.splitlines()[-4:] == [
        "('check', 'TablewatchCheckOperator')",
        "('command', 'TablewatchCheckOperator')",
        "('gate', 'TablewatchReleaseGate')",
        "('load', '_PythonDecoratedOperator')",
    ]


@pytest.mark.airflow
@pytest.mark.timeout(900)
def test_airflow_finds_the_provider(python: str, tmp_path: Path) -> None:
    """The connection type, the hook and the link come by the entry point of the installed distribution."""
    script = (
        "from airflow.providers_manager import ProvidersManager as M\n"
        "m = M()\n"
        "assert 'tablewatch-airflow' in m.providers, 'install integrations/airflow into this environment'\n"
        "print(m.hooks['tablewatch'].hook_class_name, *[x for x in m.extra_links_class_names if 'tablewatch' in x])\n"
    )
    environment = {**os.environ, "AIRFLOW_HOME": str(tmp_path), "PYTHONPATH": str(PROVIDER)}
    done = subprocess.run(
        [python, "-W", "ignore", "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1:] == [
        "tablewatch_airflow.hook.TablewatchHook tablewatch_airflow.operators.IncidentLink"
    ], done.stderr[-3000:]
