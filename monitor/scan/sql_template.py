"""Compile once, fill in at each run: SQL text with placeholders for times, and for predicates of the configuration.

A placeholder is an expression that no table can contain, compiled like any other, whose text is then replaced by text
that Ibis or sqlglot wrote, never by text from outside (ADR 26).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from types import MappingProxyType
from typing import ClassVar, Protocol, TypeAlias
from zoneinfo import ZoneInfo

from checks import latest_local_time
from sources import Source
from sources.expressions import ibis, ir

_FAR_YEAR = 2999
_PARTS = ("year", "month", "day", "hour", "minute", "second")


class Compiler(Protocol):
    """Returns the SQL text of an expression in one dialect."""

    def compile(self, expression: ir.Expr) -> str:
        """Return the SQL text of an expression."""


@dataclass(frozen=True, slots=True)
class TimePlaceholder:
    """Stands for the time of the measurement plus a shift, as UTC or as the naive local time of a zone.

    With a `bound`, for the time of that name.
    """

    text: str
    shift: timedelta
    zone: str | None
    naive: bool
    bound: str | None = None

    def at(self, now: datetime) -> datetime:
        """Return the time that belongs there, to the second."""
        moment = (now + self.shift).astimezone(UTC).replace(microsecond=0)
        if self.zone is not None:
            return latest_local_time(moment, ZoneInfo(self.zone))
        return moment.replace(tzinfo=None) if self.naive else moment


@dataclass(frozen=True, slots=True)
class SqlTemplate:
    """A compiled statement with placeholders for times."""

    sql: str
    moments: tuple[TimePlaceholder, ...] = ()

    def fill(self, now: datetime, literals: TimeLiterals, bounds: Mapping[str, datetime] = MappingProxyType({})) -> str:
        """Return the statement as it is run at a time, with the times of its bounds."""
        text = self.sql
        for moment in self.moments:
            time = now if moment.bound is None else bounds[moment.bound]
            text = text.replace(moment.text, literals.of(moment.at(time)))
        return text


TimeForms: TypeAlias = Mapping[str, Mapping[bool, str | None]]
"""By dialect, and by whether times are naive: how an engine writes times; None where each is compiled."""


class TimeLiterals:
    """Writes times, to the second, as one engine does: compiling each would take longer than asking a small table.

    How an engine writes them is learnt from one compiled example and tried on a second one with parts of one digit; an
    engine whose way is not understood has every time compiled.
    """

    _learnt: ClassVar[dict[str, dict[bool, str | None]]] = {}
    _example: ClassVar = datetime(2789, 11, 26, 17, 48, 53)  # noqa: DTZ001 - no part stands in another one
    _other: ClassVar = datetime(2801, 2, 3, 4, 5, 6)  # noqa: DTZ001 - as above

    def __init__(self, source: Source) -> None:
        self._source = source

    def of(self, moment: datetime) -> str:
        """Return a time as SQL text."""
        forms, naive = self._learnt.setdefault(self._source.dialect, {}), moment.tzinfo is None
        if naive not in forms:
            forms[naive] = self._learn(moment.tzinfo)
        form = forms[naive]
        return self._compiled(moment) if form is None else _fill_form(form, moment)

    @classmethod
    def known(cls) -> TimeForms:
        """Return what was learnt so far."""
        return cls._learnt

    @classmethod
    def know(cls, forms: TimeForms) -> None:
        """Take over what another process learnt."""
        for dialect, found in forms.items():
            cls._learnt.setdefault(dialect, {}).update(found)

    def _learn(self, zone: tzinfo | None) -> str | None:
        text = self._compiled(self._example.replace(tzinfo=zone))
        for padded in (True, False):
            form = text.replace("{", "{{").replace("}", "}}")
            for part in _PARTS:
                width = "" if not padded else "04" if part == "year" else "02"
                form = form.replace(str(getattr(self._example, part)), f"{{{part}:{width}}}")
            if _fill_form(form, self._other) == self._compiled(self._other.replace(tzinfo=zone)):
                return form
        return None

    def _compiled(self, moment: datetime) -> str:
        return _literal_sql(ibis.literal(moment), self._source)


def _fill_form(form: str, moment: datetime) -> str:
    return form.format(**{part: getattr(moment, part) for part in _PARTS})


class Placeholders:
    """Make expressions that stand for what is filled in later, and find their text in compiled SQL."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._moments: dict[tuple[timedelta, str | None, str | None], tuple[ir.TimestampValue, TimePlaceholder]] = {}
        self._filters: dict[str, tuple[str, ir.BooleanValue]] = {}

    def now(self, shift: timedelta = timedelta(), zone: str | None = None) -> ir.TimestampValue:
        """Return a placeholder for the time of the measurement plus a shift, as UTC or as a zone's naive wall clock."""
        return self._time(shift, zone, None)

    def bound(self, name: str, zone: str | None) -> ir.TimestampValue:
        """Return a placeholder for a time that is named, as UTC or as a zone's naive wall clock."""
        return self._time(timedelta(), zone, name)

    @property
    def times(self) -> Mapping[ir.Node, TimePlaceholder]:
        """Return the placeholders of times that were made so far, by their expressions."""
        return {expression.op(): placeholder for expression, placeholder in self._moments.values()}

    def _time(self, shift: timedelta, zone: str | None, bound: str | None) -> ir.TimestampValue:
        key = (shift, zone, bound)
        if key not in self._moments:
            # SQLite keeps times as text and knows no zones: there, UTC is a naive text too
            naive = zone is not None or self._source.dialect == "sqlite"
            stand_in = datetime(_FAR_YEAR, 12, 31, 23, 59, 59, len(self._moments) + 1, tzinfo=None if naive else UTC)
            expression = ibis.literal(stand_in)
            self._moments[key] = (
                expression,
                TimePlaceholder(_literal_sql(expression, self._source), shift, zone, naive, bound),
            )
        return self._moments[key][0]

    def filter(self, sql: str) -> ir.BooleanValue:
        """Return a placeholder for a predicate; the same one for the same text."""
        if sql not in self._filters:
            expression = ibis.literal(f"tablewatch where {len(self._filters)}") == ibis.literal("tablewatch")
            self._filters[sql] = (_literal_sql(expression, self._source), expression)
        return self._filters[sql][1]

    def compile(self, expression: ir.Expr) -> SqlTemplate:
        """Compile an expression that may contain placeholders.

        Raises:
            QueryFailed: the engine has no such operation.
        """
        sql = self._source.compile(expression)
        for predicate, (text, _) in self._filters.items():
            sql = sql.replace(text, f"({predicate})")
        return SqlTemplate(sql, tuple(moment for _, moment in self._moments.values() if moment.text in sql))


def _literal_sql(expression: ir.Value, compiler: Compiler) -> str:
    """Return how a dialect writes an expression without columns, cut out of `SELECT <it> AS "x"`."""
    sql = compiler.compile(expression.name("x"))
    return sql[sql.index("SELECT") + len("SELECT") : sql.rindex(" AS ")].strip()
