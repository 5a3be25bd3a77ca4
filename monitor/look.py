"""One pass as `tablewatch check` makes it: look at a selection, remember, and report."""

import secrets
from collections.abc import Callable

from checks import Severity
from incidents import Resolution, Resolved, State
from monitor.conclude import AGENT
from monitor.engine import Engine, NotRemembered
from monitor.pages.pass_report import PassReport
from monitor.selector import Selection
from monitor.wiring import Project
from store import IncidentFilter, Store, StoreError

LASTING = (State.OPEN, State.ACKNOWLEDGED)


def look(
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
        results = Engine(clock, store, project.policy).run(project.targets(selection.tables), on_table)
    except NotRemembered as error:
        results, problem = error.results, f"not all of this was remembered: {error}"
    else:
        problem = _forget(project, store) if store is not None else None
    return PassReport(
        project=project.config.project,
        run_id=secrets.token_hex(12),
        started_at=started_at,
        duration_s=clock.monotonic() - started,
        results=results,
        fail_on=fail_on,
        problem=problem,
    )


def _forget(project: Project, store: Store) -> str | None:
    """Forget what is older than it has to be kept; say so where that failed."""
    kept = project.config.storage
    try:
        store.prune(
            keep_measurements=kept.keep_measurements, keep_incidents=kept.keep_incidents, now=project.clock.now()
        )
    except StoreError as error:
        return f"all of this was remembered, but nothing old was forgotten: {error}"
    return None


def retire(project: Project, store: Store) -> int:
    """Close the incidents of checks that are no longer configured, as `no-action`; give how many."""
    configured = {table.check_id(check) for table in project.config.tables for check in table.checks}
    with store.reading() as view:
        lasting = view.incidents(IncidentFilter(states=LASTING))
    gone = [incident for incident in lasting if incident.check_id is not None and incident.check_id not in configured]
    if not gone:
        return 0
    now, closed = project.clock.now(), 0
    with store.writing() as book:
        for known in gone:
            incident = book.incident(known.id)  # another process may have closed it meanwhile
            if incident.state in LASTING:
                at = max(now, incident.last.detected_at)
                change = Resolved(at, Resolution.NO_ACTION, "the check is no longer configured")
                book.append(incident, [change], recorded_at=now, actor=AGENT)
                closed += 1
    return closed
