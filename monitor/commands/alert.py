"""`tablewatch alert`: show who is notified of what, and test channels."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from monitor.commands._options import check_table, reading, typed_times
from monitor.commands._verb_command import add_verbs
from monitor.terminal.output import Invocation
from monitor.verbs.channel import VERBS
from monitor.verbs.words import KindWord, SeverityWord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from monitor.alerts.route import Routing
    from monitor.config.project import Project
    from monitor.summaries.channel import EnabledChannelPage, ResentMessagePage, SentTestPage
    from monitor.web.views.alert_log import AlertLogPage, LogEntries
    from store import Store, Transition


app = typer.Typer(
    help="Show who is notified of what, and test channels.", no_args_is_help=True, rich_help_panel="Watch"
)


@app.callback()
def _group() -> None:
    """Show who is notified of what, and test channels."""


@app.command()
def route(
    ctx: typer.Context,
    table: Annotated[str, typer.Option(help="Table name in the configuration.")],
    severity: Annotated[SeverityWord, typer.Option(help="Severity.")] = SeverityWord.ERROR,
    kind: Annotated[KindWord, typer.Option(help="Kind of the incident.")] = KindWord.QUALITY,
    warning: Annotated[
        bool, typer.Option("--warning", help="Of a warning that opens no incident; its severity is at most warning.")
    ] = False,
) -> None:
    """Show which channels would be notified of an incident on a table, and why: route by route.

    Example: tablewatch alert route --table sales.orders --severity error
    """
    from checks import Kind, Severity
    from monitor.alerts.hold import held_until
    from monitor.alerts.route import channels_for
    from monitor.config.project import Project

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    config = project.config
    check_table(config, table)
    if warning:
        severity = min(severity, SeverityWord.WARNING, key=lambda word: Severity(word).rank)
    outcome: Literal["warn"] | None = "warn" if warning else None
    routing = channels_for(table, config, severity=Severity(severity), kind=Kind(kind), outcome=outcome)
    now = project.clock.now()
    quiet: dict[str, str | None] = {}
    for channel, reached in routing.channels.items():
        ends = [
            held_until(config.alerts.quiet_hours[name], Severity(severity), now, zone=config.timezone)
            for name in reached.quiet
        ]
        until = min((end for end in ends if end is not None), default=None) if None not in ends else None
        quiet[channel] = None if until is None else until.isoformat()
    result = {
        "schema": "tablewatch.alert-route/1",
        "table": table,
        "severity": severity.value,
        "kind": kind.value,
        "outcome": outcome,
        "channels": [
            {
                "channel": name,
                "by": list(channel.by),
                "digest": [f"{at:%H:%M}" for at in channel.digest],
                "quiet_hours": list(channel.quiet),
                "quiet_until": quiet[name],
            }
            for name, channel in routing.channels.items()
        ],
        "steps": [
            {"name": step.name, "applies": step.applies, "why": step.why, "to": list(step.to)} for step in routing.steps
        ],
    }
    invocation.emit(result, lambda console: _draw_routing(console, project, routing, quiet))
    configured = config.table(table)
    opens = configured is not None and any(project.policy_of(check).warn_opens for check in configured.checks)
    if warning and opens and not invocation.as_json:
        invocation.note("note: where open_on is warn, a warn opens an incident: use --severity warning instead")


def _draw_routing(
    console: "Console", project: "Project", routing: "Routing", quiet: "Mapping[str, str | None]"
) -> None:
    from monitor.terminal.tables import draw_table
    from monitor.triage.time_parsing import format_time

    rows = []
    for name, reached in routing.channels.items():
        until = quiet[name]
        hours = ", ".join(reached.quiet)
        if until is not None:
            hours += f", now until {format_time(datetime.fromisoformat(until), project.config.timezone)}"
        digest = ", ".join(f"{at:%H:%M}" for at in reached.digest)
        rows.append((name, ", ".join(reached.by), hours or None, digest or None))
    if rows:
        draw_table(console, ("~channel", "~by", "~quiet hours", "~digest"), rows)
    else:
        console.print("no channel is notified")
    console.print()
    steps = [(step.name, "yes" if step.applies else "no", step.why, ", ".join(step.to)) for step in routing.steps]
    draw_table(console, ("route", "applies", "~why", "~to"), steps)


@app.command()
def log(
    ctx: typer.Context,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Show changes and deliveries since: 7d, 2026-11-01, or a time.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of entries, newest first.")] = 50,
) -> None:
    """Show, for each change of an incident, which channels were notified, which were not and why, and message delivery.

    Without --since: the last day.

    Example: tablewatch alert log --since 7d
    """
    from monitor.config.project import Project
    from monitor.web.views.alert_log import AlertLogPage, LogEntries

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    now = project.clock.now()
    times = typed_times(project, invocation, now)
    begin = times.bound("--since", since) or now - timedelta(days=1)
    with reading(project) as tx:
        entries = LogEntries.read(tx, since=begin, size=limit)
        page = AlertLogPage.of(project, tx, entries, since=begin, now=now)
    invocation.emit(page, lambda console: _draw_log(console, project, page, entries))
    if invocation.as_json:
        return
    for item in page.disabled:
        invocation.note(
            f"note: {item.channel} is disabled: {item.why}; 'tablewatch alert enable {item.channel}' enables it"
        )
    if page.more:
        invocation.note(f"note: more than {limit} entries; see --limit")


def _draw_log(console: "Console", project: "Project", page: "AlertLogPage", entries: "LogEntries") -> None:
    from monitor.terminal.tables import draw_table
    from monitor.triage.time_parsing import format_time

    zone = project.config.timezone
    deliveries = entries.deliveries
    if not page.decisions and not deliveries:
        console.print("no changes and no deliveries")
        return
    if page.decisions:
        decided = zip(entries.transitions, page.decisions, strict=True)
        rows = [row for transition, decision in decided for row in _decision_rows(transition, decision.why, zone)]
        draw_table(console, ("when", ">#", "~table", "change", "~channel", "done", "~why"), rows)
        console.print()
    rows = [
        (
            format_time(delivery.created_at, zone)[4:],
            delivery.channel,
            delivery.state.value,
            delivery.id,
            delivery.payload.get("title"),
            delivery.error,
        )
        for delivery in deliveries
    ]
    if rows:
        draw_table(console, ("when", "channel", "state", "id", "~message", "~error"), rows)


def _decision_rows(transition: "Transition", why: str | None, zone: str) -> "Iterator[tuple[str | None, ...]]":
    from monitor.triage.time_parsing import format_time

    head = (
        format_time(transition.recorded_at, zone)[4:],
        str(transition.incident_id) if transition.warning_id is None else f"w{transition.warning_id}",
        transition.table,
        transition.change.value,
    )
    decision = transition.decision
    if decision is None:
        yield (*head, None, "waits", why)
    elif not decision["channels"]:
        yield (*head, None, "nothing", why)
    else:
        for name, record in decision["channels"].items():
            yield (*head, name, record["action"], _format_record(record, zone))


def _format_record(record: "Mapping[str, Any]", zone: str) -> str:
    from monitor.triage.time_parsing import format_time

    what = record["reason"] if record["action"] in {"told", "held"} else record["why"]
    if record["hold"] is None:
        return str(what)
    until = f" until {format_time(datetime.fromisoformat(record['until']), zone)}" if record["until"] else ""
    before = "" if record["action"] == "held" else "held before: "
    return f"{what}; {before}{record['hold']}{until}"


@app.command("on-call")
def on_call(ctx: typer.Context) -> None:
    """Show who is on call now for each channel that asks a calendar, until when, and where messages go.

    Example: tablewatch alert on-call
    """
    from monitor.alerts.on_call import duty_of
    from monitor.config.project import Project

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    now = project.clock.now()
    duties = {name: duty_of(project, name, now) for name in project.config.alerts.channels}
    rows = [
        {
            "channel": name,
            "person": duty.person,
            "until": None if duty.until is None else duty.until.astimezone(UTC).isoformat(),
            "to": duty.channel,
            "problem": duty.problem,
            "left_out": duty.left_out,
        }
        for name, duty in duties.items()
        if duty is not None
    ]
    result = {"schema": "tablewatch.alert-on-call/1", "at": now.isoformat(), "channels": rows}
    invocation.emit(result, lambda console: _draw_duties(console, project, rows))


def _draw_duties(console: "Console", project: "Project", rows: "Sequence[Mapping[str, Any]]") -> None:
    from monitor.terminal.tables import draw_table
    from monitor.triage.time_parsing import format_time

    if not rows:
        console.print("no channel asks a calendar (alerts.channels.NAME.on_call)")
        return
    zone = project.config.timezone
    cells = [
        (
            row["channel"],
            row["person"],
            None if row["until"] is None else format_time(datetime.fromisoformat(row["until"]), zone),
            row["to"],
            row["problem"] or row["left_out"],
        )
        for row in rows
    ]
    draw_table(console, ("~channel", "~on call", "until", "~messages to", "~problem"), cells)


def _present(
    invocation: Invocation,
    _: "Project",
    __: "Store",
    done: "SentTestPage | ResentMessagePage | EnabledChannelPage",
) -> None:
    from monitor.summaries.channel import EnabledChannelPage, SentTestPage

    if isinstance(done, SentTestPage):
        text = f"sent to {done.channel}: {done.title}"
    elif isinstance(done, EnabledChannelPage):
        text = f"{done.channel} is enabled" if done.was_disabled else f"{done.channel} was not disabled"
    else:
        text = f"{done.id} is queued for {done.channel} again"
    invocation.emit(done, lambda console: console.print(text))


add_verbs(app, "alert", VERBS, _present)
