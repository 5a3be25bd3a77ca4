"""`tablewatch config test`: the configuration is compared with its own rules; and owners of tables by pattern."""

from datetime import timedelta

import pytest

from monitor.config import load
from tests.monitor.commands.terminal import CONFIG, Terminal


def write(terminal: Terminal, more: str) -> None:
    """Write the configuration of the terminal with more lines."""
    (terminal.folder / "tablewatch.yaml").write_text(f"{CONFIG}{more}", encoding="utf-8")


def rule(words: str) -> str:
    """Return a section with one rule."""
    return f"rules:\n  house: {{{words}}}\n"


@pytest.mark.parametrize(
    ("words", "broken"),
    [
        ("require: [owner]", ["totals: no owner"]),
        ("require: [tier, consumers], tables: [orders, refunds]", ["refunds: no consumers"]),
        (
            "require: [upstream, domain, checks], tables: ['!orders']",
            [
                "refunds: no domain",
                "totals: no domain",
                "totals: no checks",
            ],
        ),
        (
            "require: [contract, description, loaded_at, columns, schedule], tables: [totals]",
            [
                "totals: no contract",
                "totals: no description",
                "totals: no loaded_at",
                "totals: no columns",
                "totals: no schedule",
            ],
        ),
        ("checks: [primary_key], tables: ['tier:*']", ["refunds: no check of type primary_key"]),
        ("checks: [primary_key or not_null], tables: ['tier:*']", []),
        ("forbid: [primary_key]", ["orders: check primary-key is of type primary_key, which is forbidden"]),
        ("of_checks: [why], tables: [orders]", ["orders: check not-null has no why"]),
        ("at_least_every: 1h, tables: [orders]", ["orders: no schedule, expected a run at least every 1 h"]),
    ],
)
def test_a_rule_names_each_table_that_breaks_it(terminal: Terminal, words: str, broken: list[str]) -> None:
    """With the place in the file, the name of the rule and its reason; a rule that holds says of how many tables."""
    write(terminal, rule(f"{words}, reason: because"))
    said = terminal("--format", "json", "config", "test")
    assert said.code == (1 if broken else 0)
    (result,) = said.json["rules"]
    assert [problem["message"] for problem in result["problems"]] == [f"{text} (house)" for text in broken]
    assert result["status"] == ("fail" if broken else "pass")
    assert all(problem["hint"] == "because" and problem["line"] for problem in result["problems"])


def test_the_longest_time_between_two_runs_counts(terminal: Terminal) -> None:
    """A schedule on workdays leaves a weekend, whatever it says for the other days."""
    write(terminal, rule("at_least_every: 24h, tables: [orders]"))
    file = terminal.folder / "tablewatch.yaml"
    file.write_text(file.read_text().replace("tier: gold\n", "tier: gold\n    schedule: 'cron: 0 6 * * mon-fri'\n", 1))
    said = terminal("config", "test")
    assert said.code == 1
    assert "orders: up to 3 d between two runs, expected at most 1 d (house)" in " ".join(said.out.split())


def test_a_rule_about_no_table_says_nothing(terminal: Terminal) -> None:
    """It may be a tier that was renamed: that is no pass."""
    write(terminal, rule("require: [owner], tables: ['tier:golden']"))
    said = terminal("config", "test")
    assert (said.code, "no table matches" in said.out) == (3, True)
    write(terminal, "")
    assert terminal("config", "test").code == 5


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ("checks: [freshnes]", "config.rule_type", "did you mean 'freshness'"),
        ("forbid: [nothing]", "config.rule_type", "unknown type of check 'nothing'"),
        ("require: [owner], tables: ['teir:gold']", "selector.unknown_field", "unknown field 'teir'"),
    ],
)
def test_a_rule_that_could_never_be_broken_is_refused(terminal: Terminal, words: str, code: str, text: str) -> None:
    """`config check` finds words that no table can have."""
    write(terminal, rule(words))
    (problem,) = terminal.refused("config", "check")
    assert (problem["code"], text in problem["message"]) == (code, True)


def test_a_rule_demands_something(terminal: Terminal) -> None:
    """An empty rule would always hold."""
    write(terminal, rule("tables: [orders]"))
    assert "at least one of require" in terminal("config", "check").err


def test_it_annotates_the_lines_of_a_pull_request(terminal: Terminal) -> None:
    """In GitHub's form and as SARIF, as `config check` does."""
    write(terminal, rule("require: [owner]"))
    said = terminal("config", "test", "--format", "github")
    assert said.code == 1
    assert said.out.startswith("::error file=tablewatch.yaml,line=")
    run = terminal("config", "test", "--format", "sarif").json["runs"][0]
    assert [result["ruleId"] for result in run["results"]] == ["config.rule"]


def test_the_last_pattern_that_matches_names_the_owner(terminal: Terminal) -> None:
    """Before the domain's owner and after the table's own, as in a file of code owners."""
    write(terminal, "ownership: {'*': crew, re*: desk, totals: desk}\n")
    config = load(terminal.folder / "tablewatch.yaml").config
    assert {table.name: config.owner_of(table) for table in config.tables} == {
        "orders": "crew", "refunds": "desk", "totals": "desk",
    }  # fmt: skip
    assert [row["owner"] for row in terminal.json("table", "list")["tables"]] == ["crew", "desk", "desk"]
    write(terminal, "ownership: {'*': crow}\n")
    (problem,) = terminal.refused("config", "check")
    assert (problem["message"], problem["hint"]) == ("unknown owner 'crow'", "did you mean 'crew'?")


def test_the_hour_of_a_rule_is_read_as_everywhere(terminal: Terminal) -> None:
    """A rule's length of time is one of the configuration's."""
    write(terminal, rule("at_least_every: 90m"))
    assert load(terminal.folder / "tablewatch.yaml").config.rules["house"].at_least_every == timedelta(minutes=90)
