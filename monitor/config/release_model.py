"""A release of a table: its columns, limits, remedies and approvers."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from annotated_types import Ge, Gt, Le, MinLen
from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, model_validator

from checks import ColumnClass, did_you_mean
from checks.parameters.columns import ColumnName
from monitor.config.scalars import PositiveDuration, Section, ShortName
from remedies.differential_privacy.epsilon import WrittenLoss

RECIPES: Final = ("answers", "code", "generalise", "microaggregate", "randomise", "suppress", "synthesise")
"""What a release can be treated with: the remedies, and noisy answers in the place of records."""


class Limits(Section):
    """Limits of a release; each becomes a check of its table."""

    k: Annotated[int, Ge(2)] | None = Field(None, description="Minimum equivalence class size.")
    l: Annotated[float, Gt(1)] | None = Field(
        None, description="Minimum distinct sensitive values per equivalence class."
    )
    t: Annotated[float, Gt(0), Le(1)] | None = Field(
        None, description="Maximum distance between the sensitive values of a class and of the table."
    )
    max_risk: Annotated[float, Gt(0), Le(0.5)] | None = Field(
        None, description="Maximum re-identification risk of a record: 0.2 is k = 5."
    )
    max_average_risk: Annotated[float, Gt(0), Le(1)] | None = Field(
        None, description="Maximum mean re-identification risk."
    )
    max_population_unique_fraction: Annotated[float, Ge(0), Le(1)] | None = Field(
        None, description="Maximum share of population uniques."
    )
    max_individual_risk: Annotated[float, Gt(0), Le(1)] | None = Field(
        None, description="Maximum individual risk of a record, by the `weight` of its class or `sampling_fraction`."
    )
    max_group_risk: Annotated[float, Gt(0), Le(1)] | None = Field(
        None, description="Maximum risk of a group of `group_key`."
    )
    sampling_fraction: Annotated[float, Ge(1e-9), Le(1)] = Field(
        1.0, description="Sampling fraction of the population; 1, all of it, is the strictest."
    )
    unclassified_uniqueness: Annotated[float, Ge(0), Le(1)] | None = Field(
        None,
        description="Maximum share of records that a column classified 'other' may identify, alone or "
        "within the classes of the quasi-identifiers.",
    )
    epsilon: WrittenLoss | None = Field(
        None,
        description="Maximum epsilon of a randomised or synthetic table or of noisy answers; "
        "required to publish these.",
    )

    @property
    def least_k(self) -> int | None:
        """Return the smallest group that is allowed, by `k` and by the highest risk."""
        minimums = [item for item in (self.k, None if self.max_risk is None else math.ceil(1 / self.max_risk)) if item]
        return max(minimums, default=None)

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.max_average_risk is not None and self.least_k is None:
            raise ValueError("'max_average_risk' goes with 'k'")
        return self


_SHAPES: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "columns": ((list, tuple), "a list of column names"),
    "domain": ((Mapping,), "a mapping of columns to their values"),
    "hierarchies": ((Mapping, str), "a mapping of columns to hierarchies, or a folder"),
    "kinds": ((Mapping,), "a mapping of columns to kinds"),
    "search": ((str,), "the name of a search"),
}
"""Parameters that are read before their remedy checks them."""


class Recipe(BaseModel):
    """A remedy of a release with its parameters. Defaults come from the release."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True, allow_inf_nan=False)

    remedy: str
    id: ShortName | None = Field(None, description="Its name within the release; by default that of the remedy.")
    drop: Literal["rest"] | tuple[ColumnName, ...] = Field(
        (), description="Columns to drop; 'rest' is every column that the remedy does not treat."
    )

    @model_validator(mode="after")
    def _parameters_have_their_shapes(self) -> Self:
        for word, (kinds, shape) in _SHAPES.items():
            value = self.settings.get(word)
            if value is not None and not isinstance(value, kinds):
                raise ValueError(f"'{word}' of the remedy '{self.remedy}' takes {shape}")
        columns = self.settings.get("columns") or ()
        if not all(isinstance(name, str) for name in columns):
            raise ValueError(f"'columns' of the remedy '{self.remedy}' takes a list of column names")
        return self

    @property
    def name(self) -> str:
        """Return its name within the release."""
        return self.id or self.remedy

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the settings of the remedy."""
        return dict(self.model_extra or {})


class Release(Section):
    """A table to be published or shared."""

    table: str
    audience: str | None = Field(None, description="Recipients of the release.")
    purpose: str | None = Field(None, description="Purpose of the release.")
    columns: dict[str, ColumnClass] = Field(
        {}, description="Classification of every column; an unclassified column fails the release."
    )
    pseudonyms: tuple[ColumnName, ...] = Field(
        (), description="Direct identifiers to publish as release-specific pseudonyms; all others are dropped."
    )
    limits: Limits = Limits()
    hierarchies: dict[str, SerializeAsAny[Any]] = Field(  # each a HierarchySpec; `load` builds them beforehand
        {}, description="Generalisation hierarchy by column."
    )
    person_key: ColumnName | None = Field(
        None, description="Column that identifies the person; used to compare later releases of the same people."
    )
    weight: ColumnName | None = Field(
        None, description="Column of sampling weights: how many of the population a row stands for, at least 1."
    )
    group_key: ColumnName | None = Field(
        None, description="Column of groups (households) of which a member who is found names the others."
    )
    missing_is_a_value: tuple[ColumnName, ...] = Field(
        (), description="Sensitive columns in which NULL counts as a value of its own towards l and t."
    )
    spelling_is_a_value: tuple[ColumnName, ...] = Field(
        (), description="Sensitive columns in which each spelling counts as a value of its own towards l and t."
    )
    re_release: Literal["refuse", "warn"] = Field(
        "refuse", description="Action when an earlier release and this one together expose a person."
    )
    analyses: dict[str, Annotated[str, MinLen(1)]] = Field(
        {}, description="By name, a SELECT from `data` that the audience will ask: remedies are compared by it."
    )
    legal_basis: str | None = Field(None, description="Recorded, not evaluated.")
    remedies: tuple[Recipe, ...] = Field((), description="Remedies that can be compared and approved.")
    approvers: tuple[str, ...] = Field((), description="Approvers, from `owners`; never the owner of the table.")
    expires_after: PositiveDuration | None = Field(None, description="Validity of an approval.")

    @model_validator(mode="before")
    @classmethod
    def _remedies_are_named(cls, raw: Any) -> Any:
        remedies = raw.get("remedies") if isinstance(raw, Mapping) else None
        for item in remedies if isinstance(remedies, list | tuple) else ():
            word = item.get("remedy") if isinstance(item, Mapping) else getattr(item, "remedy", None)
            if word not in RECIPES:
                text = f"{word!r}{did_you_mean(str(word), RECIPES)}" if word is not None else "none"
                raise ValueError(f"each of 'remedies' names its 'remedy', one of {', '.join(RECIPES)}; seen: {text}")
            if word in {"randomise", "synthesise"} and isinstance(item, Mapping) and "domains" in item:
                raise ValueError(f"unknown key 'domains' of the remedy '{word}'; did you mean 'domain'?")
        return raw

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        names = [remedy.name for remedy in self.remedies]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"'remedies' has two that are called '{twice[0]}'; give one of them an 'id'")
        odd = [name for name in self.pseudonyms if self.columns.get(name) is not ColumnClass.DIRECT_IDENTIFIER]
        if odd:
            raise ValueError(f"'pseudonyms' names '{odd[0]}', which 'columns' does not classify as direct-identifier")
        for word in ("weight", "group_key"):
            if self.columns.get(getattr(self, word)) is ColumnClass.QUASI_IDENTIFIER:
                raise ValueError(
                    f"'{word}' names '{getattr(self, word)}', which 'columns' classifies as quasi-identifier"
                )
        if self.limits.max_group_risk is not None and self.group_key is None:
            raise ValueError("'max_group_risk' goes with 'group_key'")
        for word in ("missing_is_a_value", "spelling_is_a_value"):
            odd = [name for name in getattr(self, word) if self.columns.get(name) is not ColumnClass.SENSITIVE]
            if odd and self.columns:
                raise ValueError(f"'{word}' names '{odd[0]}', which 'columns' does not classify as sensitive")
        return self

    @property
    def key_columns(self) -> Mapping[str, str]:
        """Return the columns that it names by what they say of a row: `person_key`, `weight`, `group_key`."""
        words = ("person_key", "weight", "group_key")
        return {word: name for word in words if (name := getattr(self, word)) is not None}

    @property
    def names_of_people(self) -> tuple[str, ...]:
        """Return the direct identifiers that may each be of one person: not those of groups."""
        return tuple(name for name in self.classified(ColumnClass.DIRECT_IDENTIFIER) if name != self.group_key)

    def classified(self, *words: ColumnClass) -> tuple[str, ...]:
        """Return the columns of these classes, in the order of the declaration."""
        return tuple(column for column, result in self.columns.items() if result in words)

    def recipe(self, name: str) -> Recipe | None:
        """Return one of its remedies by name."""
        return next((remedy for remedy in self.remedies if remedy.name == name), None)
