"""A table that is to be given to somebody: which columns, within which limits, treated how, approved by whom."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from annotated_types import Ge, Gt, Le, MinLen
from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, model_validator

from checks import ColumnClass, did_you_mean
from checks.parameters.columns import ColumnName
from monitor.config.scalars import PositiveDuration, Section
from remedies.differential_privacy.epsilon import WrittenLoss

RECIPES: Final = ("answers", "code", "generalise", "microaggregate", "randomise", "suppress")
"""What a release can be treated with: the remedies, and noisy answers in the place of records."""

ReleaseName: TypeAlias = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=60)]


class Limits(Section):
    """What a release must keep to; each limit becomes a check of its table."""

    k: Annotated[int, Ge(2)] | None = Field(None, description="The smallest group of records that are alike.")
    l: Annotated[float, Gt(1)] | None = Field(None, description="Distinct sensitive values in each group, at least.")
    t: Annotated[float, Gt(0), Le(1)] | None = Field(
        None, description="Distance of each group's sensitive values from those of the table, at most."
    )
    max_risk: Annotated[float, Gt(0), Le(0.5)] | None = Field(
        None, description="Highest probability of finding a record again: 0.2 is k = 5."
    )
    max_average_risk: Annotated[float, Gt(0), Le(1)] | None = Field(
        None, description="Mean probability of finding a record again, at most."
    )
    max_population_unique_fraction: Annotated[float, Ge(0), Le(1)] | None = Field(
        None, description="Share of the population that may be unique in it."
    )
    sampling_fraction: Annotated[float, Ge(1e-9), Le(1)] = Field(
        1.0, description="Which share of the population the table is a sample of; 1, all of it, is the strictest."
    )
    unclassified_uniqueness: Annotated[float, Ge(0), Le(1)] | None = Field(
        None, description="Share of the records that a column called 'other' may identify alone, at most."
    )
    epsilon: WrittenLoss | None = Field(
        None, description="Most that a randomised table or noisy answers may cost; needed to give these out."
    )

    @property
    def least_k(self) -> int | None:
        """Return the smallest group that is allowed, by `k` and by the highest risk."""
        asked = [one for one in (self.k, None if self.max_risk is None else math.ceil(1 / self.max_risk)) if one]
        return max(asked, default=None)

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.max_average_risk is not None and self.least_k is None:
            raise ValueError("'max_average_risk' goes with 'k'")
        return self


class Recipe(BaseModel):
    """One way to treat a release: a remedy, and its words. What is left out comes from the release."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True, allow_inf_nan=False)

    remedy: str
    id: ReleaseName | None = Field(None, description="Its name within the release; by default that of the remedy.")
    drop: Literal["rest"] | tuple[ColumnName, ...] = Field(
        (), description="Columns that are left out; 'rest' are all that the remedy does not treat."
    )

    @property
    def name(self) -> str:
        """Return its name within the release."""
        return self.id or self.remedy

    @property
    def words(self) -> Mapping[str, Any]:
        """Return what is said to the remedy."""
        return dict(self.model_extra or {})


class Release(Section):
    """A table that is to be given to somebody."""

    table: str
    audience: str | None = Field(None, description="Who gets it.")
    purpose: str | None = Field(None, description="What for.")
    columns: dict[str, ColumnClass] = Field(
        {}, description="What each column says of persons; one that is left out breaks the release."
    )
    pseudonyms: tuple[ColumnName, ...] = Field(
        (), description="Direct identifiers that leave as pseudonyms of this release; all others are left out."
    )
    limits: Limits = Limits()
    hierarchies: dict[str, SerializeAsAny[Any]] = Field(  # each a HierarchySpec; `load` builds them beforehand
        {}, description="Column: what becomes of its values, level by level, when they are generalised."
    )
    person_key: ColumnName | None = Field(
        None, description="The column that says whose row it is; later releases of the same people are compared by it."
    )
    re_release: Literal["refuse", "warn"] = Field(
        "refuse", description="What happens when an earlier release and this one together expose somebody."
    )
    analyses: dict[str, Annotated[str, MinLen(1)]] = Field(
        {}, description="By name, a SELECT from `data` that the audience will ask: remedies are compared by it."
    )
    legal_basis: str | None = Field(None, description="Recorded, not judged.")
    remedies: tuple[Recipe, ...] = Field((), description="Ways to treat it that are compared, and can be approved.")
    approvers: tuple[str, ...] = Field((), description="Who may approve it, of `owners`; never the table's own.")
    expires_after: PositiveDuration | None = Field(None, description="How long an approval holds.")

    @model_validator(mode="before")
    @classmethod
    def _remedies_are_named(cls, given: Any) -> Any:
        remedies = given.get("remedies") if isinstance(given, Mapping) else None
        for one in remedies if isinstance(remedies, list | tuple) else ():
            word = one.get("remedy") if isinstance(one, Mapping) else getattr(one, "remedy", None)
            if word not in RECIPES:
                text = f"{word!r}{did_you_mean(str(word), RECIPES)}" if word is not None else "none"
                raise ValueError(f"each of 'remedies' names its 'remedy', one of {', '.join(RECIPES)}; seen: {text}")
        return given

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        names = [remedy.name for remedy in self.remedies]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"'remedies' has two that are called '{twice[0]}'; give one of them an 'id'")
        odd = [name for name in self.pseudonyms if self.columns.get(name) is not ColumnClass.DIRECT_IDENTIFIER]
        if odd:
            raise ValueError(f"'pseudonyms' names '{odd[0]}', which 'columns' does not call a direct-identifier")
        return self

    def classified(self, *words: ColumnClass) -> tuple[str, ...]:
        """Return the columns of these classes, in the order of the declaration."""
        return tuple(column for column, found in self.columns.items() if found in words)

    def recipe(self, name: str) -> Recipe | None:
        """Return one of its remedies by name."""
        return next((remedy for remedy in self.remedies if remedy.name == name), None)
