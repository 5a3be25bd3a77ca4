"""A generated file with tens of thousands of mistakes: all of them are found, few are compared and shown."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from monitor.cli import run
from monitor.config import ConfigError, load
from monitor.config.messages import limited_suggestions, nearest, suggest
from monitor.terminal.output import Invocation

_HEAD = "version: 1\nproject: p\nsources: {s: {files: '*.csv'}}\n"
_MANY = 3000


@pytest.mark.parametrize(
    "text",
    [
        "tables: []\n" + "".join(f"key{n}: 1\n" for n in range(_MANY)),
        "tables:\n" + "".join(f"  - {{name: t{n}, source: s, checks: [{{type: kind{n}}}]}}\n" for n in range(_MANY)),
        "tables:\n" + "".join(f"  - {{name: t{n}, source: s, upstream: [u{n}]}}\n" for n in range(_MANY)),
        "tables: []\nowners:\n" + "".join(f"  o{n}: {{name: '${{V{n}}}'}}\n" for n in range(_MANY)),
    ],
    ids=["keys", "types", "references", "variables"],
)
def test_every_problem_is_found_and_the_first_are_shown(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever kind of mistake it is; how many names are compared does not grow with them."""
    compared: list[int] = []

    def counted(_: str, known: Iterable[str]) -> str:
        compared.append(len(list(known)))
        return ""

    monkeypatch.setattr("monitor.config.messages.did_you_mean", counted)
    monkeypatch.setattr("monitor.config._substitute.did_you_mean", counted)
    file = tmp_path / "tablewatch.yaml"
    file.write_text(_HEAD + text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(file)
    assert len(caught.value.problems) >= _MANY
    assert sum(compared) <= 60_000
    assert run(["config", "check", "-c", str(file)], Invocation()) == 2
    said = capsys.readouterr().err
    assert said.count("error: ") == 20
    assert f"and {len(caught.value.problems) - 20:,} more" in said


def test_the_first_ones_have_suggestions() -> None:
    """And a call outside of a load always has."""
    known = [f"column{n}" for n in range(1000)]
    with limited_suggestions():
        assert "column1" in nearest("colunm1", known)
        for _ in range(100):
            nearest("colunm1", known)
        assert nearest("colunm1", known) == ""
        assert suggest("colunm1", known) is None
    assert "column1" in nearest("colunm1", known)
