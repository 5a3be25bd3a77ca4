"""TTD, TTR, downtime and cost of an incident are computed once, in `incidents`, and every surface shows that value."""

import ast
import html
import io
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from rich.console import Console

from checks import Kind, OccurrenceMethod, Severity
from incidents import Episode, FoundBy, Onset, Opened, Reopened, Resolution, Resolved, State, Window, to_us
from monitor.alerts.batch import Batch, BatchItem
from monitor.alerts.decide import NotificationReason
from monitor.alerts.hold import HoldRules
from monitor.alerts.message import MessageComposer
from monitor.clock import SimulatedClock
from monitor.commands.incident import _draw as draw_list
from monitor.config import load
from monitor.config.project import Project
from monitor.reporting.build import build_report, gather
from monitor.reporting.period import Week
from monitor.reporting.render import as_html, as_markdown
from monitor.reporting.report_json import as_json as weekly_as_json
from monitor.reporting.terminal_views.incident import incident_lines
from monitor.summaries.downtime import DowntimeReport, measure_downtime
from monitor.summaries.incident import IncidentSheet, incident_figures, summaries_of
from monitor.terminal.localizer import Localizer
from monitor.triage.incident_editor import read_incident_detail
from monitor.triage.time_parsing import format_hours
from tests.tiers import examples

ROOT = Path(__file__).resolve().parents[3]
START = datetime(2026, 11, 9, 0, 0, tzinfo=UTC)
"""A Monday; every episode lies in its week."""
MINUTES = 6 * 24 * 60
RATE = 60_000
"""Yen an hour: 1,000 for each minute, so that a cost can be counted in minutes."""
CONFIG = """
version: 1
project: one-figure
timezone: UTC
storage: {{url: "sqlite:///{folder}/store.db"}}
sources: {{files: {{files: "*.csv"}}}}
cost: {{currency: JPY, tables: {{orders: {{per_hour: 60000}}}}}}
maintenance:
{maintenance}
tables:
  - {{name: orders, source: files, checks: [{{type: not_null, columns: [id]}}]}}
alerts: {{channels: {{desk: {{apprise: "json://localhost:9/"}}}}}}
"""
TIMES = {"detected_at", "resolved_at", "occurred_at", "acknowledged_at", "first_failed_at", "onset"}


@dataclass(frozen=True)
class Past:
    """An incident in minutes after `START`: its episodes, planned maintenance, the moment of knowing."""

    episodes: tuple[tuple[int, int, int | None], ...]
    planned: tuple[tuple[int, int], ...]
    now: int

    def minutes(self, start: int, end: int) -> int:
        """Count the minutes between two that are not planned maintenance, one by one."""
        return sum(not any(begin <= minute < stop for begin, stop in self.planned) for minute in range(start, end))

    @property
    def each(self) -> list[tuple[int, int]]:
        """TTD and TTR of each episode in minutes, by the definition."""
        return [
            (self.minutes(occurred, detected), self.minutes(detected, self.now if resolved is None else resolved))
            for occurred, detected, resolved in self.episodes
        ]

    @property
    def lasts(self) -> bool:
        """Whether the last episode has no end."""
        return self.episodes[-1][2] is None


@st.composite
def pasts(draw: st.DrawFn) -> Past:
    """Draw an incident of one to three episodes, and planned maintenance before, in and after it."""
    count = draw(st.integers(1, 3))
    times = sorted(draw(st.lists(st.integers(0, MINUTES), min_size=3 * count, max_size=3 * count, unique=True)))
    episodes: list[tuple[int, int, int | None]] = [
        (times[i], times[i + 1], times[i + 2]) for i in range(0, len(times), 3)
    ]
    if draw(st.booleans()):
        episodes[-1] = (*episodes[-1][:2], None)
    spans = draw(st.lists(st.tuples(st.integers(0, MINUTES), st.integers(1, 900)), max_size=3))
    return Past(tuple(episodes), tuple((start, start + length) for start, length in spans), MINUTES + 60)


def at(minute: int) -> datetime:
    """Return the moment of a minute."""
    return START + timedelta(minutes=minute)


def _project(folder: Path, past: Past) -> Project:
    work = "".join(
        f"  - {{start: '{at(start).isoformat()}', end: '{at(end).isoformat()}', reason: move, tables: [orders]}}\n"
        for start, end in past.planned
    )
    text = CONFIG.format(folder=folder, maintenance=work or "  []")
    (folder / "tablewatch.yaml").write_text(text, encoding="utf-8")
    return Project(load(folder / "tablewatch.yaml", environment={}), SimulatedClock(at(past.now)))


def _changes(past: Past) -> list[Opened | Reopened | Resolved]:
    changes: list[Opened | Reopened | Resolved] = []
    for number, (occurred, detected, resolved) in enumerate(past.episodes):
        onset = Onset(at(occurred), at(occurred), at(detected), OccurrenceMethod.LAST_GOOD_RUN)
        episode = Episode(onset, at(detected))
        opened = Opened(
            "orders.not-null",
            "orders",
            "orders.not-null",
            Kind.QUALITY,
            Severity.ERROR,
            "ids are missing",
            {},
            FoundBy.CHECK,
            episode,
        )
        changes.append(Reopened(episode) if number else opened)
        if resolved is not None:
            changes.append(Resolved(at(resolved), Resolution.FIXED))
    return changes


class Surfaces:
    """Everything that shows one incident."""

    def __init__(self, folder: Path, past: Past) -> None:
        project = _project(folder, past)
        with project.open_store() as store:
            with store.writing() as tx:
                first, *rest = _changes(past)
                assert isinstance(first, Opened)
                incident = tx.incidents.open(first, recorded_at=at(0), actor="tablewatch")
                for change in rest:
                    incident = tx.incidents.append(incident, [change], recorded_at=at(0), actor="tablewatch")
            with store.reading() as tx:
                sheet = read_incident_detail(tx, incident.id)
                window = Window.of(START - timedelta(days=1), at(past.now) + timedelta(days=1))
                found = measure_downtime(project, tx, window=window, as_of_us=to_us(at(past.now)), by="check")
                week = Week.containing(START, "UTC")
                report = build_report(gather(project, tx, week, at(past.now)), week)
        incident = sheet.incident
        figures = incident_figures(project, [incident])
        self.story = [str(line) for line in incident_lines(project, sheet)]
        self.shown = IncidentSheet.read(project, sheet, at(past.now)).model_dump(mode="json")
        (self.listed,) = (item.model_dump(mode="json") for item in summaries_of(project, [incident]))
        out = io.StringIO()
        draw_list(Console(file=out, width=200), project, [incident], figures)
        self.list = out.getvalue()
        self.downtime = DowntimeReport.published(project, found).plain()
        self.report = report
        self.voices = [Localizer(locale, "UTC") for locale in ("en", "ja")]
        self.weekly = weekly_as_json(report, self.voices[0])
        self.pages = [as_html(report, localizer) for localizer in self.voices]
        self.markdown = [as_markdown(report, localizer) for localizer in self.voices]
        reason = NotificationReason.FIRST if incident.state is not State.RESOLVED else NotificationReason.RESOLVED
        parcel = Batch((BatchItem(incident, reason, at(past.now)),))
        around = HoldRules(project.config, silences=(), around=(), now=at(past.now))
        self.alert = MessageComposer(project, at(past.now)).incidents(parcel, "desk", around)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder below which every example has one of its own."""
    return tmp_path_factory.mktemp("surfaces")


@settings(max_examples=examples(20), deadline=None, phases=(Phase.explicit, Phase.generate))
@given(past=pasts())
@example(past=Past(episodes=((342, 458, 658),), planned=((332, 1022),), now=8700))
def test_every_surface_shows_the_same_figures(folder: Path, past: Past) -> None:
    """TTD, TTR, downtime and cost are those of the definition, without planned maintenance, wherever they are shown."""
    place = folder / str(len(list(folder.iterdir())))
    place.mkdir()
    seen = Surfaces(place, past)
    ttd, ttr = (sum(one[part] for one in past.each) for part in (0, 1))
    _incident_json(seen.shown, past, ttd, ttr)
    _incident_json(seen.listed, past, ttd, ttr)
    _story(seen.story, past, ttd + ttr)
    assert format_hours(minutes(ttd + ttr)) in seen.list
    _downtime(seen.downtime, past, ttd, ttr)
    _weekly(seen, past, ttd, ttr)
    _alert(seen.alert, past, ttd, ttr)


def minutes(count: int) -> int:
    """Return minutes as microseconds."""
    return count * 60_000_000


def _incident_json(value, past: Past, ttd: int, ttr: int) -> None:
    assert value["ttd_h"] == pytest.approx(ttd / 60)
    assert value["ttr_h"] == (None if past.lasts else pytest.approx(ttr / 60))
    assert value["downtime_h"] == pytest.approx((ttd + ttr) / 60)
    assert value["cost"]["amount"] == 1_000 * (ttd + ttr)
    for episode, (one_ttd, one_ttr) in zip(value.get("episodes", ()), past.each, strict="episodes" in value):
        assert episode["ttd_h"] == pytest.approx(one_ttd / 60)
        assert episode["ttr_h"] in (None, pytest.approx(one_ttr / 60))


def _story(lines: list[str], past: Past, total: int) -> None:
    ttds = [line.partition("  TTD ")[2] for line in lines if line.startswith("detected")]
    ttrs = [line.partition("  TTR ")[2] for line in lines if line.startswith("resolved")]
    assert ttds == [format_hours(minutes(one)) for one, _ in past.each]
    over = past.each[:-1] if past.lasts else past.each
    assert ttrs == [format_hours(minutes(one)) for _, one in over]
    (sums,) = [line for line in lines if line.startswith(("total", "so far"))]
    assert f"downtime {format_hours(minutes(total))}" in sums
    assert f"cost JPY {1_000 * total:,} " in sums


def _downtime(value, past: Past, ttd: int, ttr: int) -> None:
    assert value["downtime_h"] == pytest.approx((ttd + ttr) / 60)
    assert (value["undetected_h"], value["repair_h"]) == (pytest.approx(ttd / 60), pytest.approx(ttr / 60))
    assert value["cost"]["amount"] == 1_000 * (ttd + ttr)
    if ttd + ttr:
        assert value["ttd_h"]["mean"] == pytest.approx(ttd / 60)
        assert value["ttr_h"]["mean"] == (None if past.lasts else pytest.approx(ttr / 60))


def _weekly(seen: Surfaces, past: Past, ttd: int, ttr: int) -> None:
    if not ttd + ttr:
        assert seen.report.incidents.rows == ()
        return
    (row,) = seen.report.incidents.rows
    assert (row.ttd_us, row.ttr_us) == (minutes(ttd), None if past.lasts else minutes(ttr))
    assert row.cost == Fraction(1_000 * (ttd + ttr))
    (listed,) = seen.weekly["incidents"]["shown"]
    assert (listed["ttd_h"], listed["cost"]) == (pytest.approx(ttd / 60), 1_000 * (ttd + ttr))
    for localizer, page, text in zip(seen.voices, seen.pages, seen.markdown, strict=True):
        shown = [localizer.format(timedelta(minutes=ttd), "hours")]
        shown += [] if past.lasts else [localizer.format(timedelta(minutes=ttr), "hours")]
        cells = [html.unescape(cell) for cell in re.findall(r'data-label="TT[DR]">(.*?)</td>', page)]
        assert cells[: len(shown)] == shown
        (line,) = [line for line in text.splitlines() if "ids are missing" in line and line.startswith("|")]
        assert all(f"| {' '.join(one.split())} |" in line for one in shown)


def _alert(payload, past: Past, ttd: int, ttr: int) -> None:
    (value,) = payload["incidents"]
    _incident_json(value, past, ttd, ttr)
    facts = dict(payload["blocks"][0]["facts"])
    localizer = Localizer("en", "UTC")
    several = len(past.each) > 1
    whole, last = (f" (all {len(past.each)} episodes)", " (this episode)") if several else ("", "")

    def length(count: int) -> str:
        return localizer.format(timedelta(minutes=count), "hours")

    def lengths(one: int, two: int) -> str:
        return f"{length(one + two)}: time to detection (TTD) {length(one)}, time to resolution (TTR) {length(two)}"

    label = "Cost so far" if past.lasts else "Cost"
    assert facts[f"{label}{whole}"].partition(";")[0] == f"¥{1_000 * (ttd + ttr):,}"
    if several:
        assert facts[f"{label}{last}"] == f"¥{1_000 * sum(past.each[-1]):,}"
    if not past.lasts:
        assert facts[f"Duration{whole}"] == lengths(ttd, ttr)
        assert facts.get(f"Duration{last}") == (lengths(*past.each[-1]) if several else facts[f"Duration{whole}"])
    # every line that is about a time, a length or an amount states its scope
    scoped = [name for name in facts if name.startswith(("Since", "Ended", "Duration", "Cost", "Not counted"))]
    assert all(name.endswith((whole, last)) for name in scoped) or not several


def test_nobody_else_subtracts_the_times_of_incidents() -> None:
    """Outside of `incidents` no expression subtracts times of an incident: they would forget planned maintenance."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for package in ("monitor", "store", "checks")
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and _names(node) & TIMES
    ]
    assert found == []


def _names(node: ast.AST) -> set[str]:
    return {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
