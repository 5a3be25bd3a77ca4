"""Know what is kept of class counts before a look, and put what it found to what is kept after it.

store ──known──> target.keeper ──look──> measurement.kept ──staged──> tables to judge by ──settled──> store
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from checks import Measurement, Message, UnknownReason, unknown
from checks.classes.counts import (
    ClassChange,
    ClosedPart,
    KeptAnswer,
    KnownCounts,
    RejectedChange,
)
from checks.re_release import ReReleaseCheck
from monitor.scan.results import CheckMeasurement, CountState, TableResult, Target
from store import Staged, Store, StoredCounts, StoreError, WriteTransaction

KeyProvider = Callable[[], bytes]
"""Gives the key of signatures, or raises a StoreError that says why there is none."""

_OVERTAKEN: Final = unknown(
    UnknownReason.NO_DATA, Message("another process counted this table concurrently; the run is repeated")
)
_BELOW_ZERO: Final = unknown(
    UnknownReason.MISCONFIGURED,
    Message(
        "the changes are inconsistent with the stored counts: a group would have a negative size; the next run "
        "recounts all rows"
    ),
)
_NOT_KEPT: Final = unknown(UnknownReason.NO_DATA, Message("the stored counts cannot be read: the store is failing"))
_UNFIT: Final = {RejectedChange.OVERTAKEN: _OVERTAKEN, RejectedChange.BELOW_ZERO: _BELOW_ZERO}


def with_count_states(targets: Sequence[Target], *, store: Store, key: KeyProvider) -> Sequence[Target]:
    """Return targets what a look must know where checks keep counts; the others as they are.

    Where there is no key, or the store cannot be read, the look hears why, and those checks cannot be evaluated.
    """
    keeping = {target.subject.name: target.subject.counting for target in targets}
    wanted = [check_id for ids in keeping.values() for check_id in ids]
    secret, problem, known = b"", None, dict[str, KnownCounts]()
    try:
        if wanted:
            secret = key()
            known |= StoredCounts(store).known_counts(wanted)
    except StoreError as error:
        problem = str(error)
    closed = _closed_parts(targets, store)
    results = []
    for target in targets:
        ids = keeping[target.subject.name]
        mine = {check_id: known[check_id] for check_id in ids if check_id in known}
        keeper = CountState(secret, mine, problem, closed.get(target.subject.name))
        results.append(replace(target, keeper=keeper) if target.subject.keeps else target)
    return results


def _closed_parts(targets: Sequence[Target], store: Store) -> Mapping[str, ClosedPart]:
    """Return what is kept of rows that are no longer read; without it, all are read."""
    names = [target.subject.name for target in targets if target.subject.reads_changes]
    if not names:
        return {}
    try:
        with store.reading() as tx:
            return tx.classes.closed_parts(names)
    except StoreError:
        return {}


@dataclass(frozen=True, slots=True)
class StagedCounts:
    """Looks with what is kept put to what was found, and what is to be settled with their results."""

    batch: Sequence[TableResult]
    staged: Mapping[str, Staged]
    closed: Mapping[str, ClosedPart] = field(default_factory=dict)

    def settle(self, tx: WriteTransaction, batch: Sequence[TableResult]) -> None:
        """Let the counts hold that belong to these looks."""
        mine = [
            check_measurement.check_id
            for table_result in batch
            for check_measurement in table_result.measured
            if check_measurement.check_id in self.staged
        ]
        if mine:
            now = max(table_result.ended_at for table_result in batch)
            tx.classes.settle([self.staged[check_id] for check_id in mine], now=now)
        ids = {item.check_id for table_result in batch for item in table_result.measured}
        tx.classes.keep_closed_parts([part for check_id, part in self.closed.items() if check_id in ids])


def stage_counts(batch: Sequence[TableResult], store: Store) -> StagedCounts:
    """Write what was found of counts; nothing of it holds yet. Read what was found is compared with.

    Raises:
        StoreError: it cannot be written or read.
    """
    check_measurements = [
        check_measurement
        for table_result in batch
        for check_measurement in table_result.measured
        if _answer(check_measurement) is not None
    ]
    if not check_measurements:
        return StagedCounts(batch, {})
    closed = {item.check_id: part for item in check_measurements if isinstance(part := _answer(item), ClosedPart)}
    counts = StoredCounts(store)
    now = max(table_result.ended_at for table_result in batch)
    changes = {
        check_measurement.check_id: change
        for check_measurement in check_measurements
        if isinstance(change := _answer(check_measurement), ClassChange)
    }
    applied = counts.stage_counts(changes, now=now) if changes else {}

    def put(check_measurement: CheckMeasurement) -> CheckMeasurement:
        answer = _answer(check_measurement)
        if isinstance(answer, ClassChange):
            came = applied[check_measurement.check_id]
            return (
                replace(check_measurement, answer=_UNFIT[came])
                if isinstance(came, RejectedChange)
                else _with_sizes(check_measurement, came.sizes)
            )
        if isinstance(check_measurement.check, ReReleaseCheck) and answer is not None:
            return _with_releases(check_measurement, check_measurement.check, answer, counts)
        return _judged(check_measurement)

    staged = {check_id: came for check_id, came in applied.items() if isinstance(came, Staged)}
    return StagedCounts([_each(table_result, put) for table_result in batch], staged, closed)


def judge_without_store(batch: Sequence[TableResult]) -> Sequence[TableResult]:
    """Put to what was found what can be known without the store: where all was counted, the sizes."""

    def put(check_measurement: CheckMeasurement) -> CheckMeasurement:
        answer = _answer(check_measurement)
        if isinstance(answer, ClassChange) and answer.base is None:
            return _with_sizes(check_measurement, answer.sizes())
        is_enough = answer is None or isinstance(answer, ClosedPart)
        return _judged(check_measurement) if is_enough else replace(check_measurement, answer=_NOT_KEPT)

    return [_each(table_result, put) for table_result in batch]


def _each(table_result: TableResult, put: Callable[[CheckMeasurement], CheckMeasurement]) -> TableResult:
    return replace(table_result, measured=[put(check_measurement) for check_measurement in table_result.measured])


def _judged(check_measurement: CheckMeasurement) -> CheckMeasurement:
    """Return what is judged: without what is for the store only."""
    answer = check_measurement.answer
    if not isinstance(answer, Measurement) or answer.kept is None:
        return check_measurement
    return replace(check_measurement, answer=replace(answer, kept=None))


def _answer(check_measurement: CheckMeasurement) -> KeptAnswer | None:
    return check_measurement.answer.kept if isinstance(check_measurement.answer, Measurement) else None


def _with_sizes(check_measurement: CheckMeasurement, sizes: Iterable[tuple[int, int]]) -> CheckMeasurement:
    rows = [{"size": size, "classes": classes} for size, classes in sizes]
    return _with_tables(check_measurement, {"sizes": rows})


def _with_releases(
    check_measurement: CheckMeasurement, check: ReReleaseCheck, answer: Any, counts: StoredCounts
) -> CheckMeasurement:
    return _with_tables(check_measurement, check.compared(answer, counts.releases(check_measurement.check_id)))


def _with_tables(
    check_measurement: CheckMeasurement, tables: Mapping[str, Sequence[Mapping[str, Any]]]
) -> CheckMeasurement:
    if not isinstance(check_measurement.answer, Measurement):
        raise TypeError("only a measurement has tables")
    tables = {**check_measurement.answer.tables, **tables}
    return replace(check_measurement, answer=replace(check_measurement.answer, kept=None, tables=tables))
