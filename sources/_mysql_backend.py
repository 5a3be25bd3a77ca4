"""Speak to MariaDB and MySQL through Ibis, whose compiler is mended where it has no rule or one of another meaning.

A collation may take `A` for `a` and leave blanks at the end out. Texts are compared letter by letter here, as on every
other engine: each column of text is read in UTF-8 with a binary collation that pads nothing.
"""

from collections.abc import Mapping
from contextlib import closing
from typing import Any, ClassVar, Final

import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
import sqlglot.expressions as sge
from ibis.backends.mysql import Backend
from ibis.backends.sql.compilers.mysql import MySQLCompiler
from ibis.backends.sql.datatypes import MySQLType
from ibis.common.exceptions import UnsupportedOperationError


class ExactText(dt.String):
    """Text of which two are equal if their characters are. A cast to it keeps the text."""

    collation: str

    def __str__(self) -> str:
        """Return the name by which a configuration and the store know it."""
        return str(dt.String(nullable=self.nullable))


class _Types(MySQLType):
    """Ibis' types, mended where a number of the type would not fit, or is none."""

    @classmethod
    def from_string(cls, text: str, nullable: bool | None = None) -> dt.DataType:
        """Return the type that a column of the catalogue has."""
        name = text.lower().partition("(")[0]
        if name in _OWN_TYPES:
            return _OWN_TYPES[name](nullable=nullable)
        return super().from_string(text, nullable=nullable)


_INVISIBLE: Final = (
    "SELECT column_name FROM information_schema.columns WHERE table_schema = COALESCE(%s, DATABASE()) "
    "AND table_name = %s AND extra LIKE '%%INVISIBLE%%' ORDER BY ordinal_position"
)
_OWN_TYPES: Final[Mapping[str, type[dt.DataType]]] = {"year": dt.Int16, "bit": dt.Binary, "set": dt.String}


class _Compiler(MySQLCompiler):
    """Ibis' compiler, with rules of our own."""

    __slots__ = ()
    type_mapper = _Types
    UNSUPPORTED_OPS = ()  # of those that are ours; Ibis would put its own in their place again
    SIMPLE_OPS: ClassVar[Mapping[Any, Any]] = {}

    def visit_IsNan(self, op: ops.IsNan, *, arg: sge.Expression) -> Any:
        """Return FALSE: the engine keeps no NaN."""
        return sge.false()

    def visit_IsInf(self, op: ops.IsInf, *, arg: sge.Expression) -> Any:
        """Return FALSE: the engine keeps no infinity."""
        return sge.false()

    def visit_CountStar(self, op: ops.CountStar, *, arg: sge.Expression, where: sge.Expression | None) -> Any:
        """Return 0 where no row is counted, not NULL as the sum is that Ibis writes."""
        return self.f.count(sge.Star()) if where is None else self.f.count(self.if_(where, sge.convert(1), sge.null()))

    def visit_Divide(self, op: ops.Divide, *, left: sge.Expression, right: sge.Expression) -> Any:
        """Divide in floating point what Ibis says is; whole numbers have four digits behind the point otherwise."""
        return self.binop(sge.Div, self.cast(left, op.dtype) if op.dtype.is_floating() else left, right)

    def visit_Mean(self, op: ops.Mean, *, arg: sge.Expression, where: sge.Expression | None) -> Any:
        """Return a mean in floating point, for the same reason."""
        return self.agg.avg(self.cast(arg, op.dtype) if op.dtype.is_floating() else arg, where=where)

    def visit_ExtractEpochSeconds(self, op: ops.ExtractEpochSeconds, *, arg: sge.Expression) -> Any:
        """Return the seconds since 1970 of any time; UNIX_TIMESTAMP has those of 32 bits."""
        return self.f.anon.timestampdiff(self.v.SECOND, sge.convert("1970-01-01"), arg)

    def visit_Literal(self, op: ops.Literal, *, value: Any, dtype: dt.DataType) -> Any:
        """Return NULL with its type: in a subquery it has none, and makes texts of the numbers of a UNION."""
        if value is None and not (dtype.is_null() or dtype.is_boolean()):
            return self.cast(sge.null(), dtype)
        return super().visit_Literal(op, value=value, dtype=dtype)

    def visit_Translate(
        self, op: ops.Translate, *, arg: sge.Expression, from_str: sge.Expression, to_str: sge.Expression
    ) -> Any:
        """Replace the letters of each new one by a class of a pattern, as the engine has no TRANSLATE."""
        pairs = [(old, new) for old, new in zip(from_str.this, to_str.this, strict=True) if old != new]
        if {old for old, _ in pairs} & {new for _, new in pairs} or any(not old.isalnum() for old, _ in pairs):
            raise UnsupportedOperationError("letters that replace one another, or marks, are not translated")
        for new in dict.fromkeys(new for _, new in pairs):
            letters = "".join(old for old, letter in pairs if letter == new)
            arg = self.f.anon.regexp_replace(arg, sge.convert(f"[{letters}]"), sge.convert(new))
        return arg

    def visit_Equals(self, op: ops.Equals, *, left: sge.Expression, right: sge.Expression) -> Any:
        """Compare texts by their collation, which is exact; Ibis compares bytes, of two encodings maybe."""
        return self.binop(sge.EQ, left, right)

    def visit_Cast(self, op: ops.Cast, *, arg: sge.Expression, to: dt.DataType) -> Any:
        """Keep microseconds, which the engine's plain DATETIME has not, and compare exact texts letter by letter."""
        if isinstance(to, ExactText):
            unicode = sge.DataType(this=sge.DataType.Type.CHARACTER_SET, kind=sge.Var(this="utf8mb4"))
            return sge.Collate(this=sge.Cast(this=arg, to=unicode), expression=sge.Var(this=to.collation))
        if isinstance(op.arg.dtype, ExactText) and to.is_string():
            return arg
        if to.is_timestamp() and not op.arg.dtype.is_numeric():
            return sge.Cast(this=arg, to=sge.DataType.build("DATETIME(6)", dialect="mysql"))
        return super().visit_Cast(op, arg=arg, to=to)

    def visit_RegexReplace(
        self, op: ops.RegexReplace, *, arg: sge.Expression, pattern: sge.Expression, replacement: sge.Expression
    ) -> Any:
        """Replace; back references would be written in different ways on MariaDB and on MySQL."""
        return self.f.anon.regexp_replace(arg, pattern, replacement)

    def visit_TryCast(self, op: ops.TryCast, *, arg: sge.Expression, to: dt.DataType) -> Any:
        """Cast to a time: what is none is NULL in a query, and no error. A number of what is none would be 0."""
        if not to.is_temporal():
            raise UnsupportedOperationError("a cast that may fail is known of times only")
        return self.visit_Cast(op, arg=arg, to=to)


class MySqlBackend(Backend):
    """Ibis' backend on a connection that is set up already: Ibis would ask for a zone that many servers do not know."""

    compiler = _Compiler()

    def _post_connect(self) -> None: ...


def table_of(backend: MySqlBackend, *, schema: str | None, name: str) -> ir.Table:
    """Return a table as an expression whose texts are compared letter by letter, blanks at the end included.

    Raises:
        MySQLdb.Error: its columns cannot be read.
    """
    table = backend.table(name, database=schema)
    mariadb = "MariaDB" in backend.con.get_server_info()
    exact = ExactText(collation="utf8mb4_nopad_bin" if mariadb else "utf8mb4_0900_bin")
    texts = {column for column, kind in table.schema().items() if kind.is_string()}
    hidden = _invisible_columns(backend, schema=schema, name=name)
    if hidden:  # SELECT * leaves them out, and Ibis writes that for all columns in their order
        table = table.select(*hidden, *(column for column in table.columns if column not in hidden))
    if not texts:
        return table
    return table.select(
        *(table[name].cast(exact).name(name) if name in texts else table[name] for name in table.columns)
    )


def _invisible_columns(backend: MySqlBackend, *, schema: str | None, name: str) -> list[str]:
    with closing(backend.con.cursor()) as cursor:
        cursor.execute(_INVISIBLE, (schema, name))
        return [column for (column,) in cursor.fetchall()]
