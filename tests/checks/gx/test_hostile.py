"""Hostile suites: each is translated, noted or refused, and never more than that."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checks._catalog import load_catalog
from checks._contract import CheckParameters
from checks.gx.natives import _AGGREGATES, _NATIVES
from checks.gx.suite import MOST_EXPECTATIONS, Imported, NotASuiteError, _digest, to_checks
from tests.tiers import examples

_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
_KINDS = sorted({*_NATIVES, *_AGGREGATES, "unexpected_rows_expectation", "expect_something_else"})
_NAMES = (
    "column", "columns", "column_list", "column_set", "value_set", "min_value", "max_value", "strict_min", "mostly",
    "type_", "value", "unexpected_rows_query", "ignore_row_if", "exact_match", "quasi_identifiers", "sensitive", "k",
    "l", "t", "max_age", "regex",
)  # fmt: skip
_ANY_EXPECTATION = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(_KINDS) | _JSON,
        "kwargs": st.dictionaries(st.sampled_from(_NAMES), _JSON, max_size=4) | _JSON,
        "meta": _JSON | st.fixed_dictionaries({"tablewatch": _JSON, "notes": _JSON}),
        "notes": _JSON,
        "severity": _JSON,
    },
)


def _translated(suite: object) -> Imported | None:
    try:
        found = to_checks(suite, table="t")
    except NotASuiteError:
        return None
    for check in found.checks:
        kind = load_catalog()[check["type"]]
        assert issubclass(kind, CheckParameters)
        kind.model_validate(check)
    return found


@example(
    suite={"expectations": 2 * [{"type": "expect_column_distinct_values_to_be_in_set", "kwargs": {"column": True}}]}
)
@settings(max_examples=examples(400), deadline=None)
@given(_JSON | st.fixed_dictionaries({"expectations": st.lists(_ANY_EXPECTATION | _JSON, max_size=4)}))
def test_any_json_is_translated_noted_or_refused(suite: Any) -> None:
    """Whatever the types of its parts: what comes out are checks that the configuration takes."""
    _translated(suite)


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(_KINDS), st.dictionaries(st.sampled_from(_NAMES), _JSON, max_size=4), _JSON, _JSON)
def test_a_forged_mark_of_our_own_is_no_exception(kind: str, kwargs: Any, check: Any, of: Any) -> None:
    """Who computes the mark himself may name any check: it is validated like every other."""
    mark = {"check": check, "of": of, "arguments": _digest(kind, kwargs)}
    _translated({"expectations": [{"type": kind, "kwargs": kwargs, "meta": {"tablewatch": mark}}]})


@pytest.mark.parametrize("meta", ["x", [], ["x"], 1, True, {"notes": 1}, {"tablewatch": "x"}, {"tablewatch": []}])
def test_metadata_of_any_kind_does_not_change_the_expectation(meta: object) -> None:
    """It is dropped where it is none."""
    one = {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "a"}, "meta": meta}
    found = _translated({"name": "s", "meta": meta, "expectations": [one]})
    assert found is not None
    assert found.checks == [{"type": "not_null", "columns": ["a"]}]


@pytest.mark.parametrize("kwargs", ["x", ["x"], 1, True])
def test_arguments_that_are_none_are_noted(kwargs: object) -> None:
    """The others are translated all the same."""
    good = {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "a"}}
    found = _translated({"expectations": [{"type": "expect_x", "kwargs": kwargs}, {"type": 7}, good]})
    assert found is not None
    assert (len(found.checks), [note.name for note in found.left_out]) == (1, ["expect_x", "an expectation"])


def test_a_suite_that_is_too_large_or_too_deep_is_refused() -> None:
    """The reason is said, and no recursion of ours meets it."""
    with pytest.raises(NotASuiteError, match="at most 5,000 expectations"):
        to_checks({"expectations": [{}] * (MOST_EXPECTATIONS + 1)}, table="t")
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    with pytest.raises(NotASuiteError, match="nested"):
        to_checks({"expectations": [{"type": "x", "kwargs": {"column": deep}}]}, table="t")


def test_a_query_cannot_ask_for_a_wide_name() -> None:
    """`{batch:>999999999}` would be a gigabyte of spaces; only the name itself is filled in."""
    kind = "unexpected_rows_expectation"
    for query in ("SELECT {batch:>999999999}", "SELECT {batch!r}", "SELECT {other}", "SELECT {", "{batch.x}"):
        found = _translated({"expectations": [{"type": kind, "kwargs": {"unexpected_rows_query": query}}]})
        assert found is not None
        assert len(json.dumps(found.checks)) < 1000
    query = "SELECT * FROM {batch} WHERE a = '{{}}'"
    found = _translated({"expectations": [{"type": kind, "kwargs": {"unexpected_rows_query": query}}]})
    assert found is not None
    assert found.checks[0]["query"] == "SELECT * FROM \"t\" WHERE a = '{}'"


def test_many_alike_get_ids_of_their_own() -> None:
    """Also five thousand of them."""
    one = {"type": "expect_column_values_to_be_unique", "kwargs": {"column": "a"}}
    found = _translated({"expectations": [one] * MOST_EXPECTATIONS})
    assert found is not None
    assert len({check["id"] for check in found.checks}) == MOST_EXPECTATIONS
