"""Silences always end, and a channel that is gone is not used until a user enables it."""

from datetime import datetime, timedelta

import pytest

from store import Disabled, NotRecorded, Scope, Silence, Store, StoreError, WriteTransaction
from tests.store.made import AT, HOUR


def _silence(
    tx: WriteTransaction, scope: Scope = Scope.TABLE, name: str | None = "crm.customers", *, at: datetime = AT
) -> Silence:
    return tx.silences.add(scope=scope, name=name, starts_at=at, until=at + HOUR, reason="migration", by="mia")


def test_a_silence_holds_from_its_beginning_to_its_end(store: Store) -> None:
    """A silence holds in the half-open time that was asked for."""
    with store.writing() as tx:
        silence = _silence(tx)
        assert silence == Silence(silence.id, Scope.TABLE, "crm.customers", AT, AT + HOUR, "migration", "mia")
        other = _silence(tx, Scope.ALL, None, at=AT + HOUR)
    us = timedelta(microseconds=1)
    with store.reading() as tx:
        assert tx.silences.all() == [other, silence]
        moments = (AT - us, AT, AT + HOUR - us, AT + HOUR)
        assert [tx.silences.all(moment) for moment in moments] == [[], [silence], [silence], [other]]


def test_a_silence_can_be_ended_early(store: Store) -> None:
    """Ended once, a silence stays ended as it was; one that is over cannot be ended."""
    with store.writing() as tx:
        silence = _silence(tx)
        early = tx.silences.end(silence.id, AT + HOUR / 2)
        assert early.ended_at == AT + HOUR / 2
        assert tx.silences.end(silence.id, AT + HOUR / 3) == early
        assert (tx.silences.all(AT + HOUR / 3), tx.silences.all(AT + HOUR / 2)) == ([early], [])
        over = _silence(tx)
        assert tx.silences.end(over.id, AT + 9 * HOUR) == over
        with pytest.raises(NotRecorded, match="silence 99"):
            tx.silences.end(99, AT)


def test_a_silence_must_end_and_be_about_something(store: Store) -> None:
    """A silence without length, or with a name that does not go with its scope, is refused."""
    with store.writing() as tx:
        with pytest.raises(StoreError, match="must end"):
            tx.silences.add(scope=Scope.ALL, name=None, starts_at=AT, until=AT, reason="x", by="mia")
        with pytest.raises(StoreError, match="no name"):
            _silence(tx, Scope.ALL, "crm")
        with pytest.raises(StoreError, match="no name"):
            _silence(tx, Scope.DOMAIN, None)


def test_old_silences_go_with_old_incidents(store: Store) -> None:
    """Silences are kept as long as incidents: they explain missing messages. Their numbers are never reused."""
    with store.writing() as tx:
        last = _silence(tx)
    year = timedelta(days=365)
    assert store.prune(keep_measurements=year / 4, keep_incidents=year, now=AT + year / 2).silences == 0
    assert store.prune(keep_measurements=year / 4, keep_incidents=year, now=AT + 2 * year).silences == 1
    with store.writing() as tx:
        assert _silence(tx).id > last.id


def test_a_channel_that_is_gone_is_not_used(store: Store) -> None:
    """A disabled channel keeps the first reason, until it is enabled again."""
    with store.writing() as tx:
        tx.silences.disable_channel("ops", "the endpoint answered 410", AT)
        tx.silences.disable_channel("ops", "again", AT + HOUR)
        assert tx.silences.disabled_channels() == {"ops": Disabled("the endpoint answered 410", AT)}
        assert tx.silences.enable_channel("ops")
        assert not tx.silences.enable_channel("ops")
        assert tx.silences.disabled_channels() == {}
