"""Lists the servers of a fleet, and lets rows of the whole fleet name hosts that are on another server."""

from alembic import op
from sqlalchemy import inspect, text

from tierscope.storage import tables
from tierscope.storage.base.ddl import drop_tables, make_missing_table

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

_OF_THE_FLEET = {
    "advice": "CASCADE",
    "events": "CASCADE",
    "experiment_hosts": "CASCADE",
    "pauses": "CASCADE",
    "sample_targets": "SET NULL",
    "sweeps": "CASCADE",
}
"""Tables of the coordinator that name hosts, with what became of their rows when a host went: now a purge does it."""


def upgrade() -> None:
    """Makes the list; removes the references."""
    connection = op.get_bind()
    make_missing_table(connection, tables.nodes, "native")
    for name in _OF_THE_FLEET:
        for key in inspect(connection).get_foreign_keys(name):
            if key["referred_table"] == "hosts":
                connection.execute(text(f'ALTER TABLE {name} DROP CONSTRAINT "{key["name"]}"'))


def downgrade() -> None:
    """Brings the references back; rows of hosts that are gone, or on another server, go."""
    connection = op.get_bind()
    for name, rule in _OF_THE_FLEET.items():
        gone = "host_id IS NOT NULL AND NOT EXISTS (SELECT FROM hosts WHERE hosts.id = host_id)"
        change = "DELETE FROM {}" if rule == "CASCADE" else "UPDATE {} SET host_id = NULL"
        connection.execute(text(f"{change.format(name)} WHERE {gone}"))
        connection.execute(
            text(
                f"ALTER TABLE {name} ADD CONSTRAINT fk_{name}_host_id FOREIGN KEY (host_id)"
                f" REFERENCES hosts (id) ON DELETE {rule}"
            )
        )
    drop_tables(connection, tables.NODES)
