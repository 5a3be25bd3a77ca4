"""Sentences with two figures: each figure carries its own label and its own change, in both languages.

Every text of the report, of mails and of alerts that holds two figures or more stands in `SENTENCES` with two sets of
values that move in opposite directions, and what must be read in each language. A new text without an entry fails.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from string import Formatter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Message
from monitor.reporting.figures import ComparedFigure
from monitor.reporting.headline import period_headline
from monitor.terminal.localizer import Localizer, Money
from tests.monitor.reporting.sample import figures
from tests.templates.message_ids import texts_of_code, texts_of_templates

VOICES = {language: Localizer(language, "Asia/Tokyo") for language in ("en", "ja")}
FIGURES = {"count", "number", "ratio", "hours", "money", "duration", "tenths"}
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Said:
    """What must be read of a text: parts of the sentence in which each figure stands with its own words."""

    en: tuple[str, ...]
    ja: tuple[str, ...]


def yen(amount: int) -> Money:
    """Return an amount in yen."""
    return Money(Decimal(amount), "JPY")


UP_DOWN: dict[str, Any] = {
    "downtime": 90 * MINUTE,
    "n": 7,
    "all": 12,
    "found": 3,
    "over": 2,
    "opened": 6,
    "lasting": 11,
    "cost": yen(5_000),
    "rate": yen(80),
    "name": "board",
    "spent": 15 * MINUTE,
    "allowed": 120 * MINUTE,
    "per": timedelta(days=3),
    "verdict": Message("kept"),
    "kept": 4,
    "pending": 8,
    "unknown": 9,
    "broken": 13,
    "perhaps": 5,
    "burn": 1.5,
    "limit": 1.25,
    "now": 0.5,
    "long": timedelta(days=3),
    "short": timedelta(hours=6),
    "observed": 5 * MINUTE,
    "alarms": 15,
    "least": Fraction(1, 10),
    "most": Fraction(2, 5),
    "low": 20 * MINUTE,
    "high": 50 * MINUTE,
    "tables": 4,
    "checks": 9,
    "results": 60,
    "share": Fraction(1, 4),
    "part": Fraction(3, 5),
    "ran": 14,
    "hours": 40 * MINUTE,
    "undetected": 10 * MINUTE,
    "time": 30 * MINUTE,
    "whole": 30 * MINUTE,
    "ttd": 10 * MINUTE,
    "ttr": 20 * MINUTE,
    "day": date(2026, 11, 11),
    "since": date(2026, 11, 12),
    "resolution": Message("expected"),
    "weight": Message("the cost"),
    "severity": Message("error"),
    "place": "orders",
    "table": "orders",
    "check": "orders.id",
    "id": 8,
    "this": Message("this week"),
    "period": "2026-W46",
    "change": Message("{part:ratio} less than {last}", {"part": Fraction(1, 5), "last": Message("last week")}),
    "n_change": Message("{n:count} more", {"n": 2}),
    "cost_change": Message("{times:number} times as much", {"times": 3.6}),
}
RATIOS = {"low": Fraction(1, 5), "high": Fraction(9, 10)}
"""The values of places that hold a length in one text and a share in another."""

SENTENCES: dict[str, Said] = {
    "{n:count} of {all:count}": Said(("7 of 12",), ("12件中7件",)),
    "Digest: {opened:count} opened, {lasting:count} still open, {over:count} resolved": Said(
        ("6 opened", "11 still open", "2 resolved"), ("発生6件", "未解決11件", "解決2件")
    ),
    "{downtime:hours} of data downtime in {n:count} incidents": Said(
        ("1 h 30 min of data downtime", "in 7 incidents"), ("データダウンタイム1時間30分", "インシデント7件")
    ),
    "{downtime:hours} of data downtime in {n:count} incidents at a cost of {cost:money}": Said(
        ("1 h 30 min of data downtime", "in 7 incidents", "a cost of ¥5,000"),
        ("データダウンタイム1時間30分", "インシデント7件", "コスト￥5,000"),
    ),
    "{downtime:hours} of data downtime ({change}) in {n:count} incidents ({n_change}).": Said(
        ("1 h 30 min of data downtime (20% less than last week)", "7 incidents (2 more)"),
        ("データダウンタイム1時間30分\uff08先週より20%減\uff09", "インシデント7件\uff082件増\uff09"),
    ),
    "{downtime:hours} of data downtime ({change}) in {n:count} incidents ({n_change}), "
    "at a cost of {cost:money} ({cost_change}).": Said(
        (
            "1 h 30 min of data downtime (20% less than last week)",
            "7 incidents (2 more)",
            "a cost of ¥5,000 (3.6 times as much)",
        ),
        (
            "データダウンタイム1時間30分\uff08先週より20%減\uff09",
            "インシデント7件\uff082件増\uff09",
            "コスト￥5,000\uff083.6倍\uff09",
        ),
    ),
    "Between {low:hours} and {high:hours}: the exact start of the data problem is unknown.": Said(
        ("Between 20 min", "and 50 min"), ("20分から", "から50分")
    ),
    "Tables: {tables:count}, checks: {checks:count}. No check has run yet.": Said(
        ("Tables: 4", "checks: 9"), ("4", "9")
    ),
    "Tables: {tables:count}, checks: {checks:count}. The first check ran on {since:full_date}, after {this}.": Said(
        ("Tables: 4", "checks: 9"), ("4", "9")
    ),
    "Tables: {tables:count}, checks: {checks:count}. The number of runs is past the retention period.": Said(
        ("Tables: 4", "checks: 9"), ("4", "9")
    ),
    "Tables: {tables:count}, checks: {checks:count}. No check ran {this}.": Said(
        ("Tables: 4", "checks: 9"), ("4", "9")
    ),
    "Tables: {tables:count}, checks: {checks:count}, results: {results:count}, of which {share:ratio} could be "
    "evaluated.": Said(("Tables: 4", "checks: 9", "results: 60", "of which 25% could be evaluated"), ("4", "9", "60")),
    "Tables: {tables:count}, checks: {checks:count}, results: {results:count}. Every check that ran could be "
    "evaluated, but {hours:hours} were not monitored.": Said(
        ("Tables: 4", "checks: 9", "results: 60", "40 min were not monitored"), ("4", "9", "60", "40分")
    ),
    "Tables: {tables:count}, checks: {checks:count}, results: {results:count}. Every check could be evaluated.": Said(
        ("Tables: 4", "checks: 9", "results: 60"), ("4", "9", "60")
    ),
    "{found:count} of {n:count} incidents were reported by people: no check covers them yet.": Said(
        ("3 of 7 incidents were reported by people",), ("インシデント7件のうち3件は手動で報告",)
    ),
    "Not counted: {n:count} incidents resolved as {resolution}, {hours:hours}.": Said(
        ("7 incidents resolved as expected, 40 min",), ("7件", "40分")
    ),
    "{day:day}: {hours:hours}, of which {undetected:hours} before detection": Said(
        ("Wed, Nov 11: 40 min", "of which 10 min before detection"), ("40分", "検知前10分")
    ),
    "{time:hours}, {cost:money}": Said(("30 min, ¥5,000",), ("30分", "￥5,000")),
    "[{severity}] {place}: {n:count} incidents, {over:count} of them resolved": Said(
        ("7 incidents", "2 of them resolved"), ("7件", "2件")
    ),
    "{whole:hours}: time to detection (TTD) {ttd:hours}, time to resolution (TTR) {ttr:hours}": Said(
        ("30 min: ", "time to detection (TTD) 10 min", "time to resolution (TTR) 20 min"),
        ("30分", "検知までの時間 TTD 10分", "解決までの時間 TTR 20分"),
    ),
    "{cost:money}; {rate:money} an hour": Said(("¥5,000; ", "¥80 an hour"), ("￥5,000", "1時間あたり ￥80")),
    "Run {check} more often or tighten its limit: incident {id} accounts for {share:ratio} of {weight}, and "
    "{part:ratio} of its duration passed before detection.": Said(
        ("incident 8 accounts for 25% of the cost", "60% of its duration passed"), ("コストの25%", "その60%")
    ),
    "Reduce time to resolution on {table}: incident {id} accounts for {share:ratio} of {weight}, and {part:ratio} of "
    "its duration came after detection.": Said(
        ("incident 8 accounts for 25% of the cost", "60% of its duration came after"),
        ("コストの25%", "その60%は検知後"),
    ),
    "Add checks on {table}: it accounts for {share:ratio} of {weight}, and {found:count} of its {n:count} incidents "
    "were reported by people.": Said(
        ("it accounts for 25% of the cost", "3 of its 7 incidents were reported"),
        ("コストの25%", "インシデント7件のうち3件は手動の報告"),
    ),
    "Check {table} more often or with tighter limits: it accounts for {share:ratio} of {weight}, and {part:ratio} of "
    "its downtime passed before detection.": Said(
        ("it accounts for 25% of the cost", "60% of its downtime passed"),
        ("コストの25%", "そのダウンタイムの60%は検知前"),
    ),
    "Reduce time to resolution on {table}: it accounts for {share:ratio} of {weight}, and {part:ratio} of its "
    "downtime came after detection.": Said(
        ("it accounts for 25% of the cost", "60% of its downtime came after"),
        ("コストの25%", "そのダウンタイムの60%は検知後"),
    ),
    "Whether detection or resolution took longer there depends on the actual start of the problem, which is unknown: "
    "between {low:ratio} and {high:ratio} of its duration passed before detection.": Said(
        ("between 20% and 90% of its duration",), ("20%から90%",)
    ),
    "Error budget of {name}: {spent:hours} of {allowed:hours} of downtime spent in {per:duration} (at least "
    "{low:hours}, at most {high:hours}): {verdict}.": Said(
        ("15 min of 2 h of downtime spent in 3 d (at least 20 min, at most 50 min)",),
        ("ダウンタイム2時間のうち15分を消費", "20分以上、50分以下"),
    ),
    "{burn:number} in the last {long:duration} and {now:number} in the last {short:duration}; alerts above "
    "{limit:number}": Said(
        ("1.5 in the last 3 d and 0.5 in the last 6 h; alerts above 1.25",),
        ("直近3日で1.5、直近6時間で0.5", "1.25を超えると通知"),
    ),
    "{spent:hours} of {allowed:hours} of downtime spent in {per:duration}": Said(
        ("15 min of 2 h of downtime spent in 3 d",), ("3日あたりのダウンタイム2時間のうち15分を消費",)
    ),
    "Service levels of {n:count} tables: {kept:count} kept, {pending:count} may still be kept, {unknown:count} not "
    "known, {broken:count} broken.": Said(
        ("levels of 7 tables", "4 kept, 8 may still be kept, 9 not known, 13 broken"),
        ("テーブル7件", "達成4件、判定待ち8件、不明9件、未達13件"),
    ),
    "{kept:count} of {n:count} in time": Said(("4 of 7 in time",), ("7件中4件が期限内",)),
    "{kept:count} to {perhaps:count} of {n:count} in time": Said(("4 to 5 of 7 in time",), ("4件から5件が期限内",)),
    "{period}: {hours:hours} in {n:count} incidents": Said(
        ("2026-W46: 40 min in 7 incidents",), ("2026-W46 40分", "インシデント7件")
    ),
    "Burn rate {burn:number} in the last {long:duration}, {now:number} in the last {short:duration}; above 1 the "
    "budget does not last.": Said(
        ("Burn rate 1.5 in the last 3 d, 0.5 in the last 6 h",), ("直近3日で1.5、直近6時間で0.5",)
    ),
    "burn rate {burn:number} in {long:duration}": Said(("burn rate 1.5 in 3 d",), ("バーンレート1.5", "直近3日")),
    "{n:count} of {ran:count} checks have no current result.": Said(
        ("7 of 14 checks have no current result",), ("14 件中 7 件のチェック",)
    ),
    "All checks saw {observed:duration} of {whole:duration}.": Said(
        ("saw 5 min of 30 min",), ("30分のうち", "確認できたのは5分です")
    ),
    "People answered {n:count} of {alarms:count} alerts; {share:ratio} of these were not false (95 % interval "
    "{low:ratio} to {high:ratio}). Of all alerts, between {least:ratio} and {most:ratio} were not false.": Said(
        ("7 of 15 alerts; 25% of these were not false", "interval 20% to 90%", "between 10% and 40% were not false"),
        ("15件のアラートのうち7件に回答", "25%は誤検知ではありません", "信頼区間 20%", "割合は10%"),
    ),
}


def _figures(text: str) -> list[tuple[str, str]]:
    return [(name, kind or "") for _, name, kind, _ in Formatter().parse(text) if name and kind in FIGURES]


def test_every_text_with_two_figures_is_listed() -> None:
    """A text of the report, of mails or of alerts that holds two figures has its own line in this file."""
    texts = texts_of_templates() + texts_of_code("monitor/reporting", "monitor/alerts")
    several = {text.text for text in texts if len(_figures(text.text)) > 1 and not text.place.startswith(RELEASES)}
    assert several == set(SENTENCES)


RELEASES = (
    "templates/release",
    "monitor/reporting/release",
    "monitor/reporting/risk_plot",
)
"""Pages about releases: they compare nothing with an earlier time."""


@pytest.mark.parametrize("text", list(SENTENCES))
@pytest.mark.parametrize("language", list(VOICES))
def test_each_figure_stands_with_its_own_words(text: str, language: str) -> None:
    """Each figure stands beside what it measures and its own change, also where the others move the other way."""
    values = UP_DOWN | (RATIOS if "{low:ratio}" in text else {})
    said = Message(text, values).render(VOICES[language]).replace("\N{NO-BREAK SPACE}", " ")
    for part in getattr(SENTENCES[text], language):
        assert part in said
    for name, kind in _figures(text):  # no figure is lost, and none is said twice
        shown = VOICES[language].format(values[name], kind).replace("\N{NO-BREAK SPACE}", " ")
        assert shown in said


CHANGES = st.sampled_from([Fraction(1, 10), Fraction(3, 4), Fraction(1), Fraction(6, 5), Fraction(36, 10)])


@given(hours=CHANGES, cost=CHANGES, more=st.sampled_from([-2, 0, 3]))
@pytest.mark.parametrize("language", list(VOICES))
def test_the_headline_states_each_change_beside_its_figure(
    language: str, hours: Fraction, cost: Fraction, more: int
) -> None:
    """Whatever moves in which direction: the change in brackets after a figure is that figure's."""
    before = figures(5, 600, 0, 100_000)
    week = figures(5 + more, int(600 * hours), 0, int(100_000 * cost))
    localizer = VOICES[language]
    said = period_headline(ComparedFigure(week, before, None), currency="JPY", complete=True).render(localizer)
    said = said.replace("\uff08", "(").replace("\uff09", ")").replace("\N{NO-BREAK SPACE}", " ")
    downtime = localizer.format(timedelta(minutes=int(600 * hours)), "hours").replace("\N{NO-BREAK SPACE}", " ")
    changes = [part.partition(")")[0] for part in said.split("(")[1:]]
    assert len(changes) == 3
    assert said.index(downtime) < said.index(changes[0])
    assert [_direction(change) for change in changes] == [_sign(hours - 1), _sign(Fraction(more)), _sign(cost - 1)]


def _sign(change: Fraction) -> int:
    return (change > 0) - (change < 0)


def _direction(change: str) -> int:
    """Read from the words of a change whether it went up (1), down (-1) or stayed (0)."""
    up = ("more", "times", "増", "倍")
    down = ("less", "fewer", "減")
    return int(any(word in change for word in up)) - int(any(word in change for word in down))
