"""One GROUP BY for all checks of a table that share the columns of `by`: what to ask, and which segments came back.

The groups come back with the aggregates of each check, those that a configuration lists first and then the largest, at
most `MOST_SEGMENTS` of them: what a table with millions of values costs is bounded here, whatever the engine reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import or_
from secrets import token_bytes
from typing import Any, Final

from checks import (
    MOST_SEGMENTS,
    Check,
    Context,
    Measurement,
    Misconfigured,
    Segment,
    SegmentedMeasurement,
    SegmentNames,
    Wants,
    is_listed,
    segment_kind,
)
from checks.classes.few_people import GROUP, people_counts
from checks.parameters.columns import joined
from checks.risk.signatures import LEAST_KEY, Signer
from monitor.scan.results import CountState, Subject
from monitor.scan.sql_template import Placeholders, SqlTemplate
from sources.expressions import ibis, ir

Fuse = Callable[[Mapping[str, Wants]], tuple[Mapping[str, ir.Value], Mapping[str, Mapping[str, str]]]]

_SIZE: Final = "size"
_LISTED: Final = "listed"
_EPHEMERAL_KEY: Final = token_bytes(32)
"""Names segments where nothing is remembered: the names are of this process only."""


@dataclass(frozen=True, slots=True)
class SegmentQuery:
    """A statement with a row for each segment, and whose numbers it has.

    `kinds`: of each column that makes segments, by name; column number n of them comes back as `k<n>`. `columns`: per
    check id, the wanted name to the column of the answer.
    """

    template: SqlTemplate
    kinds: Mapping[str, str]
    columns: Mapping[str, Mapping[str, str]]

    def measured(
        self, check: Check, check_id: str, *, rows: Sequence[Mapping[str, Any]], whole: Measurement, names: SegmentNames
    ) -> SegmentedMeasurement:
        """Return what a check measured in each segment.

        A listed segment without rows is one of no rows. Others without rows that the check looks at are none, unless
        the check has an answer of its own for them.
        """
        listed, columns = names.listed, self.columns[check_id]
        segments: dict[str, Segment] = {}
        for row in rows[:MOST_SEGMENTS]:
            values = {name: row[f"k{place}"] for place, name in enumerate(self.kinds)}
            key = names.key(values)
            measured = {name: row[label] for name, label in columns.items()}
            if key in listed or measured.get("rows") or check.judges_empty:
                title = names.title(key, values, is_listed=key in listed, rows=_size(row))
                segments[key] = Segment(key, title, key in listed, measured)
        for key in listed.keys() - segments.keys():
            title = names.title(key, listed[key], is_listed=True, rows=0)
            segments[key] = Segment(key, title, is_listed=True, values=_no_rows(columns))
        ordered = sorted(segments.values(), key=lambda segment: not segment.is_listed)
        return SegmentedMeasurement(whole, tuple(ordered), is_cut=len(rows) > MOST_SEGMENTS)


def _size(row: Mapping[str, Any]) -> int:
    """Return the rows of a segment, or its people where they are fewer."""
    return min(int(row[name]) for name in row if name == _SIZE or name.startswith(GROUP))


def _no_rows(columns: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the aggregates of no rows: counts are 0 wherever they are read as numbers, and all others NULL."""
    return {name: 0 if name == "rows" else None for name in columns}


def names_of(subject: Subject, check: Check, query: SegmentQuery, keeper: CountState | None) -> SegmentNames:
    """Return what names the segments of a check.

    Raises:
        Misconfigured: there is no key, where names are kept from run to run.
    """
    if check.segments is None:
        raise TypeError("only a check with 'by' has segments")
    key = _EPHEMERAL_KEY if keeper is None else keeper.key
    if keeper is not None and (keeper.problem is not None or len(key) < LEAST_KEY):
        raise Misconfigured(keeper.problem or "there is no key for the names of segments")
    sign = Signer(key, "segment").signature
    return SegmentNames(subject.name, check.segments, query.kinds, sign, subject.people)


class SegmentPlanner:
    """Collects checks by the columns of their segments."""

    def __init__(self) -> None:
        self._asking: dict[frozenset[str], list[tuple[str, Wants, Context, Check]]] = {}
        self._kinds: dict[str, str] = {}

    def take(self, check_id: str, check: Check, wants: Wants, context: Context) -> None:
        """Take a check with `by`.

        Raises:
            Misconfigured: its columns do not fit the table.
        """
        by = check.segments
        if by is None:
            return
        kinds = {name: segment_kind(context, name, by) for name in by.columns}
        is_listed(context, by)  # raises before the statement of others is made with it
        self._kinds |= kinds
        self._asking.setdefault(frozenset(by.columns), []).append((check_id, wants, context, check))

    def queries(self, table: ir.Table, holes: Placeholders, fuse: Fuse) -> tuple[SegmentQuery, ...]:
        """Return a statement for each set of columns; `fuse` merges what checks want of it."""
        return tuple(
            self._query(
                table, holes, sorted(names), asking, fuse({check_id: wants for check_id, wants, _, _ in asking})
            )
            for names, asking in self._asking.items()
        )

    def _query(
        self,
        table: ir.Table,
        holes: Placeholders,
        names: Sequence[str],
        asking: Sequence[tuple[str, Wants, Context, Check]],
        fused: tuple[Mapping[str, ir.Value], Mapping[str, Mapping[str, str]]],
    ) -> SegmentQuery:
        aggregates, columns = fused
        pairs = [(context, check.segments) for _, _, context, check in asking if check.segments is not None]
        listed = [which for context, by in pairs if (which := is_listed(context, by)) is not None]
        first = {_LISTED: table.count(where=joined(or_, listed))} if listed else {}
        keys = {f"k{place}": table[name] for place, name in enumerate(names)}
        sizes = {_SIZE: table.count(), **people_counts(asking[0][2], None)}
        groups = table.group_by(**keys).aggregate(**sizes, **first, **aggregates)
        order = [*([ibis.desc(_LISTED)] if first else []), ibis.desc(_SIZE), *keys]
        statement = groups.order_by(order).limit(MOST_SEGMENTS + 1)
        return SegmentQuery(holes.compile(statement), {name: self._kinds[name] for name in names}, columns)
