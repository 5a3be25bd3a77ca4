"""Suggest what each column of a table says of people: by what its values are, how well they tell rows apart, its name.

What is measured wins over a name. At most 2,000 different values of a column, the most frequent ones, leave its engine;
they are counted by kind in this process (`column_content`), and neither kept nor shown. A suggestion is where to begin
reading, not a classification: whether people know a column is nothing that a table says of itself.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final, Literal

from checks import (
    CheckParameters,
    ColumnClass,
    Context,
    Json,
    Kind,
    Measurement,
    Message,
    Outcome,
    PastMeasurement,
    PlainEnglish,
    Status,
    Wants,
)
from checks.risk import Separation
from monitor.releases.disclosure.column_content import BIRTHDAYS, KINDS, content_of
from sources.expressions import ibis

_WORDS: Final[Mapping[ColumnClass, str]] = {
    ColumnClass.DIRECT_IDENTIFIER: (
        r"(^|_)(id|uuid|ssn|passport|email|e_?mail|phone|tel|mobile|name|surname|firstname|lastname|address|street|iban|"
        r"account|license|plate|ip)(_|$|\d)|氏名|名前|電話|メール|住所|口座|番号"
    ),
    ColumnClass.SENSITIVE: (
        r"diagnos|disease|illness|icd|symptom|medic|drug|treatment|hiv|pregnan|disab|income|salary|wage|debt|credit|"
        r"religion|party|union|sexual|crime|convict|病|疾患|診断|年収|所得|給与|宗教"
    ),
    ColumnClass.QUASI_IDENTIFIER: (
        r"birth|born|(^|_)dob(_|$)|(^|_)age(_|$)|sex|gender|zip|post_?code|postal|city|town|county|prefecture|region|state|"
        r"country|nation|race|ethnic|marital|education|degree|occupation|profession|(^|_)job(_|$)|employer|school|"
        r"language|height|weight|admission|discharge|(^|_)(lat|latitude|lon|lng|longitude)(_|$)|生年|誕生|年齢|性別|郵便|都道府県|市区|国籍|職業|学歴|婚姻|緯度|経度"
    ),
}
_BETWEEN_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\s.-]+")
_NEARLY_EACH: Final = 0.95
"""Distinct values per row from which on a column is taken for a number or name of each row."""
_TELLS_APART: Final = 0.3


_TEXTS, _CONTENT = "texts of ", "content of "
"""What the names of answers begin with that hold values of a column, and the kind that these are of."""
_SAMPLE: Final = 2_000
_LONGEST_TEXT: Final = 300
"""Letters that are looked at of a value."""
_ENOUGH_ROWS: Final = 50
"""Rows from which on it is believed that a column has few values."""
_MANY_VALUES: Final = 100
_MANY_PER_ROW: Final = 0.05
"""A column that is called an identifier has as many values, or as many per row; else it is no identifier of people."""


class ColumnProfile(CheckParameters):
    """Count, for each column, its values and how many rows are alike in it. No check of the catalogue."""

    summary: ClassVar[str] = "What the values of each column are, and how well they distinguish rows."
    kind: ClassVar[Kind] = Kind.DISCLOSURE
    looks_again: ClassVar[bool] = True

    type: Literal["columns"] = "columns"

    def wants(self, context: Context) -> Wants:
        """Ask one GROUP BY for each column that can be compared."""
        queries, table = {}, context.table
        for name, type_ in table.schema().items():
            if type_.is_nested() or type_.is_binary():
                continue
            values = table.select(value=table[name])
            groups = values.group_by("value").aggregate(size=values.count())
            size = groups["size"]
            queries[name] = groups.aggregate(
                rows=size.sum().cast("int64"),
                classes=groups.count(),
                uniques=(size == 1).sum().cast("int64"),
                alike=(size * (size - 1)).sum().cast("int64"),
            )
            if _is_looked_at(type_):
                texts = groups.filter(groups["value"].notnull()).order_by(ibis.desc("size")).limit(_SAMPLE)
                text = texts["value"].cast("string").substr(0, _LONGEST_TEXT)
                queries[_TEXTS + name] = texts.select(text=text, size=texts["size"])
        return Wants({"rows": context.rows}, queries, schema=True)

    def follow_up(self, context: Context, measurement: Measurement) -> Measurement:
        """Replace the values that were looked at by the kind that they are of."""
        del context
        tables: dict[str, Sequence[Mapping[str, Any]]] = {}
        for name, rows in measurement.tables.items():
            if not name.startswith(_TEXTS):
                tables[name] = rows
                continue
            content = content_of(((str(row["text"]), int(row["size"])) for row in rows), measurement.measured_at.date())
            sampled = sum(int(row["size"]) for row in rows)
            if content is not None:
                tables[_CONTENT + name.removeprefix(_TEXTS)] = [
                    {"kind": content[0], "share": content[1], "sampled": sampled}
                ]
        return replace(measurement, tables=tables)

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:  # noqa: ARG002 - the contract's
        """Return the figures of each column, and what it may be."""
        values: list[Json] = []
        for name, type_ in measurement.columns.items():
            if name not in measurement.tables:
                values.append({"column": name, "type": type_, "values": None, "suggestion": None, "why": None})
                continue
            row = measurement.tables[name][0]
            counts = {key: int(row[key] or 0) for key in ("rows", "classes", "uniques", "alike")}
            separation = Separation.of(**counts)
            content = next(iter(measurement.tables.get(_CONTENT + name, ())), None)
            suggestion, why = classified(name, type_, separation, rows=counts["rows"], content=content)
            values.append(
                {
                    "column": name,
                    "type": type_,
                    "values": counts["classes"],
                    "uniques": separation.uniques,
                    "distinction": separation.distinction,
                    "separation": separation.separation,
                    "suggestion": suggestion.value,
                    "content": None if content is None else dict(content),
                    "why": why,
                }
            )
        return Outcome(Status.PASS, Message("counted"), {"rows": measurement.number("rows"), "columns": values})


def classified(
    column: str, type_: str, separation: Separation, *, rows: int, content: Mapping[str, Any] | None
) -> tuple[ColumnClass, str]:
    """Return what a column may be, and the evidence: its content, else its name unless the values contradict it."""
    if content is not None:
        kind = BIRTHDAYS if content["kind"] == "birth" else KINDS[content["kind"]]
        share = PlainEnglish().format(content["share"], "ratio")
        return kind.column_class, f"{share} of {content['sampled']:,} sampled rows: {kind.says}"
    measured, why = _by_values(type_, separation)
    named = _by_name(column)
    if named is None:
        return measured, why
    if rows < _ENOUGH_ROWS or separation.distinction is None or not _contradicts(named, rows, separation.distinction):
        return named, "by name; values of no known kind"
    return measured, f"{round(separation.distinction * rows):,} values in {rows:,} rows, too few for what it is called"


def suggested(column: str, type_: str, separation: Separation) -> ColumnClass:
    """Return what a column may be, by its name first, then by its values."""
    return _by_name(column) or _by_values(type_, separation)[0]


def _by_name(column: str) -> ColumnClass | None:
    name = _BETWEEN_WORDS.sub("_", column)
    return next((word for word, pattern in _WORDS.items() if re.search(pattern, name, flags=re.IGNORECASE)), None)


def _contradicts(named: ColumnClass, rows: int, distinction: float) -> bool:
    """Check whether a column has too few values for what it is called: one, or few for an identifier."""
    values = round(distinction * rows)
    is_few = values < _MANY_VALUES and distinction < _MANY_PER_ROW
    return values <= 1 or (named is ColumnClass.DIRECT_IDENTIFIER and is_few)


def _by_values(type_: str, separation: Separation) -> tuple[ColumnClass, str]:
    if separation.separation is None or "float" in type_ or separation.separation < _TELLS_APART:
        return ColumnClass.OTHER, "distinguishes few rows" if "float" not in type_ else "a measured number"
    if separation.distinction is not None and separation.distinction >= _NEARLY_EACH:
        return ColumnClass.DIRECT_IDENTIFIER, "nearly a value for each row"
    return ColumnClass.QUASI_IDENTIFIER, "distinguishes rows"


def _is_looked_at(type_: Any) -> bool:
    return bool(
        type_.is_string()
        or type_.is_integer()
        or type_.is_date()
        or type_.is_timestamp()
        or type_.is_uuid()
        or type_.is_inet()
        or type_.is_macaddr()
    )
