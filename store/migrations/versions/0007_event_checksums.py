"""Add to each event of an incident a checksum of what it says, so that bytes that changed on the disk are found."""

from hashlib import sha256

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_BATCH = 5_000


def upgrade() -> None:
    """Add the column and fill it for the events that are there; nothing else of them is touched."""
    op.add_column("incident_event", sa.Column("checksum", sa.Text(), nullable=True))
    bind = op.get_bind()
    if bind.dialect.name == "sqlite":
        guard = "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = 'incident_event_no_update'"
        text = bind.exec_driver_sql(guard).scalar()
        bind.exec_driver_sql("DROP TRIGGER incident_event_no_update")
        _fill(bind)
        bind.exec_driver_sql(str(text))
    else:
        op.execute("ALTER TABLE incident_event DISABLE TRIGGER incident_event_guard")
        _fill(bind)
        op.execute("ALTER TABLE incident_event ENABLE TRIGGER incident_event_guard")


def _fill(bind: sa.Connection) -> None:
    last = 0
    events = sa.text(
        "SELECT id, incident_id, number, recorded_us, actor, kind, body FROM incident_event "
        "WHERE id > :last ORDER BY id LIMIT :batch"
    )
    update = sa.text("UPDATE incident_event SET checksum = :checksum WHERE id = :id")
    while rows := bind.execute(events, {"last": last, "batch": _BATCH}).all():
        bind.execute(update, [{"id": row[0], "checksum": _checksum(*row[1:])} for row in rows])
        last = rows[-1][0]


def _checksum(*cells: object) -> str:
    return sha256("\0".join(map(str, cells)).encode("utf-8", "surrogatepass")).hexdigest()[:32]
