"""Find measurements: the newest of each check, and those that a check wants to compare itself with."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    ColumnClause,
    ColumnElement,
    Connection,
    Row,
    ScalarSelect,
    Select,
    Subquery,
    Text,
    case,
    func,
    literal,
    not_,
    or_,
    select,
    type_coerce,
    union_all,
)

from checks import Earlier, Kind, Message, PastMeasurement, PlainEnglish, Status, UnknownReason
from incidents import Resolution, to_us
from store._columns import WHOLE, Mapped
from store._json import from_text, to_text
from store._repository import any_of, given
from store._rows import EpisodeRow, IncidentRow, MeasurementRow, MessageTextRow, RunRow, SeriesRow
from store._values import Result

Wanted = Mapping[str, tuple[datetime, Earlier]]

Holes = Mapping[str, Sequence[tuple[int, int]]]

_M: Final = MeasurementRow.__table__.c
_S: Final = SeriesRow.__table__.c
CHECK_ID: Final = (
    select(_S.check_id)
    .where(_S.id == _M.series)
    .correlate(MeasurementRow.__table__)
    .scalar_subquery()
    .label("check_id")
)
"""Of a measurement, the check or the segment."""
RESULTS: Final = Mapped(MeasurementRow, Result)
_NEWEST_FIRST: Final = (_M.measured_at.desc(), _M.id.desc())
_OLDEST_FIRST: Final = (_M.measured_at, _M.id)
_US: Final = timedelta(microseconds=1)
_HOUR_US: Final = 3_600_000_000
_END_OF_TIME: Final = 2**63 - 1
_MOST_PENDING: Final = 10
"""Failing measurements in a row, in no incident, that may still open one."""
_LONGEST_TEXT: Final = 500
_ACCEPTED: Final = (Status.PASS, Status.WARN)
_BEFORE_ALL: Final = literal(-(2**63), WHOLE)


def latest_results(connection: Connection, check_ids: Iterable[str] | None) -> dict[str, Result]:
    """Return the newest measurement of each check; None asks for every check there is."""
    subquery = (
        measured_checks() if check_ids is None else given(connection, ((name,) for name in check_ids), ["check_id"])
    )
    statement = with_run_ids().where(_M.id.in_(select(newest(subquery)).select_from(subquery)))
    return {row.check_id: result_of(row) for row in connection.execute(statement)}


def results_of_runs(connection: Connection, numbers: Iterable[int]) -> dict[int, list[Result]]:
    """Return the measurements of some runs, by the number of the run."""
    results = defaultdict(list)
    of_runs = with_run_ids().where(_M.run.in_(any_of(connection, numbers, "run_number")), of_checks(_S.check_id))
    for row in connection.execute(of_runs.order_by(_M.id)):
        results[row.run].append(result_of(row))
    return dict(results)


def with_run_ids() -> Select[Any]:
    """Return a SELECT of measurements, each with the id of its run as `run_id`."""
    run, series, text = RunRow.__table__, SeriesRow.__table__, MessageTextRow.__table__
    names = (_S.check_id, _S.table_name, text.c.body, _M.message_values)
    statement = select(*RESULTS.columns, run.c.id.label("run_id"), *names, _M.run, _M.id)
    return statement.join(run, run.c.number == _M.run).join(series, _S.id == _M.series).join(text, text.c.id == _M.text)


def result_of(row: Row[*tuple[Any, ...]]) -> Result:
    """Return a row of `with_run_ids` as a result."""
    message = Message(**from_text(row.body), values=row.message_values or {})
    return RESULTS.value(row, run_id=row.run_id, check_id=row.check_id, table=row.table_name, message=message)


def kept_message(message: Message) -> tuple[str, Mapping[str, Any] | None]:
    """Return a message as it is kept: what messages of one text have in common, and the values.

    A text that is longer than any of a catalogue is a value: PostgreSQL has no index of such texts.
    """
    if len(message.text) > _LONGEST_TEXT:
        message = Message("{text}", {"text": message.render(PlainEnglish())})
    fields = {"text": message.text, "one": message.one, "counted": message.counted}
    return to_text({name: field for name, field in fields.items() if field is not None}), message.values or None


def in_series(check_id: ColumnElement[str] | str, measurement: Any = _M) -> ColumnElement[bool]:
    """Return the condition that a measurement is of a check, or of a segment, by its id."""
    number = select(_S.id).where(_S.check_id == check_id)
    if isinstance(check_id, ColumnClause):
        number = number.correlate(check_id.table)
    series: ColumnElement[int] = measurement.series
    return series == number.scalar_subquery()


def in_any_series(condition: Callable[[ColumnElement[str]], ColumnElement[bool]]) -> ColumnElement[bool]:
    """Return the condition that a measurement is of a check, or of a segment, whose id meets a condition."""
    return _M.series.in_(select(_S.id).where(condition(_S.check_id)))


def of_checks(check_id: Any) -> Any:
    """Return the condition that a series is of a check as a whole, and not of one segment of its table."""
    return check_id.not_like("%]")  # the id of a check ends with a letter, a digit, `-` or `_`


def of_segments(check_id: Any) -> Any:
    """Return the condition that a series is of one segment of a table."""
    return not_(of_checks(check_id))


def measured_checks() -> Subquery:
    """Return every check that was measured; none of its segments."""
    return select(_S.check_id).where(of_checks(_S.check_id)).subquery()


def newest(subquery: Subquery, *conditions: Any) -> ScalarSelect[Any]:
    """Return the id of the newest measurement of each wanted check that meets the conditions."""
    result = select(_M.id).where(in_series(subquery.c.check_id), *conditions)
    return result.order_by(*_NEWEST_FIRST).limit(1).correlate(subquery).scalar_subquery()


def accepted(subquery: Subquery) -> Select[Any]:
    """Return the ids of at most three measurements of each wanted check; the newest of them is its accepted one.

    Only those before `at_us` count, if the wanted checks come with one.

    A measurement is accepted when it passed, or only warned of a change; when it was the first look at the columns of a
    table (nothing to compare with, so the check was unknown for lack of data); or when a person then said that what it
    found was expected.
    """
    incident, passing = IncidentRow.__table__.c, MeasurementRow.__table__.alias("passing").c
    at = subquery.c.get("at_us")
    before = [] if at is None else [_M.measured_at < at]
    passed_before = [] if at is None else [passing.measured_at < at]
    expected_until = select(func.max(incident.ended_at)).where(
        incident.check_id == subquery.c.check_id, incident.resolution == Resolution.EXPECTED
    )
    passed_at = (
        select(passing.measured_at)
        .where(in_series(subquery.c.check_id, passing), passing.status.in_(_ACCEPTED), *passed_before)
        .order_by(passing.measured_at.desc())
        .limit(1)
    )
    first_look = (
        _M.status == Status.UNKNOWN,
        _M.reason == UnknownReason.NO_DATA,
        type_coerce(_M.observed, Text).like('%"columns":%'),  # canonical JSON has no space before the colon
        _M.measured_at > func.coalesce(passed_at.correlate(subquery).scalar_subquery(), _BEFORE_ALL),  # spares old rows
    )
    until = expected_until.correlate(subquery).scalar_subquery()
    candidates = (
        newest(subquery, _M.status.in_(_ACCEPTED), *before),
        newest(subquery, *first_look, *before),
        newest(subquery, _M.status != Status.UNKNOWN, _M.measured_at <= until, *before),
    )
    return select(
        union_all(*(select(candidate.label("id")).select_from(subquery) for candidate in candidates)).subquery().c.id
    )


def pooled_counts(connection: Connection, since: datetime, until: datetime) -> dict[str, int]:
    """Return how many measurements each check that learns together with others has in `[since, until)`."""
    has_distance = type_coerce(_M.observed, Text).like('%"pool":{%')  # canonical JSON has no space after the colon
    statement = (
        select(_S.check_id, func.count())
        .join(MeasurementRow.__table__, _M.series == _S.id)
        .where(_M.measured_at >= since, _M.measured_at < until, has_distance)
        .group_by(_S.check_id)
    )
    return {row[0]: row[1] for row in connection.execute(statement)}


def earlier_many(connection: Connection, queries: Wanted) -> dict[str, Sequence[PastMeasurement]]:
    """Return what each check, measured at a time, wants to see: one measurement for each age, then the accepted one.

    A baseline does not learn from bad days: for the ages, measurements inside incidents and planned maintenance are
    passed over. Where nothing is left, those inside incidents of other checks of the table are taken after all: what
    they are about has not troubled this check.
    """
    results: dict[str, list[PastMeasurement]] = {check_id: [] for check_id in queries}
    aged = {check_id: query for check_id, query in queries.items() if query[1].ages}
    spanned = {check_id: query for check_id, query in queries.items() if query[1].span is not None}
    bad = _bad_times(connection, aged | spanned)
    _add_spans(connection, spanned, bad, results)
    own = {check_id: [hole for holes in bad.of_the_check for hole in holes.get(check_id, ())] for check_id in aged}
    every = {check_id: [*holes, *bad.others.get(check_id, ())] for check_id, holes in own.items()}
    _add_aged(connection, aged, every, results)
    none = {check_id for check_id, pasts in results.items() if not any(past.age is not None for past in pasts)}
    _add_aged(connection, {key: aged[key] for key in bad.others if key in aged and key in none}, own, results)
    _add_newest(connection, queries, results)
    return dict(results)


class _BadTimes(NamedTuple):
    """The times whose measurements a check does not simply learn from: `[start, end)` in microseconds, by check.

    `own` holds planned maintenance and incidents of the check itself or that a person reported on its table, `others`
    incidents of other checks of the table. Two kinds of incidents of the check itself stand apart: `expected` are
    resolved as that, `unanswered` are open or were closed by a passing run, with no word of a person. `mistaken` were
    resolved as `false-positive`: what lies in them is learned from.
    """

    own: dict[str, list[tuple[int, int]]]
    others: dict[str, list[tuple[int, int]]]
    expected: dict[str, list[tuple[int, int]]]
    unanswered: dict[str, list[tuple[int, int]]]
    mistaken: dict[str, list[tuple[int, int]]]

    @property
    def of_the_check(self) -> Sequence[Holes]:
        """Return all that are about the check itself."""
        return self.own, self.expected, self.unanswered

    def holes_for(self, row: Row[*tuple[Any, ...]]) -> dict[str, list[tuple[int, int]]]:
        """Return where an incident belongs."""
        if row.is_mistaken:
            return self.mistaken if row.of == row.check_id else {}
        if row.of != row.check_id:
            return self.own if row.of is None else self.others
        if row.resolution == Resolution.EXPECTED:
            return self.expected
        return self.own if row.is_answered else self.unanswered

    def pending(self, check_id: str, rows: Sequence[tuple[int, int, bool]]) -> set[int]:
        """Return the measurements that fail and may open an incident, as `open_after` asks for more of them.

        `rows`: time, id, and whether it fails, oldest first. Where many fail and none is in an incident, none is opened
        (a backfill): these are learned from.
        """
        failing = list(takewhile(lambda row: row[2], reversed(rows)))
        told_of = [holes.get(check_id, ()) for holes in (*self.of_the_check, self.mistaken)]
        pending = {number for at_us, number, _ in failing if not any(_is_inside(at_us, holes) for holes in told_of)}
        return pending if len(pending) <= _MOST_PENDING else set()


def _bad_times(connection: Connection, queries: Wanted) -> _BadTimes:
    """Return the bad times of each check; an incident that lasts ends at the end of time."""
    left_out = {
        check_id: [(to_us(start), to_us(end)) for start, end in earlier.left_out]
        for check_id, (_, earlier) in queries.items()
    }
    bad = _BadTimes(left_out, {}, {}, {}, {})
    if not queries:
        return bad
    windows = _windows(connection, queries)
    checks = select(windows, _S.table_name).join(SeriesRow.__table__, _S.check_id == windows.c.check_id).subquery()
    incident, episode, into = IncidentRow.__table__, EpisodeRow.__table__, IncidentRow.__table__.alias("merged_into")
    mistaken = func.coalesce(into.c.resolution, incident.c.resolution, "") == Resolution.FALSE_POSITIVE
    of = case((incident.c.fingerprint == checks.c.check_id, checks.c.check_id), else_=incident.c.check_id)
    statement = (
        select(
            checks.c.check_id,
            of.label("of"),
            func.coalesce(into.c.resolution, incident.c.resolution).label("resolution"),
            incident.c.answered.label("is_answered"),
            mistaken.label("is_mistaken"),
            episode.c.occurred_at,
            episode.c.resolved_at,
        )
        .select_from(checks)
        .join(incident, incident.c.table_name == checks.c.table_name)
        .join(into, into.c.id == incident.c.merged_into, isouter=True)
        .join(episode, episode.c.incident_id == incident.c.id)
        .where(
            incident.c.kind == Kind.QUALITY,
            or_(incident.c.ended_at.is_(None), incident.c.ended_at > checks.c.low_us),
            or_(episode.c.resolved_at.is_(None), episode.c.resolved_at > checks.c.low_us),
            episode.c.occurred_at <= checks.c.high_us,
        )
    )
    for row in connection.execute(statement):
        end = _END_OF_TIME if row.resolved_at is None else to_us(row.resolved_at)
        bad.holes_for(row).setdefault(row.check_id, []).append((to_us(row.occurred_at), end))
    return bad


def _windows(connection: Connection, queries: Wanted) -> Subquery:
    """Return how far back each check looks: `check_id`, `low_us`, `high_us`."""
    rows = ((check_id, to_us(at - _reach(earlier)), to_us(at)) for check_id, (at, earlier) in queries.items())
    return given(connection, rows, ["check_id", "low_us", "high_us"])


def _reach(earlier: Earlier) -> timedelta:
    """Return how far back a check looks."""
    ages = max(earlier.ages) + earlier.within if earlier.ages else timedelta()
    return max(ages, earlier.span or timedelta())


def _add_spans(
    connection: Connection, queries: Wanted, bad: _BadTimes, results: dict[str, list[PastMeasurement]]
) -> None:
    """Add all measurements of a span, one an hour at most, without those inside holes."""
    if not queries:
        return
    windows = _windows(connection, queries)
    evaluated = or_(_M.status != Status.UNKNOWN, _M.reason == UnknownReason.NO_DATA)
    statement = (
        select(_M.id, _S.check_id, type_coerce(_M.measured_at, WHOLE).label("at_us"), _M.status == Status.FAIL)
        .select_from(windows)
        .join(SeriesRow.__table__, _S.check_id == windows.c.check_id)
        .join(MeasurementRow.__table__, _M.series == _S.id)
        .where(_M.measured_at >= windows.c.low_us, _M.measured_at < windows.c.high_us, evaluated)
    )
    candidates: dict[str, list[tuple[int, int, bool]]] = {check_id: [] for check_id in queries}
    for number, check_id, at_us, fails in connection.execute(statement):
        candidates[check_id].append((at_us, number, fails))
    looks: dict[int, int] = {}
    pending: set[int] = set()
    for check_id, rows in candidates.items():
        rows.sort()
        pending |= bad.pending(check_id, rows)
        good = [row for row in rows if not _is_inside(row[0], bad.own.get(check_id, ()))]
        best = [row for row in good if not _is_inside(row[0], bad.others.get(check_id, ()))]
        looks |= _thinned(best if 2 * len(best) >= len(good) else good)
    ids = any_of(connection, looks, "id_number")
    rows_of_ids = connection.execute(select(_M.id, *_PAST).where(_M.id.in_(ids)).order_by(*_OLDEST_FIRST))
    for row in rows_of_ids:
        is_expected, is_unanswered = (
            _is_inside(to_us(row.measured_at), holes.get(row.check_id, ())) for holes in (bad.expected, bad.unanswered)
        )
        is_unanswered |= row.id in pending
        past = replace(_past(row), in_span=True, expected=is_expected, unanswered=is_unanswered, looks=looks[row.id])
        results[row.check_id].append(past)


def _thinned(rows: Iterable[tuple[int, int, bool]]) -> dict[int, int]:
    """Return the last measurement of each hour, and how many there were in it."""
    hours: dict[int, list[int]] = {}
    for at_us, number, _ in rows:
        hours.setdefault(at_us // _HOUR_US, []).append(number)
    return {numbers[-1]: len(numbers) for numbers in hours.values()}


def _is_inside(at_us: int, holes: Iterable[tuple[int, int]]) -> bool:
    return any(start <= at_us < end for start, end in holes)


def _add_aged(connection: Connection, queries: Wanted, holes: Holes, results: dict[str, list[PastMeasurement]]) -> None:
    targets = [
        (check_id, at, age, earlier.within) for check_id, (at, earlier) in queries.items() for age in earlier.ages
    ]
    if not targets:
        return
    spots = given(
        connection,
        (
            (number, check_id, *part)
            for number, (check_id, at, age, within) in enumerate(targets)
            for part in _without(holes.get(check_id, ()), *_around(at, age, within))
        ),
        ["spot_number", "check_id", "low_us", "target_us", "high_us"],
    )
    # "no data" counts: a check that has nothing to compare with yet is unknown, and this is how its history begins
    evaluated = or_(_M.status != Status.UNKNOWN, _M.reason == UnknownReason.NO_DATA)
    ids = select(_M.id).where(in_series(spots.c.check_id), evaluated)
    before = ids.where(_M.measured_at.between(spots.c.low_us, spots.c.target_us)).order_by(*_NEWEST_FIRST)
    after = ids.where(_M.measured_at > spots.c.target_us, _M.measured_at <= spots.c.high_us).order_by(*_OLDEST_FIRST)
    sides = union_all(
        *(
            select(spots.c.spot_number, side.limit(1).correlate(spots).scalar_subquery().label("id"))
            for side in (before, after)
        )
    ).subquery()
    near: dict[int, Row[*tuple[Any, ...]]] = {}
    for row in connection.execute(
        select(sides.c.spot_number, *_PAST).join(sides, sides.c.id == _M.id).order_by(*_OLDEST_FIRST)
    ):
        _, at, age, _ = targets[row.spot_number]
        other = near.get(row.spot_number)
        if other is None or abs(row.measured_at - (at - age)) < abs(other.measured_at - (at - age)):
            near[row.spot_number] = row
    for number, row in sorted(near.items()):
        results[row.check_id].append(_past(row, age=targets[number][2]))


def _without(holes: Iterable[tuple[int, int]], low: int, target: int, high: int) -> Iterator[tuple[int, int, int]]:
    """Yield the parts of `[low, high]` outside of holes, each with the moment in it that is nearest to the target."""
    for start, end in sorted(holes):
        if start > low:
            yield _part(low, target, min(start - 1, high))
        low = max(low, end)
        if low > high:
            return
    yield _part(low, target, high)


def _part(low: int, target: int, high: int) -> tuple[int, int, int]:
    """Return a part of a stretch with the last moment that is sought backwards from: before `low`, none is."""
    return low, min(max(target, low - 1), high), high


def _around(at: datetime, age: timedelta, within: timedelta) -> tuple[int, int, int]:
    """Return the first, the wanted and the last moment to look at; never the present measurement itself."""
    last = at - _US
    return to_us(at - age - within), to_us(min(at - age, last)), to_us(min(at - age + within, last))


def _add_newest(connection: Connection, queries: Wanted, results: dict[str, list[PastMeasurement]]) -> None:
    """Add the newest measurement that was accepted, and the newest that says of how many people a value was shown."""
    for mark, ids_of in (("accepted", accepted), ("last_shown", _last_shown)):
        at = {check_id: moment for check_id, (moment, earlier) in queries.items() if getattr(earlier, mark)}
        if not at:
            continue
        keys = given(connection, ((check_id, to_us(moment)) for check_id, moment in at.items()), ["check_id", "at_us"])
        statement = select(*_PAST).where(_M.id.in_(ids_of(keys))).order_by(*_OLDEST_FIRST)
        for check_id, row in {row.check_id: row for row in connection.execute(statement)}.items():
            past = replace(_past(row), accepted=mark == "accepted", last_shown=mark == "last_shown")
            results[check_id].append(past)


def _last_shown(subquery: Subquery) -> Select[Any]:
    has_shown = type_coerce(_M.observed, Text).like('%"shown_of":{%')  # canonical JSON has no space after the colon
    return select(newest(subquery, _M.measured_at < subquery.c.at_us, has_shown)).select_from(subquery)


_PAST: Final = (CHECK_ID, _M.measured_at.label("measured_at"), _M.status, _M.observed)


def _past(row: Row[*tuple[Any, ...]], *, age: timedelta | None = None) -> PastMeasurement:
    return PastMeasurement(row.measured_at, row.status, row.observed, age=age)
