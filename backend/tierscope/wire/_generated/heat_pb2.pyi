from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PageKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PAGE_KIND_UNSPECIFIED: _ClassVar[PageKind]
    PAGE_KIND_ANON: _ClassVar[PageKind]
    PAGE_KIND_FILE: _ClassVar[PageKind]
    PAGE_KIND_TMPFS: _ClassVar[PageKind]

class HeatBackend(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HEAT_BACKEND_UNSPECIFIED: _ClassVar[HeatBackend]
    HEAT_BACKEND_PEBS: _ClassVar[HeatBackend]
    HEAT_BACKEND_IBS: _ClassVar[HeatBackend]
    HEAT_BACKEND_SPE: _ClassVar[HeatBackend]
    HEAT_BACKEND_ABIT_WALK: _ClassVar[HeatBackend]
    HEAT_BACKEND_IDLE_PAGE: _ClassVar[HeatBackend]
    HEAT_BACKEND_DAMON_PAGES: _ClassVar[HeatBackend]
    HEAT_BACKEND_DAMON_REGIONS: _ClassVar[HeatBackend]
    HEAT_BACKEND_REFERENCED: _ClassVar[HeatBackend]
    HEAT_BACKEND_TRACE: _ClassVar[HeatBackend]

class Granularity(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GRANULARITY_UNSPECIFIED: _ClassVar[Granularity]
    GRANULARITY_PAGE: _ClassVar[Granularity]
    GRANULARITY_REGION: _ClassVar[Granularity]
    GRANULARITY_VMA: _ClassVar[Granularity]
PAGE_KIND_UNSPECIFIED: PageKind
PAGE_KIND_ANON: PageKind
PAGE_KIND_FILE: PageKind
PAGE_KIND_TMPFS: PageKind
HEAT_BACKEND_UNSPECIFIED: HeatBackend
HEAT_BACKEND_PEBS: HeatBackend
HEAT_BACKEND_IBS: HeatBackend
HEAT_BACKEND_SPE: HeatBackend
HEAT_BACKEND_ABIT_WALK: HeatBackend
HEAT_BACKEND_IDLE_PAGE: HeatBackend
HEAT_BACKEND_DAMON_PAGES: HeatBackend
HEAT_BACKEND_DAMON_REGIONS: HeatBackend
HEAT_BACKEND_REFERENCED: HeatBackend
HEAT_BACKEND_TRACE: HeatBackend
GRANULARITY_UNSPECIFIED: Granularity
GRANULARITY_PAGE: Granularity
GRANULARITY_REGION: Granularity
GRANULARITY_VMA: Granularity

class HeatBlock(_message.Message):
    __slots__ = ("backend", "granularity", "interval_ns", "end_wall_ns", "end_boottime_ns", "service_ref", "group_ref", "kind", "page_size_bytes", "tier_ref", "samples_known", "period_events", "duty_ratio", "bits_per_interval", "validity", "resident_bytes", "age_bytes", "never_bytes", "active_count_bytes", "active_lo_bytes", "active_hi_bytes", "load_samples", "store_samples", "distinct_pages", "f1_pages", "f2_pages", "hot_intersection_bytes", "hot_union_bytes", "sampled_pages", "written_bytes", "subpage_active_bytes", "dirty_bytes")
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    GRANULARITY_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_NS_FIELD_NUMBER: _ClassVar[int]
    END_WALL_NS_FIELD_NUMBER: _ClassVar[int]
    END_BOOTTIME_NS_FIELD_NUMBER: _ClassVar[int]
    SERVICE_REF_FIELD_NUMBER: _ClassVar[int]
    GROUP_REF_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    TIER_REF_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_KNOWN_FIELD_NUMBER: _ClassVar[int]
    PERIOD_EVENTS_FIELD_NUMBER: _ClassVar[int]
    DUTY_RATIO_FIELD_NUMBER: _ClassVar[int]
    BITS_PER_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    VALIDITY_FIELD_NUMBER: _ClassVar[int]
    RESIDENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    AGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    NEVER_BYTES_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_COUNT_BYTES_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_LO_BYTES_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_HI_BYTES_FIELD_NUMBER: _ClassVar[int]
    LOAD_SAMPLES_FIELD_NUMBER: _ClassVar[int]
    STORE_SAMPLES_FIELD_NUMBER: _ClassVar[int]
    DISTINCT_PAGES_FIELD_NUMBER: _ClassVar[int]
    F1_PAGES_FIELD_NUMBER: _ClassVar[int]
    F2_PAGES_FIELD_NUMBER: _ClassVar[int]
    HOT_INTERSECTION_BYTES_FIELD_NUMBER: _ClassVar[int]
    HOT_UNION_BYTES_FIELD_NUMBER: _ClassVar[int]
    SAMPLED_PAGES_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_BYTES_FIELD_NUMBER: _ClassVar[int]
    SUBPAGE_ACTIVE_BYTES_FIELD_NUMBER: _ClassVar[int]
    DIRTY_BYTES_FIELD_NUMBER: _ClassVar[int]
    backend: HeatBackend
    granularity: Granularity
    interval_ns: int
    end_wall_ns: _containers.RepeatedScalarFieldContainer[int]
    end_boottime_ns: _containers.RepeatedScalarFieldContainer[int]
    service_ref: _containers.RepeatedScalarFieldContainer[int]
    group_ref: _containers.RepeatedScalarFieldContainer[int]
    kind: _containers.RepeatedScalarFieldContainer[PageKind]
    page_size_bytes: _containers.RepeatedScalarFieldContainer[int]
    tier_ref: _containers.RepeatedScalarFieldContainer[int]
    samples_known: bool
    period_events: float
    duty_ratio: float
    bits_per_interval: int
    validity: _containers.RepeatedScalarFieldContainer[int]
    resident_bytes: _containers.RepeatedScalarFieldContainer[int]
    age_bytes: bytes
    never_bytes: bytes
    active_count_bytes: bytes
    active_lo_bytes: bytes
    active_hi_bytes: bytes
    load_samples: _containers.RepeatedScalarFieldContainer[int]
    store_samples: _containers.RepeatedScalarFieldContainer[int]
    distinct_pages: bytes
    f1_pages: bytes
    f2_pages: bytes
    hot_intersection_bytes: bytes
    hot_union_bytes: bytes
    sampled_pages: _containers.RepeatedScalarFieldContainer[int]
    written_bytes: bytes
    subpage_active_bytes: _containers.RepeatedScalarFieldContainer[int]
    dirty_bytes: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, backend: _Optional[_Union[HeatBackend, str]] = ..., granularity: _Optional[_Union[Granularity, str]] = ..., interval_ns: _Optional[int] = ..., end_wall_ns: _Optional[_Iterable[int]] = ..., end_boottime_ns: _Optional[_Iterable[int]] = ..., service_ref: _Optional[_Iterable[int]] = ..., group_ref: _Optional[_Iterable[int]] = ..., kind: _Optional[_Iterable[_Union[PageKind, str]]] = ..., page_size_bytes: _Optional[_Iterable[int]] = ..., tier_ref: _Optional[_Iterable[int]] = ..., samples_known: _Optional[bool] = ..., period_events: _Optional[float] = ..., duty_ratio: _Optional[float] = ..., bits_per_interval: _Optional[int] = ..., validity: _Optional[_Iterable[int]] = ..., resident_bytes: _Optional[_Iterable[int]] = ..., age_bytes: _Optional[bytes] = ..., never_bytes: _Optional[bytes] = ..., active_count_bytes: _Optional[bytes] = ..., active_lo_bytes: _Optional[bytes] = ..., active_hi_bytes: _Optional[bytes] = ..., load_samples: _Optional[_Iterable[int]] = ..., store_samples: _Optional[_Iterable[int]] = ..., distinct_pages: _Optional[bytes] = ..., f1_pages: _Optional[bytes] = ..., f2_pages: _Optional[bytes] = ..., hot_intersection_bytes: _Optional[bytes] = ..., hot_union_bytes: _Optional[bytes] = ..., sampled_pages: _Optional[_Iterable[int]] = ..., written_bytes: _Optional[bytes] = ..., subpage_active_bytes: _Optional[_Iterable[int]] = ..., dirty_bytes: _Optional[_Iterable[int]] = ...) -> None: ...

class GapBlock(_message.Message):
    __slots__ = ("backend", "granularity", "interval_ns", "end_wall_ns", "intervals", "service_ref", "group_ref", "kind", "closed_bytes", "freed_bytes", "open_bytes", "censored_bytes")
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    GRANULARITY_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_NS_FIELD_NUMBER: _ClassVar[int]
    END_WALL_NS_FIELD_NUMBER: _ClassVar[int]
    INTERVALS_FIELD_NUMBER: _ClassVar[int]
    SERVICE_REF_FIELD_NUMBER: _ClassVar[int]
    GROUP_REF_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CLOSED_BYTES_FIELD_NUMBER: _ClassVar[int]
    FREED_BYTES_FIELD_NUMBER: _ClassVar[int]
    OPEN_BYTES_FIELD_NUMBER: _ClassVar[int]
    CENSORED_BYTES_FIELD_NUMBER: _ClassVar[int]
    backend: HeatBackend
    granularity: Granularity
    interval_ns: int
    end_wall_ns: int
    intervals: int
    service_ref: _containers.RepeatedScalarFieldContainer[int]
    group_ref: _containers.RepeatedScalarFieldContainer[int]
    kind: _containers.RepeatedScalarFieldContainer[PageKind]
    closed_bytes: bytes
    freed_bytes: bytes
    open_bytes: bytes
    censored_bytes: bytes
    def __init__(self, backend: _Optional[_Union[HeatBackend, str]] = ..., granularity: _Optional[_Union[Granularity, str]] = ..., interval_ns: _Optional[int] = ..., end_wall_ns: _Optional[int] = ..., intervals: _Optional[int] = ..., service_ref: _Optional[_Iterable[int]] = ..., group_ref: _Optional[_Iterable[int]] = ..., kind: _Optional[_Iterable[_Union[PageKind, str]]] = ..., closed_bytes: _Optional[bytes] = ..., freed_bytes: _Optional[bytes] = ..., open_bytes: _Optional[bytes] = ..., censored_bytes: _Optional[bytes] = ...) -> None: ...
