"""Make what a loaded configuration describes: sources, a store, a ledger, a policy, prices."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from checks import Check, PeopleTable
from incidents import Incident, Policy
from monitor.clock import Clock, SystemClock
from monitor.config import Alerts, Config, ConfigError, Loaded, Table, files_of, find, load, load_for, patterns_of
from monitor.config.scalars import is_name_of_runbook
from monitor.terminal.output import Invocation
from monitor.terminal.output_file import COMPANIONS, ProtectedFiles
from monitor.terminal.problem import ExitCode, Problem, Stop
from sources import CsvOptions, FileTimes, IcebergCatalog, SourceSpec, is_same_table, table_identity
from store import StoreError, StoreMissing, store_file

if TYPE_CHECKING:
    from incidents import MaintenanceSpans, Pricing
    from monitor.config import Channel
    from monitor.config.prices import Currency
    from store import ReleaseLedger, Store, StoredLedger

_CONFIGURATION: Final = "a file of the configuration"
_LONGEST_RUNBOOK: Final = 64 * 1024
"""Bytes that are read of a file with a runbook."""


def policy_of(check: Check, alerts: Alerts) -> Policy:
    """Return when incidents of a check open and resolve: by its own rules, else its severity's, else the project's.

    The first of them that sets a number of failing runs, or their confirmation, decides on both.
    """
    of_severity = alerts.severities.get(check.severity)
    rules = (check, alerts) if of_severity is None else (check, of_severity, alerts)
    opening = next((rule for rule in rules if rule.confirm is not None or rule.open_after is not None), alerts)
    return Policy(
        open_after=opening.open_after or 1,
        resolve_after=next(rule.resolve_after for rule in rules if rule.resolve_after is not None),
        warn_notifies=follows_warnings(alerts),
        warn_opens=next(rule.open_on for rule in rules if rule.open_on is not None) == "warn",
        confirm_after=None if opening.confirm is None else opening.confirm.after,
    )


def follows_warnings(alerts: Alerts) -> bool:
    """Check whether a route is for warnings that open no incident."""
    return any(route.match.outcome is not None for route in alerts.routes)


class Project:
    """A configuration with everything that is made from it."""

    def __init__(self, loaded: Loaded, clock: Clock | None = None) -> None:
        self.loaded = loaded
        self.config: Config = loaded.config
        self.clock: Clock = clock or SystemClock()
        self.faults: Sequence[Problem] = ()
        """What is wrong with sections that were not checked when the configuration was loaded, once it is known."""

    @classmethod
    def of(cls, invocation: Invocation, *, lazily: bool = False, known: str | None = None) -> "Project":
        """Load the configuration that a command was called with; `lazily` and `known` as `load_for` does.

        Raises:
            Stop: it cannot be loaded.
        """
        return cls(load_for(invocation, lazily=lazily, known=known))

    @classmethod
    def refreshed(cls, invocation: Invocation, refresh: Callable[[], str | None]) -> "Project":
        """Load the configuration with the tables that its patterns stand for now.

        `refresh` reads the catalogues, and returns what is known after that, None without patterns.

        Raises:
            Stop: it cannot be loaded.
        """
        failure = None
        try:
            project = cls.of(invocation)
            if project.loaded.texts.expansion is None:
                return project
        except Stop as stop:  # a name in it may be that of a table which is not known yet
            failure = stop
        known = refresh()
        if known is None and failure is not None:
            raise failure
        return cls.of(invocation, known=known)

    def is_whole(self) -> bool:
        """Check whether all sections are right; if not, `faults` are the errors."""
        if not self.faults:
            try:
                self.loaded.checked()
            except Stop as stop:
                self.faults = stop.problems
        return not self.faults

    def checks_of(self, table: Table) -> Sequence[Check]:
        """Return the checks of a table; none if the project is not whole."""
        return table.checks if self.is_whole() else ()

    def channel(self, name: str) -> "Channel | None":
        """Return a channel; None if there is none of this name, or the project is not whole."""
        return self.config.alerts.channels.get(name) if self.is_whole() else None

    def policy_of(self, check: Check) -> Policy:
        """Return when incidents of a check open and resolve."""
        return policy_of(check, self.config.alerts)

    def check_of(self, incident: Incident) -> "Check | None":
        """Return the check that found an incident, as it is configured now.

        None if none did, it is gone, or the project is not whole.
        """
        table = self.config.table(incident.table)
        if table is None or incident.check_id is None or not self.is_whole():
            return None
        return table.check(incident.check_id)

    def runbook(self, check: "Check") -> str | None:
        """Return what to do when a check fails: an address, or Markdown.

        That is the file that the check names, if it lies in the folder of the configuration (of a check of a team: in
        the team's) and can be read, else the check's own text.
        """
        words = (check.runbook or "").strip()
        if not is_name_of_runbook(words):
            return words or None
        folder = self._team_folders.get(id(check)) or self.loaded.home
        try:
            file = Path(os.path.realpath(folder / words))
            if not file.is_relative_to(folder):
                return words
            with file.open("rb") as stream:
                return stream.read(_LONGEST_RUNBOOK).decode("utf-8", errors="replace").strip() or words
        except (OSError, ValueError):  # it may have gone since it was checked, and an incident must be shown
            return words

    @cached_property
    def _team_folders(self) -> Mapping[int, Path]:
        """Return where the folders of teams are by the checks that are theirs, each by its identity."""
        teams = {at: self.loaded.team_of_table(at) for at in range(len(self.config.tables))}
        return {
            id(check): team.real
            for at, team in teams.items()
            if team is not None
            for check in self.config.tables[at].checks
        }

    @cached_property
    def people_tables(self) -> Mapping[str, PeopleTable]:
        """Return the tables of people by name."""
        config = self.config
        if not (config.releases or config.budgets or any(table.columns for table in config.tables)):
            return {}
        from monitor.config.people import people_tables  # few configurations have tables of people

        return people_tables(config)

    @cached_property
    def pricing(self) -> "Pricing":
        """Return what an hour of data downtime costs, table by table."""
        from monitor.config.prices import pricing_of

        return pricing_of(self.config)

    @property
    def priced(self) -> bool:
        """Check whether any rate is configured; without one, a cost is unknown, not nothing."""
        from monitor.config.prices import is_priced

        return is_priced(self.config)

    @cached_property
    def currency(self) -> "Currency":
        """Return the currency of all amounts."""
        from monitor.config.prices import Currency

        return Currency.of(self.config.cost.currency)

    def maintenance(self, names: Sequence[str]) -> "MaintenanceSpans | None":
        """Return the planned work on tables, for spans with these names; None where none is configured."""
        from monitor.config.prices import maintenance_of

        return maintenance_of(self.config, names)

    def open_store(self, *, alone: bool = False, adopt: bool = False, existing: bool = False) -> "Store":
        """Open the store, making or upgrading it where needed.

        `alone`: no other daemon uses it meanwhile, so every page of it is checked first.
        `adopt`: it belonged to this project under another name.
        `existing`: it is only read, or changed for what has to be there, so none is made.

        Raises:
            Stop: it cannot be opened.
        """
        try:
            return self.connect_store(alone=alone, adopt=adopt, existing=existing)
        except StoreMissing as error:
            hint = None if self.loaded.home == Path.cwd() else f"it is named by {self.loaded.path}"
            raise Stop(ExitCode.NOT_EVALUATED, Problem("store.missing", str(error), hint=hint)) from None
        except StoreError as error:
            raise Stop(ExitCode.NOT_EVALUATED, Problem("store", str(error))) from None

    def connect_store(self, *, alone: bool = False, adopt: bool = False, existing: bool = False) -> "Store":
        """Open the store as `open_store` does.

        Raises:
            StoreError: it cannot be opened; StoreUnavailable: it cannot be reached now.
        """
        from store import open_store  # imports a database

        store = open_store(self.config.storage.url, create=not existing, checkpoints=alone, thorough=alone)
        try:
            store.claim(self.config.project, adopt=adopt)
        except StoreError:
            store.close()
            raise
        return store

    def signature_key(self) -> bytes:
        """Return the key of the store's signatures, making it where it is a file and missing.

        Raises:
            StoreError: there is none, and none can be made.
        """
        from store import signature_key

        return signature_key(self.config.storage.url, self.config.storage.signature_key)

    @property
    def ledger_anchor(self) -> Path:
        """Return the file that vouches for the ledger of privacy budgets."""
        from store import anchor_file

        place = self.config.storage.ledger_anchor
        return anchor_file(self.config.storage.url, None if place is None else Path(place))

    def ledger(self, store: "Store") -> "StoredLedger":
        """Return the ledger of privacy budgets that is in a store."""
        from store import StoredLedger

        return StoredLedger(store, self.ledger_anchor)

    def release_ledger(self, store: "Store") -> "ReleaseLedger":
        """Return the chained facts about releases that are in a store."""
        from store import ReleaseLedger

        return ReleaseLedger(self.ledger(store), self.signature_key)

    def reload(self) -> "Project":
        """Return the project as its files are now, on the same clock.

        Raises:
            ConfigError: they have errors.
        """
        return Project(load(self.loaded.path), self.clock)

    @cached_property
    def protected_files(self) -> ProtectedFiles:
        """Return the files that no output may replace: the store's, the configuration's, and those of sources."""
        loaded = self.loaded
        files = dict.fromkeys(loaded.files, _CONFIGURATION)
        files |= dict.fromkeys(loaded.read_beside, "a file that the configuration reads")
        files |= self._files_of_store() | self._databases()
        patterns = {
            str(loaded.folder(name).absolute() / pattern): f"a file that is read by source '{name}'"
            for name, source in self.config.sources.items()
            for pattern in (source.files, None if source.delta is None else f"{source.delta}/**")
            if pattern is not None
        }
        folders = [folder for team in loaded.texts.teams for folder in patterns_of(team.folder)]
        return ProtectedFiles(files, patterns | _patterns_of(loaded.path) | dict.fromkeys(folders, _CONFIGURATION))

    def _files_of_store(self) -> dict[Path, str]:
        anchor = self.ledger_anchor
        files = {anchor: "the anchor of privacy budgets", Path(f"{anchor}.lock"): "the lock of privacy budgets"}
        store = store_file(self.config.storage.url)
        if store is not None:
            files |= {Path(f"{store}{end}"): "a file that belongs to the store" for end in COMPANIONS}
            files[store] = "the store"
        return files

    def _databases(self) -> dict[Path, str]:
        """Return the files that sources are, by URL."""
        files: dict[Path, str] = {}
        for name, source in self.config.sources.items():
            url = source.url if source.iceberg is None else source.iceberg.uri
            scheme, mark, place = (url or "").partition(":///")
            if mark and scheme.isalnum() and place:
                file = self.loaded.folder(name) / unquote(place.partition("?")[0])
                files |= {Path(f"{file}{end}"): f"a file that is read by source '{name}'" for end in ("", *COMPANIONS)}
        return files

    def table_identity(self, table: str, *, connect: bool = True) -> frozenset[str]:
        """Return the marks of a configured table: what it is, not the words of its source.

        `connect`: whether a database may be asked; without that it is known by its file or URL alone.
        """
        current = next(item for item in self.config.tables if item.name == table)
        return table_identity(self.specs[current.source], current.table or current.name, connect=connect)

    def same_tables(self, table: str, among: Iterable[str], *, connect: bool = True) -> Sequence[str]:
        """Return which other configured names are of the same table as one, or share records with it."""
        marks = self.table_identity(table, connect=connect)
        entries = [item.name for item in self.config.tables if item.name in set(among) - {table}]
        return [name for name in entries if is_same_table(marks, self.table_identity(name, connect=connect))]

    @cached_property
    def relations(self) -> Mapping[str, Mapping[str, str]]:
        """Return, per source, the tables' names in the configuration and in the source."""
        results: dict[str, dict[str, str]] = {name: {} for name in self.config.sources}
        for table in self.config.tables:
            results[table.source][table.name] = table.table or table.name
        return results

    @cached_property
    def specs(self) -> Mapping[str, SourceSpec]:
        """Return the sources by name as `sources` takes them."""
        return {name: self.source_spec(name) for name in self.config.sources}

    def source_spec(self, name: str) -> SourceSpec:
        """Return a source as `sources` takes it."""
        source = self.config.sources[name]
        return SourceSpec(
            name=name,
            base=self.loaded.folder(name),
            unset=None if (problem := self.loaded.unset.get(name)) is None else f"{problem.message}; {problem.hint}",
            files=source.files,
            delta=source.delta,
            iceberg=None if source.iceberg is None else IcebergCatalog(**dict(source.iceberg)),
            url=source.url,
            spark=source.spark,
            external=source.external is not None,
            table=source.table,
            csv=CsvOptions(**dict(source.csv)),
            file_times=None if source.file_times is None else FileTimes(**dict(source.file_times)),
            query_timeout=source.query_timeout,
            connect_timeout=source.connect_timeout,
            lock_timeout=source.lock_timeout,
            memory_limit=source.memory_limit,
            threads=source.threads,
        )


def protected_files(invocation: Invocation) -> ProtectedFiles:
    """Return the files that no output may replace, for a command that needs no configuration.

    Of a configuration that cannot be read, its own files are known; a store is recognised by its content.
    """
    try:
        return Project.of(invocation).protected_files
    except Stop:
        pass
    path = invocation.config_path
    try:
        path = path or find(Path.cwd())
        return ProtectedFiles(dict.fromkeys(files_of(path), _CONFIGURATION), _patterns_of(path))
    except ConfigError:
        return ProtectedFiles(patterns=_patterns_of(Path()))


def _patterns_of(path: Path) -> dict[str, str]:
    return dict.fromkeys(patterns_of(path), _CONFIGURATION)
