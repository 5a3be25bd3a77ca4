"""A worker that is ended ends its query on the server, too."""

import pytest

from monitor.workers import Overdue, TableBegan
from sources import SourceSpec
from tests.monitor.workers.conftest import CHECKS, LONG, MINUTE, job, target

ENDLESS = {
    "workers_asleep": "SELECT 1 AS id WHERE pg_sleep(100000) IS NOT NULL",
    "workers_busy": "SELECT n AS id FROM generate_series(1, 1000000000000) n",
}


@pytest.fixture
def server(postgres_url, tmp_path):
    """Return the server as a source, and a session beside it."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as session:
        session.execute("SET lock_timeout = '10s'")
        for view, query in ENDLESS.items():
            session.execute(f"CREATE OR REPLACE VIEW {view} AS {query}")
        yield SourceSpec("server", tmp_path, url=postgres_url, query_timeout=LONG), session
        for view in ENDLESS:
            session.execute(f"DROP VIEW {view}")  # other tests read every table of the database


def _running(session, view):
    found = session.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tablewatch' AND state = 'active' "
        "AND position(%s IN lower(query)) > 0",
        [view],
    )
    return found.fetchone()[0]


def _until(session, view, number):
    """Let the server wait in short steps until so many of its sessions run a query of a view."""
    for _ in range(300):
        if _running(session, view) == number:
            return
        session.execute("SELECT pg_sleep(0.1)")
    pytest.fail(f"{_running(session, view)} queries run, expected {number}")


@pytest.mark.postgres
@pytest.mark.parametrize("view", ENDLESS)
def test_the_query_of_a_worker_that_is_ended_ends(ear, server, view):
    """At the deadline not only the worker ends: the server notices that its client is gone."""
    spec, session = server
    ear.pool.submit(job(target(spec, view, CHECKS[1:]), deadline=MINUTE))
    ear.until(lambda _: ear.of(TableBegan))
    _until(session, view, 1)
    ear.pass_time(MINUTE)
    ear.until(lambda _: ear.of(Overdue))
    _until(session, view, 0)
