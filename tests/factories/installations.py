"""An installation for a test: a database with hosts enrolled in it, and the use cases on it."""

from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.domain.ingest.arrival import Clocks
from tierscope.storage.fleet.agents import HostIdentity
from tierscope.storage.ingest import Incoming, Outcome, OutdatedError, Registry, StoreLimits, store_group
from tierscope.usecases.access.tokens import Access
from tierscope.usecases.fleet.agents import Agents
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.wire._generated import batch_pb2
from tierscope.wire.decode import DecodeLimits, decode_message


@dataclass(slots=True)
class Enrolled:
    identity: HostIdentity
    credential: str

    @property
    def id(self) -> str:
        return self.identity.public_id


def enrol(database: Database, *, name: str = "node-1", origin: str = "live") -> Enrolled:
    """Enrols a host through a join token."""
    token = Access(database).create_join_token(actor="test").secret
    agents = Agents(database)
    credential = agents.enrol(join_token=token, hostname=name, labels={}, origin=origin).credential
    return Enrolled(agents.authenticate(credential), credential)


def store(
    database: Database,
    host: Enrolled,
    batches: Sequence[batch_pb2.Batch],
    *,
    clocks: Clocks | None = None,
    limits: StoreLimits | None = None,
) -> list[Outcome]:
    """Stores batches of one host as one group, as ingest does."""
    limits = limits or StoreLimits()
    group = []
    for message in batches:
        decoded = decode_message(message.SerializeToString(), DecodeLimits(services=limits.services_per_host))
        arrival_ns = int(utc_now().timestamp() * 1e9)
        group.append(
            Incoming(
                host=host.identity,
                batch=decoded.batch,
                services_left_out=decoded.services_left_out,
                clocks=clocks or Clocks(arrival_ns, None, None),
            )
        )
    own = Nodes(database).of_host(host.identity.id)
    registry = Registry(own)
    try:
        registry.prepare(group)
    except OutdatedError:  # the database was restored since a session of this process saw it last
        registry.forget()
        registry.prepare(group)
    with own.write() as transaction:
        return store_group(transaction, group, registry=registry, limits=limits)
