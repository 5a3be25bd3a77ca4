"""Keep how many rows a person has in a class of a release, and how many people a value: differences count people."""

from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; what earlier versions kept has no counts."""
    kind = "BIGINT" if op.get_bind().dialect.name == "postgresql" else "INTEGER"
    op.execute(f"ALTER TABLE released_row ADD COLUMN copies {kind}")
    op.execute(f"ALTER TABLE released_value ADD COLUMN people {kind}")
