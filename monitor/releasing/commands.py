"""Print the command that does again what was tried: with levels and sweeps fixed, so that nothing is searched."""

import shlex
from typing import TYPE_CHECKING, Any

from monitor.releasing.case import Case
from monitor.releasing.plan import Kind, Plan

if TYPE_CHECKING:
    from remedies import Bill


def command_for(case: Case, plan: Plan, bill: "Bill | None") -> str | None:
    """Give the command; None of what needs none, or of what dice decide that no seed repeats."""
    if bill is None or plan.kind is not Kind.TABLE or plan.remedy is None:
        return None
    word: str = plan.remedy.type
    words = ["tablewatch", "remedy", word, case.release.table, "OUT", *_options(case, plan, bill)]
    return shlex.join(words)


def _options(case: Case, plan: Plan, bill: "Bill") -> list[str]:
    remedy: Any = plan.remedy
    columns, figures = ",".join(remedy.columns), bill.figures
    match remedy.type:
        case "generalise":
            named = ["--release", case.name, "--quasi-identifiers", columns, *_folder(case, plan)]
            levels: Any = figures.get("levels")
            if levels:
                fixed = ",".join(f"{name}={one['level']}" for name, one in levels.items())
                return [*named, "--levels", fixed, "--suppress", f"{remedy.suppress:g}"]
            return [*named, "--search", remedy.search.value]
        case "suppress":
            return ["--release", case.name, "--quasi-identifiers", columns, *(["--cells"] if remedy.cells else [])]
        case "microaggregate":
            swept: Any = figures.get("sweeps") or ()
            said = ["--columns", columns, "--k", str(remedy.k), "--seed", str(remedy.seed)]
            said += ["--method", remedy.method.value]
            said += ["--nominal", ",".join(remedy.nominal)] if remedy.nominal else []
            return [*said, "--sweeps", ",".join(map(str, swept))] if swept else said
        case _:
            return ["--release", case.name]


def _folder(case: Case, plan: Plan) -> list[str]:
    """Name the folder of hierarchies, where the release's remedy has one of its own."""
    recipe = case.release.recipe(plan.name)
    said = None if recipe is None else recipe.words.get("hierarchies")
    return ["--hierarchies", str(case.folder / said)] if isinstance(said, str) else []
