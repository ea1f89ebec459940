//! Records as the kernel writes them, for tests.

use super::{Layout, Sample, kind, sample_type};

pub(crate) fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = kind.to_ne_bytes().to_vec();
    bytes.extend(misc.to_ne_bytes());
    bytes.extend(u16::try_from(body.len() + 8).expect("a short body").to_ne_bytes());
    bytes.extend(body);
    bytes
}

pub(crate) fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn pair(low: u32, high: u32) -> Vec<u8> {
    [low.to_ne_bytes(), high.to_ne_bytes()].concat()
}

/// A name padded to words, as in COMM and MMAP2.
fn name(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((bytes.len() / 8 + 1) * 8, 0);
    bytes
}

/// The end of a record that is no sample, for the default layout of the sampler: thread, time, identifier.
fn trailer(pid: u32, time_ns: u64) -> Vec<u8> {
    [pair(pid, pid), words(&[time_ns, 77])].concat()
}

pub(crate) fn mmap2(pid: u32, start: u64, size_bytes: u64, text: &str, time_ns: u64) -> Vec<u8> {
    let file = [pair(0xfe, 3), words(&[4711, 0])].concat();
    let body = [
        pair(pid, pid),
        words(&[start, size_bytes, 0x3000]),
        file,
        pair(3, 1),
        name(text),
        trailer(pid, time_ns),
    ];
    record(kind::MMAP2, 0, &body.concat())
}

pub(crate) fn comm(pid: u32, exec: bool, text: &str) -> Vec<u8> {
    let body = [pair(pid, pid), name(text), trailer(pid, 1)].concat();
    record(kind::COMM, u16::from(exec) << 13, &body)
}

pub(crate) fn fork(pid: u32, parent_pid: u32) -> Vec<u8> {
    let body = [
        pair(pid, parent_pid),
        pair(pid, parent_pid),
        words(&[5]),
        trailer(pid, 5),
    ];
    record(kind::FORK, 0, &body.concat())
}

/// A sample with every field that the layout asks for; what `sample` lacks is 0. Fields that are passed over have a
/// length that is not zero.
pub(crate) fn sample(layout: &Layout, sample: &Sample<'_>) -> Vec<u8> {
    let has = |bit: u64| layout.sample_type & bit != 0;
    let mut body = Vec::new();
    let mut put = |bit: u64, bytes: Vec<u8>| {
        if has(bit) {
            body.extend(bytes);
        }
    };
    let one = |value: Option<u64>| words(&[value.unwrap_or(0)]);
    put(sample_type::IDENTIFIER, one(sample.id));
    put(sample_type::IP, one(sample.ip));
    put(
        sample_type::TID,
        pair(sample.pid.unwrap_or(0), sample.tid.unwrap_or(0)),
    );
    put(sample_type::TIME, one(sample.time_ns));
    put(sample_type::ADDR, one(sample.address));
    put(sample_type::ID, one(sample.id));
    put(sample_type::STREAM_ID, words(&[0xdead]));
    put(sample_type::CPU, pair(sample.cpu.unwrap_or(0), 0xdead));
    put(sample_type::PERIOD, one(sample.period));
    put(sample_type::READ, read(layout.read_format));
    put(sample_type::CALLCHAIN, words(&[2, 0xdead, 0xdead]));
    let raw = sample.raw.unwrap_or_default();
    put(
        sample_type::RAW,
        [&u32::try_from(raw.len()).expect("short").to_ne_bytes()[..], raw].concat(),
    );
    put(sample_type::BRANCH_STACK, branches(layout.branch_sample_type));
    put(sample_type::REGS_USER, registers(layout.user_registers));
    put(sample_type::STACK_USER, words(&[16, 0xdead, 0xdead, 16]));
    put(
        sample_type::WEIGHT | sample_type::WEIGHT_STRUCT,
        one(sample.weight),
    );
    put(sample_type::DATA_SRC, one(sample.data_src));
    put(sample_type::TRANSACTION, words(&[0xdead]));
    put(sample_type::REGS_INTR, registers(layout.interrupt_registers));
    put(sample_type::PHYS_ADDR, one(sample.physical_address));
    put(sample_type::CGROUP, words(&[0xdead]));
    put(sample_type::DATA_PAGE_SIZE, one(sample.page_size_bytes));
    put(sample_type::CODE_PAGE_SIZE, words(&[0xdead]));
    put(sample_type::AUX, words(&[8, 0xdead]));
    record(kind::SAMPLE, 2, &body)
}

fn read(format: u64) -> Vec<u8> {
    let per_value = 1 + (format >> 2 & 1) + (format >> 4 & 1);
    let times = (format & 1) + (format >> 1 & 1);
    let (count, values) = if format & 8 == 0 { (0, 1) } else { (1, 3) };
    let total = count + times + values * per_value;
    let mut all = vec![0xdead; total as usize];
    if count == 1 {
        all[0] = values;
    }
    words(&all)
}

fn branches(kind: u64) -> Vec<u8> {
    let entries = 2;
    let extra = (kind >> 17 & 1) + entries * (kind >> 19 & 1);
    let mut all = vec![0xdead; (1 + 3 * entries + extra) as usize];
    all[0] = entries;
    words(&all)
}

fn registers(mask: u64) -> Vec<u8> {
    let mut all = vec![0xdead; 1 + mask.count_ones() as usize];
    all[0] = 2;
    words(&all)
}
