"""Judge the segments of a check: which are followed, what each came to, and what all of them came to.

At most `by.most` segments of a check are followed: they have measurements, incidents and baselines of their own, kept
under their series, `orders.not-null[3f9a01c2d4e5]`. First come those that the configuration lists, then those with an
open incident, the oldest incident first, then, where a check compares with its past, those followed before and the
largest, then those that fail. All others are judged too, and summed up in one outcome of the check itself, the `rest`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from checks import (
    MOST_SEGMENTS,
    Check,
    Measurement,
    Message,
    Outcome,
    PastMeasurement,
    Segment,
    SegmentedMeasurement,
    Status,
    UnknownReason,
    unknown,
    without_rows,
)
from incidents import Incident, State, Watch
from monitor.scan.results import CheckMeasurement, CheckResult, TableResult
from store import IncidentFilter, ReadTransaction

_NAMED: Final = 8
_FINE: Final = Message(
    "{segments:count} segments are as expected", one="{segments:count} segment is as expected", counted="segments"
)
_WARNING: Final = Message("{bad:count} of {segments:count} segments exceed a warning limit: {names}")
_FAILING: Final = Message("{bad:count} of {segments:count} segments fail: {names}")
_SILENT: Final = Message("{bad:count} of {segments:count} segments could not be evaluated: {names}")
_MORE: Final = Message(
    "{more:count} more segments fail, beyond the {most:count} with incidents of their own",
    one="{more:count} more segment fails, beyond the {most:count} with incidents of their own",
    counted="more",
)
_TOO_MANY: Final = Message(
    "more than {limit:count} segments: only the largest are evaluated; choose columns with fewer values"
)
_NOT_FOLLOWED: Final = unknown(
    UnknownReason.MISCONFIGURED, Message("not compared with its past: more segments than 'most' of 'by'")
)
_GONE: Final = unknown(UnknownReason.NO_DATA, Message("the segment has no rows any more"))

Judge = Callable[[Check, Measurement, Sequence[PastMeasurement] | None], Outcome]
"""Judges one measurement against its history; None where that cannot be read."""


def series_of(check_id: str, key: str) -> str:
    """Return what the measurements and incidents of one segment of a check are kept under."""
    return f"{check_id}[{key}]"


def is_of(series: str, checks: Collection[str]) -> bool:
    """Check whether a series is of one of these checks, or of a segment of one."""
    return series in checks or any(series[:at] in checks for at, letter in enumerate(series) if letter == "[")


@dataclass(frozen=True, slots=True)
class SegmentMemory:
    """The stored state of the segments of a batch: those that were followed before, and their open incidents."""

    watches: Mapping[str, Watch] = field(default_factory=dict)
    lasting: Mapping[str, Mapping[str, Incident]] = field(default_factory=dict)
    """By check id and series."""

    @classmethod
    def read(cls, tx: ReadTransaction, batch: Iterable[TableResult]) -> SegmentMemory:
        """Read what is known of the segments that were measured, and of those that have an open incident."""
        measured = dict(_segmented(batch))
        if not measured:
            return cls()
        series = [series_of(check_id, segment.key) for check_id, item in measured.items() for segment in item.segments]
        states = (State.OPEN, State.ACKNOWLEDGED)
        lasting: dict[str, dict[str, Incident]] = {}
        for incident in tx.incidents.matching(IncidentFilter(check_ids=tuple(measured), states=states)):
            if incident.check_id is not None and incident.fingerprint != incident.check_id:
                lasting.setdefault(incident.check_id, {})[incident.fingerprint] = incident
        series += [name for open_incidents in lasting.values() for name in open_incidents]
        return cls(tx.results.watches(dict.fromkeys(series)), lasting)


def _segmented(batch: Iterable[TableResult]) -> Iterable[tuple[str, SegmentedMeasurement]]:
    for table_result in batch:
        for item in table_result.measured:
            if isinstance(item.answer, SegmentedMeasurement):
                yield item.check_id, item.answer


def followed(item: CheckMeasurement, memory: SegmentMemory) -> Mapping[str, Segment]:
    """Return, by series, the segments that are compared with their past: known before they are judged."""
    if not isinstance(item.answer, SegmentedMeasurement) or item.check.segments is None:
        return {}
    named = {series_of(item.check_id, segment.key): segment for segment in item.answer.segments}
    first = [name for name, segment in named.items() if segment.is_listed]
    first += [name for name in named if name in memory.watches]
    order = dict.fromkeys([*first, *(named if _compares(item) else ())])
    return {name: named[name] for name in list(order)[: item.check.segments.most]}


def _compares(item: CheckMeasurement) -> bool:
    return item.earlier is not None and item.earlier.compares


def remembered(item: CheckMeasurement, memory: SegmentMemory) -> Collection[str]:
    """Return the series of the segments whose earlier measurements are wanted."""
    compared = followed(item, memory)
    if item.earlier is None or not item.earlier.last_shown or not isinstance(item.answer, SegmentedMeasurement):
        return compared
    named = (series_of(item.check_id, segment.key) for segment in item.answer.segments)
    return dict.fromkeys([*compared, *(name for name in named if name in memory.watches)])


def judge_segments(
    result: CheckResult,
    item: CheckMeasurement,
    memory: SegmentMemory,
    *,
    history: Mapping[str, Sequence[PastMeasurement] | None],
    judge: Judge,
) -> CheckResult:
    """Return a check's result over all its segments, with those that are followed as its `segments`."""
    measured, by = item.answer, item.check.segments
    if not isinstance(measured, SegmentedMeasurement) or by is None:
        raise TypeError("only a check with 'by' has segments")
    compared = followed(item, memory)
    outcomes: dict[str, tuple[Segment, Outcome]] = {}
    for segment in measured.segments:
        name = series_of(item.check_id, segment.key)
        past = history.get(name, ())
        if past is not None and name not in compared:
            past = [measurement for measurement in past if measurement.last_shown]
        outcome = judge(item.check, measured.of(segment), past)
        if _compares(item) and name not in compared and outcome.reason is UnknownReason.NO_DATA:
            outcome = replace(_NOT_FOLLOWED, observed=outcome.observed)
        outcomes[name] = segment, replace(outcome, message=outcome.message.about(segment.title))
    lasting = memory.lasting.get(item.check_id, {})
    tracked = _tracked(outcomes, compared if _compares(item) else {}, memory, lasting, most=by.most)
    gone = {name: incident for name, incident in lasting.items() if name not in outcomes}
    return replace(
        result,
        outcome=_summed_up(item.check, outcomes.values(), is_cut=measured.is_cut),
        rest=_rest(item.check, outcomes, tracked, most=by.most, is_cut=measured.is_cut),
        segments=(
            *(
                replace(result, series=name, segment=outcomes[name][0].title, outcome=outcomes[name][1])
                for name in tracked
            ),
            *(_gone(result, name, incident, is_cut=measured.is_cut) for name, incident in gone.items()),
        ),
    )


def _tracked(
    outcomes: Mapping[str, tuple[Segment, Outcome]],
    compared: Mapping[str, Segment],
    memory: SegmentMemory,
    lasting: Mapping[str, Incident],
    *,
    most: int,
) -> Sequence[str]:
    """Return the series of the segments that are decided on one by one."""

    def rank(name: str) -> tuple[int, int]:
        segment, outcome = outcomes[name]
        reasons = (
            segment.is_listed,
            name in lasting,
            name in compared,
            outcome.status is Status.FAIL,
            name in memory.watches,
        )
        place = next((place for place, holds in enumerate(reasons) if holds), len(reasons))
        return place, lasting[name].id if place == 1 else 0

    ranked = sorted(((rank(name), name) for name in outcomes), key=lambda pair: pair[0])
    return [name for (place, _), name in ranked if place < 5][:most]


def _gone(result: CheckResult, name: str, incident: Incident, *, is_cut: bool) -> CheckResult:
    """Return the result of a segment with an open incident that did not come back: unknown where some are cut."""
    title = Message(incident.title, incident.title_values).segment or name
    outcome = replace(_GONE, message=_GONE.message.about(title))
    return replace(result, series=name, segment=title, outcome=outcome, is_gone=not is_cut)


def _summed_up(check: Check, judged: Iterable[tuple[Segment, Outcome]], *, is_cut: bool) -> Outcome:
    """Return what all segments came to: fail if one fails, unknown if one is, or if some were not evaluated."""
    by_status: dict[Status, list[str]] = {status: [] for status in Status}
    reason, rows = None, 0
    for segment, outcome in judged:
        rows += int(segment.values.get("rows") or 0)
        by_status[outcome.status].append(segment.title)
        reason = reason or outcome.reason
    total = sum(map(len, by_status.values()))
    if not total:
        return without_rows(check)
    observed = {
        "rows": rows,
        "segments": total,
        "failing": len(by_status[Status.FAIL]),
        "warning": len(by_status[Status.WARN]),
        "unknown": len(by_status[Status.UNKNOWN]),
    }
    if by_status[Status.FAIL]:
        return Outcome(Status.FAIL, _message_of(_FAILING, by_status[Status.FAIL], total), observed)
    if is_cut:
        return unknown(UnknownReason.MISCONFIGURED, _TOO_MANY.given(limit=MOST_SEGMENTS), observed)
    if reason is not None:
        return unknown(reason, _message_of(_SILENT, by_status[Status.UNKNOWN], total), observed)
    if by_status[Status.WARN]:
        return Outcome(Status.WARN, _message_of(_WARNING, by_status[Status.WARN], total), observed)
    return Outcome(Status.PASS, _FINE.given(segments=total), observed)


def _message_of(message: Message, titles: Sequence[str], total: int) -> Message:
    more = len(titles) - _NAMED
    names = [*titles[:_NAMED], *([f"… (+{more})"] if more > 0 else [])]
    return message.given(bad=len(titles), segments=total, names=names)


def _rest(
    check: Check,
    outcomes: Mapping[str, tuple[Segment, Outcome]],
    tracked: Iterable[str],
    *,
    most: int,
    is_cut: bool,
) -> Outcome:
    """Return what the segments came to that are not decided on one by one: their failures are one incident."""
    if not outcomes:
        return without_rows(check)
    followed_ones = set(tracked)
    others = [outcome for name, (_, outcome) in outcomes.items() if name not in followed_ones]
    failing = sum(outcome.status is Status.FAIL for outcome in others)
    if failing:
        return Outcome(Status.FAIL, _MORE.given(more=failing, most=most), {"failing": failing})
    if is_cut:
        return unknown(UnknownReason.MISCONFIGURED, _TOO_MANY.given(limit=MOST_SEGMENTS))
    unevaluated = next((outcome for outcome in others if outcome.status is Status.UNKNOWN), None)
    return unevaluated or Outcome(Status.PASS, _FINE.given(segments=len(outcomes)), {"failing": 0})


def watch_of_segment(check: Watch, series: str) -> Watch:
    """Return what is known of a segment that was not followed yet, from what is known of its check.

    While none of the segments failed that are not followed, its limits held.
    """
    return Watch(
        series,
        monitored_since=check.monitored_since,
        last_run_at=check.last_run_at,
        last_status=check.last_status,
        last_pass_ended_at=check.last_pass_ended_at,
    )
