"""Keep the answers of requests with an Idempotency-Key for a day."""

from string import Template

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

_WORDS = {
    "sqlite": {"whole": "INTEGER", "bytes": "BLOB", "strict": " STRICT"},
    "postgresql": {"whole": "BIGINT", "bytes": "BYTEA", "strict": ""},
}
_TABLE = """
CREATE TABLE answered_request (
    digest ${bytes} NOT NULL,
    content ${bytes} NOT NULL,
    begun_us ${whole} NOT NULL,
    answer ${bytes},
    CONSTRAINT pk_answered_request PRIMARY KEY (digest)
)${strict}
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(Template(_TABLE).substitute(_WORDS[op.get_bind().dialect.name]))
