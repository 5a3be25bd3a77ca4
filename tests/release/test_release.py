"""A release is what `make release` says, and showing one changes nothing."""

import subprocess
import tarfile
import zipfile
from datetime import date
from pathlib import Path
from typing import Final

import pytest
import yaml

from docs.audit import ROOT, faults, pages
from release import __main__ as script
from release.__main__ import SWITCHES, ReleaseError, build_twice, check_version, main, prepare
from release.wheel_layout import FORMER

TODAY: Final = date(2026, 12, 1)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a copy of what git knows of this checkout, with its changes."""
    folder = tmp_path / "checkout"
    listed = subprocess.run(
        ["/usr/bin/env", "git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
    return folder


def test_the_files_of_a_release(checkout: Path) -> None:
    """The version, the dated changes under an empty "Unreleased", and pages that name the published package."""
    changed = prepare(checkout, "0.2.0", TODAY)
    assert {"CHANGELOG.md", "README.md", "docs/web.md", "pyproject.toml"} <= set(changed)
    assert '\nversion = "0.2.0"\n' in (checkout / "pyproject.toml").read_text(encoding="utf-8")
    changes = (checkout / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "\n## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n" in changes
    whole = "".join((checkout / page).read_text(encoding="utf-8") for page in changed if page.endswith(".md"))
    assert ("uvx tablewatch demo" in whole, "pipx install tablewatch" in whole) == (True, True)
    assert ("pip install '.[" in whole, "pip install . " in whole, "Not released" in whole) == (False, False, False)
    with pytest.raises(ReleaseError, match="no changes under"):
        prepare(checkout, "0.3.0", TODAY)


def test_every_text_that_a_release_switches_is_there() -> None:
    """Once on its page; before the first release no page names an unpublished package."""
    if "## [0." in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        assert [switch.before for switch in SWITCHES if switch.before in (ROOT / switch.page).read_text("utf-8")] == []
        return
    for page, before, _ in SWITCHES:
        assert (ROOT / page).read_text(encoding="utf-8").count(before) == 1, before
    shown = [page for page in pages() if page.parent.name != "adr" and page.name != "CONTRIBUTING.md"]
    assert [page.name for page in shown if "install tablewatch" in page.read_text("utf-8")] == []
    assert [page.name for page in shown if "install 'tablewatch" in page.read_text("utf-8")] == []


def test_pages_of_a_release_have_no_fault(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit finds no other fault in them than in the pages of the checkout."""
    prepare(checkout, "0.2.0", TODAY)
    (checkout / "tests").symlink_to(ROOT / "tests")
    monkeypatch.setattr("docs.audit.ROOT", checkout)
    for page in (checkout / "README.md", checkout / "docs" / "web.md"):
        assert list(faults(page)) == []


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("next", "'next' is not a version"),
        ("0.0.9", "older than 0.1.0"),
        ("v0.2.0", "not the plain form of a version; write 0.2.0"),
        ("0.2.0+mine", "not the plain form of a version; write 0.2.0"),
    ],
)
def test_a_version_that_cannot_be_released_is_refused(version: str, message: str) -> None:
    """With what to write instead."""
    with pytest.raises(ReleaseError, match=message):
        check_version(version, "0.1.0")


def test_a_build_can_be_repeated(checkout: Path, tmp_path: Path) -> None:
    """In another folder, with other times of the files, byte by byte. The wheel has the product only."""
    digests = build_twice(checkout, tmp_path, at=1_764_547_200, isolated=False)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    (sdist,) = (tmp_path / "dist").glob("*.tar.gz")
    assert sorted(digests) == sorted([wheel.name, sdist.name])
    with zipfile.ZipFile(wheel) as archive:
        files = {name for name in archive.namelist() if ".dist-info" not in name}
    tops = {"tablewatch", "pytest_tablewatch", *(f"{name}.py" for name in FORMER)}
    assert {name.partition("/")[0] for name in files} == tops
    assert {"tablewatch/_internal/monitor/cli.py", "tablewatch/_internal/templates/web/overview.html.j2"} <= files
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "CHANGELOG.md", "LICENSE", "docs/web.md", "monitor/cli.py"} <= names


def test_builds_that_differ_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the names of the files."""
    (tmp_path / "checkout").mkdir()
    made = iter([{"a.whl": "1", "a.tar.gz": "2"}, {"a.whl": "1", "a.tar.gz": "3"}])
    monkeypatch.setattr(script, "build", lambda *_, **__: next(made))
    with pytest.raises(ReleaseError, match=r"two builds differ: a\.tar\.gz$"):
        build_twice(tmp_path / "checkout", tmp_path, at=0)


def test_showing_a_release_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither a file nor a tag. With `--commit` there are commit, tag and files, and the tag can be rebuilt."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "docs").mkdir()
    for name in ("pyproject.toml", "CHANGELOG.md", "README.md", "docs/web.md"):
        (root / name).write_bytes((ROOT / name).read_bytes())
    git = ["git", "-C", str(root), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *words], check=True)
    monkeypatch.setattr(script, "ROOT", root)
    monkeypatch.setenv("GIT_AUTHOR_NAME", "A")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "a@example.org")
    monkeypatch.setenv("GIT_COMMITTER_NAME", "A")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "a@example.org")

    def build(folder: Path, out: Path, **_: object) -> dict[str, str]:
        out.mkdir()
        (out / "tablewatch-0.2.0-py3-none-any.whl").write_text((folder / "pyproject.toml").read_text("utf-8"), "utf-8")
        return {"tablewatch-0.2.0-py3-none-any.whl": "0f"}

    checked = []
    monkeypatch.setattr(script, "build", build)
    monkeypatch.setattr(script, "check_wheel", lambda wheel, *_: checked.append(wheel.name))

    def state() -> tuple[str, ...]:
        asked = (["status", "--porcelain"], ["tag"], ["rev-parse", "HEAD"])
        return tuple(
            subprocess.run([*git, *words], capture_output=True, text=True, check=True).stdout for words in asked
        )

    before = state()
    assert main(["0.2.0"]) == 0
    assert "README.md" in capsys.readouterr().out
    assert (state(), (root / "dist").exists(), len(checked)) == (before, False, 1)
    assert main(["0.2.0", "--tagged"]) == 1
    assert main(["0.2.0", "--commit"]) == 0
    assert (root / "dist" / "tablewatch-0.2.0-py3-none-any.whl").exists()
    (root / "dist" / "tablewatch-0.2.0-py3-none-any.whl").unlink()
    assert state()[1] == "v0.2.0\n"
    assert main(["0.2.0", "--tagged"]) == 0
    assert (root / "dist" / "tablewatch-0.2.0-py3-none-any.whl").exists()
    assert main(["0.2.0"]) == 1
    assert "there is a tag v0.2.0 already" in capsys.readouterr().err
    (root / "README.md").write_text("changed", encoding="utf-8")
    assert main(["0.3.0", "--commit"]) == 1


@pytest.mark.parametrize("name", ["tests", "release", "site"])
def test_workflows_call_what_anybody_can_run(name: str) -> None:
    """Each step is an action of GitHub or PyPI, `.ci/run`, or `make` with a target that there is."""
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
    targets = {line.partition(":")[0] for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()}
    steps = [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"] if "run" in step]
    for step in steps:
        words = step["run"].split()
        assert ".ci/run" in words or (words[0] == "make" and words[1] in targets), step
    assert "secrets." not in text
