"""Keep when incidents were compared with their events last, and up to which event."""

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; nothing is known of looks that were before."""
    whole = "BIGINT" if op.get_bind().dialect.name == "postgresql" else "INTEGER"
    for column in ("compared_us", "compared_all_us", "compared_event"):
        op.execute(f"ALTER TABLE clock ADD COLUMN {column} {whole}")
