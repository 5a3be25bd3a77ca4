"""Reload a changed configuration as a whole, or keep the old one and report why."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from checks import Message
from monitor.alerts.operational import Operation, OperationalEvent
from monitor.clock import Clock
from monitor.config import ConfigError, Loaded
from monitor.config.answer_series import AnswerSeries
from monitor.config.project import Project
from monitor.config.team_fallback import Use, bug_in, load_apart
from monitor.daemon.claims import rehearse_claims
from monitor.daemon.journal import LOG
from monitor.daemon.observer import Observer
from monitor.daemon.presence import DaemonPresence, notify_systemd
from monitor.daemon.work_loop import WorkLoop, scheduled_tables
from monitor.scan.recorder import retire
from monitor.scan.results import targets_of
from monitor.terminal.output import count
from store import Store, StoreBusy, StoreUnavailable

_Mark: TypeAlias = tuple[tuple[str, int, int, int], ...]

_SHOWN: Final = 20
"""Tables that are named in one message."""
_FIXED: Final = "'{name}' cannot change while the daemon runs; restart it to use the new one"


class ReloadRefused(Exception):
    """A changed configuration cannot be used; the text says why, without secrets."""


class ConfigWatch:
    """Detects changes of the files of a configuration."""

    def __init__(self, path: Path, loaded: Loaded, *, use: Use = lambda _: None) -> None:
        self.loaded = loaded
        """The configuration in use."""
        self._use = use
        self._path = path
        self._seen = self._marks()
        self._used = self._seen if self._is_as_read() else None

    def has_changed(self) -> bool:
        """Check whether a file was written, added or removed since the last change, and is stable since the last check.

        A file that is still being written is not loaded: incidents of checks that it lacks yet would be closed.
        """
        mark = self._marks()
        is_stable = mark == self._seen
        self._seen = mark
        if not is_stable or mark == self._used:
            return False
        self._used = mark
        return True

    def reload(self) -> Loaded | None:
        """Load the files, for the caller to put into `loaded`; None if the configuration is the same.

        Raises:
            ReloadRefused: it has errors, or changes a key that needs a restart. The old one stays in use.
        """
        try:
            loaded = load_apart(self._path, self.loaded, use=self._use)
        except ConfigError as error:
            raise ReloadRefused(error.summary()) from None
        if (loaded.digest, loaded.apart) == (self.loaded.digest, self.loaded.apart):
            return None
        old, new = self.loaded.config, loaded.config
        for name, before, after in (
            ("storage.url", old.storage.url, new.storage.url),
            ("project", old.project, new.project),
            ("daemon.workers", old.daemon.workers, new.daemon.workers),
            ("daemon.metrics", old.daemon.metrics, new.daemon.metrics),
        ):
            if before != after:
                raise ReloadRefused(_FIXED.format(name=name))
        return loaded

    def _marks(self) -> _Mark:
        paths = {*self.loaded.files_now(), *self.loaded.files}
        return tuple(sorted(mark for path in paths if (mark := _mark_of(path)) is not None))

    def _is_as_read(self) -> bool:
        """Check whether the files are still those that were read: a daemon takes a while to start."""
        try:
            now = {str(path): path.read_bytes() for path in self.loaded.files_now() if path.is_file()}
        except OSError:
            return False
        return not now or now == {name: text.encode() for name, text in self.loaded.texts.texts.items()}


def _mark_of(path: Path) -> tuple[str, int, int, int] | None:
    try:
        result = path.stat()
    except OSError:
        return None
    return str(path), result.st_mtime_ns, result.st_size, result.st_ino


class Reloader:
    """Has the configuration in use, as `project`. `reload` and `retry` are called by the thread of the loop."""

    def __init__(
        self,
        project: Project,
        watch: ConfigWatch,
        store: Store,
        *,
        work: WorkLoop,
        observer: Observer,
        presence: DaemonPresence,
    ) -> None:
        """Begin with a configuration."""
        self.project = project
        self._watch, self._store = watch, store
        self._work, self._observer, self._presence = work, observer, presence
        self._to_reload, self._to_retire = False, True

    def begin(self) -> None:
        """Log what is monitored, and close the incidents of removed checks.

        Raises:
            StoreError: the store cannot be used.
        """
        self._retire()
        LOG.info("watching %s", self._size())
        self._report_teams()
        for line in unwatched(self.project):
            LOG.warning("%s", line)

    def reload(self) -> None:
        """Load the files; while the store is busy, that is retried later."""
        notify_systemd("RELOADING=1")
        try:
            loaded = self._watch.reload()
            if loaded is not None:
                self._adopt(loaded)
                self._retire()
        except ReloadRefused as error:
            self._to_reload = False
            self._refuse(str(error))
        except (StoreBusy, StoreUnavailable) as error:
            if not self._to_reload:
                LOG.warning("the new configuration is not in use yet: %s", error)
            self._to_reload = True
        except Exception as error:  # noqa: BLE001 - the reload of a configuration: monitoring goes on with the old one
            self._to_reload = False
            self._refuse(bug_in(error, doing="adopted").message)
        else:
            self._to_reload = False
            self._report_teams()
        notify_systemd("READY=1")

    def retry(self) -> None:
        """Retry what failed because the store was busy."""
        if self._to_reload:
            self.reload()
        try:
            self._retire()
        except (StoreBusy, StoreUnavailable) as error:
            LOG.warning("%s", error)

    def _adopt(self, loaded: Loaded) -> None:
        project, before = Project(loaded, self.project.clock), self.project
        self._work.adopt(project)
        self._watch.loaded, self.project = loaded, project
        self._to_retire = True
        self._observer.adopt(check_ids(project))
        self._presence.config_is_loaded(loaded)
        LOG.info("configuration reloaded; monitoring %s", self._size())
        for line in unwatched(project):
            LOG.warning("%s", line)
        for event in changed_tables(before.loaded, loaded, project.clock):
            LOG.info("%s: %s", event.operation.value, event.facts[0][1])
            self._observer.on_event(event)

    def _retire(self) -> None:
        if not self._to_retire:
            return
        closed = retire(self.project, self._store)
        self._to_retire = False
        if closed:
            LOG.info("%s closed: the check is no longer configured", count(closed, "incident"))

    def _report_teams(self) -> None:
        """Report the teams whose files are invalid, or that all are valid."""
        loaded = self.project.loaded
        texts = [
            f"team '{team}' {'is not monitored' if team in loaded.left_out else 'keeps its previous files'}: {why}"
            for team, why in loaded.apart.items()
        ]
        if texts:
            self._refuse("; ".join(texts), "what is right in it is in use")
        else:
            self._report_valid()

    def _refuse(self, problem: str, consequence: str = "the previous one stays in use") -> None:
        before = self._presence.config_error
        if problem == before:
            return
        LOG.error("the new configuration is invalid, %s: %s", consequence, problem)
        self._presence.config_is_refused(problem)
        self._observer.metrics.config_ok = False
        if before is None:
            self._observer.on_event(
                OperationalEvent(Operation.CONFIG_FAILED, why=problem, since=self.project.clock.now())
            )

    def _report_valid(self) -> None:
        if self._presence.config_error is None:
            return
        LOG.info("the configuration on disk is valid and in use again")
        self._presence.config_is_refused(None)
        self._observer.metrics.config_ok = True
        self._observer.on_event(OperationalEvent(Operation.CONFIG_FINE, until=self.project.clock.now()))

    def _size(self) -> str:
        workers = count(self.project.config.daemon.workers, "worker")
        statistics = len(self._work.questions)
        more = f" and {count(statistics, 'scheduled query', 'scheduled queries')}" if statistics else ""
        return f"{count(self._work.tables, 'table')}{more} with {workers}"


def rehearse(loaded: Loaded, clock: Clock | None = None) -> None:
    """Compute what the daemon does of a configuration, so that an error of ours is found before it is in use."""
    project = Project(loaded, clock)
    targets_of(project, scheduled_tables(project))
    rehearse_claims(project)
    unwatched(project)
    loaded.values()


def changed_tables(before: Loaded, after: Loaded, clock: Clock) -> Iterator[OperationalEvent]:
    """Yield the tables that joined by the patterns of a configuration, and those that vanished from their sources."""
    old, new = before.texts.expansion, after.texts.expansion
    if old is None or new is None:
        return
    known = {table.name for table in before.config.tables}
    for operation, names in (
        (Operation.PATTERN_JOINED, [name for name in new.tables if name not in known]),
        (Operation.PATTERN_GONE, [name for name in new.gone if name not in old.gone]),
    ):
        if names:
            some = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
            facts = [(Message("Tables"), Message("{text}", {"text": some}))]
            yield OperationalEvent(operation, names[0], since=clock.now(), facts=facts)


def check_ids(project: Project) -> Sequence[str]:
    """Return the ids of all checks of a configuration."""
    return [table.check_id(check) for table in project.config.tables for check in table.checks]


def unwatched(project: Project) -> Sequence[str]:
    """Describe the tables with checks that have no schedule."""
    checked = [table for table in project.config.tables if table.own_checks]
    idle = [table.name for table in checked if table.schedule is None]
    if not idle:
        return ()
    if len(idle) == len(checked) and not AnswerSeries.configured(project.config):
        return (
            "no table has a schedule, so there is nothing to run; add one to a table, such as 'schedule: every 1h'",
        )
    some = ", ".join(idle[:3]) + (", ..." if len(idle) > 3 else "")
    what = "has no schedule and is" if len(idle) == 1 else "have no schedule and are"
    return (f"{count(len(idle), 'table')} {what} checked only by 'tablewatch check': {some}",)
