"""Follow the warnings of a check that open no incident: when a spell of them begins, and when it ends. Pure.

A spell begins with a run that warns while no incident stands for the check, and ends as an incident does: after
`resolve_after` passing runs in a row, at the time of the first. Whatever else happens in between belongs to it: a fail
breaks the warning limit too, and a run that is unknown proves nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from checks import Kind, Outcome, Severity, Status
from incidents._model import Policy, RunTimes
from incidents.lifecycle import Identity, softer, title_of


@dataclass(frozen=True, slots=True)
class WarningSpell:
    """A stretch of time in which a check, or a segment of it (`series`), warns and that is no incident.

    `title` is a message's text with its values, as an incident has it. `passing_since` is the first of the `passes`
    runs in a row that passed last. `id` is 0 until it is stored.
    """

    series: str
    table: str
    check_id: str
    kind: Kind
    severity: Severity
    title: str
    title_values: Mapping[str, Any]
    began_at: datetime
    passing_since: datetime | None = None
    passes: int = 0
    ended_at: datetime | None = None
    id: int = 0


def follow_warning(
    spell: WarningSpell | None,
    outcome: Outcome,
    *,
    identity: Identity,
    policy: Policy,
    run: RunTimes,
    has_incident: bool,
) -> WarningSpell | None:
    """Return the spell after a run; None where none lasts.

    Args:
        spell: the one that lasts; None if none does.
        outcome: what the run came to; the run is later than all before it.
        identity: which check ran.
        policy: how many passing runs end a spell, and whether warnings open incidents instead.
        run: when the run measured and ended.
        has_incident: an incident of the check lasts.
    """
    if spell is None:
        if outcome.status is not Status.WARN or has_incident or policy.warn_opens:
            return None
        title, values = title_of(outcome.message)
        return WarningSpell(
            series=identity.fingerprint,
            table=identity.table,
            check_id=identity.check_id,
            kind=identity.kind,
            severity=softer(identity.severity),
            title=title,
            title_values=values,
            began_at=run.at,
        )
    if outcome.status is Status.UNKNOWN:
        return spell
    if outcome.status is not Status.PASS:
        return replace(spell, passing_since=None, passes=0)
    since = spell.passing_since or run.at
    passes = spell.passes + 1
    return replace(
        spell, passing_since=since, passes=passes, ended_at=since if passes >= policy.resolve_after else None
    )
