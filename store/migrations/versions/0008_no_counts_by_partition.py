"""Delete class counts that were kept by partition, a mode that is gone; their checks count again."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_CONDITION = sa.text("check_id IS NOT NULL")


def upgrade() -> None:
    """Delete their rows, drop the fingerprints of parts, and index incidents by check only where they have one."""
    state = sa.table("class_state", sa.column("id"), sa.column("mode"))
    by_partition = state.c.mode == "partition"
    for name in ("class_part", "class_size", "class_count"):
        counts = sa.table(name, sa.column("state"))
        op.execute(sa.delete(counts).where(counts.c.state.in_(sa.select(state.c.id).where(by_partition))))
    op.execute(sa.delete(state).where(by_partition))
    op.drop_column("class_part", "fingerprint")
    op.drop_index("ix_incident_check_id", "incident")
    op.create_index(
        "ix_incident_check_id", "incident", ["check_id"], sqlite_where=_CONDITION, postgresql_where=_CONDITION
    )
