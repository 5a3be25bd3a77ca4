"""The page on privacy budgets says what the commands say, and its shapes are those that programs get."""

import json
import re
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest

from tests.monitor.commands.terminal import Terminal, open_terminal

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
PAGE: Final = (DOCS / "privacy-budgets.md").read_text(encoding="utf-8")
ROWS: Final = "customer,sex,city,born,spent\nann,F,Tokyo,1981,12.5\nbob,M,Kyoto,1950,700\nbob,M,,,\n"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """Work in a folder with the page's configuration and a file of visits."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    terminal = open_terminal(tmp_path, capsys)
    (config,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "tablewatch.yaml").write_text(config, encoding="utf-8")
    (tmp_path / "visits.csv").write_text(ROWS, encoding="utf-8")
    return terminal


def test_commands_say_what_the_page_says(shop: Terminal) -> None:
    """Every example whose answer is not drawn by chance is run, in its order."""
    ran = 0
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL):
        for command, said in re.findall(r"^\$ tablewatch (.*?)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            words = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", command)]
            result = shop(*words)
            assert result.code == 0, result.err
            assert result.out.rstrip() == said.rstrip()
            ran += 1
    assert ran == 4


def test_programs_get_the_shapes_of_the_schema(shop: Terminal) -> None:
    """What each command says with --format json is valid by the published schema, which knows no other shape."""
    schema: Any = json.loads((DOCS / "schemas" / "privacy-budgets.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    checker = jsonschema.Draft202012Validator(schema)
    seen = set()
    for words in (
        "privacy budget create visits",
        "privacy answer count visits --epsilon 0.1",
        "privacy answer histogram visits --by sex,city --epsilon 0.1 --dry-run",
        "privacy answer sum visits spent --by sex --epsilon 0.1",
        "privacy answer mean visits born --epsilon 0.1",
        "privacy answer quantile visits spent --share 0.25 --step 5 --epsilon 0.1",
        "privacy answer quantile visits spent --epsilon 0.1 --dry-run",
        "privacy answer list visits",
        "privacy budget show",
        "privacy budget verify",
    ):
        result = shop.json(*words.split())
        checker.validate(result)
        seen.add(result["schema"])
    assert seen == {f"tablewatch.{name}/1" for name in ("budgets", "ledger-audit", "answer", "answer-plan", "answers")}
    with pytest.raises(jsonschema.ValidationError):
        checker.validate({**result, "entries": "many"})


def test_the_page_names_every_code_of_a_refusal() -> None:
    """The code of every error is on the page."""
    packages = DOCS.parent / "monitor" / "commands" / "privacy"
    source = "".join((packages / name).read_text(encoding="utf-8") for name in ("answer.py", "budget.py"))
    for code in re.findall(r'Problem\("((?:budget|answer)\.[a-z_-]+)"', source):
        assert f"`{code}`" in PAGE, code
