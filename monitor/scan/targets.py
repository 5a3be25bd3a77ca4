"""Make targets of a pass from the configuration: a table, the checks to run on it, its source and its owner."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from checks import Zones
from monitor.config import Table
from monitor.config.project import Project
from monitor.scan.results import Subject, Target


def targets_of(project: Project, chosen: Mapping[str, Collection[str]] | Iterable[str]) -> Sequence[Target]:
    """Return targets in the configuration's order: tables by name, with all their checks or those named."""
    wanted: Mapping[str, Collection[str] | None] = chosen if isinstance(chosen, Mapping) else dict.fromkeys(chosen)
    return [_target(project, table, wanted[table.name]) for table in project.config.tables if table.name in wanted]


def _target(project: Project, table: Table, only: Collection[str] | None) -> Target:
    config = project.config
    checks = [check for check in table.own_checks if only is None or check.name in only]
    source = config.sources[table.source]
    names = project.relations[table.source]
    referred = [name for check in checks for name in check.refers_to if name in names]
    subject = Subject(
        name=table.name,
        relation=table.table or table.name,
        checks=tuple((table.check_id(check), check) for check in checks),
        zones=Zones(source.timezone, table.timezones, calendar=config.timezone),
        loaded_at=table.loaded_at,
        relations={name: names[name] for name in referred},  # not of the whole source: it goes to the workers
        frame_rows=source.expectation_rows,
        classified=table.columns,
        family=max(1, sum(check.learned_numbers for check in table.checks)),
    )
    return Target(
        subject=subject,
        source=project.specs[table.source],
        owner=config.owner_of(table),
        period=table.schedule.longest_period() if table.schedule is not None else None,
        maintenance=tuple(
            work.span(config.timezone) for work in config.maintenance if work.concerns(table.name, table.domain)
        ),
    )
