"""A week seen through a real store: a real engine looked at a real table on a simulated clock."""

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import event

from checks import Status
from monitor.config.selector import select
from monitor.reporting.build import build_report, gather, window_of
from monitor.reporting.period import Week
from monitor.reporting.render import as_html, as_markdown
from monitor.reporting.report_json import as_json, as_text
from monitor.scan.run import run_checks
from monitor.summaries.products import product_states
from monitor.summaries.service_levels import judge_contracts
from monitor.terminal.localizer import Localizer
from tests.monitor.shop import NOW, build_shop

HOUR = 3_600_000_000
ENGLISH = Localizer("en", "Asia/Tokyo")


@pytest.fixture(scope="module")
def week_of_shop(tmp_path_factory):
    """Watch the shop hourly for a day: from the third hour to the sixth a key is double; then stop looking."""
    shop = build_shop(tmp_path_factory.mktemp("shop"))
    project = shop.project()
    selection = select([], project.config)
    with project.open_store() as store:
        for hour in range(24):
            shop.clock.advance_to(NOW + timedelta(hours=hour))
            if hour == 3:
                shop.sql("INSERT INTO orders VALUES (1, 'eve', 1.0, '2026-11-20 12:00')")
            if hour == 6:
                shop.sql("DELETE FROM orders WHERE customer = 'eve'")
            run_checks(project, selection, store=store)
        shop.clock.advance(timedelta(days=3))
        now, week = shop.clock.now(), Week.containing(NOW, "Asia/Tokyo")
        with store.reading() as tx:
            evidence = gather(project, tx, week, now)
            report = build_report(evidence, week)
    return evidence, report


def test_times_are_those_of_the_runs(week_of_shop):
    """The incident is between the last passing run, the first bad one and the first good one after it."""
    _, report = week_of_shop
    week = report.figures.this
    assert (week.n, week.undetected_us, week.repair_us) == (1, HOUR, 3 * HOUR)
    (row,) = report.incidents.rows
    assert row.occurred_at == NOW + timedelta(hours=2)
    assert (row.table, row.owner, row.ttd_us, row.ttr_us) == ("orders", "The desk", HOUR, 3 * HOUR)
    assert row.owner in report.owner_names.values()
    assert row.title.render(ENGLISH) == "1 duplicate key (2 rows)"
    assert row.title.render(Localizer("ja", "UTC")) == "1個のキーが重複しています\uff082行\uff09"


def test_results_are_counted(week_of_shop):
    """Every result of the week is counted by its status."""
    evidence, report = week_of_shop
    assert evidence.results == {Status.PASS: 45, Status.FAIL: 3}
    assert (report.coverage.results, report.coverage.evaluated, report.coverage.silent) == (48, 48, 0)


def test_what_checks_cost_is_of_the_runs_of_the_week(week_of_shop):
    """Of the twenty-four runs; SQLite does not tell what it reads."""
    _, report = week_of_shop
    (line,) = report.scan_costs.tables
    assert (line.source, line.table, line.spending.runs) == ("shop", "orders", 24)
    assert line.spending == report.scan_costs.whole
    assert line.spending.seconds > 0
    value = as_json(report, ENGLISH)["scan_costs"]
    assert (value["more"], value["shown"][0]["table"], value["whole"]["rows_read"]) == (0, "orders", None)
    text = as_markdown(report, ENGLISH)
    assert re.search(r"\| orders \| shop \| 24 \| [0-9.]+ \| \N{EN DASH} \| \N{EN DASH} \|", text)
    assert "## チェックのコスト" in as_markdown(report, Localizer("ja", "Asia/Tokyo"))


def test_time_since_the_last_run_is_unobserved(week_of_shop):
    """Time after the last run is unobserved; the store cannot know that yet, the report does."""
    _, report = week_of_shop
    (spot,) = report.coverage.unobserved
    last_run = NOW + timedelta(hours=23)
    due = last_run + timedelta(hours=1)
    assert spot.unobserved_us == (report.period.end - due) / timedelta(microseconds=1)
    assert [reason.text for reason in spot.reasons] == ["not run"]


def test_weeks_before_were_not_watched(week_of_shop):
    """The weeks before the first run have no figures, not figures of nothing."""
    _, report = week_of_shop
    assert report.figures.before is None
    assert [bar.undetected_us is None for bar in report.trend] == [True] * 11 + [False]


def test_measurements_that_are_gone(tmp_path):
    """Of a week whose measurements are past retention, the report does not say that no check ran."""
    shop = build_shop(tmp_path)
    project = shop.project()
    with project.open_store() as store:
        run_checks(project, select([], project.config), store=store)
        week, later = Week.containing(NOW, "Asia/Tokyo"), NOW + timedelta(days=200)
        with store.reading() as tx:
            report = build_report(gather(project, tx, week, later), week)
    assert report.coverage.results is None
    assert "The number of runs is past the retention period" in as_html(report, ENGLISH)


def test_weeks_before_the_first_look(tmp_path):
    """A week before the first look has dashes and null, and never says that something is past retention."""
    shop = build_shop(tmp_path)
    project = shop.project()
    with project.open_store() as store:
        run_checks(project, select([], project.config), store=store)
        week = Week.containing(NOW, "Asia/Tokyo").back(30)
        with store.reading() as tx:
            report = build_report(gather(project, tx, week, NOW + timedelta(hours=1)), week)
    value = as_json(report, ENGLISH)
    assert value["headline"] == "Monitoring had not started: the first check ran on Nov 20, 2026."
    assert value["figures"]["this_week"] is None
    assert {day["downtime_h"] for day in value["by_day"]} == {None}
    assert value["coverage"]["watched_since"] == NOW.isoformat()
    for text in (as_html(report, ENGLISH), as_markdown(report, ENGLISH)):
        assert "The first check ran on Nov 20, 2026, after this week." in text
        assert "past retention" not in text
        assert "0 min" not in text.replace("\N{NO-BREAK SPACE}", " ")
    figures = as_markdown(report, ENGLISH)
    assert "| Incidents (N) | \N{EN DASH} | \N{EN DASH} | \N{EN DASH} |" in figures


def test_a_week_after_one_in_which_nothing_could_be_evaluated(tmp_path):
    """A week in which all runs were unknown is null in the trend, and no "last week" to compare with."""
    shop = build_shop(tmp_path)
    project = shop.project()
    selection = select([], project.config)
    with project.open_store() as store:
        run_checks(project, selection, store=store)
        shop.sql("ALTER TABLE orders RENAME TO elsewhere")
        shop.clock.advance(timedelta(weeks=1))
        run_checks(project, selection, store=store)
        shop.sql("ALTER TABLE elsewhere RENAME TO orders")
        shop.clock.advance(timedelta(weeks=1))
        run_checks(project, selection, store=store)
        week = Week.containing(shop.clock.now(), "Asia/Tokyo")
        with store.reading() as tx:
            blind, after = (build_report(gather(project, tx, one, week.end), one) for one in (week.back(1), week))
    assert str(blind.headline).startswith("No check could be evaluated this week")
    assert str(after.headline) == "No data downtime this week; last week is unknown."
    value = as_json(after, ENGLISH)
    assert [one["downtime_h"] for one in value["trend"]][-3:] == [0, None, 0]
    assert (value["figures"]["last_week"], value["change"]) == (None, None)
    assert {day["downtime_h"] for day in as_json(blind, ENGLISH)["by_day"]} == {None}
    assert "could not be evaluated" in as_markdown(after, ENGLISH)


def test_the_present_week_says_one_thing_of_what_was_not_observed(tmp_path):
    """Where all that ran could be evaluated and yet time is missing, both are said in one sentence."""
    shop = build_shop(tmp_path)
    project = shop.project()
    with project.open_store() as store:
        run_checks(project, select([], project.config), store=store)
        week, now = Week.containing(NOW, "Asia/Tokyo"), NOW + timedelta(hours=9)
        with store.reading() as tx:
            page = as_html(build_report(gather(project, tx, week, now), week), ENGLISH)
    text = page.replace("\N{NO-BREAK SPACE}", " ")
    assert "Every check that ran could be evaluated, but 8 h were not monitored." in text
    assert "Not monitored: 8 h in total" in text
    assert "Every check could be evaluated" not in text


def test_json(week_of_shop):
    """The JSON form has hours as numbers, times as ISO 8601, and null for what is not known."""
    _, report = week_of_shop
    value = json.loads(as_text(as_json(report, ENGLISH)))
    assert value["schema"] == "tablewatch.weekly/2"
    assert value["week"] == "2026-W47"
    assert value["from"] == "2026-11-15T15:00:00+00:00"
    assert value["figures"]["last_week"] is None
    this_week = value["figures"]["this_week"]
    assert (this_week["n"], this_week["downtime_h"], this_week["undetected_h"], this_week["repair_h"]) == (1, 4, 1, 3)
    assert this_week["ttd_h"] == {"min": 1, "mean": 1, "median": 1, "p90": 1, "max": 1}
    assert this_week["cost"] == {"amount": None, "table_hours_amount": None, "currency": "USD"}
    assert [row["key"] for row in value["by_owner"]["shown"]] == ["The desk"]
    assert len(value["by_day"]) == 7
    assert len(value["trend"]) == 12
    (incident,) = value["incidents"]["shown"]
    assert incident["occurred_at"] == "2026-11-20T11:00:00+00:00"
    assert incident["title"] == "1 duplicate key (2 rows)"
    assert value["coverage"]["unobserved"][0]["reasons"] == ["not run"]


def test_keys_are_documented(week_of_shop):
    """Every key of the JSON form stands in the documentation."""
    _, report = week_of_shop
    page = (Path(__file__).parents[3] / "docs" / "reports.md").read_text(encoding="utf-8")
    value = as_json(report, ENGLISH)
    keys = {*value, *value["coverage"], *value["figures"], *value["figures"]["this_week"], *value["diagnosis"]}
    keys |= {key for key in value["incidents"]["shown"][0] if key.startswith("occurred")}
    assert sorted(key for key in keys if f"`{key}`" not in page) == []


@pytest.mark.parametrize(("per", "reads"), [("7d", 1), ("300d", 2)])
def test_incidents_are_read_once(tmp_path, per, reads):
    """Contracts and products are judged by incidents read once, those of the trend if they promise nothing longer."""
    shop = build_shop(tmp_path)
    with shop.config.open("a", encoding="utf-8") as file:
        file.write(f"slo: {{orders: {{downtime: 2h per {per}}}}}\n")
        file.write(f"products: {{shop: {{tables: ['*'], promises: {{ttr: 1h, downtime: 3h per {per}}}}}}}\n")
    project, statements = shop.project(), []
    with project.open_store() as store:
        shop.sql("INSERT INTO orders VALUES (1, 'eve', 1.0, '2026-11-20 12:00')")
        run_checks(project, select([], project.config), store=store)
        now, week = shop.clock.now() + timedelta(hours=3), Week.containing(NOW, "Asia/Tokyo")
        with store.reading() as tx:
            alone = judge_contracts(project, tx, window_of(week), as_of=now)
            engine = tx.incidents._connection.engine
            event.listen(engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
            evidence = gather(project, tx, week, now)
        assert sum("LEFT OUTER JOIN incident AS" in statement for statement in statements) == reads
        with store.reading() as tx:
            products = product_states(project, tx, ["shop"], window_of(week), as_of=now)
    assert (evidence.contracts, evidence.products) == (alone, products)
    assert products[0].down.seen > 0
    assert alone[0].budget is not None
    assert alone[0].budget.spent.seen > 0
