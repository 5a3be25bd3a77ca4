"""Define which SQL a configuration may contain, and read it into a syntax tree that holds nothing else.

What a person types is never run: it is parsed by sqlglot in the source's dialect, every node of the tree must be of a
kind named here (a new kind of node is refused until it is added), and only text regenerated from the
tree is run. Functions that sqlglot does not know are run only if they are named here as well: `pg_sleep`, `read_text`,
`getenv`, `dblink`, `set_config` and whatever comes next are not. Who needs another function makes a view.
"""

import re
from typing import Final, TypeAlias

import sqlglot
from sqlglot import ErrorLevel, TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.generators.mysql import MySQLGenerator

from checks._errors import Misconfigured

Kinds: TypeAlias = frozenset[type[exp.Expr]]

LONGEST: Final = 10_000
"""Most characters of SQL in one check."""

_OPERATORS: Final[Kinds] = frozenset(
    {
        exp.Add, exp.And, exp.AtTimeZone, exp.Between, exp.BitwiseAnd, exp.BitwiseLeftShift, exp.BitwiseNot,
        exp.BitwiseOr, exp.BitwiseRightShift, exp.BitwiseXor, exp.Boolean, exp.Case, exp.Cast, exp.Collate, exp.Column,
        exp.DPipe, exp.DataType, exp.DataTypeParam, exp.Distance, exp.Div, exp.EQ, exp.Escape, exp.GT, exp.GTE,
        exp.Glob, exp.ILike, exp.Identifier, exp.If, exp.In, exp.IntDiv, exp.Interval, exp.Is, exp.LT, exp.LTE,
        exp.Like, exp.Literal, exp.Mod, exp.Mul, exp.NEQ, exp.Neg, exp.Not, exp.Null, exp.NullSafeEQ, exp.NullSafeNEQ,
        exp.Or, exp.Paren, exp.SimilarTo, exp.Sub, exp.TryCast, exp.Tuple, exp.Var, exp.Xor,
    }
)  # fmt: skip

_SCALARS: Final[Kinds] = frozenset(
    {
        exp.Abs, exp.Acos, exp.Ascii, exp.Asin, exp.Atan, exp.Atan2, exp.BitLength, exp.ByteLength, exp.Cbrt, exp.Ceil,
        exp.Chr, exp.Coalesce, exp.Concat, exp.ConcatWs, exp.Contains, exp.Cos, exp.Cot, exp.CurrentDate,
        exp.CurrentDatetime, exp.CurrentTime, exp.CurrentTimestamp, exp.Date, exp.DateAdd, exp.DateDiff,
        exp.DateFromParts, exp.DateSub, exp.DateTrunc, exp.Datetime, exp.DatetimeAdd, exp.DatetimeDiff, exp.DatetimeSub,
        exp.DatetimeTrunc, exp.Day, exp.DayOfMonth, exp.DayOfWeek, exp.DayOfWeekIso, exp.DayOfYear, exp.Dayname,
        exp.Degrees, exp.EndsWith, exp.Exp, exp.Extract, exp.Floor, exp.Greatest, exp.Hex, exp.Hour, exp.Initcap,
        exp.IsInf, exp.IsNan, exp.JarowinklerSimilarity, exp.LastDay, exp.Least, exp.Left, exp.Length, exp.Levenshtein,
        exp.Ln, exp.Localtime, exp.Localtimestamp, exp.Log, exp.Lower, exp.MD5, exp.Minute, exp.Month, exp.Monthname,
        exp.Nullif, exp.Nvl2, exp.Pad, exp.Pow, exp.Quarter, exp.Radians, exp.RegexpExtract, exp.RegexpFullMatch,
        exp.RegexpILike, exp.RegexpInstr, exp.RegexpLike, exp.RegexpReplace, exp.Replace, exp.Reverse, exp.Right,
        exp.Rint, exp.Round, exp.SHA, exp.SHA2, exp.Second, exp.Sign, exp.Sin, exp.Soundex, exp.SplitPart, exp.Sqrt,
        exp.StartsWith, exp.StrPosition, exp.StrToDate, exp.StrToTime, exp.StrToUnix, exp.Substring, exp.SubstringIndex,
        exp.Tan, exp.Time, exp.TimeAdd, exp.TimeSub, exp.TimeToStr, exp.TimeToUnix, exp.Timestamp, exp.TimestampAdd,
        exp.TimestampDiff, exp.TimestampSub, exp.TimestampTrunc, exp.ToChar, exp.ToNumber, exp.Translate, exp.Trim,
        exp.Trunc, exp.TsOrDiToDi, exp.TsOrDsAdd, exp.TsOrDsDiff, exp.TsOrDsToDate, exp.TsOrDsToTime,
        exp.TsOrDsToTimestamp, exp.Typeof, exp.Unicode, exp.UnixMicros, exp.UnixMillis, exp.UnixSeconds, exp.UnixToTime,
        exp.Upper, exp.Week, exp.WeekOfYear, exp.WidthBucket, exp.Year, exp.YearOfWeek, exp.YearOfWeekIso,
    }
)  # fmt: skip

PURE_NAMES: Final = frozenset(
    {
        "age", "btrim", "char_length", "character_length", "damerau_levenshtein", "date_part", "datepart", "epoch",
        "epoch_ms", "gcd", "glob", "hamming", "isfinite", "isinf", "isnan", "jaccard", "jaro_similarity", "julianday",
        "lcm", "len", "like", "likely", "ltrim", "make_date", "make_timestamp", "notlike", "now", "num_nonnulls",
        "num_nulls", "octet_length", "prefix", "printf", "regexp_count", "regexp_full_match", "regexp_matches", "rtrim",
        "strip_accents", "strlen", "strptime", "suffix", "timediff", "to_date", "to_timestamp", "try_strptime",
        "unixepoch", "unlikely",
    }
)  # fmt: skip
"""Functions without effect that sqlglot does not know (in every dialect)."""

_WORD: Final = re.compile(r"[^\W\d][\w$]*( [^\W\d]\w*)*")

_WORDS: Final = {exp.Condition: "one boolean expression", exp.Query: "one SELECT"}

_UNREADABLE: Final = (SqlglotError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""How sqlglot says that it cannot read a text: as an error, or, for odd texts, by falling over them."""

_QUERY_BEGINS: Final = {TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN, TokenType.FROM}

_STRANGERS: Final = {
    exp.All: "a subquery or array",
    exp.Any: "a subquery or array",
    exp.Exists: "a subquery",
    exp.Select: "a subquery",
    exp.Subquery: "a subquery",
    exp.Star: "a star",
    exp.Window: "a window function",
    exp.Placeholder: "a parameter",
    exp.Parameter: "a parameter",
    exp.RawString: "a dollar-quoted string (write an ordinary 'string')",
    exp.ByteString: "an escape string (write an ordinary 'string')",
    exp.Dot: "a qualified name",
    exp.Into: "INTO",
    exp.Lock: "a locking clause",
    exp.Insert: "INSERT",
    exp.Update: "UPDATE",
    exp.Delete: "DELETE",
    exp.Merge: "MERGE",
    exp.TableSample: "a random sample",
}

EXPRESSION: Final[Kinds] = _OPERATORS | _SCALARS | {exp.Anonymous}
"""What an expression over the columns of one row may be made of."""

_TYPES: Final = frozenset(
    exp.DataType.Type[name]
    for name in (
        "BIGINT", "BIGDECIMAL", "BINARY", "BIT", "BLOB", "BOOLEAN", "BPCHAR", "CHAR", "DATE", "DATETIME", "DATETIME2",
        "DECIMAL", "DECIMAL128", "DECIMAL32", "DECIMAL64", "DOUBLE", "FLOAT", "INT", "INT128", "INTERVAL", "LONGTEXT",
        "MEDIUMINT", "MEDIUMTEXT", "MONEY", "NCHAR", "NVARCHAR", "SMALLINT", "TEXT", "TIME", "TIMESTAMP",
        "TIMESTAMPLTZ", "TIMESTAMPNTZ", "TIMESTAMPTZ", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP_S", "TIMETZ",
        "TINYINT", "TINYTEXT", "UBIGINT", "UINT", "UINT128", "USMALLINT", "UTINYINT", "UUID", "VARBINARY", "VARCHAR",
    )
)  # fmt: skip


class _MariaDb(MySQL):
    """MySQL's dialect, written so that MariaDB, which has no REGEXP_LIKE, reads it too; DIV cuts, a cast rounds."""

    class Generator(MySQLGenerator):
        """Writes operators as operators."""

        TRANSFORMS = {  # noqa: RUF012 - as sqlglot declares it
            **MySQLGenerator.TRANSFORMS,
            exp.IntDiv: lambda self, node: self.binary(node, "DIV"),
            exp.RegexpLike: lambda self, node: (
                self.function_fallback_sql(node) if node.args.get("flag") else self.binary(node, "REGEXP")
            ),
        }


def _as_mysql_says(tree: exp.Expr) -> exp.Expr:
    """Return a tree with the types and the CASE that are written for those of the text."""
    for cast in list(tree.find_all(exp.Cast)):
        written = exp.Cast(this=exp.Null(), to=cast.to.copy()).sql(dialect="mysql")
        cast.set("to", sqlglot.parse_one(written, read="mysql", into=exp.Condition).args["to"])
    for node in list(tree.find_all(exp.If)):
        if not isinstance(node.parent, exp.Case):
            case = exp.Case(ifs=[exp.If(this=node.this, true=node.args["true"])], default=node.args.get("false"))
            tree = case if node is tree else tree
            node.replace(case)
    return tree


def read(text: str, *, what: str, start: type[exp.Expr], kinds: Kinds, dialect: str) -> exp.Expr:
    """Return the syntax tree of a text. `what` names the parameter in messages, `start` is the kind of tree it must be.

    Raises:
        Misconfigured: it is not exactly one such tree, or holds what is not allowed.
    """
    if len(text) > LONGEST or "\0" in text:
        raise Misconfigured(f"'{what}' is longer than {LONGEST:,} characters or holds a zero byte")
    try:
        tree = _parse(text, what=what, start=start, dialect=dialect)
        for node in tree.walk():
            _refuse_stranger(node, what=what, kinds=kinds)
    except RecursionError:
        raise Misconfigured(f"'{what}' is nested too deeply; simplify it") from None
    return tree


def write(tree: exp.Expr, *, what: str, start: type[exp.Expr], dialect: str) -> str:
    """Return the text of a tree in a dialect, without comments.

    Raises:
        Misconfigured: the dialect cannot say it, or the text read again would mean something else.
    """
    try:
        for kind in list(tree.find_all(exp.DataType)):  # VARCHAR is TEXT in some dialects: the same, but not equal
            kind.replace(exp.DataType.build(kind.sql(dialect=dialect), dialect=dialect))
        tree = _as_mysql_says(tree) if dialect == "mysql" else tree
        language = _MariaDb if dialect == "mysql" else dialect
        text = tree.sql(dialect=language, comments=False, unsupported_level=ErrorLevel.RAISE)
        if _parse(text, what=what, start=start, dialect=dialect) == tree:
            return text
    except _UNREADABLE as error:
        reason = f": {str(error).splitlines()[0]}" if isinstance(error, SqlglotError) else ""
        raise Misconfigured(f"'{what}' cannot be expressed in {dialect}{reason}") from None
    except RecursionError:
        raise Misconfigured(f"'{what}' is nested too deeply; simplify it") from None
    raise Misconfigured(f"'{what}' cannot be written out unambiguously; add parentheses or simplify it")


def _parse(text: str, *, what: str, start: type[exp.Expr], dialect: str) -> exp.Expr:
    try:
        language = Dialect.get_or_raise(dialect)
    except ValueError:
        raise Misconfigured(f"'{what}' cannot be parsed: the SQL dialect '{dialect}' is not supported") from None
    try:
        tokens = list(language.tokenize(text))
        if tokens and tokens[-1].token_type is TokenType.SEMICOLON:
            tokens.pop()
        if any(token.token_type is TokenType.SEMICOLON for token in tokens):
            raise Misconfigured(f"'{what}' holds more than one statement; write exactly one")
        if not tokens:
            raise Misconfigured(f"'{what}' is empty")
        if start is exp.Query:
            # another kind of statement would be kept as raw text, with a warning on the log
            if tokens[0].token_type not in _QUERY_BEGINS:
                raise Misconfigured(f"'{what}' begins with '{tokens[0].text}'; write one SELECT")
            trees = language.parser().parse(tokens, text)
        else:
            trees = language.parser().parse_into(start, tokens, text)
    except _UNREADABLE as error:
        raise Misconfigured(f"'{what}' is not {_WORDS[start]} in the dialect {dialect}{_place(error)}") from None
    match trees:
        case [tree] if isinstance(tree, start):
            return tree
        case _:
            raise Misconfigured(f"'{what}' is not {_WORDS[start]}")


def _place(error: Exception) -> str:
    first = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    return f" (line {first['line']}, column {first['col']})" if first.get("line") else ""


def _refuse_stranger(node: exp.Expr, *, what: str, kinds: Kinds) -> None:
    is_pure = isinstance(node.this, str) and node.name.lower() in PURE_NAMES
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc) and not is_pure:
        raise Misconfigured(
            f"'{what}' calls '{node.name.lower()}', which is not among the functions allowed; put it in a view"
        )
    if type(node) not in kinds:
        raise Misconfigured(f"'{what}' holds {_format(node)}, which is not allowed")
    if isinstance(node, exp.Identifier | exp.Var) and not node.args.get("quoted") and not _WORD.fullmatch(node.name):
        raise Misconfigured(f"'{what}' holds '{node.name}', which is not a name; quote it if it is one")
    if isinstance(node, exp.DataType) and node.this not in _TYPES:
        raise Misconfigured(f"'{what}' casts to '{node.sql()}'; cast to a plain type such as integer, text or date")


def _format(node: exp.Expr) -> str:
    if type(node) in _STRANGERS:
        return _STRANGERS[type(node)]
    return f"the function '{node.sql_name().lower()}'" if isinstance(node, exp.Func) else f"'{node.key}'"
