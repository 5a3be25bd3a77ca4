"""Numbers are exact from the configuration to the message, on every engine; plain Python is the oracle."""

import json
import pickle
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from checks import Message, Status, UnknownReason
from checks._errors import Misconfigured
from checks.accepted_values import AcceptedValues
from checks.metric import Metric
from checks.parameters.numbers import WrittenNumber, decimal, display_number, exact, plain
from checks.range import Range
from checks.reconcile import Against, Reconcile
from checks.volume import Volume
from monitor.terminal.localizer import Localizer
from tests.checks.ask import ENGINES, EXAMPLES, Rows, ask, place
from tests.tiers import examples

BIG = "99999999999999.99"
TYPES = ("DECIMAL(18, 2)", "DECIMAL(38, 10)", "DECIMAL(38, 0)", "DECIMAL(9, 9)", "BIGINT", "INTEGER")
DIGITS = {"BIGINT": (18, 0), "INTEGER": (9, 0)} | {
    f"DECIMAL({digits}, {places})": (digits, places) for digits, places in ((18, 2), (38, 10), (38, 0), (9, 9))
}


def _column(kind: str, *values: object) -> Rows:
    return Rows({"v": kind}, [(value,) for value in values])


@st.composite
def _cases(draw: st.DrawFn) -> tuple[str, list[Decimal], Decimal]:
    """Draw a type, some values that it holds, and a limit near one of them, in its last place or between two."""
    kind = draw(st.sampled_from(TYPES))
    digits, places = DIGITS[kind]
    largest = 10 ** draw(st.integers(1, digits)) - 1
    units = st.integers(-largest, largest) | st.sampled_from([largest, -largest, 0, largest - 1])
    values = [Fraction(unit, 10**places) for unit in draw(st.lists(units, min_size=1, max_size=6))]
    step = draw(
        st.sampled_from([Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 2), Fraction(-1, 10), Fraction(10**39)])
    )
    limit = draw(st.sampled_from(values)) + step / 10**places
    return kind, [_as_decimal(value) for value in values], _as_decimal(limit)


def _as_decimal(value: Fraction) -> Decimal:
    text = str(plain(value)) if value.denominator == 1 else None
    scaled = value * 10**40
    assert scaled.denominator == 1
    sign, digits = ("-" if scaled < 0 else ""), str(abs(scaled.numerator)).rjust(41, "0")
    return Decimal(f"{sign}{digits[:-40]}.{digits[-40:].rstrip('0') or '0'}") if text is None else Decimal(int(value))


def _fits_sqlite(kind: str, values: list[Decimal]) -> bool:
    """Check whether SQLite keeps the values as they are: as INTEGER, or as REAL of 15 digits."""
    places = DIGITS[kind][1]
    return all(
        (not places and abs(Fraction(value)) < 2**63) or abs(Fraction(value)) < Fraction(10) ** (15 - places)
        for value in values
    )


def _runs_over(kind: str, values: list[Decimal]) -> bool:
    """Check whether a sum may have more than DuckDB's 38 digits, on the way or in the end."""
    return sum(abs(Fraction(value)) for value in values) * 10 ** DIGITS[kind][1] >= 10**38


def _stored(dialect: str, values: list[Decimal]) -> list[object]:
    whole = [int(value) if value == int(value) and abs(int(value)) < 2**63 else value for value in values]
    return whole if dialect == "sqlite" else list(values)


@pytest.mark.parametrize("dialect", ENGINES)
@given(case=_cases(), exclusive=st.booleans(), upper=st.booleans())
@example(  # the REAL of SQLite that is nearest to the limit is that of the value
    case=("DECIMAL(38, 10)", [Decimal("-99999.9999999994")], Decimal("-99999.99999999941")), exclusive=False, upper=True
)
@example(  # as a whole number the value is kept exactly, the limit is not
    case=("DECIMAL(38, 0)", [Decimal(27942405962071215)], Decimal("27942405962071214.9")),
    exclusive=False,
    upper=False,
)
@example(  # and so are integers
    case=("BIGINT", [Decimal(-99999999999999999)], Decimal("-99999999999999998.5")), exclusive=False, upper=False
)
@settings(max_examples=examples(4 * EXAMPLES))
def test_a_range_of_decimals_is_exact(dialect, case, exclusive, upper):
    """Counts the rows that arithmetic with fractions counts; where SQLite cannot know, it does not pass."""
    kind, values, limit = case
    beyond = {
        (True, True): lambda value: value >= limit,
        (True, False): lambda value: value > limit,
        (False, True): lambda value: value <= limit,
        (False, False): lambda value: value < limit,
    }[upper, exclusive]
    end = "max" if upper else "min"
    check = Range(column="v", **{end: str(limit), f"exclusive_{end}": exclusive})
    with place(dialect, t=_column(kind, *_stored(dialect, values))) as here:
        if dialect == "duckdb" and kind == "DECIMAL(38, 0)" and abs(Fraction(limit)) >= 10**38:
            with pytest.raises(Misconfigured, match="which DuckDB cannot compare with"):
                ask(check, here)
            return
        outcome = ask(check, here)
    count = sum(map(beyond, values))
    if dialect == "sqlite" and not _fits_sqlite(kind, values):
        assert outcome.status is not Status.PASS or not count
    else:
        assert (outcome.status, outcome.observed["violations"]) == (Status.FAIL if count else Status.PASS, count)


def test_a_listed_value_beyond_a_hugeint_is_refused():
    """A value of 39 digits is refused as too long, and the data is not blamed: a HUGEINT may hold it."""
    with place("duckdb", t=_column("HUGEINT", 1, 2)) as here:
        assert ask(AcceptedValues(column="v", values=[1, 2]), here).status is Status.PASS
        with pytest.raises(Misconfigured, match="the value has more than 38 digits, which DuckDB cannot compare with"):
            ask(AcceptedValues(column="v", values=[1, 2, 10**38]), here)


@pytest.mark.parametrize("dialect", ENGINES)
@given(case=_cases())
@example(case=("DECIMAL(38, 0)", [Decimal(0)], Decimal(10**39)))  # a HUGEINT, which looks alike, may hold such a number
@settings(max_examples=examples(4 * EXAMPLES))
def test_accepted_decimals_are_exact(dialect, case):
    """A value is accepted exactly if it is the number that is listed, however many digits that has."""
    kind, values, listed = case
    if DIGITS[kind][1] == 0 and listed != int(listed):
        listed = Decimal(int(listed))
    check = AcceptedValues(column="v", values=(listed,))
    with place(dialect, t=_column(kind, *_stored(dialect, values))) as here:
        if dialect == "duckdb" and kind == "DECIMAL(38, 0)" and abs(listed) >= 10**38:
            with pytest.raises(Misconfigured, match="which DuckDB cannot compare with"):
                ask(check, here)
            return
        outcome = ask(check, here)
    count = sum(value != listed for value in values)
    if dialect == "sqlite" and not _fits_sqlite(kind, [*values, listed]):
        assert outcome.status is not Status.PASS or not count
    else:
        assert (outcome.status, outcome.observed["violations"]) == (Status.FAIL if count else Status.PASS, count)


@pytest.mark.parametrize("dialect", ENGINES)
@given(case=_cases(), how=st.sampled_from(["sum", "mean", "min", "max"]), step=st.sampled_from([-1, 0, 1]))
@settings(max_examples=examples(4 * EXAMPLES))
def test_an_aggregate_of_decimals_is_exact(dialect, case, how, step):
    """Fails exactly if the exact aggregate is above the limit, however near; what cannot be known does not pass."""
    kind, values, _ = case
    numbers = [Fraction(value) for value in values]
    true = {"sum": sum(numbers), "mean": sum(numbers) / len(numbers), "min": min(numbers), "max": max(numbers)}[how]
    scaled = true * 10**12
    limit = _as_decimal(Fraction(round(scaled), 10**12) + Fraction(step, 10**12))
    with place(dialect, t=_column(kind, *_stored(dialect, values))) as here:
        if dialect == "duckdb" and how in {"sum", "mean"} and _runs_over(kind, values):
            with suppress(duckdb.OutOfRangeException):  # or it runs over in silence, which is noticed
                outcome = ask(Metric(aggregate=how, column="v", max=str(limit)), here)
                wrong = Status.PASS if true > Fraction(limit) else Status.FAIL
                assert outcome.status is not wrong
            return
        outcome = ask(Metric(aggregate=how, column="v", max=str(limit)), here)
    if outcome.status is Status.UNKNOWN:
        assert dialect == "sqlite"
        assert not _fits_sqlite(kind, values)
        assert outcome.reason is UnknownReason.MISCONFIGURED
        return
    assert outcome.status is (Status.FAIL if true > Fraction(limit) else Status.PASS)
    if how in {"sum", "mean"}:
        seen = exact(outcome.observed["value"])
        assert seen == true or (how == "mean" and float(seen) == float(true))


def test_money_near_a_hundred_trillion(dialect):
    """The limit itself is allowed, and so is the value in a list; a cent more is too much."""
    with place(dialect, t=_column("DECIMAL(18, 2)", Decimal(BIG))) as here:
        outcomes = [
            ask(Range(column="v", max=limit), here).status
            for limit in (BIG, WrittenNumber(BIG), Decimal(BIG), "99999999999999.98")
        ]
        listed = ask(AcceptedValues(column="v", values=[Decimal(BIG)]), here).status
    if dialect == "sqlite":  # where both are the same REAL
        assert [*outcomes, listed] == [Status.UNKNOWN] * 5
    else:
        assert [*outcomes, listed] == [Status.PASS, Status.PASS, Status.PASS, Status.FAIL, Status.PASS]


@pytest.mark.parametrize("dialect", [one for one in ENGINES if one != "sqlite"])
def test_a_sum_keeps_all_its_digits(dialect):
    """In what is observed, as text where a double would be another number, and in the message of every language."""
    with place(dialect, t=_column("DECIMAL(18, 2)", Decimal(BIG), Decimal("0.01"))) as here:
        outcome = ask(Metric(aggregate="sum", column="v", max=BIG), here)
    assert outcome.status is Status.FAIL
    assert json.loads(json.dumps(dict(outcome.observed))) == {"value": 100000000000000, "baseline": None}
    assert str(outcome.message) == "sum(v) is 100,000,000,000,000, at most 99,999,999,999,999.99 expected"
    assert "99,999,999,999,999.99" in outcome.message.render(Localizer("ja", "UTC"))
    assert outcome.expected == {"max": BIG}


def test_whole_numbers_of_more_than_64_bits_on_sqlite():
    """SQLite keeps them as REAL: near a limit they are unknown, and no aggregate takes them in."""
    with place("sqlite", t=_column("INTEGER", 2.0**64, 1)) as here:
        near, far = (ask(Range(column="v", max=limit), here) for limit in (2**64 - 1, 2**70))
        total = ask(Metric(aggregate="sum", column="v", max=2**64), here)
    assert (near.status, far.status, total.reason) == (Status.UNKNOWN, Status.PASS, UnknownReason.MISCONFIGURED)
    with place("sqlite", t=_column("INTEGER", -(2**63))) as here:
        assert ask(Metric(aggregate="sum", column="v", max=-(2**63)), here).status is Status.PASS


@pytest.mark.parametrize(("kind", "value"), [("DECIMAL(38, 0)", "9" * 38), ("HUGEINT", str(2**127 - 1))])
def test_a_sum_that_runs_over_in_silence_is_unknown(kind, value):
    """Added up in parts, DuckDB's sums wrap around to negative numbers: neither a pass nor a failure."""
    with place("duckdb", t=_column(kind, value)) as here:
        here.backend.con.execute("CREATE OR REPLACE VIEW twice AS SELECT v FROM t UNION ALL SELECT v FROM t")
        [(wrong,)] = here.backend.con.execute("SELECT sum(v) FROM twice").fetchall()
        outcomes = {how: ask(Metric(aggregate=how, column="v", max=0), here, table="twice") for how in ("sum", "mean")}
        here.backend.con.execute("DROP VIEW twice")
    assert wrong < 0
    for how, outcome in outcomes.items():
        assert outcome.reason is UnknownReason.MISCONFIGURED
        assert str(outcome.message) == f"{how}(v) has more than 38 digits, the maximum of DuckDB"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("DECIMAL(38, 0)", "9" * 38),
        ("DECIMAL(38, 10)", "9" * 28 + "." + "9" * 10),
        ("DECIMAL(38, 38)", "0." + "9" * 38),
    ],
)
def test_a_sum_of_38_digits_is_exact(kind, value):
    """The largest number that a decimal holds is its own sum, and a limit just below it is broken."""
    step = Fraction(1, 10 ** (len(value.partition(".")[2])))
    below = str(plain(Fraction(value) - step))
    with place("duckdb", t=_column(kind, value)) as here:
        assert ask(Metric(aggregate="sum", column="v", max=value), here).status is Status.PASS
        outcome = ask(Metric(aggregate="sum", column="v", max=below), here)
    assert outcome.status is Status.FAIL
    assert Fraction(outcome.observed["value"]) == Fraction(value)
    for said in (str(outcome.message), outcome.message.render(Localizer("ja", "UTC"))):
        assert value in said.replace(",", "")


@pytest.mark.parametrize("limit", [2**64, "1" + "0" * 30, -(2**70), "123456789012345678901.5"])
@pytest.mark.parametrize("kind", ["BIGINT", "DOUBLE PRECISION", "DECIMAL(18, 2)"])
def test_limits_beyond_64_bits(dialect, kind, limit):
    """A limit that the type cannot hold leaves nothing or everything out, and breaks no statement."""
    with place(dialect, t=_column(kind, 1, None, -1)) as here:
        above, below = (ask(Range(column="v", **{end: limit}), here) for end in ("max", "min"))
    positive = not str(limit).startswith("-")
    assert above.observed["violations"] == (0 if positive else 2)
    assert below.observed["violations"] == (2 if positive else 0)


def test_a_column_of_floats_compares_with_the_nearest_double(dialect):
    """0.1 is not above 0.1, also in single precision, and is between its neighbours."""
    for kind in ("DOUBLE PRECISION", "REAL"):
        with place(dialect, t=_column(kind, 0.1)) as here:
            assert ask(Range(column="v", min="0.1", max="0.1"), here).status is Status.PASS
            assert ask(Range(column="v", max="0.0999"), here).status is Status.FAIL


def test_a_message_never_says_that_a_number_is_above_itself(dialect):
    """The sum of doubles that is just above its limit is said with the digits that tell the two apart."""
    with place(dialect, t=_column("DOUBLE PRECISION", 0.1, 0.2, 0.3)) as here:
        strict = ask(Metric(aggregate="sum", column="v", max="0.6"), here)
        tolerant = ask(Metric(aggregate="sum", column="v", max="0.6", tolerance="0.000001"), here)
    if strict.status is Status.FAIL:  # SQLite, since 3.43, adds up with compensation
        assert str(strict.message) == "sum(v) is 0.6000000000000001, at most 0.6 expected"
    assert tolerant.status is Status.PASS


def test_a_tolerance_has_an_end():
    """What is beyond a limit by more than the tolerance fails; the tolerance can be softened like a limit."""
    with place("duckdb", t=_column("DOUBLE PRECISION", 1.25)) as here:
        statuses = [
            ask(Metric(aggregate="sum", column="v", max=1, tolerance=tolerance), here).status
            for tolerance in ("0.25", "0.2499")
        ]
        warned = ask(Metric(aggregate="sum", column="v", max=1, tolerance=1, warn={"tolerance": "0.1"}), here)
    assert statuses == [Status.PASS, Status.FAIL]
    assert warned.status is Status.WARN


def test_reconciled_totals_are_exact(dialect):
    """A difference in the last of 17 digits is found, and the tolerance is exact as well."""
    one, other = (_column("DECIMAL(18, 2)", Decimal(value)) for value in ("1234567890123.45", "1234567890123.46"))
    with place(dialect, t=one, other=other) as here:
        check = {"aggregate": "sum", "column": "v", "against": Against(table="other")}
        strict, tolerant = (ask(Reconcile(**check, tolerance=tolerance), here) for tolerance in ("0.00999", "0.01"))
    if dialect == "sqlite":
        assert strict.reason is tolerant.reason is UnknownReason.MISCONFIGURED or strict.status is Status.FAIL
    else:
        assert (strict.status, tolerant.status) == (Status.FAIL, Status.PASS)
        assert str(strict.message) == "sum(v) is 1,234,567,890,123.45, sum(other.v) is 1,234,567,890,123.46"


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("1e3", 1000),
        (".5", Decimal("0.5")),
        ("1.", 1),
        ("+1", 1),
        ("-0.0", 0),
        ("1E-7", Decimal("0.0000001")),
        ("12345678901234567890123", 12345678901234567890123),
        (0.1, Decimal("0.1")),
        (Decimal("1.10"), Decimal("1.1")),
    ],
)
def test_a_limit_may_be_written_in_any_decimal_form(written, number):
    """In quotes or without, with an exponent or without: the number is the one that is written."""
    for check in (Range(column="v", max=written), Metric(aggregate="sum", column="v", max=written)):
        assert check.max == number
        assert type(check).model_validate(check.model_dump(mode="json")).max == number


@pytest.mark.parametrize(
    "written",
    ["1_000", "0x10", "017", "1,000", "", " 1", "nan", "inf", "1e400", "9" * 101, True, float("nan"), "\uff11"],
)
def test_what_is_no_plain_number_is_refused(written):
    """Separators, other bases, leading zeros and what is not finite are no numbers, and none is guessed."""
    for check in (Metric, Volume):
        with pytest.raises(ValidationError, match="number"):
            check.model_validate(
                {"aggregate": "sum", "column": "v", "max": written} if check is Metric else {"max": written}
            )
    with pytest.raises(ValidationError, match="number"):
        Range(column="v", max=written)


def test_a_date_is_no_number():
    """A date in ISO form stays one; only decimal digits are a number."""
    assert str(Range(column="v", min="2026-01-31").min) == "2026-01-31"
    assert Range(column="v", min="20260131").min == 20260131


@given(st.fractions() | st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**40), max_value=10**40))
def test_json_gives_every_decimal_back(number):
    """What ends in decimals comes back as the same number, from text or a double; a third as its nearest double."""
    value = Fraction(number)
    written = json.loads(json.dumps(plain(value)))
    assert exact(written) in {value, exact(float(value))}
    if not set(str(value.denominator)) - set("0123456789") and 10**60 % value.denominator == 0:
        assert exact(written) == value


@given(
    st.floats(-1e15, 1e15).filter(lambda number: number == 0 or abs(number) > 1e-9),
    st.sampled_from([0, 1, -1]),
    st.booleans(),
)
def test_two_numbers_that_differ_are_said_differently(number, steps, rounded):
    """Rounding for a message never makes a number equal to the limit that it is beyond, nor moves it across."""
    value = decimal(number)
    limit = value + Fraction(steps, 10**24)
    said = exact(display_number(value, limit, rounded=rounded))
    assert (said > limit, said < limit) == (value > limit, value < limit)


def test_written_numbers_go_to_other_processes():
    """The digits survive the way to a worker."""
    sent = pickle.loads(pickle.dumps(WrittenNumber(BIG)))  # noqa: S301 - made here
    assert (sent.text, type(sent)) == (BIG, WrittenNumber)


def test_text_that_is_no_number_is_said_as_it_is():
    """A place for a number says text that is none without touching it."""
    assert str(Message("{x:number}", {"x": "one"})) == "one"
    assert str(Message("{x:number}", {"x": "-1234567.500"})) == "-1,234,567.500"
