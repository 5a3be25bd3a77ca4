"""Write changes of class counts in many short transactions; nothing of it holds until it is settled.

    begin ──> differences of parts, of all together, a few thousand rows at a time ──> settle, with the result

A crash in between leaves rows of a draft that never held: they are read as what held before. A state that never became
current is taken by retention.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain, islice
from time import monotonic
from typing import Any, Final, TypeAlias, TypeVar

from checks.classes.arrays import np, npt
from checks.classes.counts import ClassChange, ClassCounts, KnownCounts, KnownRelease, PartCounts, RejectedChange
from checks.classes.pairs import CLASS_VALUE, SignaturePairs
from store._class_repository import WHOLE_TABLE, Draft, Shard, Staged, part_rows
from store._store import Store
from store._transaction import WriteTransaction
from store._values import current_name

BITS: Final = 9
"""The counts of a whole table lie in 512 rows, by the first bits of their signatures."""
_SHARDS: Final = 32
"""Rows of packed counts that are written at a time; one has at most about 8,000 counts of a whole table."""
_MOST_RUNS: Final = 8
_LONGEST_RUN: Final = 250_000
"""Counts in a run, which is written at once."""
_ROWS: Final = 4_000
"""Other rows that are written at a time."""
_LONGEST_S: Final = 0.25
"""Others wait no longer for the store than this, and the time for one write more."""

T = TypeVar("T")
_Step: TypeAlias = Callable[[WriteTransaction], None]
_PAUSE: Final = None
"""In place of a step: the next one is slow and must not hold the store's lock."""


class StoredCounts:
    """The class counts and releases of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def known_counts(self, subjects: Iterable[str]) -> Mapping[str, KnownCounts]:
        """Return what is kept, by subject."""
        with self._store.reading() as tx:
            return tx.classes.known_counts(subjects)

    def stage_counts(
        self, changes: Mapping[str, ClassChange], *, now: datetime
    ) -> Mapping[str, Staged | RejectedChange]:
        """Write changes, by subject; settle them in the transaction that remembers the result.

        Raises:
            StoreError: a part may be written, and never holds.
        """
        stagings = {subject: _Staging(subject, change, now) for subject, change in changes.items()}
        in_turns(self._store, chain.from_iterable(staging.steps() for staging in stagings.values()))
        return {subject: staging.result() for subject, staging in stagings.items()}

    def releases(self, subject: str) -> Sequence[KnownRelease]:
        """Return the earlier releases that are remembered under a subject and its former names, the oldest first."""
        with self._store.reading() as tx:
            changes = tx.ledger.name_changes()
            subjects = [name for name in tx.releases.subjects() if subject in {name, current_name(name, changes)}]
            releases = [release for name in subjects for release in tx.releases.of_subject(name)]
        return sorted(releases, key=lambda release: release.released_at)

    def write_release(self, subject: str, release: KnownRelease) -> int:
        """Write a release under a subject, and return its number; readers do not see it before `ReleaseWriter.end`.

        Raises:
            StoreConflict: one of that name is remembered already.
        """
        started: list[int] = []
        rows = ((*pair, copies) for pair, copies in release.pairs.counts().items())
        triples = release.pairs.values or b""
        values = (triples[at : at + CLASS_VALUE] for at in range(0, len(triples), CLASS_VALUE))

        def steps() -> Iterator[_Step]:
            yield lambda tx: started.append(tx.releases.begin(subject, release))
            for portion in _portions(rows, _ROWS):
                yield partial(_add_released, started=started, rows=portion)
            for triple in _portions(values, _ROWS):
                yield partial(_add_released_values, started=started, rows=triple)

        in_turns(self._store, steps())
        return started[0]


def in_turns(store: Store, steps: Iterator[_Step | None]) -> None:
    """Run steps in few short transactions; each step is requested once those before are done."""
    for step in steps:
        if step is not _PAUSE:
            with store.writing() as tx:
                _do(tx, chain([step], steps))


def _do(tx: WriteTransaction, steps: Iterator[_Step | None]) -> None:
    until = monotonic() + _LONGEST_S
    for step in steps:
        if step is _PAUSE:
            return
        step(tx)
        if monotonic() >= until:
            return


class _Staging:
    """One change on its way into the store."""

    def __init__(self, subject: str, change: ClassChange, now: datetime) -> None:
        self._subject, self._change, self._now = subject, change, now
        self._draft: Draft | None = None
        self._unfit: RejectedChange | None = None
        self._sizes: dict[int, int] = {}
        self._whole = SignaturePairs()
        self._differences: list[SignaturePairs] = []
        self._runs: list[SignaturePairs] = []
        self._is_folded = False

    def result(self) -> Staged | RejectedChange:
        """Return what came of it."""
        if self._unfit is not None or self._draft is None:
            return self._unfit or RejectedChange.OVERTAKEN
        sizes = tuple(sorted((size, classes) for size, classes in self._sizes.items() if classes))
        return Staged(self._subject, self._draft, self._change, sizes, self._is_folded)

    def steps(self) -> Iterator[_Step | None]:
        """Yield the steps; the later ones follow from what the earlier ones found."""
        if self._change.base is None:
            yield _PAUSE
            self._whole = self._change.totals()
            self._sizes = dict(self._whole.sizes())
        yield self._begin
        if self._draft is not None and self._draft.is_first:
            yield from self._fill()
        elif self._draft is not None:
            yield from self._differ()

    def _begin(self, tx: WriteTransaction) -> None:
        draft = tx.classes.begin(self._subject, self._change, now=self._now)
        if isinstance(draft, RejectedChange):
            self._unfit = draft
            return
        self._draft = draft
        if not draft.is_first:
            self._sizes = tx.classes.sizes(draft.state)

    def _fill(self) -> Iterator[_Step | None]:
        """Write all counts of a state that no reader uses yet."""
        for rows in _portions(part_rows(self._change), _ROWS):
            yield partial(self._write_parts, rows=rows)
        whole = (Shard(WHOLE_TABLE, number, pairs, SignaturePairs()) for number, pairs in self._whole.shards(BITS))
        parts = (Shard(part.name, 0, part.pairs, SignaturePairs()) for part in self._change.parts)
        for shards in _portions(chain(whole, parts), _SHARDS):
            yield partial(self._write, shards=shards)

    def _differ(self) -> Iterator[_Step | None]:
        """Write what differs from the counts that hold."""
        self._differences = [self._change.added]
        for part in self._change.parts:
            yield partial(self._replace, part=part)
        yield self._read_runs
        yield _PAUSE
        difference = SignaturePairs.added(*self._differences)
        self._is_folded = self._folds(len(difference))
        new = dict(difference.shards(BITS))
        added = dict(SignaturePairs.added(difference, *self._runs).shards(BITS)) if self._is_folded else new
        for numbers in _portions(sorted(new.keys() | added.keys()), _SHARDS):
            changes = {number: new[number] for number in numbers if number in new}
            yield partial(
                self._add, changes=changes, added={number: added.get(number, SignaturePairs()) for number in numbers}
            )
            if self._unfit is RejectedChange.BELOW_ZERO:
                yield self._abandon
                return
        if not self._is_folded and len(difference):
            yield partial(self._write, shards=[Shard(WHOLE_TABLE, -self._of().number, SignaturePairs(), difference)])

    def _folds(self, more: int) -> bool:
        """Check whether runs are folded into the shards: each look reads them, so they must not grow for ever."""
        is_long = more > _LONGEST_RUN or more + sum(map(len, self._runs)) > sum(self._sizes.values())
        return is_long or len(self._runs) >= _MOST_RUNS

    def _write_parts(self, tx: WriteTransaction, rows: Sequence[Mapping[str, Any]]) -> None:
        tx.classes.add_parts(self._of(), rows)

    def _replace(self, tx: WriteTransaction, part: PartCounts) -> None:
        """Write what a part differs by from what holds of it."""
        held = SignaturePairs.joined(shard.counts for shard in tx.classes.shards_in(self._of(), part.name, [0]))
        difference = SignaturePairs.added(part.pairs, held.negative)
        self._differences.append(difference)
        if len(difference):
            self._write(tx, [Shard(part.name, 0, held, difference)])

    def _read_runs(self, tx: WriteTransaction) -> None:
        self._runs = tx.classes.runs_of(self._of())

    def _add(
        self, tx: WriteTransaction, changes: Mapping[int, SignaturePairs], added: Mapping[int, SignaturePairs]
    ) -> None:
        """Add up how the sizes of classes change in some shards; where runs are folded, write these shards again.

        `changes`: what the change adds to them. `added`: what is to be added to what is stored of them.
        """
        stored = {shard.number: shard for shard in tx.classes.shards_in(self._of(), WHOLE_TABLE, list(added))}
        every = SignaturePairs.joined(changes.values())
        before = sum((run.of_each(every) for run in self._runs), _stored_of_each(changes, stored))
        after = before + every.numbers()
        if (after < 0).any():
            self._unfit = RejectedChange.BELOW_ZERO
            return
        for sizes, sign in ((before, -1), (after, 1)):
            for size, classes in zip(*np.unique(sizes, return_counts=True), strict=True):
                self._sizes[int(size)] = self._sizes.get(int(size), 0) + sign * int(classes)
        self._sizes.pop(0, None)
        if self._is_folded:
            entries = {number: shard.counts for number, shard in stored.items()}
            shards = [
                Shard(WHOLE_TABLE, number, entries.get(number, SignaturePairs()), more)
                for number, more in added.items()
            ]
            self._write(tx, shards)

    def _write(self, tx: WriteTransaction, shards: Sequence[Shard]) -> None:
        if self._unfit is None and tx.classes.is_overtaken(self._of()):
            self._unfit = RejectedChange.OVERTAKEN
        if self._unfit is None:
            tx.classes.write_shards(self._of(), shards)

    def _abandon(self, tx: WriteTransaction) -> None:
        tx.classes.abandon(self._of().state)

    def _of(self) -> Draft:
        if self._draft is None:
            raise RuntimeError("a change is written before it was begun")
        return self._draft


def _add_released(tx: WriteTransaction, started: Sequence[int], rows: Sequence[tuple[bytes, bytes, int]]) -> None:
    tx.releases.add_rows(started[0], rows)


def _add_released_values(tx: WriteTransaction, started: Sequence[int], rows: Sequence[bytes]) -> None:
    tx.releases.add_values(started[0], rows)


def _stored_of_each(
    signature_pairs: Mapping[int, SignaturePairs], stored: Mapping[int, Shard]
) -> npt.NDArray[np.int64]:
    """Return the stored count of each signature that is wanted, shard after shard."""
    results = [np.zeros(0, dtype=np.int64)]
    for number, pairs in signature_pairs.items():
        parts = (stored[number].held, stored[number].pending) if number in stored else (SignaturePairs(),)
        results.append(np.sum([part.of_each(pairs) for part in parts], axis=0))
    return np.concatenate(results)


def _portions(rows: Iterable[T], size: int) -> Iterator[Sequence[T]]:
    left = iter(rows)
    while portion := list(islice(left, size)):
        yield portion


_KEEPS: type[ClassCounts] = StoredCounts
