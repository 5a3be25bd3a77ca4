"""A change of the configuration, proposed on a page: its diff, its patch, and what it would have noticed in 28 days.

The diff is of the configuration on the disk, which a daemon takes over; these pages show the one with which they began.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import yaml
from annotated_types import MaxLen
from pydantic import BaseModel
from starlette.responses import Response

from incidents import Window
from monitor.config.project import Project
from monitor.doctor.config_diff import config_changes
from monitor.simulation.compare import simulate
from monitor.simulation.plan import changes_of
from monitor.simulation.run import TooManySlots
from monitor.summaries.catalogue import RECENT
from monitor.verbs.configuration import DraftedChange, TableSettings, draft_change
from monitor.verbs.verb import Query
from monitor.web.call import Call
from monitor.web.verb_routes import acting_of
from monitor.web.views.shapes import not_there


class ChangeQuery(Query):
    """The table, and the check of it, that the form begins with."""

    table: Annotated[str, MaxLen(500)] = ""
    check: Annotated[str, MaxLen(500)] = ""


class SimulatedChange(BaseModel):
    """Incidents of the last 28 days by the present configuration and by the changed one, at least and at most.

    `checks` were replayed; `skipped`: why others were not; `problem`: why nothing was.
    """

    checks: int
    now: int
    low: int
    high: int
    unnoticed: int
    skipped: tuple[str, ...]
    problem: str | None = None


class ChangePage(BaseModel):
    """The form, and after it was sent the diff: `lines` by setting, `patch` of the file in the state `digest`."""

    table: str
    settings: str
    tables: tuple[str, ...]
    present: str | None
    is_allowed: bool
    file: str = ""
    digest: str | None = None
    lines: tuple[str, ...] = ()
    patch: str = ""
    simulated: SimulatedChange | None = None
    applied: bool = False


def show_change_form(call: Call) -> ChangePage:
    """Return the form; with a check, its settings are filled in.

    Raises:
        Stop: there is no such table or check.
    """
    table, name = call.query.table, call.query.check
    if not table:
        return _form(call, "", "")
    checks = [] if (present := _present(call.project, table)) is None else present.get("checks") or []
    chosen = [check for check in checks if name == (check.get("id") or check["type"].replace("_", "-"))]
    if present is None or (name and not chosen):
        raise not_there("table.unknown", "there is no such table or check in the configuration")
    return _form(call, table, _yaml({"checks": [{"id": name, **chosen[0]}]}) if chosen else "")


def show_again(call: Call, sent: Mapping[str, Sequence[str]]) -> ChangePage:
    """Return the form of a change that was refused, as it was sent."""
    return _form(call, sent.get("table", [""])[0], sent.get("settings", [""])[0])


def preview_change(call: Call) -> ChangePage:
    """Return a change with its diff and its simulation; nothing is written.

    Raises:
        Stop: it cannot be made.
    """
    draft = draft_change(acting_of(call), call.body)
    form = _form(call, call.body.table, call.body.settings)
    return form.model_copy(update={**_diff(draft, call.project), "simulated": _simulated(call, draft, call.body.table)})


def applied_change(call: Call, draft: DraftedChange) -> ChangePage:
    """Return a change that was applied."""
    form = _form(call, call.body.table, "")
    return form.model_copy(update={**_diff(draft, call.project), "applied": True})


def download_patch(call: Call) -> Response:
    """Return the change as a patch, to be applied beside the configuration.

    Raises:
        Stop: it cannot be made.
    """
    body: TableSettings = call.body
    headers = {"content-disposition": 'attachment; filename="tablewatch-change.patch"'}
    return Response(draft_change(acting_of(call), body).patch, headers=headers, media_type="text/x-diff")


def _form(call: Call, table: str, settings: str) -> ChangePage:
    config = call.project.config
    names = tuple(item.name for item in config.tables[:1_000])
    present = _present(call.project, table)
    return ChangePage(
        table=table,
        settings=settings,
        tables=names,
        present=None if present is None else _yaml(present),
        is_allowed=config.web.changes,
    )


def _present(project: Project, table: str) -> dict[str, Any] | None:
    """Return what is configured for a table, masked; None if it is not configured."""
    tables: Sequence[dict[str, Any]] = project.loaded.values()["tables"] if table else ()
    return next((item for item in tables if item.get("name") == table), None)


def _yaml(value: Any) -> str:
    dumped: str = yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=110)
    return dumped


def _diff(draft: DraftedChange, project: Project) -> Mapping[str, Any]:
    redact = project.loaded.redactor
    changes = config_changes(draft.before.values(), draft.after.values())
    return {
        "file": f"{draft.file.parent.name}/{draft.file.name}",
        "is_allowed": draft.is_allowed,
        "digest": draft.digest,
        "lines": tuple(redact(line) for change in changes for line in change.lines()),
        "patch": redact(draft.patch),
    }


def _simulated(call: Call, draft: DraftedChange, table: str) -> SimulatedChange:
    """Return what the changed configuration would have noticed of a table, of what is stored."""
    clock = call.project.clock
    now, then = Project(draft.before, clock), Project(draft.after, clock)
    found = (project.config.table(table) for project in (now, then))
    chosen = {item.check_id(check) for item in found if item is not None for check in item.checks}
    changes = changes_of(now, then, chosen, schedule=None)
    nothing = SimulatedChange(checks=0, now=0, low=0, high=0, unnoticed=0, skipped=())
    if not changes:
        return nothing
    window = Window.of(call.now - RECENT, call.now)
    try:
        with call.store.reading() as tx:
            result = simulate(now, then, tx, changes=changes, window=window, as_of=call.now)
    except TooManySlots as error:
        return nothing.model_copy(update={"problem": str(error)})
    counts = [figures.downtime.n for figures in result.then.every]
    return SimulatedChange(
        checks=len(result.covers),
        now=result.now.downtime.n,
        low=min(counts),
        high=max(counts),
        unnoticed=result.unnoticed.downtime.n,
        skipped=tuple(f"{check_id}: {why}" for check_id, why in sorted(result.skipped.items())),
    )
