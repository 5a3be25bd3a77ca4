"""Make Tablewatch do all it can do over planted tables: every command, every failure, the daemon with its alerts."""

import json
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.monitor.commands.test_hostile_arguments import COMMANDS, needs_words
from tests.monitor.daemon.running import until
from tests.privacy.cases import DEADLY
from tests.privacy.place import FOLLOWING, LAST_WEEK, NOW, PATIENCE_S, Place
from tests.privacy.planted import COLUMNS, PLANTS, Harvest, plant_broken
from tests.privacy.tokens import SECRET, WORD

WEEK: Final = LAST_WEEK.strftime("%G-W%V")
NO_GX: Final = "!type:expectation"
EXPECT: Final = frozenset({"sqlite", "postgresql", "spark"})
"""Engines on which Great Expectations is asked here; `test_expectations` asks it everything."""
FULL: Final = frozenset({"sqlite", "csv"})
"""Engines on which the good table is asked everything too, and workers ask; the others are DuckDB once more."""
SHARED: Final = "shared.html"
"""A file that was there before a report is written over it, and that others may read."""
SLOW: Final = (
    "SELECT name FROM people, (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n) m"
)
_BROKEN: Final = (
    "alerts: {channels: {a: {webhook: {url: 'ftp://h/%s'}}}}",
    "alerts: {channels: {a: {webhook: {url: ['%s'], secret: {x: %s}}}}}",
    "alerts: {channels: {a: {apprise: {url: '%s'}}}}\ndaemon: {heartbeat_url: 'gopher://h/%s'}",
    "storage: {url: ['postgresql://u:%s@h/d']}\nsources: {a: {url: {x: 'postgresql://u:%s@h/d'}}}",
    "sources: {a: {url: 'postgresql://u:%s@h/d', files: 'x.csv'}}\nalerts: 'slack://a:%s@b'",
    "alerts: {channels: {a: {webhook: {secret: '%s}}}}",
    "alerts:\n  channels:\n   a: {apprise: slack://%s/b\n  - wrong: [",
)


def plant(place: Place, plants: Iterable[str] = PLANTS) -> Harvest:
    """Fill the folder of data, and watch all of it."""
    harvest = Harvest(place.tokens, loaded_at=NOW - timedelta(hours=4))
    hourly = {"schedule": "every 1h"}
    for name in plants:
        folder = place.folder / "data" / name
        folder.mkdir()
        placed = _below(name, PLANTS[name](folder, harvest))
        full = name in FULL
        place.watch(name, placed, expects=name in EXPECT, full=full, **(hourly if full else {}))
    folder = place.folder / "data" / "broken"
    folder.mkdir()
    for name, source in plant_broken(folder, place.tokens).items():
        place.add(name, _below("broken", source))
        check = {"type": "not_null", "columns": ["name"]}
        table = Path(str(source.get("files", "people"))).stem
        place.table(f"{name}.table", name, table, [check], schedule="every 1h")
    slow = {"url": "sqlite:///sqlite/planted.sqlite", "query_timeout": "1s", "run_timeout": "3s"}
    place.add("slow", slow)
    place.table("slow.people", "slow", "people", [{"id": "endless", "type": "sql", "query": SLOW}], schedule="every 1h")
    elsewhere = [{"type": "external", "origin": "dbt", "id": "names", "reference": "test.shop.names.1"}]
    place.table(
        "elsewhere.people", "sqlite", "tidy", [*elsewhere, {"type": "external", "origin": "other", "id": "sums"}]
    )
    place.table("missing.people", "sqlite", "peple", [{"type": "not_null", "columns": ["name"]}], schedule="every 1h")
    return harvest


def _below(folder: str, source: Mapping[str, Any]) -> dict[str, Any]:
    """Let a source's file lie in a folder below that of the data."""
    placed = dict(source)
    if "files" in placed:
        placed["files"] = f"{folder}/{placed['files']}"
    if ":///" in str(placed.get("url")):
        placed["url"] = placed["url"].replace(":///", f":///{folder}/")
    return placed


def play_commands(place: Place) -> None:
    """Run every command: a look last week, one now, all that reads, what goes wrong, and the copy of the store."""
    place.configure()
    _break(place)
    _protect(place)
    place.session(
        ("check-last-week", ["check", "csv.people", "sqlite.people", NO_GX, "--format", "json"]), at=LAST_WEEK
    )
    steps = [
        ("remember", ["privacy", "risk", "remember", "sqlite.people", "--as", "spring"]),
        ("check", ["check", "--format", "json"]),
        ("check-human", ["check", NO_GX, "!source:duckdb", "!source:parquet", "--show-rows", "3", "--show-sql"]),
        ("check-no-store", ["check", "duckdb.*_slip", "--no-store", "--only-failed"]),
        ("diff", ["diff", "csv.people", "sqlite.people", "--key", "id", "--columns", "name,fee", "--show-rows", "3"]),
        ("diff-by-name", ["diff", "sqlite.people", "duckdb.people", "--key", "name,id", "--format", "json"]),
        ("run-once", ["run", "--once"]),
        *_reading(),
        *_changing(),
    ]
    place.session(
        *steps,
        *_plain(steps),
        *((f"broken-{number}", ["config", "check", "-c", f"torn/{number}.yaml"]) for number in range(len(_BROKEN))),
        *((f"broken-json-{number}", ["check", "--format", "json", "-c", f"torn/{number}.yaml"]) for number in range(2)),
    )
    place.session(
        ("crash", ["check", "sqlite.*_slip", "--format", "json"]),
        ("crash-human", ["check", "sqlite.*_slip"]),
        CANARY_CRASH="1",
    )


def _reading() -> list[tuple[str, list[str]]]:
    """Return the commands that show what is known."""
    shown = [("status", ["status"]), ("tables", ["table", "list"]), ("incidents", ["incident", "list"])]
    shown += [(f"incident-{number}", ["incident", "show", str(number)]) for number in range(1, 12)]
    shown += [(f"causes-{number}", ["incident", "causes", str(number)]) for number in range(1, 12)]
    shown += [("brief", ["incident", "brief", "1"]), ("post-mortem", ["incident", "brief", "2", "--post-mortem"])]
    shown += [(f"table-{name}", ["table", "show", name]) for name in ("sqlite.people", "slow.people")]
    shown += [("coverage", ["coverage"]), ("audit", ["audit"]), ("table-refresh", ["table", "refresh"])]
    shown += [("table-rename", ["table", "rename", "csv.people", "csv.persons"])]
    shown += [("config-rename", ["config", "rename", "check", "sqlite.people.not-null", "sqlite.people.present"])]
    shown += [("downtime", ["downtime", "--by", "table"]), ("log", ["alert", "log"]), ("doctor", ["doctor"])]
    shown += [("simulation", ["simulate", "--schedule", "every 20m", "--open-after", "2", "--format", "json"])]
    shown += [("on-call", ["alert", "on-call"])]
    shown += [("route", ["alert", "route", "--table", "sqlite.people", "--severity", "error"])]
    quasi = ["-q", "name,fee", "--k", "2"]
    shown += [("risk", ["risk", "sqlite.people", *quasi, "-s", "email", "--t", "0.1", "--sampling-fraction", "0.1"])]
    shown += [("risk-json", ["privacy", "risk", "table", "csv.people", *quasi, "--format", "json"])]
    shown += [("risk-subsets", ["privacy", "risk", "subsets", "sqlite.people", *quasi[:2]])]
    shown += [("risk-linkage", ["privacy", "risk", "linkage", "sqlite.people", "sqlite.tidy", "--on", "name,email"])]
    people = ["--population", "sqlite.tidy", "--max-presence", "0.1"]
    shown += [("risk-population", ["risk", "sqlite.people", "-q", "name,email", "--k", "2", *people])]
    shown += [("risk-suggest", ["privacy", "risk", "suggest", "sqlite.people"])]
    shown += [("risk-strange", ["risk", "sqlite.people", "-q", "nowhere"])]
    shown += [("backfill", ["backfill", "sqlite.people", "--from", "3d", "--every", "1d"])]
    shown += [("suggest", ["suggest", "csv.people", "sqlite.people", "duckdb.tidy"])]
    shown += [("config", ["config", "show"]), ("config-whole", ["config", "show", "--defaults"])]
    shown += [("config-check", ["config", "check"]), ("config-diff", ["config", "diff", "torn/0.yaml"])]
    both = [
        (f"{name}-json", [*words, "--format", "json"])
        for name, words in shown
        if not name.startswith(("incident-1", "table-slow"))
    ]
    reports = [
        (
            f"report-{locale}-{kind}",
            ["report", "--period", WEEK, "--locale", locale, "--out", f"week.{locale}.{kind}"],
        )
        for locale in ("en", "ja")
        for kind in ("html", "md", "json")
    ]
    month, quarter = LAST_WEEK.strftime("%Y-%m"), f"{LAST_WEEK.year}-Q{(LAST_WEEK.month + 2) // 3}"
    reports += [
        ("report-month", ["report", "--period", month, "--out", "month.html"]),
        ("report-quarter", ["report", "--period", quarter, "--out", "quarter.json"]),
        ("report-owner", ["report", "--period", WEEK, "--owner", "desk"]),
        ("report-product", ["report", "--period", WEEK, "--product", "first", "--format", "markdown"]),
    ]
    return shown + both + reports + [("report", ["report", "--period", WEEK])]


def _changing() -> list[tuple[str, list[str]]]:
    """Return the commands that write: to the store, to files, to channels."""
    channels = ("hook", "door", "ja", "closed", "inside", "shut", "chat", "nobody", *FOLLOWING)
    fee = ("--columns", "fee", "--k", "2", "--sweeps", "1")
    tests = [(f"test-{name}", ["alert", "test", name]) for name in channels]
    tests += [(f"test-{name}-report", ["alert", "test", name, "--as", "report"]) for name in channels[:2]]
    return [
        ("web-link", ["account", "login-link", "--as", "mia"]),
        ("web-token", ["account", "token", "add", "ci"]),
        ("web-user", ["account", "user", "add", "mia", "--no-password"]),
        ("web-change", ["account", "user", "change", "mia", "--role", "responder"]),
        ("web-password", ["account", "user", "password", "mia"]),
        ("web-users", ["account", "user", "list"]),
        ("web-session", ["account", "session", "end", "0123456789abcdef"]),
        ("serve", ["serve", "--host", "192.0.2.1"]),
        ("ack", ["incident", "ack", "1"]),
        ("comment", ["incident", "comment", "1", "looked at it"]),
        ("resolve", ["incident", "resolve", "2", "--as", "fixed", "--force"]),
        ("reopen", ["incident", "reopen", "2"]),
        ("assign", ["incident", "assign", "1", "desk"]),
        ("snooze", ["incident", "snooze", "3", "--for", "1h"]),
        ("correct", ["incident", "correct", "4", "--occurred", (LAST_WEEK - timedelta(hours=1)).isoformat()]),
        ("merge", ["incident", "merge", "5", "6", "--force"]),
        ("root", ["incident", "root", "7", "8"]),
        ("open", ["incident", "open", "--table", "csv.people", "--title", "somebody called"]),
        ("import-incidents", ["import", "incidents", "torn/tickets.csv"]),
        ("contracts", ["contract", "show"]),
        ("products", ["product", "list"]),
        ("product", ["product", "show", "people"]),
        ("import-contract", ["import", "contract", "torn/0.yaml"]),
        ("import-dbt", ["import", "dbt", "torn/run_results.json"]),
        ("import-results", ["import", "results", "torn/results.json"]),
        ("import-openlineage", ["import", "openlineage", "torn/results.json"]),
        ("export-openlineage", ["export", "openlineage", "--since", "30d"]),
        ("mcp", ["mcp"]),
        *((f"dev-{kind}", ["dev", f"new-{kind}", "canary"]) for kind in ("check", "channel", "source")),
        ("event", ["event", "add", "deploy", "--table", "csv.people", "--note", "loader 2.3"]),
        ("events", ["event", "list"]),
        ("event-remove", ["event", "remove", "1"]),
        ("silence", ["silence", "add", "--table", "csv.tidy", "--for", "1h", "--reason", "planned"]),
        ("silences", ["silence", "list"]),
        ("silence-end", ["silence", "end", "1"]),
        ("config-change", ["config", "change", "csv.tidy", "description: tidy"]),
        ("status-page", ["status-page", "add", "--table", "csv.tidy"]),
        ("status-page-rotate", ["status-page", "rotate", "1"]),
        ("status-page-list", ["status-page", "list"]),
        ("status-page-write", ["status-page", "write", "status", "--table", "csv.tidy"]),
        ("status-page-revoke", ["status-page", "revoke", "2"]),
        *tests,
        ("enable", ["alert", "enable", "closed"]),
        ("export", ["export", "gx", "--out", "suites"]),
        ("export-contract", ["export", "contract", "sqlite.people"]),
        ("import-gx", ["import", "gx", "suites/sqlite.people.json", "--table", "sqlite.people"]),
        ("estimate", ["downtime", "estimate", "--tables", "9"]),
        ("adopt", ["config", "adopt-store"]),
        ("report-over", ["report", "--period", WEEK, "--out", SHARED, "--force"]),
        ("schema", ["config", "schema", "--write", "made/schema.json"]),
        ("init-sqlite", ["init", "first/sqlite", "--source", "sqlite:///../data/sqlite/planted.sqlite"]),
        ("init-csv", ["init", "first/csv", "--source", "../data/csv/*.csv"]),
        ("init-broken", ["init", "first/broken", "--source", "../data/broken/*.csv"]),
        ("remedy", ["privacy", "remedy", "microaggregate", "csv.tidy", "given/a.csv", *fee]),
        ("remedy-json", ["privacy", "remedy", "microaggregate", "csv.tidy", "given/b.csv", *fee, "--format", "json"]),
        ("remedy-names", ["privacy", "remedy", "microaggregate", "csv.tidy", "given/c.csv", "--columns", "name"]),
        (
            "remedy-few",
            ["privacy", "remedy", "microaggregate", "csv.tidy", "given/d.csv", "--columns", "fee", "--k", "99"],
        ),
        *_recodings(),
        *_randomising(),
        *_answering(),
        *_releasing(),
        ("backup", ["backup", "first-copy.db"]),
        ("backup-json", ["backup", "copy.db", "--format", "json"]),
        ("restore", ["restore", "copy.db"]),
        ("store-copy", ["store", "copy", "--cancel"]),
    ]


def _plain(steps: Iterable[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    """Return the commands that no step runs and that need no words; `demo` watches tables of its own only."""
    runs = {" ".join(words[:many]) for _, words in steps for many in (1, 2, 3)} | {"demo"}
    return [(name.replace(" ", "-"), name.split()) for name in COMMANDS if name not in runs and not needs_words(name)]


def _recodings() -> list[tuple[str, list[str]]]:
    """Return remedies that recode: what is written is data, what is said of it is not."""
    asked = ("-q", "name,fee", "--k", "2", "--hierarchy", "name=flat", "--hierarchy", "fee=1000,100000")
    secret = ("--l", "email=2", "--t", "email=0.9", "--suppress", "50%")
    few = ("csv.people", "given/i.csv", "-q", "name", "--hierarchy")
    query = "SELECT name, sum(fee) AS fee FROM data GROUP BY name"
    return [
        (
            "generalise",
            ["privacy", "remedy", "generalise", "csv.tidy", "given/e.csv", *asked, *secret, "--analysis", query],
        ),
        (
            "generalise-json",
            ["privacy", "remedy", "generalise", "sqlite.tidy", "given/f.csv", *asked, *secret, "--format", "json"],
        ),
        ("generalise-names", ["privacy", "remedy", "generalise", *few, "name=torn/names.csv"]),
        ("generalise-names-json", ["privacy", "remedy", "generalise", *few, "name=torn/names.csv", "--format", "json"]),
        ("generalise-widths", ["privacy", "remedy", "generalise", *few, "name=5"]),
        ("generalise-order", ["privacy", "remedy", "generalise", *few, "name=flat", "--t", "email=0.1:ordered"]),
        ("generalise-refused", ["privacy", "remedy", "generalise", *few, "name=flat", "--levels", "name=0"]),
        ("lattice", ["privacy", "remedy", "lattice", "csv.tidy", *asked, "--all"]),
        ("lattice-json", ["privacy", "remedy", "lattice", "duckdb.tidy", *asked, "--all", "--format", "json"]),
        ("suppress", ["privacy", "remedy", "suppress", "csv.tidy", "given/g.csv", *asked[:4], "--cells"]),
        (
            "suppress-json",
            ["privacy", "remedy", "suppress", "csv.people", "given/h.csv", *asked[:4], "--format", "json"],
        ),
        ("code", ["privacy", "remedy", "code", "csv.tidy", "given/j.csv", "--top", "fee=500"]),
        (
            "code-names",
            ["privacy", "remedy", "code", "csv.people", "given/k.csv", "--top", "name=500", "--format", "json"],
        ),
    ]


def _randomising() -> list[tuple[str, list[str]]]:
    """Return what randomises and compares: the domains are declared, and hold none of the values."""
    domains = ("--domain", "name=one,two", "--domain", "fee=0..9")
    others = ("--other", "name=one", "--other", "fee=0")
    out = ["privacy", "remedy", "randomise"]
    agreed = ("--domain", "one,two", "--epsilon", "1")
    return [
        ("randomise", [*out, "csv.tidy", "given/l.csv", *domains, *others, "--epsilon", "1", "--drop-rest"]),
        ("randomise-json", [*out, "csv.people", "given/m.csv", *domains, *others, "--pk", "2", "--format", "json"]),
        ("randomise-outside", [*out, "csv.people", "given/n.csv", *domains, "--epsilon", "1"]),
        ("synthesise", [*out[:2], "synthesise", "csv.people", "given/s.csv", *domains, "--epsilon", "1"]),
        ("reconstruct", ["privacy", "remedy", "reconstruct", "given/l.csv", "--mechanism", "given/l.csv"]),
        ("compare", ["privacy", "disclosure", "compare", "csv.tidy", *domains, *others, "--runs", "2"]),
        ("compare-json", ["privacy", "disclosure", "compare", "sqlite.tidy", *domains, *others, "--format", "json"]),
        ("compare-outside", ["privacy", "disclosure", "compare", "csv.people", *domains, "--weight", "email"]),
        ("perturb", ["privacy", "local", "perturb", "one", *agreed]),
        ("estimate-local", ["privacy", "local", "estimate", "given/l.csv", *agreed]),
        ("choose", ["privacy", "local", "choose", *agreed]),
    ]


def _answering() -> list[tuple[str, list[str]]]:
    """Return what asks a protected table: the noise is large beside its few rows."""
    at, cost = ("-c", "asked/tablewatch.yaml"), ("--epsilon", "0.1")
    return [
        ("budget-create", ["privacy", "budget", "create", "people", *at]),
        ("budget-change", ["privacy", "budget", "change", "people", "--total", "9", "--reason", "more is asked", *at]),
        ("answer-count", ["privacy", "answer", "count", "people", *cost, *at]),
        ("answer-histogram", ["privacy", "answer", "histogram", "people", "--by", "name", *cost, *at]),
        ("answer-sum", ["privacy", "answer", "sum", "people", "fee", *cost, *at, "--format", "json"]),
        ("answer-mean", ["privacy", "answer", "mean", "people", "fee", *cost, *at]),
        ("answer-quantile", ["privacy", "answer", "quantile", "people", "fee", *cost, *at]),
        ("answer-gone", ["privacy", "answer", "count", "gone", *cost, *at]),
        ("answer-list", ["privacy", "answer", "list", "people", *at]),
        ("budget-show", ["privacy", "budget", "show", *at]),
        ("budget-verify", ["privacy", "budget", "verify", *at]),
        ("budget-resume", ["privacy", "budget", "resume", "--reason", "nothing is wrong", *at]),
    ]


def _releasing() -> list[tuple[str, list[str]]]:
    """Return the way of a release: what it writes is data, what is said of it is not."""
    at, out = ("-c", "asked/tablewatch.yaml"), ("--out", "given/o.csv")
    return [
        ("release-list", ["release", "list", *at]),
        ("release-assess", ["release", "assess", "out", *at]),
        ("release-compare", ["release", "compare", "out", "--html", "made/compare.html", *at]),
        ("release-approve", ["release", "approve", "out", "--remedy", "suppress", "--note", "seen", *at]),
        ("release-export", ["release", "export", "out", "--remedy", "suppress", *out, *at]),
        ("release-approve-all", ["release", "approve", "out", "--remedy", "generalise", "--note", "seen", *at]),
        ("release-export-all", ["release", "export", "out", "--remedy", "generalise", "--out", "given/p.csv", *at]),
        ("release-verify", ["release", "verify", "given/p.csv", *at]),
        ("release-record", ["release", "record", "out", "--format", "html", "--out", "made/record.html", *at]),
        ("release-hold", ["release", "hold", "out", "--note", "enough", *at]),
    ]


def _protect(place: Place) -> None:
    """Write a project of its own, whose table is asked with noise and given away."""
    folder = place.work / "asked"
    folder.mkdir(mode=0o700)
    words = dict.fromkeys(COLUMNS, "other") | {"name": "quasi-identifier", "fee": "quasi-identifier"}
    domain = {"name": ["one", "two"], "fee": {"low": 0, "high": 10_000}}
    config = {
        "version": 1,
        "project": "asked",
        "storage": {"url": f"sqlite:///{folder}/asked.db"},
        "sources": {"csv": {"files": str(place.folder / "data" / "csv" / "people.csv")}},
        "tables": [{"name": "people", "source": "csv"}],
        "budgets": {"people": {"total": 5, "domain": domain}},
        "releases": {
            "out": {"table": "people", "columns": words, "limits": {"k": 2},
                    "remedies": [{"remedy": "generalise"}, {"remedy": "suppress"}]},
        },
    }  # fmt: skip
    file = folder / "tablewatch.yaml"
    file.write_text(json.dumps(config, indent=1), encoding="utf-8")
    file.chmod(0o600)


def _break(place: Place) -> None:
    """Write configurations with mistakes where secrets stand, and what else a user has."""
    (place.work / "given").mkdir(mode=0o700)  # what a remedy writes there is data, and is meant to be
    folder = place.work / "torn"
    folder.mkdir(mode=0o700)
    (folder / "tickets.csv").write_text(
        f"table,title,detected\ncsv.people,somebody wrote,{NOW.isoformat()}\n", encoding="utf-8"
    )
    (folder / "names.csv").write_text("one;*\none;other\n", encoding="utf-8")
    entry = {
        "unique_id": "test.shop.names.1",
        "status": "fail",
        "failures": 3,
        "message": f"Got {WORD}abcd",
        "compiled_code": WORD,
    }
    metadata = {"invocation_id": "f0b4", "generated_at": NOW.isoformat()}
    results = {
        "metadata": metadata,
        "results": [entry, entry | {"unique_id": f"model.{WORD}"}],
        "args": {"which": "test"},
    }
    (folder / "run_results.json").write_text(json.dumps(results), encoding="utf-8")
    run = {"origin": "other", "run_id": "1", "started_at": NOW.isoformat(), "ended_at": NOW.isoformat()}
    results = run | {"results": [{"check": "sums", "status": "fail", "violations": 2}]}
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    (place.work / SHARED).touch()
    (place.work / SHARED).chmod(0o640)
    for number, text in enumerate(_BROKEN):
        secret = f"{SECRET}torn{number}"
        (folder / f"{number}.yaml").write_text(
            f"version: 1\nproject: torn\n{text.replace('%s', secret)}\n", encoding="utf-8"
        )


def play_daemon(place: Place) -> None:
    """Run the daemon over tables that fail, hang and end their workers, until all of it is reported; then stop it."""
    port = _free_port()
    tables = [
        {**table, "schedule": "every 2s"}
        for table in place.tables
        if table["name"] in {"csv.people", "duckdb.driver_slip"}
    ]
    deadly = {**tables[0], "name": "csv.deadly", "checks": [DEADLY], "schedule": "every 2s"}
    expected = {
        "type": "expectation",
        "expectation": "ExpectColumnMaxToBeBetween",
        "kwargs": {"column": "age", "max_value": 3},
    }
    gx = {**tables[0], "name": "csv.gx", "checks": [expected], "schedule": "every 1h"}
    slow = {**next(table for table in place.tables if table["name"] == "slow.people"), "schedule": "every 2s"}
    place.configure(tables=[*tables, deadly, gx, slow], daemon={"metrics": f"127.0.0.1:{port}"})
    pings = sum(SECRET in request.path for request in place.hook.requests)
    with place.running("daemon", [sys.executable, "-m", "monitor", "run"]) as process:
        for check, reason in (
            ("csv.deadly.deadly", "bug"),
            ("slow.people.endless", "timeout"),
            ("csv.gx.expectation", ""),
        ):
            until(partial(_has_found, place, process, check, reason), f"{check}: {reason or 'an answer'}")
            place.look_at_processes()
            place.look_at_folders()
        until(lambda: sum(SECRET in request.path for request in place.hook.requests) > pings, "a ping and alerts")
        until(lambda: list((place.work / "kept" / "of" / "weeks").glob("*.html")), "the weekly report")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            place.seen["metrics"] = answer.read()
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
    place.session(("resend", ["alert", "resend", _ask(place, "SELECT id FROM delivery WHERE state = 'sent'")[0]]))


def play_pages(place: Place) -> None:
    """Ask the web application for every page, of what the commands and the daemon left in the store."""
    command = [sys.executable, "-m", "tests.privacy.web_pages", str(place.work / "tablewatch.yaml"), WEEK]
    with place.running("web-pages", command) as process:
        assert process.wait(PATIENCE_S) == 0


def _has_found(place: Place, process: "subprocess.Popen[bytes]", check: str, reason: str) -> bool:
    assert process.poll() is None, (place.folder / "said" / "daemon.err").read_text(encoding="utf-8")[-2000:]
    question = (
        "SELECT count(*) FROM measurement JOIN series ON series.id = series"
        " WHERE check_id = ? AND ? IN (coalesce(reason, ''), '')"
    )
    with suppress(sqlite3.OperationalError):
        return bool(_ask(place, question, check, reason)[0])
    return False


def _ask(place: Place, question: str, *values: str) -> tuple[Any, ...]:
    """Return the first row that the store answers."""
    with closing(sqlite3.connect(f"file:{place.work}/store.db?mode=ro", uri=True, timeout=30)) as connection:
        return tuple(connection.execute(question, values).fetchone())


def _free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])
