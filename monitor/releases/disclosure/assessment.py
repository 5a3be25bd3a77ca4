"""Assess how likely it is that records of a table are found again: the checks that an ad hoc question amounts to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from checks import Check, ColumnClass, Status, load_catalog
from monitor.clock import Clock
from monitor.releases.disclosure.table_ref import TableRef
from monitor.scan.results import CheckResult

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
        if self.sampling_fraction is not None:
            most = self.max_population_unique_fraction
            limit = {"max_population_unique_fraction": 1.0 if most is None else most}
            request["population_uniqueness"] = {"sampling_fraction": self.sampling_fraction, **limit}
        if people:
            most = self.max_presence
            request["delta_presence"] = {"max": 1.0 if most is None else most, **people}
        return [_made(kind, quasi_identifiers=self.quasi_identifiers, **given) for kind, given in request.items()]


@dataclass(frozen=True, slots=True)
class RiskAssessment:
    """What was found, the worst first."""

    name: str
    question: RiskRequest
    results: Sequence[CheckResult]

    @property
    def status(self) -> Status:
        """Return the worst outcome; what could not be evaluated is worse than a warning."""
        return self.results[0].outcome.status

    @property
    def observed(self) -> Mapping[str, Mapping[str, Any]]:
        """Return what each kind of check observed."""
        return {result.check.type: result.outcome.observed for result in self.results}


def assess_risk(place: TableRef, question: RiskRequest, clock: Clock) -> RiskAssessment:
    """Ask a table; columns that the question does not name are those that the configuration classifies."""
    results = sorted(place.ask(question.checks(), clock), key=lambda item: _LEADS[item.outcome.status])
    return RiskAssessment(place.name, question, results)


def columns_meant(place: TableRef, names: Sequence[str], word: ColumnClass) -> tuple[str, ...]:
    """Return the columns that were named, else those that the configuration classifies so."""
    return tuple(names) or place.classified(word)


def _made(kind: str, **given: Any) -> Check:
    model: Any = load_catalog()[kind]
    check: Check = model(**given)
    return check
