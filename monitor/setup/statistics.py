"""Look whether standing statistics are answered, and for how long their budgets last."""

from collections.abc import Iterator, Sequence

from monitor.config import Loaded
from monitor.figures.statistics import StatisticState, StatisticWord, statistics_of
from monitor.frame.output import count
from monitor.private.series import AnswerSeries
from monitor.setup.finding import Finding, FindingStatus
from monitor.wiring import Project
from store import StoreError, open_store, store_file

_STATISTICS_SUBJECT = "statistics"


def examine_statistics(loaded: Loaded) -> Iterator[Finding]:
    """Examine each standing statistic whose budget was created; nothing where none is declared. No table is read."""
    project = Project(loaded)
    url = project.config.storage.url
    if not AnswerSeries.configured(project.config):
        return
    try:
        file = store_file(url)
        if file is not None and not file.exists():
            return
        with open_store(url) as store, store.reading() as view:
            states = [one for one in statistics_of(project, view) if one.word is not StatisticWord.NO_BUDGET]
    except StoreError as error:
        yield Finding(_STATISTICS_SUBJECT, FindingStatus.UNKNOWN, str(error))
        return
    yield from _silent(states)
    well = [one for one in states if one.left and one.word is not StatisticWord.NOT_ANSWERED]
    if well:
        first = min(well, key=lambda one: one.left or 0)
        lasts = f"{first.series}, the first to run out of budget, has {count(first.left or 0, 'answer')} left"
        yield Finding(
            _STATISTICS_SUBJECT,
            FindingStatus.OK,
            f"{count(len(well), 'standing statistic')} answered or waiting; {lasts}",
        )


def _silent(states: Sequence[StatisticState]) -> Iterator[Finding]:
    for one in states:
        if one.word is StatisticWord.SPENT:
            message = f"{one.series} is not answered any more: less is left of its budget than it costs"
            hint = f"raise the total with 'tablewatch budget change {one.series.table}', or take the statistic out"
            yield Finding(_STATISTICS_SUBJECT, FindingStatus.WARNING, message, hint)
        elif one.word is StatisticWord.NOT_ANSWERED and one.slot is not None:
            message = f"{one.series} was not answered for {one.slot.slot:%Y-%m-%d %H:%MZ}"
            yield Finding(_STATISTICS_SUBJECT, FindingStatus.WARNING, message, "the daemon's journal says why")
