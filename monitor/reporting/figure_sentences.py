"""Sentences about alarms that people answered, service levels, error budgets and domains."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final

from checks import Message
from incidents import AnsweredAlarms, Exhaustion, LevelResult, LevelVerdict
from monitor.reporting.domains import DomainRow, DomainSection
from monitor.reporting.period import Period
from monitor.reporting.sentences import length, some
from monitor.reporting.words import LEVEL_VERDICTS
from monitor.summaries.level_groups import GroupedLevel, LevelGroup
from monitor.summaries.service_levels import JudgedContract

_LONGEST_US: Final = Fraction(100 * 365 * 86_400_000_000)
"""A hundred years: what is farther away is shown as that."""


def alarms_sentence(alarms: AnsweredAlarms) -> Message:
    """Return how many alarms were real: of those that people answered, and of all of them."""
    if alarms.precision is None or alarms.interval is None:
        return Message(
            "None of {n:count} alerts was answered, so it is not known how many were real.",
            {"n": alarms.alarms},
            one="The one alert was not answered, so it is not known whether it was real.",
            counted="n",
        )
    low, high = alarms.interval
    values = {"n": alarms.answered, "alarms": alarms.alarms, "share": alarms.precision, "low": low, "high": high}
    return Message(
        "People answered {n:count} of {alarms:count} alerts; {share:ratio} of these were not false (95 % interval "
        "{low:ratio} to {high:ratio}). Of all alerts, between {least:ratio} and {most:ratio} were not false.",
        {**values, "least": alarms.least, "most": alarms.most},
    )


def tables_sentence(tables: Mapping[LevelVerdict, int]) -> Message:
    """Return of how many tables the service levels were kept, with how many there are of each verdict."""
    counts = {verdict.value: number for verdict, number in tables.items()}
    return Message(
        "Service levels of {n:count} tables: {kept:count} kept, {pending:count} may still be kept, {unknown:count} not "
        "known, {broken:count} broken.",
        {"n": sum(counts.values()), **counts},
        one="Service levels of one table: {kept:count} kept, {pending:count} may still be kept, {unknown:count} not "
        "known, {broken:count} broken.",
        counted="n",
    )


def group_name(group: LevelGroup, owner_names: Mapping[str, str]) -> Message:
    """Return the name of an owner or tier whose tables are grouped; `owner_names` by key of the configuration."""
    if group.name is None:
        return Message("no owner") if group.by == "owner" else Message("no tier")
    if group.by == "owner":
        return Message("owner {name}", {"name": owner_names.get(group.name, group.name)})
    return Message("tier {name}", {"name": group.name})


def in_time(result: LevelResult | GroupedLevel) -> Message | None:
    """Return how many episodes of bad data kept a promised time, at least and at most; None where none is judged."""
    if result.share_kept is None:
        return None
    values = {"n": result.judged, "kept": result.kept, "perhaps": result.judged - result.broken}
    if values["kept"] == values["perhaps"]:
        return Message("{kept:count} of {n:count} in time", values)
    return Message("{kept:count} to {perhaps:count} of {n:count} in time", values)


def budget_sentences(contract: JudgedContract) -> Sequence[Message]:
    """Return how an error budget stands: what was spent, how fast, and when it is used up; nothing without one."""
    budget = contract.budget
    if budget is None:
        return ()
    long, short = budget.rates
    values = {"name": contract.name, "verdict": LEVEL_VERDICTS[budget.verdict]}
    times = {"spent": budget.spent.seen, "low": budget.spent.low, "high": budget.spent.high}
    spent = Message(
        "Error budget of {name}: {spent:hours} of {allowed:hours} of downtime spent in {per:duration} (at least "
        "{low:hours}, at most {high:hours}): {verdict}.",
        {
            **values,
            **{name: length(time) for name, time in times.items()},
            "allowed": length(budget.allowed_us),
            "per": length(budget.per_us),
        },
    )
    rates = Message(
        "Burn rate {burn:number} in the last {long:duration}, {now:number} in the last {short:duration}; above 1 the "
        "budget does not last.",
        {
            "burn": round(float(long.seen), 2),
            "now": round(float(short.seen), 2),
            "long": length(long.length_us),
            "short": length(short.length_us),
        },
    )
    return spent, rates, *_used_up(budget.exhaustion)


def observed_sentence(contract: JudgedContract) -> Message | None:
    """Return how much of its period was observed; nothing where all of it was, or where it has not begun."""
    if contract.observed_us == contract.period_us:
        return None
    return Message(
        "All checks saw {observed:duration} of {whole:duration}.",
        {"observed": length(contract.observed_us), "whole": length(contract.period_us)},
    )


def domain_label(row: DomainRow, periods: Sequence[Period]) -> Message:
    """Return the cells of a domain for those who cannot see them."""
    cells = [
        Message("{period}: {why}", {"period": str(period), "why": Message("unknown")})
        if cell is None
        else Message(
            "{period}: {hours:hours} in {n:count} incidents",
            {"period": str(period), "hours": length(cell.downtime_us), "n": cell.n},
            one="{period}: {hours:hours} in {n:count} incident",
            counted="n",
        )
        for period, cell in zip(periods, row.cells, strict=True)
    ]
    return Message("{what}. {bars}.", {"what": domain_name(row), "bars": cells})


def domain_name(domain: DomainRow | DomainSection) -> Message:
    """Return the name of a domain to show."""
    name = domain.title or domain.name
    return Message("no domain") if name is None else Message("{name}", {"name": name})


def domain_sentences(domain: DomainSection) -> tuple[Message, ...]:
    """Return the open incidents of a domain, recurrences, broken service levels and tables without an owner."""
    parts = []
    if domain.open:
        parts.append(Message("Still open: {names}.", {"names": some([f"#{number}" for number in domain.open])}))
    if domain.repeats:
        parts.append(Message("Came back, or several incidents: {names}.", {"names": some(list(domain.repeats))}))
    if domain.verdict is LevelVerdict.BROKEN:
        parts.append(Message("Service levels broken: {names}.", {"names": some(domain.worst_contracts)}))
    if domain.without_owner:
        parts.append(Message("Tables without an owner: {names}.", {"names": some(domain.without_owner)}))
    return tuple(parts)


def _used_up(forecast: Exhaustion) -> Iterator[Message]:
    """Yield when an error budget is used up, if downtime goes on as in the longer time of the burn rate."""
    if forecast.expected == 0:
        yield Message("It is used up already.")
        return
    if forecast.expected is None:
        yield Message("At this rate it is never used up.")
    else:
        time = length(min(forecast.expected, _LONGEST_US))
        yield Message("At this rate it is used up in {time:duration}.", {"time": time})
    if forecast.soonest == 0:
        yield Message("If all unknown time was downtime, it is used up already.")
    elif forecast.soonest is not None and forecast.soonest != forecast.expected:
        yield Message(
            "If all unknown time was downtime, it is used up in {time:duration}.",
            {"time": length(min(forecast.soonest, _LONGEST_US))},
        )
