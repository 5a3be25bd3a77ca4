"""Values of few people in tables of people: computed and judged, and shown nowhere."""

import json
from datetime import timedelta

import pytest

from checks import ColumnClass, Status
from monitor.config.people import people_tables
from monitor.config.selector import select
from monitor.doctor.config_checks import withheld_values
from monitor.reporting.terminal_views.pass_report import pass_as_json, pass_lines
from monitor.scan.run import run_checks
from tests.monitor.shop import CONFIG, build_shop

HOUR = timedelta(hours=1)
PEOPLE = "\n    columns: {customer: quasi-identifier, amount: sensitive, id: direct-identifier, loaded_at: other}"


@pytest.fixture
def shop(tmp_path):
    """Return a shop whose orders are of people: six of `ann`, one of `bob`."""
    shop = build_shop(tmp_path, "      - {type: volume, min: 0}")
    shop.sql("DELETE FROM orders")
    _insert(shop, [("ann", 100.0)] * 6 + [("bob", 481516.0)])
    return shop


def _insert(shop, rows, *, person=None):
    """Insert rows, each of a person of its own; all of one `person` where one is given."""
    row = "(SELECT count(*) FROM orders)" if person is None else person
    shop.sql(f"INSERT INTO orders VALUES ({row}, ?, ?, '2026-11-20 08:00')", rows)


def _configure(shop, check, people=PEOPLE):
    text = CONFIG.format(folder=shop.folder, checks=f"      - {{{check}}}") + people + "\n"
    shop.config.write_text(text, encoding="utf-8")


def _run(shop, store):
    project = shop.project()
    shop.clock.advance(HOUR)
    return run_checks(project, select([], project.config), store=store)


def _written(shop, report):
    """Return all that a run says and keeps."""
    lines = "\n".join(str(line) for line in pass_lines(report))
    stored = (shop.folder / "store.db").read_bytes() + (shop.folder / "store.db-wal").read_bytes()
    return json.dumps(pass_as_json(report)) + lines + stored.decode("latin-1")


@pytest.mark.parametrize("aggregate", ["sum", "mean"])
@pytest.mark.parametrize("show", ["true", "false"])
def test_a_small_segment_is_judged_and_its_value_is_nowhere(shop, aggregate, show):
    """A sum or mean of one person fails its limit; neither value nor name of the segment is in results or the store."""
    by = f"by: {{columns: [customer], show: {show}}}"
    _configure(shop, f"type: metric, aggregate: {aggregate}, column: amount, max: 1000, {by}")
    with shop.project().open_store() as store:
        report = _run(shop, store)
        (failing,) = [item for item in report.results[0].segments if item.outcome.status is Status.FAIL]
        assert failing.outcome.observed["value"] is None
        text = _written(shop, report)
        assert "481516" not in text
        assert "481,516" not in text
        assert "bob" not in text
        assert "fewer than 5 people" in str(failing.outcome.message)


def test_a_table_that_is_not_of_people_shows_all_values(shop):
    """Without a classification, a release or a privacy budget, a metric by segment shows each value."""
    _configure(shop, "type: metric, aggregate: sum, column: amount, max: 1000, by: customer", people="")
    with shop.project().open_store() as store:
        report = _run(shop, store)
        (failing,) = report.results[0].segments
        assert failing.outcome.observed["value"] == 481516


def test_a_column_classified_as_other_is_shown(shop):
    """What says nothing of people is shown of every segment."""
    people = "\n    columns: {customer: quasi-identifier, amount: other}"
    _configure(shop, "type: metric, aggregate: sum, column: amount, max: 1000, by: customer", people)
    with shop.project().open_store() as store:
        (failing,) = _run(shop, store).results[0].segments
        assert failing.outcome.observed["value"] == 481516


def test_a_value_is_shown_again_once_enough_rows_have_changed(shop):
    """Fewer than k rows more than the last shown value is of: judged, not shown, not stored; k rows more: shown."""
    _configure(shop, "type: metric, aggregate: sum, column: amount, max: 100")
    shop.sql("DELETE FROM orders WHERE customer = 'bob'")
    shown = []
    with shop.project().open_store() as store:
        for more in (0, 1, 0, 3, 1, 0, 4, 1):
            if more:
                _insert(shop, [("ann", 7.0)] * more)
            outcome = _run(shop, store).results[0].outcome
            assert outcome.status is Status.FAIL
            shown.append((outcome.observed["value"], outcome.observed["shown_of"]["rows"]))
    assert shown == [(600, 6), (None, 6), (None, 6), (None, 6), (635, 11), (635, 11), (None, 11), (670, 16)]


def test_the_difference_counts_in_segments_without_a_history_too(shop):
    """A segment that fails and is not compared with its past is still compared with the last value it showed."""
    _configure(shop, "type: metric, aggregate: sum, column: amount, max: 100, by: customer")
    with shop.project().open_store() as store:
        first = _run(shop, store).results[0].segments
        assert [item.outcome.observed["value"] for item in first] == [600, None]
        _insert(shop, [("ann", 31337.0)])
        second = _run(shop, store).results[0].segments
        assert [item.outcome.observed["value"] for item in second] == [None, None]


@pytest.mark.parametrize(
    "check",
    [
        "type: metric, aggregate: sum, column: amount, max: 1, where: \"customer = 'bob'\"",
        "type: metric, aggregate: sum, column: amount, max: 1, time_column: loaded_at, window: 9d, where: amount > 999",
        "type: metric, aggregate: mean, column: amount, max: 1, where: \"customer = 'bob'\", warn: {max: 0.5}",
        'type: metric, aggregate: share, column: customer, value: bob, max: 0, where: "amount > 1000"',
        'type: metric, aggregate: distinct, column: amount, max: 0, where: "amount > 1000"',
        "type: reconcile, aggregate: sum, column: amount, against: {table: orders, column: id}, where: amount > 1000",
    ],
)
def test_every_aggregate_of_few_rows_is_hidden(shop, check):
    """A filter or a window of fewer than k rows is judged as well, and shows no number."""
    _configure(shop, check)
    with shop.project().open_store() as store:
        report = _run(shop, store)
        (result,) = report.results
        assert result.outcome.status is Status.FAIL, str(result.outcome.message)
        assert result.outcome.observed["value"] is None
        assert result.outcome.observed["baseline"] is None
        assert "481" not in str(result.outcome.message)


def test_values_of_few_people_are_hidden_among_many_rows(shop):
    """Ten rows with a value of one row only, or all of one person, are of one person."""
    shop.sql("DELETE FROM orders")
    _insert(shop, [("ann", None)] * 9 + [("bob", 4711.0)])
    _configure(shop, "type: metric, aggregate: sum, column: amount, max: 1")
    with shop.project().open_store() as store:
        assert _run(shop, store).results[0].outcome.observed["value"] is None
        _insert(shop, [("bob", 4711.0)] * 9)
        assert _run(shop, store).results[0].outcome.observed["value"] == 47110
    release = (
        "\nreleases:\n  r: {table: orders, person_key: customer, limits: {k: 2}, "
        "columns: {customer: direct-identifier, amount: sensitive, id: quasi-identifier, loaded_at: other}}"
    )
    _configure(shop, "type: metric, aggregate: sum, column: amount, max: 1", release)
    (outcome,) = [item.outcome for item in _run(shop, None).results if item.check.type == "metric"]
    assert outcome.observed["value"] is None


@pytest.mark.parametrize(
    "check",
    [
        "type: metric, aggregate: sum, column: amount, max: 1, by: {columns: [customer], show: true}",
        "type: metric, aggregate: distinct, column: amount, max: 1, by: {columns: [customer], show: true}",
        "type: freshness, column: loaded_at, max_age: 1m, by: {columns: [customer], show: true}",
    ],
)
def test_people_are_counted_by_an_identifier_that_repeats(shop, check):
    """Six rows of one person are of one person, in a metric, a time and a segment's name; rows without one count."""
    people = PEOPLE.replace("other", "sensitive")
    _configure(shop, check, people)
    shop.sql("DELETE FROM orders")
    _insert(shop, [("cleo", 3.0 + at) for at in range(6)], person="7")
    _insert(shop, [("dora", 3.0 + at) for at in range(6)], person="NULL")
    with shop.project().open_store() as store:
        segments = {str(item.segment): item.outcome for item in _run(shop, store).results[0].segments}
    shown = [item.observed.get("value", item.observed.get("newest")) is not None for item in segments.values()]
    assert sorted(zip((title.split()[0] for title in segments), shown, strict=True)) == [
        ("customer=dora", True),
        ("segment", False),
    ]


def test_the_time_of_few_people_is_hidden(shop):
    """The newest time of a small segment is neither shown nor when it became too old."""
    people = "\n    columns: {customer: quasi-identifier, loaded_at: sensitive}"
    _configure(shop, "type: freshness, column: loaded_at, max_age: 1m, by: customer", people)
    with shop.project().open_store() as store:
        large, small = _run(shop, store).results[0].segments
    assert large.outcome.observed["newest"] is not None
    assert small.outcome.observed["newest"] is None
    assert small.outcome.observed["age_s"] is None
    assert small.outcome.occurrence is None


def test_the_strictest_release_decides(shop):
    """The largest k of all releases of a table counts, under each of its names; a column is `other` if all say so."""
    text = """
    columns: {amount: sensitive}
  - {name: twice, source: shop, table: orders}
releases:
  a: {table: orders, limits: {k: 7}, columns: {customer: quasi-identifier, amount: other, id: other}}
  b: {table: orders, limits: {k: 3}, columns: {customer: quasi-identifier, amount: other, id: other}}
"""
    _configure(shop, "type: metric, aggregate: sum, column: amount, max: 1000", text)
    people = people_tables(shop.project().config)
    assert people["orders"] == people["twice"]
    assert people["orders"].k == 7
    assert people["orders"].columns["amount"] is ColumnClass.SENSITIVE
    assert not people["orders"].protects("id")
    assert people["orders"].protects("loaded_at")


def test_config_check_says_which_checks_hide_values(shop):
    """A table of people is named with its k and the checks that may hide a value; other tables are not."""
    _configure(shop, "type: metric, aggregate: sum, column: amount, max: 1000, by: customer")
    (note,) = withheld_values(shop.project().loaded)
    assert note.code == "config.few_people"
    assert "fewer than 5 rows" in note.message
    assert "checks: metric" in note.message
    _configure(shop, "type: metric, aggregate: sum, column: amount, max: 1000, by: customer", people="")
    assert not list(withheld_values(shop.project().loaded))
