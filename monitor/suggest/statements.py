"""Statements about the columns of a table, put together from parts that are compiled once for each type of column.

Ibis takes milliseconds for an expression, and a profile has a dozen for each column. They differ in names only: each
is compiled for stand-in columns of a stand-in table, and the names of a table are put in their place as identifiers.

    SELECT ... FROM (columns of a table) AS "t0"                    figures: expressions of one aggregate
    SELECT 0 AS "place", "p".* FROM (...) AS "p" UNION ALL ...      parts: statements of their own

Parts about a sample read it from one WITH, so that all are about the same rows. MariaDB does not find its name in the
WITH of a part: there each part draws a sample of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from sources import QueryFailed, Source
from sources.expressions import dt, ibis, ir

_ROWS: Final = "tablewatch rows"
_COLUMN: Final = "tablewatch column "
_FIGURE: Final = "tablewatch figure"
_SELECT: Final = "SELECT {} FROM {}"  # filled with identifiers, and with what Ibis compiled
_PARTS_OF_A_STATEMENT: Final = 50
"""Engines plan statements of hundreds of parts in more than linear time, and SQLite takes 500 at most."""

_WITHOUT_OUTER_NAMES: Final = frozenset({"mysql"})

Build = Callable[..., Any]
"""Returns an expression from a table and some of its columns."""


@dataclass(frozen=True, slots=True)
class StatementPart:
    """A statement over the rows of a table, and the columns that it reads."""

    text: str
    columns: Sequence[str]


class ColumnTemplates:
    """The compiled parts of the statements about the tables of one open source."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._quoted: dict[str, str] = {}
        self.rows = self.quoted(_ROWS)
        self._texts: dict[tuple[object, ...], str] = {}
        hole, figure = re.escape(self.quoted(f"{_COLUMN}0")).replace("0", "([0-9]+)"), re.escape(self.quoted(_FIGURE))
        self._hole = re.compile(hole)
        self._figure = re.compile(rf"SELECT\s+(.*)\s+AS {figure}\s+FROM {re.escape(self.rows)} AS \S+\s*", re.DOTALL)

    def quoted(self, name: str) -> str:
        """Return a name as an identifier of the engine."""
        if name not in self._quoted:
            self._quoted[name] = exp.to_identifier(name, quoted=True).sql(self.source.dialect)
        return self._quoted[name]

    def answer(self, key: object, columns: Mapping[str, dt.DataType], build: Build) -> str:
        """Return a statement over the rows; `build` makes it of a table and the names of its columns.

        Equal keys and types of columns have equal statements but for the names of the columns.
        """
        return self._named((key, *columns.values()), columns, build)

    def figure(self, key: object, columns: Mapping[str, dt.DataType], build: Build) -> str:
        """Return one expression of an aggregate over the rows; `build` makes it of a table and the names as above.

        Raises:
            QueryFailed: the engine computes it in more than one SELECT.
        """

        def aggregate(table: ir.Table, *names: str) -> ir.Table:
            return table.aggregate(**{_FIGURE: build(table, *names)})

        return self._named((key, *columns.values()), columns, aggregate, only_figure=True)

    def _named(
        self, key: tuple[object, ...], columns: Mapping[str, dt.DataType], build: Build, *, only_figure: bool = False
    ) -> str:
        if key not in self._texts:
            names = [f"{_COLUMN}{at}" for at in range(len(columns))]
            table = ibis.table(dict(zip(names, columns.values(), strict=True)), name=_ROWS)
            text = self.source.compile(build(table, *names))
            if only_figure:
                match = self._figure.fullmatch(text)
                if match is None:
                    raise QueryFailed(f"source '{self.source.name}': {self.source.dialect} has no aggregate for this")
                text = match[1]
            self._texts[key] = text
        own = [self.quoted(name) for name in columns]
        return self._hole.sub(lambda match: own[int(match[1])], self._texts[key])


class TableStatements:
    """Statements about the columns of one table. `columns`: those that may be read; by default all.

    Raises:
        SourceError: the catalogue cannot be read.
    """

    def __init__(self, templates: ColumnTemplates, relation: str, columns: Sequence[str] | None = None) -> None:
        self.templates = templates
        self.source = templates.source
        table = self.source.table(relation)
        self.schema: dict[str, dt.DataType] = {
            name: type_ for name, type_ in table.schema().items() if columns is None or name in columns
        }
        self.measured = [name for name, type_ in self.schema.items() if not type_.is_geospatial()]
        """The columns that statements may name: of shapes Ibis reads what only an extension of the engine has."""
        self._table = table.select(*self.measured) if self.measured else table
        self._text: str | None = None

    def of(self, *columns: str) -> Mapping[str, dt.DataType]:
        """Return columns with their types."""
        return {name: self.schema[name] for name in columns}

    def figure(self, key: object, columns: Sequence[str], build: Build) -> str:
        """Return one expression of an aggregate; see `ColumnTemplates.figure`."""
        return self.templates.figure(key, self.of(*columns), build)

    def part(self, key: object, columns: Sequence[str], build: Build) -> StatementPart:
        """Return a statement; see `ColumnTemplates.answer`."""
        return StatementPart(self.templates.answer(key, self.of(*columns), build), columns)

    def rows(self) -> int:
        """Count the rows of the table."""
        return int(self.figures({"n": "count(*)"}, 1, self.measured)["n"])

    def figures(self, figures: Mapping[str, str], share: float, columns: Sequence[str]) -> Mapping[str, Any]:
        """Compute figures in one scan of a share of the rows, of the named columns."""
        quoted = self.templates.quoted
        texts = ", ".join(f"{text} AS {quoted(name)}" for name, text in figures.items())
        (row,) = self.source.fetch(_SELECT.format(texts, f"({self._rows(columns, share)}) AS {quoted('t0')}"))
        return row

    def answers(self, parts: Sequence[StatementPart], share: float) -> Sequence[Mapping[str, Any]]:
        """Run statements of equal columns over a share of the rows; `place` is the number of a row's statement."""
        place, alias = map(self.templates.quoted, ("place", "p"))
        rows: list[Mapping[str, Any]] = []
        for start in range(0, len(parts), _PARTS_OF_A_STATEMENT):
            some = parts[start : start + _PARTS_OF_A_STATEMENT]
            head = ""
            if share < 1 and self.source.dialect not in _WITHOUT_OUTER_NAMES:
                names = list(dict.fromkeys(name for part in some for name in part.columns))
                head = f"WITH {self.templates.rows} AS ({self._rows(names, share)})\n"
            texts = [part.text if head else self._put_rows(part, share) for part in some]
            what = f"{{}} AS {place}, {alias}.*"
            numbered = [_SELECT.format(what.format(at), f"({text}) AS {alias}") for at, text in enumerate(texts, start)]
            rows += self.source.fetch(head + "\nUNION ALL\n".join(numbered))
        return rows

    def _put_rows(self, part: StatementPart, share: float) -> str:
        rows = self._rows(part.columns, share)
        return part.text.replace(f"FROM {self.templates.rows} AS", f"FROM ({rows}) AS")

    def _rows(self, columns: Sequence[str], share: float) -> str:
        """Return the statement of the named columns of the table, or of about a share of its rows."""
        if share < 1:
            return self.source.compile(self._table.select(*columns).filter(ibis.random() < share))
        if self._text is None:
            self._text = self.source.compile(self._table)
        names = ", ".join(map(self.templates.quoted, columns)) or "*"
        return _SELECT.format(names, f"({self._text}) AS {self.templates.quoted('t')}")
