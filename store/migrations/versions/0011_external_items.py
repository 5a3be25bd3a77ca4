"""Add what incidents are called in the services that show them: pages, messages, tickets."""

from string import Template

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_WORDS = {
    "sqlite": {"whole": "INTEGER", "strict": " STRICT"},
    "postgresql": {"whole": "BIGINT", "strict": ""},
}
_TABLE = """
CREATE TABLE external_item (
    incident_id ${whole} NOT NULL,
    channel TEXT NOT NULL,
    target TEXT NOT NULL,
    label TEXT NOT NULL,
    begun_us ${whole} NOT NULL,
    item TEXT,
    status TEXT,
    CONSTRAINT pk_external_item PRIMARY KEY (incident_id, channel),
    CONSTRAINT uq_external_item_label UNIQUE (label),
    CONSTRAINT fk_external_item_incident_id_incident FOREIGN KEY(incident_id) REFERENCES incident (id)
)${strict}
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(Template(_TABLE).substitute(_WORDS[op.get_bind().dialect.name]).strip())
