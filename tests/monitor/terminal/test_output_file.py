"""Files that are written: never in place, never over what is read, whole or not at all."""

import errno
import os
import socket
import sqlite3
from contextlib import closing
from glob import escape
from pathlib import Path

import duckdb
import pytest

from monitor.terminal.output_file import (
    COMPANIONS,
    ProtectedFiles,
    check_target,
    matches,
    write_file,
    write_text,
)
from monitor.terminal.problem import ExitCode, Stop

NOTHING = ProtectedFiles()


def _refusal(path: Path, protected: ProtectedFiles = NOTHING, *, force: bool = True) -> str:
    with pytest.raises(Stop) as caught:
        check_target(path, protected=protected, force=force)
    assert caught.value.code is ExitCode.USAGE
    return str(caught.value)


def _there(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_that_exists_is_replaced_with_force_only(tmp_path: Path) -> None:
    """Without it, it stays as it is; with it, the new one has the permissions of the old one."""
    path = tmp_path / "report.html"
    write_text(path, "first", protected=NOTHING, force=False)
    path.chmod(0o640)
    with pytest.raises(Stop, match=r"report\.html' exists"):
        write_text(path, "second", protected=NOTHING, force=False)
    assert path.read_text() == "first"
    write_text(path, "second", protected=NOTHING, force=True)
    assert (path.read_text(), path.stat().st_mode & 0o777, _there(tmp_path)) == ("second", 0o640, ["report.html"])


def test_a_file_that_somebody_makes_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    """Also where it was not there when the work began."""
    path = tmp_path / "report.html"

    def write(draft: Path) -> None:
        draft.write_text("ours")
        path.write_text("theirs")

    with pytest.raises(Stop, match="created meanwhile"):
        write_file(path, write, lambda _: None, replace=False)
    assert (path.read_text(), _there(tmp_path)) == ("theirs", ["report.html"])


def test_another_file_with_the_same_content_is_not_touched(tmp_path: Path) -> None:
    """A hard link of a file that is replaced keeps the old content: nothing is written in place."""
    path, other = tmp_path / "report.html", tmp_path / "kept.html"
    path.write_text("first")
    other.hardlink_to(path)
    write_text(path, "second", protected=NOTHING, force=True)
    assert (path.read_text(), other.read_text()) == ("second", "first")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
@pytest.mark.parametrize("step", ["write", "prove"])
def test_a_failure_at_any_step_keeps_the_old_file(tmp_path: Path, step: str, number: int) -> None:
    """The error names the file that was asked for, not the draft, and nothing is left behind."""
    path = tmp_path / "report.html"
    path.write_text("first")

    def write(draft: Path) -> None:
        draft.write_text("half")
        if step == "write":
            raise OSError(number, os.strerror(number), str(draft))

    def prove(draft: Path) -> None:
        raise OSError(number, os.strerror(number), str(draft))

    with pytest.raises(Stop) as caught:
        write_file(path, write, prove, replace=True)
    said = str(caught.value)
    assert said.startswith(f"'{path}' cannot be written: ")
    assert ".tablewatch-" not in said
    assert ("full" in said) == (number == errno.ENOSPC)
    assert (path.read_text(), _there(tmp_path)) == ("first", ["report.html"])


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """Whether it leads to a file, to none, or in a circle; a link to the folder is another name of the folder."""
    (tmp_path / "there").write_text("mine")
    for name, target in (("a", "there"), ("b", "nowhere"), ("c", "c")):
        (tmp_path / name).symlink_to(target)
        assert "is a symbolic link" in _refusal(tmp_path / name)
    assert (tmp_path / "there").read_text() == "mine"
    (tmp_path / "folder").mkdir()
    (tmp_path / "other").symlink_to("folder")
    write_text(tmp_path / "other" / "x.html", "x", protected=NOTHING, force=False)
    assert (tmp_path / "folder" / "x.html").read_text() == "x"


def test_only_regular_files_are_replaced(tmp_path: Path) -> None:
    """Not a folder, a pipe, a socket or a device; the answer says where output goes instead."""
    os.mkfifo(tmp_path / "pipe")
    assert "is a named pipe" in _refusal(tmp_path / "pipe")
    assert "is a folder" in _refusal(tmp_path)
    assert "is a folder" in _refusal(Path())
    assert "is a device" in _refusal(Path("/dev/null"))
    assert "is a device" in _refusal(Path("/dev/full"))
    assert "is a symbolic link" in _refusal(Path("/dev/stdout"))
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(str(tmp_path / "s"))
        assert "is a socket" in _refusal(tmp_path / "s")


@pytest.mark.parametrize("name", ["x" * 300, "no/such/x.html", "file/x.html", "/proc/x", "/proc/1/x", "a\udcff/b"])
def test_a_place_that_cannot_be_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Whatever the system says of it."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    path = Path(name)
    with pytest.raises(Stop) as caught:  # noqa: PT012 - one of the two refuses
        check_target(path, protected=NOTHING, force=True)
        write_file(path, lambda draft: draft.write_text("x"), lambda _: None, replace=True)
    assert caught.value.code is ExitCode.USAGE
    assert _there(tmp_path) == ["file"]


def test_a_database_is_never_replaced(tmp_path: Path) -> None:
    """Nor what belongs to one, although it is not configured, and not with --force."""
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("CREATE TABLE t (x)")
    duckdb.connect(str(tmp_path / "b.db")).close()
    for name in ("a.db", "b.db"):
        assert "is a database" in _refusal(tmp_path / name)
        for end in COMPANIONS:
            assert "belongs to the database" in _refusal(tmp_path / f"{name}{end}")
    check_target(tmp_path / "c.db-wal", protected=NOTHING, force=False)  # no database, nothing to protect


def test_protected_files_are_found_by_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a relative path, through a link to the folder, by a hard link, and before they exist."""
    (tmp_path / "data").mkdir()
    store = tmp_path / "data" / "store.db"
    protected = ProtectedFiles({store: "the store"})
    (tmp_path / "link").symlink_to("data")
    monkeypatch.chdir(tmp_path)
    names = [Path("data/store.db"), Path("link/store.db"), Path("data/../link/store.db")]
    for path in names:
        assert f"'{path}' is the store" in _refusal(path, protected)
    store.write_text("")
    Path("other.html").hardlink_to(store)
    for path in (*names, Path("other.html")):
        assert "is the store" in _refusal(path, protected)
    check_target(Path("data/store.html"), protected=protected, force=False)


@pytest.mark.parametrize(
    ("pattern", "path", "is_read"),
    [
        ("data/*.csv", "data/a.csv", True),
        ("data/*.csv", "data/new.csv", True),
        ("data/*.csv", "link/new.csv", True),
        ("data/*.csv", "data/a.html", False),
        ("data/*.csv", "data/deep/a.csv", False),
        ("data/**/*.csv", "data/deep/deeper/a.csv", True),
        ("data/**/*.csv", "data/new.csv", True),
        ("**", "data/new.csv", True),
        ("*/a.csv", "new/a.csv", True),
        ("data/[a-c].csv", "data/b.csv", True),
        ("data/[a-c].csv", "data/d.csv", False),
        ("data/elsewhere.csv", "far/real.csv", True),
        ("data/*.csv", "far/real.csv", True),
        ("link/*.csv", "data/new.csv", True),
        ("data/../data/*.csv", "data/new.csv", True),
        ("data/a.csv", "data/a.csv", True),
        ("data/", "data/a.csv", False),
    ],
)
def test_what_a_source_would_read_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, path: str, is_read: bool
) -> None:
    """By its pattern, through links on either side, also before the file is there."""
    monkeypatch.chdir(tmp_path)
    for folder in ("data/deep/deeper", "far", "new"):
        Path(folder).mkdir(parents=True)
    Path("link").symlink_to("data")
    Path("data/a.csv").write_text("x")
    Path("far/real.csv").write_text("x")
    Path("data/elsewhere.csv").symlink_to(tmp_path / "far" / "real.csv")
    assert matches(f"{escape(str(tmp_path))}/{pattern}", Path(path)) is is_read


def test_what_a_command_reads_is_not_what_it_writes(tmp_path: Path) -> None:
    """Neither the files that it was given, nor those of a folder."""
    (tmp_path / "hierarchies").mkdir()
    (tmp_path / "hierarchies" / "age.csv").write_text("x")
    (tmp_path / "values.txt").write_text("x")
    protected = NOTHING.reading(tmp_path / "hierarchies", None, str(tmp_path / "values.txt"))
    for name in ("hierarchies/age.csv", "hierarchies/new.csv", "values.txt"):
        assert "an input file of this command" in _refusal(tmp_path / name, protected)
