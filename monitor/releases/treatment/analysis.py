"""Run a person's analysis on the table that was given and on the output, and say what has changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import sqlglot
from sqlglot import exp

from checks import Json, Misconfigured
from checks.sql_text.statement import select_sql
from monitor.releases.disclosure.table_ref import TableRef
from monitor.releases.treatment.table_reader import reading
from monitor.terminal.problem import ExitCode, Problem, Stop
from sources import QueryFailed, Source, did_you_mean

if TYPE_CHECKING:
    import pandas as pd
    from ibis.expr import types as ir

    from remedies.generalisation import ResultChange

DATA: Final = "data"
"""What the table is called in an analysis, both times."""


class Analysis:
    """One SELECT from `data`, written for DuckDB; each engine is asked in its own dialect, and only reads."""

    def __init__(self, query: str) -> None:
        """Read it.

        Raises:
            Stop: it is not one SELECT that only reads, or reads from something else.
        """
        try:
            self._tree = sqlglot.parse_one(select_sql(query, dialect="duckdb"), read="duckdb")
        except Misconfigured as error:
            raise _refused(str(error).replace("'query'", "the analysis")) from None
        if any(cte.alias.lower() == DATA for cte in self._tree.find_all(exp.CTE)):
            raise _refused(f"the analysis redefines `{DATA}`, the name of the table")
        entries = {DATA, *(cte.alias.lower() for cte in self._tree.find_all(exp.CTE))}
        strange = [table.name for table in self._tree.find_all(exp.Table) if table.name.lower() not in entries]
        if strange or not self._tables():
            text = f"the analysis reads from '{strange[0]}'" if strange else "the analysis reads from no table"
            raise _refused(f"{text}; the table is named `{DATA}`")

    def run(self, place: TableRef) -> "pd.DataFrame":
        """Query a table.

        Raises:
            Stop: the engine refuses it, or the table cannot be read.
        """
        import pandas as pd

        with reading(place) as (source, table):
            try:
                rows = source.fetch(self._sql(source, table))
            except Misconfigured as error:
                raise _refused(f"the analysis cannot run on this source: {error}") from None
            except QueryFailed as error:
                raise _refused(f"the analysis: {self._unknown(table.columns) or error}") from None
        return pd.DataFrame(rows)

    def compared(self, place: TableRef) -> "AnalysisComparison":
        """Query the input table, for a comparison later.

        Raises:
            Stop: as `run`.
        """
        return AnalysisComparison(self, self.run(place))

    def _unknown(self, columns: Sequence[str]) -> str | None:
        """Describe which column the table has not; None if it is not that."""
        names = {name.lower() for name in (*columns, *(item.alias for item in self._tree.find_all(exp.Alias)))}
        strange = [item.name for item in self._tree.find_all(exp.Column) if item.name.lower() not in names]
        return f"column '{strange[0]}' not found{did_you_mean(strange[0], columns)}" if strange else None

    def _tables(self) -> list[exp.Table]:
        return [table for table in self._tree.find_all(exp.Table) if table.name.lower() == DATA and not table.db]

    def _sql(self, source: Source, table: "ir.Table") -> str:
        """Return the text for an engine, with the table in the place of its name."""
        own = sqlglot.parse_one(source.compile(table), read=source.dialect)

        def named(node: Any) -> Any:
            if isinstance(node, exp.Table) and node.name.lower() == DATA and not node.db:
                return exp.Subquery(this=own.copy(), alias=exp.TableAlias(this=exp.to_identifier(node.alias or DATA)))
            return node

        select_sql(self._tree.sql(dialect=source.dialect), dialect=source.dialect)
        return str(self._tree.transform(named).sql(dialect=source.dialect))


@dataclass(slots=True)
class AnalysisComparison:
    """What an analysis says of the table that was given, and later of the output.

    `change`: None until the output is there, and where `failure` says why it cannot be asked.
    """

    analysis: Analysis
    before: "pd.DataFrame"
    change: "ResultChange | None" = None
    failure: str | None = None

    def __call__(self, output: TableRef) -> None:
        """Query the output, and compare."""
        from remedies import Misfit
        from remedies.generalisation import compare_results

        try:
            self.change = compare_results(self.before, self.analysis.run(output))
        except Misfit as error:
            self.failure = str(error)
        except Stop as error:
            self.failure = f"{error}; columns above level 0 are text"

    def as_json(self) -> Mapping[str, Json]:
        """Return what it says of all lines together: no line is in it, since lines are data."""
        return {"failure": self.failure, "change": None if self.change is None else self.change.as_json()}


def _refused(message: str) -> Stop:
    return Stop(ExitCode.USAGE, Problem("remedy.analysis", message))
