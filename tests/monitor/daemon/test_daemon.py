"""The daemon as users run it: in a process of its own, on a real store, with real workers."""

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.monitor.daemon.running import ORDERS, ROOT, Place, alive, until

_RUNS = "SELECT count(*) FROM slot WHERE state = 'done'"
_BROKEN = ORDERS.replace("primary_key", "primary_kye")
_HANGING = (
    "  - {name: endless, source: shop, table: orders, schedule: every 1s, checks: [{type: sql, id: loop, query: "
    '"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"}]}\n'
)


@pytest.fixture
def place(tmp_path):
    """Return a folder with one table that is due every second."""
    return Place(tmp_path)


def _free_port():
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return asked.getsockname()[1]


def test_it_watches_until_it_is_told_to_stop(place):
    """Tables are looked at, incidents open and close, and SIGTERM ends it with 0, leaving no process and no lease."""
    with place.daemon() as daemon:
        until(lambda: place.number(_RUNS) >= 2, "two looks")
        place.sql("INSERT INTO orders VALUES (1, 'eve')")
        until(lambda: place.number("SELECT count(*) FROM incident WHERE state = 'open'"), "an incident")
        place.sql("DELETE FROM orders WHERE customer = 'eve'")
        until(lambda: place.number("SELECT count(*) FROM incident WHERE state = 'resolved'"), "its end")
        children = daemon.children()
        assert children
        daemon.tell(signal.SIGTERM)
        assert daemon.ends() == 0
        until(lambda: not alive(children), "the workers' end")
    assert place.number("SELECT count(*) FROM slot WHERE state = 'running'") == 0
    assert place.number("SELECT count(*) FROM daemon WHERE stopped_us IS NOT NULL") == 1


def test_a_second_daemon_leaves_and_names_the_first(place):
    """On a SQLite store there is one daemon; the command line still works beside it."""
    with place.daemon() as daemon:
        daemon.says("watching")
        second = place.command("run", "--once")
        assert second.returncode == 3
        assert f"process {daemon.process.pid} on {socket.gethostname()}" in second.stderr
        assert place.command("check").returncode == 0
        daemon.kill()
        assert place.command("run", "--once").returncode == 0


def test_a_killed_daemon_takes_its_workers_along_and_the_next_one_goes_on(place):
    """After kill -9, also of a worker in an endless query, nothing runs on, and the slot gets another attempt."""
    place.configure(ORDERS + _HANGING)
    with place.daemon() as daemon:
        until(lambda: place.number(f"{_RUNS} AND table_name = 'orders'"), "a look")
        until(lambda: place.number("SELECT count(*) FROM slot WHERE table_name = 'endless'"), "the endless one")
        children = daemon.children()
        daemon.kill()
        until(lambda: not alive(children), "the workers' end")
    with place.daemon():
        until(lambda: place.number("SELECT max(attempt) FROM slot") == 2, "another attempt")


def test_stopping_does_not_wait_for_a_table_that_hangs(place):
    """A hanging table is given back within ten seconds, for the next daemon."""
    place.configure(_HANGING)
    with place.daemon() as daemon:
        until(lambda: place.number("SELECT count(*) FROM slot WHERE state = 'running'"), "the endless one")
        daemon.tell(signal.SIGTERM)
        assert daemon.ends() == 0
    (lease, ended) = place.ask("SELECT lease_until_us, (SELECT stopped_us FROM daemon) FROM slot")[0]
    assert lease <= ended


def test_a_changed_configuration_is_used_as_a_whole_or_not_at_all(place):
    """A broken file changes nothing but the status; a good one is used, and what is gone has its incident closed."""
    place.sql("INSERT INTO orders VALUES (1, 'eve')")
    with place.daemon() as daemon:
        until(lambda: place.number("SELECT count(*) FROM incident"), "an incident")
        place.configure(_BROKEN)
        said = daemon.says("is invalid, the previous one stays in use")
        assert "tablewatch.yaml:8:" in said
        assert "did you mean" in said or "primary_kye" in said
        before = place.number(_RUNS)
        until(lambda: place.number(_RUNS) > before + 1, "more looks")
        until(lambda: place.number("SELECT count(config_error) FROM daemon"), "the error in the store")
        assert "does not use all of the configuration" in place.command("status", "-c", str(_good(place))).stdout
        place.configure(ORDERS.replace("primary_key", "not_null"))
        daemon.says("configuration reloaded")
        daemon.says("in use again")
        until(lambda: place.number("SELECT count(*) FROM incident WHERE resolution = 'no-action'"), "its end")
        looks = "SELECT count(*) FROM measurement JOIN series ON series.id = series WHERE check_id = 'orders.not-null'"
        until(lambda: place.number(looks), "new looks")


def _good(place):
    """Write the first configuration beside the broken one."""
    other = place.folder / "good.yaml"
    broken = (place.folder / "tablewatch.yaml").read_text(encoding="utf-8")
    other.write_text(broken.replace("primary_kye", "primary_key"), encoding="utf-8")
    return other


def test_sighup_loads_the_configuration_anew(place):
    """SIGHUP reads everything again, also what no file's date tells."""
    place.configure(more="locale: ${LOCALE_OF_TEST:-en}")
    with place.daemon() as daemon:
        daemon.says("watching")
        place.configure(ORDERS + ORDERS.replace("name: orders", "name: more, table: orders"))
        daemon.tell(signal.SIGHUP)
        daemon.says("reloaded; monitoring 2 tables with 4 workers")


def test_what_cannot_change_while_it_runs_is_refused(place):
    """A new store or project needs a restart, and says so."""
    with place.daemon() as daemon:
        daemon.says("watching")
        path = place.folder / "tablewatch.yaml"
        path.write_text(path.read_text().replace("project: running", "project: other"), encoding="utf-8")
        daemon.says("'project' cannot change while the daemon runs; restart it")


def test_prometheus_can_ask_it(place):
    """The documented metrics are there while it runs."""
    port = _free_port()
    place.configure(metrics=f'"127.0.0.1:{port}"')
    with place.daemon() as daemon:
        daemon.says("watching")
        until(lambda: place.number(_RUNS), "a look")

        def asked():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                text = answer.read().decode()
            return text if 'tablewatch_check_outcome{check="orders.primary-key",outcome="pass"' in text else None

        text = until(asked, "the outcome")
    docs = (ROOT / "docs" / "daemon.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(tablewatch_[a-z_]+)", docs, re.MULTILINE))
    answered = set(re.findall(r"^# TYPE (tablewatch_[a-z_]+) (?:gauge|counter|histogram)$", text, re.MULTILINE))
    sums = {name for name in answered if name.endswith(("_gcount", "_gsum"))}  # they belong to a histogram
    of_contracts = ("error_budget_left_seconds", "error_budget_burn_rate", "service_level")  # which need one
    promises = {f"tablewatch_{name}" for name in of_contracts}
    assert documented == (answered - sums) | promises | {"tablewatch_downtime_cost"}  # which needs rates


def test_pages_are_not_served_for_one_pass(place):
    """`--once` ends, and pages that end at once are of no use."""
    done = place.command("run", "--once", "--serve")
    assert (done.returncode, "--once ends" in done.stderr) == (2, True)


def test_the_pages_are_served_beside_it(place):
    """`run --serve`: started again with a new configuration, and gone with a daemon that is killed."""
    port = _free_port()

    def asks(path):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
            return answer.read().decode()

    def is_there():
        try:
            return asks("/readyz") == "ready\n"
        except OSError:
            return False

    place.configure(more=f"web: {{listen: '127.0.0.1:{port}'}}")
    with place.daemon("--serve") as daemon:
        until(is_there, "the pages")
        old, port = port, _free_port()
        place.configure(more=f"web: {{listen: '127.0.0.1:{port}'}}")
        daemon.says("configuration reloaded")
        until(is_there, "the pages of the new configuration")
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", old))
        daemon.kill()
        until(lambda: not is_there(), "the end of the pages")


def test_a_taken_metrics_address_is_told(place):
    """Two programs on one address are a mistake of the configuration."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        place.configure(metrics=f'"{address}"')
        ended = place.command("run")
    assert ended.returncode == 2
    assert f"the metrics address {address} cannot be listened on" in ended.stderr


def test_it_pings_while_all_is_well(place):
    """The heartbeat address is called from the start on."""
    called = threading.Event()

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self):
            called.set()
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        path = place.folder / "tablewatch.yaml"
        url = f"http://127.0.0.1:{server.server_port}/ping"
        path.write_text(path.read_text().replace("jitter: 0s", f'jitter: 0s, heartbeat_url: "{url}"'), encoding="utf-8")
        with place.daemon() as daemon:
            daemon.says("watching")
            assert called.wait(60)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_once_runs_what_is_due_and_leaves(place):
    """The exit code is that of a check: 0, 1 if one failed, 3 if one could not be evaluated."""
    assert place.command("run", "--once").returncode == 0
    place.sql("INSERT INTO orders VALUES (1, 'eve')")
    until(lambda: place.command("run", "--once").returncode == 1, "a failing check")
    place.sql("DROP TABLE orders")
    until(lambda: place.command("run", "--once").returncode == 3, "a check that cannot be evaluated")


def test_once_counts_how_checks_came_out(place):
    """With --format json the standard output is the count, and nothing else."""
    place.sql("INSERT INTO orders VALUES (1, 'eve')")
    ended = place.command("run", "--once", "--format", "json")
    assert json.loads(ended.stdout) == {
        "schema": "tablewatch.run/1",
        "ok": False,
        "exit_code": 1,
        "project": "running",
        "summary": {"pass": 0, "warn": 0, "fail": 1, "unknown": 0, "total": 1},
        "statistics": {"answered": 0, "not_answered": 0},
    }
    assert ended.returncode == 1
    until(lambda: "FAIL 1" in place.command("run", "--once").stdout, "the same for a person")


def test_tables_without_a_schedule_are_told(place):
    """A table without a schedule is named in a warning; without any schedule the daemon says that nothing will run."""
    idle = ORDERS.replace("schedule: every 1s, ", "")
    place.configure(ORDERS + idle.replace("name: orders, ", "name: idle, table: orders, "))
    with place.daemon() as daemon:
        daemon.says("1 table has no schedule and is checked only by 'tablewatch check': idle")
        place.configure(idle)
        daemon.says("no table has a schedule, so there is nothing to run")
    ended = place.command("run", "--once")
    assert ended.returncode == 2
    assert "no table has a schedule" in ended.stderr


@pytest.mark.parametrize("name", ["store.db", "store.db.lock", "store.db-shm"])
def test_a_store_that_is_taken_away_ends_it(place, name):
    """It does not go on writing into an unlinked file, nor without its lock."""
    with place.daemon() as daemon:
        until(lambda: place.number(_RUNS), "a look")
        children = daemon.children()
        (place.folder / name).unlink()
        assert daemon.ends() == 3
        assert f"{name} was deleted or replaced" in daemon.says("daemon stopping: ")
        until(lambda: not alive(children), "the workers' end")


def test_systemd_hears_of_it(place):
    """READY, WATCHDOG and STOPPING reach the socket that systemd names."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(place.folder / "notify"))
        systemd.settimeout(60)
        with place.daemon(NOTIFY_SOCKET=str(place.folder / "notify")) as daemon:
            assert systemd.recv(100) == b"READY=1"
            assert systemd.recv(100) == b"WATCHDOG=1"
            daemon.tell(signal.SIGTERM)
            while (said := systemd.recv(100)) != b"STOPPING=1":
                assert said == b"WATCHDOG=1"
            assert daemon.ends() == 0


def test_a_machine_that_slept_goes_on_where_it_should(place):
    """After a stop as in suspend, the newest slot is run and the others are recorded; nothing stands still."""
    with place.daemon() as daemon:
        until(lambda: place.number(_RUNS), "a look")
        daemon.tell(signal.SIGSTOP)
        slept = place.number("SELECT max(slot_us) FROM slot")
        until(lambda: time.time() * 1e6 > slept + 4e6, "four seconds of sleep")
        daemon.tell(signal.SIGCONT)
        until(lambda: place.number("SELECT max(slot_us) FROM slot") > slept + 3_000_000, "a look after the sleep")
        until(lambda: place.number("SELECT count(*) FROM skip"), "the record of what was missed")


def test_no_job_is_pickled_anywhere(place):
    """APScheduler runs in memory only: its store of pickles is neither made nor imported."""
    with place.daemon() as daemon:
        daemon.says("watching")
        until(lambda: place.number(_RUNS), "a look")
        maps = (place.folder / "store.db").read_bytes()
    assert b"apscheduler_jobs" not in maps
    code = "import sys; import monitor.daemon.daemon; print('apscheduler.jobstores.sqlalchemy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


_INCIDENTS = "SELECT count(*) FROM incident WHERE table_name = 'orders'"


def test_a_log_that_is_taken_away_loses_nothing(place):
    """It ends within seconds and saves what the log held; meanwhile no other command writes into another log."""
    place.configure(ORDERS.replace("every 1s", "every 1h"))
    with place.daemon() as daemon:
        until(lambda: place.number(_RUNS), "a look")
        daemon.says("watching")
        daemon.process.send_signal(signal.SIGSTOP)  # so that the command comes before it notices
        assert place.command("incident", "open", "--table", "orders", "--title", "x").returncode == 0
        (place.folder / "store.db-wal").unlink()
        refused = place.command("incident", "open", "--table", "orders", "--title", "y")
        assert refused.returncode == 3
        assert "was deleted or replaced while the daemon" in " ".join(refused.stderr.split())
        daemon.process.send_signal(signal.SIGCONT)
        assert daemon.ends() == 3
        assert "store.db-wal was deleted or replaced" in daemon.says("daemon stopping: ")
    assert (place.number(_RUNS), place.number(_INCIDENTS)) == (1, 1)
    assert "intact" in place.command("doctor").stdout


def _known_runs(file):
    return json.loads(file.read_text())["run"] if file.exists() else 0


def test_what_was_lost_with_a_log_is_told(place):
    """After a kill, what was in a deleted log is gone; doctor and the next daemon say so, not that all is well."""
    place.configure(ORDERS.replace("every 1s", "every 1h"))
    with place.daemon() as daemon:
        until(lambda: place.number(_RUNS), "a look")
        until(lambda: _known_runs(place.folder / "store.db.last"), "what is known")
        (place.folder / "store.db-wal").unlink()
        (place.folder / "store.db-shm").unlink()
        daemon.kill()
    result = place.command("doctor")
    assert result.returncode == 1
    assert "intact" not in result.stdout
    assert "is lost" in " ".join(result.stdout.split())
    with place.daemon() as daemon:
        assert "run 'tablewatch doctor'" in daemon.says("is lost")


_TWO = """  - {name: orders, source: shop, schedule: every 1s, checks: [{type: volume, min: 1}]}
  - {name: people, source: shop, schedule: every 1s, checks: [{type: not_null, columns: [id]}]}
"""


def test_a_table_that_is_dropped_makes_the_phone_ring(place):
    """One with a volume check opens an incident; of one without, the operators hear. Both are sent to a webhook."""
    result = []

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self):
            result.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    alerts = f"""
alerts:
  group_wait: 0s
  operators: [hook]
  channels: {{hook: {{webhook: {{url: "http://127.0.0.1:{server.server_port}/", secret: k, allow_private: true}}}}}}
  routes: [{{to: [hook]}}]
"""
    place.sql("CREATE TABLE people (id INTEGER); INSERT INTO people VALUES (1)")
    place.configure(_TWO, more=alerts)
    try:
        with place.daemon():
            until(lambda: place.number("SELECT count(DISTINCT table_name) FROM run") == 2, "both tables")
            place.sql("DROP TABLE orders; DROP TABLE people")
            until(lambda: any(body.get("operation") == "table-lost" for body in result), "the message to operators")
            until(lambda: any(body.get("incidents") for body in result), "the alert")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert {body["name"] for body in result if body.get("operation") == "table-lost"} == {"people"}
    (incident,) = place.ask("SELECT table_name, check_id FROM incident")
    assert incident == ("orders", "orders.volume")
