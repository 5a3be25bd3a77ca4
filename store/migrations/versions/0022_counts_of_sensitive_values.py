"""Keep how many rows of a release have a sensitive value in a class, by which the difference of two is judged."""

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; what earlier versions kept has no counts."""
    kind = "BIGINT" if op.get_bind().dialect.name == "postgresql" else "INTEGER"
    op.execute(f"ALTER TABLE released_value ADD COLUMN copies {kind}")
