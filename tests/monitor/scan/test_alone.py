"""A check that cannot be evaluated costs no other check of its table."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

import tablewatch as tw
from checks import CheckParameters, Context, Outcome, Status, UnknownReason, Wants
from checks.freshness import Freshness
from checks.not_null import NotNull
from checks.primary_key import PrimaryKey
from checks.unique import Unique
from checks.volume import Volume
from monitor.clock import SystemClock
from monitor.scan.recorder import judge_only
from monitor.scan.results import Subject, Target
from monitor.scan.scanner import scan_source
from sources import SourceSpec


def _outcomes(spec: SourceSpec, table: str, **checks: Any) -> Mapping[str, Outcome]:
    target = Target(Subject(table, table, tuple(checks.items())), spec)
    results = judge_only(list(scan_source([target], clock=SystemClock(), plans={})), store=None)
    return {result.check_id: result.outcome for result in results}


def test_a_column_without_right_costs_only_its_checks(postgres_url: str) -> None:
    """With rights on some columns the checks of these are evaluated; those of another are unknown and name it."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "DROP TABLE IF EXISTS pay; CREATE TABLE pay (id int, amount numeric, secret text, at timestamptz)"
        )
        connection.execute("INSERT INTO pay VALUES (1, 5, 'x', now()), (2, NULL, 'y', now())")
        connection.execute("DROP ROLE IF EXISTS clerk; CREATE ROLE clerk LOGIN PASSWORD 'throwaway'")
        connection.execute("GRANT USAGE ON SCHEMA public TO clerk; GRANT SELECT (id, amount) ON pay TO clerk")
    place = urlsplit(postgres_url)
    url = f"postgresql://clerk:throwaway@{place.hostname}:{place.port}{place.path}"
    try:
        outcomes = _outcomes(
            SourceSpec("s", Path(), url=url),
            "pay",
            amount=NotNull(columns=("amount",)),
            secret=NotNull(columns=("secret",)),
            filtered=Volume(min=1, where="secret = 'x'"),
            fresh=Freshness(column="at", max_age="1d"),  # type: ignore[arg-type]  # as a configuration has it
            key=PrimaryKey(columns=("id",)),
            rows=Volume(min=1),
        )
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP OWNED BY clerk; DROP ROLE clerk")
    assert {name: outcome.status.value for name, outcome in outcomes.items()} == {
        "amount": "fail", "secret": "unknown", "filtered": "unknown", "fresh": "unknown", "key": "pass", "rows": "pass",
    }  # fmt: skip
    for name, column in (("secret", "secret"), ("filtered", "secret"), ("fresh", "at")):
        assert outcomes[name].reason is UnknownReason.PERMISSION
        assert f"the user may not read column '{column}' of table 'pay'" in str(outcomes[name].message)


def test_a_key_of_a_thousand_columns() -> None:
    """The depth of a predicate over all columns of a key does not grow with their number."""
    table = pa.table({f"c{at}": pa.array([1, 1, None], pa.int64()) for at in range(1000)})
    names = list(table.column_names)
    report = tw.check(table, [{"type": "unique", "columns": names}, {"type": "volume", "min": 1}, {"type": "schema"}])
    outcomes = {result.check_id.split(".")[-1]: result for result in report.results}
    assert (outcomes["unique"].status, outcomes["volume"].status) == (Status.FAIL, Status.PASS)
    assert outcomes["schema"].reason == UnknownReason.NO_DATA


class _Broken(CheckParameters):
    summary: ClassVar[str] = "Fails while it is planned."
    type: Literal["broken"] = "broken"

    def wants(self, context: Context) -> Wants:
        """Fail."""
        raise RecursionError(f"a text with data of {context.table}")


class _TooDeep(_Broken):
    def wants(self, context: Context) -> Wants:
        """Want what cannot be compiled."""
        number: Any = context.rows
        for _ in range(3000):
            number = number + 1
        return Wants({"deep": number})


@pytest.mark.parametrize("check", [_Broken(), _TooDeep()])
def test_an_internal_error_stays_with_its_check(check: Any) -> None:
    """A check that raises while it is planned or compiled is unknown(bug), and the others are evaluated."""
    spec = replace(SourceSpec("s", Path(), files="-"), files=None, frames={"t": pa.table({"a": [1, None]})})
    outcomes = _outcomes(spec, "t", bad=check, nulls=NotNull(columns=("a",)), once=Unique(columns=("a",)))
    assert outcomes["bad"].reason is UnknownReason.BUG
    assert "data" not in str(outcomes["bad"].message)
    assert (outcomes["nulls"].status, outcomes["once"].status) == (Status.FAIL, Status.PASS)
