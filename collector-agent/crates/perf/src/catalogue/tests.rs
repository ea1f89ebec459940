use super::*;
use crate::pmu::tests::write_pmu;

fn host(cpuinfo: &str, units: &[(&str, &[(&str, &str)])]) -> (tempfile::TempDir, Root) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(directory.path().join("proc")).unwrap();
    std::fs::write(directory.path().join("proc/cpuinfo"), cpuinfo).unwrap();
    for (name, files) in units {
        write_pmu(directory.path(), name, files);
    }
    let root = Root::new(directory.path());
    (directory, root)
}

fn intel(model: u32) -> String {
    format!(
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: {model}\nmodel name\t: x\n\n"
    )
}

const CPU: (&str, &[(&str, &str)]) = ("cpu", &[("type", "4")]);

fn codes(set: &EventSet) -> Vec<(&str, u32, u64)> {
    let events = set.events.iter();
    events
        .map(|event| (event.name.as_str(), event.pmu_type, event.config[0]))
        .collect()
}

#[test]
fn each_generation_of_intel_has_its_names_and_codes() {
    let loads = |model: u32| {
        let (_directory, root) = host(&intel(model), &[CPU]);
        let set = EventSet::for_host(&root).unwrap();
        assert_eq!(set.kind, SamplerKind::Pebs);
        assert!(
            set.events
                .iter()
                .all(|event| event.precise_ip == 2 && event.period == 200)
        );
        assert_eq!((set.events.len(), set.events[1].config[0]), (2, 0x12d0));
        assert_eq!(
            set.served_by(),
            None,
            "this kernel describes no event that says it"
        );
        (set.events[0].name.clone(), set.events[0].config[0])
    };
    // Broadwell, Skylake and Cascade Lake, Ice Lake, Sapphire Rapids, Emerald Rapids, Granite Rapids, Sierra Forest.
    assert_eq!(loads(0x4f), ("MEM_LOAD_UOPS_RETIRED.L3_MISS".into(), 0x20d1));
    for model in [0x55, 0x6a, 0x8f, 0xcf, 0xad] {
        assert_eq!(loads(model), ("MEM_LOAD_RETIRED.L3_MISS".into(), 0x20d1));
    }
    assert_eq!(loads(0xaf), ("MEM_UOPS_RETIRED.STLB_MISS_LOADS".into(), 0x11d0));
}

#[test]
fn both_kinds_of_core_of_a_hybrid_processor_have_their_own_unit() {
    let core: (&str, &[(&str, &str)]) = ("cpu_core", &[("type", "4"), ("cpus", "0-11")]);
    let atom: (&str, &[(&str, &str)]) = ("cpu_atom", &[("type", "10"), ("cpus", "12-15")]);
    let (_directory, root) = host(&intel(0x97), &[core, atom]);
    let set = EventSet::for_host(&root).unwrap();
    assert_eq!(
        codes(&set),
        [
            ("MEM_LOAD_RETIRED.L3_MISS", 4, 0x20d1),
            ("MEM_INST_RETIRED.STLB_MISS_STORES", 4, 0x12d0),
            ("MEM_UOPS_RETIRED.STLB_MISS_LOADS", 10, 0x11d0),
            ("MEM_UOPS_RETIRED.STLB_MISS_STORES", 10, 0x12d0),
        ]
    );
    assert_eq!(set.events[3].cpus.as_deref(), Some(&[12, 13, 14, 15][..]));
}

#[test]
fn what_served_loads_is_told_by_the_event_that_the_kernel_describes() {
    let sapphire_rapids: (&str, &[(&str, &str)]) = (
        "cpu",
        &[
            ("type", "4"),
            ("format/event", "config:0-7"),
            ("format/umask", "config:8-15"),
            ("format/ldlat", "config1:0-15"),
            ("events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"),
            ("events/mem-loads-aux", "event=0x03,umask=0x82"),
        ],
    );
    let (_directory, root) = host(&intel(0x8f), &[sapphire_rapids]);
    let set = EventSet::for_host(&root).unwrap();
    let served = set.served_by().unwrap();
    assert_eq!(served.config, [0x1cd, 128, 0, 0], "the latency is replaced");
    assert_eq!(served.leader, Some([0x8203, 0, 0, 0]));
    assert_eq!(
        (served.meaning, served.precise_ip, served.exclude_kernel),
        (Meaning::Served, 2, true)
    );
    let files = &sapphire_rapids.1[..5];
    let (_directory, root) = host(&intel(0x6a), &[("cpu", files)]);
    let set = EventSet::for_host(&root).unwrap();
    assert_eq!(set.served_by().unwrap().leader, None);
    // Without the term the latency cannot be set, and samples would have no source.
    let (_directory, root) = host(
        &intel(0x6a),
        &[("cpu", &[files[0], files[1], files[2], files[4]])],
    );
    assert_eq!(EventSet::for_host(&root).unwrap().served_by(), None);
}

#[test]
fn ibs_counts_ops_and_drops_hits_where_the_processor_can() {
    let amd = "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n";
    let zen4: (&str, &[(&str, &str)]) = (
        "ibs_op",
        &[
            ("type", "11"),
            ("format/cnt_ctl", "config:19"),
            ("format/l3missonly", "config:16"),
        ],
    );
    let (_directory, root) = host(amd, &[zen4]);
    let set = EventSet::for_host(&root).unwrap();
    assert_eq!(codes(&set), [("ibs_op/cnt_ctl,l3missonly/", 11, 0x9_0000)]);
    assert_eq!(set.served_by(), Some(&set.events[0]));
    let zen2: (&str, &[(&str, &str)]) = ("ibs_op", &[("type", "9"), ("format/cnt_ctl", "config:19")]);
    let (_directory, root) = host(amd, &[zen2]);
    let set = EventSet::for_host(&root).unwrap().with_period(1000);
    assert_eq!(codes(&set), [("ibs_op/cnt_ctl/", 9, 0x8_0000)]);
    assert_eq!(set.events[0].period, 1008, "a multiple of 16");
}

#[test]
fn spe_is_described_by_its_unit() {
    let files: &[(&str, &str)] = &[
        ("type", "12"),
        ("cpumask", "0-3"),
        ("format/ts_enable", "config:0"),
        ("format/pa_enable", "config:1"),
        ("format/jitter", "config:16"),
        ("format/load_filter", "config:33"),
        ("format/store_filter", "config:34"),
    ];
    let (_directory, root) = host("CPU implementer\t: 0x41\n", &[("arm_spe_0", files)]);
    let set = EventSet::for_host(&root).unwrap();
    assert_eq!(set.kind, SamplerKind::Spe);
    assert_eq!(set.events[0].config, [0x6_0001_0001, 0, 0, 0]);
    assert_eq!(set.events[0].cpus.as_deref(), Some(&[0, 1, 2, 3][..]));
}

#[test]
fn a_host_without_a_unit_or_with_an_unknown_processor_says_so() {
    let (_directory, root) = host(&intel(0x8f), &[]);
    assert_eq!(
        EventSet::for_host(&root),
        Err(PerfError::NoPmu {
            event: "MEM_LOAD_RETIRED.L3_MISS".into()
        })
    );
    let (_directory, root) = host(&intel(0xfe), &[CPU]);
    let message = EventSet::for_host(&root).unwrap_err().to_string();
    assert!(
        message.contains("GenuineIntel, family 6, model 0xfe"),
        "{message}"
    );
    let (_directory, root) = host("", &[]);
    assert!(EventSet::for_host(&root).is_err());
}

#[test]
fn periods_are_rounded_to_what_the_event_allows() {
    assert_eq!(round_period(200, 1), 200);
    assert_eq!(round_period(7, 16), 16);
    assert_eq!(round_period(24, 16), 32);
    assert_eq!(round_period(0, 1), 1);
}

#[test]
fn each_maker_of_processors_has_its_sampler() {
    let of = |vendor: &str| {
        let processor = Processor {
            vendor: vendor.to_owned(),
            ..Processor::default()
        };
        processor.sampler()
    };
    assert_eq!(of("GenuineIntel"), Some(SamplerKind::Pebs));
    assert_eq!(of("HygonGenuine"), Some(SamplerKind::Ibs));
    assert_eq!(of(""), Some(SamplerKind::Spe));
    assert_eq!(of("CentaurHauls"), None);
}
