"""Addresses of status pages as they are published: by the command, the API and the pages of tables and products."""

from typing import Literal, Self

from pydantic import Field

from monitor.summaries.shapes import Moment, Shape
from store import StatusAddress, StatusScope


class StatusAddressLine(Shape):
    """An address, without its secret part: of which table or data product, who made it, when it was revoked."""

    id: int
    scope: StatusScope
    name: str
    by: str
    created_at: Moment
    revoked_at: Moment | None

    @classmethod
    def of(cls, address: StatusAddress) -> Self:
        """Return an address as a model."""
        return cls.model_validate({name: getattr(address, name) for name in StatusAddressLine.model_fields})


class StatusAddressPage(StatusAddressLine):
    """`tablewatch.status-address/1`: an address; `path` is where its page is, only in the answer that made it."""

    schema_: Literal["tablewatch.status-address/1"] = Field("tablewatch.status-address/1", alias="schema")
    path: str | None = None
    base: str | None = None

    @classmethod
    def made(cls, address: StatusAddress, secret: str, base: str | None) -> Self:
        """Return a new address with its path, below the address of the server where that is known."""
        return cls.of(address).model_copy(update={"path": f"/status/{secret}", "base": base})


class StatusAddressListPage(Shape):
    """`tablewatch.status-addresses/1`: the addresses that were not revoked, newest first."""

    schema_: Literal["tablewatch.status-addresses/1"] = Field("tablewatch.status-addresses/1", alias="schema")
    addresses: tuple[StatusAddressLine, ...]
