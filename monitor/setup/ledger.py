"""Look whether the ledger of privacy budgets is whole, and whether one accident could take it and its anchor away."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from monitor.config import Loaded
from monitor.frame.output import count
from monitor.private.standing import ProtectedPeople
from monitor.setup.finding import Finding, FindingStatus
from monitor.wiring import Project
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
            kept = {(one.budget.data_set, one.budget.unit) for one in ledger.standings()}
            audit = ledger.verify()
            groups = ProtectedPeople.configured(project.config, ledger)
    except StoreError as error:
        if declared:
            yield Finding(_LEDGER_SUBJECT, FindingStatus.UNKNOWN, str(error))
        return
    yield from _not_created([name for name, one in declared.items() if (name, one.unit_name) not in kept])
    for flaw in audit.flaws:
        hint = "see 'tablewatch budget verify'; nothing is granted until 'tablewatch budget resume --reason ...'"
        yield Finding(_LEDGER_SUBJECT, FindingStatus.ERROR, flaw.problem, hint)
    if kept and not audit.flaws:
        held = f"{count(len(kept), 'budget')}; every entry of the ledger follows from the last ({audit.entries:,})"
        yield Finding(_LEDGER_SUBJECT, FindingStatus.OK, held)
        yield from _anchor(project.ledger_anchor, file)
    for group in groups:
        yield Finding(_LEDGER_SUBJECT, FindingStatus.OK, group.sentence)


def _not_created(names: Iterable[str]) -> Iterator[Finding]:
    for name in names:
        message = f"the budget of {name} is declared and was not created: it pays for nothing yet"
        yield Finding(_LEDGER_SUBJECT, FindingStatus.WARNING, message, f"tablewatch budget create {name}")


def _anchor(anchor: Path, store: Path | None) -> Iterator[Finding]:
    """Tell when the store and its anchor are on one disk, where both can be brought back from one old copy."""
    if store is not None and anchor.exists() and anchor.stat().st_dev == store.stat().st_dev:
        message = f"the anchor, {anchor}, is on the same disk as the store: an old copy of both would not be noticed"
        yield Finding(
            _LEDGER_SUBJECT, FindingStatus.WARNING, message, "put it on another disk: 'ledger_anchor' under 'storage'"
        )
