"""Keep privacy budgets: an append-only, chained ledger, and where each budget stands."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add tables with their guards; those that are there stay as they are."""
    _make_budgets()
    _make_entries()
    if op.get_bind().dialect.name == "sqlite":
        _guard_on_sqlite()
    else:
        _guard_on_postgresql()


def _text(name: str, *, optional: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=optional)


def _whole(name: str, *, optional: bool = False, key: bool = False) -> sa.Column[int]:
    return sa.Column(name, _WHOLE, nullable=optional, autoincrement=False if key else "auto")


def _bytes(name: str) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary(), nullable=False)


def _make_budgets() -> None:
    op.create_table(
        "privacy_budget",
        _whole("id", key=True),
        _text("data_set"),
        _text("unit"),
        _text("accounting"),
        _text("adjacency"),
        _text("delta", optional=True),
        _whole("total"),
        _whole("spent"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_privacy_budget")),
        sa.UniqueConstraint("data_set", "unit", name=op.f("uq_privacy_budget_data_set_unit")),
        sa.CheckConstraint("accounting IN ('pure', 'zcdp')", name="accounting"),
        sa.CheckConstraint("adjacency IN ('substitute', 'add-remove')", name="adjacency"),
        sa.CheckConstraint("(accounting = 'zcdp') = (delta IS NOT NULL)", name="delta_iff_zcdp"),
        sa.CheckConstraint("spent >= 0 AND spent <= total", name="within_total"),
        sqlite_strict=True,
    )


def _make_entries() -> None:
    op.create_table(
        "ledger_entry",
        _whole("number", key=True),
        _text("kind"),
        _whole("budget", optional=True),
        _text("request", optional=True),
        _whole("nano", optional=True),
        _text("body"),
        _text("actor"),
        _whole("recorded_us"),
        _bytes("previous"),
        _bytes("hash"),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_ledger_entry")),
        sa.ForeignKeyConstraint(["budget"], ["privacy_budget.id"], name=op.f("fk_ledger_entry_budget_privacy_budget")),
        sa.UniqueConstraint("previous", name=op.f("uq_ledger_entry_previous")),
        sa.CheckConstraint("kind IN ('created', 'changed', 'reserved', 'answered', 'resumed', 'carried')", name="kind"),
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_ledger_entry_budget_kind_nano"), "ledger_entry", ["budget", "kind", "nano"])
    _index_where("ix_ledger_entry_request", "request", "number", condition="request IS NOT NULL")
    _index_where("uq_ledger_entry_answered", "request", condition="kind = 'answered'", unique=True)


def _index_where(name: str, *columns: str, condition: str, unique: bool = False) -> None:
    where = sa.text(condition)
    op.create_index(op.f(name), "ledger_entry", columns, unique=unique, sqlite_where=where, postgresql_where=where)


_FOLLOWS_NOT = """
  NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM ledger_entry)
  OR NEW.previous <> coalesce((SELECT hash FROM ledger_entry ORDER BY number DESC LIMIT 1), {origin})
  OR (NEW.kind = 'answered' AND EXISTS (
    SELECT 1 FROM ledger_entry WHERE kind = 'answered' AND request = NEW.request))
"""
_IS_ANOTHER = """
  NEW.id <> OLD.id OR NEW.data_set <> OLD.data_set OR NEW.unit <> OLD.unit OR NEW.accounting <> OLD.accounting
  OR NEW.adjacency <> OLD.adjacency OR coalesce(NEW.delta, '') <> coalesce(OLD.delta, '') OR NEW.spent < OLD.spent
"""
_FACTS = "entries of the ledger are facts: they are never changed or removed"
_FOLLOW = "an entry of the ledger follows the last one"
_SPENT = "what is spent of a budget stays spent, and a budget stays what it is"


def _guard_on_sqlite() -> None:
    refuse = "BEGIN SELECT RAISE(ABORT, '{}'); END"
    for event in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER ledger_entry_no_{event.lower()} BEFORE {event} ON ledger_entry {refuse.format(_FACTS)}"
        )
    follows_not = _FOLLOWS_NOT.format(origin="zeroblob(32)")
    op.execute(
        f"CREATE TRIGGER ledger_entry_follows BEFORE INSERT ON ledger_entry WHEN {follows_not} {refuse.format(_FOLLOW)}"
    )
    # INSERT OR REPLACE removes the old row without firing a delete trigger
    taken = "EXISTS (SELECT 1 FROM privacy_budget WHERE id = NEW.id OR (data_set = NEW.data_set AND unit = NEW.unit))"
    for name, event, condition in (
        ("no_delete", "DELETE", "true"),
        ("stays", "UPDATE", _IS_ANOTHER),
        ("no_replace", "INSERT", taken),
    ):
        op.execute(
            f"CREATE TRIGGER privacy_budget_{name} BEFORE {event} ON privacy_budget WHEN {condition} "
            f"{refuse.format(_SPENT)}"
        )


def _guard_on_postgresql() -> None:
    follows_not = _FOLLOWS_NOT.format(origin=r"decode(repeat('00', 32), 'hex')")
    for name, text, condition in (
        ("ledger_entry_refuse", _FACTS, "true"),
        ("ledger_entry_refuse_stray", _FOLLOW, follows_not),
        ("privacy_budget_refuse", _SPENT, "true"),
        ("privacy_budget_refuse_change", _SPENT, _IS_ANOTHER),
    ):
        op.execute(
            f"""
            CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
              IF {condition} THEN
                RAISE EXCEPTION '{text}' USING ERRCODE = 'restrict_violation';
              END IF;
              RETURN NEW;
            END $$
            """
        )
    for table, events, each, name, function in (
        ("ledger_entry", "UPDATE OR DELETE", "ROW", "guard", "ledger_entry_refuse"),
        ("ledger_entry", "TRUNCATE", "STATEMENT", "no_truncate", "ledger_entry_refuse"),
        ("ledger_entry", "INSERT", "ROW", "follows", "ledger_entry_refuse_stray"),
        ("privacy_budget", "UPDATE", "ROW", "stays", "privacy_budget_refuse_change"),
        ("privacy_budget", "DELETE", "ROW", "no_delete", "privacy_budget_refuse"),
        ("privacy_budget", "TRUNCATE", "STATEMENT", "no_truncate", "privacy_budget_refuse"),
    ):
        op.execute(
            f"CREATE TRIGGER {table}_{name} BEFORE {events} ON {table} FOR EACH {each} EXECUTE FUNCTION {function}()"
        )
