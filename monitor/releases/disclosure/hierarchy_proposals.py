"""Propose a generalisation hierarchy for columns of a table: ranges of numbers, prefixes of codes, parts of dates.

At most 2,000 different values of a column leave its engine; they are looked at in this process, and neither kept nor
shown. Widths follow from the order of magnitude of the numbers. A proposal is where to begin: it is written to be
changed.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from checks import ColumnClass
from monitor.releases.disclosure.table_ref import TableRef
from monitor.releases.treatment.table_reader import reading

Words = Mapping[str, Any]
_SAMPLE: Final = 2_000
_FEW: Final = 12
"""So few different values are made into one."""
_CODE: Final = 20
"""Letters of the longest value that is taken for a code."""
_RANGES: Final = 20
"""Ranges that numbers are parted into at the first level, about."""
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")


def propose_hierarchies(place: TableRef, columns: Sequence[str]) -> Mapping[str, Words]:
    """Return, for each column that the table has, the words of a hierarchy as a release takes them.

    Raises:
        Stop: the table cannot be read.
    """
    proposals: dict[str, Words] = {}
    with reading(place) as (source, table):
        for name in (item for item in columns if item in table.columns):
            value = table[name]
            kind = value.type()
            if kind.is_temporal():
                proposals[name] = {"type": "dates", "levels": ["month", "year", "5-year"]}
                continue
            if not (kind.is_string() or kind.is_numeric()):
                proposals[name] = {"type": "flat"}
                continue
            distinct = table.select(value=value).filter(value.notnull()).distinct().limit(_SAMPLE)
            values = [row["value"] for row in source.fetch(source.compile(distinct))]
            proposals[name] = _of_texts(values) if kind.is_string() else _of_numbers(values)
    return proposals


def _of_numbers(values: Sequence[Any]) -> Words:
    numbers = [float(value) for value in values if math.isfinite(float(value))]
    reach = max(numbers, default=0.0) - min(numbers, default=0.0)
    if len(values) <= _FEW or not reach:
        return {"type": "flat"}
    size = 10.0 ** math.floor(math.log10(reach / _RANGES))
    first = next(step * size for step in (1, 2, 5, 10) if step * size >= reach / _RANGES)
    widths = [first * times for times in (1, 2, 4)]
    return {"type": "intervals", "widths": [int(width) if width.is_integer() else width for width in widths]}


def _of_texts(values: Sequence[Any]) -> Words:
    texts = [str(value) for value in values]
    longest = max(map(len, texts), default=0)
    if len(texts) <= _FEW:
        return {"type": "flat"}
    if all(_DATE.fullmatch(text) for text in texts):
        return {"type": "dates", "levels": ["month", "year", "5-year"]}
    is_code = longest <= _CODE and all(any(letter.isdigit() for letter in text) for text in texts)
    if not is_code or longest < 2:
        return {"type": "flat"}
    return {"type": "mask", "hide": list(range(1, longest, max(1, (longest + 2) // 4)))}


def release_to_paste(place: TableRef, columns: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Words], str]:
    """Return the hierarchies of the columns that are suggested as quasi-identifiers, and a release with them.

    Raises:
        Stop: the table cannot be read.
    """
    words = {item.value for item in ColumnClass}
    classes = {item["column"]: item["suggestion"] for item in columns}
    classes = {column: word if word in words else "other" for column, word in classes.items()}
    quasi = [column for column, word in classes.items() if word == ColumnClass.QUASI_IDENTIFIER.value]
    proposals = propose_hierarchies(place, quasi)
    return proposals, release_block("extract", place.name, classes, proposals)


def release_block(name: str, table: str, columns: Mapping[str, str], hierarchies: Mapping[str, Words]) -> str:
    """Return a `releases:` block of YAML to paste."""
    sensitive = "sensitive" in columns.values()
    lines = ["releases:", f"  {name}:", f"    table: {quoted(table)}", "    columns:"]
    lines += [f"      {quoted(column)}: {word}" for column, word in columns.items()]
    lines += [f"    limits: {{k: 5{', l: 2' if sensitive else ''}}}", "    hierarchies:"]
    lines += [f"      {line}" for line in hierarchy_lines(hierarchies)]
    return "\n".join([*lines, "    remedies: [{remedy: generalise}, {remedy: suppress}]"])


def hierarchy_lines(hierarchies: Mapping[str, Words]) -> Sequence[str]:
    """Return a line of YAML for each hierarchy."""
    return [
        f"{quoted(column)}: {{{', '.join(f'{word}: {_flow(value)}' for word, value in words.items())}}}"
        for column, words in hierarchies.items()
    ]


def quoted(text: str) -> str:
    """Return a name as YAML reads it."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", text) and text.lower() not in {"yes", "no", "on", "off", "null"}
    return text if plain and text.lower() not in {"true", "false", "y", "n"} else json.dumps(text, ensure_ascii=False)


def _flow(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)
