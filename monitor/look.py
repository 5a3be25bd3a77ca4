"""One pass as `tablewatch check` makes it: look at a selection, remember, and report."""

import secrets
from collections.abc import Callable

from checks import Severity
from monitor.engine import Engine, ResultsNotStored
from monitor.pages.pass_report import PassReport
from monitor.retire import retire
from monitor.selector import Selection
from monitor.wiring import Project
from store import Store, StoreError


def run_checks(
    project: Project,
    selection: Selection,
    *,
    store: Store | None,
    fail_on: Severity = Severity.INFO,
    on_table: Callable[[str], None] = lambda _: None,
) -> PassReport:
    """Run the selected checks once; without a store nothing is remembered."""
    clock = project.clock
    started_at, started = clock.now(), clock.monotonic()
    if store is not None:
        retire(project, store)
    problem: str | None
    try:
        results = Engine(clock, store, project.policy, key=project.signature_key).run(
            project.targets(selection.tables), on_table
        )
    except ResultsNotStored as error:
        results, problem = error.results, f"not all of this was remembered: {error}"
    else:
        problem = _prune(project, store) if store is not None else None
    return PassReport(
        project=project.config.project,
        run_id=secrets.token_hex(12),
        started_at=started_at,
        duration_s=clock.monotonic() - started,
        results=results,
        fail_on=fail_on,
        problem=problem,
    )


def _prune(project: Project, store: Store) -> str | None:
    """Forget what is older than it has to be kept; say so where that failed."""
    kept = project.config.storage
    try:
        store.prune(
            keep_measurements=kept.keep_measurements, keep_incidents=kept.keep_incidents, now=project.clock.now()
        )
    except StoreError as error:
        return f"all of this was remembered, but nothing old was forgotten: {error}"
    return None
