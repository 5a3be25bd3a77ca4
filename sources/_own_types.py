"""Types of columns that only their engine knows, beside those of Ibis."""

from __future__ import annotations

from functools import cache
from typing import Any

import ibis.expr.datatypes as dt
from ibis.backends.sql import SQLBackend
from ibis.backends.sql.datatypes import DuckDBType, PostgresType, SqlglotType
from ibis.common.exceptions import IbisError
from sqlglot import exp
from sqlglot.errors import SqlglotError


class OwnType(dt.Unknown):
    """A type that only its engine knows; `raw_type` is its name there.

    Ibis keeps such a type as a syntax tree, or fails while it reads the name, and then no column of the table can be
    read (ADR 60).
    """

    def __str__(self) -> str:
        """Return the name by which the engine, a configuration and the store know it."""
        return str(self.raw_type)


def name_own_types(backend: SQLBackend) -> None:
    """Let a backend that is only ours read the types of columns so."""
    kind: Any = type(backend.compiler)
    backend.compiler = _compiler_of(kind)()


@cache
def _compiler_of(kind: Any) -> Any:
    # operations of `kind` are inherited; Ibis would put its own in place of those that a backend of ours mended
    own = {"__slots__": (), "UNSUPPORTED_OPS": (), "SIMPLE_OPS": {}, "type_mapper": _mapper_of(kind.type_mapper)}
    return type(kind.__name__, (kind,), own)


@cache
def _mapper_of(kind: type[SqlglotType]) -> type[SqlglotType]:
    """Return Ibis' types of an engine, of which those that it does not know have their own names."""

    @cache  # sqlglot parses a type in a fifth of a millisecond, and a database has few types and many columns
    def read_type(text: str, nullable: bool | None) -> dt.DataType:
        try:
            read = kind.from_string(text, nullable=nullable)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, IbisError, SqlglotError):
            return OwnType(raw_type=text, nullable=nullable is not False)
        return OwnType(raw_type=text, nullable=nullable is not False) if _is_unknown(read) else read

    def from_string(_cls: type[SqlglotType], text: str, nullable: bool | None = None) -> dt.DataType:
        return read_type(text, nullable)

    def from_own(_cls: type[SqlglotType], own: OwnType) -> exp.DataType:
        return exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=own.raw_type)

    own = {"from_string": classmethod(from_string), "_from_ibis_OwnType": classmethod(from_own)}
    return type(kind.__name__, (kind,), own)


def _is_unknown(kind: dt.DataType) -> bool:
    """Check whether a type, or a part of it, is one that Ibis does not know."""
    if isinstance(kind, dt.Struct):
        return any(map(_is_unknown, kind.types))
    if isinstance(kind, dt.Map):
        return _is_unknown(kind.key_type) or _is_unknown(kind.value_type)
    return _is_unknown(kind.value_type) if isinstance(kind, dt.Array) else isinstance(kind, dt.Unknown)


def is_engine_type(text: str) -> bool:
    """Check whether a name of a type is none that Ibis has a name of its own for, as it has int64 for BIGINT."""
    kinds = (DuckDBType, PostgresType)
    return all(isinstance(_mapper_of(kind).from_string(text), OwnType) for kind in kinds)
