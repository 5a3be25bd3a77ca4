"""Know what is kept of class counts before a look, and put what it found to what is kept after it.

store ──known──> target.keeper ──look──> measurement.kept ──staged──> tables to judge by ──settled──> store
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from checks import Measurement, Message, UnknownReason, unknown
from checks._counts import ClassChange, KnownCounts, PersonPairs, Unfit
from checks._releases import compared
from monitor.looked import TableResult, CheckMeasurement
from monitor.target import CountState, Target
from store import Book, Staged, Store, StoredCounts, StoreError

KeyProvider = Callable[[], bytes]
"""Gives the key of signatures, or raises a StoreError that says why there is none."""

_OVERTAKEN: Final = unknown(
    UnknownReason.NO_DATA, Message("another process counted this table at the same time; it is looked at again")
)
_BELOW_ZERO: Final = unknown(
    UnknownReason.MISCONFIGURED,
    Message(
        "the changes do not fit the counts that are kept: a group would have fewer than no rows; the next run "
        "counts all rows anew"
    ),
)
_NOT_KEPT: Final = unknown(UnknownReason.NO_DATA, Message("the counts that are kept cannot be read: the store fails"))
_UNFIT: Final = {Unfit.OVERTAKEN: _OVERTAKEN, Unfit.BELOW_ZERO: _BELOW_ZERO}


def with_count_states(targets: Sequence[Target], *, store: Store, key: KeyProvider) -> Sequence[Target]:
    """Give targets what a look must know where checks keep counts; the others as they are.

    Where there is no key, or the store cannot be read, the look hears why, and those checks cannot be evaluated.
    """
    keeping = {target.subject.name: _keeping(target) for target in targets}
    wanted = [check_id for ids in keeping.values() for check_id in ids]
    if not wanted:
        return targets
    secret, problem, known = b"", None, dict[str, KnownCounts]()
    try:
        secret = key()
        known |= StoredCounts(store).known_counts(wanted)
    except StoreError as error:
        problem = str(error)
    found = []
    for target in targets:
        ids = keeping[target.subject.name]
        mine = {check_id: known[check_id] for check_id in ids if check_id in known}
        found.append(replace(target, keeper=CountState(secret, mine, problem)) if ids else target)
    return found


def _keeping(target: Target) -> Sequence[str]:
    return [check_id for check_id, check in target.subject.checks if check.keeps]


@dataclass(frozen=True, slots=True)
class StagedCounts:
    """Looks with what is kept put to what was found, and what is to be settled with their results."""

    batch: Sequence[TableResult]
    staged: Mapping[str, Staged]

    def settle(self, book: Book, looked: Sequence[TableResult]) -> None:
        """Let the counts hold that belong to these looks."""
        mine = [one.check_id for each in looked for one in each.measured if one.check_id in self.staged]
        if mine:
            now = max(each.ended_at for each in looked)
            book.settle_counts([self.staged[check_id] for check_id in mine], now=now)


def stage_counts(batch: Sequence[TableResult], store: Store) -> StagedCounts:
    """Write what was found of counts; nothing of it holds yet. Read what was found is compared with.

    Raises:
        StoreError: it cannot be written or read.
    """
    found = [one for looked in batch for one in looked.measured if _answer(one) is not None]
    if not found:
        return StagedCounts(batch, {})
    counts = StoredCounts(store)
    now = max(looked.ended_at for looked in batch)
    changes = {one.check_id: change for one in found if isinstance(change := _answer(one), ClassChange)}
    applied = counts.stage_counts(changes, now=now) if changes else {}

    def put(one: CheckMeasurement) -> CheckMeasurement:
        answer = _answer(one)
        if isinstance(answer, ClassChange):
            came = applied[one.check_id]
            return replace(one, answer=_UNFIT[came]) if isinstance(came, Unfit) else _with_sizes(one, came.sizes)
        if isinstance(answer, PersonPairs):
            return _with_releases(one, answer, counts)
        return one

    staged = {check_id: came for check_id, came in applied.items() if isinstance(came, Staged)}
    return StagedCounts([_each(looked, put) for looked in batch], staged)


def judge_without_store(batch: Sequence[TableResult]) -> Sequence[TableResult]:
    """Put to what was found what can be known without the store: where all was counted, the sizes."""

    def put(one: CheckMeasurement) -> CheckMeasurement:
        answer = _answer(one)
        if isinstance(answer, ClassChange) and answer.base is None:
            return _with_sizes(one, answer.sizes())
        return one if answer is None else replace(one, answer=_NOT_KEPT)

    return [_each(looked, put) for looked in batch]


def _each(looked: TableResult, put: Callable[[CheckMeasurement], CheckMeasurement]) -> TableResult:
    return replace(looked, measured=[put(one) for one in looked.measured])


def _answer(one: CheckMeasurement) -> ClassChange | PersonPairs | None:
    return one.answer.kept if isinstance(one.answer, Measurement) else None


def _with_sizes(one: CheckMeasurement, sizes: Iterable[tuple[int, int]]) -> CheckMeasurement:
    return _with_table(one, "sizes", [{"size": size, "classes": classes} for size, classes in sizes])


def _with_releases(one: CheckMeasurement, pairs: PersonPairs, counts: StoredCounts) -> CheckMeasurement:
    return _with_table(one, "releases", compared(pairs, counts.releases(one.check_id)))


def _with_table(one: CheckMeasurement, name: str, rows: Sequence[Mapping[str, Any]]) -> CheckMeasurement:
    if not isinstance(one.answer, Measurement):
        raise TypeError("only a measurement has tables")
    return replace(one, answer=replace(one.answer, kept=None, tables={**one.answer.tables, name: rows}))
