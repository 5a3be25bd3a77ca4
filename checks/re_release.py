"""Nobody is exposed by this table together with an earlier release of it."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Final, Literal

from annotated_types import Ge
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
from checks.classes.counts import NAME, PERSONS, SIZE, PersonRequest
from checks.parameters.columns import ColumnNames, QuasiIdentifiers, quasi_identifiers_of

_HIDDEN: Final = Message(
    "with each of {releases:count} earlier releases, every person shares a group with at least {others:count} others"
)
_EXPOSED: Final = Message(
    "{bad:count} persons are in groups smaller than {k} when this table is combined with release {name}",
    one="{bad:count} person is in a group smaller than {k} when this table is combined with release {name}",
    counted="bad",
)
_NONE: Final = Message(
    "no earlier release of this table is recorded; record one with 'tablewatch risk remember TABLE --as NAME'"
)
_OTHERWISE: Final = Message(
    "release {name} cannot be compared: its persons were identified by other columns or with another signature key"
)
_STRANGERS: Final = Message(
    "no person of this table is in an earlier release, so nothing was compared; the person columns must be written as "
    "they were then"
)
_NOBODY: Final = Message("the person columns are NULL in every row")


class ReReleaseCheck(CheckParameters):
    """No person is in a group smaller than k when the table is laid beside an earlier release of it."""

    summary: ClassVar[str] = (
        "Every person shares a group with k - 1 others in this table combined with each earlier release."
    )
    main_number: ClassVar[MainNumber | None] = MainNumber("exposed")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"k"})
    kind: ClassVar[Kind] = Kind.DISCLOSURE

    type: Literal["re_release"] = "re_release"
    person: ColumnNames = Field(description="Person key columns, the same in every release.")
    quasi_identifiers: QuasiIdentifiers = ()
    k: Annotated[int, Ge(2)] = Field(description="Minimum group size in persons.")

    @property
    def keeps(self) -> bool:
        """Return that releases are remembered for it."""
        return True

    def wants(self, context: Context) -> Wants:
        """Request the class of each person, as signatures."""
        person = tuple(context.column(name).get_name() for name in self.person)
        return Wants(kept=PersonRequest(quasi_identifiers_of(context, self.quasi_identifiers), person))

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when somebody is exposed by any earlier release; what cannot be compared is unknown."""
        results = _by_release(measurement.tables.get("releases", ()))
        rows, unnamed = measurement.number("rows"), measurement.number("unnamed")
        observed: dict[str, Json] = {
            "rows": rows,
            "rows_without_person": unnamed,
            "releases": [_figures(name, sizes, self.k) for name, sizes in results.items()],
            "exposed": max((_below(sizes, self.k) for sizes in results.values()), default=0),
        }
        outcome = partial(Outcome, observed=observed, expected={"k": self.k, "exposed": 0})
        worst = max(results, key=lambda name: _below(results[name], self.k), default=None)
        if worst is not None and _below(results[worst], self.k):
            return outcome(Status.FAIL, _EXPOSED.given(bad=_below(results[worst], self.k), k=self.k, name=worst))
        otherwise = next((name for name, sizes in results.items() if None in sizes), None)
        if otherwise is not None:
            return unknown(UnknownReason.MISCONFIGURED, _OTHERWISE.given(name=otherwise), observed)
        if not results:
            return unknown(UnknownReason.NO_DATA, _NONE, observed)
        if unnamed == rows:
            return unknown(UnknownReason.NO_DATA, _NOBODY, observed)
        if all(size == 0 for sizes in results.values() for size in sizes):
            return unknown(UnknownReason.MISCONFIGURED, _STRANGERS, observed)
        return outcome(Status.PASS, _HIDDEN.given(releases=len(results), others=self.k - 1))


def _by_release(rows: Sequence[Any]) -> dict[str, dict[int | None, int]]:
    """Return, per release, how many persons are in groups of which size."""
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
