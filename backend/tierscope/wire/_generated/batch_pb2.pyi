from tierscope.wire._generated import counters_pb2 as _counters_pb2
from tierscope.wire._generated import heat_pb2 as _heat_pb2
from tierscope.wire._generated import inventory_pb2 as _inventory_pb2
from tierscope.wire._generated import tiles_pb2 as _tiles_pb2
from tierscope.wire._generated import traces_pb2 as _traces_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Origin(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ORIGIN_UNSPECIFIED: _ClassVar[Origin]
    ORIGIN_LIVE: _ClassVar[Origin]
    ORIGIN_IMPORT: _ClassVar[Origin]
    ORIGIN_SIMULATED: _ClassVar[Origin]
ORIGIN_UNSPECIFIED: Origin
ORIGIN_LIVE: Origin
ORIGIN_IMPORT: Origin
ORIGIN_SIMULATED: Origin

class Batch(_message.Message):
    __slots__ = ("schema_version", "host_id", "stream_id", "seq", "boot_id", "agent_version", "origin", "sealed_wall_ns", "sealed_boottime_ns", "strings", "inventory", "layouts", "counters", "heat", "gaps", "tile_epochs", "tile_columns", "self", "page_samples")
    SCHEMA_VERSION_FIELD_NUMBER: _ClassVar[int]
    HOST_ID_FIELD_NUMBER: _ClassVar[int]
    STREAM_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    BOOT_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    SEALED_WALL_NS_FIELD_NUMBER: _ClassVar[int]
    SEALED_BOOTTIME_NS_FIELD_NUMBER: _ClassVar[int]
    STRINGS_FIELD_NUMBER: _ClassVar[int]
    INVENTORY_FIELD_NUMBER: _ClassVar[int]
    LAYOUTS_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    HEAT_FIELD_NUMBER: _ClassVar[int]
    GAPS_FIELD_NUMBER: _ClassVar[int]
    TILE_EPOCHS_FIELD_NUMBER: _ClassVar[int]
    TILE_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    SELF_FIELD_NUMBER: _ClassVar[int]
    PAGE_SAMPLES_FIELD_NUMBER: _ClassVar[int]
    schema_version: int
    host_id: str
    stream_id: bytes
    seq: int
    boot_id: str
    agent_version: str
    origin: Origin
    sealed_wall_ns: int
    sealed_boottime_ns: int
    strings: _containers.RepeatedScalarFieldContainer[str]
    inventory: _inventory_pb2.Inventory
    layouts: _containers.RepeatedCompositeFieldContainer[_counters_pb2.CounterLayout]
    counters: _containers.RepeatedCompositeFieldContainer[_counters_pb2.CounterBlock]
    heat: _containers.RepeatedCompositeFieldContainer[_heat_pb2.HeatBlock]
    gaps: _containers.RepeatedCompositeFieldContainer[_heat_pb2.GapBlock]
    tile_epochs: _containers.RepeatedCompositeFieldContainer[_tiles_pb2.TileEpoch]
    tile_columns: _containers.RepeatedCompositeFieldContainer[_tiles_pb2.TileColumn]
    self: SelfReport
    page_samples: _containers.RepeatedCompositeFieldContainer[_traces_pb2.PageSampleBlock]
    def __init__(self_, schema_version: _Optional[int] = ..., host_id: _Optional[str] = ..., stream_id: _Optional[bytes] = ..., seq: _Optional[int] = ..., boot_id: _Optional[str] = ..., agent_version: _Optional[str] = ..., origin: _Optional[_Union[Origin, str]] = ..., sealed_wall_ns: _Optional[int] = ..., sealed_boottime_ns: _Optional[int] = ..., strings: _Optional[_Iterable[str]] = ..., inventory: _Optional[_Union[_inventory_pb2.Inventory, _Mapping]] = ..., layouts: _Optional[_Iterable[_Union[_counters_pb2.CounterLayout, _Mapping]]] = ..., counters: _Optional[_Iterable[_Union[_counters_pb2.CounterBlock, _Mapping]]] = ..., heat: _Optional[_Iterable[_Union[_heat_pb2.HeatBlock, _Mapping]]] = ..., gaps: _Optional[_Iterable[_Union[_heat_pb2.GapBlock, _Mapping]]] = ..., tile_epochs: _Optional[_Iterable[_Union[_tiles_pb2.TileEpoch, _Mapping]]] = ..., tile_columns: _Optional[_Iterable[_Union[_tiles_pb2.TileColumn, _Mapping]]] = ..., self: _Optional[_Union[SelfReport, _Mapping]] = ..., page_samples: _Optional[_Iterable[_Union[_traces_pb2.PageSampleBlock, _Mapping]]] = ...) -> None: ...

class SelfReport(_message.Message):
    __slots__ = ("end_wall_ns", "window_ns", "cpu_ns", "rss_bytes", "spool_bytes", "spool_batches", "dropped_batches", "sent_bytes", "counters_dropped", "services_dropped", "collectors", "budget_state", "heat_rung", "budget_reason", "guard_paused_intervals", "samples_taken", "samples_lost", "throttles")
    END_WALL_NS_FIELD_NUMBER: _ClassVar[int]
    WINDOW_NS_FIELD_NUMBER: _ClassVar[int]
    CPU_NS_FIELD_NUMBER: _ClassVar[int]
    RSS_BYTES_FIELD_NUMBER: _ClassVar[int]
    SPOOL_BYTES_FIELD_NUMBER: _ClassVar[int]
    SPOOL_BATCHES_FIELD_NUMBER: _ClassVar[int]
    DROPPED_BATCHES_FIELD_NUMBER: _ClassVar[int]
    SENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_DROPPED_FIELD_NUMBER: _ClassVar[int]
    SERVICES_DROPPED_FIELD_NUMBER: _ClassVar[int]
    COLLECTORS_FIELD_NUMBER: _ClassVar[int]
    BUDGET_STATE_FIELD_NUMBER: _ClassVar[int]
    HEAT_RUNG_FIELD_NUMBER: _ClassVar[int]
    BUDGET_REASON_FIELD_NUMBER: _ClassVar[int]
    GUARD_PAUSED_INTERVALS_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_TAKEN_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_LOST_FIELD_NUMBER: _ClassVar[int]
    THROTTLES_FIELD_NUMBER: _ClassVar[int]
    end_wall_ns: int
    window_ns: int
    cpu_ns: int
    rss_bytes: int
    spool_bytes: int
    spool_batches: int
    dropped_batches: int
    sent_bytes: int
    counters_dropped: int
    services_dropped: int
    collectors: _containers.RepeatedCompositeFieldContainer[CollectorCost]
    budget_state: str
    heat_rung: str
    budget_reason: str
    guard_paused_intervals: int
    samples_taken: int
    samples_lost: int
    throttles: int
    def __init__(self, end_wall_ns: _Optional[int] = ..., window_ns: _Optional[int] = ..., cpu_ns: _Optional[int] = ..., rss_bytes: _Optional[int] = ..., spool_bytes: _Optional[int] = ..., spool_batches: _Optional[int] = ..., dropped_batches: _Optional[int] = ..., sent_bytes: _Optional[int] = ..., counters_dropped: _Optional[int] = ..., services_dropped: _Optional[int] = ..., collectors: _Optional[_Iterable[_Union[CollectorCost, _Mapping]]] = ..., budget_state: _Optional[str] = ..., heat_rung: _Optional[str] = ..., budget_reason: _Optional[str] = ..., guard_paused_intervals: _Optional[int] = ..., samples_taken: _Optional[int] = ..., samples_lost: _Optional[int] = ..., throttles: _Optional[int] = ...) -> None: ...

class CollectorCost(_message.Message):
    __slots__ = ("name", "cpu_ns", "runs", "failures", "last_error")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CPU_NS_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    name: str
    cpu_ns: int
    runs: int
    failures: int
    last_error: str
    def __init__(self, name: _Optional[str] = ..., cpu_ns: _Optional[int] = ..., runs: _Optional[int] = ..., failures: _Optional[int] = ..., last_error: _Optional[str] = ...) -> None: ...
