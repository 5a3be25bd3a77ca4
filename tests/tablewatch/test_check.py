"""Tables are checked from Python, whatever they are, with the results and the errors of the command line."""

import json
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tablewatch as tw
from monitor.scan.ad_hoc import AdHocTable, check_data
from tablewatch._check import shared_caller
from tests.tablewatch.frames import CHECKS, FORMS, ORDERS, STATUSES

_UNIQUE = {"type": "unique", "columns": ["id"]}
_EXTERNAL = {"type": "external", "origin": "dbt"}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_has_the_same_results(form: str, tmp_path: Path) -> None:
    """Checks of aggregates, of groups, of classes, with a filter and with SQL of one's own."""
    report = tw.check(FORMS[form](tmp_path), CHECKS, name="data")
    assert [result.status for result in report.results] == STATUSES, str(report)
    assert report.results[0].observed == {"rows": 3, "duplicate_keys": 1, "duplicate_rows": 2, "null_keys": 0}
    assert report.results[2].message == "amount: 1 of 3 rows are outside the range (33%)"


@pytest.mark.parametrize("form", FORMS)
def test_no_result_has_a_value_of_the_table(form: str, tmp_path: Path) -> None:
    """Neither as text, nor as JSON, nor in a notebook."""
    report = tw.check(FORMS[form](tmp_path), CHECKS, name="data")
    for text in (str(report), repr(report), json.dumps(report.to_dict()), report._repr_html_()):
        assert "@x" not in text


def test_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file appears in the working folder, and no table or view in the connection of the relation."""
    monkeypatch.chdir(tmp_path)
    connection = duckdb.connect()
    connection.execute("CREATE TABLE orders AS SELECT 1 AS id; SET TimeZone = 'Asia/Tokyo'")
    for data in (connection.table("orders"), ibis.duckdb.from_connection(connection).table("orders")):
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        assert tw.check(data, [_UNIQUE])
        assert connection.sql("SELECT table_name FROM information_schema.tables").fetchall() == [("orders",)]
        assert connection.sql("SELECT current_setting('TimeZone')").fetchall() == [("Asia/Tokyo",)]
    assert list(tmp_path.iterdir()) == []


def test_a_relation_larger_than_the_memory_is_streamed() -> None:
    """88 MB through a DuckDB that may hold 30: the rest is in a folder that ends with the pass."""
    text = "md5(range::VARCHAR) || md5((range + 1)::VARCHAR)"
    relation = duckdb.connect().sql(f"SELECT range AS id, {text} AS x FROM range(1000000)")
    about = AdHocTable(source={"memory_limit": "30MB", "threads": 1})
    (result,) = check_data(relation, [{"type": "not_null", "columns": ["id", "x"]}], about).results
    assert (result.outcome.status, result.outcome.observed["rows"]) == ("pass", 1_000_000)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (FORMS["CSV"], "data"),
        (lambda _: ibis.memtable({"id": [1]}), "data"),
        (lambda _: FORMS["Ibis on DuckDB"](Path()).view(), "data"),
        (lambda _: pl.DataFrame({"id": [1]}), "data"),
    ],
)
@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")  # Ibis's own memtable asks for it
def test_a_table_without_a_name_has_one(data: Callable[[Path], Any], name: str, tmp_path: Path) -> None:
    """Of the file, of the engine, or `data`."""
    report = tw.check(data(tmp_path), [_UNIQUE])
    assert (report.results[0].table, report.to_dict()["project"]) == (name, name)
    assert tw.check(data(tmp_path), [_UNIQUE], name="orders").results[0].check_id == "orders.unique"


def test_checks_of_one_type_are_named_after_their_columns() -> None:
    """Where they have no id of their own; those of a file have to."""
    checks = [
        {"type": "not_null", "columns": ["id"]},
        {"type": "not_null", "columns": ["amount"]},
        {"type": "not_null", "columns": ["amount"], "where": "id = 1"},
        {"type": "not_null", "columns": ["amount"], "id": "mine"},
        _UNIQUE,
    ]
    names = [result.check_id for result in tw.check(pa.table(ORDERS), checks).results]
    assert names == [
        "data.not-null-id", "data.not-null-amount", "data.not-null-amount-2", "data.mine", "data.unique",
    ]  # fmt: skip


def test_checks_can_be_objects() -> None:
    """Those that functions return are the ones that mappings describe."""
    check = tw.checks.range(column="amount", min=Decimal("-2.0"), severity="critical")
    plain = {"type": "range", "column": "amount", "min": -2.0, "severity": "critical"}
    frame = pd.DataFrame(ORDERS)
    first, second = (tw.check(frame, [item]).results[0] for item in (check, plain))
    assert (first.status, first.expected, first.severity) == ("pass", second.expected, "critical")
    assert {"not_null", "unique", "k_anonymity"} <= set(dir(tw.checks))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        tw.checks.nothing()


def test_values_of_python_and_numpy_are_parameters() -> None:
    """A length of time, a number of numpy, a tuple, a set."""
    checks = [
        tw.checks.freshness(column="loaded_at", max_age=timedelta(days=36_500)),
        {"type": "range", "column": "amount", "min": np.float64(-2), "max": np.int64(3)},
        {"type": "accepted_values", "column": "id", "values": {1, 2}},
        {"type": "unique", "columns": ("id", "amount")},
    ]
    assert tw.check(pd.DataFrame(ORDERS), checks).ok


def test_other_tables_can_be_referred_to() -> None:
    """By the name that they are given, in whatever form they are."""
    orders, customers = pd.DataFrame({"customer": [1, 2, 9]}), pl.DataFrame({"id": [1, 2]})
    check = tw.checks.foreign_key(columns=["customer"], references="customers.id")
    report = tw.check(orders, [check], references={"customers": customers})
    assert (report.results[0].status, report.results[0].observed) == ("fail", {"rows": 3, "orphans": 1})
    assert tw.check(orders, [check]).results[0].reason == "misconfigured"


def test_naive_times_need_a_zone() -> None:
    """As in a configuration: nothing is guessed."""
    frame = pd.DataFrame({"at": pd.to_datetime(["2026-11-20 09:00"])})
    checks = [tw.checks.freshness(column="at", max_age="36500d")]
    assert [result.reason for result in tw.check(frame, checks).unknown] == ["misconfigured"]
    assert tw.check(frame, checks, timezone="Asia/Tokyo").ok


def test_options_of_files_and_of_the_verdict(tmp_path: Path) -> None:
    """How CSV is written, and from which severity on a failure counts."""
    file = tmp_path / "orders.csv"
    file.write_text("id;x\n1;1,5\n1;2\n", encoding="utf-8")
    check = tw.checks.unique(columns=["id"], severity="warning")
    assert not tw.check(file, [check], csv={"delimiter": ";"}).ok
    report = tw.check(file, [check], csv={"delimiter": ";"}, fail_on="error")
    assert (report.ok, len(report.failed)) == (True, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tw.check([1], [_UNIQUE]), "data: a list is not a table; expected a pandas, polars or Arrow table"),
        (lambda: tw.check(pd.Series([1]), [_UNIQUE]), "is not a table; write .to_frame()"),
        (lambda: tw.check(pd.DataFrame(), [_UNIQUE]), "data: the table has no columns"),
        (lambda: tw.check("no/such.csv", [_UNIQUE]), "data: no file matches 'no/such.csv'"),
        (lambda: tw.check(pl.DataFrame({"o": [object()]}), [_UNIQUE]), "column 'o' holds Python objects"),
        (lambda: tw.check(pd.DataFrame([[1, 2]], columns=["a", "A"]), [_UNIQUE]), "'a' and 'A' differ only in case"),
        (lambda: tw.check(pd.DataFrame([[1, 2]], columns=["a", "a"]), [_UNIQUE]), "two columns are called 'a'"),
        (lambda: tw.check(pa.table(ORDERS), []), "checks: no checks are given"),
        (lambda: tw.check(pa.table(ORDERS), [_UNIQUE, _EXTERNAL]), "checks: check 'external' is of results of another"),
        (lambda: tw.check(pa.table(ORDERS), _UNIQUE), "checks: expected a list of checks, not a dict"),
        (lambda: tw.check(pa.table(ORDERS), [{"type": "uniq"}]), "checks[0].type: unknown check type 'uniq'\n"),
        (lambda: tw.check(pa.table(ORDERS), [_UNIQUE, 3]), "checks[1]: a check is a mapping with a 'type'"),
        (lambda: tw.check(pa.table(ORDERS), [_UNIQUE, _UNIQUE | {"columns": [object()]}]), "checks[1].columns[0]: a "),
        (lambda: tw.check(pa.table(ORDERS), [_UNIQUE], timezone="Mars"), "timezone: 'timezone' takes an IANA time"),
        (lambda: tw.check(pa.table(ORDERS), [_UNIQUE], fail_on="bad"), "fail_on: 'bad' is not a severity"),
        (lambda: tw.check(pa.table(ORDERS), [_UNIQUE], name=""), "name: 'name' takes a non-empty text"),
        (lambda: tw.checks.not_null(colums=["a"]), "not_null.colums: unknown key 'colums'\n  did you mean 'columns'?"),
    ],
)
def test_wrong_input_is_an_error_that_says_what_to_do(call: Callable[[], object], message: str) -> None:
    """With the words of the configuration, and the argument in the place of the line."""
    with pytest.raises(tw.InvalidInput) as caught:
        call()
    assert message in str(caught.value)
    assert caught.value.problems


def test_every_problem_is_named_at_once() -> None:
    """As `config check` does."""
    with pytest.raises(tw.InvalidInput) as caught:
        tw.check(pa.table(ORDERS), [{"type": "uniq"}, {"type": "not_null", "colums": ["id"]}])
    assert [problem.file for problem in caught.value.problems] == ["checks[0].type", "checks[1]", "checks[1].colums"]


def test_a_column_of_several_types_is_named_without_its_values() -> None:
    """Nothing is turned into text by itself: 1 and '1' would become one."""
    with pytest.raises(tw.InvalidInput) as caught:
        tw.check(pd.DataFrame({"o": [1] * 3000 + ["secret"]}), [_UNIQUE])
    assert "column 'o' (object)" in str(caught.value)
    assert "frame['o'] = frame['o'].astype('str')" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_table_that_does_not_fit_is_unknown_not_passed() -> None:
    """A missing column, or no row."""
    report = tw.check(pa.table(ORDERS), [tw.checks.not_null(columns=["emial"])])
    assert (report.ok, report.unknown[0].reason) == (False, "misconfigured")
    assert "did you mean 'email'?" in report.unknown[0].message
    report = tw.check(pd.DataFrame({"id": []}), [_UNIQUE])
    assert [result.reason for result in report.unknown] == ["no-data"]


@pytest.mark.gx
def test_an_expectation_is_evaluated_in_a_process_that_is_kept() -> None:
    """Great Expectations gets the columns of the frame that matter; the next call finds its process warm."""
    frame = pd.DataFrame({"id": [1, 2, None], "note": ["a", "b", "c"]})
    nulls = {"type": "expectation", "expectation": "ExpectColumnValuesToNotBeNull", "kwargs": {"column": "id"}}
    try:
        reports = [tw.check(frame, [nulls]) for _ in range(2)]
        assert [report.results[0].status for report in reports] == ["fail", "fail"]
        assert "one of 3 rows fails" in reports[0].results[0].message
        assert shared_caller()._pool is not None
    finally:
        shared_caller().close()
        shared_caller.cache_clear()
