"""`tablewatch incident causes`: what may have caused an incident, on every surface that shows it."""

from datetime import timedelta
from typing import Any

import pytest

from tests.monitor.commands.terminal import NOW, Terminal

CHECKS = """- {type: not_null, columns: [customer]}
      - {id: cols, type: schema, extra: allow}
      - {id: rows, type: volume, min: 1}"""
CANARY = "canary-9137"
KINDS = ("upstream-incident", "schema-change", "volume-shift", "event", "segment", "earlier-incident")


def _look(terminal: Terminal, hours: float) -> None:
    with terminal.at(NOW + timedelta(hours=hours)):
        assert terminal("check").code in {0, 1, 3}


@pytest.fixture
def incident(terminal: Terminal) -> int:
    """Return the number of an incident on refunds near whose beginning one fact of each kind lies."""
    terminal.configure(
        **{
            "- {type: not_null, columns: [customer]}": CHECKS,
            "[{type: not_null, columns: [id]}]": "[{type: not_null, columns: [id], by: region}]",
        }
    )
    values = ", ".join(f"({n + 10}, '{region}')" for n in range(10) for region in ("north", CANARY))
    terminal.sql(f"ALTER TABLE refunds ADD COLUMN region TEXT; INSERT INTO refunds VALUES {values}")
    terminal.sql("DELETE FROM refunds WHERE region IS NULL")
    _look(terminal, -10 * 24 - 1)
    terminal.sql(f"UPDATE refunds SET id = NULL WHERE region = '{CANARY}' AND id < 30")
    _look(terminal, -10 * 24)
    with terminal.at(NOW - timedelta(days=9)):
        ending = ("--as", "fixed", "--cause", "the loader lost its keys", "--force", "--by", "noa")
        terminal.json("incident", "resolve", "1", *ending)
    terminal.sql("UPDATE refunds SET id = rowid + 9")
    for hour in range(-7, 0):
        _look(terminal, hour)
    terminal.json("event", "add", "deploy", "--table", "orders", "--note", "loader 2.3", "--at", "30m ago")
    terminal.sql("ALTER TABLE orders ADD COLUMN channel TEXT; INSERT INTO orders VALUES (3, NULL, 'x'), (4, 'c', 'x')")
    terminal.sql(f"UPDATE refunds SET id = NULL WHERE region = '{CANARY}' AND id < 30")
    _look(terminal, 0)
    (number,) = [
        line["id"]
        for line in terminal.json("incident", "list", "--state", "open")["incidents"]
        if line["table"] == "refunds"
    ]
    return int(number)


def _kinds(causes: list[Any]) -> set[str]:
    return {cause["kind"] for cause in causes}


def test_facts_of_every_kind_are_ranked_with_their_evidence(terminal: Terminal, incident: int) -> None:
    """JSON has the parts of each score and where the fact is found; the text says "may" and the times and counts."""
    shown = terminal.json("incident", "causes", str(incident))
    assert (shown["schema"], shown["id"], shown["table"]) == ("tablewatch.incident-causes/1", incident, "refunds")
    assert shown["began"] == {"earliest": "2026-11-20T08:00:00+00:00", "latest": "2026-11-20T09:00:00+00:00"}
    causes = shown["causes"]
    assert _kinds(causes) == set(KINDS)
    assert [cause["score"] for cause in causes] == sorted((cause["score"] for cause in causes), reverse=True)
    by_kind = {cause["kind"]: cause for cause in causes}
    assert by_kind["event"]["message"].endswith(": loader 2.3")
    assert (by_kind["event"]["event"], by_kind["event"]["distance"]) == (1, 1)
    assert by_kind["upstream-incident"]["check_id"] == "orders.not-null"
    assert "0 missing, 1 new, 0 of another type (channel)" in by_kind["schema-change"]["message"]
    assert "orders.rows measured 4 instead of about 2" in by_kind["volume-shift"]["message"]
    assert "has 100% of the violations" in by_kind["segment"]["message"]
    assert "ended as fixed by noa" in by_kind["earlier-incident"]["message"]
    assert "the loader lost its keys" in by_kind["earlier-incident"]["message"]
    text = terminal("incident", "causes", f"#{incident}").out
    assert text.count("may have been:") == len(causes)
    assert "none is known to be the cause" in text


def test_briefs_have_the_candidates_in_both_languages(terminal: Terminal, incident: int) -> None:
    """The hand-over and the draft of a post-mortem name the first candidates, in words that claim nothing."""
    for options in ((), ("--post-mortem",)):
        english = terminal("incident", "brief", str(incident), *options).out
        assert "## What may have caused it" in english
        assert "None is known to be the cause." in english
        assert "loader 2.3" in english
    japanese = terminal("incident", "brief", str(incident), "--locale", "ja").out
    assert "## 原因の候補" in japanese
    assert "デプロイ" in japanese


def test_no_value_of_a_table_is_shown(terminal: Terminal, incident: int) -> None:
    """The segment that has the violations is named by its keyed hash, as its check names it."""
    for words in (("causes",), ("causes", "--format", "json"), ("brief",), ("brief", "--locale", "ja")):
        text = terminal("incident", words[0], str(incident), *words[1:]).out
        assert "segment " in text or "セグメント" in text
        assert CANARY not in text


def test_an_incident_without_anything_near_it_has_no_candidate(terminal: Terminal) -> None:
    """It says so, and nothing else is claimed."""
    terminal.json("incident", "open", "--table", "orders", "--title", "amounts x100")
    assert terminal.json("incident", "causes", "1")["causes"] == []
    assert "nothing in the store changed near the beginning" in terminal("incident", "causes", "1").out
    assert "What may have caused it" not in terminal("incident", "brief", "1").out


def test_a_beginning_that_is_known_to_the_minute_is_one_time(terminal: Terminal) -> None:
    """What a person reported upstream began at a moment, and not between two that are one."""
    terminal.json(
        "incident", "open", "--table", "orders", "--title", "amounts x100", "--occurred", "2026-11-20T17:00+09:00"
    )
    terminal.json(
        "incident", "open", "--table", "refunds", "--title", "sums x100", "--occurred", "2026-11-20T17:30+09:00"
    )
    (cause,) = terminal.json("incident", "causes", "2")["causes"]
    assert "incident #1 began at 2026-11-20T08:00:00+00:00: " in cause["message"]


def test_an_incident_that_is_not_there(terminal: Terminal) -> None:
    """It is an error with a code."""
    (error,) = terminal.refused("incident", "causes", "9", code=5)
    assert error["code"] == "incident.not_found"


@pytest.mark.parametrize(
    ("scope", "distance"),
    [(("--table", "orders"), 2), (("--table", "totals"), 0), (("--source", "shop"), 0), ((), 0)],
)
def test_an_event_counts_for_tables_that_it_was_about(
    terminal: Terminal, scope: tuple[str, ...], distance: int
) -> None:
    """A deployment upstream is at its distance; one of the source, or of nothing in particular, at the table itself."""
    terminal.json("event", "add", "deploy", "--note", "x", "--at", "10m ago", *scope)
    terminal.json("incident", "open", "--table", "totals", "--title", "late")
    (cause,) = terminal.json("incident", "causes", "1")["causes"]
    assert (cause["kind"], cause["distance"]) == ("event", distance)


def test_what_is_elsewhere_or_later_is_no_candidate(terminal: Terminal) -> None:
    """An event downstream, after the beginning, or removed, is left out."""
    terminal.json("event", "add", "deploy", "--note", "x", "--at", "3h ago", "--table", "totals")
    terminal.json("event", "add", "deploy", "--note", "x", "--at", "1h ago", "--table", "orders")
    terminal.json("event", "add", "deploy", "--note", "x", "--at", "3h ago", "--table", "orders")
    terminal.json("event", "remove", "3")
    terminal.json("incident", "open", "--table", "orders", "--title", "late", "--occurred", "2h ago")
    assert terminal.json("incident", "causes", "1")["causes"] == []
