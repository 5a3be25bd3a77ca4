"""The record of how a table was randomised: what proves its epsilon, without anything of the table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from checks import Json
from remedies.differential_privacy._matrix import Replacement
from remedies.generalisation import text_of

CODE: Final = "randomise-1"
"""The version of what is drawn: raised with every change of it."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """What a table was randomised with: the proof of its epsilon, as plain data, without anything of the table.

    `domains`: by column, what its value could have been; the order is that of the matrix. `others`: by column, what
    values outside its domain and NULL were taken for, before anything was drawn. `retentions`: the exact probability
    of keeping a value, one for each column, or one for the combination of all if `joint`. `epsilon_of_row`: what the
    named columns of one row cost, never rounded down. `epsilon`: that times `rows_per_unit`, which is what the whole
    table costs a person; None as soon as a column is `unchanged`, for then it bounds nothing. `shuffled`: rows came out
    in random order; they do wherever there is an epsilon.

    Neighbouring tables have as many rows, in any order, and differ in what is in those of one unit (adjacency
    `substitute`); where a column has no value in `others`, both have only values of its domain.
    """

    domains: Mapping[str, tuple[object, ...]]
    others: Mapping[str, object]
    joint: bool
    retentions: tuple[Fraction, ...]
    epsilon_of_row: Decimal
    epsilon: Decimal | None
    rows: int
    rows_per_unit: int
    unchanged: tuple[str, ...]
    shuffled: bool
    adjacency: str = "substitute"
    code: str = CODE

    @property
    def sizes(self) -> tuple[int, ...]:
        """Give how many values each column's domain has."""
        return tuple(map(len, self.domains.values()))

    @property
    def factors(self) -> tuple[Replacement, ...]:
        """Give the matrices for `reconstruct`: of each column, or one of all combinations."""
        sizes = (math.prod(self.sizes),) if self.joint else self.sizes
        return tuple(Replacement(float(rho), size) for rho, size in zip(self.retentions, sizes, strict=True))

    @property
    def likelihood_ratio(self) -> Fraction:
        """Give how many times as likely a row may come out if it held something else: exact, at most e^epsilon."""
        ratio = Fraction(1)
        for rho, one in zip(self.retentions, self.factors, strict=True):
            ratio *= (1 + (one.size - 1) * rho) / (1 - rho) if one.size > 1 else 1
        return ratio

    def as_json(self) -> Mapping[str, Json]:
        """Give it as plain data; numbers that have to be exact are texts."""
        return {
            "mechanism": "joint" if self.joint else "attribute-wise",
            "domains": {name: [text_of(value) for value in values] for name, values in self.domains.items()},
            "others": {name: text_of(value) for name, value in self.others.items()},
            "retentions": [str(rho) for rho in self.retentions],
            "epsilon_of_row": f"{self.epsilon_of_row:f}",
            "epsilon": None if self.epsilon is None else f"{self.epsilon:f}",
            "adjacency": self.adjacency,
            "rows": self.rows,
            "rows_per_unit": self.rows_per_unit,
            "unchanged": list(self.unchanged),
            "shuffled": self.shuffled,
            "code": self.code,
        }
