"""`tablewatch privacy answer`."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from monitor.answers import ask
from monitor.terminal.problem import ExitCode
from tests.monitor.commands.protected import protect
from tests.monitor.commands.terminal import Terminal

_ROOT = Path(__file__).resolve().parents[3]
ASKED = (
    ("count", "customers", "--epsilon", "0.1"),
    ("count", "customers", "--by", "sex", "--epsilon", "0.1", "--where", "born >= 1960"),
    ("histogram", "customers", "--by", "sex,born", "--epsilon", "0.1"),
    ("sum", "customers", "amount", "--epsilon", "0.1", "--by", "sex"),
    ("mean", "customers", "amount", "--epsilon", "0.1"),
    ("quantile", "customers", "born", "--share", "0.9", "--step", "5", "--epsilon", "0.1"),
)


@pytest.fixture
def asked(terminal: Terminal) -> Terminal:
    """Return a terminal with a budget."""
    protect(terminal)
    terminal.json("privacy", "budget", "create", "customers")
    return terminal


def spent(terminal: Terminal) -> str:
    """Return what was spent."""
    return str(terminal.json("privacy", "budget", "show", "customers")["budgets"][0]["spent"])


@pytest.mark.parametrize("words", ASKED, ids=lambda words: words[0])
def test_every_statistic_is_answered(asked: Terminal, words: tuple[str, ...]) -> None:
    """Each gives its value or its cells, its noise and its cost; a dry run says the same noise and costs nothing."""
    planned = asked.json("privacy", "answer", *words, "--dry-run")
    assert (planned["cost"], planned["covered"], spent(asked)) == ("0.1", True, "0")
    result = asked.json("privacy", "answer", *words, "--request-id", "r1")
    assert result["answer"]["noise"] == planned["noise"]
    assert result["answer"]["not_covered"] == planned["not_covered"]
    shape = {"value", "noise", "not_covered"}
    with_count = {*shape, "count", "withheld_below"}
    assert set(result["answer"]) in (shape, with_count, {"groups", "noise", "not_covered"})
    assert (result["cost"], result["repeated"], spent(asked)) == ("0.1", False, "0.1")
    again = asked.json("privacy", "answer", *words, "--request-id", "r1")
    assert (again["answer"], again["repeated"], spent(asked)) == (result["answer"], True, "0.1")
    said = asked("privacy", "answer", *words, "--request-id", "r1")
    assert "already answered" in said.out
    assert "With 95% confidence" in said.out


def test_all_cells_are_given_whatever_occurs(asked: Terminal) -> None:
    """Every declared combination is a cell, and so is what is not declared; which of them are empty cannot be seen."""
    result = asked.json("privacy", "answer", "histogram", "customers", "--by", "sex,born", "--epsilon", "0.1")
    cells = [group["by"] for group in result["answer"]["groups"]]
    decades = [*range(1930, 2010, 10), None]
    assert cells == [{"sex": sex, "born": decade} for sex in ("F", "M", None) for decade in decades]
    assert "(other)" in asked("privacy", "answer", "histogram", "customers", "--by", "sex", "--epsilon", "0.1").out


@pytest.mark.parametrize(
    "epsilon", ["0", "-1", "nan", "inf", "-inf", "1e308", "1e0", "0.1234567891", "true", "", " 1", "+1"]
)
def test_an_epsilon_that_is_none_is_refused(asked: Terminal, epsilon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Epsilon is a decimal above 0 of at most nine places; all else is refused, nothing is spent, no data is read."""
    monkeypatch.setattr(ask, "open_source", None)
    asked.refused("privacy", "answer", "count", "customers", f"--epsilon={epsilon}")
    assert spent(asked) == "0"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("count", "customers"), "missing privacy cost of the answer"),
        (("count", "customers", "--epsilon", "1", "--rho", "1"), "one of 'epsilon' and 'rho'"),
        (("count", "customers", "--rho", "1"), "accounted in epsilon"),
        (("count", "customers", "--epsilon", "1", "--by", "sx"), "did you mean 'sex'?"),
        (("count", "customers", "--epsilon", "1", "--by", "amount"), "not cells"),
        (("count", "customers", "--epsilon", "1", "--by", "sex,sex"), "each column once"),
        (("sum", "customers", "sex", "--epsilon", "1"), "not limits"),
        (("count", "customers", "--epsilon", "1", "--where", "sex"), "a comparison such as"),
        (("count", "customers", "--epsilon", "1", "--where", "sex = X"), "no declared value"),
        (("count", "customers", "--epsilon", "1", "--where", "sex < F"), "equal (=) or not"),
        (("count", "customers", "--epsilon", "1", "--where", "1=1; DROP TABLE customers"), "no declared domain"),
        (("quantile", "customers", "amount", "--epsilon", "1", "--share", "1.5"), "expected at most 1"),
        (("quantile", "customers", "amount", "--epsilon", "1", "--step", "0.5"), "not a multiple of the grid"),
        (("count", "customers", "--epsilon", "1", "--request-id", ""), "the request id is not a name"),
    ],
)
def test_what_is_not_declared_is_refused_without_a_look(
    asked: Terminal, words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the declaration does not allow is refused in words, costs nothing, and no source is opened."""
    monkeypatch.setattr(ask, "open_source", None)
    (error,) = asked.refused("privacy", "answer", *words)
    assert message in error["message"]
    assert spent(asked) == "0"


def test_what_the_budget_does_not_cover_is_refused(asked: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without enough left, nothing is charged and no data is read; a dry run says so before."""
    assert not asked.json("privacy", "answer", "count", "customers", "--epsilon", "9.1", "--dry-run")["covered"]
    assert "would be rejected" in asked("privacy", "answer", "count", "customers", "--epsilon", "9.1", "--dry-run").out
    monkeypatch.setattr(ask, "open_source", None)
    (error,) = asked.refused("privacy", "answer", "count", "customers", "--epsilon", "9.1", code=ExitCode.FAILED)
    assert error["code"] == "answer.spent"
    assert "the data was not read" in error["message"]
    assert spent(asked) == "0"


def test_without_a_budget_nothing_is_answered(terminal: Terminal) -> None:
    """A budget that is declared, and not created, pays for nothing."""
    protect(terminal)
    (error,) = terminal.refused("privacy", "answer", "count", "customers", "--epsilon", "1")
    assert (error["code"], error["hint"]) == ("budget.not_created", "tablewatch privacy budget create TABLE")


def test_a_table_that_cannot_be_read_is_told_in_one_sentence(asked: Terminal) -> None:
    """What goes wrong after the charge is the same sentence for every reason, and stays charged."""
    result: list[Any] = []
    for broken in ("DROP TABLE customers", "CREATE TABLE customers (who TEXT)"):
        asked.sql(broken)
        (error,) = asked.refused(
            "privacy",
            "answer",
            "sum",
            "customers",
            "amount",
            "--epsilon",
            "1",
            "--request-id",
            "r",
            code=ExitCode.NOT_EVALUATED,
        )
        result.append(error)
    assert result[0] == result[1]
    assert result[0]["code"] == "answer.not_computed"
    assert "was charged" in result[0]["message"]
    assert spent(asked) == "2"


def test_answers_are_listed_for_nothing(asked: Terminal) -> None:
    """What was reported is reported again, newest first."""
    assert "no query has been answered yet" in asked("privacy", "answer", "list", "customers").out
    first = asked.json("privacy", "answer", "count", "customers", "--epsilon", "0.1", "--where", "sex = F")
    second = asked.json("privacy", "answer", "histogram", "customers", "--by", "sex", "--epsilon", "0.2")
    listed = asked.json("privacy", "answer", "list", "customers")["answers"]
    assert [one["answer"] for one in listed] == [second["answer"], first["answer"]]
    assert [(one["cost"], one["by"], one["request_id"]) for one in listed] == [
        ("0.2", "m.mori", second["request_id"]),
        ("0.1", "m.mori", first["request_id"]),
    ]
    assert listed[1]["request"]["where"] == ["sex = F"]
    assert len(asked.json("privacy", "answer", "list", "customers", "--limit", "1")["answers"]) == 1
    assert "count where sex = F" in asked("privacy", "answer", "list", "customers").out
    assert spent(asked) == "0.3"


def test_a_large_number_is_written_in_full(terminal: Terminal) -> None:
    """A person reads 12,345,678.5, and no exponent that leaves most of it out."""
    protect(terminal, ("amount: {low: 0, high: 100}", "amount: {low: 0, high: 100, grid: 0.5}"))
    terminal.json("privacy", "budget", "create", "customers")
    words = ("sum", "customers", "amount", "--epsilon", "0.0000001", "--request-id", "r1")
    value = terminal.json("privacy", "answer", *words)["answer"]["value"]
    assert f"{value:,.2f}".rstrip("0").rstrip(".") in terminal("privacy", "answer", *words).out.replace(".50", ".5")


def test_units_with_many_rows_are_asked_too(terminal: Terminal) -> None:
    """Where a person has many rows, the price is for all that count, and the sentence names the person."""
    protect(terminal, ("total: 9", "total: 9\n    unit: who\n    rows_per_unit: 3\n    adjacency: add-remove"))
    terminal.json("privacy", "budget", "create", "customers")
    result = terminal.json("privacy", "answer", "count", "customers", "--epsilon", "0.5")
    assert result["answer"]["noise"][0]["scale"] == "6"
    assert result["budget"]["sentence"].startswith("if all rows of one who were")


_CSV = """\
version: 1
project: p
storage: {url: "sqlite:///store.db"}
sources: {files: {files: "people.csv"}}
tables: [{name: people, source: files}]
budgets: {people: {total: 1000000, domain: {code: ["007", "008"]}}}
"""


@pytest.mark.parametrize("other", ["008", "unknown", "9e999", '"', ""])
def test_how_a_value_is_read_depends_on_no_other(terminal: Terminal, other: str) -> None:
    """A code 007 is the text 007, and not the number 7, whatever stands in other rows."""
    (terminal.folder / "tablewatch.yaml").write_text(_CSV, encoding="utf-8")
    (terminal.folder / "people.csv").write_text(f"who,code\nann,007\nbob,{other}\n", encoding="utf-8")
    terminal.json("privacy", "budget", "create", "people")
    result = terminal.json(
        "privacy", "answer", "histogram", "people", "--by", "code", "--epsilon", "500000"
    )  # noise of nothing
    bobs = 1 if other == "008" else 2
    assert [group["value"] for group in result["answer"]["groups"]] == [1, *(int(bobs == cell) for cell in (1, 2))]


def test_commands_at_once_spend_no_more_than_there_is(asked: Terminal) -> None:
    """Of five processes that ask at once for 4 of 9 each, two are answered; the others fail since it is spent."""
    words = [sys.executable, "-m", "monitor", "privacy", "answer", "count", "customers", "--epsilon", "4"]
    paths = {**os.environ, "PYTHONPATH": str(_ROOT)}
    crowd = [
        subprocess.Popen(words, cwd=asked.folder, env=paths, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(5)
    ]
    said = [one.communicate() for one in crowd]
    assert sorted(one.returncode for one in crowd) == [0, 0, 1, 1, 1], said
    assert spent(asked) == "8"
    assert len(asked.json("privacy", "answer", "list", "customers")["answers"]) == 2
    audit = asked.json("privacy", "budget", "verify")
    assert (audit["entries"], audit["flaws"]) == (2 + 2 + 2, [])  # budget and table; charges; answers


def test_a_mean_of_nobody_is_withheld(asked: Terminal) -> None:
    """Each mean comes with its noisy count; where noise alone would give such a count, there is no number to quote."""
    words = ("privacy", "answer", "mean", "customers", "amount", "--by", "sex,born", "--epsilon", "0.1")
    result = asked.json(*words, "--request-id", "r1")["answer"]
    least = result["withheld_below"]
    assert least == next(noise["within_95"] for noise in result["noise"] if noise["of"] == "count")
    assert [group["value"] is None for group in result["groups"]] == [
        group["count"] < least for group in result["groups"]
    ]
    said = asked(*words, "--request-id", "r1").out
    assert "withheld" in said
    assert f"The mean of fewer than {least} rows is suppressed" in said
    words = (
        "privacy",
        "answer",
        "mean",
        "customers",
        "amount",
        "--where",
        "sex = F",
        "--epsilon",
        "0.1",
        "--request-id",
        "r2",
    )
    result = asked.json(*words)["answer"]
    is_withheld = (
        result["count"] < result["withheld_below"]
    )  # one time in forty, noise of an empty cell is large enough
    assert (result["value"] is None) is is_withheld
    assert ("withheld" in asked(*words).out) is is_withheld
    assert asked("privacy", "answer", "list", "customers").code == 0
