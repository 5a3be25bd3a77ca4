"""Add the last comparison of the remedies of each release."""

from string import Template

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_WORDS = {
    "sqlite": {"whole": "INTEGER", "strict": " STRICT"},
    "postgresql": {"whole": "BIGINT", "strict": ""},
}
_TABLE = """
CREATE TABLE release_comparison (
    release TEXT NOT NULL,
    digest TEXT NOT NULL,
    body TEXT NOT NULL,
    compared_us ${whole} NOT NULL,
    CONSTRAINT pk_release_comparison PRIMARY KEY (release)
)${strict}
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(Template(_TABLE).substitute(_WORDS[op.get_bind().dialect.name]).strip())
