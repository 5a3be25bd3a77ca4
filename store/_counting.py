"""Write changes of class counts in many short transactions; nothing of it holds until it is settled.

    begin ──> differences of parts, of all together, a few thousand rows at a time ──> settle, with the result

A crash in between leaves rows of a draft that never held: they are read as what held before. A state that never became
current is taken by retention.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain, islice
from time import monotonic
from typing import Any, Final, TypeAlias, TypeVar

from checks._counts import SIGNATURE, ClassChange, ClassCounts, KnownCounts, Pairs, PartCounts, Release, Unfit
from store._book import Book
from store._class_counts import WHOLE_TABLE, Delta, Draft, Staged, part_rows
from store._store import Store

_ROWS: Final = 4_000
"""Rows that are written at a time."""
_LONGEST_S: Final = 0.25
"""Others wait no longer for the store than this, and the time for one write more."""

T = TypeVar("T")
_Step: TypeAlias = Callable[[Book], None]
_PAUSE: Final = None
"""In place of a step: what comes next takes its time, and nobody is to wait for the store meanwhile."""


class StoredCounts:
    """The class counts and releases of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def known_counts(self, subjects: Iterable[str]) -> Mapping[str, KnownCounts]:
        """Give what is kept, by subject."""
        with self._store.reading() as view:
            return view.known_counts(subjects)

    def stage_counts(self, changes: Mapping[str, ClassChange], *, now: datetime) -> Mapping[str, Staged | Unfit]:
        """Write changes, by subject; settle them in the transaction that remembers the result.

        Raises:
            StoreError: a part may be written, and never holds.
        """
        stagings = {subject: _Staging(subject, change, now) for subject, change in changes.items()}
        in_turns(self._store, chain.from_iterable(one.steps() for one in stagings.values()))
        return {subject: one.result() for subject, one in stagings.items()}

    def releases(self, subject: str) -> Sequence[Release]:
        """Give the earlier releases that are remembered under a subject, the oldest first."""
        with self._store.reading() as view:
            return view.releases(subject)

    def remember_release(self, subject: str, release: Release) -> None:
        """Remember a release under a subject; until all of it is written, nobody sees it.

        Raises:
            StoreConflict: one of that name is remembered already.
        """
        started: list[int] = []
        people, classes = release.pairs.people, release.pairs.classes
        rows = ((people[at : at + SIGNATURE], classes[at : at + SIGNATURE]) for at in range(0, len(people), SIGNATURE))

        def steps() -> Iterator[_Step]:
            yield lambda book: started.append(book.begin_release(subject, release))
            for portion in _portions(rows):
                yield partial(_add_released, started=started, rows=portion)
            yield lambda book: book.end_release(started[0])

        in_turns(self._store, steps())


def in_turns(store: Store, steps: Iterator[_Step | None]) -> None:
    """Do steps in few transactions that keep nobody waiting for long; each is asked for once those before are done."""
    for step in steps:
        if step is not _PAUSE:
            with store.writing() as book:
                _do(book, chain([step], steps))


def _do(book: Book, steps: Iterator[_Step | None]) -> None:
    until = monotonic() + _LONGEST_S
    for step in steps:
        if step is _PAUSE:
            return
        step(book)
        if monotonic() >= until:
            return


class _Staging:
    """One change on its way into the store."""

    def __init__(self, subject: str, change: ClassChange, now: datetime) -> None:
        self._subject, self._change, self._now = subject, change, now
        self._draft: Draft | None = None
        self._unfit: Unfit | None = None
        self._sizes: dict[int, int] = {}
        self._deltas: list[Delta] = []
        self._whole = Pairs()
        self._totals: dict[bytes, int] = {}

    def result(self) -> Staged | Unfit:
        """Give what came of it."""
        if self._unfit is not None or self._draft is None:
            return self._unfit or Unfit.OVERTAKEN
        sizes = tuple(sorted((size, classes) for size, classes in self._sizes.items() if classes))
        return Staged(self._subject, self._draft, self._change, sizes)

    def steps(self) -> Iterator[_Step | None]:
        """Give the steps; the later ones follow from what the earlier ones found."""
        if self._change.base is None:
            yield _PAUSE
            self._whole = self._change.totals()
            self._sizes = dict(self._whole.sizes())
        yield self._begin
        if self._draft is not None and self._draft.is_first:
            yield from self._fill()
        elif self._draft is not None:
            yield from self._differ()

    def _begin(self, book: Book) -> None:
        draft = book.begin_counts(self._subject, self._change, now=self._now)
        if isinstance(draft, Unfit):
            self._unfit = draft
            return
        self._draft = draft
        if not draft.is_first:
            self._sizes = book.class_sizes(draft.state)

    def _fill(self) -> Iterator[_Step | None]:
        """Write all counts of a state that nobody looks at yet."""
        change = self._change
        for rows in _portions(part_rows(change)):
            yield partial(self._write_parts, rows=rows)
        parts = ((part.name, signature, count) for part in change.parts for signature, count in part.pairs.items())
        whole = ((WHOLE_TABLE, signature, count) for signature, count in self._whole.items())
        for deltas in _portions(chain(whole, parts)):
            yield partial(self._write, deltas=deltas)

    def _differ(self) -> Iterator[_Step | None]:
        """Write what differs from the counts that hold."""
        yield _PAUSE
        self._totals = dict(self._change.added.items())
        for part in self._change.parts:
            yield partial(self._compare, part=part)
        for deltas in _portions(self._deltas):
            yield partial(self._write, deltas=deltas)
        yield _PAUSE
        whole = sorted((signature, count) for signature, count in self._totals.items() if count)
        for deltas in _portions(((WHOLE_TABLE, signature, count) for signature, count in whole)):
            yield partial(self._write, deltas=deltas)
            if self._unfit is Unfit.BELOW_ZERO:
                yield lambda book: book.abandon_counts(self._of().state)
                return

    def _write_parts(self, book: Book, rows: Sequence[Mapping[str, Any]]) -> None:
        book.add_parts(self._of(), rows)

    def _compare(self, book: Book, part: PartCounts) -> None:
        old, new = book.part_counts(self._of(), part.name), dict(part.pairs.items())
        for signature in sorted(old.keys() | new.keys()):
            difference = new.get(signature, 0) - old.get(signature, 0)
            if difference:
                self._deltas.append((part.name, signature, difference))
                self._totals[signature] = self._totals.get(signature, 0) + difference

    def _write(self, book: Book, deltas: Sequence[Delta]) -> None:
        if self._unfit is not None:
            return
        if book.is_overtaken(self._of()):
            self._unfit = Unfit.OVERTAKEN
            return
        written = book.add_counts(self._of(), deltas)
        if deltas[0][0] == WHOLE_TABLE:
            self._resize(written)

    def _resize(self, written: Iterable[tuple[int, int]]) -> None:
        sizes = self._sizes
        for was, will_be in written:
            if will_be < 0:
                self._unfit = Unfit.BELOW_ZERO
            sizes[was] = sizes.get(was, 0) - 1
            sizes[will_be] = sizes.get(will_be, 0) + 1
        sizes.pop(0, None)

    def _of(self) -> Draft:
        if self._draft is None:
            raise RuntimeError("a change is written before it was begun")
        return self._draft


def _add_released(book: Book, started: Sequence[int], rows: Sequence[tuple[bytes, bytes]]) -> None:
    book.add_released(started[0], rows)


def _portions(rows: Iterable[T], size: int = _ROWS) -> Iterator[Sequence[T]]:
    left = iter(rows)
    while portion := list(islice(left, size)):
        yield portion


_KEEPS: type[ClassCounts] = StoredCounts
