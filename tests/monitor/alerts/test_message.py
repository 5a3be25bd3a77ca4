"""What a message says."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from checks import Kind, Severity
from incidents import Resolution
from monitor.alerts.batch import Batch, BatchItem
from monitor.alerts.decide import NotificationReason
from monitor.alerts.hold import HoldRules
from monitor.alerts.message import LONGEST_TEXT, LONGEST_TITLE, MessageComposer, compose
from monitor.alerts.wording import plain
from tests.monitor.alerts.made import NOW, at, episode, incident, over, project, waiting


def told(made, *items, channel="desk", storm=False, around=(), full_until=None):
    """Write a message about incidents, each with its reason."""
    batch = Batch(tuple(BatchItem(one, reason, NOW) for one, reason in items), storm)
    hold_rules = HoldRules(made.config, silences=(), around=around, now=NOW, recipients=waiting(*around))
    return MessageComposer(made, NOW).incidents(batch, channel, hold_rules, full_until=full_until)


@pytest.fixture
def made(tmp_path):
    """Return a project."""
    return project(tmp_path)


def test_a_new_problem_says_what_a_person_must_know(made):
    """What is wrong, why it matters, since when, what it costs, who owns it, what else is hit, where the repair is."""
    below = incident(2, table="lines", episodes=(episode(0),))
    said = compose(told(made, (incident(), NotificationReason.FIRST), around=[incident(), below]))
    assert said.title == "[error] orders: 3 of 26,115 rows have no id (#1)"
    assert said.text.splitlines() == [
        "Why it matters: It is billed twice.",
        "Started: Fri, Nov 20, 11:00, detected Fri, Nov 20, 12:00",
        "Cost so far: ¥120,000; ¥120,000 an hour",
        "Owner: The desk",
        "Also affected: lines; muted",
        "Runbook: https://wiki/orders",
        "Acknowledge: tablewatch incident ack 1",
        "",
        "Tablewatch, project shop",
    ]


def test_an_owner_without_a_name_is_named_by_the_key(tmp_path):
    """An owner without a name in the configuration stands in the message as there."""
    made = project(tmp_path, owners=("desk: {name: The desk, channel: desk}", "desk: {channel: desk}"))
    assert "Owner: desk" in compose(told(made, (incident(), NotificationReason.FIRST))).text


def test_the_end_says_how_long_it_took(made):
    """A resolved incident says its TTD and TTR, what it cost and how it ended, and asks for nothing."""
    said = compose(told(made, (over(episodes=(episode(-2, -0.5),)), NotificationReason.RESOLVED)))
    assert said.title == "[resolved] orders: 3 of 26,115 rows have no id (#1)"
    assert "Ended: Fri, Nov 20, 11:30, fixed" in said.text
    duration = "Duration: 2 h 30 min: time to detection (TTD) 1 h, time to resolution (TTR) 1 h 30 min"
    assert duration in said.text.replace("\N{NO-BREAK SPACE}", " ")
    assert "Cost: ¥300,000" in said.text
    assert not any(word in said.text for word in ("Why it matters", "Runbook", "Acknowledge"))


@pytest.mark.parametrize(
    ("one", "reason", "title"),
    [
        (incident(), NotificationReason.REOPENED, "[error] orders, recurred: "),
        (incident(severity=Severity.CRITICAL), NotificationReason.ESCALATED, "[critical] orders, severity raised: "),
        (incident(), NotificationReason.REMINDER, "[error] orders, still open: "),
        (incident(flapping=True), NotificationReason.FLAPPING, "[flapping] orders: "),
        (over(flapping=True), NotificationReason.FLAPPING, "[flapping] orders: "),
        (over(), NotificationReason.FIRST, "[already resolved] orders: "),
        (over(merged_into=7, resolution=Resolution.DUPLICATE), NotificationReason.RESOLVED, "[resolved] orders: "),
    ],
)
def test_the_title_says_why_it_is_told(made, one, reason, title):
    """Each reason has its own words in the title."""
    assert compose(told(made, (one, reason))).title.startswith(title)


def test_facts_of_special_incidents(made):
    """What flaps, comes back, was caused or merged, or is about a release, says so; what does not count has no cost."""
    assert (
        "Notifications are paused" in compose(told(made, (incident(flapping=True), NotificationReason.FLAPPING))).text
    )
    again = incident(episodes=(episode(-9, -8), episode(0)), root=9, assignee="sato")
    said = compose(told(made, (again, NotificationReason.REOPENED))).text
    assert [line for line in said.splitlines() if line.startswith(("Episode", "Caused", "Assigned"))] == [
        "Episode: number 2",
        "Assigned to: sato",
        "Caused by: #9",
    ]
    merged = over(merged_into=7, resolution=Resolution.DUPLICATE)
    said = compose(told(made, (merged, NotificationReason.RESOLVED))).text
    assert "Ended: duplicate of #7; notifications continue there" in said
    release = compose(told(made, (incident(kind=Kind.DISCLOSURE), NotificationReason.FIRST))).text
    assert "Kind: data release at risk" in release
    assert not any("Cost" in text for text in (said, release))


def test_a_channel_is_spoken_to_in_its_language(made):
    """The Japanese channel hears Japanese; the JSON keeps its English words."""
    payload = told(made, (incident(severity=Severity.CRITICAL), NotificationReason.FIRST), channel="crew")
    assert payload["locale"] == "ja"
    said = compose(payload)
    assert said.title[1:3] == "重大"
    assert said.text.startswith("影響")
    assert '<html lang="ja">' in said.html
    assert payload["incidents"][0]["title"] == "3 of 26,115 rows have no id"


def test_several_incidents_of_a_table_are_one_message(made):
    """A group names the worst severity, counts what is over, tells the first few in full and the others in a line."""
    items = [(incident(number), NotificationReason.FIRST) for number in range(1, 8)] + [
        (over(8), NotificationReason.RESOLVED)
    ]
    payload = told(made, *items)
    assert payload["title"] == "[error] orders: 8 incidents, 1 of them resolved"
    assert payload["text"].count("Started:") == 5
    assert all(f"(#{number})" in payload["text"] for number in range(1, 9))
    assert payload["counts"] == {
        "incidents": 8,
        "warnings": 0,
        "over": 1,
        "tables": 1,
        "by_severity": {"error": 8},
        "by_reason": {"first": 7, "resolved": 1},
    }


def test_a_storm_counts_every_incident(made):
    """A message over tables names the worst, counts the others, and has the number of every incident in its JSON."""
    items = [(incident(number, table=f"t{number}"), NotificationReason.FIRST) for number in range(1, 101)]
    payload = told(made, *items, storm=True, full_until=at(0.5))
    assert payload["title"] == "[error] 100 tables: 100 incidents"
    assert "And 75 more incidents." in payload["text"]
    assert "Events until Fri, Nov 20, 12:30 are summarized in one message." in payload["text"]
    assert payload["ids"] == list(range(1, 101))
    assert (payload["table"], payload["counts"]["incidents"], len(payload["incidents"])) == (None, 100, 50)


EVIL = "a\r\nBcc: x <!channel> @everyone [x](http://e) <http://e|ok> \x1b[2J"


def test_names_stay_text():
    """A name shows its control characters, mentions no user and links nowhere; figures keep their signs."""
    said = plain(EVIL)
    assert said.startswith("a\\r\\nBcc: x \N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}!channel>")
    assert not any(bad in said for bad in ("\n", "\x1b", "<!", "@everyone", "](", "<http"))
    assert plain("<0.1% of rows < 5") == "<0.1% of rows < 5"
    assert plain("x" * 500) == "x" * 199 + "…"


class Parts(HTMLParser):
    """The elements of a page."""

    def __init__(self, page):
        super().__init__()
        self.names = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):  # noqa: ARG002 - the parser's signature
        """Note its name."""
        self.names.append(tag)


def test_what_others_wrote_breaks_no_message(tmp_path):
    """Names full of control characters, mark-up and mentions change neither a text's lines nor a page's elements."""
    made = project(tmp_path)
    good = told(made, (incident(title="x", title_values={}, assignee="a"), NotificationReason.FIRST))
    bad = told(made, (incident(title="{x}" + EVIL, title_values={}, assignee="a" + EVIL), NotificationReason.FIRST))
    assert len(bad["text"].splitlines()) == len(good["text"].splitlines())
    names = Parts(compose(bad).html).names
    assert names == Parts(compose(good).html).names
    assert set(names) <= {"html", "head", "meta", "title", "body", "table", "tr", "td", "div"}
    assert "<!channel>" not in bad["text"] + bad["title"]
    assert "{x}" in bad["title"]


def test_lengths_are_capped(made):
    """However much there is to say, title, text and page stay short, and the JSON can be sent."""
    items = [
        (incident(n, title="x" * 5_000, title_values={}, assignee="y" * 900), NotificationReason.FIRST)
        for n in range(1, 400)
    ]
    payload = told(made, *items)
    said = compose(payload)
    assert len(said.title) <= LONGEST_TITLE
    assert len(said.text) <= LONGEST_TEXT
    assert said.text.endswith("…")
    assert len(said.html.encode()) < 90_000
    json.dumps(payload, allow_nan=False)


def test_secrets_of_the_configuration_are_masked(tmp_path):
    """A secret in a title is masked in the text, the page and the JSON."""
    path = tmp_path / "secret"
    path.write_text("hunter2-hunter2", encoding="utf-8")
    made = project(tmp_path, secret=('"s3cret-key"', f'"${{file:{path}}}"'))
    payload = told(
        made, (incident(title="hunter2-hunter2 in it", title_values={}), NotificationReason.FIRST), channel="audit"
    )
    assert "hunter2" not in json.dumps(payload) + compose(payload).html
    assert "***" in payload["title"]


def test_a_message_stays_the_same(made):
    """What is stored is enough to write the page: the same payload gives the same words at any time."""
    payload = json.loads(json.dumps(told(made, (incident(), NotificationReason.FIRST))))
    assert compose(payload) == compose(payload)
    assert payload["schema"] == "tablewatch.alert/1"
    assert replace(compose(payload), html="") == replace(
        compose(told(made, (incident(), NotificationReason.FIRST))), html=""
    )


def test_an_alert_names_the_products_it_touches_and_their_consumers(tmp_path):
    """People read titles; programs get the names, of all products that the table is in."""
    more = """
products:
  board-pack: {title: The board pack, tables: [orders, board], consumers: [the board, finance]}
  all-orders: {tables: ["*"], consumers: [finance]}
  other: {tables: [stray]}
"""
    payload = told(project(tmp_path, "  routes: [{to: [audit]}]" + more), (incident(), NotificationReason.FIRST))
    text = compose(payload).text
    assert "Data products: The board pack, all-orders\nConsumers: the board, finance\n" in text
    assert payload["incidents"][0]["products"] == [
        {"product": "board-pack", "consumers": ["the board", "finance"]},
        {"product": "all-orders", "consumers": ["finance"]},
    ]
