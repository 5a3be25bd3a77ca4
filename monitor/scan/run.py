"""One pass: plan, measure, judge, decide, record. The steps are numbered in `run_checks` and `Engine.run`."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from checks import Check, Severity
from checks.gx.caller import Caller
from incidents import Policy
from monitor.clock import Clock
from monitor.config.project import Project
from monitor.config.selector import Selection
from monitor.scan.plan_file import PLANS, PlanFile
from monitor.scan.recorder import judge_only, prune, record_results, retire
from monitor.scan.results import CheckResult, PassResult, PolicyOf, Subject, Target, targets_of
from monitor.scan.scanner import scan_sources
from monitor.scan.table_plan import TablePlan
from store import Store, StoreError, store_file

if TYPE_CHECKING:
    from monitor.scan.incremental import KeyProvider

_BETWEEN_DELETIONS: Final = timedelta(hours=1)


def run_checks(
    project: Project,
    selection: Selection,
    *,
    store: Store | None,
    fail_on: Severity = Severity.INFO,
    caller: Caller | None = None,
    on_table: Callable[[str], None] = lambda _: None,
) -> PassResult:
    """Run the selected checks once; without a store nothing is remembered. `caller` calls Great Expectations."""
    clock = project.clock
    started_at, started = clock.now(), clock.monotonic()
    # 1. Close the incidents of checks that are no longer configured.
    retired = 0 if store is None else retire(project, store)
    problem: str | None
    pruned: str | None = None
    # 2. Run the checks, by the plans of an earlier run where they fit, and record their results, as far as the store
    #    takes them.
    plan_file = None if store is None else _plan_file(project)
    try:
        results = Engine(
            clock, store, project.policy_of, key=project.signature_key, caller=caller, plan_file=plan_file
        ).run(targets_of(project, selection.tables), on_table)
    except ResultsNotStored as error:
        results, problem = error.results, f"not all results were stored: {error}"
    else:
        # 3. Delete what is past its retention, in the first run of each hour.
        problem, pruned = _prune(project, store) if store is not None else (None, None)
    if plan_file is not None:
        plan_file.write({table.name for table in project.config.tables})
    return PassResult(
        project=project.config.project,
        run_id=secrets.token_hex(12),
        started_at=started_at,
        duration_s=clock.monotonic() - started,
        results=results,
        fail_on=fail_on,
        problem=problem,
        retired=retired,
        pruned=pruned,
    )


def check_past(
    project: Project,
    selection: Selection,
    as_of: datetime,
    *,
    store: Store | None,
    fail_on: Severity = Severity.INFO,
    on_table: Callable[[str], None] = lambda _: None,
) -> PassResult:
    """Run the selected checks on tables as they were at a past time; the store is only read."""
    clock = project.clock
    started_at, started = clock.now(), clock.monotonic()
    targets = [target.at(as_of) for target in targets_of(project, selection.tables)]
    return PassResult(
        project=project.config.project,
        run_id=secrets.token_hex(12),
        started_at=started_at,
        results=Engine(clock, store, project.policy_of, is_dry=True).run(targets, on_table),
        duration_s=clock.monotonic() - started,
        fail_on=fail_on,
    )


def _plan_file(project: Project) -> PlanFile | None:
    """Return the plans that are kept beside the store; None where it is no file, or files have no owner."""
    store = store_file(project.config.storage.url)
    if store is None or not hasattr(os, "geteuid"):
        return None
    return PlanFile.read(store.with_name(f"{store.name}{PLANS}"), project.loaded.redactor)


def _prune(project: Project, store: Store) -> tuple[str | None, str | None]:
    """Delete what is past its retention; return the problem, and what was deleted or waits."""
    try:
        result = prune(project, store, at_most=_BETWEEN_DELETIONS)
    except StoreError as error:
        return f"results were stored, but old data was not deleted: {error}", None
    if result is None:
        return None, None
    from store import Postponed  # most runs delete nothing

    if isinstance(result, Postponed):
        return None, result.text if result.is_news else None
    return None, f"deleted by age: {result.text}" if result.text else None


class ResultsNotStored(StoreError):
    """The store failed in the middle of a pass: `results` are all that was found, in part not kept."""

    def __init__(self, results: Sequence[CheckResult], failure: StoreError) -> None:
        super().__init__(str(failure))
        self.results = results


def _by_default(_check: Check) -> Policy:
    return Policy()


@dataclass
class Engine:
    """Looks at tables. Keeps the plans it made, so that a later pass only runs SQL."""

    clock: Clock
    store: Store | None = None
    policy_of: PolicyOf = _by_default
    plans: dict[str, tuple[Subject, TablePlan]] = field(default_factory=dict)
    key: KeyProvider | None = None
    """Gives the key of signatures; without one, or without a store, no counts are kept."""
    caller: Caller | None = None
    """Calls Great Expectations; needed where there are expectations."""
    plan_file: PlanFile | None = None
    """Plans of earlier processes."""
    is_dry: bool = False
    """Whether the store is only read: earlier measurements are compared with, and nothing is recorded."""

    def run(self, targets: Sequence[Target], on_table: Callable[[str], None] = lambda _: None) -> Sequence[CheckResult]:
        """Make one pass over tables; return what every check came to, in the order of the targets.

        `on_table` is called with the name of each table that is done. Nothing that a source does raises here: what
        could not be evaluated is `unknown`.

        Raises:
            ResultsNotStored: the store failed meanwhile; the results are in the error.
        """
        check_results: dict[str, CheckResult] = {}
        failure: StoreError | None = None
        # 1. Add what is known of counts that are kept from run to run, if any are.
        if self.store is not None and self.key is not None and any(target.subject.keeps for target in targets):
            from monitor.scan.incremental import with_count_states  # few checks keep counts

            targets = with_count_states(targets, store=self.store, key=self.key)
        # 2. Plan each table, unless its plan is kept, and measure it in its engine: a thread for each source.
        for batch in scan_sources(
            targets, clock=self.clock, plans=self.plans, caller=self.caller, plan_file=self.plan_file
        ):
            results = None
            # 3. Judge, decide on incidents and record, many tables in one transaction.
            if self.store is not None and failure is None and not self.is_dry:
                try:
                    results = record_results(batch, store=self.store, policy_of=self.policy_of, clock=self.clock)
                except StoreError as error:
                    failure = error
            # 4. Without a store, or once it failed, judge only: what was measured is reported all the same.
            if results is None:
                results = judge_only(batch, store=self.store)
            check_results |= {result.check_id: result for result in results}
            for table_result in batch:
                on_table(table_result.target.subject.name)
        every = [check_results[check_id] for target in targets for check_id, _ in target.subject.checks]
        if failure is not None:
            raise ResultsNotStored(every, failure)
        return every
