"""`tablewatch report`."""

import json
import re

import pytest

from monitor.cli import run
from monitor.clock import SystemClock
from monitor.reporting.period import Week
from monitor.terminal.output import Invocation
from store import open_store
from tests.monitor.commands.terminal import Terminal
from tests.needs import chromium

CONFIG = """\
version: 1
project: shop <b>
timezone: Asia/Tokyo
locale: ja
storage: {url: "sqlite:///store.db"}
sources:
  shop: {url: "sqlite:///${SHOP_FILE:-shop}.db"}
tables:
  - {name: orders, source: shop, checks: [{type: not_null, columns: [id]}]}
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Work in a folder with a configuration and an empty store."""
    (tmp_path / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    open_store("sqlite:///store.db").close()
    return tmp_path


def weekly(capsys, *words):
    """Run the command and give its code and what it wrote."""
    code = run(["report", *words], Invocation())
    return code, capsys.readouterr()


def last_week():
    """Name the last week that is over."""
    return str(Week.last_complete(SystemClock().now(), "Asia/Tokyo"))


def test_page_to_standard_output(capsys):
    """By default the page of the last complete week is written to standard output, in the configuration's language."""
    code, said = weekly(capsys)
    assert code == 0
    assert said.out.startswith('<!doctype html>\n<html lang="ja">')
    assert last_week() in said.out
    assert "shop &lt;b&gt;" in said.out
    assert said.err == ""


@pytest.mark.parametrize(
    ("name", "words", "start"),
    [
        ("r.html", [], "<!doctype html>"),
        ("r.md", [], "# "),
        ("r.json", [], "{"),
        ("r.txt", ["--format", "markdown"], "# "),
        ("r", [], "<!doctype html>"),
        ("R.HTM", [], "<!doctype html>"),
        ("r.md", ["--format", "markdown"], "# "),
    ],
)
def test_file(capsys, here, name, words, start):
    """A file is written in the format asked for, else in that of its name; standard output stays empty."""
    code, said = weekly(capsys, "--out", name, *words)
    assert code == 0
    assert (here / name).read_text(encoding="utf-8").startswith(start)
    assert said.out == ""
    assert said.err == f"wrote {name}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--out", "r.odt"], "ends in '.odt', expected one of .html, .htm, .md, .json, .pdf"),
        (["--out", "r.pdf", "--format", "html"], "r.pdf has the file type pdf, but --format is html"),
        (["--format", "pdf"], "a PDF is written to a file, expected --out FILE.pdf"),
        (["--out", "r.txt"], "use --format"),
        (["--out", "r.DOCX"], "ends in '.docx'"),
        (["--out", "r.html", "--format", "json"], "r.html has the file type html, but --format is json"),
        (["--out", "r.json", "--format", "markdown"], "r.json has the file type json, but --format is markdown"),
    ],
)
def test_ending_refused(capsys, here, words, said):
    """An ending that no format has, or that is another's than --format, is refused, and nothing is written."""
    before = sorted(path.name for path in here.iterdir())
    code, shown = weekly(capsys, *words)
    assert code == 2
    result = " ".join((shown.err or json.loads(shown.out)["error"]).split())
    assert said in result
    assert sorted(path.name for path in here.iterdir()) == before


def browser_that(folder, monkeypatch, *lines):
    """Have a script stand in for the browser; `$out` is where it is to print to."""
    script = folder / "browser"
    setting = 'for word; do case "$word" in --print-to-pdf=*) out=${word#--print-to-pdf=};; esac; done'
    script.write_text("\n".join(["#!/bin/sh", setting, *lines]) + "\n", encoding="utf-8")
    script.chmod(0o700)
    monkeypatch.setenv("TABLEWATCH_CHROMIUM", str(script))


@pytest.mark.browser
def test_a_pdf_is_the_page_printed_by_the_browser(capsys, here, monkeypatch):
    """A4, with its text; standard output stays empty, and a file that exists is not replaced unasked."""
    monkeypatch.setenv("TABLEWATCH_CHROMIUM", str(chromium()))
    code, said = weekly(capsys, "--out", "r.pdf", "--locale", "en")
    assert (code, said.out, said.err) == (0, "", "wrote r.pdf\n")
    content = (here / "r.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    assert b"/MediaBox [0 0 594.95996 841.91998]" in content
    assert weekly(capsys, "--out", "r.pdf")[0] == 2
    assert (here / "r.pdf").read_bytes() == content


def test_the_browser_gets_the_page_and_may_reach_no_network(capsys, here, monkeypatch):
    """What it prints is written; a file of its own holds what it was called with."""
    browser_that(
        here,
        monkeypatch,
        'printf "%s\\n" "$@" > words',
        "for page; do :; done",
        'cp "${page#file://}" page.html',
        "printf '%%PDF-1.7' > \"$out\"",
    )
    assert weekly(capsys, "--out", "r.pdf")[0] == 0
    assert (here / "r.pdf").read_bytes() == b"%PDF-1.7"
    assert "--host-resolver-rules=MAP * ~NOTFOUND" in (here / "words").read_text().splitlines()
    assert "shop &lt;b&gt;" in (here / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("lines", [["exit 3"], ['echo no > "$out"']])
def test_a_browser_that_prints_nothing_leaves_no_file(capsys, here, monkeypatch, lines):
    """It could not be done, which is said with how the browser ended."""
    browser_that(here, monkeypatch, *lines)
    code, said = weekly(capsys, "--out", "r.pdf", "--format", "pdf")
    assert code == 3
    assert "browser printed nothing (exit code" in said.err
    assert not (here / "r.pdf").exists()


def test_without_a_browser_it_says_what_to_install(capsys, here, monkeypatch):
    """Before any work is done."""
    monkeypatch.delenv("TABLEWATCH_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(here))
    monkeypatch.setattr("monitor.reporting.pdf._PLACES", ())
    code, said = weekly(capsys, "--out", "r.pdf")
    assert code == 3
    assert "none is installed" in said.err
    monkeypatch.setenv("TABLEWATCH_CHROMIUM", "absent-browser")
    assert "absent-browser, which cannot be run" in " ".join(weekly(capsys, "--out", "r.pdf")[1].err.split())


def test_the_first_report_of_a_young_store_names_the_current_week(terminal: Terminal) -> None:
    """A week before the first check is empty: the command says why, and how to see what was found since."""
    assert terminal("check").code == 0
    empty = terminal("report", "--format", "json")
    assert empty.err == (
        "note: the first check ran after week 2026-W46; '--period current-week' reports what was found since\n"
    )
    current = terminal("report", "--period", "current-week", "--format", "json")
    assert (current.err, current.json["week"]) == ("", "2026-W47")
    assert terminal("report", "--period", "current-month", "--format", "json").json["month"] == "2026-11"
    assert "'--period current-quarter'" in terminal("report", "--period", "quarterly").err


def test_json(capsys):
    """With --format json standard output holds one JSON value, for the week and in the language asked for."""
    code, said = weekly(capsys, "--format", "json", "--period", "2026-W01", "--locale", "en")
    value = json.loads(said.out)
    assert code == 0
    assert (value["schema"], value["week"], value["locale"]) == ("tablewatch.weekly/2", "2026-W01", "en")
    assert value["headline"] == "Monitoring has not started: no check has run yet."
    assert value["figures"]["this_week"] is None
    assert value["coverage"]["watched_since"] is None


def test_json_before_the_command(capsys):
    """The format may also stand before the command, as for every command."""
    assert run(["--format", "json", "report"], Invocation()) == 0
    assert json.loads(capsys.readouterr().out)["week"] == last_week()


@pytest.mark.parametrize(
    ("week", "said"),
    [
        ("2026-46", "the months of a year are 1 to 12"),
        ("2025-W53", "the weeks of 2025 are 01 to 52"),
        ("2999-W01", "has not started"),
    ],
)
def test_week_refused(capsys, week, said):
    """A week that cannot be read, does not exist or has not started is refused with what to write."""
    code, shown = weekly(capsys, "--period", week, "--format", "json")
    assert code == 2
    (error,) = json.loads(shown.out)["errors"]
    assert error["code"] == "report.period"
    assert said in error["message"]


SCOPED = CONFIG + (
    "  - {name: visits, source: shop, domain: web, checks: [{type: not_null, columns: [id]}]}\n"
    "domains: {web: {title: The <web>, owner: team}, sales: {}}\n"
    "owners: {team: {name: The <team>}, desk: {}}\n"
    "products: {visitors: {title: All <visitors>, tables: [visits]}, orders-360: {tables: [orders]}}\n"
)


@pytest.mark.parametrize(
    ("kind", "key", "title", "words_before"),
    [
        ("domain", "web", "The <web>", {"en": "", "ja": ""}),
        ("owner", "team", "The <team>", {"en": "owner ", "ja": "担当者 "}),
        ("product", "visitors", "All <visitors>", {"en": "data product ", "ja": "データプロダクト "}),
    ],
)
def test_a_domain_an_owner_or_a_product_is_reported_alone(capsys, here, kind, key, title, words_before):
    """The page, the Markdown and the JSON name it, and count its tables only."""
    (here / "tablewatch.yaml").write_text(SCOPED, encoding="utf-8")
    shown = title.replace("<", "&lt;").replace(">", "&gt;")
    for frequency in ("weekly", "monthly", "quarterly"):
        words = ["report", "--period", frequency, f"--{kind}", key, "--format"]
        assert run([*words, "json"], Invocation()) == 0
        value = json.loads(capsys.readouterr().out)
        scopes = {"domain": None, "owner": None, "product": None, kind: {"key": key, "title": title}}
        assert {name: value[name] for name in scopes} == scopes
        assert (value["coverage"]["tables"], value["by_domain"], value["domains"]["shown"]) == (1, [], [])
        assert [product["product"] for product in value["products"]] == ["visitors"]
        for locale, word in words_before.items():
            assert run([*words, "html", "--locale", locale], Invocation()) == 0
            page = capsys.readouterr().out
            assert f"· {word}{shown}</h1>" in page
            assert f"· {shown}</title>" in page
            assert run([*words, "markdown", "--locale", locale], Invocation()) == 0
            assert f"· {word}{shown}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["--domain", "wep"], "domain 'wep' is not in the configuration", "did you mean 'web'?"),
        (["--owner", "teem"], "owner 'teem' is not in the configuration", "did you mean 'team'?"),
        (["--product", "x"], "product 'x' is not in the configuration", "known: orders-360, visitors"),
        (["--owner", "team", "--domain", "web"], "use at most one of --domain, --owner and --product", ""),
    ],
)
def test_what_is_not_configured_is_not_reported(capsys, here, words, message, hint):
    """An unknown name is refused with the names that there are; so are two at once, which are not intersected."""
    (here / "tablewatch.yaml").write_text(SCOPED, encoding="utf-8")
    code, output = weekly(capsys, *words)
    assert (code, output.out) == (2, "")
    text = " ".join(output.err.split())
    assert message in text
    assert hint in text


def test_a_report_of_everything_has_no_scope(capsys, here):
    """An owner or a domain without tables has a report without any."""
    (here / "tablewatch.yaml").write_text(SCOPED, encoding="utf-8")
    value = json.loads(weekly(capsys, "--format", "json")[1].out)
    assert (value["domain"], value["owner"], value["product"], value["coverage"]["tables"]) == (None, None, None, 2)
    empty = json.loads(weekly(capsys, "--format", "json", "--owner", "desk")[1].out)
    assert (empty["owner"]["key"], empty["coverage"]["tables"]) == ("desk", 0)
    assert empty["headline"] == "対象のテーブルがありません。"


def test_present_week(capsys):
    """The present week can be asked for, and says that it is not over."""
    present = str(Week.containing(SystemClock().now(), "Asia/Tokyo"))
    code, said = weekly(capsys, "--period", present, "--locale", "en")
    assert code == 0
    assert "week in progress" in said.out


@pytest.mark.parametrize(
    ("period", "unit", "schema", "english", "japanese"),
    [
        (
            "2026-02",
            "month",
            "tablewatch.monthly/2",
            "Data downtime in February 2026",
            "データダウンタイム 2026年2月",
        ),
        (
            "2026-Q1",
            "quarter",
            "tablewatch.quarterly/2",
            "Data downtime in quarter 1 of 2026",
            "データダウンタイム 2026年 第1四半期",
        ),
    ],
)
def test_months_and_quarters(capsys, period, unit, schema, english, japanese):
    """A month and a quarter have the same report, with their own words and keys, in both languages and each format."""
    for locale, title in (("en", english), ("ja", japanese)):
        assert run(["report", "--period", period, "--locale", locale], Invocation()) == 0
        page = capsys.readouterr().out
        assert f"<h1>{title}</h1>" in page
        assert run(["report", "--period", period, "--locale", locale, "--format", "markdown"], Invocation()) == 0
        text = capsys.readouterr().out
        assert text.startswith(f"# {title}\n")
        for problem in ("week ", "Week ", "今週", "先週"):
            assert problem not in (page + text).replace("Week from", "").replace("By week", "").replace("per week", "")
    assert run(["report", "--period", period, "--format", "json"], Invocation()) == 0
    value = json.loads(capsys.readouterr().out)
    assert (value["schema"], value[unit]) == (schema, period)
    assert set(value["figures"]) == {f"this_{unit}", f"last_{unit}", f"median_4_{unit}s"}
    assert value["trend"][-1][unit] == period
    assert value["by_week"][0]["date"] in ("2026-01-01", "2026-02-01")


def test_months_and_quarters_refused(capsys):
    """A month that has not started, and a text that is no period, are refused with what to write."""
    for period, text in (
        ("2999-01", "month 2999-01 has not started; the current month is"),
        ("yearly", "write year and ISO week such as 2026-W46, year and month such as 2026-11"),
        ("2026-13", "the months of a year are 1 to 12"),
        ("2026-Q7", "the quarters of a year are 1 to 4"),
    ):
        assert run(["report", "--period", period, "--format", "json"], Invocation()) == 2
        (error,) = json.loads(capsys.readouterr().out)["errors"]
        assert error["code"] == "report.period"
        assert text in error["message"]


def test_file_refused(capsys):
    """A file that cannot be written is an error that names it."""
    code, said = weekly(capsys, "--out", "nowhere/r.html")
    assert code == 2
    assert "the folder of 'nowhere/r.html' does not exist" in said.err


def test_language_refused(capsys):
    """A language that there is not is a usage error."""
    code, said = weekly(capsys, "--locale", "xx")
    assert code == 2
    assert "xx" in said.err


def test_each_monday_of_a_month_has_its_date_in_the_timeline(terminal: Terminal) -> None:
    """The last week too, where the month cuts off a day of it."""
    terminal("incident", "open", "--table", "orders", "--title", "late", "--occurred", "2026-10-14T10:10+09:00")
    page = terminal("report", "--period", "2026-10", "--format", "html").out
    weeks = page.split('<svg class="weekdays"')[1].split("</svg>")[0]
    assert re.findall(r">(Oct \d+)<", weeks) == ["Oct 5", "Oct 12", "Oct 19", "Oct 26"]


@pytest.mark.parametrize(("language", "words"), [("en", "monitoring had not started"), ("ja", "監視開始前")])
@pytest.mark.parametrize(
    ("period", "length"),
    [
        ("2026-W47", 114),
        ("2026-11", 474),
        ("2026-Q4", 1218),
    ],
)
def test_time_before_the_first_check_is_hatched(terminal: Terminal, period, length, language, words) -> None:
    """In the timeline of each period, up to the first run, in both languages; the coverage counts what came after."""
    terminal("check")
    terminal("incident", "open", "--table", "orders", "--title", "late", "--occurred", "2026-11-17T10:10+09:00")
    page = terminal("report", "--period", period, "--format", "html", "--locale", language).out.replace(
        "\N{NO-BREAK SPACE}", " "
    )
    unit = {"en": "h", "ja": "時間"}[language]
    assert re.search(rf"<desc [^>]*>{words}: {length:,} ?{unit}</desc>", page)
    assert len(re.findall(r'<rect [^>]*class="ground not-monitored" fill="url\(#unmonitored\)"><title>', page)) == 1
    coverage = json.loads(terminal("report", "--period", period, "--format", "json").out)["coverage"]
    assert coverage["unobserved_h"] == 0
