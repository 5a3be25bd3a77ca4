"""Suites of Great Expectations and checks, one translated to the other."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from checks import ColumnClass, Zones
from checks._catalog import load_catalog
from checks.gx.suite import Imported, NotASuiteError, display_number, to_checks, to_suite

_NATIVES = [
    {"type": "primary_key", "columns": ["id"], "severity": "critical", "why": "Two rows are billed twice."},
    {"id": "pair", "type": "primary_key", "columns": ["a", "b"]},
    {"type": "not_null", "columns": ["a", "b", "it's"]},
    {"id": "few-nulls", "type": "not_null", "columns": ["a"], "max_ratio": 0.02, "severity": "warning"},
    {"type": "unique", "columns": ["a"]},
    {"id": "u2", "type": "unique", "columns": ["a", "b"]},
    {"id": "u3", "type": "unique", "columns": ["a", "b"], "nulls": "equal", "severity": "info"},
    {"type": "accepted_values", "column": "a", "values": ["x", 1, 2.5, True], "allow_null": False},
    {"type": "range", "column": "a", "min": 0, "max": 9.5, "exclusive_max": True},
    {"type": "volume", "min": 3, "max": 7, "warn": {"min": 4}},
    {"type": "schema", "columns": ["a", "b"], "order": True},
    {"id": "typed", "type": "schema", "columns": {"a": "int", "b": "string"}, "extra": "allow"},
    {"type": "metric", "aggregate": "mean", "column": "a", "min": 1},
    {"type": "sql", "query": "select * from t where a = '{'"},
    {"type": "freshness", "column": "at", "max_age": "26h", "expected": {"days": "mon-fri"}, "runbook": "see wiki"},
    {"type": "expectation", "expectation": "ExpectColumnMedianToBeBetween", "kwargs": {"column": "a", "min_value": 1}},
    {"id": "own", "type": "expectation", "expectation": "own.module:ExpectIt", "kwargs": {"column": "a"}},
    {"type": "k_anonymity", "quasi_identifiers": ["a", "b"], "k": 5, "max_average_risk": 0.1, "warn": {"k": 10}},
    {"id": "classified", "type": "k_anonymity", "k": 5},
    {"id": "kept", "type": "k_anonymity", "k": 5, "incremental": {"mode": "append", "watermark": "at"}},
    {"type": "l_diversity", "quasi_identifiers": ["a"], "sensitive": ["s"], "l": 3},
    {"id": "l2", "type": "l_diversity", "quasi_identifiers": ["a"], "l": 2, "variant": "recursive", "c": 3},
    {"type": "t_closeness", "quasi_identifiers": ["a"], "sensitive": ["s"], "t": 0.2, "distance": "ordered"},
    {"id": "t2", "type": "t_closeness", "quasi_identifiers": ["a"], "sensitive": ["s"], "t": 0.2,
     "hierarchy": {"1": ["x", "*"], "2": ["x", "*"]}},
]  # fmt: skip
_CLASSIFIED = {"a": ColumnClass.QUASI_IDENTIFIER, "s": ColumnClass.SENSITIVE, "b": ColumnClass.OTHER}
_WITHOUT_TWIN = [
    {"type": "foreign_key", "column": "a", "references": "t.a"},
    {"type": "reconcile", "aggregate": "sum", "column": "a", "against": {"table": "t"}},
    {"type": "not_null", "columns": ["a"], "where": "b > 1"},
    {"type": "range", "column": "a", "min": 1, "max_ratio": 0.1},
    {"type": "range", "column": "a", "min": "2026-01-01"},
    {"type": "accepted_values", "column": "a", "values": [1], "max_ratio": 0.1},
    {"type": "unique", "columns": ["a"], "nulls": "equal"},
    {"type": "volume", "min_ratio": 0.5},
    {"type": "metric", "aggregate": "count", "column": "a", "min": 1},
    {"type": "metric", "aggregate": "mean", "column": "a", "max_deviation": 0.5},
    {"type": "schema"},
    {"type": "sql", "query": "select 1", "max": 3},
    {"type": "k_anonymity", "k": 2},
    {"type": "k_anonymity", "quasi_identifiers": ["a"], "k": 2, "population": "p"},
    {"type": "l_diversity", "quasi_identifiers": ["a"], "l": 2},
    {"type": "k_anonymity", "quasi_identifiers": ["a"], "k": 2, "where": "b > 1"},
    {"type": "population_uniqueness", "sampling_fraction": 0.1, "max_population_unique_fraction": 0.1},
]


def make(typed):
    """Return the check of a configuration."""
    return load_catalog()[typed["type"]].model_validate(typed)


def translate(*expectations, table="t") -> Imported:
    """Return what becomes of expectations."""
    return to_checks({"name": "s", "expectations": list(expectations)}, table=table)


@pytest.mark.parametrize(
    ("kind", "kwargs", "expected"),
    [
        ("expect_column_values_to_not_be_null", {"column": "a"}, {"type": "not_null", "columns": ["a"]}),
        (
            "expect_column_values_to_not_be_null",
            {"column": "a", "mostly": 0.95},
            {"type": "not_null", "columns": ["a"], "max_ratio": 0.05},
        ),
        (
            "expect_column_proportion_of_non_null_values_to_be_between",
            {"column": "a", "min_value": 0.9},
            {"type": "not_null", "columns": ["a"], "max_ratio": 0.1},
        ),
        ("expect_column_values_to_be_unique", {"column": "a"}, {"type": "unique", "columns": ["a"]}),
        (
            "expect_compound_columns_to_be_unique",
            {"column_list": ["a", "b"], "ignore_row_if": "any_value_is_missing"},
            {"type": "unique", "columns": ["a", "b"]},
        ),
        (
            "expect_column_values_to_be_in_set",
            {"column": "a", "value_set": ["x", "y"], "mostly": 1.0},
            {"type": "accepted_values", "column": "a", "values": ["x", "y"]},
        ),
        (
            "expect_column_distinct_values_to_be_in_set",
            {"column": "a", "value_set": [1, 2]},
            {"type": "accepted_values", "column": "a", "values": [1, 2]},
        ),
        (
            "expect_column_values_to_be_between",
            {"column": "a", "min_value": 0, "max_value": None, "strict_min": True},
            {"type": "range", "column": "a", "min": 0, "exclusive_min": True},
        ),
        (
            "expect_table_row_count_to_be_between",
            {"min_value": 5, "strict_min": True, "max_value": 9.5},
            {"type": "volume", "min": 6, "max": 9},
        ),
        ("expect_table_row_count_to_equal", {"value": 5}, {"type": "volume", "min": 5, "max": 5}),
        (
            "expect_table_columns_to_match_set",
            {"column_set": ["a", "b"], "exact_match": False},
            {"type": "schema", "columns": ["a", "b"], "extra": "allow"},
        ),
        (
            "expect_table_columns_to_match_ordered_list",
            {"column_list": ["a", "b"]},
            {"type": "schema", "columns": ["a", "b"], "order": True},
        ),
        ("expect_column_to_exist", {"column": "a"}, {"type": "schema", "columns": ["a"], "extra": "allow"}),
        (
            "expect_column_values_to_be_of_type",
            {"column": "a", "type_": "BIGINT"},
            {"type": "schema", "columns": {"a": "int64"}, "extra": "allow"},
        ),
        (
            "expect_column_mean_to_be_between",
            {"column": "a", "min_value": 1, "max_value": 2},
            {"type": "metric", "aggregate": "mean", "column": "a", "min": 1, "max": 2},
        ),
        (
            "unexpected_rows_expectation",
            {"unexpected_rows_query": "select * from {batch} where a = '{{'"},
            {"type": "sql", "query": "select * from \"t\" where a = '{'"},
        ),
        (
            "expect_table_to_be_fresh",
            {"column": "at", "max_age": "26h", "timezone": "Asia/Tokyo"},
            {"type": "freshness", "column": "at", "max_age": "26h", "timezone": "Asia/Tokyo"},
        ),
        (
            "expect_table_to_be_k_anonymous",
            {"quasi_identifiers": ["a", "b"], "k": 5},
            {"type": "k_anonymity", "quasi_identifiers": ["a", "b"], "k": 5},
        ),
        (
            "expect_table_to_be_l_diverse",
            {"quasi_identifiers": ["a"], "sensitive": ["s"], "l": 3, "variant": "recursive", "c": 2},
            {
                "type": "l_diversity",
                "quasi_identifiers": ["a"],
                "sensitive": ["s"],
                "l": 3,
                "variant": "recursive",
                "c": 2,
            },
        ),
        (
            "expect_table_to_be_t_close",
            {"quasi_identifiers": ["a"], "sensitive": ["s"], "t": 0.2, "distance": "ordered"},
            {"type": "t_closeness", "quasi_identifiers": ["a"], "sensitive": ["s"], "t": 0.2, "distance": "ordered"},
        ),
    ],
)
def test_equal_questions_become_checks(kind, kwargs, expected):
    """An expectation that asks what a check asks becomes that check."""
    imported = translate({"type": kind, "kwargs": kwargs})
    assert imported.checks == [expected]
    assert not imported.left_out
    make(expected)


@pytest.mark.parametrize(
    ("kind", "kwargs"),
    [
        ("expect_column_values_to_match_regex", {"column": "a", "regex": "x"}),
        ("expect_column_values_to_be_in_set", {"column": "a", "value_set": ["x"], "mostly": 0.9}),
        ("expect_column_values_to_be_between", {"column": "a", "min_value": "2026-01-01"}),
        ("expect_column_values_to_be_unique", {"column": "a", "mostly": 0.9}),
        ("expect_column_values_to_not_be_null", {"column": "a", "row_condition": 'col("b") > 1'}),
        ("expect_column_mean_to_be_between", {"column": "a", "min_value": 1, "strict_min": True}),
        ("expect_column_values_to_be_of_type", {"column": "a", "type_": "VARIANT"}),
        ("expect_column_to_exist", {"column": "a", "column_index": 2}),
        ("expect_column_values_to_be_unique", {}),
        ("expect_table_to_be_k_anonymous", {"quasi_identifiers": ["a"], "k": 2, "row_condition": 'col("b") > 1'}),
    ],
)
def test_other_questions_stay_expectations(kind, kwargs):
    """An expectation that no check equals stays what it is, as a check of type `expectation`."""
    assert translate({"type": kind, "kwargs": kwargs}).checks == [
        {"type": "expectation", "expectation": kind, "kwargs": kwargs}
    ]


@pytest.mark.parametrize(
    ("kind", "kwargs", "said"),
    [
        ("expect_table_row_count_to_equal_other_table", {"other_table_name": "u"}, "type reconcile"),
        (
            "expect_column_max_to_be_between",
            {"column": "a", "min_value": {"$PARAMETER": "p"}},
            "write the value itself",
        ),
        ("expect_column_max_to_be_between", {"column": "a", "row_condition": "a > 1"}, "a row_condition such as"),
    ],
)
def test_what_cannot_be_offered_is_left_out_with_the_reason(kind, kwargs, said):
    """What cannot run here is not translated, and its name and the reason are listed."""
    imported = translate({"type": kind, "kwargs": kwargs})
    assert imported.checks == []
    assert imported.left_out[0].name == kind
    assert said in imported.left_out[0].text


def test_a_corner_that_differs_carries_a_remark():
    """Where the check differs in a corner, the translation says so."""
    imported = translate({"type": "expect_compound_columns_to_be_unique", "kwargs": {"column_list": ["a", "b"]}})
    assert imported.checks == [{"type": "unique", "columns": ["a", "b"], "nulls": "equal"}]
    assert "NULL" in imported.remarks[0].text


def test_severity_and_notes_come_along():
    """Severity and notes become severity and why; `critical`, which is the default there, says nothing."""
    imported = translate(
        {"type": "expect_column_to_exist", "kwargs": {"column": "a"}, "severity": "warning", "notes": ["One.", "Two."]},
        {"type": "expect_column_values_to_be_unique", "kwargs": {"column": "a"}, "severity": "critical"},
    )
    assert imported.checks[0]["severity"] == "warning"
    assert imported.checks[0]["why"] == "One. Two."
    assert "severity" not in imported.checks[1]


def test_reads_suites_of_older_versions():
    """The JSON of version 0.x, which names the type differently and keeps run options in the arguments, is read too."""
    suite = {
        "expectation_suite_name": "old",
        "expectations": [
            {
                "expectation_type": "expect_column_values_to_not_be_null",
                "kwargs": {"column": "a", "result_format": "BASIC", "include_config": True},
                "meta": {"notes": {"format": "markdown", "content": ["Why."]}},
            }
        ],
    }
    assert to_checks(suite, table="t").checks == [{"type": "not_null", "columns": ["a"], "why": "Why."}]


def test_columns_without_null_are_put_together():
    """Expectations that no value is missing, equal but for their column, become one check."""
    imported = translate(
        *({"type": "expect_column_values_to_not_be_null", "kwargs": {"column": name}} for name in ("a", "b", "a")),
        {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "c", "mostly": 0.5}},
    )
    assert [check["columns"] for check in imported.checks] == [["a", "b"], ["c"]]


def test_ids_tell_checks_of_one_type_apart():
    """Checks that would have the same id get one from what they look at; none occurs twice."""
    imported = translate(
        *({"type": "expect_column_values_to_be_unique", "kwargs": {"column": name}} for name in ("a", "a b", "a-b")),
        {"type": "expect_table_row_count_to_equal", "kwargs": {"value": 3}},
    )
    assert [check.get("id") for check in imported.checks] == ["unique-a", "unique-a-b", "unique-a-b-2", None]
    for check in imported.checks:
        make(check)


@pytest.mark.parametrize("suite", [[], {}, {"expectations": {}}, {"expectations": ["x"]}, None, "text"])
def test_refuses_what_is_no_suite(suite):
    """Other JSON is refused, and the message says what was expected."""
    with pytest.raises(NotASuiteError, match="a JSON object with 'expectations'"):
        to_checks(suite, table="t")


@pytest.mark.parametrize("typed", _WITHOUT_TWIN, ids=lambda typed: json.dumps(typed)[:60])
def test_checks_without_a_twin_are_listed(typed):
    """A check whose question Great Expectations cannot ask is named with the reason, not approximated."""
    exported = to_suite("t", [make(typed)], zones=Zones())
    assert exported.suite["expectations"] == []
    assert exported.left_out[0].name == make(typed).name
    assert exported.left_out[0].text


def test_round_trip():
    """Checks written to a suite and read back are the same checks."""
    checks = [make(typed) for typed in _NATIVES]
    zones = Zones("Asia/Tokyo", calendar="Asia/Tokyo")
    exported = to_suite("t", checks, zones=zones, classified=_CLASSIFIED)
    assert not exported.left_out
    imported = to_checks(json.loads(json.dumps(exported.suite)), table="t")
    assert not imported.left_out
    assert [make(typed) for typed in imported.checks] == checks
    assert [display_number(make(typed)) for typed in imported.checks] == [display_number(check) for check in checks]


def test_a_changed_expectation_is_read_as_it_is_now():
    """An expectation that was changed after it was written speaks for itself, not for the check it came from."""
    suite = to_suite("t", [make({"type": "range", "column": "a", "min": 0})], zones=Zones()).suite
    suite["expectations"][0]["kwargs"]["min_value"] = 5
    assert to_checks(suite, table="t").checks == [{"type": "range", "column": "a", "min": 5}]


def test_a_check_that_lost_a_part_is_not_restored():
    """A check of several expectations comes back only if all are there; else each is read by itself."""
    suite = to_suite("t", [make({"type": "primary_key", "columns": ["a"]})], zones=Zones()).suite
    del suite["expectations"][1]
    assert to_checks(suite, table="t").checks == [{"type": "unique", "columns": ["a"]}]


def test_naive_columns_keep_their_zone():
    """A suite knows no sources, so the zone that is declared there is written into the arguments."""
    exported = to_suite("t", [make({"type": "freshness", "column": "at", "max_age": "1h"})], zones=Zones("Asia/Tokyo"))
    assert exported.suite["expectations"][0]["kwargs"]["timezone"] == "Asia/Tokyo"


def test_columns_that_the_table_classifies_are_written_down():
    """A suite knows no classification, so the columns that it means are arguments; kept counts carry a remark."""
    checks = [make(one) for one in _NATIVES if one.get("id") in {"classified", "kept", "l2"}]
    exported = to_suite("t", checks, zones=Zones(), classified=_CLASSIFIED)
    asked = [one["kwargs"] for one in exported.suite["expectations"]]
    assert [one["quasi_identifiers"] for one in asked] == [["a"]] * 3
    assert asked[-1]["sensitive"] == ["s"]
    assert [note.name for note in exported.remarks] == ["kept"]


_LOAD = """
import json, sys, warnings
warnings.simplefilter("ignore")
import great_expectations as gx
import checks.gx.custom

class ExpectIt(gx.expectations.ExpectColumnValuesToNotBeNull):
    pass

context = gx.get_context(mode="file", project_root_dir=sys.argv[2])
suite = context.suites.add(gx.ExpectationSuite(**json.load(open(sys.argv[1], encoding="utf-8"))))
again = context.suites.get(suite.name)
print(json.dumps({"kinds": [type(one).__name__ for one in again.expectations], "suite": again.to_json_dict()}))
"""


def test_great_expectations_loads_a_suite_and_gives_it_back(tmp_path):
    """Great Expectations makes an expectation of each entry; the suite it saves is read as the same checks again."""
    checks = [make(typed) for typed in _NATIVES]
    exported = to_suite("orders", checks, zones=Zones("Asia/Tokyo"), classified=_CLASSIFIED)
    (tmp_path / "suite.json").write_text(json.dumps(exported.suite), encoding="utf-8")
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-c", _LOAD, tmp_path / "suite.json", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answer = json.loads(done.stdout.splitlines()[-1])
    assert len(answer["kinds"]) == len(exported.suite["expectations"])
    ours = {"ExpectTableToBeFresh", "ExpectTableToBeKAnonymous", "ExpectTableToBeLDiverse", "ExpectTableToBeTClose"}
    assert ours <= set(answer["kinds"])
    imported = to_checks(answer["suite"], table="t")
    assert [make(typed) for typed in imported.checks] == checks
