"""The pages of checks: the band of what would have been usual, and what checks cost."""

import html
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from checks import Check, load_catalog
from monitor.config.alerts_model import Slo
from monitor.config.contracts_model import Product
from monitor.config.project import Project
from monitor.config.selector import select
from monitor.scan.run import run_checks
from monitor.summaries.check_numbers import CheckNumber
from monitor.terminal.localizer import Localizer
from monitor.web.pictures import HISTORY_HEIGHT, history_picture
from monitor.web.views.checks import CheckPage, CheckPoint
from store import IncidentFilter, WebRole
from tests.monitor.shop import build_shop
from tests.monitor.web.site import Site

AT = datetime(2026, 11, 20, tzinfo=UTC)


def _volume(**words: float) -> Check:
    parameters = {"id": "rows", "type": "volume", **words}
    check: Check = load_catalog()["volume"].model_validate(parameters)
    return check


@pytest.mark.parametrize(
    ("words", "usual"),
    [
        ({"min_ratio": 0.5, "max_ratio": 2}, (50.0, 200.0)),
        ({"min_ratio": 0.5}, (50.0, None)),
        ({"max_ratio": 2}, (None, 200.0)),
        ({"min": 1}, (None, None)),
    ],
)
def test_what_is_usual_is_the_baseline_times_the_ratios(
    words: dict[str, float], usual: tuple[float | None, float | None]
) -> None:
    """A side without a ratio has no limit; without a baseline nothing is usual."""
    check = _volume(**words)
    number = CheckNumber.of(check)
    assert number.usual(check, {"rows": 90, "baseline": 100}) == usual
    assert number.usual(check, {"rows": 90}) == (None, None)


def _point(hour: int, number: float, usual: tuple[float | None, float | None]) -> CheckPoint:
    return CheckPoint(
        at=AT.replace(hour=hour),
        status="pass",
        reason=None,
        number=number,
        baseline=None,
        usual_low=usual[0],
        usual_high=usual[1],
        n=1,
        failed=0,
        unknown=0,
    )


def _bands(*points: CheckPoint) -> list[list[tuple[float, float]]]:
    page = CheckPage(
        as_of=AT.replace(hour=10),
        since=AT,
        check_id="t.rows",
        table="t",
        type="volume",
        severity="error",
        why=None,
        runbook=None,
        what="rows",
        unit=None,
        low=None,
        high=None,
        points=points,
        incidents=(),
    )
    corners = [
        [tuple(map(float, corner.split(","))) for corner in band.split()] for band in history_picture(page).bands
    ]
    return [[(x, y) for x, y in band] for band in corners]


def test_the_band_lies_between_the_limits_and_is_broken_where_nothing_was_usual() -> None:
    """Its upper side goes right, its lower side back; a side without a limit is the edge."""
    first, second = _bands(
        _point(1, 100, (50, 200)),
        _point(2, 100, (50, 200)),
        _point(3, 100, (None, None)),
        _point(4, 100, (50, None)),
        _point(5, 100, (None, 200)),
    )
    assert [x for x, _ in first] == [100, 200, 200, 100]
    tops, bottoms = {y for _, y in first[:2]}, {y for _, y in first[2:]}
    assert max(tops) < min(bottoms)
    assert second[0][1] == 0.0
    assert second[-2][1] == HISTORY_HEIGHT
    assert _bands(_point(1, 100, (None, None))) == []


def test_the_cost_of_a_check_names_seconds_and_rows(site: Site) -> None:
    """Both of its last runs; a check that has not run has neither."""
    run_checks(site.project, select(["orders"], site.project.config), store=site.store)
    lines = {line["check_id"]: line for line in site.signed_in().get("/api/v1/checks").json()["checks"]}
    ran = lines["orders.not-null"]
    assert ran["seconds"] > 0
    assert ran["rows"] == 2
    assert all(line["rows"] is None for name, line in lines.items() if not name.startswith("orders"))


@pytest.mark.parametrize("role", list(WebRole))
def test_who_may_read_pages_may_read_the_select_of_a_check(tmp_path: Path, role: WebRole) -> None:
    """All roles but `ask`, which sees no page: it holds what `/configuration` shows them, and no value of the table."""
    shop = build_shop(tmp_path, "      - {type: range, column: amount, max: 6, id: r}\n")
    with shop.project().open_store() as store:
        site = Site(shop.project(), store, shop.clock)
        run_checks(site.project, select(["orders"], site.project.config), store=store)
        browser = site.signed_in(role, owners=("nobody",)) if role is WebRole.OWNER else site.signed_in(role)
        places = [f"{api}/{of}?sql=true" for api in ("", "/api/v1") for of in ("incidents/1", "checks/orders.r")]
        for place in [place if place.startswith("/api") else f"/api/v1{place}" for place in places]:
            answer = browser.get(place)
            if role is WebRole.ASK:
                assert answer.status_code == 403
            else:
                assert "6" in answer.json()["violations"]["sql"]


def test_the_list_of_checks_counts_incidents_of_every_kind_and_length(tmp_path: Path) -> None:
    """Open for no time yet, open, of disclosure, reopened (once), resolved; not false positives."""
    more = "      - {type: range, column: amount, max: 6, id: r}\n"
    shop = build_shop(tmp_path, more + "      - {type: k_anonymity, quasi_identifiers: [customer], k: 5, id: k}\n")
    with shop.project().open_store() as store:
        site = Site(shop.project(), store, shop.clock)

        def listed() -> dict[str, tuple[int, float, int]]:
            checks = site.signed_in().get("/api/v1/checks").json()["checks"]
            return {
                line["check_id"][7:]: (line["incidents"], line["found_h"], line["false_positives"])
                for line in checks
                if line["check_id"] in {"orders.r", "orders.k"}
            }

        run_checks(site.project, select(["orders"], site.project.config), store=store)
        assert listed() == {"r": (1, 0.0, 0), "k": (1, 0.0, 0)}
        site.clock.advance(timedelta(hours=1))
        assert listed() == {"r": (1, 1.0, 0), "k": (1, 0.0, 0)}
        with store.reading() as tx:
            numbers = {item.check_id: item.id for item in tx.incidents.matching(IncidentFilter())}
        browser = site.signed_in()

        def act(verb: str, **words: str) -> None:
            assert browser.post(f"/incidents/{numbers['orders.r']}/{verb}", data=words).status_code == 303

        act("resolve", resolution="fixed", force="true")
        site.clock.advance(timedelta(hours=1))
        act("reopen")
        site.clock.advance(timedelta(hours=1))
        assert listed() == {"r": (1, 2.0, 0), "k": (1, 0.0, 0)}
        act("resolve", resolution="false-positive", force="true")
        site.clock.advance(timedelta(hours=1))
        assert listed() == {"r": (0, 0.0, 1), "k": (1, 0.0, 0)}


def test_the_page_of_a_table_has_what_its_runs_cost(site: Site) -> None:
    """Of the last seven days; what the engine does not tell is null, and not on the page."""
    browser = site.signed_in()
    assert "Cost of checks, 7 days</dt><dd>0 runs</dd>" in browser.get("/tables/orders").text
    run_checks(site.project, select(["orders"], site.project.config), store=site.store)
    cost = browser.get("/api/v1/tables/orders").json()["scan_cost"]["last_7_days"]
    assert (cost["runs"], cost["seconds"] > 0, cost["rows_read"], cost["bytes_read"]) == (1, True, None, None)
    assert re.search(
        r"Cost of checks, 7 days</dt><dd>1 run · [0-9.]+ s in the engine</dd>", browser.get("/tables/orders").text
    )
    japanese = browser.get("/tables/orders", headers={"accept-language": "ja"}).text
    assert "1 回実行 · エンジンで" in japanese


def test_a_check_with_segments_shows_those_of_its_last_run(tmp_path: Path) -> None:
    """The page draws how many segments fail and lists them, each with its incident; no value that is not shown."""
    shop = build_shop(tmp_path, "      - {type: range, column: amount, max: 6, by: customer}\n")
    with shop.project().open_store() as store:
        site = Site(shop.project(), store, shop.clock)
        run_checks(site.project, select([], site.project.config), store=store)
        browser = site.signed_in()
        page = browser.get("/api/v1/checks/orders.range").json()
        assert (page["what"], page["high"], page["points"][0]["number"]) == ("failing", 0, 1)
        (segment,) = page["segments"]
        assert (segment["status"], segment["incident"]) == ("fail", 1)
        assert segment["message"].endswith("amount: 1 of 1 rows are outside the range (100%)")
        for language, word in (("en", "Segments of the last run"), ("ja", "最後の実行のセグメント")):
            text = browser.get("/checks/orders.range", headers={"accept-language": language}).text
            assert segment["segment"] in text
            assert word in text
            assert "bob" not in text


def test_pages_show_titles_and_results_in_the_language_of_the_reader(tmp_path: Path) -> None:
    """Each reader has their own, also of what is shared among readers; JSON has them in English for all."""
    shop = build_shop(tmp_path, "      - {type: range, column: amount, max: 6}\n")
    with shop.project().open_store() as store:
        site = Site(shop.project(), store, shop.clock)
        run_checks(site.project, select([], site.project.config), store=store)
        with store.reading() as tx:
            message = tx.results.latest(["orders.range"])["orders.range"].message
        site.clock.advance(timedelta(hours=1))
        browser = site.signed_in()
        english, japanese = str(message), message.render(Localizer("ja", "UTC"))
        assert japanese != english
        paths = "/ /incidents /incidents/1 /checks/orders.range /tables/orders /downtime?by=incident"
        for path in paths.split():
            for language, shown, other in (("ja", japanese, english), ("en", english, japanese)):
                text = html.unescape(browser.get(path, headers={"accept-language": language}).text)
                assert (shown in text, other in text) == (True, False), (path, language)
        for path in ("/api/v1/incidents", "/api/v1/incidents/1", "/api/v1/overview"):
            reply = browser.get(path, headers={"accept-language": "ja"}).text
            assert (english in reply, japanese in reply) == (True, False), path


def test_the_page_of_a_table_has_what_is_promised_of_it_and_by_which_key(site: Site) -> None:
    """Its levels with how many episodes kept each, its error budget, and the most specific key of each promise."""
    slo = {"ord*": Slo.model_validate({"ttr": "4h", "downtime": "2h per 30d"}), "*": Slo.model_validate({"ttd": "1h"})}
    config = site.project.config.model_copy(update={"slo": slo, "products": {}})
    promised = Site(Project(replace(site.project.loaded, config=config), site.clock), site.store, site.clock)
    promised.incident()
    browser = promised.signed_in()
    (contract,) = browser.get("/api/v1/tables/orders").json()["contracts"]
    assert contract["contract"] == "slo:orders"
    assert contract["origins"] == {"time-to-repair": "slo.ord*", "downtime": "slo.ord*", "time-to-detect": "slo.*"}
    detect, repair = contract["levels"]
    assert (detect["level"], detect["judged"], detect["kept"], detect["broken"]) == ("time-to-detect", 1, 1, 0)
    assert (repair["verdict"], repair["judged"], repair["share_kept_low"]) == ("pending", 0, None)
    assert contract["observed_h"] == 0  # no check has run
    for language, *words in (
        ("en", "1 of 1 in time", "All checks saw 0 min of 28 d."),
        ("ja", "1件中1件が期限内", "28日のうち、すべてのチェックが確認できたのは0分です。"),
    ):
        page = browser.get("/tables/orders", headers={"accept-language": language}).text.replace(
            "\N{NO-BREAK SPACE}", " "
        )
        assert all(word in page for word in words)
        assert page.count("<small>slo.ord*</small>") == 2
        assert page.count("<small>slo.*</small>") == 1


def test_the_page_of_a_table_names_its_data_products(site: Site) -> None:
    """In both languages; a table in none has no such line."""
    products = {"pack": Product.model_validate({"tables": ["orders"], "promises": {"ttr": "4h"}})}
    config = site.project.config.model_copy(update={"products": products})
    browser = Site(Project(replace(site.project.loaded, config=config), site.clock), site.store, site.clock).signed_in()
    data = browser.get("/api/v1/tables/orders").json()
    assert (data["products"], [item["contract"] for item in data["contracts"]]) == (["pack"], ["product:pack"])
    for language, words in (("en", "Data products"), ("ja", "データプロダクト")):
        link = f'{words}</dt><dd><a href="/products/pack">pack</a>'
        assert link in browser.get("/tables/orders", headers={"accept-language": language}).text
    assert "/products/pack" not in browser.get("/tables/refunds").text


def test_the_rows_are_selected_on_request(site: Site) -> None:
    """The page of a check shows the SELECT of the rows that break it when asked, and opens no source before that."""
    client = site.signed_in()
    place = f"/checks/{site.project.config.tables[0].check_id(site.project.config.tables[0].checks[0])}"
    assert "?sql=true" in client.get(place).text
    assert "<pre>SELECT" in client.get(place, params={"sql": "true"}).text
    number = site.incident()
    assert "?sql=true" not in client.get(f"/incidents/{number}").text
    result = client.get(f"/api/v1/incidents/{number}", params={"sql": "true"}).json()["violations"]
    assert (result["sql"], "no rows to list" in result["reason"]) == (None, True)
