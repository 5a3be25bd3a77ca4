"""`tablewatch config diff`: what a configuration changes, of the one that the daemon runs or of another file."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.daemon.presence import DaemonPresence
from monitor.doctor.config_diff import config_changes
from tests.monitor.commands.terminal import CONFIG, NOW, Terminal

CHANGED = (
    CONFIG.replace("tier: silver", "tier: gold")
    .replace("columns: [customer]", "columns: [customer, id]")
    .replace("      - {type: primary_key, columns: [id], severity: critical, why: Duplicates are billed twice.}\n", "")
    .replace("  - name: totals\n    source: shop\n    upstream: [refunds]\n", "")
    + "  - {name: notes, source: shop, tier: gold}\n"
)


def write(terminal: Terminal, text: str, name: str = "tablewatch.yaml") -> None:
    """Write a configuration."""
    (terminal.folder / name).write_text(text, encoding="utf-8")


def run_daemon(terminal: Terminal) -> DaemonPresence:
    """Sign in the store as a daemon with the configuration of now does."""
    project = Project(load(terminal.folder / "tablewatch.yaml"), SimulatedClock(NOW))
    with project.open_store() as store:
        presence = DaemonPresence(store, project.clock, project.loaded)
        presence.sign(leads=True)
    return presence


def test_changes_of_the_running_configuration_are_shown_by_table_and_check(terminal: Terminal) -> None:
    """Whatever moved in the file: what is added, removed and changed, with both values."""
    run_daemon(terminal)
    assert terminal("config", "diff").out.splitlines()[1:] == ["no difference"]
    write(terminal, CHANGED)
    said = terminal("config", "diff")
    assert said.code == 0
    head, *lines = said.out.splitlines()
    assert head.startswith("compared with what the daemon on ")
    assert "which runs) took over on 2026-11-20 18:00" in head
    assert lines == [
        '~ tables.orders.checks.not-null.columns: ["customer"] -> ["customer", "id"]',
        "- tables.orders.checks.primary-key:",
        "-   type: primary_key",
        "-   columns:",
        "-   - id",
        "-   severity: critical",
        "-   why: Duplicates are billed twice.",
        '~ tables.refunds.tier: "silver" -> "gold"',
        "+ tables.notes:",
        "+   name: notes",
        "+   source: shop",
        "+   tier: gold",
        "- tables.totals:",
        "-   name: totals",
        "-   source: shop",
        "-   upstream:",
        "-   - refunds",
    ]


def test_the_daemon_that_runs_goes_before_one_that_was_killed(terminal: Terminal) -> None:
    """One that was killed never said that it stopped: the signs of life tell."""
    project = Project(load(terminal.folder / "tablewatch.yaml"), SimulatedClock(NOW - timedelta(days=2)))
    with project.open_store() as store:
        DaemonPresence(store, project.clock, project.loaded).sign(leads=True)
    assert "which gives no sign of life" in terminal("config", "diff").out
    write(terminal, CHANGED)
    project = Project(load(terminal.folder / "tablewatch.yaml"), SimulatedClock(NOW - timedelta(days=1)))
    with project.open_store() as store:
        presence = DaemonPresence(store, project.clock, project.loaded)
        presence.sign(leads=True)
        presence.goodbye()
    said = terminal("config", "diff").out
    assert ("which has stopped" in said, "no difference" in said) == (True, True)


def test_the_order_of_patterns_of_owners_is_a_difference(terminal: Terminal) -> None:
    """The last match counts, so that it decides who owns a table; a daemon that runs takes it over."""
    patterns = "ownership: {'*': desk, 'o*': crew}\n"
    plain = CONFIG + patterns
    swapped = CONFIG + patterns.replace("'*': desk, 'o*': crew", "'o*': crew, '*': desk")
    write(terminal, plain, "old.yaml")
    write(terminal, swapped)
    assert terminal("config", "diff", "old.yaml").out.splitlines()[1:] == ['~ ownership: ["*", "o*"] -> ["o*", "*"]']
    old, new = (load(terminal.folder / name) for name in ("old.yaml", "tablewatch.yaml"))
    assert old.digest != new.digest


def test_a_daemon_that_stopped_is_named_as_such_and_without_one_it_says_what_to_do(terminal: Terminal) -> None:
    """What it took over last is still the best that is known."""
    said = terminal("config", "diff")
    assert (said.code, "no daemon has run with this store" in said.err) == (3, True)
    project = Project(load(terminal.folder / "tablewatch.yaml"), SimulatedClock(NOW))
    with project.open_store() as store:
        presence = DaemonPresence(store, project.clock, project.loaded)
        presence.sign(leads=True)
        presence.goodbye()
    assert "which has stopped" in terminal("config", "diff").out


def test_a_reload_is_written_with_the_next_sign_of_life(terminal: Terminal) -> None:
    """What is compared is what the daemon uses now."""
    project = Project(load(terminal.folder / "tablewatch.yaml"), SimulatedClock(NOW))
    with project.open_store() as store:
        presence = DaemonPresence(store, project.clock, project.loaded)
        presence.sign(leads=True)
        write(terminal, CHANGED)
        presence.config_is_loaded(load(terminal.folder / "tablewatch.yaml"))
        presence.sign(leads=True)
    assert terminal.json("config", "diff")["changes"] == []


def test_another_file_is_compared_and_must_be_right(terminal: Terminal) -> None:
    """A file with errors is refused with them."""
    write(terminal, CHANGED, "old.yaml")
    result = terminal.json("config", "diff", "old.yaml")
    assert result["before"] == "old.yaml"
    assert {"kind": "changed", "path": "tables.refunds.tier", "before": "gold", "after": "silver"} in result["changes"]
    write(terminal, CHANGED.replace("source: shop", "source: shap"), "old.yaml")
    assert "did you mean 'shop'" in terminal("config", "diff", "old.yaml").err
    assert terminal("config", "diff", "absent.yaml").code == 2


def test_the_folder_of_a_checkout_is_no_difference(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same text in two folders is the same; what changed beside `${here}` is shown, what is masked is not."""
    extra = 'sources: {extra: {url: "duckdb:///${here}/a b.db"}, '
    text = CONFIG.replace("sources: {", extra) + 'daemon: {heartbeat_url: "http://127.0.0.1:1/${BEAT}"}\n'
    monkeypatch.setenv("BEAT", "first-secret")
    (terminal.folder / "other").mkdir()
    write(terminal, text)
    for other, lines in (
        (text, ["no difference"]),
        (text.replace("a b", "c"), ['~ sources.extra.url: "duckdb:///${here}/c.db" -> "duckdb:///${here}/a b.db"']),
        (
            text.replace("${BEAT}", "${BEAT}2"),
            ["only values that are masked differ: they come from the environment or a file"],
        ),
    ):
        write(terminal, other, "other/tablewatch.yaml")
        assert terminal("config", "diff", "other").out.splitlines()[1:] == lines


def test_a_secret_is_in_no_difference_and_not_in_the_store(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """That one changed is shown, and its values are not."""
    text = CONFIG + 'daemon: {heartbeat_url: "http://127.0.0.1:1/${BEAT}"}\n'
    write(terminal, text)
    monkeypatch.setenv("BEAT", "first-secret")
    run_daemon(terminal)
    monkeypatch.setenv("BEAT", "second-secret")
    said = terminal("config", "diff")
    assert "only values that are masked differ" in said.out
    assert "secret" not in said.out
    with Project(load(terminal.folder / "tablewatch.yaml")).open_store() as store, store.reading() as tx:
        (daemon,) = tx.daemons.records()
        assert "secret" not in str(tx.daemons.config(daemon.id))


SCALARS = st.integers(0, 2) | st.sampled_from(["a", "b"])
CHECKS = st.lists(
    st.fixed_dictionaries({"type": st.sampled_from(["not_null", "range"])}, optional={"max": SCALARS}),
    unique_by=lambda check: check["type"], max_size=2,
)  # fmt: skip
TABLES = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("xyz")}, optional={"tier": SCALARS, "checks": CHECKS}),
    unique_by=lambda table: table["name"], max_size=3,
)  # fmt: skip
CONFIGS = st.fixed_dictionaries(
    {"tables": TABLES}, optional={"project": SCALARS, "alerts": st.fixed_dictionaries({"n": SCALARS})}
)


def sorted_by_name(config: Any) -> Any:
    """Return a configuration without the order of its tables and checks."""
    tables = {
        table["name"]: {**table, "checks": {check["type"]: check for check in table["checks"]}}
        if "checks" in table
        else table
        for table in config["tables"]
    }
    return {**config, "tables": tables}


@given(CONFIGS, CONFIGS)
def test_no_change_means_equal_but_for_order_and_backwards_is_the_opposite(before: Any, after: Any) -> None:
    """What is added one way is removed the other way, with the same values."""
    changes = config_changes(before, after)
    assert (changes == []) == (sorted_by_name(before) == sorted_by_name(after))
    opposite = {"added": "removed", "removed": "added", "changed": "changed"}
    there = {(change.path, change.kind, str(change.before), str(change.after)) for change in changes}
    back = {
        (change.path, opposite[change.kind], str(change.after), str(change.before))
        for change in config_changes(after, before)
    }
    assert there == back
