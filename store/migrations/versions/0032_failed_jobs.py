"""Name the job of an event that is a failed job."""

from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; no event so far is a failed job."""
    op.execute("ALTER TABLE logged_event ADD COLUMN job TEXT")
