"""Approve a release, or put it on hold: who, why, and of which state of which table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from unicodedata import normalize

from checks import ColumnClass, Json
from incidents import AGENT
from monitor.config import ConfigError
from monitor.config.release_checks import ONE_CLASS_HINT, two_classes
from monitor.releases.columns import ReleaseColumns
from monitor.releases.digests import declared_digest, names_of, state_of
from monitor.releases.plan import RemedyKind, check_remedy_name, find_plan, kinds_of
from monitor.releases.state import ReleaseStanding, standing
from monitor.terminal.problem import ExitCode, Problem, Stop
from store import ReadTransaction, ReleaseEvent, ReleaseEventKind, ReleaseLedger, RememberedPersons, Store

_LONGEST: Final = 2_000


@dataclass(frozen=True, slots=True)
class ReleaseDecisions:
    """The decisions about a release, and the store that keeps them."""

    case: ReleaseColumns
    store: Store

    @property
    def ledger(self) -> ReleaseLedger:
        """Return where they are chained."""
        return self.case.project.release_ledger(self.store)

    def reload(self) -> "ReleaseDecisions":
        """Return the decisions under the configuration as its files are now.

        Raises:
            Stop: it has errors, or the release is not in it.
        """
        project = self.case.project
        try:
            return ReleaseDecisions(ReleaseColumns.of(project.reload(), self.case.name), self.store)
        except ConfigError as error:
            raise Stop(ExitCode.USAGE, *error.problems) from None

    def check_record(self) -> None:
        """Check that the ledger is whole and that each decision and export is as it was recorded.

        Raises:
            Stop: it is not.
        """
        flaws = self.case.project.ledger(self.store).verify().flaws
        if flaws:
            raise _not_trusted(flaws[0].problem)
        with self.store.reading() as tx:
            self.check_record_in(tx)

    def check_record_in(self, tx: ReadTransaction) -> None:
        """Check that each decision and export in sight is as it was recorded.

        Raises:
            Stop: one is not.
        """
        flaws = self.ledger.flaws(tx)
        if flaws:
            raise _not_trusted(flaws[0].problem)

    def check_persons(self, tx: ReadTransaction, persons: RememberedPersons) -> None:
        """Check that the remembered people of an earlier export are as they were recorded.

        Raises:
            Stop: they are not.
        """
        problem = self.ledger.person_flaw(tx, persons)
        if problem is not None:
            raise _not_trusted(problem)

    def standing(self) -> ReleaseStanding:
        """Return what they amount to now."""
        with self.store.reading() as tx:
            return self.standing_in(tx)

    def standing_in(self, tx: ReadTransaction) -> ReleaseStanding:
        """Return what the decisions that are in sight amount to now."""
        case = self.case
        now, after = case.project.clock.now(), case.release.expires_after
        return standing(tx.release_events.matching(case.name), digest=case.digest, expires_after=after, now=now)

    def approve(self, remedy: str, *, by: str, note: str, how: str | None = None) -> ReleaseStanding:
        """Approve a remedy, for the table as it is now; `how` the user signed in is recorded with it.

        Raises:
            Stop: there is no such remedy, this person may not approve, or the table cannot be read.
        """
        case = self.case
        _check_note(note)
        check_remedy_name(case, remedy)
        self.check_approver(by)
        kinds = kinds_of(case)
        plan = find_plan(case, remedy, kinds)
        if plan.kind is not RemedyKind.TABLE and case.release.limits.epsilon is None:
            message = f"release '{case.name}' has no limit on epsilon, which '{remedy}' requires"
            raise Stop(ExitCode.USAGE, Problem("release.no_epsilon", message, hint="limits: {epsilon: 1.0}"))
        _check_classified(case, kinds)
        check_one_classification(case)
        watched = {*case.release.columns, *case.release.key_columns.values()}
        columns = sorted(name for name in watched if name in kinds)
        state = state_of(case, columns).fingerprint
        body: dict[str, Json] = {
            "remedy": remedy,
            "digest": case.digest,
            "declared": declared_digest(case, plan),
            "table_state": state,
            "columns": columns,
            "table_columns": sorted(kinds),
        }
        if how is not None:
            body["signed_in_by"] = how
        return self._write(ReleaseEventKind.APPROVED, by, note, body)

    def hold(self, *, note: str, by: str = AGENT) -> ReleaseStanding:
        """Put it on hold until a user approves it again.

        Raises:
            Stop: no note.
        """
        _check_note(note)
        return self._write(ReleaseEventKind.HELD, by, note, {"digest": self.case.digest})

    def _write(self, kind: ReleaseEventKind, actor: str, note: str, body: dict[str, Json]) -> ReleaseStanding:
        now = self.case.project.clock.now()
        event = ReleaseEvent(self.case.name, kind, actor, " ".join(note.split()), body, now)
        ledger = self.ledger
        ledger.write(lambda tx: ledger.append(tx, event))
        return self.standing()

    def check_approver(self, by: str) -> None:
        """Check that a user may approve: named in `approvers`, if there are any, and never the table's owner.

        Raises:
            Stop: this person may not.
        """
        case, owners = self.case, self.case.project.config.owners
        entries = {name: {_plain(name), *_also_called(owners.get(name))} for name in case.release.approvers}
        text = _plain(by)
        owner = case.owner
        if owner is not None and text in {_plain(owner), *_also_called(owners.get(owner))}:
            message = f"'{by}' owns '{case.release.table}'; the owner of a table cannot approve its release"
            raise Stop(ExitCode.USAGE, Problem("release.own_table", message, hint=_whom(entries)))
        if entries and not any(text in names for names in entries.values()):
            message = f"'{by}' is not one of the approvers of release '{case.name}'"
            raise Stop(ExitCode.USAGE, Problem("release.no_approver", message, hint=_whom(entries)))


def _not_trusted(problem: str) -> Stop:
    message = f"the record of releases cannot be trusted: {problem}; nothing was exported"
    hint = (
        "restore a backup; or review 'tablewatch privacy budget verify', then run "
        "'tablewatch privacy budget resume --reason WHY'"
    )
    return Stop(ExitCode.FAILED, Problem("release.record", message, hint=hint))


def _also_called(owner: object) -> set[str]:
    names = (getattr(owner, "name", None), getattr(owner, "email", None))
    return {_plain(name) for name in names if isinstance(name, str)}


def _plain(name: str) -> str:
    """Take names that a person would not tell apart for one."""
    return " ".join(normalize("NFKC", name).casefold().split())


def _check_classified(case: ReleaseColumns, kinds: Mapping[str, object]) -> None:
    """Check that the release classifies every column of the table, and no other.

    Raises:
        Stop: it does not.
    """
    silent = [name for name in kinds if name not in case.release.columns]
    gone = [name for name in (*case.release.columns, *case.release.key_columns.values()) if name not in kinds]
    if silent or gone:
        text = f"does not classify {', '.join(silent)}" if silent else f"names {', '.join(gone)}, which is not there"
        message = f"release '{case.name}' {text}, so it cannot be approved"
        hint = f"correct its 'columns'; each of '{case.release.table}' is one of {', '.join(ColumnClass)}"
        raise Stop(ExitCode.USAGE, Problem("release.not_classified", message, hint=hint))


def check_one_classification(case: ReleaseColumns) -> None:
    """Check that no other release of the same table, under whichever name, classifies a column otherwise.

    Raises:
        Stop: one does.
    """
    project = case.project
    names = names_of(project, case.release.table)
    same = {name: release for name, release in project.config.releases.items() if release.table in names}
    for classes in two_classes(same):
        if case.name in {classes.release, classes.other}:
            raise Stop(ExitCode.USAGE, Problem("release.two_classifications", classes.message, hint=ONE_CLASS_HINT))


def _whom(entries: Mapping[str, set[str]]) -> str:
    return f"approvers: {', '.join(entries)}" if entries else "declare 'approvers' of the release"


def _check_note(note: str) -> None:
    if not note.strip() or len(note) > _LONGEST:
        raise Stop(ExitCode.USAGE, Problem("release.no_note", "--note is empty or too long; write the reason"))
