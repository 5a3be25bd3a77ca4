"""Two numbers in a domain: values or limits? It is asked before the budget is fixed."""

import os
import tempfile
from pathlib import Path

import pytest

from monitor.config import ConfigError, load
from monitor.doctor.config_checks import ambiguous_domains
from monitor.doctor.diagnosis import examine_disks

_HEAD = "version: 1\nproject: p\nsources: {s: {files: '*.csv'}}\ntables: [{name: t, source: s}]\n"


@pytest.mark.parametrize(
    ("domain", "unclear"),
    [
        ("[17, 90]", True),
        ("[90, 17]", True),
        ("[0.5, 9.5]", True),
        ("[-1, 1]", True),
        ("[0, 1]", False),
        ("[17, 90, 91]", False),
        ("[17]", False),
        ("['17', '90']", False),
        ("[true, false]", False),
        ("{values: [17, 90]}", False),
        ("{range: [17, 90]}", False),
        ("{low: 17, high: 90}", False),
    ],
)
def test_two_numbers_are_asked_about(tmp_path: Path, domain: str, unclear: bool) -> None:
    """With how each meaning is written, and where it stands; what is written out is taken."""
    file = tmp_path / "tablewatch.yaml"
    file.write_text(f"{_HEAD}budgets:\n  t: {{total: 1, domain: {{age: {domain}}}}}\n", encoding="utf-8")
    problems = list(ambiguous_domains(load(file)))
    assert [problem.code for problem in problems] == ["config.unclear_domain"] * unclear
    for problem in problems:
        assert (problem.file, problem.line) == (str(file), 6)
        assert "{values: [" in (problem.hint or "")
        assert "{low: " in (problem.hint or "")


@pytest.mark.parametrize("name", ["pipe", "/dev/zero", "/dev/full", "folder", "x" * 300, "huge"])
def test_a_secret_is_read_from_a_regular_file_only(tmp_path: Path, name: str) -> None:
    """Nothing is waited for, and nothing without an end is read."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "huge").write_text("x" * 1_000_000)
    file = tmp_path / "tablewatch.yaml"
    file.write_text(f'{_HEAD}owners: {{o: {{name: "${{file:{name}}}"}}}}\n', encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(file)
    assert [problem.code for problem in caught.value.problems] == ["config.missing_file"]


@pytest.mark.parametrize(("free", "verdict"), [(1_000_000, "error"), (100_000_000, "warning"), (10**12, "ok")])
def test_doctor_sees_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, verdict: str) -> None:
    """Of the store, of kept reports and of temporary files; one finding for each disk."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": free})())
    file = tmp_path / "tablewatch.yaml"
    file.write_text(f"{_HEAD}report: {{weekly: {{keep: reports}}}}\n", encoding="utf-8")
    found = list(examine_disks(load(file)))
    disks = {folder.stat().st_dev for folder in (tmp_path, Path(tempfile.gettempdir()))}
    assert [one.verdict.value for one in found] == [verdict] * len(disks)
    said = " ".join(one.message for one in found)
    assert all(what in said for what in ("the store", "reports", "temporary files", "free"))
