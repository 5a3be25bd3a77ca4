"""Tablewatch without extras: what works, and that what needs an extra names it."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sources._extras import _EXTRAS
from tests.test_architecture import PACKAGES

ROOT = Path(__file__).parents[1]
WITHOUT_EXTRAS = """
import sys
from importlib.machinery import PathFinder
EXTRAS, WANTED = frozenset(sys.argv.pop(1).split(",")), []

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        package = name.partition(".")[0]
        if package in EXTRAS:
            WANTED.append(package)
            return None
        return super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
"""
"""The beginning of a program in which the packages of its first argument cannot be imported; `WANTED`: those tried."""
RUN_COMMANDS = """
import contextlib, io, json
from monitor.cli import run
from monitor.terminal.output import Invocation
for line in sys.stdin:
    WANTED.clear()
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = run(json.loads(line), Invocation())
    print(json.dumps([code, printed.buffer.getvalue().decode(), sorted(set(WANTED))]))
"""
IMPORT_ALL = """
import importlib, json, pkgutil
failed = {}
for name in sys.argv[1:]:
    for module in pkgutil.walk_packages([name], f"{name}."):
        if module.name.endswith((".__main__", ".env")):  # they run a command or a migration
            continue
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            failed[module.name] = error.name
print(json.dumps(failed))
"""
CONFIG = """
version: 1
project: people
sources: {files: {files: "*.csv"}}
alerts: {channels: {desk: {apprise: "json://localhost:9/"}}}
releases:
  extract:
    table: people
    audience: a university
    columns: {born: quasi-identifier, sex: quasi-identifier}
    limits: {k: 2}
    remedies: [{remedy: suppress}]
tables:
  - name: people
    source: files
    checks:
      - {type: not_null, columns: [sex], max_ratio: 0.5, sample: {share: 0.3}}
      - {type: range, column: born, min: 1931, max_ratio: 0.5, sample: {share: 0.3}}
      - {type: expectation, expectation: ExpectColumnValuesToNotBeNull, kwargs: {column: born}}
      - {type: population_uniqueness, quasi_identifiers: [born, sex], sampling_fraction: 0.5,
         max_population_unique_fraction: 0.9}
"""
WITHOUT = (
    ["init", "--source", "people.csv"],
    ["suggest", "people"],
    ["check"],
    ["check", "people.not-null", "people.range", "-c", "full"],
    ["report"],
    ["privacy", "risk", "people.csv", "--quasi-identifiers", "born,sex"],
    ["downtime"],
    ["status"],
)
"""Commands that need no extra."""
LACKING = {
    "check people.expectation -c full": ("gx", 3),
    "check people.population-uniqueness -c full": ("disclosure", 3),
    "config check -c full": ("apprise", 2),
    "alert test desk -c full": ("apprise", 1),
    "release compare extract -c full": ("disclosure", 2),
    "privacy remedy suppress people.csv out.csv --quasi-identifiers born,sex --k 2": ("disclosure", 2),
    "privacy remedy microaggregate people.csv out.csv --columns born --k 2": ("disclosure", 2),
    "privacy risk people.csv --quasi-identifiers born,sex --sampling-fraction 0.1": ("disclosure", 2),
    "export gx --out suites -c full": ("gx", 2),
    "serve -c full": ("web", 2),
    "mcp -c full": ("mcp", 2),
}
"""By command: the extra that it lacks, and its exit code."""


def _without_extras(program: str, *arguments: str, cwd: Path = ROOT, **options: Any) -> str:
    """Run a program in a Python in which no package of an extra can be imported; return its output."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("TABLEWATCH")}
    command = [sys.executable, "-c", WITHOUT_EXTRAS + program, ",".join(_EXTRAS), *arguments]
    environment = {**variables, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=environment, check=True, **options
    ).stdout


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[int, str, Sequence[str]]]:
    """Return of each command its exit code, what it printed, and the packages of extras that it looked for."""
    folder = tmp_path_factory.mktemp("light")
    rows = "".join(f"{number},{1930 + number * 7 % 60},{'fm'[number % 2]}\n" for number in range(400))
    (folder / "people.csv").write_text(f"id,born,sex\n{rows}400,1929,f\n", encoding="utf-8")
    (folder / "full").mkdir()
    (folder / "full/people.csv").write_text(f"id,born,sex\n{rows}400,1929,f\n", encoding="utf-8")
    (folder / "full/tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    commands = [*WITHOUT, *(line.split() for line in LACKING)]
    printed = _without_extras(RUN_COMMANDS, cwd=folder, input="".join(f"{json.dumps(words)}\n" for words in commands))
    answers = map(json.loads, printed.splitlines())
    return {" ".join(words): tuple(answer) for words, answer in zip(commands, answers, strict=True)}


@pytest.mark.parametrize("words", WITHOUT, ids=" ".join)
def test_a_command_of_the_base_works_and_asks_for_no_extra(words: Sequence[str], results: Any) -> None:
    """`init`, `suggest`, checks of samples and reports work without any extra, and do not look for one."""
    code, printed, wanted = results[" ".join(words)]
    assert code == (1 if "risk" in words else 0), printed
    assert wanted == []


@pytest.mark.parametrize("line", LACKING)
def test_what_lacks_an_extra_names_it(line: str, results: Any) -> None:
    """A command, a check or a channel that lacks an extra shows the command that installs it."""
    code, printed, _ = results[line]
    extra, expected = LACKING[line]
    assert f"pip install 'tablewatch[{extra}]'" in " ".join(printed.split())
    assert code == expected, printed


def test_only_doors_import_an_extra_when_they_are_imported() -> None:
    """A module that cannot be imported without an extra is a source, a page or the mathematics of that extra."""
    failed = json.loads(_without_extras(IMPORT_ALL, *PACKAGES))
    doors = {
        "great_expectations": r"checks\.gx\.(custom|metric)|tablewatch\.gx",
        "numba": r"(remedies|tablewatch)\.(_compiled|microaggregate|suppress|(generalis|microaggreg)ation).*",
    }
    for module, package in failed.items():
        if package in doors:
            assert re.fullmatch(doors[package], module), module
        else:
            of_pages = ("monitor.web", "monitor.verbs.account_secrets")
            known = ("sources.", *of_pages, "pytest_tablewatch", "remedies.microaggregation")
            assert module.startswith(known), module


@cache
def _project() -> Mapping[str, Any]:
    project: Mapping[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def _names(requirements: Sequence[str]) -> set[str]:
    return {canonicalize_name(Requirement(text).name) for text in requirements}


def test_all_has_every_extra() -> None:
    """`[all]` installs every other extra."""
    extras = _project()["optional-dependencies"]
    (requirement,) = map(Requirement, extras["all"])
    assert requirement.extras == extras.keys() - {"all"}


def test_the_extra_that_is_named_installs_the_package() -> None:
    """Each package belongs to the extra that a message names, and to no other requirement of the base."""
    extras, owners = _project()["optional-dependencies"], packages_distributions()
    for package, extra in _EXTRAS.items():
        distributions = {canonicalize_name(name) for name in owners.get(package, ())}
        assert not distributions or distributions & _names(extras[extra]), package
        assert not distributions & _names(_project()["dependencies"]), package
