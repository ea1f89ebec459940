use super::*;
use crate::attr::SampleShape;
use crate::record::{build, kind};

const LOADS: u64 = 500;
const STORES: u64 = 501;
const IBS: u64 = 502;
const SLOW: u64 = 503;

fn tally(max_pages: usize) -> Tally {
    let mut tally = Tally::new(SHAPE.layout(), 4, SampleTable::new(max_pages));
    tally.add_source(LOADS, 0, Meaning::Load);
    tally.add_source(STORES, 1, Meaning::Store);
    tally.add_source(IBS, 2, Meaning::IbsOp);
    tally.add_source(SLOW, 3, Meaning::Served);
    tally
}

const SHAPE: SampleShape = SampleShape {
    page_size: true,
    raw: true,
};

fn sample(id: u64, pid: u32, address: u64, raw: &[u8]) -> Vec<u8> {
    let sample = Sample {
        id: Some(id),
        pid: Some(pid),
        address: Some(address),
        page_size_bytes: Some(4096),
        raw: Some(raw),
        ..Sample::default()
    };
    build::sample(&SHAPE.layout(), &sample)
}

/// (address, loads, stores) of a process.
fn pages(tally: &Tally, pid: u32) -> Vec<(u64, u32, u32)> {
    let pages = tally.table.pages_of(pid).into_iter();
    pages
        .map(|(address, count)| (address, count.loads, count.stores))
        .collect()
}

#[test]
fn the_event_says_whether_a_sample_is_a_load_or_a_store() {
    let mut tally = tally(10);
    let bytes = [
        sample(LOADS, 7, 0x5123, &[]),
        sample(STORES, 7, 0x5456, &[]),
        sample(STORES, 7, 0x9000, &[]),
    ];
    tally.records(&bytes.concat());
    assert_eq!(pages(&tally, 7), [(0x5000, 1, 1), (0x9000, 0, 1)]);
    assert_eq!(
        (tally.stats.samples_taken, &tally.samples[..]),
        (3, &[1, 2, 0, 0][..])
    );
}

#[test]
fn the_registers_of_ibs_say_it_where_the_event_does_not() {
    let registers = |data3: u64, linear: u64| {
        let mut raw = 0_u32.to_ne_bytes().to_vec();
        raw.extend(build::words(&[0, 0, 0, 0, data3, linear, 0]));
        raw
    };
    let mut tally = tally(10);
    let bytes = [
        sample(IBS, 7, 0, &registers(1 | 1 << 17, 0x5000)),
        sample(IBS, 7, 0, &registers(2 | 1 << 17, 0x5008)),
        // Neither a load nor a store, and one whose address is not valid.
        sample(IBS, 7, 0, &registers(0, 0x5000)),
        sample(IBS, 7, 0, &registers(1, 0x5000)),
    ];
    tally.records(&bytes.concat());
    assert_eq!(pages(&tally, 7), [(0x5000, 1, 1)]);
    assert_eq!(tally.stats.samples_without_address, 2);
}

fn served(id: u64, pid: u32, data_src: u64, raw: &[u8]) -> Vec<u8> {
    let sample = Sample {
        id: Some(id),
        pid: Some(pid),
        address: Some(0x5000),
        data_src: Some(data_src),
        raw: Some(raw),
        ..Sample::default()
    };
    build::sample(&SHAPE.layout(), &sample)
}

/// `perf_mem_data_src` of loads: local DRAM, remote DRAM and CXL, as the kernel's tables write them.
const LOCAL_DRAM: u64 = 0x1a_0800_1042;
const REMOTE_DRAM: u64 = 0x3a_0800_2042;
const CXL: u64 = 0x12_0000_0042;
/// `PERF_MEM_NA`.
const NOT_AVAILABLE: u64 = 0x1e_0508_0021;

#[test]
fn loads_are_counted_by_what_served_them_and_their_pages_are_not() {
    let mut tally = tally(10);
    tally.follow(Some(&[7]));
    let bytes =
        [LOCAL_DRAM, LOCAL_DRAM, REMOTE_DRAM, CXL, NOT_AVAILABLE].map(|source| served(SLOW, 7, source, &[]));
    tally.records(&bytes.concat());
    tally.records(&served(SLOW, 8, CXL, &[]));
    // What missed the last cache is another population: its sources are not mixed in.
    tally.records(&served(LOADS, 7, REMOTE_DRAM, &[]));
    let loads = tally.table.served_of(7);
    let of = [
        Served::DramLocal,
        Served::DramRemote,
        Served::Cxl,
        Served::Unknown,
    ]
    .map(|of| loads.of(of));
    assert_eq!((of, loads.total()), ([2, 1, 1, 1], 5));
    assert_eq!(
        (tally.table.served_of(8).total(), tally.stats.samples_unfollowed),
        (0, 1)
    );
    assert_eq!(tally.samples, [1, 0, 0, 5]);
    assert_eq!(pages(&tally, 7), [(0x5000, 1, 0)]);
}

#[test]
fn ibs_tells_by_the_kernel_or_by_its_registers() {
    let registers = |data2: u64, data3: u64, linear: u64| {
        let mut raw = (1_u32 << 11).to_ne_bytes().to_vec();
        raw.extend(build::words(&[0, 0, 0, data2, data3, linear, 0]));
        raw
    };
    let load = 1 | 1 << 7 | 1 << 17;
    let mut tally = tally(10);
    let bytes = [
        served(IBS, 7, CXL, &registers(0, load, 0x5000)),
        // Before 6.1 the kernel says nothing: DRAM of another node.
        served(IBS, 7, NOT_AVAILABLE, &registers(3 | 1 << 4, load, 0x5000)),
        // A store, and a load of the kernel.
        served(IBS, 7, CXL, &registers(0, 2 | 1 << 17, 0x5000)),
        served(IBS, 7, CXL, &registers(0, load, 1 << 63)),
    ];
    tally.records(&bytes.concat());
    let loads = tally.table.served_of(7);
    assert_eq!(
        (loads.of(Served::Cxl), loads.of(Served::DramRemote), loads.total()),
        (1, 1, 2)
    );
}

#[test]
fn packets_of_spe_are_counted_by_their_context() {
    let mut tally = tally(10);
    tally.follow(Some(&[7]));
    let operation = |context: u8, store: u8, address: u64| {
        let mut bytes = vec![0x64, context, 0, 0, 0, 0x49, store, 0xb2];
        bytes.extend(address.to_le_bytes());
        bytes.push(1);
        bytes
    };
    let bytes = [
        operation(7, 0, 0x5000),
        operation(7, 1, 0x5040),
        operation(8, 0, 0x5000),
        vec![0x49, 0, 1],
    ];
    tally.packets(&bytes.concat(), 0);
    assert_eq!(pages(&tally, 7), [(0x5000, 1, 1)]);
    assert_eq!(
        (
            tally.stats.samples_unfollowed,
            tally.stats.samples_without_address
        ),
        (1, 1)
    );
}

#[test]
fn what_cannot_be_used_is_counted_by_its_reason() {
    let mut tally = tally(1);
    tally.follow(Some(&[7]));
    let bytes = [
        sample(LOADS, 7, 0x5000, &[]),
        sample(LOADS, 8, 0x5000, &[]),
        sample(LOADS, 7, 0, &[]),
        sample(LOADS, 7, 0xffff_8000_0000_0000, &[]),
        sample(LOADS, 7, 0x6000, &[]),
        sample(999, 7, 0x5000, &[]),
        build::record(kind::LOST, 0, &build::words(&[1, 40])),
        build::record(kind::LOST_SAMPLES, 0, &build::words(&[2])),
        build::record(kind::SAMPLE, 0, &[1, 2, 3]),
        build::record(99, 0, &[]),
    ];
    tally.records(&bytes.concat());
    let stats = &tally.stats;
    assert_eq!(stats.samples_taken, 6);
    assert_eq!(
        (
            stats.samples_unfollowed,
            stats.samples_without_address,
            stats.samples_untabled
        ),
        (1, 2, 1)
    );
    assert_eq!((stats.samples_lost, stats.malformed_records), (42, 2));
    assert_eq!(tally.samples, [1, 0, 0, 0]);
}

#[test]
fn children_are_followed_and_a_number_used_again_forgets_the_old_process() {
    let mut tally = tally(10);
    tally.follow(Some(&[7]));
    tally.records(&[build::fork(9, 7), build::fork(10, 9), build::fork(11, 6)].concat());
    let samples = [9, 10, 11].map(|pid| sample(LOADS, pid, 0x5000, &[]));
    tally.records(&samples.concat());
    assert_eq!(pages(&tally, 9).len() + pages(&tally, 10).len(), 2);
    assert_eq!(tally.stats.samples_unfollowed, 1);
    // A new thread of 9 changes nothing; a new process with that number is another one.
    tally.records(&build::fork(9, 9));
    assert_eq!(pages(&tally, 9).len(), 1);
    tally.records(&build::fork(9, 7));
    assert!(pages(&tally, 9).is_empty());
}

#[test]
fn a_new_program_hides_the_old_pages_and_a_mapping_that_grows_does_not() {
    let mut tally = tally(10);
    tally.records(&[sample(LOADS, 7, 0x5000, &[]), sample(LOADS, 7, 0x9000, &[])].concat());
    // The kernel reports the whole of a mapping that was joined with its new neighbour.
    tally.records(&build::mmap2(7, 0x5000, 0x8000, "//anon", 2 << 40));
    tally.records(&build::comm(7, false, "renamed"));
    assert_eq!(pages(&tally, 7).len(), 2);
    tally.records(&build::comm(7, true, "other"));
    assert!(pages(&tally, 7).is_empty());
}

#[test]
fn the_time_that_an_event_was_stopped_is_summed() {
    let mut tally = tally(10);
    let throttle = |kind, time_ns, id| build::record(kind, 0, &build::words(&[time_ns, id, id]));
    let bytes = [
        throttle(kind::THROTTLE, 100, STORES),
        throttle(kind::UNTHROTTLE, 350, STORES),
        throttle(kind::UNTHROTTLE, 400, LOADS),
        throttle(kind::THROTTLE, 500, LOADS),
    ];
    tally.records(&bytes.concat());
    assert_eq!((tally.stats.throttles, tally.stats.throttled_ns), (2, 250));
    assert_eq!(tally.throttled_ns, [0, 250, 0, 0]);
}

#[test]
fn samples_of_an_unknown_id_are_those_of_the_only_event() {
    let layout = tally(10).layout;
    let mut single = Tally::new(layout, 1, SampleTable::new(10));
    single.add_source(LOADS, 0, Meaning::Fault);
    single.records(&sample(12_345, 7, 0x5000, &[]));
    assert_eq!((pages(&single, 7).len(), single.stats.malformed_records), (1, 0));
}
