"""Read a check's `where`: one boolean expression over the table's own columns."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sqlglot import exp

from checks._errors import Misconfigured
from checks.sql_text.grammar import EXPRESSION, PURE_NAMES, read, write
from sources import did_you_mean

_WHAT: Final = "where"

_CLOCKS: Final = (
    exp.CurrentDate,
    exp.CurrentDatetime,
    exp.CurrentTime,
    exp.CurrentTimestamp,
    exp.Localtime,
    exp.Localtimestamp,
)
_CLOCK_NAMES: Final = PURE_NAMES & {"age", "julianday", "now", "timediff", "unixepoch"}
_CLOCK_WORDS: Final = frozenset({"now", "today", "tomorrow", "yesterday"})
"""What engines read as a time of now where a text is cast to a time: PostgreSQL also reads 'yesterday 12:00'."""
_WORD: Final = re.compile("[a-z]+")

_TRUTHS: Final = (
    exp.Predicate,
    exp.Connector,
    exp.Not,
    exp.Boolean,
    exp.Column,
    exp.Contains,
    exp.EndsWith,
    exp.IsInf,
    exp.IsNan,
    exp.RegexpFullMatch,
    exp.RegexpILike,
    exp.RegexpLike,
    exp.StartsWith,
)


def predicate_sql(text: str, *, columns: Iterable[str], dialect: str) -> str:
    """Return a predicate's text, regenerated from its syntax tree: each column by its exact name, quoted.

    `columns` are the table's; an unquoted name that differs in case only is taken if no other differs so.

    Raises:
        Misconfigured: it is not exactly one boolean expression over those columns and the functions that are allowed
            (`checks.sql_text.grammar`): no subquery, aggregate, window, star, parameter or second statement.
    """
    names = tuple(columns)
    tree = _read(text, dialect)
    for column in list(tree.find_all(exp.Column)):
        column.set("this", exp.to_identifier(_resolve(column, names), quoted=True))
    return write(tree, what=_WHAT, start=exp.Condition, dialect=dialect)


def where_errors(text: str, *, dialect: str) -> Mapping[str, str]:
    """Return what is wrong with a predicate whatever the table's columns are, as `{"where": ...}`."""
    try:
        write(_read(text, dialect), what=_WHAT, start=exp.Condition, dialect=dialect)
    except Misconfigured as error:
        return {_WHAT: str(error)}
    return {}


def is_timeless(text: str, *, dialect: str) -> bool:
    """Check whether a predicate says the same of a row whenever it is asked: it names no clock.

    Raises:
        Misconfigured: as `where_errors`.
    """
    tree = _read(text, dialect)
    for node in tree.walk():
        is_clock = isinstance(node, _CLOCKS) or (isinstance(node, exp.Anonymous) and node.name.lower() in _CLOCK_NAMES)
        if is_clock or (isinstance(node, exp.Literal) and _CLOCK_WORDS & set(_WORD.findall(str(node.this).lower()))):
            return False
    return True


def _read(text: str, dialect: str) -> exp.Expr:
    tree = read(text, what=_WHAT, start=exp.Condition, kinds=EXPRESSION, dialect=dialect)
    if not _is_true_or_false(tree):
        raise Misconfigured("'where' is not true or false for a row; write a comparison such as status = 'paid'")
    return tree


def _resolve(column: exp.Column, names: Sequence[str]) -> str:
    column_name = column.name
    if column.table:
        raise Misconfigured(
            f"'where' names '{column.table}.{column_name}'; name columns of the table itself, without a table"
        )
    if column_name in names:
        return column_name
    alike = [name for name in names if name.casefold() == column_name.casefold()]
    if len(alike) == 1 and not column.this.args.get("quoted"):
        return alike[0]
    if len(alike) > 1:
        raise Misconfigured(
            f"'where' names '{column_name}', which matches {' and '.join(alike)}; quote the intended name"
        )
    raise Misconfigured(f"'where' names column '{column_name}', which does not exist{did_you_mean(column_name, names)}")


def _is_true_or_false(tree: exp.Expr) -> bool:
    match tree:
        case exp.Paren():
            return _is_true_or_false(tree.this)
        case exp.Escape():
            return _is_true_or_false(tree.this)
        case exp.Case():
            results = [branch.args["true"] for branch in tree.args["ifs"]] + [tree.args.get("default")]
            return all(_is_true_or_false(result) for result in results if result is not None)
        case exp.Coalesce():
            return all(_is_true_or_false(part) for part in (tree.this, *tree.expressions))
        case exp.Anonymous():
            return tree.name.lower() in _TRUE_OR_FALSE
        case _:
            return isinstance(tree, _TRUTHS)


_TRUE_OR_FALSE: Final = PURE_NAMES & {
    "glob", "isfinite", "isinf", "isnan", "like", "likely", "notlike", "prefix", "regexp_full_match", "regexp_matches",
    "suffix", "unlikely",
}  # fmt: skip
