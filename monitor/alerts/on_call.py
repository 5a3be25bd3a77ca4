"""Determine who is on call: by the event of an iCalendar file that is current at a moment.

Events come from the libraries icalendar and recurring-ical-events (the extra `[oncall]`), which know recurrence rules,
excluded dates, time zones and moved occurrences. Of several current events the one that began last counts, such as
that of a substitute. A person is identified by the address of an attendee, else by a name in the summary.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import MAXYEAR, date, datetime, time, timedelta
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from monitor.channels import OnCall

if TYPE_CHECKING:
    from monitor.config.project import Project

_LARGEST: Final = 2 * 1024 * 1024
_TIMES: Final = frozenset({"DTSTART", "DTEND", "DURATION", "RECURRENCE-ID", "RRULE", "RDATE", "EXDATE"})
_MOST_A_DAY: Final = 24
_MOST_STEPS: Final = 250_000
_EARLIEST: Final = 1970
_RECURS_WITHIN: Final = 40
"""Years in which a rule recurs at least once: one for 29th of February on a Monday does within 28, or 40, years."""
_CYCLE: Final = 400
_DAY: Final = timedelta(days=1)
_FOREVER: Final = timedelta(days=36_500)
_MISSING: Final = "the package {name} is not installed: pip install 'tablewatch[oncall]'"

_UNREADABLE: Final = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, AssertionError, RuntimeError)
"""What the libraries raise for a file that is no calendar, or that is inconsistent."""


class _Refused(Exception):
    """A calendar has a time or a rule that is not supported; the reason does not quote it."""


@dataclass(frozen=True, slots=True)
class OnCallDuty:
    """Who is on call, until when, and through which channel; `problem`: why that is the fallback.

    `fallback`: the channel for messages that cannot be sent to the person.
    """

    channel: str
    person: str | None = None
    until: datetime | None = None
    problem: str | None = None
    fallback: str | None = None


def duty_of(project: "Project", name: str, now: datetime) -> OnCallDuty | None:
    """Return who is on call for a channel at a moment; None for a channel of another kind."""
    channel = project.config.alerts.channels.get(name)
    settings = None if channel is None else channel.settings
    if not isinstance(settings, OnCall):
        return None
    file = project.loaded.path.parent / settings.calendar
    try:
        state = file.stat()
        query = _calendar(file, state.st_mtime_ns, state.st_size, now.year)
        return _duty(query, settings, now, zone=project.config.timezone)
    except OSError as error:
        return OnCallDuty(settings.fallback, problem=f"{settings.calendar} cannot be read: {error.strerror}")
    except ImportError as error:
        return OnCallDuty(settings.fallback, problem=_MISSING.format(name=error.name))
    except _Refused as error:
        return OnCallDuty(settings.fallback, problem=f"{settings.calendar} {error}")
    except _UNREADABLE as error:
        why = f"{settings.calendar} is no calendar that can be read ({type(error).__name__})"
        return OnCallDuty(settings.fallback, problem=why)


@lru_cache(maxsize=8)
def _calendar(file: Path, changed_ns: int, size: int, year: int) -> Any:
    """Return the events of a file, as it was changed last, for queries about a year."""
    del changed_ns  # part of the cache key
    if size > _LARGEST:
        raise _Refused(f"is larger than {_LARGEST // 1024**2} MB")
    import icalendar
    import recurring_ical_events

    calendar = icalendar.Calendar.from_ical(file.read_bytes().removeprefix(BOM_UTF8))
    events = calendar.walk("VEVENT")
    for event in events:
        _refuse_unclear_times(event)
        _complete_times(event)
    if sum(_steps(event, rule, year) for event in events for rule in _rules(event)) > _MOST_STEPS:
        raise _Refused("has rules that recur too often since they began")
    return recurring_ical_events.of(calendar)


def _refuse_unclear_times(event: Any) -> None:
    """Refuse an event whose times are not understood, or whose rule takes too long to expand.

    Rules are expanded from the beginning of their event: one by the second would delay all alerts.
    """
    if any(name in _TIMES for name, _ in event.errors):
        raise _Refused("has a time or a rule that cannot be read")
    for name in ("DTSTART", "DTEND"):
        moment = event.get(name)
        if moment is not None and "TZID" in moment.params and getattr(moment.dt, "tzinfo", None) is None:
            raise _Refused("has a time in a time zone that is not known")
    if "RANGE" in getattr(event.get("RECURRENCE-ID"), "params", ()):
        raise _Refused("changes a shift and all that follow in one event (RANGE)")
    for rule in _rules(event):
        if min(rule.get("INTERVAL", [1])) < 1 or event["DTSTART"].dt.year < _EARLIEST:
            raise _Refused(f"has a rule without an interval, or that begins before {_EARLIEST}")
        each_day = prod(len(rule.get(part, [0])) for part in ("BYHOUR", "BYMINUTE", "BYSECOND"))
        by_hour = rule["FREQ"] == ["HOURLY"] and not any(part.startswith("BY") for part in rule)
        if each_day > _MOST_A_DAY or not (by_hour or rule["FREQ"][0] in {"DAILY", "WEEKLY", "MONTHLY", "YEARLY"}):
            raise _Refused("has a rule that recurs more often than by the hour")
        if not _recurs(event, rule):
            raise _Refused("has a rule that never happens, such as a 30th of February")


def _recurs(event: Any, rule: Any) -> bool:
    """Check whether a rule recurs within decades; the libraries would search for its next time until the year 9999.

    The search is in the last cycle of 400 years: in each, days fall on equal weekdays.
    """
    from dateutil.rrule import rrulestr

    start = event["DTSTART"].dt
    begin = start.replace(tzinfo=None) if isinstance(start, datetime) else datetime.combine(start, time())
    cycles = (MAXYEAR - _RECURS_WITHIN - begin.year) // _CYCLE
    parts = {name: value for name, value in rule.items() if name not in {"COUNT", "UNTIL"}}
    times = rrulestr(type(rule)(parts).to_ical().decode(), dtstart=begin.replace(year=begin.year + cycles * _CYCLE))
    return any(True for _ in times)


def _rules(event: Any) -> list[Any]:
    rules = event.get("RRULE", [])
    return rules if isinstance(rules, list) else [rules]


def _complete_times(event: Any) -> None:
    """Complete the times of an event, so that all versions of the libraries read them alike.

    A whole day without an end is that day. A shift ends at the local time of its end, also if the clocks change in it.
    The libraries cannot compute with the largest times.
    """
    for name in ("DTSTART", "DTEND", "RECURRENCE-ID"):
        moment = event.get(name)
        zone = getattr(getattr(getattr(moment, "dt", None), "tzinfo", None), "zone", None)
        if isinstance(zone, str):
            with suppress(ZoneInfoNotFoundError):  # a zone of the calendar's own stays as it is
                moment.dt = moment.dt.replace(tzinfo=ZoneInfo(zone))
    start = event["DTSTART"].dt
    if "DTEND" not in event and "DURATION" not in event and not isinstance(start, datetime):
        event.add("DTEND", start + _DAY)
    length = _length(event)
    if length < timedelta():
        raise _Refused("has an event that ends before it begins")
    if length > _FOREVER and "DTEND" in event:
        event["DTEND"].dt = start + _FOREVER


def _steps(event: Any, rule: Any, year: int) -> float:
    """Estimate how many times a rule recurs until the end of a year; overlapping times take much longer."""
    each_day = prod(len(rule.get(part, [0])) for part in ("BYHOUR", "BYMINUTE", "BYSECOND"))
    rates = {"HOURLY": _MOST_A_DAY, "WEEKLY": each_day * len(rule.get("BYDAY", [0])) / 7}
    days = (year + 1 - event["DTSTART"].dt.year) * 366 + 12 * _length(event) / _DAY
    return float(rates.get(rule["FREQ"][0], each_day) * days / rule.get("INTERVAL", [1])[0])


def _length(event: Any) -> timedelta:
    length: timedelta = (
        event["DURATION"].dt if "DURATION" in event else event.get("DTEND", event["DTSTART"]).dt - event["DTSTART"].dt
    )
    return length


def _duty(query: Any, settings: OnCall, now: datetime, *, zone: str) -> OnCallDuty:
    place = ZoneInfo(zone)
    events = []
    here = now.astimezone(place)
    for event in query.between(here - _DAY, here + _DAY):  # the libraries do not distinguish a repeated hour
        start, end = _moment(event["DTSTART"].dt, place), _moment(event["DTEND"].dt, place)
        if start <= now < end and str(event.get("STATUS", "")).upper() != "CANCELLED":
            events.append((start, str(event.get("UID", "")), end, event))
    if not events:
        return OnCallDuty(settings.fallback, problem="nobody is on call")
    start, _, end, event = max(events, key=lambda item: item[:2])
    until = None if end - start > _FOREVER - _DAY else end
    person = _person(event, settings.people)
    if person is None:
        return OnCallDuty(settings.fallback, until=until, problem="the person on call is not among 'people'")
    return OnCallDuty(settings.people[person], person, until, fallback=settings.fallback)


def _moment(value: date, place: ZoneInfo) -> datetime:
    """Return a time of a calendar; whole days and times without a zone are the project's."""
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=place)


def _person(event: Mapping[str, Any], people: Mapping[str, str]) -> str | None:
    """Return the person that an event names; None for none, or several."""
    attendees = event.get("ATTENDEE", [])
    addresses = {
        str(item).lower().removeprefix("mailto:")
        for item in (attendees if isinstance(attendees, list) else [attendees])
    }
    persons = [name for name in people if name.lower() in addresses]
    if not persons:
        summary = str(event.get("SUMMARY", ""))
        persons = [name for name in people if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", summary, re.IGNORECASE)]
    return persons[0] if len(persons) == 1 else None
