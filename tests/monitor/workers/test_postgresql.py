"""A worker that is ended ends its query on the server, too."""

from datetime import timedelta

import pytest

from checks.sql import Sql
from monitor.workers import Began, Overdue
from sources import SourceSpec
from tests.monitor.workers.conftest import LONG, job, target

ENDLESS = {
    "pg_sleep(987654)": "SELECT pg_sleep(987654)",
    "987654321": "SELECT n FROM generate_series(1, 987654321000) n",
}


@pytest.fixture
def server(postgres_url, tmp_path):
    """Give the server as a source, and a session beside it."""
    psycopg = pytest.importorskip("psycopg", reason="the extra [postgres] is not installed")
    with psycopg.connect(postgres_url, autocommit=True) as session:
        session.execute("DROP TABLE IF EXISTS of_workers; CREATE TABLE of_workers (id integer)")
        session.execute("INSERT INTO of_workers VALUES (1)")
        yield SourceSpec("server", tmp_path, url=postgres_url, query_timeout=LONG), session


def _running(session, sign):
    found = session.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tablewatch' AND state = 'active' "
        "AND position(%s IN lower(query)) > 0",
        [sign],
    )
    return found.fetchone()[0]


def _until(session, sign, number):
    """Let the server wait in short steps until so many of its sessions run a query with a sign."""
    for _ in range(1200):
        if _running(session, sign) == number:
            return
        session.execute("SELECT pg_sleep(0.1)")
    pytest.fail(f"{_running(session, sign)} queries run, expected {number}")


@pytest.mark.postgres
@pytest.mark.parametrize(("sign", "query"), ENDLESS.items(), ids=["sleeping", "working"])
def test_the_query_of_a_worker_that_is_ended_ends(ear, server, sign, query):
    """At the deadline not only the worker ends: the server notices that nobody waits any more."""
    spec, session = server
    endless = (("endless", Sql(query=query, why="It never ends.")),)
    ear.pool.submit(job(target(spec, "of_workers", endless), deadline=timedelta(seconds=3)))
    ear.until(lambda _: ear.of(Began))
    _until(session, sign, 1)
    ear.until(lambda _: ear.of(Overdue))
    _until(session, sign, 0)
