"""Compare two tables by a key, in one engine or two: rows only in one, rows that differ, and in which columns (ADR 93).

Of tables in one engine `difference` is one statement. Of tables in two, `compare` asks each engine for the checksum of
every range of keys, takes the ranges apart that differ, and reads digests of keys and cells of the last ones. No value
leaves an engine, but for `rows_of`, which people ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial, reduce
from itertools import groupby
from operator import itemgetter, or_
from typing import Any, Final, Self, TypeVar

from sources._contract import Source
from sources._names import did_you_mean
from sources.canonical_text import DIGEST_BITS, DIGESTS, CellKind, cell, cell_kind, row_text
from sources.expressions import ibis, ir

T = TypeVar("T")

_COUNT: Final = "#"
"""What names of counts begin with beside those of columns, which PostgreSQL would cut if they were longer."""
_SMALL: Final = 1_000
"""Rows of a range of keys that is not taken apart any more."""
_MOST_BITS, _BITS_AGAIN, _LEAST_BITS = 14, 16, 4
"""A first look cuts the keys into at most 2^14 ranges; each later one cuts what differs into about 2^16."""
_READ_AT_ONCE: Final = 100_000
"""Rows of differing ranges that are read rather than taken apart."""
_READ: Final = 500_000
"""Rows of one reading statement: what a driver may hold in memory."""
_WIDEST: Final = 62
"""Bits of a whole number that differences of keys must fit."""


class NotComparable(Exception):
    """Why two tables cannot be compared: columns that are missing or of types that do not compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffTable:
    """A table to compare. `is_utc`: whether wall clocks of a column are declared to be those of UTC."""

    name: str
    table: ir.Table
    dialect: str
    is_utc: Callable[[str], bool] = lambda _: False


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffSide(DiffTable):
    """A table to compare in an open source. `compile` writes an expression of it as SQL."""

    source: Source
    compile: Callable[[ir.Expr], str]
    predicate: Callable[[str], ir.BooleanValue]
    """Returns what a person wrote as SQL as a predicate of the table, for `compile`."""
    now: Callable[..., ir.TimestampValue]

    def filtered(self, where: str | None) -> Self:
        """Return the same with the rows for which a predicate is true."""
        return self if where is None else replace(self, table=self.table.filter(self.predicate(where)))


@dataclass(frozen=True, slots=True)
class ComparedColumns:
    """What is compared: the key and the other columns, each as what."""

    key: Mapping[str, CellKind]
    others: Mapping[str, CellKind]
    has_whole_key: bool
    """Whether ranges of the key are those of its numbers; else of the digests of its texts."""

    @classmethod
    def of(
        cls, left: DiffTable, right: DiffTable, *, key: Sequence[str], columns: Sequence[str] | None = None
    ) -> ComparedColumns:
        """Return how columns compare; by default all columns of both tables.

        Raises:
            NotComparable: one is missing, or the types of two do not compare.
        """
        kinds = {name: _common_kind(left, right, name) for name in key}
        wanted = columns
        if wanted is None:
            only = [_only(a, b) for a, b in ((left, right), (right, left)) if _only(a, b)]
            if only:
                raise NotComparable(f"{'; '.join(only)}; name the columns to compare with 'columns'")
            wanted = left.table.columns
        kinds |= {name: _common_kind(left, right, name) for name in wanted}
        types = [side.table[key[0]].type() for side in (left, right)]
        whole = len(key) == 1 and all(type_.is_integer() and str(type_).strip("!") != "uint64" for type_ in types)
        others = {name: kinds[name] for name in wanted if name not in key}
        return cls({name: kinds[name] for name in key}, others, whole)


@dataclass(frozen=True, slots=True)
class TableDifference:
    """What differs, in rows; `columns` counts the changed rows by column.

    `left_repeated`, `right_repeated`: keys of several rows. Where there are any, changed rows are those of the others.
    """

    left_rows: int = 0
    right_rows: int = 0
    only_left: int = 0
    only_right: int = 0
    changed: int = 0
    left_repeated: int = 0
    right_repeated: int = 0
    columns: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> TableDifference:
        """Return what the row of `difference`, or `as_row`, says."""
        columns = {name: int(value or 0) for name, value in row.items()}
        counts = {item.name: columns.pop(_COUNT + item.name) for item in fields(cls) if item.name != "columns"}
        return cls(**counts, columns=columns)

    @property
    def counts(self) -> Mapping[str, int]:
        """Return what is counted of all columns, by name."""
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name != "columns"}

    @property
    def as_row(self) -> Mapping[str, int]:
        """Return the counts as the row of `difference` has them."""
        return {**{_COUNT + name: rows for name, rows in self.counts.items()}, **self.columns}


def difference(left: DiffTable, right: DiffTable, compared: ComparedColumns) -> ir.Table:
    """Return one row that a `TableDifference` is read from: its counts, and those of each column.

    Both tables must be of one engine: their rows are grouped by key, and no hash is asked.
    """
    rows = ibis.union(*(_cells(side, compared, is_left=side is left) for side in (left, right)), distinct=False)
    places = range(len(compared.others))
    pairs = rows.group_by([name for name in rows.columns if name.startswith("k")]).aggregate(
        n=rows.count(),
        lefts=rows.is_left.sum().cast("int64"),
        **{f"d{at}": rows[f"c{at}"].min() != rows[f"c{at}"].max() for at in places},
    )
    rights = pairs.n - pairs.lefts
    paired = (pairs.lefts == 1) & (rights == 1)
    changes = [pairs[f"d{at}"] for at in places]
    counts = {
        "left_rows": pairs.lefts.sum(),
        "right_rows": rights.sum(),
        "only_left": pairs.lefts.sum(where=rights == 0),
        "only_right": rights.sum(where=pairs.lefts == 0),
        "changed": pairs.count(where=paired & reduce(or_, changes)) if changes else ibis.literal(0),
        "left_repeated": pairs.count(where=pairs.lefts > 1),
        "right_repeated": pairs.count(where=rights > 1),
    }
    return pairs.aggregate(
        **{_COUNT + name: count for name, count in counts.items()},
        **{name: pairs.count(where=paired & change) for name, change in zip(compared.others, changes, strict=True)},
    )


@dataclass(slots=True)
class DifferingKeys:
    """Places of keys whose rows differ, at most `limit` of each kind."""

    limit: int = 0
    places: dict[str, list[int]] = field(default_factory=lambda: {"only_left": [], "only_right": [], "changed": []})

    def lacks(self, kind: str) -> bool:
        """Check whether more are wanted."""
        return len(self.places[kind]) < self.limit

    def add(self, kind: str, place: int) -> None:
        """Take in one, if more are wanted."""
        if self.lacks(kind):
            self.places[kind].append(place)


class TableComparison:
    """Two tables side by side: the left one is asked in this thread, the right one in another."""

    def __init__(self, left: DiffSide, right: DiffSide, thread: ThreadPoolExecutor, compared: ComparedColumns) -> None:
        self.left, self.right, self.compared = left, right, compared
        self._thread = thread
        self._by_number = compared.has_whole_key
        self._first, self._last = 0, (1 << DIGEST_BITS) - 1

    def run(self, keys: DifferingKeys | None = None) -> TableDifference:
        """Compare; where `keys` is given, note the places of some that differ.

        Raises:
            SourceError: an engine does not answer.
        """
        keys = keys or DifferingKeys()
        profiles = self._both(self._profile)
        self._place_keys(profiles)
        most_rows = max(profile["n"] for profile in profiles)
        shift = bits = (self._last - self._first).bit_length()
        pairs = {0: (profiles[0]["n"], profiles[1]["n"])}
        if most_rows > 2 * _SMALL:
            shift = max(0, bits - min(_MOST_BITS, (most_rows // _SMALL).bit_length()))
            pairs = self._differing(shift, None)
        pairs, shift = self._narrowed(pairs, shift)
        counts = dict.fromkeys(("only_left", "only_right", "changed"), 0)
        by_column = dict.fromkeys(self.compared.others, 0)
        to_read: dict[int, tuple[int, int]] = {}
        for at, (left_rows, right_rows) in sorted(pairs.items()):
            kind = "only_left" if left_rows else "only_right"
            if not (left_rows and right_rows) and not keys.lacks(kind):
                counts[kind] += left_rows + right_rows
            else:
                to_read[at] = (left_rows, right_rows)
        for batch in _batches(to_read):
            self._read(batch, shift, counts, by_column, keys)
        return TableDifference(
            profiles[0]["n"],
            profiles[1]["n"],
            **counts,
            left_repeated=profiles[0]["repeated"],
            right_repeated=profiles[1]["repeated"],
            columns=by_column,
        )

    def rows_of(self, places: Collection[int]) -> Sequence[Sequence[Mapping[str, Any]]]:
        """Return the rows of both tables with their values, by the places of their keys: `place`, key, other columns.

        They are data: never store them.
        """
        return self._both(partial(self._rows_at, places)) if places else ([], [])

    def _both(self, ask: Callable[[DiffSide], T]) -> tuple[T, T]:
        right = self._thread.submit(ask, self.right)
        left = ask(self.left)
        return left, right.result()

    def _profile(self, side: DiffSide) -> Mapping[str, Any]:
        """Return the number of rows, of keys of several rows, and of whole keys with the first and last of them."""
        keys = f"FROM ({side.compile(side.table.select(k=self._key(side)))}) AS i"
        groups = _sql("SELECT k", keys, "GROUP BY k HAVING count(*) > 1")
        [repeated] = side.source.fetch(_sql("SELECT count(*) AS repeated FROM (", groups, ") AS g"))
        wanted = "count(*) AS n"
        if self._by_number:
            is_whole = "typeof(k) = 'integer'" if side.dialect == "sqlite" else "k IS NOT NULL"
            wanted += f", min(k) AS first_k, max(k) AS last_k, sum(CASE WHEN {is_whole} THEN 1 ELSE 0 END) AS whole"
        [found] = side.source.fetch(_sql("SELECT", wanted, keys))
        return {**repeated, **found}

    def _place_keys(self, profiles: Sequence[Mapping[str, Any]]) -> None:
        """Cut the keys by their numbers if all are whole and not too far from one another, else by digests."""
        filled = [profile for profile in profiles if profile["n"]]
        if self._by_number and filled and all(profile["whole"] == profile["n"] for profile in filled):
            first, last = (min(int(p["first_k"]) for p in filled), max(int(p["last_k"]) for p in filled))
            if (last - first).bit_length() <= _WIDEST:
                self._first, self._last = first, last
                return
        self._by_number = False

    def _narrowed(self, pairs: dict[int, tuple[int, int]], shift: int) -> tuple[dict[int, tuple[int, int]], int]:
        """Take apart the ranges that differ, for as long as they are few and large."""
        while shift:
            large = [max(rows) for rows in pairs.values() if min(rows)]
            if sum(large) <= _READ_AT_ONCE or sum(large) <= 2 * _SMALL * len(large):
                break
            finer = min(shift, max(_LEAST_BITS, _BITS_AGAIN - len(pairs).bit_length()))
            pairs = self._differing(shift - finer, (shift, pairs.keys()))
            shift -= finer
        return pairs, shift

    def _differing(self, shift: int, within: tuple[int, Collection[int]] | None) -> dict[int, tuple[int, int]]:
        """Return the ranges of 2^`shift` keys whose checksums differ, with the rows on both sides."""
        left, right = self._both(partial(self._checksums, shift=shift, within=within))
        ranges = sorted(left.keys() | right.keys())
        sums = {at: (left.get(at, (0, 0)), right.get(at, (0, 0))) for at in ranges}
        return {at: (one[0], other[0]) for at, (one, other) in sums.items() if one != other}

    def _checksums(
        self, side: DiffSide, *, shift: int, within: tuple[int, Collection[int]] | None
    ) -> Mapping[int, tuple[int, int]]:
        digest = DIGESTS[side.dialect].format("t")
        # SQLite adds up in 64 bits, where it would overflow; LIMIT keeps it from hashing each row twice
        exact = side.dialect == "sqlite"
        sums = "sum(h & 1073741823) AS low, sum(h >> 30) AS high" if exact else "0 AS high, sum(h) AS low"
        hashed = _sql("SELECT p,", digest, "AS h FROM", self._placed(side, within, "t"), "LIMIT -1" if exact else "")
        place = f"(p - ({self._first})) >> {shift}"
        sql = _sql("SELECT", place, "AS b, count(*) AS n,", sums, "FROM (", hashed, ") AS h GROUP BY 1")
        return {
            int(row["b"]): (int(row["n"]), (int(row["high"]) << 30) + int(row["low"])) for row in side.source.fetch(sql)
        }

    def _placed(self, side: DiffSide, within: tuple[int, Collection[int]] | None, *wanted: str) -> str:
        """Return rows as SQL: `p`, the place of the key, `t`, the text of the row, and the cells `c0` ..."""
        key, others = (_cells_of(side, kinds) for kinds in (self.compared.key, self.compared.others))
        cells = {f"c{at}": text.fill_null("") for at, text in enumerate(others)}
        columns = {"p": self._key(side), "t": row_text([*key, *others]), **cells}
        inner = side.compile(side.table.select(**{name: columns[name] for name in ("p", *wanted)}))
        return f"({self._at_places(inner, side, within, wanted)}) AS q"

    def _at_places(
        self, inner: str, side: DiffSide, within: tuple[int, Collection[int]] | None, wanted: Sequence[str]
    ) -> str:
        if not self._by_number:
            place = DIGESTS[side.dialect].format("p")
            fence = {"postgres": "OFFSET 0", "sqlite": "LIMIT -1"}.get(side.dialect, "")  # else it is hashed twice
            inner = _sql("SELECT", place, "AS p,", ", ".join(wanted), "FROM (", inner, ") AS k", fence)
        where = f"p BETWEEN {self._first} AND {self._last}"
        if within is not None:
            shift, ranges = within
            where += f" AND (p - ({self._first})) >> {shift} IN ({', '.join(map(str, ranges))})"
        return _sql("SELECT * FROM (", inner, ") AS i WHERE", where)

    def _key(self, side: DiffSide) -> ir.Column:
        if not self._by_number:
            return row_text(_cells_of(side, self.compared.key))
        column = side.table[next(iter(self.compared.key))]
        return column if side.dialect == "sqlite" else column.cast("int64")

    def _read(
        self,
        ranges: Collection[int],
        shift: int,
        counts: dict[str, int],
        by_column: dict[str, int],
        keys: DifferingKeys,
    ) -> None:
        """Count what differs in some ranges, by the digests of their keys and cells."""
        names = list(by_column)
        ask = partial(self._digests, within=(shift, ranges))
        left = (row for piece in ask(self.left) for row in piece)
        with closing(self._of_other_thread(ask)) as right:
            for place, lefts, rights in _merged(left, right):
                if len(lefts) > 1 or len(rights) > 1:  # the key is repeated: only rows without a partner are counted
                    counts["only_left"] += len(lefts) if not rights else 0
                    counts["only_right"] += len(rights) if not lefts else 0
                elif not (lefts and rights):
                    kind = "only_left" if lefts else "only_right"
                    counts[kind] += 1
                    keys.add(kind, place)
                elif lefts[0][1] != rights[0][1]:
                    counts["changed"] += 1
                    keys.add("changed", place)
                    for name, one, other in zip(names, lefts[0][2:], rights[0][2:], strict=True):
                        by_column[name] += one != other

    def _digests(self, side: DiffSide, *, within: tuple[int, Collection[int]]) -> Generator[Sequence[tuple[Any, ...]]]:
        names = ["t", *(f"c{at}" for at in range(len(self.compared.others)))]
        digests = ", ".join(f"{DIGESTS[side.dialect].format(name)} AS {name}" for name in names)
        sql = _sql("SELECT p,", digests, "FROM", self._placed(side, within, *names), "ORDER BY p")
        yield from side.source.pieces(sql)

    def _of_other_thread(
        self, ask: Callable[[DiffSide], Generator[Sequence[tuple[Any, ...]]]]
    ) -> Generator[tuple[Any, ...]]:
        pieces = self._thread.submit(ask, self.right).result()
        try:
            while (piece := self._thread.submit(next, pieces, None).result()) is not None:
                yield from piece
        finally:
            self._thread.submit(pieces.close).result()

    def _rows_at(self, places: Collection[int], side: DiffSide) -> Sequence[Mapping[str, Any]]:
        names = {f"v{at}": name for at, name in enumerate((*self.compared.key, *self.compared.others))}
        shown = side.table.select(p=self._key(side), **{at: side.table[name] for at, name in names.items()})
        sql = self._at_places(side.compile(shown), side, None, list(names))
        sql += f" AND p IN ({', '.join(map(str, places))})"
        return [{"place": row["p"], **{name: row[at] for at, name in names.items()}} for row in side.source.fetch(sql)]


@contextmanager
def side_by_side(
    left: DiffSide,
    right: AbstractContextManager[DiffSide],
    *,
    key: Sequence[str],
    columns: Sequence[str] | None = None,
    where: str | None = None,
) -> Iterator[TableComparison]:
    """Open the right side in a thread of its own, and yield how the two compare, of the rows that `where` takes.

    Raises:
        NotComparable, SourceError: as `ComparedColumns.of` and `Source`.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        opened = thread.submit(right.__enter__).result()
        try:
            compared = ComparedColumns.of(left, opened, key=key, columns=columns)
            yield TableComparison(left.filtered(where), opened.filtered(where), thread, compared)
        finally:
            thread.submit(right.__exit__, None, None, None).result()


def _sql(*parts: str) -> str:
    """Return a statement of parts that Ibis wrote, or that are of this file."""
    return " ".join(parts)


def _cells(side: DiffTable, compared: ComparedColumns, *, is_left: bool) -> ir.Table:
    keys = {f"k{at}": text.fill_null("") for at, text in enumerate(_cells_of(side, compared.key))}
    others = {f"c{at}": text.fill_null("") for at, text in enumerate(_cells_of(side, compared.others))}
    return side.table.select(is_left=ibis.literal(int(is_left), "int64"), **keys, **others)


def _cells_of(side: DiffTable, kinds: Mapping[str, CellKind]) -> Sequence[ir.StringValue]:
    return [cell(side.table[name], kind, side.dialect) for name, kind in kinds.items()]


def _only(one: DiffTable, other: DiffTable) -> str:
    names = [name for name in one.table.columns if name not in other.table.columns]
    return f"column {', '.join(names)} is only in {one.name}" if names else ""


def _common_kind(left: DiffTable, right: DiffTable, name: str) -> CellKind:
    """Return what a column of both tables is compared as.

    Raises:
        NotComparable: a table has none of the name, or the types do not compare.
    """
    kinds, types = [], []
    for side in (left, right):
        if side.dialect not in DIGESTS:
            known = ", ".join(sorted(DIGESTS))
            raise NotComparable(f"tables of {side.dialect} are not compared; expected one of {known}")
        if name not in side.table.columns:
            raise NotComparable(f"column '{name}' not found in {side.name}{did_you_mean(name, side.table.columns)}")
        type_ = side.table[name].type()
        kind = cell_kind(type_)
        if kind is CellKind.WALL and side.is_utc(name):
            kind = CellKind.UTC
        kinds.append(kind)
        types.append(str(type_).removeprefix("!"))
    found = set(kinds)
    if len(found) == 1 and kinds[0] is not None:
        return kinds[0]
    if found == {CellKind.NUMBER, CellKind.FLOAT}:
        return CellKind.FLOAT
    if found in ({CellKind.UTC, CellKind.WALL}, {CellKind.UTC, CellKind.MOMENT}):
        return CellKind.UTC
    if found == {CellKind.WALL, CellKind.MOMENT} and any(side.dialect == "sqlite" for side in (left, right)):
        return CellKind.MOMENT  # whether a text has an offset depends on the row
    hint = "; declare the time zone of the source" if found == {CellKind.WALL, CellKind.MOMENT} else ""
    raise NotComparable(
        f"column '{name}' is of type {types[0]} in {left.name} and {types[1]} in {right.name}, which are not "
        f"compared{hint}; leave it out with 'columns'"
    )


def _batches(ranges: Mapping[int, tuple[int, int]]) -> Iterator[Sequence[int]]:
    batch: list[int] = []
    rows = 0
    for at, pair in ranges.items():
        if batch and rows + max(pair) > _READ:
            yield batch
            batch, rows = [], 0
        batch.append(at)
        rows += max(pair)
    if batch:
        yield batch


_Group = tuple[int, list[tuple[Any, ...]]]
_END: Final[_Group] = (1 << 63, [])


def _merged(
    left: Iterator[tuple[Any, ...]], right: Iterator[tuple[Any, ...]]
) -> Iterator[tuple[int, list[tuple[Any, ...]], list[tuple[Any, ...]]]]:
    """Yield each key's place with its rows on both sides, of rows in the order of their places."""
    ones, others = ((place, list(rows)) for place, rows in groupby(left, itemgetter(0))), groupby(right, itemgetter(0))
    rest: Iterator[_Group] = ((place, list(rows)) for place, rows in others)
    one, other = next(ones, _END), next(rest, _END)
    while one[1] or other[1]:
        place = min(one[0], other[0])
        yield place, one[1] if one[0] == place else [], other[1] if other[0] == place else []
        one, other = (next(ones, _END) if one[0] == place else one), (next(rest, _END) if other[0] == place else other)
