"""Readers of what people and agents send, each with bodies to begin from.

A target reads a body and may raise only what it names; anything else that comes out of it is a crash.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

import yaml
from google.protobuf import json_format

from factories import batches
from factories.otlp_requests import counter, gauge, histogram, point, request
from factories.remote_reads import read_body
from factories.remote_writes import named, write_body, write_body_v2
from tierscope.core.errors import TierscopeError
from tierscope.domain.base.json_text import has_too_many_parts
from tierscope.domain.base.patterns import BadPattern, read_pattern
from tierscope.domain.base.yaml_text import YamlTooMuch, check_yaml
from tierscope.domain.fleet.labels import read_label_file
from tierscope.domain.promql.parsing import parse_query
from tierscope.domain.promql.series import QueryError
from tierscope.storage.ingest.sample_core import load_core
from tierscope.wire._generated import batch_pb2
from tierscope.wire.bounds import MAX_FIELDS, MAX_MESSAGES, check_bounds
from tierscope.wire.decode import DecodeLimits, decode_message
from tierscope.wire.inflate import inflate
from tierscope.wire.otlp import Accepted, decode_json, decode_protobuf, translate

_INFLATED_BYTES = 1 << 20
_YAML_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Target:
    """A reader: what it takes, what it may raise, and bodies that it reads."""

    name: str
    reads: str
    read: Callable[[bytes], None]
    may_raise: tuple[type[Exception], ...]
    seeds: tuple[bytes, ...]


def _count_batch(body: bytes) -> None:
    counted = check_bounds(body, batch_pb2.Batch)
    assert counted.messages <= MAX_MESSAGES
    assert counted.fields <= MAX_FIELDS


def _decode_batch(body: bytes) -> None:
    decode_message(body, DecodeLimits())


def _inflate(body: bytes) -> None:
    assert len(inflate(body, cap_bytes=_INFLATED_BYTES)) <= _INFLATED_BYTES


def _samples(body: bytes) -> None:
    index = load_core().SeriesIndex(1, 4096)
    index.read(body, inflated_bytes=_INFLATED_BYTES, samples=1000, oldest_ms=0, newest_ms=1 << 60)


def _samples_v2(body: bytes) -> None:
    index = load_core().SeriesIndex(1, 4096)
    index.read(body, version=2, inflated_bytes=_INFLATED_BYTES, samples=1000, oldest_ms=0, newest_ms=1 << 60)


_EXPORT = request(
    gauge("up", point(1_700_000_000_000, 1.0, state="free"), unit="By"),
    counter("calls", point(1_700_000_000_000, 1.0)),
    histogram("wait", 1_700_000_000_000, [1.0, 2.0], [1, 2, 3], 4.0),
)
_ACCEPTED = Accepted(0, 1 << 60, 1000, ("host.name",), "too old", "too new")


def _export(body: bytes) -> None:
    translate(decode_protobuf(body), _ACCEPTED, lambda _: None)


def _export_json(body: bytes) -> None:
    translate(decode_json(body), _ACCEPTED, lambda _: None)


def _selectors(body: bytes) -> None:
    load_core().read_selectors(body, 20)


def _json(body: bytes) -> None:
    if not has_too_many_parts(body):
        json.loads(body)


def _yaml(body: bytes) -> None:
    check_yaml(body.decode("utf-8", errors="replace"), most=_YAML_MOST)


def _pattern(body: bytes) -> None:
    read_pattern(body.decode("utf-8", errors="replace")).fits("x" * 64)


def _query(body: bytes) -> None:
    parse_query(body.decode("utf-8", errors="replace"))


def _labels(body: bytes) -> None:
    read_label_file(body)


TARGETS: tuple[Target, ...] = (
    Target(
        "batch_bounds",
        "the walk over the bytes of a batch",
        _count_batch,
        (TierscopeError,),
        (batches.full_batch().SerializeToString(), batches.make_batch().SerializeToString()),
    ),
    Target(
        "batch",
        "an inflated batch, whole",
        _decode_batch,
        (TierscopeError,),
        (batches.full_batch().SerializeToString(), batches.make_batch().SerializeToString()),
    ),
    Target("inflate", "zstd frames", _inflate, (TierscopeError,), (batches.compress(batches.full_batch()),)),
    Target(
        "samples",
        "requests of Prometheus remote write",
        _samples,
        (ValueError, OverflowError),
        (write_body((named("up"), [(1_700_000_000_000, 1.0), (1_700_000_060_000, 0.0)])),),
    ),
    Target(
        "samples_v2",
        "requests of Prometheus remote write 2.0",
        _samples_v2,
        (ValueError, OverflowError),
        (write_body_v2((named("up"), [(1_700_000_000_000, 1.0), (1_700_000_060_000, 0.0)])),),
    ),
    Target("export", "metrics of OpenTelemetry", _export, (TierscopeError,), (_EXPORT.SerializeToString(),)),
    Target(
        "export_json",
        "the same as JSON",
        _export_json,
        (TierscopeError,),
        (json_format.MessageToJson(_EXPORT, indent=None).encode(),),
    ),
    Target(
        "selectors",
        "requests of Prometheus remote read",
        _selectors,
        (ValueError, OverflowError),
        (read_body((0, 1_700_000_000_000, [(0, "__name__", "up"), (2, "job", "a.*")])),),
    ),
    Target(
        "json",
        "the parts of a JSON body",
        _json,
        (ValueError, RecursionError),
        (b'{"a": [1, 2.5e9, "x\\u202e\\"", {"b": null}], "c": -0.0}',),
    ),
    Target(
        "yaml",
        "rules and scenarios as YAML",
        _yaml,
        (YamlTooMuch, yaml.YAMLError, RecursionError),
        (b"rules:\n  - name: a\n    expression: psi_some_ratio > 5%\n    labels: {team: x}\n",),
    ),
    Target("pattern", "expressions of RE2", _pattern, (BadPattern,), (b"(x|x)*b", rb"(?i)node-[0-9]{1,3}\.\w+")),
    Target(
        "query",
        "expressions of PromQL",
        _query,
        (QueryError,),
        (
            b'sum by (a) (rate(b{c=~"d.*"}[5m] offset 1m)) / on (a) group_left () (e @ 5 > bool 2)',
            b"-sum_over_time(a[5m:1m])",
        ),
    ),
    Target("labels", "tables of labels", _labels, (ValueError,), (b'host,team\nnode-1,"a,b"\nnode-2,-\n',)),
)
