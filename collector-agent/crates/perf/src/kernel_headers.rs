//! Layouts of this crate against the headers of the kernel on this machine: what a C compiler makes of them, and the
//! order of a sample's fields as the header's comment gives it.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use perf_event_open_sys::bindings::{self, perf_event_attr};

use crate::record::{Layout, Record, Records, Sample, build, kind, parse, sample_type};
use crate::served::{HOPS_SAME_NODE, field, level, level_number, operation};
use crate::sys::attr_bytes;

const HEADER: &str = "/usr/include/linux/perf_event.h";

/// The text of the kernel's header; prints why where there is none.
fn header() -> Option<String> {
    let text = std::fs::read_to_string(HEADER);
    if let Err(error) = &text {
        skip(&format!(
            "{HEADER}: {error}; install the headers of Linux (linux-libc-dev)"
        ));
    }
    text.ok()
}

fn skip(reason: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}

/// Values that expressions of C have with the header included; `None`, and the reason printed, without a compiler.
fn values(expressions: &[String]) -> Option<Vec<u64>> {
    let directory = tempfile::tempdir().unwrap();
    let (source, program) = (directory.path().join("layout.c"), directory.path().join("layout"));
    let prints: Vec<String> = expressions
        .iter()
        .map(|expression| format!("  printf(\"%llu\\n\", (unsigned long long)({expression}));\n"))
        .collect();
    let text = format!(
        "#include <stddef.h>\n#include <stdio.h>\n#include <string.h>\n#include <linux/perf_event.h>\n\
         #define ATTR_WORD(at, field) ({{ struct perf_event_attr a; memset(&a, 0, sizeof a); a.field = ~0ull; \
         unsigned long long w; memcpy(&w, (char *)&a + at, 8); w; }})\n\
         #define DATA_SRC(field) ({{ union perf_mem_data_src s; s.val = 0; s.field = ~0ull; s.val; }})\n\
         int main(void) {{\n{}  return 0;\n}}\n",
        prints.concat()
    );
    std::fs::write(&source, text).unwrap();
    // -w: the values are cut to the width of their fields on purpose.
    let compiled = Command::new("cc")
        .arg("-w")
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .output();
    let output = match compiled {
        Ok(output) => output,
        Err(error) => {
            skip(&format!("no C compiler (cc): {error}"));
            return None;
        }
    };
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let printed = Command::new(Path::new(&program)).output().unwrap();
    let text = String::from_utf8(printed.stdout).unwrap();
    let values: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(values.len(), expressions.len());
    Some(values)
}

/// Compares what the header says with what this crate says, leaving out names that this header is too old for.
fn compare(header: &str, ours: &[(String, u64)]) {
    let is_known = |expression: &str| {
        let names = expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        names
            .filter(|name| name.starts_with("PERF_") || name.starts_with("mem_"))
            .all(|name| header.contains(name))
    };
    let known: Vec<&(String, u64)> = ours
        .iter()
        .filter(|(expression, _)| is_known(expression))
        .collect();
    for (expression, _) in ours.iter().filter(|(expression, _)| !is_known(expression)) {
        skip(&format!("{expression}: {HEADER} is older than this name"));
    }
    assert!(
        known.len() * 2 > ours.len(),
        "most names are older than any header in use"
    );
    let expressions: Vec<String> = known.iter().map(|(expression, _)| expression.clone()).collect();
    let Some(theirs) = values(&expressions) else {
        return;
    };
    for ((expression, ours), theirs) in known.iter().zip(theirs) {
        assert_eq!(*ours, theirs, "{expression}");
    }
}

/// The word at `at` of an attribute in which one field was set.
fn attr_word(at: usize, set: impl FnOnce(&mut perf_event_attr)) -> u64 {
    let mut attr = perf_event_attr::default();
    set(&mut attr);
    let bytes = attr_bytes(&attr);
    u64::from_ne_bytes(std::array::from_fn(|index| bytes[at + index]))
}

#[test]
fn attributes_have_their_fields_where_the_header_has_them() {
    let Some(header) = header() else { return };
    let word = |name: &str, at: usize, ours: u64| (format!("ATTR_WORD({at}, {name})"), ours);
    let ours = [
        word("type", 0, attr_word(0, |attr| attr.type_ = u32::MAX)),
        word("size", 0, attr_word(0, |attr| attr.size = u32::MAX)),
        word("config", 8, attr_word(8, |attr| attr.config = u64::MAX)),
        word(
            "sample_type",
            24,
            attr_word(24, |attr| attr.sample_type = u64::MAX),
        ),
        word(
            "read_format",
            32,
            attr_word(32, |attr| attr.read_format = u64::MAX),
        ),
        word(
            "sample_period",
            16,
            attr_word(16, |attr| attr.sample_period = u64::MAX),
        ),
        word("disabled", 40, attr_word(40, |attr| attr.set_disabled(1))),
        word("inherit", 40, attr_word(40, |attr| attr.set_inherit(1))),
        word(
            "exclude_kernel",
            40,
            attr_word(40, |attr| attr.set_exclude_kernel(1)),
        ),
        word("exclude_hv", 40, attr_word(40, |attr| attr.set_exclude_hv(1))),
        word("comm", 40, attr_word(40, |attr| attr.set_comm(1))),
        word("freq", 40, attr_word(40, |attr| attr.set_freq(1))),
        word("task", 40, attr_word(40, |attr| attr.set_task(1))),
        word("watermark", 40, attr_word(40, |attr| attr.set_watermark(1))),
        word("precise_ip", 40, attr_word(40, |attr| attr.set_precise_ip(3))),
        word(
            "sample_id_all",
            40,
            attr_word(40, |attr| attr.set_sample_id_all(1)),
        ),
        word("comm_exec", 40, attr_word(40, |attr| attr.set_comm_exec(1))),
        word(
            "wakeup_watermark",
            48,
            attr_word(48, |attr| attr.wakeup_watermark = u32::MAX),
        ),
        word("config1", 56, attr_word(56, |attr| attr.config1 = u64::MAX)),
        word("config2", 64, attr_word(64, |attr| attr.config2 = u64::MAX)),
    ];
    compare(&header, &ours);
}

#[test]
fn records_have_the_numbers_and_sizes_of_the_header() {
    let Some(header) = header() else { return };
    let number = |name: &str, ours: u64| (name.to_owned(), ours);
    let kinds = [
        ("MMAP", kind::MMAP),
        ("LOST", kind::LOST),
        ("COMM", kind::COMM),
        ("EXIT", kind::EXIT),
        ("THROTTLE", kind::THROTTLE),
        ("UNTHROTTLE", kind::UNTHROTTLE),
        ("FORK", kind::FORK),
        ("SAMPLE", kind::SAMPLE),
        ("MMAP2", kind::MMAP2),
        ("AUX", kind::AUX),
        ("ITRACE_START", kind::ITRACE_START),
        ("LOST_SAMPLES", kind::LOST_SAMPLES),
    ];
    let fields = sample_fields();
    let mut ours: Vec<(String, u64)> = kinds
        .iter()
        .map(|(name, kind)| number(&format!("PERF_RECORD_{name}"), u64::from(*kind)))
        .chain(
            fields
                .iter()
                .map(|(name, bit, _)| number(&format!("PERF_SAMPLE_{name}"), *bit)),
        )
        .collect();
    ours.extend([
        number("sizeof(struct perf_event_header)", 8),
        number("offsetof(struct perf_event_header, type)", 0),
        number("offsetof(struct perf_event_header, misc)", 4),
        number("offsetof(struct perf_event_header, size)", 6),
        number("PERF_RECORD_MISC_CPUMODE_MASK", 7),
        number("PERF_RECORD_MISC_KERNEL", 1),
        number("PERF_RECORD_MISC_COMM_EXEC", 1 << 13),
        number("PERF_AUX_FLAG_TRUNCATED", 1),
    ]);
    compare(&header, &ours);
}

#[test]
fn data_sources_have_their_bits_where_the_header_has_them() {
    let Some(header) = header() else { return };
    let bits = |name: &str, (shift, width): (u32, u32)| {
        (format!("DATA_SRC({name})"), ((1_u64 << width) - 1) << shift)
    };
    let mut ours = vec![
        bits("mem_op", field::OPERATION),
        bits("mem_lvl", field::LEVEL),
        bits("mem_lvl_num", field::LEVEL_NUMBER),
        bits("mem_remote", field::REMOTE),
        bits("mem_hops", field::HOPS),
    ];
    let named = [
        ("OP_LOAD", operation::LOAD),
        ("OP_STORE", operation::STORE),
        ("LVL_NA", level::NOT_AVAILABLE),
        ("LVL_HIT", level::HIT),
        ("LVL_MISS", level::MISS),
        ("LVL_L1", level::L1),
        ("LVL_LFB", level::LINE_FILL_BUFFER),
        ("LVL_L2", level::L2),
        ("LVL_L3", level::L3),
        ("LVL_LOC_RAM", level::LOCAL_RAM),
        ("LVL_REM_RAM1", level::REMOTE_RAM_1_HOP),
        ("LVL_REM_RAM2", level::REMOTE_RAM_2_HOPS),
        ("LVL_REM_CCE1", level::REMOTE_CACHE_1_HOP),
        ("LVL_REM_CCE2", level::REMOTE_CACHE_2_HOPS),
        ("LVL_IO", level::IO),
        ("LVL_UNC", level::UNCACHED),
        ("LVLNUM_L1", level_number::L1),
        ("LVLNUM_L4", level_number::L4),
        ("LVLNUM_L2_MHB", level_number::L2_MISS_BUFFER),
        ("LVLNUM_MSC", level_number::MEMORY_SIDE_CACHE),
        ("LVLNUM_L0", level_number::L0),
        ("LVLNUM_UNC", level_number::UNCACHED),
        ("LVLNUM_CXL", level_number::CXL),
        ("LVLNUM_IO", level_number::IO),
        ("LVLNUM_ANY_CACHE", level_number::ANY_CACHE),
        ("LVLNUM_LFB", level_number::LINE_FILL_BUFFER),
        ("LVLNUM_RAM", level_number::RAM),
        ("LVLNUM_PMEM", level_number::PMEM),
        ("HOPS_0", HOPS_SAME_NODE),
    ];
    ours.extend(
        named
            .iter()
            .map(|(name, value)| (format!("PERF_MEM_{name}"), *value)),
    );
    compare(&header, &ours);
}

/// Levels that the header of this machine may be too old for, against the bindings made of a newer one.
#[test]
fn newer_levels_are_those_of_the_bindings() {
    let ours = [
        (level_number::L2_MISS_BUFFER, bindings::PERF_MEM_LVLNUM_L2_MHB),
        (level_number::MEMORY_SIDE_CACHE, bindings::PERF_MEM_LVLNUM_MSC),
        (level_number::L0, bindings::PERF_MEM_LVLNUM_L0),
        (level_number::UNCACHED, bindings::PERF_MEM_LVLNUM_UNC),
    ];
    for (ours, theirs) in ours {
        assert_eq!(ours, u64::from(theirs));
    }
}

/// Fields of a sample that a record may carry: their names after `PERF_SAMPLE_`, their bits, and bytes of each for the
/// layout of [`every_field`].
fn sample_fields() -> Vec<(&'static str, u64, Vec<u8>)> {
    let word = |value: u64| build::words(&[value]);
    vec![
        ("IDENTIFIER", sample_type::IDENTIFIER, word(101)),
        ("IP", sample_type::IP, word(102)),
        ("TID", sample_type::TID, word(0x68 << 32 | 0x67)),
        ("TIME", sample_type::TIME, word(105)),
        ("ADDR", sample_type::ADDR, word(106)),
        ("ID", sample_type::ID, word(101)),
        ("STREAM_ID", sample_type::STREAM_ID, word(0xdead)),
        ("CPU", sample_type::CPU, word(107)),
        ("PERIOD", sample_type::PERIOD, word(108)),
        ("READ", sample_type::READ, word(0xdead)),
        (
            "CALLCHAIN",
            sample_type::CALLCHAIN,
            build::words(&[2, 0xdead, 0xdead]),
        ),
        (
            "RAW",
            sample_type::RAW,
            [&4_u32.to_ne_bytes()[..], &[1, 2, 3, 4]].concat(),
        ),
        (
            "BRANCH_STACK",
            sample_type::BRANCH_STACK,
            build::words(&[1, 0xdead, 0xdead, 0xdead]),
        ),
        ("REGS_USER", sample_type::REGS_USER, build::words(&[2, 0xdead])),
        (
            "STACK_USER",
            sample_type::STACK_USER,
            build::words(&[8, 0xdead, 8]),
        ),
        ("WEIGHT", sample_type::WEIGHT, word(109)),
        ("DATA_SRC", sample_type::DATA_SRC, word(110)),
        ("TRANSACTION", sample_type::TRANSACTION, word(0xdead)),
        ("REGS_INTR", sample_type::REGS_INTR, build::words(&[2, 0xdead])),
        ("PHYS_ADDR", sample_type::PHYS_ADDR, word(111)),
        ("CGROUP", sample_type::CGROUP, word(0xdead)),
        ("DATA_PAGE_SIZE", sample_type::DATA_PAGE_SIZE, word(112)),
        ("CODE_PAGE_SIZE", sample_type::CODE_PAGE_SIZE, word(0xdead)),
        ("AUX", sample_type::AUX, build::words(&[8, 0xdead])),
    ]
}

fn every_field() -> Layout {
    let fields = sample_fields();
    Layout {
        sample_type: fields.iter().fold(0, |all, (_, bit, _)| all | bit),
        user_registers: 1,
        interrupt_registers: 1,
        ..Layout::default()
    }
}

/// The order in which the header's comment on `PERF_RECORD_SAMPLE` has the fields.
fn documented_order(header: &str) -> Vec<String> {
    let end = header.find("PERF_RECORD_SAMPLE\t").unwrap();
    let begin = header[..end].rfind("/*").unwrap();
    let mut order: Vec<String> = Vec::new();
    for line in header[begin..end].lines() {
        let Some((_, condition)) = line.split_once("&& ") else {
            continue;
        };
        let name = condition.split_whitespace().next().unwrap_or_default();
        if let Some(name) = name.strip_prefix("PERF_SAMPLE_")
            && order.last().is_none_or(|last| last != name)
        {
            order.push(name.to_owned());
        }
    }
    order
}

/// That order, as far as the fields are known here.
fn known_order(header: &str) -> Vec<String> {
    let fields = sample_fields();
    let mut order = Vec::new();
    for mut name in documented_order(header) {
        // Both weights take the same place. Branch flags are no fields. The comment has AUX before the page sizes, where
        // the kernel writes it after them (`perf_output_sample` in kernel/events/core.c).
        if name.starts_with("BRANCH_") && name != "BRANCH_STACK" || name == "AUX" {
            continue;
        }
        if name.starts_with("WEIGHT") {
            name.truncate("WEIGHT".len());
        }
        if !fields.iter().any(|(known, _, _)| *known == name) {
            skip(&format!(
                "PERF_SAMPLE_{name} and what follows it: newer in {HEADER} than here"
            ));
            break;
        }
        order.push(name);
    }
    order.dedup();
    order
}

#[test]
fn fields_of_a_sample_are_read_in_the_order_of_the_header() {
    let Some(header) = header() else { return };
    let order = known_order(&header);
    let fields = sample_fields();
    let mut layout = every_field();
    let mut body = Vec::new();
    for name in &order {
        body.extend(
            fields
                .iter()
                .filter(|(known, _, _)| known == name)
                .flat_map(|(_, _, bytes)| bytes),
        );
    }
    for (name, bit, _) in &fields {
        if !order.iter().any(|known| known == name) {
            skip(&format!(
                "PERF_SAMPLE_{name}: the comment of {HEADER} does not give its place"
            ));
            layout.sample_type &= !bit;
        }
    }
    assert!(order.len() > 15, "{order:?}");
    let bytes = build::record(kind::SAMPLE, 2, &body);
    let raw = Records::new(&bytes).next().unwrap().unwrap();
    let expected = Sample {
        id: Some(101),
        ip: Some(102),
        pid: Some(103),
        tid: Some(104),
        time_ns: Some(105),
        address: Some(106),
        cpu: Some(107),
        period: Some(108),
        raw: Some(&[1, 2, 3, 4]),
        weight: Some(109),
        data_src: Some(110),
        physical_address: Some(111),
        page_size_bytes: Some(112),
    };
    assert_eq!(parse(&raw, &layout).unwrap(), Record::Sample(expected));
}
