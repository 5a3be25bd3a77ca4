"""`tablewatch audit` scores what was printed by what the store has; the page, the report and Python have the same."""

from datetime import timedelta
from pathlib import Path

import pytest

import tablewatch
from checks import Kind, Message, OccurrenceMethod, Severity, Status
from incidents import Episode, FoundBy, Onset, Opened, Resolution, Resolved, RootNamed
from store import Delivery, History, MessageSubject, Result, Run, open_store
from tests.monitor.commands.terminal import NOW, Terminal, open_terminal

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
LEARNED = "{id: today, type: volume, limits: {learned: {false_alarms: 1 per 10d}}}"
SAMPLED = "{id: some, type: not_null, columns: [customer], max_ratio: 0.9, sample: {share: 0.5, confidence: 0.9}}"
OLD = "      - {type: not_null, columns: [customer]}\n"


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """Return a terminal in a folder with a small shop, of which a learned and a sampled check are configured."""
    monkeypatch.chdir(tmp_path)
    opened = open_terminal(tmp_path, capsys)
    opened.configure(**{OLD: f"{OLD}      - {LEARNED}\n      - {SAMPLED}\n"})
    text = (tmp_path / "tablewatch.yaml").read_text(encoding="utf-8")
    slo = "slo: {orders: {downtime: 3h per 30d}}\n"
    (tmp_path / "tablewatch.yaml").write_text(text + slo, encoding="utf-8")
    opened("check")
    return opened


def _opened(check: str, *, at=NOW - DAY, earliest=2 * HOUR, table: str = "orders") -> Opened:
    onset = Onset(at - earliest, at - earliest, at, OccurrenceMethod.LAST_GOOD_RUN)
    name = f"{table}.{check}"
    return Opened(name, table, name, Kind.QUALITY, Severity.ERROR, "t", {}, FoundBy.CHECK, Episode(onset, at))


def _store(terminal: Terminal):
    return open_store(f"sqlite:///{terminal.folder}/store.db")


def _add(terminal: Terminal, *histories: tuple, actor: str = "mia") -> None:
    with _store(terminal) as store, store.writing() as tx:
        tx.incidents.add_histories([History(list(changes), NOW - HOUR, actor) for changes in histories])


def _line(terminal: Terminal, kind: str) -> dict:
    return {line["kind"]: line for line in terminal.json("audit")["scored"]}[kind]


def _observe(terminal: Terminal, check: str, observed: dict, *ages: timedelta) -> None:
    """Store results of a check of orders; those of one age are of one run."""
    with _store(terminal) as store, store.writing() as tx:
        for age in ages:
            at = NOW - age
            name = f"{check}-{age // timedelta(minutes=1)}"
            result = Result(name, f"orders.{check}", "orders", at, Status.PASS, None, observed, Message("x"), 0.1)
            tx.results.add_runs([Run(name, "orders", at, at)], [result])


def test_nothing_observed_is_not_known(terminal: Terminal) -> None:
    """A promise without a trial is never kept, and what cannot be scored says why."""
    report = terminal.json("audit")
    assert {line["verdict"] for line in report["scored"]} == {"unknown", None}
    assert {line["made"] for line in report["scored"]} == {0}
    said = " ".join(terminal("audit").out.split())
    assert "There are none." in said
    assert "The true value is never read, since that would be an answer without noise." in said


def test_false_alarms_are_scored_beside_the_printed_chances(terminal: Terminal) -> None:
    """Runs with a learned limit are trials, but for those within an alarm; answers decide, and silence does not."""
    chances = {"learned": {"low": 1, "high": 3, "usual": 2, "loss": 1, "excess": 1, "chance": 0.1}}
    _observe(terminal, "today", chances, *(number * DAY for number in range(1, 41)))
    _observe(terminal, "today", {"rows": 2}, 50 * DAY)
    false = Resolved(NOW - 19 * DAY, Resolution.FALSE_POSITIVE)
    real = Resolved(NOW - 30 * DAY + HOUR, Resolution.FIXED)
    _add(terminal, (_opened("today", at=NOW - 20 * DAY), false), (_opened("today", at=NOW - 30 * DAY), real))
    line = _line(terminal, "false-alarms")
    assert (line["made"], line["true"], line["undecided"], line["promised"]) == (39, 1, 0, pytest.approx(0.1))
    assert (line["bound"], line["verdict"]) == ("at-most", "kept")
    silent = Resolved(NOW - 10 * DAY + HOUR, Resolution.FIXED)
    _add(terminal, (_opened("today", at=NOW - 10 * DAY), silent), actor="tablewatch")
    line = _line(terminal, "false-alarms")
    assert (line["true"], line["undecided"], line["rate"]) == (1, 1, None)


def test_more_false_alarms_than_promised_break_the_promise(terminal: Terminal) -> None:
    """Where the interval lies above it, with the unanswered ones as real."""
    chances = {"learned": {"low": 1, "high": 3, "usual": 2, "loss": 1, "excess": 1, "chance": 0.01}}
    ages = [number * DAY for number in range(1, 21)]
    _observe(terminal, "today", chances, *ages)
    for age in ages[:6]:
        over = Resolved(NOW - age + HOUR, Resolution.FALSE_POSITIVE)
        _add(terminal, (_opened("today", at=NOW - age), over))
    assert _line(terminal, "false-alarms")["verdict"] == "broken"


def test_a_corrected_start_is_compared_with_the_first_estimate(terminal: Terminal) -> None:
    """In the command, for JSON with the widths of intervals, and in the quarterly report alone."""
    for number in (1, 2):
        _add(terminal, (_opened("primary-key", at=NOW - number * 8 * DAY), Resolved(NOW - HOUR, Resolution.FIXED)))
        at = NOW - number * 8 * DAY - number * 90 * timedelta(minutes=1)
        terminal("incident", "correct", str(number), "--occurred", at.isoformat(), "--by", "mia")
    line = _line(terminal, "start")
    assert (line["made"], line["true"], line["verdict"]) == (2, 1, "broken")
    assert (line["width_h_median"], line["width_h_max"]) == (2.0, 2.0)
    assert _line(terminal, "downtime-range")["made"] == 2
    report = terminal.json("report", "--period", "2026-Q4")
    assert {each["kind"]: each["made"] for each in report["audit"]["scored"]}["start"] == 2
    text = terminal("report", "--period", "2026-Q4", "--format", "markdown").out
    assert "## Audit of statements" in text
    assert "| always | 1 of 2 |" in text
    assert terminal.json("report", "--period", "2026-W47")["audit"] is None
    assert terminal.json("report", "--period", "2026-Q4", "--owner", "desk")["audit"] is None
    (start,) = [each for each in tablewatch.load(terminal.folder).audit()["scored"] if each["kind"] == "start"]
    assert start == line


def test_a_sample_is_compared_with_the_same_check_of_all_rows(terminal: Terminal) -> None:
    """In the same run only; another column, or a run without the other check, is no trial."""
    estimates = {"customer": {"counted": 1, "estimate": 0.2, "low": 0.1, "high": 0.3}}
    sampled = {"sample": {"confidence": 0.9, "rows": 5, "estimates": estimates}}
    _observe(terminal, "some", sampled, DAY, 2 * DAY, 3 * DAY)
    _observe(terminal, "not-null", {"rows": 10, "nulls": {"customer": 2}}, DAY)
    _observe(terminal, "not-null", {"rows": 10, "nulls": {"customer": 4}}, 2 * DAY)
    line = _line(terminal, "sample")
    assert (line["made"], line["true"], line["promised"], line["groups"]) == (2, 1, pytest.approx(0.9), 1)


def test_the_first_cause_is_compared_with_the_named_root(terminal: Terminal) -> None:
    """An incident upstream that began shortly before is ranked first; another root is a miss. No rate is promised."""
    _add(terminal, (_opened("primary-key", at=NOW - 3 * HOUR, earliest=HOUR),))
    refund = _opened("not-null", at=NOW - 2 * HOUR, table="refunds")
    _add(terminal, (refund, RootNamed(1)))
    line = _line(terminal, "first-cause")
    assert (line["made"], line["true"], line["bound"], line["verdict"]) == (1, 1, None, None)


def test_a_notice_is_true_once_the_budget_is_overspent(terminal: Terminal) -> None:
    """One notice for several channels; while its period lasts and the budget holds, it is not decided."""
    with _store(terminal) as store, store.writing() as tx:
        for age in (40 * DAY, 2 * DAY):
            for channel in ("mail", "chat"):
                payload = {"operation": "budget-burning", "name": "slo:orders"}
                at, name = NOW - age, f"msg-{channel}-{age.days}"
                message = Delivery(name, channel, MessageSubject.OPERATIONS, payload, created_at=at, next_try_at=at)
                tx.deliveries.add([message])
    line = _line(terminal, "burn-rate")
    assert (line["made"], line["true"], line["undecided"]) == (2, 0, 1)
    _add(terminal, (_opened("primary-key", earliest=5 * HOUR), Resolved(NOW - 23 * HOUR, Resolution.FIXED)))
    line = _line(terminal, "burn-rate")
    assert (line["made"], line["true"], line["undecided"]) == (2, 1, 0)


def test_a_window_has_its_incidents_only(terminal: Terminal) -> None:
    """By the time of detection."""
    _add(terminal, (_opened("primary-key", at=NOW - 20 * DAY), Resolved(NOW - HOUR, Resolution.FIXED)))
    terminal("incident", "correct", "1", "--occurred", (NOW - 20 * DAY - HOUR).isoformat(), "--by", "mia")
    assert _line(terminal, "start")["made"] == 1
    (start,) = [line for line in terminal.json("audit", "--from", "7d")["scored"] if line["kind"] == "start"]
    assert start["made"] == 0
