"""A report is read by programs, people and notebooks."""

import dataclasses
import json
import pickle
import re
from collections import Counter
from html.parser import HTMLParser

import pandas as pd
import pyarrow as pa
import pytest

import tablewatch as tw
from tablewatch._report import _COLOURS
from tests.monitor.commands.terminal import Terminal

_FRAME = pd.DataFrame({"id": [1, 2, 2], "<b>&": [1, None, 2]})
_CHECKS = [
    {"type": "unique", "columns": ["id"], "why": "Billed <i>twice</i>."},
    {"type": "not_null", "columns": ["<b>&"], "max_ratio": 0.5, "warn": {"max_ratio": 0}},
    {"type": "not_null", "id": "fine", "columns": ["id"]},
    {"type": "not_null", "id": "missing", "columns": ["<script>\x1b"]},
]


@pytest.fixture(scope="module")
def report() -> tw.Report:
    """Return a report with a result of each status."""
    return tw.check(_FRAME, _CHECKS)


def test_results_are_grouped_by_status(report: tw.Report) -> None:
    """Each is in one group or passed."""
    groups = (report.failed, report.warned, report.unknown)
    assert [[result.check_id for result in group] for group in groups] == [
        ["data.unique"], ["data.not-null"], ["data.missing"],
    ]  # fmt: skip
    assert Counter(result.status for result in report.results) == Counter(["pass", "warn", "fail", "unknown"])


def test_a_report_is_true_if_everything_is_ok(report: tw.Report) -> None:
    """So `assert tw.check(...)` is a check that can fail; unknown is not ok, a warning is."""
    assert not report
    assert not report.ok
    assert not tw.check(_FRAME, _CHECKS[3:])
    assert tw.check(_FRAME, _CHECKS[1:3])


def test_failures_raise(report: tw.Report) -> None:
    """With what failed and why, and with the report."""
    with pytest.raises(tw.ChecksFailed, match=r"^1 failed, 1 could not be evaluated\nFAIL ") as caught:
        report.raise_for_failures()
    assert caught.value.report is report
    assert "data.fine" not in str(caught.value)
    tw.check(_FRAME, _CHECKS[1:3]).raise_for_failures()


def test_a_report_cannot_be_changed(report: tw.Report) -> None:
    """It is what was measured."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.results = ()  # type: ignore[misc] - this is what is tried
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.results[0].status = "pass"  # type: ignore[misc] - this is what is tried


def test_the_document_is_the_published_shape(report: tw.Report, terminal: Terminal) -> None:
    """It has the keys of `tablewatch check --format json`, and is JSON."""
    published = terminal.json("check")
    document = report.to_dict()
    assert json.loads(json.dumps(document))["schema"] == published["schema"] == "tablewatch.check/1"
    assert set(document) == set(published)
    assert set(document["results"][0]) == set(published["results"][0])
    keys = [*published["results"][0], "segments"]  # only of a check with `by`
    assert [field.name for field in dataclasses.fields(tw.ReportedCheck) if field.compare] == keys


def test_segments_are_in_the_report_of_their_check() -> None:
    """A check with `by` reports each segment that it follows, under its name where that may be shown."""
    by = {"columns": "city", "show": True}
    frame = pd.DataFrame({"city": ["Kobe", "Kobe", "Nara"], "x": [1, None, 2]})
    (result,) = tw.check(frame, [{"type": "not_null", "columns": ["x"], "by": by}]).results
    assert result.observed["segments"] == 2
    assert [part["message"] for part in result.segments] == ["city=Kobe: x: 1 of 2 rows are NULL (50%)"]


def test_the_text_is_that_of_the_terminal(report: tw.Report) -> None:
    """A line for each check, control characters as escapes, the tally last."""
    lines = str(report).splitlines()
    assert lines[0].startswith("FAIL    data.unique")
    assert lines[-1].startswith("PASS 1  WARN 1  FAIL 1  UNKNOWN 1  of 4 in ")
    assert "\x1b" not in str(report)
    assert r"\x1b" in str(report)
    assert "data.fine" not in report.text(only_failed=True)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)


def test_a_notebook_shows_the_results(report: tw.Report) -> None:
    """Escaped, small, without scripts, classes or anything that is fetched, whatever names there are."""
    html = report._repr_html_()
    parser = _Tags()
    parser.feed(html)
    assert parser.tags == {"div", "p", "strong", "table", "tr", "td", "span", "code"}
    assert parser.attributes == {"style"}
    assert "column &#39;&lt;script&gt;\\x1b&#39; not found" in html
    assert "1 fail, 1 unknown, 1 warn, 1 pass of 4" in html
    assert "url(" not in html
    assert len(html) < 1200 + 600 * len(report.results)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_it_can_be_read_in_light_and_dark(report: tw.Report) -> None:
    """Text has the notebook's own colour; only the words of the status have a background, with enough contrast."""
    html = report._repr_html_()
    coloured = set(re.findall(r"(?<![-\w])(?:background|color):(#\w+)", html))
    assert coloured == {"#fff", *(_COLOURS[status] for status in ("pass", "warn", "fail", "unknown"))}
    for colour in _COLOURS.values():
        assert 1.05 / (_luminance(colour) + 0.05) >= 5


def test_reports_and_errors_can_be_sent_to_another_process(report: tw.Report) -> None:
    """With public names, and all that they hold."""
    with pytest.raises(tw.InvalidInput) as invalid:
        tw.check(_FRAME, [])
    with pytest.raises(tw.ChecksFailed) as failed:
        report.raise_for_failures()
    for value in (invalid.value, failed.value, report):
        copy = pickle.loads(pickle.dumps(value))  # noqa: S301 - our own values
        assert (type(copy), str(copy), type(copy).__module__) == (type(value), str(value), "tablewatch")
    assert pickle.loads(pickle.dumps(report)) == report  # noqa: S301 - as above


def test_the_rows_that_break_a_check_are_read_when_asked() -> None:
    """At most so many, from the table as it is; where there are none to list, the reason is reported."""
    table = pa.table({"a": [1, None, None]})
    checks = [tw.checks.not_null(columns=["a"]), tw.checks.volume(min=9)]
    report = tw.check(table, checks)
    missing, few = report.failed
    assert missing.rows(1) == [{"a": None}]
    assert len(missing.rows()) == 2
    with pytest.raises(tw.NotAvailable, match="as a whole"):
        few.rows()
    stream = tw.check(pa.RecordBatchReader.from_batches(table.schema, table.to_batches()), checks)
    with pytest.raises(tw.NotAvailable, match="read once"):
        stream.failed[0].rows()
    copied = pickle.loads(pickle.dumps(report))  # noqa: S301 - made a moment ago
    assert copied == report
    with pytest.raises(tw.NotAvailable, match="another process"):
        copied.failed[0].rows()
