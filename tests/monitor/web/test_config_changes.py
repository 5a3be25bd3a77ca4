"""An administrator changes a table by a page: a diff, its simulation, then a file that Tablewatch owns."""

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from monitor.config import load
from monitor.config.selector import select
from monitor.scan.run import run_checks
from store import WebRole
from tests.monitor.web.site import Site

PREVIEW = "/api/v1/configuration/changes/preview"
APPLY = "/api/v1/configuration/changes"


@pytest.fixture
def web_section() -> str:
    """Return a section that lets pages change the configuration."""
    return "web: {changes: true}\n"


def _change(settings: str, table: str = "orders") -> dict[str, str]:
    return {"table": table, "settings": settings}


def test_a_change_is_drawn_before_it_is_made(site: Site) -> None:
    """The diff names the setting with both values; nothing is written by looking."""
    done = site.signed_in().post(PREVIEW, json=_change("owner: crew"))
    assert done.status_code == 200, done.text
    assert done.json()["lines"] == ['~ tables.orders.owner: "desk" -> "crew"']
    assert "+  owner: crew" in done.json()["patch"]
    assert not (site.project.loaded.path.parent / "tablewatch.d").exists()


def test_an_applied_change_lies_over_hand_written_files(site: Site) -> None:
    """Those keep every byte; checks are met by id, others added; the change is logged as an event of the table."""
    before, client = site.project.loaded.path.read_bytes(), site.signed_in()
    digest = client.post(PREVIEW, json=_change("owner: crew")).json()["digest"]
    assert client.post(APPLY, json={**_change("owner: crew"), "drawn_of": digest}).status_code == 200
    limits = "checks:\n- {id: not-null, max_ratio: 0.25}\n- {type: volume, min: 1}"
    assert client.post(APPLY, json=_change(limits)).status_code == 200
    assert client.post(APPLY, json=_change("source: shop\ntable: orders\nslo: {ttr: 4h}", "copies")).status_code == 200
    config = load(site.project.loaded.path).config
    orders = config.table("orders")
    assert orders is not None
    assert orders.owner == "crew"
    assert [check.name for check in orders.checks[:3]] == ["primary-key", "not-null", "volume"]
    assert str(vars(orders.checks[1])["max_ratio"]) == "0.25"
    assert config.table("copies") is not None
    assert site.project.loaded.path.read_bytes() == before
    assert "orders changed in ui.yaml" in client.get("/tables/orders").text


def test_the_simulation_says_what_would_have_opened(site: Site) -> None:
    """A limit that a stored result broke opens an incident in the replay; the page says both numbers."""
    client = site.signed_in()
    with closing(sqlite3.connect(site.project.loaded.path.parent / "shop.sqlite")) as shop, shop:
        shop.execute("INSERT INTO orders VALUES (3, NULL, 5.0, '2026-11-20 09:00')")
    for _ in range(3):
        site.clock.advance(timedelta(hours=1))
        run_checks(site.project, select(["orders"], site.project.config), store=site.store)
    site.clock.advance(timedelta(hours=1))
    form = client.get("/configuration/changes?table=orders&check=not-null")
    assert "id: not-null" in form.text
    assert 'href="/configuration/changes?table=orders&amp;check=not-null"' in client.get("/checks/orders.not-null").text
    done = client.post("/configuration/changes/preview", data=_change("checks: [{id: not-null, max_ratio: 0.5}]"))
    assert "Incidents with the present configuration: 1. With this change: 0." in done.text
    added = client.post("/configuration/changes/preview", data=_change("checks: [{type: volume, min: 9}]"))
    assert "Not replayed:" in added.text
    owner = client.post("/configuration/changes/preview", data=_change("description: all orders"))
    assert "No check is changed" in owner.text


def test_a_file_that_changed_meanwhile_is_not_overwritten(site: Site) -> None:
    """Who decided on an older diff is refused, and the form comes back filled."""
    client = site.signed_in()
    digest = client.post(PREVIEW, json=_change("owner: crew")).json()["digest"]
    client.post(APPLY, json=_change("tier: silver"))
    late = {**_change("owner: crew"), "drawn_of": digest}
    assert client.post(APPLY, json=late).status_code == 409
    page = client.post("/configuration/changes", data=late)
    assert page.status_code == 409
    assert "owner: crew" in page.text
    assert load(site.project.loaded.path).config.tables[0].owner == "desk"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("owner: nobody", "nobody"),
        ("description: ${HOME}", "cannot read a variable or a file"),
        ("checks: [{type: not_null, columns: [id], runbook: secrets.md}]", "cannot name a file as runbook"),
        ("checks: [{type: not_nul}]", "not_nul"),
        ("- a list", "expected settings of the table"),
        ("name: other", "expected settings of the table"),
        ("a: [", "not valid YAML"),
        ("a: 1\na: 2", "twice"),
    ],
)
def test_a_change_that_is_not_valid_is_refused(site: Site, settings: str, message: str) -> None:
    """The reason stands on the page with the form as it was sent, and nothing is written."""
    client = site.signed_in()
    page = client.post("/configuration/changes/preview", data=_change(settings))
    assert page.status_code == 422
    assert message in page.text
    assert client.post(APPLY, json=_change(settings)).status_code == 422
    assert not (site.project.loaded.path.parent / "tablewatch.d").exists()


def test_only_administrators_change_the_configuration(site: Site) -> None:
    """No other role sees the form, a diff or a patch."""
    for role in (WebRole.VIEWER, WebRole.RESPONDER, WebRole.STEWARD, WebRole.OWNER):
        client = site.signed_in(role, owners=("desk",))
        for address in (PREVIEW, APPLY, "/configuration/changes/patch"):
            assert client.request("POST", address, json=_change("tier: silver")).status_code in {403, 415}
        assert client.get("/configuration/changes").status_code == 403


class TestWhereItIsNotAllowed:
    """Without `web.changes` there is the patch only, and a file that is there is not read."""

    @pytest.fixture
    def web_section(self) -> str:
        """Return nothing."""
        return ""

    def test_a_change_is_a_patch_only(self, site: Site) -> None:
        """It is drawn, downloaded, and refused to be applied."""
        client = site.signed_in()
        page = client.post("/configuration/changes/preview", data=_change("owner: crew"))
        assert "set web.changes to true" in page.text
        patch = client.post("/configuration/changes/patch", data=_change("owner: crew"))
        assert patch.headers["content-type"].startswith("text/x-diff")
        assert patch.text.startswith("--- /dev/null\n+++ b/tablewatch.d/ui.yaml\n")
        assert client.post(APPLY, json=_change("owner: crew")).status_code == 422
        folder = site.project.loaded.path.parent / "tablewatch.d"
        folder.mkdir()
        (folder / "ui.yaml").write_text("tables: [{name: orders, owner: crew}]\n")
        assert load(site.project.loaded.path).config.tables[0].owner == "desk"
