"""Each value is kept with a probability, else drawn again from all values that it could have been."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal, Self, TypeAlias

from annotated_types import Ge, Gt, Lt, MinLen
from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, field_validator, model_validator

from checks import Json
from checks.parameters.columns import ColumnName
from remedies._contract import Guarantee, Progress, Remedy, RemedyParameters, RowOrder, Treatment, UtilityReport
from remedies._errors import Refused
from remedies.differential_privacy.accounting import Accounting
from remedies.differential_privacy.answers.domain import SteppedColumn

if TYPE_CHECKING:
    import pandas as pd

    from remedies.differential_privacy import Mechanism, Randomised
    from remedies.differential_privacy.epsilon import Loss

Value: TypeAlias = bool | int | float | date | datetime | str
Probability: TypeAlias = Annotated[float, Ge(0), Lt(1)]


def _epsilon(text: object) -> object:
    """Read a decimal of at most nine places; what is none is refused with the reason."""
    from remedies.differential_privacy.epsilon import decimal_of, nano

    return decimal_of(nano(text)) if isinstance(text, str | int | float | Decimal) else text


Epsilon: TypeAlias = Annotated[
    Decimal,
    BeforeValidator(_epsilon),
    PlainSerializer("{:f}".format, return_type=str),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}]}),
]


class Randomise(RemedyParameters):
    """Randomisation of named columns over declared domains (PRAM), with an exact epsilon."""

    summary: ClassVar[str] = (
        "In the named columns, each value is retained with a probability, otherwise redrawn from its domain."
    )
    treats: ClassVar[frozenset[str]] = frozenset({"k_anonymity", "population_uniqueness", "reidentification_by_subset"})

    type: Literal["randomise"] = "randomise"
    domains: Annotated[Mapping[ColumnName, Annotated[tuple[Value, ...], MinLen(1)] | SteppedColumn], MinLen(1)] = Field(
        description="Domain by column: all possible values, or a range of numbers."
    )
    others: Mapping[ColumnName, Value] = Field(
        default_factory=dict, description="By column: value of the domain used for NULL and values outside it."
    )
    epsilon: Epsilon | None = Field(None, description="Epsilon of the table: a decimal above 0.")
    pk: Annotated[float, Gt(1)] | None = Field(None, description="Alternative: the k of Pk-anonymity of each row.")
    retention: Probability | Mapping[ColumnName, Probability] | None = Field(
        None, description="Alternative: retention probability, for all columns or by column."
    )
    joint: bool = Field(default=False, description="All columns are retained or redrawn jointly, as one combination.")
    rows_per_unit: Annotated[int, Ge(1)] = Field(1, description="Maximum rows per person.")

    @field_validator("retention", mode="before")
    @classmethod
    def _check_retention(cls, value: object) -> object:
        """Refuse a number in one message: a union reports one for each of its members."""
        for item in value.values() if isinstance(value, Mapping) else () if value is None else (value,):
            try:
                valid = 0 <= float(str(item)) < 1
            except ValueError:
                valid = False
            if not valid:
                raise ValueError(f"{item} is not a probability of at least 0 and below 1")
        return value

    @model_validator(mode="after")
    def _declarations_fit(self) -> Self:
        from remedies.differential_privacy.domain import CategoryDomain

        if sum(item is not None for item in (self.epsilon, self.pk, self.retention)) != 1:
            raise ValueError("expected exactly one of 'epsilon', 'pk' and 'retention'")
        if self.joint and isinstance(self.retention, Mapping):
            raise ValueError("columns that are drawn together have one 'retention'")
        by_column = self.retention if isinstance(self.retention, Mapping) else {}
        unknown = sorted({*self.others, *by_column} - set(self.domains))
        if unknown:
            raise ValueError(f"a column that is not in 'domains' is named: {', '.join(unknown)}")
        missing = sorted(set(self.domains) - set(by_column)) if by_column else []
        if missing:
            raise ValueError(f"'retention' is missing columns: {', '.join(missing)}")
        for name, values in self.domains.items():
            CategoryDomain.read(name, values, self.others)
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that are randomised."""
        return tuple(self.domains)

    def apply(self, frame: pd.DataFrame, *, progress: Progress | None = None) -> Treatment:
        """Return a randomised copy, and the bill. A named column comes out in the type of its domain.

        Where every column is named, rows come out in random order: in a sorted table a place tells of values. Else
        they keep the frame's order, which is not protected, as the bill says.

        Two runs differ: what is drawn are bytes of the operating system, and no seed could repeat it.

        Raises:
            Misfit: a column is not there, or without a value in `others` has NULL or values outside its domain.
            Refused: the output was looked at and has values outside a domain; nothing is given out.
        """
        return self.treat(frame, order=None, progress=progress)

    def treat(self, frame: pd.DataFrame, *, order: RowOrder | None, progress: Progress | None = None) -> Treatment:
        """Return a randomised copy as `apply` does, and a bill that names the order in which it will be written.

        In the order of the input no epsilon holds, whatever is randomised. `order`: None for that which `apply` gives.

        Raises:
            Misfit, Refused: as `apply`.
        """
        from remedies.differential_privacy import randomise

        began = perf_counter()
        result = randomise(
            frame,
            self.domains,
            epsilon=self.epsilon,
            pk=self.pk,
            retention=self.retention,
            joint=self.joint,
            others=self.others,
            rows_per_unit=self.rows_per_unit,
            keep_order=order is RowOrder.INPUT,
        )
        if order is RowOrder.RANDOM:
            result = replace(result, mechanism=replace(result.mechanism, shuffled=True))
        bill = self._bill(frame, result, perf_counter() - began)
        if progress is not None:
            progress(1.0)
        return Treatment(result.frame, bill)

    def guarantee(self, mechanism: Mechanism, after: pd.DataFrame) -> Guarantee:
        """Return the mechanism that made an output, on which epsilon rests; counting equal rows proves nothing.

        Raises:
            Refused: it has other columns or rows, or values outside a domain.
        """
        from remedies.differential_privacy.mechanism import INDEX, ORDER

        entries = {*mechanism.unchanged} - {INDEX, ORDER}
        check_domains(mechanism.domains, after, rows=mechanism.rows, unchanged=entries)
        request = {"epsilon": self.epsilon, "pk": self.pk, "retention": self.retention}
        limits: dict[str, Json] = {name: _json(item) for name, item in request.items() if item is not None}
        return Guarantee(
            "differential_privacy", self.columns, limits, mechanism.as_json(), question_of(mechanism.domains)
        )

    @property
    def loss(self) -> Decimal | None:
        """Return what the table costs a person; None where it follows from the table."""
        return self.epsilon

    def cost(self, accounting: Accounting) -> int | None:
        """Return the charge in the nano units of a budget; None where epsilon follows from the table."""
        from remedies.differential_privacy import nano, rho_of_pure

        if self.epsilon is None:
            return None
        price = nano(self.epsilon)
        return price if accounting is Accounting.PURE else rho_of_pure(price)

    def _bill(self, before: pd.DataFrame, randomised: Randomised, seconds: float) -> UtilityReport:
        from remedies.differential_privacy import pk_of

        mechanism = randomised.mechanism
        rho = mechanism.retentions * (len(self.columns) if self.joint else 1)
        shares = {name: float(amount) for name, amount in zip(self.columns, rho, strict=True)}
        sizes = dict(zip(self.columns, mechanism.sizes, strict=True))
        pk = None if mechanism.unchanged or not mechanism.rows else mechanism.epsilon_of_row
        return UtilityReport(
            remedy=self.name,
            rows=len(before),
            rows_changed=randomised.rows_changed,
            rows_suppressed=0,
            cells_changed=randomised.cells_changed,
            cells_blanked=dict.fromkeys(self.columns, 0),
            cells_filled={name: int(before[name].isna().sum()) for name in self.columns},
            information_lost={
                name: 100 * (1 - amount) if sizes[name] > 1 else 100.0 for name, amount in shares.items()
            },
            guarantee=self.guarantee(mechanism, randomised.frame),
            figures={
                "epsilon": None if mechanism.epsilon is None else f"{mechanism.epsilon:f}",
                "pk": None if not pk else pk_of(mechanism.rows, epsilon=pk),
                "retention": {**shares},
                "joint": self.joint,
                "unchanged": list(mechanism.unchanged),
                "shuffled": mechanism.shuffled,
                "seconds": seconds,
            },
            row_order=RowOrder.RANDOM if mechanism.shuffled else RowOrder.INPUT,
        )


def keep_to_epsilon(epsilon: Decimal | None, limit: Loss, *, unchanged: Collection[str] = ()) -> None:
    """Check that a randomised or synthetic table costs a person no more than a release allows.

    Raises:
        Refused: it costs more, or a column leaves unchanged, so that no epsilon holds of it.
    """
    from remedies.differential_privacy import nano
    from remedies.differential_privacy.epsilon import decimal_of

    allowed = decimal_of(nano(limit, name="the limit on epsilon"))
    if epsilon is None:
        raise Refused(
            f"the release has a limit on epsilon, and no epsilon is guaranteed: not randomised: {', '.join(unchanged)}"
        )
    if epsilon > allowed:
        raise Refused(f"the table costs epsilon {epsilon:f}; the release allows {allowed:f}")


def keep_to_pk(epsilon: Decimal | None, rows: int, k: int | None) -> None:
    """Check that a randomised table hides each person among as many as a limit on k asks of groups.

    Args:
        epsilon: what it costs a person; None where it is not known.
        rows: of the table.
        k: the limit; None without one.

    Raises:
        Refused: its Pk is smaller.
    """
    from remedies.differential_privacy import pk_of

    if epsilon is None or k is None or not rows:
        return
    if (pk := pk_of(rows, epsilon=epsilon)) < k:
        raise Refused(f"Pk is {pk:.4f} at epsilon {epsilon:f}; the k that holds for the table is {k:,}")


def _json(text: Decimal | float | Mapping[str, float]) -> Json:
    """Return what was asked for as plain data; a decimal as the text that says it exactly."""
    return f"{text:f}" if isinstance(text, Decimal) else text if isinstance(text, float) else {**text}


def check_domains(
    domains: Mapping[str, tuple[object, ...]],
    after: pd.DataFrame,
    *,
    rows: object,
    unchanged: Collection[str] = (),
    missing: Collection[str] = (),
) -> None:
    """Check that an output has the rows, columns and values that its mechanism could make.

    Args:
        domains: by column, all its values.
        after: the output.
        rows: how many it has.
        unchanged: its other columns.
        missing: columns that may hold NULL.

    Raises:
        Refused: it has other columns or rows, or values outside a domain.
    """
    from remedies.generalisation import text_of, texts_of

    if len(after) != rows:
        raise Refused(f"the output has {len(after)} rows; {rows} were drawn")
    for name, values in domains.items():
        if name not in after.columns:
            raise Refused(f"the output has no column '{name}'")
        outside = set(texts_of(after[name])) - set(map(text_of, values)) - ({None} if name in missing else set())
        if outside:
            raise Refused(f"column '{name}' of the output has values outside its declared domain")
    unknown = sorted(set(map(str, after.columns)) - {*domains, *unchanged})
    if unknown:
        raise Refused(f"the output has a column '{unknown[0]}' that the mechanism does not know")


def question_of(domains: Mapping[str, tuple[object, ...]], *, missing: bool = False) -> str:
    """Format in SQL what was looked at: how many rows have a value outside its domain. Domains are declared.

    So public. `missing`: NULL is not counted.
    """
    from remedies.generalisation import text_of

    parts = []
    for name, values in domains.items():
        column = '"' + name.replace('"', '""') + '"'
        listed = ", ".join("'" + str(text_of(value)).replace("'", "''") + "'" for value in values)
        is_null = "" if missing else f"{column} IS NULL OR "
        parts.append(f"{is_null}CAST({column} AS VARCHAR) NOT IN ({listed})")
    return " ".join(("SELECT count(*) FROM output WHERE", " OR ".join(parts)))


REMEDY: Final[type[Remedy]] = Randomise
