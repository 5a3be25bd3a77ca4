"""Print the catalogue: a list of tables, and one in detail."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from checks import format_duration
from incidents import Downtime, DowntimeCost, to_us
from monitor.config.project import Project
from monitor.reporting.terminal_views.incident import incident_headline
from monitor.summaries.catalogue import IncrementalPart, Loss
from monitor.summaries.health import TableHealth, TableState, worst_first
from monitor.summaries.lineage import Reach, ReachedConsumer, reach_by_column
from monitor.summaries.promises import MeasuredPromise
from monitor.summaries.scan_costs import LAST_DAYS, TableCost, format_spending
from monitor.terminal.output import count
from monitor.terminal.tables import draw_table
from monitor.triage.create import tidy
from monitor.triage.time_parsing import format_hours, format_time
from store import Result

if TYPE_CHECKING:
    from rich.console import Console


def draw_list(console: "Console", project: Project, tables: Sequence[tuple[TableState, Loss]]) -> None:
    """Print a list of tables, the worst health first."""
    loss_of = {state.table.name: loss for state, loss in tables}
    columns = ["~table", "~domain", "~owner", "tier", "health", ">down to date"]
    columns += [">cost to date"] if project.priced else []
    rows = []
    for state in worst_first([state for state, _ in tables]):
        loss, table = loss_of[state.table.name], state.table
        row = [table.name, table.domain, state.owner, table.tier, state.health.value, format_hours(loss.whole.downtime)]
        row += [] if loss.whole_cost is None else [project.currency.text(loss.whole_cost.amount)]
        rows.append(row)
    draw_table(console, columns, rows)


def draw_sheet(
    console: "Console",
    project: Project,
    state: TableState,
    *,
    loss: Loss,
    results: Mapping[str, Result],
    promises: Mapping[str, MeasuredPromise],
) -> None:
    """Print everything about one table."""
    console.print(Text(f"{state.table.name}  {state.health.value}", "bold"))
    if state.table.description:
        console.print(tidy(state.table.description))
    for label, text in (*_facts(project, state), *_reach(project, state.table.name)):
        console.print(_line(label, text))
    console.print(_line("last 28 days", _loss(project, loss.recent, loss.recent_cost)))
    console.print(_line("to date", _loss(project, loss.whole, loss.whole_cost)))
    for incident in state.incidents:
        console.print(_line("open", "") + incident_headline(incident))
    console.print()
    if state.table.checks:
        draw_table(console, ("~check", "severity", "found", "when", "~what"), _checks(project, state, results))
    else:
        console.print("no checks configured")
    for promise in promises.values():
        console.print(_line("false alarms", f"{promise.check_id}  {promise.sentence()}"))
        for message in promise.power_messages:
            console.print(_line("power", str(message)))
    for not_evaluated in state.not_evaluated:
        console.print(
            _line("not evaluated", f"{not_evaluated.check_id}  {not_evaluated.reason}: {not_evaluated.message}")
        )


def draw_scan_cost(console: "Console", cost: TableCost, *, zone: str) -> None:
    """Print what the runs of a table cost, and since when it was not read."""
    recent, today = format_spending(cost.recent), format_spending(cost.today)
    console.print(_line("checks cost", f"{recent} in {LAST_DAYS} days; today {today}"))
    if cost.unread_since is not None:
        console.print(_line("not read", f"since {format_time(cost.unread_since, zone)}, because it did not change"))


def draw_incremental(console: "Console", project: Project, part: IncrementalPart | None) -> None:
    """Print what the last run read of a table with `incremental`, and the result of its last full run."""
    if part is None:
        return
    now = project.clock.now()
    ago, full_ago = (f"{format_duration(now - moment)} ago" for moment in (part.measured_at, part.full_at))
    others = f"; in full on each run: {', '.join(part.in_full)}" if part.in_full else ""
    read = f"{part.rows_read:,} of {count(part.rows, 'row')} read {ago}; all rows {full_ago}{others}"
    console.print(_line("incremental", read))
    if part.late is not None:
        figures, rows = part.late["figures"], part.late["rows"]
        changed = f"{count(figures, 'figure')} of closed rows changed ({rows:+,} rows)" if figures or rows else "none"
        console.print(_line("late changes", f"{changed}, by the full look {full_ago}"))


def _facts(project: Project, state: TableState) -> Iterator[tuple[str, str]]:
    table, config = state.table, project.config
    domain = config.domains.get(table.domain or "")
    title = f" ({domain.title})" if domain is not None and domain.title else ""
    yield "domain", f"{table.domain or 'none'}{title}"
    owner = config.owners.get(state.owner or "")
    details = "" if owner is None else ", ".join(detail for detail in (owner.name, owner.email) if detail)
    yield "owner", f"{state.owner or 'none'}{f' ({details})' if details else ''}"
    yield "tier", f"{table.tier or 'none'}{_rate(project, table.name)}"
    yield "source", table.source if table.table is None else f"{table.source}, as {table.table}"
    yield "schedule", "none: run manually or by another scheduler" if table.schedule is None else str(table.schedule)
    yield "upstream", _names(config.lineage.above(table.name))
    yield "downstream", _names(config.lineage.below(table.name))
    if products := config.products_of(table.name):
        yield "products", ", ".join(products)


def _reach(project: Project, table: str) -> Iterator[tuple[str, str]]:
    """Yield what is made from a table: consumers and people, and of each column that is known to feed something."""
    whole = Reach.of(project.config, table)
    yield "consumers", ", ".join(map(_use, whole.consumers)) or "none"
    if whole.people:
        yield "people", ", ".join(whole.people)
    for part in reach_by_column(project.config, table):
        fed = [f"{line.table}.{column}" for line in part.tables for column in line.columns or ()]
        fed += [f"{line.table} (columns not known)" for line in part.tables if line.columns is None]
        yield "column", f"{', '.join(part.of_columns or ())} -> {', '.join([*fed, *map(_use, part.consumers)])}"


def _use(use: ReachedConsumer) -> str:
    about = ", ".join(word for word in (use.type, use.owner) if word)
    return f"{use.name} ({about})" if about else use.name


def _names(steps: Mapping[str, int]) -> str:
    near, far = ([name for name, step in steps.items() if (step > 1) is is_far] for is_far in (False, True))
    return (", ".join(near) or "none") + (f"; further: {', '.join(far)}" if far else "")


def _rate(project: Project, table: str) -> str:
    rate = project.pricing.per_hour(table, to_us(project.clock.now())) if project.priced else None
    return "" if rate is None else f", {project.currency.text(rate)} an hour of downtime"


def _loss(project: Project, downtime: Downtime, cost: DowntimeCost | None) -> str:
    text = f"{format_hours(downtime.downtime)} of downtime in {count(downtime.n, 'incident')}"
    return text if cost is None else f"{text}, {project.currency.text(cost.amount)}"


def _checks(project: Project, state: TableState, results: Mapping[str, Result]) -> Iterator[Sequence[str | None]]:
    now = project.clock.now()
    for check in state.table.checks:
        result = results.get(state.table.check_id(check))
        if result is None:
            yield check.name, check.severity.value, TableHealth.NOT_YET_CHECKED.value, None, None
            continue
        age = f"{format_duration(now - result.measured_at)} ago"
        yield check.name, check.severity.value, result.status.value, age, tidy(str(result.message))


def _line(label: str, text: str) -> Text:
    return Text.assemble((f"{label:<14}", "dim"), text)
