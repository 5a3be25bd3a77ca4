"""Plan the remedies of a release: their settings, completed by the release's."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from pydantic import ValidationError

from checks import did_you_mean
from checks.parameters.errors import describe_error
from monitor.config import Recipe
from monitor.releases.columns import ReleaseColumns
from monitor.terminal.problem import ExitCode, Problem, Stop
from remedies import Misfit, Remedy
from remedies.differential_privacy.answers import STATISTICS, CategoryColumn, Statistic

AS_IT_IS: Final = "as-it-is"


class RemedyKind(StrEnum):
    """How what comes out is proved: by grouping it, by the mechanism that made it, by its noise."""

    TABLE = "table"
    RANDOMISED = "randomised"
    SYNTHETIC = "synthetic"
    ANSWERS = "answers"


@dataclass(frozen=True, slots=True)
class TreatmentPlan:
    """One way to treat a release. `columns`: those that leave. Exactly one of `remedy` and `statistic`, or none."""

    name: str
    kind: RemedyKind
    columns: tuple[str, ...]
    remedy: Remedy | None = None
    statistic: Statistic | None = None

    @property
    def has_mechanism(self) -> bool:
        """Check whether a recorded mechanism proves it, at a cost in epsilon: a randomised or synthetic table."""
        return self.kind in {RemedyKind.RANDOMISED, RemedyKind.SYNTHETIC}


@dataclass(frozen=True, slots=True)
class RemedyNotUsable:
    """A remedy that cannot be used with this release, and why."""

    name: str
    why: str


def plans_of(case: ReleaseColumns, kinds: Mapping[str, Any]) -> Sequence[TreatmentPlan | RemedyNotUsable]:
    """Return every way that the release declares, or else a sensible set; first the table as it is.

    `kinds`: the Ibis types of the table's columns.
    """
    return [_as_it_is(case, kinds), *(plan_of(case, recipe, kinds) for recipe in _recipes(case).values())]


def check_remedy_name(case: ReleaseColumns, name: str) -> None:
    """Check that the release has a remedy of this name; the table is not read.

    Raises:
        Stop: it has not.
    """
    names = [AS_IT_IS, *_recipes(case)]
    if name not in names:
        message = f"release '{case.name}' has no remedy '{name}'{did_you_mean(name, names)} (known: {', '.join(names)})"
        raise Stop(ExitCode.USAGE, Problem("release.no_remedy", message))


def find_plan(case: ReleaseColumns, name: str, kinds: Mapping[str, Any]) -> TreatmentPlan:
    """Return the plan of one remedy by name; the others are not evaluated.

    Raises:
        Stop: there is none of that name, or it cannot be used.
    """
    check_remedy_name(case, name)
    if name == AS_IT_IS:
        return _as_it_is(case, kinds)
    plan = plan_of(case, _recipes(case)[name], kinds)
    if isinstance(plan, RemedyNotUsable):
        raise Stop(
            ExitCode.USAGE, Problem("release.no_remedy", f"remedy '{name}' of release '{case.name}': {plan.why}")
        )
    return plan


def plan_of(case: ReleaseColumns, recipe: Recipe, kinds: Mapping[str, Any]) -> TreatmentPlan | RemedyNotUsable:
    """Make one way of its words."""
    try:
        return _MAKERS[recipe.remedy](case, recipe, kinds)
    except ValidationError as error:
        text = "; ".join(map(describe_error, error.errors(include_url=False, include_input=False)))
        return RemedyNotUsable(recipe.name, text)
    except Misfit as error:
        return RemedyNotUsable(recipe.name, str(error))
    except Stop as stop:
        return RemedyNotUsable(recipe.name, "; ".join(problem.message for problem in stop.problems))


def _as_it_is(case: ReleaseColumns, kinds: Mapping[str, Any]) -> TreatmentPlan:
    return TreatmentPlan(AS_IT_IS, RemedyKind.TABLE, _present(case.leaving, kinds))


def _recipes(case: ReleaseColumns) -> Mapping[str, Recipe]:
    """Return the remedies of a release by name, in their order."""
    return {recipe.name: recipe for recipe in case.release.remedies or _default(case)}


def _default(case: ReleaseColumns) -> Sequence[Recipe]:
    """Return what is compared where a release declares nothing."""
    recipes = [
        Recipe(remedy="generalise"),
        Recipe.model_validate({"remedy": "generalise", "id": "mondrian", "search": "mondrian"}),
        Recipe(remedy="microaggregate"),
        Recipe(remedy="suppress"),
    ]
    budget = case.project.config.budgets.get(case.release.table)
    if budget is not None and (
        cells := [name for name in case.quasi if isinstance(budget.domain.get(name), CategoryColumn)]
    ):
        recipes += [
            Recipe.model_validate({"remedy": "randomise", "columns": cells, "drop": "rest", "epsilon": 1}),
            Recipe.model_validate({"remedy": "synthesise", "columns": cells, "epsilon": 1}),
            Recipe.model_validate({"remedy": "answers", "statistic": "histogram", "by": cells, "epsilon": 1}),
        ]
    return recipes


def _generalise(case: ReleaseColumns, recipe: Recipe, kinds: Mapping[str, Any]) -> TreatmentPlan:
    from monitor.releases.treatment.declared_hierarchies import hierarchies_for
    from remedies.generalisation import hierarchy_spec
    from remedies.generalise import Generalise

    settings, columns = dict(recipe.settings), _leaving(case, recipe, kinds)
    quasi = _named(settings, case.quasi, columns)
    declared = settings.pop("hierarchies", None)
    folder = case.folder / declared if isinstance(declared, str) else None
    inline = {name: hierarchy_spec(item) for name, item in declared.items()} if isinstance(declared, Mapping) else {}
    declared = hierarchies_for(quasi, inline=(), folder=folder, declared={**case.release.hierarchies, **inline})
    searches = settings.get("search", "incognito")
    flat = {name: hierarchy_spec({"type": "flat"}) for name in quasi if not _numeric(kinds[name], searches)}
    remedy = Generalise.model_validate(
        {**_limits(case), "hierarchies": {**flat, **declared}, **settings, "columns": quasi}
    )
    return TreatmentPlan(recipe.name, RemedyKind.TABLE, columns, remedy)


def _numeric(kind: Any, search: str) -> bool:
    return search == "mondrian" and bool(kind.is_numeric())


def _microaggregate(case: ReleaseColumns, recipe: Recipe, kinds: Mapping[str, Any]) -> TreatmentPlan:
    from remedies.microaggregate import Microaggregate

    settings, columns = dict(recipe.settings), _leaving(case, recipe, kinds)
    quasi = _named(settings, case.quasi, columns)
    limits = case.release.limits
    judged = [name for name in quasi if name in case.sensitive and (limits.l is not None or limits.t is not None)]
    if judged:
        raise Misfit(f"'{judged[0]}' is sensitive with a limit on l or t: averages of its values would count as values")
    parts = dict(settings.pop("kinds", {}))
    nominal = [name for name in quasi if parts.get(name, _kind_of(kinds[name])) == "nominal"]
    ordinal = {name: () for name in quasi if parts.get(name) == "ordinal"}
    given = {"k": case.k, "nominal": nominal, "ordinal": ordinal, **settings, "columns": quasi}
    return TreatmentPlan(recipe.name, RemedyKind.TABLE, columns, Microaggregate.model_validate(given))


def _kind_of(kind: Any) -> str:
    return "numeric" if kind.is_numeric() or kind.is_temporal() else "nominal"


def _suppress(case: ReleaseColumns, recipe: Recipe, kinds: Mapping[str, Any]) -> TreatmentPlan:
    from remedies.suppress import Suppress

    settings, columns = dict(recipe.settings), _leaving(case, recipe, kinds)
    quasi = _named(settings, case.quasi, columns)
    remedy = Suppress.model_validate({**_limits(case), **settings, "columns": quasi})
    return TreatmentPlan(recipe.name, RemedyKind.TABLE, columns, remedy)


def _code(case: ReleaseColumns, recipe: Recipe, kinds: Mapping[str, Any]) -> TreatmentPlan:
    from remedies.code import Code

    return TreatmentPlan(
        recipe.name, RemedyKind.TABLE, _leaving(case, recipe, kinds), Code.model_validate(recipe.settings)
    )


def _randomise(case: ReleaseColumns, recipe: Recipe, kinds: Mapping[str, Any]) -> TreatmentPlan:
    from remedies.randomise import Randomise

    settings, domains, others = _domains(case, recipe)
    remedy = Randomise.model_validate({"others": others, **settings, "domains": domains})
    columns = _leaving(case, recipe, kinds)
    return TreatmentPlan(recipe.name, RemedyKind.RANDOMISED, _rest_dropped(recipe, columns, remedy.columns), remedy)


def _domains(case: ReleaseColumns, recipe: Recipe) -> tuple[dict[str, Any], Mapping[str, Any], Mapping[str, Any]]:
    """Return the other settings of a remedy, and by column its domain and what other values are taken for.

    Raises:
        Misfit: a column has no domain; none is ever taken from the table.
    """
    from pydantic import TypeAdapter

    from remedies.differential_privacy.answers import BoundedColumn, Domain

    settings = dict(recipe.settings)
    budget = case.project.config.budgets.get(case.release.table)
    parts = settings.pop("domain", None) or ({} if budget is None else budget.domain)
    named = settings.pop("columns", None) or list(parts)
    read = {name: TypeAdapter(Domain).validate_python(parts[name]) for name in named if name in parts}
    lacking = [name for name in named if name not in read or isinstance(read[name], BoundedColumn)]
    if lacking:
        raise Misfit(f"'domain' is missing the values of {', '.join(lacking)}")
    domains = {name: item.values if isinstance(item, CategoryColumn) else item for name, item in read.items()}
    others = {name: other for name, item in read.items() if (other := getattr(item, "other", None)) is not None}
    return settings, domains, others


def _synthesise(case: ReleaseColumns, recipe: Recipe, kinds: Mapping[str, Any]) -> TreatmentPlan:
    """Plan a synthetic table. Neighbours, unit and accounting are those of the budget where the table has one."""
    from remedies.differential_privacy import Accounting
    from remedies.synthesise import Synthesise

    settings, domains, others = _domains(case, recipe)
    if not domains:
        raise Misfit(
            f"'domain' is missing: declare the columns and their values, there or in 'budgets' of {case.release.table}"
        )
    given: dict[str, Any] = {"others": others, "unit": case.release.person_key}
    budget = case.project.config.budgets.get(case.release.table)
    if budget is not None:
        given |= {"adjacency": budget.adjacency, "rows_per_unit": budget.rows_per_unit}
        given |= {"unit": budget.unit[0]} if len(budget.unit) == 1 else {}
    zcdp = budget is not None and budget.accounting is Accounting.ZCDP
    if not zcdp and {"rho", "delta"} & set(settings):
        raise Misfit("'rho' and 'delta' need a budget of the table with 'accounting: zcdp'")
    if zcdp and settings.setdefault("delta", budget.delta if budget else None) != (budget and budget.delta):
        raise Misfit("'delta' is that of the budget; leave it out")
    remedy = Synthesise.model_validate({**given, **settings, "domains": domains})
    columns = _rest_dropped(Recipe(remedy=recipe.remedy, drop="rest"), _leaving(case, recipe, kinds), remedy.columns)
    return TreatmentPlan(recipe.name, RemedyKind.SYNTHETIC, columns, remedy)


def _answers(case: ReleaseColumns, recipe: Recipe, kinds: Mapping[str, Any]) -> TreatmentPlan:
    del kinds
    budget = case.project.config.budgets.get(case.release.table)
    if budget is None:
        raise Misfit(f"noisy answers need a budget: declare 'budgets' of '{case.release.table}'")
    settings = dict(recipe.settings)
    word = str(settings.get("statistic"))
    if word not in STATISTICS:
        raise Misfit(f"'statistic' is one of {', '.join(STATISTICS)}")
    statistic = STATISTICS[word].model_validate(settings)
    statistic.check(budget.terms)
    return TreatmentPlan(recipe.name, RemedyKind.ANSWERS, tuple(statistic.reads()), statistic=statistic)


_MAKERS: Final[Mapping[str, Callable[[ReleaseColumns, Recipe, Mapping[str, Any]], TreatmentPlan]]] = {
    "answers": _answers,
    "code": _code,
    "generalise": _generalise,
    "microaggregate": _microaggregate,
    "randomise": _randomise,
    "suppress": _suppress,
    "synthesise": _synthesise,
}


def _limits(case: ReleaseColumns) -> Mapping[str, Any]:
    """Return the limits as remedies take them that keep k, l and t."""
    limits = case.release.limits
    return {
        "k": case.k,
        "l": {} if limits.l is None else {name: {"l": limits.l, **case.declared(name)} for name in case.sensitive},
        "t": {} if limits.t is None else {name: {"t": limits.t, **case.declared(name)} for name in case.sensitive},
    }


def _leaving(case: ReleaseColumns, recipe: Recipe, kinds: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that leave: all that may, but those that are dropped."""
    drop = () if recipe.drop == "rest" else recipe.drop
    strange = [name for name in drop if name not in case.leaving]
    if strange:
        raise Misfit(f"'drop' names '{strange[0]}', which is not exported; exported: {', '.join(case.leaving)}")
    return tuple(name for name in _present(case.leaving, kinds) if name not in drop)


def _rest_dropped(recipe: Recipe, columns: Sequence[str], treated: Sequence[str]) -> tuple[str, ...]:
    strange = [name for name in treated if name not in columns]
    if strange:
        raise Misfit(f"column '{strange[0]}' is not exported by the release; exported: {', '.join(columns)}")
    return tuple(name for name in columns if name in treated) if recipe.drop == "rest" else tuple(columns)


def _named(settings: dict[str, Any], quasi: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that a remedy treats: those that are said, else all quasi-identifiers that leave."""
    wanted_columns = settings.pop("columns", None)
    names = tuple(name for name in quasi if name in columns) if wanted_columns is None else tuple(wanted_columns)
    if not names:
        raise Misfit("no quasi-identifier is exported, so there is nothing to treat")
    strange = [name for name in names if name not in columns]
    if strange:
        raise Misfit(f"column '{strange[0]}' is not exported by the release; exported: {', '.join(columns)}")
    return names


def _present(columns: Sequence[str], kinds: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(name for name in columns if name in kinds)


def kinds_of(case: ReleaseColumns) -> Mapping[str, Any]:
    """Return the Ibis types of the table's columns.

    Raises:
        Stop: it cannot be read.
    """
    from monitor.releases.treatment.table_reader import reading

    with reading(case.place) as (_, table):
        return dict(table.schema().items())
