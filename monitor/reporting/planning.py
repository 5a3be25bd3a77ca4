"""The planning figure: what data downtime would cost in a year, from what was typed to what is shown."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, Self

from rich.text import Text

from checks.parameters.scalars import parse_duration
from incidents import Lever, StaffRole
from incidents.estimate import Estimate, ExpectedIncidents, estimate
from monitor.config.prices import Currency
from monitor.reporting.model import Diagnosis
from monitor.reporting.sentences import diagnosis_sentences
from monitor.terminal.problem import ExitCode, Problem, Stop
from monitor.triage.time_parsing import format_hours

if TYPE_CHECKING:
    from rich.console import Console

_NUMBER: Final = re.compile(r"(?P<number>[0-9]+(\.[0-9]+)?|\.[0-9]+)(?P<percent> ?%)?|(?P<ratio>[0-9]+ ?/ ?[0-9]+)")


@dataclass(frozen=True, slots=True)
class PlanningInput:
    """The options as typed: `roles` as NAME:HEADCOUNT:HOURLY:SHARE."""

    tables: int
    incidents_per_table_year: str
    ttd: str
    ttr: str
    roles: Sequence[str]
    loss_per_hour: str
    improve: str | None
    currency: str


@dataclass(frozen=True, slots=True)
class PlanningFigure:
    """An estimate with what it was made of."""

    expected: ExpectedIncidents
    estimate: Estimate
    improve: Fraction | None
    currency: Currency

    @classmethod
    def of(cls, typed: PlanningInput) -> Self:
        """Return the estimate of what was typed.

        Raises:
            Stop: something cannot be read, or cannot be.
        """
        expected = ExpectedIncidents(
            tables=typed.tables,
            incidents_per_table_year=_number("--incidents-per-table-year", typed.incidents_per_table_year),
            ttd=_length("--ttd", typed.ttd),
            ttr=_length("--ttr", typed.ttr),
        )
        improve = None if typed.improve is None else _number("--improve", typed.improve)
        roles = [_role(text) for text in typed.roles]
        loss = _number("--loss-per-hour", typed.loss_per_hour)
        if not re.fullmatch("[A-Za-z]{3}", typed.currency):
            raise _refused("--currency", f"expected a code of three letters such as JPY, not '{typed.currency}'")
        try:
            result = estimate(expected, roles=roles, loss_per_hour=loss, improve=improve)
        except ValueError as error:
            raise Stop(ExitCode.USAGE, Problem("usage", str(error))) from None
        return cls(expected, result, improve, Currency.of(typed.currency.upper()))

    def to_json(self) -> dict[str, Any]:
        """Return the published shape `tablewatch.estimate/1`; money is rounded once, hours are not rounded."""
        result = self.estimate
        return {
            "schema": "tablewatch.estimate/1",
            "incidents": float(result.incidents),
            "downtime_h": float(result.downtime_h),
            "hourly_cost": self.currency.number(result.hourly_cost),
            "annual_cost": self.currency.number(result.annual_cost),
            "saving": self.currency.number(result.saving),
            "currency": self.currency.code,
            "lever": None if result.lever is Lever.NONE else result.lever.value,
        }

    def draw(self, console: "Console") -> None:
        """Print N, TTD and TTR, hours, money and the reading rule for a person."""
        for line in self._lines():
            console.print(line)

    def _lines(self) -> Iterator[Text]:
        result, expected, text = self.estimate, self.expected, self.currency.text
        ttd, ttr = (format_hours(length // timedelta(microseconds=1)) for length in (expected.ttd, expected.ttr))
        name = f"{ttd} time to detection + {ttr} time to resolution"
        yield _line("incidents", f"{_format(result.incidents)} a year on {expected.tables:,} tables")
        yield _line("each", name)
        yield _line("downtime", f"{round(result.downtime_h):,} h a year")
        yield _line("an hour costs", text(result.hourly_cost))
        yield Text.assemble((f"{'a year costs':<15}", "dim"), (text(result.annual_cost), "bold"))
        if result.saving is not None and self.improve is not None:
            yield _line("saving", f"{text(result.saving)} a year, with {100 * float(self.improve):g}% less downtime")
        if result.lever is not Lever.NONE:
            share = Fraction(expected.ttd / (expected.ttd + expected.ttr))
            diagnosis = Diagnosis(result.lever, share, found_by_person=0, n=0, costliest=None)
            for label, wording in zip_longest(("reading",), diagnosis_sentences(diagnosis), fillvalue=""):
                yield _line(label, str(wording))


def _role(text: str) -> StaffRole:
    parts = text.split(":")
    if len(parts) != 4 or not parts[0].strip():
        example = "engineer:2:4000:0.25"
        raise _refused("--role", f"expected NAME:HEADCOUNT:HOURLY:SHARE such as {example}, not '{text}'")
    headcount, hourly, share = (_number(f"--role {parts[0]}", part) for part in parts[1:])
    if share > 1:
        raise _refused(f"--role {parts[0]}", f"a share of the downtime from 0 to 1, not {parts[3]}")
    return StaffRole(headcount, hourly, share)


def _number(option: str, text: str) -> Fraction:
    """Read 0.25, 25%, 1/4 or 1/15, exactly."""
    match = _NUMBER.fullmatch(text.strip())
    try:
        if match is not None and match["ratio"]:
            return Fraction(match["ratio"].replace(" ", ""))
        if match is not None:
            return Fraction(match["number"]) / (100 if match["percent"] else 1)
    except ZeroDivisionError:
        pass
    raise _refused(option, f"expected a number such as 0.25, 1/15 or 20%, not '{text}'")


def _length(option: str, text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise _refused(option, f"expected {error}") from None


def _refused(option: str, message: str) -> Stop:
    return Stop(ExitCode.USAGE, Problem("usage", f"{option}: {message}"))


def _format(number: Fraction) -> str:
    return f"{number.numerator:,}" if number.denominator == 1 else f"{float(number):,.1f}"


def _line(label: str, text: str) -> Text:
    return Text.assemble((f"{label:<15}", "dim"), text)
