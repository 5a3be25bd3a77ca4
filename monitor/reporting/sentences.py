"""The sentences of a report: its numbers as messages, each whole, so that a translator can order its parts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from typing import Any, Final

from checks import Message
from incidents import FoundBy, Lever
from monitor.reporting.model import Coverage, Diagnosis, IncidentLine, MethodNotes, PartBar, PeriodReport, TrendBar
from monitor.reporting.period import Period, Quarter, Week
from monitor.reporting.words import FOUND_BY, NOT_WATCHED, PERIOD_WORDS, PeriodWords
from monitor.summaries.incident import RESOLUTIONS, TEXTS
from monitor.summaries.ranking import Advice, AdviceStep

_NAMES_SHOWN: Final = 8


def length(us: Fraction | int) -> timedelta:
    """Return microseconds as a length of time that a localizer can format."""
    return timedelta(microseconds=round(us))


def floor_percent(share: Fraction) -> float:
    """Return a share in percent, rounded down to three decimals: an availability below a promise never looks kept."""
    return float(Fraction(share * 100_000 // 1, 1000))


def percentage_points(share: Fraction | float) -> float:
    """Return a difference of two shares in percentage points, to three decimals, of which the last is the least."""
    return max(round(float(share * 100), 3), 0.001)


def some(names: Sequence[str]) -> Message:
    """Return the first few names, and how many more there are."""
    texts, more = tuple(names[:_NAMES_SHOWN]), len(names) - _NAMES_SHOWN
    if more <= 0:
        return Message("{names}", {"names": texts})
    return Message("{names} and {more:count} more", {"names": texts, "more": more})


def coverage_sentences(coverage: Coverage, kind: type[Period]) -> tuple[Message, ...]:
    """Return how much was monitored and could be evaluated, and which tables have no owner or no check."""
    words = PERIOD_WORDS[kind]
    parts = [_watched(coverage, words)]
    if coverage.begun:
        parts += _since(coverage, words)
    if coverage.begun and coverage.silent:
        parts.append(
            Message(
                "{n:count} checks have never run.",
                {"n": coverage.silent},
                one="{n:count} check has never run.",
                counted="n",
            )
        )
    if coverage.without_owner:
        parts.append(Message("Tables without an owner: {names}.", {"names": some(coverage.without_owner)}))
    if coverage.without_checks:
        parts.append(Message("Tables without checks: {names}.", {"names": some(coverage.without_checks)}))
    return (*parts, *_promises(coverage))


def _promises(coverage: Coverage) -> Iterator[Message]:
    for promise in coverage.promises:
        values = {"check": promise.check_id, "promised": promise.promised, "seen": promise.seen_at_most}
        if promise.seen_at_most is not None:
            values["seen"] = round(promise.seen_at_most, 2)
            yield Message("False alarms of {check}: promised {promised}, seen at most {seen:number}.", values)


def _since(coverage: Coverage, words: PeriodWords) -> Iterator[Message]:
    if not coverage.from_start:
        yield Message(
            "Monitored since {since:time}; earlier data covers only incidents reported by people.",
            {"since": coverage.since},
        )
    elif coverage.partly:
        values = {"unit": words.unit, "names": some(coverage.partly)}
        yield Message("Monitored for only part of the {unit}: {names}.", values)
    if coverage.not_yet:
        yield Message("Not monitored yet: {names}.", {"names": some(coverage.not_yet)})


def _watched(coverage: Coverage, words: PeriodWords) -> Message:
    values: dict[str, Any] = {"tables": coverage.tables, "checks": coverage.checks}
    if coverage.since is None:
        return Message("Tables: {tables:count}, checks: {checks:count}. No check has run yet.", values)
    if not coverage.begun:
        return Message(
            "Tables: {tables:count}, checks: {checks:count}. The first check ran on {since:full_date}, after {this}.",
            {**values, "since": coverage.since, "this": words.this},
        )
    if coverage.results is None or coverage.evaluated is None:
        return Message(
            "Tables: {tables:count}, checks: {checks:count}. The number of runs is past the retention period.", values
        )
    if not coverage.results:
        values["this"] = words.this
        return Message("Tables: {tables:count}, checks: {checks:count}. No check ran {this}.", values)
    share = Fraction(coverage.evaluated, coverage.results)
    values |= {"results": coverage.results, "share": share, "hours": length(coverage.unobserved_us)}
    return replace(_evaluated(coverage, share), values=values)


def _evaluated(coverage: Coverage, share: Fraction) -> Message:
    """Choose the sentence by how much was seen; "every" is said only of a period without unobserved time."""
    if share < 1:
        return Message(
            "Tables: {tables:count}, checks: {checks:count}, results: {results:count}, of which {share:ratio} could be "
            "evaluated."
        )
    if coverage.unobserved_us:
        return Message(
            "Tables: {tables:count}, checks: {checks:count}, results: {results:count}. "
            "Every check that ran could be evaluated, but {hours:hours} were not monitored."
        )
    return Message(
        "Tables: {tables:count}, checks: {checks:count}, results: {results:count}. Every check could be evaluated."
    )


_LEVERS: Final = {
    Lever.DETECT: (
        Message("Detect sooner: {share:ratio} of the downtime passed before detection."),
        Message("Review check intervals, freshness limits and gaps in check coverage."),
    ),
    Lever.REPAIR: (
        Message("Resolve faster: {share:ratio} of the downtime came after detection."),
        Message("Review alert routing, missing runbooks and pipelines that are slow to re-run."),
    ),
    Lever.BOTH_ALIKE: (
        Message(
            "Detection and resolution contribute about equally: {share:ratio} of the downtime passed before detection."
        ),
    ),
    Lever.NONE: (
        Message(
            "Whether detection or resolution took longer depends on the actual start of the problem, which is unknown."
        ),
    ),
}
"""Sentences where only the two parts of the downtime are known."""
_OVER_ALL: Final = {
    **_LEVERS,
    Lever.DETECT: (Message("Across all incidents, {share:ratio} of the downtime passed before detection."),),
    Lever.REPAIR: (Message("Across all incidents, {share:ratio} of the downtime came after detection."),),
}
"""Sentences beside a recommendation."""
_COST: Final = Message("the cost")
_DOWNTIME: Final = Message("the data downtime")
_ABOUT_ONE: Final = {
    AdviceStep.ADD_CHECK: Message(
        'Add a check on {table} that detects "{title}": incident {id} accounts for {share:ratio} of {weight} and was '
        "reported by a person."
    ),
    AdviceStep.NOTICE_SOONER: Message(
        "Run {check} more often or tighten its limit: incident {id} accounts for {share:ratio} of {weight}, and "
        "{part:ratio} of its duration passed before detection."
    ),
    AdviceStep.REPAIR_FASTER: Message(
        "Reduce time to resolution on {table}: incident {id} accounts for {share:ratio} of {weight}, and "
        "{part:ratio} of its duration came after detection."
    ),
    AdviceStep.LOOK_HERE_FIRST: Message(
        "Investigate incident {id} on {table} first: it accounts for {share:ratio} of {weight}."
    ),
}
_ABOUT_TABLE: Final = {
    AdviceStep.ADD_CHECK: Message(
        "Add checks on {table}: it accounts for {share:ratio} of {weight}, and {found:count} of its {n:count} "
        "incidents were reported by people."
    ),
    AdviceStep.NOTICE_SOONER: Message(
        "Check {table} more often or with tighter limits: it accounts for {share:ratio} of {weight}, and "
        "{part:ratio} of its downtime passed before detection."
    ),
    AdviceStep.REPAIR_FASTER: Message(
        "Reduce time to resolution on {table}: it accounts for {share:ratio} of {weight}, and {part:ratio} of its "
        "downtime came after detection."
    ),
    AdviceStep.LOOK_HERE_FIRST: Message("Investigate {table} first: it accounts for {share:ratio} of {weight}."),
}
_UNSURE: Final = Message(
    "Whether detection or resolution took longer there depends on the actual start of the problem, which is unknown: "
    "between {low:ratio} and {high:ratio} of its duration passed before detection."
)


def diagnosis_sentences(diagnosis: Diagnosis) -> tuple[Message, ...]:
    """Return what would shorten downtime most, first the recommendation, then how sure it is and what stands out."""
    advice, undetected = diagnosis.advice, diagnosis.undetected_share
    parts = [] if advice is None else list(_advice(advice, diagnosis.title))
    share = 1 - undetected if diagnosis.lever is Lever.REPAIR else undetected
    if advice is None or advice.step is not AdviceStep.LOOK_HERE_FIRST or diagnosis.lever is not Lever.NONE:
        levers = _LEVERS if advice is None else _OVER_ALL
        parts += [replace(message, values={"share": share}) for message in levers[diagnosis.lever]]
    is_advised = (
        advice is not None and advice.step is AdviceStep.ADD_CHECK and advice.by_person == diagnosis.found_by_person
    )
    if diagnosis.found_by_person and not is_advised:
        parts.append(
            Message(
                "{found:count} of {n:count} incidents were reported by people: no check covers them yet.",
                {"found": diagnosis.found_by_person, "n": diagnosis.n},
                one="{found:count} of {n:count} incidents was reported by a person: no check covers it yet.",
                counted="found",
            )
        )
    return tuple(parts)


def _advice(advice: Advice, title: Message | None) -> Iterator[Message]:
    texts = _ABOUT_TABLE if advice.incident is None else _ABOUT_ONE
    yield texts[advice.step].given(
        table=advice.table,
        id=advice.incident,
        check=advice.check_id,
        title=title or "",
        n=advice.n,
        found=advice.by_person,
        share=advice.share,
        weight=_COST if advice.by_cost else _DOWNTIME,
        part=1 - advice.unnoticed if advice.step is AdviceStep.REPAIR_FASTER else advice.unnoticed,
    )
    if advice.step is AdviceStep.LOOK_HERE_FIRST:
        yield _UNSURE.given(low=advice.low, high=advice.high)


def onset_range(row: IncidentLine) -> Message | None:
    """Return between which moments the data went bad, None where the moment is known."""
    values = {"earliest": row.earliest, "latest": row.latest}
    if row.earliest >= row.latest:
        return None
    if row.occurred_at <= row.earliest:
        return Message("or later, up to {latest:time}", values)
    if row.occurred_at >= row.latest:
        return Message("or as early as {earliest:time}", values)
    return Message("between {earliest:time} and {latest:time}", values)


def notes(row: IncidentLine, kind: type[Period], *, complete: bool) -> tuple[Message, ...]:
    """Return the notes of an incident beside its figures; `complete`: the period is over."""
    values = {"this": PERIOD_WORDS[kind].this}
    parts = []
    if row.found_by is FoundBy.PERSON:
        parts.append(FOUND_BY[row.found_by])
    if row.regressed:
        parts.append(Message("recurred"))
    if row.began_before:
        parts.append(Message("started before {this}", values))
    if row.continues:
        parts.append(Message("continues after {this}", values) if complete else Message("ongoing"))
    return (*parts, *(TEXTS[name].noted(text) for name, text in row.texts.items()))


_DEFINITIONS: Final = (
    Message(
        "Data downtime is N \u00d7 (TTD + TTR): TTD runs from the start of the problem "
        "to its detection, TTR from detection to resolution."
    ),
    Message(
        "An incident that crosses the boundary of a {unit} counts only for the part within the {unit}; its TTD and TTR "
        "are not truncated. Open incidents count up to the time of this report."
    ),
    Message(
        "The exact start of a problem is usually unknown: by default it is set to the last passing run, which gives "
        "the longest duration. The low and high estimates use the latest and the earliest possible start."
    ),
    Message(
        "A check that could not be evaluated neither opens nor resolves incidents; that time is shown as not monitored."
    ),
)


def method_sentences(method: MethodNotes, currency: str, kind: type[Period]) -> tuple[Message, ...]:
    """Return how the figures are computed and what they exclude."""
    unit = PERIOD_WORDS[kind].unit
    definitions = (sentence.given(unit=unit) if "{unit}" in sentence.text else sentence for sentence in _DEFINITIONS)
    return (*definitions, *_prices(method, currency), *_not_counted(method), *method.powers)


def _prices(method: MethodNotes, currency: str) -> Iterator[Message]:
    if not method.priced:
        yield Message("No hourly rate is configured, so the cost of downtime is not shown.")
        return
    yield Message(
        "Cost is the hourly rate of the table multiplied by the hours of each incident, in {currency}.",
        {"currency": currency},
    )
    for note in method.rate_notes:
        yield Message("Rates: {note}", {"note": note})
    if method.unpriced_us:
        values = {"hours": length(method.unpriced_us)}
        yield Message("No rate was valid for {hours:hours}; these hours are not included in the cost.", values)


def _not_counted(method: MethodNotes) -> Iterator[Message]:
    for left in method.excluded:
        yield Message(
            "Not counted: {n:count} incidents resolved as {resolution}, {hours:hours}.",
            {"n": left.n, "resolution": RESOLUTIONS[left.resolution], "hours": length(left.downtime_us)},
            one="Not counted: one incident resolved as {resolution}, {hours:hours}.",
            counted="n",
        )
    for work in method.maintenance:
        values = {"reason": work.reason, "start": work.start, "end": work.end}
        yield Message("Planned maintenance, not counted: {reason}, {start:time} to {end:time}.", values)
    if method.maintenance_us:
        values = {"hours": length(method.maintenance_us)}
        yield Message("{hours:hours} of planned maintenance are excluded from the downtime.", values)
    if method.disclosure:
        yield Message(
            "{n:count} incidents concern data releases at risk and do not count as downtime.",
            {"n": method.disclosure},
            one="One incident concerns a data release at risk and does not count as downtime.",
            counted="n",
        )


def parts_label(days: Sequence[PartBar], kind: type[Period]) -> Message:
    """Return the chart of days or weeks for those who cannot see it."""
    bars = [
        Message(
            "{day:day}: {hours:hours}, of which {undetected:hours} before detection",
            {
                "day": bar.date,
                "hours": length(bar.undetected_us + bar.repair_us),
                "undetected": length(bar.undetected_us),
            },
        )
        for bar in days
        if bar.undetected_us is not None and bar.repair_us is not None
    ]
    return Message("{what}. {bars}.", {"what": PERIOD_WORDS[kind].per_part, "bars": bars})


def trend_label(trend: Sequence[TrendBar]) -> Message:
    """Return the chart of periods for those who cannot see it."""
    bars = [
        Message("{period}: {why}", {"period": str(bar.period), "why": bar.why or NOT_WATCHED})
        if bar.undetected_us is None or bar.repair_us is None
        else Message(
            "{period}: {hours:hours}", {"period": str(bar.period), "hours": length(bar.undetected_us + bar.repair_us)}
        )
        for bar in trend
    ]
    return Message("{what}. {bars}.", {"what": PERIOD_WORDS[type(trend[0].period)].per_period, "bars": bars})


def title(report: PeriodReport) -> Message:
    """Return what a report is called."""
    title = _period_title(report.period)
    return title if report.scope is None else report.scope.titled(title)


def _period_title(period: Period) -> Message:
    if isinstance(period, Week):
        values = {"number": period.number, "year": period.year}
        return Message("Data downtime in week {number} of {year}", values)
    if isinstance(period, Quarter):
        values = {"number": period.number, "year": period.year}
        return Message("Data downtime in quarter {number} of {year}", values)
    return Message("Data downtime in {first:month}", {"first": period.first})
