"""The reports of a daemon: made when they are due, kept, and handed to each channel exactly once."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from monitor.clock import SimulatedClock
from monitor.config.selector import select
from monitor.daemon import periodic_report as reporting
from monitor.daemon.periodic_report import report_if_due
from monitor.reporting.period import PERIODS, Month, Period, Quarter, Week
from monitor.scan.run import run_checks
from store import DeliveryState
from tests.monitor.shop import Shop, build_shop

_MONDAY = datetime(2026, 11, 22, 23, 0, tzinfo=UTC)  # 08:00 in Tokyo
_DUE = {
    Week: (_MONDAY, "2026-W47"),
    Month: (datetime(2026, 11, 30, 23, 0, tzinfo=UTC), "2026-11"),
    Quarter: (datetime(2026, 12, 31, 23, 0, tzinfo=UTC), "2026-Q4"),
}
_MORE = """
alerts: {channels: {hook: {webhook: {url: "http://127.0.0.1:9/"}}, mail: {apprise: "json://127.0.0.1:9/", locale: ja}}}
report:
  weekly: {to: [hook, mail], keep: reports, locales: [en, ja]}
  monthly: {to: [hook, mail], keep: reports, locales: [en, ja]}
  quarterly: {to: [hook, mail], keep: reports, locales: [en, ja]}
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """Return a shop that was looked at in week 47, with a report that is due on Mondays at eight."""
    monkeypatch.chdir(tmp_path)
    shop = build_shop(tmp_path)
    shop.config.write_text(shop.config.read_text() + _MORE, encoding="utf-8")
    return shop


@pytest.fixture(params=PERIODS, ids=lambda kind: kind.frequency)
def kind(request: pytest.FixtureRequest) -> type[Period]:
    """Return what the report is of."""
    return request.param


def _deliveries(store):
    with store.reading() as tx:
        return tx.deliveries.since(_MONDAY - timedelta(days=30), 100)


def test_a_report_is_kept_and_told_once(shop, kind):
    """Asked every half minute, it is made once: two pages for its readers only, one message per channel."""
    due, name = _DUE[kind]
    with shop.project().open_store() as store:
        run_checks(shop.project(), select([], shop.project().config), store=store)
        report_if_due(shop.project(), store, due - timedelta(minutes=1), kind)
        assert _deliveries(store) == []
        for seconds in (0, 30, 3600):
            report_if_due(shop.project(), store, due + timedelta(seconds=seconds), kind)
        deliveries = _deliveries(store)
    assert sorted(delivery.channel for delivery in deliveries) == ["hook", "mail"]
    assert {delivery.state for delivery in deliveries} == {DeliveryState.WAITING}
    kept = sorted((shop.folder / "reports").iterdir())
    assert [path.name for path in kept] == [f"tablewatch-{name}-en.html", f"tablewatch-{name}-ja.html"]
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}
    assert (shop.folder / "reports").stat().st_mode & 0o777 == 0o700
    assert 'lang="ja"' in kept[1].read_text(encoding="utf-8")
    mail = next(delivery for delivery in deliveries if delivery.channel == "mail").payload
    assert mail["attachments"][0]["name"] == f"tablewatch-{name}-ja.html"
    assert json.dumps(dict(next(delivery for delivery in deliveries if delivery.channel == "hook").payload))


def test_a_crash_between_keeping_and_telling_repeats_nothing(shop, kind, monkeypatch):
    """What was done is seen; what was not is done, under the id that it would have had."""
    due, name = _DUE[kind]
    with shop.project().open_store() as store:
        run_checks(shop.project(), select([], shop.project().config), store=store)
        with monkeypatch.context() as broken:
            broken.setattr(reporting, "_delivery", lambda *_: pytest.fail("crashed"))
            with pytest.raises(pytest.fail.Exception):
                report_if_due(shop.project(), store, due, kind)
        report_if_due(shop.project(), store, due, kind)
        first = {delivery.id for delivery in _deliveries(store)}
        (shop.folder / "reports" / f"tablewatch-{name}-en.html").unlink()
        report_if_due(shop.project(), store, due, kind)
        assert {delivery.id for delivery in _deliveries(store)} == first
    assert len(list((shop.folder / "reports").iterdir())) == 2


def test_a_report_that_is_too_late_or_of_a_period_that_nobody_watched_is_left_out(shop, kind):
    """A daemon that is started days later, or for the first time, does not report the past."""
    due, _ = _DUE[kind]
    with shop.project().open_store() as store:
        report_if_due(shop.project(), store, due, kind)
        run_checks(shop.project(), select([], shop.project().config), store=store)
        report_if_due(shop.project(), store, due + kind.latest, kind)
        assert _deliveries(store) == []
        report_if_due(shop.project(), store, due + kind.latest - timedelta(seconds=1), kind)
        assert len(_deliveries(store)) == 2


def test_a_report_is_not_made_up_for_longer_than_its_messages_are_remembered(shop):
    """Where deliveries are forgotten after five days, a quarter's report of the sixth day would be sent again."""
    text = shop.config.read_text().replace("storage: {url:", "storage: {keep_measurements: 5d, url:")
    shop.config.write_text(text, encoding="utf-8")
    due, _ = _DUE[Quarter]
    with shop.project().open_store() as store:
        run_checks(shop.project(), select([], shop.project().config), store=store)
        report_if_due(shop.project(), store, due + timedelta(days=5), Quarter)
        assert _deliveries(store) == []
        report_if_due(shop.project(), store, due + timedelta(days=5, seconds=-1), Quarter)
        assert len(_deliveries(store)) == 2


def test_without_readers_and_folder_no_report_is_made(shop):
    """The default configuration makes none."""
    shop.config.write_text(shop.config.read_text().replace("to: [hook, mail], keep: reports, ", ""), encoding="utf-8")
    with shop.project().open_store() as store:
        run_checks(shop.project(), select([], shop.project().config), store=store)
        for kind, (due, _) in _DUE.items():
            report_if_due(shop.project(), store, due, kind)
        assert _deliveries(store) == []
    assert not (shop.folder / "reports").exists()


def test_a_domain_gets_its_own_report(shop):
    """Its channels and folder get what is about its tables; an unmonitored domain gets none."""
    text = (
        shop.config.read_text().split("report:")[0].replace("  - name: orders", "  - domain: 売/上\n    name: orders")
    )
    text += """
domains: {"売/上": {title: Sales of goods}, web: {}}
report:
  weekly:
    to: [mail]
    locales: [en]
    domains: {"売/上": {to: [hook, mail], keep: reports}, web: {to: [hook], keep: reports}}
"""
    shop.config.write_text(text, encoding="utf-8")
    with shop.project().open_store() as store:
        run_checks(shop.project(), select([], shop.project().config), store=store)
        for seconds in (0, 30):
            report_if_due(shop.project(), store, _MONDAY + timedelta(seconds=seconds), Week)
        deliveries = _deliveries(store)
    assert [path.name for path in (shop.folder / "reports").iterdir()] == ["tablewatch-2026-W47-売%2F上-en.html"]
    assert "Data downtime in week 47 of 2026 · Sales of goods" in next((shop.folder / "reports").iterdir()).read_text()
    by_domain = {(item.channel, item.payload["domain"]): item.payload for item in deliveries}
    assert set(by_domain) == {("mail", None), ("mail", "売/上"), ("hook", "売/上")}
    assert by_domain["hook", "売/上"]["report"]["domain"] == {"key": "売/上", "title": "Sales of goods"}
    assert by_domain["mail", "売/上"]["title"].startswith("Sales of goods\uff1a")
    (attachment,) = by_domain["mail", "売/上"]["attachments"]
    assert attachment["name"] == "tablewatch-2026-W47-売%2F上-ja.html"


def test_owners_and_products_get_their_own_reports(shop):
    """Each is about its tables, in a file of its own even where a domain, an owner and a product have one key."""
    text = shop.config.read_text().split("report:")[0]
    text = text.replace("  - name: orders", "  - domain: desk\n    name: orders")
    text += """
domains: {desk: {}}
products: {desk: {title: Shop orders, tables: [orders]}}
report:
  weekly:
    domains: {desk: {keep: reports}}
    owners: {desk: {to: [hook, mail], keep: reports}}
    products: {desk: {to: [hook, mail], keep: reports}}
"""
    shop.config.write_text(text, encoding="utf-8")
    with shop.project().open_store() as store:
        run_checks(shop.project(), select([], shop.project().config), store=store)
        for seconds in (0, 30):
            report_if_due(shop.project(), store, _MONDAY + timedelta(seconds=seconds), Week)
        deliveries = _deliveries(store)
    scopes = ("desk", "owner=desk", "product=desk")
    assert sorted(path.name for path in (shop.folder / "reports").iterdir()) == [
        f"tablewatch-2026-W47-{scope}-en.html" for scope in scopes
    ]
    payloads = {(item.channel, item.payload["owner"], item.payload["product"]): item.payload for item in deliveries}
    assert len(deliveries) == len(payloads) == 4
    assert payloads["hook", "desk", None]["report"]["owner"] == {"key": "desk", "title": "The desk"}
    assert payloads["hook", None, "desk"]["report"]["product"] == {"key": "desk", "title": "Shop orders"}
    assert payloads["mail", None, "desk"]["domain"] is None
    assert payloads["mail", None, "desk"]["title"].startswith("Shop orders\uff1a")
    (attachment,) = payloads["mail", "desk", None]["attachments"]
    assert attachment["name"] == "tablewatch-2026-W47-owner=desk-ja.html"


def test_pages_of_domains_have_names_of_their_own(shop):
    """A key longer than a file name is cut, and keys that differ in case only are distinguished: a digest ends both."""
    keys = ["sales", "Sales", "売" * 100]
    checks = [{"type": "not_null", "columns": ["id"]}]
    tables = [
        {"name": f"t{n}", "source": "shop", "table": "orders", "domain": key, "checks": checks}
        for n, key in enumerate(keys)
    ]
    config = yaml.safe_load(shop.config.read_text(encoding="utf-8"))
    weekly = {"locales": ["en", "ja"], "domains": {key: {"keep": "reports"} for key in keys}}
    config |= {"tables": tables, "domains": {key: {} for key in keys}, "report": {"weekly": weekly}}
    shop.config.write_text(json.dumps(config, ensure_ascii=False, indent=1), encoding="utf-8")
    with shop.project().open_store() as store:
        run_checks(shop.project(), select([], shop.project().config), store=store)
        report_if_due(shop.project(), store, _MONDAY, Week)
    names = [path.name for path in (shop.folder / "reports").iterdir()]
    assert len({name.casefold() for name in names}) == len(names) == 2 * len(keys)
    assert all(
        re.fullmatch(r"tablewatch-2026-W47-(sales|Sales|売+)-[0-9a-f]{12}-(en|ja)\.html", name) for name in names
    )
    assert max(len(name.encode()) for name in names) <= 255


def test_a_folder_that_cannot_be_written_is_told(shop, caplog):
    """The daemon says which folder it is, tells the channels all the same, and leaves the folder alone for a while."""
    from monitor.daemon.notifier import Notifier

    (shop.folder / "reports").write_text("in the way")
    shop.clock = SimulatedClock(_MONDAY - timedelta(days=2))
    with shop.project().open_store() as store, caplog.at_level("ERROR", logger="tablewatch"):
        run_checks(shop.project(), select([], shop.project().config), store=store)
        shop.clock.advance_to(_MONDAY)
        speaker = Notifier(store, shop.clock, holder="me")
        speaker.leads = True
        for _ in range(3):
            speaker.report(shop.project())
        assert sorted(delivery.channel for delivery in _deliveries(store)) == ["hook", "mail"]
        assert caplog.text.count("the weekly report cannot be written: ") == 1
        (shop.folder / "reports").unlink()
        speaker.report(shop.project())
        assert not (shop.folder / "reports").exists()
        shop.clock.advance(timedelta(minutes=10))
        speaker.report(shop.project())
        assert len(list((shop.folder / "reports").iterdir())) == 2
        assert len(_deliveries(store)) == 2
