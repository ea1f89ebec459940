//! The contents of the golden examples: small, and with every optional part both there and missing.

use std::sync::Arc;

use tierscope_sample::heat::{Backend, Beside, GAP_BINS, GapRow, Granularity, HeatRow, PageKind, Samples};
use tierscope_sample::inventory::{
    BenchFigure, BenchSkip, Collector, CxlDevice, Finding, Inventory, Knob, LoadedPoint, Node, NodeBench,
    NodePart, Pod, PodList, Service, SwapDevice, Tier, Unmovable,
};
use tierscope_sample::page_sample::{PageSample, SampleRow, SampledPage};
use tierscope_sample::tiles::{TileColumn, TileEpoch, TileRow};
use tierscope_wire::{CollectorCost, Content, CounterRow, Header, Layout, Origin, SelfReport};

const MINUTE_NS: i64 = 60_000_000_000;
const START_WALL_NS: i64 = 1_795_221_480_000_000_000;
const START_BOOTTIME_NS: i64 = 3_600_000_000_000;
const MIB: i64 = 1 << 20;

pub(crate) fn all() -> Vec<(&'static str, Header, Content)> {
    vec![
        ("counters", header(0, Origin::Live), counters()),
        ("heat", header(1, Origin::Import), heat()),
        ("inventory", header(2, Origin::Live), inventory()),
        ("tiles", header(3, Origin::Simulated), tiles()),
        ("self_report", header(4, Origin::Live), self_report()),
        ("page_samples", header(6, Origin::Import), page_samples()),
        (
            "layout_only",
            header(5, Origin::Live),
            Content {
                layouts: vec![first_layout()],
                ..Content::default()
            },
        ),
    ]
}

fn header(seq: u64, origin: Origin) -> Header {
    Header {
        host_id: "h-7f3k2m9q".to_owned(),
        stream_id: *b"0123456789abcdef",
        seq,
        boot_id: "6f0e9a52-3c1d-4b8e-9f27-1a2b3c4d5e6f".to_owned(),
        agent_version: "0.1.0".to_owned(),
        origin,
        sealed_wall_ns: START_WALL_NS + 3 * MINUTE_NS + 250_000_000,
        sealed_boottime_ns: (origin == Origin::Live)
            .then_some(START_BOOTTIME_NS + 3 * MINUTE_NS + 250_000_000),
    }
}

fn layout(keys: &[&str]) -> Arc<Layout> {
    Arc::new(Layout::new(keys.iter().map(|key| Box::from(*key)).collect()))
}

fn first_layout() -> Arc<Layout> {
    layout(&[
        "cgroup:/load|memory.stat|anon",
        "host|pressure.memory|some_total_us",
        "host|vmstat|pgdemote_kswapd",
        "host|vmstat|pgpromote_success",
        "node:1|meminfo|MemFree",
        "zone:0/DMA32|zoneinfo|low",
    ])
}

fn counters() -> Content {
    let first = first_layout();
    let second = layout(&["host|vmstat|a_new_counter", "host|vmstat|pgpromote_success"]);
    let row = |minute: i64, layout: &Arc<Layout>, boot: &str, values: &[Option<i64>]| CounterRow {
        layout: Arc::clone(layout),
        end_wall_ns: START_WALL_NS + minute * MINUTE_NS,
        end_boottime_ns: Some(START_BOOTTIME_NS + minute * MINUTE_NS),
        boot_id: Arc::from(boot),
        values: values.to_vec(),
    };
    let boot = "6f0e9a52-3c1d-4b8e-9f27-1a2b3c4d5e6f";
    let wrapped = Some(i64::MIN + 5);
    let mut no_boottime = row(4, &second, "", &[None, Some(7)]);
    no_boottime.end_boottime_ns = None;
    Content {
        counters: vec![
            row(
                1,
                &first,
                boot,
                &[
                    Some(402_653_184),
                    Some(12_000),
                    Some(283_433),
                    Some(258_633),
                    Some(MIB),
                    None,
                ],
            ),
            row(
                2,
                &first,
                boot,
                &[
                    Some(402_649_088),
                    Some(12_900),
                    Some(283_450),
                    None,
                    Some(0),
                    Some(512),
                ],
            ),
            row(
                3,
                &first,
                "another-boot",
                &[None, Some(1), Some(i64::MAX), wrapped, Some(-1), Some(512)],
            ),
            no_boottime,
        ],
        ..Content::default()
    }
}

/// A row whose columns all differ, so that a reader that mixes up two of them fails.
fn heat_row(kind: PageKind, seed: i64) -> HeatRow {
    HeatRow {
        backend: Backend::Trace,
        granularity: Granularity::Page,
        interval_ns: MINUTE_NS,
        end_wall_ns: START_WALL_NS + MINUTE_NS,
        end_boottime_ns: None,
        service: Arc::from("demo/cache"),
        group: Arc::from("redis-server"),
        kind,
        page_size_bytes: 4096,
        tier: None,
        validity: 0x8000_0000_0000_0001,
        resident_bytes: seed * MIB,
        age_bytes: std::array::from_fn(|i| (seed + i as i64) * 4096),
        never_bytes: std::array::from_fn(|i| seed * 10 + i as i64),
        active_count_bytes: std::array::from_fn(|i| seed * 100 + i as i64),
        active_lo_bytes: std::array::from_fn(|i| seed * 1000 + i as i64),
        active_hi_bytes: std::array::from_fn(|i| seed * 1000 + i as i64),
        samples: Some(Samples {
            loads: seed as u64,
            stores: 0,
        }),
        period_events: Some(1.0),
        duty_ratio: Some(1.0),
        distinct_pages: Some(std::array::from_fn(|i| seed + i as i64)),
        f1_pages: Some(std::array::from_fn(|i| seed * 2 + i as i64)),
        f2_pages: Some(std::array::from_fn(|i| seed * 3 + i as i64)),
        hot_overlap_bytes: Some(std::array::from_fn(|i| (i as i64 + seed, i as i64 + 2 * seed))),
        bits_per_interval: 4,
        beside: Beside {
            sampled_pages: Some(seed * 7),
            written_bytes: Some(std::array::from_fn(|i| seed * 500 + i as i64)),
            subpage_active_bytes: Some(seed * 4096),
            dirty_bytes: Some(seed * 8192),
        },
    }
}

fn heat() -> Content {
    let by_mapping = HeatRow {
        backend: Backend::Referenced,
        granularity: Granularity::Vma,
        end_boottime_ns: Some(START_BOOTTIME_NS + MINUTE_NS),
        tier: Some(Arc::from("cxl")),
        page_size_bytes: 2 << 20,
        active_hi_bytes: [9 * MIB; 4],
        samples: None,
        period_events: None,
        duty_ratio: None,
        distinct_pages: None,
        f1_pages: None,
        f2_pages: None,
        hot_overlap_bytes: None,
        bits_per_interval: 1,
        beside: Beside::default(),
        ..heat_row(PageKind::File, 3)
    };
    let gap = |kind, seed: i64| GapRow {
        backend: Backend::Trace,
        granularity: Granularity::Page,
        interval_ns: MINUTE_NS,
        end_wall_ns: START_WALL_NS + 10 * MINUTE_NS,
        intervals: 10,
        service: Arc::from("demo/cache"),
        group: Arc::from("redis-server"),
        kind,
        closed_bytes: std::array::from_fn::<_, GAP_BINS, _>(|i| seed * 4096 * i as i64),
        freed_bytes: std::array::from_fn::<_, GAP_BINS, _>(|i| seed + i as i64),
        open_bytes: std::array::from_fn::<_, GAP_BINS, _>(|i| seed * 2 + i as i64),
        censored_bytes: std::array::from_fn::<_, GAP_BINS, _>(|i| seed * 3 + i as i64),
    };
    Content {
        heat: vec![
            heat_row(PageKind::Anon, 1),
            by_mapping,
            heat_row(PageKind::Tmpfs, 2),
        ],
        gaps: vec![gap(PageKind::Anon, 1), gap(PageKind::File, 2)],
        ..Content::default()
    }
}

fn nodes() -> Vec<Node> {
    vec![
        Node {
            id: 0,
            memory_bytes: Some(768 * MIB),
            cpulist: "0-1".to_owned(),
            tier_class: "dram".to_owned(),
            tier_evidence: "memory tier with CPUs".to_owned(),
            distances: vec![10, 20],
            read_latency_ns: Some(80),
            write_latency_ns: Some(0),
            read_bandwidth_mib_per_s: None,
            write_bandwidth_mib_per_s: None,
            tier_certainty: "certain".to_owned(),
            parts: vec![NodePart {
                tier_class: "pmem".to_owned(),
                bytes: 256 * MIB,
                evidence: "dax0.0 on an NVDIMM bus feeds the node".to_owned(),
            }],
        },
        Node {
            id: 1,
            tier_class: "cxl".to_owned(),
            tier_evidence: "node of a CXL region".to_owned(),
            distances: vec![20, 10],
            ..Node::default()
        },
    ]
}

fn inventory() -> Content {
    let knob = |path: &str, value: Option<&str>, unavailable: Option<&str>| Knob {
        path: path.to_owned(),
        value: value.map(str::to_owned),
        unavailable: unavailable.map(str::to_owned),
    };
    let inventory = Inventory {
        hostname: "host-01".to_owned(),
        kernel_release: "6.12.95".to_owned(),
        kernel_version: "#1 SMP".to_owned(),
        architecture: "x86_64".to_owned(),
        cpu_model: "QEMU Virtual CPU".to_owned(),
        cpus_online: 2,
        page_size_bytes: 4096,
        huge_page_bytes: Some(2 << 20),
        dialect: "mainline".to_owned(),
        cgroup_version: "v2".to_owned(),
        nodes: nodes(),
        // They stay on the host.
        problems: Vec::new(),
        tiers: vec![
            Tier {
                kernel_number: 4,
                rank: 0,
                nodes: vec![0],
            },
            Tier {
                kernel_number: 22,
                rank: 1,
                nodes: vec![1],
            },
        ],
        knobs: vec![
            knob("/proc/sys/kernel/numa_balancing", Some("2"), None),
            knob(
                "/sys/kernel/mm/numa/demotion_enabled",
                None,
                Some("no such knob on this kernel"),
            ),
            knob("/proc/sys/kernel/core_pattern", Some(""), None),
        ],
        collectors: collectors(),
        services: vec![Service {
            namespace: "host".to_owned(),
            name: "redis".to_owned(),
            rule: "systemd unit".to_owned(),
            processes: 1,
            heat_measured: true,
            heat_reason: String::new(),
        }],
        swaps: vec![SwapDevice {
            name: "zram0".to_owned(),
            kind: "partition".to_owned(),
            size_bytes: 512 * MIB,
            used_bytes: 0,
            priority: -2,
            zoned: "none".to_owned(),
            discard: Some(true),
            rotational: Some(false),
        }],
        findings: vec![Finding {
            id: "tiering-off".to_owned(),
            severity: "warning".to_owned(),
            cause: "demotion is disabled".to_owned(),
            fix: "echo true > /sys/kernel/mm/numa/demotion_enabled".to_owned(),
            confidence: "certain".to_owned(),
        }],
        labels: vec![
            ("rack".to_owned(), "r1".to_owned()),
            ("sku".to_owned(), "=cmd()".to_owned()),
        ],
        kubernetes_labels: vec![("topology.kubernetes.io/zone".to_owned(), "eu-1a".to_owned())],
        labels_complete: true,
        interval_seconds: 60,
        cxl_devices: cxl_devices(),
        rdma_devices: vec!["mlx5_0".to_owned()],
        running_as_uid: 65_534,
        benches: vec![bench()],
        unmovable: vec![Unmovable {
            node: 0,
            hugetlb_bytes: Some(0),
            mlocked_bytes: Some(64 * MIB),
            pinned_pages: None,
        }],
        hypervisor: "kvm-host".to_owned(),
        pods: Some(pods()),
        kubernetes_labels_partial: true,
        tier_order: "kernel".to_owned(),
        tree: "sos 4.12.1".to_owned(),
    };
    Content {
        inventory: Some(inventory),
        ..Content::default()
    }
}

fn pods() -> PodList {
    PodList {
        pods: vec![Pod {
            uid: "3f1c7a52-8d0e-4b7a-9c55-0f2f0a7c1d11".to_owned(),
            namespace: "shop".to_owned(),
            name: "cart-7c9d8b6f5-x2k9z".to_owned(),
            owner_kind: "Deployment".to_owned(),
            owner: "cart".to_owned(),
            owner_source: "api".to_owned(),
            service_namespace: "shop".to_owned(),
            service: "cart".to_owned(),
            labels: vec![("app.kubernetes.io/version".to_owned(), "4.2".to_owned())],
            labels_known: true,
        }],
        left_out: 3,
        unavailable: "the API server does not answer".to_owned(),
    }
}

fn collectors() -> Vec<Collector> {
    vec![Collector {
        name: "referenced".to_owned(),
        active: false,
        reason: "no process is listed".to_owned(),
        enable_hint: "list processes in heat.processes".to_owned(),
        granularity: "vma".to_owned(),
        privilege: "root".to_owned(),
        sees: "bytes touched per mapping".to_owned(),
        cost: "50 ms per GiB and interval".to_owned(),
        capabilities: vec!["CAP_SYS_PTRACE".to_owned()],
    }]
}

fn cxl_devices() -> Vec<CxlDevice> {
    vec![CxlDevice {
        name: "mem0".to_owned(),
        ram_bytes: Some(3072 * MIB),
        numa_node: None,
        serial: "0x1".to_owned(),
        pci_address: "0000:35:00.0".to_owned(),
        firmware_version: "1.2".to_owned(),
        link_decigigatransfers: Some(160),
        link_width: Some(8),
        max_link_decigigatransfers: Some(320),
        max_link_width: Some(8),
        aer_correctable: Some(3),
        aer_nonfatal: Some(0),
        aer_fatal: None,
    }]
}

fn bench() -> NodeBench {
    NodeBench {
        measured_wall_ns: START_WALL_NS,
        cpu_node: 0,
        memory_node: 1,
        figures: vec![BenchFigure {
            name: "idle_latency".to_owned(),
            unit: "ns".to_owned(),
            threads: 1,
            block_bytes: 64,
            pattern: "chase".to_owned(),
            median: 212.5,
            p10: 210.0,
            p90: 219.75,
            repetitions: 9,
            disturbed: false,
        }],
        loaded: vec![LoadedPoint {
            bandwidth_bytes_per_s: 1.5e10,
            latency_ns: 260.0,
            threads: 4,
            write_ratio: 0.25,
            utilisation_ratio: 0.75,
            latency_p10_ns: 251.5,
            latency_p90_ns: 270.0,
            repetitions: 12,
            disturbed: false,
        }],
        method: "1 GiB, 2 MiB pages".to_owned(),
        buffer_bytes: 1 << 30,
        huge_page_bytes: Some(1 << 29),
        skipped: vec![BenchSkip {
            name: "nt_store_latency".to_owned(),
            reason: "not supported by this processor".to_owned(),
        }],
    }
}

fn tiles() -> Content {
    let row = |kind, mapping: &str, offset_bytes| TileRow {
        kind,
        mapping: Arc::from(mapping),
        offset_bytes,
        size_bytes: 2 * MIB,
    };
    let epoch = TileEpoch {
        epoch_id: 0xfedc_ba98_7654_3210,
        service: Arc::from("demo/cache"),
        group: Arc::from("redis-server"),
        backend: Backend::Trace,
        granularity: Granularity::Page,
        interval_ns: MINUTE_NS,
        region_bytes: 2 * MIB,
        cell_log2_base: 1.090_507_732_665_257_7,
        cell_unit: 1e-6,
        cell_measure: "accesses_per_byte",
        rows: vec![
            row(PageKind::Anon, "anon-1", 0),
            row(PageKind::Anon, "anon-1", 2 * MIB),
            row(PageKind::File, "libc.so.6", 0),
        ],
        start_wall_ns: START_WALL_NS,
    };
    let column = |minute: i64, cells: &[u8]| TileColumn {
        epoch_id: epoch.epoch_id,
        end_wall_ns: START_WALL_NS + minute * MINUTE_NS,
        cells: cells.to_vec(),
    };
    let tile_columns = vec![column(1, &[0, 1, 250]), column(2, &[253, 254, 255])];
    Content {
        tile_epochs: vec![epoch],
        tile_columns,
        ..Content::default()
    }
}

fn page_samples() -> Content {
    let page = |id, kind, first_interval| SampledPage {
        id,
        kind,
        page_size_bytes: 4096,
        first_interval,
        last_interval: 2,
    };
    let row = |interval, page, loads, stores| SampleRow {
        interval,
        page,
        loads,
        stores,
    };
    let sample = PageSample {
        backend: Backend::Trace,
        granularity: Granularity::Page,
        interval_ns: MINUTE_NS,
        service: Arc::from("demo/cache"),
        group: Arc::from("redis-server"),
        sampled_ratio: 0.125,
        counts: true,
        period_events: Some(200.0),
        duty_ratio: Some(0.25),
        intervals: (1..=3)
            .map(|minute| (START_WALL_NS + minute * MINUTE_NS, minute != 2))
            .collect(),
        pages: vec![page(u64::MAX - 1, PageKind::Anon, 0), page(7, PageKind::File, 1)],
        rows: vec![row(0, 0, 3, 1), row(2, 0, 0, 2), row(2, 1, 9, 0)],
    };
    Content {
        page_samples: vec![sample],
        ..Content::default()
    }
}

fn self_report() -> Content {
    let report = SelfReport {
        end_wall_ns: START_WALL_NS,
        window_ns: MINUTE_NS,
        cpu_ns: 21_000_000,
        rss_bytes: 4 * MIB,
        spool_bytes: 12_345,
        spool_batches: 2,
        dropped_batches: 0,
        sent_bytes: 99_999,
        counters_dropped: 1,
        services_dropped: 2,
        collectors: vec![CollectorCost {
            name: "vmstat".to_owned(),
            cpu_ns: 900_000,
            runs: 1,
            failures: 0,
            last_error: String::new(),
        }],
        budget_state: "backed_off".to_owned(),
        heat_rung: "referenced".to_owned(),
        budget_reason: "6.1 % of a core, the budget is 5 %".to_owned(),
        guard_paused_intervals: 4,
        samples_taken: 5000,
        samples_lost: 2,
        throttles: 1,
    };
    Content {
        self_report: Some(report),
        ..Content::default()
    }
}
