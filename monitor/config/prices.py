"""What downtime costs and which time does not count, as the configuration says: prices, planned work, the currency."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Self
from zoneinfo import ZoneInfo

from checks import moment_of_local_time
from incidents import BusinessCalendar, MaintenanceSpans, Pricing, RateCard, StaffRole, money, role_rate, to_us
from monitor.config import Config, Rates


def pricing_of(config: Config) -> Pricing:
    """Return all rate cards and the tier of each table. Where nothing is configured, an hour costs nothing."""
    cards = [_card(rates, config.timezone) for rates in (config.cost, *config.cost.history)]
    return Pricing.of(cards, {table.name: table.tier for table in config.tables if table.tier is not None})


def is_priced(config: Config) -> bool:
    """Check whether any rate is configured: without one, downtime has no price, which is not a price of nothing."""
    return any(rates.tiers or rates.tables or rates.roles for rates in (config.cost, *config.cost.history))


def maintenance_of(config: Config, names: Sequence[str]) -> MaintenanceSpans | None:
    """Return the planned work on tables, for spans with these names; None where none is configured."""
    return MaintenanceSpans.of(names, planned_work(config, names)) if config.maintenance else None


def planned_work(config: Config, names: Sequence[str]) -> dict[str, list[tuple[int, int]]]:
    """Return when work is planned on tables (microseconds), by name."""
    planned = [(work, tuple(map(to_us, work.span(config.timezone)))) for work in config.maintenance]

    def of_table(name: str) -> list[tuple[int, int]]:
        table = config.table(name)
        domain = None if table is None else table.domain
        return [(start, end) for work, (start, end) in planned if work.concerns(name, domain)]

    return {name: of_table(name) for name in names}


def _card(rates: Rates, zone: str) -> RateCard:
    hours = rates.business_hours
    return RateCard(
        valid_from_us=None if rates.valid_from is None else to_us(midnight(rates.valid_from, zone)),
        tables={name: rate.per_hour for name, rate in rates.tables.items()},
        tiers={name: rate.per_hour for name, rate in rates.tiers.items()},
        roles=role_rate(StaffRole(role.headcount, role.hourly, role.share) for role in rates.roles),
        business_hours=None
        if hours is None
        else BusinessCalendar(
            frozenset(hours.days), hours.start, hours.end, hours.outside_factor, hours.timezone or zone
        ),
    )


def midnight(day: date, zone: str) -> datetime:
    """Return when a day begins in a zone, in UTC; where clocks skip midnight, the moment at which they do."""
    return moment_of_local_time(datetime.combine(day, time()), ZoneInfo(zone))


@dataclass(frozen=True, slots=True)
class Currency:
    """The currency of a project (ISO 4217) and how many decimals its amounts have: JPY 0, EUR 2."""

    code: str
    decimals: int

    @classmethod
    def of(cls, code: str) -> Self:
        """Return a currency by its code."""
        from babel.numbers import get_currency_precision

        return cls(code, get_currency_precision(code))

    def round(self, amount: Fraction) -> Decimal:
        """Return an exact amount as money, rounded this once, halves away from zero."""
        return money(amount, self.decimals)

    def number(self, amount: Fraction | None) -> int | float | None:
        """Return an amount as JSON has it: a whole number where the currency has no decimals."""
        if amount is None:
            return None
        rounded = self.round(amount)
        return int(rounded) if self.decimals == 0 else float(rounded)

    def text(self, amount: Fraction) -> str:
        """Format an amount: `JPY 3,418,000`."""
        return f"{self.code} {self.round(amount):,}"
