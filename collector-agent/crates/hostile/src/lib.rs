//! Every parser of the agent, and that of remote write, behind a function that takes any bytes: what the fuzzer calls, and what replays its seeds.
//!
//! A function returns when the parser has dealt with the bytes, well or with an error; a panic is a defect. Text parsers
//! see the bytes as readers of kernel files do: what is not UTF-8 is replaced.

mod archive;
mod memory_disk;
mod remote_write;
mod spool;

use std::sync::Arc;

use tierscope_import::damo::{self, DamoLimits};
use tierscope_import::damo_grid;
use tierscope_import::damo_wss::WorkingSet;
use tierscope_pagetable::bpf::btf::Btf;
use tierscope_pagetable::mappings::parse_maps;
use tierscope_pagetable::smaps::SmapsParser;
use tierscope_procfs::zoneinfo;
use tierscope_rootfs::text;

/// A parser that takes any bytes.
pub type Target = fn(&[u8]);

/// Name and function of every target; the names are those of `fuzz/fuzz_targets` and `fuzz/seeds`.
pub const TARGETS: [(&str, Target); 12] = [
    ("vmstat", vmstat),
    ("zoneinfo", zoneinfo),
    ("maps", maps),
    ("smaps", smaps),
    ("perf_records", perf_records),
    ("damo", damo),
    ("btf", btf),
    ("spool", spool::spool),
    ("config", config),
    ("remote_write", remote_write::remote_write),
    ("archive", archive::archive),
    ("recognise", archive::recognise),
];

/// The target of that name.
///
/// # Panics
/// When there is none.
pub fn target(name: &str) -> Target {
    let known = TARGETS.iter().find(|(target, _)| *target == name);
    known.unwrap_or_else(|| panic!("no target is called {name}")).1
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The settings of the agent.
fn config(bytes: &[u8]) {
    let _ = tierscope_agent::check_settings(&text_of(bytes));
}

fn name(path: &str) -> Arc<str> {
    Arc::from(path)
}

/// `/proc/vmstat`, and the other shapes of lines that kernel counters come in.
fn vmstat(bytes: &[u8]) {
    let lines = text_of(bytes);
    let ignore = |_: &str, _: i64| {};
    let _ = text::name_values(&lines, ignore);
    let _ = text::colon_values(&lines, ignore);
    let _ = text::node_values(&lines, ignore);
    let _ = text::pressure_totals(&lines, ignore);
    let _ = text::limit(&lines);
    let _ = text::list(&lines);
}

/// `/proc/zoneinfo`.
fn zoneinfo(bytes: &[u8]) {
    let _ = zoneinfo::parse(&text_of(bytes), |_, _, _| {});
}

/// `/proc/<pid>/maps`.
fn maps(bytes: &[u8]) {
    let mappings = parse_maps(&text_of(bytes), &name);
    assert!(
        mappings
            .iter()
            .all(|mapping| mapping.page_mapping.start <= mapping.page_mapping.end)
    );
}

/// `/proc/<pid>/smaps`.
fn smaps(bytes: &[u8]) {
    let mut parser = SmapsParser::new(&name, 4096);
    text_of(bytes).lines().for_each(|line| parser.line(line));
    let _ = parser.finish();
}

/// Records of a perf ring or file, of every layout, and what samplers put into them.
fn perf_records(bytes: &[u8]) {
    let _ = tierscope_perf::parse_any(bytes);
}

/// A record of damo in any form, with its working set and heat grid.
fn damo(bytes: &[u8]) {
    let limits = DamoLimits {
        text_bytes: 1 << 20,
        ..DamoLimits::default()
    };
    for record in damo::read(bytes, limits).unwrap_or_default() {
        if let Some(working_set) = WorkingSet::of(&record, 1, 0) {
            let _ = working_set.average_bytes();
            let _ = working_set.by_size(&[0, 50, 100]);
        }
        let _ = damo_grid::heat_grid(&record, 8, 8);
    }
}

/// The kernel's description of its own types.
fn btf(bytes: &[u8]) {
    if let Ok(types) = Btf::parse(bytes) {
        let _ = types.function("bpf_task_from_pid");
        let _ = types.member_offset_bytes("task_struct", "mm");
    }
}
