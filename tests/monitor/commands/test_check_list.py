"""What `check` lists: all of a few checks, of many those that did not pass."""

import pytest

from tests.monitor.commands.terminal import Terminal

MANY = "tables:\n  - name: orders\n    source: shop\n    checks:\n" + "".join(
    f"      - {{type: not_null, columns: [{'customer' if number == 7 else 'id'}], id: filled-{number}}}\n"
    for number in range(21)
)


@pytest.fixture
def many(terminal: Terminal) -> Terminal:
    """Return a terminal whose shop has 21 checks, of which one fails."""
    file = terminal.folder / "tablewatch.yaml"
    file.write_text(file.read_text(encoding="utf-8").partition("tables:\n  -")[0] + MANY, encoding="utf-8")
    terminal.sql("INSERT INTO orders VALUES (3, NULL)")
    return terminal


def test_of_more_than_20_checks_those_that_passed_are_counted_only(many: Terminal) -> None:
    """The failure stands alone above the summary, which names the option that lists the others."""
    said = many("check")
    assert (said.code, "orders.filled-7" in said.out, "orders.filled-8" in said.out) == (1, True, False)
    assert said.out.splitlines()[-1].startswith("PASS 20  WARN 0  FAIL 1  UNKNOWN 0  of 21 in ")
    assert said.out.rstrip().endswith("; --all lists what passed")


def test_all_lists_what_passed_too(many: Terminal) -> None:
    """--all lists 21 checks, --only-failed one without naming another option."""
    listed, failed = many("check", "--all").out, many("check", "--only-failed").out
    assert [f"orders.filled-{number}  " in listed for number in range(21)] == [True] * 21
    assert "--all" not in listed + failed
    assert "orders.filled-8" not in failed


def test_few_checks_are_listed(terminal: Terminal) -> None:
    """Up to 20 checks are listed, passed or not."""
    assert "PASS    orders.primary-key" in terminal("check").out
