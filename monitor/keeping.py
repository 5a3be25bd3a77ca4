"""Know what is kept of class counts before a look, and put what it found to what is kept after it.

store ──known──> target.keeper ──look──> measurement.kept ──staged──> tables to judge by ──settled──> store
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from checks import Measurement, Message, UnknownReason, unknown
from checks._counts import ClassChange, KnownCounts, PersonPairs, Unfit
from checks._releases import compared
from monitor.looked import Looked, Measured
from monitor.target import Keeper, Target
from store import Book, Staged, Store, StoredCounts, StoreError

Key = Callable[[], bytes]
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


def with_keepers(targets: Sequence[Target], *, store: Store, key: Key) -> Sequence[Target]:
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
        found.append(replace(target, keeper=Keeper(secret, mine, problem)) if ids else target)
    return found


def _keeping(target: Target) -> Sequence[str]:
    return [check_id for check_id, check in target.subject.checks if check.keeps]


@dataclass(frozen=True, slots=True)
class Kept:
    """Looks with what is kept put to what was found, and what is to be settled with their results."""

    batch: Sequence[Looked]
    staged: Mapping[str, Staged]

    def settle(self, book: Book, looked: Sequence[Looked]) -> None:
        """Let the counts hold that belong to these looks."""
        mine = [one.check_id for each in looked for one in each.measured if one.check_id in self.staged]
        if mine:
            now = max(each.ended_at for each in looked)
            book.settle_counts([self.staged[check_id] for check_id in mine], now=now)


def keep(batch: Sequence[Looked], store: Store) -> Kept:
    """Write what was found of counts; nothing of it holds yet. Read what was found is compared with.

    Raises:
        StoreError: it cannot be written or read.
    """
    found = [one for looked in batch for one in looked.measured if _answer(one) is not None]
    if not found:
        return Kept(batch, {})
    counts = StoredCounts(store)
    now = max(looked.ended_at for looked in batch)
    changes = {one.check_id: change for one in found if isinstance(change := _answer(one), ClassChange)}
    applied = counts.stage_counts(changes, now=now) if changes else {}

    def put(one: Measured) -> Measured:
        answer = _answer(one)
        if isinstance(answer, ClassChange):
            came = applied[one.check_id]
            return replace(one, answer=_UNFIT[came]) if isinstance(came, Unfit) else _with_sizes(one, came.sizes)
        if isinstance(answer, PersonPairs):
            return _with_releases(one, answer, counts)
        return one

    staged = {check_id: came for check_id, came in applied.items() if isinstance(came, Staged)}
    return Kept([_each(looked, put) for looked in batch], staged)


def judge_unkept(batch: Sequence[Looked]) -> Sequence[Looked]:
    """Put to what was found what can be known without the store: where all was counted, the sizes."""

    def put(one: Measured) -> Measured:
        answer = _answer(one)
        if isinstance(answer, ClassChange) and answer.base is None:
            return _with_sizes(one, answer.sizes())
        return one if answer is None else replace(one, answer=_NOT_KEPT)

    return [_each(looked, put) for looked in batch]


def _each(looked: Looked, put: Callable[[Measured], Measured]) -> Looked:
    return replace(looked, measured=[put(one) for one in looked.measured])


def _answer(one: Measured) -> ClassChange | PersonPairs | None:
    return one.answer.kept if isinstance(one.answer, Measurement) else None


def _with_sizes(one: Measured, sizes: Iterable[tuple[int, int]]) -> Measured:
    return _with_table(one, "sizes", [{"size": size, "classes": classes} for size, classes in sizes])


def _with_releases(one: Measured, pairs: PersonPairs, counts: StoredCounts) -> Measured:
    return _with_table(one, "releases", compared(pairs, counts.releases(one.check_id)))


def _with_table(one: Measured, name: str, rows: Sequence[Mapping[str, Any]]) -> Measured:
    if not isinstance(one.answer, Measurement):
        raise TypeError("only a measurement has tables")
    return replace(one, answer=replace(one.answer, kept=None, tables={**one.answer.tables, name: rows}))
