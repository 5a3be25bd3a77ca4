"""Chain decisions and exports of releases in the ledger, and remember the sensitive values of exported classes."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_KIND_IN_BEFORE = "kind IN ('created', 'changed', 'reserved', 'answered', 'resumed', 'carried')"
_KIND_IN = (
    "kind IN ('created', 'changed', 'reserved', 'answered', 'resumed', 'carried', 'identified', 'release', 'adopted')"
)


def upgrade() -> None:
    """Add a table and a column, and let the ledger hold three more kinds of entries; no row is touched."""
    op.create_table(
        "released_value",
        sa.Column("release", _WHOLE, nullable=False, autoincrement=False),
        *(sa.Column(name, sa.LargeBinary(), nullable=False) for name in ("attribute", "class_signature", "value")),
        sa.PrimaryKeyConstraint("release", "attribute", "class_signature", "value", name=op.f("pk_released_value")),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.add_column("release", sa.Column("values_kept", _WHOLE, nullable=True))
    if op.get_bind().dialect.name == "sqlite":
        _widen_on_sqlite()
    else:
        op.execute("ALTER TABLE ledger_entry DROP CONSTRAINT ck_ledger_entry_kind")
        op.execute(f"ALTER TABLE ledger_entry ADD CONSTRAINT ck_ledger_entry_kind CHECK ({_KIND_IN})")


def _widen_on_sqlite() -> None:
    """Change the text of the condition alone, as sqlite.org/lang_altertable.html describes: the ledger is not rebuilt.

    Raises:
        RuntimeError: the table's text is not the one that an earlier revision wrote.
    """
    bind = op.get_bind()
    read = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = 'ledger_entry'"
    change = "UPDATE sqlite_schema SET sql = ? WHERE type = 'table' AND name = 'ledger_entry'"
    before = bind.exec_driver_sql(read).scalar()
    if before is None or before.count(_KIND_IN_BEFORE) != 1:
        raise RuntimeError("the table ledger_entry is not the one that Tablewatch made; restore a backup of the store")
    version = bind.exec_driver_sql("PRAGMA schema_version").scalar()
    bind.exec_driver_sql("PRAGMA writable_schema = ON")
    bind.exec_driver_sql(change, (before.replace(_KIND_IN_BEFORE, _KIND_IN),))
    bind.exec_driver_sql(f"PRAGMA schema_version = {int(version or 0) + 1}")
    bind.exec_driver_sql("PRAGMA writable_schema = OFF")
