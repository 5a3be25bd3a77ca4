"""What being in a table discloses, and how its classes hide in a population: delta-presence and journalist risk."""

# pandas is only named in annotations, so that the checks, which judge by numbers alone, need none
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from checks.classes.arrays import np, npt
from checks.risk.shared_columns import Shared, codes, column_of, paired

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class PresenceBounds:
    """Bounds on the probability that the table has a row of a person of the population (delta-presence).

    `delta_min`, `delta_max`: the smallest and largest share f/F of a class of the population that is in the table, 0 to
    1; both None without population. `outside`: rows of the table that cannot be of the population, at least; with any,
    the population is none of this table, and the shares mean nothing.
    """

    rows: int
    population_rows: int
    classes: int
    population_classes: int
    outside: int
    delta_min: float | None
    delta_max: float | None


@dataclass(frozen=True, slots=True)
class JournalistRisk:
    """The probability that a record is linked to the right person of the population (journalist risk).

    `highest`: 1 / the smallest F of a class that the table has. `average`: the mean of 1/F over the rows. `at_risk`:
    rows whose F is below k. All None without rows, and if some rows (`outside`, at least so many) are not of the
    population: then it is none of this table.
    """

    rows: int
    outside: int
    smallest: int | None
    highest: float | None
    average: float | None
    at_risk: int | None

    @classmethod
    def of(cls, counts: Iterable[tuple[int, int]], *, k: int, outside: int = 0) -> Self:
        """Take (F, rows in classes of that F) in any order.

        Raises:
            ValueError: k is below 2.
        """
        if k < 2:
            raise ValueError(f"k is at least 2: a class of one row hides no person; seen {k}")
        sizes: dict[int, int] = {}
        for size, count in counts:
            sizes[size] = sizes.get(size, 0) + count
        rows = sum(sizes.values())
        if not rows or outside or min(sizes) < 1:
            return cls(rows, max(outside, sizes.get(0, 0)), None, None, None, None)
        smallest = min(sizes)
        average = sum(count / size for size, count in sorted(sizes.items())) / rows
        at_risk = sum(count for size, count in sizes.items() if size < k)
        return cls(rows, 0, smallest, 1 / smallest, average, at_risk)


def delta_presence(table: pd.DataFrame, population: pd.DataFrame, quasi_identifiers: Shared) -> PresenceBounds:
    """Return the smallest and largest share of a class of the population that is in the table.

    Nergiz, Atzori, Clifton, Hiding the Presence of Individuals from Shared Databases, SIGMOD 2007: delta-presence holds
    for delta = (delta_min, delta_max) if for each person of the population the probability of being in the table, given
    the table, lies between the two. With disjoint classes it is f/F: of the F rows of the person's class in the
    population, f are in the table. A class that the table has not counts as 0: its people are known to be absent.

    NULL is a value of its own, equal to NULL. Values are compared as they are: give the population generalised as the
    table is.

    It does not say what else the table tells of those who are known to be in it (homogeneity), and holds against
    attackers who know no more than the population table.

    Args:
        table: any frame, whatever its index; it is not changed.
        population: one row for each person who may be in the table, those who are included.
        quasi_identifiers: the columns shared, or own column -> the population's column.

    Raises:
        KeyError: a frame has no such column.
        ValueError: no quasi-identifier; columns of two kinds.
    """
    sizes, populations = _class_counts(table, population, quasi_identifiers)
    covered = populations > 0
    shares = sizes[covered] / populations[covered]
    return PresenceBounds(
        rows=len(table),
        population_rows=len(population),
        classes=int((sizes > 0).sum()),
        population_classes=int(covered.sum()),
        outside=int(np.maximum(sizes - populations, 0).sum()),
        delta_min=float(shares.min()) if len(shares) else None,
        delta_max=float(shares.max()) if len(shares) else None,
    )


def journalist_risk(table: pd.DataFrame, population: pd.DataFrame, quasi_identifiers: Shared, k: int) -> JournalistRisk:
    """Return the risk that a record is found with the right person by an attacker who holds the population table.

    El Emam & Dankar, Protecting Privacy Using k-Anonymity, JAMIA 2008, and El Emam, Guide to the De-Identification of
    Personal Health Information, 2013: of a record in a class of F people of the population the risk is 1/F. Highest,
    average, and the rows with F < k (those that break k-map, Sweeney 2002).

    It does not hold against an attacker who knows that the person is in the table: that is prosecutor risk, 1/f, which
    is never smaller. Values are compared as they are, NULL equal to NULL.

    Args:
        table: any frame, whatever its index; it is not changed.
        population: one row for each person who may be in the table, those who are included.
        quasi_identifiers: the columns shared, or own column -> the population's column.
        k: the smallest F that is enough, at least 2.

    Raises:
        KeyError: a frame has no such column.
        ValueError: no quasi-identifier; columns of two kinds; k below 2.
    """
    sizes, populations = _class_counts(table, population, quasi_identifiers)
    outside = int(np.maximum(sizes - populations, 0).sum())
    present = sizes > 0
    counts = zip(populations[present].tolist(), sizes[present].tolist(), strict=True)
    return JournalistRisk.of(counts, k=k, outside=outside)


def _class_counts(
    table: pd.DataFrame, population: pd.DataFrame, shared: Shared
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return how many rows each class of either frame has in the table, and in the population: two arrays alike."""
    import pandas as pd

    keys = {}
    for at, (name, population_name) in enumerate(paired(shared, table, population).items()):
        result = codes(column_of(table, name), column_of(population, population_name))
        keys[f"known{at}"] = result.known
        keys[f"c{at}"] = np.where(result.known, result.numbers, 0)
    own = np.arange(len(table) + len(population)) < len(table)
    counts = pd.DataFrame(keys).assign(rows=own, population=~own)
    counts = counts.groupby(list(keys), sort=False)[["rows", "population"]].sum()
    return counts["rows"].to_numpy(np.int64), counts["population"].to_numpy(np.int64)
