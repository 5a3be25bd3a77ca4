"""A synthetic table of a release: charged once before the table is read, proved by its mechanism, without any k."""

from typing import Any

import pytest

from monitor.answers.data_set import DataSet
from monitor.releases import export as _export
from monitor.terminal.problem import Stop
from tests.monitor.releases.desk import Desk, people, rows_of

DOMAIN: dict[str, Any] = {"sex": ["F", "M"], "born": {"range": [1900, 2019], "width": 10}}
SYNTHESISE: dict[str, Any] = {"remedy": "synthesise", "epsilon": 1, "domain": DOMAIN}
BUDGET: dict[str, Any] = {"total": 2, "domain": DOMAIN}


def _budgeted(desk: Desk, **more: Any) -> Desk:
    desk.more = {"budgets": {"people": {**BUDGET, **more}}}
    return desk


def _balance(desk: Desk) -> Any:
    with desk.decisions() as decisions:
        project = decisions.case.project
        ledger, data_set = project.ledger(decisions.store), DataSet.of(project, "people")
        return (ledger.balances("people") or [ledger.create(data_set.budget, actor="d", now=project.clock.now())])[0]


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_its_certificate_has_its_mechanism_and_no_k(desk: Desk, end: str) -> None:
    """Epsilon, unit, every measured table with its expected error, and what the file cannot answer."""
    found = desk.given_out(f"out.{end}", remedy="synthesise", limits={"epsilon": 1}, remedies=[SYNTHESISE])
    body: Any = found.event.body
    reached = body["reached"]
    assert (body["kind"], body["epsilon"], body["columns"]) == ("synthetic", "1", ["sex", "born"])
    assert not {"k", "l", "t"} & set(reached)
    assert (body["rows_suppressed"], body["earlier"], reached["unit"], reached["rho"]) == (0, [], "row", None)
    assert [table["columns"] for table in reached["tables"]] == [["sex"], ["born"], ["sex", "born"]]
    assert all(0 < table["expected_error"] <= 1 for table in reached["tables"])
    assert reached["not_measured"] == "any other relation between columns is that of the tree, not of the table"
    rows = rows_of(desk.folder / f"out.{end}")
    assert len(rows) == body["rows"] == len(people())
    assert {row[0] for row in rows} <= {"F", "M", None, ""}


def test_each_export_is_charged_once_with_its_parts(desk: Desk) -> None:
    """The request id of the charge stands in the certificate; a third export is refused without reading the table."""
    _budgeted(desk).write(limits={"epsilon": 1}, remedies=[SYNTHESISE])
    assert _balance(desk).spent == 0
    desk.approve("synthesise")
    ids = {desk.export(f"{name}.csv", remedy="synthesise").event.body["reached"]["request_id"] for name in "ab"}  # type: ignore[index] # a mapping
    assert len(ids) == 2
    assert None not in ids
    assert _balance(desk).spent == 2 * 10**9
    with pytest.raises(Stop, match="nothing was charged and the data was not read"):
        desk.export("c.csv", remedy="synthesise")
    assert not (desk.folder / "c.csv").exists()


def test_what_fails_after_the_charge_stays_charged(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise may have been seen by then; no file is left."""

    def broken(*_: object, **__: object) -> None:
        raise OSError(28, "no space left")

    _budgeted(desk).write(limits={"epsilon": 1}, remedies=[SYNTHESISE])
    assert _balance(desk).spent == 0
    desk.approve("synthesise")
    monkeypatch.setattr(_export, "write_treated", broken)
    with pytest.raises((Stop, OSError)):
        desk.export("a.csv", remedy="synthesise")
    assert _balance(desk).spent == 10**9
    assert not (desk.folder / "a.csv").exists()


def test_under_zcdp_rho_is_charged(desk: Desk) -> None:
    """Delta is that of the budget; the certificate has rho, delta and the epsilon that holds but for it."""
    budget = {"accounting": "zcdp", "delta": "1e-6", "total": "0.03", "adjacency": "add-remove"}
    _budgeted(desk, **budget).write(limits={"epsilon": 1}, remedies=[SYNTHESISE])
    assert _balance(desk).spent == 0
    desk.approve("synthesise")
    reached: Any = desk.export("a.csv", remedy="synthesise").event.body["reached"]
    assert (reached["accounting"], reached["adjacency"], reached["delta"]) == ("zcdp", "add-remove", "1e-06")
    assert float(reached["rho"]) == _balance(desk).spent / 10**9 < 0.02
    assert float(reached["epsilon"]) <= 1


@pytest.mark.parametrize(
    ("limits", "recipe", "budget", "said"),
    [
        ({}, {}, None, "no limit on epsilon"),
        ({"epsilon": "0.5"}, {}, None, "costs epsilon 1; the release allows 0.5"),
        ({"epsilon": 1}, {"domain": None}, None, "'domain' is missing: declare the columns and their values"),
        ({"epsilon": 1}, {"columns": ["sex", "ill"]}, None, "'domain' is missing the values of ill"),
        ({"epsilon": 1}, {"epsilon": None, "rho": "0.1"}, None, "need a budget of the table with 'accounting: zcdp'"),
        ({"epsilon": 1}, {"delta": "1e-3"}, {"accounting": "zcdp", "delta": "1e-6"}, "'delta' is that of the budget"),
        ({"epsilon": 1}, {"adjacency": "add-remove"}, {}, "applies to 'add-remove' neighbours"),
        ({"epsilon": 1}, {"rows_per_unit": 2}, {"unit": "id", "rows_per_unit": 3}, "up to 3 rows by the budget"),
        ({"epsilon": 1}, {"unit": "ill"}, {"unit": "id"}, "the budget limits the rows per id"),
        ({"epsilon": 1, "k": 40}, {}, None, "the k that holds for the table is 40"),
    ],
)
def test_what_does_not_fit_is_refused_before_it_is_charged(
    desk: Desk, limits: dict[str, Any], recipe: dict[str, Any], budget: dict[str, Any] | None, said: str
) -> None:
    """Limits, domains, accounting, neighbours and unit."""
    if budget is not None:
        _budgeted(desk, **budget)
    words = {name: word for name, word in {**SYNTHESISE, **recipe}.items() if word is not None}
    desk.write(limits=limits or {"k": 2}, remedies=[words])
    with pytest.raises(Stop, match=said):  # noqa: PT012 - what cannot be planned is refused before it is approved
        desk.approve("synthesise")
        desk.export("a.csv", remedy="synthesise")
    if budget is not None:
        assert _balance(desk).spent == 0


def test_persons_with_several_rows_are_cut(desk: Desk) -> None:
    """By the person key of the release: no export is refused for how many rows a person has."""
    frame = people()
    frame = frame.loc[frame.index.repeat(3)].reset_index(drop=True)
    desk.write(frame, limits={"epsilon": 1}, person_key="id", remedies=[SYNTHESISE]).approve("synthesise")
    body: Any = desk.export("a.csv", remedy="synthesise").event.body
    assert body["reached"]["unit"] == "id"
    assert body["columns"] == ["sex", "born"]


def test_exports_add_up_where_no_budget_is_declared(desk: Desk) -> None:
    """As those of randomised tables do."""
    desk.given_out("a.csv", remedy="synthesise", limits={"epsilon": "1.5"}, remedies=[SYNTHESISE])
    with pytest.raises(Stop, match=r"cost epsilon 1 already, and the total limit is 1\.5"):
        desk.export("b.csv", remedy="synthesise")
