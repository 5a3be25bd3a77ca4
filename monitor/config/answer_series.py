"""The answers of a scheduled query: a series with one request for each slot of its schedule.

Two names for one thing: the slots of a series are kept under `slot_name`, beside those of tables; its requests in the
ledger are `TABLE/NAME/SLOT`. A slot that is tried again is the same request, so what was answered is never charged
twice; a statistic that is changed under its name asks something else from its next slot on, under another request.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from monitor.config.model import Config

_SLOTS: Final = "statistic:"


@dataclass(frozen=True, slots=True)
class AnswerSeries:
    """A scheduled query: `NAME` of a `TABLE` under `budgets`."""

    table: str
    name: str

    def __str__(self) -> str:
        """Return its name for messages."""
        return f"{self.table}/{self.name}"

    @property
    def slot_name(self) -> str:
        """Return the name of its row in the schedule."""
        return f"{_SLOTS}{self}"

    @property
    def prefix(self) -> str:
        """Return what the ids of all its requests begin with."""
        return f"{self}/"

    def request_id(self, slot: datetime) -> str:
        """Return the id of the request of a slot."""
        return f"{self}/{slot.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"

    @classmethod
    def configured(cls, config: "Config") -> Mapping[str, Self]:
        """Return all that a configuration declares, by `slot_name`."""
        results = [cls(table, name) for table, budget in config.budgets.items() for name in budget.statistics]
        return {series.slot_name: series for series in results}
