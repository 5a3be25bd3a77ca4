"""The faults of the demo: what is done to the data, when, and when it is repaired.

A plan is what happened to the data, never what the engine should write down: the engine has to find it. Times are
offsets from the Monday on which the demo starts, in the project's time zone.
"""

from dataclasses import dataclass
from datetime import timedelta

WEEKS = 6


def at(week: int, weekday: str, clock: str) -> timedelta:
    """Return the offset of a moment: `at(1, "tue", "02:50")` is Tuesday of the second week."""
    hours, minutes = clock.split(":")
    day = ("mon", "tue", "wed", "thu", "fri", "sat", "sun").index(weekday)
    return timedelta(weeks=week, days=day, hours=int(hours), minutes=int(minutes))


@dataclass(frozen=True, slots=True)
class PlantedFault:
    """Something wrong with a table's data between two moments (`ends` None: not repaired before the demo ends).

    `check_id` names the check that has to notice, None when only a person can; `interval` is how often it runs. A load
    that stays away makes data bad only when it is `patience` too old: the loads are silent from `begins - patience` on.
    """

    name: str
    table: str
    check_id: str | None
    interval: timedelta
    begins: timedelta
    ends: timedelta | None
    story: str
    patience: timedelta = timedelta()

    def touches(self, load: timedelta) -> bool:
        """Check whether the load at a moment (as an offset from the start) writes bad data."""
        return self.begins <= load and (self.ends is None or load < self.ends)

    def silences(self, load: timedelta) -> bool:
        """Check whether the load at a moment does not run."""
        return self.begins - self.patience < load and (self.ends is None or load < self.ends)


TWO_HOURLY, SIX_HOURLY, DAILY = timedelta(hours=2), timedelta(hours=6), timedelta(days=1)

LATE_LOAD = PlantedFault(
    name="late-load",
    table="orders",
    check_id="orders.freshness",
    interval=TWO_HOURLY,
    begins=at(1, "tue", "04:50"),
    ends=at(1, "tue", "11:50"),
    story="the loader hung after 02:50",
    patience=timedelta(hours=2),
)
DUPLICATES = PlantedFault(
    name="duplicate-orders",
    table="orders",
    check_id="orders.primary-key",
    interval=TWO_HOURLY,
    begins=at(2, "thu", "14:50"),
    ends=at(2, "thu", "20:30"),
    story="a retried job loaded one batch twice",
)
NULLS = PlantedFault(
    name="nulls-after-deploy",
    table="orders",
    check_id="orders.not-null",
    interval=TWO_HOURLY,
    begins=at(3, "mon", "10:50"),
    ends=at(3, "tue", "09:50"),
    story="a deployment dropped the customer of every new order",
)
STALE_CUSTOMERS = PlantedFault(
    name="stale-customers",
    table="customers",
    check_id="customers.freshness",
    interval=DAILY,
    begins=at(4, "sat", "07:00"),
    ends=at(5, "mon", "05:00"),
    story="the sync's password expired on Friday evening",
    patience=timedelta(hours=26),
)
HALF_VOLUME = PlantedFault(
    name="half-volume",
    table="events",
    check_id="events.volume",
    interval=SIX_HOURLY,
    begins=at(5, "wed", "05:50"),
    ends=at(5, "wed", "17:50"),
    story="one of two collectors was down",
)
TIMES_HUNDRED = PlantedFault(
    name="amounts-times-100",
    table="orders",
    check_id=None,
    interval=TWO_HOURLY,
    begins=at(5, "fri", "09:50"),
    ends=at(5, "fri", "16:28"),
    story="amounts arrived in sen instead of yen; no check covers them, reported by the finance team",
)
TWICE_BUILT = PlantedFault(
    name="revenue-built-twice",
    table="daily_revenue",
    check_id="daily_revenue.primary-key",
    interval=DAILY,
    begins=at(5, "sun", "05:30"),
    ends=None,
    story="the nightly job ran twice",
)

FAULTS = (LATE_LOAD, DUPLICATES, NULLS, STALE_CUSTOMERS, HALF_VOLUME, TIMES_HUNDRED, TWICE_BUILT)
RELEASE = "member-survey"
"""The release that is on hold: it is not exported until a user approves a remedy."""
RELEASE_REMEDY = "mondrian"
RELEASE_CHECK = f"members.{RELEASE}-k-anonymity"
APPROVER = "privacy-desk"

DEPLOYED = at(3, "mon", "10:40")
"""When the loader was deployed that dropped the customer of every new order; its team logs that."""
PERSON_NOTICED = at(5, "fri", "15:46")
PERSON_ACKNOWLEDGED = at(5, "fri", "15:51")
END = at(WEEKS, "mon", "08:00")
