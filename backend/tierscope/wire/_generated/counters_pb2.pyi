from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class CounterLayout(_message.Message):
    __slots__ = ("hash", "keys")
    HASH_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    hash: bytes
    keys: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, hash: _Optional[bytes] = ..., keys: _Optional[_Iterable[str]] = ...) -> None: ...

class CounterBlock(_message.Message):
    __slots__ = ("layout_hash", "end_wall_ns", "end_boottime_ns", "values", "validity", "boot_ids")
    LAYOUT_HASH_FIELD_NUMBER: _ClassVar[int]
    END_WALL_NS_FIELD_NUMBER: _ClassVar[int]
    END_BOOTTIME_NS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    VALIDITY_FIELD_NUMBER: _ClassVar[int]
    BOOT_IDS_FIELD_NUMBER: _ClassVar[int]
    layout_hash: bytes
    end_wall_ns: _containers.RepeatedScalarFieldContainer[int]
    end_boottime_ns: _containers.RepeatedScalarFieldContainer[int]
    values: bytes
    validity: bytes
    boot_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, layout_hash: _Optional[bytes] = ..., end_wall_ns: _Optional[_Iterable[int]] = ..., end_boottime_ns: _Optional[_Iterable[int]] = ..., values: _Optional[bytes] = ..., validity: _Optional[bytes] = ..., boot_ids: _Optional[_Iterable[str]] = ...) -> None: ...
