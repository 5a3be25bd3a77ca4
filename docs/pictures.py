"""Draw the ten pictures of the documentation: `python -m docs.pictures`.

What a picture shows is computed by the product: times and downtime by the demo as of a fixed moment, statements by the
planner, equivalence classes by hierarchies, limits by what learns them. Names of states, verbs, holds and outcomes are
those of the code. Each picture is an SVG of two colour schemes; `tests/docs/test_pictures.py` compares them with this.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from xml.sax.saxutils import escape
from zoneinfo import ZoneInfo

import numpy as np

from checks import Status, format_duration
from checks.limits import LearnedLimit, LimitRule, TimedValue, learn_limit
from docs.refresh import DEMO_NOW
from incidents import State, Window, to_us
from incidents.verbs import available
from monitor.alerts.hold import HoldReason
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.demo import Demo, build_demo
from monitor.releases.overview import ReleaseWord
from monitor.reporting.timeline import TimeState
from monitor.scan.planner import plan
from monitor.scan.results import targets_of
from monitor.summaries.service_levels import judge_contracts
from monitor.web.views.downtime import DowntimeQuery, show_downtime
from remedies.generalisation import hierarchy_spec
from sources import open_source

FOLDER: Final = Path(__file__).parent / "images"
_WIDE: Final = 760
_STYLE: Final = """
svg{color-scheme:light dark;--ink:#1f2328;--soft:#59636e;--line:#8c959f;--paper:#fff;--box:#f0f3f6;--bad:#c4432b;
--late:#e9a23b;--good:#3d8b5a;--blue:#2f6feb}
@media (prefers-color-scheme:dark){svg{--ink:#e6edf3;--soft:#a5b0bb;--line:#6e7781;--paper:#0d1117;--box:#1c232c;
--bad:#f0705a;--late:#e3b341;--good:#56b37a;--blue:#6ea8fe}}
text{fill:var(--ink);font:13px sans-serif}.soft{fill:var(--soft);font-size:12px}.mono{font-family:monospace}
.b{font-weight:600}.m{text-anchor:middle}.e{text-anchor:end}.box{fill:var(--box);stroke:var(--line)}
.line{stroke:var(--line);fill:none}.dash{stroke-dasharray:4 3}.bad{fill:var(--bad)}.late{fill:var(--late)}
.good{fill:var(--good)}.blue{fill:none;stroke:var(--blue);stroke-width:2}.band{fill:var(--blue);opacity:.18}
.hatch{fill:url(#hatch)}.edge{fill:none;stroke:var(--line)}
"""
_DEFS: Final = (
    '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="2" height="6" style="fill:var(--line)"/></pattern><marker id="to" viewBox="0 0 8 8" refX="7" '
    'refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
    '<path d="M0 0L8 4L0 8z" style="fill:var(--line)"/></marker></defs>'
)


def _svg(height: int, title: str, parts: Sequence[str]) -> str:
    paper = '<rect width="100%" height="100%" style="fill:var(--paper)"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {height}" role="img">'
    return "\n".join((head, f"<title>{escape(title)}</title><style>{_STYLE}</style>{_DEFS}{paper}", *parts, "</svg>\n"))


def _text(x: float, y: float, words: str, look: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{look}">{escape(words)}</text>'


def _rect(x: float, y: float, width: float, height: float, look: str = "box") -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{height:.1f}" class="{look}"/>'


def _line(points: Sequence[tuple[float, float]], look: str = "line", *, arrow: bool = False) -> str:
    end = ' marker-end="url(#to)"' if arrow else ""
    return f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" class="{look}"{end}/>'


def _box(x: float, y: float, width: float, lines: Sequence[str], *, height: float | None = None) -> Iterator[str]:
    """Yield a box: its first line is its name, in bold."""
    tall = height or 14 + 17 * len(lines)
    yield _rect(x, y, width, tall)
    for number, words in enumerate(lines):
        yield _text(x + width / 2, y + 20 + 17 * number, words, "m b" if number == 0 else "m soft")


def _arrow(x: float, y: float, to_x: float, to_y: float, words: str = "") -> Iterator[str]:
    yield _line([(x, y), (to_x, to_y)], arrow=True)
    if words:
        yield _text((x + to_x) / 2, (y + to_y) / 2 - 6, words, "m soft")


def incident_times(demo: Demo, _: Project) -> str:
    """Draw the times of an incident of the demo on one axis, with the interval in which it may have begun."""
    incident = next(found for fault, found in demo.found if fault.name == "half-volume" and found is not None)
    last, zone = incident.last, ZoneInfo(demo.project.config.timezone)
    resolved_at = last.resolved_at or demo.end
    moments = [last.onset.earliest, last.onset.at, last.onset.latest, last.detected_at, resolved_at]
    start, length = moments[0] - timedelta(hours=1), moments[-1] - moments[0] + timedelta(hours=2)

    def x(moment: datetime) -> float:
        return 40 + (moment - start) / length * (_WIDE - 80)

    earliest, occurred, latest, detected, resolved = map(x, moments)
    hour = [f"{moment.astimezone(zone):%H:%M}" for moment in moments]
    parts = [
        _rect(earliest, 70, latest - earliest, 34, "hatch"),
        _rect(earliest, 70, latest - earliest, 34, "edge"),
        _text((earliest + latest) / 2, 62, f"may have begun {hour[0]} to {hour[2]}", "m soft"),
        _rect(occurred, 110, detected - occurred, 26, "late"),
        _rect(detected, 110, resolved - detected, 26, "bad"),
        _text((occurred + detected) / 2, 153, f"TTD {format_duration(moments[3] - moments[1])}", "m"),
        _text((detected + resolved) / 2, 153, f"TTR {format_duration(moments[4] - moments[3])}", "m"),
        _line([(40, 172), (_WIDE - 40, 172)], arrow=True),
        _text(20, 24, f"Incident #{incident.id} of the demo, table {incident.table}", "b"),
        _text(20, 42, "downtime = TTD + TTR, with a low and a high end from the interval", "soft"),
    ]
    named = {"occurred": (occurred, hour[1]), "detected": (detected, hour[3]), "resolved": (resolved, hour[4])}
    places = [190, 190 if detected - occurred > 60 else 212, 190]
    for (name, (at, clock)), y in zip(named.items(), places, strict=True):
        look = "m" if 80 < at < _WIDE - 80 else ("" if at < _WIDE / 2 else "e")
        parts += [_line([(at, 104), (at, 176)], "line dash"), _text(at, y, f"{name} {clock}", look)]
    return _svg(225, "Occurred, detected and resolved on one axis", parts)


def incident_life(demo: Demo, _: Project) -> str:
    """Draw the states of an incident, and what leads from one to the next."""
    verbs = {incident.state: available(incident) for incident in demo.incidents}
    if "ack" not in verbs[State.OPEN] or "reopen" not in verbs[State.RESOLVED]:
        raise ValueError("the states of an incident have other verbs now; draw them")
    names = [state.value for state in State]
    parts = [_text(20, 24, "States of an incident; runs and people move it, unknown results never do", "b")]
    for at, name in zip((150, 360, 570), names, strict=True):
        parts += _box(at, 100, 130, [name], height=44)
    parts += _arrow(30, 122, 148, 122, "a check fails")
    parts += [_text(30, 146, "or incident open", "soft"), *_arrow(280, 122, 358, 122, "ack")]
    parts += _arrow(490, 122, 568, 122, "resolve")
    parts += [
        _line([(215, 100), (215, 64), (635, 64), (635, 98)], arrow=True),
        _text(425, 58, "enough passing runs (resolve_after), or resolve", "m soft"),
    ]
    parts += [
        _line([(635, 144), (635, 186), (215, 186), (215, 146)], arrow=True),
        _text(425, 202, "fails again within 7 days, or reopen: a new episode", "m soft"),
    ]
    always = sorted(set.intersection(*map(set, verbs.values())) | {"assign", "snooze"})
    parts.append(_text(20, 234, f"in between: {', '.join(always)}", "soft"))
    return _svg(250, "Life of an incident", parts)


_HOLDS: Final = (
    *("disabled", "delivery", "snooze", "maintenance", "silence"),
    *("downstream", "quiet-hours", "digest", "cap"),
)
"""In the order of `NotificationPolicy` and `HoldRules`; the cap comes last, where messages are written."""


def result_to_message(_: Demo, __: Project) -> str:
    """Draw the way from a result to a message, with what holds it back in order."""
    steps = [
        ("result", [status.value for status in Status]),
        ("incident", ["opened, worse,", "resolved"]),
        ("decide", ["routes, owner,", "group_wait"]),
        ("hold", ["the first of the", "list below"]),
        ("message", ["told once,", "stable id"]),
        ("delivery", ["retried until", "sent or given up"]),
    ]
    parts = [_text(20, 24, "From result to message", "b")]
    for number, (name, lines) in enumerate(steps):
        x = 16 + number * 124
        parts += _box(x, 44, 106, [name, *(lines if name != "result" else ["pass, warn,", "fail, unknown"])], height=72)
        if number:
            parts += _arrow(x - 18, 80, x - 2, 80)
    if {reason.value for reason in HoldReason} != set(_HOLDS):
        raise ValueError("alerts are held back by other reasons now; draw them in their order")
    parts.append(_text(20, 148, "an alert is held back by the first of these:", "soft"))
    for number, hold in enumerate(_HOLDS):
        x, y = 16 + number % 5 * 148, 160 + number // 5 * 40
        parts += _box(x, y, 134, [f"{number + 1} {hold}"], height=30)
    parts.append(
        _text(20, 262, "Each change has its row in the alert log: who was notified, who was not, and why.", "soft")
    )
    return _svg(280, "From result to message", parts)


def processes(_: Demo, __: Project) -> str:
    """Draw the daemon, its workers, the store, pages and commands."""
    parts = [_text(20, 24, "Processes: the store is the schedule, everything else may stop", "b")]
    parts += _box(30, 60, 150, ["tables", "SQLite, PostgreSQL,", "DuckDB, files, Spark"])
    parts += _box(300, 60, 150, ["daemon", "timetable, leases,", "worker processes"])
    parts += _box(300, 180, 150, ["store", "SQLite file or", "PostgreSQL"])
    parts += _box(580, 60, 150, ["channels", "mail, chats, pagers,", "webhooks, tickets"])
    parts += _box(30, 180, 150, ["commands", "tablewatch check,", "incident, report"])
    parts += _box(580, 180, 150, ["pages and API", "read the store,", "write verbs"])
    parts += _arrow(300, 80, 182, 80, "one statement")
    parts += [*_arrow(180, 108, 298, 108), _text(240, 124, "aggregates only", "m soft")]
    parts += [
        *_arrow(450, 92, 578, 92, "alerts"),
        *_arrow(375, 125, 375, 178),
        _text(383, 156, "results, incidents", "soft"),
    ]
    parts += [*_arrow(180, 212, 298, 212), *_arrow(580, 212, 452, 212)]
    return _svg(265, "Daemon, store and pages", parts)


def one_scan(_: Demo, project: Project) -> str:
    """Draw what the planner makes of the checks of the demo's orders: statements of one pass."""
    (target,) = targets_of(project, ["orders"])
    with open_source(target.source) as source:
        planned = plan(target.subject, source)
    checks = target.subject.checks
    fused = sorted(planned.columns)
    own = {check_id for query in planned.queries for check_id, _ in query.wanted_by}
    parts = [
        _text(20, 24, f"One pass of table {target.subject.name}: {len(checks)} checks", "b"),
        *_box(
            400, 50, 330, ["one statement, one scan", "every plain aggregate of all checks", "as a column of one row"]
        ),
        *_box(
            400, 150, 330, ["one GROUP BY for each key", "duplicates and equivalence classes,", "counted in the engine"]
        ),
    ]
    for number, (check_id, _) in enumerate(checks):
        y = 60 + number * 42
        parts += [_rect(20, y, 250, 30), _text(30, y + 20, check_id, "mono")]
        if check_id in fused:
            parts += _arrow(270, y + 15, 398, 82)
        if check_id in own:
            parts += _arrow(270, y + 15, 398, 182)
    return _svg(250, "One scan for each table", parts)


def calendar(_: Demo, project: Project) -> str:
    """Draw the downtime of the demo by table, hatched where nothing is known."""
    query = DowntimeQuery(start=date(2026, 10, 1), end=date(2026, 11, 16))
    with project.open_store() as store, store.reading() as tx:
        timeline = show_downtime(project, tx, query, project.clock.now()).calendar
    looks = {TimeState.GOOD: "", TimeState.UNDETECTED: "late", TimeState.REPAIR: "bad", TimeState.NOT_YET: ""}
    parts = [_text(20, 24, "Downtime by table, six weeks of the demo", "b")]
    left, wide = 130, _WIDE - 150
    for number, lane in enumerate(timeline.lanes):
        y = 50 + number * 34
        parts += [_text(left - 10, y + 16, lane.table, "e"), _rect(left, y, wide, 22, "edge")]
        for start, end, state in lane.states(timeline.now):
            look = looks.get(state, "hatch")
            if look:
                parts.append(_rect(left + start * wide, y, (end - start) * wide, 22, look))
    bottom = 50 + len(timeline.lanes) * 34
    for part in timeline.parts:
        if part.date.weekday() == 0:
            x = left + part.start * wide
            parts += [_line([(x, 44), (x, bottom)], "line dash"), _text(x, bottom + 14, f"{part.date:%m-%d}", "m soft")]
    legend = (("late", "bad, not detected"), ("bad", "detected, not resolved"), ("hatch", "no check saw it"))
    for number, (look, words) in enumerate(legend):
        x = left + number * 190
        parts += [_rect(x, bottom + 28, 16, 14, look), _text(x + 24, bottom + 40, words, "soft")]
    return _svg(bottom + 56, "Downtime by table, with hatching where nothing is known", parts)


_PEOPLE: Final = (
    (21, "150-0001"),
    (24, "150-0013"),
    (23, "151-0051"),
    (37, "530-0001"),
    (35, "530-0011"),
    (39, "530-0005"),
)


def classes(_: Demo, __: Project) -> str:
    """Draw the equivalence classes of six rows before and after generalising."""
    ages = hierarchy_spec({"type": "intervals", "widths": [5, 10]}).build(sorted({age for age, _ in _PEOPLE}))
    codes = hierarchy_spec({"type": "mask", "hide": [4, 6]}).build(sorted({code for _, code in _PEOPLE}))
    age_at, code_at = (dict(zip(made.levels[0], made.levels[2], strict=True)) for made in (ages, codes))
    before = [(str(age), code) for age, code in _PEOPLE]
    after = [(age_at[age], code_at[code]) for age, code in before]
    parts = [_text(20, 24, "Equivalence classes of six rows", "b")]
    for x, title, rows in ((40, "as collected", before), (420, "generalised", after)):
        sizes = Counter(rows)
        parts.append(_text(x, 52, f"{title}: {len(sizes)} classes, k = {min(sizes.values())}"))
        parts += [
            _text(x + 10, 76, "age", "soft"),
            _text(x + 110, 76, "postcode", "soft"),
            _text(x + 220, 76, "class of", "soft"),
        ]
        for number, row in enumerate(rows):
            y = 84 + number * 28
            look = "bad" if sizes[row] == 1 else "good"
            parts += [_rect(x, y, 290, 24), _rect(x, y, 5, 24, look), _text(x + 10, y + 17, row[0], "mono")]
            parts += [_text(x + 110, y + 17, row[1], "mono"), _text(x + 220, y + 17, str(sizes[row]), "mono")]
    parts += _arrow(340, 165, 408, 165, "generalise")
    return _svg(270, "Equivalence classes before and after generalising", parts)


def hold_to_export(_: Demo, __: Project) -> str:
    """Draw the states of a release up to the file."""
    hold, clear, approved, expired = (word.value for word in ReleaseWord)
    parts = [_text(20, 24, "From hold to export: no file leaves without an approval of what was seen", "b")]
    parts += _box(20, 70, 110, [hold, "a limit is broken"])
    parts += _box(20, 160, 110, [clear, "limits are kept"])
    parts += _box(215, 115, 120, ["compare", "remedies side", "by side"])
    parts += _box(420, 115, 110, [approved, "by an approver,", "of one remedy"])
    parts += _box(620, 115, 120, ["export", "verified, then", "the file is there"])
    parts += [*_arrow(130, 95, 213, 130), *_arrow(130, 185, 213, 155), *_arrow(335, 145, 418, 145, "approve")]
    parts += [*_arrow(530, 145, 618, 145, "export")]
    parts += [_line([(475, 180), (475, 222), (75, 222), (75, 210)], arrow=True)]
    parts.append(_text(275, 238, f"{expired}, or the configuration or the table changed: it is judged again", "m soft"))
    return _svg(255, "From hold to export", parts)


def burn_down(demo: Demo, project: Project) -> str:
    """Draw what is left of an error budget of the demo at the end of each day."""
    left: list[tuple[datetime, float]] = []
    allowed = 0.0
    with project.open_store() as store, store.reading() as tx:
        for day in range(1, 43):
            now = demo.start + timedelta(days=day)
            window = Window(to_us(now - timedelta(days=1)), to_us(now))
            judged = next(one for one in judge_contracts(project, tx, window, as_of=now) if "board-report" in one.name)
            if judged.budget is not None:
                allowed = judged.budget.allowed_us / 3.6e9
                left.append((now, judged.budget.left.seen / 3.6e9))
    low = min(hours for _, hours in left)

    def place(number: int, hours: float) -> tuple[float, float]:
        return 70 + number / len(left) * (_WIDE - 100), 50 + (allowed - hours) / (allowed - low) * 170

    points = [(0.0 + 70, place(0, allowed)[1]), *(place(number + 1, hours) for number, (_, hours) in enumerate(left))]
    nothing = place(0, 0)[1]
    parts = [
        _text(20, 24, f"Error budget of the board report: {allowed:g} h of downtime in 30 days", "b"),
        _rect(70, nothing, _WIDE - 100, 220 - nothing, "hatch"),
        _line([(70, nothing), (_WIDE - 30, nothing)], "line dash"),
        _text(62, place(0, allowed)[1] + 5, f"{allowed:g} h", "e soft"),
        _text(62, nothing + 5, "0 h", "e soft"),
        _text(62, 225, f"{low:.0f} h", "e soft"),
        _line(points, "blue"),
    ]
    for number in range(0, len(left), 7):
        x = place(number, 0)[0]
        parts.append(_text(x, 244, f"{left[number][0] - timedelta(days=1):%m-%d}", "m soft"))
    return _svg(258, "Burn-down of an error budget", parts)


def learned_limit(_: Demo, __: Project) -> str:
    """Draw a limit learned from daily numbers, with two alarms and its power."""
    random, first = np.random.default_rng(3), datetime(2026, 6, 1, 6, tzinfo=ZoneInfo("UTC"))
    values = [1000 + 120 * ((day % 7) < 5) + float(random.normal(0, 25)) for day in range(140)]
    values[104] -= 260
    values[125] += 330
    rule, seen, shown = LimitRule(per_day=1 / 90), [], []
    for day, value in enumerate(values):
        look = TimedValue(first + timedelta(days=day), value)
        limit = learn_limit(seen, look, rule=rule, zone=ZoneInfo("UTC"))
        alarm = isinstance(limit, LearnedLimit) and limit.side != 0
        seen.append(look._replace(unanswered=alarm))
        if isinstance(limit, LearnedLimit):
            shown.append((day, value, limit, alarm))
    top, bottom = max(value for _, value, _, _ in shown) + 60, min(value for _, value, _, _ in shown) - 60
    since = shown[0][0]

    def place(day: int, value: float) -> tuple[float, float]:
        return 60 + (day - since) / (len(values) - since) * (_WIDE - 220), 50 + (top - value) / (top - bottom) * 190

    highs = [place(day, limit.high) for day, _, limit, _ in shown]
    lows = [place(day, limit.low) for day, _, limit, _ in shown]
    around = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*highs, *reversed(lows)])
    parts = [
        _text(20, 24, "Learned limits of a daily number: one false alarm in 90 days is promised", "b"),
        f'<polygon points="{around}" class="band"/>',
        _line([place(day, value) for day, value, _, _ in shown], "line"),
    ]
    for day, value, _, alarm in shown:
        x, y = place(day, value)
        if alarm:
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="bad"/>', _text(x + 9, y + 4, "alarm", "soft")]
    last = shown[-1][2]
    side = _WIDE - 150
    for words, change in (("excess", last.excess), ("loss", None if last.loss is None else -last.loss)):
        if change is not None:
            x, y = place(len(values), last.usual + change)
            parts += [
                _line([(x, place(0, last.usual)[1]), (x, y)], arrow=True),
                _text(side, y + 4, f"{words} {abs(change):.0f}"),
            ]
    parts += [
        _text(side, place(0, last.usual)[1] + 4, f"usual {last.usual:.0f}"),
        _text(
            60, 262, "The arrows are the power: a change of that size is detected with a chance of one half.", "soft"
        ),
    ]
    return _svg(278, "A learned limit with alarms and power", parts)


PICTURES: Final[Mapping[str, Callable[[Demo, Project], str]]] = {
    "incident-times": incident_times,
    "incident-life": incident_life,
    "result-to-message": result_to_message,
    "processes": processes,
    "one-scan": one_scan,
    "calendar": calendar,
    "classes": classes,
    "hold-to-export": hold_to_export,
    "burn-down": burn_down,
    "learned-limit": learned_limit,
}


def draw_all() -> Mapping[str, str]:
    """Return the SVG of every picture, by name."""
    with TemporaryDirectory() as folder:
        demo = build_demo(Path(folder) / "demo", now=DEMO_NOW)
        project = Project(load(demo.folder / "tablewatch.yaml"), SimulatedClock(demo.end))
        return {name: draw(demo, project) for name, draw in PICTURES.items()}


def main() -> None:
    """Write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in draw_all().items():
        (FOLDER / f"{name}.svg").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
