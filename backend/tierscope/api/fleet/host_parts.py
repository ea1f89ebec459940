"""Parts of a host's answer: its memory hardware as measured and linked, and its agent."""

from datetime import datetime

from pydantic import Field

from tierscope.api.base.figures import Figure, Model


class BenchFigure(Model):
    """One measured figure: median and spread (10th and 90th percentile) of its repetitions."""

    name: str = Field(description="idle_latency | load_latency | store_writeback_latency | read_bandwidth | ...")
    unit: str = Field(description="ns | bytes_per_s")
    threads: int
    block_bytes: int | None
    pattern: str | None
    median: float
    p10: float
    p90: float
    repetitions: int
    disturbed: bool = Field(description="The spread says that something else ran.")


class LoadedPoint(Model):
    """Latency under one load."""

    bandwidth_bytes_per_s: float
    latency_ns: float
    latency_p10_ns: float | None
    latency_p90_ns: float | None
    threads: int
    write_ratio: float
    disturbed: bool


class BenchSkip(Model):
    """A figure that was not measured, and why."""

    name: str
    reason: str


class NodeBench(Model):
    """What `tierscope-agent bench` measured from the processors of one node to the memory of another."""

    measured_at: datetime
    cpu_node: int
    memory_node: int
    method: str
    buffer_bytes: int | None
    huge_page_bytes: int | None
    figures: list[BenchFigure]
    loaded: list[LoadedPoint]
    skipped: list[BenchSkip]


class CxlDevice(Model):
    """A CXL memory device. `degraded`: its link is below its best; null where the kernel does not say."""

    name: str
    ram_bytes: int | None
    numa_node: int | None
    serial: str | None
    pci_address: str | None
    firmware_version: str | None
    link_gigatransfers_per_s: float | None
    link_width: int | None
    max_link_gigatransfers_per_s: float | None
    max_link_width: int | None
    degraded: bool | None
    aer_correctable: int | None
    aer_nonfatal: int | None
    aer_fatal: int | None


class Unmovable(Model):
    """Memory of a node that no tier move can take away; null where the kernel does not say."""

    node: int
    hugetlb_bytes: int | None
    mlocked_bytes: int | None
    pinned_pages: int | None


class Hardware(Model):
    """Memory hardware beside the nodes. `hypervisor` null = unknown."""

    hypervisor: str | None
    benches: list[NodeBench]
    cxl_devices: list[CxlDevice]
    unmovable: list[Unmovable]


class CollectorInfo(Model):
    """A collector of the agent: what it sees, costs and needs; on, or off with the reason and what would turn it on."""

    name: str
    active: bool
    reason: str | None
    enable_hint: str | None
    granularity: str | None
    privilege: str | None
    sees: str | None
    cost: str | None
    capabilities: list[str]
    cpu_ratio: Figure
    failures: int | None
    last_error: str | None


class PauseInfo(Model):
    """Whether the service told the agent to pause. `everywhere`: every host's agent."""

    paused: bool
    heat_paused: bool
    everywhere: bool
    since: datetime | None
    actor: str | None


class AgentInfo(Model):
    """The agent as it last reported on itself."""

    reported_at: datetime | None
    rss_bytes: Figure
    cpu_ratio: Figure
    budget_state: str | None = Field(description="within | backed_off | stopped; null where it does not say.")
    budget_reason: str | None
    heat_rung: str | None = Field(description="The heat back end in use; null = none, or it does not say.")
    guard_paused_intervals: Figure
    samples_taken: Figure
    samples_lost: Figure
    throttles: Figure
    spool_bytes: Figure
    dropped_batches: Figure
    pause: PauseInfo
