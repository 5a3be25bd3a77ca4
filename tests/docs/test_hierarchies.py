"""The page about hierarchies is true."""

from pathlib import Path

import pandas as pd
import pytest

from docs.refresh import ROOT
from monitor.config import load

_PAGE = (ROOT / "docs" / "hierarchies.md").read_text(encoding="utf-8")
_SECTION = _PAGE.split("\n## Hierarchies\n")[1].split("\n## ")[0]


def _block(language: str) -> str:
    return _SECTION.split(f"```{language}\n")[1].split("```")[0]


def test_the_release_of_the_section_can_be_loaded(tmp_path: Path) -> None:
    """With the file that it names beside it."""
    (tmp_path / "hierarchies").mkdir()
    (tmp_path / "hierarchies" / "sex.csv").write_text("M;*\nF;*\n", encoding="utf-8")
    before = "version: 1\nproject: p\nsources: {crm: {files: '*.csv'}}\ntables: [{name: crm.customers, source: crm}]\n"
    (tmp_path / "tablewatch.yaml").write_text(before + _block("yaml"), encoding="utf-8")
    release = load(tmp_path / "tablewatch.yaml").config.releases["research-extract"]
    assert [spec.build(["53"]).height for name, spec in release.hierarchies.items() if name != "sex"] == [4, 3]
    assert release.hierarchies["sex"].build(["F"]).height == 1


def test_the_code_of_the_section_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It makes a hierarchy, writes it, reads it back, and says what is wrong: nothing."""
    monkeypatch.chdir(tmp_path)
    exec(_block("python"), {"frame": pd.DataFrame({"age": [*range(17, 95), None]})})  # noqa: S102 - the page's own code
    assert (tmp_path / "age.csv").read_text(encoding="utf-8").startswith("17;<20;<20;<20;*\n18;")
    assert capsys.readouterr().out == ""


def test_the_faults_of_the_ages_of_adult_are_counted(reference_data: Path) -> None:
    """As many as the section says."""
    from remedies.generalisation import hierarchy_faults, read_hierarchy

    file = reference_data / "adult" / "hierarchies" / "adult_hierarchy_age.csv"
    counted = sum(int(fault.what) for fault in hierarchy_faults(read_hierarchy(file)))
    assert f"has {counted} of these" in _SECTION
