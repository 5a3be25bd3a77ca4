"""Datafly: one level for each column, found by raising the most varied one until few rows are left to suppress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from remedies._errors import Misfit
from remedies.generalisation.criteria import Criterion, check_k, rows_of
from remedies.generalisation.frequencies import Frequencies, read_counts
from remedies.generalisation.incognito_search import sensitive_of
from remedies.generalisation.limits_of_classes import broken_combinations
from remedies.generalisation.recoding import Recoding

if TYPE_CHECKING:
    import pandas as pd

    from checks.risk import Hierarchy


@dataclass(frozen=True, slots=True, eq=False)
class Datafly:
    """The result of Datafly. It is no optimum: a level raised early is never lowered, and better nodes may hold.

    `recoding`: the node and the rows to suppress. `raised`: the columns in the order in which they went up a level.
    """

    recoding: Recoding
    raised: tuple[str, ...]

    @property
    def levels(self) -> tuple[int, ...]:
        """Return the level of each column."""
        return self.recoding.levels or ()


def datafly(
    counts: pd.DataFrame,
    hierarchies: Mapping[str, Hierarchy],
    k: int,
    suppression_limit: float = 0,
    *,
    criteria: Sequence[Criterion] = (),
    count: str = "count",
) -> Datafly:
    """Find a full-domain generalisation that is k-anonymous, quickly; no optimum.

    Sweeney 2002 ("Achieving k-anonymity privacy protection using generalization and suppression", figure 3): while more
    rows than may be suppressed are in classes that break a limit, the column with the most distinct values goes up one
    level (of several, the first one); what then still breaks one is suppressed. `optimal` says how much better it gets.

    Args:
        counts: a row for each combination of the quasi-identifiers (and sensitive columns), with its `count`.
        hierarchies: of each quasi-identifier.
        k: rows of the smallest class, at least 2.
        suppression_limit: share of the rows that may be suppressed, from 0 to below 1.
        criteria: further limits, on sensitive columns.
        count: the column that says how many rows have the combination.

    Raises:
        Misfit: the table does not fit the hierarchies, has fewer than k rows, or breaks a limit at the highest levels.
        ValueError: k or the limit is out of range.
    """
    frequencies = read_counts(counts, hierarchies, sensitive=sensitive_of(criteria), count=count)
    return raise_until(frequencies, k, suppression_limit, criteria=criteria)


def raise_until(
    frequencies: Frequencies, k: int, suppression_limit: float = 0, *, criteria: Sequence[Criterion] = ()
) -> Datafly:
    """Run `datafly` on a frequency table that was already read."""
    check_k(frequencies, k)
    most = rows_of(suppression_limit, frequencies.rows)
    levels = [0] * len(frequencies.domains)
    raised: list[str] = []
    while True:
        broken = broken_combinations(frequencies, levels, k, criteria)
        if int(frequencies.counts[broken].sum()) <= most:
            return Datafly(Recoding.of_node(frequencies, levels, broken), tuple(raised))
        place = _most_varied(frequencies, levels)
        levels[place] += 1
        raised.append(frequencies.columns[place])


def _most_varied(frequencies: Frequencies, levels: Sequence[int]) -> int:
    """Return the column with the most distinct labels among those that can go up.

    Raises:
        Misfit: there is none.
    """
    varied = {
        place: len(np.unique(domain.nodes[level]))
        for place, (domain, level) in enumerate(zip(frequencies.domains, levels, strict=True))
        if level < domain.height
    }
    if not varied:
        raise Misfit(
            "at the highest levels too many rows still break a limit; add a root such as '*' to the hierarchies, leave "
            "a column out, or suppress more"
        )
    return max(varied, key=lambda place: (varied[place], -place))
