"""Notice that the configuration changed, and load it anew as a whole."""

import os
from pathlib import Path
from typing import Final, TypeAlias

from monitor.config import ConfigError, Loaded, load
from monitor.frame.problem import sum_up

_Mark: TypeAlias = tuple[tuple[str, int, int, int], ...]

_FIXED: Final = "'{name}' cannot change while the daemon runs; restart it to use the new one"


class Refused(Exception):
    """A changed configuration cannot be used; the text says why, without secrets."""


class ConfigWatch:
    """Looks after the files of a configuration."""

    def __init__(self, path: Path, loaded: Loaded) -> None:
        self.loaded = loaded
        """The configuration in use."""
        self._path = path
        self._mark = self._look()

    def has_changed(self) -> bool:
        """Say whether a file was written, added or taken away since the last answer."""
        mark = self._look()
        changed = mark != self._mark
        self._mark = mark
        return changed

    def reload(self) -> Loaded | None:
        """Load what the files say now, to be put into `loaded` by whoever uses it; None when they say the same.

        Raises:
            Refused: it has errors, or changes what a running daemon cannot change. The old one stays in use.
        """
        try:
            loaded = load(self._path)
        except ConfigError as error:
            first = error.problems[0]
            place = ":".join(str(one) for one in (first.file, first.line, first.column) if one is not None)
            said = sum_up(error.problems)
            raise Refused(error.redactor(f"{place}: {said}" if place else said)) from None
        if loaded.digest == self.loaded.digest:
            return None
        old, new = self.loaded.config, loaded.config
        for name, before, after in (
            ("storage.url", old.storage.url, new.storage.url),
            ("project", old.project, new.project),
            ("daemon.workers", old.daemon.workers, new.daemon.workers),
            ("daemon.metrics", old.daemon.metrics, new.daemon.metrics),
        ):
            if before != after:
                raise Refused(_FIXED.format(name=name))
        return loaded

    def _look(self) -> _Mark:
        return tuple(sorted(mark for path in self._paths() if (mark := _mark_of(path)) is not None))

    def _paths(self) -> set[Path]:
        """Give the files, and the folders in which others may appear."""
        found = {self._path, *self.loaded.files}
        if self._path.is_dir():
            found |= {Path(where) for where, _, _ in os.walk(self._path)}
        return found


def _mark_of(path: Path) -> tuple[str, int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return str(path), found.st_mtime_ns, found.st_size, found.st_ino
