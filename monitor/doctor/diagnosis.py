"""Examine the installation, the configuration, the store and the sources; a finding has a hint how to correct it.

Each examination is a function that yields findings; none changes anything (a store of an older version is upgraded by
opening it, as by any command; a missing one is not created).
"""

import os
import platform
import shutil
import stat
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from importlib import metadata
from operator import attrgetter
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import monitor
from checks.parameters.scalars import say
from monitor.clock import SystemClock
from monitor.config import Loaded, load_for
from monitor.config.project import Project
from monitor.doctor.budgets import examine_ledger, examine_statistics
from monitor.doctor.finding import Finding, FindingStatus
from monitor.doctor.plugins import examine_plugins
from monitor.suggest.rename import hint_of, like_table
from monitor.terminal.console import progress
from monitor.terminal.output import Invocation, count
from monitor.terminal.problem import ExitCode, Problem, Stop
from monitor.terminal.redaction import Redactor
from sources import SourceError, TableNotFound, open_source
from store import CONFIRM, Discrepancy, EventComparison, StoreError, last_file, open_store, schema_problems, store_file

_OURS: Final = () if "." in monitor.__name__ else ("monitor", *monitor.PACKAGES)
_PACKAGES: Final = (*_OURS, "tablewatch", "pytest_tablewatch")
"""The packages at the top: in a wheel the others lie in `tablewatch` (ADR 82)."""
_SKEW: Final = timedelta(minutes=5)
_NO_ROOM: Final = 16_000_000
"""Bytes: less than the write-ahead log of a store may need."""
_LITTLE_ROOM: Final = 200_000_000
_RESULT_BYTES: Final = 150
"""What a result takes in the store with its indexes, rounded up: 146 in six weeks of the demo (ADR 79)."""
_SHOWN: Final = 10
"""Incidents that do not match their events, each with a finding of its own."""


def examine(invocation: Invocation, now: datetime, *, everything: bool = False) -> Sequence[Finding]:
    """Return all findings: of the installation, and of the configuration that the command was called with, if any.

    `everything`: every incident and every page of the store is checked, however large it is.
    """
    findings = [*examine_installation(), *examine_plugins()]
    try:
        loaded = load_for(invocation)
    except Stop as stop:
        first = stop.problems[0]
        if first.code == "config.not_found" and invocation.config_path is None:
            message = "no configuration here; only the installation was checked"
            return [
                *findings,
                *examine_clock(now, None),
                Finding("configuration", FindingStatus.WARNING, message, first.hint),
            ]
        more = f" (and {len(stop.problems) - 1} more)" if len(stop.problems) > 1 else ""
        message, hint = f"{first.message}{more}", "see 'tablewatch config check'"
        return [*findings, *examine_clock(now, None), Finding("configuration", FindingStatus.ERROR, message, hint)]
    text = f"{count(len(loaded.config.tables), 'table')} in {', '.join(map(str, loaded.files))}"
    findings.append(Finding("configuration", FindingStatus.OK, text))
    from_store = [*examine_store(loaded, now, everything=everything)]
    newest = next((item for item in from_store if isinstance(item, datetime)), None)
    findings += [*examine_clock(now, newest), *examine_files(loaded), *examine_channels(loaded), *examine_disks(loaded)]
    findings += [item for item in from_store if isinstance(item, Finding)]
    return [*findings, *examine_ledger(loaded), *examine_statistics(loaded), *examine_sources(loaded)]


def confirm_clock(invocation: Invocation, now: datetime) -> None:
    """Record that a person confirmed the time: what is past its retention by it may be deleted.

    Raises:
        Stop: the configuration or the store cannot be used.
    """
    try:
        with Project.of(invocation).open_store() as store, store.writing() as tx:
            monotonic, boot = SystemClock().uptime()
            tx.confirm_time(now, monotonic=monotonic, boot=boot)
    except StoreError as error:
        raise Stop(ExitCode.NOT_EVALUATED, Problem("store", str(error))) from None
    invocation.note(f"confirmed: it is {_minute(now)}; data that is past its retention is deleted from now on")


def examine_installation() -> Iterator[Finding]:
    """Examine Python, the versions of the dependencies, and that each package has one owner."""
    try:
        distribution = metadata.distribution("tablewatch")
    except metadata.PackageNotFoundError:
        hint = "install it: pip install tablewatch, or pip install -e . in a checkout"
        message = "tablewatch is not installed as a package, so its requirements cannot be checked"
        yield Finding("installation", FindingStatus.UNKNOWN, message, hint)
        yield from _packages(owner=None)
        return
    yield _python(distribution.metadata["Requires-Python"] or "")
    yield from _dependencies([Requirement(line) for line in distribution.requires or ()])
    yield from _packages(owner=distribution.metadata["Name"])


def examine_clock(now: datetime, newest: datetime | None) -> Iterator[Finding]:
    """Check that the clock is not behind this installation or the newest stored run."""
    installed = datetime.fromtimestamp(Path(monitor.__file__).stat().st_mtime, UTC)
    hint = "set the system clock; incidents need correct times"
    for what, moment in (("tablewatch was installed", installed), ("the newest stored run was made", newest)):
        if moment is not None and now < moment - _SKEW:
            message = f"the clock says {_minute(now)}, but {what} at {_minute(moment)}"
            yield Finding("clock", FindingStatus.ERROR, message, hint)
            return
    yield Finding("clock", FindingStatus.OK, f"{_minute(now)}, later than all recorded times")


def examine_files(loaded: Loaded) -> Iterator[Finding]:
    """Check that no other user can change the configuration or read passwords in it."""
    for path in loaded.files:
        mode = path.stat().st_mode
        if mode & stat.S_IWOTH:
            yield Finding("files", FindingStatus.ERROR, f"{path} is world-writable", f"chmod o-w {path}")
        elif mode & stat.S_IROTH and _holds_password(loaded.texts.texts[str(path)]):
            hint = f"use an environment variable, ${{NAME}}, or chmod o-r {path}"
            yield Finding("files", FindingStatus.WARNING, f"{path} contains a password and is world-readable", hint)
        else:
            yield Finding("files", FindingStatus.OK, f"{path} has safe permissions")


def examine_channels(loaded: Loaded) -> Iterator[Finding]:
    """Examine that the settings of alert channels can work, as far as is known without sending anything."""
    channels = loaded.config.alerts.channels
    problems = {name: channel.kind.problem(channel.settings) for name, channel in channels.items()}
    for name, problem in problems.items():
        if problem is not None:
            yield Finding("channels", FindingStatus.ERROR, f"{name}: {problem}", "change it under alerts.channels")
    if channels and not any(problems.values()):
        hint = "'tablewatch alert test CHANNEL' sends a message"
        yield Finding("channels", FindingStatus.OK, f"{count(len(channels), 'channel')} understood; {hint}")


def examine_store(loaded: Loaded, now: datetime, *, everything: bool = False) -> Iterator[Finding | datetime]:
    """Examine that the store can be reached, is whole, and agrees with its own events; gives its newest run too."""
    url = loaded.config.storage.url
    try:
        file = store_file(url)
    except StoreError as error:
        yield Finding("store", FindingStatus.ERROR, str(error))
        return
    if file is not None and not file.exists():
        parent = next(item for item in (file.absolute().parent, *file.absolute().parents) if item.exists())
        writable = os.access(parent, os.W_OK)
        message = (
            f"{file} does not exist yet; the first check creates it" if writable else f"{parent} may not be written to"
        )
        yield Finding("store", FindingStatus.OK if writable else FindingStatus.ERROR, message)
        return
    try:
        with open_store(url) as store:
            planned = store.plan_comparison(now, everything=everything)
        with (
            open_store(url, thorough=planned.is_whole) as store,
            progress("comparing incidents with their events", planned.incidents) as advance,
        ):
            compared = store.compare_incidents(planned, now, advance=advance)
            missing, schema = store.missing(), schema_problems(store)
            with store.reading() as tx:
                counts = tx.counts()
                newest = max((watch.last_run_at for watch in tx.results.watches().values()), default=None)
                a_day = sum(tx.results.count_by_status(now - timedelta(days=1), now).values())
            monotonic, boot = SystemClock().uptime()
            postponed = store.postponed(
                keep_measurements=loaded.config.storage.keep_measurements,
                keep_incidents=loaded.config.storage.keep_incidents,
                now=now,
                monotonic=monotonic,
                boot=boot,
            )
    except StoreError as error:
        yield Finding("store", FindingStatus.ERROR, str(error))
        return
    yield from _discrepancies(compared.wrong)
    if schema is None:
        hint = "GRANT CREATE ON DATABASE to its user while doctor runs"
        yield Finding("store", FindingStatus.UNKNOWN, "its schema cannot be compared: no schema can be created", hint)
    if missing is not None:
        hint = f"restore a backup; if the store was removed on purpose, remove {last_file(Path(store.name))} too"
        yield Finding("store", FindingStatus.ERROR, missing, hint)
    if not compared.wrong and missing is None:
        held = f"{count(counts.runs, 'run')}, {count(counts.incidents, 'incident')}"
        yield _consistent(store.name, compared, held)
    yield from _growth(a_day, loaded.config.storage.keep_measurements)
    if postponed is not None and (postponed.runs or postponed.incidents):
        yield Finding("retention", FindingStatus.WARNING, postponed.why, CONFIRM)
    if newest is not None:
        yield newest


def _consistent(name: str, compared: EventComparison, held: str) -> Finding:
    if compared.since is None or compared.all_at is None:
        return Finding("store", FindingStatus.OK, f"{name} is intact and consistent with its events: {held}")
    changed = f"what is stored of {count(compared.incidents, 'incident')} with events since {_minute(compared.since)}"
    when = _minute(compared.all_at)
    hint = f"every incident and page was checked on {when}; 'tablewatch doctor --full' checks all again"
    return Finding("store", FindingStatus.OK, f"{name}: {changed} agrees with them; it holds {held}", hint)


def _growth(a_day: int, kept: timedelta) -> Iterator[Finding]:
    """Yield how much space the results of the retention take if each day has as many as the last 24 hours."""
    if not a_day:
        return
    size = a_day * (kept / timedelta(days=1)) * _RESULT_BYTES
    space = f"about {size / 1e9:,.1f} GB" if size >= 1e9 else f"about {max(1, round(size / 1e6)):,} MB"
    message = f"{count(a_day, 'result')} in the last 24 hours: at this rate the results of {say(kept)} take {space}"
    yield Finding("disk", FindingStatus.OK, message, "storage.keep_measurements sets how long results are kept")


def _discrepancies(wrong: Sequence[Discrepancy]) -> Iterator[Finding]:
    for discrepancy in wrong[:_SHOWN]:
        message = f"incident {discrepancy.incident_id} does not match its events: {discrepancy.problem}"
        yield Finding("store", FindingStatus.ERROR, message, "back up the store and report this as a bug")
    if len(wrong) > _SHOWN:
        message = f"at least {len(wrong) - _SHOWN} further incidents do not match their events"
        yield Finding("store", FindingStatus.ERROR, message, "restore a backup")


def examine_disks(loaded: Loaded) -> Iterator[Finding]:
    """Examine that there is space where Tablewatch writes: for the store, for kept reports, for temporary files."""
    places: dict[str, Path] = {"temporary files": Path(tempfile.gettempdir())}
    with suppress(StoreError):  # reported by examine_store
        file = store_file(loaded.config.storage.url)
        places |= {} if file is None else {"the store": file.absolute().parent}
    for name, plan in loaded.config.report.by_frequency.items():
        recipients = (plan, *(item for parts in plan.of_parts.values() for item in parts.values()))
        folders = {item.keep for item in recipients if item.keep}
        places |= {f"{name} reports in {folder}": Path(folder).absolute() for folder in sorted(folders)}
    disks: dict[int, tuple[Path, list[str]]] = {}
    for what, place in places.items():
        folder = next(path for path in (place, *place.parents) if path.exists())
        disks.setdefault(folder.stat().st_dev, (folder, []))[1].append(what)
    for folder, uses in disks.values():
        what = ", ".join(uses)
        free = shutil.disk_usage(folder).free
        if free < _NO_ROOM:
            message = f"the disk of {folder} ({what}) is full: {free / 1e6:.1f} MB are free"
            yield Finding("disk", FindingStatus.ERROR, message, "free disk space; nothing can be written until then")
        elif free < _LITTLE_ROOM:
            message = f"the disk of {folder} ({what}) is almost full: {free / 1e6:.0f} MB are free"
            yield Finding("disk", FindingStatus.WARNING, message, "free disk space")
        else:
            yield Finding("disk", FindingStatus.OK, f"{free / 1e9:.1f} GB are free for {what}")


def examine_sources(loaded: Loaded) -> Iterator[Finding]:
    """Examine that every source can be reached and holds the tables that the configuration names."""
    project = Project(loaded)
    rows = _rows_seen(project)
    for name in (name for name, source in loaded.config.sources.items() if source.external is None):
        subject = f"source {name}"
        tables = [table for table in loaded.config.tables if table.source == name]
        try:
            with open_source(project.source_spec(name)) as source:
                there = {*source.tables(), *(table.table or table.name for table in tables)}
                free = sorted({*source.tables()} - {table.table or table.name for table in tables})
                missing = []
                for table in tables:
                    try:
                        source.table(table.table or table.name)
                    except TableNotFound as error:
                        new = like_table(source, table, free, rows.get(table.name))
                        missing.append((str(error), None if new is None else hint_of(table.name, new)))
        except SourceError as error:
            yield Finding(subject, FindingStatus.ERROR, str(error))
            continue
        yield from (Finding(subject, FindingStatus.ERROR, *text) for text in missing)
        if not missing:
            yield Finding(
                subject, FindingStatus.OK, f"holds {count(len(there), 'table')}, {len(tables)} of them monitored"
            )


def _rows_seen(project: Project) -> Mapping[str, int]:
    """Return how many rows each table had when a check counted them last; empty without a store."""
    try:
        with project.open_store(existing=True) as store, store.reading() as tx:
            results = tx.results.latest().values()
    except (Stop, StoreError):
        return {}
    pairs = [(result, result.observed.get("rows")) for result in sorted(results, key=attrgetter("measured_at"))]
    return {result.table: rows for result, rows in pairs if isinstance(rows, int)}


def _python(required: str) -> Finding:
    seen = platform.python_version()
    if SpecifierSet(required).contains(seen, prereleases=True):
        return Finding("python", FindingStatus.OK, f"{seen} ({required})")
    return Finding("python", FindingStatus.ERROR, f"{seen} is installed, {required} is needed")


def _dependencies(requirements: Sequence[Requirement]) -> Iterator[Finding]:
    current_requirements = [
        requirement
        for requirement in requirements
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    ]
    fine = True
    for current_requirement in current_requirements:
        try:
            text = metadata.version(current_requirement.name)
        except metadata.PackageNotFoundError:
            yield Finding(
                "dependencies",
                FindingStatus.ERROR,
                f"{current_requirement.name} is not installed",
                f"pip install '{current_requirement}'",
            )
            fine = False
            continue
        if not current_requirement.specifier.contains(text, prereleases=True):
            message = f"{current_requirement.name} {text} is installed, {current_requirement.specifier} is needed"
            yield Finding("dependencies", FindingStatus.ERROR, message, f"pip install '{current_requirement}'")
            fine = False
    if fine:
        yield Finding("dependencies", FindingStatus.OK, f"{count(len(current_requirements), 'requirement')} satisfied")


def _packages(owner: str | None) -> Iterator[Finding]:
    """Find other distributions that bring a package of the same name as one of ours.

    An editable installation has no owner on record: then each package must lie beside `monitor`, which importing it has
    proved, and no other owner may have it on record.
    """
    owners = _owners()
    fine = True
    for package in _PACKAGES:
        others = sorted({name for name in owners.get(package, ()) if owner is None or name != owner})
        if others:
            message = f"package '{package}' also belongs to {', '.join(others)}"
            hint = "install tablewatch in a separate virtual environment"
            yield Finding("packages", FindingStatus.ERROR, message, hint)
            fine = False
    if fine:
        root = Path(monitor.__file__).parents[monitor.__name__.count(".") + 1]
        yield Finding(
            "packages", FindingStatus.OK, f"all {len(_PACKAGES)} packages are in {root} and belong to one distribution"
        )


def _owners() -> Mapping[str, set[str]]:
    """Return the distributions that bring a package or module of the same name as one of ours.

    As `metadata.packages_distributions`, which makes a path of every file that is installed: a tenth of a second.
    """
    owners: dict[str, set[str]] = defaultdict(set)
    for distribution in metadata.distributions():
        declared = distribution.read_text("top_level.txt")
        if declared:
            names = set(declared.split())
        else:
            files = distribution.read_text("RECORD") or distribution.read_text("SOURCES.txt") or ""
            paths = (line.split(",")[0] for line in files.splitlines())
            names = {path.split("/")[0].removesuffix(".py") for path in paths if path.endswith(".py")}
        for package in names.intersection(_PACKAGES):
            owners[package].add(distribution.metadata["Name"])
    return owners


def _holds_password(text: str) -> bool:
    redact = Redactor()
    return any(redact(line) != line and "${" not in line for line in text.splitlines())


def _minute(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%MZ")
