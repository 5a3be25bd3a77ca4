"""`privacy local`: reports are made where a value is known, and only counted; files of them are read again."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monitor.cli import run
from monitor.terminal.output import Invocation
from remedies.differential_privacy import oracles
from remedies.differential_privacy import random_bytes as _bytes

SEXES = ("--domain", "F,M,unknown")
ALL = tuple(oracles)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def fixed_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every draw come from one fixed stream, so that no test of an estimate can fail by chance."""
    monkeypatch.setattr(_bytes, "operating_system_bytes", np.random.default_rng(20261121).bytes)


def _said(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run(["privacy", "local", *words], Invocation())
    said = capsys.readouterr()
    return code, said.out


def _value(*words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    code, out = _said(*words, "--format", "json", capsys=capsys)
    assert code == 0, out
    return json.loads(out)


def _problem(*words: str, capsys: pytest.CaptureFixture[str]) -> str:
    before = sorted(Path().iterdir())
    code, out = _said(*words, "--format", "json", capsys=capsys)
    assert code == 2, out
    assert sorted(Path().iterdir()) == before
    message: str = json.loads(out)["errors"][0]["message"]
    assert "secret" not in message
    return message


@pytest.mark.usefixtures("fixed_bytes")
@pytest.mark.parametrize("end", ["jsonl", "csv"])
@pytest.mark.parametrize("oracle", ALL)
def test_what_was_sent_is_estimated(oracle: str, end: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Within five standard errors of what people have, by every oracle, from either kind of file."""
    people = ["F"] * 3000 + ["M"] * 1500 + ["nothing"] * 500
    Path("values").write_text("".join(f"{one}\n" for one in people), encoding="utf-8")
    agreed = (*SEXES, "--epsilon", "2", "--oracle", oracle.lower())
    sent = _value("perturb", "--values", "values", "--out", f"sent.{end}", *agreed, "--other", "unknown", capsys=capsys)
    assert (sent["users"], sent["output"], sent["oracle"]) == (5000, f"sent.{end}", oracle)
    found = _value("estimate", f"sent.{end}", *agreed, capsys=capsys)
    assert (found["schema"], found["users"], found["domain_size"]) == ("tablewatch.local-estimates/1", 5000, 3)
    assert [row["value"] for row in found["estimates"]] == ["F", "M", "unknown"]
    for row, truth in zip(found["estimates"], (3000, 1500, 500), strict=True):
        assert abs(row["count"] - truth) < 5 * row["standard_error"]
        assert 0 < row["standard_error"] < 200
    one = _value("estimate", f"sent.{end}", *agreed, "--value", "M", capsys=capsys)
    assert one["estimates"] == [pytest.approx(found["estimates"][1])]


@pytest.mark.usefixtures("fixed_bytes")
def test_estimates_are_never_clipped(capsys: pytest.CaptureFixture[str]) -> None:
    """Of values of no person, about half come out below 0; the sum of all is not forced to the number of people."""
    Path("values").write_text("1\n" * 1000, encoding="utf-8")
    agreed = ("--domain-size", "100", "--epsilon", "0.5", "--oracle", "OUE")
    _value("perturb", "--values", "values", "--out", "sent.jsonl", *agreed, capsys=capsys)
    found = _value("estimate", "sent.jsonl", *agreed, capsys=capsys)
    below = sum(row["count"] < 0 for row in found["estimates"])
    assert 30 < below < 70
    code, out = _said("estimate", "sent.jsonl", *agreed, capsys=capsys)
    assert code == 0
    assert out.startswith("1,000 reports by OUE at epsilon 0.5\n")


def test_one_value_becomes_one_report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the command line, or of standard input, where no list of processes shows it; the report is JSON."""
    code, out = _said("perturb", "F", *SEXES, "--epsilon", "1", capsys=capsys)
    assert code == 0
    assert json.loads(out) in {"F", "M", "unknown"}
    monkeypatch.setattr(sys, "stdin", io.StringIO("1999\n"))
    words = ("perturb", "-", "--domain", "1930..2009:10", "--epsilon", "30", "--oracle", "GRR")
    value = _value(*words, capsys=capsys)
    assert (value["reports"], value["domain_size"]) == ([1990], 8)
    assert len(_value("perturb", "F", *SEXES, "--epsilon", "1", "--oracle", "SHE", capsys=capsys)["reports"][0]) == 3


def test_reports_are_read_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As JSON lines; empty lines are none."""
    monkeypatch.setattr(sys, "stdin", io.StringIO('"F"\n"M"\n\n"F"\n'))
    value = _value("estimate", "-", *SEXES, "--epsilon", "30", "--oracle", "GRR", capsys=capsys)
    assert [round(row["count"]) for row in value["estimates"]] == [2, 1, 0]


@pytest.mark.parametrize("end", ["jsonl", "csv"])
def test_any_value_can_be_in_a_domain(here: Path, end: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of a file, one on each line: zeros in front, commas, quotes, line separators, other scripts."""
    domain = ["01", "1", "a,b", '"', "x\u2028y", "京都", " "]
    (here / "domain").write_text("\n".join(domain) + "\n", encoding="utf-8")
    agreed = ("--domain-file", "domain", "--epsilon", "40", "--oracle", "GRR")
    _value("perturb", "--values", "domain", "--out", f"sent.{end}", *agreed, capsys=capsys)
    found = _value("estimate", f"sent.{end}", *agreed, capsys=capsys)
    assert [(row["value"], round(row["count"])) for row in found["estimates"]] == [(one, 1) for one in domain]


def test_oracles_are_compared_by_their_variance(capsys: pytest.CaptureFixture[str]) -> None:
    """Those of 14 values at epsilon 1 (SHE with discrete noise), the best one first, and the rule."""
    value = _value("choose", "--domain-size", "14", "--epsilon", "1", capsys=capsys)
    assert value["chosen"] == "OUE"
    assert [(row["oracle"], f"{row['variance']:.6f}") for row in value["oracles"]] == [
        ("OUE", "3.682694"),
        ("OLH", "3.691655"),
        ("SUE", "3.917698"),
        ("BLH", "4.682694"),
        ("HR", "4.682694"),
        ("THE", "4.807154"),
        ("GRR", "4.985036"),
        ("SHE", "7.835396"),
    ]
    assert value["oracles"][0]["standard_error"] == pytest.approx((10_000 * 3.682694) ** 0.5, rel=1e-6)
    code, out = _said("choose", "--domain-size", "10", "--epsilon", "1", capsys=capsys)
    assert code == 0
    assert out.startswith("CHOSEN  GRR for 10 values\n")  # 10 < 3e + 2 = 10.15
    assert _value("choose", "--domain-size", "11", "--epsilon", "1", capsys=capsys)["chosen"] == "OUE"
    assert _value("choose", "--domain-size", "5000", "--epsilon", "1", capsys=capsys)["chosen"] == "OLH"


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "1e308", "1e0", "0.1234567891"])
@pytest.mark.parametrize("words", [("perturb", "F"), ("estimate", "sent.jsonl"), ("choose",)])
def test_an_epsilon_that_is_none_is_refused(
    epsilon: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """A plain decimal above 0 of at most nine places."""
    Path("sent.jsonl").write_text('"F"\n', encoding="utf-8")
    said = _problem(*words, *SEXES, "--epsilon", epsilon, capsys=capsys)
    assert said.startswith(f"epsilon '{epsilon}' ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("perturb", "secret", *SEXES), "1 of 1 values are not in the declared domain"),
        (("perturb", "7", "--domain-size", "7"), "1 of 1 values are not in the declared domain"),
        (("perturb", "07", "--domain-size", "9"), "1 of 1 values are not in the declared domain"),
        (("perturb", "F"), "declare the domain once"),
        (("perturb", "F", *SEXES, "--domain-size", "3"), "declare the domain once"),
        (("perturb", "F", "--domain", "F"), "the domain has 1 values, expected 2"),
        (("perturb", "F", "--domain", "F,F"), "'values' names a value twice"),
        (("perturb", "F", "--domain-file", "nowhere"), "nowhere does not exist"),
        (("perturb", "F", *SEXES, "--oracle", "GR"), "no oracle 'GR'; did you mean 'GRR'?"),
        (("perturb", "F", *SEXES, "--other", "X"), "the domain of column 'value' does not have the value"),
        (("perturb", "3", "--domain-size", "9", "--other", "1"), "--other goes with --domain"),
        (("perturb", *SEXES), "give one VALUE, or a file with --values"),
        (("perturb", "F", "--values", "sent.jsonl", *SEXES), "give one VALUE, or a file with --values"),
        (("perturb", "F", *SEXES, "--out", "sent.txt"), "'sent.txt' is neither a .jsonl nor a .csv file"),
        (("perturb", "F", *SEXES, "--out", "sent.jsonl"), "'sent.jsonl' exists"),
        (("perturb", "F", *SEXES, "--out", "no/sent.jsonl"), "the folder of 'no/sent.jsonl' does not exist"),
        (("estimate", "sent.jsonl", *SEXES, "--oracle", "GRR"), "line 2 is not JSON"),
        (("estimate", "sent.txt", *SEXES), "'sent.txt' is neither a .jsonl nor a .csv file"),
        (("estimate", "nowhere.csv", *SEXES), "nowhere.csv does not exist"),
        (("estimate", "values.csv", *SEXES, "--oracle", "GRR"), "reports hold values that are not in the declared"),
        (("estimate", "values.csv", *SEXES, "--oracle", "OUE"), "the file has lines that are not lists of integers"),
        (("estimate", "bits.csv", *SEXES, "--oracle", "OUE"), "reports have shape (1, 4)"),
        (("estimate", "bits.csv", *SEXES, "--oracle", "GRR"), "the file has lines of several fields"),
        (("estimate", "odd.jsonl", *SEXES, "--oracle", "OLH"), "reports have different lengths"),
        (("estimate", "empty.csv", *SEXES, "--value", "secret"), "a value that is to be counted is not in the"),
    ],
)
def test_wrong_usage_is_told(here: Path, words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What was seen and what is expected; never a value, and no file is left."""
    (here / "sent.jsonl").write_text('"F"\nsecret\n', encoding="utf-8")
    (here / "values.csv").write_text("secret\n", encoding="utf-8")
    (here / "bits.csv").write_text("0,1,0,1\n", encoding="utf-8")
    (here / "odd.jsonl").write_text("[0,1,0]\n[1]\n", encoding="utf-8")
    (here / "empty.csv").write_text("", encoding="utf-8")
    message = _problem(*words, "--epsilon", "1", capsys=capsys)
    assert message[: len(said)] == said


def test_nobody_has_sent_anything_yet(capsys: pytest.CaptureFixture[str]) -> None:
    """Then nothing is estimated to be 0."""
    Path("empty.jsonl").write_text("", encoding="utf-8")
    code, out = _said("estimate", "empty.jsonl", *SEXES, "--epsilon", "1", capsys=capsys)
    assert code == 0
    assert out.startswith("0 reports by GRR")


def test_reports_of_a_file_carry_no_order_of_its_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of sorted values, a place tells nothing; --keep-order is listed as not protected, and CSV runs no formula."""
    monkeypatch.chdir(tmp_path)
    Path("values.txt").write_text("+\n" * 500 + "=1\n" * 500, encoding="utf-8")
    words = ("--values", "values.txt", "--domain", "+,=1", "--epsilon", "9", "--oracle", "GRR", "--force")
    firsts = []
    for more, named in (((), []), (("--keep-order",), ["row-order"])):
        assert (
            run(["privacy", "local", "perturb", *words, "--out", "r.csv", *more, "--format", "json"], Invocation()) == 0
        )
        assert json.loads(capsys.readouterr().out)["not_protected"] == named
        reports = Path("r.csv").read_text(encoding="utf-8").split()
        assert sorted(set(reports)) == ["'+", "'=1"]
        firsts.append(reports[:500].count("'+"))
    assert 150 < firsts[0] < 350
    assert firsts[1] > 450
