"""Which values are compared with each other: slots of the week, and kinds of days of the month that differ.

values ──> slot_of ──> Compared.of ──> compare_by_rhythm
           weekday,    distance from   days of the month whose distances
           hour        the slot's      lie apart are compared with their like
                       median
"""

from calendar import monthrange
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache
from math import comb
from statistics import median
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Integers: TypeAlias = npt.NDArray[np.int_]

LEAST_VALUES: Final = 3
"""Values of a slot without which it has no usual value."""
COARSEST: Final = 3
"""The level of slots with one slot for all looks; 0 is the finest."""
_FINE: Final = timedelta(hours=18)
"""Looks nearer to each other than this make the hour of the week the slot, not the weekday."""
_COARSE: Final = timedelta(days=8)
"""Looks farther from each other than this have one slot for all of them."""
_LUCK: Final = 0.001
"""The chance with which a kind of days may be distinguished where none of them differs."""
_MOST_RHYTHMS: Final = 4
"""Kinds of days that may be distinguished at once."""
_SHORTEST_PAST: Final = 59
"""Days within which no day of the month comes three times."""
_OFTEN: Final = 1.5
"""Runs a day from which on hours of the day are distinguished."""
_SATURDAY: Final = 5


def slot_of(moment: datetime, spacing: timedelta, level: int) -> int:
    """Return the slot of a local time: at level 0 the weekday, or the hour of the week where looks are frequent.

    At level 1 days of the week are workdays or weekends, at level 2 they are all alike, at level 3 the hours too.
    """
    if spacing > _COARSE or level == COARSEST:
        return 0
    day = (moment.weekday(), moment.weekday() // 5, 0)[level]
    return day if spacing >= _FINE else day * 24 + moment.hour


class Compared(NamedTuple):
    """How far each value is above what was usual then, NaN where too little is known, and what is usual now."""

    above: Floats
    centre: float

    @classmethod
    def of(cls, values: Floats, usable: Flags, slots: Integers, most: int) -> "Compared":
        """Compare each value with the `most` usable ones of its slot before it, or else after it.

        Those compared with later values are moved by twice the drift of the others: as if they had come after them.
        """
        above, backwards, centre = np.full(len(values), np.nan), np.zeros(len(values), dtype=np.bool_), np.nan
        for slot in np.unique(slots):
            places = np.flatnonzero(slots[:-1] == slot)
            own = values[places[usable[places]]].tolist()
            following = 0
            for place in places:
                number, following = following, following + int(usable[place])
                if number >= LEAST_VALUES:
                    above[place] = values[place] - median(own[max(0, number - most) : number])
                elif len(own) - following >= LEAST_VALUES:
                    above[place] = values[place] - median(own[following : following + most])
                    backwards[place] = True
            if slot == slots[-1] and len(own) >= LEAST_VALUES:
                centre = median(own[-most:])
        onwards = above[usable & ~backwards & ~np.isnan(above)]
        drift = float(np.median(onwards)) if len(onwards) else 0.0
        return cls(np.where(backwards, above + 2 * drift, above), float(centre))


def compare_by_rhythm(
    values: Floats, usable: Flags, slots: Integers, moments: Sequence[datetime], *, most: int
) -> tuple[Compared, npt.NDArray[np.object_]]:
    """Compare values as `Compared.of`, and those of kinds of days that differ with other days of their kind.

    `moments` are local times, that of now last. A kind of days is distinguished where so many of its days lie on one
    side of all others as luck would show in one of a thousand histories, for all kinds together; the strongest first.
    Its distances from what is usual in the slot are then compared with each other, so that the shape of the week stays
    known. Returned are also the kinds, "" where a day is of none of them.
    """
    compared = Compared.of(values, usable, slots, most)
    days = list(dict.fromkeys(moment.date() for moment in moments))
    if (days[-1] - days[0]).days < _SHORTEST_PAST:
        return compared, np.full(len(moments), "", dtype=object)
    number = {day: place for place, day in enumerate(days)}
    day_of = np.array([number[moment.date()] for moment in moments])
    hours = np.array([moment.hour if len(moments) > _OFTEN * len(days) else 0 for moment in moments])
    kinds = _kinds_of(days)
    names = np.full(len(days), "", dtype=object)
    for _ in range(_MOST_RHYTHMS):
        means = _means_by_day(compared.above, usable, day_of)
        name = _strongest(means, kinds, names)
        if name is None:
            break
        names[kinds[name]] = name
        compared = Compared.of(values, usable & (names[day_of[:-1]] == ""), slots, most)
        for kind in set(names.tolist()) - {""}:
            compared = _among_their_like(compared, usable, names[day_of] == kind, hours, most)
    return compared, names[day_of]


def _among_their_like(compared: Compared, usable: Flags, is_kind: Flags, hours: Integers, most: int) -> Compared:
    """Compare the distances of one kind of days with each other, by hour; the last of `is_kind` and `hours` is now."""
    places = np.flatnonzero(is_kind[:-1] & ~np.isnan(compared.above))
    distances, counts = compared.above[places], usable[places]
    own = Compared.of(distances, counts, np.append(hours[places], hours[-1]), most)
    above, centre = compared.above.copy(), compared.centre
    above[places] = own.above
    if is_kind[-1]:
        centre += float(np.median(distances[counts])) if np.isnan(own.centre) else own.centre
    return Compared(above, centre)


def _means_by_day(above: Floats, usable: Flags, day_of: Integers) -> Floats:
    """Return the mean distance of each day; NaN where it has none."""
    has_one = usable & ~np.isnan(above)
    places, days = day_of[:-1][has_one], int(day_of.max()) + 1
    counts = np.bincount(places, minlength=days)
    sums = np.bincount(places, weights=above[has_one], minlength=days)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _strongest(means: Floats, kinds: Mapping[str, Flags], names: npt.NDArray[np.object_]) -> str | None:
    """Return the kind of days whose distances are the least likely by luck; None where luck may have made them.

    Kinds distinguished before keep at least as many days as a usual value needs.
    """
    has_one = ~np.isnan(means)
    able = {name: is_kind for name, is_kind in kinds.items() if np.sum(is_kind & has_one) >= LEAST_VALUES}
    chances = {name: _chance_by_luck(means[has_one], is_kind[has_one]) for name, is_kind in able.items()}
    for name, chance in sorted(chances.items(), key=lambda item: item[1]):
        if chance > _LUCK / len(able):
            return None
        left = [np.sum((names == other) & has_one & ~kinds[name]) for other in set(names.tolist()) - {"", name}]
        if all(number >= LEAST_VALUES for number in left):
            return name
    return None


def _chance_by_luck(distances: Floats, is_kind: Flags) -> float:
    """Return the chance that three quarters of so many days, drawn at random, lie so far to one side, on either side.

    Of n days t lie at least as far as the nearest of these three quarters; how many of m drawn days are among them is
    hypergeometric.
    """
    days, own = len(distances), int(is_kind.sum())
    enough = own - own // 4
    chances = []
    for side in (distances, -distances):
        as_far = int(np.sum(side >= np.sort(side[is_kind])[own - enough]))
        ways = sum(comb(as_far, k) * comb(days - as_far, own - k) for k in range(enough, own + 1))
        chances.append(ways / comb(days, own))
    return 2 * min(chances)


def _kinds_of(days: Sequence[date]) -> Mapping[str, Flags]:
    """Return which of the days are of each kind."""
    names = [_names_of(day) for day in days]
    every = dict.fromkeys(name for own in names for name in own)
    return {name: np.array([name in own for own in names]) for name in every}


@lru_cache(maxsize=1024)
def _names_of(day: date) -> tuple[str, ...]:
    """Return the kinds of a day of the month; business days are Monday to Friday."""
    last = monthrange(day.year, day.month)[1]
    business = [number for number in range(1, last + 1) if day.replace(day=number).weekday() < _SATURDAY]
    kinds = {
        f"day-{day.day}": True,
        "last-day": day.day == last,
        "first-business-day": day.day == business[0],
        "last-business-day": day.day == business[-1],
        "quarter-start": day.day == 1 and day.month % 3 == 1,
        "quarter-end": day.day == last and day.month % 3 == 0,
    }
    return tuple(name for name, holds in kinds.items() if holds)
