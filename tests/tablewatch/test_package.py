"""The package: what it exports, what importing it costs, and what may be in its way."""

import os
import subprocess
import sys
from importlib import import_module, metadata
from pathlib import Path
from typing import Final

import pytest

import tablewatch as tw
from monitor.terminal.version import version

ROOT: Final = Path(tw.__file__).resolve().parents[1]
_HEAVY: Final = {
    "monitor.cli", "checks", "sources", "store", "duckdb", "ibis", "pandas", "numpy", "pyarrow", "polars", "pydantic",
    "sqlmodel", "sqlalchemy", "great_expectations", "typer", "rich", "jinja2", "numba", "scipy", "yaml",
}  # fmt: skip


def _python(folder: Path, *words: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """Run an interpreter in a folder; `python -c` and `python -m` look there first."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [path, str(ROOT)]))}
    environment.pop("PYTHONSAFEPATH", None)
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_importing_is_cheap(tmp_path: Path) -> None:
    """No engine, no library of the product and no other package of it is imported until it is used."""
    code = "import tablewatch, sys; print(*(name for name in sys.modules))"
    done = _python(tmp_path, "-c", code)
    imported = set(done.stdout.split())
    assert {name for name in imported if name.partition(".")[0] in _HEAVY or name in _HEAVY} == set()
    assert {name.partition(".")[0] for name in imported} >= {"tablewatch"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Great Expectations, which `tablewatch.gx` imports
def test_every_public_name_exists() -> None:
    """Those of `__all__`, and the version of the distribution."""
    assert [name for name in tw.__all__ if not hasattr(tw, name)] == []
    assert tw.__version__ == version() == metadata.version("tablewatch")
    assert sorted(dir(tw)) == sorted(tw.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = tw.nothing  # type: ignore[attr-defined] - this is what is tried


@pytest.mark.parametrize(
    ("name", "library", "functions"),
    [
        ("risk", "checks.risk", "class_sizes k_anonymity l_diversity t_closeness population_uniqueness"),
        (
            "microaggregation",
            "remedies.microaggregation",
            "standardise npn_path fdh_path mhm mdav vmdav optimal_univariate information_loss microaggregate",
        ),
        ("generalisation", "remedies.generalisation", "Hierarchy incognito optimal mondrian datafly utilities"),
        (
            "differential_privacy",
            "remedies.differential_privacy",
            "retention epsilon_of pk_of randomise perturb reconstruct discrete_laplace oracles BinaryMechanism",
        ),
    ],
)
def test_the_mathematics_has_public_names(name: str, library: str, functions: str) -> None:
    """The library surface of the design: all of it, under the package's name, and nothing lost on the way."""
    public, internal = import_module(f"tablewatch.{name}"), import_module(library)
    assert getattr(tw, name) is public
    assert public.__all__ == internal.__all__
    for function in functions.split():
        assert getattr(public, function) is getattr(internal, function)


def test_a_configuration_folder_of_the_same_name_is_no_package(tmp_path: Path) -> None:
    """`tablewatch/` in the working folder holds YAML; `python -m` and `import` find the package all the same."""
    folder = tmp_path / "tablewatch"
    folder.mkdir()
    (tmp_path / "orders.csv").write_text("id\n1\n", encoding="utf-8")
    config = "version: 1\nproject: p\nsources: {lake: {files: '*.csv'}}\ntables:\n  - name: orders\n    source: lake\n"
    config = config.replace("'*.csv'", "'../*.csv'") + "    checks: [{type: unique, columns: [id]}]\n"
    (folder / "p.yaml").write_text(config, encoding="utf-8")
    done = _python(tmp_path, "-m", "tablewatch", "check", "--no-store")
    assert (done.returncode, done.stdout.startswith("PASS    orders.unique")) == (0, True), done.stderr
    done = _python(tmp_path, "-c", "import tablewatch as tw; print(tw.load().check(record=False).ok)")
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("name", ["monitor.py", "monitor/__init__.py"])
def test_another_monitor_is_named(tmp_path: Path, name: str) -> None:
    """Where a file of the user's folder would be imported in the place of ours, both are in the error."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("", encoding="utf-8")
    done = _python(tmp_path, "-c", "import tablewatch")
    assert done.returncode == 1
    assert f"package 'monitor' was found at {tmp_path / name}, expected at {ROOT / 'monitor'}" in done.stderr


def test_another_package_of_ours_is_named(tmp_path: Path) -> None:
    """When it is needed: `import tablewatch` alone imports none."""
    (tmp_path / "checks.py").write_text("", encoding="utf-8")
    code = "import tablewatch as tw; tw.check('x.csv', [{'type': 'unique', 'columns': ['id']}])"
    done = _python(tmp_path, "-c", code)
    assert f"package 'checks' was found at {tmp_path / 'checks.py'}" in done.stderr


def test_a_script_called_tablewatch_keeps_no_command_from_running(tmp_path: Path) -> None:
    """The command line needs no package `tablewatch`: beside a `tablewatch.py` the command still works."""
    (tmp_path / "tablewatch.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    done = _python(tmp_path, "-m", "monitor", "--version")
    assert (done.returncode, done.stdout) == (0, f"tablewatch {tw.__version__}\n")
