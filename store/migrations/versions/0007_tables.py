"""Begin with the tables that a new store gets; a store of an earlier build cannot be upgraded, none was released."""

from alembic import op

from store._schema import create_tables

revision = "0007"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables, their indexes and the triggers that keep facts as they are."""
    create_tables(op.get_bind())
