"""The privacy argument by brute force: what one unit's record moves on a real engine, through cut, cells and clamps."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Any, Final

import pytest

from remedies.differential_privacy.answers import STATISTICS, BoundedColumn, Statistic, Terms, sums
from remedies.differential_privacy.answers import rows as _rows
from remedies.differential_privacy.answers.reading import Reader
from remedies.differential_privacy.sensitivity import sum_sensitivity
from tests.remedies.differential_privacy.answers.exact import (
    Engine,
    Exact,
    Row,
    Spy,
    distance,
    duckdb_engine,
    sqlite_engine,
    terms_of,
)

ASKED: Final[Sequence[dict[str, Any]]] = (
    {"statistic": "count"},
    {"statistic": "count", "where": ["sex = F"]},
    {"statistic": "count", "where": ["sex != F", "amount >= 2"]},
    {"statistic": "histogram", "by": ["sex"]},
    {"statistic": "histogram", "by": ["age", "sex"], "where": ["amount < 4"]},
    {"statistic": "sum", "column": "amount"},
    {"statistic": "sum", "column": "amount", "where": ["age >= 20"]},
    {"statistic": "sum", "column": "amount", "by": ["sex"]},
    {"statistic": "mean", "column": "amount"},
    {"statistic": "mean", "column": "amount", "where": ["sex = M"]},
    {"statistic": "mean", "column": "amount", "by": ["age"]},
    {"statistic": "quantile", "column": "amount"},
    {"statistic": "quantile", "column": "amount", "share": "0.3", "where": ["age < 20"]},
    {"statistic": "quantile", "column": "amount", "share": 0},
)
LIMITS: Final = (
    {"low": 100, "high": 101},
    {"low": -3, "high": 5, "missing": 5},
    {"low": -7, "high": -2, "grid": "0.5"},
    {"low": 0, "high": 4},
)
SEXES: Final = (["F", "M"], {"values": ["F", "M"], "other": "M"})
COLUMNS: Final = {"who": "TEXT", "other": "TEXT", "sex": "TEXT", "age": "DOUBLE", "amount": "DOUBLE"}
VALUES: Final[Sequence[Row]] = (
    ("F", 15.0, 1e300),
    ("M", 40.0, -1e300),
    ("F", None, 100.7),
    (None, 39.5, None),
    ("x", float("inf"), 3.0),
    ("M", -1.0, float("-inf")),
    ("F\x1f", 0.0, -2.5),
    ("\x1e", 19.0, 2.0),
)
REST: Final[Sequence[Row]] = (("F", 20.0, 1e300), ("M", 0.0, 3.0), (None, 40.0, -1e300), ("F", 10.0, -2.5))


@dataclass(frozen=True)
class Case:
    """A declaration, the rows that stay, and all that one unit's record can be instead: rows of one unit each."""

    name: str
    terms: Terms
    stays: Sequence[Row]
    records: Sequence[Sequence[Row]]


def _cases(most: int) -> Iterator[Case]:
    for adjacency in ("substitute", "add-remove"):
        for place, limits in enumerate(LIMITS):
            domain = {"sex": SEXES[place % 2], "age": {"range": [0, 40], "width": 20}, "amount": limits}
            said: dict[str, Any] = {"adjacency": adjacency, "domain": domain}
            one: Sequence[Sequence[Row]] = [(("a", "b", *value),) for value in VALUES]
            rest = [("z", "y", *value) for value in REST]
            yield Case(f"row {adjacency} {limits}", terms_of(**said), rest, one)
            for rows in (1, 2):
                many = [
                    [("a", "b", *value) for value in chosen]
                    for size in range(most + rows)
                    for chosen in combinations_with_replacement(VALUES[:4], size)
                ]
                said["rows_per_unit"] = rows
                yield Case(f"who {rows} {adjacency} {limits}", terms_of(**said, unit="who"), rest, many)
                turned = [
                    [(b, a, *row) if at % 2 else (a, b, *row) for at, (a, b, *row) in enumerate(found)]
                    for found in many
                ]
                pair = terms_of(**said, unit=["who", "other"], pairs=["who", "other"])
                yield Case(f"pair {rows} {adjacency} {limits}", pair, [("a", "z", *rest[0][2:]), *rest], turned)


def _found(engine: Engine, statistic: Statistic, case: Case, spy: Spy) -> Iterator[Sequence[Exact]]:
    asks = engine.asks(statistic, case.terms)
    for record in case.records:
        statistic.answer(asks([*case.stays, *record]), case.terms)
        yield spy.taken()


def _without(engine: Engine, statistic: Statistic, case: Case, spy: Spy) -> Sequence[Exact]:
    statistic.answer(engine.asks(statistic, case.terms)(case.stays), case.terms)
    return spy.taken()


def _hold(engine: Engine, case: Case, spy: Spy) -> int:
    """Compare all neighbours of a case; give how many statistics came as far apart as they may."""
    tight = 0
    for said in ASKED:
        statistic = STATISTICS[said["statistic"]].model_validate({**said, "epsilon": "0.5"})
        found = list(_found(engine, statistic, case, spy))
        pairs: Iterable[tuple[Sequence[Exact], Sequence[Exact]]] = combinations(found, 2)
        if case.terms.declared.adjacency.value == "add-remove":
            alone = _without(engine, statistic, case, spy)
            pairs = [(alone, one) for one in found]
        farthest = 0
        for one, other in pairs:
            for a, b in zip(one, other, strict=True):
                l1, squared = distance(a, b)
                if said["statistic"] == "quantile":  # each utility by itself moves at most so far
                    l1 = max(abs(x - y) for x, y in zip(a.values, b.values, strict=True))
                    squared = l1**2
                assert l1 <= a.moved.l1, (case.name, said)
                assert squared <= a.moved.l2_squared, (case.name, said)
                farthest = max(farthest, l1 - a.moved.l1 + 1)
        tight += farthest == 1
    return tight


@pytest.mark.combinations
@pytest.mark.parametrize("case", list(_cases(2)), ids=lambda case: case.name)
def test_no_record_moves_a_sum_further_than_its_sensitivity_on_sqlite(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever one unit's record is, no statistic moves further than its noise hides; most move as far as that."""
    spy = Spy(monkeypatch)
    with sqlite_engine(COLUMNS) as engine:
        assert _hold(engine, case, spy) >= 5


@pytest.mark.parametrize("case", list(_cases(1))[:3], ids=lambda case: case.name)
def test_no_record_moves_a_sum_further_than_its_sensitivity_on_duckdb(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On DuckDB too, whatever one unit's record is, no statistic moves further than its noise hides."""
    spy = Spy(monkeypatch)
    with duckdb_engine(COLUMNS) as engine:
        assert _hold(engine, case, spy) >= 5


FAULTS: Final = {
    "no cut": lambda patch: patch.setattr(_rows, "_cut", lambda reader, *_, **__: reader),
    "no clamp": lambda patch: patch.setattr(
        Reader, "units", lambda reader, name, _: reader.number(name).fill_null(7).clip(-999, 999).cast("int64")
    ),
    "NULL is nothing": lambda patch: patch.setattr(BoundedColumn, "missing_units", property(lambda _: 0)),
    "a pair has two sides": lambda patch: patch.setattr(
        _rows, "_units", lambda reader, declared: [reader.unit(name) for name in declared.unit]
    ),
    "a unit has one row": lambda patch: patch.setattr(
        sums, "sum_sensitivity", lambda adjacency, **said: sum_sensitivity(adjacency, **{**said, "rows": 1})
    ),
    "a group is the table": lambda patch: patch.setattr(sums, "group_sum_sensitivity", sum_sensitivity),
    "rows are never left out": lambda patch: patch.setattr(
        sums,
        "sum_sensitivity",
        lambda adjacency, **said: sum_sensitivity(adjacency, **{**said, "one_row_each": said.get("rows", 1) == 1}),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_argument_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the cut, the clamp, the rule for NULL, or with another sensitivity, some record moves a sum too far."""
    FAULTS[fault](monkeypatch)
    spy = Spy(monkeypatch)
    found = 0
    for case in _cases(2):
        with sqlite_engine(COLUMNS) as engine:
            try:
                _hold(engine, case, spy)
            except AssertionError:
                found += 1
                break
    assert found == 1
