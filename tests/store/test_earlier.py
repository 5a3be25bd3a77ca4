"""Which earlier measurements a check is shown."""

from datetime import timedelta

import pytest

from checks import Earlier, Kind, PastMeasurement, Status, UnknownReason
from incidents import AGENT, Acknowledged, Commented, Corrected, Incident, Resolution, Resolved
from store import Store, WriteTransaction
from tests.store.made import AT, HOUR, episode, measure, opened, result, run

WEEK = timedelta(days=7)


def _numbers(pasts: object) -> list[int]:
    return [past.observed["number"] for past in pasts]


def test_the_nearest_measurement_to_each_age_is_shown(store: Store) -> None:
    """For each age the evaluated measurement nearest to it is given, on either side, with the age it answers."""
    before, after = AT - WEEK - 3 * HOUR, AT - WEEK + 2 * HOUR
    measure(store, (AT - 2 * WEEK, Status.WARN), (before, Status.PASS), (after, Status.FAIL), (AT - HOUR, Status.PASS))
    with store.reading() as tx:
        shown = tx.results.earlier("crm.customers.volume", AT, Earlier(ages=(WEEK, 2 * WEEK, 3 * WEEK)))
    assert shown == [
        PastMeasurement(after, Status.FAIL, {"number": 2}, age=WEEK),
        PastMeasurement(AT - 2 * WEEK, Status.WARN, {"number": 0}, age=2 * WEEK),
    ]


@pytest.mark.parametrize(("off", "found"), [(12 * HOUR, 1), (-12 * HOUR, 1), (13 * HOUR, 0), (-13 * HOUR, 0)])
def test_what_is_too_far_from_an_age_is_not_shown(store: Store, off: timedelta, found: int) -> None:
    """A measurement counts for an age up to `within` away from it, both ends included."""
    measure(store, (AT - WEEK + off, Status.PASS))
    with store.reading() as tx:
        assert len(tx.results.earlier("crm.customers.volume", AT, Earlier(ages=(WEEK,), within=12 * HOUR))) == found


def test_unknown_and_later_measurements_are_not_shown(store: Store) -> None:
    """What timed out or broke is no past, and neither is the present measurement nor what followed."""
    measure(store, (AT - WEEK, Status.UNKNOWN), (AT, Status.PASS), (AT + HOUR, Status.PASS))
    with store.reading() as tx:
        assert tx.results.earlier("crm.customers.volume", AT, Earlier(ages=(WEEK, HOUR), accepted=True)) == []


def test_history_begins_with_nothing_to_compare_with(store: Store) -> None:
    """A check that compares with its past was at first unknown for lack of data; what it measured then is its past."""
    one = run(at=AT - WEEK)
    with store.writing() as tx:
        tx.results.add_runs([one], [result(one, "volume", Status.UNKNOWN, reason=UnknownReason.NO_DATA)])
        shown = tx.results.earlier("crm.customers.volume", AT, Earlier(ages=(WEEK,)))
    assert shown == [PastMeasurement(AT - WEEK, Status.UNKNOWN, {"rows": 3}, age=WEEK)]


def test_each_check_is_shown_its_own_past(store: Store) -> None:
    """Many checks are asked for at once, each at its own time; one without a past gets none."""
    measure(store, (AT - WEEK, Status.PASS), name="a")
    measure(store, (AT - WEEK, Status.PASS), (AT - WEEK + HOUR, Status.PASS), name="b")
    ages = Earlier(ages=(WEEK,))
    wanted = {f"crm.customers.{name}": (at, ages) for name, at in (("a", AT), ("b", AT + HOUR), ("c", AT))}
    with store.reading() as tx:
        shown = tx.results.earlier_many(wanted)
        assert tx.results.earlier_many({}) == {}
    assert {key: _numbers(pasts) for key, pasts in shown.items()} == {
        "crm.customers.a": [0],
        "crm.customers.b": [1],
        "crm.customers.c": [],
    }


def test_the_newest_passing_measurement_is_the_accepted_one(store: Store) -> None:
    """What passed or warned is accepted; failures after it are not."""
    measure(
        store,
        (AT - 4 * HOUR, Status.PASS),
        (AT - 3 * HOUR, Status.PASS),
        (AT - 2 * HOUR, Status.WARN),
        (AT - HOUR, Status.FAIL),
    )
    with store.reading() as tx:
        shown = tx.results.earlier("crm.customers.volume", AT, Earlier(accepted=True))
    assert shown == [PastMeasurement(AT - 2 * HOUR, Status.WARN, {"number": 2}, accepted=True)]


def test_the_first_look_at_columns_is_accepted(store: Store) -> None:
    """Before anything passed, the first look at a table's columns is what later ones are compared with."""
    looks = [
        (run(0, at=AT - 3 * HOUR), UnknownReason.NO_DATA, {"columns": {"id": "int64"}}),
        (run(1, at=AT - 2 * HOUR), UnknownReason.NO_DATA, {"rows": 0}),
        (run(2, at=AT - HOUR), UnknownReason.TIMEOUT, {"columns": {"id": "int64", "x": "string"}}),
    ]
    with store.writing() as tx:
        for one, reason, observed in looks:
            tx.results.add_runs([one], [result(one, "schema", Status.UNKNOWN, reason=reason, observed=observed)])
        shown = tx.results.earlier("crm.customers.schema", AT, Earlier(accepted=True))
    assert shown == [PastMeasurement(AT - 3 * HOUR, Status.UNKNOWN, {"columns": {"id": "int64"}}, accepted=True)]


def test_a_look_at_columns_after_a_pass_is_accepted(store: Store) -> None:
    """A table that was made again is looked at as for the first time; that look, the newest, is the accepted one."""
    measure(store, (AT - 3 * HOUR, Status.PASS), name="schema")
    anew = run(at=AT - 2 * HOUR)
    look = result(anew, "schema", Status.UNKNOWN, reason=UnknownReason.NO_DATA, observed={"columns": {"id": "int64"}})
    with store.writing() as tx:
        tx.results.add_runs([anew], [look])
    measure(store, (AT + HOUR, Status.PASS), name="schema")
    with store.reading() as tx:
        shown = [tx.results.earlier("crm.customers.schema", at, Earlier(accepted=True)) for at in (AT, AT + 2 * HOUR)]
    assert [past.measured_at for (past,) in shown] == [AT - 2 * HOUR, AT + HOUR]


@pytest.mark.parametrize(("resolution", "accepted"), [(Resolution.EXPECTED, [1]), (Resolution.FALSE_POSITIVE, [0])])
def test_what_a_person_expected_is_accepted(store: Store, resolution: Resolution, accepted: list[int]) -> None:
    """A failure becomes the accepted measurement once its incident is resolved as expected, and not otherwise."""
    measure(store, (AT - 5 * HOUR, Status.PASS), (AT - 4 * HOUR, Status.FAIL), (AT - 2 * HOUR, Status.FAIL))
    with store.writing() as tx:
        found = opened("volume", episode=episode(AT - 4 * HOUR))
        incident = tx.incidents.open(found, recorded_at=AT, actor="tablewatch")
        assert _numbers(tx.results.earlier("crm.customers.volume", AT, Earlier(accepted=True))) == [0]
        tx.incidents.append(incident, [Resolved(AT - 3 * HOUR, resolution)], recorded_at=AT, actor="mia")
        assert _numbers(tx.results.earlier("crm.customers.volume", AT, Earlier(accepted=True))) == accepted


def test_ages_and_the_accepted_one_come_together(store: Store) -> None:
    """The measurements for ages come first, the accepted one last, even if it is the same one."""
    measure(store, (AT - WEEK, Status.PASS))
    with store.reading() as tx:
        shown = tx.results.earlier("crm.customers.volume", AT, Earlier(ages=(WEEK,), accepted=True))
    assert [(past.age, past.accepted) for past in shown] == [(WEEK, False), (None, True)]


# --- a baseline does not learn from bad days --------------------------------------------------------------------------


def _bad(tx: WriteTransaction, weeks: int, *, hours: float = 2, name: str = "volume", **said: object) -> Incident:
    """Open an incident that began an hour before the moment some weeks ago, and resolve it some hours after."""
    at = AT - weeks * WEEK
    incident = tx.incidents.open(opened(name, episode=episode(at), **said), recorded_at=AT, actor="tablewatch")
    resolution = Resolved(at + hours * HOUR, Resolution.FIXED)
    return tx.incidents.append(incident, [resolution], recorded_at=AT, actor="tablewatch")


def _ages(store: Store, earlier: Earlier | None = None) -> list[int]:
    """Return how many weeks ago the measurements lie that `crm.customers.volume` is shown."""
    wanted = earlier or Earlier(ages=(WEEK, 2 * WEEK, 3 * WEEK, 4 * WEEK))
    with store.reading() as tx:
        return [(AT - past.measured_at) // WEEK for past in tx.results.earlier("crm.customers.volume", AT, wanted)]


@pytest.fixture
def four_weeks(store: Store) -> Store:
    """Return a store with four measurements, a week apart."""
    measure(store, *((AT - weeks * WEEK, Status.PASS) for weeks in (4, 3, 2, 1)))
    return store


def test_measurements_inside_incidents_are_left_out(four_weeks: Store) -> None:
    """The check's own incident, and one that a person reported on the table, take their days out."""
    with four_weeks.writing() as tx:
        _bad(tx, 1)
        _bad(tx, 3, fingerprint="report-1", check_id=None)
    assert _ages(four_weeks) == [2, 4]


def test_an_incident_that_lasts_takes_out_everything_since_it_began(four_weeks: Store) -> None:
    """Nothing since the beginning of an open incident is learned from, whatever the check said meanwhile."""
    with four_weeks.writing() as tx:
        tx.incidents.open(opened("volume", episode=episode(AT - 2 * WEEK)), recorded_at=AT, actor="tablewatch")
    assert _ages(four_weeks) == [3, 4]


def test_a_false_positive_brings_its_measurements_back(four_weeks: Store) -> None:
    """The bad days are good days after all once a person says that the incident was none."""
    with four_weeks.writing() as tx:
        incident = tx.incidents.open(opened("volume", episode=episode(AT - WEEK)), recorded_at=AT, actor="tablewatch")
    assert _ages(four_weeks) == [2, 3, 4]
    with four_weeks.writing() as tx:
        said = Resolved(AT - WEEK + 2 * HOUR, Resolution.FALSE_POSITIVE)
        tx.incidents.append(incident, [said], recorded_at=AT, actor="mia")
    assert _ages(four_weeks) == [1, 2, 3, 4]


@pytest.mark.parametrize("resolution", [one for one in Resolution if one is not Resolution.FALSE_POSITIVE])
def test_every_other_resolution_leaves_bad_days_out(four_weeks: Store, resolution: Resolution) -> None:
    """Fixed, expected, no action or duplicate: what was measured meanwhile is not what is usual."""
    with four_weeks.writing() as tx:
        incident = tx.incidents.open(opened("volume", episode=episode(AT - WEEK)), recorded_at=AT, actor="tablewatch")
        tx.incidents.append(incident, [Resolved(AT - WEEK + HOUR, resolution)], recorded_at=AT, actor="mia")
    assert _ages(four_weeks) == [2, 3, 4]


def test_corrected_times_change_what_is_left_out(four_weeks: Store) -> None:
    """Once a person says that it began a week earlier, that week is left out as well."""
    with four_weeks.writing() as tx:
        incident = _bad(tx, 1)
    assert _ages(four_weeks) == [2, 3, 4]
    with four_weeks.writing() as tx:
        change = Corrected(0, occurred_at=AT - 2 * WEEK - HOUR)
        tx.incidents.append(incident, [change], recorded_at=AT, actor="mia")
    assert _ages(four_weeks) == [3, 4]


def test_planned_maintenance_is_left_out(four_weeks: Store) -> None:
    """The moment at which it begins lies inside, the one at which it ends does not."""
    ages = (WEEK, 2 * WEEK, 3 * WEEK, 4 * WEEK)
    planned = ((AT - 2 * WEEK, AT - 2 * WEEK + HOUR), (AT - 3 * WEEK - HOUR, AT - 3 * WEEK))
    assert _ages(four_weeks, Earlier(ages=ages, left_out=planned)) == [1, 3, 4]


def test_the_nearest_good_measurement_takes_the_place_of_a_bad_one(store: Store) -> None:
    """Of several on a day, the one nearest to the age and outside incidents is shown, on either side."""
    at = AT - WEEK
    measure(store, *((at + hours * HOUR, Status.PASS) for hours in (-5, -1, 0, 1, 4)))
    with store.writing() as tx:
        _bad(tx, 1)  # from -1 h to 2 h
    with store.reading() as tx:
        shown = tx.results.earlier("crm.customers.volume", AT, Earlier(ages=(WEEK,)))
    assert [past.measured_at for past in shown] == [at + 4 * HOUR]
    assert shown[0].age == WEEK


def test_incidents_of_other_checks_of_the_table_count_while_something_is_left(four_weeks: Store) -> None:
    """Another check's bad days are left out too, but a lasting incident of it does not blind this one."""
    with four_weeks.writing() as tx:
        _bad(tx, 1, name="not-null")
    assert _ages(four_weeks) == [2, 3, 4]
    with four_weeks.writing() as tx:
        lasting = opened("primary-key", episode=episode(AT - 5 * WEEK))
        tx.incidents.open(lasting, recorded_at=AT, actor="tablewatch")
    assert _ages(four_weeks) == [1, 2, 3, 4]


def test_incidents_that_are_not_about_this_data_leave_nothing_out(four_weeks: Store) -> None:
    """An incident of another table, or about a disclosure, says nothing of how good the data was."""
    with four_weeks.writing() as tx:
        _bad(tx, 1, table="crm.orders")
        _bad(tx, 2, name="k-anonymity", incident_kind=Kind.DISCLOSURE)
    assert _ages(four_weeks) == [1, 2, 3, 4]


def test_a_span_is_shown_whole(store: Store) -> None:
    """All measurements of a span are given, oldest first, one of each hour, which says how many there were."""
    minutes = [AT - HOUR + timedelta(minutes=number) for number in (0, 15, 30)]
    measure(store, (AT - 5 * WEEK, Status.PASS), (AT - WEEK, Status.FAIL), *((at, Status.PASS) for at in minutes))
    measure(store, (AT, Status.PASS), name="other")
    with store.reading() as tx:
        shown = tx.results.earlier("crm.customers.volume", AT, Earlier(span=4 * WEEK))
        wanted = {f"crm.customers.{name}": (AT + HOUR, Earlier(span=WEEK)) for name in ("volume", "other", "none")}
        many = tx.results.earlier_many(wanted)
    assert shown == [
        PastMeasurement(AT - WEEK, Status.FAIL, {"number": 1}, in_span=True),
        PastMeasurement(minutes[-1], Status.PASS, {"number": 4}, in_span=True, looks=3),
    ]
    assert {key: _numbers(pasts) for key, pasts in many.items()} == {
        "crm.customers.volume": [4],
        "crm.customers.other": [0],
        "crm.customers.none": [],
    }


@pytest.mark.parametrize(
    ("outcomes", "answer", "marked"),
    [
        ("PPF", None, [False, False, True]),
        ("PFF", None, [False, True, True]),
        ("PFP", None, [False, False, False]),
        ("PPF", Resolution.FALSE_POSITIVE, [False, False, False]),
        ("P" + 10 * "F", None, [False] + 10 * [True]),
        ("P" + 11 * "F", None, 12 * [False]),
    ],
)
def test_what_fails_and_may_open_an_incident_is_marked(
    store: Store, outcomes: str, answer: Resolution | None, marked: list[bool]
) -> None:
    """Until a pass, unless an answered incident has it, or so many fail without incidents (a backfill)."""
    days = [AT - number * 24 * HOUR for number in range(len(outcomes), 0, -1)]
    measure(
        store, *((day, Status.PASS if one == "P" else Status.FAIL) for day, one in zip(days, outcomes, strict=True))
    )
    if answer is not None:
        with store.writing() as tx:
            incident = tx.incidents.open(opened("volume", episode=episode(days[-1])), recorded_at=AT, actor="agent")
            tx.incidents.append(incident, [Resolved(days[-1] + HOUR, answer)], recorded_at=AT, actor="mia")
    with store.reading() as tx:
        pasts = tx.results.earlier("crm.customers.volume", AT, Earlier(span=4 * WEEK))
    assert [past.unanswered for past in pasts] == marked


@pytest.mark.parametrize(
    ("answers", "actor", "shown", "marked"),
    [
        ([Resolved(AT - 24 * HOUR, Resolution.FIXED)], AGENT, [0, 1, 2], "unanswered"),  # by a passing run
        ([], AGENT, [0, 1, 2], "unanswered"),
        ([Commented("what is this?")], "mia", [0, 1, 2], "unanswered"),
        ([Resolved(AT - 24 * HOUR, Resolution.FIXED)], "mia", [0, 2], None),
        ([Acknowledged(AT - 30 * HOUR)], "mia", [0], None),
        ([Acknowledged(AT - 30 * HOUR), Resolved(AT - 24 * HOUR, Resolution.FIXED)], "mia", [0, 2], None),
        ([Resolved(AT - 24 * HOUR, Resolution.FIXED, cause="a broken load")], "mia", [0, 2], None),
        ([Resolved(AT - 24 * HOUR, Resolution.FALSE_POSITIVE)], "mia", [0, 1, 2], None),
        ([Resolved(AT - 24 * HOUR, Resolution.EXPECTED)], "mia", [0, 1, 2], "expected"),
    ],
)
def test_a_span_passes_over_incidents(
    store: Store, answers: list[Acknowledged | Commented | Resolved], actor: str, shown: list[int], marked: str | None
) -> None:
    """Measurements inside an incident are left out if it was real; expected and unanswered ones are marked."""
    days = [AT - number * 24 * HOUR for number in (3, 2, 1)]
    measure(store, *((day, Status.PASS) for day in days))
    with store.writing() as tx:
        incident = tx.incidents.open(opened("volume", episode=episode(days[1])), recorded_at=AT, actor="agent")
        if answers:
            tx.incidents.append(incident, answers, recorded_at=AT, actor=actor)
    with store.reading() as tx:
        pasts = tx.results.earlier("crm.customers.volume", AT, Earlier(span=WEEK))
        left_out = Earlier(span=WEEK, left_out=((days[0], days[0] + HOUR),))
        without = tx.results.earlier("crm.customers.volume", AT, left_out)
    assert _numbers(pasts) == shown
    inside = [1] if len(answers) and isinstance(answers[-1], Resolved) else [1, 2]
    for mark in ("expected", "unanswered"):
        assert [past.observed["number"] for past in pasts if getattr(past, mark)] == (inside if mark == marked else [])
    assert _numbers(without) == [number for number in shown if number != 0]


def test_the_last_that_says_of_how_many_it_showed_a_value_is_found(store: Store) -> None:
    """The newest measurement before the present one with a count of the last shown value, also an unknown one."""
    times = (AT - 3 * HOUR, AT - 2 * HOUR, AT - HOUR, AT)
    observed = ({"shown_of": {"rows": 6}}, {"shown_of": {"rows": 7}}, {"shown_of": None}, {"shown_of": {"rows": 9}})
    with store.writing() as tx:
        for number, (at, values) in enumerate(zip(times, observed, strict=True)):
            one = run(number, at=at)
            found = result(one, "volume", Status.UNKNOWN, reason=UnknownReason.NO_DATA, observed=values)
            tx.results.add_runs([one], [found])
        shown = tx.results.earlier("crm.customers.volume", AT, Earlier(last_shown=True))
    assert shown == [PastMeasurement(AT - 2 * HOUR, Status.UNKNOWN, {"shown_of": {"rows": 7}}, last_shown=True)]
