"""Let an export begin only if it was approved, by this configuration, of the table as it still is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from monitor.releases.charge import check_spent
from monitor.releases.decisions import ReleaseDecisions, check_one_classification
from monitor.releases.digests import COLUMN_GONE, TableDigest, declared_digest, state_of
from monitor.releases.person_registry import PersonRegistry
from monitor.releases.plan import TreatmentPlan, check_remedy_name, find_plan, kinds_of
from monitor.releases.state import ReleaseDecision, ReleaseStanding
from monitor.releases.treatment.table_reader import one_connection_to
from monitor.terminal.problem import ExitCode, Problem, Stop
from store import ReadTransaction


@dataclass(frozen=True, slots=True)
class ExportPermission:
    """An export that may go on. `notes`: what a person should know; `registry`: what was exported when it began.

    `rows`: of the table that was approved.
    """

    decisions: ReleaseDecisions
    found: ReleaseStanding
    plan: TreatmentPlan
    notes: Sequence[str]
    registry: PersonRegistry
    rows: int

    def check_again(self) -> None:
        """Check that the approval still stands, and table and remedy are still those that were approved.

        The configuration is read again: limits, owners and approvers may have changed meanwhile.

        Raises:
            Stop: it does not, or is not; a release whose table has changed is on hold then.
        """
        current = self.decisions.reload()
        self._check_standing(current.standing())
        _check_approver(current, self.found)
        with one_connection_to(current.case.place):
            check_same_table(current)
            check_same_remedy(current)

    def check_on_record(self, tx: ReadTransaction) -> None:
        """See, in the step in which the export goes on record, that nothing was decided and nothing spent since.

        Raises:
            Stop: the approval does not stand any more, or another export has cost what this one needs.
        """
        self.decisions.check_record_in(tx)
        self._check_standing(self.decisions.standing_in(tx))
        if self.plan.has_mechanism:
            check_spent(self.decisions.case, self.plan, tx)

    def _check_standing(self, now: ReleaseStanding) -> None:
        if now.decision is not ReleaseDecision.APPROVED or now.event != self.found.event:
            message = f"'{self.decisions.case.name}' is no longer approved: {now.summary}"
            raise _held("release.not_approved", message, "")


def check_same_table(decisions: ReleaseDecisions) -> TableDigest:
    """Check that the table is the one that was approved, and return its state; else put the release on hold.

    Raises:
        Stop: it is not, or cannot be read.
    """
    case, result = decisions.case, decisions.standing()
    columns = _of_approval(result, "columns")
    note = "the table has changed since the approval"
    try:
        state = state_of(case, columns)
        if state.fingerprint == result.state:
            return state
    except Stop as stop:
        if stop.problems[0].code != COLUMN_GONE:
            raise
        note = stop.problems[0].message
    decisions.hold(note=note)
    hint = "review it with 'tablewatch release compare', then approve it again"
    raise _held("release.table_changed", f"'{case.name}' is on hold: {note}", hint)


def check_export_allowed(decisions: ReleaseDecisions, remedy: str) -> ExportPermission:
    """Return the permission to export a release with a remedy.

    Raises:
        Stop: the release has no such remedy, or may not be exported; one whose table has changed is put on hold.
    """
    check_remedy_name(decisions.case, remedy)
    decisions.check_record()
    case, result = decisions.case, decisions.standing()
    if result.decision is not ReleaseDecision.APPROVED:
        hint = f"tablewatch release approve {case.name} --remedy {remedy} --by WHO --note WHY"
        raise _held("release.not_approved", f"'{case.name}' cannot be exported: {result.summary}", hint)
    if result.remedy != remedy:
        text = f"'{case.name}' was approved with '{result.remedy}', not with '{remedy}'"
        raise _held("release.not_approved", text, "approve this remedy, or export with the other")
    _check_approver(decisions, result)
    check_one_classification(case)
    state = check_same_table(decisions)
    kinds = kinds_of(case)
    plan = find_plan(case, remedy, kinds)
    _check_declared(decisions, result, plan)
    new = sorted(set(kinds) - set(_of_approval(result, "table_columns")))
    notes = [f"column {', '.join(new)} was added after the approval and is not exported"] if new else []
    return ExportPermission(decisions, result, plan, notes, PersonRegistry.of(decisions, state), state.rows)


def check_same_remedy(decisions: ReleaseDecisions) -> None:
    """Check that the remedy of a release that is approved does what was approved; else put the release on hold.

    Raises:
        Stop: it does not, or there is none of that name, or a file that it names cannot be read.
    """
    case, result = decisions.case, decisions.standing()
    _check_declared(decisions, result, find_plan(case, result.remedy or "", kinds_of(case)))


def _check_declared(decisions: ReleaseDecisions, release_standing: ReleaseStanding, plan: TreatmentPlan) -> None:
    """Check that a remedy does what was approved; else put the release on hold.

    Raises:
        Stop: it does not, or a file that it names cannot be read.
    """
    case = decisions.case
    if release_standing.event is not None and release_standing.event.body.get("declared") == declared_digest(
        case, plan
    ):
        return
    note = f"what '{plan.name}' does has changed since the approval: a hierarchy, or the budget"
    decisions.hold(note=note)
    hint = "review it with 'tablewatch release compare', then approve it again"
    raise _held("release.remedy_changed", f"'{case.name}' is on hold: {note}", hint)


def _check_approver(decisions: ReleaseDecisions, release_standing: ReleaseStanding) -> None:
    """Check that the approver may still approve by the present configuration.

    Raises:
        Stop: this person may not.
    """
    if release_standing.event is not None:
        decisions.check_approver(release_standing.event.actor)


def _of_approval(release_standing: ReleaseStanding, name: str) -> Sequence[str]:
    text: Any = () if release_standing.event is None else release_standing.event.body.get(name, ())
    return tuple(text)


def _held(code: str, message: str, hint: str) -> Stop:
    return Stop(ExitCode.FAILED, Problem(code, message, hint=hint or None))
