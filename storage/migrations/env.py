"""Alembic's environment: migrates over the connection that `Database.upgrade` hands in, within its transaction."""

from alembic import context

from storage.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
