"""Turn the limits of a release into checks of its table, so that they are watched like anything else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from checks import Check, ColumnClass, load_catalog
from monitor.config.messages import problem_at
from monitor.config.model import Config
from monitor.config.yaml_nodes import Node, child, entries
from monitor.terminal.problem import Problem

if TYPE_CHECKING:
    from monitor.config.release_model import Release

_GROUPED: Final = (ColumnClass.QUASI_IDENTIFIER,)
_SPREAD: Final = (ColumnClass.QUASI_IDENTIFIER, ColumnClass.SENSITIVE)
_NEEDED: Final[Mapping[str, tuple[ColumnClass, ...]]] = {
    **dict.fromkeys(("k", "max_risk", "max_average_risk", "max_population_unique_fraction"), _GROUPED),
    **dict.fromkeys(("max_individual_risk", "max_group_risk"), _GROUPED),
    **dict.fromkeys(("l", "t"), _SPREAD),
}
"""By limit, what has to be classified for it to be judged."""


def with_releases(tree: Node, config: Config) -> tuple[Config, list[Problem], list[Problem]]:
    """Return a configuration with the checks of its releases, what is wrong with these, and what is to note."""
    config = _with_columns(config)
    problems = [*_taken_ids(tree, config), *_unasked_limits(tree, config), *_conflicting_classes(tree, config)]
    return _with_release_checks(config), problems, list(_free_values(config))


def _with_columns(config: Config) -> Config:
    """Return the configuration in which a release that classifies no column says what its table does.

    Whatever judges a release judges these: without them, none of its limits would be asked.
    """
    columns = {table.name: table.columns for table in config.tables}
    releases = {
        name: release if release.columns else release.model_copy(update={"columns": columns.get(release.table, {})})
        for name, release in config.releases.items()
    }
    return config.model_copy(update={"releases": releases})


def _with_release_checks(config: Config) -> Config:
    """Return the configuration with the checks of each release among those of its table."""
    tables = [
        table.model_copy(update={"checks": (*table.checks, *_checks_on(config, table.name))}) for table in config.tables
    ]
    return config.model_copy(update={"tables": tuple(tables)})


def _taken_ids(tree: Node, config: Config) -> Iterator[Problem]:
    """Find checks whose id a release needs for its own."""
    taken_in = {table.name: {check.name for check in table.checks} for table in config.tables}
    for name, node in entries(child(tree, "releases")).items():
        release = config.releases[name]
        ids = taken_in.get(release.table, set())
        for check in release_checks(name, release):
            if check.name in ids:
                message = (
                    f"table '{release.table}' has a check '{check.name}', a name reserved for the release's own check"
                )
                yield problem_at(node.place, "config.duplicate_check", message, "give one of them another name")


def _unasked_limits(tree: Node, config: Config) -> Iterator[Problem]:
    """Find limits of which nothing could ever be asked: the release would seem to keep them."""
    for name, node in entries(child(tree, "releases")).items():
        release, limits = config.releases[name], child(node, "limits")
        if limits is None or not release.columns:
            continue
        limits_set = sorted(word for word in entries(limits) if getattr(release.limits, word, None) is not None)
        for word in (item for item in limits_set if item in _NEEDED):
            lacking = [item.value for item in _NEEDED[word] if not release.classified(item)]
            if lacking:
                message = f"release '{name}' has a limit '{word}', and classifies no column as {lacking[0]}"
                place = limits.keys.get(word, limits.place)
                yield problem_at(place, "config.limit_of_nothing", message, "classify one, or remove the limit")


@dataclass(frozen=True, slots=True)
class TwoClasses:
    """A column that two releases of one table classify differently."""

    column: str
    release: str
    column_class: ColumnClass
    other: str
    other_class: ColumnClass

    @property
    def message(self) -> str:
        """Return what is wrong, for a person."""
        return (
            f"column '{self.column}' is '{self.column_class}' in release '{self.release}' and '{self.other_class}' in "
            f"release '{self.other}' of the same table"
        )


ONE_CLASS_HINT: Final = (
    "a column must have the same classification in all releases of a table; exclude it with a remedy's 'drop'"
)


def two_classes(releases: Mapping[str, Release]) -> Iterator[TwoClasses]:
    """Yield the columns that releases of one table classify otherwise than an earlier one of these does."""
    first: dict[str, tuple[str, ColumnClass]] = {}
    for name, release in releases.items():
        for column, result in release.columns.items():
            other, other_class = first.setdefault(column, (name, result))
            if other_class is not result:
                yield TwoClasses(column, name, result, other, other_class)


def _conflicting_classes(tree: Node, config: Config) -> Iterator[Problem]:
    """Find columns with two classifications: what one release protects, another one of the table would give out.

    Two names of one table count as one where source and name in the source are the same; what else is the same table,
    `tablewatch config check` finds, and an approval.
    """
    places = {table.name: (table.source, table.table or table.name) for table in config.tables}
    nodes = entries(child(tree, "releases"))
    by_table: dict[object, dict[str, Release]] = {}
    for name, release in config.releases.items():
        by_table.setdefault(places.get(release.table), {})[name] = release
    for releases in by_table.values():
        for two_class in two_classes(releases):
            node = nodes[two_class.release]
            columns = child(node, "columns")
            place = node.place if columns is None else columns.keys.get(two_class.column, columns.place)
            yield problem_at(place, "config.two_classifications", two_class.message, ONE_CLASS_HINT)


def has_free_values(release: Release) -> bool:
    """Return whether a release has a sensitive column, and neither l nor t to protect its values."""
    limits = release.limits
    return bool(release.classified(ColumnClass.SENSITIVE)) and limits.l is None and limits.t is None


FREE_VALUES: Final = (
    "it has a sensitive column and no limit on l or t: all records of an equivalence class may have the same "
    "sensitive value, which then discloses it for each of them"
)


def _free_values(config: Config) -> Iterator[Problem]:
    """Find releases whose sensitive values no limit protects."""
    for name, release in config.releases.items():
        if has_free_values(release):
            yield Problem("config.sensitive_without_limit", f"release '{name}': {FREE_VALUES}", hint="limits: {l: 2}")


def release_checks(name: str, release: Release) -> Sequence[Check]:
    """Return the checks of a release on its table: every column is classified, and each limit."""
    if not release.columns:
        return ()
    quasi = release.classified(ColumnClass.QUASI_IDENTIFIER)
    sensitive = release.classified(ColumnClass.SENSITIVE)
    limits = release.limits
    words = ("missing_is_a_value", "spelling_is_a_value")
    values = {word: names for word in words if (names := getattr(release, word))}
    parameters: dict[str, dict[str, Any]] = {"classification": {"columns": release.columns}}
    if quasi and limits.least_k is not None:
        parameters["k_anonymity"] = {"k": limits.least_k, "max_average_risk": limits.max_average_risk}
    if quasi and sensitive and limits.l is not None:
        parameters["l_diversity"] = {"sensitive": sensitive, "l": limits.l, **values}
    if quasi and sensitive and limits.t is not None:
        parameters["t_closeness"] = {"sensitive": sensitive, "t": limits.t, **values}
    if quasi and (population := _population_limits(release)):
        parameters["population_uniqueness"] = population
    return [_check(name, release, kind, values, quasi) for kind, values in parameters.items()]


def _population_limits(release: Release) -> dict[str, Any]:
    """Return the parameters of what is estimated of the population; nothing where none of it is asked or declared."""
    limits = release.limits
    words = ("max_population_unique_fraction", "max_individual_risk", "max_group_risk")
    asked = {word: limit for word in words if (limit := getattr(limits, word)) is not None}
    if not asked and release.weight is None and release.group_key is None:
        return {}
    of = {"sampling_fraction": limits.sampling_fraction} if release.weight is None else {"weight": release.weight}
    return {**(asked or {"max_individual_risk": 1.0}), **of, "group_key": release.group_key}


def _check(name: str, release: Release, kind: str, parameters: dict[str, Any], quasi: Sequence[str]) -> Check:
    of: dict[str, Any] = {}
    if kind != "classification":
        of = {"quasi_identifiers": quasi, "identifiers": release.names_of_people}
        of |= {} if release.person_key is None else {"person": release.person_key}
        of |= {"pseudonyms": release.pseudonyms} if release.pseudonyms else {}
    who = "" if release.audience is None else f" to {release.audience}"
    why = f"release {name} publishes this table{who}"
    model: Any = load_catalog()[kind]
    check: Check = model(id=f"{name}-{kind.replace('_', '-')}", why=why, **of, **parameters)
    return check


def _checks_on(config: Config, table: str) -> Iterator[Check]:
    for name, release in config.releases.items():
        if release.table == table:
            yield from release_checks(name, release)
