"""This table together with an earlier release of it exposes no person."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from annotated_types import Ge, Gt, Le
from pydantic import Field

from checks._contract import (
    Check,
    CheckParameters,
    Context,
    Json,
    Kind,
    MainNumber,
    Measurement,
    Outcome,
    PastMeasurement,
    Status,
    UnknownReason,
    Wants,
    unknown,
)
from checks._outcome import Message
from checks.classes.counts import COLUMN, COUNT, KIND, NAME, PERSONS, SIZE, DisclosureKind, KnownRelease, PersonRequest
from checks.classes.sensitive import sensitive_of
from checks.parameters.columns import ColumnNames, QuasiIdentifiers, SensitiveColumns, quasi_identifiers_of

if TYPE_CHECKING:
    from checks.risk.compared_releases import ReleasedRows

_HIDDEN: Final = Message(
    "with each of {releases:count} earlier releases, every person shares a group with at least {others:count} others"
)
_EXPOSED: Final = Message(
    "{bad:count} people are in groups smaller than {k} when this table is combined with release {name}",
    one="{bad:count} person is in a group smaller than {k} when this table is combined with release {name}",
    counted="bad",
)
_NONE: Final = Message(
    "no earlier release of this table is recorded; record one with 'tablewatch privacy risk remember TABLE --as NAME'"
)
_OTHERWISE: Final = Message(
    "release {name} cannot be compared: its people were identified by other columns or with another signature key"
)
_STRANGERS: Final = Message(
    "no person of this table is in an earlier release, so nothing was compared; the person columns must be written as "
    "they were then"
)
_LEFT_OVER: Final = Message(
    "{bad:count} people are in groups smaller than {k} of those who are in only one of this table and release {name}",
    one="{bad:count} person is in a group smaller than {k} of those who are in only one of this table and release "
    "{name}",
    counted="bad",
)
_FEW_PEOPLE: Final = Message(
    "the difference of this table and release {name} has groups of fewer than {k} people: {bad:count}"
)
_VALUES_LEFT: Final = Message(
    "the difference of this table and release {name} has groups whose values of {column} break a limit: {bad:count}"
)
_BY_ALL: Final = Message(
    "{bad:count} people are in groups smaller than {k} when this table is combined with all earlier releases",
    one="{bad:count} person is in a group smaller than {k} when this table is combined with all earlier releases",
    counted="bad",
)
_VALUES_OF_ALL: Final = Message(
    "all earlier releases and this table together show too much of {column}: {bad:count} people or rows are in groups "
    "that break a limit"
)
_UNCOUNTED: Final = Message(
    "release {name} was recorded without the sensitive values of its groups, so l and t cannot be judged; record the "
    "next one with 'tablewatch privacy risk remember TABLE --as NAME'"
)
_FOUND: Final = {
    DisclosureKind.LEFT_OVER: _LEFT_OVER,
    DisclosureKind.DIFFERENCE: _VALUES_LEFT,
    DisclosureKind.TOGETHER: _BY_ALL,
    DisclosureKind.VALUES: _VALUES_OF_ALL,
    DisclosureKind.FEW_VALUES: _VALUES_OF_ALL,
}
_NOBODY: Final = Message("the person columns are NULL in every row")


class ReReleaseCheck(CheckParameters):
    """No person is in a group smaller than k, or whose values are too few, beside earlier releases of the table."""

    summary: ClassVar[str] = (
        "Every person shares a group with k - 1 others in this table combined with earlier releases, and their values "
        "meet l and t."
    )
    main_number: ClassVar[MainNumber | None] = MainNumber("exposed")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"k", "l", "t"})
    kind: ClassVar[Kind] = Kind.DISCLOSURE

    type: Literal["re_release"] = "re_release"
    person: ColumnNames = Field(description="Person key columns, the same in every release.")
    quasi_identifiers: QuasiIdentifiers = ()
    k: Annotated[int, Ge(2)] = Field(description="Minimum group size in people.")
    sensitive: SensitiveColumns = ()
    l: Annotated[int | float, Gt(1)] | None = Field(
        None, description="Minimum distinct sensitive values of a group, also of the difference to each release."
    )
    t: Annotated[float, Gt(0), Le(1)] | None = Field(
        None, description="Maximum distance between the sensitive values of such a group and of the table."
    )

    @property
    def keeps(self) -> bool:
        """Return that releases are remembered for it."""
        return True

    def wants(self, context: Context) -> Wants:
        """Request the class of each person, as signatures."""
        person = tuple(context.column(name).get_name() for name in self.person)
        names = quasi_identifiers_of(context, self.quasi_identifiers)
        judges_values = self.sensitive or self.l is not None or self.t is not None
        sensitive = sensitive_of(context, self.sensitive, names) if judges_values else ()
        return Wants(kept=PersonRequest(names, person, sensitive))

    def compared(
        self, rows: "ReleasedRows", releases: Sequence[KnownRelease]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Compare the rows of the table with earlier releases: the tables that it is judged by."""
        from checks.risk.compared_releases import compared, joint_disclosures
        from checks.risk.differences import ClassLimits

        softer = self.softened()
        every = [self] if softer is None else [self, softer]
        limits = [ClassLimits(check.k, check.l, check.t) for check in every]
        disclosures = {
            _disclosures_key(item.k, item.l, item.t): list(joint_disclosures(rows, releases, item)) for item in limits
        }
        return {"releases": compared(rows, releases), **disclosures}

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when any earlier release exposes a person; what cannot be compared is unknown."""
        results = _by_release(measurement.tables.get("releases", ()))
        disclosures = measurement.tables.get(_disclosures_key(self.k, self.l, self.t), ())
        rows, unnamed = measurement.number("rows"), measurement.number("unnamed")
        observed: dict[str, Json] = {
            "rows": rows,
            "rows_without_person": unnamed,
            "releases": [_figures(name, sizes, self.k) for name, sizes in results.items()],
            "exposed": max((_below(sizes, self.k) for sizes in results.values()), default=0),
            "disclosures": [dict(row) for row in disclosures],
        }
        limits = {name: item for name in ("l", "t") if (item := getattr(self, name)) is not None}
        outcome = partial(Outcome, observed=observed, expected={"k": self.k, "exposed": 0, **limits})
        exposed = self._exposed(results, disclosures)
        if exposed is not None:
            return outcome(Status.FAIL, exposed)
        if limits and disclosures:
            return unknown(UnknownReason.MISCONFIGURED, _UNCOUNTED.given(name=disclosures[0][NAME]), observed)
        otherwise = next((name for name, sizes in results.items() if None in sizes), None)
        if otherwise is not None:
            return unknown(UnknownReason.MISCONFIGURED, _OTHERWISE.given(name=otherwise), observed)
        if not results or unnamed == rows:
            return unknown(UnknownReason.NO_DATA, _NOBODY if results else _NONE, observed)
        if all(size == 0 for sizes in results.values() for size in sizes):
            return unknown(UnknownReason.MISCONFIGURED, _STRANGERS, observed)
        return outcome(Status.PASS, _HIDDEN.given(releases=len(results), others=self.k - 1))

    def _exposed(
        self, results: Mapping[str, dict[int | None, int]], disclosures: Sequence[Mapping[str, Any]]
    ) -> Message | None:
        """Return the people that an earlier release exposes, or all do; the worst of common groups first."""
        worst = max(results, key=lambda name: _below(results[name], self.k), default=None)
        if worst is not None and _below(results[worst], self.k):
            return _EXPOSED.given(bad=_below(results[worst], self.k), k=self.k, name=worst)
        broken = next((row for row in disclosures if row[KIND] != DisclosureKind.UNCOUNTED), None)
        if broken is None:
            return None
        given = {"bad": broken[COUNT], "k": self.k, "name": broken[NAME], "column": broken[COLUMN]}
        is_of_people = broken[KIND] == DisclosureKind.DIFFERENCE and not broken[COLUMN]
        return (_FEW_PEOPLE if is_of_people else _FOUND[DisclosureKind(broken[KIND])]).given(**given)


def _disclosures_key(k: int, l: float | None, t: float | None) -> str:
    """Return the name of the table of what breaks these limits."""
    return f"disclosures by {k}, {l}, {t}"


def _by_release(rows: Sequence[Any]) -> dict[str, dict[int | None, int]]:
    """Return, per release, how many people are in groups of which size."""
    results: dict[str, dict[int | None, int]] = {}
    for row in rows:
        results.setdefault(str(row[NAME]), {})[row[SIZE]] = int(row[PERSONS])
    return results


def _below(sizes: dict[int | None, int], k: int) -> int:
    return sum(persons for size, persons in sizes.items() if size is not None and size < k)


def _figures(name: str, sizes: dict[int | None, int], k: int) -> Json:
    comparable = None not in sizes
    groups = [size for size in sizes if size]
    return {
        "name": name,
        "persons_in_both": sum(sizes.values()) if comparable else None,
        "exposed": _below(sizes, k) if comparable and groups else None,
        "smallest_group": min(groups) if groups else None,
    }


CHECK: Final[type[Check]] = ReReleaseCheck
