"""Decoding: what is valid comes out as it went in, everything else is a typed error and nothing but that."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factories import batches
from tierscope.core.errors import TierscopeError, UnknownVersion, Unreadable
from tierscope.domain.counters.schema import schema_hash
from tierscope.domain.ingest.batch import ServiceKey
from tierscope.wire._generated import batch_pb2
from tierscope.wire.decode import DecodeLimits, decode_body, decode_message

LIMITS = DecodeLimits()
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
CELL = st.one_of(st.none(), INT64)


def decode(batch: batch_pb2.Batch) -> object:
    return decode_message(batch.SerializeToString(), LIMITS).batch


@given(rows=st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=12))
def test_counters_come_out_as_they_went_in_whatever_their_values_and_gaps(rows: list[tuple[int | None, ...]]) -> None:
    batch = batches.make_batch()
    absolute = np.array([[value or 0 for value in row] for row in rows], dtype=np.int64)
    present = np.array([[value is not None for value in row] for row in rows])
    deltas = np.vstack([absolute[:1], np.diff(absolute, axis=0)])
    batches.add_layout(batch)
    batch.counters.add(
        layout_hash=batches.layout_hash(batches.KEYS),
        end_wall_ns=[batches.now_ns()] * len(rows),
        values=deltas.astype("<i8").tobytes(),
        validity=np.packbits(present.ravel(), bitorder="little").tobytes(),
    )
    (block,) = decode_message(batch.SerializeToString(), LIMITS).batch.counters
    assert block.present is not None
    found = [
        [int(value) if there else None for value, there in zip(values, valid, strict=True)]
        for values, valid in zip(block.values, block.present, strict=True)
    ]
    assert found == [list(row) for row in rows]


def test_a_full_batch_is_decoded() -> None:
    decoded = decode_body(batches.compress(batches.full_batch(seq=3)), LIMITS).batch
    assert (decoded.seq, decoded.origin, decoded.sealed_boottime_ns) == (3, "live", None)
    assert decoded.heat[0].services[0].namespace == "demo"
    assert decoded.heat[0].columns["age_bytes"].shape == (1, 9)
    assert "load_samples" not in decoded.heat[0].columns
    assert decoded.tile_epochs[0].epoch_id == -(1 << 63) + 7
    assert decoded.inventory is not None
    assert decoded.inventory.body["nodes"][1]["memory_bytes"] is None
    assert decoded.inventory.body["knobs"][0]["value"] is None


def test_names_that_deceive_are_escaped_and_nothing_is_lost() -> None:
    batch = batches.make_batch()
    batches.add_inventory(batch, services=["a\u202eb", "../../etc", "plain/x..y"], hostname="n\r\n/../x\x85")
    batch.inventory.labels.add(key="a\u2066", value="..")
    batch.inventory.labels.add(key="k", value="\x1b[2J", source="kubernetes")
    batch.inventory.findings[0].cause = "line\nbreak"
    batches.add_heat(batch, services=["demo/a\u202eb", "../x/.."])
    keys = ("host|vmstat|x", "service:demo/a\u202eb|memory.stat|anon")
    batch.layouts.add(hash=schema_hash(keys), keys=keys)
    found = decode_message(batch.SerializeToString(), LIMITS).batch
    assert found.inventory is not None
    assert found.inventory.body["hostname"] == r"n\x0d\x0a/\x2e\x2e/x\x85"
    names = [service.key.name for service in found.inventory.services]
    assert names == [r"a\u202eb", r"\x2e\x2e/\x2e\x2e/etc", "plain/x..y"]
    assert found.heat[0].services == (ServiceKey("demo", r"a\u202eb"), ServiceKey(r"\x2e\x2e", r"x/\x2e\x2e"))
    assert found.layouts[0].keys == ("host|vmstat|x", r"service:demo/a\u202eb|memory.stat|anon")
    assert found.inventory.labels == {"rack": "r1", r"a\u2066": r"\x2e\x2e"}
    assert found.inventory.kubernetes_labels == {"k": r"\x1b[2J"}
    assert found.inventory.body["findings"][0]["cause"] == r"line\x0abreak"


def test_services_beyond_the_limit_are_left_out_and_counted() -> None:
    batch = batches.make_batch()
    batches.add_inventory(batch, services=[f"s{i}" for i in range(5)])
    decoded = decode_message(batch.SerializeToString(), DecodeLimits(services=3))
    assert decoded.batch.inventory is not None
    assert (len(decoded.batch.inventory.services), decoded.services_left_out) == (3, 2)


@pytest.mark.parametrize("version", [0, 2, 99])
def test_another_major_version_is_refused(version: int) -> None:
    batch = batches.full_batch()
    batch.schema_version = version
    with pytest.raises(UnknownVersion):
        decode(batch)


def _set(path: str, value: object) -> Callable[[batch_pb2.Batch], None]:
    """Returns a change that sets a scalar, or the first entry of a repeated one."""

    def change(batch: batch_pb2.Batch) -> None:
        *places, name = path.split(".")
        target: object = batch
        for place in places:
            target = getattr(target, place)[0]
        if isinstance(value, str | bytes | int | float):
            field = getattr(target, name)
            if hasattr(field, "__setitem__"):
                field[0] = value
            else:
                setattr(target, name, value)

    return change


def _break_finding(batch: batch_pb2.Batch) -> None:
    batch.inventory.findings[0].severity = "terrible"


def _break_namespace(batch: batch_pb2.Batch) -> None:
    batch.inventory.services[0].namespace = "a/b"


def _break_report(batch: batch_pb2.Batch) -> None:
    batch.self.cpu_ns = -1


def _add(column: str, *values: int) -> Callable[[batch_pb2.Batch], None]:
    """Returns a change that gives the heat block an optional column."""
    return lambda batch: getattr(batch.heat[0], column).extend(values)


def _break_observed(batch: batch_pb2.Batch) -> None:
    del batch.page_samples[0].observed[0]


def _break_bench(batch: batch_pb2.Batch) -> None:
    batch.inventory.benches.add(cpu_node=0).figures.add(name="idle_latency", median=float("inf"))


BROKEN: dict[str, Callable[[batch_pb2.Batch], None]] = {
    "origin": _set("origin", 0),
    "unknown origin": _set("origin", 9),
    "stream id": _set("stream_id", b"short"),
    "no host": _set("host_id", ""),
    "zero byte": _set("host_id", "a\0b"),
    "seq": _set("seq", 1 << 63),
    "sealed in 1970": _set("sealed_wall_ns", 5),
    "first string": _set("strings", "x"),
    "layout hash": _set("layouts.hash", b"0" * 16),
    "layout keys not sorted": _set("layouts.keys", "zzz|a|b"),
    "key without a source": _set("layouts.keys", "a"),
    "counter width": _set("counters.values", b"12345678" * 5),
    "validity": _set("counters.validity", b"123"),
    "counter times": _set("counters.end_wall_ns", -1),
    "layout hash of a block": _set("counters.layout_hash", b"1"),
    "heat backend": _set("heat.backend", 0),
    "heat granularity": _set("heat.granularity", 17),
    "heat interval": _set("heat.interval_ns", 0),
    "heat kind": _set("heat.kind", 0),
    "heat reference": _set("heat.service_ref", 999),
    "heat service without a name": _set("heat.service_ref", 0),
    "heat column": _set("heat.age_bytes", b"12345678"),
    "heat below zero": _set("heat.resident_bytes", -1),
    "heat duty": _set("heat.duty_ratio", 1.5),
    "heat not a number": _set("heat.period_events", float("nan")),
    "heat page size": _set("heat.page_size_bytes", 0),
    "gap bins": _set("gaps.closed_bytes", b"1" * 8),
    "gap intervals": _set("gaps.intervals", 0),
    "epoch rows": _set("tile_epochs.region_bytes", 0),
    "heat sampled pages": _add("sampled_pages", 1 << 63),
    "heat sampled pages of too many rows": _add("sampled_pages", 1, 1),
    "heat written bytes": _set("heat.written_bytes", (np.full(4, -2, "<i8")).tobytes()),
    "heat sub-pages": _add("subpage_active_bytes", -2),
    "heat history bits": _set("heat.bits_per_interval", 65),
    "sample rate above one": _set("page_samples.sampled_ratio", 1.5),
    "sample rate of zero": _set("page_samples.sampled_ratio", 0.0),
    "sample rate not a number": _set("page_samples.sampled_ratio", float("nan")),
    "sample without an interval's observation": _break_observed,
    "sample page ids": _set("page_samples.page_ids", b"12345678"),
    "sample page twice": _set("page_samples.page_ids", bytes(24)),
    "sample row of an unknown page": _set("page_samples.row_page", 99),
    "sample row of an unknown interval": _set("page_samples.row_interval", 99),
    "sample rows out of order": _set("page_samples.row_page", 2),
    "sample page resident too long": _set("page_samples.last_interval", 99),
    "sample page resident backwards": _set("page_samples.first_interval", 2),
    "sample activity before residency": _set("page_samples.first_interval", 1),
    "sample intervals out of order": _set("page_samples.end_wall_ns", 4_102_444_800 * 10**9),
    "sample without a service": _set("page_samples.service_ref", 0),
    "bench not a number": _break_bench,
    "tile cells": _set("tile_columns.cells", b"123456"),
    "finding severity": _break_finding,
    "namespace": _break_namespace,
    "report": _break_report,
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_batch_that_contradicts_itself_is_unreadable(name: str) -> None:
    batch = batches.full_batch()
    decode(batch)
    BROKEN[name](batch)
    with pytest.raises(Unreadable):
        decode(batch)


def test_more_pages_of_one_service_than_a_sample_may_hold_are_refused_over_all_its_groups() -> None:
    batch = batches.make_batch()
    batches.add_page_sample(batch, pages=4096, intervals=1)
    decode(batch)
    other = batches.add_page_sample(batch, pages=1, intervals=1)
    other.group_ref = batches.intern(batch, "worker")
    with pytest.raises(Unreadable, match="4097 pages"):
        decode(batch)


def test_a_sample_that_stays_too_large_when_packed_is_refused_with_the_way_out() -> None:
    batch = batches.make_batch()
    block = batches.add_page_sample(batch, pages=4000, intervals=30)
    decode(batch)
    rng = np.random.default_rng(1)
    del block.row_loads[:], block.row_stores[:]
    block.row_loads.extend(rng.integers(0, 1 << 31, len(block.row_page)).tolist())
    block.row_stores.extend(rng.integers(0, 1 << 31, len(block.row_page)).tolist())
    with pytest.raises(Unreadable, match="halve its sampling rate"):
        decode(batch)


def test_too_many_keys_are_refused() -> None:
    batch = batches.make_batch()
    batches.add_layout(batch, [f"host|vmstat|n{i:05d}" for i in range(4097)])
    with pytest.raises(Unreadable, match="4097"):
        decode(batch)


@settings(max_examples=300)
@given(body=st.binary(max_size=2000))
def test_random_bytes_give_a_typed_error(body: bytes) -> None:
    with pytest.raises(TierscopeError):
        decode_body(body, LIMITS)


@settings(max_examples=300)
@given(data=st.binary(max_size=2000))
def test_random_bytes_inside_a_frame_give_a_typed_error(data: bytes) -> None:
    with pytest.raises(TierscopeError):
        decode_message(data, LIMITS)


@settings(max_examples=600)
@given(data=st.data())
def test_a_damaged_batch_gives_a_batch_or_a_typed_error(data: st.DataObject) -> None:
    body = bytearray(batches.full_batch(sealed_wall_ns=1_795_221_600 * 10**9).SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(body) - 1))
        match data.draw(st.sampled_from(("flip", "cut", "insert", "copy"))):
            case "flip":
                body[place] ^= data.draw(st.integers(1, 255))
            case "cut":
                del body[place : place + data.draw(st.integers(1, 20))]
            case "insert":
                body[place:place] = data.draw(st.binary(min_size=1, max_size=20))
            case "copy":
                body[place:place] = body[: data.draw(st.integers(1, 200))]
        if not body:
            break
    try:
        decode_message(bytes(body), LIMITS)
    except TierscopeError as error:
        assert error.detail  # noqa: PT017 - either outcome is right; an untyped error is not
