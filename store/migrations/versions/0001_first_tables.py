"""Begin: the project, runs, measurements, the watch of each check, incidents with their episodes and events, gaps."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables, their indexes and the triggers that keep events append-only."""
    _make_project()
    _make_observations()
    _make_incidents()
    _make_gaps()
    if op.get_bind().dialect.name == "sqlite":
        _guard_events_on_sqlite()
    else:
        _guard_events_on_postgresql()


def _text(name: str, *, optional: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=optional)


def _whole(name: str, *, optional: bool = False) -> sa.Column[int]:
    return sa.Column(name, _WHOLE, nullable=optional)


def _in(column: str, *words: str) -> sa.CheckConstraint:
    listed = ", ".join(f"'{word}'" for word in words)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=column)


def _flag(column: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(f"{column} IN (0, 1)", name=column)


def _index(table: str, *columns: str) -> None:
    op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, columns)


def _index_where(name: str, table: str, column: str, condition: str, *, unique: bool = False) -> None:
    op.create_index(
        op.f(name), table, [column], unique=unique, sqlite_where=sa.text(condition), postgresql_where=sa.text(condition)
    )


def _make_project() -> None:
    op.create_table(
        "project",
        _whole("id"),
        _text("name"),
        sa.CheckConstraint("id = 1", name="one"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project")),
        sqlite_strict=True,
    )


def _make_observations() -> None:
    op.create_table(
        "run",
        _whole("number"),
        _text("id"),
        _text("table_name"),
        _whole("started_us"),
        _whole("ended_us"),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_run")),
        sa.UniqueConstraint("id", name=op.f("uq_run_id")),
        sqlite_strict=True,
    )
    _index("run", "started_us")
    op.create_table(
        "measurement",
        _whole("id"),
        _whole("run"),
        _text("check_id"),
        _text("table_name"),
        _whole("measured_us"),
        _text("status"),
        _text("reason", optional=True),
        _text("observed"),
        _text("message"),
        _whole("duration_us"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_measurement")),
        sa.UniqueConstraint("run", "check_id", name=op.f("uq_measurement_run_check_id")),
        sa.ForeignKeyConstraint(["run"], ["run.number"], name=op.f("fk_measurement_run_run")),
        _in("status", "pass", "warn", "fail", "unknown"),
        sa.CheckConstraint("(status = 'unknown') = (reason IS NOT NULL)", name="reason_iff_unknown"),
        sqlite_strict=True,
    )
    _index("measurement", "check_id", "measured_us")
    op.create_table(
        "check_state",
        _text("check_id"),
        _whole("monitored_since_us"),
        _whole("last_run_us"),
        _text("last_status"),
        _whole("last_pass_ended_us", optional=True),
        _whole("failing_since_us", optional=True),
        _whole("fail_streak"),
        _whole("passing_since_us", optional=True),
        _whole("pass_streak"),
        _text("recent"),
        _whole("flapping"),
        sa.PrimaryKeyConstraint("check_id", name=op.f("pk_check_state")),
        sa.CheckConstraint("fail_streak >= 0 AND pass_streak >= 0", name="streaks"),
        _flag("flapping"),
        sqlite_strict=True,
    )


def _make_incidents() -> None:
    op.create_table(
        "incident",
        *_incident_columns(),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incident")),
        _in("kind", "quality", "disclosure"),
        _in("severity", "info", "warning", "error", "critical"),
        _in("found_by", "check", "person"),
        _in("state", "open", "acknowledged", "resolved"),
        _in("resolution", "fixed", "no-action", "expected", "false-positive", "duplicate"),
        sa.CheckConstraint("(state = 'resolved') = (resolution IS NOT NULL)", name="resolution_iff_resolved"),
        sa.CheckConstraint("(state = 'resolved') = (ended_us IS NOT NULL)", name="ended_iff_resolved"),
        _flag("regressed"),
        _flag("flapping"),
        sqlite_strict=True,
        sqlite_autoincrement=True,
    )
    _index_where("uq_incident_open_fingerprint", "incident", "fingerprint", "state <> 'resolved'", unique=True)
    _index_where("ix_incident_root", "incident", "root", "root IS NOT NULL")
    _index_where("ix_incident_merged_into", "incident", "merged_into", "merged_into IS NOT NULL")
    for column in ("fingerprint", "check_id", "table_name", "detected_us"):
        _index("incident", column)
    op.create_table(
        "episode",
        _whole("incident_id"),
        _whole("number"),
        _whole("occurred_us"),
        _whole("earliest_us"),
        _whole("latest_us"),
        _text("method"),
        _whole("first_failed_us", optional=True),
        _whole("detected_us"),
        _whole("resolved_us", optional=True),
        sa.PrimaryKeyConstraint("incident_id", "number", name=op.f("pk_episode")),
        sa.ForeignKeyConstraint(["incident_id"], ["incident.id"], name=op.f("fk_episode_incident_id_incident")),
        _in("method", "last-good-run", "freshness-deadline", "bad-rows", "first-observation", "person"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    _index("episode", "resolved_us", "earliest_us", "occurred_us")
    op.create_table(
        "incident_event",
        _whole("id"),
        _whole("incident_id"),
        _whole("number"),
        _whole("recorded_us"),
        _text("actor"),
        _text("kind"),
        _text("body"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incident_event")),
        sa.UniqueConstraint("incident_id", "number", name=op.f("uq_incident_event_incident_id_number")),
        sa.ForeignKeyConstraint(
            ["incident_id"],
            ["incident.id"],
            name=op.f("fk_incident_event_incident_id_incident"),
            deferrable=True,
            initially="DEFERRED",
        ),
        sqlite_strict=True,
    )


def _incident_columns() -> Sequence[sa.Column[str] | sa.Column[int]]:
    return (
        _whole("id"),
        _text("fingerprint"),
        _text("table_name"),
        _text("check_id", optional=True),
        _text("kind"),
        _text("severity"),
        _text("title"),
        _text("title_values"),
        _text("found_by"),
        _text("state"),
        _text("resolution", optional=True),
        _text("cause", optional=True),
        _whole("detected_us"),
        _whole("ended_us", optional=True),
        _whole("acknowledged_us", optional=True),
        _text("assignee", optional=True),
        _whole("snoozed_until_us", optional=True),
        _whole("regressed"),
        _whole("flapping"),
        _whole("root", optional=True),
        _whole("merged_into", optional=True),
    )


def _make_gaps() -> None:
    op.create_table(
        "gap",
        _whole("id"),
        _text("check_id"),
        _text("table_name"),
        _whole("started_us"),
        _whole("ended_us"),
        _text("reason"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gap")),
        sqlite_strict=True,
    )
    _index("gap", "check_id", "started_us")
    _index("gap", "ended_us", "started_us")


def _guard_events_on_sqlite() -> None:
    op.execute(
        """
        CREATE TRIGGER incident_event_no_update BEFORE UPDATE ON incident_event
        BEGIN SELECT RAISE(ABORT, 'incident events are facts: they are never changed'); END
        """
    )
    op.execute(
        """
        CREATE TRIGGER incident_event_no_delete BEFORE DELETE ON incident_event
        WHEN EXISTS (SELECT 1 FROM incident WHERE id = OLD.incident_id)
        BEGIN SELECT RAISE(ABORT, 'incident events are facts: they leave only with their incident'); END
        """
    )
    # INSERT OR REPLACE removes the old row without firing a delete trigger
    op.execute(
        """
        CREATE TRIGGER incident_event_no_replace BEFORE INSERT ON incident_event
        WHEN EXISTS (SELECT 1 FROM incident_event WHERE incident_id = NEW.incident_id AND number = NEW.number)
          OR EXISTS (SELECT 1 FROM incident_event WHERE id = NEW.id)
        BEGIN SELECT RAISE(ABORT, 'incident events are facts: they are never changed'); END
        """
    )


def _guard_events_on_postgresql() -> None:
    op.execute(
        """
        CREATE FUNCTION incident_event_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF TG_OP = 'DELETE' THEN
            IF NOT EXISTS (SELECT 1 FROM incident WHERE id = OLD.incident_id) THEN
              RETURN OLD;
            END IF;
            RAISE EXCEPTION 'incident events are facts: they leave only with their incident'
              USING ERRCODE = 'restrict_violation';
          END IF;
          RAISE EXCEPTION 'incident events are facts: they are never changed'
            USING ERRCODE = 'restrict_violation';
        END $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER incident_event_guard BEFORE UPDATE OR DELETE ON incident_event
        FOR EACH ROW EXECUTE FUNCTION incident_event_refuse()
        """
    )
    op.execute(
        """
        CREATE TRIGGER incident_event_no_truncate BEFORE TRUNCATE ON incident_event
        FOR EACH STATEMENT EXECUTE FUNCTION incident_event_refuse()
        """
    )
