"""`privacy remedy reconstruct`: counts before a table was randomised, from the table and its mechanism's record."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monitor.cli import run
from monitor.terminal.output import Invocation
from remedies.differential_privacy import random_bytes as _bytes

DOMAINS = ("--domain", "sex=F,M", "--domain", "born=1930..2009:20")
BEFORE = {("F", 1930): 900, ("F", 1950): 50, ("M", 1970): 800, ("M", 1990): 250}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a table of 2,000 people; every draw comes from one fixed stream."""
    monkeypatch.setattr(_bytes, "operating_system_bytes", np.random.default_rng(20261121).bytes)
    lines = [f"{sex},{born + 3}" for (sex, born), times in BEFORE.items() for _ in range(times)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,born", *lines]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _said(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run(["privacy", "remedy", *words], Invocation())
    return code, capsys.readouterr().out


def _value(*words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    code, out = _said(*words, "--format", "json", capsys=capsys)
    assert code == 0, out
    return json.loads(out)


def _randomised(*words: str, end: str = "csv", capsys: pytest.CaptureFixture[str]) -> None:
    bill = _value("randomise", "people.csv", f"safe.{end}", *DOMAINS, "--epsilon", "4", *words, capsys=capsys)
    Path("bill.json").write_text(json.dumps(bill), encoding="utf-8")


@pytest.mark.parametrize("end", ["csv", "parquet"])
@pytest.mark.parametrize("joint", [(), ("--joint",)])
@pytest.mark.parametrize("method", ["bayes", "inverse", "inverse-projected"])
def test_estimates_are_near_to_what_was(
    method: str, joint: tuple[str, ...], end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nearer than the counts that came out, in the order of the domains; the total is that of the table."""
    _randomised(*joint, end=end, capsys=capsys)
    value = _value("reconstruct", f"safe.{end}", "--mechanism", "bill.json", "--method", method, capsys=capsys)
    assert (value["schema"], value["method"], value["records"]) == ("tablewatch.reconstruction/1", method, 2000)
    assert value["stopped"] == ("discrepancy" if method == "bayes" else "none")
    cells = value["cells"]
    assert [cell["by"] for cell in cells[:2]] == [{"sex": "F", "born": "1930"}, {"sex": "F", "born": "1950"}]
    truth = np.array([BEFORE.get((cell["by"]["sex"], int(cell["by"]["born"])), 0) for cell in cells])
    came, estimated = (np.array([cell[name] for cell in cells]) for name in ("randomised", "estimate"))
    assert np.linalg.norm(estimated - truth) < np.linalg.norm(came - truth) / 2
    assert estimated.sum() == pytest.approx(2000)


@pytest.mark.parametrize("joint", [(), ("--joint",)])
def test_some_columns_are_counted_by_themselves(joint: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """In the order that is asked for; what was drawn together is kept together in part."""
    _randomised(*joint, capsys=capsys)
    words = ("reconstruct", "safe.csv", "--mechanism", "bill.json", "--method", "inverse")
    (one, other) = _value(*words, "--by", "sex", capsys=capsys)["cells"]
    assert abs(one["estimate"] - 950) < 150
    assert one["estimate"] + other["estimate"] == pytest.approx(2000)
    turned = _value(*words, "--by", "born,sex", capsys=capsys)["cells"]
    plain = _value(*words, capsys=capsys)["cells"]
    by_cell = {tuple(sorted(cell["by"].items())): cell["estimate"] for cell in plain}
    assert {tuple(sorted(cell["by"].items())): pytest.approx(cell["estimate"]) for cell in turned} == by_cell


def test_the_rule_that_ended_it_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """In words, and so is that it costs nothing."""
    _randomised(capsys=capsys)
    words = ("reconstruct", "safe.csv", "--mechanism", "bill.json")
    code, out = _said(*words, "--stop", "7", capsys=capsys)
    assert code == 0
    assert out.startswith("Estimated by bayes after 7 iterations: the requested number.\n")
    code, out = _said(*words, capsys=capsys)
    assert ": the discrepancy between randomised and expected counts is within chance.\n" in out
    code, out = _said(*words, "--method", "inverse", capsys=capsys)
    assert out.startswith("Estimated by inverse.\n")
    assert out.endswith("This costs no further epsilon, however often it is run.\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("safe.csv", "--mechanism", "nowhere.json"), "nowhere.json does not exist"),
        (("safe.csv", "--mechanism", "safe.csv"), "the file is not JSON"),
        (("safe.csv", "--mechanism", "odd.json"), "expected the record of a mechanism"),
        (("safe.csv", "--mechanism", "bill.json", "--by", "age"), "expected randomised columns, each once"),
        (("safe.csv", "--mechanism", "bill.json", "--by", "sex,sex"), "expected randomised columns, each"),
        (("safe.csv", "--mechanism", "bill.json", "--method", "em"), "expected --method bayes, inverse, inverse-proj"),
        (("safe.csv", "--mechanism", "bill.json", "--stop", "soon"), "expected --method bayes, inverse, inverse-proj"),
        (("people.csv", "--mechanism", "bill.json"), "the table has values outside the declared domains"),
        (("half.csv", "--mechanism", "bill.json"), "the table has 1 rows; 2,000 were randomised"),
        (("other.csv", "--mechanism", "bill.json"), "column 'sex' not found"),
    ],
)
def test_wrong_usage_is_told(here: Path, words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What was seen and what is expected, and no value of a table."""
    _randomised(capsys=capsys)
    (here / "odd.json").write_text('{"bill": {"guarantee": [1]}}', encoding="utf-8")
    (here / "half.csv").write_text("sex,born\nF,1930\n", encoding="utf-8")
    (here / "other.csv").write_text("secret\nsecret\n", encoding="utf-8")
    code, out = _said("reconstruct", *words, "--format", "json", capsys=capsys)
    assert code == 2, out
    message = json.loads(out)["errors"][0]["message"]
    assert message[: len(said)] == said
    assert "1933" not in message
