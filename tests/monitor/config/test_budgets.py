"""Budgets of noisy answers, as they are declared."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from monitor.config import Config, ConfigError, load
from monitor.config.schema import json_schema

_TEXT = """
version: 1
project: p
sources: {lake: {files: "*.csv"}}
tables:
  - {name: people, source: lake}
  - {name: payments, source: lake}
  - {name: persons, source: lake, table: people}
budgets:
  people:
    total: 9
    unit: who
    rows_per_unit: 3
    adjacency: add-remove
    domain:
      sex: [F, M]
      city: {values: [Tokyo, Osaka], other: Osaka}
      member: [true, false]
      born: {range: [1930, 2009], width: 10, other: 1970}
      amount: {low: 0, high: 100, grid: 0.01, missing: 1}
    statistics:
      by-sex: {schedule: every 7d, statistic: histogram, by: [sex], epsilon: 0.1, where: [born >= 1980]}
      middle: {schedule: "cron: 0 6 * * mon", statistic: quantile, column: amount, share: 0.5, epsilon: "0.1"}
  payments:
    total: "0.5"
    accounting: zcdp
    delta: 1e-6
    unit: [payer, payee]
    pairs: [payer, payee]
"""


def _load(tmp_path: Path, text: str = _TEXT) -> Config:
    (tmp_path / "tablewatch.yaml").write_text(text, encoding="utf-8")
    return load(tmp_path / "tablewatch.yaml").config


def test_what_is_declared_is_what_is_read(tmp_path: Path) -> None:
    """Units, cells, limits and scheduled queries are there as they were written."""
    budgets = _load(tmp_path).budgets
    people = budgets["people"]
    assert (people.unit_name, people.rows_per_unit, people.adjacency) == ("who", 3, "add-remove")
    assert (people.in_ledger("people").total, budgets["payments"].in_ledger("payments").total) == (9 * 10**9, 5 * 10**8)
    assert people.cells("born").cells == 8
    assert (people.cells("city").rest, people.cells("sex").rest) == (1, 2)
    assert (people.limits("amount").high_units, people.limits("amount").missing_units) == (10_000, 100)
    assert people.statistics["by-sex"].ask.statistic == "histogram"
    assert budgets["payments"].unit_name == "pair of payee, payer"


def test_editors_accept_what_is_accepted(tmp_path: Path) -> None:
    """The JSON Schema for editors takes budgets in the short forms that people write, and refuses wrong words."""
    _load(tmp_path)
    value: Any = yaml.safe_load(_TEXT)
    checker = jsonschema.Draft202012Validator(json_schema())
    assert [error.message for error in checker.iter_errors(value)] == []
    value["budgets"]["people"]["statistics"]["by-sex"]["column"] = "sex"
    assert list(checker.iter_errors(value))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("total: 9", "total: 0", "expected a decimal above 0"),
        ("total: 9", "total: true", "expected a decimal above 0"),
        ("total: 9", "total: 1e308", "expected a decimal above 0"),
        ("total: 9", "total: .inf", "expected a decimal above 0"),
        ("    delta: 1e-6\n", "", "'delta' goes with 'accounting: zcdp'"),
        ("delta: 1e-6", "delta: 2", "less than 1"),
        ("    accounting: zcdp\n", "", "'delta' goes with 'accounting: zcdp'"),
        ("    unit: who\n", "", "'rows_per_unit' goes with 'unit'"),
        ("unit: who", "unit: [row]", "'unit' cannot be a column named 'row'"),
        ("unit: who", 'unit: ["a,b"]', "with a comma in its name"),
        ("unit: who", "unit: [who, who]", "name each column once"),
        ("rows_per_unit: 3", "rows_per_unit: 0", "takes at least 1, not 0"),
        ("rows_per_unit: 3", "rows_per_unit: 1000001", "takes at most 1000000"),
        ("unit: [payer, payee]", "unit: payer", "does not bound what it can change"),
        ("pairs: [payer, payee]", "pairs: [payer, payer]", "name each column once"),
        ("sex: [F, M]", "sex: []", "at least 1 of them"),
        ("sex: [F, M]", "sex: [F, 1]", "are of one kind"),
        ("sex: [F, M]", "sex: [F, F]", "names a value twice"),
        ("sex: [F, M]", "sex: [9007199254740993, 1]", "put such numbers in quotes"),
        ("other: Osaka", "other: Kyoto", "'other' is not one of 'values'"),
        ("[1930, 2009]", "[2009, 1930]", "a smaller and a larger number"),
        ("[1930, 2009], width: 10", "[0, 2009000000], width: 1", "at most 100,000 cells"),
        ("other: 1970", "other: 2010", "'other' is not within 'range'"),
        ("low: 0, high: 100, grid: 0.01", "low: 100, high: 100, grid: 0.01", "'low' is not below 'high'"),
        ("high: 100, grid: 0.01", "high: 100.005, grid: 0.01", "'high' is not a multiple of 'grid'"),
        ("grid: 0.01", "grid: 1e-9", "'grid' is too fine"),
        ("grid: 0.01", "grid: 0", "takes more than 0"),
        ("grid: 0.01", 'grid: "1e-400"', "'grid' is not between"),
        ("high: 100,", "high: .nan,", "takes a number"),
        ("missing: 1", "missing: 101", "'missing' is not within the limits"),
        ("by: [sex]", "by: [size]", "column 'size' has no declared domain"),
        ("by: [sex]", "by: [amount]", "not cells"),
        ("column: amount", "column: sex", "not limits"),
        ("where: [born >= 1980]", "where: [born]", "a comparison such as"),
        ("share: 0.5", "share: 1.5", "takes at most 1"),
        ("epsilon: 0.1, where", "rho: 0.1, where", "the budget is accounted in epsilon"),
        ("  people:\n    total", "  peeple:\n    total", "people"),
        ("  payments:\n    total", "  persons:\n    total: 1\n  payments:\n    total", "are the same table"),
    ],
)
def test_what_makes_no_sense_is_told_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    """Each mistake in a declaration is found when the configuration is read, and reported at its line."""
    assert old in _TEXT
    with pytest.raises(ConfigError) as caught:
        _load(tmp_path, _TEXT.replace(old, new))
    assert any(said in f"{problem.message} {problem.hint}" for problem in caught.value.problems), caught.value.problems
    assert all(problem.line for problem in caught.value.problems)


@pytest.mark.parametrize("form", ["{min: 0, max: 9}", "{}", "7", "F, M", "null"])
def test_a_domain_in_no_known_form_is_told_all_forms(tmp_path: Path, form: str) -> None:
    """An unknown key of a domain lists the three valid ones, once."""
    with pytest.raises(ConfigError) as caught:
        _load(
            tmp_path,
            _TEXT.replace("{low: 0, high: 100, grid: 0.01, missing: 1}", f"{form!r}" if ", M" in form else form),
        )
    (problem,) = caught.value.problems
    assert problem.message.startswith("'amount' takes values such as [F, M]")
    assert "limits such as {low: 0, high: 1000, grid: 0.01}" in problem.message
