"""What costs epsilon: refused where it costs too much, charged where a budget is declared, added up where none is."""

from pathlib import Path
from typing import Any

import pytest

from monitor.answers.data_set import DataSet
from monitor.releases import gate
from monitor.terminal.problem import Stop
from tests.monitor.releases.desk import COLUMNS, Desk, people, rows_of

RANDOMISE: dict[str, Any] = {
    "remedy": "randomise",
    "drop": "rest",
    "domain": {"sex": {"values": ["F", "M"]}},
    "epsilon": 1,
}
BUDGET: dict[str, Any] = {"total": 2, "adjacency": "substitute", "domain": {"sex": {"values": ["F", "M"]}}}


def _budgeted(desk: Desk, **more: Any) -> Desk:
    desk.more = {"budgets": {"people": {**BUDGET, **more}}}
    return desk


def _spent(desk: Desk) -> int:
    """Return the nano-epsilon that were charged; the budget is made where it is not there yet."""
    with desk.decisions() as decisions:
        project = decisions.case.project
        ledger, data_set = project.ledger(decisions.store), DataSet.of(project, "people")
        found = ledger.balances("people") or [ledger.create(data_set.budget, actor="desk", now=project.clock.now())]
        return int(found[0].spent)


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_a_randomised_table_leaves_by_its_mechanism(desk: Desk, end: str) -> None:
    """Its epsilon is on record, its k is not: counting rows alike proves nothing of it."""
    found = desk.given_out(f"out.{end}", remedy="randomise", limits={"epsilon": 1}, remedies=[RANDOMISE])
    assert (found.event.body["epsilon"], found.event.body["columns"]) == ("1", ["sex"])
    assert "k" not in found.event.body["reached"]  # type: ignore[operator] # a mapping
    assert {row[0] for row in rows_of(desk.folder / f"out.{end}")} <= {"F", "M"}


@pytest.mark.parametrize(
    ("limits", "words", "said"),
    [
        ({"epsilon": 0.5}, {}, "costs epsilon 1; the release allows 0.5"),
        ({"epsilon": 1}, {"drop": []}, "no epsilon is guaranteed: not randomised: born, ill"),
    ],
)
def test_what_costs_more_is_refused_before_it_is_charged(
    desk: Desk, limits: dict[str, float], words: dict[str, Any], said: str
) -> None:
    """Nothing is spent on what could never leave."""
    _budgeted(desk).write(limits=limits, remedies=[{**RANDOMISE, **words}])
    assert _spent(desk) == 0
    desk.approve("randomise")
    with pytest.raises(Stop, match=said):
        desk.export(remedy="randomise")
    assert _spent(desk) == 0


def test_no_limit_on_epsilon_cannot_be_approved(desk: Desk) -> None:
    """There would be nothing to judge by."""
    desk.write(remedies=[RANDOMISE])
    with pytest.raises(Stop, match="has no limit on epsilon"):
        desk.approve("randomise")


def test_each_export_is_charged_to_the_budget(desk: Desk) -> None:
    """Until it is used up."""
    _budgeted(desk).write(limits={"epsilon": 1}, remedies=[RANDOMISE])
    assert _spent(desk) == 0
    desk.approve("randomise")
    for number in (1, 2):
        desk.export(f"out{number}.csv", remedy="randomise")
        assert _spent(desk) == number * 10**9
    with pytest.raises(Stop):
        desk.export("out3.csv", remedy="randomise")
    assert not Path(desk.folder / "out3.csv").exists()


@pytest.mark.parametrize(("rows", "leaves"), [(1, False), (2, True)])
def test_the_epsilon_of_a_person_is_that_of_all_rows(desk: Desk, rows: int, leaves: bool) -> None:
    """Who has two rows is not protected by the price of one."""
    frame = people().assign(id=[f"p{number // 2}" for number in range(40)])
    recipe = {**RANDOMISE, "rows_per_unit": rows}
    desk.write(frame, limits={"epsilon": 1}, person_key="id", remedies=[recipe]).approve("randomise")
    if leaves:
        assert desk.export(remedy="randomise").event.body["epsilon"] == "1"
        return
    with pytest.raises(Stop, match="a person has more rows than the maximum of 1 that 'randomise' assumes"):
        desk.export(remedy="randomise")
    assert "out.parquet" not in desk.files()


def test_two_randomised_exports_at_once_add_up(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who ends second has not seen what the first cost when it began."""
    desk.write(limits={"epsilon": 1.5}, remedies=[RANDOMISE]).approve("randomise")
    check = gate.ExportPermission.check_again
    ended: list[int] = []

    def another_ends(passed: gate.ExportPermission) -> None:
        if not ended:
            ended.append(1)
            desk.export("first.csv", remedy="randomise")
        check(passed)

    monkeypatch.setattr(gate.ExportPermission, "check_again", another_ends)
    with pytest.raises(Stop, match="cost epsilon 1 already"):
        desk.export("second.csv", remedy="randomise")
    assert desk.files() == ["first.csv", "people.parquet", "tablewatch.yaml"]


def test_a_budget_under_another_name_of_the_table_is_not_passed_by(desk: Desk) -> None:
    """Nothing would be charged for answers about the same people."""
    _budgeted(desk)
    twin = {"table": "twin", "columns": COLUMNS, "limits": {"epsilon": 1}, "remedies": [RANDOMISE]}
    desk.more |= {"tables": [{"name": name, "source": "lake", "table": "people"} for name in ("people", "twin")]}
    desk.more["releases"] = {"other": twin}
    desk.write().approve("randomise", name="other")
    with pytest.raises(Stop, match="the budget of 'twin' is declared of 'people', which is the same table"):
        desk.export(remedy="randomise", name="other")
    assert desk.files() == ["people.parquet", "tablewatch.yaml"]


def test_without_a_budget_the_exports_of_a_table_add_up(desk: Desk) -> None:
    """Noise that is drawn again and again averages out, under whichever release."""
    desk.write(limits={"epsilon": 1.5}, remedies=[RANDOMISE]).approve("randomise")
    desk.export("out1.csv", remedy="randomise")
    with pytest.raises(Stop, match="earlier exports of the table cost epsilon 1 already"):
        desk.export("out2.csv", remedy="randomise")
    desk.more["releases"] = {"other": dict(desk.release)}
    desk.write().approve("randomise", name="other")
    with pytest.raises(Stop, match="earlier exports of the table cost epsilon 1 already"):
        desk.export("out2.csv", remedy="randomise", name="other")
    desk.write(re_release="warn").approve("randomise")
    desk.export("out2.csv", remedy="randomise")


def test_rows_of_whom_the_budget_protects_are_counted(desk: Desk) -> None:
    """The price is for all rows of a person, where the release names the same column as the budget."""
    _budgeted(desk, unit="id")
    desk.write(limits={"epsilon": 1}, person_key="id", remedies=[RANDOMISE])
    assert _spent(desk) == 0
    desk.approve("randomise")
    desk.export("out1.csv", remedy="randomise")
    assert _spent(desk) == 10**9
    twice = people().assign(id=[f"p{number // 2}" for number in range(40)])
    desk.write(twice, limits={"epsilon": 1}, person_key="id", remedies=[RANDOMISE]).approve("randomise")
    with pytest.raises(Stop, match="a person has more rows than the maximum of 1"):
        desk.export("out2.csv", remedy="randomise")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"adjacency": "add-remove"}, "reveals the number of rows"),
        ({"unit": "id", "rows_per_unit": 3}, "up to 3 rows by the budget, and 'randomise' assumes 1"),
        ({"unit": "id"}, "limits the rows per id"),
    ],
)
def test_a_budget_of_another_unit_is_not_charged(desk: Desk, more: dict[str, Any], said: str) -> None:
    """Its epsilon and that of the table would be of different things."""
    _budgeted(desk, **more).write(limits={"epsilon": 1}, remedies=[RANDOMISE])
    assert _spent(desk) == 0
    desk.approve("randomise")
    with pytest.raises(Stop, match=said):
        desk.export(remedy="randomise")
    assert _spent(desk) == 0


def test_answers_leave_as_a_table_and_are_charged(desk: Desk) -> None:
    """Each cell with its noise; the ledger has it on record."""
    answers = {"remedy": "answers", "statistic": "histogram", "by": ["sex"], "epsilon": 1}
    _budgeted(desk).write(limits={"epsilon": 1}, remedies=[answers])
    assert _spent(desk) == 0
    desk.approve("answers")
    found = desk.export("out.csv", remedy="answers")
    assert _spent(desk) == 10**9
    assert found.event.body["kind"] == "answers"
    assert sorted(row[0] for row in rows_of(desk.folder / "out.csv")) == ["(other)", "F", "M"]


def test_records_are_not_compared_with_what_has_no_records(desk: Desk) -> None:
    """A randomised table before failed an export of records, with or without a person key."""
    desk.write(limits={"epsilon": 1, "k": 5}, remedies=[RANDOMISE]).approve("randomise")
    desk.export("noise.csv", remedy="randomise")
    desk.approve()
    assert desk.export("records.csv").event.body["earlier"] is None


def test_the_least_epsilon_that_an_export_was_limited_to_holds_for_all(desk: Desk) -> None:
    """A looser release of the same table is not a way around; one that only warns has its own limit."""
    desk.given_out("a.parquet", remedy="randomise", limits={"epsilon": 1}, remedies=[RANDOMISE])
    for text in ("earlier exports of the table cost epsilon 1 already, and the total limit is 1", "allows 1"):
        with pytest.raises(Stop, match=text):
            desk.given_out("b.parquet", remedy="randomise", limits={"epsilon": 4})
        desk.write(remedies=[{**RANDOMISE, "epsilon": 2}])
    found = desk.given_out("b.parquet", remedy="randomise", limits={"epsilon": 4}, re_release="warn")
    assert found.event.body["epsilon"] == "2"


@pytest.mark.parametrize("by", ["itself", "a sister", "an export"])
def test_a_randomised_table_keeps_to_the_k_that_was_promised(desk: Desk, by: str) -> None:
    """At epsilon 2, a row of 40 is identified with a probability above one half: k is not 5; nothing is charged."""
    _budgeted(desk, total=9)
    extract: dict[str, Any] = {"limits": {"epsilon": 2}, "remedies": [{**RANDOMISE, "epsilon": 2}], "person_key": "id"}
    if by == "a sister":
        desk.more["releases"] = {"sister": {"table": "people", "columns": COLUMNS, "limits": {"k": 5}}}
    if by == "an export":
        desk.given_out("a.parquet", person_key="id")
    limits = {"epsilon": 2, "k": 5} if by == "itself" else {"epsilon": 2}
    with pytest.raises(Stop, match=r"Pk is 1\.7143 at epsilon 2; the k that holds for the table is 5"):
        desk.given_out("b.parquet", remedy="randomise", **{**extract, "limits": limits})
    assert (_spent(desk), "b.parquet" in desk.files()) == (0, False)
    desk.given_out("b.parquet", remedy="randomise", **extract | {"limits": limits, "remedies": [RANDOMISE]})


@pytest.mark.parametrize("amount", [{"pk": 2}, {"retention": 0.5}])
@pytest.mark.parametrize(
    ("promised", "text"),
    [
        ({"epsilon": 0.1}, "costs epsilon 1.*; the release allows 0.1"),
        ({"k": 20}, "Pk is .* at epsilon 1.*table is 20"),
    ],
)
def test_an_epsilon_that_follows_from_another_parameter_keeps_to_all_limits(
    desk: Desk, amount: dict[str, Any], promised: dict[str, Any], text: str
) -> None:
    """By `pk` or `retention`, a table keeps to what a sister release promised, as by `epsilon`."""
    recipe = {name: item for name, item in RANDOMISE.items() if name != "epsilon"} | amount
    sister = {"table": "people", "columns": COLUMNS, "limits": promised, "remedies": [RANDOMISE]}
    desk.more = {"releases": {"sister": sister}}
    with pytest.raises(Stop, match=text):
        desk.given_out("a.parquet", remedy="randomise", limits={"epsilon": 9}, remedies=[recipe])
