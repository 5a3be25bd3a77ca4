"""An error in a section that people who work on incidents do not need keeps no person from working on them."""

from contextlib import closing
from pathlib import Path

import pytest

from store import open_store
from tests.monitor.commands.terminal import CONFIG, NOW, Terminal

BROKEN = {
    "releases": "releases: {survey: {table: nowhere, k: 5}}",
    "budgets": "budgets: {orders: {totl: 1}}",
    "alerts": "alerts: {routes: [{to: [desk]}]}",
    "alerts of another type": "alerts: [desk]",
    "unset": 'alerts: {channels: {desk: {webhook: {url: "${HOOK_OF_THE_DESK}"}}}}',
    "web": "web: {listen: many}",
    "daemon": "daemon: {workers: none}",
    "products": "products: {shop: {tables: [nowhere]}}",
    "contracts": "contracts: {board: {tables: [nowhere], availability: 2}}",
    "slo": "slo: {nowhere: {ttd: 1h}}",
    "rules": "rules: {all: 1}",
    "report": "report: {weekly: {to: [nobody]}}",
    "openlineage": "openlineage: {}",
}
OPEN = ("incident", "open", "--table", "orders", "--title", "amounts x100")


def _break(terminal: Terminal, text: str = BROKEN["releases"]) -> None:
    (terminal.folder / "tablewatch.yaml").write_text(f"{CONFIG}{text}\n", encoding="utf-8")


@pytest.fixture
def failing(terminal: Terminal) -> Terminal:
    """Return a terminal with an open incident, whose check still fails."""
    terminal.sql("INSERT INTO orders VALUES (3, NULL)")
    assert terminal("check").code == 1
    return terminal


@pytest.mark.parametrize("section", BROKEN)
def test_an_error_in_another_section_does_not_keep_an_incident_from_being_acknowledged(
    section: str, failing: Terminal
) -> None:
    """The incident is listed and acknowledged; what needs all of the configuration is refused."""
    _break(failing, BROKEN[section])
    assert "orders" in failing("incident", "list").out
    acknowledged = failing("incident", "ack", "1")
    assert (acknowledged.code, acknowledged.err) == (0, "")
    assert "ACKNOWLEDGED" in acknowledged.out
    shown = failing("incident", "show", "1", "--format", "json")
    assert (shown.code, shown.json["state"], shown.json["check"]) == (0, "acknowledged", None)
    assert failing.refused("status") == failing.refused("config", "check")


def test_an_error_in_a_check_does_not_either(failing: Terminal) -> None:
    """The checks of tables are not looked at to acknowledge an incident."""
    failing.configure(not_null="not_nul")
    assert failing("incident", "ack", "1").code == 0
    assert [error["code"] for error in failing.refused("status")] == ["config.unknown_check"] * 2


def test_each_verb_works_while_releases_have_errors(terminal: Terminal) -> None:
    """Nothing that is done to incidents asks for releases."""
    _break(terminal)
    times = ("--detected", "2026-11-20T12:10+09:00", "--by", "s.sato")
    assert terminal(*OPEN, *times).code == 0
    assert terminal("incident", "open", "--table", "orders", "--title", "again", *times).code == 0
    for words in (
        "ack 1",
        "assign 1 desk",
        "snooze 1 --for 1h",
        "comment 1 seen",
        "root 1 2",
        "correct 1 --occurred 2026-11-20T11:00+09:00",
        "resolve 1 --as fixed --cause unit",
        "reopen 1",
        "merge 2 1",
        "list --state open",
        "show 1",
    ):
        done = terminal("incident", *words.split())
        assert (done.code, done.err) == (0, ""), words


def test_all_errors_are_listed_where_a_section_that_is_needed_has_one(failing: Terminal) -> None:
    """Where the owner of a domain does not exist, the errors of releases are listed as well."""
    failing.configure(**{"owner: crew, ": "owner: crow, "})
    with (failing.folder / "tablewatch.yaml").open("a", encoding="utf-8") as config:
        config.write(BROKEN["releases"])
    errors = failing.refused("incident", "ack", "1")
    assert errors == failing.refused("config", "check")
    assert {"unknown owner 'crow'", "unknown table 'nowhere'", "unknown key 'k'"} <= {
        item["message"] for item in errors
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"name: refunds": "name: orders"},
        {"owner: crew, ": "owner: crow, "},
        {"upstream: [orders]": "upstream: [order]"},
        {"timezone: Asia/Tokyo": "timezone: Asia/Tokio"},
        {"owners: {": "maintenance: [{domains: [sale], start: 2026-11-20T10:00, end: 2026-11-20T11:00}]\nowners: {"},
        {"owners: {": "ownership: {orders: dask}\nowners: {"},
        {"currency: JPY": "currency: JPY\n  tables: {order: {per_hour: 1}}"},
        {"owners: {": "unknown: {}\nowners: {"},
        {"name: The desk": "name: '${NAME_OF_THE_DESK}'"},
        {"tables:": "tables: {}\nmore:"},
    ],
)
def test_what_an_incident_needs_must_be_right(wrong: dict[str, str], failing: Terminal) -> None:
    """Names, owners, prices and maintenance of tables are right, or the command is refused as `config check` is."""
    failing.configure(**wrong)
    assert failing.refused("incident", "list") == failing.refused("config", "check") != []


def test_an_incident_is_shown_without_its_runbook_while_releases_have_errors(failing: Terminal) -> None:
    """The runbook is of a check, which is not known then; a note has the error."""
    runbook = {"columns: [customer]}": "columns: [customer], runbook: Call the desk.}"}
    failing.configure(**runbook)
    assert "Call the desk." in failing("incident", "show", "1").out
    with (failing.folder / "tablewatch.yaml").open("a", encoding="utf-8") as config:
        config.write(BROKEN["releases"])
    shown = failing("incident", "show", "1")
    assert (shown.code, "Call the desk." in shown.out) == (0, False)
    assert "NULL" in shown.out
    assert "configuration has errors" in " ".join(shown.err.split())
    assert failing.refused("incident", "show", "1", "--sql") == failing.refused("config", "check")


def test_a_ticket_is_shown_without_its_address_while_releases_have_errors(failing: Terminal) -> None:
    """Its channel is not known then, whether for people or for programs; the change is recorded and shown."""
    with closing(open_store(f"sqlite:///{failing.folder / 'store.db'}")) as store, store.writing() as tx:
        assert tx.external_items.begin(1, "desk", "github octo/shop", NOW, settles_s=1.0) is not None
    _break(failing)
    done = failing("incident", "comment", "1", "seen", "--format", "json")
    assert (done.code, "configuration has errors" in " ".join(done.err.split())) == (0, True)
    (item,) = done.json["external_items"]
    assert (item["service"], item["url"]) == ("github", None)
    assert done.json["events"][-1]["change"]["text"] == "seen"


def test_a_check_counts_as_configured_while_the_configuration_has_errors(failing: Terminal) -> None:
    """An incident whose check fails, or is gone, is then resolved by force only; the error says so."""
    failing.configure(**{"\n      - {type: not_null, columns: [customer]}": ""})
    with (failing.folder / "tablewatch.yaml").open("a", encoding="utf-8") as config:
        config.write(BROKEN["releases"])
    (error,) = failing.refused("incident", "resolve", "1", "--as", "fixed")
    assert "still fails" in error["message"]
    assert failing("incident", "resolve", "1", "--as", "fixed", "--force").code == 0
    assert failing("incident", "reopen", "1").code == 0
    failing.configure(**{"\n      - {type: not_null, columns: [customer]}": ""})
    assert failing("incident", "resolve", "1", "--as", "fixed").code == 0


def test_a_secret_is_masked_in_the_note(failing: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of a section that was not checked names no value from the environment."""
    monkeypatch.setenv("HOOK", "correct-horse-battery")
    _break(failing, 'web: {listen: "${HOOK}"}')
    shown = failing("incident", "show", "1")
    assert shown.code == 0
    assert "configuration has errors" in " ".join(shown.err.split())
    assert "correct-horse" not in shown.out + shown.err


def test_a_configuration_in_a_folder_is_completed_from_its_files(terminal: Terminal, tmp_path: Path) -> None:
    """Sections in several files are as they are when they are checked at once."""
    (tmp_path / "all").mkdir()
    (tmp_path / "tablewatch.yaml").rename(tmp_path / "all" / "tables.yaml")
    (tmp_path / "all" / "more.yaml").write_text(BROKEN["web"], encoding="utf-8")
    done = terminal("-c", "all", *OPEN)
    assert done.code == 0, done
    assert terminal.refused("-c", "all", "status") == terminal.refused("-c", "all", "config", "check")
