"""`tablewatch config`."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.cli import run
from monitor.terminal.output import Invocation

_SECRET = "hunter2-and-more"  # noqa: S105 - the test's own secret
_CONFIG = """\
version: 1
project: shop
sources:
  shop: {url: "postgresql://me:${PW}@host/db", query_timeout: 90s}
  lake: {files: "*.csv"}
owners:
  crew: {name: "${CREW:-The crew}"}
tables:
  - {name: orders, source: shop, owner: crew, checks: [{type: not_null, columns: [id]}]}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a configuration whose password comes from the environment."""
    (tmp_path / "tablewatch.yaml").write_text(_CONFIG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PW", _SECRET)
    return tmp_path


def _config(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = run(["config", *words], Invocation())
    said = capsys.readouterr()
    return code, said.out, said.err


def _value(*words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    code, out, err = _config(*words, "--format", "json", capsys=capsys)
    assert (code, err) == (0, "")
    return json.loads(out)


def test_a_good_configuration_is_summed_up(capsys: pytest.CaptureFixture[str]) -> None:
    """What was read is reported in a line, or as JSON with the digest."""
    assert _config("check", capsys=capsys) == (0, "ok  shop: 1 table, 1 check in tablewatch.yaml\n", "")
    value = _value("check", capsys=capsys)
    digest = value.pop("digest")
    assert len(digest) == 16
    assert value == {
        "schema": "tablewatch.config-check/1",
        "ok": True,
        "project": "shop",
        "files": ["tablewatch.yaml"],
        "tables": 1,
        "checks": 1,
        "notes": [],
    }


def test_what_is_shown_is_masked(capsys: pytest.CaptureFixture[str]) -> None:
    """Values from the environment never appear; defaults that stand in the file do."""
    for words in (["show"], ["show", "--redacted"], ["show", "--defaults"], ["show", "--format", "json"]):
        code, out, _ = _config(*words, capsys=capsys)
        assert code == 0
        assert _SECRET not in out
        assert "postgresql://me:***@host/db" in out
        assert "The crew" in out


def test_what_is_shown_is_a_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    """The shown text is YAML with the values in force; with `--defaults` also the defaults."""
    _, out, _ = _config("show", capsys=capsys)
    shown = yaml.safe_load(out)
    assert list(shown) == ["version", "project", "sources", "owners", "tables"]
    assert shown["sources"]["shop"] == {"url": "postgresql://me:***@host/db", "query_timeout": "90s"}
    whole = _value("show", "--defaults", capsys=capsys)["config"]
    assert whole["sources"]["shop"]["query_timeout"] == "90s"
    assert whole["sources"]["lake"]["query_timeout"] == "1m"
    assert whole["tables"][0]["checks"][0]["severity"] == "error"
    assert whole["alerts"]["resolve_after"] == 2


def test_everything_is_revealed_on_request_only(capsys: pytest.CaptureFixture[str]) -> None:
    """`--reveal` is the one way to see a secret."""
    for words in (["show", "--reveal"], ["show", "--reveal", "--defaults"]):
        _, out, _ = _config(*words, capsys=capsys)
        assert f"postgresql://me:{_SECRET}@host/db" in out


def test_errors_are_masked_too(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A password that stands in the file is masked in the quoted line and in the JSON."""
    text = _CONFIG.replace("${PW}", "plain-password").replace("query_timeout: 90s", "query_timeout: ${PW}")
    (here / "tablewatch.yaml").write_text(text.replace("${PW}", '"${PW}"'), encoding="utf-8")
    code, out, err = _config("check", capsys=capsys)
    assert (code, out) == (2, "")
    assert '4 |  shop: {url: "postgresql://me:***@host/db"' in err
    assert "plain-password" not in err
    assert _SECRET not in err
    _, out, _ = _config("check", "--format", "json", capsys=capsys)
    assert "'query_timeout' takes a duration such as 26h, not '***'" in json.loads(out)["error"]


def test_the_schema_is_json_for_people_too(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The schema is printed as it is, or written to a file whose folder is made."""
    _, out, _ = _config("schema", capsys=capsys)
    schema = json.loads(out)
    assert schema["title"] == "Tablewatch configuration"
    path = here / ".tablewatch" / "schema.json"
    assert _config("schema", "--write", str(path), capsys=capsys)[:2] == (0, f"wrote {path}\n")
    assert json.loads(path.read_text(encoding="utf-8")) == schema


def test_a_schema_that_cannot_be_written_says_so(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder where a file is expected is wrong usage, not a crash."""
    code, out, _ = _config("schema", "--write", str(here), "--format", "json", capsys=capsys)
    assert code == 2
    assert json.loads(out)["errors"][0]["code"] == "file.not_written"


def test_expectations_are_looked_up(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`config check` asks Great Expectations whether an expectation exists, takes its arguments and fits the source."""
    text = """\
version: 1
project: shop
sources:
  db: {url: "sqlite:///shop.db"}
tables:
  - name: orders
    source: db
    checks:
      - {id: fine, type: expectation, expectation: ExpectColumnValuesToNotBeNull, kwargs: {column: id}}
      - {id: unknown, type: expectation, expectation: ExpectColumnValuesToNotBeNul, kwargs: {column: id}}
      - {id: strange, type: expectation, expectation: ExpectColumnValuesToNotBeNull, kwargs: {colum: id}}
"""
    (here / "tablewatch.yaml").write_text(text, encoding="utf-8")
    code, out, _ = _config("check", "--format", "json", capsys=capsys)
    errors = json.loads(out)["errors"]
    assert code == 2
    assert [(error["code"], error["line"]) for error in errors] == [
        ("config.expectation", 10),
        ("config.expectation", 11),
    ]
    assert "did you mean 'ExpectColumnValuesToNotBeNull'?" in errors[0]["message"]
    assert "colum" in errors[1]["message"]


def test_sql_that_no_engine_could_read_is_an_error(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A filter or query is parsed in its source's dialect, and each error stands in its place."""
    checks = """\
      - {id: a, type: not_null, columns: [id], where: "status ="}
      - {id: b, type: not_null, columns: [id], where: "status = 'paid'"}
      - {id: c, type: sql, query: "DELETE FROM orders"}
      - {id: d, type: sql, query: "SELECT id FROM orders WHERE amount < 0"}
"""
    text = _CONFIG.partition("tables:")[0] + "tables:\n  - name: orders\n    source: lake\n    checks:\n" + checks
    (here / "tablewatch.yaml").write_text(text, encoding="utf-8")
    code, out, _ = _config("check", "--format", "json", capsys=capsys)
    found = [(one["code"], one["line"], one["message"]) for one in json.loads(out)["errors"]]
    assert code == 2
    assert found == [
        ("config.sql", 12, "'where' is not one boolean expression in the dialect duckdb (line 1, column 8)"),
        ("config.sql", 14, "'query' begins with 'DELETE'; write one SELECT"),
    ]


def test_an_owner_who_would_hear_nothing_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A route without a match applies to everything, so that owners' own channels are never used: that is said."""
    channels = 'channels: {ops: {apprise: "json://localhost:9/"}, all: {apprise: "json://a/"}}'
    _watch_alone(here, f"alerts: {{{channels}}}")
    code, _, err = _config("check", capsys=capsys)
    assert (code, err) == (0, "")
    _watch_alone(here, f"alerts: {{{channels}, routes: [{{to: [all]}}]}}")
    code, _, err = _config("check", capsys=capsys)
    assert code == 0
    assert "owner 'desk' gets no alerts on ops: route 1 has no match, so it always applies" in err


def _watch_alone(here: Path, alerts: str) -> None:
    text = (
        "version: 1\nproject: p\nsources: {files: {files: '*.csv'}}\n"
        "owners: {desk: {channel: ops}}\ntables:\n"
        "  - {name: orders, source: files, owner: desk, checks: [{type: not_null, columns: [id]}]}\n"
    )
    (here / "orders.csv").write_text("id\n1\n", encoding="utf-8")
    (here / "tablewatch.yaml").write_text(f"{text}{alerts}\n", encoding="utf-8")


def test_an_address_that_apprise_does_not_understand_is_an_error(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A slip in a channel is an error of `config check`, without the address."""
    channels = "{chat: {apprise: 'slack://canary-token'}, desk: {apprise: 'json://localhost'}}"
    (here / "tablewatch.yaml").write_text(f"{_CONFIG}alerts:\n  channels: {channels}\n", encoding="utf-8")
    code, out, err = _config("check", "--format", "json", capsys=capsys)
    found = [(one["code"], one["line"]) for one in json.loads(out)["errors"]]
    assert (code, found) == (2, [("config.channel", 11)])
    assert "does not understand this address" in out
    assert "canary" not in out + err


_KEPT = """\
version: 1
project: shop
storage: {{url: "{url}"{key}}}
sources: {{lake: {{files: "*.csv"}}}}
tables:
  - name: orders
    source: lake
    checks:
      - {{type: k_anonymity, quasi_identifiers: [a], k: 2}}
      - {{id: kept, type: k_anonymity, quasi_identifiers: [a], k: 2, incremental: {{mode: append, watermark: at}}}}
      - {{type: re_release, person: [id], quasi_identifiers: [a], k: 2}}
"""
_SERVER = "postgresql://somebody@host/tablewatch"


def test_signatures_on_a_server_need_a_key(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A check that keeps signatures in a store on PostgreSQL is refused until there is a key for them."""
    (here / "tablewatch.yaml").write_text(_KEPT.format(url=_SERVER, key=""), encoding="utf-8")
    code, out, _ = _config("check", "--format", "json", capsys=capsys)
    errors = json.loads(out)["errors"]
    assert code == 2
    assert [(error["code"], error["line"]) for error in errors] == [
        ("config.no_signature_key", 10),
        ("config.no_signature_key", 11),
    ]
    assert errors[0]["message"].startswith(
        "orders.kept stores signatures of rows or segments, which needs a signature key on PostgreSQL"
    )
    assert errors[1]["message"].startswith("orders.re-release stores")
    assert "storage.signature_key" in errors[0]["hint"]


@pytest.mark.parametrize(
    ("url", "key"), [(_SERVER, ", signature_key: a long random text"), ("sqlite:///tablewatch.db", "")]
)
def test_signatures_that_have_a_key_are_fine(
    here: Path, capsys: pytest.CaptureFixture[str], url: str, key: str
) -> None:
    """A key that is given, or the file beside a SQLite store, is enough."""
    (here / "tablewatch.yaml").write_text(_KEPT.format(url=url, key=key), encoding="utf-8")
    assert _value("check", capsys=capsys)["ok"]
