"""Find columns that identify records though nobody treated them: unique values, alone and in pairs, and outliers.

k counts the columns that are called quasi-identifiers. A ticket number, an exact amount or a time that is called
`other` finds a record again all the same. All is counted in the engine of the table, and no value of it is returned.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from checks import Json
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
    """What untreated columns of a table tell of single records.

    Attributes:
        rows: all of the table.
        alone: columns that identify records alone, those that identify most first.
        pairs: pairs of other columns that identify more records than each of the two.
        outliers: by column of numbers, how many values lie far outside.
        not_looked_at: what was left out, and why.
    """

    rows: int
    alone: Sequence[UniqueRecords] = ()
    pairs: Sequence[UniqueRecords] = ()
    outliers: dict[str, int] = field(default_factory=dict)
    not_looked_at: Sequence[str] = ()

    def share(self, columns: Sequence[str]) -> float:
        """Return the largest share of records that one of some columns identifies alone: 0 to 1."""
        most = max((item.records for item in self.alone if item.columns[0] in columns), default=0)
        return most / self.rows if self.rows else 0.0

    def warnings(self) -> Iterator[str]:
        """Yield what a person should know, a sentence each; no value is in them."""
        for item in (*self.alone, *self.pairs):
            names = " and ".join(f"'{name}'" for name in item.columns)
            verbs = ("together identify", "are") if len(item.columns) > 1 else ("identifies", "is")
            yield f"{names} {verbs[0]} {item.records:,} of {self.rows:,} records uniquely and {verbs[1]} not treated"
        for name, many in self.outliers.items():
            values = "1 value is an outlier" if many == 1 else f"{many:,} values are outliers"
            yield f"'{name}': {values}, and the column is not treated"

    def as_json(self) -> dict[str, Json]:
        """Return it as plain data."""
        return {
            "rows": self.rows,
            "unique": [{"columns": list(item.columns), "records": item.records} for item in (*self.alone, *self.pairs)],
            "outliers": dict(self.outliers),
            "not_looked_at": list(self.not_looked_at),
        }


def find_uniqueness(place: TableRef, columns: Sequence[str]) -> Uniqueness:
    """Count which records some columns of a table identify, in the table's engine.

    Args:
        place: the table.
        columns: those that leave and that nothing treated; names that the table does not have are passed over.

    Raises:
        Stop: the table cannot be read.
    """
    with reading(place) as (source, table):
        looked = _Findings(source, table)
        there = [name for name in columns if name in table.columns]
        for name in there[:MOST_COLUMNS]:
            looked.alone(name)
        looked.pairs(there[:MOST_COLUMNS])
        for name in there[:MOST_COLUMNS]:
            if table[name].type().is_numeric():
                looked.outliers(name)
        if len(there) > MOST_COLUMNS:
            looked.left_out.append(f"{len(there) - MOST_COLUMNS} more columns: {', '.join(there[MOST_COLUMNS:])}")
        return looked.found()


class _Findings:
    """What was found so far in a table that is open."""

    def __init__(self, source: "Source", table: "ir.Table") -> None:
        """Count the rows."""
        self._source, self._table = source, table
        self.rows = self._number(table.aggregate(number=table.count()))
        self._unique: dict[tuple[str, ...], int] = {}
        self._outliers: dict[str, int] = {}
        self.left_out: list[str] = []

    def alone(self, name: str) -> None:
        """Count the records whose value in a column no other record has."""
        self._count((name,))

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
        return Uniqueness(self.rows, alone, pairs, outliers, self.left_out)

    def _is_informative(self, names: tuple[str, ...], many: int) -> bool:
        item = sum(self._unique.get((name,), 0) for name in names)
        return many > item and many >= _LEAST_OF_PAIR * self.rows

    def _count(self, names: tuple[str, ...]) -> None:
        groups = self._table.group_by(list(names)).aggregate(many=self._table.count())
        single = groups.filter(groups["many"] == 1)
        try:
            self._unique[names] = self._number(single.aggregate(number=single.count()))
        except SourceError:  # a type that this engine cannot group by
            self.left_out.append(f"{' and '.join(names)}, since this engine cannot group by it")

    def _number(self, table: "ir.Table") -> int:
        (row,) = self._source.fetch(self._source.compile(table))
        number: Any = row["number"]
        return int(number or 0)
