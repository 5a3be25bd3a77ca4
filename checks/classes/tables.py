"""Make the equivalence classes of a table, once, inside the engine that holds it: what disclosure risk is asked of.

    rows ──GROUP BY quasi-identifiers, sensitive──> pairs ──GROUP BY quasi-identifiers──> classes ──> answers

Within these tables the quasi-identifiers are called `q0`, `q1`, ...; `key` and `keys` give these names. NULL is a value
of its own: GROUP BY puts NULLs together on every engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from sources.expressions import ir

SIZE = "size"
COPIES = "copies"
VALUE = "value"


class ClassTables:
    """The class tables of one set of quasi-identifiers. Expressions only: nothing is run here.

    Where sensitive columns are asked about, the classes are made from the pairs of the first of them, so that one pass
    over the rows serves both.
    """

    def __init__(self, rows: ir.Table, quasi_identifiers: Sequence[str], sensitive: Sequence[str] = ()) -> None:
        """Take the rows to look at, and columns of them; the order in which they are named means nothing."""
        self.quasi_identifiers = tuple(sorted(quasi_identifiers))
        self.sensitive = tuple(sensitive)
        self.keys = tuple(f"q{number}" for number in range(len(self.quasi_identifiers)))
        self._rows = rows

    def key(self, quasi_identifier: str) -> str:
        """Return the name of a quasi-identifier within the class tables."""
        return self.keys[self.quasi_identifiers.index(quasi_identifier)]

    @cached_property
    def classes(self) -> ir.Table:
        """Return a row for each class: its keys, and how many rows it has (`size`)."""
        if self.sensitive:
            pairs = self.pairs(self.sensitive[0])
            return pairs.group_by(list(self.keys)).aggregate(**{SIZE: pairs[COPIES].sum().cast("int64")})
        narrow = self._narrow()
        return narrow.group_by(list(self.keys)).aggregate(**{SIZE: narrow.count()})

    def pairs(self, sensitive: str) -> ir.Table:
        """Return a row for each value of a sensitive column within a class: keys, `value`, how many rows (`copies`)."""
        narrow = self._narrow(sensitive)
        return narrow.group_by([*self.keys, VALUE]).aggregate(**{COPIES: narrow.count()})

    def _narrow(self, sensitive: str | None = None) -> ir.Table:
        columns = {key: self._rows[name] for key, name in zip(self.keys, self.quasi_identifiers, strict=True)}
        return self._rows.select(**columns, **({} if sensitive is None else {VALUE: self._rows[sensitive]}))


def sizes_of(tables: ClassTables) -> ir.Table:
    """Answer how many classes there are of each size: columns `size`, `classes`."""
    classes = tables.classes
    return classes.group_by(SIZE).aggregate(classes=classes.count())
