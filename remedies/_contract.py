"""What a remedy is: it changes a copy of a table so that a finding goes away, and says what that cost.

A remedy is one file here: a frozen, typed set of parameters with one pure method, `apply`. It never touches a
connection, a clock or a store, and never the frame it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar, Protocol, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from checks import Json, did_you_mean
from remedies._errors import Misfit

if TYPE_CHECKING:
    import pandas as pd


class Disposition(StrEnum):
    """Whether a remedy may run by itself. Whatever loses data is `review`: a person must look."""

    SAFE = "safe"
    REVIEW = "review"


class RowOrder(StrEnum):
    """In which order the rows of an output stand. Where a row lies in a sorted table tells its values."""

    RANDOM = "random"
    INPUT = "input"


class StopRequest(Exception):
    """A progress callback may raise it: a search with a budget then ends as if that were used up."""


Progress: TypeAlias = Callable[[float], None]
"""Called from time to time with the share of the work that is done, 0 to 1, never falling."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The limits that the output holds, and how they were verified.

    `holds`: the measure, as `checks` names it (`k_anonymity`). `columns`: what it is about. `limits`: what was asked
    for, `reached`: what was found on the output. `proof`: the question that was put to the output, in words of SQL.
    """

    holds: str
    columns: tuple[str, ...]
    limits: Mapping[str, Json]
    reached: Mapping[str, Json]
    proof: str


@dataclass(frozen=True, slots=True)
class UtilityReport:
    """The cost of a remedy: changed rows and cells, and lost information.

    `cells_changed`: by column, cells that hold another value than before; `cells_blanked`: those of them that hold
    nothing now; `cells_filled`: those of them that held nothing. `information_lost`: by column, in per cent, 0 to 100;
    what it measures depends on the kind of the column, as the remedy documents. `figures`: what else it says.
    `row_order`: of the output; a remedy keeps that of the frame, and the commands write rows in random order.
    """

    remedy: str
    rows: int
    rows_changed: int
    rows_suppressed: int
    cells_changed: Mapping[str, int]
    information_lost: Mapping[str, float]
    guarantee: Guarantee
    cells_blanked: Mapping[str, int] = field(default_factory=dict)
    cells_filled: Mapping[str, int] = field(default_factory=dict)
    figures: Mapping[str, Json] = field(default_factory=dict)
    row_order: RowOrder = RowOrder.INPUT

    @property
    def not_protected(self) -> tuple[str, ...]:
        """Return what else of the input is in the output: the order of the rows, unless it is random."""
        return ("row-order",) if self.row_order is RowOrder.INPUT else ()

    def as_json(self) -> Mapping[str, Json]:
        """Return it as plain data."""
        return {**asdict(self), "not_protected": list(self.not_protected)}


@dataclass(frozen=True, slots=True, eq=False)
class Treatment:
    """The output: a frame of the same columns, types and index (less suppressed rows), and its utility report.

    The rows stand in the caller's order, so that they can be compared with the input. It is **not protected**: shuffle
    them before they are given out, as the commands do. `suppressed`: the rows that are left out, as they would read;
    it is never given out. None of a remedy that leaves out none.
    """

    frame: pd.DataFrame
    bill: UtilityReport
    suppressed: pd.DataFrame | None = field(default=None, repr=False)


def grouped_by(columns: Iterable[str]) -> str:
    """Format in SQL how large the smallest group of an output is: what k was counted by. It is shown, not run."""
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    return f"SELECT min(n) FROM (SELECT count(*) AS n FROM output GROUP BY {names})"  # noqa: S608 - shown, not run


class RemedyParameters(BaseModel):
    """The parameters every remedy has."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    summary: ClassVar[str]
    treats: ClassVar[frozenset[str]]
    """Types of checks whose findings it is for."""
    disposition: ClassVar[Disposition] = Disposition.REVIEW

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=80)] | None = Field(
        None, description="Name of the remedy within its release; by default the type with hyphens."
    )

    @property
    def name(self) -> str:
        """Return the remedy's id within its release."""
        return self.id or str(getattr(self, "type", "")).replace("_", "-")

    def compiles_first(self) -> bool:
        """Check whether this machine has yet to compile what takes about a minute, once."""
        return False


class Remedy(Protocol):
    """The interface every file of this package fulfils. `RemedyParameters` gives all of it but `type` and `apply`."""

    summary: ClassVar[str]
    treats: ClassVar[frozenset[str]]
    disposition: ClassVar[Disposition]

    @property
    def type(self) -> str:
        """The word that people write in a configuration: the name of the remedy's file."""

    @property
    def name(self) -> str:
        """The remedy's id within its release."""

    def compiles_first(self) -> bool:
        """Check whether this machine has yet to compile what takes about a minute, once."""

    def apply(self, frame: pd.DataFrame, *, progress: Progress | None = None) -> Treatment:
        """Return a treated copy of a frame, and the bill. The frame is not changed.

        Raises:
            Misfit: the frame does not fit the parameters.
            Refused: what came out does not hold what the remedy promises.
        """


def check_columns(columns: Sequence[str], table: pd.DataFrame) -> None:
    """Check that a table has these columns.

    Raises:
        Misfit: there is none of a name, or several.
    """
    names = [str(column) for column in table.columns]
    for name in columns:
        if name not in names:
            raise Misfit(f"column '{name}' not found{did_you_mean(name, names)}")
        if names.count(name) > 1:
            raise Misfit(f"{names.count(name)} columns are named '{name}'; rename them")
