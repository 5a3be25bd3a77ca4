"""`tablewatch product`: data products as a person and a program see them."""

from tests.monitor.commands.terminal import CONFIG, Terminal

_PRODUCTS = """\
products:
  sales-pack:
    title: The sales pack
    tables: ["*", "!totals"]
    owner: desk
    consumers: [finance, the board]
    promises: {downtime: 2h per 30d}
  sums: {tables: [totals]}
"""
_INCIDENTS = (
    "table,title,occurred,detected,resolved\n"
    "orders,A,2026-11-17T00:00Z,2026-11-17T04:00Z,2026-11-17T10:00Z\n"
    "refunds,B,2026-11-17T08:00Z,2026-11-17T09:00Z,2026-11-17T13:00Z\n"
)


def _prepare(terminal: Terminal) -> None:
    (terminal.folder / "tablewatch.yaml").write_text(CONFIG + _PRODUCTS, encoding="utf-8")
    (terminal.folder / "incidents.csv").write_text(_INCIDENTS, encoding="utf-8")
    assert terminal("check").code == 0
    assert terminal("import", "incidents", "incidents.csv", "--set", "severity=critical").code == 0


def test_products_are_listed_with_what_needs_somebody_first(terminal: Terminal) -> None:
    """Downtime is that of the whole: ten hours and five overlap in two."""
    _prepare(terminal)
    said = terminal("product", "list", "--format", "json").json
    assert said["schema"] == "tablewatch.products/2"
    whole, sums = said["products"]
    assert (whole["product"], whole["tables"], whole["health"]) == ("sales-pack", ["orders", "refunds"], "healthy")
    assert whole["downtime_h"] == 13.0
    assert whole["promises"]["error_budget"]["verdict"] == "broken"
    assert (sums["health"], sums["downtime_h"], sums["promises"]) == ("not-monitored", None, None)
    lines = [line.split()[0] for line in terminal("product", "list").out.splitlines()]
    assert lines == ["product", "sums", "sales-pack"]


def test_the_sheet_of_a_product_shows_everything(terminal: Terminal) -> None:
    """Owner, consumers, tables, ports, downtime of a period, and promises."""
    _prepare(terminal)
    said = terminal("product", "show", "sales-pack", "--from", "2026-11-17T00:00Z", "--to", "2026-11-18T00:00Z").out
    for text in ("The sales pack  healthy", "The desk", "finance, the board", "orders, refunds", "Error budget"):
        assert text in said
    assert "feeds others  refunds" in said
    assert "period        Tue 2026-11-17 09:00 to Wed 2026-11-18 09:00 (Asia/Tokyo)" in said
    assert "down          13 h" in said
    assert "while any of 2 tables was" in said
    single = terminal("product", "show", "sums").out
    assert "fed by        refunds" in single
    assert "down          unknown\n" in single


def test_promises_of_products_are_contracts(terminal: Terminal) -> None:
    """`contract show` judges them by the name of the product."""
    _prepare(terminal)
    said = terminal("contract", "show", "product:sales-pack", "--format", "json")
    assert (said.code, said.json["contracts"][0]["origins"]) == (1, {"downtime": "products.sales-pack.promises"})


def test_an_unknown_product_is_refused_with_the_nearest_name(terminal: Terminal) -> None:
    """And a project without any says where they are described."""
    said = terminal("product", "list")
    assert (said.code, "see 'products' in docs/configuration.md" in said.err) == (5, True)
    _prepare(terminal)
    said = terminal("product", "show", "sale-pack")
    assert (said.code, "did you mean 'sales-pack'?" in said.err) == (5, True)
    (error,) = terminal.refused("product", "show", "nosuch", code=5)
    assert error["hint"] == "known: sales-pack, sums; see 'tablewatch product list'"


def test_a_product_of_no_table_is_an_error_of_the_configuration(terminal: Terminal) -> None:
    """Of unknown words too, and of an unknown owner; all with their places."""
    products = "products: {a: {tables: [nothing]}, b: {tables: ['colour:red']}, c: {tables: [orders], owner: nobody}}\n"
    (terminal.folder / "tablewatch.yaml").write_text(CONFIG + products, encoding="utf-8")
    said = terminal("config", "check", "--format", "json")
    assert said.code == 2
    errors = said.json["errors"]
    codes = ["selector.nothing", "selector.unknown_field", "config.unknown_reference"]
    assert [error["code"] for error in errors] == codes
    assert all(error["line"] for error in errors)


def test_the_sheet_of_a_table_names_its_products_and_the_brief_their_consumers(terminal: Terminal) -> None:
    """An incident shows the affected products, beside the table's own consumers."""
    _prepare(terminal)
    assert "products      sales-pack" in terminal("table", "show", "orders").out.splitlines()
    assert terminal("table", "show", "orders", "--format", "json").json["products"] == ["sales-pack"]
    assert "products      sums" in terminal("table", "show", "totals").out.splitlines()
    assert "Consumers: board report, finance, the board" in terminal("incident", "brief", "1").out
