"""The sentences of a report: its numbers as messages, each whole, so that a translator can order its parts."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from typing import Final

from checks import Message
from incidents.downtime import Lever
from incidents._model import FoundBy
from monitor.reports.value import Coverage, DayBar, Diagnosis, Method, Row, WeekBar
from monitor.reports.words import FOUND_BY, RESOLUTIONS

_NAMES_SHOWN: Final = 8


def length(us: Fraction | int) -> timedelta:
    """Give microseconds as a length of time that a voice can say."""
    return timedelta(microseconds=round(us))


def some(names: Sequence[str]) -> Message:
    """Name a few and count the rest."""
    shown, more = tuple(names[:_NAMES_SHOWN]), len(names) - _NAMES_SHOWN
    if more <= 0:
        return Message("{names}", {"names": shown})
    return Message("{names} and {more:count} more", {"names": shown, "more": more})


def coverage_sentence(coverage: Coverage) -> Message:
    """Say how much was watched and how much of it could be evaluated."""
    values: dict[str, float] = {"tables": coverage.tables, "checks": coverage.checks, "runs": coverage.runs}
    if not coverage.runs:
        return Message("{tables:count} tables with {checks:count} checks; no check ran this week.", values)
    values["share"] = coverage.evaluated / coverage.runs
    if coverage.evaluated == coverage.runs:
        return Message(
            "{tables:count} tables, {checks:count} checks, {runs:count} runs: every one could be evaluated.", values
        )
    return Message(
        "{tables:count} tables, {checks:count} checks, {runs:count} runs: {share:ratio} could be evaluated.", values
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


def diagnosis_sentences(diagnosis: Diagnosis) -> tuple[Message, ...]:
    """Say what would shorten downtime most, and what stands out."""
    undetected = diagnosis.undetected_share
    share = float(1 - undetected if diagnosis.lever is Lever.REPAIR else undetected)
    said = [replace(message, values={"share": share}) for message in _LEVERS[diagnosis.lever]]
    if diagnosis.found_by_person:
        said.append(
            Message(
                "{found:count} of {n:count} incidents were reported by a person: no check looks there yet.",
                {"found": diagnosis.found_by_person, "n": diagnosis.n},
                one="{found:count} of {n:count} incidents was reported by a person: no check looks there yet.",
                counted="found",
            )
        )
    if diagnosis.costliest is not None:
        said.append(_costliest(diagnosis.costliest))
    return tuple(said)


def _costliest(row: Row) -> Message:
    values = {"id": row.id, "table": row.table}
    if row.cost is None:
        return Message("Incident {id} on {table} alone makes more than half of the downtime.", values)
    return Message("Incident {id} on {table} alone makes more than half of the cost.", values)


def notes(row: Row) -> tuple[Message, ...]:
    """Say what is worth knowing of an incident beside its figures."""
    said = []
    if row.found_by is FoundBy.PERSON:
        said.append(FOUND_BY[row.found_by])
    if row.regressed:
        said.append(Message("came back"))
    if row.began_before:
        said.append(Message("began before this week"))
    if row.goes_on:
        said.append(Message("goes on after this week"))
    if row.cause:
        said.append(Message("cause: {cause}", {"cause": row.cause}))
    return tuple(said)


def method_sentences(method: Method, currency: str) -> tuple[Message, ...]:
    """Say how the figures come about and what they leave out."""
    said = [
        Message(
            "Data downtime is N \u00d7 (TTD + TTR): TTD from when the data went bad until it was noticed, "
            "TTR from then until it was good again."
        ),
        Message(
            "An incident that crosses an end of the week counts with the part that lies in the week; TTD and TTR are "
            "whole. Open ones count until now."
        ),
        Message(
            "Nobody sees data go bad: by default it is dated to the last good run, which counts the most. "
            "The low and high figures take the latest and the earliest possible moment."
        ),
    ]
    if method.priced:
        said.append(
            Message(
                "Cost is the hourly rate of the table over each incident's hours, in {currency}.",
                {"currency": currency},
            )
        )
        said.extend(Message("Rates: {note}", {"note": note}) for note in method.rate_notes)
    else:
        said.append(Message("No hourly rate is configured, so downtime has no price here."))
    said.extend(
        Message(
            "Not counted: {n:count} incidents that ended as {resolution}, {hours:hours}.",
            {"n": left.n, "resolution": RESOLUTIONS[left.resolution], "hours": length(left.downtime_us)},
            one="Not counted: one incident that ended as {resolution}, {hours:hours}.",
            counted="n",
        )
        for left in method.excluded
    )
    said.extend(
        Message(
            "Planned work, not counted: {reason}, {start:time} to {end:time}.",
            {"reason": work.reason, "start": work.start, "end": work.end},
        )
        for work in method.maintenance
    )
    if method.maintenance_us:
        said.append(
            Message("Planned work took {hours:hours} out of the downtime.", {"hours": length(method.maintenance_us)})
        )
    if method.disclosure:
        said.append(
            Message(
                "{n:count} incidents are about releases at risk; they never count as downtime.",
                {"n": method.disclosure},
                one="One incident is about a release at risk; it never counts as downtime.",
                counted="n",
            )
        )
    said.append(
        Message("A check that could not be evaluated opens and closes nothing; its time is shown as not observed.")
    )
    return tuple(said)


def days_label(days: Sequence[DayBar]) -> Message:
    """Say the chart of days for those who cannot see it."""
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
    ]
    return Message("Data downtime on each day. {bars}.", {"bars": bars})


def trend_label(trend: Sequence[WeekBar]) -> Message:
    """Say the chart of weeks for those who cannot see it."""
    bars = [
        Message("{week}: nothing was watched yet", {"week": str(bar.week)})
        if bar.undetected_us is None or bar.repair_us is None
        else Message(
            "{week}: {hours:hours}", {"week": str(bar.week), "hours": length(bar.undetected_us + bar.repair_us)}
        )
        for bar in trend
    ]
    return Message("Data downtime in each week. {bars}.", {"bars": bars})
