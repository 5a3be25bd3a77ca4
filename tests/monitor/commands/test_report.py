"""`tablewatch report weekly`."""

import json

import pytest

from monitor.cli import run
from monitor.clock import SystemClock
from monitor.reporting.week import Week
from monitor.terminal.output import Invocation

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
    return tmp_path


def weekly(capsys, *words):
    """Run the command and give its code and what it wrote."""
    code = run(["report", "weekly", *words], Invocation())
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
        ("r.pdf", ["--format", "html"], "<!doctype html>"),
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
        (["--out", "r.pdf"], "ends in '.pdf', expected one of .html, .htm, .md, .json"),
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
    told = " ".join((shown.err or json.loads(shown.out)["error"]).split())
    assert said in told
    assert sorted(path.name for path in here.iterdir()) == before


def test_json(capsys):
    """With --format json standard output holds one JSON value, for the week and in the language asked for."""
    code, said = weekly(capsys, "--format", "json", "--week", "2026-W01", "--locale", "en")
    value = json.loads(said.out)
    assert code == 0
    assert (value["schema"], value["week"], value["locale"]) == ("tablewatch.weekly/1", "2026-W01", "en")
    assert value["headline"] == "Monitoring has not started: no check has run yet."
    assert value["figures"]["this_week"] is None
    assert value["coverage"]["watched_since"] is None


def test_json_before_the_command(capsys):
    """The format may also stand before the command, as for every command."""
    assert run(["--format", "json", "report", "weekly"], Invocation()) == 0
    assert json.loads(capsys.readouterr().out)["week"] == last_week()


@pytest.mark.parametrize(
    ("week", "said"),
    [
        ("2026-46", "write year and ISO week such as 2026-W46"),
        ("2025-W53", "the weeks of 2025 are 01 to 52"),
        ("2999-W01", "has not started"),
    ],
)
def test_week_refused(capsys, week, said):
    """A week that cannot be read, does not exist or has not started is refused with what to write."""
    code, shown = weekly(capsys, "--week", week, "--format", "json")
    assert code == 2
    (error,) = json.loads(shown.out)["errors"]
    assert error["code"] == "report.week"
    assert said in error["message"]


def test_present_week(capsys):
    """The present week can be asked for, and says that it is not over."""
    present = str(Week.containing(SystemClock().now(), "Asia/Tokyo"))
    code, said = weekly(capsys, "--week", present, "--locale", "en")
    assert code == 0
    assert "week in progress" in said.out


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
