"""Find what a person means by a table: one that is configured, or a file."""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from glob import escape
from pathlib import Path
from typing import Final

from checks import Check, ColumnClass, Outcome, did_you_mean
from monitor.clock import Clock
from monitor.config import ConfigError, find
from monitor.config.project import Project
from monitor.scan.results import CheckResult, Subject, Target, targets_of
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop
from sources import SourceSpec

_ENDS: Final = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
_READABLE: Final = ".csv, .tsv or .parquet"


@dataclass(frozen=True, slots=True)
class TableRef:
    """A table to ask: what the configuration says of it, or only where its file is. Its subject has no checks yet.

    `typed`: what a person typed for a file, by how messages name the link to it.
    """

    target: Target
    typed: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return what people call it."""
        return self.target.subject.name

    def classified(self, word: ColumnClass) -> tuple[str, ...]:
        """Return the columns that the configuration classifies so."""
        return tuple(column for column, column_class in self.target.subject.classified.items() if column_class is word)

    def ask(self, checks: Sequence[Check], clock: Clock) -> Sequence[CheckResult]:
        """Look at the table with these checks, and judge; nothing is remembered."""
        from monitor.scan.recorder import judge_only
        from monitor.scan.scanner import scan_source  # imports engines

        asked = tuple((f"{self.name}.{check.name}", check) for check in checks)
        target = replace(self.target, subject=replace(self.target.subject, checks=asked))
        results = judge_only(list(scan_source([target], clock=clock, plans={})), store=None)
        return [replace(result, outcome=self._as_typed(result.outcome)) for result in results]

    def _as_typed(self, outcome: Outcome) -> Outcome:
        """Return an outcome whose message names files as they were typed."""
        values = dict(outcome.message.values)
        for link, typed in self.typed.items():
            values |= {key: text.replace(link, typed) for key, text in values.items() if isinstance(text, str)}
        return replace(outcome, message=replace(outcome.message, values=values))


def table_ref_of(text: str, invocation: Invocation) -> TableRef:
    """Find a table by its name in the configuration, if there is one, else a CSV or Parquet file, or a glob of them.

    Raises:
        Stop: there is neither; or there is a configuration that has errors.
    """
    project = project_of(invocation)
    if project is not None and project.config.table(text) is not None:
        (target,) = targets_of(project, {text: ()})
        return TableRef(target)
    if is_file(text):
        _check_readable(text)
    if is_file(text) or (text.endswith(_ENDS) and set(text) & set("*?[")):
        pattern = escape(text) if is_file(text) else text
        spec = SourceSpec(name=Path(text).name, base=Path.cwd(), files=pattern, table="table")
        return TableRef(Target(Subject(text, "table", ()), spec))
    entries = [] if project is None else [table.name for table in project.config.tables]
    hint = f"use a configured table, or a {_READABLE} file"
    path = Path(text)
    if _exists(text):
        what = f"a {path.suffix} file" if path.suffix else "a file without an extension such as .csv"
        problem = f"{what} cannot be read as a table"
        hint = f"write the table as {_READABLE} first"
    elif _exists(text, folder=True):
        problem, hint = "a folder is not a table", f"name one file of it, or a pattern in quotes such as '{text}/*.csv'"
    elif text.endswith(_ENDS):
        problem = f"there is no such file{_files_beside(path)}"
    else:
        problem = f"it is neither a configured table nor a file{did_you_mean(text, entries)}"
    raise Stop(ExitCode.USAGE, Problem("risk.no_table", f"'{text}': {problem}", hint=hint))


def _check_readable(text: str) -> None:
    """Check that a file may be read and is not empty.

    Raises:
        Stop: it is not so.
    """
    if not os.access(text, os.R_OK):
        raise Stop(ExitCode.USAGE, Problem("risk.no_table", f"'{text}' cannot be read (permission denied)"))
    if not Path(text).stat().st_size:
        hint = "expected a line with the names of the columns, then one line per record"
        raise Stop(ExitCode.USAGE, Problem("risk.empty_file", f"'{text}' is empty", hint=hint))


def _files_beside(path: Path) -> str:
    """Suggest the file in the same folder that was probably meant."""
    names: list[str] = []
    with suppress(OSError):
        names = [item.name for item in path.parent.iterdir() if is_file(str(item))]
    return did_you_mean(path.name, names)


@contextmanager
def table_beside(name: str, other: str | None, invocation: Invocation) -> Iterator[TableRef]:
    """Yield a table whose checks may ask another one too (None: no other): of one configured source, or two files.

    Raises:
        Stop: they are neither; or one of them is not found.
    """
    if other is None:
        yield table_ref_of(name, invocation)
    elif is_file(name) and is_file(other):
        _check_readable(name)
        _check_readable(other)
        with tempfile.TemporaryDirectory(prefix="tablewatch-") as folder:
            links = [_linked(Path(folder), link, path) for link, path in (("a", name), ("b", other))]
            typed = {f"source 'files': '{link}'": f"'{path}'" for link, path in zip(links, (name, other), strict=True)}
            spec = SourceSpec(name="files", base=Path(folder), files="*")
            yield TableRef(Target(Subject(name, "a", (), relations={other: "b"}), spec), typed)
    else:
        target, other_target = table_ref_of(name, invocation).target, table_ref_of(other, invocation).target
        if target.source != other_target.source:
            message = f"'{name}' and '{other}' are in different sources, so they cannot be compared"
            hint = "use two tables of the same source, or two files"
            raise Stop(ExitCode.USAGE, Problem("risk.two_sources", message, hint=hint))
        subject = replace(target.subject, relations={other: other_target.subject.relation})
        yield TableRef(replace(target, subject=subject))


def project_of(invocation: Invocation) -> Project | None:
    """Return the project, if a configuration was named or lies here.

    Raises:
        Stop: it has errors.
    """
    if invocation.config_path is None:
        try:
            find(Path.cwd())
        except ConfigError as error:
            if error.problems[0].code == "config.not_found":
                return None
    return Project.of(invocation)


def is_file(text: str) -> bool:
    """Check whether it is the path of a file that can be read as a table."""
    return text.endswith(_ENDS) and _exists(text)


def _exists(path: str, *, folder: bool = False) -> bool:
    """Check whether there is such a file or folder; a name that is too long is none, where `Path` raises OSError."""
    return os.path.isdir(path) if folder else os.path.isfile(path)  # noqa: PTH112, PTH113 - as said


def _linked(folder: Path, name: str, text: str) -> str:
    """Link a file into a folder under a name of its own, and return that with its ending."""
    end = next(end for end in sorted(_ENDS, key=len, reverse=True) if text.endswith(end))
    (folder / f"{name}{end}").symlink_to(Path(text).resolve())
    return f"{name}{end}"
