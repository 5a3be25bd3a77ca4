"""`tablewatch plan`: what is proposed from the stored history, what is written, and what is refused."""

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.monitor.commands.terminal import NOW, Terminal

HOUR = timedelta(hours=1)
SPOILED = "UPDATE orders SET customer = NULL WHERE id = 1"
MENDED = "UPDATE orders SET customer = 'ann' WHERE id = 1"
SCHEDULES = {
    "    tier: gold\n": "    tier: gold\n    schedule: every 1h  # why\n",
    "    tier: silver\n": '    tier: silver\n    schedule: "cron: 0 6 * * *"\n',
    "    upstream: [refunds]\n": "    upstream: [refunds]\n    schedule: every 1h\n",
}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the first test leaves the hours, so that they are played once."""
    return tmp_path_factory.mktemp("story") / "played"


@pytest.fixture
def played(terminal: Terminal, story: Path) -> Terminal:
    """Return a terminal with nine hourly runs of two tables: a NULL from the fourth to the sixth."""
    if story.exists():
        shutil.copytree(story, terminal.folder, dirs_exist_ok=True)
    else:
        terminal.configure(**SCHEDULES)
        for hour, letter in enumerate("PPPFFFPPP"):
            terminal.sql(SPOILED if letter == "F" else MENDED)
            with terminal.at(NOW + hour * HOUR):
                terminal("check")
        shutil.copytree(terminal.folder, story)
    terminal.now = NOW + 9 * HOUR
    return terminal


def _lines(terminal: Terminal) -> list[str]:
    return (terminal.folder / "tablewatch.yaml").read_text(encoding="utf-8").splitlines()


def _table(value: Any, name: str) -> Any:
    return next(item for item in value["tables"] if item["table"] == name)


def test_the_published_shape(played: Terminal) -> None:
    """The JSON has both schedules of each table with their cost, the forecast, other budgets, and the replay."""
    value = played.json("plan", "--budget", "86400")
    assert value["schema"] == "tablewatch.plan/1"
    assert value["currency"] == "JPY"
    assert value["gap"] == 0
    orders = _table(value, "orders")
    assert (orders["faults"], orders["changed"]) == (1, True)
    assert orders["cost_per_hour"] == 102_000
    assert (orders["now"]["schedule"], orders["then"]["schedule"]) == ("every 1h", "every 5m")
    assert orders["now"]["ttd_h"]["expected"] == pytest.approx(0.5)
    assert orders["now"]["ttd_h"]["high"] == pytest.approx(1, rel=0.02)
    assert orders["now"]["cost_a_day"] == pytest.approx(orders["incidents_a_day"] * 0.5 * 102_000)
    assert orders["then"]["seconds_a_day"] == pytest.approx(12 * orders["now"]["seconds_a_day"])
    assert value["skipped"] == [{"table": "totals", "reason": "no check that Tablewatch runs"}]
    for part in (*value["now"].values(), *value["then"].values()):
        assert not isinstance(part, dict) or part["low"] <= part["expected"] <= part["high"]
    assert [item["budget"] for item in value["frontier"]] == ["half of now", "now", "double of now", "this budget"]
    assert value["replay"]["schema"] == "tablewatch.simulation/1"
    assert value["replay"]["then"]["low"]["undetected_h"] < value["replay"]["now"]["undetected_h"] == 1
    assert value["written"] == []


def test_the_budget_of_now_is_kept(played: Terminal) -> None:
    """Without --budget the runs cost at most what they cost now, and the downtime no more."""
    value = played.json("plan")
    weights = [sum(item[side]["seconds_a_day"] for item in value["tables"]) for side in ("now", "then")]
    costs = [sum(item[side]["cost_a_day"] for item in value["tables"]) for side in ("now", "then")]
    assert weights[1] <= weights[0] * (1 + 1e-9)
    assert weights[0] == pytest.approx(value["budget_seconds_a_day"])
    assert costs[1] <= costs[0]
    more = played.json("plan", "--budget", str(weights[0] * 1.5))
    assert _table(more, "refunds")["changed"], "it is checked once a day, and costs little to check more often"
    assert sum(item["then"]["cost_a_day"] for item in more["tables"]) < costs[0]


def test_without_write_the_change_is_only_shown(played: Terminal) -> None:
    """The diff has the lines of both schedules; the file stays as it is."""
    before = _lines(played)
    said = played("plan", "--budget", "86400")
    assert said.code == 0, said.err
    assert _lines(played) == before
    assert "-    schedule: every 1h  # why" in said.out.splitlines()
    assert "+    schedule: every 5m  # why" in said.out.splitlines()
    for text in ("add --write", "2 schedules to change", "last 28 days, replayed", "one more minute", "1 fault in"):
        assert text in said.out
    assert "totals: no check that Tablewatch runs" in said.out


def test_write_keeps_comments(played: Terminal) -> None:
    """Only the schedules change; the next plan of the same budget proposes nothing."""
    before = _lines(played)
    value = played.json("plan", "--budget", "86400", "--write")
    assert value["written"] == ["tablewatch.yaml"]
    changed = [pair for pair in zip(before, _lines(played), strict=True) if pair[0] != pair[1]]
    assert changed == [
        ("    schedule: every 1h  # why", "    schedule: every 5m  # why"),
        ('    schedule: "cron: 0 6 * * *"', "    schedule: every 5m"),
    ]
    again = played("plan", "--budget", "86400")
    assert "0 schedules to change" in again.out
    assert "---" not in again.out


def test_a_schedule_that_cannot_be_written_is_named(played: Terminal) -> None:
    """A schedule from a variable stays; the reason is shown, and the exit code is 2."""
    file = played.folder / "tablewatch.yaml"
    text = file.read_text(encoding="utf-8").replace("schedule: every 1h  # why", "schedule: ${EVERY:-every 1h}")
    file.write_text(text, encoding="utf-8")
    said = played("plan", "--budget", "86400", "--write", "--format", "json")
    assert said.code == 2
    assert [item["table"] for item in said.json["not_editable"]] == ["orders"]
    assert "change it by hand" in said.json["not_editable"][0]["reason"]
    assert file.read_text(encoding="utf-8") == text.replace('"cron: 0 6 * * *"', "every 5m")


def test_a_table_that_is_read_when_it_changes_is_left_out(played: Terminal) -> None:
    """What its runs cost does not follow from its schedule, which stays."""
    file = played.folder / "tablewatch.yaml"
    text = file.read_text(encoding="utf-8").replace("every 1h  # why", "every 1h when data changes")
    file.write_text(text, encoding="utf-8")
    value = played.json("plan", "--budget", "86400")
    assert {"table": "orders", "reason": "it is read when its data changes"} in value["skipped"]
    assert [item["table"] for item in value["tables"]] == ["refunds"]


def test_tables_are_chosen(played: Terminal) -> None:
    """Words choose the tables that are planned; the budget is theirs."""
    value = played.json("plan", "domain:sales")
    assert [item["table"] for item in value["tables"]] == ["orders"]
    assert value["budget_seconds_a_day"] == pytest.approx(_table(value, "orders")["now"]["seconds_a_day"])


def test_promises_and_rules_bound_the_menu(played: Terminal) -> None:
    """No schedule is longer than a promised time to detect or a rule allows, unless the present one is."""
    with (played.folder / "tablewatch.yaml").open("a", encoding="utf-8") as file:
        file.write("slo: {orders: {ttd: 2h}}\nrules: {often: {tables: [refunds], at_least_every: 6h}}\n")
    least = played.refused("plan", "--budget", "0")[0]["message"]
    assert "0 s a day is below the cost of the longest schedules of 2 tables" in least
    value = played.json("plan", "orders", "--budget", str(played.json("plan", "orders")["budget_seconds_a_day"] / 2))
    assert _table(value, "orders")["then"]["schedule"] == "every 2h"
    assert _table(played.json("plan", "refunds"), "refunds")["then"]["schedule"] == "cron: 0 6 * * *"


def test_without_prices_hours_are_planned(played: Terminal) -> None:
    """Where nothing has a price, undetected hours count; where only this table has none, its schedule stays."""
    file = played.folder / "tablewatch.yaml"
    text = file.read_text(encoding="utf-8")
    start, end = text.index("cost:\n"), text.index("tables:\n")
    file.write_text(text[:start] + text[end:], encoding="utf-8")
    value = played.json("plan", "--budget", "86400")
    assert value["currency"] is None
    orders = _table(value, "orders")
    assert orders["now"]["cost_a_day"] == pytest.approx(orders["incidents_a_day"] * 0.5)
    assert "hours of undetected downtime count" in played("plan").out
    file.write_text(f"{text[:start]}cost: {{tiers: {{gold: {{per_hour: 5}}}}}}\n{text[end:]}", encoding="utf-8")
    refunds = _table(played.json("plan", "--budget", "86400"), "refunds")
    assert (refunds["cost_per_hour"], refunds["changed"], refunds["now"]["cost_a_day"]) == (None, False, 0)
    assert "refunds: counts 0, and its schedule stays" in played("plan").out


def test_a_table_without_history_is_planned_by_the_others(played: Terminal) -> None:
    """A new table has the rate of its tier and the mean cost of a run; both are said."""
    file = played.folder / "tablewatch.yaml"
    new = "  - {name: new, source: shop, tier: gold, schedule: every 1h, checks: [{type: not_null, columns: [id]}]}\n"
    file.write_text(file.read_text(encoding="utf-8").replace("tables:\n", f"tables:\n{new}", 1), encoding="utf-8")
    value = played.json("plan")
    table = _table(value, "new")
    assert (table["faults"], table["days"], table["seconds_measured"]) == (0, 0, False)
    assert table["incidents_a_day"] > 0
    out = played("plan").out
    assert "new: as often as tables of its tier" in out
    assert "new: the mean seconds of a run of the others" in out


@pytest.mark.parametrize(
    ("words", "text", "code"),
    [
        ([], "none of the tables has both a schedule and checks", 2),
        (["--budget", "nan"], "'nan' is not", 2),
        (["--budget", "inf"], "'inf' is not", 2),
        (["nothing"], "no table or check matches", 5),
    ],
)
def test_nothing_to_plan_is_refused(terminal: Terminal, words: list[str], text: str, code: int) -> None:
    """Tables without schedules have none that could be changed."""
    assert text in terminal.refused("plan", *words, code=code)[0]["message"]


def test_without_runs_nothing_is_known(terminal: Terminal) -> None:
    """Before the first run neither the cost nor the rate is known, and nothing is guessed."""
    terminal.configure(**SCHEDULES)
    assert "no run is stored yet" in terminal.refused("plan")[0]["message"]
