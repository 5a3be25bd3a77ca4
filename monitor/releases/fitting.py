"""Find what releases say that does not fit their tables: remedies that cannot be tried, columns that are not there."""

from collections.abc import Iterator, Sequence

from monitor.config import ConfigError
from monitor.config.load import Loaded
from monitor.config.project import Project
from monitor.config.release_checks import ONE_CLASS_HINT, two_classes
from monitor.releases.columns import ReleaseColumns
from monitor.releases.digests import names_of
from monitor.releases.plan import RemedyNotUsable, kinds_of, plan_of
from monitor.releases.treatment.analysis import Analysis
from monitor.terminal.problem import Problem, Stop
from store import StoreError


def unfit_releases(loaded: Loaded, not_checked: str) -> Iterator[Problem]:
    """Yield what does not fit, at its place. `not_checked`: the code of what says that a table could not be read."""
    project = Project(loaded)
    yield from _same_tables(loaded, project)
    for name, release in loaded.config.releases.items():
        for analysis, query in release.analyses.items():
            yield from _analysis(loaded, ("releases", name, "analyses", analysis), query)
        try:
            yield from _unfit(loaded, ReleaseColumns.of(project, name))
        except Stop as stop:
            text = "; ".join(problem.message for problem in stop.problems)
            yield loaded.problem(("releases", name), not_checked, f"release '{name}' could not be checked: {text}")
        except (StoreError, ConfigError):
            continue  # what is wrong with the store's key, another check says


def _same_tables(loaded: Loaded, project: Project) -> Iterator[Problem]:
    """Find tables that the configuration has under two names, where releases or budgets of them do not go together."""
    config, seen = project.config, set()
    for name in dict.fromkeys([*config.budgets, *(release.table for release in config.releases.values())]):
        names = names_of(project, name)
        if name in seen:
            continue
        seen |= set(names)
        budgets = [budget for budget in config.budgets if budget in names]
        for other in budgets[1:]:
            message = f"'{other}' and '{budgets[0]}' are the same table, which has one budget"
            yield loaded.problem(("budgets", other), "config.two_budgets", message, "remove one of them")
        releases = {key: release for key, release in config.releases.items() if release.table in names}
        for classes in two_classes(releases):
            place = ("releases", classes.release, "columns", classes.column)
            yield loaded.problem(place, "config.two_classifications", classes.message, ONE_CLASS_HINT)


def _unfit(loaded: Loaded, case: ReleaseColumns) -> Iterator[Problem]:
    kinds = kinds_of(case)
    place = ("releases", case.name)
    for word, names in (("columns", case.release.columns), ("hierarchies", case.release.hierarchies)):
        for column in names:
            if column not in kinds:
                yield _gone(loaded, (*place, word, column), case, column)
    for word, column in case.release.key_columns.items():
        if column not in kinds:
            yield _gone(loaded, (*place, word), case, column)
    for number, recipe in enumerate(case.release.remedies):
        result = plan_of(case, recipe, kinds)
        if isinstance(result, RemedyNotUsable):
            message = f"remedy '{result.name}' of release '{case.name}' cannot be evaluated: {result.why}"
            yield loaded.problem((*place, "remedies", number), "config.remedy", message)


def _gone(loaded: Loaded, place: Sequence[str | int], case: ReleaseColumns, column: str) -> Problem:
    from checks import did_you_mean

    entries = kinds_of(case)
    message = f"table '{case.release.table}' has no column '{column}'{did_you_mean(column, entries)}"
    return loaded.problem(tuple(place), "config.no_column", message)


def _analysis(loaded: Loaded, place: Sequence[str | int], query: str) -> Iterator[Problem]:
    try:
        Analysis(query)
    except Stop as stop:
        for problem in stop.problems:
            yield loaded.problem(tuple(place), "config.analysis", problem.message)
