"""The sentences of a report: its numbers as messages, each whole, so that a translator can order its parts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from typing import Any, Final

from checks import Message
from incidents import FoundBy, Incident, Lever
from monitor.reporting.model import Coverage, DayBar, Diagnosis, IncidentLine, MethodNotes, WeekBar
from monitor.reporting.words import FOUND_BY, NOT_WATCHED, RESOLUTIONS
from monitor.summaries.ranking import Advice, AdviceStep

_NAMES_SHOWN: Final = 8


def length(us: Fraction | int) -> timedelta:
    """Return microseconds as a length of time that a voice can say."""
    return timedelta(microseconds=round(us))


def some(names: Sequence[str]) -> Message:
    """Name a few and count the rest."""
    texts, more = tuple(names[:_NAMES_SHOWN]), len(names) - _NAMES_SHOWN
    if more <= 0:
        return Message("{names}", {"names": texts})
    return Message("{names} and {more:count} more", {"names": texts, "more": more})


def coverage_sentences(coverage: Coverage) -> tuple[Message, ...]:
    """Describe how much was watched, how much of it could be evaluated, and what nobody answers for or looks at."""
    parts = [_watched(coverage)]
    if coverage.begun:
        parts += _since(coverage)
    if coverage.begun and coverage.silent:
        parts.append(
            Message(
                "{n:count} checks never ran.", {"n": coverage.silent}, one="{n:count} check never ran.", counted="n"
            )
        )
    if coverage.without_owner:
        parts.append(Message("Without an owner: {names}.", {"names": some(coverage.without_owner)}))
    if coverage.without_checks:
        parts.append(Message("Without a check: {names}.", {"names": some(coverage.without_checks)}))
    return tuple(parts)


def _since(coverage: Coverage) -> Iterator[Message]:
    if not coverage.from_start:
        yield Message(
            "Watched since {since:time}; of what was before, only what people reported is known.",
            {"since": coverage.since},
        )
    elif coverage.partly:
        yield Message("Watched for a part of the week only: {names}.", {"names": some(coverage.partly)})
    if coverage.not_yet:
        yield Message("Not watched yet: {names}.", {"names": some(coverage.not_yet)})


def _watched(coverage: Coverage) -> Message:
    values: dict[str, Any] = {"tables": coverage.tables, "checks": coverage.checks}
    if coverage.since is None:
        return Message("Tables: {tables:count}, checks: {checks:count}. No check has ever run.", values)
    if not coverage.begun:
        return Message(
            "Tables: {tables:count}, checks: {checks:count}. "
            "The first check ran on {since:full_date}, after this week.",
            {**values, "since": coverage.since},
        )
    if coverage.results is None or coverage.evaluated is None:
        return Message("Tables: {tables:count}, checks: {checks:count}. How often they ran is no longer kept.", values)
    if not coverage.results:
        return Message("Tables: {tables:count}, checks: {checks:count}. No check ran this week.", values)
    share = Fraction(coverage.evaluated, coverage.results)
    values |= {"results": coverage.results, "share": share, "hours": length(coverage.unobserved_us)}
    return replace(_evaluated(coverage, share), values=values)


def _evaluated(coverage: Coverage, share: Fraction) -> Message:
    """Choose the sentence by how much was seen; "every" is said only of a week without unobserved time."""
    if share < 1:
        return Message(
            "Tables: {tables:count}, checks: {checks:count}, results: {results:count}, of which {share:ratio} could be "
            "evaluated."
        )
    if coverage.unobserved_us:
        return Message(
            "Tables: {tables:count}, checks: {checks:count}, results: {results:count}. "
            "All that ran could be evaluated, but {hours:hours} were not observed."
        )
    return Message(
        "Tables: {tables:count}, checks: {checks:count}, results: {results:count}. Every check could be evaluated."
    )


_LEVERS: Final = {
    Lever.DETECT: (
        Message("Notice sooner: {share:ratio} of the downtime had passed before anyone knew of it."),
        Message("Look at how often checks run, at freshness limits, and at what no check covers."),
    ),
    Lever.REPAIR: (
        Message("Repair faster: {share:ratio} of the downtime came after it was noticed."),
        Message("Look at who is told, at missing runbooks, and at pipelines that take long to run again."),
    ),
    Lever.BOTH_ALIKE: (
        Message(
            "Noticing and repairing weigh about the same: "
            "{share:ratio} of the downtime had passed before anyone knew of it."
        ),
    ),
    Lever.NONE: (
        Message(
            "Whether noticing or repairing weighs more depends on when the data really went bad, and nobody saw that."
        ),
    ),
}
"""What is said where nothing is known but the two parts of the downtime."""
_OVER_ALL: Final = {
    **_LEVERS,
    Lever.DETECT: (Message("Over all incidents, {share:ratio} of the downtime had passed before anyone knew of it."),),
    Lever.REPAIR: (Message("Over all incidents, {share:ratio} of the downtime came after it was noticed."),),
}
"""What is said beside a recommendation."""
_COST: Final = Message("the cost")
_DOWNTIME: Final = Message("the data downtime")
_ABOUT_ONE: Final = {
    AdviceStep.ADD_CHECK: Message(
        'Add a check on {table} that finds "{title}": incident {id} makes {share:ratio} of {weight} and was reported '
        "by a person."
    ),
    AdviceStep.NOTICE_SOONER: Message(
        "Run {check} more often or tighten its limit: incident {id} makes {share:ratio} of {weight}, and {part:ratio} "
        "of its time had passed before anyone knew of it."
    ),
    AdviceStep.REPAIR_FASTER: Message(
        "Shorten the repair of {table}: incident {id} makes {share:ratio} of {weight}, and {part:ratio} of its time "
        "came after it was noticed."
    ),
    AdviceStep.LOOK_HERE_FIRST: Message("Look at incident {id} on {table} first: it makes {share:ratio} of {weight}."),
}
_ABOUT_TABLE: Final = {
    AdviceStep.ADD_CHECK: Message(
        "Add checks on {table}: it makes {share:ratio} of {weight}, and a person reported {found:count} of its "
        "{n:count} incidents."
    ),
    AdviceStep.NOTICE_SOONER: Message(
        "Check {table} more often or with tighter limits: it makes {share:ratio} of {weight}, and {part:ratio} of its "
        "downtime had passed before anyone knew of it."
    ),
    AdviceStep.REPAIR_FASTER: Message(
        "Shorten the repair of {table}: it makes {share:ratio} of {weight}, and {part:ratio} of its downtime came "
        "after it was noticed."
    ),
    AdviceStep.LOOK_HERE_FIRST: Message("Look at {table} first: it makes {share:ratio} of {weight}."),
}
_UNSURE: Final = Message(
    "Whether noticing or repairing weighs more there depends on when the data really went bad, which nobody saw: "
    "between {low:ratio} and {high:ratio} of its time had passed before anyone knew of it."
)


def title_of(incident: Incident) -> Message:
    """Return the title of an incident as a message; braces in one that a person wrote are no places."""
    title = Message(incident.title, incident.title_values)
    try:
        str(title)
    except (KeyError, ValueError, IndexError):  # values that do not fit its places: a title from elsewhere
        return replace(title, text=_without_places(title.text), values={})
    return title if title.values else replace(title, text=_without_places(title.text))


def _without_places(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def diagnosis_sentences(diagnosis: Diagnosis) -> tuple[Message, ...]:
    """Return what would shorten downtime most, first the recommendation, then how sure it is and what stands out."""
    advice, undetected = diagnosis.advice, diagnosis.undetected_share
    parts = [] if advice is None else list(_advice(advice, diagnosis.title))
    share = 1 - undetected if diagnosis.lever is Lever.REPAIR else undetected
    if advice is None or advice.step is not AdviceStep.LOOK_HERE_FIRST or diagnosis.lever is not Lever.NONE:
        levers = _LEVERS if advice is None else _OVER_ALL
        parts += [replace(message, values={"share": share}) for message in levers[diagnosis.lever]]
    told = advice is not None and advice.step is AdviceStep.ADD_CHECK and advice.by_person == diagnosis.found_by_person
    if diagnosis.found_by_person and not told:
        parts.append(
            Message(
                "{found:count} of {n:count} incidents were reported by a person: no check looks there yet.",
                {"found": diagnosis.found_by_person, "n": diagnosis.n},
                one="{found:count} of {n:count} incidents was reported by a person: no check looks there yet.",
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
        return Message("or later, until {latest:time}", values)
    if row.occurred_at >= row.latest:
        return Message("or earlier, from {earliest:time}", values)
    return Message("between {earliest:time} and {latest:time}", values)


def notes(row: IncidentLine, *, complete: bool) -> tuple[Message, ...]:
    """Describe what is worth knowing of an incident beside its figures; `complete` says that the week is over."""
    parts = []
    if row.found_by is FoundBy.PERSON:
        parts.append(FOUND_BY[row.found_by])
    if row.regressed:
        parts.append(Message("came back"))
    if row.began_before:
        parts.append(Message("began before this week"))
    if row.goes_on:
        parts.append(Message("goes on after this week") if complete else Message("goes on"))
    if row.cause:
        parts.append(Message("cause: {cause}", {"cause": row.cause}))
    return tuple(parts)


_DEFINITIONS: Final = (
    Message(
        "Data downtime is N \u00d7 (TTD + TTR): TTD from when the data went bad until it was noticed, "
        "TTR from then until it was good again."
    ),
    Message(
        "An incident that crosses an end of the week counts with the part that lies in the week; TTD and TTR are "
        "whole. Open ones count until this report was made."
    ),
    Message(
        "Nobody sees data go bad: by default it is dated to the last good run, which counts the most. "
        "The low and high figures take the latest and the earliest possible moment."
    ),
    Message("A check that could not be evaluated opens and closes nothing; its time is shown as not observed."),
)


def method_sentences(method: MethodNotes, currency: str) -> tuple[Message, ...]:
    """Describe how the figures come about and what they leave out."""
    return (*_DEFINITIONS, *_prices(method, currency), *_not_counted(method))


def _prices(method: MethodNotes, currency: str) -> Iterator[Message]:
    if not method.priced:
        yield Message("No hourly rate is configured, so downtime has no price here.")
        return
    yield Message(
        "Cost is the hourly rate of the table over each incident's hours, in {currency}.", {"currency": currency}
    )
    for note in method.rate_notes:
        yield Message("Rates: {note}", {"note": note})
    if method.unpriced_us:
        values = {"hours": length(method.unpriced_us)}
        yield Message("For {hours:hours} no rate was valid; they are in no cost.", values)


def _not_counted(method: MethodNotes) -> Iterator[Message]:
    for left in method.excluded:
        yield Message(
            "Not counted: {n:count} incidents that ended as {resolution}, {hours:hours}.",
            {"n": left.n, "resolution": RESOLUTIONS[left.resolution], "hours": length(left.downtime_us)},
            one="Not counted: one incident that ended as {resolution}, {hours:hours}.",
            counted="n",
        )
    for work in method.maintenance:
        values = {"reason": work.reason, "start": work.start, "end": work.end}
        yield Message("Planned work, not counted: {reason}, {start:time} to {end:time}.", values)
    if method.maintenance_us:
        values = {"hours": length(method.maintenance_us)}
        yield Message("Planned work took {hours:hours} out of the downtime.", values)
    if method.disclosure:
        yield Message(
            "{n:count} incidents are about releases at risk; they never count as downtime.",
            {"n": method.disclosure},
            one="One incident is about a release at risk; it never counts as downtime.",
            counted="n",
        )


def days_label(days: Sequence[DayBar]) -> Message:
    """Return the chart of days for those who cannot see it."""
    bars = [
        Message(
            "{day:day}: {hours:hours}, of which {undetected:hours} until noticed",
            {
                "day": bar.date,
                "hours": length(bar.undetected_us + bar.repair_us),
                "undetected": length(bar.undetected_us),
            },
        )
        for bar in days
        if bar.undetected_us is not None and bar.repair_us is not None
    ]
    return Message("Data downtime on each day. {bars}.", {"bars": bars})


def trend_label(trend: Sequence[WeekBar]) -> Message:
    """Return the chart of weeks for those who cannot see it."""
    bars = [
        Message("{week}: {why}", {"week": str(bar.week), "why": bar.why or NOT_WATCHED})
        if bar.undetected_us is None or bar.repair_us is None
        else Message(
            "{week}: {hours:hours}", {"week": str(bar.week), "hours": length(bar.undetected_us + bar.repair_us)}
        )
        for bar in trend
    ]
    return Message("Data downtime in each week. {bars}.", {"bars": bars})
