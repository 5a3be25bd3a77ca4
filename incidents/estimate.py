"""Estimate data downtime and its cost before any incident is recorded: the planning figure.

Source: Moses, Gavish, Vorwerck, *Data Quality Fundamentals* (O'Reilly, 2022), N x (TTD + TTR). Everything is an exact
fraction: 1000 tables with one incident per 15 tables and year have 66.67 incidents, not 67, and rounding before
multiplying by an hourly cost invents money.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Final

from incidents._rates import Lever, StaffRole, lever_of, money, role_rate

__all__ = ["Estimate", "ExpectedIncidents", "Lever", "StaffRole", "estimate", "money"]

_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class ExpectedIncidents:
    """What is expected of a year: tables, incidents for each, and how long one takes to detect and to repair."""

    tables: int
    incidents_per_table_year: Fraction
    ttd: timedelta
    ttr: timedelta


@dataclass(frozen=True, slots=True)
class Estimate:
    """A year of data downtime: incidents, hours, and money in the currency's whole unit; exact, round it to show it.

    `saving`: what the asked improvement of downtime saves in a year; None if none was asked for.
    """

    incidents: Fraction
    downtime_h: Fraction
    hourly_cost: Fraction
    annual_cost: Fraction
    saving: Fraction | None
    lever: Lever


def estimate(
    expected: ExpectedIncidents,
    *,
    roles: Iterable[StaffRole] = (),
    loss_per_hour: Fraction = Fraction(),
    improve: Fraction | None = None,
) -> Estimate:
    """Return the planning figure.

    Args:
        expected: what is expected of a year.
        roles: people who cannot work, or who repair, while data is down.
        loss_per_hour: business loss per hour.
        improve: the share of downtime to be saved, 0 to 1.

    Raises:
        ValueError: a number that cannot be: negative, or an improvement of more than all.
    """
    _check(expected, loss_per_hour, improve)
    incidents = expected.tables * expected.incidents_per_table_year
    undetected, repair = _hours(expected.ttd), _hours(expected.ttr)
    downtime_h = incidents * (undetected + repair)
    hourly_cost = role_rate(roles) + loss_per_hour
    annual_cost = downtime_h * hourly_cost
    return Estimate(
        incidents=incidents,
        downtime_h=downtime_h,
        hourly_cost=hourly_cost,
        annual_cost=annual_cost,
        saving=None if improve is None else annual_cost * improve,
        lever=lever_of(undetected, repair),
    )


def _hours(length: timedelta) -> Fraction:
    return Fraction(length // timedelta(microseconds=1), _HOUR // timedelta(microseconds=1))


def _check(expected: ExpectedIncidents, loss_per_hour: Fraction, improve: Fraction | None) -> None:
    amounts: dict[str, Fraction] = {
        "tables": Fraction(expected.tables),
        "incidents per table and year": expected.incidents_per_table_year,
        "time to detect": _hours(expected.ttd),
        "time to repair": _hours(expected.ttr),
        "loss per hour": loss_per_hour,
        "improvement": improve or Fraction(),
    }
    negative = next((name for name, number in amounts.items() if number < 0), None)
    if negative is not None:
        raise ValueError(f"{negative} is {float(amounts[negative]):g}, expected 0 or more")
    if improve is not None and improve > 1:
        percent = 100 * float(improve)
        raise ValueError(f"improvement is {percent:g}%, expected at most 100%: no more than all can be saved")
