"""Word the errors that pydantic finds: what is expected, never the value that was seen."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_EXPECTED: Final[Mapping[str, str]] = {
    "string_type": "a text",
    "string_too_short": "a non-empty text",
    "string_too_long": "a text of at most {max_length} characters",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "decimal_type": "a number",
    "decimal_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "date_type": "a date such as 2026-10-01",
    "date_parsing": "a date such as 2026-10-01",
    "date_from_datetime_parsing": "a date such as 2026-10-01",
    "date_from_datetime_inexact": "a date such as 2026-10-01",
    "datetime_type": 'a time such as "2026-10-01T09:00"',
    "datetime_parsing": 'a time such as "2026-10-01T09:00"',
    "datetime_from_date_parsing": 'a time such as "2026-10-01T09:00"',
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "a mapping of keys to values",
    "mapping_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
    "too_short": "at least {min_length} of them",
    "too_long": "at most {max_length} of them",
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "string_pattern_mismatch": "a text of the form {pattern}",
}


def describe_error(error: "ErrorDetails", *, whole: str = "") -> str:
    """Return the place of an error and what is expected there: `top.age: expected a number`.

    `whole`: the name of what has no place in anything.
    """
    place, own = ".".join(map(str, error["loc"])) or whole, error["msg"].removeprefix("Value error, ")
    match error["type"]:
        case "missing":
            text = "missing"
        case "extra_forbidden":
            text = "unknown key"
        case "value_error" | "assertion_error":
            text = own[:1].lower() + own[1:]  # what follows may name a column
        case kind:
            known = kind in {*_EXPECTED, "literal_error", "enum"}
            text = f"expected {expectation_of(error)}" if known else expectation_of(error)
    return f"{place}: {text}" if place else text


def expectation_of(error: "ErrorDetails") -> str:
    """Return what is right: `a whole number`, `at least 2`; for a kind that is not known here, pydantic's text."""
    kind, context = error["type"], error.get("ctx", {})
    if kind in {"literal_error", "enum"}:
        return f"one of {context['expected'].replace(' or ', ', ')}"
    if kind in _EXPECTED:
        plain = {name: f"{value:g}" if isinstance(value, float) else value for name, value in context.items()}
        return _EXPECTED[kind].format(**plain)
    return error["msg"][:1].lower() + error["msg"][1:]
