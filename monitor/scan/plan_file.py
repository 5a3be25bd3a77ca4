"""Keep plans from process to process, in a file beside the store: a second `check` runs SQL at once (ADR 90).

A plan is taken from the file only for the same checks of a table with the same columns, planned by the same versions of
the product, Ibis and sqlglot; the file counts as absent where another user owns it or may write it. It holds SQL as the
configuration leads to it and no value of a table; a plan with a secret of the configuration is not written.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from checks import Earlier, Wants
from monitor.scan.results import Subject
from monitor.scan.sql_template import SqlTemplate, TimeForms, TimeLiterals
from monitor.scan.table_plan import PlannedQuery, Relatives, TablePlan
from sources import Source, SourceError
from store import NO_LINKS

PLANS: Final = ".plans"
"""What the name of the file ends with, after that of the store."""
_LARGEST: Final = 256 * 1024 * 1024
"""Bytes that are read; a larger file counts as absent."""
_PLANNING: Final = ("checks", "sources", "monitor/scan")
"""Folders whose code decides what a plan is."""


@dataclass(frozen=True, slots=True)
class KeptWants:
    """What a check wants beside statements."""

    grouped_by: tuple[str, ...] = ()
    schema: bool = False
    estimate: bool = False
    newest: str | None = None
    last_write: bool = False
    earlier: Earlier | None = None


@dataclass(frozen=True, slots=True)
class KeptPlan:
    """A plan as the file holds it; `key` is the digest of what it was made for."""

    key: str
    wants: Mapping[str, KeptWants]
    fused: SqlTemplate | None
    columns: Mapping[str, Mapping[str, str]]
    queries: tuple[PlannedQuery, ...]
    counts: tuple[PlannedQuery, ...]
    union_queries: tuple[Relatives, ...]

    @classmethod
    def of(cls, key: str, plan: TablePlan) -> KeptPlan | None:
        """Return what is kept of a plan; None of one that is more than statements of whole tables."""
        wants = {check_id: _kept_wants(wanted) for check_id, wanted in plan.wants.items()}
        if plan.refused or plan.parts is not None or plan.segments or None in wants.values():
            return None
        known = {check_id: wanted for check_id, wanted in wants.items() if wanted is not None}
        return cls(key, known, plan.fused, plan.columns, plan.queries, plan.counts, plan.union_queries)

    def plan(self, subject: Subject) -> TablePlan:
        """Return the plan of the table that it was made for."""
        wants = {
            check_id: Wants(
                grouped_by=kept.grouped_by,
                schema=kept.schema,
                estimate=kept.estimate,
                newest=kept.newest,
                last_write=kept.last_write,
                earlier=kept.earlier,
            )
            for check_id, kept in self.wants.items()
        }
        return TablePlan(subject, wants, {}, self.fused, self.columns, self.queries, self.counts, self.union_queries)

    @property
    def statements(self) -> Iterator[str]:
        """Yield the text of each statement."""
        if self.fused is not None:
            yield self.fused.sql
        yield from (query.template.sql for query in (*self.queries, *self.counts))
        yield from (union.template.sql for union in self.union_queries)


def _kept_wants(wants: Wants) -> KeptWants | None:
    """Return what a check wants beside statements; None where that is more than a file can hold."""
    kept = KeptWants(wants.grouped_by, wants.schema, wants.estimate, wants.newest, wants.last_write, wants.earlier)
    rest = replace(wants, grouped_by=(), schema=False, estimate=False, newest=None, last_write=False, earlier=None)
    return kept if rest == Wants() else None


@dataclass(frozen=True, slots=True)
class PlanPage:
    """The file's content: what planned, how engines write times, and the plans by table."""

    planner: str
    times: TimeForms
    plans: Mapping[str, KeptPlan]


@dataclass
class PlanFile:
    """The plans that were made before, and those that are made now. Threads of several sources use it at once.

    `hides` masks the secrets of the configuration in a text.
    """

    path: Path
    hides: Callable[[str], str] = str
    _plans: dict[str, KeptPlan] = field(default_factory=dict)
    _keys: dict[str, str | None] = field(default_factory=dict)
    _is_changed: bool = False

    @classmethod
    def read(cls, path: Path, hides: Callable[[str], str] = str) -> PlanFile:
        """Return the plans of a file; none where it is absent, not ours, of other versions or not readable."""
        page = _page_of(path)
        if page is None:
            return cls(path, hides)
        TimeLiterals.know(page.times)
        return cls(path, hides, dict(page.plans))

    def find(self, subject: Subject, source: Source) -> TablePlan | None:
        """Return the plan that was made for these checks of this table; None where there is none, or it is another."""
        kept, key = self._plans.get(subject.name), _key_of(subject, source)
        self._keys[subject.name] = key
        return None if kept is None or kept.key != key else kept.plan(subject)

    def keep(self, plan: TablePlan, source: Source) -> None:
        """Take in a plan that was made since `find`, unless the table was changed meanwhile."""
        subject = plan.subject
        key = None if subject.is_past or subject.keeps else _key_of(subject, source)
        key = key if key == self._keys.get(subject.name) else None
        kept = None if key is None else KeptPlan.of(key, plan)
        if kept is not None and all(self.hides(sql) == sql for sql in kept.statements):
            self._plans[subject.name], self._is_changed = kept, True

    def write(self, tables: Collection[str]) -> None:
        """Write the plans of these tables, if any is new. A file that cannot be written is left as it is."""
        if not self._is_changed:
            return
        plans = {name: kept for name, kept in self._plans.items() if name in tables}
        text = _adapter().dump_json(PlanPage(_planner(), TimeLiterals.known(), plans))
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        with suppress(OSError):  # a folder that cannot be written to keeps no plans
            try:
                with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINKS, 0o600), "wb") as file:
                    file.write(text)
                draft.replace(self.path)
            finally:
                draft.unlink(missing_ok=True)


@cache
def _adapter() -> TypeAdapter[PlanPage]:
    return TypeAdapter(PlanPage)


def _page_of(path: Path) -> PlanPage | None:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | NO_LINKS | os.O_NONBLOCK), "rb") as file:
            found = os.fstat(file.fileno())
            is_ours = found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            if not (is_ours and stat.S_ISREG(found.st_mode) and found.st_size <= _LARGEST):
                return None
            page = _adapter().validate_json(file.read())
    except (OSError, ValidationError):
        return None
    return page if page.planner == _planner() else None


def _key_of(subject: Subject, source: Source) -> str | None:
    """Return a digest of all that a plan depends on; None where the catalogue does not say it."""
    referred = {subject.relations.get(name, name) for _, check in subject.checks for name in check.refers_to}
    try:
        layouts = [source.layout(name) for name in (subject.relation, *sorted(referred))]
    except SourceError:  # planning says what is wrong
        return None
    if any(layout is None for layout in layouts):
        return None
    return sha256(repr((source.dialect, subject, layouts)).encode()).hexdigest()


@cache
def _planner() -> str:
    """Return which code plans: the versions, and of a checkout also when its files were changed."""
    folder = Path(__file__).parents[2]
    files = [file for name in _PLANNING for file in sorted((folder / name).rglob("*.py"))]
    changed = [(file.name, file.stat().st_mtime_ns) for file in files]
    versions = [version(name) for name in ("ibis-framework", "sqlglot")]
    with suppress(PackageNotFoundError):  # a folder of sources that was not installed
        versions.append(version("tablewatch"))
    return sha256(repr((versions, changed)).encode()).hexdigest()
