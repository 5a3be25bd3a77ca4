"""Assess how likely it is that records of a table are found again: the checks that an ad hoc question amounts to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import Any, Final

from checks import Check, ColumnClass, Json, Status, load_catalog
from monitor.clock import Clock
from monitor.releases.disclosure.table_ref import TableRef
from monitor.scan.results import CheckResult

MOST_SETS: Final = 100
"""Special uniques are looked for in sets of up to 3 columns, or of as many as make no more sets than this."""
MOST_ROWS: Final = 1_000_000
"""They are not looked for in a larger table: each set costs a GROUP BY and as many windows as it has columns."""
_LEADS: Final = {Status.FAIL: 0, Status.UNKNOWN: 1, Status.WARN: 2, Status.PASS: 3}


@dataclass(frozen=True, slots=True)
class RiskRequest:
    """What is asked: columns, and limits; what is None is not asked about."""

    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    k: int = 5
    l: float = 2
    t: float | None = None
    sampling_fraction: float | None = None
    max_population_unique_fraction: float | None = None
    weight: str | None = None
    group_key: str | None = None
    population: str | None = None
    population_columns: Mapping[str, str] = field(default_factory=dict)
    max_presence: float | None = None

    def checks(self) -> Sequence[Check]:
        """Return the checks that answer it.

        Raises:
            ValueError: a limit is out of range (pydantic's ValidationError says which).
        """
        people: dict[str, Any] = {}
        if self.population is not None:
            people = {"population": self.population, "population_columns": self.population_columns}
        request: dict[str, dict[str, Any]] = {"k_anonymity": {"k": self.k, **people}}
        if self.sensitive:
            request["l_diversity"] = {"sensitive": self.sensitive, "l": self.l}
        if self.sensitive and self.t is not None:
            request["t_closeness"] = {"sensitive": self.sensitive, "t": self.t}
        most = self.max_population_unique_fraction
        if self.weight is not None or self.group_key is not None:
            of = {"weight": self.weight} if self.weight else {"sampling_fraction": self.sampling_fraction or 1.0}
            risks = {"group_key": self.group_key, "max_individual_risk": 1.0}
            request["population_uniqueness"] = {"max_population_unique_fraction": most, **risks, **of}
        elif self.sampling_fraction is not None:
            limit = {"max_population_unique_fraction": 1.0 if most is None else most}
            request["population_uniqueness"] = {"sampling_fraction": self.sampling_fraction, **limit}
        if people:
            most = self.max_presence
            request["delta_presence"] = {"max": 1.0 if most is None else most, **people}
        return [_made(kind, quasi_identifiers=self.quasi_identifiers, **given) for kind, given in request.items()]


@dataclass(frozen=True, slots=True)
class RiskAssessment:
    """What was found, the worst first. `special`: special uniques, which have no limit; None where not looked for."""

    name: str
    question: RiskRequest
    results: Sequence[CheckResult]
    special: CheckResult | None = None

    @property
    def status(self) -> Status:
        """Return the worst outcome; what could not be evaluated is worse than a warning."""
        return self.results[0].outcome.status

    @property
    def observed(self) -> Mapping[str, Mapping[str, Any]]:
        """Return what each kind of check observed."""
        return {result.check.type: result.outcome.observed for result in self.results}

    def special_as_json(self) -> Json:
        """Return the special uniques as plain data, or why they could not be counted; None where not looked for."""
        if self.special is None:
            return None
        unknown: dict[str, Json] = {"problem": str(self.special.outcome.message)}
        return self.special.outcome.observed.get("special_uniques", unknown)


def assess_risk(place: TableRef, question: RiskRequest, clock: Clock) -> RiskAssessment:
    """Ask a table; columns that the question does not name are those that the configuration classifies."""
    results = sorted(place.ask(question.checks(), clock), key=lambda item: _LEADS[item.outcome.status])
    return RiskAssessment(place.name, question, results, special_uniques(place, question, results, clock))


def special_uniques(
    place: TableRef, question: RiskRequest, results: Sequence[CheckResult], clock: Clock, *, person: str | None = None
) -> CheckResult | None:
    """Look for records that are unique in few columns; None for a table that could not be read, or is too large."""
    observed: Sequence[Mapping[str, Any]] = [item.outcome.observed for item in results]
    rows = max((item.get("rows") or 0 for item in observed), default=0)
    columns = len(question.quasi_identifiers)
    sets = {known: sum(comb(columns, size) for size in range(1, known + 1)) for known in (1, 2, 3)}
    known = max((known for known, number in sets.items() if number <= MOST_SETS), default=0)
    if not columns or not known or not 0 < rows <= MOST_ROWS:
        return None
    given = {"known": known, "max_unique_fraction": 1.0, "special_uniques": True, "person": person}
    (result,) = place.ask(
        [_made("reidentification_by_subset", quasi_identifiers=question.quasi_identifiers, **given)], clock
    )
    return result


def columns_meant(place: TableRef, names: Sequence[str], word: ColumnClass) -> tuple[str, ...]:
    """Return the columns that were named, else those that the configuration classifies so."""
    return tuple(names) or place.classified(word)


def _made(kind: str, **given: Any) -> Check:
    model: Any = load_catalog()[kind]
    check: Check = model(**given)
    return check
