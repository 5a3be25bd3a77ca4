"""Disclosure risk from end to end: files, the command line, the engine and the store, as a steward meets them."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.monitor.commands.terminal import NOW, Terminal

PEOPLE = """\
version: 1
project: clinic
storage: {url: "sqlite:///store.db"}
sources: {lake: {files: "*.csv"}}
tables:
  - name: people
    source: lake
    columns: {id: direct-identifier, ward: quasi-identifier, note: other}
    checks:
      - {type: k_anonymity, k: 3}
      - {type: re_release, person: [id], k: 3}
releases:
  extract:
    table: people
    columns: {id: direct-identifier, ward: quasi-identifier, note: other}
    limits: {k: 3}
"""
SPRING = ("north", "north", "north", "east", "east", "east", "south", "south", "south")
AUTUMN = ("old", "old", "old", "young", "young", "middle", "young", "middle", "middle")
"""Three groups of three again; with the others of spring, only the first three people stay together."""

ADULT = """\
version: 1
project: census
storage: {url: "sqlite:///store.db"}
sources: {lake: {files: "FILE", csv: {delimiter: ";"}}}
tables:
  - name: adult
    source: lake
    checks:
      - {type: k_anonymity, quasi_identifiers: NINE, k: 5}
      - type: population_uniqueness
        quasi_identifiers: NINE
        sampling_fraction: 0.1
        max_population_unique_fraction: 0.3
        model: zayatz
      - {type: t_closeness, quasi_identifiers: EIGHT, sensitive: [salary-class], t: 0.5}
"""
EIGHT = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """Return a terminal in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Terminal(tmp_path, capsys)


def _give(folder: Path, wards: tuple[str, ...]) -> None:
    lines = [f"{number},{ward},canary-{number}" for number, ward in enumerate(wards, 1)]
    (folder / "people.csv").write_text("\n".join(["id,ward,note", *lines, ""]), encoding="utf-8")


def _check(terminal: Terminal, hour: int) -> tuple[int, dict[str, Any]]:
    with terminal.at(NOW + timedelta(hours=hour)):
        said = terminal("check", "--format", "json")
    return said.code, {one["check_id"]: one for one in said.json["results"]}


def test_two_releases_that_hide_everybody_expose_six_of_nine(terminal: Terminal) -> None:
    """Each is 3-anonymous; laid beside what was remembered in spring, autumn singles six people out and is held."""
    (terminal.folder / "tablewatch.yaml").write_text(PEOPLE, encoding="utf-8")
    _give(terminal.folder, SPRING)
    code, found = _check(terminal, 0)
    assert (code, found["people.re-release"]["reason"]) == (3, "no-data"), "without a release nothing is known"
    assert terminal.json("privacy", "risk", "remember", "people", "--as", "spring")["checks"][0]["rows"] == 9
    assert _check(terminal, 1)[0] == 0
    (release,) = terminal.json("status")["releases"]
    assert release["state"] == "clear"

    _give(terminal.folder, AUTUMN)
    code, found = _check(terminal, 2)
    alone, together = found["people.k-anonymity"], found["people.re-release"]
    assert (code, alone["status"], alone["observed"]["k"]) == (1, "pass", 3)
    assert (together["status"], together["kind"]) == ("fail", "disclosure")
    assert together["observed"]["releases"] == [
        {"name": "spring", "persons_in_both": 9, "exposed": 6, "smallest_group": 1}
    ]
    assert together["message"] == (
        "6 people are in groups smaller than 3 when this table is combined with release spring"
    )

    incident = terminal.json("incident", "show", str(together["incident"]))
    assert incident["kind"] == "disclosure"
    (release,) = terminal.json("status")["releases"]
    assert (release["state"], [one["check_id"] for one in release["held_by"]]) == ("hold", ["people.re-release"])
    with terminal.at(NOW + timedelta(hours=12)):
        assert terminal.json("downtime")["n"] == 0
    kept = b"".join(path.read_bytes() for path in terminal.folder.glob("store.db*"))
    assert b"canary" not in kept
    assert b"north" not in kept


def test_adult_through_the_engine(terminal: Terminal, reference_data: Path) -> None:
    """30,162 records on nine columns: classes, uniques, risks and the estimate of Zayatz that others publish."""
    text = ADULT.replace("NINE", json.dumps([*EIGHT, "salary-class"])).replace("EIGHT", json.dumps(EIGHT))
    file = reference_data / "adult" / "adult.csv"
    (terminal.folder / "tablewatch.yaml").write_text(text.replace("FILE", str(file)), encoding="utf-8")
    code, found = _check(terminal, 0)
    k, population, t = (found[f"adult.{name}"] for name in ("k-anonymity", "population-uniqueness", "t-closeness"))
    assert (code, k["status"], population["status"], t["status"]) == (1, "fail", "fail", "fail")
    seen = k["observed"]
    assert (seen["rows"], seen["classes"], seen["sample_uniques"], seen["k"]) == (30_162, 19_502, 15_512, 1)
    assert (seen["records_below_k"], seen["average_risk"]) == (23_470, pytest.approx(0.6465751608, abs=1e-10))
    below = {first: sum(bar[2] for bar in seen["histogram"] if bar[0] < first) for first in (2, 3, 5, 10)}
    assert below == {2: 15_512, 3: 19_708, 5: 23_470, 10: 26_959}
    zayatz = population["observed"]["zayatz"]
    assert zayatz["population_uniques"] == pytest.approx(96_741.67, abs=0.005)
    assert zayatz["fraction_of_population"] == pytest.approx(0.3207402394, abs=1e-10)
    assert zayatz["p_unique_given_sample_unique"] == pytest.approx(0.6236569817, abs=1e-10)
    assert t["observed"]["t"] == pytest.approx(0.7510775148, abs=1e-10)
