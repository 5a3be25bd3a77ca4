"""`tablewatch status-page`: addresses for consumers, and the same as files."""

from tests.monitor.commands.terminal import Terminal


def test_an_address_is_made_replaced_and_revoked(terminal: Terminal) -> None:
    """The address is printed once; the list has its number, of what it is and who made it."""
    terminal.json("check", "orders")
    made = terminal.json("status-page", "add", "--table", "orders", "--by", "s.sato")
    assert made["schema"] == "tablewatch.status-address/1"
    assert (made["id"], made["scope"], made["name"], made["by"]) == (1, "table", "orders", "s.sato (OS user m.mori)")
    assert len(made["path"]) == len("/status/") + 43
    replaced = terminal.json("status-page", "rotate", "1")
    assert (replaced["id"], replaced["path"] != made["path"]) == (2, True)
    listed = terminal("status-page", "list").out
    assert "table orders" in listed
    assert replaced["path"].rpartition("/")[2] not in listed
    assert terminal("status-page", "revoke", "2").out == "address 2 of orders is revoked\n"
    assert terminal.json("status-page", "list")["addresses"] == []
    assert terminal.refused("status-page", "revoke", "9", code=5)[0]["code"] == "status_page.not_found"
    assert "use either --table or --product" in terminal.refused("status-page", "add")[0]["message"]


def test_pages_are_written_as_files(terminal: Terminal) -> None:
    """Each is one file that fetches nothing, beside its badge; a file is replaced only by force."""
    terminal.json("check", "orders")
    words = ("status-page", "write", "public", "--table", "orders")
    files = terminal.json(*words)["files"]
    assert files == ["public/table-orders.html", "public/table-orders.svg"]
    page = (terminal.folder / files[0]).read_text()
    assert "The data may be used." in page
    assert "customer" not in page
    assert [word for word in ("<script", "stylesheet", "http://", "https://", "url(h", "@import") if word in page] == []
    assert "may be used" in (terminal.folder / files[1]).read_text()
    assert "--force" in terminal.refused(*words)[0]["hint"]
    terminal.json(*words, "--force", "--locale", "ja")
    assert 'lang="ja"' in (terminal.folder / files[0]).read_text()
    assert "no data product" in terminal.refused("status-page", "write", "public", code=5)[0]["message"]
