from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Inventory(_message.Message):
    __slots__ = ("hostname", "kernel_release", "kernel_version", "architecture", "cpu_model", "cpus_online", "page_size_bytes", "dialect", "cgroup_version", "nodes", "tiers", "knobs", "collectors", "services", "swaps", "findings", "labels", "cxl_devices", "rdma_devices", "running_as_uid", "benches", "unmovable", "hypervisor", "labels_complete", "interval_seconds", "pods", "kubernetes_labels_partial", "tier_order", "tree", "huge_page_bytes")
    HOSTNAME_FIELD_NUMBER: _ClassVar[int]
    KERNEL_RELEASE_FIELD_NUMBER: _ClassVar[int]
    KERNEL_VERSION_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    CPU_MODEL_FIELD_NUMBER: _ClassVar[int]
    CPUS_ONLINE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    DIALECT_FIELD_NUMBER: _ClassVar[int]
    CGROUP_VERSION_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    TIERS_FIELD_NUMBER: _ClassVar[int]
    KNOBS_FIELD_NUMBER: _ClassVar[int]
    COLLECTORS_FIELD_NUMBER: _ClassVar[int]
    SERVICES_FIELD_NUMBER: _ClassVar[int]
    SWAPS_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    CXL_DEVICES_FIELD_NUMBER: _ClassVar[int]
    RDMA_DEVICES_FIELD_NUMBER: _ClassVar[int]
    RUNNING_AS_UID_FIELD_NUMBER: _ClassVar[int]
    BENCHES_FIELD_NUMBER: _ClassVar[int]
    UNMOVABLE_FIELD_NUMBER: _ClassVar[int]
    HYPERVISOR_FIELD_NUMBER: _ClassVar[int]
    LABELS_COMPLETE_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_SECONDS_FIELD_NUMBER: _ClassVar[int]
    PODS_FIELD_NUMBER: _ClassVar[int]
    KUBERNETES_LABELS_PARTIAL_FIELD_NUMBER: _ClassVar[int]
    TIER_ORDER_FIELD_NUMBER: _ClassVar[int]
    TREE_FIELD_NUMBER: _ClassVar[int]
    HUGE_PAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    hostname: str
    kernel_release: str
    kernel_version: str
    architecture: str
    cpu_model: str
    cpus_online: int
    page_size_bytes: int
    dialect: str
    cgroup_version: str
    nodes: _containers.RepeatedCompositeFieldContainer[Node]
    tiers: _containers.RepeatedCompositeFieldContainer[Tier]
    knobs: _containers.RepeatedCompositeFieldContainer[Knob]
    collectors: _containers.RepeatedCompositeFieldContainer[Collector]
    services: _containers.RepeatedCompositeFieldContainer[Service]
    swaps: _containers.RepeatedCompositeFieldContainer[SwapDevice]
    findings: _containers.RepeatedCompositeFieldContainer[Finding]
    labels: _containers.RepeatedCompositeFieldContainer[Label]
    cxl_devices: _containers.RepeatedCompositeFieldContainer[CxlDevice]
    rdma_devices: _containers.RepeatedScalarFieldContainer[str]
    running_as_uid: int
    benches: _containers.RepeatedCompositeFieldContainer[NodeBench]
    unmovable: _containers.RepeatedCompositeFieldContainer[Unmovable]
    hypervisor: str
    labels_complete: bool
    interval_seconds: int
    pods: PodList
    kubernetes_labels_partial: bool
    tier_order: str
    tree: str
    huge_page_bytes: int
    def __init__(self, hostname: _Optional[str] = ..., kernel_release: _Optional[str] = ..., kernel_version: _Optional[str] = ..., architecture: _Optional[str] = ..., cpu_model: _Optional[str] = ..., cpus_online: _Optional[int] = ..., page_size_bytes: _Optional[int] = ..., dialect: _Optional[str] = ..., cgroup_version: _Optional[str] = ..., nodes: _Optional[_Iterable[_Union[Node, _Mapping]]] = ..., tiers: _Optional[_Iterable[_Union[Tier, _Mapping]]] = ..., knobs: _Optional[_Iterable[_Union[Knob, _Mapping]]] = ..., collectors: _Optional[_Iterable[_Union[Collector, _Mapping]]] = ..., services: _Optional[_Iterable[_Union[Service, _Mapping]]] = ..., swaps: _Optional[_Iterable[_Union[SwapDevice, _Mapping]]] = ..., findings: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ..., labels: _Optional[_Iterable[_Union[Label, _Mapping]]] = ..., cxl_devices: _Optional[_Iterable[_Union[CxlDevice, _Mapping]]] = ..., rdma_devices: _Optional[_Iterable[str]] = ..., running_as_uid: _Optional[int] = ..., benches: _Optional[_Iterable[_Union[NodeBench, _Mapping]]] = ..., unmovable: _Optional[_Iterable[_Union[Unmovable, _Mapping]]] = ..., hypervisor: _Optional[str] = ..., labels_complete: _Optional[bool] = ..., interval_seconds: _Optional[int] = ..., pods: _Optional[_Union[PodList, _Mapping]] = ..., kubernetes_labels_partial: _Optional[bool] = ..., tier_order: _Optional[str] = ..., tree: _Optional[str] = ..., huge_page_bytes: _Optional[int] = ...) -> None: ...

class PodList(_message.Message):
    __slots__ = ("pods", "left_out", "unavailable")
    PODS_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_FIELD_NUMBER: _ClassVar[int]
    pods: _containers.RepeatedCompositeFieldContainer[Pod]
    left_out: int
    unavailable: str
    def __init__(self, pods: _Optional[_Iterable[_Union[Pod, _Mapping]]] = ..., left_out: _Optional[int] = ..., unavailable: _Optional[str] = ...) -> None: ...

class Pod(_message.Message):
    __slots__ = ("uid", "namespace", "name", "owner_kind", "owner", "owner_source", "service_namespace", "service", "labels", "labels_known")
    UID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OWNER_KIND_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    OWNER_SOURCE_FIELD_NUMBER: _ClassVar[int]
    SERVICE_NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    LABELS_KNOWN_FIELD_NUMBER: _ClassVar[int]
    uid: str
    namespace: str
    name: str
    owner_kind: str
    owner: str
    owner_source: str
    service_namespace: str
    service: str
    labels: _containers.RepeatedCompositeFieldContainer[PodLabel]
    labels_known: bool
    def __init__(self, uid: _Optional[str] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ..., owner_kind: _Optional[str] = ..., owner: _Optional[str] = ..., owner_source: _Optional[str] = ..., service_namespace: _Optional[str] = ..., service: _Optional[str] = ..., labels: _Optional[_Iterable[_Union[PodLabel, _Mapping]]] = ..., labels_known: _Optional[bool] = ...) -> None: ...

class PodLabel(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: str
    def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class Unmovable(_message.Message):
    __slots__ = ("node", "hugetlb_bytes", "mlocked_bytes", "pinned_pages")
    NODE_FIELD_NUMBER: _ClassVar[int]
    HUGETLB_BYTES_FIELD_NUMBER: _ClassVar[int]
    MLOCKED_BYTES_FIELD_NUMBER: _ClassVar[int]
    PINNED_PAGES_FIELD_NUMBER: _ClassVar[int]
    node: int
    hugetlb_bytes: int
    mlocked_bytes: int
    pinned_pages: int
    def __init__(self, node: _Optional[int] = ..., hugetlb_bytes: _Optional[int] = ..., mlocked_bytes: _Optional[int] = ..., pinned_pages: _Optional[int] = ...) -> None: ...

class NodeBench(_message.Message):
    __slots__ = ("measured_wall_ns", "cpu_node", "memory_node", "figures", "loaded", "method", "buffer_bytes", "huge_page_bytes", "skipped")
    MEASURED_WALL_NS_FIELD_NUMBER: _ClassVar[int]
    CPU_NODE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_NODE_FIELD_NUMBER: _ClassVar[int]
    FIGURES_FIELD_NUMBER: _ClassVar[int]
    LOADED_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    BUFFER_BYTES_FIELD_NUMBER: _ClassVar[int]
    HUGE_PAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    measured_wall_ns: int
    cpu_node: int
    memory_node: int
    figures: _containers.RepeatedCompositeFieldContainer[BenchFigure]
    loaded: _containers.RepeatedCompositeFieldContainer[LoadedPoint]
    method: str
    buffer_bytes: int
    huge_page_bytes: int
    skipped: _containers.RepeatedCompositeFieldContainer[BenchSkip]
    def __init__(self, measured_wall_ns: _Optional[int] = ..., cpu_node: _Optional[int] = ..., memory_node: _Optional[int] = ..., figures: _Optional[_Iterable[_Union[BenchFigure, _Mapping]]] = ..., loaded: _Optional[_Iterable[_Union[LoadedPoint, _Mapping]]] = ..., method: _Optional[str] = ..., buffer_bytes: _Optional[int] = ..., huge_page_bytes: _Optional[int] = ..., skipped: _Optional[_Iterable[_Union[BenchSkip, _Mapping]]] = ...) -> None: ...

class BenchSkip(_message.Message):
    __slots__ = ("name", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    reason: str
    def __init__(self, name: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class BenchFigure(_message.Message):
    __slots__ = ("name", "unit", "threads", "block_bytes", "pattern", "median", "p10", "p90", "repetitions", "disturbed")
    NAME_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    THREADS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_BYTES_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    MEDIAN_FIELD_NUMBER: _ClassVar[int]
    P10_FIELD_NUMBER: _ClassVar[int]
    P90_FIELD_NUMBER: _ClassVar[int]
    REPETITIONS_FIELD_NUMBER: _ClassVar[int]
    DISTURBED_FIELD_NUMBER: _ClassVar[int]
    name: str
    unit: str
    threads: int
    block_bytes: int
    pattern: str
    median: float
    p10: float
    p90: float
    repetitions: int
    disturbed: bool
    def __init__(self, name: _Optional[str] = ..., unit: _Optional[str] = ..., threads: _Optional[int] = ..., block_bytes: _Optional[int] = ..., pattern: _Optional[str] = ..., median: _Optional[float] = ..., p10: _Optional[float] = ..., p90: _Optional[float] = ..., repetitions: _Optional[int] = ..., disturbed: _Optional[bool] = ...) -> None: ...

class LoadedPoint(_message.Message):
    __slots__ = ("bandwidth_bytes_per_s", "latency_ns", "threads", "write_ratio", "utilisation_ratio", "latency_p10_ns", "latency_p90_ns", "repetitions", "disturbed")
    BANDWIDTH_BYTES_PER_S_FIELD_NUMBER: _ClassVar[int]
    LATENCY_NS_FIELD_NUMBER: _ClassVar[int]
    THREADS_FIELD_NUMBER: _ClassVar[int]
    WRITE_RATIO_FIELD_NUMBER: _ClassVar[int]
    UTILISATION_RATIO_FIELD_NUMBER: _ClassVar[int]
    LATENCY_P10_NS_FIELD_NUMBER: _ClassVar[int]
    LATENCY_P90_NS_FIELD_NUMBER: _ClassVar[int]
    REPETITIONS_FIELD_NUMBER: _ClassVar[int]
    DISTURBED_FIELD_NUMBER: _ClassVar[int]
    bandwidth_bytes_per_s: float
    latency_ns: float
    threads: int
    write_ratio: float
    utilisation_ratio: float
    latency_p10_ns: float
    latency_p90_ns: float
    repetitions: int
    disturbed: bool
    def __init__(self, bandwidth_bytes_per_s: _Optional[float] = ..., latency_ns: _Optional[float] = ..., threads: _Optional[int] = ..., write_ratio: _Optional[float] = ..., utilisation_ratio: _Optional[float] = ..., latency_p10_ns: _Optional[float] = ..., latency_p90_ns: _Optional[float] = ..., repetitions: _Optional[int] = ..., disturbed: _Optional[bool] = ...) -> None: ...

class Node(_message.Message):
    __slots__ = ("id", "memory_bytes", "cpulist", "tier_class", "tier_evidence", "distances", "read_latency_ns", "write_latency_ns", "read_bandwidth_mib_per_s", "write_bandwidth_mib_per_s", "tier_certainty", "parts")
    ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    CPULIST_FIELD_NUMBER: _ClassVar[int]
    TIER_CLASS_FIELD_NUMBER: _ClassVar[int]
    TIER_EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    DISTANCES_FIELD_NUMBER: _ClassVar[int]
    READ_LATENCY_NS_FIELD_NUMBER: _ClassVar[int]
    WRITE_LATENCY_NS_FIELD_NUMBER: _ClassVar[int]
    READ_BANDWIDTH_MIB_PER_S_FIELD_NUMBER: _ClassVar[int]
    WRITE_BANDWIDTH_MIB_PER_S_FIELD_NUMBER: _ClassVar[int]
    TIER_CERTAINTY_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    id: int
    memory_bytes: int
    cpulist: str
    tier_class: str
    tier_evidence: str
    distances: _containers.RepeatedScalarFieldContainer[int]
    read_latency_ns: int
    write_latency_ns: int
    read_bandwidth_mib_per_s: int
    write_bandwidth_mib_per_s: int
    tier_certainty: str
    parts: _containers.RepeatedCompositeFieldContainer[NodePart]
    def __init__(self, id: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., cpulist: _Optional[str] = ..., tier_class: _Optional[str] = ..., tier_evidence: _Optional[str] = ..., distances: _Optional[_Iterable[int]] = ..., read_latency_ns: _Optional[int] = ..., write_latency_ns: _Optional[int] = ..., read_bandwidth_mib_per_s: _Optional[int] = ..., write_bandwidth_mib_per_s: _Optional[int] = ..., tier_certainty: _Optional[str] = ..., parts: _Optional[_Iterable[_Union[NodePart, _Mapping]]] = ...) -> None: ...

class NodePart(_message.Message):
    __slots__ = ("tier_class", "bytes", "evidence")
    TIER_CLASS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    tier_class: str
    bytes: int
    evidence: str
    def __init__(self, tier_class: _Optional[str] = ..., bytes: _Optional[int] = ..., evidence: _Optional[str] = ...) -> None: ...

class Tier(_message.Message):
    __slots__ = ("kernel_number", "rank", "nodes")
    KERNEL_NUMBER_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    kernel_number: int
    rank: int
    nodes: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, kernel_number: _Optional[int] = ..., rank: _Optional[int] = ..., nodes: _Optional[_Iterable[int]] = ...) -> None: ...

class Knob(_message.Message):
    __slots__ = ("path", "value", "unavailable")
    PATH_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_FIELD_NUMBER: _ClassVar[int]
    path: str
    value: str
    unavailable: str
    def __init__(self, path: _Optional[str] = ..., value: _Optional[str] = ..., unavailable: _Optional[str] = ...) -> None: ...

class Collector(_message.Message):
    __slots__ = ("name", "active", "reason", "enable_hint", "granularity", "privilege", "sees", "cost", "capabilities")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ENABLE_HINT_FIELD_NUMBER: _ClassVar[int]
    GRANULARITY_FIELD_NUMBER: _ClassVar[int]
    PRIVILEGE_FIELD_NUMBER: _ClassVar[int]
    SEES_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    name: str
    active: bool
    reason: str
    enable_hint: str
    granularity: str
    privilege: str
    sees: str
    cost: str
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., active: _Optional[bool] = ..., reason: _Optional[str] = ..., enable_hint: _Optional[str] = ..., granularity: _Optional[str] = ..., privilege: _Optional[str] = ..., sees: _Optional[str] = ..., cost: _Optional[str] = ..., capabilities: _Optional[_Iterable[str]] = ...) -> None: ...

class Service(_message.Message):
    __slots__ = ("namespace", "name", "rule", "processes", "heat_measured", "heat_reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    PROCESSES_FIELD_NUMBER: _ClassVar[int]
    HEAT_MEASURED_FIELD_NUMBER: _ClassVar[int]
    HEAT_REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    rule: str
    processes: int
    heat_measured: bool
    heat_reason: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., rule: _Optional[str] = ..., processes: _Optional[int] = ..., heat_measured: _Optional[bool] = ..., heat_reason: _Optional[str] = ...) -> None: ...

class SwapDevice(_message.Message):
    __slots__ = ("name", "kind", "size_bytes", "used_bytes", "priority", "zoned", "discard", "rotational")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    ZONED_FIELD_NUMBER: _ClassVar[int]
    DISCARD_FIELD_NUMBER: _ClassVar[int]
    ROTATIONAL_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: str
    size_bytes: int
    used_bytes: int
    priority: int
    zoned: str
    discard: bool
    rotational: bool
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[str] = ..., size_bytes: _Optional[int] = ..., used_bytes: _Optional[int] = ..., priority: _Optional[int] = ..., zoned: _Optional[str] = ..., discard: _Optional[bool] = ..., rotational: _Optional[bool] = ...) -> None: ...

class Finding(_message.Message):
    __slots__ = ("id", "severity", "cause", "fix", "confidence")
    ID_FIELD_NUMBER: _ClassVar[int]
    SEVERITY_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    FIX_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    id: str
    severity: str
    cause: str
    fix: str
    confidence: str
    def __init__(self, id: _Optional[str] = ..., severity: _Optional[str] = ..., cause: _Optional[str] = ..., fix: _Optional[str] = ..., confidence: _Optional[str] = ...) -> None: ...

class Label(_message.Message):
    __slots__ = ("key", "value", "source")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: str
    source: str
    def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ..., source: _Optional[str] = ...) -> None: ...

class CxlDevice(_message.Message):
    __slots__ = ("name", "ram_bytes", "numa_node", "serial", "pci_address", "firmware_version", "link_decigigatransfers", "link_width", "max_link_decigigatransfers", "max_link_width", "aer_correctable", "aer_nonfatal", "aer_fatal")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RAM_BYTES_FIELD_NUMBER: _ClassVar[int]
    NUMA_NODE_FIELD_NUMBER: _ClassVar[int]
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    PCI_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    FIRMWARE_VERSION_FIELD_NUMBER: _ClassVar[int]
    LINK_DECIGIGATRANSFERS_FIELD_NUMBER: _ClassVar[int]
    LINK_WIDTH_FIELD_NUMBER: _ClassVar[int]
    MAX_LINK_DECIGIGATRANSFERS_FIELD_NUMBER: _ClassVar[int]
    MAX_LINK_WIDTH_FIELD_NUMBER: _ClassVar[int]
    AER_CORRECTABLE_FIELD_NUMBER: _ClassVar[int]
    AER_NONFATAL_FIELD_NUMBER: _ClassVar[int]
    AER_FATAL_FIELD_NUMBER: _ClassVar[int]
    name: str
    ram_bytes: int
    numa_node: int
    serial: str
    pci_address: str
    firmware_version: str
    link_decigigatransfers: int
    link_width: int
    max_link_decigigatransfers: int
    max_link_width: int
    aer_correctable: int
    aer_nonfatal: int
    aer_fatal: int
    def __init__(self, name: _Optional[str] = ..., ram_bytes: _Optional[int] = ..., numa_node: _Optional[int] = ..., serial: _Optional[str] = ..., pci_address: _Optional[str] = ..., firmware_version: _Optional[str] = ..., link_decigigatransfers: _Optional[int] = ..., link_width: _Optional[int] = ..., max_link_decigigatransfers: _Optional[int] = ..., max_link_width: _Optional[int] = ..., aer_correctable: _Optional[int] = ..., aer_nonfatal: _Optional[int] = ..., aer_fatal: _Optional[int] = ...) -> None: ...
