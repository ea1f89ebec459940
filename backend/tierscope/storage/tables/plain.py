"""Plain tables: who and what there is. They grow with hosts, services and people, not with time."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, INT8MULTIRANGE, JSONB, TIMESTAMP

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Instant = TIMESTAMP(timezone=True)
_NOW = text("now()")
_EMPTY_OBJECT = text("'{}'::jsonb")


def _id() -> Column[int]:
    return Column("id", BigInteger, Identity(always=True), primary_key=True)


def _text(name: str, *, unique: bool = False, server_default: str | None = None) -> Column[str]:
    return Column(name, Text, nullable=False, unique=unique or None, server_default=server_default)


def _instant(name: str) -> Column[Any]:
    return Column(name, Instant, nullable=False, server_default=_NOW)


def _host(*, primary_key: bool = False) -> Column[int]:
    """The host that a row on its server belongs to."""
    target = ForeignKey("hosts.id", ondelete="CASCADE")
    return Column("host_id", BigInteger, target, nullable=False, primary_key=primary_key)


def _service(*, primary_key: bool = False) -> Column[int]:
    target = ForeignKey("services.id", ondelete="CASCADE")
    return Column("service_id", BigInteger, target, nullable=False, primary_key=primary_key, index=True)


installation = Table(
    # Facts that are decided once: `storage` = timescaledb | native, `storage_version`, `instance`,
    # `loopback_trust` = true | false.
    "installation",
    metadata,
    Column("key", Text, primary_key=True),
    _text("value"),
)

hosts = Table(
    "hosts",
    metadata,
    _id(),
    _text("public_id", unique=True),
    _text("name"),
    _text("origin"),  # live | import | simulated
    Column("labels", JSONB, nullable=False, server_default=_EMPTY_OBJECT),
    # What `labels` is made of, the later one wins: storage/fleet/labels.py
    Column("kubernetes_labels", JSONB, nullable=False, server_default=_EMPTY_OBJECT),
    Column("agent_labels", JSONB, nullable=False, server_default=_EMPTY_OBJECT),  # of the agent's file
    Column("set_labels", JSONB, nullable=False, server_default=_EMPTY_OBJECT),  # set in the service
    Column("fixed_labels", JSONB, nullable=False, server_default=_EMPTY_OBJECT),  # set by the join token
    Column("credential_hash", LargeBinary, nullable=False, unique=True),
    Column("previous_credential_hash", LargeBinary, unique=True),
    Column("previous_credential_until", Instant),
    _instant("enrolled_at"),
    Column("last_seen_at", Instant),  # arrival of the newest batch
    Column("last_end_at", Instant),  # end of the newest stored interval
    Column("boot_id", Text),
    Column("agent_version", Text),
    Column("agent_version_since", Instant),
    Column("refused_protocol", BigInteger),  # of a batch that this service could not read; null once one is stored
    Column("refused_protocol_at", Instant),
    Column("interval_seconds", Integer),  # between collections, where the host has its own
    # How long its plan lets it hold samples back beyond a minute: domain/fleet/sending.py
    Column("held_seconds", Integer, nullable=False, server_default="0"),
    Column("closely_until", Instant),  # it sends each minute until then
    Column("pods_at", Instant),  # of the inventory that lists them; null where no pod runs
    Column("pods_left_out", Integer),
    Column("pods_unavailable", Text),  # why something of them is not known
    Column("clock_skew_seconds", Double),  # host minus service; null where unknown
    Column("layout_id", BigInteger),  # of the newest counters
    Column("too_late_points", BigInteger, nullable=False, server_default="0"),
    Column("set_aside_points", BigInteger, nullable=False, server_default="0"),
    Column("retired_at", Instant),
    Column("revoked_at", Instant),
    Column("moving_until", Instant),  # nothing that it sends is stored here until then: its rows go to another server
    CheckConstraint("origin IN ('live', 'import', 'simulated')", name="origin"),
)

boots = Table(
    "boots",
    metadata,
    _id(),
    _host(),
    _text("boot_id"),
    _instant("first_seen_at"),
    _instant("last_seen_at"),
    _instant("first_sealed_at"),  # sealing times as the host's clock says: they order the boots of one machine
    _instant("last_sealed_at"),
    Column("cloned_at", Instant),  # set on the newer of two boots that alternate
    UniqueConstraint("host_id", "boot_id"),
)

streams = Table(
    "streams",
    metadata,
    _host(primary_key=True),
    Column("stream_id", LargeBinary, primary_key=True),
    Column("next_seq", BigInteger, nullable=False, server_default="0"),
    Column("gaps", INT8MULTIRANGE, nullable=False, server_default=text("'{}'::int8multirange")),
    _instant("created_at"),
    _instant("last_at"),
    Column("batches", BigInteger, nullable=False, server_default="0"),
)

services = Table(
    "services",
    metadata,
    _id(),
    _text("public_id", unique=True),
    _text("namespace"),
    _text("name"),
    _text("origin"),
    _instant("first_seen_at"),
    _instant("last_seen_at"),
    Column("owner_team_id", BigInteger, ForeignKey("teams.id", ondelete="SET NULL"), index=True),
    Column("closely_until", Instant),  # its hosts send each minute until then
    UniqueConstraint("namespace", "name", "origin"),
)

service_aliases = Table(
    "service_aliases",
    metadata,
    Column("namespace", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    _service(),
)

host_services = Table(
    "host_services",
    metadata,
    _host(primary_key=True),
    _service(primary_key=True),
    _text("rule", server_default=""),
    Column("processes", Integer, nullable=False, server_default="0"),
    Column("heat_measured", Boolean, nullable=False, server_default=text("false")),
    Column("heat_reason", Text),
    _instant("last_seen_at"),
)

host_pods = Table(
    # Pods of a Kubernetes cluster, as the newest inventory lists them.
    "host_pods",
    metadata,
    _host(primary_key=True),
    Column("uid", Text, primary_key=True),
    _text("node"),
    Column("namespace", Text),
    Column("name", Text),
    Column("owner_kind", Text),
    Column("owner", Text),
    Column("owner_source", Text),  # api | name
    Column("service_id", BigInteger, ForeignKey("services.id", ondelete="SET NULL"), index=True),
    Column("labels", JSONB),  # null where they are not known
    _instant("first_seen_at"),
)

layouts = Table(
    "layouts",
    metadata,
    _id(),
    Column("hash", LargeBinary, nullable=False, unique=True),
    Column("keys", ARRAY(Text), nullable=False),
    Index(None, "keys", postgresql_using="gin"),
)

host_layouts = Table(
    "host_layouts",
    metadata,
    _host(primary_key=True),
    Column("layout_id", BigInteger, ForeignKey("layouts.id"), primary_key=True),
    _instant("first_seen_at"),
)

inventory = Table(
    "inventory",
    metadata,
    _host(primary_key=True),
    Column("at", Instant, primary_key=True),
    Column("body", JSONB, nullable=False),  # the message Inventory with the field names of the contract
)

host_recent = Table(
    # The newest hour of a host's ledger and what its inventory says, rebuilt with every row of the ledger.
    "host_recent",
    metadata,
    _host(primary_key=True),
    Column("built_at", Instant, nullable=False),
    Column("started_at", Instant),
    Column("ended_at", Instant),
    Column("broken", Boolean, nullable=False),
    *(
        column
        for name in ("promoted", "demoted", "psi")
        for column in (
            Column(f"{name}_total", Double),
            Column(f"{name}_seconds", Double, nullable=False),
            Column(f"{name}_intervals", Integer, nullable=False),
        )
    ),
    *(
        column
        for name in ("swap_in", "swap_out", "damon_promoted", "damon_demoted")
        for column in (
            Column(f"{name}_total", Double),
            Column(f"{name}_seconds", Double, nullable=False, server_default=text("0")),
            Column(f"{name}_intervals", Integer, nullable=False, server_default=text("0")),
        )
    ),
    Column("page_bytes", Integer),
    _text("verdict"),
    Column("memory_bytes", BigInteger),
    Column("top_bytes", Double),  # of the fastest tier
    Column("one_tier", Boolean, nullable=False),
    Column("tiering_off", Boolean),
    Column("tier_classes", ARRAY(Text), nullable=False),
    Column("kernel", Text),
    Column("dialect", Text),
    Column("senders", JSONB),  # who sends its counters and what of them came; null where an agent does
)

findings = Table(
    "findings",
    metadata,
    _host(primary_key=True),
    Column("finding_id", Text, primary_key=True),
    _text("source"),  # agent | service
    _text("severity"),
    _text("cause"),
    _text("fix"),
    _text("confidence"),
    _instant("since"),
    Column("until", Instant),  # null while it holds
)

events = Table(
    "events",
    metadata,
    _id(),
    Column("at", Instant, nullable=False, index=True),
    _text("kind"),
    _text("text"),
    Column("host_id", BigInteger),
    Column("service_id", BigInteger, ForeignKey("services.id", ondelete="CASCADE")),
    Column("author", Text),
)

tokens = Table(
    # Every secret that is handed out, as its SHA-256 alone.
    "tokens",
    metadata,
    _id(),
    _text("public_id", unique=True),
    _text("kind"),
    Column("hash", LargeBinary, nullable=False, unique=True),
    Column("user_id", BigInteger, ForeignKey("users.id", ondelete="CASCADE"), index=True),
    Column("role", Text),  # of api tokens, links and sessions without a user; a user's own role counts else
    Column("scopes", ARRAY(Text)),  # of api tokens: what it may be used for; null = all that its role may
    Column("origin", Text),  # that a join token fixes
    Column("labels", JSONB, nullable=False, server_default=_EMPTY_OBJECT),  # that a join token fixes
    Column("uses_left", Integer),  # null = unlimited
    Column("expires_at", Instant),
    _instant("created_at"),
    Column("last_used_at", Instant),
    Column("revoked_at", Instant),
    _text("note", server_default=""),
    CheckConstraint("kind IN ('join', 'api', 'link', 'session', 'password')", name="kind"),
)

audit = Table(
    # Append-only: who changed what. A rule of the schema refuses UPDATE and DELETE.
    "audit",
    metadata,
    _id(),
    _instant("at"),
    _text("actor"),
    _text("action"),
    _text("subject"),
    Column("detail", JSONB, nullable=False, server_default=_EMPTY_OBJECT),
)

ledger_trusts = Table(
    # Which counters made the columns of ledger rows, and with which trust: few texts, that many rows refer to.
    "ledger_trusts",
    metadata,
    _id(),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("body", JSONB, nullable=False),
)

advice = Table(
    # What was advised, one row per subject and key: refreshed in place while it says the same thing.
    "advice",
    metadata,
    _id(),
    _text("public_id", unique=True),
    _text("kind"),
    _text("key"),  # the rule of a knob (F1..F12), or `ratio`
    Column("host_id", BigInteger, index=True),
    Column("service_id", BigInteger, ForeignKey("services.id", ondelete="CASCADE"), index=True),
    _text("title"),
    Column("stake_bytes", Double),  # what is at stake, to sort by; null where it cannot be said in bytes
    Column("body", JSONB, nullable=False),  # the answer that it was made from
    _text("status"),
    _instant("created_at"),
    _instant("refreshed_at"),
    Column("expires_at", Instant, nullable=False),
    Column("decided_at", Instant),
    Column("decided_by", Text),
    Column("note", Text),
    CheckConstraint("kind IN ('ratio', 'knob')", name="kind"),
    CheckConstraint("status IN ('open', 'adopted', 'dismissed', 'gone')", name="status"),
    CheckConstraint("num_nonnulls(host_id, service_id) = 1", name="subject"),
    UniqueConstraint("host_id", "service_id", "key", postgresql_nulls_not_distinct=True),
)

slowdown_points = Table(
    # Owners' own measurements: loss of throughput at a share of accesses on CXL.
    "slowdown_points",
    metadata,
    _id(),
    _text("public_id", unique=True),
    _service(),
    _text("source"),
    Column("share_on_cxl", Double, nullable=False),
    Column("loss", Double, nullable=False),
    Column("loss_standard_error", Double, nullable=False),
    _instant("measured_at"),
    _text("author"),
    _text("note", server_default=""),
    CheckConstraint("source IN ('ab_test', 'prediction')", name="source"),
)

experiments = Table(
    "experiments",
    metadata,
    _id(),
    _text("public_id", unique=True),
    _text("name"),
    _service(),
    Column("advice_id", BigInteger, ForeignKey("advice.id", ondelete="SET NULL")),
    _text("hypothesis", server_default=""),
    Column("metrics", JSONB, nullable=False),  # list of {metric, direction, margin_ratio}; the first one decides
    Column("before_from", Instant, nullable=False),
    Column("change_at", Instant, nullable=False),
    Column("settling_seconds", Integer, nullable=False),
    Column("planned_end", Instant, nullable=False),
    Column("ended_at", Instant),
    Column("result", JSONB),  # the answer at its end; null while it runs
    Column("seed", BigInteger),  # of arms drawn at random; null where they were named
    _instant("created_at"),
    _text("author"),
    CheckConstraint("before_from < change_at AND change_at < planned_end", name="order"),
)

experiment_hosts = Table(
    "experiment_hosts",
    metadata,
    Column("experiment_id", BigInteger, ForeignKey("experiments.id", ondelete="CASCADE"), primary_key=True),
    Column("host_id", BigInteger, primary_key=True, autoincrement=False),
    _text("arm"),
    CheckConstraint("arm IN ('canary', 'control')", name="arm"),
)

fleet_groups = Table(
    # Hosts that are counted together: peer hosts, and all hosts of a service (the four parts are null).
    "fleet_groups",
    metadata,
    _id(),
    _service(),
    Column("sku", Text),  # "" where hosts do not say
    Column("ratio", Text),
    Column("kernel", Text),
    Column("agent_version", Text),
    UniqueConstraint("service_id", "sku", "ratio", "kernel", "agent_version", postgresql_nulls_not_distinct=True),
)

fleet_changes = Table(
    # Changes of level that were found in a service's metric.
    "fleet_changes",
    metadata,
    _service(primary_key=True),
    Column("metric", Text, primary_key=True),
    Column("at", Instant, primary_key=True),
    _text("direction"),
    Column("before", Double),
    Column("after", Double),
    _text("found_by"),
    _instant("found_at"),
    CheckConstraint("direction IN ('rise', 'fall')", name="direction"),
    CheckConstraint("found_by IN ('pelt', 'cusum')", name="found_by"),
)

service_features = Table(
    # How the memory of a service behaves, to find services that behave alike.
    "service_features",
    metadata,
    _service(primary_key=True),
    Column("at", Instant, nullable=False),
    Column("n_hosts", Integer, nullable=False),
    Column("features", JSONB, nullable=False),  # by key; null where not measured
)

pauses = Table(
    # The kill switch: what agents are told not to do, until the row goes.
    "pauses",
    metadata,
    _id(),
    Column("host_id", BigInteger),  # null = every host
    _text("scope"),
    _instant("since"),
    _text("actor"),
    CheckConstraint("scope IN ('all', 'heat')", name="scope"),
    UniqueConstraint("host_id", "scope", postgresql_nulls_not_distinct=True),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("actor", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("request_hash", LargeBinary, nullable=False),
    Column("answer", JSONB, nullable=False),
    _instant("created_at"),
)

marks = Table(
    # Work to do: appended with the data, deleted with the rebuilt bucket. docs/decisions/0002-exactly-once.md
    "marks",
    metadata,
    _id(),
    _text("kind"),
    Column("subject_id", BigInteger, nullable=False),
    Column("service_id", BigInteger, nullable=False, server_default="0"),
    Column("bucket", Instant, nullable=False),
    _instant("created_at"),
    Index(None, "kind", "subject_id", "service_id", "bucket"),
)
