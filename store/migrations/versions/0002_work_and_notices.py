"""Remember the work of daemons (schedule, slots, clock) and what people are told (outbox, messages, silences)."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add tables; those that are there stay as they are."""
    _make_schedule()
    _make_daemons()
    _make_outbox()
    _make_deliveries()
    _make_silences()


def _text(name: str, *, optional: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=optional)


def _whole(name: str, *, optional: bool = False) -> sa.Column[int]:
    return sa.Column(name, _WHOLE, nullable=optional)


def _in(column: str, *words: str) -> sa.CheckConstraint:
    listed = ", ".join(f"'{word}'" for word in words)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=column)


def _index(table: str, *columns: str) -> None:
    op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, columns)


def _index_where(name: str, table: str, *columns: str, condition: str, unique: bool = False) -> None:
    op.create_index(
        op.f(name), table, columns, unique=unique, sqlite_where=sa.text(condition), postgresql_where=sa.text(condition)
    )


def _make_schedule() -> None:
    op.create_table(
        "schedule",
        _text("table_name"),
        _text("schedule"),
        _text("zone"),
        _whole("next_slot_us"),
        _whole("due_us"),
        sa.PrimaryKeyConstraint("table_name", name=op.f("pk_schedule")),
        sqlite_strict=True,
    )
    _index("schedule", "due_us", "table_name")
    op.create_table(
        "slot",
        _whole("id"),
        _text("table_name"),
        _whole("slot_us"),
        _whole("epoch"),
        _text("state"),
        _whole("attempt"),
        _text("holder"),
        _whole("started_us"),
        _whole("heartbeat_us", optional=True),
        _whole("lease_until_us"),
        _whole("ended_us", optional=True),
        _text("run_id", optional=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_slot")),
        sa.UniqueConstraint("table_name", "slot_us", "epoch", name=op.f("uq_slot_table_name_slot_us_epoch")),
        _in("state", "running", "done", "given-up"),
        sa.CheckConstraint("(state = 'running') = (ended_us IS NULL)", name="ended_iff_not_running"),
        sa.CheckConstraint("attempt >= 1", name="attempt"),
        sqlite_strict=True,
    )
    _index_where("uq_slot_running_table", "slot", "table_name", condition="state = 'running'", unique=True)
    _index_where("ix_slot_running_lease", "slot", "lease_until_us", condition="state = 'running'")
    _index("slot", "started_us")
    op.create_table(
        "skip",
        _whole("id"),
        _text("table_name"),
        _whole("first_us"),
        _whole("last_us"),
        _whole("count"),
        _text("reason"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_skip")),
        _in("reason", "late", "overrun", "policy", "changed"),
        sa.CheckConstraint("count >= 1 AND last_us >= first_us", name="some"),
        sqlite_strict=True,
    )
    _index("skip", "last_us")
    op.create_table(
        "clock",
        _whole("id"),
        _whole("epoch"),
        _whole("latest_us"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_clock")),
        sa.CheckConstraint("id = 1", name="one"),
        sqlite_strict=True,
    )


def _make_daemons() -> None:
    op.create_table(
        "daemon",
        _text("id"),
        _text("host"),
        _whole("pid"),
        _text("version"),
        _whole("started_us"),
        _whole("heartbeat_us"),
        _whole("stopped_us", optional=True),
        _whole("config_loaded_us"),
        _text("config_error", optional=True),
        _whole("leads"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_daemon")),
        _in_flag("leads"),
        sqlite_strict=True,
    )
    op.create_table(
        "quarantine",
        _text("check_id"),
        _whole("crashes"),
        _whole("until_us", optional=True),
        _whole("last_crash_us"),
        sa.PrimaryKeyConstraint("check_id", name=op.f("pk_quarantine")),
        sa.CheckConstraint("crashes >= 1", name="crashes"),
        sqlite_strict=True,
    )


def _in_flag(column: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(f"{column} IN (0, 1)", name=column)


def _make_outbox() -> None:
    op.create_table(
        "transition",
        _whole("id"),
        _whole("incident_id"),
        _text("change"),
        _whole("recorded_us"),
        _whole("not_before_us"),
        _whole("settled_us", optional=True),
        _text("decision", optional=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_transition")),
        sa.ForeignKeyConstraint(["incident_id"], ["incident.id"], name=op.f("fk_transition_incident_id_incident")),
        _in("change", "opened", "reopened", "escalated", "resolved", "flapping", "settled", "merged"),
        sa.CheckConstraint("settled_us IS NULL OR decision IS NOT NULL", name="decided_if_settled"),
        sqlite_strict=True,
    )
    _index_where("ix_transition_waiting", "transition", "not_before_us", "id", condition="settled_us IS NULL")
    _index_where("ix_transition_settled", "transition", "settled_us", condition="settled_us IS NOT NULL")
    _index("transition", "incident_id")
    _index("transition", "recorded_us")
    op.create_table(
        "told",
        _whole("incident_id"),
        _text("channel"),
        _text("reason"),
        _text("severity"),
        _whole("episodes"),
        _whole("told_us"),
        _text("delivery_id"),
        sa.PrimaryKeyConstraint("incident_id", "channel", name=op.f("pk_told")),
        sa.ForeignKeyConstraint(["incident_id"], ["incident.id"], name=op.f("fk_told_incident_id_incident")),
        _in("severity", "info", "warning", "error", "critical"),
        sqlite_strict=True,
    )


def _make_deliveries() -> None:
    op.create_table(
        "delivery",
        _whole("number"),
        _text("id"),
        _text("channel"),
        _text("about", optional=True),
        _text("subject"),
        _text("payload"),
        _whole("created_us"),
        _text("state"),
        _whole("attempts"),
        _whole("next_try_us"),
        _whole("sent_us", optional=True),
        _whole("buried_us", optional=True),
        _text("error", optional=True),
        _text("holder", optional=True),
        _whole("lease_until_us", optional=True),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_delivery")),
        sa.UniqueConstraint("id", name=op.f("uq_delivery_id")),
        _in("subject", "incidents", "report", "operations", "test"),
        _in("state", "waiting", "sent", "dead"),
        sa.CheckConstraint("(state = 'sent') = (sent_us IS NOT NULL)", name="sent_iff_sent"),
        sa.CheckConstraint("(state = 'dead') = (buried_us IS NOT NULL)", name="buried_iff_dead"),
        sa.CheckConstraint("attempts >= 0", name="attempts"),
        sqlite_strict=True,
    )
    _index_where("ix_delivery_waiting", "delivery", "next_try_us", "number", condition="state = 'waiting'")
    _index_where("ix_delivery_waiting_channel", "delivery", "channel", "number", condition="state = 'waiting'")
    _index_where("ix_delivery_waiting_about", "delivery", "channel", "about", "number", condition="state = 'waiting'")
    _index("delivery", "channel", "created_us")
    _index("delivery", "created_us")
    _index_where("ix_delivery_dead", "delivery", "buried_us", condition="state = 'dead'")


def _make_silences() -> None:
    op.create_table(
        "silence",
        _whole("id"),
        _text("scope"),
        _text("name", optional=True),
        _whole("starts_us"),
        _whole("until_us"),
        _text("reason"),
        _text("actor"),
        _whole("ended_us", optional=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_silence")),
        _in("scope", "all", "domain", "table"),
        sa.CheckConstraint("(scope = 'all') = (name IS NULL)", name="name_unless_all"),
        sa.CheckConstraint("until_us > starts_us", name="ends"),
        sqlite_strict=True,
        sqlite_autoincrement=True,
    )
    op.create_table(
        "disabled_channel",
        _text("name"),
        _text("why"),
        _whole("disabled_us"),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_disabled_channel")),
        sqlite_strict=True,
    )
