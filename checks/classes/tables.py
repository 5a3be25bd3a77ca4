"""The equivalence classes of a table, made once inside the engine that holds it.

    rows ──GROUP BY quasi-identifiers, sensitive──> pairs ──GROUP BY quasi-identifiers──> classes ──> answers

Within these tables the quasi-identifiers are called `q0`, `q1`, ...; `key` and `keys` give these names. NULL is a value
of its own: GROUP BY puts NULLs together on every engine.

Other readings, NULL as a wildcard and one spelling for each value, are shown and do not decide. An attacker who knows
more than the table says reads a missing value as "could be any value"; and who reads `TOKYO` and `Tokyo` as one sees
larger classes than a GROUP BY does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add
from typing import Final

from sources.expressions import ibis, ir

SIZE = "size"
COPIES = "copies"
VALUE = "value"
MEMBERS = "members"
KNOWN = "known"
PERSON: Final = "person"
_LINKED: Final = {"w0": 1_640_531_527, "w1": 1_103_515_245, "w2": 1_812_433_253, "w3": 1_566_083_941}
"""The columns of what a person's rows are together, each with a factor of its own."""
_PRIMES: Final = (2_147_483_647, 2_147_483_629, 2_147_483_587)


@dataclass(frozen=True, slots=True)
class SensitiveReading:
    """How the values of a sensitive column are read.

    `spellings`: what to replace by what; `folded`: each is read in lower case, without white space around. `missing`:
    what counts as missing; `dropped`: whether that has no pair, else one of no copies.
    """

    spellings: Mapping[str, str] = field(default_factory=dict)
    folded: bool = False
    missing: Callable[[ir.Column], ir.BooleanValue] | None = None
    dropped: bool = False

    def respelled(self, rows: ir.Table) -> ir.Table:
        """Return rows with one spelling of each `value`."""
        if self.folded:
            return rows.mutate(**{VALUE: rows[VALUE].strip().lower()})
        return rows.mutate(**{VALUE: rows[VALUE].substitute(dict(self.spellings))}) if self.spellings else rows

    def is_missing(self, value: ir.Column) -> ir.BooleanValue:
        """Return of a value whether it counts as missing."""
        return ibis.literal(value=False) if self.missing is None else self.missing(value)


EXACT: Final = SensitiveReading()


@dataclass(frozen=True, slots=True)
class PersonColumn:
    """The column that says whose a row is.

    `apart`: rows without a person are of one each, else all of one person. `linked`: a reader sees which rows are of
    one person, by a pseudonym, and compares all of them together.
    """

    column: str
    apart: bool = False
    linked: bool = False


class ClassTables:
    """The class tables of one set of quasi-identifiers. Expressions only: nothing is run here.

    Where sensitive columns are asked about, the classes are made from the pairs of the first of them, so that one pass
    over the rows serves both.

    With a `person`, people are counted in the place of rows: a person once in each class, and once with each value in
    it. Where a pseudonym links rows, a class is of people who are alike in all of their rows: what these are together
    is one more key, of several columns.
    """

    def __init__(
        self,
        rows: ir.Table,
        quasi_identifiers: Sequence[str],
        sensitive: Sequence[str] = (),
        person: PersonColumn | None = None,
        reading: SensitiveReading = EXACT,
    ) -> None:
        """Take the rows to look at, and columns of them; the order in which they are named means nothing."""
        self.reading = reading
        self.quasi_identifiers = tuple(sorted(quasi_identifiers))
        self.sensitive = tuple(sensitive)
        self.person = person
        self._own_keys = tuple(f"q{number}" for number in range(len(self.quasi_identifiers)))
        is_linked = person is not None and person.linked
        self.keys = (*self._own_keys, *(_LINKED if is_linked else ()))
        self._rows = self.rows = rows

    def key(self, quasi_identifier: str) -> str:
        """Return the name of a quasi-identifier within the class tables."""
        return self._own_keys[self.quasi_identifiers.index(quasi_identifier)]

    @cached_property
    def classes(self) -> ir.Table:
        """Return a row for each class: its keys, and how many rows or people it has (`size`)."""
        if self.sensitive and self.is_plain:
            pairs = self.pairs(self.sensitive[0])
            return pairs.group_by(list(self.keys)).aggregate(**{SIZE: pairs[COPIES].sum().cast("int64")})
        narrow = self._narrow()
        return narrow.group_by(list(self.keys)).aggregate(**{SIZE: narrow.count()})

    def read(self, reading: SensitiveReading) -> ClassTables:
        """Return the tables in which sensitive values are read in another way."""
        return ClassTables(self._rows, self.quasi_identifiers, person=self.person, reading=reading)

    @property
    def is_plain(self) -> bool:
        """Check whether rows are counted and their values are read as they are."""
        return self.person is None and self.reading == EXACT

    def pairs(self, sensitive: str) -> ir.Table:
        """Return a row for each value of a sensitive column within a class: keys, `value`, how many rows (`copies`).

        Unless the tables are plain: `members`, the rows or people of the whole class, and `known`, those of them with
        a value; `copies` is 0 for what counts as missing.
        """
        reading, keys = self.reading, list(self.keys)
        if self.person is None:
            narrow = self._narrow(sensitive)
            pairs = narrow.group_by([*self.keys, VALUE]).aggregate(**{COPIES: narrow.count()})
            if self.is_plain:
                return pairs
            inner = reading.respelled(pairs).mutate(news=pairs[COPIES])
        else:
            narrow = self._once(self._narrow(sensitive))
            inner = narrow.group_by([*keys, VALUE]).aggregate(copies=narrow.count(), news=narrow["once"].sum())
        missing, news = reading.is_missing(inner[VALUE]), inner["news"]
        inner = inner.mutate(
            copies=missing.ifelse(0, inner[COPIES]),
            members=news.sum().over(group_by=keys),
            known=missing.ifelse(0, news).sum().over(group_by=keys),
        )
        if reading.dropped:
            inner = inner.filter(inner[COPIES] > 0)
        sums = {COPIES: inner[COPIES].sum(), MEMBERS: inner[MEMBERS].max(), KNOWN: inner[KNOWN].max()}
        # grouped once more: SQLite joins what comes out of a window by scanning
        grouped = inner.group_by([*keys, VALUE])
        return grouped.aggregate(**{name: item.cast("int64") for name, item in sums.items()})

    def units(self, columns: Mapping[str, ir.Value]) -> ir.Table:
        """Return a row for each row, or each person in a class: keys, `person` where there is one, and more columns.

        Of several rows of a person in a class, the smallest value of each of these.

        Args:
            columns: by name, an expression over the rows.
        """
        own = {key: self._rows[name] for key, name in zip(self._own_keys, self.quasi_identifiers, strict=True)}
        if self.person is None:
            return self._rows.select(**own, **columns)
        rows = self._rows.select(**own, **columns, **{PERSON: self._rows[self.person.column]})
        if self.person.linked:
            rows = _linked(rows, self._own_keys, apart=self.person.apart)
        merged = rows.distinct()
        if columns:
            merged = rows.group_by([*self.keys, PERSON]).aggregate(**{name: rows[name].min() for name in columns})
        if not self.person.apart:
            return merged
        unnamed = rows.filter(rows[PERSON].isnull())
        return merged.filter(merged[PERSON].notnull()).union(unnamed.select(*merged.columns))

    def people(self) -> ir.Table:
        """Return a row for each person: the `size` of the smallest class it is in.

        Where no person is counted, a row for each row.
        """
        narrow = self._narrow()
        sized = narrow.mutate(size=narrow.count().over(group_by=list(self.keys)))
        if self.person is None:
            return sized.select(SIZE)
        smallest = sized.group_by(PERSON).aggregate(size=sized[SIZE].min())
        if not self.person.apart:
            return smallest.select(SIZE)
        named, unnamed = smallest.filter(smallest[PERSON].notnull()), sized.filter(sized[PERSON].isnull())
        return named.select(SIZE).union(unnamed.select(SIZE))

    def without(self, quasi_identifier: str) -> ClassTables:
        """Return the tables of the other quasi-identifiers."""
        others = [name for name in self.quasi_identifiers if name != quasi_identifier]
        return ClassTables(self._rows, others, person=self.person)

    def respelled(self, merged: Mapping[str, Mapping[str, str]]) -> ClassTables:
        """Return the tables in which quasi-identifiers have other spellings: per column, what to replace by what."""
        rows = self._rows.mutate(**{name: self._rows[name].substitute(dict(item)) for name, item in merged.items()})
        return ClassTables(rows, self.quasi_identifiers, person=self.person)

    def _once(self, narrow: ir.Table) -> ir.Table:
        """Add `once`: 1 in one of the rows of a person within a class, else 0."""
        order = [self.reading.is_missing(narrow[VALUE]), narrow[VALUE]]
        place = ibis.row_number().over(group_by=[*self.keys, PERSON], order_by=order)
        first = place == 0
        if self.person is not None and self.person.apart:
            first |= narrow[PERSON].isnull()
        return narrow.mutate(once=first.ifelse(1, 0))

    def _narrow(self, sensitive: str | None = None) -> ir.Table:
        columns = {key: self._rows[name] for key, name in zip(self._own_keys, self.quasi_identifiers, strict=True)}
        if sensitive is not None:
            columns[VALUE] = self._rows[sensitive]
        if self.person is None:
            return self._rows.select(**columns)
        rows = self._rows.select(**columns, **{PERSON: self._rows[self.person.column]})
        if self.person.linked:
            rows = _linked(rows, self._own_keys, apart=self.person.apart)
        if sensitive is not None:
            rows = self.reading.respelled(rows)
        if not self.person.apart:
            return rows.distinct()
        return rows.filter(rows[PERSON].notnull()).distinct().union(rows.filter(rows[PERSON].isnull()))


def _linked(rows: ir.Table, keys: Sequence[str], *, apart: bool) -> ir.Table:
    """Add what all rows of a person are together: in which classes how many are, as a hash of 124 bits.

    Classes are numbered, numbers are scattered, and those of a person's rows are added up: a sum is the same in any
    order, and whole numbers are the same in every engine.
    """
    number = ibis.dense_rank().over(order_by=list(keys)) if keys else ibis.literal(0)
    rows = rows.mutate(number=number.cast("int64"))
    sums = {}
    for name, factor in _LINKED.items():
        own = _scattered(rows["number"], factor)
        whole = own.sum().over(group_by=PERSON).cast("int64")
        sums[name] = rows[PERSON].isnull().ifelse(own, whole) if apart else whole
    return rows.mutate(**sums).drop("number")


def _scattered(number: ir.IntegerColumn, factor: int) -> ir.IntegerColumn:
    """Return a whole number below 2^31 that follows from another one, and is like a random one."""
    first, second, third = _PRIMES
    result = (number + 1) * factor % first
    for prime in (second, third, first):  # no polynomial over one field, of which sums could be equal by design
        result = (result * result + factor) % prime
    return result


def sizes_of(tables: ClassTables) -> ir.Table:
    """Count the classes of each size: columns `size`, `classes`."""
    classes = tables.classes
    return classes.group_by(SIZE).aggregate(classes=classes.count())


def people_of(tables: ClassTables) -> ir.Table:
    """Count the people by the size of the smallest class that each is in: `size`, `people`."""
    people = tables.people()
    return people.group_by(SIZE).aggregate(people=people.count())


MOST_VALUES: Final = 10_000
"""More values than this of one column are not compared by their spelling."""
MOST_MERGED: Final = 1_000
"""More other spellings than this are not merged by the engine."""
MOST_PATTERNS: Final = 12
"""More combinations of missing columns than this are not read as wildcards: each is compared with each."""


def patterns_of(tables: ClassTables) -> ir.Table:
    """Count the combinations in which columns are NULL: `pattern` (bit i: column i is NULL), `classes`, `rows`."""
    classes = tables.classes
    flagged = classes.select(pattern=_pattern(tables), size=classes[SIZE])
    return flagged.group_by("pattern").aggregate(classes=flagged.count(), rows=flagged["size"].sum().cast("int64"))


def values_of(column: str) -> Callable[[ClassTables], ir.Table]:
    """Return the values of a column of text, at most one more than `MOST_VALUES`: `value`."""

    def answer(tables: ClassTables) -> ir.Table:
        if column in tables.quasi_identifiers:
            result = tables.classes.select(value=tables.classes[tables.key(column)])
        else:
            result = tables.pairs(column).select(VALUE)
        return result.filter(result["value"].notnull()).distinct().limit(MOST_VALUES + 1)

    return answer


def sizes_with(merged: Mapping[str, Mapping[str, str]]) -> Callable[[ClassTables], ir.Table]:
    """Count the classes of each size when other spellings count as one: `size`, `classes`.

    `merged`: per quasi-identifier, the spellings to replace and what with.
    """

    def answer(tables: ClassTables) -> ir.Table:
        if tables.person is not None:
            return sizes_of(tables.respelled(merged))
        classes = tables.classes
        respelled = {tables.key(name): dict(spellings) for name, spellings in merged.items()}
        keys = {
            key: classes[key].substitute(respelled[key]) if key in respelled else classes[key] for key in tables.keys
        }
        rewritten = classes.select(**keys, size=classes[SIZE])
        wider = rewritten.group_by(list(tables.keys)).aggregate(size=rewritten["size"].sum().cast("int64"))
        return wider.group_by("size").aggregate(classes=wider.count())

    return answer


def sizes_as_wildcards(patterns: Sequence[int]) -> Callable[[ClassTables], ir.Table]:
    """Count how many records each one could be, if a NULL on either side fits every value: `size`, `classes`.

    `size` counts the records that fit a record, itself included, and `classes` the classes of such records. Fitting is
    not transitive, so these are no classes of their own. `patterns`: which combinations of missing columns there are.
    """

    def answer(tables: ClassTables) -> ir.Table:
        result = reduce(ir.Table.union, (_candidates(tables, patterns, pattern) for pattern in patterns))
        return result.group_by("size").aggregate(classes=result.count())

    return answer


def sizes_without(quasi_identifier: str) -> Callable[[ClassTables], ir.Table]:
    """Count the classes of each size if one quasi-identifier were not known: `size`, `classes`; of people, them."""

    def answer(tables: ClassTables) -> ir.Table:
        if tables.person is not None:
            return people_of(tables.without(quasi_identifier))
        others = [key for key in tables.keys if key != tables.key(quasi_identifier)]
        classes = tables.classes
        size = classes[SIZE].sum().cast("int64")
        wider = classes.group_by(others).aggregate(size=size) if others else classes.aggregate(size=size)
        return wider.group_by("size").aggregate(classes=wider.count())

    return answer


def _pattern(tables: ClassTables) -> ir.IntegerValue:
    bits = (tables.classes[key].isnull().ifelse(1 << place, 0).cast("int64") for place, key in enumerate(tables.keys))
    return reduce(add, bits)


def _candidates(tables: ClassTables, patterns: Sequence[int], count: int) -> ir.Table:
    """Return, for each class with these columns missing, how many records fit it: a column `size`."""
    classes = tables.classes.mutate(pattern=_pattern(tables))
    left = classes.filter(classes["pattern"] == count).mutate(fitting=ibis.literal(0, type="int64"))
    for places, fitting in _by_known(patterns, count, len(tables.keys)).items():
        keys = [tables.keys[place] for place in places]
        others = classes.filter(classes["pattern"].isin(fitting))
        size = others[SIZE].sum().cast("int64")
        if keys:
            right = others.group_by([others[key].name(f"r_{key}") for key in keys]).aggregate(found=size)
            joined = left.left_join(right, [left[key] == right[f"r_{key}"] for key in keys])
        else:
            joined = left.cross_join(others.aggregate(found=size))
        columns = {name: joined[name] for name in left.columns if name != "fitting"}
        left = joined.select(**columns, fitting=joined["fitting"] + joined["found"].coalesce(0))
    return left.select(size=left["fitting"])


def _by_known(patterns: Sequence[int], count: int, columns: int) -> dict[tuple[int, ...], list[int]]:
    """Group patterns by the columns that are known both in them and in mine."""
    results: dict[tuple[int, ...], list[int]] = {}
    for other in patterns:
        entries = tuple(place for place in range(columns) if not (count | other) >> place & 1)
        results.setdefault(entries, []).append(other)
    return results
