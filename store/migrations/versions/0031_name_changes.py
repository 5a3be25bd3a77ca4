"""Add the renames of tables, checks, domains and owners."""

from string import Template

from alembic import op

revision = "0031"
down_revision = "0028"
branch_labels = None
depends_on = None

_WORDS = {
    "sqlite": {"serial": "INTEGER", "whole": "INTEGER", "strict": " STRICT"},
    "postgresql": {"serial": "BIGSERIAL", "whole": "BIGINT", "strict": ""},
}
_TABLE = """
CREATE TABLE name_change (
    id ${serial} NOT NULL,
    kind TEXT NOT NULL,
    old_name TEXT NOT NULL,
    new_name TEXT NOT NULL,
    actor TEXT NOT NULL,
    recorded_us ${whole} NOT NULL,
    CONSTRAINT pk_name_change PRIMARY KEY (id),
    CONSTRAINT ck_name_change_kind CHECK (kind = 'table' OR kind = 'check' OR kind = 'domain' OR kind = 'owner')
)${strict}
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(Template(_TABLE).substitute(_WORDS[op.get_bind().dialect.name]))
    op.execute("CREATE INDEX ix_name_change_recorded_us ON name_change (recorded_us)")
