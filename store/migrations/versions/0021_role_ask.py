"""Let accounts of the web application have the role `ask`."""

from string import Template

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

_ROLES = " OR ".join(f"role = '{word}'" for word in ("viewer", "responder", "owner", "steward", "admin", "ask"))
_TABLES = {
    "web_user": """
CREATE TABLE web_user (
    name TEXT NOT NULL,
    password TEXT,
    role TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    CONSTRAINT pk_web_user PRIMARY KEY (name),
    CONSTRAINT ck_web_user_role CHECK (${roles})
) STRICT
""",
    "web_session": """
CREATE TABLE web_session (
    digest BLOB NOT NULL,
    name TEXT NOT NULL,
    method TEXT NOT NULL,
    role TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    seen_us INTEGER NOT NULL,
    expires_us INTEGER NOT NULL,
    CONSTRAINT pk_web_session PRIMARY KEY (digest),
    CONSTRAINT ck_web_session_role CHECK (${roles})
) STRICT
""",
    "login_link": """
CREATE TABLE login_link (
    digest BLOB NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    scope TEXT NOT NULL,
    expires_us INTEGER NOT NULL,
    CONSTRAINT pk_login_link PRIMARY KEY (digest),
    CONSTRAINT ck_login_link_role CHECK (${roles})
) STRICT
""",
    "api_token": """
CREATE TABLE api_token (
    name TEXT NOT NULL,
    digest BLOB NOT NULL,
    role TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    expires_us INTEGER NOT NULL,
    used_us INTEGER,
    revoked_us INTEGER,
    CONSTRAINT pk_api_token PRIMARY KEY (name),
    CONSTRAINT uq_api_token_digest UNIQUE (digest),
    CONSTRAINT ck_api_token_role CHECK (${roles}),
    CONSTRAINT ck_api_token_expires CHECK (expires_us > created_us)
) STRICT
""",
}


def upgrade() -> None:
    """Widen the constraints; SQLite changes none, so the tables are made again there. Nothing refers to them."""
    if op.get_bind().dialect.name == "postgresql":
        for table in _TABLES:
            op.execute(f"ALTER TABLE {table} DROP CONSTRAINT ck_{table}_role")
            op.execute(f"ALTER TABLE {table} ADD CONSTRAINT ck_{table}_role CHECK ({_ROLES})")
        return
    for table, statement in _TABLES.items():
        op.execute(f"ALTER TABLE {table} RENAME TO {table}_before")
        op.execute(Template(statement).substitute(roles=_ROLES).strip())
        op.execute(Template("INSERT INTO $table SELECT * FROM ${table}_before").substitute(table=table))
        op.execute(f"DROP TABLE {table}_before")
    op.execute("CREATE INDEX ix_web_session_name ON web_session (name)")
