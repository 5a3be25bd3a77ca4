"""A table in hand: its lease, and what is known of it before its results are remembered."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from checks import Outcome
from monitor.scan.results import CheckMeasurement, TableResult, Target
from store import Lease


@dataclass
class LeasedTable:
    """A table whose slot this daemon has.

    `alone`: its checks are run one by one, because one of them may end its worker. `deaths` counts workers that ended
    amid it without a check to blame. `given_up` are checks that no worker is asked for.
    """

    lease: Lease
    target: Target
    alone: bool = False
    deaths: int = 0
    given_up: dict[str, CheckMeasurement] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the name of the table."""
        return self.target.subject.name

    @property
    def apart(self) -> bool:
        """Check whether it goes to a worker by itself."""
        return self.alone

    @property
    def source(self) -> str:
        """Return the name of its source."""
        return self.target.source.name

    @property
    def asked(self) -> Target:
        """Return what the workers are asked for: the table with the checks that were not given up."""
        checks = tuple(check for check in self.target.subject.checks if check[0] not in self.given_up)
        return replace(self.target, subject=replace(self.target.subject, checks=checks))

    def answers(self, outcomes: Mapping[str, Outcome]) -> dict[str, CheckMeasurement]:
        """Return what is known of checks without asking the workers, by check id."""
        checks = dict(self.target.subject.checks)
        return {
            check_id: CheckMeasurement(check_id, checks[check_id], outcome) for check_id, outcome in outcomes.items()
        }

    def whole(self, looked: TableResult) -> TableResult:
        """Return what workers found together with what was given up, in the order of the checks."""
        answers = {
            check_measurement.check_id: check_measurement for check_measurement in looked.measured
        } | self.given_up
        return replace(
            looked, target=self.target, measured=[answers[check_id] for check_id, _ in self.target.subject.checks]
        )

    def not_asked(self, now: datetime) -> TableResult:
        """Return the look at a table of which every check was given up."""
        return self.whole(TableResult(self.target, now, now, ()))
