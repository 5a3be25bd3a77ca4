"""Prices, planned work and money, as the configuration says."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest

from incidents import to_us
from monitor.config import Config
from monitor.config.prices import Currency, is_priced, maintenance_of, midnight, pricing_of

_WEATHER_COST = {
    "currency": "JPY",
    "tiers": {"gold": {"per_hour": 100000}, "silver": {"per_hour": 12000}, "bronze": {"per_hour": 0}},
    "roles": [
        {"role": "data engineer", "headcount": 2, "hourly": 4000, "share": 0.25},
        {"role": "analyst", "headcount": 10, "hourly": 5000, "share": 0.2},
    ],
}
_TABLES = (
    {"name": "weather", "source": "s", "tier": "gold", "domain": "sky"},
    {"name": "customer", "source": "s", "tier": "silver"},
    {"name": "track", "source": "s", "tier": "bronze"},
    {"name": "notes", "source": "s"},
)
_NOW = to_us(datetime(2026, 11, 20, tzinfo=UTC))


def _config(**more: Any) -> Config:
    plain: Mapping[str, Any] = {
        "version": 1,
        "project": "p",
        "sources": {"s": {"url": "sqlite:///a.db"}},
        "domains": {"sky": {}},
        "tables": _TABLES,
        **more,
    }
    return Config.model_validate(plain)


@pytest.mark.parametrize(
    ("table", "per_hour"),
    [("weather", 112_000), ("customer", 24_000), ("track", 12_000), ("notes", 12_000), ("not configured", 12_000)],
)
def test_business_loss_and_roles_add_up(table: str, per_hour: int) -> None:
    """An hour of a table costs its tier's business loss plus the roles; a table without a tier costs the roles."""
    assert pricing_of(_config(cost=_WEATHER_COST)).per_hour(table, _NOW) == per_hour


def test_a_tables_own_rate_replaces_its_tiers() -> None:
    """`cost.tables` is the business loss of a table whatever its tier; 0 is a rate."""
    cost = {**_WEATHER_COST, "tables": {"weather": {"per_hour": 0}}}
    assert pricing_of(_config(cost=cost)).per_hour("weather", _NOW) == 12_000


def test_rates_hold_from_midnight_of_the_projects_zone() -> None:
    """A new rate holds from midnight on the project's wall clock; nothing is priced before the first rate."""
    cost = {
        "valid_from": date(2026, 10, 1),
        "roles": [{"role": "r", "headcount": 1, "hourly": 3, "share": 1}],
        "history": [
            {"valid_from": date(2026, 4, 1), "roles": [{"role": "r", "headcount": 1, "hourly": 2, "share": 1}]}
        ],
    }
    pricing = pricing_of(_config(timezone="Asia/Tokyo", cost=cost))
    first, second = (to_us(datetime(2026, month, day, 15, tzinfo=UTC)) for month, day in ((3, 31), (9, 30)))
    assert pricing.per_hour("weather", first - 1) is None
    assert [pricing.per_hour("weather", at) for at in (first, second - 1, second)] == [2, 2, 3]


def test_business_hours_run_on_their_own_wall_clock() -> None:
    """Business hours go by their own zone, else by the project's."""
    hours = {"start": "09:00", "end": "19:00", "outside_factor": 0.2}
    for more, zone in (({}, "Asia/Tokyo"), ({"timezone": "Europe/Berlin"}, "Europe/Berlin")):
        cost = {**_WEATHER_COST, "business_hours": {**hours, **more}}
        card = pricing_of(_config(timezone="Asia/Tokyo", cost=cost)).cards[0]
        assert card.business_hours is not None
        assert (card.business_hours.zone, sorted(card.business_hours.days)) == (zone, [0, 1, 2, 3, 4])
        assert card.outside_factor == Fraction(1, 5)


def test_without_any_rate_nothing_has_a_price() -> None:
    """A configuration without rates says that a price is not known; one with a past rate says that it is."""
    assert not is_priced(_config())
    assert is_priced(_config(cost=_WEATHER_COST))
    assert not is_priced(_config(cost={"currency": "JPY"}))


@pytest.mark.parametrize(
    ("about", "planned"),
    [
        ({}, {"weather", "customer", "not configured"}),
        ({"tables": ["customer"]}, {"customer"}),
        ({"domains": ["sky"]}, {"weather"}),
        ({"tables": ["customer"], "domains": ["sky"]}, {"weather", "customer"}),
    ],
)
def test_planned_work_is_about_its_tables_and_domains(about: Mapping[str, Any], planned: set[str]) -> None:
    """Planned work counts for the tables and domains it names, and for every table when it names none."""
    work = {**about, "start": "2026-11-01T00:00", "end": "2026-11-01T02:00", "reason": "move"}
    names = ("weather", "customer", "not configured")
    maintenance = maintenance_of(_config(timezone="Asia/Tokyo", maintenance=[work]), names)
    assert maintenance is not None
    lengths = {
        name: int(measure.ends[-1] - measure.starts[0]) if measure.starts.size else 0
        for name, measure in zip(names, (maintenance.measures[i] for i in maintenance.of_table), strict=True)
    }
    assert lengths == {name: 7_200_000_000 if name in planned else 0 for name in names}
    assert maintenance.measures[-1].starts[0] == to_us(datetime(2026, 10, 31, 15, tzinfo=UTC))


def test_no_planned_work_needs_no_ruler() -> None:
    """A configuration without planned work gives none."""
    assert maintenance_of(_config(), ("weather",)) is None


@pytest.mark.parametrize(
    ("code", "amount", "number", "text"),
    [
        ("JPY", Fraction(20_799_999, 2), 10_400_000, "JPY 10,400,000"),
        ("EUR", Fraction(1234567, 1000), 1234.57, "EUR 1,234.57"),
        ("KWD", Fraction(1, 3), 0.333, "KWD 0.333"),
        ("JPY", Fraction(0), 0, "JPY 0"),
    ],
)
def test_money_is_rounded_once_to_the_currencys_decimals(code: str, amount: Fraction, number: float, text: str) -> None:
    """Money has as many decimals as its currency; a currency without decimals gives whole numbers."""
    currency = Currency.of(code)
    assert currency.number(amount) == number
    assert isinstance(currency.number(amount), int) == (code == "JPY")
    assert currency.text(amount) == text
    assert currency.number(None) is None


def test_a_day_begins_when_its_clocks_say_so() -> None:
    """A day that clocks begin at 01:00 begins at the moment they jump."""
    assert midnight(date(2026, 11, 20), "Asia/Tokyo") == datetime(2026, 11, 19, 15, tzinfo=UTC)
    first, after = midnight(date(2026, 9, 6), "America/Santiago"), midnight(date(2026, 9, 7), "America/Santiago")
    assert after - first == timedelta(hours=23)
