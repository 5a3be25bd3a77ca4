"""The person on call by a calendar gets the message: recurring shifts, moved ones, zones, holes and broken files."""

import os
import sys
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given
from hypothesis import strategies as st

from monitor.alerts.dispatch import send
from monitor.alerts.on_call import OnCallDuty, duty_of
from monitor.alerts.operational import Operation
from monitor.channels import DeliveryFailed, DeliverySucceeded
from monitor.channels.apprise import AppriseKind
from monitor.config import ConfigError, load
from monitor.config.project import Project
from monitor.daemon.notifier import Notifier
from store import Delivery, MessageSubject
from tests.monitor.alerts.made import NOW, project

BERLIN = ZoneInfo("Europe/Berlin")
ROTA = """
    duty: {on_call: {calendar: duty.ics, people: {Sato: desk, mori@example.org: crew}, fallback: audit}}
"""
WEEKS = """\
BEGIN:VEVENT
UID:weeks
DTSTART;TZID=Europe/Berlin:20261102T090000
DTEND;TZID=Europe/Berlin:20261109T090000
RRULE:FREQ=WEEKLY;INTERVAL=2
EXDATE;TZID=Europe/Berlin:20261214T090000
SUMMARY:On call: Sato (data)
END:VEVENT
BEGIN:VEVENT
UID:weeks
RECURRENCE-ID;TZID=Europe/Berlin:20261130T090000
DTSTART;TZID=Europe/Berlin:20261201T120000
DTEND;TZID=Europe/Berlin:20261207T090000
SUMMARY:On call: Sato (data)
END:VEVENT
BEGIN:VEVENT
UID:stand-in
DTSTART:20261103T100000Z
DTEND:20261103T120000Z
SUMMARY:Cover
ATTENDEE;CN=Mori:MAILTO:Mori@example.org
END:VEVENT
BEGIN:VEVENT
UID:another
DTSTART:20261202T100000Z
DURATION:PT2H
SUMMARY:Cover
ATTENDEE:mailto:mori@example.org
END:VEVENT
"""


def _calendar(events):
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:test\n{events}END:VCALENDAR\n"


@pytest.fixture
def made(tmp_path):
    """Return a project with a channel whose calendar has shifts of two weeks."""
    (tmp_path / "duty.ics").write_text(_calendar(WEEKS), encoding="utf-8")
    return _project(tmp_path)


def _project(folder, rota=ROTA):
    alerts = "  routes: [{to: [duty]}]\n  operators: [audit]"
    return project(folder, alerts, rota=("  channels:\n", f"  channels:{rota}"))


def _berlin(*moment):
    return datetime(*moment, tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("moment", "person", "until"),
    [
        ((2026, 11, 2, 8, 59), None, None),
        ((2026, 11, 2, 9), "Sato", (2026, 11, 9, 9)),
        ((2026, 11, 3, 11), "mori@example.org", (2026, 11, 3, 13)),
        ((2026, 11, 3, 13), "Sato", (2026, 11, 9, 9)),
        ((2026, 11, 9, 9), None, None),
        ((2026, 11, 16, 9), "Sato", (2026, 11, 23, 9)),
        ((2026, 12, 1, 9), None, None),  # this shift was moved
        ((2026, 12, 1, 12), "Sato", (2026, 12, 7, 9)),
        ((2026, 12, 15, 9), None, None),  # this one was taken out
        ((2026, 12, 28, 9), "Sato", (2027, 1, 4, 9)),
        ((2027, 4, 5, 9), "Sato", (2027, 4, 12, 9)),  # at nine in summer too
        ((2027, 4, 5, 8, 59), None, None),
    ],
)
def test_who_is_on_call_follows_the_calendar(made, moment, person, until):
    """Recurring, moved and excluded shifts in their own zone; a shift has its beginning and not its end."""
    duty = duty_of(made, "duty", _berlin(*moment).astimezone(UTC))
    if person is None:
        assert duty == OnCallDuty("audit", problem="no one is on call")
    else:
        assert duty == OnCallDuty({"Sato": "desk"}.get(person, "crew"), person, _berlin(*until), fallback="audit")


def test_other_channels_are_no_rota(made):
    """They are reached as they are."""
    assert duty_of(made, "desk", NOW) is None


@given(
    st.sampled_from(["FREQ=DAILY;INTERVAL=3", "FREQ=WEEKLY;BYDAY=MO,WE,SA", "FREQ=MONTHLY;BYDAY=1MO,-1FR"]),
    st.integers(0, 500 * 24),
)
def test_shifts_recur_as_dateutil_says(tmp_path_factory, rule, hours):
    """Over changes of the clocks too: a person is on call if, by dateutil, a shift began in the 12 hours before."""
    folder = tmp_path_factory.getbasetemp() / "rules"
    folder.mkdir(exist_ok=True)
    lines = "UID:1\nDTSTART;TZID=Europe/Berlin:20260105T090000\nDURATION:PT12H\nSUMMARY:Sato\n"
    event = f"BEGIN:VEVENT\n{lines}RRULE:{rule}\nEND:VEVENT\n"
    file = folder / "duty.ics"
    file.write_text(_calendar(event), encoding="utf-8")
    os.utime(file, ns=(hash(rule) % 10**12 + 10**12,) * 2)
    start = datetime(2026, 1, 5, 9)  # noqa: DTZ001 - the rule is by the wall clock
    wall = start + timedelta(hours=hours, minutes=30)
    begun = rrulestr(f"RRULE:{rule}", dtstart=start).before(wall, inc=True)
    expected = begun is not None and wall < begun + timedelta(hours=12)
    duty = duty_of(_project(folder), "duty", wall.replace(tzinfo=BERLIN).astimezone(UTC))
    assert (duty.person == "Sato") == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "duty.ics cannot be read: No such file or directory"),
        ("", "duty.ics is no calendar that can be read (ValueError)"),
        ("BEGIN:VCALENDAR\nBEGIN:VEVENT\n", "duty.ics is no calendar that can be read (ValueError)"),
        (_calendar(""), "no one is on call"),
        (_calendar(WEEKS.replace("Sato", "Ito")), "the person on call is not among 'people'"),
        (_calendar(WEEKS.replace("SUMMARY:On", "STATUS:CANCELLED\nSUMMARY:On")), "no one is on call"),
    ],
)
def test_what_cannot_be_told_goes_to_the_fallback(made, text, problem):
    """The reason has no data of the file; when the file is mended, it holds at once."""
    file = made.loaded.path.parent / "duty.ics"
    now = _berlin(2026, 11, 17, 12).astimezone(UTC)
    assert duty_of(made, "duty", now).person == "Sato"
    file.unlink() if text is None else file.write_text(text, encoding="utf-8")
    duty = duty_of(made, "duty", now)
    assert (duty.channel, duty.person, duty.problem) == ("audit", None, problem)
    file.write_text(_calendar(WEEKS) + "\n", encoding="utf-8")
    assert duty_of(made, "duty", now).person == "Sato"


_NIGHTS = "DTSTART;TZID=Europe/Berlin:20261020T220000\nDTEND;TZID=Europe/Berlin:20261021T060000\nRRULE:FREQ=DAILY"
_EARLY = "DTSTART;TZID=Europe/Berlin:20261020T023000\nDTEND;TZID=Europe/Berlin:20261020T030000\nRRULE:FREQ=DAILY"
_FORTNIGHTS = (
    "DTSTART;TZID=Europe/Berlin:20261019T090000\nDTEND;TZID=Europe/Berlin:20261026T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2"
)
_WHOLE_DAY = "DTSTART;VALUE=DATE:20261126"
_ENDLESS = "DTSTART:20260101T000000Z\nDTEND:99991231T235959Z"


@pytest.mark.parametrize(
    ("lines", "moment", "expected"),
    [
        (_NIGHTS, "2026-10-25T04:59Z", True),  # 05:59, an hour longer than other nights
        (_NIGHTS, "2026-10-25T05:00Z", False),
        (_NIGHTS, "2026-03-29T03:59Z", False),
        (_EARLY, "2026-10-25T00:45Z", True),  # 02:45 for the first time
        (_EARLY, "2026-10-25T01:45Z", True),  # and for the second
        (_EARLY, "2026-10-25T02:00Z", False),
        (_FORTNIGHTS, "2026-10-26T07:59Z", True),
        (_FORTNIGHTS, "2026-10-26T08:00Z", False),
        (_FORTNIGHTS, "2026-11-09T08:00Z", False),  # it is no hour longer than the first
        (_WHOLE_DAY, "2026-11-25T15:00Z", True),  # midnight in Tokyo
        (_WHOLE_DAY, "2026-11-26T14:59Z", True),
        (_WHOLE_DAY, "2026-11-26T15:00Z", False),
        (_ENDLESS, "2026-11-26T15:00Z", True),
    ],
)
def test_a_shift_ends_by_the_clock_of_its_zone(made, lines, moment, expected):
    """Also over a change of the clocks; a whole day without an end is that day. A byte order mark changes nothing."""
    event = f"BEGIN:VEVENT\nUID:1\nSUMMARY:Sato\n{lines}\nEND:VEVENT\n"
    (made.loaded.path.parent / "duty.ics").write_text(_calendar(event), encoding="utf-8-sig")
    duty = duty_of(made, "duty", datetime.fromisoformat(moment))
    assert (duty.person == "Sato") == expected
    assert duty.problem in {None, "no one is on call"}


def test_a_calendar_that_takes_long_to_read_is_refused(made):
    """It is read by who sends the alerts."""
    (made.loaded.path.parent / "duty.ics").write_text(_calendar(WEEKS * 4_000), encoding="utf-8")
    assert duty_of(made, "duty", NOW).problem == "duty.ics is larger than 2 MB"


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("DTSTART:20260105T090000Z\nRRULE:FREQ=SECONDLY", "more often than by the hour"),
        ("DTSTART:20260105T090000Z\nRRULE:FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30", "more often than by the hour"),
        ("DTSTART:20260105T090000Z\nRRULE:FREQ=DAILY;BYHOUR=1,2,3,4,5;BYMINUTE=1,2,3,4,5", "more often than by the"),
        ("DTSTART:20260105T090000Z\nRRULE:FREQ=DAILY;INTERVAL=0", "a rule without an interval"),
        ("DTSTART:00010105T090000Z\nRRULE:FREQ=HOURLY", "begins before 1970"),
        ("DTSTART:20260105T090000Z\nRRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", "a rule that never happens"),
        ("DTSTART;VALUE=DATE:20260105\nRRULE:FREQ=DAILY;BYSETPOS=5", "a rule that never happens"),
        ("DTSTART:19700105T090000Z\nRRULE:FREQ=HOURLY", "recurs too often since it began"),
        ("DTSTART:20260105T090000Z\nDURATION:P9999D\nRRULE:FREQ=HOURLY", "recurs too often since it began"),
        ("RECURRENCE-ID;RANGE=THISANDFUTURE:20260105T090000Z\nDTSTART:20260105T090000Z", "in one event (RANGE)"),
        ("DTSTART:20260105T090000Z\nRRULE:FREQ=OFTEN", "a time or a rule that cannot be read (RRULE)"),
        ("RRULE:FREQ=DAILY", "an event without times that can be read (KeyError)"),
        ("DTSTART:20260105T090000Z\nEXDATE:20261199T090000Z", "a time or a rule that cannot be read (EXDATE)"),
        ("DTSTART;TZID=Mars/Base:20261117T090000\nDURATION:PT12H", "a time in a time zone that is not known"),
        ("DTSTART:20261117T090000Z\nDTEND:20261117T080000Z", "an event that ends before it begins"),
    ],
)
def test_an_event_that_is_doubtful_or_takes_for_ever_costs_only_itself(made, lines, problem):
    """A rule by the second, or without an interval, would hold up all alerts; the other shifts go on, with a note."""
    event = f"BEGIN:VEVENT\nUID:1\nSUMMARY:mori@example.org\n{lines}\nEND:VEVENT\n"
    file, now = made.loaded.path.parent / "duty.ics", _berlin(2026, 11, 17, 12).astimezone(UTC)
    file.write_text(_calendar(WEEKS + event), encoding="utf-8")
    duty = duty_of(made, "duty", now)
    assert (duty.channel, duty.person, duty.problem) == ("desk", "Sato", None)
    assert problem in duty.left_out
    assert "Mars" not in duty.left_out
    file.write_text(_calendar(event), encoding="utf-8")
    alone = duty_of(made, "duty", now)
    assert (alone.channel, alone.person, alone.problem) == ("audit", None, duty.left_out)


def test_a_calendar_of_many_bad_events_is_refused(made):
    """To search for the next time of rules that never happen takes long."""
    event = "BEGIN:VEVENT\nDTSTART:20260105T090000Z\nRRULE:FREQ=OFTEN\nEND:VEVENT\n"
    (made.loaded.path.parent / "duty.ics").write_text(_calendar(WEEKS + event * 21), encoding="utf-8")
    duty = duty_of(made, "duty", _berlin(2026, 11, 17, 12).astimezone(UTC))
    assert (duty.channel, duty.problem) == ("audit", "duty.ics has more than 20 events that cannot be read")


def _shift(lines, *, uid="1", start="20261117T090000Z", end="20261117T210000Z"):
    return f"BEGIN:VEVENT\nUID:{uid}\nDTSTART:{start}\nDTEND:{end}\n{lines}\nEND:VEVENT\n"


def _named(folder, events, people="Sato: desk, mori@example.org: crew"):
    """Return the person on call, or why that is the fallback."""
    (folder / "duty.ics").write_text(_calendar(events), encoding="utf-8")
    rota = ROTA.replace("Sato: desk, mori@example.org: crew", people)
    duty = duty_of(_project(folder, rota), "duty", datetime(2026, 11, 17, 12, tzinfo=UTC))
    return duty.person or duty.problem


@pytest.mark.parametrize("uids", ["ab", "ba"])
def test_of_shifts_that_begin_together_the_shorter_one_counts(tmp_path, uids):
    """A stand-in for the morning begins with the shift of the day; equal times are not decided by an identifier."""
    whole = _shift("SUMMARY:Sato", uid=uids[0])
    short = _shift("ATTENDEE:mailto:mori@example.org", uid=uids[1], end="20261117T130000Z")
    equal = _shift("ATTENDEE:mailto:mori@example.org", uid=uids[1])
    assert _named(tmp_path, whole + short) == "mori@example.org"
    assert _named(tmp_path, whole + equal) == "shifts of equal times name different people"
    assert _named(tmp_path, whole + whole.replace("UID:", "UID:other-")) == "Sato"


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ("ATTENDEE;PARTSTAT=DECLINED:mailto:mori@example.org", "Sato"),
        ("SUMMARY:mori@example.org\nATTENDEE;PARTSTAT=declined:mailto:Mori@example.org", "Sato"),
        ("ATTENDEE;PARTSTAT=TENTATIVE:mailto:mori@example.org", "mori@example.org"),
        ("ATTENDEE:mailto:mori@example.org\nTRANSP:TRANSPARENT", "Sato"),
        ("ATTENDEE:mailto:mori@example.org\nTRANSP:OPAQUE", "mori@example.org"),
        ("ATTENDEE:mailto:mori@example.org\nSTATUS:CANCELLED", "Sato"),
        ("SUMMARY:Cover", "the person on call is not among 'people'"),
        (r"SUMMARY:Sato\, mori@example.org", "the shift names several of 'people': Sato, mori@example.org"),
        ("ATTENDEE:mailto:mori@example.org\nRDATE:20261117T090000Z,20261199T090000Z", "Sato"),
        ("ATTENDEE:mailto:mori@example.org\nRDATE;VALUE=PERIOD:20261117T090000Z/P3D", "mori@example.org"),
        ("ATTENDEE:mailto:mori@example.org\nRDATE;VALUE=DATE:20261117", "mori@example.org"),
    ],
)
def test_who_declined_is_not_on_call_and_what_is_no_shift_is_none(tmp_path, lines, named):
    """Beside a shift of Sato that began before: cancelled, free, declined and unreadable events leave it to Sato."""
    assert _named(tmp_path, _shift("SUMMARY:Sato", uid="0", start="20261116T090000Z") + _shift(lines)) == named


@pytest.mark.parametrize(
    ("period", "named"),
    [
        ("20261117T110000Z/PT4H", "Sato"),
        ("20261117T110000Z/20261117T130000Z", "Sato"),
        ("20261117T110000Z/P99999999D", "Sato"),
        ("20261117T110000Z/PT1H", "no one is on call"),
        ("20261117T120100Z/PT1H", "no one is on call"),
    ],
)
def test_a_single_period_lasts_as_long_as_it_says(tmp_path, period, named):
    """An RDATE of a begin and a length, or an end, beside the event's own time, which was a week before."""
    lines = f"SUMMARY:Sato\nRDATE;VALUE=PERIOD:{period}"
    assert _named(tmp_path, _shift(lines, start="20261110T090000Z", end="20261110T210000Z")) == named


def test_what_is_no_shift_costs_none(tmp_path):
    """A bad time of an alarm or a task beside a shift does not matter."""
    events = _shift("SUMMARY:Sato\nBEGIN:VALARM\nTRIGGER:soon\nEND:VALARM") + "BEGIN:VTODO\nDTSTART:soon\nEND:VTODO\n"
    assert _named(tmp_path, events) == "Sato"


def test_a_refused_calendar_is_read_once(made, monkeypatch):
    """To see that it is to be refused may take seconds, and alerts are sent meanwhile."""
    event = "BEGIN:VEVENT\nDTSTART:20260105T090000Z\nRRULE:FREQ=OFTEN\nEND:VEVENT\n"
    (made.loaded.path.parent / "duty.ics").write_text(_calendar(event * 22), encoding="utf-8")
    first = duty_of(made, "duty", NOW)
    monkeypatch.setattr("pathlib.Path.read_bytes", lambda _: pytest.fail("read again"))
    assert duty_of(made, "duty", NOW) == first
    assert first.problem == "duty.ics has more than 20 events that cannot be read"


def test_a_rota_of_one_unreadable_event_says_so(tmp_path):
    """The fallback gets the message with the reason."""
    events = _shift("SUMMARY:Sato\nRDATE:20261199T090000Z")
    assert _named(tmp_path, events) == "duty.ics has a time or a rule that cannot be read (RDATE)"


@pytest.mark.parametrize(
    ("summary", "named"),
    [
        ("佐藤さん", "佐藤"),
        ("当番佐藤", "佐藤"),
        ("当番\uff1a佐藤様", "佐藤"),
        ("田中丸", "田中丸"),
        ("田中", "田中"),
        ("Ann-Marie", "Ann-Marie"),
        ("Ann\u2010Marie", "Ann-Marie"),
        ("Ann\u2011Marie", "Ann-Marie"),
        ("on call: ANN", "Ann"),
        ("Ann-Sophie", "the person on call is not among 'people'"),
        ("Anna", "the person on call is not among 'people'"),
        ("Jose\u0301 on call", "José"),
        ("Ann-Marie and Ann", "the shift names several of 'people': Ann, Ann-Marie"),
        ("ｱﾝﾅ当番", "アンナ"),
    ],
)
def test_names_are_recognised_however_they_are_written(tmp_path, summary, named):
    """With a title or a word before, composed or not, wide or narrow; a longer name is not its beginning."""
    people = ", ".join(f"{name}: desk" for name in ("Ann", "Ann-Marie", "佐藤", "田中", "田中丸", "José", "アンナ"))
    assert _named(tmp_path, _shift(f"SUMMARY:{summary}"), people) == named


ZONE = """\
BEGIN:VTIMEZONE
TZID:Ours
BEGIN:STANDARD
DTSTART:16010101T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ={rule}
END:STANDARD
END:VTIMEZONE
"""


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        (_shift("SUMMARY:Sato") * 5_001, "has more than 5,000 events"),
        (
            _shift("SUMMARY:Sato\nEXDATE:" + ",".join(["20261201T090000Z"] * 10_001)),
            "has more than 10,000 single dates",
        ),
        (ZONE.format(rule="SECONDLY"), "whose clocks change more often than by the year"),
        (ZONE.format(rule="YEAR\n LY;BYHO\n UR=1"), "whose clocks change more often than by the year"),
        (ZONE.format(rule="YEARLY;BYDAY=MO,TU"), "more often than by the year"),
        (ZONE.format(rule="YEARLY;BYMONTH=1,2;BYDAY=MO"), "more often than by the year"),
        (ZONE.format(rule="YEARLY;BYMONTHDAY=" + ",".join(map(str, range(1, 29)))), "more often than by the year"),
    ],
)
def test_a_calendar_that_would_keep_alerts_waiting_is_refused(tmp_path, events, problem):
    """Before the library reads it, which would take minutes or never end."""
    assert problem in _named(tmp_path, events)


def test_a_zone_of_the_calendar_may_change_its_clocks_twice_a_year(tmp_path):
    """As Outlook writes it."""
    zone = ZONE.format(rule="YEARLY;BYDAY=-1SU;BYMONTH=10")
    shift = _shift("SUMMARY:Sato").replace("DTSTART:20261117T090000Z", "DTSTART;TZID=Ours:20261117T090000")
    assert _named(tmp_path, zone + shift.replace("DTEND:", "DTEND;TZID=Ours:").replace("210000Z", "210000")) == "Sato"


def test_shifts_by_the_hour_are_followed(made):
    """A rule of twelve hours is a shift as others are."""
    event = (
        "BEGIN:VEVENT\nUID:1\nSUMMARY:Sato\nDTSTART:20260105T090000Z\nDURATION:PT6H\nRRULE:FREQ=HOURLY;INTERVAL=12\n"
    )
    (made.loaded.path.parent / "duty.ics").write_text(_calendar(event + "END:VEVENT\n"), encoding="utf-8")
    on_duty = [duty_of(made, "duty", datetime(2026, 11, 17, hour, 30, tzinfo=UTC)).person for hour in (9, 16, 22)]
    assert on_duty == ["Sato", None, "Sato"]


def test_a_shift_that_never_ends_has_no_end(made):
    """Calendars write the end of time for it, which no other zone has a time for."""
    lines = f"DTSTART:{NOW:%Y%m%d}T000000Z\nDTEND:99991231T235959Z\n"
    event = f"BEGIN:VEVENT\nUID:1\nSUMMARY:Sato\n{lines}END:VEVENT\n"
    (made.loaded.path.parent / "duty.ics").write_text(_calendar(event), encoding="utf-8")
    assert duty_of(made, "duty", NOW) == OnCallDuty("desk", "Sato", None, fallback="audit")


def test_without_the_extra_the_fallback_is_notified(made, monkeypatch):
    """It says which package is missing, and how to install it."""
    monkeypatch.setitem(sys.modules, "recurring_ical_events", None)
    (made.loaded.path.parent / "duty.ics").write_text(_calendar(WEEKS) + "\n\n", encoding="utf-8")
    duty = duty_of(made, "duty", NOW)
    assert duty.channel == "audit"
    assert "pip install 'tablewatch[oncall]'" in duty.problem


def test_the_person_at_the_moment_of_sending_gets_the_message(made, monkeypatch):
    """What was decided in one shift and is sent in the next goes to the next."""
    sent = []

    def takes(_kind, settings, message):
        sent.append((settings, message.id))
        return DeliverySucceeded()

    monkeypatch.setattr(AppriseKind, "send", takes)
    text = (
        made.loaded.files[0]
        .read_text(encoding="utf-8")
        .replace('desk: {apprise: "json://localhost:9/"}', 'desk: {apprise: "json://localhost:10/"}')
    )
    made.loaded.files[0].write_text(text, encoding="utf-8")
    made = Project(load(made.loaded.files[0], environment={}), made.clock)
    delivery = Delivery("msg_1", "duty", MessageSubject.TEST, {"schema": "x"}, NOW, NOW)
    for moment in ((2026, 12, 1, 13), (2026, 12, 2, 12)):
        made.clock.advance(_berlin(*moment).astimezone(UTC) - made.clock.now())
        assert isinstance(send(made, delivery), DeliverySucceeded)
    assert [settings for settings, _ in sent] == ["json://localhost:10/", "json://localhost:9/"]


@pytest.mark.parametrize("failure", [{"permanent": True}, {"gone": True}])
def test_a_person_who_cannot_be_reached_any_more_does_not_end_the_rota(made, monkeypatch, failure):
    """The fallback gets the message, and the channel of all who are on call is not disabled."""

    def takes(_kind, settings, _message):
        return DeliverySucceeded() if settings == audit else DeliveryFailed("410 Gone", **failure)

    monkeypatch.setattr(AppriseKind, "send", takes)
    monkeypatch.setattr(type(made.config.alerts.channels["audit"].kind), "send", takes)
    audit = made.config.alerts.channels["audit"].settings
    made.clock.advance(_berlin(2026, 12, 1, 13).astimezone(UTC) - made.clock.now())
    delivery = Delivery("msg_1", "duty", MessageSubject.TEST, {"schema": "x"}, NOW, NOW)
    assert isinstance(send(made, delivery), DeliverySucceeded)


def test_operators_hear_once_when_it_is_not_known_and_when_it_is_again(made):
    """A hole in the calendar is no silence: the operators learn of it, and not every minute."""
    with made.open_store() as store:
        notifier = Notifier(store, made.clock, holder="me")
        made.clock.advance(_berlin(2026, 11, 23, 9).astimezone(UTC) - made.clock.now())
        for _ in range(3):
            notifier.notify(made)
            made.clock.advance(timedelta(minutes=2))
        made.clock.advance(timedelta(days=9))
        notifier.notify(made)
        with store.reading() as tx:
            messages = [delivery.payload for delivery in tx.deliveries.since(NOW, 99)[::-1]]
        notifier.finish(made, seconds=0.0)
    result = [(message["operation"], message["name"], message["why"]) for message in messages]
    assert result == [
        (Operation.ROTA_UNKNOWN, "duty", "no one is on call"),
        (Operation.ROTA_KNOWN, "duty", None),
    ]


def test_operators_hear_that_an_event_is_left_out(made):
    """The shift may be of another person by an event that cannot be read."""
    file = made.loaded.path.parent / "duty.ics"
    event = "BEGIN:VEVENT\nUID:2\nSUMMARY:mori@example.org\nDTSTART:20260105T090000Z\nRRULE:FREQ=OFTEN\nEND:VEVENT\n"
    with made.open_store() as store:
        notifier = Notifier(store, made.clock, holder="me")
        made.clock.advance(_berlin(2026, 11, 20, 13).astimezone(UTC) - made.clock.now())
        for events in (WEEKS + event, WEEKS + event, WEEKS):
            file.write_text(_calendar(events), encoding="utf-8")
            notifier.notify(made)
            made.clock.advance(timedelta(minutes=2))
        with store.reading() as tx:
            messages = [delivery.payload for delivery in tx.deliveries.since(NOW, 99)[::-1]]
        notifier.finish(made, seconds=0.0)
    result = [(message["operation"], message["why"]) for message in messages]
    why = "duty.ics has a time or a rule that cannot be read (RRULE)"
    assert result == [(Operation.ROTA_INCOMPLETE, why), (Operation.ROTA_KNOWN, None)]


@pytest.mark.parametrize(
    ("rota", "problem"),
    [
        (ROTA.replace("fallback: audit", "fallback: audt"), "channel 'audt'"),
        (ROTA.replace("Sato: desk", "Sato: duty"), "'duty' is of kind on_call"),
    ],
)
def test_a_rota_names_channels_that_are_there(tmp_path, rota, problem):
    """Each person's channel, and the fallback, is one of apprise or webhook."""
    with pytest.raises(ConfigError, match=problem):
        _project(tmp_path, rota)
