"""What commands import that only read or write the store: each runs in a process of its own, as people start it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import monitor
from tests.monitor.commands.terminal import Terminal

_ROOT = Path(monitor.__file__).parents[1]
_ENGINES = frozenset(
    {
        "alembic",
        "apprise",
        "apscheduler",
        "duckdb",
        "great_expectations",
        "httpx",
        "ibis",
        "jinja2",
        "numba",
        "pandas",
        "prometheus_client",
        "psycopg",
        "pyarrow",
        "requests",
        "scipy",
        "sqlglot",
        "sqlalchemy.dialects.postgresql",
    }
)
_FIGURES = frozenset({"babel", "numpy"})
"""What lengths of time and amounts of money are computed and rounded with."""

_DATABASE = frozenset({"sqlalchemy", "sqlmodel", "store._engines"})

_RELEASE = """
releases:
  survey:
    table: orders
    audience: a university
    columns: {id: direct-identifier, customer: quasi-identifier}
    limits: {k: 2}
    remedies: [{remedy: suppress}]
"""

_NOT_THERE = frozenset(
    {
        "monitor.config.budgets_model",
        "monitor.config.release_model",
        "remedies.differential_privacy.ledger",
        "store._accounts",
        "store._class_rows",
        "store._ledger_repository",
        "store._releases",
        "store._retention",
    }
)
"""What a project without releases and budgets has nothing of, and what reading the state of tables does not touch."""

_RUN = """
import json, sys
from monitor.cli import run
from monitor.terminal.output import Invocation
code = run(sys.argv[1:], Invocation())
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""

WITHOUT_FIGURES = (
    "status",
    "alert log",
    "silence list",
    "silence add --table orders --for 1h --reason planned",
    "privacy budget show",
    "config show",
    "incident ack 1",
    "incident assign 1 desk",
)
WITH_FIGURES = (
    "incident list",
    "incident show 1",
    "downtime",
    "table list",
    "table show orders",
)


def _modules(words: str, folder: Path) -> set[str]:
    """Run a command, and return the modules that were imported when it ended."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("TABLEWATCH")}
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *words.split()],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**variables, "PYTHONPATH": str(_ROOT)},
        check=True,
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == 0, done.stdout
    return set(modules)


@pytest.fixture
def shop(terminal: Terminal) -> Path:
    """Return a project whose store holds an open incident."""
    terminal.sql("INSERT INTO orders VALUES (3, NULL)")
    assert terminal("check").code == 1
    return terminal.folder


@pytest.mark.parametrize("words", WITHOUT_FIGURES)
def test_command_of_the_store_imports_no_engine(words: str, shop: Path) -> None:
    """A command that computes no figure imports no engine, and no library of arrays or of locales either."""
    assert _modules(words, shop) & (_ENGINES | _FIGURES) == set()


@pytest.mark.parametrize("words", WITH_FIGURES)
def test_command_with_figures_imports_no_engine(words: str, shop: Path) -> None:
    """A command that computes lengths of time or costs imports numpy and babel for it, and no engine."""
    assert _modules(words, shop) & _ENGINES == set()


def test_checking_a_configuration_imports_no_engine(shop: Path) -> None:
    """Without a release, whose tables are looked at, `config check` opens no source; it never opens the store."""
    assert _modules("config check", shop) & (_ENGINES | _FIGURES | _DATABASE) == set()


def test_checking_releases_imports_no_database(shop: Path) -> None:
    """`config check` opens the sources of releases, and no store."""
    with (shop / "tablewatch.yaml").open("a", encoding="utf-8") as config:
        config.write(_RELEASE)
    modules = _modules("config check", shop)
    assert modules & _DATABASE == set()
    assert "ibis" in modules


@pytest.mark.parametrize("words", ["status", "alert log", "silence list", "incident list"])
def test_command_imports_what_is_there(words: str, shop: Path) -> None:
    """Sections that a file does not have are not imported, and no rows are mapped that a command does not read."""
    assert _modules(words, shop) & _NOT_THERE == set()
