"""The shapes of service levels and error budgets, as pages and their JSON have them."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from incidents import Level, LevelVerdict
from monitor.web.views.shapes import Shape


class LevelLine(Shape):
    """A promised service level and the worst that was seen, between `low` and `high`: hours, or a share (0 to 1).

    `incidents` broke it, of the `undecided` it is not known, or not known yet. Of the `judged` episodes so many kept a
    time, and so many broke it; the share that kept it is between two ends, null where there is none.
    """

    level: Level
    unit: Literal["h", "share"]
    promised: float
    seen: float | None
    low: float | None
    high: float | None
    missed_by: float | None
    verdict: LevelVerdict
    judged: int
    kept: int
    broken: int
    share_kept_low: float | None
    share_kept_high: float | None
    incidents: tuple[int, ...]
    undecided: tuple[int, ...]


class BurnRateLine(Shape):
    """Downtime of the last hours relative to the allowed rate: above 1 the budget does not last."""

    window_h: float
    rate: float
    rate_low: float
    rate_high: float


class ErrorBudgetLine(Shape):
    """Downtime allowed in a rolling period, spent, left, and in how many hours it is used up: null is never."""

    allowed_h: float
    per_h: float
    start: datetime = Field(alias="from")
    to: datetime
    spent_h: float
    spent_h_low: float
    spent_h_high: float
    left_h: float
    left_h_low: float
    left_h_high: float
    verdict: LevelVerdict
    burn_rates: tuple[BurnRateLine, ...]
    used_up_in_h: float | None
    used_up_in_h_soonest: float | None
    used_up_in_h_latest: float | None


class ContractLine(Shape):
    """The service levels of a contract in a period, or of a table (`slo:TABLE`); `origins`: by which key, by level.

    `labels`: the table, owner, domain and tier of `slo:TABLE`, else empty. `observed_h`: hours of the period that all
    checks of its tables saw.
    """

    contract: str
    tables: tuple[str, ...]
    start: datetime = Field(alias="from")
    to: datetime
    observed_h: float
    levels: tuple[LevelLine, ...]
    error_budget: ErrorBudgetLine | None
    origins: dict[str, str]
    labels: dict[str, str | None]
