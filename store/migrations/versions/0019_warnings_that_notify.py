"""Keep warnings that open no incident, and let a transition be about one."""

from string import Template

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

_CHANGES = ("opened", "reopened", "escalated", "resolved", "flapping", "settled", "merged")
_CONDITIONS = {
    "severities": " OR ".join(f"severity = '{word}'" for word in ("info", "warning", "error", "critical")),
    "changes": " OR ".join(f"change = '{word}'" for word in _CHANGES),
}
_WORDS = {
    "sqlite": {"serial": "INTEGER", "whole": "INTEGER", "strict": " STRICT"},
    "postgresql": {"serial": "BIGSERIAL", "whole": "BIGINT", "strict": ""},
}
_WARNING = """
CREATE TABLE warning (
    id ${serial} NOT NULL,
    series TEXT NOT NULL,
    table_name TEXT NOT NULL,
    check_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    severity TEXT NOT NULL,
    title TEXT NOT NULL,
    title_values TEXT NOT NULL,
    began_us ${whole} NOT NULL,
    passing_us ${whole},
    passes ${whole} NOT NULL,
    ended_us ${whole},
    CONSTRAINT pk_warning PRIMARY KEY (id),
    CONSTRAINT ck_warning_kind CHECK (kind = 'quality' OR kind = 'disclosure'),
    CONSTRAINT ck_warning_severity CHECK (${severities}),
    CONSTRAINT ck_warning_passes CHECK ((passes = 0) = (passing_us IS NULL))
)${strict}
"""
_TRANSITION = """
CREATE TABLE transition (
    id INTEGER NOT NULL,
    incident_id INTEGER,
    warning_id INTEGER,
    change TEXT NOT NULL,
    recorded_us INTEGER NOT NULL,
    not_before_us INTEGER NOT NULL,
    settled_us INTEGER,
    decision TEXT,
    CONSTRAINT pk_transition PRIMARY KEY (id),
    CONSTRAINT ck_transition_change CHECK (${changes}),
    CONSTRAINT ck_transition_of_one CHECK ((incident_id IS NULL) <> (warning_id IS NULL)),
    CONSTRAINT ck_transition_decided_if_settled CHECK (settled_us IS NULL OR decision IS NOT NULL),
    CONSTRAINT fk_transition_incident_id_incident FOREIGN KEY(incident_id) REFERENCES incident (id),
    CONSTRAINT fk_transition_warning_id_warning FOREIGN KEY(warning_id) REFERENCES warning (id)
) STRICT
"""
_COLUMNS = "id, incident_id, change, recorded_us, not_before_us, settled_us, decision"


def upgrade() -> None:
    """Create the table, and give transitions a second column of which one of the two is filled."""
    on_postgresql = op.get_bind().dialect.name == "postgresql"
    op.execute(Template(_WARNING).substitute(_WORDS[op.get_bind().dialect.name], **_CONDITIONS).strip())
    op.execute("CREATE INDEX ix_warning_ended ON warning (ended_us) WHERE ended_us IS NOT NULL")
    op.execute("CREATE UNIQUE INDEX uq_warning_lasting ON warning (check_id, series) WHERE ended_us IS NULL")
    if on_postgresql:
        op.execute("ALTER TABLE transition ALTER COLUMN incident_id DROP NOT NULL")
        op.execute(
            "ALTER TABLE transition ADD COLUMN warning_id BIGINT "
            "CONSTRAINT fk_transition_warning_id_warning REFERENCES warning (id)"
        )
        op.execute(
            "ALTER TABLE transition ADD CONSTRAINT ck_transition_of_one "
            "CHECK ((incident_id IS NULL) <> (warning_id IS NULL))"
        )
    else:
        op.execute(
            "ALTER TABLE transition RENAME TO transition_before"
        )  # SQLite allows no NULL in a column that is there
        op.execute(Template(_TRANSITION).substitute(_CONDITIONS).strip())
        op.execute(f"INSERT INTO transition ({_COLUMNS}) SELECT {_COLUMNS} FROM transition_before")  # noqa: S608 - above
        op.execute("DROP TABLE transition_before")
        op.execute("CREATE INDEX ix_transition_incident_id ON transition (incident_id)")
        op.execute("CREATE INDEX ix_transition_recorded_us ON transition (recorded_us)")
        op.execute("CREATE INDEX ix_transition_settled ON transition (settled_us) WHERE settled_us IS NOT NULL")
        op.execute("CREATE INDEX ix_transition_waiting ON transition (not_before_us, id) WHERE settled_us IS NULL")
    op.execute("CREATE INDEX ix_transition_warning ON transition (warning_id) WHERE warning_id IS NOT NULL")
