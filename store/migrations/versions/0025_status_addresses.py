"""Add the addresses at which consumers read the status of a table or a data product without signing in."""

from string import Template

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

_WORDS = {
    "sqlite": {
        "numbered": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
        "whole": "INTEGER",
        "bytes": "BLOB",
        "strict": " STRICT",
    },
    "postgresql": {"numbered": "BIGSERIAL PRIMARY KEY", "whole": "BIGINT", "bytes": "BYTEA", "strict": ""},
}
_TABLE = """
CREATE TABLE status_address (
    id ${numbered},
    digest ${bytes} NOT NULL,
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    actor TEXT NOT NULL,
    created_us ${whole} NOT NULL,
    revoked_us ${whole},
    CONSTRAINT uq_status_address_digest UNIQUE (digest),
    CONSTRAINT ck_status_address_scope CHECK (scope = 'table' OR scope = 'product')
)${strict}
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(Template(_TABLE).substitute(_WORDS[op.get_bind().dialect.name]))
