"""Print the command that does again what was tried: with levels and sweeps fixed, so that nothing is searched."""

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from monitor.releases.columns import ReleaseColumns
from monitor.releases.plan import RemedyKind, TreatmentPlan

if TYPE_CHECKING:
    from remedies import UtilityReport

_SIGNS: Final = frozenset(",=:<")
"""What parts the words of an option: a column that is called so cannot be named in one."""


def command_for(case: ReleaseColumns, plan: TreatmentPlan, bill: "UtilityReport | None") -> str | None:
    """Return the command; None of what needs none, cannot be said in one, or dice decide that no seed repeats."""
    if bill is None or plan.kind is not RemedyKind.TABLE or plan.remedy is None:
        return None
    remedy: Any = plan.remedy
    options = _options(case, plan, bill)
    if options is None or any(set(name) & _SIGNS for name in remedy.columns):
        return None
    return shlex.join(["tablewatch", "privacy", "remedy", remedy.type, case.release.table, "OUT", *options])


def _options(case: ReleaseColumns, plan: TreatmentPlan, bill: "UtilityReport") -> list[str] | None:
    remedy: Any = plan.remedy
    match remedy.type:
        case "generalise":
            return _generalise(case, plan, bill)
        case "suppress":
            limits = _limits(case, remedy)
            weights = ["--weights", _pairs(remedy.weights)] if remedy.weights else []
            return None if limits is None else [*limits, *(["--cells"] if remedy.cells else []), *weights]
        case "microaggregate":
            return _microaggregate(remedy, bill)
        case _:
            return None


def _generalise(case: ReleaseColumns, plan: TreatmentPlan, bill: "UtilityReport") -> list[str] | None:
    remedy: Any = plan.remedy
    limits, trees = _limits(case, remedy), _trees(case, plan)
    if limits is None or trees is None:
        return None
    levels: Any = bill.figures.get("levels")
    if not levels:
        return [*limits, *trees, "--search", remedy.search.value]
    fixed = ",".join(f"{name}={item['level']}" for name, item in levels.items())
    return [*limits, *trees, "--levels", fixed, "--suppress", str(remedy.suppress)]


def _trees(case: ReleaseColumns, plan: TreatmentPlan) -> list[str] | None:
    """Describe where hierarchies are that the release does not declare; None where its remedy declares them itself."""
    recipe = case.release.recipe(plan.name)
    text = None if recipe is None else recipe.settings.get("hierarchies")
    if text is not None and not isinstance(text, str):
        return None
    folder = [] if text is None else ["--hierarchies", str(case.folder / text)]
    remedy: Any = plan.remedy
    declared = set(case.release.hierarchies)
    flat = [name for name in remedy.hierarchies if name not in declared and not (text and _has(case, text, name))]
    return [*folder, *(word for name in flat for word in ("--hierarchy", f"{name}=flat"))]


def _has(case: ReleaseColumns, text: str, name: str) -> bool:
    return any((case.folder / text / f"{name}{end}").exists() for end in (".csv", ".yaml", ".yml"))


def _limits(case: ReleaseColumns, remedy: Any) -> list[str] | None:
    """Format the limits that the remedy keeps; None where one of them cannot be said in a word."""
    parts = ["--release", case.name, "--quasi-identifiers", ",".join(remedy.columns), "--k", str(remedy.k)]
    if any(set(name) & _SIGNS for name in remedy.sensitive) or any(
        item.hierarchy is not None for item in remedy.t.values()
    ):
        return None
    for name, item in remedy.l.items():
        parts += ["--l", ":".join([f"{name}={item.l}", item.kind, *([] if item.c is None else [str(item.c)])])]
    for name, item in remedy.t.items():
        parts += ["--t", f"{name}={item.t}:{item.distance}"]
    return parts


def _microaggregate(remedy: Any, bill: "UtilityReport") -> list[str] | None:
    if any(levels for levels in remedy.ordinal.values()):
        return None
    parts = ["--columns", ",".join(remedy.columns), "--k", str(remedy.k), "--seed", str(remedy.seed)]
    parts += ["--method", remedy.method.value]
    parts += ["--nominal", ",".join(remedy.nominal)] if remedy.nominal else []
    parts += [word for name in remedy.ordinal for word in ("--ordinal", name)]
    parts += ["--weights", _pairs(remedy.weights)] if remedy.weights else []
    swept: Any = bill.figures.get("sweeps") or ()
    return [*parts, "--sweeps", ",".join(map(str, swept))] if swept else parts


def _pairs(weights: Mapping[str, float]) -> str:
    return ",".join(f"{name}={weight}" for name, weight in weights.items())
