"""A name that is not there: which one may have been meant, or which there are, and one exit code for each place."""

import pytest

from tests.monitor.commands.terminal import CONFIG, Terminal

MORE = """\
products: {sales-pack: {tables: [orders]}}
contracts: {board: {tables: [orders], availability: 0.9}}
alerts: {channels: {hook: {webhook: {url: "https://example.com/hook"}}}}
releases: {extract: {table: orders, audience: x, purpose: y, columns: {customer: quasi-identifier}}}
budgets: {orders: {total: 1, domain: {customer: [ann, bob]}}}
"""

UNTIL = ("--for", "4h", "--reason", "x")
ARGUMENTS = [
    (("alert", "test", "hok"), "channel 'hok'", "did you mean 'hook'?"),
    (("alert", "enable", "mail"), "channel 'mail'", "known: hook; channels are declared under 'alerts.channels'"),
    (("privacy", "answer", "list", "order"), "budget of table 'order'", "did you mean 'orders'?"),
    (("privacy", "budget", "show", "order"), "budget of table 'order'", "did you mean 'orders'?"),
    (("contract", "show", "bord"), "contract 'bord'", "did you mean 'board'?"),
    (("contract", "show", "x"), "contract 'x'", "known: board; see 'tablewatch contract show'"),
    (("export", "contract", "x"), "table 'x'", "known: orders, refunds, totals; see 'tablewatch table list'"),
    (("product", "show", "sales-pak"), "product 'sales-pak'", "did you mean 'sales-pack'?"),
    (("release", "assess", "x"), "release 'x'", "known: extract; releases are declared under 'releases'"),
    (("release", "record", "extrakt"), "release 'extrakt'", "did you mean 'extract'?"),
    (("privacy", "risk", "remember", "order", "--as", "x"), "table 'order'", "did you mean 'orders'?"),
    (("table", "show", "order"), "table 'order'", "did you mean 'orders'?"),
]
OPTIONS = [
    (("alert", "route", "--table", "order"), "table 'order'", "did you mean 'orders'?"),
    (("incident", "list", "--table", "order"), "table 'order'", "did you mean 'orders'?"),
    (("incident", "list", "--owner", "dek"), "owner 'dek'", "did you mean 'desk'?"),
    (("report", "--domain", "x"), "domain 'x'", "known: sales; domains are declared under 'domains'"),
    (("silence", "add", "--domain", "sale", *UNTIL), "domain 'sale'", "did you mean 'sales'?"),
    (("account", "login-link", "--as", "mia", "--owner", "crw"), "owner 'crw'", "did you mean 'crew'?"),
]


@pytest.mark.parametrize(
    ("words", "name", "hint", "code"), [(*case, 5) for case in ARGUMENTS] + [(*case, 2) for case in OPTIONS]
)
def test_an_unknown_name_is_an_error_with_a_near_name(
    terminal: Terminal, words: tuple[str, ...], name: str, hint: str, code: int
) -> None:
    """Exit code 5 for an argument, 2 for the value of an option; the message names it, the hint helps."""
    (terminal.folder / "tablewatch.yaml").write_text(CONFIG + MORE, encoding="utf-8")
    (error,) = terminal.refused(*words, code=code)
    assert (error["message"], error["hint"]) == (f"{name} is not in the configuration", hint)


def test_a_table_that_left_the_configuration_is_found_in_the_list_of_incidents(terminal: Terminal) -> None:
    """Its incidents stay listed; what was never there is a typing error."""
    terminal.json("incident", "open", "--table", "former", "--title", "x", "--any-table")
    assert len(terminal.json("incident", "list", "--table", "former")["incidents"]) == 1
    assert terminal.json("incident", "list", "--table", "former", "--state", "resolved")["incidents"] == []


@pytest.mark.parametrize("words", [("incident", "ack"), ("silence", "end"), ("event", "remove")])
def test_a_word_that_is_no_number_is_refused(terminal: Terminal, words: tuple[str, ...]) -> None:
    """The message names the argument."""
    (error,) = terminal.refused(*words, "x")
    assert error["message"] == "invalid value for 'ID': 'x' is not a number such as 41"
