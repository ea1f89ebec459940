from tierscope.wire._generated import heat_pb2 as _heat_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PageSampleBlock(_message.Message):
    __slots__ = ("backend", "granularity", "interval_ns", "service_ref", "group_ref", "sampled_ratio", "counts", "period_events", "duty_ratio", "end_wall_ns", "observed", "page_ids", "kind", "page_size_bytes", "first_interval", "last_interval", "row_interval", "row_page", "row_loads", "row_stores")
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    GRANULARITY_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_NS_FIELD_NUMBER: _ClassVar[int]
    SERVICE_REF_FIELD_NUMBER: _ClassVar[int]
    GROUP_REF_FIELD_NUMBER: _ClassVar[int]
    SAMPLED_RATIO_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    PERIOD_EVENTS_FIELD_NUMBER: _ClassVar[int]
    DUTY_RATIO_FIELD_NUMBER: _ClassVar[int]
    END_WALL_NS_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_FIELD_NUMBER: _ClassVar[int]
    PAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    FIRST_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    LAST_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    ROW_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    ROW_PAGE_FIELD_NUMBER: _ClassVar[int]
    ROW_LOADS_FIELD_NUMBER: _ClassVar[int]
    ROW_STORES_FIELD_NUMBER: _ClassVar[int]
    backend: _heat_pb2.HeatBackend
    granularity: _heat_pb2.Granularity
    interval_ns: int
    service_ref: int
    group_ref: int
    sampled_ratio: float
    counts: bool
    period_events: float
    duty_ratio: float
    end_wall_ns: _containers.RepeatedScalarFieldContainer[int]
    observed: _containers.RepeatedScalarFieldContainer[bool]
    page_ids: bytes
    kind: _containers.RepeatedScalarFieldContainer[_heat_pb2.PageKind]
    page_size_bytes: _containers.RepeatedScalarFieldContainer[int]
    first_interval: _containers.RepeatedScalarFieldContainer[int]
    last_interval: _containers.RepeatedScalarFieldContainer[int]
    row_interval: _containers.RepeatedScalarFieldContainer[int]
    row_page: _containers.RepeatedScalarFieldContainer[int]
    row_loads: _containers.RepeatedScalarFieldContainer[int]
    row_stores: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, backend: _Optional[_Union[_heat_pb2.HeatBackend, str]] = ..., granularity: _Optional[_Union[_heat_pb2.Granularity, str]] = ..., interval_ns: _Optional[int] = ..., service_ref: _Optional[int] = ..., group_ref: _Optional[int] = ..., sampled_ratio: _Optional[float] = ..., counts: _Optional[bool] = ..., period_events: _Optional[float] = ..., duty_ratio: _Optional[float] = ..., end_wall_ns: _Optional[_Iterable[int]] = ..., observed: _Optional[_Iterable[bool]] = ..., page_ids: _Optional[bytes] = ..., kind: _Optional[_Iterable[_Union[_heat_pb2.PageKind, str]]] = ..., page_size_bytes: _Optional[_Iterable[int]] = ..., first_interval: _Optional[_Iterable[int]] = ..., last_interval: _Optional[_Iterable[int]] = ..., row_interval: _Optional[_Iterable[int]] = ..., row_page: _Optional[_Iterable[int]] = ..., row_loads: _Optional[_Iterable[int]] = ..., row_stores: _Optional[_Iterable[int]] = ...) -> None: ...
