"""`tablewatch import contract`: printed as configuration, which runs as it is."""

from tests.monitor.commands.terminal import Terminal
from tests.monitor.integrations.contracts import GOOD, write_contract


def test_a_contract_is_watched_after_one_command(terminal: Terminal) -> None:
    """What is printed is a configuration: broken data fails the check of the rule that it breaks."""
    write_contract(terminal.folder, data=GOOD.replace("3,open", "3,lost"))
    config = terminal.folder / "tablewatch.yaml"
    config.unlink()
    shown = terminal("import", "contract", "orders.odcs.yaml")
    assert shown.code == 0
    assert "not taken: line " in shown.err
    config.write_text(shown.out, encoding="utf-8")
    checked = terminal("check", "--format", "json")
    results = {item["check_id"]: item["status"] for item in checked.json["results"]}
    assert {name for name, status in results.items() if status == "fail"} == {"orders.known-status"}
    again = terminal.json("import", "contract", "orders.odcs.yaml")
    assert (again["tables"], again["checks"], len(again["not_taken"])) == (0, 0, 8)


def test_a_contract_is_written_to_a_new_file_only(terminal: Terminal) -> None:
    """A shell empties the file that it writes to before the command runs; `--out` never replaces the configuration."""
    write_contract(terminal.folder, data=GOOD)
    before = (terminal.folder / "tablewatch.yaml").read_bytes()
    for words in ([], ["--force"]):
        refused = terminal("import", "contract", "orders.odcs.yaml", "--out", "tablewatch.yaml", *words)
        assert refused.code == 2
        assert "'tablewatch.yaml' is" in refused.err
    assert (terminal.folder / "tablewatch.yaml").read_bytes() == before
    (terminal.folder / "tablewatch.yaml").unlink()
    shown = terminal("import", "contract", "orders.odcs.yaml", "--out", "tablewatch.yaml")
    assert (shown.code, shown.out) == (0, "")
    assert terminal("config", "check").code == 0
    other = terminal("import", "contract", "orders.odcs.yaml", "--out", "more.yaml")
    assert other.code == 0
    assert terminal("import", "contract", "orders.odcs.yaml", "--out", "more.yaml").code == 2
    assert terminal("import", "contract", "orders.odcs.yaml", "--out", "more.yaml", "--force").code == 0


def test_a_file_that_is_no_contract_is_wrong_use(terminal: Terminal) -> None:
    """Exit code 2, with what was expected."""
    (terminal.folder / "c.yaml").write_text("a: 1\n", encoding="utf-8")
    shown = terminal("import", "contract", "c.yaml")
    assert shown.code == 2
    assert "kind: DataContract" in shown.err
