"""Judge the table of a release now, remember it as the daemon would, and say how the release stands."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from checks import ColumnClass, Status
from checks.classes.tables import PersonColumn
from monitor.config.release_checks import FREE_VALUES, has_free_values
from monitor.config.selector import select
from monitor.releases.decisions import ReleaseDecisions
from monitor.releases.disclosure.assessment import RiskAssessment, RiskRequest, special_uniques
from monitor.releases.disclosure.uniqueness import Uniqueness, find_uniqueness
from monitor.releases.gate import check_same_remedy, check_same_table
from monitor.releases.overview import ReleaseEntry, ReleaseState, ReleaseWord, releases_of
from monitor.releases.state import ReleaseDecision
from monitor.scan.run import run_checks
from monitor.summaries.health import states_of
from monitor.terminal.problem import ExitCode, Stop

_ORDER = {Status.FAIL: 0, Status.UNKNOWN: 1, Status.WARN: 2, Status.PASS: 3}


@dataclass(frozen=True, slots=True)
class ReleaseAssessment:
    """How a release stands, and what its checks found just now."""

    state: ReleaseState
    assessment: RiskAssessment | None
    uniqueness: Uniqueness | None = None

    @property
    def warnings(self) -> Sequence[str]:
        """Return what a person should know beside the verdict."""
        free = [FREE_VALUES] if has_free_values(self.state.release) else []
        return free if self.uniqueness is None else [*free, *self.uniqueness.warnings()]

    @property
    def word(self) -> str:
        """Return `hold`, `clear`, `approved` or `expired`."""
        return self.state.word.value

    @property
    def why(self) -> str:
        """Describe why, the worst first."""
        worst = None if self.assessment is None else self.assessment.results[0].outcome
        broken = worst is not None and worst.status in {Status.FAIL, Status.UNKNOWN}
        if self.state.standing.decision is not ReleaseDecision.NONE:
            text = self.state.standing.summary
            return f"{text}; as it is: {worst.message}" if worst is not None and broken else text
        if worst is not None and broken:
            return str(worst.message)
        return self.state.summary or "all limits were evaluated and met"

    @property
    def exit_code(self) -> ExitCode:
        """Return 0 for what may leave, 1 for what may not, 3 where that is unknown."""
        if self.state.word in {ReleaseWord.CLEAR, ReleaseWord.APPROVED}:
            return ExitCode.OK
        if self.state.standing.decision is not ReleaseDecision.NONE:
            return ExitCode.FAILED
        worst = None if self.assessment is None else self.assessment.status
        return ExitCode.NOT_EVALUATED if worst is Status.UNKNOWN else ExitCode.FAILED

    def to_json(self) -> dict[str, Any]:
        """Return the published form."""
        results = () if self.assessment is None else self.assessment.results
        return {
            "schema": "tablewatch.release/1",
            "ok": self.exit_code is ExitCode.OK,
            "exit_code": int(self.exit_code),
            **ReleaseEntry.of(self.state).plain(),
            "why": self.why,
            "warnings": list(self.warnings),
            "uniqueness": None if self.uniqueness is None else self.uniqueness.as_json(),
            "special_uniques": None if self.assessment is None else self.assessment.special_as_json(),
            "results": [
                {
                    "check_id": result.check_id,
                    "type": result.check.type,
                    "status": result.outcome.status.value,
                    "message": str(result.outcome.message),
                    "observed": dict(result.outcome.observed),
                    "expected": dict(result.outcome.expected),
                    "incident": result.incident,
                }
                for result in results
            ],
        }


def assess_release(decisions: ReleaseDecisions) -> ReleaseAssessment:
    """Run the disclosure checks that hold a release, and return how it stands then.

    Raises:
        Stop: the release has no check that could be run.
    """
    case, store = decisions.case, decisions.store
    project = case.project
    table = project.config.table(case.release.table)
    names = (
        [] if table is None else [table.check_id(check) for check in table.checks if check.kind.value == "disclosure"]
    )
    others = {f"{case.release.table}.{of_other}" for of_other in _of_others(decisions)}
    wanted = [name for name in names if name not in others]
    results = run_checks(project, select(wanted, project.config), store=store).results if wanted else ()
    current_results = sorted(results, key=lambda item: _ORDER[item.outcome.status])
    if decisions.standing().decision is ReleaseDecision.APPROVED:
        try:
            check_same_table(decisions)
            check_same_remedy(decisions)
        except Stop as stop:
            if stop.code is not ExitCode.FAILED:
                raise
    with store.reading() as tx:
        states = releases_of(project, tx, states_of(project, tx, project.config.tables))
    state = next(state for state in states if state.name == case.name)
    question = RiskRequest(case.quasi, case.release.classified(ColumnClass.SENSITIVE))
    loose = case.release.classified(ColumnClass.OTHER, ColumnClass.SENSITIVE)
    key, pseudonyms = case.release.person_key, case.release.pseudonyms
    unnamed = [name for name in pseudonyms if name not in case.person_columns]
    try:
        people = [PersonColumn(name, name != key, bool(pseudonyms)) for name in (*case.person_columns, *unnamed)]
        judged = case.release.classified(ColumnClass.OTHER)
        uniqueness = find_uniqueness(case.place, loose, case.quasi, *people, judged=judged)
    except Stop:  # a table that cannot be read: its checks say so
        uniqueness = None
    if not current_results:
        return ReleaseAssessment(state, None, uniqueness)
    special = special_uniques(case.place, question, current_results, project.clock, person=key)
    return ReleaseAssessment(state, RiskAssessment(case.release.table, question, current_results, special), uniqueness)


def _of_others(decisions: ReleaseDecisions) -> set[str]:
    from monitor.config.release_checks import release_checks

    case = decisions.case
    releases = case.project.config.releases
    return {
        check.name for name, release in releases.items() if name != case.name for check in release_checks(name, release)
    }
