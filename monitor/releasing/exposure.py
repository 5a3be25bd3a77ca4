"""Say whom two exports expose together, and whom all do: from signatures of persons and of their classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from checks import Json
from checks._counts import PersonPairs
from checks._counts import Release as Earlier
from monitor.frame.problem import ExitCode, Problem, Stop
from monitor.releasing.case import Case


@dataclass(frozen=True, slots=True)
class Exposure:
    """What an earlier export and this one give away together.

    `in_both`: persons in both. `intersected`: those of them who are alike, in both, with fewer than k - 1 others.
    `left_over`: persons in one of them only whom the difference of the two singles out. All None where the two cannot
    be compared.
    """

    name: str
    exported_at: datetime
    in_both: int | None
    intersected: int | None
    left_over: int | None

    def as_json(self) -> dict[str, Json]:
        """Give it as plain data."""
        return {
            "export": self.name,
            "exported_at": self.exported_at.isoformat(),
            "persons_in_both": self.in_both,
            "persons_exposed": self.intersected,
            "persons_left_over": self.left_over,
        }


@dataclass(frozen=True, slots=True)
class Compared:
    """What comparing with earlier exports found. `earlier`: of each one; None where nothing can be compared.

    `by_all`: persons in small groups by all that can be compared together; None where these are fewer than two.
    """

    earlier: Sequence[Exposure] | None = ()
    by_all: int | None = None


NOT_COMPARED: Final = Compared()
"""Of what holds no records of anybody."""


def exposed_said(one: Mapping[str, Json]) -> str:
    """Say what an exposure as plain data says; nothing where people are in both, and nobody is exposed."""
    both, alone = one["persons_exposed"], one["persons_left_over"]
    if not isinstance(both, int) or not isinstance(alone, int):
        return "it cannot be compared, since they do not tell the same people apart"
    said = []
    if both:
        said.append(f"it leaves {_persons(both)} in small groups")
    if alone:
        said.append(f"its difference singles out {_persons(alone)} who are in one of them only")
    if one.get("persons_in_both") == 0:
        said.append("nobody is in both, unless the person key is written otherwise in one of them")
    return " and ".join(said)


def exposure(name: str, at: datetime, kept: Earlier | None, pairs: PersonPairs, k: int) -> Exposure:
    """Compare two exports; they cannot be where one was made without a person key, or has rows that name no person."""
    from checks.risk._composition import intersect_signed, left_over_signed

    if kept is None or not _is_comparable(kept, pairs):
        return Exposure(name, at, None, None, None)
    before, after = (kept.pairs.people, kept.pairs.classes), (pairs.people, pairs.classes)
    both = intersect_signed(before, after, k)
    return Exposure(name, at, both.persons, both.exposed, left_over_signed(before, after, k))


def _is_comparable(kept: Earlier, pairs: PersonPairs) -> bool:
    return kept.pairs.digest == pairs.digest and not kept.pairs.unnamed and not pairs.unnamed


def exposed_by_all(earlier: Sequence[Earlier], pairs: PersonPairs, k: int) -> int | None:
    """Count whom all exports together leave in small groups; None where fewer than two earlier ones can be compared."""
    from checks.risk._composition import intersect_all_signed

    before = [(one.pairs.people, one.pairs.classes) for one in earlier if _is_comparable(one, pairs)]
    return intersect_all_signed([*before, (pairs.people, pairs.classes)], k) if len(before) > 1 else None


def by_all_said(many: int) -> str:
    """Say whom all exports together expose."""
    return f"together with all earlier exports it leaves {_persons(many)} in small groups"


def check_exposures(case: Case, found: Compared) -> None:
    """See that nobody is exposed.

    Raises:
        Stop: somebody is, or an earlier export cannot be compared.
    """
    for one in found.earlier or ():
        _check_exposure(case, one)
    if found.by_all:
        raise _exposes(case, f"{by_all_said(found.by_all)}; k is {case.k}", "treat it as those exports were treated")


def _check_exposure(case: Case, one: Exposure) -> None:
    if (one.intersected, one.left_over) == (0, 0):
        return
    seen = (
        f"it cannot be compared with export {one.name}: that one, or this, tells people apart by no or by another "
        "column, under another key, or has rows that name nobody"
    )
    if one.intersected is not None:
        seen = f"together with export {one.name} {exposed_said(one.as_json())}; k is {case.k}"
    raise _exposes(case, seen, "treat it as that export was treated")


def _exposes(case: Case, seen: str, hint: str) -> Stop:
    said = f"{hint}; or say 're_release: warn' in the release"
    return Stop(ExitCode.FAILED, Problem("release.exposes", f"'{case.name}' is refused: {seen}", hint=said))


def _persons(many: int) -> str:
    return "1 person" if many == 1 else f"{many:,} persons"
