"""Remedies side by side, on the release's own table: nothing leaves, nothing is charged, each row can be had again."""

import json
import os
import shlex
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from monitor.cli import run
from monitor.releases import compare as compare_module
from monitor.releases.compare import ReleaseComparison, RemedyTrial, compare
from monitor.releases.plan import kinds_of, plans_of
from monitor.terminal.output import Invocation
from tests.monitor.releases.desk import COLUMNS, Desk, people, rows_of

WIDE = {**COLUMNS, "born": "quasi-identifier", "town": "quasi-identifier"}


def _crowd() -> pd.DataFrame:
    """Return people in classes smaller than k: of forty years, in five towns."""
    frame = people(120)
    return frame.assign(
        born=[1950 + 7 * number % 40 for number in range(120)], town=[f"t{number % 5}" for number in range(120)]
    )


def _compared(desk: Desk, **words: Any) -> ReleaseComparison:
    with desk.decisions() as decisions:
        case = decisions.case
    return compare(case, plans_of(case, kinds_of(case)), done=lambda: None, **words)


def _named(found: ReleaseComparison) -> dict[str, RemedyTrial]:
    return {one.name: one for one in found.tried}


def test_every_printed_command_gives_its_row_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the release's limits, its hierarchies and the remedy's own words: as many records, the same groups."""
    monkeypatch.setattr(tempfile, "tempdir", str(desk.folder))
    desk.write(
        _crowd(),
        columns=WIDE,
        limits={"k": 4, "l": 2},
        hierarchies={"born": {"type": "intervals", "widths": [5, 20]}},
        remedies=[
            {"remedy": "generalise", "suppress": "10%"},
            {"remedy": "generalise", "id": "stricter", "k": 6, "suppress": 0.2},
            {"remedy": "generalise", "id": "mondrian", "search": "mondrian"},
            {"remedy": "microaggregate", "k": 12, "seed": 3, "kinds": {"sex": "nominal"}},
            {"remedy": "suppress", "cells": True, "weights": {"born": 2}},
        ],
    )
    found = _named(_compared(desk))
    assert [one.status for one in found.values() if one.name != "as-it-is"] == ["holds"] * 5, found
    for number, one in enumerate(found.values()):
        if one.command is None:
            assert one.name == "as-it-is"
            continue
        out = desk.folder / f"again{number}.csv"
        words = [str(out) if word == "OUT" else word for word in shlex.split(one.command)[1:]]
        assert run(["--config", str(desk.config), *words], Invocation()) == 0, one.command
        groups = Counter(rows_of(out, "SELECT born, sex, town FROM output"))
        assert (sum(groups.values()), min(groups.values())) == (one.records, one.reached["k"]), one.command
    assert not list(desk.folder.glob(".tablewatch-*"))


def test_a_default_set_is_tried(desk: Desk) -> None:
    """Where nothing is declared; what the table does not need is recommended: nothing."""
    found = _compared(desk)
    assert list(_named(found)) == ["as-it-is", "generalise", "mondrian", "microaggregate", "suppress"]
    assert (found.recommended, found.rows, found.rows_of_table) == ("as-it-is", 40, 40)
    with desk.decisions() as decisions, decisions.store.reading() as tx:
        assert not tx.release_events.matching("extract")


def test_a_sample_is_said_to_be_one(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a number that is asked for, and for a large table by itself."""
    desk.write(remedies=[{"remedy": "suppress"}])
    found = _compared(desk, sample=30)
    assert (found.rows, found.rows_of_table, _named(found)["as-it-is"].records) == (30, 40, 30)
    whole = _compared(desk, sample=36)  # of four groups of ten; what is not in it may be alone
    assert (whole.recommended, whole.reason) == ("as-it-is", "the sample meets every limit untreated")
    monkeypatch.setattr(compare_module, "MOST_ROWS", 25)
    assert (_compared(desk).rows, _compared(desk, sample=100).rows) == (25, 40)


def test_a_remedy_that_is_killed_is_one_row(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are tried all the same, and it is not recommended."""
    desk.write(remedies=[{"remedy": "suppress"}])
    monkeypatch.setattr(compare_module, "_try", _dies_of_suppress)
    found = _named(_compared(desk))
    assert (found["as-it-is"].status, found["suppress"].status) == ("not-tried", "crashed")
    assert "ended without an answer (exit status 3)" in str(found["suppress"].why)


def test_a_remedy_that_raises_is_one_row(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it raised is reported by its class: its text may hold data."""
    desk.write(remedies=[{"remedy": "suppress"}])
    monkeypatch.setattr(compare_module, "_try", _raises_at_suppress)
    found = _named(_compared(desk))
    assert (found["suppress"].status, found["suppress"].why) == (
        "crashed",
        "internal error (KeyError); please report it",
    )


def _raises_at_suppress(case: object, plan: Any, folder: Path, declared: object) -> RemedyTrial:
    del case, folder, declared
    if plan.name == "suppress":
        raise KeyError("a value")
    return RemedyTrial(plan.name, "table", "not-tried")


def _dies_of_suppress(case: object, plan: Any, folder: Path, declared: object) -> RemedyTrial:
    del case, folder, declared
    if plan.name == "suppress":
        os._exit(3)
    return RemedyTrial(plan.name, "table", "not-tried")


def test_the_copy_is_gone_whatever_happens(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lies in a folder of its owner only, and Ctrl-C removes it."""
    monkeypatch.setattr(tempfile, "tempdir", str(desk.folder))
    seen: list[int] = []

    def presses(*words: object, **more: object) -> None:
        del words, more
        (folder,) = desk.folder.glob(".tablewatch-*/draft/data.parquet")
        seen.append(folder.parent.stat().st_mode & 0o777)
        raise KeyboardInterrupt

    monkeypatch.setattr(compare_module, "call_each", presses)
    with pytest.raises(KeyboardInterrupt):
        _compared(desk)
    assert (seen, list(desk.folder.glob(".tablewatch-*"))) == ([0o700], [])


def test_answers_show_their_noise_and_cost_nothing(desk: Desk) -> None:
    """Randomised tables and answers beside the others: epsilon in the place of k; the budget is as it was."""
    desk.more = {
        "budgets": {"people": {"total": 3, "adjacency": "substitute", "domain": {"sex": {"values": ["F", "M"]}}}}
    }
    desk.write(
        limits={"k": 5, "epsilon": 1},
        remedies=[
            {"remedy": "randomise", "columns": ["sex"], "drop": "rest", "epsilon": 1},
            {"remedy": "randomise", "id": "half", "columns": ["sex"], "epsilon": 1},
            {"remedy": "answers", "statistic": "histogram", "by": ["sex"], "epsilon": 1},
            {"remedy": "synthesise", "epsilon": 1},
        ],
        analyses={"people": "SELECT count(*) AS people FROM data"},
    )
    found = _named(_compared(desk))
    made = found["synthesise"]
    assert (made.status, made.kind, made.epsilon, made.reached) == ("holds", "synthetic", "1", {})
    assert set(made.changes) == {"people"}
    assert (found["randomise"].status, found["randomise"].epsilon, found["randomise"].reached) == ("holds", "1", {})
    assert (found["half"].status, found["half"].epsilon) == ("refused", None)
    assert (found["answers"].status, found["answers"].epsilon) == ("answers", "1")
    assert found["answers"].noise
    with desk.decisions() as decisions:
        assert not decisions.case.project.ledger(decisions.store).balances()
    json.dumps([one.as_json() for one in found.values()])


def test_no_record_that_is_left_out_can_be_computed_from_what_is_compared(desk: Desk) -> None:
    """From the exact change of a sum its value follows; what is shown is a step, on which many values fall."""
    shown = []
    for value in (431_777, 431_212):
        frame = people(200).assign(salary=[value, *([500_000] * 199)], born=[1900, *([1970] * 199)])
        desk.write(
            frame,
            columns={**COLUMNS, "born": "quasi-identifier", "salary": "other"},
            limits={"k": 3},
            analyses={"total": "SELECT sum(salary) AS total, avg(salary) AS mean FROM data"},
            remedies=[{"remedy": "suppress"}],
        )
        way = _named(_compared(desk))["suppress"].as_json()
        assert (way["status"], way["suppressed"]) == ("holds", 1)
        figures = way["analyses"]["total"]["change"]["figures"]
        assert {figure["mean"] for figure in figures.values()} <= {0.0, *compare_module._STEPS}
        assert all(loss == int(loss) for loss in way["information_lost"].values())
        shown.append({name: way[name] for name in ("analyses", "information_lost", "reached")})
    assert shown[0] == shown[1]


def test_a_comparison_says_that_it_is_no_private_release(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """To people and to programs: it is computed from the protected table."""
    desk.write(people(), remedies=[{"remedy": "suppress"}])
    for words in ((), ("--format", "json")):
        run(["--config", str(desk.config), "release", "compare", "extract", *words], Invocation())
        assert compare_module.LABEL in capsys.readouterr().out


def test_the_store_keeps_the_last_comparison(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """What was printed, for the page of the release: without commands, and with the configuration it was made for."""
    desk.write(people(), remedies=[{"remedy": "suppress"}])
    printed = []
    for _ in range(2):
        run(["--config", str(desk.config), "release", "compare", "extract", "--format", "json"], Invocation())
        printed.append(json.loads(capsys.readouterr().out))
    with desk.decisions() as decisions, decisions.store.reading() as tx:
        stored = tx.release_events.comparison("extract")
        assert stored is not None
        assert stored.digest == decisions.case.digest
    assert stored.body["recommended"] == printed[-1]["recommended"]
    for kept, shown in zip(stored.body["remedies"], printed[-1]["remedies"], strict=True):
        assert "command" not in kept
        assert kept == {name: shown[name] for name in kept}


def test_a_file_in_which_all_is_erased_is_not_recommended(desk: Desk) -> None:
    """From a stated loss on, nothing is; the columns without a hierarchy are named with the YAML to add."""
    frame = people(60).assign(born=[1900 + number for number in range(60)], sex=[f"s{number}" for number in range(60)])
    desk.write(frame, remedies=[{"remedy": "generalise"}], hierarchies={"sex": {"type": "flat"}})
    with desk.decisions() as decisions:
        case = decisions.case
        found = compare(case, plans_of(case, kinds_of(case)), done=lambda: None)
    assert found.tried[1].status == "holds"
    assert found.recommended is None
    assert "what loses 80 % or more is not recommended" in found.reason
    assert "Without a hierarchy: born; begin with 'hierarchies: {born: {type: intervals, widths: [5, 10, 20]}}'" in (
        found.reason
    )
