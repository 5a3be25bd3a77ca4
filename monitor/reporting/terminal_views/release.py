"""Print the state of a release, what each remedy would reach, and the exports."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from monitor.clock import iso
from monitor.releases.compare import ANSWERS, HOLDS, LABEL, REFUSED, ReleaseComparison, RemedyTrial
from monitor.releases.disclosure.assessment import RiskAssessment
from monitor.releases.export import Exported
from monitor.releases.overview import ExplainedRelease, ReleaseState, ReleaseWord
from monitor.releases.record import export_as_json
from monitor.releases.verdict import RISK_FIGURES
from monitor.releases.verify_file import FileVerification
from monitor.reporting.terminal_views.risk import draw_assessment
from monitor.terminal.redaction import visible
from monitor.terminal.tables import draw_table
from store import ReleaseEvent

_VERDICTS: Final = {HOLDS: "met", REFUSED: "not met"}
_LINES: Final = {"vanished": "removed", "appeared": "added"}
_COLOURS: Final = {"hold": "bold red", "clear": "green", "approved": "green", "expired": "yellow"}
_NO_STATEMENT: Final = "These are pass/fail thresholds, neither proof of anonymity nor legal advice."


def draw_verdict(
    console: Console, *, word: str, why: str, risk_assessment: RiskAssessment | None, warnings: Sequence[str] = ()
) -> None:
    """Print the verdict first, then what it rests on."""
    console.print(Text.assemble((word.upper(), _COLOURS[word]), f": {visible(why)}"), soft_wrap=True)
    if risk_assessment is not None:
        console.print()
        draw_assessment(console, risk_assessment)
    for text in warnings:
        console.print(Text.assemble(("WARNING", "yellow"), f"  {visible(text)}"), soft_wrap=True)


def draw_comparison(
    console: Console, name: str, release_comparison: ReleaseComparison, *, typed: Callable[[str], str]
) -> None:
    """Print what each way would reach and cost, and which one is recommended; `typed`: how a command is typed here."""
    console.print(Text(LABEL, "yellow"))
    console.print(Text(f"{visible(name)}: {release_comparison.rows:,} records, {len(release_comparison.tried):,} ways"))
    if release_comparison.rows < release_comparison.rows_of_table:
        whole = release_comparison.rows_of_table
        text = f"a random sample of {whole:,}, for comparison only; an export verifies the limits on the whole table"
        console.print(Text(text, "yellow"), soft_wrap=True)
    console.print()
    tables = [item for item in release_comparison.tried if item.status != ANSWERS]
    rows = [
        (
            visible(table.name),
            _VERDICTS.get(table.status, table.status),
            *_reached(table),
            _count(table.suppressed),
            "" if table.mean_loss is None else f"{table.mean_loss:.0f} %",
            "" if table.seconds is None else f"{table.seconds:.1f}",
        )
        for table in tables
    ]
    heads = ("remedy", "limits", ">k", ">l", ">t", ">epsilon", ">suppressed", ">info lost", "?>seconds")
    draw_table(console, heads, rows)
    for table in tables:
        if table.why:
            console.print(Text(f"  {visible(table.name)}: {visible(table.why)}", "dim"), soft_wrap=True)
    for table in tables:
        if table.attack is not None:
            console.print(Text(f"  {visible(table.name)}: {table.attack}", "dim"), soft_wrap=True)
    loose = dict.fromkeys(text for table in tables for text in table.warnings)
    for text in loose:
        console.print(Text.assemble(("WARNING", "yellow"), f"  {visible(text)}"), soft_wrap=True)
    _draw_changes(console, tables)
    _draw_answers(console, [item for item in release_comparison.tried if item.status == ANSWERS])
    console.print()
    if release_comparison.recommended is None:
        console.print(Text.assemble(("NONE", "bold red"), f": {release_comparison.reason}"))
    else:
        console.print(
            Text.assemble(
                ("RECOMMENDED", "green"), f": {visible(release_comparison.recommended)}; {release_comparison.reason}"
            )
        )
        command = next(
            (item.command for item in release_comparison.tried if item.name == release_comparison.recommended), None
        )
        if command:
            console.print(Text(f"  reproduce: {visible(command)}", "dim"), soft_wrap=True)
        chosen = typed(
            shlex.join(["tablewatch", "release", "approve", name, "--remedy", release_comparison.recommended])
        )
        console.print(Text(f"  next: {visible(chosen)} --by WHO --note WHY, then export", "dim"), soft_wrap=True)
    console.print(Text(_NO_STATEMENT, "dim"))


def draw_exported(console: Console, exported: Exported, out: str) -> None:
    """Print what was given out, and what was proved of it."""
    body: Mapping[str, Any] = exported.event.body
    reached: Mapping[str, Any] = body["reached"]
    text = f"  {visible(out)}: {body['rows']:,} rows, {len(body['columns'])} columns"
    console.print(Text.assemble(("EXPORTED", "green"), text), soft_wrap=True)
    if body["epsilon"] is not None:
        console.print(Text(f"epsilon {body['epsilon']}, by the recorded mechanism"))
    else:
        figures = [
            f"{name} {_number(reached[name])}"
            for name in ("k", "highest_risk", "l", "t", *RISK_FIGURES)
            if _number(reached.get(name))
        ]
        grouped = visible(", ".join(body["quasi_identifiers"]))
        console.print(Text(f"verified: {', '.join(figures)}; grouped by {grouped}"), soft_wrap=True)
    if body["columns_left_out"]:
        console.print(Text(f"dropped: {visible(', '.join(body['columns_left_out']))}"))
    console.print(Text(f"sha256 {body['sha256']}", "dim"))
    for note in exported.notes:
        console.print(Text(f"note: {visible(note)}", "yellow"), soft_wrap=True)
    console.print(Text(_NO_STATEMENT, "dim"))


def draw_verification(console: Console, verification: FileVerification, file: str) -> None:
    """Print whether a file is what was exported, and what was counted in it."""
    export = verification.export
    word, style = ("VERIFIED", "green") if verification.is_verified else ("NOT VERIFIED", "red")
    console.print(Text.assemble((word, style), f"  {visible(file)}"), soft_wrap=True)
    if export is not None:
        at = f"{export.recorded_at:%Y-%m-%d %H:%M}Z"
        text = f"exported by release '{export.release}' on {at}, by {export.actor}, as {export.body['file']}"
        console.print(Text(visible(text)), soft_wrap=True)
        counted = [f"{name} {_number(figure)}" for name, figure in verification.counted.items() if _number(figure)]
        what = f"recomputed: {', '.join(counted)}" if counted else "only its content was compared"
        body: Mapping[str, Any] = export.body
        if counted and body["reached"].get("of_file"):
            what += "; rows were counted, and those of a person not linked; the certificate also counts people"
        console.print(Text(visible(what)), soft_wrap=True)
    for problem in (*verification.problems, *(f"the record: {flaw}" for flaw in verification.record_flaws)):
        console.print(Text(visible(problem), "red"), soft_wrap=True)
    console.print(Text(f"sha256 {verification.sha256}", "dim"))


def _reached(remedy_trial: RemedyTrial) -> Sequence[str]:
    return (*(_number(remedy_trial.reached.get(name)) for name in ("k", "l", "t")), remedy_trial.epsilon or "")


def _draw_changes(console: Console, tables: Sequence[RemedyTrial]) -> None:
    """Print how far the audience's own questions are answered otherwise."""
    lines = [(table.name, name, change) for table in tables for name, change in table.changes.items()]
    if not lines:
        return
    console.print()
    draw_table(
        console,
        ("remedy", "analysis", "change"),
        [(visible(remedy), visible(name), visible(change_last_export(change))) for remedy, name, change in lines],
    )


def change_last_export(change: Any) -> str:
    """Return the change of an analysis, in words."""
    if change["failure"]:
        return f"query failed: {change['failure']}"
    results: Mapping[str, Any] = change["change"] or {}
    moved = [
        f"{name}: {_share(item['mean'])} on average, {_share(item['largest'])} at most"
        for name, item in results.get("figures", {}).items()
    ]
    lines = [f"{results[name]:,} rows {text}" for name, text in _LINES.items() if results.get(name)]
    return "; ".join([*moved, *lines]) or "no values to compare"


def _share(value: Any) -> str:
    return f"{value:.1%}" if isinstance(value, int | float) else str(value or "-")


def _draw_answers(console: Console, answers: Sequence[RemedyTrial]) -> None:
    if not answers:
        return
    console.print()
    console.print(Text("noisy statistics instead of records; no query was run and nothing was charged:"))
    for answer in answers:
        for noise in answer.noise:
            shown: Any = noise
            off = shown.get("within_95", shown.get("rank_within_95"))
            what = shown["of"] if "within_95" in shown else "rank of the answer"
            text = f"  {visible(answer.name)}: 95% error bound of the {what}: {_number(off)}"
            console.print(Text(f"{text}, for epsilon {answer.epsilon}"))


def _number(value: Any) -> str:
    if isinstance(value, Mapping):
        numbers = [item for item in value.values() if isinstance(item, int | float)]
        return _number(min(numbers)) if numbers else ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


SCHEMA: Final = "tablewatch.release-list/1"


def list_as_json(
    states: Sequence[ReleaseState], exports: Mapping[str, ReleaseEvent], as_of: datetime
) -> dict[str, Any]:
    """Return the published form. `exports`: the newest of each release; those of others than `states` come apart."""
    entries = {state.name for state in states}
    return {
        "schema": SCHEMA,
        "ok": True,
        "as_of": iso(as_of),
        "releases": [
            {**ExplainedRelease.of(state).plain(), "last_export": _last(exports, state.name)} for state in states
        ],
        "no_longer_configured": [
            {"release": name, "last_export": _last(exports, name)} for name in sorted(exports.keys() - entries)
        ],
    }


def draw_list(console: Console, states: Sequence[ReleaseState], exports: Mapping[str, ReleaseEvent]) -> None:
    """Print one line for each, and below it why those that are held are."""
    if not states:
        console.print("no release is configured; they are declared under 'releases'")
    else:
        rows = [
            (
                visible(state.name),
                visible(state.release.table),
                state.word.value,
                _day(state.since),
                _approved(state),
                _day(state.standing.until),
                _last_export(exports.get(state.name)),
            )
            for state in states
        ]
        heads = ("~release", "~table", "state", "since", "~approved with", "expires", "~last export")
        draw_table(console, heads, rows)
        reasons = [(state.name, state.why) for state in states if state.why]
        if reasons:
            console.print()
        for name, text in reasons:
            console.print(Text(f"  {visible(name)}: {visible(text)}", "dim"), soft_wrap=True)
    removed = sorted(exports.keys() - {state.name for state in states})
    if removed:
        console.print(Text(f"no longer configured, but recorded: {visible(', '.join(removed))}"))


def _last(exports: Mapping[str, ReleaseEvent], name: str) -> dict[str, Any] | None:
    return export_as_json(exports[name]) if name in exports else None


def _approved(release_state: ReleaseState) -> str | None:
    return (
        visible(release_state.standing.remedy)
        if release_state.word is ReleaseWord.APPROVED and release_state.standing.remedy
        else None
    )


def _last_export(event: ReleaseEvent | None) -> str | None:
    return None if event is None else f"{event.recorded_at:%Y-%m-%d} {visible(str(event.body.get('file')))}"


def _day(moment: datetime | None) -> str | None:
    return None if moment is None else f"{moment:%Y-%m-%d}"
