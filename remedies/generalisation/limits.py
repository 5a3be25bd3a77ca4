"""What a class of records that read alike has to hold, as people write it, and how a frame is looked at for it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias

from annotated_types import Ge, Gt, Interval, Lt
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from checks import Json
from checks.parameters.columns import ColumnName, ColumnNames
from checks.risk import Hierarchy
from remedies._contract import Guarantee, RemedyParameters, grouped_by
from remedies._errors import Misfit, Refused
from remedies.generalisation import HierarchySpec, hierarchy_spec, texts_of

if TYPE_CHECKING:
    import pandas as pd

    from checks.risk.pairs import DeclaredValues
    from remedies.generalisation.criteria import Criterion
    from remedies.generalisation.frequencies import Frequencies

_SHARE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+|[0-9]+/[1-9][0-9]*) ?(%?)")


def _share(value: object) -> object:
    """Read `2%`, `0.02` or `2/100`."""
    match = _SHARE.fullmatch(value.strip()) if isinstance(value, str) else None
    return value if match is None else float(Fraction(match[1]) / (100 if match[2] else 1))


def _short(name: str) -> BeforeValidator:
    """Accept a bare number for the one required field."""

    def read(value: object) -> object:
        return {name: value} if isinstance(value, int | float | str) and not isinstance(value, bool) else value

    return BeforeValidator(read)


Share: TypeAlias = Annotated[
    float,
    Ge(0),
    Lt(1),
    BeforeValidator(_share),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "exclusiveMaximum": 1}, {"type": "string"}]}),
]


def _declared(value: object) -> object:
    return hierarchy_spec(value) if isinstance(value, Mapping) else value


def _fits(value: object) -> object:
    if not isinstance(value, HierarchySpec | Hierarchy):
        raise Misfit("expected a hierarchy, or what declares one")
    return value


Declared: TypeAlias = Annotated[
    Any, BeforeValidator(_fits), BeforeValidator(_declared), WithJsonSchema({"type": "object"})
]
"""A hierarchy, or what declares one."""


class _Limit(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    missing_is_a_value: bool = False
    spelling_is_a_value: bool = False

    @property
    def declared(self) -> DeclaredValues:
        """Return what counts as a value of its own: what is missing, and each spelling."""
        return {"missing_is_a_value": self.missing_is_a_value, "spelling_is_a_value": self.spelling_is_a_value}


class Diversity(_Limit):
    """Each class has at least `l` sensitive values, counted in one of the three ways of `checks.risk.l_diversity`."""

    l: Annotated[int | float, Gt(1)]
    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    c: float | None = None

    @property
    def stated(self) -> Mapping[str, Json]:
        """Return what is promised, as plain data."""
        flags = {name: True for name, is_set in self.declared.items() if is_set}
        return {**self.model_dump(exclude_none=True, exclude=set(self.declared)), **flags}

    @model_validator(mode="after")
    def _c_is_of_recursive(self) -> Self:
        from remedies.generalisation import LDiversityLimit

        LDiversityLimit("any", self.l, self.kind, self.c)  # says what is wrong with them together
        return self


class Closeness(_Limit):
    """The sensitive values of each class are at most `t` away from those of the table that was given.

    With a `hierarchy` two values are as far apart as the level is high at which they meet.
    """

    t: Annotated[float, Interval(ge=0, le=1)]
    distance: Literal["equal", "ordered"] = "equal"
    hierarchy: Declared | None = None

    @model_validator(mode="after")
    def _one_distance(self) -> Self:
        if self.hierarchy is not None and self.distance == "ordered":
            raise ValueError("a hierarchy is itself the distance between values; leave 'ordered' out")
        return self

    @property
    def how(self) -> Literal["equal", "ordered", "hierarchical"]:
        """Return the distance."""
        return self.distance if self.hierarchy is None else "hierarchical"

    def built(self, column: str, values: Sequence[Any]) -> Hierarchy | None:
        """Return the hierarchy of the values of a column, if it is the distance.

        Raises:
            Misfit: values have no place in it, or it has faults.
        """
        if self.hierarchy is None or isinstance(self.hierarchy, Hierarchy):
            return self.hierarchy
        try:
            hierarchy: Hierarchy = self.hierarchy.build(values)
        except Misfit as error:
            raise Misfit(f"column '{column}': {error}") from None
        return hierarchy


class Limited(RemedyParameters):
    """A remedy after which no combination of some columns belongs to fewer than k records."""

    columns: ColumnNames = Field(description="Quasi-identifiers: columns an attacker may know about a person.")
    k: Annotated[int, Ge(2)] = Field(description="Minimum equivalence class size.")
    l: Mapping[ColumnName, Annotated[Diversity, _short("l")]] = Field(
        default_factory=dict, description="Sensitive column: how many values each group has at least."
    )
    t: Mapping[ColumnName, Annotated[Closeness, _short("t")]] = Field(
        default_factory=dict, description="Sensitive column: how far a group's values are from the input's at most."
    )

    @model_validator(mode="after")
    def _columns_have_one_part(self) -> Self:
        both = sorted(set(self.columns) & {*self.l, *self.t})
        if both:
            raise ValueError(
                f"both quasi-identifier and sensitive: {', '.join(both)}; a column can be only one of them"
            )
        return self

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Return the sensitive columns, each once."""
        return tuple(dict.fromkeys((*self.l, *self.t)))

    def criteria(self, frequencies: Frequencies) -> Sequence[Criterion]:
        """Return the limits on sensitive columns, as searches take them.

        Raises:
            Misfit: values of a sensitive column have no place in its hierarchy.
        """
        from remedies.generalisation import LDiversityLimit, TClosenessLimit

        diverse = [LDiversityLimit(name, item.l, item.kind, item.c, **item.declared) for name, item in self.l.items()]
        values = frequencies.sensitive_values
        close = [
            TClosenessLimit(name, item.t, item.distance, item.built(name, values[name]), **item.declared)
            for name, item in self.t.items()
        ]
        return [*diverse, *close]

    @property
    def limits(self) -> Mapping[str, Json]:
        """Return what is promised, as plain data."""
        return {
            "k": self.k,
            "l": {name: item.stated for name, item in self.l.items()},
            "t": {name: {"t": item.t, "distance": item.how} for name, item in self.t.items()},
        }

    def prove(self, before: pd.DataFrame, after: pd.DataFrame) -> Guarantee:
        """Check the output alone, by other code than what made it: group it by all the columns, and count.

        Only the values of which t-closeness is taken are compared with the input; what it is against the output's own
        distribution stands beside it.

        Raises:
            Refused: it does not hold what was promised.
        """
        from checks.risk import class_sizes

        smallest = class_sizes(after, self.columns).smallest
        if smallest is None:
            raise Refused("no record would be left; allow a smaller k, or generalise first")
        if smallest < self.k:
            raise Refused(f"the output has records that only {smallest} are alike with; {self.k} were promised")
        diverse = {name: self._diversity(after, name, item) for name, item in self.l.items()}
        close = {name: self._closeness(before, after, name, item) for name, item in self.t.items()}
        return self.guarantee({"k": smallest, "l": diverse, "t": close})

    def guarantee(self, reached: Mapping[str, Json], columns: Sequence[str] | None = None) -> Guarantee:
        """Return what was found on an output; `columns`: what it was grouped by, if that is more than its own."""
        every = tuple(columns or self.columns)
        return Guarantee("k_anonymity", every, self.limits, reached, grouped_by(every))

    def _diversity(self, after: pd.DataFrame, name: str, diversity: Diversity) -> float | None:
        from checks.risk import l_diversity

        result = l_diversity(after, self.columns, name, c=diversity.c, l=diversity.l, **diversity.declared).columns[
            name
        ]
        broken: Any = getattr(result, diversity.kind)
        reached: float | None = getattr(result, f"l_{diversity.kind}")
        if broken.records:
            raise Refused(f"{broken.records} records of the output are in groups that are not diverse in '{name}'")
        return reached

    def _closeness(
        self, before: pd.DataFrame, after: pd.DataFrame, name: str, closeness: Closeness
    ) -> Mapping[str, Json]:
        from checks.risk import t_closeness

        given: dict[str, Any] = {"t": closeness.t, **closeness.declared}
        measure: Any = partial(t_closeness, after, self.columns, name, distance=closeness.distance, **given)
        if closeness.hierarchy is not None:  # which knows values by their texts
            before, after = (_with_texts(frame, name) for frame in (before, after))
            built = closeness.built(name, list(before[name]))
            measure = partial(t_closeness, after, self.columns, name, hierarchy=built, **given)
        result = measure(reference=before).columns[name]
        if result.above is not None and result.above.records:
            text = f"{result.above.records} records of the output are in groups whose values of '{name}' are too far"
            raise Refused(f"{text} from those of the input")
        own = measure().columns[name]
        return {"t": result.t, "t_of_output": own.t}


def _with_texts(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return a copy with the texts of a column in its place."""
    import pandas as pd

    return frame.assign(**{name: pd.Series(texts_of(frame[name]), index=frame.index, dtype=object)})
