"""`tablewatch privacy remedy lattice`: what levels there are to choose from; nothing is written."""

import json
import re
import signal
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from monitor.cli import run
from monitor.terminal.output import Invocation
from remedies.generalisation._walks import SearchProgress
from remedies.generalisation.choices import NodeMeasures
from tests.monitor.commands.test_remedy_generalise import COLUMNS, HIERARCHIES, people


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a table of people, and no configuration."""
    people().to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _said(*words: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["privacy", "remedy", "lattice", *words], Invocation()) == 0
    assert [path.name for path in Path().iterdir()] == ["people.csv"]
    return capsys.readouterr().out


def _value(*words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(_said("people.csv", *COLUMNS, *HIERARCHIES, *words, "--format", "json", capsys=capsys))


def _holds(levels: tuple[int, int, int], k: int) -> bool:
    """Return by DuckDB alone whether a node is k-anonymous."""
    age, zip_, sex = levels
    band = f"age // {(1, 5, 10, 20)[age]}" if age < 4 else "0"
    code = f"left(zip, {5 - zip_})" if zip_ < 6 else "''"  # NULL joins the others at the root alone
    columns = f"{band} AS a, {code} AS b, {'sex' if not sex else '0'} AS c, count(*) AS n"
    table = "read_csv('people.csv', types = {zip: 'VARCHAR'})"
    query = f"SELECT min(n) FROM (SELECT {columns} FROM {table} GROUP BY ALL)"
    return bool((duckdb.sql(query).fetchone() or (0,))[0] >= k)


def test_every_node_that_holds_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """`--all` lists what an independent GROUP BY finds of each node of the lattice, and marks the minimal ones."""
    value = _value("--all", "--k", "4", capsys=capsys)
    found = {tuple(one["levels"].values()): one["is_minimal"] for one in value["listed"]}
    held = {node for node in product(range(5), range(7), range(2)) if _holds(node, 4)}
    assert set(found) == held
    below = {
        node: any(other != node and all(a <= b for a, b in zip(other, node, strict=True)) for other in held)
        for node in held
    }
    assert {node for node, minimal in found.items() if minimal} == {node for node in held if not below[node]}
    assert (value["schema"], value["nodes"], value["holding"]) == ("tablewatch.lattice/1", 70, len(held))
    assert value["complete"] is True


@pytest.mark.parametrize("by", ["loss", "precision", "steps", "discernibility", "class-size", "entropy", "kl"])
def test_the_best_comes_first(by: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The list is sorted by the measure, and its first line is what `generalise` chooses by it."""
    value = _value("--all", "--k", "4", "--by", by, capsys=capsys)
    key = {
        "loss": lambda of: of["total"]["loss"],
        "precision": lambda of: -of["total"]["precision"],
        "steps": lambda of: of["total"]["steps"],
        "discernibility": lambda of: of["discernibility"],
        "class-size": lambda of: of["average_class_size"],
        "entropy": lambda of: of["total"]["entropy_bits"],
        "kl": lambda of: float(str(of["total"]["kl_nats"]).replace("infinite", "inf")),
    }[by]
    figures = [key(one["utilities"]) for one in value["listed"]]
    assert all(first <= second for first, second in pairwise(figures))
    words = ("people.csv", "safe.csv", *COLUMNS, *HIERARCHIES, "--k", "4", "--by", by, "--format", "json")
    assert run(["privacy", "remedy", "generalise", *words], Invocation()) == 0
    chosen = json.loads(capsys.readouterr().out)["bill"]["figures"]["utilities"]
    assert key(chosen) == pytest.approx(figures[0])


def test_people_see_a_short_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Levels stand in the order of the columns, the best as `generalise --levels` takes it; the rest is counted."""
    out = _said("people.csv", *COLUMNS, *HIERARCHIES, "--suppress", "5%", "--all", "--top", "2", capsys=capsys)
    first, second = [line for line in out.splitlines() if re.match("[0-9] [0-9] [0-9] ", line)]
    assert first.endswith(("yes", "no"))
    age, zip_, sex = first.split()[:3]
    assert f"  --levels age={age},zip={zip_},sex={sex}" in out.splitlines()
    assert first != second
    assert "combinations of levels meet the limits" in out
    assert "Levels of age, zip, sex:" in out
    assert " more: --top " in out


def test_a_table_of_which_nothing_holds(capsys: pytest.CaptureFixture[str]) -> None:
    """An empty list is an answer, with what to do."""
    pd.DataFrame({"age": range(4)}).to_csv("people.csv", index=False)
    Path("age.yaml").write_text("{type: intervals, widths: [2], root: null}", encoding="utf-8")
    assert (
        run(
            ["privacy", "remedy", "lattice", "people.csv", "-q", "age", "--hierarchy", "age=age.yaml", "--k", "3"],
            Invocation(),
        )
        == 0
    )
    assert capsys.readouterr().out.startswith("0 of 2 combinations of levels meet the limits")


@pytest.mark.parametrize("after", [0, 3], ids=["while it looks", "while it measures"])
def test_ctrl_c_shows_what_was_found_to_who_has_set_a_budget(
    after: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first one ends the search, or the measuring: what was found is listed, and said not to be all."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs this in the background has none
    measured = NodeMeasures.of
    seen: list[Any] = []

    def pressed(course: SearchProgress, done: float) -> None:
        if not after:
            signal.raise_signal(signal.SIGINT)
        result(course, done)

    def measure(measures: NodeMeasures, one: Any) -> Any:
        seen.append(one)
        if len(seen) == after:
            signal.raise_signal(signal.SIGINT)
        return measured(measures, one)

    result = SearchProgress.tell
    monkeypatch.setattr(SearchProgress, "tell", pressed)
    monkeypatch.setattr(NodeMeasures, "of", measure)
    value = _value("--k", "4", "--all", "--budget", "1h", capsys=capsys)
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler
    assert value["complete"] is False
    assert len(value["listed"]) == (after or value["holding"])


def test_idle_levels_come_last(capsys: pytest.CaptureFixture[str]) -> None:
    """Of nodes that lose the same, those with the fewest steps come first."""
    listed = _value("--k", "4", "--all", "--by", "discernibility", capsys=capsys)["listed"]
    order = [(one["utilities"]["discernibility"], sum(one["levels"].values())) for one in listed]
    assert order == sorted(order)
    assert len({first for first, _ in order}) < len(order)
