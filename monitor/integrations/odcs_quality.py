"""Rules of quality of the Open Data Contract Standard (ODCS 3.1) as checks: metrics of its library, and SQL.

https://bitol-io.github.io/open-data-contract-standard/v3.1.0/data-quality/. What a check of our own asks becomes that
check; any other bound on a count becomes a `sql` check that counts. A rule that cannot be put is refused with a reason.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any, Final

_OPERATORS: Final = {
    "mustBe": "value = {0}",
    "mustNotBe": "value <> {0}",
    "mustBeGreaterThan": "value > {0}",
    "mustBeGreaterOrEqualTo": "value >= {0}",
    "mustBeLessThan": "value < {0}",
    "mustBeLessOrEqualTo": "value <= {0}",
    "mustBeBetween": "value BETWEEN {0} AND {1}",
    "mustNotBeBetween": "value NOT BETWEEN {0} AND {1}",
}
_METRICS: Final = ("nullValues", "missingValues", "invalidValues", "duplicateValues", "rowCount")
OPERATORS: Final = tuple(_OPERATORS)
_PLACEHOLDER: Final = re.compile(r"\$?\{(?P<name>[A-Za-z_]+)\}")
_COUNTED: Final = re.compile(r"SELECT count\(\*\) FROM \((?P<query>.*)\) AS bad_rows", re.DOTALL)
_OF_TABLE: Final = frozenset({"object", "table", "model"})
_OF_COLUMN: Final = frozenset({"property", "column", "field"})


class NotExpressible(Exception):
    """A rule without an equivalent check; the text has the reason."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A table in the SQL of its engine: `dialect` is sqlglot's name, `name` that of the table within its source."""

    dialect: str
    name: str

    @property
    def sql(self) -> str:
        """Return its quoted name."""
        return ".".join(self.quoted(part) for part in self.name.split("."))

    def quoted(self, name: str) -> str:
        """Return a column's name in quotes."""
        from sqlglot import exp

        return exp.to_identifier(name, quoted=True).sql(dialect=self._dialect)

    def literal(self, value: Any) -> str:
        """Return a value in SQL."""
        from sqlglot import exp

        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int | float):
            return str(value)
        return exp.Literal.string(str(value)).sql(dialect=self._dialect)

    @property
    def _dialect(self) -> str | None:
        return None if self.dialect == "ansi" else self.dialect


@dataclass(frozen=True, slots=True)
class Limit:
    """An operator of the standard with its number or numbers; both ends of `mustBeBetween` are allowed."""

    operator: str
    values: tuple[Any, ...]

    @classmethod
    def of(cls, rule: Mapping[str, Any]) -> "Limit":
        """Return the limit of a rule.

        Raises:
            NotExpressible: it has none or several, or not as many numbers as the operator takes.
        """
        names = [name for name in _OPERATORS if rule.get(name) is not None]
        if len(names) != 1:
            raise NotExpressible(f"expected one operator such as mustBe, seen: {', '.join(names) or 'none'}")
        value = rule[names[0]]
        values = tuple(value) if isinstance(value, list) else (value,)
        if len(values) != (2 if names[0].endswith("Between") else 1):
            raise NotExpressible(f"{names[0]} takes {'two numbers' if names[0].endswith('Between') else 'one value'}")
        if names[0] not in {"mustBe", "mustNotBe"} and not all(map(_is_number, values)):
            raise NotExpressible(f"{names[0]} takes numbers")
        if any(isinstance(item, dict | list) for item in values):
            raise NotExpressible(f"{names[0]} takes one value")
        return cls(names[0], values)

    @property
    def bounds(self) -> tuple[int | None, int | None] | None:
        """Return the least and the largest count that are allowed; None for what is no interval of numbers."""
        if not all(map(_is_number, self.values)):
            return None
        low, high = self.values[0], self.values[-1]
        intervals = {
            "mustBe": (ceil(low), floor(low)),
            "mustBeGreaterThan": (floor(low) + 1, None),
            "mustBeGreaterOrEqualTo": (ceil(low), None),
            "mustBeLessThan": (None, ceil(high) - 1),
            "mustBeLessOrEqualTo": (None, floor(high)),
            "mustBeBetween": (ceil(low), floor(high)),
        }
        return intervals.get(self.operator)

    @property
    def most(self) -> int | None:
        """Return the largest count of bad rows, where the limit says only that."""
        bounds = self.bounds
        return None if bounds is None or (bounds[0] or 0) > 0 else bounds[1]

    @property
    def most_share(self) -> float | None:
        """Return the largest share (0 to 1) of bad rows that is allowed itself, of a limit in percent."""
        zero = self.operator == "mustBe" and self.values[0] == 0
        if not zero and self.operator != "mustBeLessOrEqualTo":
            return None
        return float(self.values[0]) / 100

    def broken(self, scalar: str, relation: Relation) -> str:
        """Return a query with one row if a scalar query breaks the limit or has no value, else none."""
        holds = _OPERATORS[self.operator].format(*map(relation.literal, self.values))
        return f"SELECT 1 AS bad FROM (SELECT ({scalar}) AS value) AS measured WHERE NOT COALESCE({holds}, FALSE)"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def checks_of_rule(rule: Mapping[str, Any], column: str | None, relation: Relation) -> Sequence[dict[str, Any]]:
    """Return the checks that are equivalent to a rule.

    Args:
        rule: the rule as plain data.
        column: the column that it stands at; None at a table.
        relation: the table.

    Raises:
        NotExpressible: no check is equivalent.
    """
    kind = rule.get("type") or ("sql" if rule.get("query") else "library")
    match kind:
        case "library":
            return _of_library(rule, column, relation)
        case "sql":
            return [_of_query(rule, column, relation)]
        case "text":
            raise NotExpressible("a text is for people; nothing can be evaluated")
        case "custom":
            raise NotExpressible(f"it is written for another tool ({rule.get('engine') or 'no engine is named'})")
    raise NotExpressible("its type is none of library, sql, text and custom")


def _of_query(rule: Mapping[str, Any], column: str | None, relation: Relation) -> dict[str, Any]:
    query = rule.get("query")
    if not isinstance(query, str) or not query.strip():
        raise NotExpressible("it has no query")

    def fill(match: re.Match[str]) -> str:
        if match["name"] in _OF_TABLE:
            return relation.sql
        if match["name"] in _OF_COLUMN and column is not None:
            return relation.quoted(column)
        raise NotExpressible(f"the placeholder {match[0]} of its query is none of ${{object}} and ${{property}}")

    counted = _COUNTED.fullmatch(query.strip())
    limit = Limit.of(rule)
    if counted is not None and limit.most is not None and limit.most >= 0:  # as the export writes a `sql` check
        return {"type": "sql", "query": counted["query"], **({"max": limit.most} if limit.most else {})}
    filled = _PLACEHOLDER.sub(fill, query.strip().rstrip(";"))
    return {"type": "sql", "query": limit.broken(filled, relation)}


_RENAMED: Final = {
    "duplicateCount": "metric: duplicateValues",
    "validValues": "metric: invalidValues, with arguments.validValues",
    "nullCheck": "metric: nullValues",
}
"""Rules of ODCS 3.0 that have other names since 3.1."""


def _of_library(rule: Mapping[str, Any], column: str | None, relation: Relation) -> Sequence[dict[str, Any]]:
    metric = rule.get("metric") or rule.get("rule")
    limit = Limit.of(rule)
    given = rule.get("arguments")
    arguments: Mapping[str, Any] = given if isinstance(given, dict) else {}
    if metric == "rowCount":
        return [_row_count(limit, relation)]
    if metric == "duplicateValues":
        return [_duplicates(limit, arguments, column)]
    if metric not in _METRICS:
        known = "none of nullValues, missingValues, invalidValues, duplicateValues, rowCount"
        if rule.get("metric"):
            raise NotExpressible(f"its metric is {known}")
        now = _RENAMED.get(str(metric))
        hint = "" if now is None else f"; write {now}"
        raise NotExpressible(f"its rule, which is called metric since ODCS 3.1, is {known}{hint}")
    if column is None:
        raise NotExpressible(f"{metric} stands at a column, not at a table")
    percent = rule.get("unit") in {"percent", "%"}
    if metric == "invalidValues":
        return _invalid(limit, arguments, column, relation, percent=percent)
    strange = arguments.get("missingValues") if metric == "missingValues" else None
    words = [value for value in strange if value is not None] if isinstance(strange, list) else []
    return [_missing(limit, words, column, relation, percent=percent)]


def _row_count(limit: Limit, relation: Relation) -> dict[str, Any]:
    bounds = limit.bounds
    if bounds is None or (bounds[1] is not None and bounds[1] < max(bounds[0] or 0, 0)):  # which no count is in
        return {"type": "sql", "query": limit.broken(f"SELECT count(*) FROM {relation.sql}", relation)}
    ends = {"min": bounds[0], "max": bounds[1]}
    return {"type": "volume"} | {name: max(end, 0) for name, end in ends.items() if end is not None}


def _duplicates(limit: Limit, arguments: Mapping[str, Any], column: str | None) -> dict[str, Any]:
    named = arguments.get("properties")
    columns = [column] if column is not None else named if isinstance(named, list) else []
    if not columns or not all(isinstance(name, str) for name in columns):
        raise NotExpressible("duplicateValues at a table names its columns in arguments.properties")
    if limit.most != 0:
        raise NotExpressible("the standard does not say how duplicates are counted; only 0 of them can be checked")
    return {"type": "unique", "columns": list(columns)}


def _missing(limit: Limit, words: Sequence[Any], column: str, relation: Relation, *, percent: bool) -> dict[str, Any]:
    share = limit.most_share if percent else 0.0 if limit.most == 0 else None
    if not words and share is not None:
        return {"type": "not_null", "columns": [column]} | ({"max_ratio": share} if share else {})
    name = relation.quoted(column)
    bad = f"{name} IS NULL" + (f" OR {name} IN ({_listed(words, relation)})" if words else "")
    return _counted(limit, bad, relation, percent=percent)


def _invalid(
    limit: Limit, arguments: Mapping[str, Any], column: str, relation: Relation, *, percent: bool
) -> Sequence[dict[str, Any]]:
    strange = sorted(set(arguments) - {"validValues", "pattern"})
    if strange or not arguments:
        raise NotExpressible(f"invalidValues takes validValues or pattern; seen: {', '.join(strange) or 'neither'}")
    values, pattern = arguments.get("validValues"), arguments.get("pattern")
    share = limit.most_share if percent else 0.0 if limit.most == 0 else None
    ratio = {"max_ratio": share} if share else {}
    if values is not None and pattern is not None and share != 0.0:
        raise NotExpressible("rows that break validValues or pattern are counted together, which no check does")
    checks: list[dict[str, Any]] = []
    if isinstance(values, list):
        listed = [value for value in values if value is not None]
        if share is None:
            name = relation.quoted(column)
            return [_counted(limit, f"{name} NOT IN ({_listed(listed, relation)})", relation, percent=percent)]
        checks.append({"type": "accepted_values", "column": column, "values": listed} | ratio)
    if isinstance(pattern, str):
        if share is None:
            raise NotExpressible("the only limits on texts that do not match are 0 and a largest percentage")
        checks.append({"type": "pattern", "column": column, "pattern": pattern} | ratio)
    if not checks:
        raise NotExpressible("validValues is a list, pattern a text")
    return checks


def _counted(limit: Limit, bad: str, relation: Relation, *, percent: bool) -> dict[str, Any]:
    """Return a `sql` check of how many rows, or how many percent of them, are bad."""
    if percent:
        scalar = f"SELECT 100.0 * count(CASE WHEN {bad} THEN 1 END) / count(*) FROM {relation.sql}"
        return {"type": "sql", "query": limit.broken(scalar, relation)}
    if limit.most is not None and limit.most >= 0:
        most = {"max": limit.most} if limit.most else {}
        return {"type": "sql", "query": f"SELECT 1 AS bad FROM {relation.sql} WHERE {bad}"} | most
    return {"type": "sql", "query": limit.broken(f"SELECT count(*) FROM {relation.sql} WHERE {bad}", relation)}


def _listed(values: Iterable[Any], relation: Relation) -> str:
    return ", ".join(map(relation.literal, values))


def bad_length(column: str, relation: Relation, *, least: Any, most: Any) -> dict[str, Any]:
    """Return a `sql` check of the letters of a text column.

    Raises:
        NotExpressible: a length is no whole number.
    """
    if not all(limit is None or (isinstance(limit, int) and limit >= 0) for limit in (least, most)):
        raise NotExpressible("minLength and maxLength are whole numbers")
    name = relation.quoted(column)
    limits = (("<", least), (">", most))
    bad = " OR ".join(f"length({name}) {sign} {limit}" for sign, limit in limits if limit is not None)
    return {"type": "sql", "query": f"SELECT 1 AS bad FROM {relation.sql} WHERE {bad}"}


def bad_multiple(column: str, relation: Relation, divisor: Any) -> dict[str, Any]:
    """Return a `sql` check that whole numbers are multiples of one.

    Raises:
        NotExpressible: the divisor is no whole number above 0.
    """
    if not isinstance(divisor, int) or isinstance(divisor, bool) or divisor < 1:
        raise NotExpressible("multipleOf is checked for a whole number above 0")
    return {
        "type": "sql",
        "query": f"SELECT 1 AS bad FROM {relation.sql} WHERE {relation.quoted(column)} % {divisor} <> 0",
    }


def too_old(column: str, relation: Relation, *, seconds: int) -> dict[str, Any]:
    """Return a `sql` check that no row is older than some seconds, counted by the clock of the engine.

    Raises:
        NotExpressible: the engine writes intervals in another way.
    """
    if relation.dialect not in {"duckdb", "postgres"}:
        raise NotExpressible("the age of the oldest row is checked on files, DuckDB and PostgreSQL only")
    query = (
        f"SELECT 1 AS bad FROM {relation.sql} WHERE CAST({relation.quoted(column)} AS TIMESTAMP) "
        f"< CAST(CURRENT_TIMESTAMP AS TIMESTAMP) - INTERVAL '{seconds}' SECOND"
    )
    return {"type": "sql", "query": query}
