"""Notice that the configuration changed, and load it anew as a whole."""

from pathlib import Path
from typing import Final, TypeAlias

from monitor.config import ConfigError, Loaded, files_of, load
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
        self._seen = self._look()
        self._used = self._seen if self._is_as_read() else None

    def has_changed(self) -> bool:
        """Say whether a file was written, added or taken away since the last yes, and nothing more since the last look.

        A file that is still being written is left alone: what it lacks yet would be taken out of the configuration,
        and the incidents of that be closed.
        """
        mark = self._look()
        rests = mark == self._seen
        self._seen = mark
        if not rests or mark == self._used:
            return False
        self._used = mark
        return True

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
        paths = {*files_of(self._path), *self.loaded.files}
        return tuple(sorted(mark for path in paths if (mark := _mark_of(path)) is not None))

    def _is_as_read(self) -> bool:
        """Say whether the files are those that were read: a daemon needs a while to start."""
        try:
            now = {str(path): path.read_bytes() for path in files_of(self._path) if path.is_file()}
        except OSError:
            return False
        return not now or now == {name: text.encode() for name, text in self.loaded.texts.texts.items()}


def _mark_of(path: Path) -> tuple[str, int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return str(path), found.st_mtime_ns, found.st_size, found.st_ino
