"""`tablewatch backup` and `tablewatch restore`: a copy of the store and back."""

from datetime import timedelta

from monitor.terminal.problem import ExitCode
from store import daemon_lock
from tests.monitor.commands.terminal import NOW, Terminal


def test_a_copy_is_made_and_brought_back(terminal: Terminal) -> None:
    """What was remembered when the copy was made is there again; what came after is kept beside the store."""
    terminal("check")
    made = terminal.json("backup", "copy.db")
    assert (made["schema"], made["ok"], made["file"], made["project"]) == (
        "tablewatch.backup/1",
        True,
        "copy.db",
        "test-shop",
    )
    assert made["size_bytes"] == (terminal.folder / "copy.db").stat().st_size
    terminal.sql("INSERT INTO orders VALUES (3, NULL)")
    with terminal.at(NOW + timedelta(hours=1)):
        terminal("check")
    restored = terminal.json("restore", "copy.db")
    assert (restored["schema"], restored["rows"], restored["revision"]) == (
        "tablewatch.restored/1",
        made["rows"],
        made["revision"],
    )
    assert "store.db.before-restore-20261120T090000Z" in restored["kept"]
    assert terminal.json("status")["open_incidents"] == 0
    said = terminal("restore", restored["kept"])
    assert said.code == ExitCode.OK
    assert "the previous store is kept as" in said.out
    assert terminal.json("status")["open_incidents"] == 1


def test_a_copy_that_is_there_is_replaced_when_asked_to(terminal: Terminal) -> None:
    """A file that is there is an error that says what to do; --force replaces it."""
    terminal("check")
    assert "rows, verified" in terminal("backup", "copy.db").out
    refused = terminal("backup", "copy.db", "--format", "json")
    assert (refused.code, refused.json["ok"]) == (ExitCode.NOT_EVALUATED, False)
    assert "--force" in refused.json["error"]
    assert terminal("backup", "copy.db", "--force").code == ExitCode.OK


def test_nothing_is_restored_under_a_running_daemon(terminal: Terminal) -> None:
    """While a daemon has the store, restoring leaves with 3 and names it."""
    terminal("check")
    terminal("backup", "copy.db")
    with daemon_lock("sqlite:///store.db"):
        said = terminal("restore", "copy.db")
    assert said.code == ExitCode.NOT_EVALUATED
    assert "in use by the daemon that is process" in said.err


def test_the_copy_of_another_project_is_refused(terminal: Terminal) -> None:
    """A copy of another project's store does not come back by mistake."""
    terminal("check")
    terminal("backup", "copy.db")
    config = terminal.folder / "tablewatch.yaml"
    config.write_text(config.read_text().replace("test-shop", "another"))
    said = terminal("restore", "copy.db")
    assert said.code == ExitCode.NOT_EVALUATED
    assert "of project 'test-shop'" in said.err
