"""When nobody looks right now: gaps that still last, of which the store learns only when a check runs again."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from incidents import Gap, Watch, gaps_after
from monitor.config import Config


def lasting_gaps(config: Config, watches: Mapping[str, Watch], until: datetime) -> Iterator[Gap]:
    """Give the unobserved time between the last run of each configured check and a moment."""
    for table in config.tables:
        period = table.schedule.longest_period() if table.schedule is not None else None
        for check in table.checks:
            yield from gaps_after(watches.get(table.check_id(check)), table=table.name, until=until, period=period)
