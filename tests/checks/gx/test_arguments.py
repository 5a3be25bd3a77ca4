"""What an expectation's name and arguments tell without Great Expectations."""

import pytest

from checks import Misconfigured
from checks.gx.arguments import check_arguments, named_columns, runnable, safe_query, snake_case


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ExpectColumnValuesToMatchRegex", "expect_column_values_to_match_regex"),
        ("ExpectColumnKLDivergenceToBeLessThan", "expect_column_kl_divergence_to_be_less_than"),
        ("ExpectColumnPairValuesAToBeGreaterThanB", "expect_column_pair_values_a_to_be_greater_than_b"),
        ("expect_column_to_exist", "expect_column_to_exist"),
        ("own.module:ExpectSomething", "own.module:ExpectSomething"),
    ],
)
def test_snake_case(name, expected):
    """Both spellings of a name are one name, as Great Expectations writes it; other spellings stay."""
    assert snake_case(name) == expected


@pytest.mark.parametrize(
    ("kwargs", "expected"),
    [
        ({"column": "a", "regex": "column"}, ("a",)),
        ({"column_A": "a", "column_B": "b"}, ("a", "b")),
        ({"column_list": ["b", "a", "b"]}, ("b", "a")),
        ({"column_set": ("a",), "exact_match": True}, ("a",)),
        ({"column_index": 3}, ()),
        ({"sensitive_columns": ["s"], "key_column": "k"}, ("s", "k")),
        ({"column": "a", "row_condition": 'col("b") == "c"'}, ("a", "b")),
        ({"row_condition": {"type": "nullity", "column": {"name": "n"}, "is_null": True}}, ("n",)),
        (
            {
                "row_condition": {
                    "type": "or",
                    "conditions": [
                        {"type": "comparison", "column": {"name": "x"}, "operator": "<", "parameter": 1},
                        {"type": "comparison", "column": {"name": "y"}, "operator": "<", "parameter": 1},
                    ],
                }
            },
            ("x", "y"),
        ),
        ({"min_value": 1}, ()),
    ],
)
def test_named_columns(kwargs, expected):
    """The columns that arguments name are found, each once, in any of the ways to name them."""
    assert named_columns(kwargs) == expected


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"column": "a", "result_format": "COMPLETE"}, "'result_format' is set by tablewatch"),
        ({"column": "a", "catch_exceptions": False}, "'catch_exceptions' is set by tablewatch"),
        ({"column": "a", "min_value": {"$PARAMETER": "low"}}, "write the value itself"),
        ({"column": "a", "row_condition": "a > 1", "condition_parser": "pandas"}, "must be great_expectations"),
        ({"column": "a", "row_condition": "__import__('os').system('true')"}, "a row_condition such as"),
        ({"column": "a", "row_condition": {"type": "pass_through", "pass_through_filter": "a > 1"}}, "a row_condition"),
        ({"column": "a", "row_condition": {"type": "and", "conditions": ["a > 1"]}}, "a row_condition"),
        ({"column": "a", "row_condition": 3}, "a row_condition"),
    ],
)
def test_refuses_arguments_that_could_run_code_or_belong_to_the_run(kwargs, said):
    """Arguments that pandas would run as code, that collect values, or that only a suite could fill are refused."""
    with pytest.raises(ValueError, match=said.replace("(", r"\(").replace("$", r"\$")):
        check_arguments("ExpectColumnMaxToBeBetween", kwargs)


@pytest.mark.parametrize("name", ["ExpectTableRowCountToEqualOtherTable", "expect_query_results_to_match_comparison"])
def test_refuses_expectations_that_need_a_second_table(name):
    """Expectations over a second table are refused; the message names the check that does it."""
    with pytest.raises(ValueError, match="type reconcile"):
        check_arguments(name, {})


def test_a_textual_condition_gets_the_parser_that_runs_no_code():
    """Without a parser's name, Great Expectations hands a textual condition to pandas as code, so it gets one."""
    kwargs = {"column": "a", "row_condition": 'col("a") > 1'}
    assert runnable(kwargs) == {**kwargs, "condition_parser": "great_expectations"}
    assert "condition_parser" not in runnable({"column": "a", "condition_parser": "great_expectations"})


def test_a_query_is_regenerated():
    """The text that runs is written anew from the syntax tree; `{batch}` and doubled braces survive."""
    text = "select * from {batch} as b where name = '{{x}}' -- why;"
    assert safe_query(text, dialect="sqlite") == "SELECT * FROM {batch} AS b WHERE name = '{{x}}'"


@pytest.mark.parametrize(
    "query",
    [
        "drop table {batch}",
        "select 1 from {batch}; drop table t",
        "with d as (delete from t returning *) select * from d",
        "select * from {batch.__class__} where {other}",
        "select '{' from {batch}",
        ["select 1"],
    ],
)
def test_refuses_queries_that_are_not_one_select(query):
    """Great Expectations would run any text; only one SELECT that reads gets there."""
    with pytest.raises(Misconfigured):
        safe_query(query, dialect="postgres")
