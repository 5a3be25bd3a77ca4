"""Compare a table with earlier releases of it, by signatures."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from checks.classes.counts import KnownRelease, PersonPairs

NAME: Final = "release"
SIZE: Final = "size"
PERSONS: Final = "persons"


def compared(now: PersonPairs, releases: Sequence[KnownRelease]) -> list[Mapping[str, Any]]:
    """Return, per release and size of group, how many persons are in groups of that size: `release`, `size`, `persons`.

    A release with which the table has nobody in common has one row, of size 0 and no persons. One whose persons are
    told apart otherwise (by other columns, or under another key) has one row whose size is None.
    """
    from checks.risk.composition import intersect_signed

    rows: list[Mapping[str, Any]] = []
    for release in releases:
        if release.pairs.digest != now.digest:
            rows.append({NAME: release.name, SIZE: None, PERSONS: 0})
            continue
        composition = intersect_signed((release.pairs.people, release.pairs.classes), (now.people, now.classes), 2)
        sizes = composition.histogram or ((0, 0),)
        rows += [{NAME: release.name, SIZE: size, PERSONS: persons} for size, persons in sizes]
    return rows
