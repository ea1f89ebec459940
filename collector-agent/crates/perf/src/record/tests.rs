#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use proptest::prelude::*;

use super::*;

const ALL_FIELDS: u64 = (1 << 25) - 1;

/// A sample whose fields all differ, as far as a layout keeps them.
fn full_sample(layout: &Layout) -> Sample<'static> {
    let has = |bit: u64| layout.sample_type & bit != 0;
    let keep = |bit: u64, value: u64| has(bit).then_some(value);
    Sample {
        id: keep(sample_type::IDENTIFIER | sample_type::ID, 11),
        ip: keep(sample_type::IP, 0x40_1000),
        pid: keep(sample_type::TID, 100).map(|pid| pid as u32),
        tid: keep(sample_type::TID, 101).map(|tid| tid as u32),
        time_ns: keep(sample_type::TIME, 12),
        address: keep(sample_type::ADDR, 0x7fff_1234_5678),
        cpu: keep(sample_type::CPU, 7).map(|cpu| cpu as u32),
        period: keep(sample_type::PERIOD, 200),
        // 4 bytes of length and 12 of payload: two words.
        raw: has(sample_type::RAW).then_some(b"twelve bytes"),
        weight: keep(sample_type::WEIGHT | sample_type::WEIGHT_STRUCT, 321),
        data_src: keep(sample_type::DATA_SRC, 0x6810_0142),
        physical_address: keep(sample_type::PHYS_ADDR, 0x1_2345_6000),
        page_size_bytes: keep(sample_type::DATA_PAGE_SIZE, 4096),
    }
}

fn parse_one<'a>(bytes: &'a [u8], layout: &Layout) -> Result<Record<'a>, RecordError> {
    let mut records = Records::new(bytes);
    let record = parse(&records.next().unwrap()?, layout);
    assert_eq!(records.next(), None);
    record
}

fn layouts() -> impl Strategy<Value = Layout> {
    let parts = (
        0..=ALL_FIELDS,
        0..32_u64,
        any::<u64>(),
        any::<u64>(),
        any::<u64>(),
        any::<bool>(),
    );
    parts.prop_map(
        |(sample_type, read_format, branches, user, interrupt, trailer)| Layout {
            sample_type,
            read_format,
            branch_sample_type: branches,
            user_registers: user,
            interrupt_registers: interrupt,
            trailer,
        },
    )
}

proptest! {
    #[test]
    fn every_layout_is_read_back(layout in layouts()) {
        let sample = full_sample(&layout);
        let bytes = build::sample(&layout, &sample);
        prop_assert_eq!(parse_one(&bytes, &layout), Ok(Record::Sample(sample)));
    }

    #[test]
    fn a_cut_sample_is_an_error_or_lacks_only_its_end(layout in layouts(), cut in 1_usize..400) {
        let bytes = build::sample(&layout, &full_sample(&layout));
        let body = bytes.len() - 8;
        let short = build::record(kind::SAMPLE, 2, &bytes[8..8 + body.saturating_sub(cut)]);
        let _parsed = parse_one(&short, &layout);
    }

    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        crate::parse_any(&bytes);
    }

    #[test]
    fn any_body_of_any_record_is_taken(
        kind in 0_u32..20,
        misc in any::<u16>(),
        body in prop::collection::vec(any::<u8>(), 0..200),
        layout in layouts(),
    ) {
        let bytes = build::record(kind, misc, &body);
        let _parsed = parse_one(&bytes, &layout);
    }
}

const SAMPLER: Layout = Layout {
    sample_type: sample_type::IDENTIFIER | sample_type::TID | sample_type::TIME | sample_type::ADDR,
    read_format: 0,
    branch_sample_type: 0,
    user_registers: 0,
    interrupt_registers: 0,
    trailer: true,
};

#[test]
fn each_field_alone_and_all_together_are_read_back() {
    for sample_type in (0..25).map(|bit| 1 << bit).chain([0, ALL_FIELDS]) {
        for read_format in 0..32 {
            let layout = Layout {
                sample_type,
                read_format,
                branch_sample_type: read_format << 15,
                user_registers: 0b1011,
                interrupt_registers: 0b1,
                trailer: false,
            };
            let sample = full_sample(&layout);
            let bytes = build::sample(&layout, &sample);
            assert_eq!(
                parse_one(&bytes, &layout),
                Ok(Record::Sample(sample)),
                "{layout:?}"
            );
        }
    }
}

#[test]
fn the_sample_of_a_pebs_event_in_bytes() {
    // Identifier 9, process 0x1234, thread 0x1235, time 0x55, address 0x7f00_dead_b000.
    let mut bytes = vec![9, 0, 0, 0, 2, 0, 0x28, 0];
    bytes.extend([9, 0, 0, 0, 0, 0, 0, 0, 0x34, 0x12, 0, 0, 0x35, 0x12, 0, 0]);
    bytes.extend([0x55, 0, 0, 0, 0, 0, 0, 0, 0, 0xb0, 0xad, 0xde, 0, 0x7f, 0, 0]);
    let sample = Sample {
        id: Some(9),
        pid: Some(0x1234),
        tid: Some(0x1235),
        time_ns: Some(0x55),
        address: Some(0x7f00_dead_b000),
        ..Sample::default()
    };
    assert_eq!(parse_one(&bytes, &SAMPLER), Ok(Record::Sample(sample)));
}

#[test]
fn what_happened_to_processes_is_read() {
    let bytes = build::mmap2(7, 0x1000, 0x2000, "/usr/lib/libz.so", 33);
    let Ok(Record::Mmap {
        pid,
        start,
        size_bytes,
        offset_bytes,
        file,
        name,
        trailer,
    }) = parse_one(&bytes, &SAMPLER)
    else {
        panic!("no mapping");
    };
    assert_eq!(
        (pid, start, size_bytes, offset_bytes),
        (7, 0x1000, 0x2000, 0x3000)
    );
    assert_eq!(
        (file, name),
        (Some((0xfe << 32 | 3, 4711)), &b"/usr/lib/libz.so"[..])
    );
    assert_eq!((trailer.time_ns, trailer.id), (Some(33), Some(77)));
    let bytes = build::comm(8, true, "server");
    assert!(matches!(
        parse_one(&bytes, &SAMPLER),
        Ok(Record::Comm {
            pid: 8,
            exec: true,
            name: b"server",
            ..
        })
    ));
    let fork = Record::Fork {
        pid: 12,
        parent_pid: 8,
        time_ns: 5,
    };
    assert_eq!(parse_one(&build::fork(12, 8), &SAMPLER), Ok(fork));
    let exit = [12_u32, 8, 12, 8, 5, 0].map(u32::to_ne_bytes).concat();
    let exit = build::record(kind::EXIT, 0, &exit);
    assert_eq!(parse_one(&exit, &SAMPLER), Ok(Record::Exit { pid: 12, tid: 12 }));
}

#[test]
fn losses_throttling_and_auxiliary_stretches_are_read() {
    let of = |kind, words: &[u64]| build::record(kind, 0, &build::words(words));
    let parsed = |bytes: Vec<u8>| format!("{:?}", parse_one(&bytes, &SAMPLER).unwrap());
    assert_eq!(parsed(of(kind::LOST, &[5, 88])), "Lost { records: 88 }");
    assert_eq!(parsed(of(kind::LOST_SAMPLES, &[9])), "LostSamples { samples: 9 }");
    assert_eq!(
        parsed(of(kind::THROTTLE, &[100, 5, 6])),
        "Throttle { stopped: true, time_ns: 100, id: 5 }"
    );
    assert_eq!(
        parsed(of(kind::UNTHROTTLE, &[100, 5, 6])),
        "Throttle { stopped: false, time_ns: 100, id: 5 }"
    );
    assert_eq!(
        parsed(of(kind::AUX, &[4096, 512, 1])),
        "Aux { offset: 4096, size_bytes: 512, flags: 1 }"
    );
    assert_eq!(
        parsed(of(kind::ITRACE_START, &[7 << 32 | 6])),
        "TraceStart { pid: 6, tid: 7 }"
    );
    assert_eq!(parsed(of(99, &[])), "Other");
}

#[test]
fn sizes_that_cannot_be_end_the_reading() {
    let whole = build::record(kind::LOST_SAMPLES, 0, &build::words(&[1]));
    let mut bytes = whole.clone();
    bytes.extend([3, 0, 0, 0, 0, 0, 7, 0]);
    bytes.extend(&whole);
    let read: Vec<bool> = Records::new(&bytes).map(|record| record.is_ok()).collect();
    assert_eq!(read, [true, false], "7 bytes are less than a header");
    let longer = Records::new(&whole[..12]).next().unwrap();
    assert_eq!(
        longer,
        Err(RecordError::Size {
            size_bytes: 16,
            available_bytes: 12
        })
    );
    assert!(Records::new(&whole[..3]).next().unwrap().is_err());
}

#[test]
fn the_mode_of_the_processor_is_told() {
    let raw = |misc| RawRecord {
        kind: 9,
        misc,
        body: &[],
    };
    assert!(raw(1 | 1 << 14).in_kernel());
    assert!(!raw(2).in_kernel());
}
