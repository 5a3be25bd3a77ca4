"""Rename something in the store and the configuration: what `table rename` and `config rename` do."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from monitor.commands._options import actor
from monitor.terminal.output import Invocation, count

if TYPE_CHECKING:
    from rich.console import Console

Write: TypeAlias = Annotated[bool, typer.Option("--write", help="Carry it out; without it, show what would change.")]
Merge: TypeAlias = Annotated[
    bool, typer.Option("--merge", help="Results that are stored under the new name already follow those of the old.")
]


def rename(
    invocation: Invocation,
    kind: str,
    old: str,
    new: str,
    *,
    write: bool,
    merge: bool,
    by: str | None,
    keeps_relation: bool = False,
) -> None:
    """Rename, or show what a rename would change."""
    from monitor.config.project import Project
    from monitor.suggest.rename import carry_out, plan_rename
    from store import NameChange, NamedThing

    project = Project.of(invocation)
    change = NameChange(NamedThing(kind), old, new, actor(by), project.clock.now())
    plan = plan_rename(project, change, keeps_relation=keeps_relation, merge=merge)
    rows = carry_out(plan) if write else {}
    result = {
        "schema": "tablewatch.rename/1",
        "ok": True,
        "kind": kind,
        "old": old,
        "new": new,
        "written": write,
        "merged": plan.merges,
        "files": [str(file) for file in plan.files],
        "lines": list(plan.lines),
        "rows": dict(rows),
    }

    def draw(console: "Console") -> None:
        for line in plan.lines:
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        if write:
            changed = (
                f"{count(sum(rows.values()), 'row')} of the store" if plan.in_store else "the store had it already"
            )
            console.print(f"{kind} '{old}' is now '{new}': {changed}, {count(len(plan.files), 'file')}", markup=False)
        else:
            console.print("nothing was changed; --write changes these lines and the store", markup=False)

    invocation.emit(result, draw)
    if kind == "table" and plan.files and not keeps_relation and plan.reads_by_name:
        invocation.note(f"it is read as '{new}' in its source from now on; --keep-relation keeps '{old}' there")
    invocation.note("SQL in checks, and selectors with '*', are not changed")
