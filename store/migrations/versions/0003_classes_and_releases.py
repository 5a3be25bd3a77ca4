"""Remember class counts from run to run, and whom earlier releases held: signatures only."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add tables; those that are there stay as they are."""
    _make_states()
    _make_counts()
    _make_releases()


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False)


def _whole(name: str) -> sa.Column[int]:
    return sa.Column(name, _WHOLE, nullable=False)


def _bytes(name: str) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary(), nullable=False)


def _index_where(name: str, table: str, *columns: str, condition: str, unique: bool = False) -> None:
    op.create_index(
        op.f(name), table, columns, unique=unique, sqlite_where=sa.text(condition), postgresql_where=sa.text(condition)
    )


def _make_states() -> None:
    op.create_table(
        "class_state",
        _whole("id"),
        _text("subject"),
        _bytes("digest"),
        _text("mode"),
        _bytes("token"),
        _whole("rows"),
        _whole("version"),
        _whole("draft"),
        _text("aborted"),
        _whole("is_current"),
        _whole("updated_us"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_class_state")),
        sa.CheckConstraint("mode IN ('append', 'partition', 'changes')", name="mode"),
        sa.CheckConstraint("is_current IN (0, 1)", name="is_current"),
        sqlite_strict=True,
    )
    _index_where("uq_class_state_current", "class_state", "subject", condition="is_current = 1", unique=True)


def _make_counts() -> None:
    op.create_table(
        "class_part",
        _whole("state"),
        _bytes("name"),
        _whole("rows"),
        _bytes("fingerprint"),
        sa.PrimaryKeyConstraint("state", "name", name=op.f("pk_class_part")),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "class_size",
        _whole("state"),
        _whole("size"),
        _whole("classes"),
        sa.PrimaryKeyConstraint("state", "size", name=op.f("pk_class_size")),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "class_count",
        _whole("state"),
        _bytes("part"),
        _whole("shard"),
        _bytes("held"),
        _bytes("pending"),
        _whole("draft"),
        sa.PrimaryKeyConstraint("state", "part", "shard", name=op.f("pk_class_count")),
        sqlite_strict=True,
    )


def _make_releases() -> None:
    op.create_table(
        "release",
        _whole("id"),
        _text("subject"),
        _text("name"),
        _whole("released_us"),
        _whole("rows"),
        _whole("unnamed"),
        _bytes("digest"),
        _whole("is_whole"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_release")),
        sa.UniqueConstraint("subject", "name", name=op.f("uq_release_subject_name")),
        sa.CheckConstraint("is_whole IN (0, 1)", name="is_whole"),
        sqlite_strict=True,
    )
    op.create_table(
        "released_row",
        _whole("release"),
        _bytes("person"),
        _bytes("class_signature"),
        sa.PrimaryKeyConstraint("release", "person", "class_signature", name=op.f("pk_released_row")),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
