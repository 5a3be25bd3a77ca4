"""What a statistic finds before noise is added, on engines that run in this process."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias

import duckdb
import ibis
import pytest

from remedies.differential_privacy import _samplers
from remedies.differential_privacy.accounting import Accounting
from remedies.differential_privacy.answers import Declared, Statistic, Terms
from remedies.differential_privacy.answers._contract import Noise
from remedies.differential_privacy.sensitivity import Sensitivity
from sources.moments import register
from tests.duckdb_rows import insert_rows

Row: TypeAlias = tuple[Any, ...]
KEY: Final = "a key"


@dataclass(frozen=True, slots=True)
class Exact:
    """Whole numbers that noise of this sensitivity is added to, or that the choice of a candidate follows."""

    moved: Sensitivity
    values: tuple[int, ...]


class Spy:
    """Takes the place of all noise: keeps what it is added to, and adds none."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.seen: list[Exact] = []
        patch.setattr(Noise, "added", lambda noise, exact: self._keep(noise.sensitivity, exact))
        patch.setattr(_samplers, "exponential_mechanism", self._choose)
        patch.setattr(_samplers, "permute_and_flip", self._choose)

    def _keep(self, moved: Sensitivity, exact: Sequence[int]) -> Sequence[int]:
        self.seen.append(Exact(moved, tuple(exact)))
        return exact

    def _choose(self, utilities: Sequence[int], *, sensitivity: int, nano_epsilon: int) -> int:
        assert nano_epsilon > 0
        self.seen.append(Exact(Sensitivity(sensitivity, sensitivity**2), tuple(utilities)))
        return utilities.index(max(utilities))

    def taken(self) -> list[Exact]:
        """Return what was seen since the last time."""
        seen, self.seen = self.seen, []
        return seen


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine with one table, `t`, whose rows can be replaced."""

    dialect: str
    table: Any
    compile: Callable[[Any], str]
    run: Callable[[str, Sequence[Row]], Sequence[Mapping[str, Any]]]

    def asks(self, statistic: Statistic, terms: Terms) -> Callable[[Sequence[Row]], Sequence[Mapping[str, Any]]]:
        """Compile a statistic once, to be asked of many rows."""
        statistic.check(terms)
        sql = self.compile(statistic.statement(self.table, self.dialect, terms, key=KEY))
        return lambda rows: self.run(sql, rows)


@contextmanager
def sqlite_engine(columns: Mapping[str, str]) -> Iterator[Engine]:
    """Yield SQLite with a table of these columns and declared types."""
    with closing(sqlite3.connect(":memory:")) as connection:
        register(connection)
        backend = ibis.sqlite.from_connection(connection)
        connection.execute(f"CREATE TABLE t ({_declared(columns)})")

        def run(sql: str, rows: Sequence[Row]) -> Sequence[Mapping[str, Any]]:
            connection.execute("DELETE FROM t")
            connection.executemany(f"INSERT INTO t VALUES ({_places(columns)})", rows)
            cursor = connection.execute(sql)
            names = [one[0] for one in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

        yield Engine("sqlite", backend.table("t"), lambda asked: str(backend.compile(asked)), run)


@contextmanager
def duckdb_engine(columns: Mapping[str, str]) -> Iterator[Engine]:
    """Yield DuckDB with a table of these columns and types."""
    with closing(duckdb.connect()) as connection:
        backend = ibis.duckdb.from_connection(connection)
        connection.execute(f"CREATE TABLE t ({_declared(columns)})")

        def run(sql: str, rows: Sequence[Row]) -> Sequence[Mapping[str, Any]]:
            connection.execute("DELETE FROM t")
            insert_rows(connection, f"INSERT INTO t VALUES ({_places(columns)})", rows)
            cursor = connection.execute(sql)
            names = [one[0] for one in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

        yield Engine("duckdb", backend.table("t"), lambda asked: str(backend.compile(asked)), run)


def distance(one: Exact, other: Exact) -> tuple[int, int]:
    """Return how far two vectors lie apart: L1, and the square of L2."""
    moves = [abs(a - b) for a, b in zip(one.values, other.values, strict=True)]
    return sum(moves), sum(move**2 for move in moves)


def terms_of(**declared: Any) -> Terms:
    """Return terms in pure accounting; what is not said of the data set is as by default."""
    return Terms(Declared.model_validate(declared), Accounting.PURE)


def thousandth(number: Any) -> Fraction:
    """Return a number as a test compares it."""
    return Fraction(number).limit_denominator(1000)


def _declared(columns: Mapping[str, str]) -> str:
    return ", ".join(f'"{name}" {kind}' for name, kind in columns.items())


def _places(columns: Mapping[str, str]) -> str:
    return ", ".join("?" for _ in columns)
