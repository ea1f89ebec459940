"""Sweeps of the simulator: what was asked, its tasks and their results, uploaded traces, and replays for advice.

A task is one policy of a sweep. A worker holds it while `lease_until` lies ahead and renews it meanwhile, so that the
task of a worker that died is taken up again; its finished runs stay.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Identity,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from tierscope.storage.tables.plain import Instant, metadata

_NOW = text("now()")

trace_uploads = Table(
    "trace_uploads",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("public_id", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("pages", BigInteger, nullable=False),
    Column("intervals", BigInteger, nullable=False),
    Column("touched_pages", BigInteger, nullable=False),  # summed over intervals: what one replay works through
    Column("accesses", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),  # the Parquet file as it came
    Column("author", Text, nullable=False),
    Column("created_at", Instant, nullable=False, server_default=_NOW),
)

sweeps = Table(
    "sweeps",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("public_id", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("service_id", BigInteger, ForeignKey("services.id", ondelete="CASCADE"), index=True),
    Column("host_id", BigInteger, index=True),  # null = all sampled ones
    Column("upload_id", BigInteger, ForeignKey("trace_uploads.id"), index=True),
    Column("spec", JSONB, nullable=False),  # what was asked: usecases/simulate/spec.py
    Column("facts", JSONB),  # what its traces are, and the bound; null until a worker has read them
    Column("heat", LargeBinary),  # bands of pages over time, packed
    Column("author", Text, nullable=False),
    Column("created_at", Instant, nullable=False, server_default=_NOW),
    Column("started_at", Instant),
    Column("finished_at", Instant),
    Column("cancelled_at", Instant),
)

sweep_tasks = Table(
    "sweep_tasks",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("sweep_id", BigInteger, ForeignKey("sweeps.id", ondelete="CASCADE"), nullable=False),
    Column("policy", Text, nullable=False),
    Column("status", Text, nullable=False, server_default="queued"),
    Column("total", Integer, nullable=False),
    Column("error", Text),
    Column("holder", Text),  # a random word of the worker that works on it
    Column("lease_until", Instant),
    Column("takes", Integer, nullable=False, server_default="0"),  # by workers, since a run was stored
    CheckConstraint("status IN ('queued', 'running', 'done', 'failed', 'cancelled')", name="status"),
    UniqueConstraint("sweep_id", "policy"),
)

sweep_runs = Table(
    # One finished run: a policy with its settings at one DRAM share.
    "sweep_runs",
    metadata,
    Column("sweep_id", BigInteger, ForeignKey("sweeps.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("policy", Text, nullable=False),
    Column("body", JSONB, nullable=False),  # its figures, or why there are none
    Column("series", LargeBinary),  # figures of intervals, packed
    Column("made_at", Instant, nullable=False, server_default=_NOW),
    Column("seconds", Double, nullable=False),  # that the replay took
)

replayed_placements = Table(
    # What a service's sampled pages say under one policy at several DRAM shares: ratio advice reads it.
    "replayed_placements",
    metadata,
    Column("service_id", BigInteger, ForeignKey("services.id", ondelete="CASCADE"), primary_key=True),
    Column("policy", Text, primary_key=True),
    Column("made_at", Instant, nullable=False),
    Column("body", JSONB, nullable=False),
)

ratio_inputs = Table(
    # What a service's ratio advice rests on, read ahead of the question; `state` tells what it was read from.
    "ratio_inputs",
    metadata,
    Column("service_id", BigInteger, ForeignKey("services.id", ondelete="CASCADE"), primary_key=True),
    Column("state", Text, nullable=False),
    Column("window_end", Instant, nullable=False),
    Column("body", Text, nullable=False),
)

SWEEPS: tuple[Table, ...] = (trace_uploads, sweeps, sweep_tasks, sweep_runs, replayed_placements, ratio_inputs)
