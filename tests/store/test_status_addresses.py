"""Addresses of status pages: found by the hash of their secret part, until they are revoked."""

import pytest

from store import NotRecorded, StatusAddress, StatusScope, Store
from tests.store.made import AT, HOUR


def test_an_address_holds_until_it_is_revoked(store: Store) -> None:
    """It is found by its digest; a revoked one stays with its number, and stays revoked as it was."""
    with store.writing() as tx:
        table = tx.status_addresses.add(b"1" * 32, StatusScope.TABLE, "crm.customers", by="mia", at=AT)
        product = tx.status_addresses.add(b"2" * 32, StatusScope.PRODUCT, "crm.customers", by="bob", at=AT + HOUR)
    assert table == StatusAddress(table.id, StatusScope.TABLE, "crm.customers", "mia", AT)
    with store.writing() as tx:
        assert tx.status_addresses.valid() == [product, table]
        assert tx.status_addresses.valid(StatusScope.TABLE, "crm.customers") == [table]
        assert tx.status_addresses.find(b"2" * 32) == product
        revoked = tx.status_addresses.revoke(table.id, AT + 2 * HOUR)
        assert revoked.revoked_at == AT + 2 * HOUR
        assert tx.status_addresses.revoke(table.id, AT + 3 * HOUR) == revoked
        assert tx.status_addresses.find(b"1" * 32) is None
        assert tx.status_addresses.valid() == [product]
        with pytest.raises(NotRecorded, match="status address 99"):
            tx.status_addresses.revoke(99, AT)
