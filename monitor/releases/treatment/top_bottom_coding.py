"""Code the extremes of a table that may be larger than memory: counted where it lives, then written in pieces."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from checks import did_you_mean
from monitor.releases.disclosure.table_ref import TableRef
from monitor.releases.treatment.output import OutputColumns, Rewriting, check_not_read, publish, rewrite
from monitor.releases.treatment.table_reader import distinct_values, reading
from monitor.releases.treatment.verify import WrittenFile, exact, verify_bounds
from remedies import Misfit

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr import types as ir

    from remedies import Progress, UtilityReport
    from remedies.code import Code
    from remedies.generalisation.value_counts import Distinct
    from sources import Source


def code_extremes(remedy: "Code", place: TableRef, leaving: OutputColumns, *, progress: "Progress") -> "UtilityReport":
    """Write a table whose numbers have no extremes beyond the bounds of a remedy, and count them in the file again.

    Memory: one piece of rows, and what `row_writer` holds; of columns of texts also their distinct values.

    Raises:
        Misfit: a column is missing, holds what is no number, or cannot hold its bound; or there is no row.
        Stop: the file cannot be read or written, changed while it was read, or the output has numbers beyond a bound.
    """
    began = perf_counter()
    check_not_read(leaving.out, place)
    with reading(place) as (source, table):
        rows, distinct = _counted(source, table, remedy)
    remedy.check(distinct, rows)
    writer = _Writer(place, remedy, rows, leaving=leaving, progress=progress)
    guarantee = publish(leaving.out, writer.write, verify_bounds(remedy, lambda: writer.written))
    bill = remedy.bill(writer.tally, distinct, guarantee, seconds=perf_counter() - began)
    return replace(bill, row_order=leaving.order)


def _counted(source: "Source", table: "ir.Table", remedy: "Code") -> "tuple[int, Mapping[str, Distinct]]":
    """Count the rows, and the distinct numbers of each column.

    Raises:
        Misfit: a column is missing, or holds what is no number.
    """
    from remedies.generalisation.value_counts import Distinct

    for name in remedy.columns:
        if name not in table.columns:
            raise Misfit(f"column '{name}' not found{did_you_mean(name, table.columns)}")
    kinds = table.schema()
    numeric = [name for name in remedy.columns if kinds[name].is_numeric()]
    counts = {"rows": table.count()}
    for number, name in enumerate(numeric):
        asked = _distinct(table[name], *remedy.beyond(name), with_nan=source.dialect != "sqlite")
        counts |= {f"{word}{number}": item for word, item in asked.items()}
    (row,) = source.fetch(source.compile(table.aggregate(**counts)))
    distincts = {
        name: Distinct(*(int(row.get(f"{word}{number}") or 0) for word in ("every", "above", "below")))
        for number, name in enumerate(numeric)
    }
    others = [name for name in remedy.columns if name not in distincts]
    distincts |= {name: remedy.distinct(name, distinct_values(source, table, name)) for name in others}
    return int(row["rows"]), {name: distincts[name] for name in remedy.columns}


def _distinct(column: Any, low: Any, high: Any, _: bool, *, with_nan: bool) -> Mapping[str, Any]:
    """Return expressions that count distinct numbers; NaN, which SQLite does not have, is none."""
    there = column.notnull()
    if with_nan and column.type().is_floating():
        there = there & ~column.isnan()
    counts = {"every": column.nunique(where=there)}
    if high is not None:
        counts["above"] = column.nunique(where=there & (column >= exact(high)))
    if low is not None:
        counts["below"] = column.nunique(where=there & (column < exact(low)))
    return counts


class _Writer:
    """Writes a table as a remedy codes it. `tally`: what it did; `written`: how the file is to be read again."""

    def __init__(
        self, place: TableRef, remedy: "Code", rows: int, *, leaving: OutputColumns, progress: "Progress"
    ) -> None:
        from remedies.generalisation.value_counts import CodingCounts

        self._place, self._remedy, self._rows, self._leaving, self._progress = place, remedy, rows, leaving, progress
        self.tally: CodingCounts = CodingCounts(remedy.columns)
        self.written = WrittenFile()

    def write(self, draft: Path) -> None:
        """Write the table.

        Raises:
            Misfit: as the remedy.
            Stop: it cannot be read, or has not as many rows as it had.
        """
        rewriting = Rewriting(self._schema, self._coded, self._rows)
        self.written = rewrite(draft, self._place, rewriting, leaving=self._leaving)

    def _schema(self, before: "pa.Schema") -> "pa.Schema":
        import pyarrow as pa

        labelled = self._remedy.columns if self._remedy.form.value == "label" else ()
        return pa.schema([(item.name, pa.string() if item.name in labelled else item.type) for item in before])

    def _coded(self, piece: "pa.Table", before: "pa.Schema", after: "pa.Schema") -> "pa.Table":
        import pandas as pd
        import pyarrow as pa

        piece = piece.cast(before)
        frame = piece.select(list(self._remedy.columns)).to_pandas(types_mapper=pd.ArrowDtype)
        treated = self._remedy.piece(frame, self.tally)
        self._progress(min(1.0, self.tally.rows / self._rows))
        columns = [
            pa.array(treated[item.name], from_pandas=False).cast(item.type)
            if item.name in treated
            else piece[item.name]
            for item in after
        ]
        return pa.table(columns, schema=after)
