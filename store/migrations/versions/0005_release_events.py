"""Keep what was decided of releases and what was exported, as facts."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_FACTS = "decisions and exports of releases are facts: they are never changed or removed"


def upgrade() -> None:
    """Add the table with its guards."""
    op.create_table(
        "release_event",
        sa.Column("id", _WHOLE, nullable=False),
        sa.Column("release", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("recorded_us", _WHOLE, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_release_event")),
        sa.CheckConstraint("kind IN ('approved', 'held', 'exported')", name="kind"),
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_release_event_release_id"), "release_event", ["release", "id"])
    if op.get_bind().dialect.name == "sqlite":
        _guard_on_sqlite()
    else:
        _guard_on_postgresql()


def _guard_on_sqlite() -> None:
    refuse = f"BEGIN SELECT RAISE(ABORT, '{_FACTS}'); END"
    for event in ("UPDATE", "DELETE"):
        op.execute(f"CREATE TRIGGER release_event_no_{event.lower()} BEFORE {event} ON release_event {refuse}")
    # INSERT OR REPLACE removes the old row without firing a delete trigger
    taken = "WHEN EXISTS (SELECT 1 FROM release_event WHERE id = NEW.id)"
    op.execute(f"CREATE TRIGGER release_event_no_replace BEFORE INSERT ON release_event {taken} {refuse}")


def _guard_on_postgresql() -> None:
    op.execute(
        f"""
        CREATE FUNCTION release_event_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          RAISE EXCEPTION '{_FACTS}' USING ERRCODE = 'restrict_violation';
        END $$
        """
    )
    for events, each, name in (("UPDATE OR DELETE", "ROW", "guard"), ("TRUNCATE", "STATEMENT", "no_truncate")):
        op.execute(
            f"CREATE TRIGGER release_event_{name} BEFORE {events} ON release_event "
            f"FOR EACH {each} EXECUTE FUNCTION release_event_refuse()"
        )
