"""Add events that people log, such as deployments; find the incidents of a table by the time of their detection."""

from string import Template

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_WORDS = {
    "sqlite": {"numbered": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT", "whole": "INTEGER", "strict": " STRICT"},
    "postgresql": {"numbered": "BIGSERIAL PRIMARY KEY", "whole": "BIGINT", "strict": ""},
}
_KINDS = " OR ".join(
    f"kind = '{word}'" for word in ("deploy", "migration", "backfill", "configuration", "other", "removal")
)
_TABLE = """
CREATE TABLE logged_event (
    id ${numbered},
    kind TEXT NOT NULL,
    happened_us ${whole} NOT NULL,
    table_name TEXT,
    source TEXT,
    note TEXT NOT NULL,
    actor TEXT NOT NULL,
    recorded_us ${whole} NOT NULL,
    removes ${whole},
    CONSTRAINT uq_logged_event_removes UNIQUE (removes),
    CONSTRAINT ck_logged_event_kind CHECK (${kinds}),
    CONSTRAINT ck_logged_event_removes_iff_removal CHECK ((kind = 'removal') = (removes IS NOT NULL)),
    CONSTRAINT ck_logged_event_scope CHECK (table_name IS NULL OR source IS NULL)
)${strict}

CREATE INDEX ix_logged_event_happened_us ON logged_event (happened_us)

CREATE INDEX ix_incident_table_name_detected_us ON incident (table_name, detected_us)

DROP INDEX ix_incident_table_name
"""
_GUARDS = {
    "sqlite": """
CREATE TRIGGER logged_event_no_update BEFORE UPDATE ON logged_event
BEGIN SELECT RAISE(ABORT, 'logged events are facts: they are never changed'); END

CREATE TRIGGER logged_event_no_replace BEFORE INSERT ON logged_event
WHEN EXISTS (SELECT 1 FROM logged_event WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'logged events are facts: they are never changed'); END
""",
    "postgresql": """
CREATE FUNCTION logged_event_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'logged events are facts: they are never changed' USING ERRCODE = 'restrict_violation';
END $$

CREATE TRIGGER logged_event_guard BEFORE UPDATE ON logged_event
FOR EACH ROW EXECUTE FUNCTION logged_event_refuse()
""",
}


def upgrade() -> None:
    """Create the table with its guards, and the index."""
    dialect = op.get_bind().dialect.name
    for statements in (Template(_TABLE).substitute(_WORDS[dialect], kinds=_KINDS), _GUARDS[dialect]):
        for statement in statements.strip().split("\n\n"):
            op.execute(statement)
