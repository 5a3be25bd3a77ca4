"""What the keys of budgets and their statistics change: the noise of an answer, and the statement that is asked."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import ibis

from monitor.config import Budget
from remedies import Misfit
from tests.monitor.config.effects.effect import ABSENT, Effect
from tests.monitor.config.effects.folder import nested

_TABLE: Final = ibis.table(
    {"who": "string", "other": "string", "sex": "string", "age": "int64", "amount": "float64"}, name="people"
)
_SUM: Final = {"schedule": "every 7d", "statistic": "sum", "column": "amount", "epsilon": "0.1"}
BASE: Final[Mapping[str, Any]] = {
    "total": "1",
    "domain": {
        "sex": {"values": ["F", "M"]},
        "age": {"range": [0, 99], "width": 20},
        "amount": {"low": 0, "high": 100},
    },
    "statistics": {"s": _SUM},
}


def answered(config: Mapping[str, Any]) -> object:
    """Return the noise of the statistic, its accuracy, its cost, and the statement that is put to the engine."""
    budget = Budget.model_validate(config)
    statistic = budget.statistics["s"].ask
    try:
        asked = statistic.statement(_TABLE, "duckdb", budget.terms, key="key")
    except Misfit as error:
        return str(error)
    noises = [str(noise) for noise in statistic.noises(budget.terms)]
    price = statistic.nano(budget.accounting)
    return (
        noises,
        statistic.accuracy(budget.terms),
        price,
        str(ibis.to_sql(asked, dialect="duckdb")),
        statistic.not_covered(budget.terms),
    )


def chosen(config: Mapping[str, Any]) -> object:
    """Return the quantile of ten thousand rows, at a price at which its noise moves it by no candidate."""
    budget = Budget.model_validate(config)
    statistic = budget.statistics["s"].ask
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE people AS SELECT (range % 100)::DOUBLE AS amount FROM range(10000)")
    asked = statistic.statement(connection.table("people"), "duckdb", budget.terms, key="key")
    rows = connection.to_pyarrow(asked).to_pylist()
    connection.disconnect()
    return statistic.answer(rows, budget.terms)["value"]


def ledger(config: Mapping[str, Any]) -> object:
    """Return the budget as the ledger keeps it."""
    try:
        return Budget.model_validate(config).in_ledger("people")
    except ValueError as error:
        return str(error)


def _with(**words: Any) -> Mapping[str, Any]:
    return {**BASE, "statistics": {"s": {"schedule": "every 7d", "epsilon": "0.1", **words}}}


def _of_statistics() -> Iterator[Effect]:
    for section, base in (
        ("Count", _with(statistic="count")),
        ("Histogram", _with(statistic="histogram", by=["sex"])),
        ("Sum", _with(statistic="sum", column="amount")),
        ("Mean", _with(statistic="mean", column="amount")),
        ("Quantile", _with(statistic="quantile", column="amount")),
    ):
        path = ("statistics", "s")
        yield Effect(f"{section}.where", base, ([], ["age >= 20"]), answered, (*path, "where"))
        yield Effect(f"{section}.epsilon", base, ("0.1", "0.2"), answered, (*path, "epsilon"))
        words = {name: value for name, value in base["statistics"]["s"].items() if name != "epsilon"}
        in_rho = {**base, "accounting": "zcdp", "delta": "1e-6", "statistics": {"s": words}}
        yield Effect(f"{section}.rho", in_rho, ("0.1", "0.2"), answered, (*path, "rho"))
        if section == "Histogram":
            yield Effect("Histogram.by", base, (["sex"], ["age"]), answered, (*path, "by"))
        if section in ("Sum", "Mean"):
            yield Effect(f"{section}.by", base, ([], ["sex"]), answered, (*path, "by"))
        if section in ("Sum", "Mean", "Quantile"):
            wider = {**base, "domain": {**base["domain"], "age": {"low": 0, "high": 9}}}
            yield Effect(f"{section}.column", wider, ("amount", "age"), answered, (*path, "column"))
        if section == "Quantile":
            at_any_price = nested(base, *path, epsilon="1000")
            yield Effect("Quantile.share", at_any_price, ("0.5", "0.9"), chosen, (*path, "share"))
            yield Effect("Quantile.step", base, ("1", "10"), answered, (*path, "step"))


def entries() -> Iterator[Effect]:
    """Yield an entry for each key."""
    shared = {**BASE, "unit": "who"}
    for key, base, first, second, observe in (
        ("unit", BASE, ABSENT, "who", answered),
        ("rows_per_unit", shared, 1, 5, answered),
        ("pairs", {**BASE, "unit": ["who", "other"]}, ABSENT, ["who", "other"], answered),
        (
            "adjacency",
            {**_with(statistic="histogram", by=["sex"]), "unit": "who"},
            "substitute",
            "add-remove",
            answered,
        ),
        ("domain", BASE, BASE["domain"], {"amount": {"low": 0, "high": 9}}, answered),
        ("total", BASE, "1", "2", ledger),
        ("accounting", {**BASE, "statistics": {}, "delta": "1e-6"}, "zcdp", "pure", ledger),
        ("delta", {**BASE, "statistics": {}, "accounting": "zcdp"}, "1e-6", "1e-9", ledger),
    ):
        yield Effect(f"Budget.{key}", base, (first, second), observe)
    for section, column, keys in (
        ("SteppedColumn", "age", {"range": ([0, 99], [0, 49]), "width": (20, 10), "other": (ABSENT, 0)}),
        (
            "BoundedColumn",
            "amount",
            {"low": (0, -100), "high": (100, 10), "grid": (1, "0.1"), "missing": (ABSENT, 50)},
        ),
        ("CategoryColumn", "sex", {"values": (["F", "M"], ["F", "M", "X"]), "other": (ABSENT, "F")}),
    ):
        by = (
            _with(statistic="sum", column="amount") if column == "amount" else _with(statistic="histogram", by=[column])
        )
        for key, values in keys.items():
            yield Effect(f"{section}.{key}", by, values, answered, ("domain", column, key))
    yield from _of_statistics()
