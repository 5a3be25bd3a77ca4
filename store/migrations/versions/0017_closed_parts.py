"""Add what is kept of the rows of tables that are no longer read."""

from string import Template

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_WORDS = {
    "sqlite": {"whole": "INTEGER", "bytes": "BLOB", "strict": " STRICT"},
    "postgresql": {"whole": "BIGINT", "bytes": "BYTEA", "strict": ""},
}
_TABLE = """
CREATE TABLE closed_part (
    name TEXT NOT NULL,
    version ${whole} NOT NULL,
    digest ${bytes} NOT NULL,
    looked_us ${whole} NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_closed_part PRIMARY KEY (name)
)${strict}
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(Template(_TABLE).substitute(_WORDS[op.get_bind().dialect.name]).strip())
