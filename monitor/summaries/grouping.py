"""Group incidents by attributes of the catalogue and of the incidents, and time by the days of the project."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from checks import Severity
from checks.classes.arrays import np
from incidents import Spans, Window, from_us, to_us
from incidents.spans import Ints
from monitor.config import Config
from monitor.config.prices import midnight
from monitor.summaries.patterns import causes_of

Labels: TypeAlias = Mapping[int, str | None]
"""What each number of a group stands for; None where nothing does: no owner, no domain, no check."""


def by_table(spans: Spans, config: Config) -> tuple[Labels, Ints]:  # noqa: ARG001 - all groupings are called alike
    """Group by the table that was down."""
    return dict(enumerate(spans.names)), spans.table


def by_check(spans: Spans, config: Config) -> tuple[Labels, Ints]:  # noqa: ARG001 - as above
    """Group by the check that found it; what a person reported has none."""
    return {-1: None, **dict(enumerate(spans.names))}, spans.check


def by_severity(spans: Spans, config: Config) -> tuple[Labels, Ints]:  # noqa: ARG001 - as above
    """Group by severity."""
    return {severity.rank: severity.value for severity in Severity}, spans.severity


def by_cause(spans: Spans, config: Config) -> tuple[Labels, Ints]:
    """Group by the cause that people recorded; causes that are not in `incidents.causes` are one group."""
    return causes_of(spans, config.incidents)


def by_domain(spans: Spans, config: Config) -> tuple[Labels, Ints]:
    """Group by the domain of the table that was down."""
    domains = {table.name: table.domain for table in config.tables}
    return group_tables(spans, spans.table, domains.get)


def by_owner(spans: Spans, config: Config) -> tuple[Labels, Ints]:
    """Group by the owner of the table that was down."""
    return group_tables(spans, spans.table, _owners(config).get)


def by_root_owner(spans: Spans, config: Config) -> tuple[Labels, Ints]:
    """Group by the owner of the root-cause table, who must repair."""
    return group_tables(spans, spans.root_table, _owners(config).get)


GROUPINGS: Final[Mapping[str, Callable[[Spans, Config], tuple[Labels, Ints]]]] = {
    "table": by_table,
    "domain": by_domain,
    "owner": by_owner,
    "check": by_check,
    "severity": by_severity,
    "cause": by_cause,
    "root-owner": by_root_owner,
}
"""Each gives the labels of its groups, and the group of every episode."""


def days_of(window: Window, zone: str) -> Iterator[tuple[date, Window]]:
    """Yield the days of a zone that a window touches, each with the part of it that lies in the window."""
    day = from_us(window.start_us).astimezone(ZoneInfo(zone)).date()
    start = window.start_us
    while start < window.end_us:
        following = day + timedelta(days=1)
        end = min(to_us(midnight(following, zone)), window.end_us)
        yield day, Window(start, end)
        day, start = following, end


def _owners(config: Config) -> Mapping[str, str | None]:
    return {table.name: config.owner_of(table) for table in config.tables}


def group_tables(spans: Spans, codes: Ints, label_of: Callable[[str], str | None]) -> tuple[Labels, Ints]:
    """Group by a label of tables; `codes` are those of the tables of each row."""
    labels = [label_of(name) for name in spans.names]
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    group = np.array([numbers[label] for label in labels], dtype=np.int64)
    return {number: label for label, number in numbers.items()}, group[codes]
