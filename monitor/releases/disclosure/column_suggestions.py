"""Suggest which columns of a table are quasi-identifiers, from their names and from how well each tells rows apart.

A suggestion is where to begin reading, not a classification: whether somebody knows a column is nothing that a table
says of itself.
"""

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, Literal

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
    Status,
    Wants,
)
from checks.risk import Separation

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
        r"language|height|weight|admission|discharge|生年|誕生|年齢|性別|郵便|都道府県|市区|国籍|職業|学歴|婚姻"
    ),
}
_BETWEEN_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\s.-]+")
_NEARLY_EACH: Final = 0.95
"""Distinct values per row from which on a column is taken for a number or name of each row."""
_TELLS_APART: Final = 0.3


class ColumnProfile(CheckParameters):
    """Count, for each column, its values and how many rows are alike in it. No check of the catalogue."""

    summary: ClassVar[str] = "How well each column distinguishes rows."
    kind: ClassVar[Kind] = Kind.DISCLOSURE

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
        return Wants({"rows": context.rows}, queries, schema=True)

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:  # noqa: ARG002 - the contract's
        """Return the figures of each column, and what it may be."""
        values: list[Json] = []
        for name, type_ in measurement.columns.items():
            if name not in measurement.tables:
                values.append({"column": name, "type": type_, "values": None, "suggestion": None})
                continue
            row = measurement.tables[name][0]
            counts = {key: int(row[key] or 0) for key in ("rows", "classes", "uniques", "alike")}
            separation = Separation.of(**counts)
            values.append(
                {
                    "column": name,
                    "type": type_,
                    "values": counts["classes"],
                    "uniques": separation.uniques,
                    "distinction": separation.distinction,
                    "separation": separation.separation,
                    "suggestion": suggested(name, type_, separation).value,
                }
            )
        return Outcome(Status.PASS, Message("counted"), {"rows": measurement.number("rows"), "columns": values})


def suggested(column: str, type_: str, separation: Separation) -> ColumnClass:
    """Return what a column may be, by its name first, then by its values."""
    name = _BETWEEN_WORDS.sub("_", column)
    for word, pattern in _WORDS.items():
        if re.search(pattern, name, flags=re.IGNORECASE):
            return word
    if separation.separation is None or "float" in type_ or separation.separation < _TELLS_APART:
        return ColumnClass.OTHER
    if separation.distinction is not None and separation.distinction >= _NEARLY_EACH:
        return ColumnClass.DIRECT_IDENTIFIER
    return ColumnClass.QUASI_IDENTIFIER
