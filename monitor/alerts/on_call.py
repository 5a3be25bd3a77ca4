"""Determine who is on call: by the event of an iCalendar file that is current at a moment.

Events come from the libraries icalendar and recurring-ical-events (the extra `[oncall]`), which know recurrence rules,
excluded dates, time zones and moved occurrences. Of several current events the one that began last counts, such as
that of a substitute; of those that began together the shorter one. A person is identified by the address of an
attendee, else by a name in the summary. An event that cannot be read costs only itself.
"""

import re
import unicodedata
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import MAXYEAR, date, datetime, time, timedelta
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from monitor.channels import OnCall
from sources import MissingExtra, import_extra

if TYPE_CHECKING:
    from monitor.config.project import Project

_LARGEST: Final = 2 * 1024 * 1024
_TIMES: Final = frozenset({"DTSTART", "DTEND", "DURATION", "RECURRENCE-ID", "RRULE", "RDATE", "EXDATE"})
_NO_SHIFTS: Final = frozenset({b"VALARM", b"VTODO", b"VJOURNAL", b"VFREEBUSY"})
_MOST_A_DAY: Final = 24
_MOST_STEPS: Final = 250_000
_MOST_EVENTS: Final = 5_000
_MOST_DATES: Final = 10_000
"""Single dates (RDATE, EXDATE) of a calendar: each is compared with each query."""
_YEARLY: Final = re.compile(
    rb"(?=.*FREQ=YEARLY)(?!.*BY(HOUR|MINUTE|SECOND|YEARDAY|WEEKNO|SETPOS)=)(?=.*BYMONTH=\d+(;|$)|(?!.*BY)).*"
)
"""The rule of a clock change: in one month of a year. Rules are expanded from their beginning, such as 1601."""
_MOST_ZONE_RULES: Final = 100
_WRITTEN_TOGETHER: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af々ー]")
"""Letters of scripts without spaces between words: a title may follow a name, and a word go before it."""
_EARLIEST: Final = 1970
_RECURS_WITHIN: Final = 40
"""Years in which a rule recurs at least once: one for 29th of February on a Monday does within 28, or 40, years."""
_CYCLE: Final = 400
_DAY: Final = timedelta(days=1)
_FOREVER: Final = timedelta(days=36_500)
_MOST_LEFT_OUT: Final = 20
"""Events that cannot be read: to see that a rule never happens takes a tenth of a second."""

_UNREADABLE: Final = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, AssertionError, RuntimeError)
"""What the libraries raise for a file that is no calendar, or that is inconsistent."""


class _Refused(Exception):
    """A calendar has a time or a rule that is not supported; the reason does not quote it."""


@dataclass(frozen=True, slots=True)
class OnCallDuty:
    """Who is on call, until when, and through which channel; `problem`: why that is the fallback.

    `fallback`: the channel for messages that cannot be sent to the person; `left_out`: why an event of the calendar is.
    """

    channel: str
    person: str | None = None
    until: datetime | None = None
    problem: str | None = None
    fallback: str | None = None
    left_out: str | None = None


def duty_of(project: "Project", name: str, now: datetime) -> OnCallDuty | None:
    """Return who is on call for a channel at a moment; None for a channel of another kind."""
    channel = project.config.alerts.channels.get(name)
    settings = None if channel is None else channel.settings
    if not isinstance(settings, OnCall):
        return None
    file = project.loaded.path.parent / settings.calendar
    try:
        state = file.stat()
        rota = _calendar(file, state.st_mtime_ns, state.st_size, now.year)
        if isinstance(rota, _Refused):
            raise rota
        duty = _duty(rota, settings, now, zone=project.config.timezone)
    except OSError as error:
        return OnCallDuty(settings.fallback, problem=f"{settings.calendar} cannot be read: {error.strerror}")
    except MissingExtra as error:
        return OnCallDuty(settings.fallback, problem=str(error))
    except (_Refused, *_UNREADABLE) as error:
        why = f"{settings.calendar} {_reason(error, 'is no calendar')}"
        return OnCallDuty(settings.fallback, problem=why)
    if rota.left_out is None:
        return duty or OnCallDuty(settings.fallback, problem="no one is on call")
    left_out = f"{settings.calendar} {rota.left_out}"
    return replace(duty or OnCallDuty(settings.fallback, problem=left_out), left_out=left_out)


def _reason(error: Exception, what: str) -> str:
    """Return why a calendar, or an event of it, is not used: the words of a library may quote it."""
    return str(error) if isinstance(error, _Refused) else f"{what} that can be read ({type(error).__name__})"


@dataclass(slots=True)
class _Rota:
    """The events of a calendar by UID, the query over all of them, and why one of them is left out."""

    events: Mapping[str, list[Any]]
    query: Any
    left_out: str | None

    def between(self, begin: datetime, end: datetime) -> list[Any]:
        """Return the occurrences in a time; events whose times the library cannot compare are left out."""
        try:
            return list(self.query.between(begin, end))
        except _UNREADABLE:
            self.events = {uid: events for uid, events in self.events.items() if self._is_readable(events, begin, end)}
            self.query = _query(event for events in self.events.values() for event in events)
            return list(self.query.between(begin, end))

    def _is_readable(self, events: list[Any], begin: datetime, end: datetime) -> bool:
        try:
            list(_query(events).between(begin, end))
        except _UNREADABLE as error:
            self.left_out = _reason(error, "has an event without times")
            return False
        return True


def _query(events: Iterable[Any]) -> Any:
    calendar = import_extra("icalendar").Calendar()
    for event in events:
        calendar.add_component(event)
    return import_extra("recurring_ical_events").of(calendar)


@lru_cache(maxsize=8)
def _calendar(file: Path, changed_ns: int, size: int, year: int) -> _Rota | _Refused:
    """Return the events of a file, as it was changed last, for queries about a year; or why it is refused.

    What took long to refuse is not read again until it changes.
    """
    del changed_ns  # part of the cache key
    if size > _LARGEST:
        return _Refused(f"is larger than {_LARGEST // 1024**2} MB")
    try:
        return _rota(_only_events(file.read_bytes().removeprefix(BOM_UTF8)), year)
    except _Refused as error:
        return error


def _only_events(text: bytes) -> bytes:
    """Return a calendar without alarms, tasks and journals: errors in them must not lose a shift."""
    lines: list[bytes] = []
    end = None
    for line in text.splitlines(keepends=True):
        word = line.strip().upper()
        if end is None and word.removeprefix(b"BEGIN:") in _NO_SHIFTS and word.startswith(b"BEGIN:"):
            end = word.replace(b"BEGIN", b"END")
        elif end is None:
            lines.append(line)
        elif word == end:
            end = None
    return b"".join(lines) if end is None else text


def _rota(text: bytes, year: int) -> _Rota:
    _refuse_endless_reading(text)
    events: dict[str, list[Any]] = {}
    left_out: list[str] = []
    steps = 0.0
    for event in import_extra("icalendar").Calendar.from_ical(text).walk("VEVENT"):
        try:
            _refuse_unclear_times(event)
            _complete_times(event)
            steps_of_event = _steps(event, year)
        except (_Refused, *_UNREADABLE) as error:
            left_out.append(_reason(error, "has an event without times"))
            if len(left_out) > _MOST_LEFT_OUT:
                raise _Refused(f"has more than {_MOST_LEFT_OUT} events that cannot be read") from None
            continue
        steps += steps_of_event
        events.setdefault(str(event.get("UID", "")), []).append(event)
    every = [event for group in events.values() for event in group]
    if steps > _MOST_STEPS:
        raise _Refused("has rules that recur too often since they began")
    if (
        sum(len(dates.dts) for event in every for name in ("RDATE", "EXDATE") for dates in _listed(event, name))
        > _MOST_DATES
    ):
        raise _Refused(f"has more than {_MOST_DATES:,} single dates")
    return _Rota(events, _query(every), next(iter(left_out), None))


def _refuse_endless_reading(text: bytes) -> None:
    """Refuse what would keep the libraries busy while they read: too many events, or rules of zones by the second."""
    if text.upper().count(b"BEGIN:VEVENT") > _MOST_EVENTS:
        raise _Refused(f"has more than {_MOST_EVENTS:,} events")
    rules, is_zone = [], False
    for line in re.sub(rb"\r?\n[ \t]", b"", text).upper().splitlines():
        if line.strip() in {b"BEGIN:VTIMEZONE", b"END:VTIMEZONE"}:
            is_zone = line.startswith(b"BEGIN")
        elif is_zone and line.startswith(b"RRULE"):
            rules.append(line.strip())
    if len(rules) > _MOST_ZONE_RULES or not all(_YEARLY.fullmatch(rule) for rule in rules):
        raise _Refused("has a time zone whose clocks change more often than by the year")


def _refuse_unclear_times(event: Any) -> None:
    """Refuse an event whose times are not understood, or whose rule takes too long to expand.

    Rules are expanded from the beginning of their event: one by the second would delay all alerts.
    """
    bad = next((name for name, _ in event.errors if name in _TIMES), None)
    if bad is not None:
        raise _Refused(f"has a time or a rule that cannot be read ({bad})")
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
    return _listed(event, "RRULE")


def _listed(event: Any, name: str) -> list[Any]:
    """Return the values of a property that an event may have several times."""
    values = event.get(name, [])
    return values if isinstance(values, list) else [values]


def _complete_times(event: Any) -> None:
    """Complete the times of an event, so that all versions of the libraries read them alike.

    A whole day without an end is that day. A shift ends at the local time of its end, also if the clocks change in it.
    The libraries cannot compute with the largest times, and compare single periods by their end, not their length.
    """
    for period in (value for dates in _listed(event, "RDATE") for value in dates.dts):
        if isinstance(period.dt, tuple) and isinstance(period.dt[1], timedelta):
            period.dt = period.dt[0], period.dt[0] + min(period.dt[1], _FOREVER)
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


def _steps(event: Any, year: int) -> float:
    """Estimate how many times an event recurs until the end of a year; overlapping times take much longer."""
    days = (year + 1 - event["DTSTART"].dt.year) * 366 + 12 * _length(event) / _DAY
    steps = 0.0
    for rule in _rules(event):
        each_day = prod(len(rule.get(part, [0])) for part in ("BYHOUR", "BYMINUTE", "BYSECOND"))
        rates = {"HOURLY": _MOST_A_DAY, "WEEKLY": each_day * len(rule.get("BYDAY", [0])) / 7}
        steps += rates.get(rule["FREQ"][0], each_day) * days / rule.get("INTERVAL", [1])[0]
    if steps > _MOST_STEPS:
        raise _Refused("has a rule that recurs too often since it began")
    return steps


def _length(event: Any) -> timedelta:
    length: timedelta = (
        event["DURATION"].dt if "DURATION" in event else event.get("DTEND", event["DTSTART"]).dt - event["DTSTART"].dt
    )
    return length


def _duty(rota: _Rota, settings: OnCall, now: datetime, *, zone: str) -> OnCallDuty | None:
    """Return who is on call; None if no shift is current."""
    place = ZoneInfo(zone)
    shifts = []
    here = now.astimezone(place)
    for event in rota.between(here - _DAY, here + _DAY):  # the libraries do not distinguish a repeated hour
        start, end = _moment(event["DTSTART"].dt, place), _moment(event["DTEND"].dt, place)
        busy = str(event.get("TRANSP", "")).upper() != "TRANSPARENT"
        if start <= now < end and busy and str(event.get("STATUS", "")).upper() != "CANCELLED":
            attendees = _attendees(event, settings.people)
            if attendees is not None:
                shifts.append((start, start - end, attendees, end))
    if not shifts:
        return None
    start, length, attendees, end = max(shifts, key=lambda shift: shift[:2])
    until = None if end - start > _FOREVER - _DAY else end
    named = {tuple(shift[2]) for shift in shifts if shift[:2] == (start, length)}
    if len(named) > 1:
        problem = "shifts of equal times name different people"
    elif len(attendees) > 1:
        problem = f"the shift names several of 'people': {', '.join(attendees)}"
    elif not attendees:
        problem = "the person on call is not among 'people'"
    else:
        return OnCallDuty(settings.people[attendees[0]], attendees[0], until, fallback=settings.fallback)
    return OnCallDuty(settings.fallback, until=until, problem=problem)


def _moment(value: date, place: ZoneInfo) -> datetime:
    """Return a time of a calendar; whole days and times without a zone are the project's."""
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=place)


def _attendees(event: Mapping[str, Any], people: Mapping[str, str]) -> Sequence[str] | None:
    """Return the people in an event; None if all of them declined: then it is no shift."""
    present: set[str] = set()
    declined: set[str] = set()
    for attendee in _listed(event, "ATTENDEE"):
        named = {name for name in people if _folded(name) == _folded(attendee).removeprefix("mailto:")}
        params = attendee.params
        if str(params.get("PARTSTAT", "")).upper() == "DECLINED":
            declined |= named | set(_named(str(params.get("CN", "")), people))
        else:
            present |= named
    attendees = present or set(_named(str(event.get("SUMMARY", "")), people))
    left = [name for name in people if name in attendees - (declined - present)]
    return left if left or not (attendees or declined) else None


def _named(text: str, people: Iterable[str]) -> Iterator[str]:
    """Yield the names that a text has, the longest first: `Ann-Marie` does not name `Ann`."""
    text = _folded(text)
    for name in sorted(people, key=lambda name: -len(_folded(name))):
        folded = _folded(name)
        before = "" if _WRITTEN_TOGETHER.match(folded[:1]) else r"(?<!\w)"
        after = "" if _WRITTEN_TOGETHER.match(folded[-1:]) else r"(?!\w|[-'\u2019]\w)"
        text, times = re.subn(f"{before}{re.escape(folded)}{after}", "\n", text)
        if times:
            yield name


def _folded(text: object) -> str:
    """Return a text so that all ways to write it are equal: composed or not, wide or narrow, any hyphen or capitals."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", str(text)).casefold())
    return folded.replace("\u2010", "-")  # the typographic hyphen, to which NFKC leads the one that does not break
