"""`tablewatch import results`, `import dbt`, `import openlineage` and `export openlineage`: exit codes and output."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.monitor.commands.terminal import NOW, Terminal
from tests.monitor.integrations.artifacts import entry_of_test, write_run_results

EXTERNAL = """      - {type: external, origin: other, id: sums}
      - {type: external, origin: dbt, id: ids, reference: test.shop.ids.1}
"""


@pytest.fixture
def terminal(terminal: Terminal) -> Terminal:
    """Return a terminal whose table `orders` has checks that other tools evaluate."""
    line = "      - {type: not_null, columns: [customer]}\n"
    terminal.configure(**{line: line + EXTERNAL})
    return terminal


def _write(*results: Any, name: str = "1") -> None:
    run = {"origin": "other", "run_id": name, "started_at": NOW.isoformat(), "ended_at": NOW.isoformat()}
    content = run | {"results": [{"check": check, "status": status} for check, status in results]}
    Path("results.json").write_text(json.dumps(content), encoding="utf-8")


def test_results_are_shown_with_their_incidents_and_what_is_not_taken(terminal: Terminal) -> None:
    """A failed result is no error of the import, which leaves with 0; a second import says that nothing changed."""
    _write(("sums", "fail"), ("nothing", "pass"))
    first = terminal("import", "results", "results.json")
    assert first.code == 0
    assert "incident #1" in first.out
    assert "1 result imported, 1 result not taken; 1 incident open" in first.out
    assert "not taken: nothing: no check of type external" in first.err
    assert "imported before; nothing changed" in terminal("import", "results", "results.json").out
    _write(("sums", "pass"), name="2")
    run = terminal.json("import", "results", "results.json")["runs"][0]
    assert (run["already_imported"], [item["status"] for item in run["results"]]) == (False, ["pass"])


def test_no_result_of_a_configured_check_is_nothing_selected(terminal: Terminal) -> None:
    """Exit code 5, and what to do."""
    _write(("nothing", "pass"))
    assert terminal.refused("import", "results", "results.json", code=5)[0]["code"] == "results.nothing"
    write_run_results(Path("target"), entry_of_test("test.shop.new.9", "pass", at=NOW), at=NOW, select=["orders"])
    (error,) = terminal.refused("import", "dbt", "target", code=5)
    assert "--config" in error["hint"]


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"origin": "other", "results": 1}'])
def test_files_of_another_shape_are_refused(terminal: Terminal, text: str) -> None:
    """Exit code 2; each error names the file, and none echoes what is in it."""
    Path("results.json").write_text(text, encoding="utf-8")
    assert {error["file"] for error in terminal.refused("import", "results", "results.json")} == {"results.json"}


def test_dbt_results_are_imported_by_the_command(terminal: Terminal) -> None:
    """Each file of the folder is one run."""
    write_run_results(Path("target"), entry_of_test("test.shop.ids.1", "fail", 2, at=NOW), at=NOW)
    done = terminal("import", "dbt", "target")
    assert done.code == 0
    assert "ids: 2 violations, reported by dbt" in done.out
    assert "run_results.json: 1 result imported; 1 incident open" in done.out


def test_checks_of_other_tools_only_are_nothing_to_run(terminal: Terminal) -> None:
    """`check` says whose results they are, and leaves with 5; beside checks of our own they are left out."""
    (error,) = terminal.refused("check", "orders.sums", code=5)
    assert error["code"] == "check.external"
    results = terminal("check", "orders", "--format", "json").json["results"]
    assert "external" not in {result["type"] for result in results}


def test_stored_runs_are_written_as_events_and_lineage_is_read_from_them(terminal: Terminal) -> None:
    """One event a line on standard output; a file is not replaced without --force; lineage is printed, not written."""
    terminal("check", "orders")
    terminal.now = NOW + timedelta(minutes=1)
    (line,) = terminal("export", "openlineage", "--since", "30d").out.splitlines()
    assert json.loads(line)["job"]["name"] == "tablewatch.orders"
    for force, code in (((), 0), ((), 2), (("--force",), 0)):
        assert terminal("export", "openlineage", "--since", "30d", "--out", "events.jsonl", *force).code == code
    assert terminal("export", "openlineage", "--since", "30d", "--out", "shop.sqlite", "--force").code == 2
    before = Path("tablewatch.yaml").read_bytes()
    job = {
        "inputs": [{"namespace": "x", "name": "lake.orders"}],
        "outputs": [{"namespace": "x", "name": "lake.totals"}],
    }
    Path("events.jsonl").write_text(json.dumps(job), encoding="utf-8")
    done = terminal("import", "openlineage", "events.jsonl")
    assert (done.code, done.out) == (0, "# table totals\nupstream: [refunds, orders]\n")
    assert Path("tablewatch.yaml").read_bytes() == before
