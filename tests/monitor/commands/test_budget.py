"""`tablewatch privacy budget`."""

import getpass
import shutil
from decimal import Decimal

import pytest

from monitor.terminal.problem import ExitCode
from tests.monitor.commands.protected import protect
from tests.monitor.commands.terminal import Terminal


def test_a_budget_is_created_once(terminal: Terminal) -> None:
    """A budget is created as declared; a second time it is refused, and what is spent stays."""
    protect(terminal)
    (made,) = terminal.json("privacy", "budget", "create", "customers")["budgets"]
    assert (made["table"], made["unit"], made["total"], made["spent"], made["left"]) == (
        "customers",
        "row",
        "9",
        "0",
        "9",
    )
    assert made["sentence"] == "no query has been answered yet"
    terminal.json("privacy", "answer", "count", "customers", "--epsilon", "1")
    (error,) = terminal.refused("privacy", "budget", "create", "customers")
    assert error["code"] == "budget.conflict"
    assert terminal.json("privacy", "budget", "show", "customers")["budgets"][0]["spent"] == "1"


def test_a_budget_that_is_not_declared_is_not_created(terminal: Terminal) -> None:
    """Without a declaration there is no budget; names near it are proposed."""
    protect(terminal)
    (error,) = terminal.refused("privacy", "budget", "show", "customers")
    assert (error["code"], error["hint"]) == ("budget.not_created", "tablewatch privacy budget create customers")
    said = terminal("privacy", "budget", "create", "customer", "--format", "json")
    (error,) = said.json["errors"]
    assert (said.code, error["code"], error["hint"]) == (5, "budget.not_declared", "did you mean 'customers'?")


def test_columns_that_do_not_fit_are_found_before_anything_is_spent(terminal: Terminal) -> None:
    """A declared column that the table does not have, or of another type, is shown when the budget is created."""
    protect(terminal, ("sex: [F, M]", "gender: [F, M]"))
    (error,) = terminal.refused("privacy", "budget", "create", "customers")
    assert "the table has no column 'gender'" in error["message"]
    protect(terminal, ("sex: [F, M]", "amount: [F, M]"), ("      amount: {low: 0, high: 100}\n", ""))
    (error,) = terminal.refused("privacy", "budget", "create", "customers")
    assert "declared values are texts" in error["message"]
    terminal.sql("DROP TABLE customers")
    assert terminal("privacy", "budget", "create", "customers").code == ExitCode.NOT_EVALUATED
    assert terminal.json("privacy", "budget", "show")["budgets"] == []


@pytest.mark.parametrize("place", ["source: shop, table: main.customers", "source: again, table: customers"])
def test_one_table_has_one_budget_whatever_it_is_called(terminal: Terminal, place: str) -> None:
    """With its schema before its name, or in a source that is declared twice, it is still the same table."""
    customers = "  - {name: customers, source: shop}\n"
    protect(terminal, (customers, f"{customers}  - {{name: people, {place}}}\n"))
    file = terminal.folder / "tablewatch.yaml"
    again = 'sources: {again: {url: "sqlite:///shop.sqlite"}, shop:'
    text = file.read_text(encoding="utf-8").replace("sources: {shop:", again)
    file.write_text(f"{text}  people: {{total: 9, domain: {{sex: [F, M]}}}}\n", encoding="utf-8")
    for name in ("customers", "people"):
        (error,) = terminal.refused("privacy", "budget", "create", name)
        assert "are the same table, which has one budget" in error["message"]
    assert terminal.json("privacy", "budget", "show")["budgets"] == []


def test_a_table_gets_no_second_budget_in_other_words(terminal: Terminal) -> None:
    """Though the configuration has forgotten its first name: the ledger knows the table, and not the words for it."""
    protect(terminal)
    terminal.json("privacy", "budget", "create", "customers")
    file = terminal.folder / "tablewatch.yaml"
    text = file.read_text(encoding="utf-8").replace("{name: customers, source: shop}", "{name: folk, source: shop}")
    (terminal.folder / "link.sqlite").symlink_to(terminal.folder / "shop.sqlite")
    text = text.replace("source: shop}", "source: shop, table: main.customers}", 1)
    text = text.replace("sqlite:///shop.sqlite", "sqlite:///./link.sqlite").replace("  customers:", "  folk:")
    file.write_text(text, encoding="utf-8")
    (error,) = terminal.refused("privacy", "budget", "create", "folk")
    assert "the ledger has a budget of customers, and folk is the same table under another name" in error["message"]
    assert [one["table"] for one in terminal.json("privacy", "budget", "show")["budgets"]] == ["customers"]
    assert terminal.json("privacy", "budget", "verify")["flaws"] == []


def test_a_total_is_changed_for_a_reason(terminal: Terminal) -> None:
    """The total of a budget is changed in the ledger; below what is spent, or without a reason, it is not."""
    protect(terminal)
    terminal.json("privacy", "budget", "create", "customers")
    terminal.json("privacy", "answer", "count", "customers", "--epsilon", "2")
    (changed,) = terminal.json("privacy", "budget", "change", "customers", "--total", "12.5", "--reason", "agreed")[
        "budgets"
    ]
    assert (changed["total"], changed["left"]) == ("12.5", "10.5")
    (error,) = terminal.refused("privacy", "budget", "change", "customers", "--total", "1", "--reason", "less")
    assert "more of the budget of customers is already spent" in error["message"]
    terminal.refused("privacy", "budget", "change", "customers", "--total", "20", "--reason", " ")
    terminal.refused("privacy", "budget", "change", "customers", "--total", "1e3", "--reason", "more")
    said = terminal("privacy", "budget", "show")
    assert said.code == 0
    assert (
        "the configuration declares another budget of customers than this one, which is in effect; correct the "
        "configuration" in (" ".join(said.err.split()))
    )


@pytest.mark.parametrize("total", ["0", "-1", "nan", "1e308", "0.0000000001"])
def test_a_total_that_is_none_is_refused_by_the_configuration(terminal: Terminal, total: str) -> None:
    """A total is a decimal above 0 of at most nine places."""
    protect(terminal, ("total: 9", f"total: {total}"))
    (error,) = terminal.refused("privacy", "budget", "create", "customers")
    assert "expected a decimal above 0" in error["message"]


def test_an_old_backup_is_noticed_and_resumed_with_a_reason(terminal: Terminal) -> None:
    """After a backup was brought back nothing is granted until a person resumes; what the anchor knows stays spent."""
    protect(terminal)
    terminal.json("privacy", "budget", "create", "customers")
    copied = terminal("backup", "copy.db")
    assert "store.db.ledger" in copied.err
    terminal.json("privacy", "answer", "count", "customers", "--epsilon", "2", "--request-id", "r1")
    assert terminal.json("privacy", "budget", "verify")["flaws"] == []
    restored = terminal("restore", "copy.db")
    assert restored.code == 0
    assert "tablewatch privacy budget resume" in restored.err
    for words in (
        ("privacy", "answer", "count", "customers", "--epsilon", "1"),
        ("privacy", "budget", "create", "customers"),
    ):
        (error,) = terminal.refused(*words, code=ExitCode.NOT_EVALUATED)
        assert "an old backup was restored" in error["message"]
    for words in (
        ("privacy", "budget", "show"),
        ("privacy", "answer", "count", "customers", "--epsilon", "1", "--dry-run"),
    ):
        assert "the amount spent may be higher than shown" in terminal(*words).err
    audit = terminal("privacy", "budget", "verify", "--format", "json")
    assert (audit.code, audit.json["ok"], len(audit.json["flaws"])) == (ExitCode.FAILED, False, 1)
    assert "BROKEN" in terminal("privacy", "budget", "verify").out
    (balance,) = terminal.json("privacy", "budget", "resume", "--reason", "the disk failed")["budgets"]
    assert balance["spent"] == "2"
    assert terminal("privacy", "budget", "show").err == ""
    assert terminal.json("privacy", "budget", "verify")["ok"]
    terminal.refused("privacy", "budget", "resume", "--reason", "again")
    terminal.json("privacy", "answer", "count", "customers", "--epsilon", "7")
    terminal.refused("privacy", "answer", "count", "customers", "--epsilon", "0.000000001", code=ExitCode.FAILED)


def test_another_anchor_is_where_the_configuration_says(terminal: Terminal) -> None:
    """The anchor lies where it is configured; if it is lost, everything is refused."""
    protect(terminal)
    config = terminal.folder / "tablewatch.yaml"
    text = config.read_text().replace('store.db"}', 'store.db", ledger_anchor: elsewhere/anchor}')
    config.write_text(text, encoding="utf-8")
    terminal.json("privacy", "budget", "create", "customers")
    assert (terminal.folder / "elsewhere" / "anchor").exists()
    assert not (terminal.folder / "store.db.ledger").exists()
    shutil.rmtree(terminal.folder / "elsewhere")
    (error,) = terminal.refused(
        "privacy", "answer", "count", "customers", "--epsilon", "1", code=ExitCode.NOT_EVALUATED
    )
    assert "the anchor of the ledger is missing" in error["message"]


def test_people_read_what_was_spent(terminal: Terminal) -> None:
    """What is left, and what all answers mean for one row, stands there in words."""
    protect(terminal)
    assert "no budget has been created" in terminal("privacy", "budget", "show").out
    terminal("privacy", "budget", "create", "customers")
    terminal("privacy", "answer", "count", "customers", "--epsilon", "1")
    said = terminal("privacy", "budget", "show").out
    assert "protects each" in said
    assert "if one row were different, no answer would become more than 2.72 times as likely (rounded up)" in " ".join(
        said.split()
    )
    assert "WHOLE" in terminal("privacy", "budget", "verify").out


def test_a_budget_in_rho_says_epsilon_too(terminal: Terminal) -> None:
    """What was spent in rho is reported as epsilon for the declared delta."""
    protect(terminal, ("total: 9", "total: 0.5\n    accounting: zcdp\n    delta: 1e-6"))
    terminal.json("privacy", "budget", "create", "customers")
    (error,) = terminal.refused("privacy", "answer", "count", "customers", "--epsilon", "0.1")
    assert "accounted in rho" in error["message"]
    result = terminal.json("privacy", "answer", "count", "customers", "--rho", "0.125")
    assert result["budget"]["spent"] == "0.125"
    assert float(result["budget"]["epsilon_spent"]) == pytest.approx(0.125 + 2 * (0.125 * 13.815510558) ** 0.5)
    assert result["answer"]["noise"][0]["sigma_squared"] == "4"


def test_the_doctor_looks_at_the_ledger(terminal: Terminal) -> None:
    """It says which budgets were not created, whether the ledger is whole, and when its anchor is on its own disk."""

    def findings() -> list[tuple[str, str]]:
        result = terminal("doctor", "--format", "json").json["findings"]
        return [(one["verdict"], one["message"]) for one in result if one["subject"] == "budgets"]

    protect(terminal)
    result = "the budget of customers is declared but not created, so it cannot be used yet"
    assert findings() == [("warning", result)]
    terminal.json("privacy", "budget", "create", "customers")
    whole, anchor = findings()
    assert whole == ("ok", "1 budget; the hash chain of the ledger is intact (2)")
    assert anchor[0] == "warning"
    assert "is on the same disk as the store" in anchor[1]
    (terminal.folder / "store.db.ledger").unlink()
    assert findings() == [("error", "the anchor of the ledger is missing")]


def test_without_budgets_nothing_is_said_of_them(terminal: Terminal) -> None:
    """Who has no budget hears of none: neither from the doctor, nor with a backup."""

    def doctor() -> str:
        return terminal("doctor").out.replace(terminal.folder.name, "")  # the folder is named after this test

    assert "budgets" not in doctor()
    terminal("check")
    assert "budgets" not in doctor()
    said = terminal("backup", "copy.db")
    assert (said.code, said.err) == (0, "")
    said = terminal("restore", "copy.db")
    assert (said.code, said.err) == (0, "")


_SAME_PEOPLE = """\
  orders:
    total: 5
    people: customers
    unit: customer
    adjacency: add-remove
    domain: {id: {low: 0, high: 9}}
"""


def test_tables_of_the_same_people_have_one_total(terminal: Terminal) -> None:
    """Epsilon 1 about each of two tables is 7.39 times, not twice 2.72: answers, budgets and doctor say so."""
    protect(terminal, ("    total: 9\n", "    total: 9\n    people: customers\n"))
    _append(terminal, _SAME_PEOPLE.replace("    adjacency: add-remove\n", ""))
    for table in ("customers", "orders"):
        terminal.json("privacy", "budget", "create", table)
    terminal.json("privacy", "answer", "count", "customers", "--epsilon", "1")
    result = terminal.json("privacy", "answer", "count", "orders", "--epsilon", "1")
    assert "all answers so far about this table together: at most 2.72 times" in result["budget"]["sentence"]
    people = result["budget"]["people"]
    assert (people["name"], people["tables"], people["epsilon_spent"]) == ("customers", ["customers", "orders"], "2")
    assert "(customers, orders) together would become at most 7.39 times as likely" in people["sentence"]
    assert [one["people"] for one in terminal.json("privacy", "budget", "show")["budgets"]] == [people, people]
    for words in (
        ("privacy", "budget", "show", "orders"),
        ("privacy", "answer", "count", "orders", "--epsilon", "1"),
        ("doctor",),
    ):
        said = " ".join(terminal(*words).out.split())
        assert "all answers so far about the tables that hold them (customers, orders) together" in said, words


def test_budgets_of_other_neighbours_and_units_of_account_add_up_too(terminal: Terminal) -> None:
    """Against other records a budget of those that come and go counts twice; rho is read as epsilon at its delta."""
    zcdp = "    total: 9\n    people: customers\n    accounting: zcdp\n    delta: 1e-6\n"
    protect(terminal, ("    total: 9\n", zcdp))
    _append(terminal, _SAME_PEOPLE)
    for table in ("customers", "orders"):
        terminal.json("privacy", "budget", "create", table)
    terminal.json("privacy", "answer", "count", "orders", "--epsilon", "1")
    only = terminal.json("privacy", "budget", "show", "orders")["budgets"][0]
    assert "if all rows of one customer were missing, or were added," in only["sentence"]
    assert only["people"]["epsilon_spent"] == "2"
    rho = terminal.json("privacy", "answer", "count", "customers", "--rho", "0.1")["budget"]
    both = Decimal(rho["people"]["epsilon_spent"])
    assert both == 2 + Decimal(rho["epsilon_spent"])
    assert "(except with probability 1e-06)" in rho["people"]["sentence"]


def test_analysts_may_only_ask(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is named as an analyst gets answers; a comparison with the table itself refuses before it reads a row."""
    protect(terminal, ("    total: 9\n", "    total: 9\n    analysts: [ana]\n"))
    terminal.json("privacy", "budget", "create", "customers")
    words = ("privacy", "disclosure", "compare", "customers", "--domain", "sex=F,M", "--other", "sex=F", "--runs", "0")
    monkeypatch.setattr(getpass, "getuser", lambda: "ana")
    assert terminal.json("privacy", "answer", "count", "customers", "--epsilon", "1")["ok"]
    (error,) = terminal.refused(*words)
    assert error["code"] == "budget.analyst"
    monkeypatch.setattr(getpass, "getuser", lambda: "steward")
    assert terminal.json(*words)["label"] == "computed from the protected table, not a privacy-preserving release"


@pytest.mark.parametrize("path", ["people.csv", "./people.csv", "link.csv", "people*.csv", "again"])
def test_analysts_are_refused_whatever_they_call_the_table(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """A file, a link to it, a glob that takes it in, and another name of the same table are the protected table."""
    terminal.configure()
    (terminal.folder / "people.csv").write_text("id,sex\n1,F\n2,M\n", encoding="utf-8")
    (terminal.folder / "link.csv").symlink_to(terminal.folder / "people.csv")
    (terminal.folder / "free.csv").write_text("id,sex\n1,F\n2,M\n", encoding="utf-8")
    text = (terminal.folder / "tablewatch.yaml").read_text(encoding="utf-8")
    sources = '{shop: {url: "sqlite:///shop.sqlite", timezone: UTC}, files: {files: people.csv}}'
    text = text.replace('{shop: {url: "sqlite:///shop.sqlite", timezone: UTC}}', sources)
    text = text.replace("tables:\n", "tables:\n" + "".join(
        f"  - {{name: {name}, source: files, table: people}}\n" for name in ("persons", "again")
    ), 1)  # fmt: skip
    text += "budgets:\n  persons: {unit: id, total: 9, domain: {sex: [F, M]}, analysts: [ana]}\n"
    (terminal.folder / "tablewatch.yaml").write_text(text, encoding="utf-8")
    words = ("--domain", "sex=F,M", "--runs", "0")
    monkeypatch.setattr(getpass, "getuser", lambda: "ana")
    (error,) = terminal.refused("privacy", "disclosure", "compare", path, *words)
    assert error["code"] == "budget.analyst"
    for tables in ((path, "free.csv"), ("free.csv", path), ("free.csv", "files.people")):
        (error,) = terminal.refused("diff", *tables, "--key", "id")
        assert error["code"] == "budget.analyst"
    assert terminal.json("privacy", "disclosure", "compare", "free.csv", *words)["ok"]


def _append(terminal: Terminal, lines: str) -> None:
    with (terminal.folder / "tablewatch.yaml").open("a", encoding="utf-8") as file:
        file.write(lines)
