"""Add the accounts of the web application: users, sessions, login links, API tokens."""

from string import Template

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_WORDS = {
    "sqlite": {"whole": "INTEGER", "bytes": "BLOB", "strict": " STRICT"},
    "postgresql": {"whole": "BIGINT", "bytes": "BYTEA", "strict": ""},
}
_ROLES = "role = 'viewer' OR role = 'responder' OR role = 'owner' OR role = 'steward' OR role = 'admin'"
_TABLES = """
CREATE TABLE web_user (
    name TEXT NOT NULL,
    password TEXT,
    role TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_us ${whole} NOT NULL,
    CONSTRAINT pk_web_user PRIMARY KEY (name),
    CONSTRAINT ck_web_user_role CHECK (${roles})
)${strict}

CREATE TABLE web_session (
    digest ${bytes} NOT NULL,
    name TEXT NOT NULL,
    method TEXT NOT NULL,
    role TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_us ${whole} NOT NULL,
    seen_us ${whole} NOT NULL,
    expires_us ${whole} NOT NULL,
    CONSTRAINT pk_web_session PRIMARY KEY (digest),
    CONSTRAINT ck_web_session_role CHECK (${roles})
)${strict}

CREATE INDEX ix_web_session_name ON web_session (name)

CREATE TABLE login_link (
    digest ${bytes} NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    scope TEXT NOT NULL,
    expires_us ${whole} NOT NULL,
    CONSTRAINT pk_login_link PRIMARY KEY (digest),
    CONSTRAINT ck_login_link_role CHECK (${roles})
)${strict}

CREATE TABLE api_token (
    name TEXT NOT NULL,
    digest ${bytes} NOT NULL,
    role TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_us ${whole} NOT NULL,
    expires_us ${whole} NOT NULL,
    used_us ${whole},
    revoked_us ${whole},
    CONSTRAINT pk_api_token PRIMARY KEY (name),
    CONSTRAINT uq_api_token_digest UNIQUE (digest),
    CONSTRAINT ck_api_token_role CHECK (${roles}),
    CONSTRAINT ck_api_token_expires CHECK (expires_us > created_us)
)${strict}
"""


def upgrade() -> None:
    """Create the tables."""
    words = _WORDS[op.get_bind().dialect.name]
    for statement in Template(_TABLES).substitute(words, roles=_ROLES).strip().split("\n\n"):
        op.execute(statement)
