"""Name the tables that earlier builds made. A new store is made by `tables.sql`, never from here."""

revision = "0007"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Raise an error, since nothing leads here.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError("no migration leads to revision 0007")
