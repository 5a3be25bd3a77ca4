"""No value of a monitored column, and no secret, leaves: all that every check, command and failure left is searched."""

import json
import os
import pty
import re
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from checks._catalog import load_catalog
from monitor.cli import build_command, command_paths
from tests.privacy.cases import CASES
from tests.privacy.place import Place
from tests.privacy.planted import PLANTS
from tests.privacy.playing import SHARED, plant, play_commands, play_daemon, play_pages
from tests.privacy.tokens import found_in

pytestmark = pytest.mark.timeout(1200)  # the session does all that Tablewatch can do


@pytest.fixture(scope="module")
def played(new_place: Callable[[], Place]) -> Place:
    """Return a place where everything was done once: on SQLite, DuckDB and files, by commands and by the daemon."""
    place = new_place()
    plant(place)
    before = _contents(place.folder / "data")
    play_commands(place)
    play_daemon(place)
    play_pages(place)
    assert _contents(place.folder / "data") == before, "a source was written to"
    return place


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_every_type_of_check_has_a_canary():
    """A new check states its questions in its test file."""
    assert set(CASES) == set(load_catalog()) - {"external"}  # which no pass evaluates: its results are imported


def test_every_command_was_run(played):
    """A new command cannot be forgotten here; `demo` watches tables of its own only."""
    plans = [json.loads(path.read_text()) for path in (played.folder / "said").glob("plan-*.json")]
    words = {" ".join(step["words"][:many]) for plan in plans for step in plan for many in (1, 2, 3)}
    groups = {name: getattr(build_command(name), "commands", {}) for name in command_paths()}
    commands = {f"{name} {inner}".strip() for name, group in groups.items() for inner in group or [""]}
    assert commands - words == {"demo"}


def test_every_check_passed_failed_and_stumbled(played):
    """What is searched is worth the search: on every engine each type of check was answered in many ways."""
    results = json.loads(played.said("check"))["results"]
    found = defaultdict(set)
    for result in results:
        found[result["table"].partition(".")[0], result["type"]].add(result["reason"] or result["status"])
    for engine in PLANTS:
        for kind in set(CASES) - {"expectation"}:
            answers = {"bug"} if kind == "re_release" and engine != "sqlite" else {"fail", "bug"}  # one was remembered
            assert answers <= found[engine, kind], (engine, kind)
    for kind in CASES:
        assert any("pass" in answers for (_, one), answers in found.items() if one == kind), kind
    reasons = {result["reason"] for result in results}
    assert reasons >= {None, "bug", "misconfigured", "no-data", "timeout", "unreachable"}


def test_every_page_was_read(played):
    """What is searched is worth the search: pages answered, of tables with names, of checks and of incidents."""
    answers = re.findall(r"^(\d{3}) (/\S*)$", played.said("web-pages"), re.MULTILINE)
    statuses = {path: status for status, path in answers}
    assert set(statuses.values()) == {"200"}, {path: status for path, status in statuses.items() if status != "200"}
    for kind in ("/tables/", "/checks/", "/incidents/", "/reports/", "/products/", "/api/v1/tables/", "/badge/"):
        assert any(path.startswith(kind) for path in statuses), kind


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("check", "1"), ("check-human", "1"), ("run-once", "1"), ("status", "0"), ("incident-1", "0"), ("doctor", "1"),
        ("table-sqlite.people", "0"), ("report", "0"), ("report-ja-html", "0"), ("report-en-md", "0"), ("backup", "0"),
        ("report-month", "0"), ("report-quarter", "0"), ("report-owner", "0"), ("report-product", "0"),
        ("restore", "0"), ("export", "0"), ("log", "0"), ("test-hook-report", "0"), ("test-door", "0"),
        ("test-closed", "1"), ("test-shut", "1"), ("init-sqlite", "0"), ("config", "0"), ("crash", "70"),
        ("crash-human", "70"), ("broken-0", "2"), ("broken-6", "2"), ("reopen", "0"), ("assign", "0"), ("snooze", "0"),
        ("correct", "0"), ("merge", "0"), ("root", "0"), ("open", "0"), ("import-incidents", "0"), ("import-dbt", "0"),
        ("import-results", "0"), ("mcp", "0"), ("event", "0"), ("events", "0"), ("event-remove", "0"),
        ("causes-1", "0"), ("simulation", "0"), ("on-call", "0"),
        ("silences", "0"),
        ("silence-end", "0"), ("enable", "0"), ("import-gx", "0"), ("estimate", "0"), ("adopt", "0"), ("resend", "0"),
        ("remember", "3"), ("risk", "1"), ("risk-json", "1"), ("risk-subsets", "0"), ("risk-suggest", "0"),
        ("risk-strange", "2"), ("risk-population", "1"), ("remedy", "0"), ("remedy-json", "0"), ("remedy-names", "2"),
        ("remedy-few", "2"), ("randomise", "0"), ("randomise-json", "0"), ("randomise-outside", "2"), ("compare", "0"),
        ("synthesise", "0"),
        ("compare-json", "0"), ("compare-outside", "2"), ("perturb", "0"), ("estimate-local", "2"), ("choose", "0"),
        ("budget-create", "0"), ("budget-change", "0"), ("budget-show", "0"), ("budget-verify", "0"),
        ("budget-resume", "2"), ("answer-count", "0"), ("answer-histogram", "0"), ("answer-sum", "0"),
        ("answer-mean", "0"), ("answer-quantile", "0"), ("answer-gone", "5"), ("answer-list", "0"),
        ("release-list", "0"), ("release-assess", "1"), ("release-compare", "0"), ("release-approve", "0"),
        ("release-export", "1"), ("release-export-all", "0"), ("release-verify", "0"), ("release-record", "0"),
        ("release-hold", "0"),
    ],
)  # fmt: skip
def test_the_commands_did_their_work(played, command, code):
    """None of them was searched for what it did not say."""
    assert played.code(command) == code


def test_alerts_reports_and_crash_reports_were_written(played):
    """The other ends got incidents, reports and tests; crash reports, reports and copies of the store were kept."""
    schemas = {json.loads(request.body).get("schema") for request in played.hook.requests if request.body}
    assert schemas >= {"tablewatch.alert/1"}
    assert any(b"attachments" in request.body for request in played.door.requests)
    names = set(played.artefacts())
    for part in (
        "tmp/tablewatch-crash-",
        "work/kept/of/weeks/",
        "work/copy.db",
        "work/store.db.before-restore",
        "metrics",
    ):
        assert any(name.startswith(part) for name in names), part
    assert b"tablewatch_check_outcome" in played.seen["metrics"]


def test_no_value_and_no_secret_is_anywhere(played):
    """The promise itself."""
    leaks = played.leaks()
    assert not leaks, "\n".join(leaks[:20])


def test_no_value_is_a_number_in_the_store(played):
    """The store's numbers are binary, which no search of bytes sees: each cell is looked at."""
    copies = [
        path
        for path in played.work.iterdir()
        if path.name.startswith(("store.db", "copy.db"))
        and path.suffix not in {".lock", ".key", ".last", ".ledger", ".plans"}
    ]
    assert copies
    for copy in copies:
        with closing(sqlite3.connect(f"file:{copy}?mode=ro", uri=True)) as store:
            tables = [name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            cells = {cell for table in tables for row in store.execute(f"SELECT * FROM {table}") for cell in row}
        numbers = {str(int(cell)) for cell in cells if isinstance(cell, int | float)}
        assert not numbers & played.tokens.numbers


def test_everything_is_for_its_owner_only(played):
    """Whatever the umask (here: none), files are 0600 and folders 0700; one that was there keeps its rights."""
    played.look_at_folders()
    assert played.open == {f"work/{SHARED}: 640"}
    assert (played.work / SHARED).read_bytes()


def test_where_a_value_is_let_out_it_is_found(played, tmp_path):
    """The control: a table that is named after a value puts that value everywhere, and the search says so."""
    token = played.tokens.word()
    with closing(sqlite3.connect(tmp_path / "leaky.sqlite")) as connection:
        connection.execute(f"CREATE TABLE {token} (id INTEGER)")
    (tmp_path / "tablewatch.yaml").write_text(
        f"version: 1\nproject: leaky\nsources: {{a: {{url: 'sqlite:///leaky.sqlite'}}}}\n"
        f"tables: [{{name: {token}, source: a, checks: [{{type: not_null, columns: [id]}}]}}]\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "monitor", "check"],
        cwd=tmp_path,
        env=played.environment,
        capture_output=True,
        check=False,
    )
    store = next(path for path in tmp_path.iterdir() if path.suffix == ".db")
    for content in (
        done.stdout,
        store.read_bytes() + Path(f"{store}-wal").read_bytes() if Path(f"{store}-wal").exists() else store.read_bytes(),
    ):
        assert list(found_in(content, played.tokens.numbers))


def test_keys_are_shown_on_a_terminal_and_nowhere_else(played):
    """The other control: --show-rows on a terminal shows the planted keys; what is left behind holds none of them."""
    said = _on_a_terminal(["check", "csv.people", "--show-rows", "3"], played)
    assert list(found_in(said, played.tokens.numbers))
    assert not played.leaks()


def _on_a_terminal(words: list[str], place: Place) -> bytes:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "monitor", *words], cwd=place.work, env=place.environment, stdout=theirs, stderr=theirs
    ):
        os.close(theirs)
        said = b""
        with suppress(OSError):  # the terminal's end
            while part := os.read(ours, 65_536):
                said += part
    os.close(ours)
    return said
