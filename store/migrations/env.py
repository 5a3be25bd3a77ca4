"""Run migrations on the connection that the store gives; Alembic executes this file by its path."""

from alembic import context

from store._columns import map_all_rows
from store._open import REVISION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=map_all_rows(),
    version_table=REVISION_TABLE,
    render_as_batch=False,  # a rebuilt table loses its triggers and, with cascades, its children: see docs/store.md
    transaction_per_migration=False,
)
context.run_migrations()  # inside the transaction that the store has begun
