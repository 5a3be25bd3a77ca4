"""The pages in a real browser: Chromium, where it is installed, over a socket, with and without scripts."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest

from monitor.config.selector import select
from monitor.scan.run import run_checks
from monitor.triage.incident_editor import IncidentEditor
from monitor.verbs.account_secrets import digest_of
from store import Scope, StatusScope
from tests.monitor.shop import build_shop
from tests.monitor.web.ledger import charge, open_budget
from tests.monitor.web.releases import compared, exported, pair
from tests.monitor.web.site import TABLES, Site, alert_channel

pytestmark = pytest.mark.browser

PAGES: Final = (
    "/",
    "/incidents",
    "/incidents/new?table=orders",
    "/incidents/1",
    "/incidents/2",
    "/incidents/1/post-mortem",
    "/incidents/bulk?verb=resolve&id=1&id=2",
    "/search?text=order",
    "/keys",
    "/tables",
    "/tables/orders",
    "/products",
    "/products/selling",
    "/coverage",
    "/audit",
    "/checks",
    "/checks/orders.not-null",
    "/downtime?noticed_within=15&repair=20",
    "/downtime?by=incident",
    "/releases",
    "/releases/extract",
    "/releases/extract/comparison",
    "/releases/extract/record",
    "/ask",
    "/budgets",
    "/alerts",
    "/reports",
    "/reports/2026-W47",
    "/reports/2026-W47?scope=product:selling",
    "/reports/2026-11",
    "/configuration",
    "/configuration/changes?table=orders",
    "/status/known",
    "/api",
    "/nowhere",
)
WIDTHS: Final = (390, 1280)
_RULES: Final = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']}"
VIOLATIONS: Final = (
    f"axe.run({_RULES}).then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 160))))"
)
"""What axe-core finds; injected by the debugger, which the pages' security policy does not stop."""


@dataclass
class Opened:
    """A page, and what went wrong on it."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda message: self._note(message.type, message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def _note(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"} and "404" not in text:  # the page that is not there
            self.complaints.append(text)


@pytest.fixture(scope="module")
def axe() -> str:
    """Return axe-core, which comes with a package and is not fetched."""
    from axe_playwright_python.base import AXE_FILE_PATH

    text: str = AXE_FILE_PATH.read_text(encoding="utf-8")
    return text


@dataclass
class Reader:
    """A signed-in user with a browser."""

    browser: Any
    address: str
    cookie: tuple[str, str]

    @contextmanager
    def opened(
        self, *, width: int = 1280, scheme: str = "light", locale: str = "en", scripts: bool = True
    ) -> Iterator[Opened]:
        """Open a window for the block."""
        context = self.browser.new_context(
            base_url=self.address,
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            locale=locale,
            java_script_enabled=scripts,
        )
        name, value = self.cookie
        context.add_cookies([{"name": name, "value": value, "url": self.address}])
        try:
            yield Opened(context.new_page())
        finally:
            context.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Return a shop with results of checks, an incident of a check, and one of a person."""
    shop = build_shop(tmp_path_factory.mktemp("shop"))
    text = shop.config.read_text().replace("owners: {desk: {name: The desk}}", "owners: {desk: {}, crew: {}}")
    shop.config.write_text(
        text.rstrip()
        + TABLES
        + alert_channel("http://127.0.0.1:9/")
        + "cost: {currency: JPY, tiers: {gold: {per_hour: 12000}}}\n"
    )
    project = shop.project()
    with project.open_store() as store:
        ledger = open_budget(store, shop.folder / "store.db.ledger", shop.clock.now())
        for number in range(6):
            charge(ledger, f"r{number}", "0.25", shop.clock.now())
            if number == 4:
                shop.sql("INSERT INTO orders VALUES (3, NULL, 5.0, '2026-11-20 09:00')")
            run_checks(project, select(["orders"], project.config), store=store)
            shop.clock.advance(timedelta(hours=7))
        site = Site(project, store, shop.clock)
        site.incident("amounts are a hundred times too large")
        with store.writing() as tx:
            digest = digest_of("known")
            tx.status_addresses.add(digest, StatusScope.PRODUCT, "selling", by="mia", at=shop.clock.now())
        compared(site)
        exported(site, 1)
        exported(site, 2, earlier=[pair(1, 0)])
        now = shop.clock.now()
        with store.writing() as tx:
            until = now + timedelta(days=7)
            tx.silences.add(
                scope=Scope.TABLE, name="orders", starts_at=now, until=until, reason="the loader moves", by="mia"
            )
        yield site


@pytest.fixture(scope="module")
def reader(browser: Any, site: Site) -> Iterator[Reader]:
    """Return a reader of the site, which is served on this machine."""
    name, secret = site.cookie().split("=", 1)
    with site.served() as host:
        yield Reader(browser, f"http://{host}", (name, secret))


def _local(site: Site, *, hours_ago: int) -> str:
    """Return a past time as a field of a browser has it, in the project's zone."""
    moment = site.clock.now() - timedelta(hours=hours_ago)
    return f"{moment.astimezone(ZoneInfo(site.project.config.timezone)):%Y-%m-%dT%H:%M}"


@pytest.mark.combinations
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("locale", "scheme"), [("en", "light"), ("en", "dark"), ("ja", "light"), ("ja", "dark")])
def test_every_page_is_accessible_and_fits(reader: Reader, axe: str, locale: str, scheme: str, width: int) -> None:
    """axe-core finds nothing, nothing scrolls sideways, no policy is broken, and nothing is asked of elsewhere."""
    with reader.opened(width=width, scheme=scheme, locale=locale) as window:
        for path in PAGES:
            answer = window.page.goto(path)
            assert answer.status == (404 if path == "/nowhere" else 200), path
            assert window.page.evaluate("document.documentElement.lang") == locale, path
            wider = window.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wider <= 0, path
            assert window.page.evaluate(f"{axe}\n;{VIOLATIONS}") == [], path
        assert window.complaints == []
        assert {url for url in window.asked if not url.startswith((reader.address, "data:"))} == set()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_an_incident_is_logged_and_resolved_by_forms(reader: Reader, site: Site, scripts: bool) -> None:
    """The five fields, then the verbs that are possible: each leads to the incident as it is now."""
    title = f"logged {'with' if scripts else 'without'} scripts"
    with reader.opened(scripts=scripts) as window:
        page = window.page
        page.goto("/incidents/new")
        page.get_by_label("Table", exact=True).fill("refunds")
        page.get_by_label("What is wrong").fill(title)
        page.get_by_label("Occurred").fill(_local(site, hours_ago=3))
        page.get_by_role("button", name="Log the incident").click()
        page.get_by_role("heading", name=title).wait_for()
        page.get_by_role("button", name="Acknowledge").click()
        page.get_by_text("acknowledged").first.wait_for()
        page.get_by_label("Text").fill("the upstream job was restarted")
        page.get_by_role("button", name="Comment").click()
        page.get_by_text("the upstream job was restarted").wait_for()
        page.get_by_role("button", name="Resolve").click()
        page.get_by_role("button", name="Reopen").wait_for()
        assert window.complaints == []
        number = int(page.url.partition("#")[0].rpartition("/")[2])
    assert site.actors(number) == ["mia (password)"] * 4
    with site.store.reading() as tx:
        assert tx.incidents.get(number).last.resolved_at == site.clock.now()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_every_other_verb_is_a_form(reader: Reader, site: Site, scripts: bool) -> None:
    """Assign, snooze, correct, link the cause, resolve, reopen and merge: each leads to the incident as it is now."""
    number, other = (site.incident(f"{name}, scripts {scripts}", table="refunds") for name in ("verbs", "other"))
    with reader.opened(scripts=scripts) as window:
        page = window.page

        def act(name: str, **fields: str) -> None:
            page.goto(f"/incidents/{number}")
            form = page.locator("form.verb").filter(has=page.get_by_role("button", name=name, exact=True))
            if not form.is_visible():
                page.get_by_text("More actions").click()
            for label, value in fields.items():
                form.locator(f"[name={label}]").fill(value)
            with page.expect_navigation():
                form.get_by_role("button", name=name, exact=True).click()

        act("Assign", assignee="bob")
        act("Snooze", **{"for": "2h"})
        act("Correct times", occurred=_local(site, hours_ago=3))
        act("Link the cause", cause=str(other))
        act("Resolve", cause="a late file")
        act("Reopen")
        act("Merge", into=str(other))
        assert window.complaints == []
    with site.store.reading() as tx:
        kinds = [event.change.kind for event in tx.incidents.events(number)]
    assert kinds == [
        *("opened", "assigned", "snoozed", "corrected", "root-named", "resolved", "reopened", "merged"),
    ]


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_release_is_approved_and_held_by_forms(reader: Reader, scripts: bool) -> None:
    """From the comparison the recommended remedy is approved; the page of the release puts it on hold."""
    with reader.opened(scripts=scripts) as window:
        page = window.page
        page.goto("/releases/extract/comparison")
        page.get_by_label("Note").fill("ticket 4711")
        page.get_by_role("button", name="Approve").click()
        page.get_by_text("approved: suppress").first.wait_for()
        hold = page.locator("form.verb").filter(has=page.get_by_role("button", name="Hold", exact=True))
        hold.get_by_label("Note").fill("the contract has ended")
        hold.get_by_role("button", name="Hold", exact=True).click()
        page.get_by_text("put on hold").first.wait_for()
        assert window.complaints == []


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_domain_is_silenced_and_heard_again_by_forms(reader: Reader, scripts: bool) -> None:
    """On the page of alerts: with a reason and a length; the list has it until it is ended there."""
    with reader.opened(scripts=scripts) as window:
        page = window.page
        page.goto("/alerts")
        page.get_by_text("Silence a table or a domain").click()
        page.get_by_label("or domain").fill("sales")
        page.get_by_label("For", exact=True).fill("2h")
        page.get_by_label("Reason").fill("a planned move")
        page.get_by_role("button", name="Silence", exact=True).click()
        row = page.get_by_role("row").filter(has_text="a planned move")
        assert "domain sales" in row.inner_text()
        row.get_by_role("button", name="End the silence").click()
        assert page.get_by_text("a planned move").count() == 0
        assert page.get_by_text("the loader moves").count() == 1


def test_a_change_of_somebody_else_is_refused_and_nothing_is_lost(reader: Reader, site: Site) -> None:
    """The form knows the version that was seen; what came between is shown instead."""
    number = site.incident("seen by two", table="refunds")
    with reader.opened() as first, reader.opened(scripts=False) as second:  # without scripts, a page stays as it is
        for window in (first, second):
            window.page.goto(f"/incidents/{number}")
        first.page.get_by_role("button", name="Acknowledge").click()
        first.page.get_by_text("acknowledged").first.wait_for()
        second.page.get_by_role("button", name="Resolve").click()
        second.page.get_by_role("alert").wait_for()
        second.page.get_by_role("button", name="Resolve").wait_for()
    with site.store.reading() as tx:
        assert tx.incidents.get(number).last.resolved_at is None


def test_a_page_follows_what_others_do(reader: Reader, site: Site) -> None:
    """Lists and incidents change by themselves; where a user is writing, it is said instead, and nothing is lost."""
    number = site.incident("followed", table="refunds")
    with reader.opened() as watcher, reader.opened() as writer, reader.opened() as actor:
        watcher.page.goto("/incidents")
        writer.page.goto(f"/incidents/{number}")
        writer.page.get_by_label("Text").fill("half a comment")
        actor.page.goto(f"/incidents/{number}")
        site.incident("opened meanwhile", table="refunds")
        watcher.page.get_by_text("opened meanwhile").wait_for()
        assert not writer.page.get_by_text("There are changes").is_visible()
        actor.page.get_by_role("button", name="Acknowledge").click()
        row = watcher.page.get_by_role("row").filter(has_text="followed")
        row.get_by_text("acknowledged").wait_for()
        writer.page.get_by_text("There are changes since this page was read.").wait_for()
        assert writer.page.get_by_label("Text").input_value() == "half a comment"
        writer.page.get_by_role("link", name="Show them").click()
        writer.page.get_by_text("acknowledged").first.wait_for()
        assert watcher.complaints == writer.complaints == []


def test_the_keyboard_reaches_everything(reader: Reader) -> None:
    """The first stop skips to the content; each later one is visible; Enter follows a link."""
    with reader.opened() as window:
        page = window.page
        page.goto("/")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.getAttribute('href')") == "#main"
        assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
        for _ in range(3):
            page.keyboard.press("Tab")
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate("document.activeElement.textContent") == "Tables"
        assert page.evaluate(outline) == "solid"
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Tables").wait_for()


def test_the_timeline_is_read_by_keyboard(reader: Reader) -> None:
    """The name of a lane leads to its table, and what is drawn can be read as a table, whose rows lead to incidents."""
    with reader.opened() as window:
        page = window.page
        page.goto("/")
        page.locator("details.timeline > summary").press("Enter")
        page.locator(".timeline details summary").press("Enter")
        row = page.locator(".timeline table").get_by_role("row").filter(has_text="orders").first
        row.get_by_role("link").press("Enter")
        page.wait_for_url("**/incidents/*")
        page.goto("/")
        page.locator("details.timeline > summary").press("Enter")
        page.locator(".timeline .lane").get_by_role("link", name="orders", exact=True).press("Enter")
        page.wait_for_url("**/tables/orders")
        assert window.complaints == []


def test_pages_print_without_their_controls(reader: Reader) -> None:
    """On paper there are the incident and its history; no menu, no form."""
    with reader.opened() as window:
        page = window.page
        page.goto("/incidents/1")
        page.emulate_media(media="print")
        assert page.get_by_role("heading", level=1).is_visible()
        assert not page.locator("nav").first.is_visible()
        assert not page.locator(".verbs").first.is_visible()


def test_keys_move_search_and_act(reader: Reader, site: Site) -> None:
    """`/` goes to the search, `j` and `k` move in a list, `a` leads to the confirmation and back to the list."""
    number = site.incident("by keys", table="refunds")
    with reader.opened() as window:
        page = window.page
        page.goto("/incidents")
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.id") == "search"
        page.goto("/incidents")
        rows = page.locator("main tbody tr").count()
        at = "document.activeElement.getAttribute('href')"
        visited = [(page.keyboard.press("j"), page.evaluate(at))[1] for _ in range(rows)]
        assert len(set(visited)) == rows
        for _ in range(rows - 1 - visited.index(f"/incidents/{number}")):
            page.keyboard.press("k")
        assert page.evaluate(at) == f"/incidents/{number}"
        page.keyboard.press("a")
        page.get_by_role("heading", name="Acknowledge").wait_for()
        page.get_by_role("button", name="Acknowledge").click()
        page.wait_for_url("**/incidents")
        page.keyboard.press("?")
        page.get_by_role("heading", name="Keys").wait_for()
        assert window.complaints == []
    with site.store.reading() as tx:
        assert tx.incidents.get(number).last.acknowledged_at is not None


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_refused_form_has_the_focus_where_it_is_wrong(reader: Reader, site: Site, scripts: bool) -> None:
    """A section that hides the form is open, what was written is there, and the field that is wrong has the focus."""
    number = site.incident(f"refused, scripts {scripts}", table="refunds")
    with reader.opened(scripts=scripts) as window:
        page = window.page
        page.goto(f"/incidents/{number}")
        page.get_by_text("More actions").click()
        form = page.locator("form.verb").filter(has=page.get_by_role("button", name="Snooze", exact=True))
        form.locator("[name=for]").fill("soon")
        form.get_by_role("button", name="Snooze", exact=True).click()
        field = form.locator("[name=for]")
        assert field.input_value() == "soon"
        assert field.evaluate("field => field === document.activeElement")
        assert "soon" in form.locator(".refused").inner_text()


def test_words_of_any_length_fit_a_telephone(reader: Reader, site: Site, axe: str) -> None:
    """Nothing scrolls sideways, the dots of times are reached by keyboard, and ten cards of a list are compact."""
    number = site.incident("x" * 300, table="refunds")
    desk = IncidentEditor(site.project, site.store, actor="mia")
    desk.assign(number, "W" * 300)
    desk.comment(number, f"{'W' * 400}\n\n    {'code' * 90}\n\nhttps://example.org/{'x' * 300}")
    with reader.opened(width=390) as window:
        for path in (f"/incidents/{number}", "/incidents", "/tables/refunds", "/", "/downtime"):
            window.page.goto(path)
            wider = window.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wider <= 0, path
            assert window.page.evaluate(f"{axe}\n;{VIOLATIONS}") == [], path
        window.page.locator(".times svg.point a").first.focus()
        assert window.page.locator(".times svg.point a:focus .tip").first.is_visible()
