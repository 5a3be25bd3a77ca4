"""Price data downtime: the integral of rate x factor over the time that counts, exactly.

A rate card says what an hour costs: the business loss of the table (its own rate, else its tier's, else nothing) plus
what people cost who cannot work. It holds from a moment on, until the next card. Outside of business hours the whole
rate is multiplied by a factor. So the cost of some time is, summed over cards,
`rate x (time inside business hours + factor x time outside)`: the times are whole microseconds, the rates exact
fractions, and nothing is rounded before `money` rounds it once for the eye. Time before the first card has no price and
is reported.

Turn business hours on the wall clock of a zone into moments, across every change of the clocks.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import time, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import Final
from zoneinfo import ZoneInfo

from checks.classes.arrays import np
from incidents._measure import MaintenanceSpans, TimeMeasure, dense, totals
from incidents._model import from_us
from incidents._rates import StaffRole, money, role_rate
from incidents.known_episodes import CountedWindow, by_table, is_downtime, known_episodes
from incidents.spans import HOUR_US, Ints, Spans, Window

_DAY_US: Final = 86_400_000_000


@dataclass(frozen=True, slots=True)
class BusinessCalendar:
    """Hours that cost in full, by the wall clock of a zone; outside them the cost is multiplied by `outside_factor`.

    `days`: weekdays, 0 is Monday, on which hours begin. An `end` that is not after `start` lies on the next day.
    """

    days: frozenset[int]
    start: time
    end: time
    outside_factor: Decimal
    zone: str

    def between(self, start_us: int, end_us: int) -> TimeMeasure:
        """Return the business hours between two moments: those at which the zone's wall clock shows them."""
        return TimeMeasure.of(
            (max(start, piece_start), min(end, piece_end))
            for piece_start, piece_end, offset in _offsets(ZoneInfo(self.zone), start_us, end_us)
            for start, end in self._on_wall(piece_start + offset, piece_end + offset, offset)
        )

    def _on_wall(self, wall_start: int, wall_end: int, offset: int) -> Iterator[tuple[int, int]]:
        begin, end = _of_day(self.start), _of_day(self.end)
        length = end - begin if end > begin else end - begin + _DAY_US
        for day in range(wall_start // _DAY_US - 1, wall_end // _DAY_US + 1):
            if (day + 3) % 7 in self.days:  # the epoch was a Thursday
                start = day * _DAY_US + begin - offset
                yield start, start + length


def _of_day(moment: time) -> int:
    return ((moment.hour * 60 + moment.minute) * 60 + moment.second) * 1_000_000 + moment.microsecond


def _offsets(zone: ZoneInfo, start_us: int, end_us: int) -> Iterator[tuple[int, int, int]]:
    """Yield the pieces of constant offset between two moments: start, end, offset, in microseconds."""
    piece, offset, at = start_us, _offset(zone, start_us), start_us
    while at < end_us:
        following = min(at + _DAY_US, end_us)
        if (changed := _offset(zone, following)) != offset:
            turn = _turn(zone, at, following)
            yield piece, turn, offset
            piece, offset = turn, changed
        at = following
    yield piece, end_us, offset


def _turn(zone: ZoneInfo, before: int, after: int) -> int:
    """Return the first moment with the later offset; clocks change at most once a day."""
    offset = _offset(zone, before)
    while after - before > 1:
        middle = (before + after) // 2
        if _offset(zone, middle) == offset:
            before = middle
        else:
            after = middle
    return after


def _offset(zone: ZoneInfo, moment_us: int) -> int:
    offset = from_us(moment_us).astimezone(zone).utcoffset()
    return 0 if offset is None else offset // timedelta(microseconds=1)


__all__ = [
    "BusinessCalendar",
    "DowntimeCost",
    "IncidentCosts",
    "Pricing",
    "RateCard",
    "StaffRole",
    "money",
    "price",
    "price_by",
    "price_incidents",
    "role_rate",
]

_ALWAYS: Final = -(1 << 62)
_FOREVER: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class RateCard:
    """What an hour of data downtime costs, from a moment on (None: always).

    `tables` and `tiers`: business loss per hour, by name. `roles`: what people cost per hour, added to every table's.
    """

    valid_from_us: int | None
    tables: Mapping[str, Decimal]
    tiers: Mapping[str, Decimal]
    roles: Fraction = Fraction()
    business_hours: BusinessCalendar | None = None

    def loss(self, table: str, tier: str | None) -> Decimal:
        """Return the business loss of an hour: the table's own, else its tier's, else nothing."""
        own = self.tables.get(table)
        return own if own is not None else self.tiers.get(tier or "", Decimal())

    def per_hour(self, table: str, tier: str | None) -> Fraction:
        """Return what an hour of a table costs within business hours: business loss and roles."""
        return Fraction(self.loss(table, tier)) + self.roles

    def in_units(self, losses: Iterable[Decimal], unit: int) -> Mapping[Decimal, tuple[int, int]]:
        """Return, by business loss, the rates within and outside of business hours in whole 1/unit."""
        rates = {loss: Fraction(loss) + self.roles for loss in set(losses)}
        return {loss: (int(rate * unit), int(rate * self.outside_factor * unit)) for loss, rate in rates.items()}

    @property
    def outside_factor(self) -> Fraction:
        """Return what the rate is multiplied by outside of business hours."""
        return Fraction(1) if self.business_hours is None else Fraction(self.business_hours.outside_factor)

    @property
    def denominator(self) -> int:
        """Return a whole number that makes every rate of this card, and every reduced one, whole."""
        losses = (Fraction(loss).denominator for loss in (*self.tables.values(), *self.tiers.values()))
        return lcm(self.roles.denominator, *losses) * self.outside_factor.denominator


@dataclass(frozen=True, slots=True)
class Pricing:
    """All rate cards, oldest first, and the tier of each table. One currency for all."""

    cards: tuple[RateCard, ...]
    tier_of: Mapping[str, str]

    def __post_init__(self) -> None:
        starts = [_ALWAYS if card.valid_from_us is None else card.valid_from_us for card in self.cards]
        if any(after <= before for before, after in pairwise(starts)):
            raise ValueError(
                "two rate cards of the same beginning, or not oldest first; expected each valid_from once, in order"
            )

    @classmethod
    def of(cls, cards: Iterable[RateCard], tier_of: Mapping[str, str]) -> "Pricing":
        """Return the pricing of rate cards in any order.

        Raises:
            ValueError: two cards have the same beginning, or none.
        """
        by_age = sorted(cards, key=lambda card: _ALWAYS if card.valid_from_us is None else card.valid_from_us)
        return cls(tuple(by_age), tier_of)

    def per_hour(self, table: str, at_us: int) -> Fraction | None:
        """Return what an hour of a table costs at a moment, within business hours; None where no rate holds."""
        for card, start, end in self.validity():
            if start <= at_us < end:
                return card.per_hour(table, self.tier_of.get(table))
        return None

    def validity(self) -> Iterator[tuple[RateCard, int, int]]:
        """Return each card with when it holds."""
        starts = [_ALWAYS if card.valid_from_us is None else card.valid_from_us for card in self.cards]
        return zip(self.cards, starts, [*starts[1:], _FOREVER], strict=False)


@dataclass(frozen=True, slots=True)
class DowntimeCost:
    """What downtime cost, in the currency's whole unit, exactly; round it once, with `money`.

    `amount`: for each hour of each incident. `table_hours_amount`: for each hour that a table was down, however many
    incidents it had at once. `unpriced`: incident time (microseconds) for which no rate was valid, in neither amount.
    """

    amount: Fraction = Fraction()
    table_hours_amount: Fraction = Fraction()
    unpriced: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class IncidentCosts:
    """What each of many incidents cost, by id: whole numbers, of which `unit` make the currency's whole unit.

    Exact, and a hundred thousand of them are added up at once: fractions would take a second.
    """

    amounts: Mapping[int, int]
    unit: int

    def of(self, incidents: Iterable[int]) -> Fraction:
        """Return what some incidents cost together; those without downtime cost nothing."""
        return Fraction(sum(self.amounts.get(incident, 0) for incident in incidents), self.unit)


def price(
    spans: Spans,
    window: Window,
    *,
    pricing: Pricing,
    as_of_us: int,
    maintenance: MaintenanceSpans | None = None,
    disclosure: bool = False,
) -> DowntimeCost:
    """Return the cost of the downtime in a window; the arguments are those of `downtime.measure`, and the rates."""
    group = np.zeros(spans.incident.size, dtype=np.int64)
    return price_by(
        spans, window, pricing=pricing, as_of_us=as_of_us, group=group, maintenance=maintenance, disclosure=disclosure
    ).get(0, DowntimeCost())


def price_by(  # noqa: PLR0913 - the arguments of `downtime.measure_by`, and the rates
    spans: Spans,
    window: Window,
    *,
    pricing: Pricing,
    as_of_us: int,
    group: Ints,
    maintenance: MaintenanceSpans | None = None,
    disclosure: bool = False,
    table_hours: bool = True,
) -> dict[int, DowntimeCost]:
    """Return the cost of the downtime in a window for each group of incidents.

    Args:
        spans: the episodes of incidents.
        window: the time that it is about.
        pricing: the rates.
        as_of_us: the moment of knowing.
        group: a whole number for each row of the spans; `price_incidents` prices each incident, and is faster.
        maintenance: planned work, which costs nothing.
        disclosure: price disclosure incidents too.
        table_hours: price table hours as well, which takes as long again; without, that amount is 0.

    Returns:
        By number of the group, in order; groups without downtime known in the window are left out.
    """
    bill = _CostSum.of(spans, CountedWindow(window, as_of_us, maintenance), pricing, group=group, disclosure=disclosure)
    amounts, unpriced = bill.of_incidents()
    table_amounts = bill.of_tables() if table_hours else [0] * len(amounts)
    unit = bill.unit
    return {
        code: DowntimeCost(Fraction(amount, unit), Fraction(table_amount, unit), time)
        for code, amount, table_amount, time in zip(bill.codes, amounts, table_amounts, unpriced, strict=True)
    }


def price_incidents(
    spans: Spans, window: Window, *, pricing: Pricing, as_of_us: int, maintenance: MaintenanceSpans | None = None
) -> IncidentCosts:
    """Return what the downtime of each incident cost in a window; the arguments are those of `price`."""
    counted_window = CountedWindow(window, as_of_us, maintenance)
    bill = _CostSum.of(spans, counted_window, pricing, group=spans.incident, disclosure=False)
    return IncidentCosts(dict(zip(bill.codes, bill.of_incidents()[0], strict=True)), bill.unit)


@dataclass(frozen=True, slots=True, eq=False)
class _CostSum:
    """Adds up what the downtime of a window cost, by group: whole numbers of 1/unit, not slow fractions.

    `part`: the episodes that are downtime. `codes`: the groups, in order. `group`: the number of each row's among them.
    """

    part: Spans
    counted_window: CountedWindow
    pricing: Pricing
    codes: list[int]
    group: Ints

    @classmethod
    def of(
        cls, spans: Spans, counted_window: CountedWindow, pricing: Pricing, *, group: Ints, disclosure: bool
    ) -> "_CostSum":
        rows = known_episodes(spans, counted_window.window, counted_window.as_of_us)
        rows = rows[is_downtime(spans, disclosure=disclosure)[rows]]
        codes, which = dense(group[rows])
        return cls(spans.take(rows), counted_window, pricing, codes.tolist(), which)

    @property
    def unit(self) -> int:
        """Return of how many the currency's whole unit is made, such that every amount is whole."""
        return lcm(*(card.denominator for card in self.pricing.cards)) * HOUR_US

    def of_incidents(self) -> tuple[list[int], list[int]]:
        """Return the amount, and the unpriced time, of each group, every incident for itself."""
        end = np.minimum(self.part.resolved, self.counted_window.as_of_us)
        return self._charge(
            self.group, self.part.table, self.counted_window.clip(self.part.occurred), self.counted_window.clip(end)
        )

    def of_tables(self) -> list[int]:
        """Return the amount of each group for the time in which its tables were down."""
        return self._charge(*by_table(self.part, self.counted_window, self.group, np.arange(self.group.size)))[0]

    def _charge(self, group: Ints, table: Ints, start: Ints, end: Ints) -> tuple[list[int], list[int]]:
        """Return the amount and the unpriced time of each group, from when its tables were down."""
        names, size = self.part.names, len(self.codes)
        amounts = [0] * size
        if not size:
            return amounts, []
        cells, cell = dense(group * len(names) + table)
        groups, tables = (column.tolist() for column in np.divmod(cells, len(names)))
        unpriced = self.counted_window.counted(table, start, end)
        for card, first, last in self.pricing.validity():
            begin, stop = np.clip(start, first, last), np.clip(end, first, last)
            whole = self.counted_window.counted(table, begin, stop)
            if not whole.any():
                continue
            unpriced = unpriced - whole
            inside = self._inside(card, table, begin, stop, whole=whole)
            times = (totals(inside, cell, cells.size), totals(whole - inside, cell, cells.size))
            losses = {code: card.loss(names[code], self.pricing.tier_of.get(names[code])) for code in set(tables)}
            rates = card.in_units(losses.values(), self.unit // HOUR_US)
            for number, code, in_time, out_time in zip(groups, tables, *times, strict=True):
                full, reduced = rates[losses[code]]
                amounts[number] += full * in_time + reduced * out_time
        return amounts, totals(unpriced, group, size)

    def _inside(self, card: RateCard, table: Ints, start: Ints, end: Ints, *, whole: Ints) -> Ints:
        """Return the part of stretches inside of business hours, without planned maintenance."""
        if card.business_hours is None:
            return whole
        hours = card.business_hours.between(int(start.min()), int(end.max()))
        inside = hours(end) - hours(start)
        if self.counted_window.maintenance is not None:
            for rows, planned in self.counted_window.maintenance.by_measure(table):
                worked = hours.minus(planned)
                inside[rows] = worked(end[rows]) - worked(start[rows])
        return inside
