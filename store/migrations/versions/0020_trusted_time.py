"""Keep the time that is trusted, and the one that a person confirmed last: by them data is deleted, or waits."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

_NEWEST = (
    "SELECT max(ended_us) FROM run",
    "SELECT max(recorded_us) FROM incident_event",
    "SELECT max(latest_us) FROM clock",
)


def upgrade() -> None:
    """Add the columns; the first time that is trusted is the newest of the rows, before this process adds any."""
    for name in ("trusted_us", "confirmed_us"):
        op.add_column("clock", sa.Column(name, sa.BigInteger().with_variant(sa.Integer(), "sqlite")))
    connection = op.get_bind()
    times = [connection.scalar(sa.text(newest)) for newest in _NEWEST]
    newest = max((time for time in times if time is not None), default=None)
    if newest is None:
        return
    if not connection.execute(sa.text("UPDATE clock SET trusted_us = :at"), {"at": newest}).rowcount:
        row = "INSERT INTO clock (id, epoch, latest_us, trusted_us) VALUES (1, 0, :at, :at)"
        connection.execute(sa.text(row), {"at": newest})
