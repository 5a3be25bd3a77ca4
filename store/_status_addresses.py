"""Addresses at which consumers read the status of a table or a data product without signing in.

Only a hash of the secret part is stored: the address is shown once, and replaced where it is lost.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from sqlalchemy import UniqueConstraint, insert, select, update

from store._columns import STRICT, Mapped, Row, blob, key, line, one_of, time, word
from store._errors import NotRecorded
from store._repository import Repository


class StatusScope(StrEnum):
    """What the status is of."""

    TABLE = "table"
    PRODUCT = "product"


class StatusAddressRow(Row, table=True):
    """An address, by the hash of its secret part. Revoked ones stay: they say who gave it away, until when."""

    __tablename__ = "status_address"
    __table_args__ = (
        UniqueConstraint("digest"),
        one_of("scope", StatusScope),
        {**STRICT, "sqlite_autoincrement": True},  # a number that people have quoted is never given again
    )

    id: int = key()
    digest: bytes = blob()
    scope: StatusScope = word(StatusScope)
    name: str = line()
    actor: str = line()
    created_at: datetime = time("created_us", "created_at")
    revoked_at: datetime | None = time("revoked_us", "revoked_at", optional=True)


@dataclass(frozen=True, slots=True)
class StatusAddress:
    """An address of a status page, without its secret part."""

    id: int
    scope: StatusScope
    name: str
    by: str
    created_at: datetime
    revoked_at: datetime | None = None


_ADDRESS: Final = StatusAddressRow.__table__
_ADDRESSES: Final = Mapped(StatusAddressRow, StatusAddress, by="actor")
_NEWEST_FIRST: Final = select(*_ADDRESSES.columns).order_by(_ADDRESS.c.id.desc())


class StatusAddressReader(Repository):
    """Queries about the addresses of status pages."""

    def valid(self, scope: StatusScope | None = None, name: str | None = None) -> list[StatusAddress]:
        """Return the addresses that were not revoked, newest first: all, or those of a table or product."""
        statement = _NEWEST_FIRST.where(_ADDRESS.c.revoked_at.is_(None))
        if scope is not None:
            statement = statement.where(_ADDRESS.c.scope == scope, _ADDRESS.c.name == name)
        return _ADDRESSES.values(self._connection.execute(statement))

    def find(self, digest: bytes) -> StatusAddress | None:
        """Return the address whose secret part has a digest; None if there is none or it was revoked."""
        statement = _NEWEST_FIRST.where(_ADDRESS.c.digest == digest, _ADDRESS.c.revoked_at.is_(None))
        return _ADDRESSES.first(self._connection.execute(statement))

    def get(self, number: int) -> StatusAddress:
        """Return an address, also a revoked one.

        Raises:
            NotRecorded: there is none of that number.
        """
        address = _ADDRESSES.first(self._connection.execute(_NEWEST_FIRST.where(_ADDRESS.c.id == number)))
        if address is None:
            hint = "'tablewatch status-page list' shows those that are"
            raise NotRecorded(f"status address {number} is not in the store; {hint}")
        return address


class StatusAddressWriter(StatusAddressReader):
    """Statements that write the addresses of status pages."""

    def add(self, digest: bytes, scope: StatusScope, name: str, *, by: str, at: datetime) -> StatusAddress:
        """Add an address; return it with its number."""
        row = {"digest": digest, "scope": scope, "name": name, "actor": by, "created_at": at}
        number = self._connection.scalars(insert(_ADDRESS).values(row).returning(_ADDRESS.c.id)).one()
        return self.get(number)

    def revoke(self, number: int, at: datetime) -> StatusAddress:
        """Revoke an address; one that is revoked stays as it is.

        Raises:
            NotRecorded: there is none of that number.
        """
        self.get(number)
        holds = (_ADDRESS.c.id == number, _ADDRESS.c.revoked_at.is_(None))
        self._connection.execute(update(_ADDRESS).where(*holds).values(revoked_at=at))
        return self.get(number)
