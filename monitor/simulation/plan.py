"""Find what a proposed configuration changes about checks: when they run, their limits, when incidents open, routes."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta

from checks import Check
from checks.parameters.scalars import Confirmation
from incidents import Policy
from monitor.config import Config, Table
from monitor.config.cron import Schedule
from monitor.config.project import Project


@dataclass(frozen=True, slots=True)
class RuleProposal:
    """The options proposed for some checks; None leaves a setting as it is."""

    schedule: Schedule | None = None
    open_after: int | None = None
    resolve_after: int | None = None
    confirm: timedelta | None = None

    @property
    def is_empty(self) -> bool:
        """Check whether nothing is proposed."""
        return self == RuleProposal()

    def applied(self, project: Project, chosen: Collection[str]) -> Project:
        """Return the project with what is proposed for the chosen checks."""
        tables = tuple(self._table(table, chosen) for table in project.config.tables)
        config = project.config.model_copy(update={"tables": tables})
        return Project(replace(project.loaded, config=config), project.clock)

    def _table(self, table: Table, chosen: Collection[str]) -> Table:
        checks = tuple(
            check.model_copy(update=self._rules()) if table.check_id(check) in chosen else check
            for check in table.checks
        )
        return table.model_copy(update={"checks": checks})

    def _rules(self) -> dict[str, object]:
        rules: dict[str, object] = {}
        if self.open_after is not None:
            rules |= {"open_after": self.open_after, "confirm": None}
        if self.confirm is not None:
            rules |= {"open_after": None, "confirm": Confirmation(after=self.confirm)}
        if self.resolve_after is not None:
            rules["resolve_after"] = self.resolve_after
        return rules


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """The configuration of a check, and its schedule."""

    check: Check
    policy: Policy
    schedule: Schedule | None
    zone: str
    by_others: bool
    """Whether its results come from another tool, whenever that runs."""


@dataclass(frozen=True, slots=True)
class CheckChange:
    """A check as it is configured now and as it is proposed; None where it is in one configuration only."""

    check_id: str
    table: str
    now: CheckPlan | None
    then: CheckPlan | None
    changed: tuple[str, ...] = field(default=())
    """The differences: `schedule`, `limits`, `policy`, `routing`, `added`, `removed`."""


def changes_of(
    running: Project, proposed: Project, chosen: Collection[str], *, schedule: Schedule | None
) -> list[CheckChange]:
    """Return the chosen checks of which something differs, in the order of the configurations.

    `schedule`: when chosen checks run in the proposal, whatever that says of their tables.
    """
    now, then = _plans(running, None, chosen), _plans(proposed, schedule, chosen)
    changes = []
    for check_id in dict.fromkeys([*now, *then]):
        table = (now.get(check_id) or then[check_id])[0]
        before, after = (plans[check_id][1] if check_id in plans else None for plans in (now, then))
        changed = tuple(_differences(before, after))
        if _is_routed_otherwise(running.config, proposed.config, table):
            changed += ("routing",)
        if changed:
            changes.append(CheckChange(check_id, table, before, after, changed))
    return changes


def _plans(project: Project, schedule: Schedule | None, chosen: Collection[str]) -> dict[str, tuple[str, CheckPlan]]:
    return {
        check_id: (
            table.name,
            CheckPlan(
                check,
                project.policy_of(check),
                schedule or table.schedule,
                table.schedule_timezone or project.config.timezone,
                check.results_every is not None,
            ),
        )
        for table in project.config.tables
        for check in table.checks
        if (check_id := table.check_id(check)) in chosen
    }


def _differences(now: CheckPlan | None, then: CheckPlan | None) -> Iterator[str]:
    if now is None or then is None:
        yield "added" if now is None else "removed"
        return
    if (now.schedule, now.zone) != (then.schedule, then.zone):
        yield "schedule"
    if not is_judged_alike(now.check, then.check):
        yield "limits"
    if now.policy != then.policy or now.check.severity != then.check.severity:
        yield "policy"


_OF_INCIDENTS = ("severity", "open_on", "open_after", "resolve_after", "confirm", "why", "runbook", "id")


def is_judged_alike(now: Check, then: Check) -> bool:
    """Check whether two checks measure and judge the same, whatever follows from it."""
    return type(now) is type(then) and _measures(now) == _measures(then)


def _measures(check: Check) -> dict[str, object]:
    return {name: value for name, value in vars(check).items() if name not in _OF_INCIDENTS}


def _is_routed_otherwise(running: Config, proposed: Config, table: str) -> bool:
    """Check whether other channels may be notified of a table's incidents, or at other times."""
    if running is proposed:
        return False
    return _routing(running, table) != _routing(proposed, table)


def _routing(config: Config, name: str) -> tuple[object, ...]:
    table = config.table(name)
    owner = None if table is None else config.owner_of(table)
    facts = None if table is None else (table.domain, table.tier, table.source, table.upstream)
    rules = ("open_on", "open_after", "resolve_after", "confirm", "severities")
    alerts = {key: value for key, value in vars(config.alerts).items() if key not in rules}
    return facts, owner, config.owners.get(owner) if owner else None, alerts, config.maintenance
