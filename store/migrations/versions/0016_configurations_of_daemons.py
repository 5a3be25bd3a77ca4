"""Add the configuration that each daemon uses."""

from string import Template

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_WORDS = {
    "sqlite": {"bytes": "BLOB", "strict": " STRICT"},
    "postgresql": {"bytes": "BYTEA", "strict": ""},
}
_TABLE = """
CREATE TABLE daemon_config (
    daemon_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    packed ${bytes} NOT NULL,
    CONSTRAINT pk_daemon_config PRIMARY KEY (daemon_id)
)${strict}
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(Template(_TABLE).substitute(_WORDS[op.get_bind().dialect.name]).strip())
