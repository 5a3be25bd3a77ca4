"""Options of a column's logical type in the Open Data Contract Standard (ODCS 3.1) as checks: limits, lengths, formats.

https://bitol-io.github.io/open-data-contract-standard/v3.1.0/schema/#logical-type-options. How dates and times are
written is a setting of CSV files; elsewhere a column's type is all there is. What is not taken is named.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from monitor.integrations.odcs_document import ContractPart
from monitor.integrations.odcs_quality import NotExpressible, bad_length, bad_multiple
from monitor.integrations.odcs_tables import ContractTable, first_look, slug

_OCTET: Final = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_PATTERNS: Final = {
    "email": "[^@ ]+@[^@ ]+",
    "uuid": "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    "uri": "[A-Za-z][A-Za-z0-9+.-]*:[^ ]+",
    "hostname": "[A-Za-z0-9][A-Za-z0-9.-]{0,252}",
    "ipv4": "[.]".join([_OCTET] * 4),
    "ipv6": "[0-9A-Fa-f:.]{2,45}",
}
"""Formats of texts, as far as a pattern tells; what a pattern cannot tell passes."""
_WHOLE: Final = re.compile("([iu])(8|16|32|64)")
_ISO: Final = re.compile(
    r"(yyyy|YYYY|uuuu)-MM-(dd|DD)(('T'|T| )HH:mm(:ss([.,]S{1,9})?)?('Z'|Z|X{1,3}|x{1,3})?)?|HH:mm(:ss([.,]S{1,9})?)?"
)
_LETTERS: Final = {"yyyy": "%Y", "uuuu": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
_PARTS: Final = re.compile(r"(?P<letters>([A-Za-z])\2*)|'(?P<quoted>[^'%]+)'|(?P<sign>[^A-Za-z'%])")
_KEYS: Final = {"date": "date_format", "timestamp": "timestamp_format"}
"""The setting of CSV files for a kind of column."""


def read_options(options: ContractPart, kind: str | None, name: str, table: ContractTable) -> Iterator[dict[str, Any]]:
    """Yield the checks that options of a column ask for.

    Args:
        options: `logicalTypeOptions`.
        kind: the column's `logicalType`.
        name: the column.
        table: the table; the zone of a column of times is written to it.
    """
    limits = _range_limits(options)
    if limits.keys() & {"min", "max"}:
        yield {"type": "range", "column": name, **limits}
    if (pattern := options.plain("pattern")) is not None:
        yield {"type": "pattern", "column": name, "pattern": pattern}
    if (wanted := options.text("format")) is not None:
        yield from _format(options, wanted, kind, name, table)
    if kind == "timestamp" and (zone := options.text("defaultTimezone")) is not None:
        table.zones[name] = zone
    least, most = options.plain("minLength"), options.plain("maxLength")
    try:
        if least is not None or most is not None:
            yield {**bad_length(name, table.relation, least=least, most=most), "id": slug(f"length-{name}")}
        if kind == "integer" and (divisor := options.plain("multipleOf")) is not None:
            yield {**bad_multiple(name, table.relation, divisor), "id": slug(f"multiple-{name}")}
    except NotExpressible as error:
        options.refuse(str(error))


def _format(
    options: ContractPart, wanted: str, kind: str | None, name: str, table: ContractTable
) -> Iterator[dict[str, Any]]:
    whole = _WHOLE.fullmatch(wanted)
    if kind == "string" and wanted in _PATTERNS:
        yield {"type": "pattern", "column": name, "pattern": _PATTERNS[wanted], "id": slug(f"format-{name}")}
    elif kind in {"integer", "number"} and whole is not None:
        bits, signed = int(whole[2]), whole[1] == "i"
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        yield {"type": "range", "column": name, "min": low, "max": high, "id": slug(f"format-{name}")}
    elif kind in {"date", "timestamp", "time"}:
        is_read = _ISO.fullmatch(wanted) or table.formats.get(_KEYS.get(kind, "")) == strptime_format(wanted)
        if not is_read:
            options.refuse("how dates and times are written is a setting of CSV files, one for all columns", "format")
    else:
        known = ", ".join([*_PATTERNS, "i8 to u64"])
        options.refuse(f"no check tells this format (known: {known}, and formats of dates)", "format")


def csv_formats(part: ContractPart) -> Mapping[str, str]:
    """Return how a table's CSV files write dates and times, where all columns of a kind are written alike."""
    formats: dict[str, set[str | None]] = {kind: set() for kind in _KEYS}
    for column in first_look(part, "properties"):
        kind = column.text("logicalType")
        if kind in formats:
            options = column.part("logicalTypeOptions")
            wanted = None if options is None else options.text("format")
            formats[kind].add(None if wanted is None or _ISO.fullmatch(wanted) else wanted)
    return {
        _KEYS[kind]: text
        for kind, (wanted, *others) in ((kind, list(wanted)) for kind, wanted in formats.items() if wanted)
        if not others and wanted is not None and (text := strptime_format(wanted)) is not None
    }


def strptime_format(wanted: str) -> str | None:
    """Return a format of Java's DateTimeFormatter as one of strptime; None if it has a part that is not known."""
    text, at = "", 0
    while at < len(wanted):
        match = _PARTS.match(wanted, at)
        letters = None if match is None else match["letters"]
        if match is None or (letters is not None and letters not in _LETTERS):
            return None
        text += match["quoted"] or match["sign"] or _LETTERS[str(letters)]
        at = match.end()
    return text


def _range_limits(options: ContractPart) -> dict[str, Any]:
    """Return the limits of a range; an exclusive limit is a number, or in older documents a flag beside the other."""
    limits: dict[str, Any] = {}
    for end, side in (("minimum", "min"), ("maximum", "max")):
        plain, exclusive = options.plain(end), options.plain(f"exclusive{end.capitalize()}")
        if exclusive is not None and not isinstance(exclusive, bool):
            if plain is not None:
                options.refuse(f"with exclusive{end.capitalize()}, the stricter of both is not chosen; write one", end)
            plain, exclusive = exclusive, True
        if plain is not None:
            limits |= {side: plain} | ({f"exclusive_{side}": True} if exclusive else {})
    return limits
