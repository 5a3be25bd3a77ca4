"""An approval is of what a remedy does, also where that does not stand in the release."""

from pathlib import Path
from typing import Any

import pytest

from monitor.releases import export as export_module
from monitor.releases import treat
from monitor.releases.assess import assess_release
from monitor.releases.state import ReleaseDecision
from monitor.terminal.problem import ExitCode, Stop
from tests.monitor.releases.desk import Desk, people

_FIXED = {"levels": {"born": 1, "sex": 0}}


def _is_held(desk: Desk) -> bool:
    with desk.decisions() as decisions:
        return decisions.standing().decision is ReleaseDecision.HELD


def _years(label: str) -> str:
    return "".join(f"{year};{label}\n" for year in range(1960, 1964))


def _write(desk: Desk, where: str) -> Path:
    """Approve a remedy whose hierarchy stands in a file, named by the remedy or by the release."""
    (desk.folder / "trees").mkdir()
    path = desk.folder / "trees" / "born.csv"
    path.write_text(_years("1960-1963"), encoding="utf-8")
    recipe: dict[str, Any] = {"remedy": "generalise", **_FIXED}
    if where == "remedy":
        desk.write(remedies=[{**recipe, "hierarchies": "trees"}])
    else:
        desk.write(remedies=[recipe], hierarchies={"born": {"type": "file", "path": "trees/born.csv"}})
    desk.approve("generalise")
    return path


@pytest.mark.parametrize("where", ["remedy", "release"])
def test_another_hierarchy_in_the_same_file_is_another_remedy(desk: Desk, where: str) -> None:
    """It would give out other values than the approved ones."""
    path = _write(desk, where)
    given = desk.export("first.csv", remedy="generalise")
    assert given.event.body["rows"] == 40
    path.write_text(_years("born in the sixties"), encoding="utf-8")
    with pytest.raises(Stop, match="has changed since the approval"):
        desk.export("second.csv", remedy="generalise")
    assert _is_held(desk)
    assert "second.csv" not in desk.files()


def test_assess_sees_another_hierarchy_too(desk: Desk) -> None:
    """That an export will be refused is known without trying it."""
    path = _write(desk, "remedy")
    with desk.decisions() as decisions:
        assert assess_release(decisions).word == "approved"
    path.write_text(_years("born in the sixties"), encoding="utf-8")
    with desk.decisions() as decisions:
        found = assess_release(decisions)
        assert (found.word, found.exit_code) == ("hold", ExitCode.FAILED)


def test_a_hierarchy_that_changes_during_the_export_counts(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked at again before the file gets its name."""
    path = _write(desk, "release")
    write = treat.write_treated

    def writes_and_changes(*words: object) -> object:
        path.write_text(_years("another"), encoding="utf-8")
        return write(*words)  # type: ignore[arg-type] # as it was called

    monkeypatch.setattr(export_module, "write_treated", writes_and_changes)
    with pytest.raises(Stop, match="has changed since the approval"):
        desk.export(remedy="generalise")
    assert "out.parquet" not in desk.files()


def test_a_hierarchy_that_is_gone_gives_nothing_out(desk: Desk) -> None:
    """Without the file, the column would be generalised as if nothing were declared."""
    path = _write(desk, "remedy")
    path.unlink()
    with pytest.raises(Stop, match="has changed since the approval"):
        desk.export(remedy="generalise")
    assert "out.parquet" not in desk.files()


def test_another_domain_in_the_budget_is_another_remedy(desk: Desk) -> None:
    """A randomised table takes its domain from there; the total is not one of the remedy."""
    budget: dict[str, Any] = {"total": 2, "adjacency": "substitute", "domain": {"sex": {"values": ["F", "M"]}}}
    recipe = {"remedy": "randomise", "columns": ["sex"], "drop": "rest", "epsilon": 1}
    desk.more = {"budgets": {"people": budget}}
    desk.write(people(), limits={"epsilon": 1}, remedies=[recipe]).approve("randomise")
    desk.more = {"budgets": {"people": {**budget, "domain": {"sex": {"values": ["F", "M", "X"]}}}}}
    desk.write()
    with pytest.raises(Stop, match="a hierarchy, or the budget"):
        desk.export(remedy="randomise")
    assert _is_held(desk)
