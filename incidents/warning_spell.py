"""Follow warnings of a check that open no incident: when they begin and end. Pure.

A warning begins with a run that warns while no incident of the check is open, and ends as an incident does: after
`resolve_after` passing runs in a row, as of the first. Fails in between belong to it, since they break the warning
limit too; unknown runs change nothing.
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
    """A period in which a check, or a segment of it (`series`), warns without an incident.

    `title`: the text of a message with its values, as of an incident. `passing_since`: the first of the last `passes`
    passing runs in a row. `id`: 0 until it is stored.
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
    """Return the warning after a run; None if there is none.

    Args:
        spell: the present one; None if there is none.
        outcome: of the run, which is later than all before it.
        identity: of the check.
        policy: how many passing runs end a warning, and whether warnings open incidents instead.
        run: when the run measured and ended.
        has_incident: an incident of the check is open.
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
    since = max(spell.passing_since or run.at, spell.began_at)  # earlier only after the clock was set back
    passes = spell.passes + 1
    return replace(
        spell, passing_since=since, passes=passes, ended_at=since if passes >= policy.resolve_after else None
    )
