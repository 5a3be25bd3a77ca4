"""Randomise a table: each value is kept with a probability, else redrawn from its declared domain (PRAM).

Nothing that decides what comes out is a float: a draw of 64 random bits is compared with a whole number, so that the
retention is exactly that number over 2**64, and epsilon is proved of this fraction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from checks import Json, did_you_mean
from remedies._errors import Misfit
from remedies.differential_privacy._matrix import Replacement
from remedies.differential_privacy._retention import (
    Retention,
    epsilon_for_pk,
    exact_epsilon,
    largest_retention,
    stated_epsilon,
)
from remedies.differential_privacy.answers.domain import SteppedColumn
from remedies.differential_privacy.domain import CategoryDomain, Codes
from remedies.differential_privacy.epsilon import NANO, Loss, nano
from remedies.differential_privacy.random_bytes import ONE, flags, many_below, random_order
from remedies.generalisation import text_of

if TYPE_CHECKING:
    import pandas as pd

CODE: Final = "randomise-1"
"""The version of what is drawn: raised with every change of it."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """The mechanism that randomised a table: the proof of its epsilon, as plain data, without anything of the table.

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


INDEX: Final = "(index)"
"""How the index is named among what leaves unchanged."""
ORDER: Final = "(order of rows)"
"""How the order of the rows is named there."""
_LARGEST: Final = 2**62
"""More cells than this have no number of 64 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class Randomised:
    """A randomised copy of a table, and what it was randomised with.

    `cells_changed`: by column, cells that held something else before; `rows_changed`: rows with such a cell. Unlike the
    other two they come from the table as it was, and are not to be given out.
    """

    frame: pd.DataFrame
    mechanism: Mechanism
    cells_changed: Mapping[str, int]
    rows_changed: int


def randomise(  # noqa: PLR0913 - three ways to say how much is kept, of which one is taken
    table: pd.DataFrame,
    domains: Mapping[str, Sequence[object] | SteppedColumn],
    *,
    epsilon: Loss | None = None,
    pk: float | None = None,
    retention: Retention | Mapping[str, Retention] | None = None,
    joint: bool = False,
    others: Mapping[str, object] | None = None,
    rows_per_unit: int = 1,
    keep_order: bool = False,
) -> Randomised:
    """Return a copy in which each value of the named columns is kept with a probability, else drawn from its domain.

    Columns are randomised separately, or, if `joint`, all together: a row's combination is kept or drawn again from
    all combinations of the domains. Joint is better for the reconstructed counts of combinations; by itself is better
    for counts of one column, and for what is used without reconstruction at epsilon up to about 1.

    Two values are the same if their texts are (`text_of`: 17 and 17.0). A randomised column has the type of its
    declared domain and not of what was there, since a type may tell of a single row (a float column: a value is
    missing). The index stays; one that is not 0, 1, 2 ... counts as a column that leaves unchanged. Where nothing
    leaves unchanged, **rows come out in random order**: in a sorted table, a place tells of values. Else the frame
    keeps its order, which is not protected: shuffle it before it is given out.

    Args:
        table: any frame.
        domains: by column to randomise, all values it could have had. Declared, never taken from the table. Numbers of
            a `SteppedColumn` are put into its cells first, each of which is its smallest number.
        epsilon: what the whole table may cost a unit, above 0, a decimal of at most nine places; or else:
        pk: the k of Pk-anonymity each row shall have at least; or else:
        retention: the probability of keeping a value, for all columns or by column.
        joint: see above.
        others: by column, the value of its domain that NULL and values outside the domain are taken for.
        rows_per_unit: how many rows one person has at most.
        keep_order: rows come out in the table's order, which then counts as something that leaves unchanged.

    Raises:
        Misfit: a column is not there, a declaration makes no sense, or a column without a value in `others` has NULL
            or values outside its domain (counted, never shown). Nothing is drawn then.
    """
    request = _Request(table, epsilon, pk, retention, joint=joint, rows_per_unit=rows_per_unit, keep_order=keep_order)
    read = [CategoryDomain.read(name, values, others or {}) for name, values in domains.items()]
    _check(request, read, others or {})
    sizes = [domain.size for domain in read]
    cells = [math.prod(sizes)] if joint else sizes
    if max(cells) > _LARGEST:
        raise Misfit("the domains have more combinations than can be numbered; randomise the columns separately")
    retentions = _retentions(request, [domain.name for domain in read], cells)
    mechanism = _mechanism(request, read, retentions, cells)
    coded = [domain.read_column(table[domain.name]) for domain in read]
    drawn = _drawn([column.places for column in coded], mechanism)
    changed = [column.changed(codes) for column, codes in zip(coded, drawn, strict=True)]
    places = random_order(len(table)) if mechanism.shuffled else slice(None)  # randomness: order
    treated = table.copy(deep=False)
    treated.attrs = {}
    for domain, codes in zip(read, drawn, strict=True):
        treated[domain.name] = domain.column(codes[places], treated.index)
    cells_changed = {domain.name: int(differ.sum()) for domain, differ in zip(read, changed, strict=True)}
    return Randomised(treated, mechanism, cells_changed, int(np.logical_or.reduce(changed).sum()))


def redrawn(codes: Codes, size: int, retention: Fraction) -> Codes:
    """Return codes (n,), each kept with a probability of whole 2**-64ths, else drawn from 0 to size - 1."""
    is_retained = flags(int(retention * ONE), len(codes))
    return np.where(is_retained, codes, many_below(size, len(codes)).astype(np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class _Request:
    table: pd.DataFrame
    epsilon: Loss | None
    pk: float | None
    retention: Retention | Mapping[str, Retention] | None
    joint: bool = field(kw_only=True)
    rows_per_unit: int = field(kw_only=True)
    keep_order: bool = field(kw_only=True)


def _check(request: _Request, domains: Sequence[CategoryDomain], others: Mapping[str, object]) -> None:
    """Check that the declarations fit one another and the table's columns; its values are not looked at.

    Raises:
        Misfit: they do not.
    """
    if not domains:
        raise Misfit("no column is named; expected one or more with their domains")
    columns = request.table.columns.tolist()
    for domain in domains:
        if columns.count(domain.name) != 1:
            if domain.name in columns:
                raise Misfit(f"{columns.count(domain.name)} columns are named '{domain.name}'; rename them")
            raise Misfit(f"column '{domain.name}' not found{did_you_mean(domain.name, map(str, columns))}")
    named = [domain.name for domain in domains]
    unknown = sorted({*others, *(request.retention if isinstance(request.retention, Mapping) else ())} - set(named))
    if unknown:
        raise Misfit(f"column '{unknown[0]}' has no domain{did_you_mean(unknown[0], named)}")
    if sum(item is not None for item in (request.epsilon, request.pk, request.retention)) != 1:
        raise Misfit("expected exactly one of epsilon, pk and retention")
    if isinstance(request.rows_per_unit, bool) or request.rows_per_unit < 1:
        raise Misfit("rows_per_unit says how many rows one person has at most, 1 or more")


def _retentions(request: _Request, names: Sequence[str], cells: Sequence[int]) -> tuple[Fraction, ...]:
    """Return what is asked for in whole 2**-64ths, rounded down.

    Raises:
        Misfit: it cannot be had.
    """
    if request.retention is None:
        epsilon = (
            epsilon_for_pk(request.pk, len(request.table))
            if request.pk is not None
            else Fraction(nano(cast("Loss", request.epsilon)), NANO * request.rows_per_unit)
        )
        retentions: list[Retention] = [largest_retention(Fraction(epsilon), cells)] * len(cells)
    elif not isinstance(request.retention, Mapping):
        retentions = [request.retention] * len(cells)
    elif request.joint:
        raise Misfit("jointly randomised columns have one retention")
    else:
        missing = [name for name in names if name not in request.retention]
        if missing:
            raise Misfit(f"column '{missing[0]}' has no retention; name one for each column, or one for all")
        retentions = [request.retention[name] for name in names]
    if not all(0 <= rho < 1 for rho in retentions):
        raise Misfit("a retention is a probability, 0 to below 1; a column that is kept is not to be named")
    return tuple(Fraction(int(Fraction(rho) * ONE), ONE) for rho in retentions)


def _mechanism(
    request: _Request, domains: Sequence[CategoryDomain], retentions: tuple[Fraction, ...], cells: Sequence[int]
) -> Mechanism:
    spent = exact_epsilon(retentions, cells)
    if spent is None:
        raise Misfit("a retention of 1 protects nothing")
    named = {domain.name for domain in domains}
    unchanged = tuple(str(column) for column in request.table.columns if column not in named)
    if not _is_count(request.table.index):
        unchanged = (INDEX, *unchanged)
    if request.keep_order:
        unchanged = (ORDER, *unchanged)
    return Mechanism(
        domains={domain.name: domain.declared for domain in domains},
        ranges={
            domain.name: (*domain.range.range, domain.range.width) for domain in domains if domain.range is not None
        },
        others={domain.name: domain.declared[domain.other] for domain in domains if domain.other is not None},
        joint=request.joint,
        retentions=retentions,
        epsilon_of_row=stated_epsilon(spent),
        epsilon=None if unchanged else stated_epsilon(spent, request.rows_per_unit),
        rows=len(request.table),
        rows_per_unit=request.rows_per_unit,
        unchanged=unchanged,
        shuffled=not unchanged,
    )


def _is_count(index: pd.Index[Any]) -> bool:
    import pandas as pd

    return index.name is None and isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1


def _drawn(codes: Sequence[Codes], mechanism: Mechanism) -> Sequence[Codes]:
    if not mechanism.joint:
        return [redrawn(*item) for item in zip(codes, mechanism.sizes, mechanism.retentions, strict=True)]
    cells, (rho,) = math.prod(mechanism.sizes), mechanism.retentions
    mixed = np.ravel_multi_index(tuple(codes), mechanism.sizes).astype(np.int64)
    return [part.astype(np.int64) for part in np.unravel_index(redrawn(mixed, cells, rho), mechanism.sizes)]
