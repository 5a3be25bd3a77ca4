"""Follow warnings that open no incident, where a route is for them: what last, begin and end is news for the outbox."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime

from checks import Outcome, Status
from incidents import Identity, RunTimes, WarningSpell, follow_warning
from monitor.config.project import Project
from monitor.scan.results import CheckResult, PolicyOf, TableResult
from store import Store, WriteTransaction


class WarningRecorder:
    """Follows the warnings of a batch, inside its transaction."""

    def __init__(self, tx: WriteTransaction, results: Iterable[CheckResult], policy_of: PolicyOf) -> None:
        self._tx = tx
        self._policy_of = policy_of
        self._lasting = dict(tx.warnings.lasting({result.check_id for result in results}))

    def follow(
        self,
        table_result: TableResult,
        result: CheckResult,
        outcome: Outcome,
        *,
        identity: Identity,
        has_incident: bool,
    ) -> None:
        """Begin, go on with or end the warning of a check or of a segment, after a run of it."""
        before = self._lasting.get(result.remembered_as)
        after = follow_warning(
            before,
            replace(outcome, status=Status.PASS, reason=None) if result.is_gone else outcome,
            identity=identity,
            policy=self._policy_of(result.check),
            run=RunTimes(table_result.started_at, table_result.ended_at),
            has_incident=has_incident,
        )
        self._save(before, after, table_result.ended_at)

    def end_gone(self, table_result: TableResult, result: CheckResult) -> None:
        """End the warnings of segments of a check that it does not judge for themselves any more."""
        if result.outcome.status is Status.UNKNOWN:
            return
        judged = {part.remembered_as for part in (result, *result.segments)}
        for spell in [*self._lasting.values()]:
            if spell.check_id == result.check_id and spell.series not in judged:
                self._save(
                    spell, replace(spell, ended_at=max(table_result.started_at, spell.began_at)), table_result.ended_at
                )

    def _save(self, before: WarningSpell | None, after: WarningSpell | None, recorded_at: datetime) -> None:
        if after is None or after == before:
            return
        saved = self._tx.warnings.save(after, recorded_at)
        if saved.ended_at is None:
            self._lasting[saved.series] = saved
        else:
            self._lasting.pop(saved.series, None)


def retire_warnings(project: Project, store: Store, configured: Collection[str], now: datetime) -> None:
    """End the warnings of checks that are no longer configured; of a team that is left out, nothing is known."""

    def is_over(spell: WarningSpell) -> bool:
        return spell.check_id not in configured and not project.loaded.is_left_out(spell.table)

    with store.reading() as tx:
        is_any_left = any(is_over(spell) for spell in tx.warnings.lasting().values())
    if is_any_left:
        with store.writing() as tx:
            for spell in tx.warnings.lasting().values():
                if is_over(spell):
                    tx.warnings.save(replace(spell, ended_at=max(now, spell.began_at)), now)
