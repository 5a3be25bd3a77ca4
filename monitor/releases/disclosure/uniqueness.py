"""Find columns that identify records though no remedy treats them: unique values and outliers.

A column is looked at alone, in pairs, and together with the quasi-identifiers that are published beside it: an age
that many have is the age of one of the people of a postcode.

k counts the columns that are called quasi-identifiers. A ticket number, an exact amount or a time that is called
`other` finds a record again all the same. All is counted in the engine of the table, and no value of it is returned.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from checks import Json
from checks.classes.tables import SIZE, ClassTables, PersonColumn
from monitor.releases.disclosure.table_ref import TableRef
from monitor.releases.treatment.table_reader import reading
from sources import SourceError

if TYPE_CHECKING:
    from ibis.expr import types as ir

    from sources import Source

MOST_COLUMNS: Final = 50
"""So many columns are looked at alone; more are named as not looked at."""
MOST_IN_PAIRS: Final = 10
"""So many columns are looked at in pairs (45 questions)."""
MOST_ROWS_IN_PAIRS: Final = 5_000_000
_MOSTLY: Final = 0.5
"""A column that identifies this share of the records alone is not looked at in pairs: they would tell the same."""
_LEAST_OF_PAIR: Final = 0.01
"""A pair is named where it identifies at least this share of the records, and more than its columns do alone."""
_FENCE: Final = 3.0
"""An outlier lies this many interquartile ranges beyond the quartiles (Tukey's far out)."""


@dataclass(frozen=True, slots=True)
class UniqueRecords:
    """Columns that together identify records: in `records` of them their values are found nowhere else."""

    columns: tuple[str, ...]
    records: int


@dataclass(frozen=True, slots=True)
class Uniqueness:
    """What untreated columns of a table tell of single records, or of people where a column says whose a row is.

    Attributes:
        rows: all of the table, or all people.
        alone: columns that identify records alone, those that identify most first.
        within: columns that identify records within the classes of the quasi-identifiers, beside those that these
            identify without it.
        pairs: pairs of other columns that identify more records than each of the two.
        outliers: by column of numbers, how many values lie far outside.
        not_looked_at: what was left out, and why.
        not_counted: columns of which is not known what they identify.
    """

    rows: int
    alone: Sequence[UniqueRecords] = ()
    pairs: Sequence[UniqueRecords] = ()
    outliers: dict[str, int] = field(default_factory=dict)
    not_looked_at: Sequence[str] = ()
    within: Sequence[UniqueRecords] = ()
    not_counted: Sequence[str] = ()

    def share(self, columns: Sequence[str]) -> float:
        """Return the largest share of records that one of some columns identifies, alone or within classes: 0 to 1."""
        most = max((item.records for item in self.singled_out_by(columns)), default=0)
        return most / self.rows if self.rows else 0.0

    def singled_out_by(self, columns: Sequence[str]) -> Sequence[UniqueRecords]:
        """Return what some columns identify, each as it identifies most: alone, or within the classes."""
        most: dict[str, UniqueRecords] = {}
        for item in (*self.alone, *self.within):
            (name,) = item.columns
            if name in columns and item.records > most.get(name, UniqueRecords((name,), 0)).records:
                most[name] = item
        return list(most.values())

    def warnings(self) -> Iterator[str]:
        """Yield what a person should know, a sentence each; no value is in them."""
        for item in (*self.alone, *self.pairs):
            names = " and ".join(f"'{name}'" for name in item.columns)
            verbs = ("together identify", "are") if len(item.columns) > 1 else ("identifies", "is")
            yield f"{names} {verbs[0]} {item.records:,} of {self.rows:,} records uniquely and {verbs[1]} not treated"
        for item in self.within:
            yield (
                f"'{item.columns[0]}' together with the quasi-identifiers identifies {item.records:,} of {self.rows:,} "
                "records uniquely and is not treated"
            )
        for name, many in self.outliers.items():
            values = "1 value is an outlier" if many == 1 else f"{many:,} values are outliers"
            yield f"'{name}': {values}, and the column is not treated"

    def as_json(self) -> dict[str, Json]:
        """Return it as plain data."""
        return {
            "rows": self.rows,
            "unique": [{"columns": list(item.columns), "records": item.records} for item in (*self.alone, *self.pairs)],
            "within_classes": [{"column": item.columns[0], "records": item.records} for item in self.within],
            "outliers": dict(self.outliers),
            "not_looked_at": list(self.not_looked_at),
        }


def find_uniqueness(
    place: TableRef,
    columns: Sequence[str],
    quasi: Sequence[str] = (),
    *people: PersonColumn,
    judged: Sequence[str] | None = None,
) -> Uniqueness:
    """Count which records some columns of a table identify, in the table's engine.

    Args:
        place: the table.
        columns: those that leave and that nothing treated; names that the table does not have are passed over.
        quasi: the quasi-identifiers that leave beside them, alike.
        people: columns that may say whose a row is. By each that does, people are counted, not rows: a column that
            only may (`apart`) does where its values repeat.
        judged: by which of several counts of people the worst is returned; by default all of `columns`.

    Raises:
        Stop: the table cannot be read.
    """
    with reading(place) as (source, table):
        there = [name for name in columns if name in table.columns]
        grouped = [name for name in quasi if name in table.columns]
        telling: list[PersonColumn | None] = [item for item in people if _tells_people(source, table, item)]
        results = [_Findings(source, table, person).of(there, grouped) for person in telling or [None]]
    return max(results, key=lambda item: item.share(columns if judged is None else judged))


def _tells_people(source: "Source", table: "ir.Table", person: PersonColumn) -> bool:
    """Check whether a table has a column that says whose a row is."""
    if person.column not in table.columns or not person.apart:
        return person.column in table.columns
    column = table[person.column]
    try:
        (row,) = source.fetch(source.compile(table.aggregate(named=column.count(), distinct=column.nunique())))
    except SourceError:  # a type of which this engine counts no distinct values
        return False
    return int(row["distinct"] or 0) < int(row["named"] or 0)


class _Findings:
    """What was found so far in a table that is open."""

    def __init__(self, source: "Source", table: "ir.Table", person: PersonColumn | None) -> None:
        """Count the rows, or the people."""
        self._source, self._table, self._person = source, table, person
        people = table if person is None else ClassTables(table, (), person=person).people()
        self.rows = self._number(people.aggregate(number=people.count()))
        self._unique: dict[tuple[str, ...], int] = {}
        self._within: dict[str, int] = {}
        self._outliers: dict[str, int] = {}
        self.left_out: list[str] = []
        self.not_counted: list[str] = []

    def of(self, columns: Sequence[str], quasi: Sequence[str]) -> Uniqueness:
        """Return what columns identify, alone, in pairs and within the classes of the quasi-identifiers."""
        first = columns[:MOST_COLUMNS]
        for name in first:
            self.alone(name)
        self.within(first, quasi)
        self.pairs(first)
        for name in first:
            if self._table[name].type().is_numeric():
                self.outliers(name)
        if len(columns) > MOST_COLUMNS:
            self.left_out.append(f"{len(columns) - MOST_COLUMNS} more columns: {', '.join(columns[MOST_COLUMNS:])}")
            self.not_counted += columns[MOST_COLUMNS:]
        return self.found()

    def alone(self, name: str) -> None:
        """Count the records whose value in a column no other record has."""
        self._count((name,))

    def within(self, columns: Sequence[str], quasi: Sequence[str]) -> None:
        """Count the records that each column identifies within the classes, and the classes do not."""
        if not quasi:
            return
        self._count(tuple(quasi))
        before = self._unique.pop(tuple(quasi), 0)
        for name in columns:
            if name not in quasi and self._unique.get((name,), 0) < self.rows:
                self._count((*quasi, name))
                self._within[name] = self._unique.pop((*quasi, name), before) - before

    def pairs(self, columns: Sequence[str]) -> None:
        """Count for each pair of columns that do not identify most records alone."""
        few = [name for name in columns if self._unique.get((name,), 0) < _MOSTLY * self.rows]
        if self.rows > MOST_ROWS_IN_PAIRS:
            self.left_out.append(f"pairs of columns, since the table has more than {MOST_ROWS_IN_PAIRS:,} rows")
            return
        if len(few) > MOST_IN_PAIRS:
            self.left_out.append(f"pairs with {', '.join(few[MOST_IN_PAIRS:])}")
        for pair in combinations(few[:MOST_IN_PAIRS], 2):
            self._count(pair)

    def outliers(self, name: str) -> None:
        """Count the numbers that lie far outside the quartiles; a column whose quartiles are equal has none."""
        column = self._table[name].try_cast("float64") if self._source.dialect == "duckdb" else self._table[name]
        try:
            expressions = self._table.aggregate(low=column.quantile(0.25), high=column.quantile(0.75))
            ((low, high),) = (tuple(row.values()) for row in self._source.fetch(self._source.compile(expressions)))
        except SourceError:
            self.left_out.append(f"outliers in {name}, since this engine does not support quantiles")
            return
        if low is None or high is None or not float(low) < float(high):
            return
        reach = _FENCE * (float(high) - float(low))
        outside = (column < float(low) - reach) | (column > float(high) + reach)
        beyond = self._table.filter(outside)
        self._outliers[name] = self._number(beyond.aggregate(number=beyond.count()))

    def found(self) -> Uniqueness:
        """Return what is worth a warning."""
        by_records = sorted(self._unique.items(), key=lambda item: -item[1])
        alone = [UniqueRecords(names, many) for names, many in by_records if len(names) == 1 and many]
        pairs = [
            UniqueRecords(names, many)
            for names, many in by_records
            if len(names) > 1 and self._is_informative(names, many)
        ]
        outliers = {name: many for name, many in self._outliers.items() if many}
        by_share = sorted(self._within.items(), key=lambda item: -item[1])
        within = [UniqueRecords((name,), many) for name, many in by_share if many > self._unique.get((name,), 0)]
        return Uniqueness(self.rows, alone, pairs, outliers, self.left_out, within, self.not_counted)

    def _is_informative(self, names: tuple[str, ...], many: int) -> bool:
        item = sum(self._unique.get((name,), 0) for name in names)
        return many > item and many >= _LEAST_OF_PAIR * self.rows

    def _count(self, names: tuple[str, ...]) -> None:
        tables = ClassTables(self._table, names, person=self._person)
        sizes = tables.classes if self._person is None else tables.people()  # a person of several classes counts once
        single = sizes.filter(sizes[SIZE] == 1)
        try:
            self._unique[names] = self._number(single.aggregate(number=single.count()))
        except SourceError:  # a type that this engine cannot group by
            self.left_out.append(f"{' and '.join(names)}, since this engine cannot group by it")
            self.not_counted.append(names[-1])

    def _number(self, table: "ir.Table") -> int:
        (row,) = self._source.fetch(self._source.compile(table))
        number: Any = row["number"]
        return int(number or 0)
