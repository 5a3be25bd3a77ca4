"""NaN is the same to every engine: a value, which is not NULL, lies in no range and equals itself."""

import pytest

from checks import Status, UnknownReason
from checks.accepted_values import AcceptedValues
from checks.metric import Metric
from checks.not_null import NotNull
from checks.primary_key import PrimaryKey
from checks.range import Range
from checks.unique import Unique
from checks.volume import Volume
from monitor.terminal.localizer import Localizer
from tests.checks.ask import ENGINES, Rows, ask, place

NAN = float("nan")
HAVE_NAN = tuple(engine for engine in ENGINES if engine != "sqlite")
KINDS = {
    "duckdb": ("DOUBLE PRECISION", "REAL"),
    "postgres": ("DOUBLE PRECISION", "REAL", "NUMERIC(10, 2)", "NUMERIC"),
    "mysql": (),
}
COLUMNS = [(engine, kind) for engine in HAVE_NAN for kind in KINDS[engine]]


def _column(kind: str, *values: object) -> Rows:
    return Rows({"v": kind}, [(value,) for value in values])


@pytest.mark.parametrize(("engine", "kind"), COLUMNS)
def test_nan_is_no_null(engine, kind):
    """`not_null` passes a column of NaN, and says how many there are."""
    with place(engine, t=_column(kind, NAN, NAN, 1)) as here:
        outcome = ask(NotNull(columns=["v"]), here)
    assert outcome.status is Status.PASS
    assert outcome.observed == {"rows": 3, "nulls": {"v": 0}, "nan": {"v": 2}}
    assert str(outcome.message) == "no column exceeds its NULL limit; 2 values are NaN, which does not count as NULL"
    assert "NaN が2件" in outcome.message.render(Localizer("ja", "UTC"))


@pytest.mark.parametrize("limits", [{"min": 0}, {"max": 10}, {"min": 0, "max": 10}])
@pytest.mark.parametrize(("engine", "kind"), COLUMNS)
def test_nan_lies_in_no_range(engine, kind, limits):
    """NaN is outside, whichever limit is given; NULL is not."""
    with place(engine, t=_column(kind, NAN, 1, None, 11 if "max" in limits else -1)) as here:
        outcome = ask(Range(column="v", **limits), here)
    assert outcome.observed == {"rows": 4, "violations": 2}
    assert str(outcome.message) == "v: 2 of 4 rows are outside the range (50%), 1 as NaN"


@pytest.mark.parametrize(("engine", "kind"), COLUMNS)
def test_nan_equals_nan_as_a_key(engine, kind):
    """Two NaN are a key that occurs twice, and none of them is a missing one."""
    with place(engine, t=_column(kind, NAN, NAN, 1)) as here:
        for check in (Unique(columns=["v"]), PrimaryKey(columns=["v"])):
            outcome = ask(check, here)
            assert outcome.status is Status.FAIL
            assert (outcome.observed["duplicate_keys"], outcome.observed["null_keys"]) == (1, 0)


@pytest.mark.parametrize(("engine", "kind"), COLUMNS)
def test_nan_is_no_accepted_value(engine, kind):
    """It cannot be listed, so it is another value; it is a row for `volume`."""
    with place(engine, t=_column(kind, NAN, 1)) as here:
        assert ask(AcceptedValues(column="v", values=[1]), here).observed["violations"] == 1
        assert ask(Volume(min=2), here).status is Status.PASS


@pytest.mark.parametrize("how", ["sum", "mean", "min", "max", "stddev"])
@pytest.mark.parametrize(("engine", "kind"), COLUMNS)
def test_no_aggregate_takes_nan_in(engine, kind, how):
    """Whatever an engine makes of NaN among numbers, the aggregate is unknown; without it, it is not."""
    with place(engine, t=_column(kind, NAN, 1, 2, 3)) as here:
        outcome = ask(Metric(aggregate=how, column="v", min=-100, max=100), here)
        without = ask(Metric(aggregate=how, column="v", min=-100, max=100, where="v < 100"), here)
    assert outcome.reason is UnknownReason.NO_DATA
    assert str(outcome.message) == f"{how}(v) includes 1 NaN value"
    assert without.status is Status.PASS


@pytest.mark.parametrize("how", ["sum", "mean", "min", "max", "stddev"])
@pytest.mark.parametrize("infinite", [float("inf"), float("-inf")])
@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "mysql"])
def test_an_infinite_aggregate_is_beyond_every_limit(engine, infinite, how):
    """On every engine that keeps infinity; only a standard deviation of infinity is no number and unknown."""
    with place(engine, t=_column("DOUBLE PRECISION", infinite, 1, 2, 3)) as here:
        outcome = ask(Metric(aggregate=how, column="v", min=-100, max=100), here)
        without = ask(Metric(aggregate=how, column="v", min=-100, max=100, where="v > -100 AND v < 100"), here)
    if how in {"min", "max"} and (infinite > 0) is (how == "min"):  # the other end is a number
        assert outcome.status is Status.PASS
    elif how == "stddev":
        assert outcome.reason is UnknownReason.NO_DATA
        assert str(outcome.message).startswith(f"{how}(v) has no finite value")
    else:
        assert outcome.status is Status.FAIL
        assert ("larger" if infinite > 0 else "smaller") in str(outcome.message)
    assert without.status is Status.PASS


def test_sqlite_has_no_nan():
    """SQLite turns NaN into NULL when it is written, and that is what the checks see."""
    with place("sqlite", t=_column("REAL", NAN, 1.0)) as here:
        assert ask(NotNull(columns=["v"]), here).observed == {"rows": 2, "nulls": {"v": 1}}
        assert ask(Range(column="v", min=0), here).status is Status.PASS


def test_zero_has_no_sign(dialect):
    """Zero and negative zero are the same key and the same value, and neither is below the other."""
    with place(dialect, t=_column("DOUBLE PRECISION", 0.0, -0.0)) as here:
        assert ask(Unique(columns=["v"]), here).observed["duplicate_keys"] == 1
        assert ask(Range(column="v", min=0, max="-0.0"), here).status is Status.PASS
        assert ask(AcceptedValues(column="v", values=[0]), here).status is Status.PASS
