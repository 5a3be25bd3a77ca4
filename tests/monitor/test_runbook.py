"""The runbook of a check, wherever an incident is shown: an address, Markdown, or a file of Markdown."""

import re
from pathlib import Path

import pytest

from monitor.alerts.decide import NotificationReason
from monitor.alerts.message import compose
from monitor.alerts.wording import LONGEST_RUNBOOK
from monitor.config.selector import select
from monitor.doctor.config_checks import missing_runbooks
from monitor.reporting.render import markdown_html
from monitor.reporting.terminal_views.incident import incident_lines
from monitor.reporting.terminal_views.pass_report import pass_lines
from monitor.scan.run import run_checks
from monitor.triage.incident_editor import read_incident_detail
from tests.monitor.alerts import made
from tests.monitor.alerts.test_message import told
from tests.monitor.shop import Shop, build_shop

STEPS = "# First\n\nAsk **the loader** `load.sh`:\n\n1. [log](https://logs.example/x)\n2. @channel <b>now</b>\n"
HOSTILE = (
    "<script>alert(1)</script> ![x](https://evil.example/x.png) [a](javascript:alert(2)) [b](data:text/html,x)"
    "\n\n[c](JaVaScRiPt:alert(3)) <img src=x onerror=alert(4)> [d](/relative) ```\n<style>"
)


def shop_with(folder: Path, runbook: str) -> Shop:
    """Return a shop in which a check with a runbook fails."""
    return build_shop(folder, f"      - {{type: range, column: amount, max: 6, runbook: {runbook}}}\n")


def shown(shop: Shop) -> str:
    """Return what `incident show` prints once the check has failed."""
    project = shop.project()
    with project.open_store() as store:
        run_checks(project, select([], project.config), store=store)
        with store.reading() as tx:
            return "\n".join(line.plain for line in incident_lines(project, read_incident_detail(tx, 1)))


def test_a_file_of_markdown_is_shown_with_the_incident_as_it_is_now(tmp_path: Path) -> None:
    """It is read each time: who corrects it need not reload the configuration."""
    shop = shop_with(tmp_path, "steps/orders.md")
    (tmp_path / "steps").mkdir()
    file = tmp_path / "steps/orders.md"
    file.write_text(STEPS)
    assert shown(shop).endswith(
        "runbook\n  # First\n\n  Ask **the loader** `load.sh`:\n\n"
        "  1. [log](https://logs.example/x)\n  2. @channel <b>now</b>"
    )
    file.write_text("wait\x1b[2J\n")
    assert shown(shop).endswith("runbook       wait\\x1b[2J")


def test_only_files_in_the_folder_of_the_configuration_are_read(tmp_path: Path) -> None:
    """A path that leads out of it, a folder, or nothing, is shown as it is written, and `config check` says so."""
    (tmp_path / "secret.md").write_text("not yours")
    folder = tmp_path / "project"
    (folder / "folder.md").mkdir(parents=True)
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    for runbook in ("../secret.md", "link.md", "folder.md", "absent.md", str(tmp_path / "secret.md")):
        project = shop_with(folder, runbook).project()
        assert project.runbook(project.config.tables[0].checks[0]) == runbook
        (note,) = missing_runbooks(project.loaded)
        assert (note.code, note.line is not None) == ("config.runbook", True)
        (folder / "shop.sqlite").unlink()


@pytest.mark.parametrize("runbook", ["https://wiki.example/x.md", "'see x.md'", "'- a\n\n  - b.md'"])
def test_an_address_and_words_need_no_file(tmp_path: Path, runbook: str) -> None:
    """What cannot be the name of a file is no file that is missing."""
    assert list(missing_runbooks(shop_with(tmp_path, runbook).project().loaded)) == []


def test_a_long_file_is_cut_and_bytes_that_are_no_text_are_shown(tmp_path: Path) -> None:
    """An incident must be shown whatever its text is."""
    project = shop_with(tmp_path, "x.md").project()
    (tmp_path / "x.md").write_bytes(b"\xff" + b"a" * 100_000)
    text = project.runbook(project.config.tables[0].checks[0])
    assert text is not None
    assert (text[:2], len(text)) == ("\ufffda", 64 * 1024)


def test_an_alert_has_the_steps_as_text_and_as_html_and_calls_nobody(tmp_path: Path) -> None:
    """One line is a fact like others; more are a part of their own, cut where a message would become a book."""
    steps = STEPS.replace("\n", "\\n")
    project = made.project(tmp_path, book=('"https://wiki/orders"', f'"{steps}"'))
    payload = told(project, (made.incident(), NotificationReason.FIRST))
    message = compose(payload)
    assert "Runbook:\n# First\n\nAsk **the loader** `load.sh`:" in message.text
    assert "@channel" not in message.text
    assert message.html is not None
    assert "<h3>First</h3>" in message.html
    assert '<a href="https://logs.example/x" rel="noreferrer">log</a>' in message.html
    assert payload["incidents"][0]["runbook"] == STEPS.strip()
    over = told(project, (made.over(), NotificationReason.RESOLVED))
    assert "runbook" not in over["blocks"][0]
    long = made.project(tmp_path, book=('"https://wiki/orders"', '"' + "step\\n" * 1_000 + '"'))
    (block,) = told(long, (made.incident(), NotificationReason.FIRST))["blocks"]
    assert len(block["runbook"]["text"]) <= LONGEST_RUNBOOK + 2
    assert block["runbook"]["text"].endswith("step\n…")


def test_markdown_cannot_run_or_fetch_anything() -> None:
    """HTML stays text, images are text with a link at most, and links lead to http, https and mail only."""
    page = str(markdown_html(HOSTILE))
    assert set(re.findall(r"<(\w+)", page)) <= {"p", "a", "pre", "code"}
    assert re.findall(r'(?:href|src)="([^"]*)"', page) == ["https://evil.example/x.png"]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_headings_of_a_text_are_below_those_of_its_page() -> None:
    """The highest of them is on the third level, and none is below the sixth."""
    assert re.findall("<h[1-6]>", str(markdown_html("## a\n### b\n###### c"))) == ["<h3>", "<h4>", "<h6>"]
    assert re.findall("<h[1-6]>", str(markdown_html("a\n=\nb\n-"))) == ["<h3>", "<h4>"]


@pytest.mark.parametrize(
    ("runbook", "html"),
    [
        (
            '"# First\\n\\n[log](https://logs.example/x)"',
            '<h3>First</h3>\n<p><a href="https://logs.example/x" rel="noreferrer">',
        ),
        ("https://wiki.example/x.md", '<p><a href="https://wiki.example/x.md" rel="noreferrer">'),
    ],
)
def test_the_pages_of_an_incident_and_of_its_check_show_it(tmp_path: Path, runbook: str, html: str) -> None:
    """As a section of its own."""
    from tests.monitor.web.site import Site

    shop = shop_with(tmp_path, runbook)
    with shop.project().open_store() as store:
        site = Site(shop.project(), store, shop.clock)
        run_checks(site.project, select([], site.project.config), store=store)
        for page in ("/incidents/1", "/checks/orders.range"):
            assert f"<h2>Runbook</h2>\n{html}" in site.signed_in().get(page).text


def test_a_pass_shows_the_lines_below_each_other(tmp_path: Path) -> None:
    """Under the reason why the check matters."""
    shop = shop_with(tmp_path, '"a\\nb"')
    project = shop.project()
    result = run_checks(project, select([], project.config), store=None)
    assert "orders.range  runbook: a\n        b" in "\n".join(line.plain for line in pass_lines(result))
