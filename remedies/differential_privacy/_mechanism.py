"""The record of how a table was randomised: what proves its epsilon, without anything of the table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from checks import Json
from remedies._errors import Misfit
from remedies.differential_privacy._matrix import Replacement
from remedies.differential_privacy._retention import exact_epsilon, stated_epsilon
from remedies.generalisation import text_of

CODE: Final = "randomise-1"
"""The version of what is drawn: raised with every change of it."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """What a table was randomised with: the proof of its epsilon, as plain data, without anything of the table.

    `domains`: by column, what its value could have been; the order is that of the matrix. `others`: by column, what
    values outside its domain and NULL were taken for, before anything was drawn. `ranges`: by column of numbers, the
    smallest and largest of them and the width of the cells that they were put into, before that. `retentions`: the
    exact probability of keeping a value, one for each column, or one for the combination of all if `joint`.
    `epsilon_of_row`: what the named columns of one row cost, never rounded down. `epsilon`: that times `rows_per_unit`,
    which is what the whole table costs a person; None as soon as a column is `unchanged`, for then it bounds nothing.
    `shuffled`: rows came out in random order; they do wherever there is an epsilon.

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
    ranges: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return how many values each column's domain has."""
        return tuple(map(len, self.domains.values()))

    @property
    def factors(self) -> tuple[Replacement, ...]:
        """Return the matrices for `reconstruct`: of each column, or one of all combinations."""
        sizes = (math.prod(self.sizes),) if self.joint else self.sizes
        return tuple(Replacement(float(rho), size) for rho, size in zip(self.retentions, sizes, strict=True))

    @property
    def likelihood_ratio(self) -> Fraction:
        """Return how many times as likely a row may come out if it held something else: exact, at most e^epsilon."""
        ratio = Fraction(1)
        for rho, factor in zip(self.retentions, self.factors, strict=True):
            ratio *= (1 + (factor.size - 1) * rho) / (1 - rho) if factor.size > 1 else 1
        return ratio

    def as_json(self) -> Mapping[str, Json]:
        """Return it as plain data; numbers that have to be exact are texts."""
        return {
            "mechanism": "joint" if self.joint else "attribute-wise",
            "domains": {name: [text_of(value) for value in values] for name, values in self.domains.items()},
            "others": {name: text_of(value) for name, value in self.others.items()},
            "ranges": {name: list(numbers) for name, numbers in self.ranges.items()},
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

    @classmethod
    def read(cls, record: object) -> Mechanism:
        """Read what `as_json` gave; values of domains are their texts then.

        Raises:
            Misfit: it is not such a record, of another version, or its epsilon does not follow from its retentions.
        """
        fields: Any = record
        try:
            result = cls(
                domains={str(name): tuple(map(str, values)) for name, values in fields["domains"].items()},
                others={str(name): str(value) for name, value in fields["others"].items()},
                joint={"joint": True, "attribute-wise": False}[fields["mechanism"]],
                retentions=tuple(Fraction(item) for item in fields["retentions"]),
                epsilon_of_row=Decimal(fields["epsilon_of_row"]),
                epsilon=None if fields["epsilon"] is None else Decimal(fields["epsilon"]),
                rows=int(fields["rows"]),
                rows_per_unit=int(fields["rows_per_unit"]),
                unchanged=tuple(map(str, fields["unchanged"])),
                shuffled=bool(fields["shuffled"]),
                adjacency=str(fields["adjacency"]),
                code=str(fields["code"]),
                ranges={str(name): (int(a), int(b), int(c)) for name, (a, b, c) in fields["ranges"].items()},
            )
        except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError):
            raise Misfit("expected the record of a mechanism, as a randomised table's bill has it") from None
        if result.code != CODE:
            raise Misfit(f"the record is of version '{result.code[:40]}', expected '{CODE}'")
        if not result._follows():
            raise Misfit("the epsilon of the record does not follow from its domains and retentions")
        return result

    def _follows(self) -> bool:
        """Check whether epsilon is what the retentions cost, and stated only where nothing leaves unchanged."""
        sizes = (math.prod(self.sizes),) if self.joint else self.sizes
        if not sizes or 0 in sizes or len(sizes) != len(self.retentions) or self.rows_per_unit < 1:
            return False
        if not all(0 <= rho < 1 for rho in self.retentions):
            return False
        spent = exact_epsilon(self.retentions, sizes)
        if spent is None or stated_epsilon(spent) != self.epsilon_of_row:
            return False
        return self.epsilon == (None if self.unchanged else stated_epsilon(spent, self.rows_per_unit))
