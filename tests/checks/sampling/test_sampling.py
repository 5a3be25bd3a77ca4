"""A check of a sample is judged by the whole interval of its estimate: pass and fail are never guessed."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from checks import Check, Measurement, Misconfigured, Outcome, Status, UnknownReason, judge, load_catalog
from checks.metric import Metric
from checks.not_null import NotNull
from checks.range import Range
from checks.sampling.verdict import blocks_interval
from monitor.scan.measure import measure
from monitor.scan.plan_shapes import plan_by_shape
from monitor.scan.planner import plan
from monitor.scan.results import Subject
from monitor.scan.sql_template import TimeLiterals
from sources import SourceSpec, open_source
from tests.checks.ask import NOW, Rows, ask, past, place

SAMPLE = {"share": 0.01}
SAMPLED = frozenset({"not_null", "range", "accepted_values", "pattern", "metric"})


def _measured(rows: int, nulls: int, **more: Any) -> Measurement:
    return Measurement(NOW, tables={"sample": [{"rows": rows, "nulls_a": nulls, **more}]}, loaded_at="loaded")


@pytest.mark.parametrize(
    ("nulls", "status"),
    [(0, Status.PASS), (30, Status.PASS), (92, Status.UNKNOWN), (112, Status.UNKNOWN), (160, Status.FAIL)],
)
def test_only_an_interval_on_one_side_of_the_limit_decides(nulls: int, status: Status) -> None:
    """Of 10,000 sampled rows with a limit of 1 %: pass, fail, and unknown where the limit lies within."""
    outcome = judge(NotNull(columns=("a",), max_ratio=0.01, sample=SAMPLE), _measured(10_000, nulls))
    assert outcome.status is status
    estimate = outcome.observed["sample"]["estimates"]["a"]
    assert estimate["low"] <= estimate["estimate"] == nulls / 10_000 <= estimate["high"]
    assert (estimate["low"] <= 0.01 <= estimate["high"]) == (status is Status.UNKNOWN)
    assert outcome.reason is (UnknownReason.NO_DATA if status is Status.UNKNOWN else None)
    assert "10,000 sampled" in str(outcome.message)


def test_a_failure_says_how_many_rows_were_sampled_and_not_since_when() -> None:
    """The first bad row of a sample is not the first of the table, so the last passing run stands for its time."""
    outcome = judge(NotNull(columns=("a",), max_ratio=0.01, sample=SAMPLE), _measured(10_000, 300, first_bad_load=1))
    assert str(outcome.message) == (
        "a: an estimated 3.0% of the rows (2.5% to 3.6%; 10,000 sampled), at most 1.0% expected"
    )
    assert outcome.occurrence is None


def test_a_sample_without_a_row_is_unknown() -> None:
    """It does not show that the table is empty."""
    outcome = judge(NotNull(columns=("a",), max_ratio=0.01, sample=SAMPLE), _measured(0, 0))
    assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.NO_DATA)
    no_block = Measurement(NOW, tables={"sample": []})
    blocks = NotNull(columns=("a",), max_ratio=0.01, sample={**SAMPLE, "method": "blocks"})
    assert judge(blocks, no_block).status is Status.UNKNOWN


def test_a_softer_limit_is_judged_by_the_interval_too() -> None:
    """All of the interval beyond the softer limit is a warning."""
    check = NotNull(columns=("a",), max_ratio=0.05, warn={"max_ratio": 0.01}, sample=SAMPLE)
    assert [judge(check, _measured(10_000, nulls)).status for nulls in (10, 200, 900)] == ["pass", "warn", "fail"]


def test_intervals_of_several_columns_hold_together() -> None:
    """Each of ten columns has a tenth of the probability of a miss, so its interval is wider."""
    names = tuple("abcdefghij")
    measured = Measurement(NOW, tables={"sample": [{"rows": 1000, **{f"nulls_{name}": 10 for name in names}}]})
    one, ten = (
        judge(NotNull(columns=columns, max_ratio=0.5, sample=SAMPLE), measured).observed["sample"]["estimates"]["a"]
        for columns in (("a",), names)
    )
    assert ten["low"] < one["low"]
    assert one["high"] < ten["high"]


@pytest.mark.parametrize(
    ("limits", "matching", "status"),
    [
        ({"max": 0.2}, 100, Status.PASS),
        ({"max": 0.2}, 300, Status.FAIL),
        ({"max": 0.2}, 200, Status.UNKNOWN),
        ({"min": 0.2}, 300, Status.PASS),
        ({"min": 0.2}, 100, Status.FAIL),
        ({"min": 0.2}, 200, Status.UNKNOWN),
        ({"min": 0.19, "max": 0.21}, 200, Status.UNKNOWN),
    ],
)
def test_a_share_is_judged_on_both_sides(limits: dict[str, float], matching: int, status: Status) -> None:
    """A metric of 1,000 sampled rows fails below its `min` and above its `max`."""
    check = Metric(aggregate="share", column="v", value=1, sample=SAMPLE, **limits)
    measured = Measurement(NOW, tables={"sample": [{"rows": 1000, "matching": matching}]})
    assert judge(check, measured).status is status


def test_values_of_which_nobody_can_tell_widen_the_interval() -> None:
    """The upper limit counts them as bad, the lower one as good."""
    measured = Measurement(NOW, tables={"sample": [{"rows": 1000, "violations": 10, "uncertain": 500}]})
    outcome = judge(Range(column="a", min=1, max_ratio=0.3, sample=SAMPLE), measured)
    assert outcome.status is Status.UNKNOWN


def test_blocks_are_judged_by_the_interval_for_blocks() -> None:
    """100 blocks of which 20 are bad as a whole: the binomial interval would pass a limit of 25 %."""
    blocks = [
        {"rows": 100, "nulls_a": 0, "@blocks": 80, "@block_bytes": 8192},
        {"rows": 100, "nulls_a": 100, "@blocks": 20, "@block_bytes": 8192},
    ]
    measured = Measurement(NOW, tables={"sample": blocks})
    as_rows, as_blocks = (
        judge(NotNull(columns=("a",), max_ratio=0.25, sample={**SAMPLE, "method": method}), measurement)
        for method, measurement in (("rows", _measured(10_000, 2_000)), ("blocks", measured))
    )
    assert (as_rows.status, as_blocks.status) == (Status.PASS, Status.UNKNOWN)
    assert as_blocks.observed["sample"]["blocks"] == 100
    estimate = as_blocks.observed["sample"]["estimates"]["a"]
    assert (estimate["low"], estimate["high"]) == blocks_interval([(100, 0, 80), (100, 100, 20)], 291, 0.001)


def test_blocks_with_more_rows_than_a_page_holds_are_no_blocks_of_a_heap() -> None:
    """Another kind of storage has no bound that the interval could rest on."""
    blocks = [{"rows": 292, "nulls_a": 0, "@blocks": 80, "@block_bytes": 8192}]
    check = NotNull(columns=("a",), max_ratio=0.5, sample={**SAMPLE, "method": "blocks"})
    assert judge(check, Measurement(NOW, tables={"sample": blocks})).reason is UnknownReason.MISCONFIGURED


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({}, "needs a 'max_ratio' above 0"),
        ({"max_ratio": 0}, "needs a 'max_ratio' above 0"),
        ({"max_ratio": 0.1, "warn": {"max_ratio": 0}}, "needs a 'max_ratio' above 0"),
        ({"max_ratio": 0.1, "by": "b"}, "goes without 'by'"),
        ({"max_ratio": 0.1, "deviation": {"sigma": 3}}, "learned limits"),
        ({"limits": {"learned": {"false_alarms": "1 per 90d"}}}, "learned limits"),
        ({"max_ratio": 0.1, "on_empty": "pass"}, "goes without 'on_empty'"),
    ],
)
def test_what_a_sample_has_no_answer_for_is_refused(parameters: dict[str, Any], text: str) -> None:
    """When the configuration is read, with the reason."""
    with pytest.raises(ValidationError, match=text):
        NotNull.model_validate({"columns": ["a"], "sample": SAMPLE, **parameters})


@pytest.mark.parametrize(
    "parameters",
    [
        {"aggregate": "mean", "column": "v", "max": 1},
        {"aggregate": "share", "column": "v", "value": 1, "max": 1, "time_column": "at", "window": "1d"},
        {"aggregate": "share", "column": "v", "value": 1, "max_deviation": 0.5},
    ],
)
def test_a_metric_is_sampled_as_a_share_of_all_rows_only(parameters: dict[str, Any]) -> None:
    """A mean of values without bounds has no interval that holds; a baseline is of exact numbers."""
    with pytest.raises(ValidationError, match="'sample' is of 'share'"):
        Metric.model_validate({"sample": SAMPLE, **parameters})


def test_every_other_check_refuses_a_sample_with_the_reason() -> None:
    """Copies of a key, small classes and totals do not follow from a sample of rows."""
    for kind, check in load_catalog().items():
        if kind not in SAMPLED:
            with pytest.raises(ValidationError, match="do not follow from a sample"):
                check.model_validate({"sample": SAMPLE})  # type: ignore[attr-defined]  # every check is a model


def test_an_estimate_is_no_baseline() -> None:
    """When `sample` is removed, limits are not learned from what was estimated, nor compared with it."""
    estimated = judge(
        Metric(aggregate="share", column="v", value=1, max=0.5, sample=SAMPLE),
        Measurement(NOW, tables={"sample": [{"rows": 1000, "matching": 100}]}),
    )
    exact = Metric(aggregate="share", column="v", value=1, max_deviation=0.1, weeks=1)
    outcome = judge(
        exact, Measurement(NOW, {"rows": 10, "matching": 5}), [past(dict(estimated.observed), timedelta(days=7))]
    )
    assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.NO_DATA)
    nulls = judge(NotNull(columns=("a",), max_ratio=0.5, sample=SAMPLE), _measured(1000, 10))
    assert not {"rows", "nulls", "value", "violations"} & {*estimated.observed, *nulls.observed}


def test_each_run_draws_anew() -> None:
    """Of 10,000 rows half are drawn; two runs of the same statement draw other rows."""
    rows = Rows({"a": "int"}, [(number,) for number in range(10_000)])
    check = Range(column="a", max=4_999, max_ratio=0.9, sample={"share": 0.5, "confidence": 0.999999})
    with place("duckdb", t=rows) as here:
        seen = [ask(check, here).observed["sample"] for _ in range(3)]
    assert len({(one["rows"], one["estimates"]["a"]["counted"]) for one in seen}) > 1
    assert all(one["estimates"]["a"]["low"] <= 0.5 <= one["estimates"]["a"]["high"] for one in seen)


def test_times_that_are_texts_are_refused() -> None:
    """A text that is no time may not be drawn, and without it the others would pass."""
    check = Range(column="at", min="2026-01-01", max_ratio=0.5, sample=SAMPLE)
    rows = Rows({"at": "timestamp"}, [("2026-01-01",)])
    with place("sqlite", t=rows) as here, pytest.raises(Misconfigured, match="not texts"):
        ask(check, here)


def _answers(url: str, base: Path, table: str, checks: Sequence[Check]) -> Sequence[Outcome]:
    subject = Subject(table, table, tuple((str(at), check) for at, check in enumerate(checks)))
    with open_source(SourceSpec(name="s", base=base, url=url)) as source:
        answers = [item.answer for item in measure(plan(subject, source), source, NOW, TimeLiterals(source))]
    return [
        answer if isinstance(answer, Outcome) else judge(check, answer)
        for check, answer in zip(checks, answers, strict=True)
    ]  # type: ignore[arg-type]  # no segments


@pytest.mark.postgres
def test_blocks_of_each_table_of_a_shape(postgres_url: str, tmp_path: Path) -> None:
    """A plan that tables share reads the blocks of each, whatever it is called."""
    import psycopg

    check = NotNull(columns=("a",), max_ratio=0.4, sample={"share": 0.5, "method": "blocks"})
    spec = SourceSpec(name="s", base=tmp_path, url=postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute('CREATE TABLE alike_1 (a int); CREATE TABLE "alike ""2""" (a int)')
        try:
            with open_source(spec) as source:
                for name in ("alike_1", 'alike "2"'):
                    subject = Subject(name, name, ((f"{name}.nulls", check),))
                    assert plan_by_shape(subject, source, spec) == plan(subject, source)
        finally:
            connection.execute('DROP TABLE alike_1, "alike ""2"""')


@pytest.mark.postgres
def test_postgresql_reads_blocks(postgres_url: str, tmp_path: Path) -> None:
    """Of a table, of all partitions together, of no view; quoted names, filters and several columns."""
    import psycopg

    made = (
        'CREATE TABLE "Drawn ""t""" ("a%b" int, b int)',
        'INSERT INTO "Drawn ""t""" SELECT nullif(i % 10, 0), i / 50000 FROM generate_series(0, 99999) i',
        "CREATE TABLE parts (a int, b int) PARTITION BY LIST (b)",
        "CREATE TABLE parts_0 PARTITION OF parts FOR VALUES IN (0)",
        "CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1)",
        "INSERT INTO parts SELECT nullif(i % 10, 0), i % 2 FROM generate_series(0, 99999) i",
        "CREATE VIEW drawn_view AS SELECT * FROM parts",
    )
    drawn = {"share": 0.5, "method": "blocks", "confidence": 0.999999}
    check = NotNull(columns=("a%b", "b"), max_ratio=0.4, sample=drawn)
    filtered = NotNull(columns=("a%b",), max_ratio=0.4, where="b = 1", sample=drawn)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for statement in made:
            connection.execute(statement)
        try:
            both, half = _answers(postgres_url, tmp_path, 'Drawn "t"', (check, filtered))
            plain = NotNull(columns=("a",), max_ratio=0.4, sample=drawn)
            (parts,) = _answers(postgres_url, tmp_path, "parts", (plain,))
            (view,) = _answers(postgres_url, tmp_path, "drawn_view", (plain,))
        finally:
            connection.execute('DROP TABLE parts, "Drawn ""t""" CASCADE')
    for outcome, name in ((both, "a%b"), (half, "a%b"), (parts, "a")):
        sample = outcome.observed["sample"]
        assert outcome.status is Status.PASS
        assert sample["estimates"][name]["low"] <= 0.1 <= sample["estimates"][name]["high"]
        assert 100 < sample["rows"] / sample["blocks"] <= 291
    assert both.observed["sample"]["estimates"]["b"]["counted"] == 0
    assert view.reason is UnknownReason.MISCONFIGURED


def test_blocks_are_refused_where_every_row_is_read_anyway(tmp_path: Path) -> None:
    """Also of a past time: a block holds rows of all times."""
    import duckdb

    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    check = NotNull(columns=("a",), max_ratio=0.4, sample={"share": 0.5, "method": "blocks"})
    (outcome,) = _answers("duckdb:///t.duckdb", tmp_path, "t", (check,))
    assert outcome.reason is UnknownReason.MISCONFIGURED
    assert "'method: rows'" in str(outcome.message)


def test_a_plain_check_reads_nothing_of_sampling() -> None:
    """What samples is imported where a check asks for it."""
    assert _modules_of({"columns": ["a"]}).isdisjoint(_SAMPLING)
    assert _modules_of({"columns": ["a"], "max_ratio": 0.5, "sample": SAMPLE}) >= _SAMPLING


_SAMPLING = frozenset({"checks.sampling", "checks.sampling.verdict"})


def _modules_of(parameters: Mapping[str, Any]) -> frozenset[str]:
    """Return the modules that judging a check has imported, in a process of its own."""
    import subprocess
    import sys

    tables = {"sample": [{"rows": 10, "nulls_a": 0}]} if "sample" in parameters else {}
    program = (
        "import sys; from datetime import datetime, UTC; from checks import Measurement, judge; "
        "from checks.not_null import NotNull; "
        f"judge(NotNull.model_validate({dict(parameters)!r}), "
        f"Measurement(datetime.now(UTC), {{'rows': 1, 'nulls_a': 0}}, {tables!r})); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return frozenset(done.stdout.split())
