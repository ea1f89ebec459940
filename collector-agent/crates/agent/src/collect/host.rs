//! Counters of the host, its nodes and its zones.

use tierscope_procfs::{counters, pressure, stat, swaps, zoneinfo};
use tierscope_rootfs::Reader;
use tierscope_sysfs::nodes;

use super::frame::Frame;
use super::notes::{Dropped, Notes};

/// The cache of ZFS, which most hosts do not have.
const ARCSTATS: &str = "/proc/spl/kstat/zfs/arcstats";

/// Files of the host as a whole.
pub(super) fn read_host(reader: &mut Reader, frame: &mut Frame, notes: &mut Notes) {
    let section = frame.section("host", "vmstat");
    let outcome = counters::vmstat(reader, |name, value| frame.put(section, name, Some(value)));
    notes.take("/proc/vmstat", outcome);
    let section = frame.section("host", "meminfo");
    let outcome = counters::meminfo(reader, |name, value| frame.put(section, name, Some(value)));
    notes.take("/proc/meminfo", outcome);
    let section = frame.section("host", "stat");
    let outcome = stat::read(reader, |name, value| frame.put(section, name, Some(value)));
    notes.take("/proc/stat", outcome);
    for (resource, source, path) in [
        ("memory", "pressure.memory", "/proc/pressure/memory"),
        ("cpu", "pressure.cpu", "/proc/pressure/cpu"),
        ("io", "pressure.io", "/proc/pressure/io"),
        ("irq", "pressure.irq", "/proc/pressure/irq"),
    ] {
        let section = frame.section("host", source);
        let outcome = pressure::read(reader, resource, |name, value| {
            frame.put(section, name, Some(value));
        });
        notes.take(path, outcome);
    }
    read_swaps(reader, frame, notes);
    if reader.root().join(ARCSTATS).exists() {
        let section = frame.section("host", "arcstats");
        let outcome = counters::arcstats(reader, |name, value| frame.put(section, name, Some(value)));
        notes.take(ARCSTATS, outcome);
    }
}

/// The sums over all swap devices; without swap both are 0, which the kernel says by an empty table.
fn read_swaps(reader: &mut Reader, frame: &mut Frame, notes: &mut Notes) {
    let section = frame.section("host", "swaps");
    let outcome = swaps::read(reader).map(|parsed| {
        parsed.map(|swaps| {
            let (size_bytes, used_bytes) = swaps::totals(&swaps);
            frame.put(section, "size", Some(size_bytes));
            frame.put(section, "used", Some(used_bytes));
        })
    });
    notes.take("/proc/swaps", outcome);
}

/// Files of each node.
pub(super) fn read_nodes(reader: &mut Reader, frame: &mut Frame, notes: &mut Notes, ids: &[u32]) {
    for node in ids {
        let scope = format!("node:{node}");
        let directory = format!("/sys/devices/system/node/node{node}");
        let section = frame.section(&scope, "vmstat");
        let outcome = nodes::vmstat(reader, *node, |name, value| frame.put(section, name, Some(value)));
        notes.take(&format!("{directory}/vmstat"), outcome);
        let section = frame.section(&scope, "meminfo");
        let outcome = nodes::meminfo(reader, *node, |name, value| frame.put(section, name, Some(value)));
        notes.take(&format!("{directory}/meminfo"), outcome);
        let section = frame.section(&scope, "numastat");
        let outcome = nodes::numastat(reader, *node, |name, value| frame.put(section, name, Some(value)));
        notes.take(&format!("{directory}/numastat"), outcome);
    }
}

/// Zones, and the statistics that zoneinfo prints for nodes.
pub(super) fn read_zones(reader: &mut Reader, frame: &mut Frame, notes: &mut Notes) {
    let mut scope = String::new();
    let mut section = None;
    let outcome = zoneinfo::read(reader, |place, name, value| {
        let same = match place {
            zoneinfo::Place::Node(node) => scope
                .strip_prefix("node:")
                .is_some_and(|rest| is_number(rest, node)),
            zoneinfo::Place::Zone(node, zone) => scope
                .strip_prefix("zone:")
                .and_then(|rest| rest.split_once('/'))
                .is_some_and(|(number, name)| name == zone && is_number(number, node)),
        };
        if !same {
            scope = match place {
                zoneinfo::Place::Node(node) => format!("node:{node}"),
                zoneinfo::Place::Zone(node, zone) => format!("zone:{node}/{zone}"),
            };
            section = None;
        }
        let id = *section.get_or_insert_with(|| frame.section(&scope, "zoneinfo"));
        frame.put(id, name, Some(value));
    });
    notes.take("/proc/zoneinfo", outcome);
}

fn is_number(text: &str, number: u32) -> bool {
    text.parse() == Ok(number)
}

/// What the agent's own limits left out, so that the service can show it.
pub(super) fn put_limits(frame: &mut Frame, dropped: Dropped) {
    let section = frame.section("host", "self");
    for (name, count) in [
        ("names_dropped", dropped.names),
        ("cgroups_dropped", dropped.cgroups),
        ("services_dropped", dropped.services),
    ] {
        frame.put(section, name, i64::try_from(count).ok());
    }
}
