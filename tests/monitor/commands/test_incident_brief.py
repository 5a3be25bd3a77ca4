"""`tablewatch incident brief`: a hand-over and the draft of a post-mortem, in Markdown."""

from datetime import timedelta

from tests.monitor.commands.terminal import NOW, Terminal

NO = "\N{EN DASH}"
OCCURRED = ("--occurred", "2026-11-20T10:10+09:00")
OPEN = ("incident", "open", "--table", "orders", "--title", "amounts | x100 <b>", *OCCURRED)


def brief(terminal: Terminal, *words: str) -> list[str]:
    """Return the lines of a brief that are not empty."""
    return [line for line in terminal("incident", "brief", "1", *words).out.splitlines() if line]


def test_a_hand_over_says_what_since_when_who_what_was_done_and_what_next(terminal: Terminal) -> None:
    """Everything that the next shift needs, in the order of its questions."""
    terminal.json(*OPEN)
    terminal.json("incident", "ack", "1")
    terminal.json("incident", "comment", "1", "asked the supplier")
    with terminal.at(NOW + timedelta(hours=1)):
        lines = brief(terminal)
    assert lines[0] == "# #1 orders: amounts \\| x100 &lt;b&gt;"
    heads = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    assert heads == ["What is wrong", "Since when", "Responsible", "What was done", "What it costs", "What to do next"]
    assert "Downstream tables: refunds, totals" in lines
    assert f"| 2026-11-20 10:10 | 2026-11-20 18:00 | 2026-11-20 18:00 | {NO} | 7 h 50 min | 0 min | {NO} |" in lines
    assert f"Owner: crew · Assigned to: {NO} · Acknowledged by: m.mori" in lines
    assert "- 2026-11-20 18:00 m.mori: comment: asked the supplier" in lines
    assert any(line.startswith("Data downtime: 8 h 50 min · Cost: ") for line in lines)
    assert lines[-2:] == ["- `tablewatch incident resolve 1`", "- `tablewatch incident comment 1`"]


def test_the_draft_of_a_post_mortem_is_in_order_of_time_and_leaves_to_people_what_the_log_cannot_know(
    terminal: Terminal,
) -> None:
    """The cause that was given stands; what is missing is asked for."""
    terminal.json(*OPEN)
    event = ("event", "add", "deploy", "--table", "orders", "--note", "loader <2>")
    terminal.json(*event, "--at", "2026-11-20T10:00")
    terminal.json(*event, "--at", "2026-11-20T12:00")
    with terminal.at(NOW + timedelta(hours=1)):
        terminal.json("incident", "ack", "1")
        terminal.json("incident", "resolve", "1", "--as", "fixed", "--cause", "the unit changed", "--force")
    lines = brief(terminal, "--post-mortem")
    timeline = [line for line in lines if line.startswith("- 2026")]
    assert timeline == [
        "- 2026-11-20 10:00 deployment (orders): loader &lt;2&gt;",
        "- 2026-11-20 10:10 Occurred",
        "- 2026-11-20 18:00 Detected",
        "- 2026-11-20 19:00 m.mori: acknowledged",
        "- 2026-11-20 19:00 Resolved",
    ]
    assert "the unit changed" in lines
    assert lines[-1] == "To be written: what changes, who does it, until when?"


def test_it_is_written_in_japanese_to_a_file_and_as_json(terminal: Terminal) -> None:
    """A file that is there is not replaced unasked; JSON holds the same text."""
    terminal.json(*OPEN)
    terminal("incident", "brief", "1", "--locale", "ja", "--out", "brief.md")
    text = (terminal.folder / "brief.md").read_text(encoding="utf-8")
    assert "## 次にすること" in text
    value = terminal.json("incident", "brief", "1", "--locale", "ja")
    assert (value["schema"], value["locale"], value["markdown"]) == ("tablewatch.incident-brief/1", "ja", text)
    (error,) = terminal.refused("incident", "brief", "1", "--out", "brief.md")
    assert error["code"] == "incident.out"


def test_a_runbook_is_written_as_it_is_in_the_configuration(terminal: Terminal) -> None:
    """Its Markdown stays Markdown; why it matters and the check's latest result stand above."""
    terminal.configure(**{"why: Duplicates": 'runbook: "Ask **ops**, then `reload`.", why: Duplicates'})
    terminal.sql("INSERT INTO orders VALUES (1, 'eve')")
    terminal("check", "orders")
    lines = brief(terminal)
    assert "Check: orders.primary-key (primary\\_key). Duplicates are billed twice." in lines
    assert "Latest result, 2026-11-20 18:00: fail, 1 duplicate key (2 rows)" in lines
    assert "Consumers: board report" in lines
    assert "Ask **ops**, then `reload`." in lines


def test_what_a_check_saw_is_written_in_the_language_of_the_brief(terminal: Terminal) -> None:
    """The title and the latest result are texts of the product, and are translated as in the report and in alerts."""
    terminal.sql("INSERT INTO orders VALUES (1, 'eve')")
    terminal("check", "orders")
    lines = brief(terminal, "--locale", "ja")
    assert lines[0].startswith("# #1 orders: 1個のキーが重複しています")
    assert any(line.startswith("最新の結果") and "不合格, 1個のキーが重複しています" in line for line in lines)


def test_what_follows_a_resolution_is_the_post_mortem(terminal: Terminal) -> None:
    """Nothing is left to acknowledge or to resolve."""
    terminal.json(*OPEN)
    terminal.json("incident", "resolve", "1", "--as", "fixed", "--force")
    commands = [line for line in brief(terminal) if line.startswith("- `")]
    assert commands == ["- `tablewatch incident comment 1`", "- `tablewatch incident brief 1 --post-mortem`"]
