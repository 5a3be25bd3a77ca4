"""A schema id has one shape: where commands, API and Python answer the same question, they give the same JSON."""

import ast
from collections import defaultdict
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import time_machine
from starlette.testclient import TestClient

import tablewatch
from monitor.answers.budget_status import BudgetState
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.releases.overview import ReleaseEntry
from monitor.summaries.catalogue import CataloguedTable
from monitor.summaries.daemons import DaemonState
from monitor.summaries.downtime import DowntimeReport
from monitor.summaries.products import ProductLine
from monitor.summaries.service_levels import ContractLine
from monitor.summaries.shapes import Shape
from monitor.verbs.account_secrets import start_session
from monitor.web.server import asgi, make_application
from store import Grant, SignInMethod, WebRole
from tests.monitor.commands.terminal import NOW, open_terminal

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("checks", "monitor", "remedies", "sources", "store", "tablewatch")
ASKED = {
    "tablewatch.incidents/1": (["incident", "list"], "/api/v1/incidents"),
    "tablewatch.incident/1": (["incident", "show", "1"], "/api/v1/incidents/1"),
    "tablewatch.table/1": (["table", "show", "orders"], "/api/v1/tables/orders"),
    "tablewatch.silences/1": (["silence", "list"], "/api/v1/silences"),
    "tablewatch.alert-log/1": (["alert", "log", "--since", "30d"], "/api/v1/alerts"),
    "tablewatch.audit/1": (["audit"], "/api/v1/audit"),
}
"""A command and an address that answer the same, by schema id."""
ELSEWHERE = {
    "tablewatch.event/1": "compared below",
    "tablewatch.remedy/1": "all but input, output, seconds and bill is the remedy's own",
    "tablewatch.written/1": "two commands that write a file",
}

SECTIONS = """
releases:
  survey:
    table: orders
    audience: a university
    columns: {id: direct-identifier, customer: quasi-identifier}
    limits: {k: 2}
    remedies: [{remedy: suppress}]
budgets: {refunds: {total: 1, unit: id, rows_per_unit: 1, adjacency: add-remove}}
contracts: {board: {tables: [orders], availability: 0.9, downtime: 3h per 30d}}
products: {shop: {tables: [orders, refunds], owner: desk, promises: {ttr: 2h}}}
"""
DAYS = "--from 2026-11-14 --to 2026-11-21"
FEW = "start=2026-11-14&end=2026-11-20"
PARTS = {
    "products": ("product list", "products", "/api/v1/products", "products"),
    "product": ("product show shop", "products", "/api/v1/products/shop", "product"),
    "release": ("release list", "releases", "/api/v1/releases", "releases"),
    "standing": ("release record survey", "standing", "/api/v1/releases/survey", "standing"),
    "daemons": ("status", None, "/api/v1/overview", "daemon"),
    "budgets": ("budget show", "budgets", "/api/v1/budgets", "budgets"),
    "contract": ("contract show board", "contracts", "/api/v1/tables/orders", "contracts"),
    "table": ("table list orders", "tables", "/api/v1/tables/orders", None),
    "listed": ("status", "tables", "/api/v1/tables", "tables"),
    "downtime": (f"downtime {DAYS}", None, f"/api/v1/downtime?{FEW}", "total"),
    "patterns": (f"downtime {DAYS}", None, f"/api/v1/downtime?{FEW}", "patterns"),
    "groups": (f"downtime {DAYS} --by owner", "by", f"/api/v1/downtime?{FEW}&by=owner", "groups"),
    "causes": ("incident causes 1", "causes", "/api/v1/incidents/1", "causes"),
}
"""A command and an address with one model in answers of two shapes, each with the key where it is (None: the whole)."""
MORE = {
    "release": {"last_export"},
    "budgets": {"spent_share", "days", "forecast"},
    "listed": {"recent", "last_run_age_s", "not_evaluated"},
    "groups": {"title"},
    "causes": {"evidence"},
    "downtime": {"start", "end", "cost.table_hours_amount"},
    "patterns": {"precision.checks"},
}
"""Keys that one of the two models is wider by; the page lists only checks with answered alarms."""
DRAWN_FROM_THEIR_MODEL = {"release record survey"}
"""Commands whose answer to people is the model itself, such as a record."""
FIRST = {"contract": 1}
"""Of lists of which one has more: how many rows are compared."""


@pytest.fixture
def terminal(tmp_path, capsys, monkeypatch):
    """Return a terminal in a folder where an incident was found, another one logged and acknowledged, one resolved."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOGNAME", "m.mori")
    terminal = open_terminal(tmp_path, capsys)
    terminal.sql("INSERT INTO orders VALUES (1, 'eve')")
    assert terminal("check").code == 1
    for title, end in (("amounts x100", []), ("late", ["--resolved", "1h ago", "--as", "fixed"])):
        words = ["--table", "orders", "--title", title, "--occurred", "3h ago", "--detected", "2h ago"]
        assert terminal("incident", "open", *words, *end).code == 0
    assert terminal("incident", "ack", "2").code == 0
    return terminal


@pytest.fixture
def browser(terminal):
    """Return an administrator's browser of the same project, at the same moment."""
    with _browser_of(terminal) as browser:
        yield browser


@contextmanager
def _browser_of(terminal):
    project = Project(load(terminal.folder / "tablewatch.yaml", environment={}), SimulatedClock(NOW))
    with project.open_store() as store:
        with store.writing() as tx:
            secret = start_session(tx, "mia", SignInMethod.FORM, Grant(WebRole.ADMIN), now=NOW)
        with time_machine.travel(NOW, tick=False):
            client = TestClient(asgi(make_application(project, store)), base_url="http://localhost")
            client.cookies.set("tablewatch", secret)
            yield client


@pytest.mark.parametrize("schema", list(ASKED))
def test_command_and_address_answer_the_same(terminal, browser, schema):
    """Equal keys, types and values at every depth."""
    words, address = ASKED[schema]
    typed, answered = terminal.json(*words), browser.get(address).json()
    assert typed["schema"] == answered["schema"] == schema
    assert list(_differences(typed, answered)) == []


def test_a_model_that_two_answers_hold_is_the_same(terminal):
    """Equal keys, types and values at every depth, but for the keys that one of the two answers is wider by."""
    file = terminal.folder / "tablewatch.yaml"
    file.write_text(file.read_text(encoding="utf-8") + SECTIONS, encoding="utf-8")
    assert terminal("privacy", "budget", "create", "refunds").code == 0
    assert terminal("event", "add", "deploy", "--table", "orders", "--at", "1h ago", "--note", "v1").code == 0
    differ = {}
    with _browser_of(terminal) as browser:
        for part, (words, key, address, place) in PARTS.items():
            typed = terminal(*words.split(), "--format", "json").json
            answered = browser.get(address).json()
            typed, answered = (typed if key is None else typed[key]), (answered if place is None else answered[place])
            if isinstance(typed, list) and isinstance(answered, Mapping):
                (typed,) = typed
            if part in FIRST:
                typed, answered = typed[: FIRST[part]], answered[: FIRST[part]]
            if key is None:
                typed = {name: value for name, value in typed.items() if name in answered}
            if place is None:
                answered = {name: value for name, value in answered.items() if name in typed}
            assert typed, part
            differences = _differences(typed, answered)
            differ[part] = [item for item in differences if not item[0].endswith(tuple(MORE.get(part, ())))]
    assert [f"{part}: {item}" for part, items in differ.items() for item in items] == []


def test_a_person_is_answered_without_json(terminal, monkeypatch):
    """No model is written as JSON, and none of a whole answer made, where a terminal draws values."""
    file = terminal.folder / "tablewatch.yaml"
    file.write_text(file.read_text(encoding="utf-8") + SECTIONS, encoding="utf-8")
    assert terminal("budget", "create", "refunds").code == 0

    def refuse(*_, **__):
        raise AssertionError("a model was written for a person")

    monkeypatch.setattr(Shape, "model_dump", refuse)
    for model in (DowntimeReport, ProductLine, ContractLine, CataloguedTable, BudgetState, ReleaseEntry, DaemonState):
        monkeypatch.setattr(model, "of", refuse)
    lines = (
        {words for words, *_ in PARTS.values()} | {" ".join(words) for words, _ in ASKED.values()} | {"check orders"}
    )
    for line in sorted(lines - DRAWN_FROM_THEIR_MODEL):
        said = terminal(*line.split())
        assert said.code in {0, 1}, line + said.err


def test_since_asks_the_same(terminal, browser):
    """Incidents that were open since a time, with its offset; others are refused."""
    typed = terminal.json("incident", "list", "--since", "30m ago", "--state", "resolved")
    query = {"since": "2026-11-20T17:30:00+09:00", "state": "resolved"}
    assert list(_differences(typed, browser.get("/api/v1/incidents", params=query).json())) == []
    assert typed["incidents"] == []
    assert len(terminal.json("incident", "list", "--since", "2h ago", "--state", "resolved")["incidents"]) == 1
    for wrong in ("2026-11-20T17:30:00", "0001-01-01T00:00:00Z", "yesterday"):
        assert browser.get("/api/v1/incidents", params={"since": wrong}).status_code == 422


def test_python_answers_the_same(terminal):
    """`Project.incidents` gives the incidents of the list."""
    with time_machine.travel(NOW, tick=False):
        found = tablewatch.load().incidents("open", "acknowledged", "resolved")
    assert list(_differences(terminal.json("incident", "list")["incidents"], found)) == []


def test_a_new_incident_is_answered_as_one_that_is_shown(terminal):
    """What a verb answers is what `show` answers."""
    changed = terminal.json("incident", "comment", "2", "as before")
    assert list(_differences(changed, terminal.json("incident", "show", "2"))) == []


def test_an_event_is_answered_the_same(terminal, browser):
    """Logged by a command, or by an address, which finds the same one again."""
    terminal.json("event", "add", "deploy", "--note", "v2", "--table", "orders")
    (typed,) = terminal.json("event", "list")["events"]
    (shown,) = browser.get("/api/v1/tables/orders").json()["events"]
    assert list(_differences(typed, shown)) == []


def test_an_id_that_two_modules_name_is_compared():
    """A schema id that is published in a second place is listed here."""
    named = defaultdict(set)
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(text)) if "tablewatch." in text else ():
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_id(node.value):
                    named[node.value].add(path)
    assert {name for name, paths in named.items() if len(paths) > 1} <= set(ASKED) | set(ELSEWHERE)


def test_no_model_is_made_of_a_dict_that_repeats_it():
    """What is published has one teller: a model is made of values, not of their JSON."""
    twins = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if ".model_validate" in path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".model_validate")
        if any(name in ast.unparse(node) for name in ("as_json(", "to_json(", "_json("))
    ]
    assert twins == []


def _is_id(text):
    return text.startswith("tablewatch.") and text.rpartition("/")[2].isdecimal() and " " not in text


def _differences(one, other, at="$"):
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}):
            if key in one and key in other:
                yield from _differences(one[key], other[key], f"{at}.{key}")
            else:
                yield f"{at}.{key}", "in the command" if key in one else "in the answer"
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, pair in enumerate(zip(one, other, strict=True)):
            yield from _differences(*pair, f"{at}[{number}]")
    elif type(one) is not type(other) or one != other:
        yield at, one, other
