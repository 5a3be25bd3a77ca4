"""A release in one command: `make release VERSION=0.2.0`, or `python -m release 0.2.0`.

It works in a copy of the last commit: sets the version, dates the changes, switches the documentation from a checkout
to the published package, builds wheel and sdist twice, compares both builds byte by byte, installs the wheel in a clean
environment and asks of it what `tests/wheel.py` asks. Then it prints what it would change, and stops.

With `--commit` it also writes the changes to this checkout, commits and tags them, and leaves the files in `dist/`.
Nothing is pushed: `git push --follow-tags` starts `.github/workflows/release.yml`, which publishes. That calls
`make dist VERSION=0.2.0` (`--tagged`): the same builds and checks of a checkout that a release has changed already.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Final, NamedTuple

from packaging.version import InvalidVersion, Version

ROOT: Final = Path(__file__).parents[1]
_UNRELEASED: Final = "## [Unreleased]\n"
_VERSION: Final = re.compile(r'^version = "(?P<version>[^"]+)"$', re.MULTILINE)


class ReleaseError(Exception):
    """A release cannot be made, with the reason."""


class Switch(NamedTuple):
    """A text of the documentation before the first release, and after it; `{0}` is the version."""

    page: str
    before: str
    after: str


SWITCHES: Final = (
    Switch("README.md", "pip install .       ", "pipx install tablewatch"),
    Switch(
        "README.md",
        "# from a checkout: Python 3.11 or newer, 0.55 GB",
        "# or pip; uvx tablewatch demo tries it; Python 3.11 or newer, 0.55 GB",
    ),
    Switch(
        "README.md",
        "Extras, as in `pip install '.[postgres,apprise]'`",
        "Extras, as in `pip install 'tablewatch[postgres,apprise]'`",
    ),
    Switch("README.md", "**Status.** Not released: install from a checkout. Stores", "**Status.** Version {0}. Stores"),
    Switch("CHANGELOG.md", "Nothing was released yet. What there is", "The first release. What there is"),
)
"""Texts that the first release changes; a later one finds none of them, and changes none."""
_EXTRA: Final = re.compile(r"pip install '\.\[(?P<extras>[a-z,]+)\]'")
"""How pages say before the first release that an extra is needed."""


def check_version(text: str, current: str) -> Version:
    """Return a version that is newer than the current one, or is it, where none was released.

    Raises:
        ReleaseError: it is no version as PEP 440 has it, or an older one.
    """
    try:
        version = Version(text)
    except InvalidVersion:
        raise ReleaseError(f"{text!r} is not a version; write one such as 0.2.0") from None
    if str(version) != text or version.local:
        raise ReleaseError(f"{text!r} is not the plain form of a version; write {version.public}")
    if version < Version(current):
        raise ReleaseError(f"version {text} is older than {current}, that of pyproject.toml")
    return version


def prepare(folder: Path, version: str, today: date) -> list[str]:
    """Change the files of a checkout to those of a release, and return the names of the changed files.

    Raises:
        ReleaseError: the version or the list of changes is not as it should be.
    """
    project = folder / "pyproject.toml"
    current = _VERSION.search(project.read_text(encoding="utf-8"))
    if current is None:
        raise ReleaseError("pyproject.toml has no version")
    check_version(version, current["version"])
    old = {page: page.read_text(encoding="utf-8") for page in _texts(folder)}
    new = {page: _EXTRA.sub(r"pip install 'tablewatch[\g<extras>]'", text) for page, text in old.items()}
    for page, before, after in SWITCHES:
        new[folder / page] = new[folder / page].replace(before, after.format(version))
    changes = new[folder / "CHANGELOG.md"]
    if changes.count(_UNRELEASED) != 1 or not _subjects(changes):
        raise ReleaseError("CHANGELOG.md has no changes under '## [Unreleased]'")
    if f"## [{version}]" in changes:
        raise ReleaseError(f"CHANGELOG.md has a section {version} already")
    dated = f"{_UNRELEASED}\n## [{version}] - {today.isoformat()}\n"
    new[folder / "CHANGELOG.md"] = changes.replace(_UNRELEASED, dated)
    new[project] = _VERSION.sub(f'version = "{version}"', old[project], count=1)
    changed = [page for page, text in new.items() if text != old[page]]
    for page in changed:
        page.write_text(new[page], encoding="utf-8")
    return sorted(str(page.relative_to(folder)) for page in changed)


def _texts(folder: Path) -> list[Path]:
    return [
        folder / "pyproject.toml",
        *sorted(folder.glob("*.md")),
        *sorted(folder.glob("docs/*.md")),
        *sorted(folder.glob("docs/tutorials/*.md")),
    ]


def _subjects(changes: str) -> str:
    """Return what stands under "Unreleased"."""
    return changes.partition(_UNRELEASED)[2].partition("\n## [")[0].strip()


def build(folder: Path, out: Path, *, at: int, isolated: bool = True) -> Mapping[str, str]:
    """Build wheel and sdist of a checkout, and return the SHA-256 of each file by its name.

    Args:
        folder: the checkout.
        out: where the files go.
        at: seconds since 1970 that every file in them gets as its time.
        isolated: whether the build tools are installed again; else those of this environment are used, without network.
    """
    more = () if isolated else ("--no-isolation",)
    _run(sys.executable, "-m", "build", *more, "--outdir", str(out), str(folder), SOURCE_DATE_EPOCH=str(at))
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(out.iterdir())}


def build_twice(folder: Path, work: Path, *, at: int, isolated: bool = True) -> Mapping[str, str]:
    """Build in two folders of other names and times, and return the digests of the files in `work/dist`.

    Raises:
        ReleaseError: the two builds differ.
    """
    copy = work / "a copy elsewhere"
    shutil.copytree(folder, copy, copy_function=shutil.copy)  # other times of files
    first = build(folder, work / "dist", at=at, isolated=isolated)
    second = build(copy, work / "again", at=at, isolated=isolated)
    if first != second:
        different = [name for name in {*first, *second} if first.get(name) != second.get(name)]
        raise ReleaseError(f"two builds differ: {', '.join(sorted(different))}")
    return first


def check_wheel(wheel: Path, checkout: Path, work: Path) -> None:
    """Install a wheel alone in a clean environment and ask of it what `tests/wheel.py` asks.

    Raises:
        ReleaseError: it cannot be installed, or does not keep a promise.
    """
    (work / "empty").mkdir()
    python = work / "environment" / "bin" / "python"
    _run(sys.executable, "-m", "venv", str(work / "environment"))
    constraints = str(checkout / "constraints.txt")
    _run(str(python), "-m", "pip", "install", "--quiet", "--constraint", constraints, str(wheel))
    promises = (checkout / "tests" / "wheel.py").read_text(encoding="utf-8")
    _run(str(python), "-", at=work / "empty", typed=promises)


def _run(*words: str, at: Path | None = None, typed: str | None = None, **variables: str) -> str:
    environment = {**os.environ, **variables}
    done = subprocess.run(  # noqa: S603 - our own words
        words, cwd=at, env=environment, input=typed, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ReleaseError(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def release(version: str, *, commit: bool, say: Callable[[str], None], today: date) -> None:
    """Make a release, or show what one would be.

    Raises:
        ReleaseError: it cannot be made; the checkout is as it was.
    """
    git = ("git", "-C", str(ROOT))
    if commit and _run(*git, "status", "--porcelain").strip():
        raise ReleaseError("the checkout has changes that are not committed")
    if _run(*git, "tag", "--list", f"v{version}").strip():
        raise ReleaseError(f"there is a tag v{version} already")
    with tempfile.TemporaryDirectory(prefix="tablewatch-release-") as name:
        work, copy = Path(name), Path(name) / "tablewatch"
        _run("git", "clone", "--quiet", str(ROOT), str(copy))
        changed = prepare(copy, version, today)
        say(_run("git", "-C", str(copy), "diff", "--stat"))
        _build_and_check(copy, work, say=say)
        if not commit:
            say(f"nothing was changed; to release: make release VERSION={version} COMMIT=yes")
            return
        for file in changed:
            shutil.copy(copy / file, ROOT / file)
        shutil.copytree(work / "dist", ROOT / "dist", dirs_exist_ok=True)
    _run(*git, "commit", "--quiet", "--all", "--message", f"Version {version}")
    _run(*git, "tag", "--annotate", f"v{version}", "--message", f"Version {version}")
    say(f"committed and tagged v{version}; the files are in dist/; to publish: git push --follow-tags")


def rebuild(version: str, *, say: Callable[[str], None]) -> None:
    """Build and check a checkout that is a release, and leave the files in `dist/`.

    Raises:
        ReleaseError: it is another version, or a build or the wheel is not as it should be.
    """
    current = _VERSION.search((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if current is None or current["version"] != version:
        raise ReleaseError(f"the checkout is not version {version}: see pyproject.toml")
    if f"\n## [{version}] - " not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        raise ReleaseError(f"CHANGELOG.md has no section {version}")
    with tempfile.TemporaryDirectory(prefix="tablewatch-release-") as name:
        work, copy = Path(name), Path(name) / "tablewatch"
        _run("git", "clone", "--quiet", str(ROOT), str(copy))
        _build_and_check(copy, work, say=say)
        shutil.copytree(work / "dist", ROOT / "dist", dirs_exist_ok=True)


def _build_and_check(copy: Path, work: Path, *, say: Callable[[str], None]) -> None:
    at = int(_run("git", "-C", str(copy), "log", "-1", "--format=%ct"))
    shutil.rmtree(copy / ".git")
    digests = build_twice(copy, work, at=at)
    say("built twice, byte by byte the same:")
    for file, digest in digests.items():
        say(f"  {digest}  {file}")
    check_wheel(next((work / "dist").glob("*.whl")), copy, work)
    say("the wheel, installed alone, keeps what tests/wheel.py asks of it")


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return 1 where no release can be made."""
    parser = argparse.ArgumentParser(prog="python -m release", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("version")
    parser.add_argument("--commit", action="store_true", help="change this checkout, commit and tag")
    parser.add_argument("--tagged", action="store_true", help="this checkout is the release: build and check it")
    given = parser.parse_args(words)

    def say(text: str) -> None:
        print(text, flush=True)  # noqa: T201 - a script

    try:
        if given.tagged:
            rebuild(given.version, say=say)
        else:
            release(given.version, commit=given.commit, say=say, today=date.today())  # noqa: DTZ011 - of who releases
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - a script
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
