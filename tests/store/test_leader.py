"""Of several daemons on PostgreSQL one leads, until it ends or loses its connection; on SQLite the only one does."""

import os

import pytest
from sqlalchemy import create_engine, make_url, text

from store import StoreError, StoreUnavailable, open_store
from tests.store.processes import start


def test_one_of_two_leads(url: str) -> None:
    """On PostgreSQL the second follows until the first stops; on SQLite the lock file has seen to that already."""
    on_file = url.startswith("sqlite")
    with open_store(url) as one, open_store(url) as two:
        assert [one.try_lead(), one.try_lead()] == [True, True]
        assert [two.try_lead(), two.try_lead()] == [on_file, on_file]
        one.stop_leading()
        assert two.try_lead()
        assert one.try_lead() == on_file
    with open_store(url) as one, one.lead() as leads:
        assert leads


@pytest.mark.postgres
def test_stores_in_one_database_have_leaders_of_their_own(postgres_url: str) -> None:
    """Two stores in two schemas of one database do not wait for each other's leader."""
    engine = create_engine(make_url(postgres_url).set(drivername="postgresql+psycopg"))
    names = ("leads_here", "leads_there")
    try:
        with engine.begin() as connection:
            for name in names:
                connection.execute(text(f"CREATE SCHEMA {name}"))
        urls = [
            make_url(postgres_url)
            .update_query_dict({"options": f"-csearch_path={name}"})
            .render_as_string(hide_password=False)
            for name in names
        ]
        with open_store(urls[0]) as here, open_store(urls[1]) as there:
            assert here.try_lead()
            assert there.try_lead()
    finally:
        with engine.begin() as connection:
            for name in names:
                connection.execute(text(f"DROP SCHEMA IF EXISTS {name} CASCADE"))
        engine.dispose()


def _cut_leaders(postgres_url: str) -> None:
    """End the connections of all leaders on the server."""
    engine = create_engine(make_url(postgres_url).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        leaders = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = :name"
        connection.execute(text(leaders), {"name": "tablewatch leader"})
    engine.dispose()


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_who_lost_the_connection_leads_no_more(url: str, postgres_url: str) -> None:
    """The lock goes with its connection: the first to ask leads then, and the former leader notices."""
    with open_store(url) as one, open_store(url) as two:
        assert one.try_lead()
        assert not two.try_lead()
        _cut_leaders(postgres_url)
        assert two.try_lead()
        assert not one.try_lead()
        _cut_leaders(postgres_url)
        assert one.try_lead()


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_killed_leader_is_followed_at_once(url: str) -> None:
    """When the leading process is killed, the server gives its lock to the next one that asks."""
    with open_store(url) as store:
        first = start("holder", "lead", url)
        assert first.stdout is not None
        assert first.stdout.readline() == "leads\n"
        assert not store.try_lead()
        first.kill()
        first.communicate()
        assert any(store.try_lead() for _ in range(10_000))  # the server notices a closed socket in its own time


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_an_unreachable_server_is_reported(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who cannot reach the server does not lead, and hears why; another process's store is refused."""
    with open_store(url) as store:
        assert store._leader is not None
        store._leader._engine = create_engine("postgresql+psycopg://nobody@127.0.0.1:1/none")
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            store.try_lead()
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(StoreError, match="another process"):
            store.try_lead()
