"""Values become broader ones, level by level, until no combination of them belongs to fewer than k records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Self

from annotated_types import Ge
from pydantic import Field, model_validator

from checks import Json
from checks.parameters.columns import ColumnName
from checks.parameters.scalars import PositiveDuration
from checks.risk import Hierarchy
from remedies._contract import Progress, Remedy, check_columns
from remedies._errors import Misfit, Refused
from remedies.generalisation import By
from remedies.generalisation.limits import Declared, Share
from remedies.generalisation.recoded import ChosenLevels, Recodes, plain_number

if TYPE_CHECKING:
    import pandas as pd

    from remedies.generalisation import HierarchyFault, Optimum, Recoding
    from remedies.generalisation.choices import LevelChoices
    from remedies.generalisation.criteria import Criterion
    from remedies.generalisation.frequencies import Frequencies
    from remedies.generalisation.suppression import Mixed


class SearchMethod(StrEnum):
    """How levels are found; docs/remedies.md says when to prefer which."""

    INCOGNITO = "incognito"
    MONDRIAN = "mondrian"
    DATAFLY = "datafly"


class Generalise(Recodes):
    """Generalisation of named columns, each along a hierarchy."""

    summary: ClassVar[str] = (
        "Values are generalised level by level until every equivalence class has k records or more."
    )
    treats: ClassVar[frozenset[str]] = frozenset(
        {"k_anonymity", "l_diversity", "population_uniqueness", "reidentification_by_subset", "t_closeness"}
    )

    type: Literal["generalise"] = "generalise"
    hierarchies: Mapping[ColumnName, Declared] = Field(
        default_factory=dict,
        description="Generalisation hierarchy by column; numbers need none with `mondrian`.",
    )
    suppress: Share = Field(0.0, description="Maximum share of rows that may be suppressed, such as `2%`.")
    by: By = Field(By.LOSS, description="Measure that `incognito` minimises.")
    search: SearchMethod = Field(SearchMethod.INCOGNITO, description="Search method for levels.")
    levels: Mapping[ColumnName, Annotated[int, Ge(0)]] | None = Field(
        None, description="Fixed levels instead of a search; 0 for columns not named."
    )
    budget: PositiveDuration | None = Field(None, description="Time limit of `incognito`.")

    @model_validator(mode="after")
    def _names_are_columns(self) -> Self:
        for word, names in (("hierarchies", self.hierarchies), ("levels", self.levels or {})):
            unknown = sorted(set(names) - set(self.columns))
            if unknown:
                raise ValueError(f"'{word}' names a column that is not in 'columns': {', '.join(unknown)}")
        lacking = [name for name in self.columns if name not in self.hierarchies]
        if lacking and (self.search is not SearchMethod.MONDRIAN or self.levels is not None):
            raise ValueError(
                f"no hierarchy for {', '.join(lacking)}; declare one for each; 'flat' is the value or nothing of it"
            )
        return self

    @model_validator(mode="after")
    def _words_go_together(self) -> Self:
        parts = self.model_fields_set - {"levels"}
        if self.levels is not None:
            without, what = {"search", "by", "budget"}, "fixed 'levels' leave nothing to search"
        else:
            without = {
                SearchMethod.INCOGNITO: set[str](),
                SearchMethod.DATAFLY: {"by", "budget"},
                SearchMethod.MONDRIAN: {"by", "budget", "suppress"},
            }[self.search]
            what = f"'{self.search}' does not go by that"
        unused = sorted(name for name in parts & without if getattr(self, name) not in (None, 0.0))
        if unused:
            raise ValueError(f"{what}: remove {', '.join(unused)}")
        return self

    def faults(self, table: pd.DataFrame) -> Iterator[tuple[str, HierarchyFault]]:
        """Yield what is fatally wrong with each column's hierarchy, for the values that a table has in it.

        Raises:
            Misfit: a column is not there, or its values have no place in its hierarchy.
        """
        check_columns(self.columns, table)
        for name in self.columns:
            for fault in self._faults_of(name, table):
                if fault.fatal:
                    yield name, fault

    def doubts(self, table: pd.DataFrame) -> Iterator[tuple[str, HierarchyFault]]:
        """Yield what is strange about each column's hierarchy, though it can be used.

        Raises:
            Misfit: as `faults`.
        """
        check_columns(self.columns, table)
        for name in self.columns:
            for fault in self._faults_of(name, table):
                if not fault.fatal:
                    yield name, fault

    def built(self, table: pd.DataFrame) -> Mapping[str, Hierarchy]:
        """Return the hierarchy of each column, for the values that a table has in it.

        Raises:
            Misfit: as `faults`, or there is a fault: all of them are named.
        """
        from remedies.generalisation.levels import with_plain

        wrong = [f"column '{name}': {fault.message}" for name, fault in self.faults(table)]
        if wrong:
            raise Misfit("; ".join(wrong))
        hierarchies = {name: self._build(name, table) for name in self.columns if name in self.hierarchies}
        every = with_plain(table, hierarchies, self.columns)
        return {name: every[name] for name in self.columns}

    def _faults_of(self, name: str, table: pd.DataFrame) -> tuple[HierarchyFault, ...]:
        from remedies.generalisation import hierarchy_faults

        declared = self.hierarchies.get(name)
        if declared is None:
            return ()
        if isinstance(declared, Hierarchy):
            return hierarchy_faults(declared, table[name])
        try:
            faults: tuple[HierarchyFault, ...] = declared.faults(table[name])
        except Misfit as error:
            raise Misfit(f"column '{name}': {error}") from None
        return faults

    def _build(self, name: str, table: pd.DataFrame) -> Hierarchy:
        declared = self.hierarchies[name]
        hierarchy: Hierarchy = declared if isinstance(declared, Hierarchy) else declared.build(table[name])
        return hierarchy

    def choose(
        self, frequencies: Frequencies, *, progress: Progress | None = None, key: bytes | None = None
    ) -> ChosenLevels:
        """Choose what becomes of a frequency table: by the levels that are fixed, or by a search.

        Raises:
            Misfit: it has fewer than k rows, or does not fit what is asked.
            Refused: nothing that holds was found.
        """
        from remedies.generalisation.criteria import rows_of
        from remedies.generalisation.suppression import mix_suppressed

        began, criteria, most = perf_counter(), self.criteria(frequencies), rows_of(self.suppress, frequencies.rows)
        recoding, result = self._chosen(frequencies, self.suppress, progress, key)
        mixed = _mixed(recoding, self.k, criteria, key)
        for share in (self.suppress / 2, self.suppress / 4, 0.0):
            if mixed is not None and mixed.recoding.rows_suppressed <= most:
                break
            if self.levels is not None:
                raise Refused(
                    "at these levels classes suppressed for their sensitive values, and the others that conceal "
                    f"the reason, would exceed the {most:,} records that may be suppressed; choose higher "
                    "levels, or allow more"
                )
            recoding, result = self._chosen(frequencies, share, progress, key)
            mixed = _mixed(recoding, self.k, criteria, key)
        mixed = mixed or mix_suppressed(recoding, self.k, criteria, key=key)
        figures = self._figures(mixed.recoding, result, perf_counter() - began)
        return ChosenLevels(mixed.recoding, {**figures, "mixed": mixed.as_json()})

    def _chosen(
        self, frequencies: Frequencies, share: float, progress: Progress | None, key: bytes | None
    ) -> tuple[Recoding, Optimum | None]:
        """Choose, where at most a share of the rows may be suppressed."""
        if self.levels is not None:
            return self._fixed(frequencies, share), None
        if self.search is SearchMethod.MONDRIAN:
            return self._cut_apart(frequencies, progress, key), None
        if self.search is SearchMethod.DATAFLY:
            return self._raised(frequencies, share), None
        return self._optimal(frequencies, share, progress)

    def choices(
        self, frequencies: Frequencies, *, every: bool = False, progress: Progress | None = None
    ) -> LevelChoices:
        """Return all that holds and is minimal, or `every` node that holds, with what each loses; nothing is chosen.

        Raises:
            Misfit: as `choose`.
        """
        from remedies.generalisation.choices import choices
        from remedies.generalisation.incognito_search import generalisations

        budget = None if self.budget is None else self.budget.total_seconds()
        tell = None if progress is None else lambda share: progress(share / 2)
        criteria = self.criteria(frequencies)
        request: dict[str, Any] = {"criteria": criteria, "budget": budget, "progress": tell}
        current_generalisations = generalisations(frequencies, self.k, self.suppress, **request)
        tell = None if progress is None else lambda share: progress(0.5 + share / 2)
        return choices(
            frequencies, current_generalisations, self.k, by=self.by, every=every, criteria=criteria, progress=tell
        )

    def _fixed(self, frequencies: Frequencies, share: float) -> Recoding:
        from remedies.generalisation.criteria import check_k, rows_of

        check_k(frequencies, self.k)
        levels = [(self.levels or {}).get(name, 0) for name in frequencies.columns]
        recoding = self._at(frequencies, levels)
        most = rows_of(share, frequencies.rows)
        if recoding.rows_suppressed > most:
            raise Refused(
                f"at these levels {recoding.rows_suppressed:,} of {frequencies.rows:,} records break a limit, and "
                f"{most:,} may be suppressed; choose higher levels, or allow more"
            )
        return recoding

    def _optimal(self, frequencies: Frequencies, share: float, progress: Progress | None) -> tuple[Recoding, Optimum]:
        from remedies.generalisation.optimal_search import optimum

        budget = None if self.budget is None else self.budget.total_seconds()
        request: dict[str, Any] = {"criteria": self.criteria(frequencies), "budget": budget, "progress": progress}
        current_optimum = optimum(frequencies, self.k, share, by=self.by, **request)
        if current_optimum.levels is None:
            why = "meets the limits" if current_optimum.proved else "was found within the budget"
            hint = "allow more suppression, add a root such as '*' to the hierarchies, or relax the limits"
            raise Refused(f"no generalisation {why}; {hint}")
        return self._at(frequencies, current_optimum.levels), current_optimum

    def _raised(self, frequencies: Frequencies, share: float) -> Recoding:
        from remedies.generalisation.datafly_search import raise_until

        return raise_until(frequencies, self.k, share, criteria=self.criteria(frequencies)).recoding

    def _cut_apart(self, frequencies: Frequencies, progress: Progress | None, key: bytes | None) -> Recoding:
        from remedies.generalisation.mondrian_search import cut_apart
        from remedies.generalisation.representatives import is_numeric

        numeric = [
            domain.column
            for domain in frequencies.domains
            if domain.column not in self.hierarchies and is_numeric(domain)
        ]
        criteria = self.criteria(frequencies)
        return cut_apart(frequencies, self.k, numeric=numeric, criteria=criteria, progress=progress, key=key)

    def _at(self, frequencies: Frequencies, levels: Any) -> Recoding:
        """Generalise to a node, and suppress what breaks a limit there."""
        from remedies.generalisation import Recoding
        from remedies.generalisation.limits_of_classes import broken_combinations

        recoding = Recoding.of_node(frequencies, levels)
        broken = broken_combinations(frequencies, recoding.levels or (), self.k, self.criteria(frequencies))
        return Recoding(frequencies, recoding.columns, broken, recoding.levels)

    def _figures(self, recoding: Recoding, optimum: Optimum | None, seconds: float) -> Mapping[str, Json]:
        from remedies.generalisation import utilities

        return {
            "search": "fixed levels" if self.levels is not None else self.search.value,
            "levels": self._levels_of(recoding),
            "by": None if optimum is None else optimum.by.value,
            "value": None if optimum is None else plain_number(_value(optimum)),
            "proved": None if optimum is None else optimum.proved,
            "nodes": None if optimum is None else optimum.lattice,
            "looked": None if optimum is None else optimum.searched,
            "suppression_limit": self.suppress,
            "utilities": utilities(recoding, k=self.k).as_json(),
            "seconds": seconds,
        }

    def _levels_of(self, recoding: Recoding) -> Mapping[str, Json] | None:
        """Return the level of each column; None of a local recoding."""
        from remedies.generalisation.spec import level_name

        if recoding.levels is None:
            return None
        return {
            domain.column: {
                "level": level,
                "of": domain.height,
                "name": level_name(self.hierarchies.get(domain.column), domain.hierarchy, level),
            }
            for domain, level in zip(recoding.frequencies.domains, recoding.levels, strict=True)
        }


def _mixed(recoding: Recoding, k: int, criteria: Sequence[Criterion], key: bytes | None) -> Mixed | None:
    """Return as `mix_suppressed` does; None where too few classes hold."""
    from remedies.generalisation.suppression import mix_suppressed

    try:
        return mix_suppressed(recoding, k, criteria, key=key)
    except Refused:
        return None


def _value(optimum: Optimum) -> float | None:
    """Return the measure as `utilities` defines it: of precision a search takes what is missing to 1."""
    return 1 - optimum.value if optimum.by is By.PRECISION and optimum.value is not None else optimum.value


REMEDY: Final[type[Remedy]] = Generalise
