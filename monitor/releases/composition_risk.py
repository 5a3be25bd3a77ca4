"""Compute the people exposed by two exports together, and by all: from signatures of people, classes and values."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from checks import ColumnClass, Json
from checks.classes.counts import KnownRelease as Earlier
from checks.classes.counts import PersonPairs
from checks.risk.differences import ClassLimits
from checks.risk.t_distances import T_SLACK
from monitor.config.release_model import Limits, Release
from monitor.releases.columns import ReleaseColumns
from monitor.terminal.problem import ExitCode, Problem, Stop
from store import ReleaseEvent


@dataclass(frozen=True, slots=True)
class PromisedLimits:
    """The limits that hold over all exports of a table together: the strictest that a release or an export promised.

    `l`, `t`: None where none promised one.
    """

    k: int
    l: float | None = None
    t: float | None = None

    @classmethod
    def of(cls, case: ReleaseColumns, earlier: Sequence[ReleaseEvent], sisters: Sequence[Release]) -> "PromisedLimits":
        """Return what a new export of a release promises, its sisters of the table, and the earlier exports of it."""
        own = [release.limits for release in (case.release, *sisters)]
        limits = [*own, *(_limits_of(event) for event in earlier)]
        ks = [case.k, *(limit.least_k for limit in limits if limit.least_k is not None)]
        ls, ts = ([getattr(limit, word) for limit in limits if getattr(limit, word) is not None] for word in "lt")
        return cls(max(ks), max(ls, default=None), min(ts, default=None))

    @property
    def of_class(self) -> ClassLimits:
        """Return what a class has to hold."""
        return ClassLimits(self.k, self.l, self.t)

    @property
    def summary(self) -> str:
        """Format the limits in words: `k 5, l 2`."""
        parts = [("k", self.k), ("l", self.l), ("t", self.t)]
        return ", ".join(f"{word} {item:g}" for word, item in parts if item is not None)

    def broken_by(self, limits: Limits) -> bool:
        """Check whether limits are looser than these."""
        return (
            (self.k > (limits.least_k or 2))
            or (self.l is not None and (limits.l is None or limits.l < self.l))
            or (self.t is not None and (limits.t is None or limits.t > self.t))
        )

    def applied(self, limits: Limits) -> Limits:
        """Return limits with these in the place of those that are looser."""
        k = self.k if limits.least_k is not None or self.k > 2 else None
        return limits.model_copy(update={"k": k, "l": self.l, "t": self.t})

    def as_json(self) -> dict[str, Json]:
        """Return it as plain data."""
        return {"k": self.k, "l": self.l, "t": self.t}


def _limits_of(event: ReleaseEvent) -> Limits:
    result = event.body.get("limits")
    words = result if isinstance(result, Mapping) else {}
    return Limits.model_validate({name: words[name] for name in ("k", "l", "t", "max_risk") if name in words})


@dataclass(frozen=True, slots=True)
class CompositionRisk:
    """What an earlier export and this one give away together.

    `in_both`: people in both. `intersected`: those of them who are alike, in both, with fewer than k - 1 others.
    `left_over`: people in one of them only, singled out by the difference of the two. All None where the two cannot
    be compared. `by_difference`: by sensitive column, in how many groups the rows that one of them has more than the
    other break a limit; by "", in how many they are of fewer than k people.
    """

    name: str
    exported_at: datetime
    in_both: int | None
    intersected: int | None
    left_over: int | None
    by_difference: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Json]:
        """Return it as plain data."""
        return {
            "export": self.name,
            "exported_at": self.exported_at.isoformat(),
            "persons_in_both": self.in_both,
            "persons_exposed": self.intersected,
            "persons_left_over": self.left_over,
            "groups_by_difference": dict(self.by_difference),
        }


@dataclass(frozen=True, slots=True)
class ExportComparison:
    """What comparing with earlier exports found. `earlier`: of each one; None where nothing can be compared.

    Attributes:
        by_all: people in small groups by all that can be compared together; None where these are fewer than two.
        promises: the limits that hold over all exports together.
        few_values: by sensitive column, people with fewer than l possible values by all exports together.
        linked: by sensitive column, rows that can be found in an earlier export and are, joined with it, in a group
            that breaks a limit; by "" in one of fewer than k people, where there is no such column.
        distances: by sensitive column, how far joined classes are from the table that was given; where t is promised.
        values_unknown: exports whose rows were not counted, though people have several or l or t was promised.
        reclassified: columns that an earlier export let out as something else than they are now.
        missing: of classes that are missing in all exports, those that break l or t, and all, by the grouping of an
            export of which most break one.
        elsewhere: by name of an export of another table, how many people are in it too.
    """

    earlier: Sequence[CompositionRisk] | None = ()
    by_all: int | None = None
    promises: PromisedLimits | None = None
    few_values: Mapping[str, int] = field(default_factory=dict)
    linked: Mapping[str, int] = field(default_factory=dict)
    distances: Mapping[str, float] = field(default_factory=dict)
    values_unknown: Sequence[str] = ()
    reclassified: Sequence[str] = ()
    elsewhere: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[int, int] = (0, 0)

    def together(self) -> Iterator[str]:
        """Yield what all exports together break."""
        promises = self.promises or PromisedLimits(2)
        if self.by_all:
            yield f"{describe_joint_exposure(self.by_all)}; k is {promises.k}"
        for name, many in self.few_values.items():
            if many:
                yield (
                    f"combined with all earlier exports, {_persons(many)} have fewer than {promises.l:g} "
                    f"possible values of {name}"
                )
        for name, many in self.linked.items():
            if many:
                what = f"that break a limit on {name}" if name else f"of fewer than {promises.k} people"
                yield (
                    f"rows of earlier exports can be found in this one, and joined with these {many:,} rows are in "
                    f"groups {what}"
                )
        for name, far in self.distances.items():
            if promises.t is not None and far > promises.t + T_SLACK:
                yield (
                    f"combined with earlier exports, a joint class is {far:.4g} away from the table in {name}; "
                    f"{promises.t:g} is the limit"
                )
        for name in self.values_unknown:
            yield (
                f"the counts of rows of export {name} were not recorded by the version that made it, so the difference "
                "cannot be judged"
            )
        yield from self._missing_in_all()
        if self.reclassified:
            yield (
                f"{', '.join(self.reclassified)} was published in an earlier export with another classification; a "
                "column must have the same classification in all releases"
            )

    def _missing_in_all(self) -> Iterator[str]:
        broken, every = self.missing
        if 2 * broken > every:
            yield (
                f"{broken:,} of {_groups(every)} missing in all exports break a limit on sensitive values; at most one "
                "half may, so that a missing group does not show its values"
            )

    def as_json(self) -> dict[str, Json]:
        """Return it as plain data, as a certificate has it."""
        return {
            "earlier": None if self.earlier is None else [item.as_json() for item in self.earlier],
            "exposed_by_all": self.by_all,
            "promised_together": None if self.promises is None else self.promises.as_json(),
            "few_values_by_all": dict(self.few_values),
            "rows_linked": dict(self.linked),
            "t_by_all": dict(self.distances),
            "together": list(self.together()),
            "persons_elsewhere": dict(self.elsewhere),
        }


NOT_COMPARED: Final = ExportComparison()
"""Of exports without records of people."""


def describe_exposure(values: Mapping[str, Json]) -> str:
    """Describe what an exposure as plain data says; nothing where people are in both, and none is exposed."""
    both, alone = values["persons_exposed"], values["persons_left_over"]
    if not isinstance(both, int) or not isinstance(alone, int):
        return "it cannot be compared, since the exports use different person keys"
    parts = []
    if both:
        parts.append(f"it leaves {_persons(both)} in groups below the limit")
    if alone:
        parts.append(f"the difference identifies {_persons(alone)} who are in only one of them")
    left = values.get("groups_by_difference")
    for name, many in left.items() if isinstance(left, Mapping) else ():
        if isinstance(many, int) and many:
            what = f"whose values of {name} break a limit" if name else "of fewer people than the limit"
            parts.append(f"the difference has {_groups(many)} {what}")
    if values.get("persons_in_both") == 0:
        parts.append("no person is in both, unless the person key has a different format in one of them")
    return " and ".join(parts)


def composition_risk(
    name: str, at: datetime, earlier: Earlier | None, pairs: PersonPairs, k: int, by_difference: Mapping[str, int]
) -> CompositionRisk:
    """Compare two exports; they cannot be where one was made without a person key, or has rows that name no person."""
    from checks.risk.composition import intersect_signed, left_over_signed

    if earlier is None or not is_comparable(earlier, pairs):
        return CompositionRisk(name, at, None, None, None)
    before, after = (earlier.pairs.people, earlier.pairs.classes), (pairs.people, pairs.classes)
    both = intersect_signed(before, after, k)
    return CompositionRisk(name, at, both.persons, both.exposed, left_over_signed(before, after, k), by_difference)


def is_comparable(earlier: Earlier, pairs: PersonPairs) -> bool:
    """Return whether two exports tell people apart by the same column and key, and name all of them."""
    return earlier.pairs.digest == pairs.digest and not earlier.pairs.unnamed and not pairs.unnamed


def exposed_by_all(earlier: Sequence[Earlier], pairs: PersonPairs, k: int) -> int | None:
    """Count the people in small groups by all exports together; None with fewer than two comparable earlier ones."""
    from checks.risk.composition import intersect_all_signed

    before = [
        (current_earlier.pairs.people, current_earlier.pairs.classes)
        for current_earlier in earlier
        if is_comparable(current_earlier, pairs)
    ]
    return intersect_all_signed([*before, (pairs.people, pairs.classes)], k) if len(before) > 1 else None


def few_values(
    earlier: Sequence[Earlier], pairs: PersonPairs, attribute: bytes, least: float, *, missing: bytes
) -> int:
    """Count the people with fewer possible values of a sensitive column, by all exports together, than promised."""
    from checks.risk.composition import SignedClasses, few_values_signed

    every = [current_earlier.pairs for current_earlier in earlier if is_comparable(current_earlier, pairs)] + [pairs]
    return few_values_signed(
        [
            SignedClasses(current_earlier.people, current_earlier.classes, current_earlier.values or b"")
            for current_earlier in every
        ],
        attribute,
        least,
        missing=missing,
    )


def reclassified(case: ReleaseColumns, earlier: Sequence[ReleaseEvent]) -> Sequence[str]:
    """Return the columns that an earlier export let out as another class of column than the release has now."""
    results = []
    for event in earlier:
        for name in _names(event, "columns"):
            now = case.release.columns.get(name)
            if now is not None and name not in results and now is not _class_then(event, name):
                results.append(name)
    return results


def _class_then(event: ReleaseEvent, name: str) -> ColumnClass:
    words = {
        "quasi_identifiers": ColumnClass.QUASI_IDENTIFIER,
        "sensitive": ColumnClass.SENSITIVE,
        "pseudonyms": ColumnClass.DIRECT_IDENTIFIER,
    }
    return next((result for word, result in words.items() if name in _names(event, word)), ColumnClass.OTHER)


def _names(event: ReleaseEvent, word: str) -> Sequence[str]:
    results = event.body.get(word)
    return [str(name) for name in results] if isinstance(results, list) else []


def describe_joint_exposure(many: int) -> str:
    """Format the number of people exposed by all exports together."""
    return f"combined with all earlier exports, {_persons(many)} are in groups below the limit"


def check_exposures(case: ReleaseColumns, export_comparison: ExportComparison, *, way_out: Callable[[], str]) -> None:
    """Check that no person is exposed, and that every limit that an export promised holds over all of them.

    `way_out`: returns the beginning of a hint, what would help beside the same treatment.

    Raises:
        Stop: one is, or an earlier export cannot be compared.
    """
    k = case.k if export_comparison.promises is None else export_comparison.promises.k
    for item in export_comparison.earlier or ():
        _check_exposure(case, item, k, way_out=way_out)
    for seen in export_comparison.together():
        raise _exposes(case, seen, f"{way_out()}use the same treatment as for those exports")


def _check_exposure(
    case: ReleaseColumns, composition_risk: CompositionRisk, k: int, *, way_out: Callable[[], str]
) -> None:
    exposed = (composition_risk.intersected, composition_risk.left_over)
    if exposed == (0, 0) and not any(composition_risk.by_difference.values()):
        return
    text = (
        f"it cannot be compared with export {composition_risk.name}: one of the two has no person key, a different "
        "person key or signature key, or rows without a person"
    )
    if composition_risk.intersected is not None:
        text = f"together with export {composition_risk.name} {describe_exposure(composition_risk.as_json())}; k is {k}"
    raise _exposes(case, text, f"{way_out()}use the same treatment as for that export")


def _exposes(case: ReleaseColumns, current_text: str, hint: str) -> Stop:
    text = f"{hint}; or set 're_release: warn' in the release"
    return Stop(ExitCode.FAILED, Problem("release.exposes", f"'{case.name}' is refused: {current_text}", hint=text))


def _groups(many: int) -> str:
    return "1 group" if many == 1 else f"{many:,} groups"


def _persons(many: int) -> str:
    return "1 person" if many == 1 else f"{many:,} people"
