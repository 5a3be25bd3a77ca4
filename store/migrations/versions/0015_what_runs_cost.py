"""Keep what runs cost, alone and by day; earlier runs have none."""

from string import Template

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_WORDS = {
    "sqlite": {"whole": "INTEGER", "options": " WITHOUT ROWID, STRICT"},
    "postgresql": {"whole": "BIGINT", "options": ""},
}
_TABLE = """
CREATE TABLE daily_cost (
    day TEXT NOT NULL,
    source TEXT NOT NULL,
    table_name TEXT NOT NULL,
    runs ${whole} NOT NULL,
    cost_us ${whole} NOT NULL,
    rows_read ${whole},
    bytes_read ${whole},
    CONSTRAINT pk_daily_cost PRIMARY KEY (day, source, table_name)
)${options}
"""


def upgrade() -> None:
    """Add the columns and the table."""
    whole = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    for name in ("cost_us", "rows_read", "bytes_read"):
        op.add_column("run", sa.Column(name, whole))
    op.execute(Template(_TABLE).substitute(_WORDS[op.get_bind().dialect.name]).strip())
    op.create_index("ix_daily_cost_table_name_day", "daily_cost", ["table_name", "day"])
