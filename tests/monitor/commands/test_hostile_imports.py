"""Files of other tools that are cut off, of another version, too large or contradictory: refused or named, no pass."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from monitor.config import load
from monitor.config.project import Project
from tests.monitor.commands.terminal import NOW, Terminal
from tests.monitor.integrations.artifacts import aged, entry_of_test, write_run_results, write_sources
from tests.monitor.integrations.contracts import CONTRACT

TEST, SOURCE = "test.shop.ids.1", "source.shop.raw.orders"
EXTERNAL = f"""      - {{type: external, origin: other, id: sums}}
      - {{type: external, origin: dbt, id: ids, reference: {TEST}}}
      - {{type: external, origin: dbt, id: fresh, reference: {SOURCE}}}
"""
MIB: Final = 1024 * 1024


def _results(*statuses: str, **changed: Any) -> str:
    times = {"started_at": NOW.isoformat(), "ended_at": NOW.isoformat()}
    results = [{"check": "sums", "status": status} for status in statuses or ("pass",)]
    return json.dumps({"origin": "other", "run_id": "1", **times, "results": results, **changed})


def _artifact(write: Callable[..., Path], *entries: Any) -> str:
    path = write(Path("made"), *entries)
    text = path.read_text(encoding="utf-8")
    path.unlink()
    return text


GOOD: Final[Mapping[str, tuple[str, Callable[[], str]]]] = {
    "import results FILE": ("results.json", _results),
    "import dbt FILE": ("run_results.json", lambda: _artifact(write_run_results, entry_of_test(TEST, "pass"))),
    "import dbt ./FILE": ("sources.json", lambda: _artifact(write_sources, aged(SOURCE, "pass", 1))),
    "import dbt FILE --config": ("manifest.json", lambda: json.dumps({"metadata": {}, "nodes": {}, "sources": {}})),
    "import contract FILE": ("orders.odcs.yaml", lambda: CONTRACT),
    "import openlineage FILE": ("events.jsonl", lambda: '{"eventType": "COMPLETE", "inputs": [], "outputs": []}\n'),
    "import gx FILE --table orders": ("suite.json", lambda: '{"name": "s", "expectations": []}'),
    "import incidents FILE": ("tickets.csv", lambda: "table,title,detected\norders,late,2026-11-19T08:00Z\n"),
}
"""Each command that reads a file of another tool, with a good one."""


@pytest.fixture
def terminal(terminal: Terminal) -> Terminal:
    """Return a terminal whose table `orders` has checks that other tools evaluate."""
    line = "      - {type: not_null, columns: [customer]}\n"
    terminal.configure(**{line: line + EXTERNAL})
    return terminal


def _statuses(terminal: Terminal) -> dict[str, str]:
    """Return what is stored of each check."""
    with Project(load(terminal.folder / "tablewatch.yaml")).open_store() as store, store.reading() as tx:
        return {name: result.status.value for name, result in tx.results.latest().items()}


def _refused(terminal: Terminal, command: str, content: bytes) -> Any:
    """Import a file that must be refused, and return the first error."""
    name, _ = GOOD[command]
    Path(name).write_bytes(content)
    errors = terminal.refused(*command.replace("FILE", name).split())
    assert _statuses(terminal) == {}
    assert not [error for error in errors if "internal error" in error["message"]]
    return errors[0]


@pytest.mark.parametrize("command", list(GOOD))
def test_the_good_file_is_taken(terminal: Terminal, command: str) -> None:
    """So that what the others are refused for is what was done to them."""
    name, good = GOOD[command]
    Path(name).write_text(good(), encoding="utf-8")
    assert terminal(*command.replace("FILE", name).split()).code == 0


@pytest.mark.parametrize("command", [name for name in GOOD if "incidents" not in name])
def test_a_file_that_was_cut_off_is_refused(terminal: Terminal, command: str) -> None:
    """Wherever it ends within its last structure; nothing of its first half is recorded."""
    text = GOOD[command][1]().rstrip()
    half = text[: text.rindex("{") + 1] if command.startswith("import contract") else text[:-1]
    assert _refused(terminal, command, half.encode())["message"]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"[" * 100_000, b"3", b'"text"', b"[null]"])
@pytest.mark.parametrize("command", [name for name in GOOD if "incidents" not in name and "openlineage" not in name])
def test_a_file_of_another_kind_is_refused(terminal: Terminal, command: str, content: bytes) -> None:
    """Nothing, bytes that are no text, nesting without end, and JSON of another shape."""
    assert _refused(terminal, command, content)["message"]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"[" * 100_000])
@pytest.mark.parametrize("command", ["import openlineage FILE", "import incidents FILE"])
def test_lines_of_another_kind_are_refused(terminal: Terminal, command: str, content: bytes) -> None:
    """Of files that are read line by line."""
    assert _refused(terminal, command, content)["message"]


@pytest.mark.parametrize(
    ("command", "most"), [("import contract FILE", 4 * MIB), ("import gx FILE --table orders", 20 * MIB)]
)
def test_a_file_that_is_too_large_is_refused_unread(terminal: Terminal, command: str, most: int) -> None:
    """Where reading takes long for its size, its size is bounded."""
    name, _ = GOOD[command]
    with Path(name).open("wb") as file:
        os.truncate(file.fileno(), most + 1)
    (error,) = terminal.refused(*command.replace("FILE", name).split())
    assert "larger than" in error["message"] or "maximum size" in error["message"]


@pytest.mark.parametrize(
    ("command", "old", "new"),
    [
        ("import results FILE", '"origin"', '"schema": "tablewatch.results/2", "origin"'),
        ("import dbt FILE", "run-results/v6", "catalog/v1"),
        ("import contract FILE", "v3.1.0", "v4.0.0"),
        ("import contract FILE", "DataContract", "DataProduct"),
    ],
)
def test_another_version_is_refused(terminal: Terminal, command: str, old: str, new: str) -> None:
    """Where its words may mean something else."""
    text = GOOD[command][1]()
    assert old in text
    assert _refused(terminal, command, text.replace(old, new).encode())["message"]


@pytest.mark.parametrize(
    ("command", "old", "new"),
    [
        ("import dbt FILE", "run-results/v6", "run-results/v9"),
        ("import dbt ./FILE", "sources/v3", "sources/v9"),
        (
            "import dbt FILE --config",
            '"metadata": {}',
            '"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v20.json"}',
        ),
    ],
)
def test_a_newer_version_of_dbt_is_named(terminal: Terminal, command: str, old: str, new: str) -> None:
    """A dozen keys are read of it as of any other; that there may be more to read is noted."""
    name, good = GOOD[command]
    Path(name).write_text(good().replace(old, new), encoding="utf-8")
    taken = terminal(*command.replace("FILE", name).split())
    assert taken.code == 0
    assert "is newer than" in taken.err


@pytest.mark.parametrize("statuses", [("pass", "fail"), ("fail", "pass"), ("pass", "fail", "pass")])
def test_of_several_results_of_a_check_the_worst_counts(terminal: Terminal, statuses: tuple[str, ...]) -> None:
    """In whatever order they stand; the others are named."""
    Path("results.json").write_text(_results(*statuses), encoding="utf-8")
    write_run_results(Path("target"), *(entry_of_test(TEST, status) for status in statuses))
    write_sources(Path("target"), *(aged(SOURCE, {"fail": "error"}.get(status, status), 30) for status in statuses))
    for words in ("import results results.json", "import dbt target"):
        assert "has several results" in terminal(*words.split()).err
    assert _statuses(terminal) == dict.fromkeys(("orders.sums", "orders.ids", "orders.fresh"), "fail")


def test_times_without_a_zone_are_refused(terminal: Terminal) -> None:
    """Of a run as a whole; nothing is read as the time of some zone."""
    naive = NOW.replace(tzinfo=None).isoformat()
    error = _refused(terminal, "import results FILE", _results(started_at=naive).encode())
    assert "started_at" in error["message"]
    text = GOOD["import dbt FILE"][1]()
    error = _refused(terminal, "import dbt FILE", text.replace(NOW.isoformat(), naive).encode())
    assert "generated_at" in error["message"]


def test_an_entry_whose_times_have_no_zone_is_unknown(terminal: Terminal) -> None:
    """It is named, and its check has no result of a complete run."""
    naive = NOW.replace(tzinfo=None).isoformat()
    entry = entry_of_test(TEST, "pass") | {"timing": [{"name": "execute", "started_at": naive}]}
    write_run_results(Path("target"), entry)
    write_sources(Path("target"), aged(SOURCE, "pass", 1) | {"max_loaded_at": naive})
    taken = terminal("import", "dbt", "target")
    assert [name for name in (TEST, SOURCE) if f"not taken: {name}: " in taken.err] == [TEST, SOURCE]
    assert taken.err.count("input should have timezone info") == 2
    assert _statuses(terminal) == dict.fromkeys(("orders.ids", "orders.fresh"), "unknown")
