"""No type or spelling that a writer chose for a column of a file changes an answer: one row may have decided it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from remedies import Misfit
from remedies.differential_privacy.answers import STATISTICS, Terms
from remedies.differential_privacy.answers.canonical import refuse_alike
from sources import SourceSpec, open_source
from tests.remedies.differential_privacy.answers.exact import Exact, Spy, distance, terms_of

Writer = Callable[[Sequence[Any]], pa.Array]
PEOPLE: Final = 40
VISITS: Final = 3


def typed(kind: pa.DataType, change: Callable[[Any], Any] = lambda value: value) -> Writer:
    """Return a writer of values of one type."""
    return lambda values: pa.array([None if value is None else change(value) for value in values], kind)


def texts(change: Callable[[Any], str], kind: pa.DataType | None = None) -> Writer:
    """Return a writer of texts."""
    return typed(kind or pa.string(), change)


def at(day: date) -> datetime:
    """Return the beginning of a day in UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def naive(day: date) -> datetime:
    """Return the beginning of a day by no clock."""
    return at(day).replace(tzinfo=None)


WHOLE: Final[Mapping[str, Writer]] = {
    **{str(kind): typed(kind) for kind in (pa.int8(), pa.int32(), pa.int64(), pa.uint16(), pa.uint64())},
    **{str(kind): typed(kind, float) for kind in (pa.float32(), pa.float64())},
    **{str(kind): typed(kind, Decimal) for kind in (pa.decimal128(5, 2), pa.decimal128(38, 10))},
    "dictionary": lambda values: pa.array(values, pa.int64()).dictionary_encode(),
    "digits": texts(str),
    "large digits": texts(str, pa.large_string()),
    "digits and a point": texts(lambda value: f"{value}.0"),
    "dictionary of digits": lambda values: texts(str)(values).dictionary_encode(),
    "pandas": lambda values: pa.array(pd.Series(values)),
    "pandas, nullable": lambda values: pa.array(pd.Series(values, dtype="Int64")),
}
TRUTHS: Final[Mapping[str, Writer]] = {
    "bool": typed(pa.bool_()),
    "int": typed(pa.int8(), int),
    "double": typed(pa.float64(), float),
    "True": texts(str),
    "true": texts(lambda value: str(value).lower()),
    "1.0": texts(lambda value: str(float(value))),
}
DAYS: Final[Mapping[str, Writer]] = {
    "date": typed(pa.date32()),
    "date64": typed(pa.date64()),
    **{f"timestamp {unit}": typed(pa.timestamp(unit), naive) for unit in ("s", "ms", "us", "ns")},
    **{f"UTC {unit}": typed(pa.timestamp(unit, "UTC"), at) for unit in ("ms", "us", "ns")},
    "Tokyo": typed(pa.timestamp("us", "Asia/Tokyo"), at),
    "text": texts(str),
    "text with a time": texts(lambda day: f"{day} 00:00:00"),
    "text with T": texts(lambda day: f"{day}T00:00:00"),
    "text with a fraction": texts(lambda day: f"{day} 00:00:00.000000"),
    "text with an offset": texts(lambda day: f"{day} 00:00:00+00:00"),
    "text in Tokyo": texts(lambda day: f"{at(day) + timedelta(hours=9):%Y-%m-%dT%H:%M:%S}+09:00"),
    "dictionary": lambda values: texts(str)(values).dictionary_encode(),
}
FRACTIONS: Final[Mapping[str, Writer]] = {
    "double": typed(pa.float64(), float),
    "float": typed(pa.float32(), float),
    **{str(kind): typed(kind) for kind in (pa.decimal128(7, 3), pa.decimal128(18, 6), pa.decimal128(38, 20))},
    "text": texts(str),
    "text of a double": texts(lambda value: repr(float(value))),
}
WORDS: Final[Mapping[str, Writer]] = {
    "string": texts(str),
    "large string": texts(str, pa.large_string()),
    "view": texts(str, pa.string_view()),
    "dictionary": lambda values: pa.array(values, pa.string()).dictionary_encode(),
}
NOTHING: Final[Mapping[str, Writer]] = {
    str(kind): lambda values, kind=kind: pa.nulls(len(values), kind)  # type: ignore[misc] - each its own
    for kind in (
        *(pa.null(), pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("ns")),
        *(pa.binary(), pa.time64("us"), pa.list_(pa.int64()), pa.struct([("a", pa.int64())])),
    )
}
START: Final = date(2026, 11, 1)


class Column:
    """A column: its value for a number, how it is declared, and how writers may write it."""

    def __init__(self, value: Callable[[int], Any], writers: Mapping[str, Writer], *declared: Any) -> None:
        self.value, self.writers, self.declared = value, writers, declared


COLUMNS: Final[Mapping[str, Column]] = {
    "whole": Column(
        lambda number: number % 5,
        WHOLE,
        ["1", "2", "3"],
        [1, 2, 3],
        {"values": ["1.0", "2"], "other": "2"},
        {"range": [0, 3], "width": 2},
        {"low": 1, "high": 3},
    ),
    "truth": Column(lambda number: number % 3 == 0, TRUTHS, [True, False], ["true"], ["0", "1"], [1], ["False", "x"]),
    "day": Column(
        lambda number: START + timedelta(days=number % 4),
        DAYS,
        ["2026-11-01", "2026-11-02"],
        ["2026-11-01 00:00:00", "2026-11-03T09:00:00+09:00"],
    ),
    "fraction": Column(
        lambda number: Decimal(number % 200) / 8 + Decimal("0.145"),
        FRACTIONS,
        {"low": 0, "high": 20, "grid": "0.01"},
        {"low": 0, "high": 20, "grid": "0.25", "missing": 20},
        {"range": [0, 20], "width": 5},
        ["0.145", "1.02"],
        [0.145, 7],
    ),
    "word": Column(
        lambda number: ("F", "M", "nan", "")[number % 4], WORDS, ["F", "M"], {"values": ["F"], "other": "F"}
    ),
    "nothing": Column(lambda _: None, NOTHING, ["F"], [1], [True], ["2026-11-01"], {"low": 1, "high": 3}),
}
ODD: Final = ("odd", "1e400", "2026-13-45", "9" * 30)


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Spy:
    """Take all noise away."""
    return Spy(monkeypatch)


def table_of(value: pa.Array, who: pa.Array) -> pa.Table:
    """Return a table of visits."""
    return pa.table({"who": who, "value": value})


def written(folder: Path, table: pa.Table, kind: str = "parquet") -> SourceSpec:
    """Write a table to a file."""
    if kind == "parquet":
        pq.write_table(table, folder / "visits.parquet")
    else:
        pc.write_csv(table, folder / "visits.csv")
    return SourceSpec("s", folder, files=f"visits.{kind}", blind=True)


def asked(declared: Any) -> list[dict[str, Any]]:
    """Return what can be asked of a column that is declared so."""
    found: list[dict[str, Any]] = [{"statistic": "count"}]
    if not (isinstance(declared, dict) and "low" in declared):
        found.append({"statistic": "histogram", "by": ["value"]})
    if isinstance(declared, list):
        value = str(declared[0]).lower() if isinstance(declared[0], bool) else declared[0]
        found.append({"statistic": "count", "where": [f"value != {value}"]})
    if isinstance(declared, dict) and "values" not in declared:
        found += [{"statistic": name, "column": "value"} for name in ("sum", "mean", "quantile")]
        found += [{"statistic": "count", "where": [f"value {sign} 2"]} for sign in (">=", "=")]
    return found


def answers(spec: SourceSpec, spy: Spy, terms: Terms, declared: Any) -> list[Exact]:
    """Return what noise would be added to, of all that can be asked."""
    with open_source(spec) as source:
        for words in asked(declared):
            statistic = STATISTICS[words["statistic"]].model_validate({**words, "epsilon": "1"})
            statistic.check(terms)
            table = source.table("visits")
            statement = statistic.statement(
                table, source.dialect, terms, key="a key", types_declared=source.types_declared
            )
            statistic.answer(source.fetch(source.compile(statement)), terms)
    return spy.taken()


def numbers(exact: Exact) -> tuple[int, ...]:
    """Return what noise would be added to."""
    return exact.values  # noqa: PD011 - no frame


def values_of(column: Column) -> list[Any]:
    """Return the values of all visits."""
    return [column.value(number) for number in range(PEOPLE * VISITS)]


OWN: Final = [number // VISITS + 57 for number in range(PEOPLE * VISITS)]


@pytest.mark.combinations
@pytest.mark.parametrize("unit", ["row", "who"])
@pytest.mark.parametrize(
    ("name", "place"), [(name, place) for name, one in COLUMNS.items() for place in range(len(one.declared))]
)
def test_the_same_values_in_any_type_give_the_same_answers(
    name: str, place: int, unit: str, tmp_path: Path, spy: Spy
) -> None:
    """However a writer wrote a column, the exact numbers below the noise are the same, to the last unit."""
    column, declared = COLUMNS[name], COLUMNS[name].declared[place]
    terms = terms_of(unit=unit, domain={"value": declared})
    seen: list[list[Exact]] = []
    for writer in column.writers.values():
        table = table_of(writer(values_of(column)), pa.array(OWN))
        seen.append(answers(written(tmp_path, table), spy, terms, declared))
    assert all(one == seen[0] for one in seen)
    if name != "nothing":  # the declaration fits: some are counted, or the test would hold of nothing
        assert any(any(numbers(exact)) for exact in seen[0][1:])


@pytest.mark.parametrize("name", ["whole", "day", "word", "truth", "fraction"])
def test_a_unit_is_the_same_in_any_type(name: str, tmp_path: Path, spy: Spy) -> None:
    """The rows of a unit that count do not follow from how the column is written that says whose they are."""
    column = COLUMNS[name]
    declared = ["0", "1", "2", "3", "4"]
    value = [number * 7 % 5 for number in range(PEOPLE * VISITS)]
    terms = terms_of(unit="who", rows_per_unit=2, domain={"value": declared})
    seen = [
        answers(written(tmp_path, table_of(pa.array(value), writer(values_of(column)))), spy, terms, declared)
        for writer in column.writers.values()
    ]
    assert all(one == seen[0] for one in seen)


@pytest.mark.combinations
@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("changed", [None, *ODD])
@pytest.mark.parametrize("name", ["whole", "day", "truth", "fraction"])
def test_neighbours_whose_types_differ_differ_by_one_record(
    name: str, changed: str | None, kind: str, tmp_path: Path, spy: Spy
) -> None:
    """One record that turns a whole column into another type moves no sum further than its noise hides."""
    column = COLUMNS[name]
    whole = values_of(column)
    other = [changed, *whole[1:]]
    natural = next(iter(column.writers.values()))(whole)
    declared = column.declared[0]
    terms = terms_of(unit="who", domain={"value": declared})
    one = answers(written(tmp_path, table_of(natural, pa.array(OWN)), kind), spy, terms, declared)
    for writer in _writers(column, changed):
        table = table_of(writer(other), pa.array(OWN))
        two = answers(written(tmp_path, table, kind), spy, terms, declared)
        for a, b, words in zip(one, two, _with_noises(asked(declared)), strict=True):
            if words == "quantile":  # each utility by itself moves at most so far
                assert max(abs(x - y) for x, y in zip(a.values, b.values, strict=True)) <= a.moved.l1
            else:
                assert distance(a, b)[0] <= a.moved.l1


def _with_noises(words: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the statistic of each vector that noise is added to: a mean of units has a sum and a count."""
    return [word["statistic"] for word in words for _ in range(2 if word["statistic"] == "mean" else 1)]


def _writers(column: Column, changed: str | None) -> Sequence[Writer]:
    """Return those that can write the changed value."""
    if changed is None:
        return list(column.writers.values())[::3]
    return [texts(lambda one: str(float(one)) if isinstance(one, int) else str(one))]


def test_a_missing_key_reorders_no_other_unit(tmp_path: Path, spy: Spy) -> None:
    """One NULL makes floats of all keys of pandas: still the same rows of all other units count."""
    whole = pd.DataFrame({"who": OWN, "value": [number % 97 for number in range(len(OWN))]})
    other = whole.astype({"who": "object"})
    other.loc[0, "who"] = None
    other["who"] = pd.to_numeric(other["who"])
    assert other["who"].dtype == "float64"
    declared = {"low": 0, "high": 100}
    terms = terms_of(unit="who", rows_per_unit=1, adjacency="add-remove", domain={"value": declared})
    found = []
    for frame in (whole, other):
        for kind in ("parquet", "csv"):
            if kind == "csv":
                frame.to_csv(tmp_path / "visits.csv", index=False)
            else:
                frame.to_parquet(tmp_path / "visits.parquet")
            spec = SourceSpec("s", tmp_path, files=f"visits.{kind}", blind=True)
            found.append(answers(spec, spy, terms, declared))
    assert found[0] == found[1]
    assert found[2] == found[3]
    (count, total, *_), (other_count, other_total, *_) = found[0], found[2]
    assert abs(numbers(count)[0] - numbers(other_count)[0]) <= 1
    assert distance(total, other_total)[0] <= 2 * 100  # one unit of another row, and one that is new


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_of_one_table_may_have_other_types_and_columns(kind: str, tmp_path: Path, spy: Spy) -> None:
    """Of several files as one table each was written by itself: types differ, and a column of NULL may be left out."""
    column, values = COLUMNS["whole"], values_of(COLUMNS["whole"])
    writers = list(column.writers.values())
    declared = ["1", "2", "3"]
    terms = terms_of(unit="who", rows_per_unit=2, domain={"value": declared})
    (tmp_path / "one").mkdir()
    whole = table_of(pa.array(values), pa.array(OWN))
    expected = answers(written(tmp_path / "one", whole, kind), spy, terms, declared)
    (tmp_path / "many").mkdir()
    for start in range(0, len(values), 10):
        write = writers[start // 10 % len(writers)]
        part = table_of(write(values[start : start + 10]), write(OWN[start : start + 10]))
        target = tmp_path / "many" / f"part-{start:03}.{kind}"
        _ = pq.write_table(part, target) if kind == "parquet" else pc.write_csv(part, target)
    spec = SourceSpec("s", tmp_path, files=f"many/*.{kind}", table="visits", blind=True)
    assert answers(spec, spy, terms, declared) == expected
    odd = pa.table({"other": pa.array([[1]])}) if kind == "parquet" else pa.table({"other": ["x"]})
    target = tmp_path / "many" / f"part-zzz.{kind}"
    _ = pq.write_table(odd, target) if kind == "parquet" else pc.write_csv(odd, target)
    more = answers(spec, spy, terms, declared)
    assert numbers(more[0])[0] == numbers(expected[0])[0] + 1


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_folders_that_say_a_column_are_read_as_what_they_say(kind: str, tmp_path: Path, spy: Spy) -> None:
    """`value=1` and `value=1.0` are one value, one that is no number changes no other, and NULL is NULL."""
    declared = ["1", "2"]
    terms = terms_of(domain={"value": declared})
    names = ("1", "1.0", "2", "odd", "__HIVE_DEFAULT_PARTITION__")
    for name in names:
        folder = tmp_path / f"value={name}"
        folder.mkdir()
        part = pa.table({"who": [1, 2]})
        target = folder / f"part.{kind}"
        _ = pq.write_table(part, target) if kind == "parquet" else pc.write_csv(part, target)
    spec = SourceSpec("s", tmp_path, files=f"**/*.{kind}", table="visits", blind=True)
    counted = numbers(answers(spec, spy, terms, declared)[1])
    assert counted == (4, 2, 4)
    part = pa.table({"who": [1, 2]})
    target = tmp_path / f"none.{kind}"
    _ = pq.write_table(part, target) if kind == "parquet" else pc.write_csv(part, target)
    counted = numbers(answers(spec, spy, terms, declared)[1])
    assert counted == (4, 2, 6)


def test_a_column_that_no_file_has_is_missing_everywhere(tmp_path: Path, spy: Spy) -> None:
    """A writer that leaves out a column of NULL decides nothing but the values of that column."""
    declared = {"low": 1, "high": 3}
    terms = terms_of(unit=["who", "shop"], domain={"value": declared})
    found = answers(written(tmp_path, pa.table({"who": pa.array(OWN)})), spy, terms, declared)
    assert numbers(found[0]) == (PEOPLE,)


def test_values_that_a_file_cannot_tell_apart_are_refused_beforehand() -> None:
    """A declaration of two spellings of one number cannot be kept to, whatever the file holds."""
    terms = terms_of(domain={"a": ["007", "8"], "b": ["007", "7.0"], "c": ["2026-11-01", "2026-11-01 00:00"]})
    refuse_alike({"a": terms.declared.column("a")})
    for name in ("b", "c"):
        with pytest.raises(Misfit, match="two spellings"):
            refuse_alike({name: terms.declared.column(name)})
