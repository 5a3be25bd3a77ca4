"""Messages about Tablewatch itself, and the week."""

from dataclasses import replace

import pytest

from monitor.alerts.message import compose
from monitor.alerts.operational import Operation, OperationalEvent, operations
from monitor.alerts.report_message import report_delivery
from monitor.reporting.build import build_report, gather
from monitor.reporting.period import Week
from store import MessageSubject
from tests.monitor.alerts.made import NOW, at, project
from tests.monitor.reporting.sample import report as sample_report

EVERYBODY = "  routes: [{to: [desk, crew]}]"


@pytest.mark.parametrize("operation", list(Operation))
def test_every_operation_is_told_to_every_operator(tmp_path, operation):
    """Operators hear in their language what happened, to what, why and since when; each message has its own id."""
    made = project(tmp_path, EVERYBODY)
    happened = OperationalEvent(operation, name="warehouse", why="it did not answer", since=at(-1), until=at(1))
    deliveries = operations(made, happened, now=NOW)
    assert [(delivery.channel, delivery.subject) for delivery in deliveries] == [
        ("desk", MessageSubject.OPERATIONS),
        ("crew", MessageSubject.OPERATIONS),
    ]
    assert len({delivery.id for delivery in deliveries}) == 2
    assert all(delivery.id.startswith("msg_") and len(delivery.id) == 28 for delivery in deliveries)
    english, japanese = (compose(delivery.payload) for delivery in deliveries)
    assert english.title.startswith("[tablewatch] ")
    assert "Why: it did not answer" in english.text
    assert "Started: Fri, Nov 20, 11:00" in english.text
    assert english.title != japanese.title
    about_config = operation in {Operation.CONFIG_FAILED, Operation.CONFIG_FINE}
    assert ("warehouse" in english.title) != about_config


def test_a_configuration_with_errors_may_be_in_use_in_part(tmp_path):
    """Only the files of a team may be kept back, so the message does not state that all of the previous one is used."""
    (message, _) = operations(project(tmp_path, EVERYBODY), OperationalEvent(Operation.CONFIG_FAILED), now=NOW)
    composed = compose(message.payload)
    assert composed.title == "[tablewatch] the new configuration has errors"
    assert "What was valid before stays in use." in composed.text


def test_an_operation_without_a_reason_is_short(tmp_path):
    """What is not known is not said."""
    (one, _) = operations(project(tmp_path, EVERYBODY), OperationalEvent(Operation.CONFIG_FINE), now=NOW)
    assert compose(one.payload).text == "Tablewatch, project shop"


def test_without_operators_nobody_is_told(tmp_path):
    """A project that names no operators and has no route for everything hears nothing about Tablewatch."""
    assert operations(project(tmp_path), OperationalEvent(Operation.CONFIG_FINE), now=NOW) == []


def test_the_week_is_told_with_its_figures(tmp_path):
    """The message of a weekly report names the week and says its headline and figures, in the channel's language."""
    made = project(tmp_path)
    week = Week.parse("2026-W46", "Asia/Tokyo")
    with made.open_store() as store, store.reading() as tx:
        report = build_report(gather(made, tx, week, NOW), week)
    english, japanese = (report_delivery(made, report, channel, now=NOW) for channel in ("desk", "crew"))
    assert (english.subject, english.payload["week"]) == (MessageSubject.REPORT, "2026-W46")
    said = compose(english.payload)
    assert said.title.startswith("Data downtime, Nov 9")
    assert "Incidents (N): unknown" in said.text
    assert said.html == english.payload["html"]
    assert replace(said, html="") != replace(compose(japanese.payload), html="")
    assert report_delivery(made, report, "audit", now=NOW).payload["report"]["week"] == "2026-W46"


def test_the_week_names_the_tables_that_cost_most(tmp_path):
    """A report that orders its tables by cost says so in its message."""
    report = sample_report()
    assert report.by_cost
    assert (
        "Tables with the highest downtime cost"
        in compose(report_delivery(project(tmp_path), report, "desk", now=NOW).payload).text
    )
