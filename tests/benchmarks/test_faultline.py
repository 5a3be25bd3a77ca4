"""Faultline in small: injections are the same every time and change the table; what must find them does."""

from pathlib import Path

import duckdb
import pytest

from benchmarks.faultline.faults import RUNS, Injection, draw, kinds, state_sql, write_state
from benchmarks.faultline.histories import read_histories
from benchmarks.faultline.knowledge import learn_by_hand
from benchmarks.faultline.ours import by_hand_text, init_text, run_ours
from benchmarks.faultline.scores import Outcomes, Verdict, by_history, missed_hours, share

pytestmark = pytest.mark.reference_data
SMALL = ("sakila_by_day", "beers_by_batch", "flights_by_batch")
CERTAIN = {"duplicated keys", "orphans", "repeated load", "type change"}
"""What rules without a threshold find: the key, the reference and the schema."""


def test_a_share_has_the_interval_of_wilson() -> None:
    """10 of 100 is 5.5 to 17.4 %; of none, nothing is known."""
    estimate = share(10, 100)
    assert (round(estimate.value, 1), round(estimate.low, 1), round(estimate.high, 1)) == (10.0, 5.5, 17.4)
    assert (share(0, 0).low, share(0, 0).high) == (0.0, 100.0)
    assert share(0, 50).low == 0.0
    assert share(50, 50).high == 100.0


def test_an_interval_over_histories_has_the_figure_in_it() -> None:
    """Equal histories have no width; others have."""
    assert by_history(["a", "b"], lambda _: 2.0).text() == "2.0 (2.0 to 2.0)"
    values = {"a": 1.0, "b": 2.0, "c": 6.0}
    estimate = by_history(list(values), lambda names: sum(values[name] for name in names) / len(names))
    assert estimate.low < estimate.value == 3.0 < estimate.high


def test_outcomes_survive_their_file() -> None:
    """What is kept of a history is read again as it was, and counts the begins of alarms."""
    clean = {3: Verdict(frozenset()), 4: Verdict(frozenset({"a", "b"})), 5: Verdict(frozenset({"b"}))}
    outcomes = Outcomes({**clean, 6: Verdict(frozenset({"a", "b"}))}, {0: None, 7: 2}, 9, 1.5, 20)
    assert Outcomes.of_json(outcomes.as_json()) == outcomes  # type: ignore[arg-type]
    assert outcomes.episodes == 3


def test_a_seed_is_an_injection_that_changes_the_table(reference_data: Path, tmp_path: Path) -> None:
    """The kinds come in turn, the same every time; the state differs from the clean one of the same run."""
    histories = read_histories(reference_data, SMALL)
    injections = [draw(seed, histories) for seed in range(len(kinds()))]
    assert injections == [draw(seed, histories) for seed in range(len(kinds()))]
    assert [injection.kind for injection in injections] == list(kinds())
    for injection in injections:
        history = next(history for history in histories if history.name == injection.history)
        assert history.warm <= injection.load <= history.runs - RUNS
        states = []
        for number, each in enumerate((None, injection)):
            folder = tmp_path / f"{injection.seed}-{number}"
            folder.mkdir()
            write_state(history, injection.load, each, folder)
            tables = sorted(folder.glob("*.parquet"))
            states.append([duckdb.read_parquet(str(table)).fetchall() for table in tables])
        assert states[0] != states[1], injection


def test_a_share_of_a_load_is_struck(reference_data: Path) -> None:
    """A severity of one half doubles 13 of the 25 rows of each load from the first on, and none before."""
    (history,) = read_histories(reference_data, ["beers_by_batch"])
    injection = Injection(1, history.name, "duplicated keys", 80, 0.5, "", 0)
    twice = (
        f"SELECT min(loaded_at) AS came, count(*) - 1 AS again FROM ({state_sql(history, 81, injection)}) GROUP BY id"
    )
    found = history.connection.execute(f"SELECT sum(again), min(came) FROM ({twice}) WHERE again > 0").fetchone()
    assert found is not None
    assert found == (26, history.loaded_at(80).replace(tzinfo=None))


def test_hours_are_counted_from_the_load_to_the_run_that_finds(reference_data: Path) -> None:
    """A day's load that the second run finds was wrong for a day and half an hour; one that none finds, for a week."""
    (history,) = read_histories(reference_data, ["flights_by_batch"])
    injection = Injection(1, history.name, "NULLs", 80, 0.5, "src", 0)
    assert missed_hours(history, injection, 2) == 24.5
    assert missed_hours(history, injection, None) == 168


def test_init_alone_finds_keys_that_are_there_twice(reference_data: Path, tmp_path: Path) -> None:
    """A first configuration finds a duplicated key, and has no alarm on the clean table; a rerun finds the same."""
    (history,) = read_histories(reference_data, ["flights_by_batch"])
    injections = [Injection(seed, history.name, "duplicated keys", 70 + seed, 0.1, "", 0) for seed in (1, 2)]
    text = init_text(history, tmp_path / "init", with_suggestions=False)
    outcomes = run_ours(history, text, injections, tmp_path / "ours")
    assert outcomes.found == {1: 1, 2: 1}
    assert outcomes.episodes == 0
    assert outcomes.states == len(outcomes.clean) + 2
    again = run_ours(history, text, injections, tmp_path / "again")
    assert (again.found, again.clean) == (outcomes.found, outcomes.clean)


@pytest.mark.timeout(1200)  # seconds of a machine with other work; it takes 20 of a processor
@pytest.mark.parametrize("name", SMALL)
def test_two_hundred_injections(name: str, reference_data: Path, tmp_path: Path) -> None:
    """By hand, all faults are found that break a rule without a threshold, at the first run; each history its part."""
    histories = read_histories(reference_data, SMALL)
    injections = [each for each in (draw(seed, histories) for seed in range(200)) if each.history == name]
    history = next(history for history in histories if history.name == name)
    outcomes = run_ours(history, by_hand_text(learn_by_hand(history)), injections, tmp_path / "ours")
    assert outcomes.found.keys() == {injection.seed for injection in injections}
    certain = [injection for injection in injections if injection.kind in CERTAIN]
    assert certain
    assert {injection for injection in certain if outcomes.found[injection.seed] != 1} == set()
