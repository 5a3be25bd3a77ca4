"""Read the `query` of a `sql` check: one SELECT that only reads."""

from typing import Final

from sqlglot import exp

from checks._errors import Misconfigured
from checks.sql_text.grammar import EXPRESSION, Kinds, read, write

_WHAT: Final = "query"

_CLAUSES: Final[Kinds] = frozenset(
    {
        exp.Alias, exp.All, exp.Any, exp.CTE, exp.Cube, exp.Distinct, exp.Except, exp.Exists, exp.Fetch, exp.Filter,
        exp.From, exp.Group, exp.GroupingSets, exp.Having, exp.IgnoreNulls, exp.Intersect, exp.Join, exp.Lateral,
        exp.Limit, exp.LimitOptions, exp.Offset, exp.Order, exp.Ordered, exp.Qualify, exp.RespectNulls, exp.Rollup,
        exp.Select, exp.Star, exp.Subquery, exp.Table, exp.TableAlias, exp.Union, exp.Values, exp.Where, exp.Window,
        exp.WindowSpec, exp.With, exp.WithinGroup,
    }
)  # fmt: skip

_FUNCTIONS: Final[Kinds] = frozenset(
    {
        exp.AnyValue, exp.ApproxDistinct, exp.ApproxQuantile, exp.ArgMax, exp.ArgMin, exp.Array, exp.ArrayAgg,
        exp.ArrayContains, exp.ArraySize, exp.Avg, exp.BitwiseAndAgg, exp.BitwiseOrAgg, exp.BitwiseXorAgg, exp.Bracket,
        exp.Corr, exp.Count, exp.CountIf, exp.CovarPop, exp.CovarSamp, exp.CumeDist, exp.DenseRank,
        exp.ExplodingGenerateSeries, exp.First, exp.FirstValue, exp.GenerateSeries, exp.GroupConcat, exp.Grouping,
        exp.JSONExtract, exp.JSONExtractScalar, exp.JSONPath, exp.JSONPathKey, exp.JSONPathRoot, exp.JSONPathSubscript,
        exp.Lag, exp.Last, exp.LastValue, exp.Lead, exp.LogicalAnd, exp.LogicalOr, exp.Max, exp.Median, exp.Min,
        exp.Mode, exp.NthValue, exp.Ntile, exp.PercentRank, exp.PercentileCont, exp.PercentileDisc, exp.Quantile,
        exp.Rank, exp.RowNumber, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Sum, exp.Unnest, exp.Variance,
        exp.VariancePop,
    }
)  # fmt: skip

_TABLE_FUNCTIONS: Final = (exp.ExplodingGenerateSeries, exp.GenerateSeries, exp.Unnest)

_SELECT: Final[Kinds] = EXPRESSION | _CLAUSES | _FUNCTIONS

_DISTINCT_NAMES: Final = frozenset({"mysql", "tsql"})
"""Dialects in which a query in FROM may not return two columns of one name."""

_FILE_ENDINGS: Final = (
    ".arrow", ".avro", ".csv", ".db", ".duckdb", ".feather", ".gz", ".ipc", ".json", ".jsonl", ".ndjson", ".orc",
    ".parquet", ".sqlite", ".tsv", ".txt", ".xlsx", ".zst",
)  # fmt: skip


def select_sql(text: str, *, dialect: str) -> str:
    """Return the text of one SELECT, regenerated from its syntax tree, to stand in `SELECT count(*) FROM (...) q`.

    WITH, UNION, subqueries, windows and aggregates may be used; so may a trailing semicolon.

    Raises:
        Misconfigured: it is not exactly one SELECT, writes or locks (INTO, a locking clause, DML in a CTE), calls a
            function that is not allowed (`checks.sql_text.grammar`), or names a file instead of a table.
    """
    tree = read(text, what=_WHAT, start=exp.Query, kinds=_SELECT, dialect=dialect)
    if any(not select.expressions for select in tree.find_all(exp.Select)):
        raise Misconfigured("'query' selects no column")
    for table in tree.find_all(exp.Table):
        _refuse_what_is_no_table(table)
    if dialect in _DISTINCT_NAMES:
        _name_columns_apart(tree)
    return write(tree, what=_WHAT, start=exp.Query, dialect=dialect)


def _name_columns_apart(tree: exp.Expr) -> None:
    """Change a query so that no two columns of its result have one name; the number of its rows stays."""
    is_part = isinstance(tree, exp.SetOperation)
    while not isinstance(tree, exp.Select):  # of UNION, the first query names the columns
        tree = tree.this
    names: set[str] = set()
    for at, result in enumerate(tree.expressions):
        name = (result.alias_or_name or result.sql()).casefold()
        if name in names and not result.is_star:
            result.replace(exp.alias_(result.unalias().copy(), f"column {at + 1}", quoted=True))
        names.add(name)
    decides = is_part or any(tree.args.get(part) for part in ("distinct", "group", "having", "qualify"))
    if tree.is_star and (tree.args.get("joins") or len(tree.expressions) > 1) and not decides:
        tree.set("order", None)  # it may name a column of the result, and orders nothing that is counted
        tree.set("expressions", [exp.Literal.number(1)])  # `*` of several tables repeats names that are not known here


def _refuse_what_is_no_table(table: exp.Table) -> None:
    if isinstance(table.this, exp.Func):
        if not isinstance(table.this, _TABLE_FUNCTIONS):
            raise Misconfigured(
                f"'query' reads from the function '{table.this.name.lower()}'; name a table of the source"
            )
        return
    for part in table.parts:
        is_file = set("/\\*") & set(part.name) or part.name.lower().endswith(_FILE_ENDINGS)
        if is_file or not isinstance(part, exp.Identifier):
            raise Misconfigured(f"'query' reads the file '{part.name}'; name a table of the source")
