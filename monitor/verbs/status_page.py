"""The verbs of status pages: make an address for a table or a data product, replace it, revoke it.

The address is returned once, with its secret part; the store has only a hash of it.
"""

from hashlib import sha256
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from monitor.verbs.verb import Acting, Body, Name, Nothing, Number, Query, Typed, Verb

if TYPE_CHECKING:
    from store import StatusAddress, StatusScope


class AddressNumber(Query):
    """The number of an address."""

    id: Annotated[Number, Typed(metavar="ID")] = Field(description="Address number.")


class AddressBody(Body):
    """Make an address for the status of one of a table and a data product."""

    table: Name | None = Field(None, description="Table.")
    product: Name | None = Field(None, description="Data product.")


def _add(acting: Acting, _: Nothing, body: AddressBody) -> "tuple[StatusAddress, str]":
    scope, name = _scope(acting, body)
    _check_tables(acting, scope, name)
    return _new(acting, scope, name)


def _rotate(acting: Acting, target: AddressNumber, body: Body) -> "tuple[StatusAddress, str]":
    replaced = _revoke(acting, target, body)
    return _new(acting, replaced.scope, replaced.name)


def _revoke(acting: Acting, target: AddressNumber, _: Body) -> "StatusAddress":
    from monitor.terminal.problem import ExitCode, Problem, Stop
    from store import NotRecorded

    try:
        with acting.store.reading() as tx:
            address = tx.status_addresses.get(target.id)
        _check_tables(acting, address.scope, address.name)
        with acting.store.writing() as tx:
            return tx.status_addresses.revoke(target.id, tx.schedule.clock(acting.project.clock.now()))
    except NotRecorded as error:
        raise Stop(ExitCode.NOTHING_SELECTED, Problem("status_page.not_found", str(error))) from None


def _new(acting: Acting, scope: "StatusScope", name: str) -> "tuple[StatusAddress, str]":
    secret = token_urlsafe(32)
    with acting.store.writing() as tx:
        now = tx.schedule.clock(acting.project.clock.now())
        digest = sha256(secret.encode()).digest()
        return tx.status_addresses.add(digest, scope, name, by=acting.actor, at=now), secret


def _scope(acting: Acting, body: AddressBody) -> "tuple[StatusScope, str]":
    """Return whose status it is.

    Raises:
        Stop: nothing or both were named, or one that is not configured.
    """
    from monitor.terminal.problem import ExitCode, Problem, Stop, unknown_name
    from monitor.triage.create import unknown_table
    from store import StatusScope

    config = acting.project.config
    if body.table is not None and body.product is None:
        if (problem := unknown_table(body.table, config)) is not None:
            raise Stop(ExitCode.USAGE, problem)
        return StatusScope.TABLE, body.table
    if body.product is not None and body.table is None:
        if body.product not in config.products:
            raise Stop(ExitCode.USAGE, unknown_name("product", body.product, config.products))
        return StatusScope.PRODUCT, body.product
    words = f"use either {acting.named('table')} or {acting.named('product')}"
    raise Stop(ExitCode.USAGE, Problem("usage", words))


def _check_tables(acting: Acting, scope: "StatusScope", name: str) -> None:
    """Check that the actor may act on each table whose status is shown.

    Raises:
        Stop: the actor may not.
    """
    from store import StatusScope

    config = acting.project.config
    tables = [name] if scope is StatusScope.TABLE else config.product_tables.get(name, ())
    for table in tables:
        acting.check_table(table)
    if not tables:  # a product that left the configuration
        for configured in config.tables:
            acting.check_table(configured.name)


ADD: Final = Verb(
    "add",
    Nothing,
    AddressBody,
    _add,
    "Make an address at which consumers see the status of a table or a data product without signing in",
    "--table sales.orders",
    "It is shown once. A reader of it sees whether the data may be used, and no column, check or person.",
    whole=True,
    creates=True,
)
ROTATE: Final = Verb(
    "rotate",
    AddressNumber,
    Body,
    _rotate,
    "Replace an address by a new one; the former one ends at once",
    "3",
    whole=True,
)
REVOKE: Final = Verb("revoke", AddressNumber, Body, _revoke, "Revoke an address, at once", "3", whole=True)
VERBS: Final = (ADD, ROTATE, REVOKE)
