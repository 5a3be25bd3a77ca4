"""Linkage attacks: people found in a table by an attacker who holds another one, exactly or within a tolerance."""

# pandas is only named in annotations, so that the checks, which judge by numbers alone, need none
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Self

from checks.classes.arrays import np
from checks.risk.shared_columns import Shared, codes, column_of, near, paired

if TYPE_CHECKING:
    import pandas as pd

_BUCKET: Final = "bucket"
WIDTH: Final = 4
"""How wide a bucket is, in tolerances: then two values within one lie in the same bucket or in neighbours."""


@dataclass(frozen=True, slots=True)
class Linkage:
    """The number of records that can be linked to exactly one of the other table.

    `rows`: how many were looked at, rows of the table or, with an entity, people of the auxiliary table. `candidates`:
    how many of them have so many matches on the other side, ascending, 0 included; the counts add up to `rows`.
    `uniquely_matched_both_ways`: those whose only match has no other match either. `not_compared`: shared columns of
    which no value occurs on both sides, so that nothing could match.
    """

    rows: int
    uniquely_matched_both_ways: int
    candidates: Mapping[int, int]
    not_compared: tuple[str, ...] = ()

    @classmethod
    def of(cls, counted: Iterable[tuple[int, int, int]], *, rows: int) -> Self:
        """Take (number of matches, how many have so many, how many of those are the only match of theirs).

        Those without a match may be omitted.
        """
        counts: dict[int, int] = {}
        both_ways = 0
        for candidates, count, back in counted:
            if candidates:
                counts[candidates] = counts.get(candidates, 0) + count
                both_ways += back
        unmatched = rows - sum(counts.values())
        return cls(rows, both_ways, dict(sorted(({0: unmatched} if unmatched else {}).items() | counts.items())))

    @property
    def matched(self) -> int:
        """Count those with at least one match."""
        return self.rows - self.candidates.get(0, 0)

    @property
    def uniquely_matched(self) -> int:
        """Count those with one and only one match."""
        return self.candidates.get(1, 0)

    @property
    def fraction(self) -> float | None:
        """Return the share with one and only one match, 0 (best) to 1; None if nothing was compared."""
        return self.uniquely_matched / self.rows if self.rows and not self.not_compared else None


def linkage(
    table: pd.DataFrame,
    auxiliary: pd.DataFrame,
    *,
    on: Shared,
    tolerance: Mapping[str, float | timedelta] | None = None,
    entity: str | Mapping[str, str] | None = None,
    at_least: int | None = None,
) -> Linkage:
    """Count who is singled out when two frames are joined on the columns they share.

    **Records** (Sweeney, k-anonymity: a model for protecting privacy, IJUFKS 2002: the voter list). A row matches an
    auxiliary row if all shared columns agree: equal, or no further apart than the column's tolerance. Its candidates
    are the auxiliary rows that it matches, copies counted one by one.

    **People** (Narayanan & Shmatikov, Robust De-anonymization of Large Sparse Datasets, S&P 2008, section 4: film
    ratings). With `entity` both frames have many rows for a person. What is known of an auxiliary person are the
    distinct auxiliary rows without NULL; one is found with a person of the table if any of that person's rows matches
    it. Candidates of an auxiliary person are the people of the table with matches for at least `at_least` of the known
    rows are found, by default all of them (their Scoreboard algorithm: the minimum over what is known, as a threshold).
    A person known by fewer rows than `at_least`, or by none, has no candidate. One row of the table may be the match
    of several known rows.

    NULL and NaN match nothing, not even NULL: what is not there tells an attacker nothing. This counts fewer matches
    than an attacker finds who takes NULL for "any".

    Args:
        table: any frame, whatever its index; it is not changed.
        auxiliary: what the attacker holds. Without a row nothing is compared.
        on: the columns shared, or own column -> auxiliary column.
        tolerance: own column -> how far apart two values may be: a number between numbers, a duration between times.
            Fractions get a billionth of it more, for floating point. Times without a zone are compared as written.
        entity: the column that identifies people, or {own: auxiliary}.
        at_least: how many known rows must be found, from 1.

    Where no value of a shared column occurs on both sides (`01234` and `1234`), or no auxiliary row has a value in all
    of them, nothing was compared: `not_compared` names the columns, and the `fraction` is None.

    A count of 0 is no proof: another auxiliary table, or other columns, may single people out. A unique match is right
    only if the person is in both tables.

    Raises:
        KeyError: a frame has no such column.
        ValueError: no shared column; columns of two kinds; a tolerance of another kind than the column, or negative;
            times of which some have an offset and some none; `at_least` without `entity`, or below 1.
    """
    pairs, tolerance = paired(on, table, auxiliary), dict(tolerance or {})
    unknown = sorted(set(tolerance) - set(pairs))
    if unknown:
        raise ValueError(f"a tolerance needs a shared column; not shared: {', '.join(unknown)}")
    if at_least is not None and (entity is None or at_least < 1):
        raise ValueError("'at_least' counts the known rows of a person, from 1: it needs 'entity'")
    sides = _Sides.of(table, auxiliary, pairs, tolerance)
    result = _records(sides) if entity is None else _persons(sides, table, auxiliary, entity, at_least)
    if result.matched:
        return result
    apart = tuple(name for name, is_apart in zip(pairs, sides.apart, strict=True) if is_apart or sides.other.empty)
    return replace(result, not_compared=apart)


@dataclass(frozen=True, slots=True)
class _Sides:
    """Both frames as numbers: shared columns `c0`, `c1` ... in both, without rows in which one is not known."""

    rows: int
    own: pd.DataFrame
    other: pd.DataFrame
    reaches: Mapping[str, float]
    """How far apart two values may be, of the columns that have a tolerance."""
    apart: tuple[bool, ...]
    """Of each shared column whether no value of it occurs on both sides, in rows that are complete or not."""

    @classmethod
    def of(
        cls,
        table: pd.DataFrame,
        auxiliary: pd.DataFrame,
        pairs: Mapping[str, str],
        tolerance: Mapping[str, float | timedelta],
    ) -> Self:
        import pandas as pd

        rows, columns, reaches, apart = len(table), {}, {}, []
        is_complete = np.ones(rows + len(auxiliary), dtype=bool)
        for at, (name, auxiliary_name) in enumerate(pairs.items()):
            column, other_column = column_of(table, name), column_of(auxiliary, auxiliary_name)
            if name in tolerance:
                values, reaches[f"c{at}"] = near(column, other_column, tolerance[name])
            else:
                values = codes(column, other_column)
            columns[f"c{at}"] = values.numbers
            first, second = (
                pd.DataFrame({f"c{at}": values.numbers[side][values.known[side]]}).drop_duplicates()
                for side in (slice(None, rows), slice(rows, None))
            )
            apart.append(
                _matches(first, second, {name: far for name, far in reaches.items() if name == f"c{at}"}).empty
            )
            is_complete &= values.known
        both = pd.DataFrame(columns)
        own, other = both[:rows][is_complete[:rows]], both[rows:][is_complete[rows:]]
        return cls(rows, own, other.set_axis(other.index - rows), reaches, tuple(apart))

    @property
    def names(self) -> list[str]:
        return list(self.own.columns)


def _records(sides: _Sides) -> Linkage:
    own = sides.own.groupby(sides.names, sort=False).size().reset_index(name="rows")
    other = sides.other.groupby(sides.names, sort=False).size().reset_index(name="others")
    pairs = _matches(own.assign(own=own.index), other.assign(other=other.index), sides.reaches)
    back = pairs.groupby("other")["rows"].transform("sum")
    per = pairs.assign(back=back).groupby("own").agg(rows=("rows", "first"), n=("others", "sum"), back=("back", "max"))
    both_ways = per["rows"].where((per["n"] == 1) & (per["back"] == 1), 0)
    return Linkage.of(zip(per["n"].tolist(), per["rows"].tolist(), both_ways.tolist(), strict=True), rows=sides.rows)


def _persons(
    sides: _Sides,
    table: pd.DataFrame,
    auxiliary: pd.DataFrame,
    entity: str | Mapping[str, str],
    at_least: int | None,
) -> Linkage:
    ((own_key, other_key),) = paired([entity] if isinstance(entity, str) else entity, table, auxiliary).items()
    own = _facts(sides.own, table[own_key], "person")
    other = _facts(sides.other, auxiliary[other_key], "target")
    other = other.assign(fact=other.index)
    pairs = _matches(own, other, sides.reaches)[["target", "fact", "person"]].drop_duplicates()
    scores = pairs.groupby(["target", "person"]).size().reset_index(name="score")
    needed = scores["target"].map(other.groupby("target").size()) if at_least is None else at_least
    fits = scores[scores["score"] >= needed]
    back = fits.groupby("person")["target"].transform("size")
    per = fits.assign(back=back).groupby("target").agg(n=("person", "size"), back=("back", "max"))
    both_ways = ((per["n"] == 1) & (per["back"] == 1)).astype(int)
    counts = zip(per["n"].tolist(), [1] * len(per), both_ways.tolist(), strict=True)
    return Linkage.of(counts, rows=int(auxiliary[other_key].nunique()))


def _facts(shared: pd.DataFrame, person: pd.Series[Any], label: str) -> pd.DataFrame:
    """Return the distinct known rows of each person."""
    import pandas as pd

    persons, _ = pd.factorize(person)
    facts = shared.assign(**{label: persons[shared.index]})
    return facts[facts[label] >= 0].drop_duplicates(ignore_index=True)


def _matches(own: pd.DataFrame, other: pd.DataFrame, reaches: Mapping[str, float]) -> pd.DataFrame:
    """Join the rows that match; columns of a tolerance are joined by buckets first, which keeps far values apart."""
    import pandas as pd

    exact = [name for name in own.columns if name.startswith("c") and name not in reaches]
    if not reaches:
        return own.merge(other, on=exact)
    first, width = next(((name, reach * WIDTH) for name, reach in reaches.items() if reach), (next(iter(reaches)), 1))
    low, high = (np.floor((own[first] + side * reaches[first]) / width) for side in (-1, 1))
    apart = low != high
    spread = pd.concat([own.assign(bucket=low), own[apart].assign(bucket=high[apart])], ignore_index=True)
    results = spread.merge(
        other.assign(bucket=np.floor(other[first] / width)), on=[*exact, _BUCKET], suffixes=("", "_")
    )
    fits = np.ones(len(results), dtype=bool)
    for name, reach in reaches.items():
        values, other_values = results[name].to_numpy(), results[f"{name}_"].to_numpy()
        fits &= (values - reach <= other_values) & (other_values <= values + reach)
    frame: pd.DataFrame = results[fits]
    return frame
