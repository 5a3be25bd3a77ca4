"""Export an approved release: treat, write, read again, prove, compare with earlier exports, remember, give out.

    approved? ─> the table is what was approved? ─> charge, if it costs epsilon ─> treat ─> write a draft ─> prove it
    ─> does it expose people, together with earlier exports? ─> is the table still the same? ─> remember
    ─> the file gets its name

Whatever fails leaves no file behind. It is remembered before the file gets its name: a crash in between leaves an
export on record without a file, never a file without a record.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checks.classes.counts import PersonPairs
from checks.risk.compared_releases import COMBINATIONS, PUBLISHED, SUPPRESSED, ReleasedRows
from monitor.releases.certificate import ExportFindings, certificate
from monitor.releases.charge import charge_private_table, check_epsilon, noisy_answer_table
from monitor.releases.columns import read_columns
from monitor.releases.composition_risk import NOT_COMPARED, describe_exposure
from monitor.releases.decisions import ReleaseDecisions
from monitor.releases.exported_rows import released_rows, signed_combinations, signed_name
from monitor.releases.gate import ExportPermission, check_export_allowed
from monitor.releases.missing_classes import earlier_outputs
from monitor.releases.plan import RemedyKind
from monitor.releases.treat import LimitsNotMet, TreatedTable, Verification, treat, verify_release, write_treated
from monitor.releases.treatment.output import publish
from monitor.releases.treatment.table_reader import one_connection_to
from monitor.releases.treatment.verify import WrittenFile
from monitor.terminal.problem import ExitCode, Problem, Stop
from remedies import Misfit, Refused
from store import FailPoint, ReleaseEvent, ReleaseEventKind, reached

if TYPE_CHECKING:
    import pandas as pd

    from remedies import Progress
    from remedies.generalisation.frequencies import EarlierOutput


@dataclass(frozen=True, slots=True)
class Exported:
    """A file that was given out. `event`: what the registry keeps of it; `notes`: what a person should know."""

    event: ReleaseEvent
    notes: Sequence[str]


def export(
    decisions: ReleaseDecisions,
    remedy: str,
    out: Path,
    *,
    actor: str,
    progress: "Progress",
    hold_back: bool = False,
) -> Exported:
    """Write the file of an approved release.

    `hold_back`: rows that would break a limit together with earlier exports wait for a later one.

    Raises:
        Stop: it is not approved, the table is not what was approved, the file does not hold the limits, or it exposes
            people together with an earlier one.
    """
    # 1. Check the approval and the table; charge what costs epsilon; treat the table, or compute the answers.
    with one_connection_to(decisions.case.place):
        passed = check_export_allowed(decisions, remedy)
        work = (
            _Answers(passed, actor)
            if passed.plan.kind is RemedyKind.ANSWERS
            else _Records(passed, actor, progress, hold_back=hold_back)
        )
    release_events: list[ReleaseEvent] = []

    def prove_and_record(draft: Path) -> None:
        # 3. Read the draft again, prove it, compare it with earlier exports; check that the table is still the same.
        reached(FailPoint.BEFORE_EXPORT_PROVED)
        findings, pairs = work.found(draft)
        passed.check_again()
        # 4. Put the certificate on record.
        body = certificate(decisions.case, passed.plan, passed.found, findings, draft=draft, name=out.name)
        body |= passed.registry.marks
        _check_target(out)
        now = decisions.case.project.clock.now()
        event = ReleaseEvent(decisions.case.name, ReleaseEventKind.EXPORTED, actor, "", body, now)
        passed.registry.remember(event, pairs, check=passed.check_on_record)
        release_events.append(event)
        reached(FailPoint.BEFORE_EXPORT_NAMED)

    # 2. Write a draft, which gets its name once it is proved and on record.
    publish(out, work.write, prove_and_record)
    # 5. Put the release on hold where something has to be looked at first.
    if passed.notes:
        decisions.hold(note="; ".join(passed.notes))
    return Exported(release_events[0], [*passed.notes, *_worth_knowing(release_events[0])])


def _check_target(out: Path) -> None:
    """Check, before an export goes on record, that its file can get its name; only a crash comes in between then.

    Raises:
        Stop: it cannot.
    """
    text = None
    if out.is_symlink() or (out.exists() and not out.is_file()):
        text = "is not a file that can be replaced"
    elif not os.access(out.parent, os.W_OK | os.X_OK):
        text = "lies in a folder that cannot be written"
    if text is not None:
        message = f"'{out}' {text}; nothing was exported, and no export was recorded"
        raise Stop(ExitCode.USAGE, Problem("release.target", message, hint="name another file"))


class _Records:
    """Records that were treated."""

    def __init__(self, passed: ExportPermission, actor: str, progress: "Progress", *, hold_back: bool) -> None:
        """Treat the table.

        Raises:
            Stop: it cannot be read, or does not fit the remedy, or the budget does not cover what it costs.
        """
        self._passed = passed
        case, plan = passed.decisions.case, passed.plan
        self._strict = passed.registry.strictest()
        is_random, self._request_id = plan.has_mechanism, None
        if is_random:
            self._strict = check_epsilon(passed.decisions, plan, self._strict, rows=passed.rows)
            self._request_id = charge_private_table(passed.decisions, plan, actor=actor)
        columns = plan.columns if is_random else tuple(dict.fromkeys((*plan.columns, *case.quasi)))
        frame = read_columns(case, columns, blind=is_random)
        self._treated = treated = _treated(passed, frame, progress)
        if hold_back and not is_random and (rows := self._rows()) is not None:
            self._treated = passed.registry.hold_back(rows, treated)
        self._held_back = len(treated.frame) - len(self._treated.frame)
        self._written = WrittenFile()

    def _rows(self) -> ReleasedRows | None:
        passed = self._passed
        is_close = passed.registry.promises().t is not None
        return released_rows(passed.decisions.case, self._treated, is_close=is_close)

    def write(self, draft: Path) -> None:
        """Write them."""
        self._written = write_treated(self._passed.decisions.case, self._passed.plan, self._treated, draft)

    def found(self, draft: Path) -> tuple[ExportFindings, PersonPairs | None]:
        """Prove them, and compare them with earlier exports."""
        plan = self._passed.plan
        proof, rows = self._proved(draft)
        compared = NOT_COMPARED if plan.has_mechanism else self._passed.registry.compared(rows, self._treated)
        findings = ExportFindings(
            proof,
            suppressed=self._treated.suppressed - self._held_back,
            held_back=self._held_back,
            lost=self._treated.lost,
            compared=compared,
            mixed=None if self._treated.bill is None else self._treated.bill.figures.get("mixed"),
        )
        return findings, None if rows is None else rows.pairs()

    def _proved(self, draft: Path) -> tuple[Verification, ReleasedRows | None]:
        case, plan = self._passed.decisions.case, self._passed.plan
        is_random = plan.has_mechanism
        try:
            proof = verify_release(self._strict, plan, self._treated, draft, self._written, case.project.clock)
            if plan.kind is RemedyKind.SYNTHETIC:
                proof = replace(proof, reached={**proof.reached, "request_id": self._request_id})
            return proof, None if is_random else self._rows()
        except LimitsNotMet as error:
            if self._strict is case or is_random:
                raise
            promised = self._passed.registry.promises().summary
            text = (
                f"{error.problems[0].message}; the limits of all releases and exports of the table hold too: {promised}"
            )
            hint = "declare these limits in the release, so that its remedies keep them; or set 're_release: warn'"
            raise Stop(ExitCode.FAILED, Problem("release.not_proved", text, hint=hint)) from None
        except (Misfit, Refused) as error:
            raise Stop(ExitCode.FAILED, Problem("release.not_proved", str(error))) from None


class _Answers:
    """Noisy answers in the place of records: a table of cells, each with its noise."""

    def __init__(self, passed: ExportPermission, actor: str) -> None:
        """Ask, and be charged.

        Raises:
            Stop: the budget does not cover it, or the limits of the release do not allow it.
        """
        self._passed = passed
        self._frame, self._charge = noisy_answer_table(passed.decisions, passed.plan, actor=actor)

    def write(self, draft: Path) -> None:
        """Write the cells."""
        case = self._passed.decisions.case
        write_treated(case, self._passed.plan, TreatedTable(self._frame, self._frame, None), draft)

    def found(self, draft: Path) -> tuple[ExportFindings, PersonPairs | None]:
        """Return with which noise they were made: that is the proof, whatever the numbers are."""
        del draft
        proof = Verification(
            rows=len(self._frame),
            columns=tuple(map(str, self._frame.columns)),
            question="none: the noise cannot be verified from the file; it is recorded in the ledger",
            reached={"noise": self._charge.answer["noise"], "request_id": self._charge.request_id},
            epsilon=self._charge.epsilon,
        )
        return ExportFindings(proof, suppressed=0, lost={}), None


def _treated(passed: ExportPermission, frame: "pd.DataFrame", progress: "Progress") -> TreatedTable:
    try:
        case, plan = passed.decisions.case, passed.plan
        return treat(case, plan, frame, progress=progress, earlier=lambda: _earlier_outputs(passed, frame))
    except Misfit as error:
        raise Stop(ExitCode.USAGE, Problem("release.misfit", str(error))) from None
    except Refused as error:
        raise Stop(ExitCode.FAILED, Problem("release.not_proved", str(error))) from None


def _earlier_outputs(passed: ExportPermission, frame: "pd.DataFrame") -> "Sequence[EarlierOutput]":
    """Return what each earlier export did with the rows of the table, the last one first."""
    case, earlier = passed.decisions.case, passed.registry.earlier()
    if not earlier:
        return ()
    columns = {name: signed_name(case, name) for name in (COMBINATIONS, PUBLISHED, SUPPRESSED)}
    quasi = frame[[name for name in case.quasi if name in frame.columns]]
    return earlier_outputs(signed_combinations(case, quasi), columns, earlier)


def _worth_knowing(event: ReleaseEvent) -> Sequence[str]:
    """Describe what is allowed, and a person should know."""
    earlier, warnings = event.body["earlier"], event.body["warnings"]
    loose = [str(warning) for warning in warnings] if isinstance(warnings, list) else []
    held_back = event.body["rows_held_back"]
    waiting = [f"{held_back:,} rows are held back for a later export"] if held_back else []
    return [*waiting, *_of_earlier(event, earlier), *loose]


def _of_earlier(event: ReleaseEvent, earlier: Any) -> list[str]:
    if earlier is None:
        return ["without 'person_key', later exports cannot be compared with this one and will be put on hold"]
    parts = [(item["export"], describe_exposure(item)) for item in earlier]
    notes = [f"together with export {name} {why}" for name, why in parts if why]
    together, elsewhere = (event.body[word] for word in ("together", "persons_elsewhere"))
    notes += [str(item) for item in together] if isinstance(together, list) else []
    for name, many in elsewhere.items() if isinstance(elsewhere, Mapping) else ():
        notes.append(f"{many:,} people are in export {name} of another table too, with which it was not compared")
    return notes
