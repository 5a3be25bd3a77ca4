"""Keep since when the daily limit of a source delays a table, and know the slots that it passed over by a word."""

from string import Template

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_CONDITION = sa.text("delayed_us IS NOT NULL")
_REASONS = " OR ".join(f"reason = '{word}'" for word in ("late", "overrun", "daily-limit", "policy", "changed"))
_SKIP = Template(
    """
CREATE TABLE skip (
    id INTEGER NOT NULL,
    table_name TEXT NOT NULL,
    first_us INTEGER NOT NULL,
    last_us INTEGER NOT NULL,
    count INTEGER NOT NULL,
    reason TEXT NOT NULL,
    CONSTRAINT pk_skip PRIMARY KEY (id),
    CONSTRAINT ck_skip_reason CHECK (${reasons}),
    CONSTRAINT ck_skip_some CHECK (count >= 1 AND last_us >= first_us)
) STRICT
"""
).substitute(reasons=_REASONS)


def upgrade() -> None:
    """Add the column with its index, and the word to those that a skip may have."""
    op.add_column("schedule", sa.Column("delayed_us", sa.BigInteger().with_variant(sa.Integer(), "sqlite")))
    op.create_index(
        "ix_schedule_delayed", "schedule", ["table_name"], sqlite_where=_CONDITION, postgresql_where=_CONDITION
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE skip DROP CONSTRAINT ck_skip_reason")
        op.execute(f"ALTER TABLE skip ADD CONSTRAINT ck_skip_reason CHECK ({_REASONS})")
        return
    op.execute("ALTER TABLE skip RENAME TO skip_before")  # SQLite changes no condition of a table that is there
    op.execute(_SKIP.strip())
    op.execute("INSERT INTO skip SELECT id, table_name, first_us, last_us, count, reason FROM skip_before")
    op.execute("DROP TABLE skip_before")
    op.create_index("ix_skip_last_us", "skip", ["last_us"])
