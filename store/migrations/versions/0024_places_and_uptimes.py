"""Keep in which source and relation a check was evaluated last, and at which uptime a time was trusted."""

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; of what was before, neither is known."""
    whole = "BIGINT" if op.get_bind().dialect.name == "postgresql" else "INTEGER"
    op.execute("ALTER TABLE check_state ADD COLUMN place TEXT")
    for column in ("boot TEXT", f"uptime_us {whole}", f"noted_us {whole}"):
        op.execute(f"ALTER TABLE clock ADD COLUMN {column}")
