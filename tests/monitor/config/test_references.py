"""Names that refer to other parts of the configuration."""

import pytest

from tests.monitor.config.conftest import Load, Problems

_MORE = """\
domains:
  sales: {owner: crew}
alerts:
  channels: {ops: {apprise: "json://h/"}}
  quiet_hours: {nights: {start: "22:00", end: "07:00"}}
"""


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ("source: files", "source: fiels", "unknown source 'fiels'", "did you mean 'files'?"),
        ("    owner: crew", "    owner: crow", "unknown owner 'crow'", "did you mean 'crew'?"),
        ("    owner: crew", "    domain: sale", "unknown domain 'sale'", "did you mean 'sales'?"),
        ("    owner: crew", "    upstream: [order]", "unknown table 'order'", "did you mean 'orders'?"),
        ("sales: {owner: crew}", "sales: {owner: x}", "unknown owner 'x'", "known: crew"),
        ("{name: The crew,", "{channel: opps,", "unknown channel 'opps'", "did you mean 'ops'?"),
        ("alerts:\n", "alerts:\n  routes: [{to: [ops, oops]}]\n", "unknown channel 'oops'", "did you mean 'ops'?"),
        ("alerts:\n", "alerts:\n  operators: [oops]\n", "unknown channel 'oops'", "did you mean 'ops'?"),
        (
            "alerts:\n",
            "alerts:\n  routes: [{to: [ops], quiet_hours: days}]\n",
            "unknown quiet hours 'days'",
            "known: nights",
        ),
        (
            "alerts:\n",
            "alerts:\n  routes: [{to: [ops], match: {domain: sails}}]\n",
            "unknown domain 'sails'",
            "did you mean 'sales'?",
        ),
        ("alerts:\n", "report: {weekly: {to: [op]}}\nalerts:\n", "unknown channel 'op'", "did you mean 'ops'?"),
        (
            "alerts:\n",
            "report: {monthly: {domains: {sales: {to: [op]}}}}\nalerts:\n",
            "unknown channel 'op'",
            "did you mean 'ops'?",
        ),
        (
            "alerts:\n",
            "report: {weekly: {domains: {sails: {to: [ops]}}}}\nalerts:\n",
            "unknown domain 'sails'",
            "did you mean 'sales'?",
        ),
        (
            "alerts:\n",
            "report: {weekly: {owners: {crow: {to: [ops]}}}}\nalerts:\n",
            "unknown owner 'crow'",
            "did you mean 'crew'?",
        ),
        (
            "alerts:\n",
            "products: {sold: {tables: [orders]}}\nreport: {monthly: {products: {solt: {to: [ops]}}}}\nalerts:\n",
            "unknown product 'solt'",
            "did you mean 'sold'?",
        ),
        (
            "alerts:\n",
            "report: {weekly: {owners: {crew: {to: [op]}}}}\nalerts:\n",
            "unknown channel 'op'",
            "did you mean 'ops'?",
        ),
        (
            "alerts:\n",
            "cost: {tables: {order: {per_hour: 1}}}\nalerts:\n",
            "unknown table 'order'",
            "did you mean 'orders'?",
        ),
        ("alerts:\n", "releases: {r: {table: ordrs}}\nalerts:\n", "unknown table 'ordrs'", "did you mean 'orders'?"),
        (
            "alerts:\n",
            "releases: {r: {table: orders, approvers: [me]}}\nalerts:\n",
            "unknown owner 'me'",
            "known: crew",
        ),
        (
            "alerts:\n",
            "maintenance: [{tables: [oders], start: 2026-01-01T00:00, end: 2026-01-02T00:00, reason: x}]\nalerts:\n",
            "unknown table 'oders'",
            "did you mean 'orders'?",
        ),
    ],
)
def test_a_name_that_nothing_defines_is_reported(
    problems_of: Problems, small: str, old: str, new: str, message: str, hint: str
) -> None:
    """Every reference is looked up, and the nearest name is suggested."""
    text = small + _MORE
    assert old in text
    (problem,) = problems_of(text.replace(old, new, 1))
    assert (problem.code, problem.message) == ("config.unknown_reference", message)
    assert hint in str(problem.hint)
    assert problem.line is not None


def test_checks_of_one_name_propose_ids(problems_of: Problems, small: str) -> None:
    """Two checks that would share an id are an error that proposes ids of their own."""
    text = small + "      - {type: not_null, columns: [amount, Paid at]}\n"
    (problem,) = problems_of(text)
    assert (problem.code, problem.line, problem.column) == ("config.duplicate_check", 14, 9)
    assert problem.message == "two checks of table 'orders' are called 'not-null'; the first is in line 13"
    assert problem.hint == "give them ids of their own, such as id: not-null-id and id: not-null-amount-paid-at"


def test_equal_checks_are_proposed_different_ids(problems_of: Problems, small: str) -> None:
    """The proposed ids never collide."""
    (problem,) = problems_of(small + "      - {type: not_null, columns: [id]}\n")
    assert "id: not-null-id and id: not-null-id-2" in str(problem.hint)


def test_given_ids_tell_checks_apart(load_text: Load, small: str) -> None:
    """One id is enough to tell two checks apart."""
    loaded = load_text(small + "      - {type: not_null, columns: [amount], id: amounts}\n")
    (table,) = loaded.config.tables
    assert [table.check_id(check) for check in table.checks] == ["orders.not-null", "orders.amounts"]


def test_a_reference_into_another_source_is_an_error(problems_of: Problems, small: str) -> None:
    """No engine can compare tables of two sources; both sources are named."""
    text = small.replace("owners:", "  other: {url: sqlite:///a.db}\nowners:")
    text += "      - {type: foreign_key, column: customer, references: customers.id}\n"
    text += "  - {name: customers, source: other}\n"
    (problem,) = problems_of(text)
    assert problem.code == "config.foreign_source"
    assert problem.message == "'customers' is in source 'other', but 'orders' is in source 'files'"
    assert problem.line == 15


def test_a_reference_to_a_table_that_is_not_configured_is_a_note(load_text: Load, small: str) -> None:
    """A referenced table need not be watched itself; it is looked for in the same source."""
    loaded = load_text(small + "      - {type: foreign_key, column: customer, references: customers.id}\n")
    (note,) = loaded.notes
    assert note.code == "config.outside_table"
    assert "assumed to be in the source of 'orders'" in note.message


def test_a_tier_without_a_price_is_a_note(load_text: Load, small: str) -> None:
    """A typo in a tier would make downtime free, so it is reported."""
    text = small.replace("    owner: crew", "    tier: glod") + "cost: {tiers: {gold: {per_hour: 5}}}\n"
    (note,) = load_text(text).notes
    assert "tier glod has no price" in note.message


def test_a_statistic_whose_slots_have_a_tables_name_is_refused(problems_of: Problems, small: str) -> None:
    """Slots of tables and of statistics are kept under their names, side by side."""
    named = small.replace("name: orders", "name: statistic:orders/n") + (
        "  - {name: orders, source: files}\n"
        "budgets: {orders: {total: 1, statistics: {n: {schedule: every 1d, statistic: count, epsilon: 0.1}}}}\n"
    )
    (problem,) = problems_of(named)
    assert (problem.code, problem.hint) == ("config.name_taken", "rename the scheduled query")


@pytest.mark.parametrize("name", ["a/b", "'a b'", "''", "-a", "x" * 61])
def test_a_statistics_name_is_a_plain_word(problems_of: Problems, small: str, name: str) -> None:
    """It is a part of the ids of its requests."""
    hourly = "{schedule: every 1d, statistic: count, epsilon: 1}"
    assert problems_of(f"{small}budgets: {{orders: {{total: 1, statistics: {{{name}: {hourly}}}}}}}\n")
