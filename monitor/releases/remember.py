"""Remember the people of a table when it is exported, so that later releases are compared with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from checks import Measurement, Outcome, SegmentedMeasurement
from checks.classes.counts import KnownRelease, PersonPairs
from checks.risk.compared_releases import ReleasedRows
from monitor.config.project import Project
from monitor.scan.incremental import with_count_states
from monitor.scan.results import targets_of
from monitor.scan.scanner import scan_source
from store import RememberedPersons, Store, StoredCounts, WriteTransaction

RE_RELEASE: Final = "re_release"


class ReleaseNotStored(Exception):
    """A release cannot be remembered: the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class RememberedRelease:
    """What was remembered under a check: `rows` with a person, and `unnamed` ones, which are left out.

    `problem` says why nothing was.
    """

    check_id: str
    name: str
    released_at: datetime
    rows: int = 0
    unnamed: int = 0
    problem: str | None = None


def remember_release(
    project: Project, store: Store, *, table: str, name: str, actor: str
) -> Sequence[RememberedRelease]:
    """Remember a configured table as a release, under each of its checks `re_release`; signatures only.

    Raises:
        NotRemembered: there is no such table or check, or the table cannot be read for any of them.
        StoreConflict: a release of this name is remembered already. StoreError: it cannot be written.
    """
    configured = project.config.table(table)
    if configured is None:
        raise ReleaseNotStored(f"table '{table}' is not configured; releases need a configured table")
    checks = [check.name for check in configured.checks if check.type == RE_RELEASE]
    if not checks:
        raise ReleaseNotStored(
            f"table '{table}' has no check of type {RE_RELEASE}; add one: it declares the person columns"
        )
    targets = with_count_states(targets_of(project, {table: checks}), store=store, key=project.signature_key)
    (table_result,) = scan_source(targets, clock=project.clock, plans={})
    results = {
        check_measurement.check_id: _pairs(check_measurement.answer) for check_measurement in table_result.measured
    }
    problems = [pairs for pairs in results.values() if isinstance(pairs, str)]
    if len(problems) == len(results):
        raise ReleaseNotStored(problems[0])
    remembered = []
    for check_id, pairs in results.items():
        if isinstance(pairs, str):
            remembered.append(RememberedRelease(check_id, name, table_result.started_at, problem=pairs))
            continue
        _remember(
            project, store, RememberedPersons(check_id, KnownRelease(name, table_result.started_at, pairs)), actor
        )
        remembered.append(RememberedRelease(check_id, name, table_result.started_at, pairs.rows, pairs.unnamed))
    return remembered


def _remember(project: Project, store: Store, persons: RememberedPersons, actor: str) -> None:
    number, ledger = StoredCounts(store).write_release(persons.subject, persons.release), project.release_ledger(store)

    def end(tx: WriteTransaction) -> None:
        ledger.append_persons(tx, persons, actor=actor, now=project.clock.now())
        tx.releases.end(number)

    ledger.write(end)


def _pairs(answer: Measurement | SegmentedMeasurement | Outcome) -> PersonPairs | str:
    """Return what is to be remembered, or why nothing can be."""
    if isinstance(answer, Outcome):
        return f"the table cannot be read: {answer.message}"
    kept = None if isinstance(answer, SegmentedMeasurement) else answer.kept
    pairs = kept.pairs() if isinstance(kept, ReleasedRows) else None
    if pairs is None or not pairs.rows:
        return "the person columns are NULL in every row; such a release cannot be compared"
    return pairs
