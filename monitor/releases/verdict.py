"""Judge a table, or a file that was written, by the limits of a release: with checks, in an engine, on what is there.

What judges knows nothing of what treated: it counts groups in the file, by all quasi-identifiers that are in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checks import Check, ColumnClass, Json, Status
from monitor.clock import Clock
from monitor.config import Release
from monitor.config.release_checks import release_checks
from monitor.releases.disclosure.table_ref import TableRef
from monitor.scan.results import CheckResult


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checks of a release found. `columns`: the quasi-identifiers that were grouped by."""

    columns: tuple[str, ...]
    results: Sequence[CheckResult]

    @property
    def broken(self) -> Sequence[CheckResult]:
        """Return the limits that are broken, and those that could not be evaluated."""
        return [result for result in self.results if result.outcome.status in {Status.FAIL, Status.UNKNOWN}]

    @property
    def holds(self) -> bool:
        """Check whether all limits were evaluated and met."""
        return bool(self.results) and not self.broken

    @property
    def why(self) -> str:
        """Describe what does not hold."""
        if not self.results:
            return "the release has no limit that applies to a table"
        return "; ".join(str(item.outcome.message) for item in self.broken)

    def observed(self, kind: str) -> Mapping[str, Any]:
        """Return what a check observed, by its type; nothing if it was not asked."""
        return next((result.outcome.observed for result in self.results if result.check.type == kind), {})

    def figures(self) -> Mapping[str, Json]:
        """Return what was reached, as plain data; None is what no limit asks for."""
        k, diverse, close = (self.observed(kind) for kind in ("k_anonymity", "l_diversity", "t_closeness"))
        unique = self.observed("population_uniqueness")
        return {
            "k": k.get("k"),
            "highest_risk": k.get("highest_risk"),
            "average_risk": k.get("average_risk"),
            "records_below_k": k.get("records_below_k"),
            "l": diverse.get("l_distinct"),
            "t": close.get("t"),
            "population_unique_fraction": _decided(unique),
        }


def judge(name: str, release: Release, place: TableRef, *, columns: Sequence[str], clock: Clock) -> Verdict:
    """Judge a table by the limits of a release; `columns`: which columns it has.

    Whether columns are classified is not asked of a file: it has those that it was written with.
    """
    there = set(columns)
    of_file = {column: kind for column, kind in release.columns.items() if column in there}
    release = release.model_copy(update={"columns": of_file})
    checks = [check for check in release_checks(name, release) if check.type != "classification"]
    grouped = release.classified(ColumnClass.QUASI_IDENTIFIER)
    return Verdict(grouped, place.ask([_plain(check) for check in checks], clock) if checks else ())


def _plain(check: Check) -> Check:
    """Leave out what a check measures beside its limit."""
    fields: Any = getattr(type(check), "model_fields", {})
    copy: Any = check
    current_check: Check = copy.model_copy(update={"other_readings": False}) if "other_readings" in fields else check
    return current_check


def _decided(unique: Mapping[str, Any]) -> Json:
    """Return the share of the population that the estimate decided for says is unique."""
    model = unique.get("decision")
    result = unique.get(model) if isinstance(model, str) else None
    share: Json = result.get("fraction_of_population") if isinstance(result, Mapping) else None
    return share
