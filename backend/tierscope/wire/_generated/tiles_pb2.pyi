from tierscope.wire._generated import heat_pb2 as _heat_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TileEpoch(_message.Message):
    __slots__ = ("epoch_id", "service_ref", "group_ref", "backend", "granularity", "interval_ns", "region_bytes", "cell_log2_base", "cell_unit", "cell_measure", "kind", "mapping_ref", "offset_bytes", "size_bytes", "start_wall_ns")
    EPOCH_ID_FIELD_NUMBER: _ClassVar[int]
    SERVICE_REF_FIELD_NUMBER: _ClassVar[int]
    GROUP_REF_FIELD_NUMBER: _ClassVar[int]
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    GRANULARITY_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_NS_FIELD_NUMBER: _ClassVar[int]
    REGION_BYTES_FIELD_NUMBER: _ClassVar[int]
    CELL_LOG2_BASE_FIELD_NUMBER: _ClassVar[int]
    CELL_UNIT_FIELD_NUMBER: _ClassVar[int]
    CELL_MEASURE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MAPPING_REF_FIELD_NUMBER: _ClassVar[int]
    OFFSET_BYTES_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    START_WALL_NS_FIELD_NUMBER: _ClassVar[int]
    epoch_id: int
    service_ref: int
    group_ref: int
    backend: _heat_pb2.HeatBackend
    granularity: _heat_pb2.Granularity
    interval_ns: int
    region_bytes: int
    cell_log2_base: float
    cell_unit: float
    cell_measure: str
    kind: _containers.RepeatedScalarFieldContainer[_heat_pb2.PageKind]
    mapping_ref: _containers.RepeatedScalarFieldContainer[int]
    offset_bytes: _containers.RepeatedScalarFieldContainer[int]
    size_bytes: _containers.RepeatedScalarFieldContainer[int]
    start_wall_ns: int
    def __init__(self, epoch_id: _Optional[int] = ..., service_ref: _Optional[int] = ..., group_ref: _Optional[int] = ..., backend: _Optional[_Union[_heat_pb2.HeatBackend, str]] = ..., granularity: _Optional[_Union[_heat_pb2.Granularity, str]] = ..., interval_ns: _Optional[int] = ..., region_bytes: _Optional[int] = ..., cell_log2_base: _Optional[float] = ..., cell_unit: _Optional[float] = ..., cell_measure: _Optional[str] = ..., kind: _Optional[_Iterable[_Union[_heat_pb2.PageKind, str]]] = ..., mapping_ref: _Optional[_Iterable[int]] = ..., offset_bytes: _Optional[_Iterable[int]] = ..., size_bytes: _Optional[_Iterable[int]] = ..., start_wall_ns: _Optional[int] = ...) -> None: ...

class TileColumn(_message.Message):
    __slots__ = ("epoch_id", "end_wall_ns", "cells")
    EPOCH_ID_FIELD_NUMBER: _ClassVar[int]
    END_WALL_NS_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    epoch_id: int
    end_wall_ns: int
    cells: bytes
    def __init__(self, epoch_id: _Optional[int] = ..., end_wall_ns: _Optional[int] = ..., cells: _Optional[bytes] = ...) -> None: ...
