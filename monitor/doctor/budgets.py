"""Examine the ledger of privacy budgets, its anchor, and scheduled queries."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from monitor.answers.budget_status import ProtectedPeople
from monitor.config import Loaded
from monitor.config.answer_series import AnswerSeries
from monitor.config.project import Project
from monitor.doctor.finding import Finding, FindingStatus
from monitor.summaries.scheduled_queries import StatisticState, StatisticWord, statistics_of
from monitor.terminal.output import count
from store import StoreError, open_store, store_file

_LEDGER_SUBJECT = "budgets"


def examine_ledger(loaded: Loaded) -> Iterator[Finding]:
    """Examine the ledger, its anchor, and that declared budgets were created; nothing where there is no budget."""
    project = Project(loaded)
    declared = project.config.budgets
    url = project.config.storage.url
    try:
        file = store_file(url)
        if file is not None and not file.exists():
            yield from _not_created(declared)
            return
        with open_store(url) as store:
            ledger = project.ledger(store)
            created = {(balance.budget.data_set, balance.budget.unit) for balance in ledger.balances()}
            audit = project.release_ledger(store).verify()
            groups = ProtectedPeople.configured(project.config, ledger)
    except StoreError as error:
        if declared:
            yield Finding(_LEDGER_SUBJECT, FindingStatus.UNKNOWN, str(error))
        return
    yield from _not_created([name for name, item in declared.items() if (name, item.unit_name) not in created])
    for flaw in audit.flaws:
        hint = (
            "see 'tablewatch privacy budget verify'; queries are blocked until "
            "'tablewatch privacy budget resume --reason ...'"
        )
        yield Finding(_LEDGER_SUBJECT, FindingStatus.ERROR, flaw.problem, hint)
    if (created or audit.entries) and not audit.flaws:
        message = f"{count(len(created), 'budget')}; the hash chain of the ledger is intact ({audit.entries:,})"
        yield Finding(_LEDGER_SUBJECT, FindingStatus.OK, message)
        yield from _anchor(project.ledger_anchor, file)
    for group in groups:
        yield Finding(_LEDGER_SUBJECT, FindingStatus.OK, group.sentence)


def _not_created(names: Iterable[str]) -> Iterator[Finding]:
    for name in names:
        message = f"the budget of {name} is declared but not created, so it cannot be used yet"
        yield Finding(_LEDGER_SUBJECT, FindingStatus.WARNING, message, f"tablewatch privacy budget create {name}")


def _anchor(anchor: Path, store: Path | None) -> Iterator[Finding]:
    """Yield a warning if the store and its anchor are on one disk: one old copy could restore both undetected."""
    if store is not None and anchor.exists() and anchor.stat().st_dev == store.stat().st_dev:
        message = (
            f"the anchor, {anchor}, is on the same disk as the store: restoring an old copy of both would not "
            "be detected"
        )
        yield Finding(
            _LEDGER_SUBJECT, FindingStatus.WARNING, message, "put it on another disk: 'ledger_anchor' under 'storage'"
        )


_STATISTICS_SUBJECT = "statistics"


def examine_statistics(loaded: Loaded) -> Iterator[Finding]:
    """Examine each scheduled query whose budget was created; nothing where none is declared. No table is read."""
    project = Project(loaded)
    url = project.config.storage.url
    if not AnswerSeries.configured(project.config):
        return
    try:
        file = store_file(url)
        if file is not None and not file.exists():
            return
        with open_store(url) as store, store.reading() as tx:
            states = [
                statistic for statistic in statistics_of(project, tx) if statistic.word is not StatisticWord.NO_BUDGET
            ]
    except StoreError as error:
        yield Finding(_STATISTICS_SUBJECT, FindingStatus.UNKNOWN, str(error))
        return
    yield from _stopped_queries(states)
    active = [state for state in states if state.left and state.word is not StatisticWord.NOT_ANSWERED]
    if active:
        first = min(active, key=lambda item: item.left or 0)
        next_spent = f"{first.series}, which runs out of budget first, has {count(first.left or 0, 'answer')} left"
        yield Finding(
            _STATISTICS_SUBJECT,
            FindingStatus.OK,
            f"{count(len(active), 'scheduled query', 'scheduled queries')} active; {next_spent}",
        )


def _stopped_queries(states: Sequence[StatisticState]) -> Iterator[Finding]:
    for state in states:
        if state.word is StatisticWord.SPENT:
            message = f"{state.series} no longer runs: its remaining budget is less than its cost"
            change = f"tablewatch privacy budget change {state.series.table}"
            hint = f"raise the total with '{change}', or remove the scheduled query"
            yield Finding(_STATISTICS_SUBJECT, FindingStatus.WARNING, message, hint)
        elif state.word is StatisticWord.NOT_ANSWERED and state.slot is not None:
            message = f"{state.series} was not answered for {state.slot.slot:%Y-%m-%d %H:%MZ}"
            yield Finding(_STATISTICS_SUBJECT, FindingStatus.WARNING, message, "see the log of the daemon")
