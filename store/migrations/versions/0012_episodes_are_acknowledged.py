"""Keep when each episode was acknowledged, not only the newest of an incident."""

from datetime import UTC, datetime
from typing import Final

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_BATCH: Final = 10_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EVENT: Final = sa.table("incident_event", *map(sa.column, ("incident_id", "number", "kind", "body")))
_EPISODE: Final = sa.table("episode", *map(sa.column, ("incident_id", "number", "acknowledged_us")))


def upgrade() -> None:
    """Add the column, fill it from the events, and drop that of the incident."""
    op.add_column("episode", sa.Column("acknowledged_us", sa.BigInteger().with_variant(sa.Integer(), "sqlite")))
    _fill(op.get_bind())
    op.drop_column("incident", "acknowledged_us")


def _fill(connection: sa.Connection) -> None:
    acknowledged = sa.select(_EVENT.c.incident_id).where(_EVENT.c.kind == "acknowledged")
    query = (
        sa.select(_EVENT.c.incident_id, _EVENT.c.kind, _EVENT.c.body)
        .where(_EVENT.c.kind.in_(("acknowledged", "reopened")), _EVENT.c.incident_id.in_(acknowledged))
        .order_by(_EVENT.c.incident_id, _EVENT.c.number)
    )
    change = (
        sa.update(_EPISODE)
        .where(_EPISODE.c.incident_id == sa.bindparam("incident"), _EPISODE.c.number == sa.bindparam("episode"))
        .values(acknowledged_us=sa.bindparam("moment"))
    )
    pending: list[dict[str, int]] = []
    incident = episode = 0
    for row in connection.execute(query).fetchall():
        incident, episode = row.incident_id, episode if row.incident_id == incident else 0
        if row.kind == "reopened":
            episode += 1
        else:
            pending.append({"incident": incident, "episode": episode, "moment": _moment_us(row.body)})
        if len(pending) >= _BATCH:
            connection.execute(change, pending)
            pending.clear()
    if pending:
        connection.execute(change, pending)


def _moment_us(body: str) -> int:
    import json

    delta = datetime.fromisoformat(json.loads(body)["at"]) - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
