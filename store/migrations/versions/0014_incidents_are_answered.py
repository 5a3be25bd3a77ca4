"""Keep whether a person answered an incident, so that figures of a million need not look at their events."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_FILL: Final = (
    "UPDATE incident SET answered = 1 WHERE id IN (SELECT incident_id FROM incident_event"
    " WHERE kind IN ('acknowledged', 'assigned', 'merged', 'resolved') AND actor <> 'tablewatch')"
)


def upgrade() -> None:
    """Add the column and fill it from the events."""
    whole = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.add_column("incident", sa.Column("answered", whole, server_default=sa.text("0"), nullable=False))
    op.execute(_FILL)
