"""No file breaks a limit in its exact bytes, whatever the values of the table are; what cannot be proved is refused."""

import csv
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from monitor.releases.columns import ReleaseColumns, read_columns
from monitor.releases.plan import AS_IT_IS, find_plan, kinds_of
from monitor.releases.treat import treat, verify_release, write_treated
from monitor.terminal.problem import Stop
from remedies import Misfit, Refused
from tests.monitor.releases.desk import Desk

K = 4
NFC, NFD = (unicodedata.normalize(form, "Zoë") for form in ("NFC", "NFD"))
VALUES: dict[str, list[Any]] = {
    "floats": [0.1 + 0.2, 0.3, 0.0, -0.0, 1e-320, 5e-324, float("nan"), None, 1e16, 1e16 + 2, 1e22],
    # texts that look alike
    "texts": [NFC, NFD, "Zoe", "Zoë ", " Zoë", "Ｚoë", "ZOË", "", None, "NULL", "nan", "\u200bZoe", "Zoe\x00", '"Zoe"'],  # noqa: RUF001 - meant
    "numbers as texts": ["1", "01", "1.0", "+1", "1e0", "12345678901234567890", "12345678901234567891", "0x1", "٣"],
    "long whole numbers": [2**53, 2**53 + 1, -(2**63), 2**63 - 1, 0, None],
    "decimals": [Decimal("1.00"), Decimal("1.01"), Decimal("123456789012345678901234567890.01"), None],
    "days": [date(1, 1, 1), date(1970, 1, 1), date(9999, 12, 31), None],
    "moments": [datetime(2020, 1, 1, 0, 0, 0, 1, tzinfo=UTC), datetime(2020, 1, 1, 0, 0, 0, 2, tzinfo=UTC), None],
    "times": [time(0, 0, 0, 1), time(0, 0, 0, 2), time(0)],
    "truths": [True, False, None],
    "cells that run": ["=1", "'=1", "-1", "'-1", "@a", "＝1"],  # noqa: RUF001 - a spreadsheet may run it
    "one value": ["x"],
}
REMEDIES = [AS_IT_IS, "generalise", "mondrian", "microaggregate", "suppress", "cells"]


def _frame(values: list[Any], *, each: int) -> pd.DataFrame:
    """Return each value to so many people, in every class both illnesses."""
    rows = [(value, ill) for value in values for ill in ("flu", "gout") * (each // 2)]
    odd = pa.array([value for value, _ in rows], from_pandas=False)
    return pd.DataFrame(
        {"odd": pd.Series(odd, dtype=pd.ArrowDtype(odd.type)), "sex": "F", "ill": [ill for _, ill in rows]}
    )


def _desk(desk: Desk, frame: pd.DataFrame, name: str = "odd", **release: Any) -> ReleaseColumns:
    columns = {name: "quasi-identifier", "sex": "quasi-identifier", "ill": "sensitive"}
    remedies = [
        {"remedy": "generalise", "suppress": 0.5},
        {"remedy": "generalise", "id": "mondrian", "search": "mondrian"},
        {"remedy": "microaggregate"},
        {"remedy": "suppress"},
        {"remedy": "suppress", "id": "cells", "cells": True},
    ]
    desk.write(frame, columns=columns, **{"limits": {"k": K, "l": 2}, "remedies": remedies, **release})
    with desk.decisions() as decisions:
        return decisions.case


def _given_out(case: ReleaseColumns, remedy: str, draft: Path) -> bool:
    """Check whether a file came out and was proved."""
    plan = find_plan(case, remedy, kinds_of(case))
    try:
        treated = treat(case, plan, read_columns(case, plan.columns))
        written = write_treated(case, plan, treated, draft)
        verify_release(case, plan, treated, draft, written, case.project.clock)
    except (Misfit, Refused, Stop):
        return False
    return True


def _exact(draft: Path) -> Iterator[tuple[str, ...]]:
    """Yield the rows as they stand there: the texts of CSV, the bits of Parquet."""
    if draft.suffix == ".csv":
        with draft.open(encoding="utf-8", newline="") as opened:
            yield from map(tuple, list(csv.reader(opened))[1:])
        return
    for row in pq.read_table(draft).to_pylist():
        yield tuple(one.hex() if isinstance(one, float) else repr(one) for one in row.values())


def _check_exact(draft: Path) -> None:
    """Group by all quasi-identifiers, exactly."""
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for *quasi, ill in _exact(draft):
        groups[tuple(quasi)].append(ill)
    assert groups
    for members in groups.values():
        assert len(members) >= K
        assert len(set(members)) > 1


@pytest.mark.combinations
@pytest.mark.parametrize("end", ["csv", "parquet"])
@pytest.mark.parametrize("values", VALUES)
def test_no_exact_group_is_smaller_than_k(desk: Desk, values: str, end: str) -> None:
    """By any remedy, where each value has half as many people as have to be alike, and where all have enough."""
    for each in (2, 4):
        case = _desk(desk, _frame(VALUES[values], each=each))
        for remedy in REMEDIES:
            draft = desk.folder / f"{remedy}{each}.{end}"
            if _given_out(case, remedy, draft):
                _check_exact(draft)
            else:
                assert remedy != AS_IT_IS or each < K or values == "texts", remedy


@pytest.mark.parametrize("end", ["csv", "parquet"])
@pytest.mark.parametrize("pair", [(0.0, -0.0), (float("nan"), -float("nan"))])
def test_what_an_engine_takes_for_one_value_is_written_as_one(desk: Desk, pair: tuple[float, float], end: str) -> None:
    """Two and two are four only where their bits are equal."""
    frame = pd.concat([_frame(list(pair), each=2), _frame([1.0], each=4)], ignore_index=True)
    draft = desk.folder / f"out.{end}"
    assert _given_out(_desk(desk, frame), AS_IT_IS, draft)
    _check_exact(draft)
    if end == "parquet":
        cells = pq.read_table(draft)["odd"].combine_chunks().buffers()[1].to_pybytes()
        assert len({cells[place : place + 8] for place in range(0, 64, 8)}) == 2


_NAMES = ('a"; DROP TABLE output --', "select", "count", "n", "output", "Sex.", "a,b", "行")


@pytest.mark.parametrize(
    ("name", "end"), [*((name, "csv") for name in _NAMES), ('a"; DROP TABLE output; --', "parquet")]
)
def test_a_column_may_be_called_anything(desk: Desk, name: str, end: str) -> None:
    """It is grouped by all the same; what a spreadsheet would run after a semicolon leaves as Parquet."""
    out = desk.folder / f"out.{end}"
    frame = _frame(["x", "y"], each=4).rename(columns={"odd": name})
    case = _desk(desk, frame, name)
    assert _given_out(case, AS_IT_IS, out)
    frame = pd.concat([frame, frame.tail(1).assign(**{name: "z"})])
    assert not _given_out(_desk(desk, frame, name), AS_IT_IS, out)


def test_a_name_that_a_reader_of_csv_trims_leaves_as_parquet_only(desk: Desk) -> None:
    """What cannot be read again as it was written is not given out."""
    case = _desk(desk, _frame(["x", "y"], each=4).rename(columns={"odd": "ill "}), "ill ")
    assert not _given_out(case, AS_IT_IS, desk.folder / "out.csv")
    assert _given_out(case, AS_IT_IS, desk.folder / "out.parquet")


@pytest.mark.parametrize("rows", [1, 3, 4, 7, 8])
def test_few_rows_are_one_group_or_none(desk: Desk, rows: int) -> None:
    """Fewer than k never leave; fewer than 2k are all alike, or some are left out."""
    ill = [("flu", "gout")[number % 2] for number in range(rows)]
    frame = pd.DataFrame({"odd": [float(number) for number in range(rows)], "sex": "F", "ill": ill})
    case = _desk(desk, frame)
    for remedy in REMEDIES:
        draft = desk.folder / f"{remedy}.csv"
        came = _given_out(case, remedy, draft)
        assert not (came and rows < K)
        if came:
            _check_exact(draft)


def test_the_greatest_does_not_stay_alone(desk: Desk) -> None:
    """A person who earns a thousand times as much as all others is not found by that."""
    frame = _frame([1.0, 2.0, 3.0], each=4)
    frame = pd.concat([frame, frame.tail(2).assign(odd=1e9)], ignore_index=True)
    case = _desk(desk, frame)
    for remedy in REMEDIES:
        draft = desk.folder / f"{remedy}.parquet"
        if _given_out(case, remedy, draft):
            _check_exact(draft)
            assert sum(row[0] == (1e9).hex() for row in _exact(draft)) == 0
    assert not _given_out(case, AS_IT_IS, desk.folder / "out.parquet")


def test_a_group_of_one_illness_does_not_leave(desk: Desk) -> None:
    """However many are alike, all have it."""
    frame = _frame(["x", "y", "z"], each=6)
    frame.loc[frame["odd"] == "x", "ill"] = "flu"
    case = _desk(desk, frame)
    assert not _given_out(case, AS_IT_IS, desk.folder / "out.csv")
    assert _given_out(case, "suppress", desk.folder / "suppress.csv")
    _check_exact(desk.folder / "suppress.csv")


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_closeness_is_judged_by_the_table_that_was_given_too(desk: Desk, end: str) -> None:
    """After rows were left out, groups may be close to what is left, and far from the table."""
    frame = _frame(["x", "y"], each=10)
    lonely = _frame([f"z{number}" for number in range(10)], each=2).assign(ill="=gout")
    case = _desk(
        desk, pd.concat([frame, lonely]), limits={"k": 4, "t": 0.2}, remedies=[{"remedy": "suppress", "t": {}}]
    )
    assert not _given_out(case, "suppress", desk.folder / f"out.{end}")
    with pytest.raises(Stop, match=r"a group is 0\.5 away from the input in ill; 0\.2 is allowed"):
        _prove(case, "suppress", desk.folder / f"out.{end}")
    case = _desk(
        desk, pd.concat([frame, lonely]), limits={"k": 4, "t": 0.5}, remedies=[{"remedy": "suppress", "t": {}}]
    )
    reached = _prove(case, "suppress", desk.folder / f"out.{end}")
    assert (reached["t"], reached["t_of_input"]) == (0, {"ill": 0.5})


@pytest.mark.parametrize("limits", [{"k": 4, "l": 2}, {"k": 4, "t": 0.5}])
def test_averages_of_sensitive_values_do_not_count_as_values(desk: Desk, limits: dict[str, Any]) -> None:
    """Eleven of one value beside another would be several averages, so l 2 in the file; without a limit they may be."""
    frame = _frame([1, 2, 3], each=4).assign(ill=[50] * 11 + [43])
    remedies = [{"remedy": "microaggregate", "columns": ["odd", "sex", "ill"]}]
    case = _desk(desk, frame, limits=limits, remedies=remedies)
    with pytest.raises(Stop, match="'ill' is sensitive with a limit on l or t: averages of its values would count"):
        find_plan(case, "microaggregate", kinds_of(case))
    case = _desk(desk, frame, limits={"k": 4}, remedies=remedies)
    assert find_plan(case, "microaggregate", kinds_of(case)).remedy is not None


def _prove(case: ReleaseColumns, remedy: str, draft: Path) -> Any:
    plan = find_plan(case, remedy, kinds_of(case))
    treated = treat(case, plan, read_columns(case, plan.columns))
    written = write_treated(case, plan, treated, draft)
    return verify_release(case, plan, treated, draft, written, case.project.clock).reached
