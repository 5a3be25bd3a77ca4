"""What downtime costs, worked out by hand and by definition."""

from datetime import UTC, datetime, time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incidents import (
    BusinessCalendar,
    DowntimeCost,
    MaintenanceSpans,
    Pricing,
    RateCard,
    Spans,
    StaffRole,
    Window,
    from_us,
    money,
    price,
    price_by,
    price_incidents,
    role_rate,
    to_us,
)
from incidents.spans import HOUR_US, OPEN_END
from tests.incidents.definition import Facts
from tests.incidents.histories import BASE_US
from tests.incidents.test_calendar import ZONES, half_hours, is_business
from tests.incidents.test_downtime import logged
from tests.incidents.test_downtime_laws import scenes

OFFICE = BusinessCalendar(frozenset(range(5)), time(9), time(19), Decimal("0.2"), "Asia/Tokyo")
ENGINEERS = StaffRole(Decimal(2), Decimal(4000), Decimal("0.25"))
ANALYSTS = StaffRole(Decimal(10), Decimal(5000), Decimal("0.2"))


def tokyo(text):
    """Return a time in Tokyo as microseconds."""
    return to_us(datetime.fromisoformat(f"{text}+09:00"))


def down(*stretches, tables=None):
    """Make incidents, one for each stretch of microseconds, on these tables."""
    n = len(stretches)
    start, end = (np.array(side, dtype=np.int64) for side in zip(*stretches, strict=True))
    names = tuple(dict.fromkeys(tables or ["orders"] * n))
    table = np.array([names.index(name) for name in tables or ["orders"] * n])
    zero = np.zeros(n, dtype=np.int64)
    words = (table, zero - 1, table, zero - 1, zero, zero, zero > 0, zero > 0, zero > 0)
    return Spans(names, np.arange(n), *words, start, start, start, start, end, zero + OPEN_END)


def cost_of(spans, pricing, **others):
    """Price everything."""
    window = Window(0, tokyo("2030-01-01T00:00"))
    return price(spans, window, pricing=pricing, as_of_us=window.end_us, **others)


def flat(per_hour, **others):
    """Make a pricing of one card without a beginning."""
    return Pricing.of([RateCard(None, {"orders": Decimal(per_hour)}, {}, **others)], {})


def test_a_weekend_costs_less_outside_of_business_hours():
    """Friday 18:00 to Monday 10:00 at 12,000 with 0.2 outside of 09-19 mon-fri: 172,800, not 768,000."""
    weekend = down((tokyo("2026-11-13T18:00"), tokyo("2026-11-16T10:00")))
    assert cost_of(weekend, flat(12_000, business_hours=OFFICE)).amount == 172_800
    assert cost_of(weekend, flat(12_000)).amount == 768_000


def test_roles_are_added_to_the_business_loss():
    """Two engineers at a quarter and ten analysts at a fifth: 12,000 an hour on top of every table's own loss."""
    assert role_rate([ENGINEERS, ANALYSTS]) == 12_000
    assert role_rate([StaffRole(Decimal(1), Decimal(4000), Decimal("0.25"))]) == 1_000
    assert role_rate([StaffRole(Decimal(10), Decimal(5000), Decimal(1))]) == 50_000
    tiers = {"gold": Decimal(100_000), "silver": Decimal(12_000), "bronze": Decimal(0)}
    card = RateCard(None, {}, tiers, role_rate([ENGINEERS, ANALYSTS]))
    pricing = Pricing.of([card], {"weather": "gold", "Customer": "silver", "Track": "bronze"})
    rates = [pricing.per_hour(table, 0) for table in ("weather", "Customer", "Track", "other")]
    assert rates == [112_000, 24_000, 12_000, 12_000]


def test_a_tables_own_rate_comes_before_its_tiers():
    """Own rate, else the tier's, else nothing; an own rate of zero is a rate."""
    card = RateCard(None, {"a": Decimal(5), "b": Decimal(0)}, {"gold": Decimal(7)})
    pricing = Pricing.of([card], {"a": "gold", "b": "gold", "c": "gold", "d": "lead"})
    assert [pricing.per_hour(table, 0) for table in "abcde"] == [5, 0, 7, 0, 0]


def test_rates_hold_from_their_day_on():
    """Each hour at the rate of its time; hours before the first rate have no price, and are said."""
    hour = HOUR_US
    cards = [RateCard(10 * hour, {"orders": Decimal(100)}, {}), RateCard(20 * hour, {"orders": Decimal(7)}, {})]
    pricing = Pricing.of(reversed(cards), {})
    assert [pricing.per_hour("orders", at * hour) for at in (9, 10, 19, 20)] == [None, 100, 100, 7]
    cost = cost_of(down((8 * hour, 25 * hour)), pricing)
    assert cost == DowntimeCost(Fraction(10 * 100 + 5 * 7), Fraction(10 * 100 + 5 * 7), 2 * hour)


def test_without_rates_nothing_has_a_price():
    """No rate card: the amount is nothing, and every hour is said to be unpriced."""
    assert cost_of(down((0, 5 * HOUR_US)), Pricing.of([], {})) == DowntimeCost(unpriced=5 * HOUR_US)


def test_two_rates_of_one_day_are_refused():
    """Two cards with the same beginning, or two without one, cannot both hold."""
    for start in (None, 5):
        with pytest.raises(ValueError, match="two rate cards of the same beginning"):
            Pricing.of([RateCard(start, {}, {}), RateCard(start, {}, {})], {})


def test_two_incidents_on_one_table_cost_twice_by_incident_and_once_by_table():
    """The article charges each incident hour; beside it stands each hour that the table was down."""
    spans = down((0, 10 * HOUR_US), (4 * HOUR_US, 12 * HOUR_US))
    cost = cost_of(spans, flat(1000))
    assert (cost.amount, cost.table_hours_amount) == (18_000, 12_000)


def test_planned_maintenance_costs_nothing():
    """Planned hours are taken out of business hours and of the others alike."""
    spans = down((tokyo("2026-11-13T18:00"), tokyo("2026-11-16T10:00")))
    planned = [(tokyo("2026-11-13T17:00"), tokyo("2026-11-13T20:00"))]
    maintenance = MaintenanceSpans.of(spans.names, {"orders": planned})
    cost = cost_of(spans, flat(12_000, business_hours=OFFICE), maintenance=maintenance)
    assert cost.amount == 172_800 - 12_000 - 2_400


def test_each_incident_has_its_cost():
    """The amounts are those of the incidents, each alone and together, and add up to the whole."""
    spans = down((0, 2 * HOUR_US), (HOUR_US, 4 * HOUR_US), tables=["orders", "users"])
    window = Window(0, 10 * HOUR_US)
    pricing = flat(1000, roles=Fraction(1, 3))
    each = price_incidents(spans, window, pricing=pricing, as_of_us=window.end_us)
    grouped = price_by(spans, window, pricing=pricing, as_of_us=window.end_us, group=spans.incident)
    assert {number: cost.amount for number, cost in grouped.items()} == {one: each.of([one]) for one in each.amounts}
    assert [each.of([one]) for one in each.amounts] == [2 * (1000 + Fraction(1, 3)), 1]
    assert each.of([*each.amounts, 99]) == cost_of(spans, pricing).amount


def test_what_does_not_count_costs_nothing():
    """An expected incident is no downtime and has no cost."""
    spans = Spans.of([logged(1, "orders", "01-05 00:00", "01-05 04:00", "01-05 13:00")])
    spans.resolution[:] = 2
    assert cost_of(spans, flat(1000)) == DowntimeCost()


@pytest.mark.parametrize(
    ("amount", "decimals", "rounded"),
    [
        (Fraction(10_400_000), 0, "10400000"),
        (Fraction(5, 2), 0, "3"),
        (Fraction(-5, 2), 0, "-3"),
        (Fraction(1, 3), 2, "0.33"),
        (Fraction(2, 3), 2, "0.67"),
        (Fraction(1, 200), 2, "0.01"),
        (Fraction(10**30 + 1, 2), 0, str(10**30 // 2 + 1)),
    ],
)
def test_money_is_rounded_once(amount, decimals, rounded):
    """To the decimals of the currency, halves away from zero, however large."""
    assert str(money(amount, decimals)) == rounded


SCALE = 1_800_000_000
"""A tick of the histories becomes half an hour, so that they reach over days and changes of the clocks."""

bases = st.sampled_from(["2026-03-05", "2026-03-26", "2026-04-02", "2026-10-01", "2026-10-29"]).map(
    lambda day: to_us(datetime.fromisoformat(day).replace(tzinfo=UTC))
)
calendars = st.builds(
    BusinessCalendar,
    st.frozensets(st.integers(0, 6)),
    half_hours,
    half_hours,
    st.sampled_from([Decimal(0), Decimal("0.2"), Decimal("0.125"), Decimal(1)]),
    st.sampled_from(ZONES),
)
rates = st.decimals(0, 1000, places=2)
cards = st.lists(
    st.tuples(
        st.none() | st.integers(-20, 400),
        st.dictionaries(st.sampled_from("ab"), rates, max_size=2),
        st.dictionaries(st.sampled_from(["gold", "silver"]), rates, max_size=2),
        st.fractions(0, 100, max_denominator=7),
        st.none() | calendars,
    ),
    max_size=3,
    unique_by=lambda card: card[0],
)


def rate_by_definition(pricing, table, moment):
    """Return the rate of a table at a moment, factor included; None where none holds."""
    holding = [card for card in pricing.cards if card.valid_from_us is None or card.valid_from_us <= moment]
    if not holding:
        return None
    card = holding[-1]
    loss = card.tables.get(table, card.tiers.get(pricing.tier_of.get(table, ""), Decimal()))
    hours = card.business_hours
    factor = 1 if hours is None or is_business(hours, from_us(moment)) else Fraction(hours.outside_factor)
    return (Fraction(loss) + card.roles) * factor


def cost_by_definition(stretches, pricing, base):
    """Add up half hour by half hour: the amount, and how many have no rate."""
    amount, unpriced = Fraction(), 0
    for table, ticks in stretches:
        for tick in ticks:
            rate = rate_by_definition(pricing, table, base + tick * SCALE)
            amount, unpriced = (amount, unpriced + 1) if rate is None else (amount + rate / 2, unpriced)
    return amount, unpriced


@given(scenes(most=8), cards, bases)
def test_cost_is_the_integral_of_rate_and_factor(scene, drawn, base):
    """Over random histories, rates and calendars the cost is the sum, half hour by half hour, of rate x factor."""
    history, view = scene
    made = [RateCard(None if start is None else base + start * SCALE, *others) for start, *others in drawn]
    pricing = Pricing.of(made, {"a": "gold", "b": "gold", "c": "silver"})
    spans = scaled(Spans.of(history.incidents.values()), base)
    work = {
        table: [(base + begin * SCALE, base + end * SCALE) for begin, end in some]
        for table, some in view.planned.items()
    }
    window = Window(base + view.start * SCALE, base + view.end * SCALE)
    known = {"as_of_us": base + view.as_of * SCALE, "maintenance": MaintenanceSpans.of(spans.names, work)}
    cost = price(spans, window, pricing=pricing, disclosure=view.disclosure, **known)
    each = price_incidents(spans, window, pricing=pricing, **known)
    facts = [Facts(incident, view) for incident in history.incidents.values() if incident.counts]
    facts = [fact for fact in facts if fact.episodes and (view.disclosure or fact.incident.kind == "quality")]
    amount, unpriced = cost_by_definition([(fact.incident.table, fact.down) for fact in facts], pricing, base)
    tables = {
        table: set().union(*(fact.down for fact in facts if fact.incident.table == table))
        for table in {fact.incident.table for fact in facts}
    }
    of_tables, _ = cost_by_definition(tables.items(), pricing, base)
    assert cost == DowntimeCost(amount, of_tables, unpriced * SCALE)
    for fact in facts:
        alone, _ = cost_by_definition([(fact.incident.table, fact.down)], pricing, base)
        assert each.of([fact.incident.id]) == (alone if fact.incident.kind == "quality" else 0)


def scaled(spans, base):
    """Return the same episodes with half hours for ticks, beginning elsewhere."""
    for name in ("occurred", "earliest", "latest", "detected", "resolved"):
        column = getattr(spans, name)
        lasting = column > BASE_US + 10_000
        column[:] = np.where(lasting, column, base + (column - BASE_US) * SCALE)
    return spans
