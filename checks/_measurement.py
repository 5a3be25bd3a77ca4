"""What a check wants measured, and the numbers that come back."""

# Ibis is only named in annotations, so that `import checks` stays cheap.
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from checks._outcome import Status

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from checks.classes.counts import CountRequest, KeptAnswer
    from checks.classes.tables import ClassTables, PersonColumn
    from checks.limits import DistancePool
    from checks.parameters.rows import Sampling


BESIDE: Final = "other"
"""The name of what was asked of the other table that a check compares with."""


@dataclass(frozen=True, slots=True)
class Zones:
    """The IANA zones of naive time columns: one for the whole source, others by column. None: not declared.

    `calendar` is the zone in which people mean days and clock times, unless they say otherwise: the project's.
    """

    default: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    calendar: str = "UTC"

    def of(self, column: str) -> str | None:
        """Return the declared zone of a column."""
        return self.columns.get(column, self.default)


class ColumnClass(StrEnum):
    """What a column says of the person a row is about."""

    DIRECT_IDENTIFIER = "direct-identifier"
    """It names the person: a name, an address, a number in a directory."""
    QUASI_IDENTIFIER = "quasi-identifier"
    """With others of its kind it may single a person out: a date of birth, a postcode, a sex."""
    SENSITIVE = "sensitive"
    """What must not become known about a person: a diagnosis, an income."""
    OTHER = "other"
    """None of these."""


@dataclass(frozen=True, slots=True)
class PeopleTable:
    """A table of people: `k`, the classes of its columns, and the column that identifies a person, if one does."""

    k: int
    columns: Mapping[str, ColumnClass] = field(default_factory=dict)
    person_key: str | None = None

    def protects(self, column: str | None) -> bool:
        """Check whether the values of a column are shown of groups only: all but those classified as `other`."""
        return column is not None and self.columns.get(column) is not ColumnClass.OTHER


@dataclass(frozen=True, slots=True)
class ClassQuestion:
    """A question about equivalence classes: the rows that are alike in the quasi-identifiers.

    All questions of a table about the same set of quasi-identifiers, under the same `where`, are answered by one
    statement, which makes their classes once.

    `answer` gives the answer's rows, from class tables that were made with `quasi_identifiers` and at least with these
    `sensitive` columns: aggregates only, in columns of whole numbers, floats or text. With a `person`, people are
    counted in the place of rows.
    """

    quasi_identifiers: tuple[str, ...]
    answer: Callable[[ClassTables], ir.Table]
    sensitive: tuple[str, ...] = ()
    person: PersonColumn | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """Named columns of the table and a row cap (0: only names and types); only the Great Expectations check asks."""

    columns: tuple[str, ...]
    max_rows: int


@dataclass(frozen=True, slots=True)
class Earlier:
    """The earlier measurements of the same check that `judge` needs.

    `ages`: for each age, the measurement nearest to `measured_at - age`, at most `within` away; also one that was
    unknown for lack of data, since a check that compares with its past begins so. Measurements inside incidents of the
    table that are about its data and did not end as `false-positive`, and those inside `left_out` (planned maintenance,
    as intervals `[start, end)`), are passed over.
    `accepted`: the newest measurement that counts as accepted (passed, or resolved as expected by a person).
    `last_shown`: the newest that has `shown_of` (see `checks.classes.few_people`).
    `span`: all measurements since so long ago, one an hour at most, oldest first; passed over as for the ages, but
    those inside an incident of the check itself that was resolved as `expected` come with `expected` set, those inside
    one that no person answered with `unanswered`.
    """

    ages: tuple[timedelta, ...] = ()
    within: timedelta = timedelta(hours=12)
    accepted: bool = False
    last_shown: bool = False
    span: timedelta | None = None
    left_out: tuple[tuple[datetime, datetime], ...] = ()

    @property
    def compares(self) -> bool:
        """Check whether `judge` compares with what was measured before."""
        return bool(self.ages) or self.accepted or self.span is not None


@dataclass(frozen=True, slots=True)
class Wants:
    """The measurements that a check requests.

    `aggregates`: scalars over the table, merged with those of all other checks into one statement (one scan).
    `queries`: tables of aggregates that need a statement of their own (a GROUP BY); equal ones are run once.
    `grouped_by`: the columns by which `queries` group; rows that differ in one of them are in different groups.
    `classes`: questions about equivalence classes, merged into one statement per set of quasi-identifiers.
    `kept`: what is counted into, or compared with, what the store keeps. The sizes of kept classes come back as the
    table `sizes` (columns `size`, `classes`), earlier releases as the table `releases`.
    `statements`: text in the source's dialect, run only as `SELECT count(*) FROM (<one SELECT>) q`.
    `schema`: names and types of the columns, from the catalogue, without a scan.
    `estimate`: the number of rows that the catalogue says, without a scan, as the values `rows`, `error` and
    `counted_at`. `newest`: the greatest value of a time column that the catalogue says, as the value `newest`.
    `last_write`: when the catalogue says that the table was last written, as the value `written`.
    `every_column`: whether the columns are all that the tables had when it was planned; it is then planned each time.
    `beside`: a table of another source, to which the check's `beside` compares; its rows are the table `BESIDE`.
    """

    aggregates: Mapping[str, ir.Value] = field(default_factory=dict)
    queries: Mapping[str, ir.Table] = field(default_factory=dict)
    grouped_by: tuple[str, ...] = ()
    classes: Mapping[str, ClassQuestion] = field(default_factory=dict)
    statements: Mapping[str, str] = field(default_factory=dict)
    kept: CountRequest | None = None
    schema: bool = False
    estimate: bool = False
    newest: str | None = None
    last_write: bool = False
    frame: Frame | None = None
    earlier: Earlier | None = None
    every_column: bool = False
    beside: str | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """The numbers that came back.

    `values`: per aggregate its value, per statement its count (both by the names of `Wants`).
    `tables`: per query, and per question about classes, its rows. `columns`: name to type, in order, when `schema` was
    wanted. `frame_result`: what the Great Expectations worker found, when a frame was wanted. `kept`: signatures and
    counts for the store, which has put the tables they lead to in their place when `judge` sees it. `zones` and
    `loaded_at`: as in `Context`. `family`: how many numbers of the table are judged by learned limits, which keep their
    promise together. `k`: a value is shown from this many people on; 0 where none is of people. `sample`: how the rows
    were drawn of which `values` are; None where they are of all rows. `pool`: what tables that learn together have in
    common. A SUM over no rows is None: look at the row count
    first.
    """

    measured_at: datetime
    values: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    frame_result: Mapping[str, Any] = field(default_factory=dict)
    kept: KeptAnswer | None = None
    zones: Zones = Zones()
    loaded_at: str | None = None
    family: int = 1
    k: int = 0
    sample: Sampling | None = None
    pool: DistancePool | None = None

    def number(self, name: str) -> int:
        """Return an aggregate as a whole number; NULL (a SUM over no rows) is 0."""
        return int(self.values[name] or 0)


@dataclass(frozen=True, slots=True)
class PastMeasurement:
    """An earlier measurement of the same check, as remembered; `age` is the asked age it answers, if any.

    `in_span`: it is one of the asked span. `expected`: it lies in an incident of the check that a person resolved as
    `expected`. `unanswered`: it lies in one that no person judged, or fails and
    may open one. `looks`: how many looks it stands for.
    """

    measured_at: datetime
    status: Status
    observed: Mapping[str, Any]
    age: timedelta | None = None
    accepted: bool = False
    last_shown: bool = False
    in_span: bool = False
    expected: bool = False
    unanswered: bool = False
    looks: int = 1
