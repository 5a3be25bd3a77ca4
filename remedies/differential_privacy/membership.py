"""Attack a synthesis: does it show which rows it was made from?

The table is cut at random into thirds. One is synthesised as the table would be, one are others, and one says how
common each value is. A row scores by how much more common its values, and its pairs of values, are in the synthetic
table than in that third: the log of the ratio, summed over all columns and pairs. Members and others of a synthesis
that remembers no row have the same scores. The same attack on a synthesis almost without noise shows what it can see.

What is computed here comes from the protected table itself: it is for the person who decides, and no private release.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from checks import Json, Message
from remedies.differential_privacy.domain import CategoryDomain, Codes
from remedies.differential_privacy.random_bytes import random_order
from remedies.differential_privacy.synthesis import LARGEST, Floats, cells_of, synthesise

if TYPE_CHECKING:
    import pandas as pd

MOST: Final = 30_000
"""Rows of the table that are used, drawn at random."""
_LEAST: Final = 30
_FALSE: Final = 0.05
_NORMAL: Final = 1.959964  # of 95 %
_ALMOST_NO_NOISE: Final = "100000"


@dataclass(frozen=True, slots=True)
class MembershipAttack:
    """What an attack found.

    `rows`: members, and as many others. `auc`: the chance that a member scores higher than another row, 0.5 where the
    attack sees nothing, with a 95 % interval from `low` to `high` (Hanley, McNeil 1982). `noticed`: the AUC that would
    differ from 0.5 significantly with a chance of one half. `found`: the share of members above the score that 5 % of
    others exceed, at most `bound` by the loss. `without_noise`: the AUC of the same attack almost without noise.
    """

    rows: int
    auc: float
    low: float
    high: float
    noticed: float
    found: float
    bound: float
    without_noise: float

    def as_json(self) -> dict[str, Json]:
        """Return it as plain data, to two digits, as all figures of the protected table are shown."""
        figures = ("auc", "low", "high", "noticed", "found", "bound", "without_noise")
        return {"rows": self.rows, **{name: round(getattr(self, name), 2) for name in figures}}


def described(attack: Mapping[str, Any]) -> Message:
    """Return an attack, as its plain data, as a sentence."""
    text = (
        "membership attack: AUC {auc:number} ({low:number} to {high:number}); 0.5 is no gain, {noticed:number} would "
        "be noticed, {without_noise:number} is reached without noise; at 5 % false alarms it finds {found:ratio} of "
        "the members, epsilon allows {bound:ratio}"
    )
    return Message(text, {name: attack[name] for name in attack if name != "rows"})


def attack_membership(
    table: pd.DataFrame, read: Sequence[CategoryDomain], *, loss: float, chance: float, **words: Any
) -> MembershipAttack | None:
    """Return what the attack finds; None of a table of fewer than 30 rows.

    `loss`, `chance`: epsilon and delta of what `words`, the arguments of `synthesise`, cost. With a unit of several
    rows they are of all of these, and the attack looks at one.

    Raises:
        Misfit: as `synthesise`.
    """
    order = random_order(len(table))[:MOST]  # randomness: order
    if len(order) < _LEAST:
        return None
    members, others, common = (table.iloc[part] for part in np.array_split(order, 3))
    made = synthesise(members, **words).frame
    exact = synthesise(members, **{**words, "epsilon": _ALMOST_NO_NOISE, "rho": None, "delta": None}).frame
    pairs = [(a, b) for a, b in combinations(range(len(read)), 2) if _cells(read, (a, b)) <= LARGEST]
    scored = _Scored(read, pairs, common)
    inside, outside = scored.of(made, members), scored.of(made, others)
    auc = _auc(inside, outside)
    error = _standard_error(auc, len(inside), len(outside))
    false = np.quantile(outside, 1 - _FALSE, method="higher")
    return MembershipAttack(
        rows=len(inside),
        auc=auc,
        low=max(0.0, auc - _NORMAL * error),
        high=min(1.0, auc + _NORMAL * error),
        noticed=min(1.0, 0.5 + _NORMAL * _standard_error(0.5, len(inside), len(outside))),
        found=float(np.mean(inside > false)),
        bound=min(1.0, math.exp(min(loss, 50.0)) * _FALSE + chance, 1 - math.exp(-loss) * (1 - _FALSE - chance)),
        without_noise=_auc(scored.of(exact, members), scored.of(exact, others)),
    )


def _cells(domains: Sequence[CategoryDomain], at: Iterable[int]) -> int:
    return math.prod(domains[place].size + 1 for place in at)


class _Scored:
    """Scores rows against the counts of a table that is common knowledge."""

    def __init__(
        self, domains: Sequence[CategoryDomain], pairs: Sequence[tuple[int, int]], common: pd.DataFrame
    ) -> None:
        self._domains = domains
        self._views: Sequence[tuple[int, ...]] = [*((at,) for at in range(len(domains))), *pairs]
        self._common = [self._shares(view, self._codes(common)) for view in self._views]

    def of(self, made: pd.DataFrame, rows: pd.DataFrame) -> Floats:
        """Return the score of each row, float64 (n,)."""
        known, codes = self._codes(made), self._codes(rows)
        scores = np.zeros(len(rows))
        for view, common in zip(self._views, self._common, strict=True):
            ratio = np.log(self._shares(view, known)) - np.log(common)
            scores += ratio[self._places(view, codes)]
        return scores

    def _codes(self, frame: pd.DataFrame) -> Sequence[Codes]:
        """Return the cells of each column; NULL and undeclared values are the last one, as they come out."""
        return [cells_of(domain, frame[domain.name]) for domain in self._domains]

    def _places(self, view: tuple[int, ...], codes: Sequence[Codes]) -> Codes:
        place = codes[view[0]]
        return place if len(view) == 1 else place * (self._domains[view[1]].size + 1) + codes[view[1]]

    def _shares(self, view: tuple[int, ...], codes: Sequence[Codes]) -> Floats:
        counts = np.bincount(self._places(view, codes), minlength=_cells(self._domains, view))
        return np.asarray((counts + 0.5) / (counts.sum() + counts.size / 2))


def _auc(inside: Floats, outside: Floats) -> float:
    """Return the share of pairs in which the member scores higher, ties by half (Mann, Whitney 1947)."""
    ordered = np.sort(outside)
    below = np.searchsorted(ordered, inside, side="left")
    upto = np.searchsorted(ordered, inside, side="right")
    return float((below + upto).sum() / 2 / (len(inside) * len(outside)))


def _standard_error(auc: float, inside: int, outside: int) -> float:
    """Return the standard error of an AUC (Hanley, McNeil 1982, equation 2)."""
    one, two = auc / (2 - auc), 2 * auc * auc / (1 + auc)
    spread = auc * (1 - auc) + (inside - 1) * (one - auc * auc) + (outside - 1) * (two - auc * auc)
    return math.sqrt(max(0.0, spread) / (inside * outside))
