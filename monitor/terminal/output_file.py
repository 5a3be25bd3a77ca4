"""Write a file that a person named: never in place, never over what Tablewatch reads, and whole or not at all.

    check_target ─> a draft in a folder of its own beside the target ─> fsync ─> rename ─> fsync of the folder

Every output of a command and every report of the daemon goes through here. What is refused is the same everywhere:

* the store and the files beside it, keys, the configuration, and whatever a source reads: always, also with `--force`;
* any database; a symbolic link; a device, a FIFO, a folder: always;
* any other file that exists: without `--force`.

A file that is replaced keeps its permissions. Nothing here knows the configuration: what is protected is an argument.
"""

import errno
import glob
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, TypeVar

from monitor.terminal.problem import ExitCode, Problem, Stop
from monitor.terminal.temp_folders import draft_folder

Result = TypeVar("Result")

COMPANIONS: Final = (
    *("-wal", "-shm", "-journal", ".wal"),
    *(".lock", ".serve", ".key", ".last", ".ledger", ".ledger.lock", ".plans"),
)
"""What Tablewatch, SQLite and DuckDB put beside a database."""
_MAGIC: Final = ((0, b"SQLite format 3\0"), (8, b"DUCK"))
"""Where a database says what it is, and how."""
_KINDS: Final = (
    (stat.S_ISDIR, "a folder", "name a file in it"),
    (stat.S_ISLNK, "a symbolic link", "name the file itself"),
    (stat.S_ISFIFO, "a named pipe", "omit the option to write to standard output, and pipe that"),
    (stat.S_ISCHR, "a device", "omit the option to write to standard output"),
    (stat.S_ISBLK, "a device", "name a regular file"),
    (stat.S_ISSOCK, "a socket", "name a regular file"),
)
_FULL: Final = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than this process may write",
}


@dataclass(frozen=True, slots=True)
class ProtectedFiles:
    """Files that no output may replace, each with what it is, such as `the store`.

    `files`: by path. `patterns`: by absolute glob; also a file that does not exist yet is protected, since it would be
    read once it did.
    """

    files: Mapping[Path, str] = field(default_factory=dict)
    patterns: Mapping[str, str] = field(default_factory=dict)

    def reading(self, *paths: Path | str | None, use: str = "an input file of this command") -> "ProtectedFiles":
        """Return the same, with files that a command was given to read; of a folder, all that lie in it."""
        files = {Path(path): use for path in paths if path is not None}
        folders = {f"{glob.escape(os.path.realpath(path))}{os.sep}*": use for path in files if _is_folder(path)}
        return ProtectedFiles({**self.files, **files}, {**self.patterns, **folders})

    def use_of(self, path: Path) -> str | None:
        """Return what a path is to Tablewatch; None if an output may stand there."""
        for file, use in self.files.items():
            if _real(path) == _real(file) or _is_same(path, file):
                return use
        return next((use for pattern, use in self.patterns.items() if matches(pattern, path)), None)


def check_target(
    path: Path,
    *,
    protected: ProtectedFiles,
    force: bool,
    code: str = "file.not_written",
    make_folder: bool = False,
    database: bool = False,
) -> None:
    """Check whether an output may be written to a path, before any work is done.

    `make_folder`: the folder is made if it is missing. `database`: the output is a database, so it may replace one.

    Raises:
        Stop: it may not.
    """
    with _reported(path, code):
        use = protected.use_of(path)
        if use is not None:
            hint = "write to another file; --force does not allow this"
            raise refused(f"'{path}' is {use}", hint, code=code)
        _check_kind(path, code)
        if not database:
            _check_database(path, code)
        if path.exists() and not force:
            raise refused(f"'{path}' exists", "--force replaces it", code=code)
        if not make_folder and not path.parent.is_dir():
            raise refused(f"the folder of '{path}' does not exist", "create it first", code=code)


def write_file(
    path: Path,
    write: Callable[[Path], object],
    prove: Callable[[Path], Result],
    *,
    replace: bool,
    mode: int | None = None,
    code: str = "file.not_written",
) -> Result:
    """Write a draft with `write`, and return the result of `prove` on it before the file gets its name.

    `mode`: the permissions of the file; by default those of the file that is replaced, else as the umask has it.

    Raises:
        Stop: the file cannot be written, or exists and `replace` is false, or `prove` refuses it. Nothing is left
            behind, and a file that was there is as it was.
    """
    with _reported(path, code), draft_folder(path.parent) as folder:
        draft = folder / f"output{path.suffix}"
        write(draft)
        result = prove(draft)
        _set_mode(draft, path, mode)
        _sync(draft)
        _name_draft(draft, path, replace=replace, code=code)
        with suppress(PermissionError):  # a folder in which one may write, and not look
            _sync(path.parent)
    return result


def write_text(
    path: Path,
    text: str,
    *,
    protected: ProtectedFiles,
    force: bool,
    code: str = "file.not_written",
) -> None:
    """Write a text as UTF-8, making the folder of the file where it is missing.

    Raises:
        Stop: see `check_target` and `write_file`.
    """
    check_target(path, protected=protected, force=force, code=code, make_folder=True)
    make_folders(path, code=code)
    write_file(path, lambda draft: draft.write_text(text, encoding="utf-8"), lambda _: None, replace=force, code=code)


def make_folders(path: Path, *, mode: int = 0o777, code: str = "file.not_written") -> None:
    """Create the missing folders above a file.

    Raises:
        Stop: one cannot be made.
    """
    with _reported(path, code):
        for folder in reversed([parent for parent in path.parents if not parent.exists()]):
            folder.mkdir(mode=mode, exist_ok=True)


def refused(message: str, hint: str | None = None, *, code: str = "file.not_written") -> Stop:
    """Return what ends a command that may not write a file."""
    return Stop(ExitCode.USAGE, Problem(code, message, hint=hint))


def reason(error: OSError) -> str:
    """Return why the system refused, in words without a path."""
    if error.errno in _FULL:
        return _FULL[error.errno]
    return (os.strerror(error.errno) if error.errno else type(error).__name__).lower()


def matches(pattern: str, path: Path) -> bool:
    """Check whether an absolute glob matches a path, or would match it once there was a file.

    Links are followed on both sides, so that two names of one file are one file.
    """
    folder, _, name = pattern.rpartition(os.sep)
    places = (_real(path.parent) / path.name, _real(path))
    if any(_parts_match(Path(pattern).parts, place.parts) for place in places):
        return True
    is_name = fnmatchcase(path.name, "*" if name == "**" else name)
    if is_name and any(_is_same(Path(text), path.parent) for text in _glob(folder or os.sep)):
        return True  # the folder has another name in the pattern
    return path.exists() and any(_is_same(Path(text), path) for text in _glob(pattern))


def _glob(pattern: str) -> Iterator[str]:
    return glob.iglob(pattern, recursive=True)  # noqa: PTH207 - pathlib's matches hidden files


def _parts_match(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Check whether a pattern, part by part, matches a path; `**` is any number of folders."""
    if not pattern or not path:
        return not path and all(part == "**" for part in pattern)
    if pattern[0] == "**":
        return _parts_match(pattern[1:], path) or _parts_match(pattern, path[1:])
    return fnmatchcase(path[0], pattern[0]) and _parts_match(pattern[1:], path[1:])


def _is_folder(path: Path) -> bool:
    with suppress(OSError):  # such as a name that is too long
        return path.is_dir()
    return False


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # unlike Path.resolve, it raises nothing on links in a circle


def _is_same(path: Path, other: Path) -> bool:
    with suppress(OSError, ValueError):
        return path.samefile(other)
    return False


def _check_kind(path: Path, code: str) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    for is_kind, kind, hint in _KINDS:
        if is_kind(mode):
            raise refused(f"'{path}' is {kind}, not a file that can be replaced", hint, code=code)


def _check_database(path: Path, code: str) -> None:
    """Check that a path is neither a database nor what belongs to one, also where no configuration names it."""
    hint = "write to another file; --force does not allow this"
    if _is_database(path):
        raise refused(f"'{path}' is a database", hint, code=code)
    for end in COMPANIONS:
        owner = path.with_name(path.name.removesuffix(end) or path.name)
        if path.name.endswith(end) and _is_database(owner):
            raise refused(f"'{path}' belongs to the database '{owner}'", hint, code=code)


def _is_database(path: Path) -> bool:
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                head = file.read(16)
            return any(head[at : at + len(magic)] == magic for at, magic in _MAGIC)
    return False


def _set_mode(draft: Path, path: Path, mode: int | None) -> None:
    if mode is None:
        with suppress(FileNotFoundError):
            mode = stat.S_IMODE(path.lstat().st_mode)
    if mode is not None:
        draft.chmod(mode)


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _name_draft(draft: Path, path: Path, *, replace: bool, code: str) -> None:
    if not replace:
        try:
            path.hardlink_to(draft)  # unlike a rename, this fails if the file was made meanwhile
        except FileExistsError:
            raise refused(f"'{path}' was created meanwhile", "--force replaces it", code=code) from None
        except OSError:  # a disk without links, such as a memory stick
            if path.exists():
                raise
        else:
            return
    draft.replace(path)


@contextmanager
def _reported(path: Path, code: str) -> Iterator[None]:
    """Convert system errors into an error that names the target, not the draft.

    Raises:
        Stop: the system refused something.
    """
    try:
        yield
    except OSError as error:
        hint = "free disk space, or choose another path" if error.errno in _FULL else "choose another path"
        raise refused(f"'{path}' cannot be written: {reason(error)}", hint, code=code) from None
