"""The downtime of cases worked out by hand."""

from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pytest

from checks import Severity
from incidents import (
    OPEN_END,
    Downtime,
    ExcludedCount,
    Incident,
    Lever,
    MaintenanceSpans,
    OpenIncident,
    Part,
    Resolution,
    Resolved,
    Shares,
    Spans,
    Statistics,
    Window,
    apply,
    changes,
    from_us,
    hours,
    lever,
    measure,
    measure_by,
    to_us,
    verbs,
)
from incidents.downtime import MAINTENANCE
from incidents.events import Event
from incidents.spans import HOUR_US


def utc(text):
    """Return a time of 2026, `01-05 04:00`, in UTC."""
    return datetime.fromisoformat(f"2026-{text}").replace(tzinfo=UTC)


def logged(number, table, occurred, detected, resolved=None, resolution=Resolution.FIXED):
    """Log an incident by hand, as a person does."""
    now = utc("12-31 00:00")
    seen = verbs.report(
        verbs.IncidentReport(table, "wrong"), detected_at=utc(detected), occurred_at=utc(occurred), now=now
    )
    incident = apply(None, Event(number, now, "somebody", seen))
    if resolved is None:
        return incident
    ended = verbs.resolve(incident, verbs.Ending(utc(resolved), resolution), now=now)
    return apply(incident, Event(number, now, "somebody", ended))


A1 = logged(1, "one", "01-05 00:00", "01-05 04:00", "01-05 13:00")
A2 = logged(2, "one", "01-05 10:00", "01-05 12:00", "01-05 20:00")
B = logged(3, "two", "01-05 06:00", "01-05 07:00", "01-05 09:00")
C = logged(4, "three", "01-31 20:00", "02-01 02:00", "02-01 08:00")
D = logged(5, "four", "01-20 00:00", "01-20 06:00")
JANUARY = Window.of(utc("01-01 00:00"), utc("02-01 00:00"))
FEBRUARY = Window.of(utc("02-01 00:00"), utc("03-01 00:00"))


def january(*incidents, as_of="02-01 00:00", window=JANUARY, **others):
    """Measure January as it was known at its end."""
    return measure(Spans.of(incidents), window, as_of_us=to_us(utc(as_of)), **others)


def test_the_january_of_the_definition():
    """Five incidents, one not known yet, one open, two at once on one table: 13 h unnoticed and 301 h of repair."""
    found = january(A1, A2, B, C, D)
    assert found.n == found.n_occurred == 4
    assert (hours(found.undetected), hours(found.repair), hours(found.downtime)) == (13, 301, 314)
    assert hours(found.table_time) == 20 + 3 + 288, "the two on table one overlap by three hours"
    assert found.ttd == Statistics(
        1 * HOUR_US, Fraction(13, 4) * HOUR_US, 3 * HOUR_US, Fraction(54, 10) * HOUR_US, 6 * HOUR_US
    )
    assert found.ttr == Statistics(
        2 * HOUR_US, Fraction(19, 3) * HOUR_US, 8 * HOUR_US, Fraction(88, 10) * HOUR_US, 9 * HOUR_US
    )
    assert found.open == (OpenIncident(5, to_us(utc("01-20 00:00")), to_us(utc("01-20 06:00")), 288 * HOUR_US),)
    assert found.by_severity == {Severity.ERROR: Part(4, found.undetected, found.repair)}
    assert found.excluded == {}


def test_the_union_of_one_table():
    """Two incidents on one table, 23 h together, kept it down for 20 h."""
    spans = Spans.of([A1, A2, B, C, D])
    by_table = measure_by(spans, JANUARY, as_of_us=to_us(utc("02-01 00:00")), group=spans.table)
    one = by_table[spans.names.index("one")]
    assert (hours(one.downtime), hours(one.table_time)) == (23, 20)


def test_what_was_learned_later_changes_the_past():
    """Known in March, C belongs to January too: four hours before detection lie in it, and it occurred in it."""
    before, after = january(C), january(C, as_of="03-01 00:00")
    assert before == Downtime(JANUARY, to_us(utc("02-01 00:00")))
    assert (after.n, after.n_occurred, hours(after.undetected), after.repair) == (1, 1, 4, 0)
    assert after.ttd is None, "it was detected in February"
    in_february = january(C, as_of="03-01 00:00", window=FEBRUARY)
    assert (in_february.n, in_february.n_occurred) == (1, 0)
    assert (hours(in_february.undetected), hours(in_february.repair)) == (2, 6)
    assert in_february.ttd is not None
    assert in_february.ttd.mean == 6 * HOUR_US, "statistics are about whole incidents"


def test_the_healthy_gap_between_episodes_is_never_counted():
    """A relapse adds an episode to the same incident: one incident, the sum of both episodes, nothing in between."""
    found = january(relapsed())
    assert found.n == 1
    assert (hours(found.undetected), hours(found.repair)) == (1 + 1, 2 + 3)
    assert found.ttd is not None
    assert found.ttr is not None
    assert (found.ttd.mean, found.ttr.mean) == (2 * HOUR_US, 5 * HOUR_US)


def test_a_boundary_belongs_to_the_window_that_it_begins():
    """Resolved at midnight of 1 February: in TTR of February, not of January, with no hour in February."""
    incident = logged(1, "one", "01-31 12:00", "01-31 20:00", "02-01 00:00")
    before, after = january(incident, as_of="03-01 00:00"), january(incident, as_of="03-01 00:00", window=FEBRUARY)
    assert (before.n, hours(before.downtime), before.ttr) == (1, 12, None)
    assert (after.n, after.downtime) == (0, 0)
    assert after.ttr is not None
    assert after.ttr.mean == 4 * HOUR_US


def test_an_incident_exists_from_the_moment_of_its_detection():
    """At the very moment of detection it is known, with all its undetected time; a microsecond before, nothing is."""
    assert hours(january(A1, as_of="01-05 04:00").downtime) == 4
    assert january(A1, as_of="01-05 03:59:59.999999").downtime == 0


def test_what_was_resolved_later_lasted_then():
    """Seen from ten o'clock, an incident resolved at one is open, six hours into its repair, and in no TTR."""
    found = january(A1, as_of="01-05 10:00")
    assert (hours(found.undetected), hours(found.repair), found.ttr) == (4, 6, None)
    assert [(one.id, one.age) for one in found.open] == [(1, 10 * HOUR_US)]


def test_what_is_resolved_is_over_at_that_moment():
    """At the very moment of its resolution it is open no more, and its TTR is known."""
    found = january(A1, as_of="01-05 13:00")
    assert found.open == ()
    assert found.ttr is not None
    assert found.ttr.mean == 9 * HOUR_US


def relapsed():
    """Make the incident on table two, down again from 11:00, detected at 12:00, good again at 15:00."""
    relapse = verbs.reopen(B, detected_at=utc("01-05 12:00"), occurred_at=utc("01-05 11:00"), now=utc("12-31 00:00"))
    again = apply(B, Event(3, utc("12-31 00:00"), "somebody", relapse))
    return apply(again, Event(3, utc("12-31 00:00"), "somebody", Resolved(utc("01-05 15:00"), Resolution.FIXED)))


def test_a_relapse_that_is_not_known_yet_does_not_exist():
    """Seen from half past eleven, there is the first episode only, and resolved."""
    found = january(relapsed(), as_of="01-05 11:30")
    assert (hours(found.undetected), hours(found.repair), found.open) == (1, 2, ())
    assert found.ttr is not None
    assert found.ttr.mean == 2 * HOUR_US


def test_a_relapse_after_the_window_is_not_open_in_it():
    """Good again at nine, bad again at eleven, seen from noon: open, but not in a window that ended at ten."""
    until_ten = Window(JANUARY.start_us, to_us(utc("01-05 10:00")))
    assert january(relapsed(), as_of="01-05 12:00", window=until_ten).open == ()
    assert [one.id for one in january(relapsed(), as_of="01-05 12:00").open] == [3]


def test_statistics_sum_episodes_outside_of_the_window_too():
    """Detected before noon, resolved after: TTD is of the first window, TTR of the second, both of all episodes."""
    noon = to_us(utc("01-05 12:00"))
    morning = january(relapsed(), window=Window(JANUARY.start_us, noon))
    evening = january(relapsed(), window=Window(noon, JANUARY.end_us))
    assert morning.ttd is not None
    assert (morning.ttd.mean, morning.ttr) == (2 * HOUR_US, None)
    assert evening.ttr is not None
    assert (evening.ttd, evening.ttr.mean) == (None, 5 * HOUR_US)
    assert (morning.n, morning.n_occurred, evening.n, evening.n_occurred) == (1, 1, 1, 0)


@pytest.mark.parametrize("resolution", [one for one in Resolution if not one.counts])
def test_what_does_not_count_is_printed(resolution):
    """Expected, false-positive, duplicate: not in N, not in any hour, but said."""
    found = january(A1, logged(9, "two", "01-05 06:00", "01-05 07:00", "01-05 09:00", resolution))
    assert found.n == found.n_occurred == 1
    assert hours(found.downtime) == 13
    assert found.excluded == {resolution.value: ExcludedCount(1, 3 * HOUR_US)}
    assert found.ttd is not None
    assert found.ttd.max == 4 * HOUR_US


def test_planned_maintenance_is_taken_out_and_printed():
    """Its hours are neither unnoticed nor repair, in windows and statistics; an incident inside of it is none."""
    spans = Spans.of([A1, B])
    work = {
        "one": [(to_us(utc("01-05 03:00")), to_us(utc("01-05 06:00")))],
        "two": [(to_us(utc("01-05 00:00")), to_us(utc("01-06 00:00")))],
    }
    found = january(A1, B, maintenance=MaintenanceSpans.of(spans.names, work))
    assert found.n == found.n_occurred == 1
    assert (hours(found.undetected), hours(found.repair)) == (3, 7)
    assert found.ttd is not None
    assert found.ttd == Statistics(3 * HOUR_US, Fraction(3 * HOUR_US), *[Fraction(3 * HOUR_US)] * 2, 3 * HOUR_US)
    assert found.excluded == {MAINTENANCE: ExcludedCount(2, 6 * HOUR_US)}


def test_disclosure_has_exposure_and_is_no_downtime_unless_asked():
    """A release at risk has hours of exposure, given apart; configuration may count it."""
    spans = Spans.of([A1, B])
    spans.disclosure[spans.incident == 3] = True
    apart = measure(spans, JANUARY, as_of_us=JANUARY.end_us)
    assert (apart.n, apart.exposure) == (1, ExcludedCount(1, 3 * HOUR_US))
    counted = measure(spans, JANUARY, as_of_us=JANUARY.end_us, disclosure=True)
    assert (counted.n, counted.exposure) == (2, ExcludedCount(1, 3 * HOUR_US))


def test_nothing_is_null_not_zero():
    """Without incidents there are no statistics; the figures are zero."""
    nothing = january()
    assert (nothing.n, nothing.downtime, nothing.ttd, nothing.ttr) == (0, 0, None, None)


def test_a_window_of_the_future_is_empty():
    """Nothing is known yet of a window that begins after the moment of knowing."""
    assert january(D, window=FEBRUARY, as_of="01-25 00:00").open == ()


def test_a_window_ends_after_it_starts():
    """A window of nothing is a mistake, and says what was seen."""
    with pytest.raises(ValueError, match=r"2026-02-01 .* to 2026-02-01"):
        Window(JANUARY.end_us, JANUARY.end_us)


def test_microseconds_and_times_are_the_same():
    """No microsecond is lost on the way to integers and back, before and after 1970."""
    for moment in (
        datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(2026, 1, 5, 1, 2, 3, 4, tzinfo=UTC),
    ):
        assert from_us(to_us(moment)) == moment


def made(undetected_low, undetected_high, repair, n=1):
    """Make a measurement with these parts, in hours."""
    return Downtime(
        JANUARY,
        JANUARY.end_us,
        n=n,
        undetected=undetected_high,
        undetected_low=undetected_low,
        undetected_high=undetected_high,
        repair=repair,
    )


@pytest.mark.parametrize(
    ("low", "high", "repair", "expected"),
    [
        (60, 60, 40, Lever.DETECT),
        (59, 59, 41, Lever.BOTH_ALIKE),
        (41, 41, 59, Lever.BOTH_ALIKE),
        (40, 40, 60, Lever.REPAIR),
        (0, 300, 100, Lever.NONE),
        (0, 60, 100, Lever.REPAIR),
        (0, 0, 0, Lever.NONE),
    ],
)
def test_the_lever_is_said_when_it_is_sure(low, high, repair, expected):
    """At least 60 % of the downtime makes a lever, if it does whether data went bad as late or as early as possible."""
    assert lever(made(low, high, repair)) is expected


def test_the_shares_of_a_change():
    """From 2 incidents of 3 + 5 h to 3 of 2 + 6 h: as much per incident, so TTD and TTR cancel and all of it is N."""
    before, after = made(6, 6, 10, n=2), made(6, 6, 18, n=3)
    assert changes(before, after) == Shares(n=Fraction(8), ttd=Fraction(-5, 2), ttr=Fraction(5, 2))


def test_a_change_from_nothing_is_due_to_the_number():
    """Without incidents in either week there is no TTD or TTR to compare."""
    assert changes(made(0, 0, 0, n=0), made(6, 6, 18, n=3)) == Shares(Fraction(24), Fraction(0), Fraction(0))
    assert changes(made(6, 6, 18, n=3), made(0, 0, 0, n=0)).total == -24


def test_an_incident_that_nobody_acknowledged_is_counted_and_in_no_statistic():
    """Planned maintenance is not waited for; an acknowledgement before a corrected detection took no time.

    Where the data was right again before the acknowledgement, it took as long as that.
    """
    now = utc("12-31 00:00")

    def acknowledged(incident, moment):
        return apply(incident, Event(incident.id, now, "mia", verbs.acknowledge(incident, now=utc(moment))))

    def resolved(incident, moment):
        ending = verbs.Ending(utc(moment), Resolution.FIXED)
        return apply(incident, Event(incident.id, now, "mia", verbs.resolve(incident, ending, now=now)))

    slow = resolved(acknowledged(logged(6, "one", "01-06 00:00", "01-06 01:00"), "01-06 05:00"), "01-06 09:00")
    early = acknowledged(logged(7, "two", "01-07 00:00", "01-07 02:00"), "01-07 01:00")
    late = resolved(acknowledged(logged(8, "three", "01-08 00:00", "01-08 01:00"), "01-08 06:00"), "01-08 03:00")
    planned = {"one": [(to_us(utc("01-06 02:00")), to_us(utc("01-06 03:00")))]}
    spans = Spans.of([A1, slow, early, late])
    found = measure(
        spans, JANUARY, as_of_us=to_us(utc("02-01 00:00")), maintenance=MaintenanceSpans.of(spans.names, planned)
    )
    assert (found.n_acknowledged, found.n_unacknowledged) == (3, 1)
    assert found.tta is not None
    assert (found.tta.min, found.tta.median, found.tta.max) == (0, 2 * HOUR_US, 3 * HOUR_US)


def test_sums_beyond_64_bits_are_exact():
    """A hundred thousand incidents that have lasted for three years make more microseconds than 64 bits hold."""
    n, age = 100_000, 3 * 365 * 24 * HOUR_US
    zero = np.zeros(n, dtype=np.int64)
    never = zero + OPEN_END
    spans = Spans(
        ("one",),
        np.arange(n),
        *(zero, zero - 1, zero, zero - 1, zero, zero - 1, zero > 0, zero > 0, zero > 0),
        *(zero, zero, zero, zero, never, never),
    )
    found = measure(spans, Window(0, age), as_of_us=age)
    assert found.repair == n * age > 2**63
    assert found.table_time == age


def test_an_incident_is_a_value():
    """Logged incidents are plain values: the same words make the same incident."""
    assert isinstance(A1, Incident)
    assert logged(1, "one", "01-05 00:00", "01-05 04:00", "01-05 13:00") == A1
