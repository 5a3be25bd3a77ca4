"""A configured project from Python."""

import pytest

import tablewatch as tw
from tests.monitor.commands.terminal import Terminal


def test_a_project_checks_what_is_selected(terminal: Terminal) -> None:
    """With the selectors of the command line, and opens incidents as it does."""
    terminal.sql("INSERT INTO orders VALUES (2, NULL)")
    project = tw.load(terminal.folder)
    assert (project.name, project.tables) == ("test-shop", ("orders", "refunds", "totals"))
    report = project.check("orders", "!type:not_null")
    assert [(result.check_id, result.status, result.incident) for result in report.results] == [
        ("orders.primary-key", "fail", 1)
    ]
    listed = terminal.json("incident", "list")["incidents"]
    assert [incident["id"] for incident in project.incidents()] == [incident["id"] for incident in listed] == [1]
    assert project.incidents()[0].keys() == listed[0].keys()
    assert project.incidents("resolved") == []
    assert project.incidents(tables=("refunds",)) == []


def test_a_run_that_is_not_recorded_leaves_no_trace(terminal: Terminal) -> None:
    """No store is made."""
    (terminal.folder / "store.db").unlink()
    terminal.sql("INSERT INTO orders VALUES (2, NULL)")
    report = tw.load(terminal.folder).check(record=False, fail_on="critical")
    assert (report.ok, len(report.failed), report.failed[0].incident) == (False, 2, None)
    assert not (terminal.folder / "store.db").exists()


def test_the_configuration_of_the_working_folder_is_the_default(terminal: Terminal) -> None:
    """As on the command line; also where it is the folder `tablewatch/`, which hides no package."""
    assert tw.load().name == "test-shop"
    (terminal.folder / "tablewatch").mkdir()
    (terminal.folder / "tablewatch.yaml").rename(terminal.folder / "tablewatch" / "shop.yaml")
    assert tw.load().name == "test-shop"


def test_problems_are_errors_with_their_places(terminal: Terminal) -> None:
    """All of them; so are a selector that chooses nothing and a missing file."""
    with pytest.raises(tw.InvalidInput, match="no table or check matches 'order'\n  did you mean 'orders'"):
        tw.load().check("order")
    with pytest.raises(tw.InvalidInput, match="unknown field 'tables' in selector"):
        tw.load().check("tables:orders")
    with pytest.raises(tw.InvalidInput, match="'resolve' is not a state"):
        tw.load().incidents("resolve")
    with pytest.raises(tw.InvalidInput, match="'bad' is not a severity"):
        tw.load().check(fail_on="bad")
    terminal.configure(not_null="not_nul")
    with pytest.raises(tw.InvalidInput, match=r"tablewatch\.yaml:20:16: unknown check type 'not_nul'") as caught:
        tw.load()
    assert len(caught.value.problems) == 2
    with pytest.raises(tw.InvalidInput, match=r"nope\.yaml does not exist"):
        tw.load("nope.yaml")


def test_a_store_that_cannot_be_opened_is_not_available(terminal: Terminal) -> None:
    """Another error than wrong input: it may be there again later."""
    project = tw.load()
    (terminal.folder / "store.db").write_text("not a database", encoding="utf-8")
    with pytest.raises(tw.NotAvailable):
        project.check()
    with pytest.raises(tw.NotAvailable):
        project.incidents()


def test_secrets_are_masked(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the report of a project, as everywhere."""
    monkeypatch.setenv("WHY", "hunter2-hunter2")
    terminal.sql("INSERT INTO orders VALUES (2, NULL)")
    terminal.configure(**{"Duplicates are billed twice.": '"${WHY}"'})
    report = tw.load().check("orders", record=False)
    assert "***" in str(report)
    assert "hunter2" not in str(report) + repr(report) + str(report.to_dict()) + report._repr_html_()


def test_secrets_are_masked_in_errors(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came from the environment is in no message, and a control character moves no cursor."""
    monkeypatch.setenv("KIND", "hunter2-hunter2")
    terminal.configure(**{"type: not_null, columns: [customer]": 'type: "${KIND}", "a\\x1b": 1'})
    with pytest.raises(tw.InvalidInput) as caught:
        tw.load()
    assert "***" in str(caught.value)
    assert "hunter2" not in str(caught.value) + repr(caught.value.problems)
    assert "\x1b" not in str(caught.value)
