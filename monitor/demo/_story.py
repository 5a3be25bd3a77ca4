"""Report what the demo planted and what was found: for a person and as JSON."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from checks import Message, PlainEnglish
from incidents import Incident, Window, to_us
from monitor.demo import _plan as plan
from monitor.demo._build import Demo
from monitor.releases.overview import ReleaseEntry, ReleaseState
from monitor.releases.record import states_now
from monitor.reporting import render
from monitor.reporting.build import build_report, gather
from monitor.reporting.period import Week
from monitor.summaries.downtime import DowntimeFigures, DowntimeReport, measure_downtime
from monitor.summaries.incident import incident_figures
from monitor.terminal.localizer import Localizer
from monitor.terminal.output_file import write_text
from monitor.terminal.tables import draw_table
from monitor.triage.errors import explained
from monitor.triage.time_parsing import format_hours

if TYPE_CHECKING:
    from rich.console import Console


PROGRAM: Final = "tablewatch"


@dataclass(frozen=True, slots=True)
class DemoResult:
    """The figures of the six weeks, the reports that were written, and the release that is on hold."""

    demo: Demo
    figures: DowntimeFigures
    reports: tuple[Path, ...]
    held: ReleaseState

    def as_json(self) -> dict[str, Any]:
        """Return `tablewatch.demo/1`."""
        return {
            "schema": "tablewatch.demo/1",
            "folder": str(self.demo.folder),
            "start": self.demo.start.isoformat(),
            "end": self.demo.end.isoformat(),
            "check_runs": self.demo.runs,
            "faults": [_fault_as_json(self.demo, fault, incident) for fault, incident in self.demo.found],
            "downtime": DowntimeReport.published(self.demo.project, self.figures).plain(),
            "reports": [str(report) for report in self.reports],
            "release": ReleaseEntry.of(self.held).plain(),
            "release_command": self.release_command(),
        }

    def draw(self, console: "Console", program: str = PROGRAM) -> None:
        """Print it. `program`: what the shell knows Tablewatch by."""
        demo, whole = self.demo, self.figures.whole
        days = f"{demo.start:%Y-%m-%d} to {demo.end:%Y-%m-%d}"
        console.print(f"{demo.runs:,} checks were run from {days}; planted faults and detections:\n")
        columns = ("planted fault", "table", "started", "incident", "found by", ">TTD", ">TTR")
        draw_table(console, columns, [_row(demo, fault, incident) for fault, incident in demo.found])
        console.print("\nIf a check cannot determine the start of a problem, TTD counts from its last passing run.")
        console.print(f"Data downtime {format_hours(whole.downtime)} in {whole.n} incidents{self._cost()}.")
        for report in self.reports:
            console.print(f"Report: {report}")
        folder = shlex.quote(str(demo.folder))
        console.print("\nNext steps:")
        for command in _NEXT:
            console.print(f"  {program} -c {folder} {command}")
        console.print(f"\nRelease {self.held.name}: {self.held.word.value.upper()}: {self._why()}")
        console.print("From the hold to a file that passes the limits:")
        console.print(f"  {self.release_command(program)}", soft_wrap=True)
        console.print("\nThe demo data ends here: a check run now correctly reports it as late.")
        console.print("Open the web pages with the link that this prints:")
        console.print(f"  {program} -c {folder} serve --as {plan.APPROVER}")

    def release_command(self, program: str = PROGRAM) -> str:
        """Return one line for a shell that approves a remedy of the release, and gives out what it makes."""
        folder, release = shlex.quote(str(self.demo.folder)), f"{self.held.name} --remedy {plan.RELEASE_REMEDY}"
        out = shlex.quote(str(self.demo.folder / "survey.csv"))
        approve = f"release approve {release} --by {plan.APPROVER} --note 'seen in the demo'"
        return f"{program} -c {folder} {approve} && {program} -c {folder} release export {release} --out {out}"

    def _why(self) -> str:
        """Describe what holds the release, as its incident does."""
        held = next(incident for incident in self.demo.incidents if incident.check_id == plan.RELEASE_CHECK)
        return Message(held.title, held.title_values).render(PlainEnglish())

    def _cost(self) -> str:
        cost = self.figures.cost
        return "" if cost is None else f", {self.demo.project.currency.text(cost.amount)}"


_NEXT = (
    "incident list",
    "incident causes 5",
    "downtime --by owner",
    "contract show",
    "simulate --schedule 'every 30m' --check orders",
    "table list",
    "check",
    "report --locale ja --out report.ja.html",
    f"release compare {plan.RELEASE} --html remedies.html",
    f"release record {plan.RELEASE} --out record.html",
)


def tell(demo: Demo) -> DemoResult:
    """Measure the six weeks and write the weekly report in each language of the configuration."""
    project = demo.project
    window = Window(to_us(demo.start), to_us(demo.end))
    with project.open_store() as store, explained(), store.reading() as tx:
        figures = measure_downtime(project, tx, window=window, as_of_us=window.end_us, by="table")
        week = Week.last_complete(demo.end, project.config.timezone)
        report = build_report(gather(project, tx, week, demo.end), week)
        (held,) = states_now(project, tx)
    folder = demo.folder / "reports"
    written = []
    for locale in project.config.report.weekly.locales:
        path = folder / f"{week}.{locale}.html"
        page = render.as_html(report, Localizer(locale, project.config.timezone))
        write_text(path, page, protected=project.protected_files, force=True)
        written.append(path)
    return DemoResult(demo, figures, tuple(written), held)


def _row(demo: Demo, fault: plan.PlantedFault, incident: Incident | None) -> Sequence[str | None]:
    began = f"{demo.start + fault.begins:%a %d %b %H:%M}"
    if incident is None:
        return (fault.name, fault.table, began, "not found", None, None, None)
    length = incident_figures(demo.project, [incident], demo.end)[incident.id].whole
    return (
        fault.name,
        fault.table,
        began,
        f"#{incident.id}",
        incident.check_id.removeprefix(f"{fault.table}.") if incident.check_id else "a person",
        format_hours(length.ttd),
        "open" if length.lasts else format_hours(length.ttr),
    )


def _fault_as_json(demo: Demo, fault: plan.PlantedFault, incident: Incident | None) -> dict[str, Any]:
    times = dict(_times(incident)) if incident is not None else {}
    return {
        "name": fault.name,
        "story": fault.story,
        "table": fault.table,
        "began_at": _iso(demo.start, fault.begins),
        "ended_at": None if fault.ends is None else _iso(demo.start, fault.ends),
        "incident": incident.id if incident is not None else None,
        **times,
    }


def _times(incident: Incident) -> Iterator[tuple[str, str | None]]:
    last = incident.last
    yield "occurred_at", last.onset.at.isoformat()
    yield "detected_at", last.detected_at.isoformat()
    yield "resolved_at", last.resolved_at.isoformat() if last.resolved_at is not None else None


def _iso(start: datetime, offset: timedelta) -> str:
    return (start + offset).isoformat()
