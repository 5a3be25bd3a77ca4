"""Several daemons on one PostgreSQL store: they share the work, and no one's death loses or doubles anything."""

import json
import sqlite3
import threading
from collections import Counter
from contextlib import ExitStack, closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from sqlalchemy import NullPool, create_engine, make_url, text

from monitor.config import Schedule
from tests.monitor.daemon.running import Place, until

_TABLES = "".join(
    f"  - {{name: t{number}, source: shop, table: orders, schedule: every 2s, "
    "checks: [{type: primary_key, columns: [id]}]}\n"
    for number in range(8)
)
_ALERTS = """
alerts:
  group_wait: 0s
  channels: {{hook: {{webhook: {{url: "http://127.0.0.1:{port}/", secret: canary-key, allow_private: true}}}}}}
  routes: [{{to: [hook]}}]
"""


class SharedPlace(Place):
    """A place whose store is a schema of a PostgreSQL server."""

    def __init__(self, folder, url, port):
        self.port = port
        self.url = make_url(url).set(query={"options": "-csearch_path=several"}, drivername="postgresql")
        self.engine = create_engine(self.url.set(drivername="postgresql+psycopg"), poolclass=NullPool)
        with self.engine.begin() as connection:
            connection.execute(text("DROP SCHEMA IF EXISTS several CASCADE"))
            connection.execute(text("CREATE SCHEMA several"))
        super().__init__(folder)

    def configure(self, tables=_TABLES, *, metrics="'off'", more=""):
        super().configure(tables, metrics=metrics, more=more + _ALERTS.format(port=self.port))
        path = self.folder / "tablewatch.yaml"
        store = self.url.render_as_string(hide_password=False)
        text = path.read_text().replace(f"sqlite:///{self.folder}/store.db", store)
        text = text.replace("jitter: 0s", "jitter: 0s, workers: 1")
        path.write_text(text.replace("timezone: UTC", "timezone: UTC, lock_timeout: 120s"), encoding="utf-8")

    @contextmanager
    def locked(self):
        """Keep every reader of the shop waiting in the block."""
        with closing(sqlite3.connect(self.folder / "shop.sqlite", isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            yield
            connection.execute("ROLLBACK")

    def ask(self, question):
        from sqlalchemy.exc import ProgrammingError

        try:
            with self.engine.begin() as connection:
                return [tuple(row) for row in connection.execute(text(question))]
        except ProgrammingError:
            return []


@pytest.fixture
def heard():
    """Return a webhook's server, and what it heard: the id of each message with its content."""
    messages = []

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            messages.append((self.headers["webhook-id"], json.loads(body)))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port, messages
    server.shutdown()
    server.server_close()
    thread.join()


def test_three_daemons_share_the_work_and_are_killed_in_turn(tmp_path, postgres_url, heard):
    """Each slot is run once or recorded, each incident is one, each alert is delivered, whichever daemon is killed."""
    port, messages = heard
    place = SharedPlace(tmp_path, postgres_url, port)
    with ExitStack() as running:
        with place.locked():  # each takes a few tables, and waits with them until all three have some
            daemons = [running.enter_context(place.daemon()) for _ in range(3)]
            until(lambda: place.number("SELECT count(DISTINCT holder) FROM slot") == 3, "all at work")
        until(lambda: place.number("SELECT count(DISTINCT holder) FROM slot WHERE state = 'done'") == 3, "all done")
        until(lambda: place.number("SELECT count(*) FROM daemon WHERE leads = 1") == 1, "one leader")
        place.sql("INSERT INTO orders VALUES (1, 'eve')")
        until(lambda: place.number("SELECT count(*) FROM incident WHERE state = 'open'") == 8, "eight incidents")
        for daemon in daemons[:2]:
            daemon.kill()
            done = place.number("SELECT count(*) FROM slot WHERE state = 'done'")
            until(lambda done=done: place.number("SELECT count(*) FROM slot WHERE state = 'done'") > done, "more looks")
            daemons.append(running.enter_context(place.daemon()))
        place.sql("DELETE FROM orders WHERE customer = 'eve'")
        until(lambda: place.number("SELECT count(*) FROM incident WHERE state = 'resolved'") == 8, "their end")
        until(lambda: len(_told(messages, "resolved")) == 8, "the news of it")
    assert place.number("SELECT count(*) FROM incident") == 8
    assert set(_told(messages, "first").values()) == {1}
    assert set(_told(messages, "resolved").values()) == {1}
    _check_slots(place)


_BUDGET = """
budgets:
  orders:
    total: 1
    statistics: {often: {schedule: every 2s, statistic: count, epsilon: 0.001}}
"""


def test_daemons_that_share_a_store_answer_each_slot_of_a_statistic_once(tmp_path, postgres_url):
    """Whichever daemon claims a slot: it has one answer, and at most two charges though a daemon is killed amid it."""
    place = SharedPlace(tmp_path, postgres_url, 9)
    place.configure("  - {name: orders, source: shop}\n", more=_BUDGET)
    assert place.command("privacy", "budget", "create", "orders").returncode == 0
    answers = "SELECT count(*) FROM ledger_entry WHERE kind = 'answered'"
    with place.daemon() as one, place.daemon() as two, place.daemon() as three:
        until(lambda: place.number("SELECT count(*) FROM daemon") == 3, "three daemons")
        at_work = "SELECT pid FROM slot JOIN daemon ON holder = daemon.id WHERE state = 'done' ORDER BY slot_us DESC"
        pid = until(lambda: place.number(at_work), "the pid of the one that answers")
        next(daemon for daemon in (one, two, three) if daemon.process.pid == pid).kill()
        seen = place.number(answers)
        until(lambda: place.number(answers) >= seen + 3, "answers of the others")
    charged = dict(place.ask("SELECT request, count(*) FROM ledger_entry WHERE kind = 'reserved' GROUP BY request"))
    given = dict(place.ask("SELECT request, count(*) FROM ledger_entry WHERE kind = 'answered' GROUP BY request"))
    assert set(given.values()) == {1}
    assert set(charged.values()) <= {1, 2}
    assert given.keys() <= charged.keys()
    assert place.command("privacy", "budget", "verify").returncode == 0


def _told(messages, reason):
    """Count, per incident, the different messages that reported it for a reason."""
    found = {(name, item["id"]) for name, body in messages for item in body["incidents"] if item["reason"] == reason}
    return Counter(incident for _, incident in found)


def _check_slots(place):
    """Look that every slot from the first to the last is there, run once or skipped."""
    schedule = Schedule.parse("every 2s")
    every = schedule.every // type(schedule.every)(microseconds=1)
    for number in range(8):
        name = f"t{number}"
        ran = [slot for (slot,) in place.ask(f"SELECT slot_us FROM slot WHERE table_name = '{name}'")]
        assert len(ran) == len(set(ran))
        skipped = place.ask(f"SELECT first_us, last_us, count FROM skip WHERE table_name = '{name}'")
        for first, last, count in skipped:
            assert (last - first) // every + 1 == count
            ran += range(first, last + 1, every)
        assert sorted(ran) == list(range(min(ran), max(ran) + 1, every))
