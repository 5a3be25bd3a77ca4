"""What a person writes to have class counts kept from run to run, and what a check of class sizes then wants."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from checks._contract import ClassQuestion, Context, Json, Measurement, Wants
from checks.classes.counts import ClassCountRequest, Keeping, Mode
from checks.classes.people import PeopleParameters
from checks.classes.tables import people_of, sizes_of
from checks.parameters.columns import QuasiIdentifiers, quasi_identifiers_of

SIZES = "sizes"
"""Under this name the sizes of the classes come back, however they were counted."""


SIZES_BY, PEOPLE_BY = "sizes by ", "people by "
"""With the name of a column behind them: the sizes of classes in people, and the people by their smallest class."""


class _Incremental(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ByAppend(_Incremental):
    """Rows only come: those whose watermark is at least the last one are added."""

    mode: Literal["append"]
    watermark: str = Field(description="Column of times or integers that increases with every new row.")

    @property
    def keeping(self) -> Keeping:
        """Return it as it is asked for."""
        return Keeping(Mode.APPEND, self.watermark)


class ByChanges(_Incremental):
    """Another table of the source tells each change: `op`, and `before_` and `after_` each quasi-identifier."""

    mode: Literal["changes"]
    table: str = Field(description="Change table, a configured table of the same source.")
    sequence: str = Field("sequence", description="Its integer column that increases with every change.")

    @property
    def keeping(self) -> Keeping:
        """Return it as it is asked for."""
        return Keeping(Mode.CHANGES, self.sequence, self.table)


Incremental: TypeAlias = Annotated[ByAppend | ByChanges, Field(discriminator="mode")]


class SizesParameters(PeopleParameters):
    """The parameters of checks that follow from the sizes of classes alone, which can be kept from run to run."""

    quasi_identifiers: QuasiIdentifiers = ()
    incremental: Incremental | None = Field(
        None, description="Store the counts and count only changes: by append or changes."
    )

    @property
    def refers_to(self) -> tuple[str, ...]:
        """Return the table of changes."""
        return (self.incremental.table,) if isinstance(self.incremental, ByChanges) else ()

    @property
    def keeps(self) -> bool:
        """Check whether counts are kept."""
        return self.incremental is not None

    @model_validator(mode="after")
    def _changes_are_of_all_rows(self) -> Self:
        if isinstance(self.incremental, ByChanges) and self.where is not None:
            raise ValueError("'incremental' by changes does not support 'where': changes cover all rows")
        if self.incremental is not None and (self.person is not None or self.pseudonyms):
            raise ValueError("'incremental' counts rows and cannot be combined with 'person' or 'pseudonyms'")
        return self

    def wanted_sizes(self, context: Context, quasi_identifiers: tuple[str, ...]) -> Wants:
        """Request how many classes there are of each size.

        Raises:
            Misconfigured: there is no quasi-identifier, or the table has no such column.
        """
        if self.incremental is not None:
            return Wants(
                kept=ClassCountRequest(quasi_identifiers_of(context, quasi_identifiers), self.incremental.keeping)
            )
        counts = self.identifier_counts(context)
        return Wants(aggregates=counts, classes={SIZES: sizes_question(context, quasi_identifiers)})

    def people_questions(self, context: Context, measurement: Measurement) -> Mapping[str, ClassQuestion]:
        """Request the sizes of classes in people, by each column that says whose a row is."""
        if self.incremental is not None:
            return {}
        names = quasi_identifiers_of(context, self.quasi_identifiers)
        return {
            f"{label}{person.column}": ClassQuestion(names, answer, person=person)
            for person in self.people_columns(measurement)
            for label, answer in ((SIZES_BY, sizes_of), (PEOPLE_BY, people_of))
        }

    def counted_by(self, measurement: Measurement) -> Sequence[str | None]:
        """Return the columns by which people were counted, of which the worst is judged; None for rows."""
        columns = [name.removeprefix(SIZES_BY) for name in measurement.tables if name.startswith(SIZES_BY)]
        return columns if self.person is not None else [None, *columns]

    def counting(self, measurement: Measurement) -> Mapping[str, Json]:
        """Describe how the classes were counted, where counts are kept; nothing else."""
        if self.incremental is None:
            return {}
        why: Any = measurement.values.get("recount")
        counted = measurement.values.get("counted", "all")
        return {"counted": counted, "recounted_because": None if why is None else str(why)}


def sizes_question(context: Context, quasi_identifiers: Sequence[str]) -> ClassQuestion:
    """Request how many classes there are of each size; of those the table is classified with, where none are named.

    Raises:
        Misconfigured: there is no quasi-identifier, or the table has no such column.
    """
    return ClassQuestion(quasi_identifiers_of(context, quasi_identifiers), sizes_of)
