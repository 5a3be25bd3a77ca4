"""Folders for drafts: their owner's only, gone with the work, and swept once no process works in them."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from monitor.terminal import temp_folders as drafts
from monitor.terminal.temp_folders import draft_folder

_DIES = """\
import os, signal, sys
from pathlib import Path
from monitor.terminal.temp_folders import draft_folder
with draft_folder(Path(sys.argv[1])) as folder:
    (folder / "draft.csv").write_text("somebody")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def _killed(beside: Path) -> None:
    subprocess.run([sys.executable, "-c", _DIES, str(beside)], check=False)


def _there(beside: Path) -> list[str]:
    return sorted(path.name for path in beside.iterdir())


def test_a_draft_is_its_owners_and_goes_with_the_work(tmp_path: Path) -> None:
    """Also where the work fails."""
    with pytest.raises(ZeroDivisionError), draft_folder(tmp_path) as folder:  # noqa: PT012 - the failure is within
        (folder / "draft.csv").write_text("somebody")
        assert [one.stat().st_mode & 0o777 for one in (folder, folder.parent)] == [0o700, 0o700]
        assert folder.parent.parent == tmp_path
        1 / 0  # noqa: B018 - it fails
    assert _there(tmp_path) == []


def test_what_a_killed_process_left_goes_with_the_next_work(tmp_path: Path) -> None:
    """Not before, and nothing else does."""
    _killed(tmp_path)
    mine = tmp_path / ".tablewatch-mine"
    mine.mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / ".tablewatch-12345678").symlink_to(tmp_path / "data")
    (tmp_path / ".tablewatch-abcdefgh").mkdir()  # died before it made anything
    assert len(_there(tmp_path)) == 5
    with draft_folder(tmp_path):
        assert len(_there(tmp_path)) == 4
    assert _there(tmp_path) == [".tablewatch-12345678", ".tablewatch-mine", "data"]


def test_two_work_side_by_side(tmp_path: Path) -> None:
    """No process removes what another one works in."""
    with draft_folder(tmp_path) as one, draft_folder(tmp_path) as other:
        assert (one.is_dir(), other.is_dir(), one == other) == (True, True, False)


def test_a_folder_that_is_swept_before_it_is_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its making and its lock it looks like an orphan."""
    makes, made = drafts.mkdtemp, []

    def makes_and_loses(**words: object) -> str:
        made.append(makes(**words))  # type: ignore[call-overload] # as it was called
        if len(made) == 1:
            Path(made[0]).rmdir()
        return str(made[-1])

    monkeypatch.setattr(drafts, "mkdtemp", makes_and_loses)
    with draft_folder(tmp_path) as folder:
        assert (str(folder.parent), len(made)) == (made[1], 2)
    assert _there(tmp_path) == []


def test_a_disk_without_locks_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There orphans are never removed."""
    _killed(tmp_path)

    def refuses(*words: object) -> None:
        del words
        raise OSError(37, os.strerror(37))

    monkeypatch.setattr(fcntl, "flock", refuses)
    with draft_folder(tmp_path):
        assert len(_there(tmp_path)) == 2
    assert len(_there(tmp_path)) == 1
