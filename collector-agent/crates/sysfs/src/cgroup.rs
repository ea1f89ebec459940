//! Control groups: which there are, and their memory files, in both versions of the interface.

use std::collections::BTreeMap;

use tierscope_rootfs::{Outcome, ParseError, Reader, text};

/// Which interface the host mounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// One hierarchy with all controllers.
    V2,
    /// The same below a directory of version 1 hierarchies, none of which has memory: systemd's hybrid layout on a
    /// kernel without `CONFIG_MEMCG_V1` (6.11).
    V2Unified,
    /// One hierarchy per controller.
    V1,
    /// The same, with the memory hierarchy mounted here.
    V1Elsewhere(&'static str),
    /// Version 1 for memory, with a version 2 hierarchy beside it.
    Hybrid,
    /// No memory control groups.
    None,
}

impl Version {
    /// The name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::V2 | Self::V2Unified => "v2",
            Self::V1 | Self::V1Elsewhere(_) => "v1",
            Self::Hybrid => "hybrid",
            Self::None => "none",
        }
    }

    /// Directory of the hierarchy that has the memory files.
    pub fn base(self) -> &'static str {
        match self {
            Self::V2 | Self::None => "/sys/fs/cgroup",
            Self::V2Unified => UNIFIED,
            Self::V1 | Self::Hybrid => "/sys/fs/cgroup/memory",
            Self::V1Elsewhere(base) => base,
        }
    }

    /// The memory files of a group, with what they hold.
    pub fn files(self) -> &'static [File] {
        match self {
            Self::V2 | Self::V2Unified => FILES_V2,
            Self::V1 | Self::V1Elsewhere(_) | Self::Hybrid => FILES_V1,
            Self::None => &[],
        }
    }
}

/// Where systemd mounts version 2 beside version 1.
const UNIFIED: &str = "/sys/fs/cgroup/unified";
/// Where Android, and hosts from before systemd (RHEL 6), mount the memory hierarchy of version 1.
const ELSEWHERE: [&str; 2] = ["/dev/memcg", "/cgroup/memory"];

/// Finds out which interface has the host's memory control groups.
pub fn detect(reader: &mut Reader) -> Version {
    let exists = |reader: &Reader, path: &str| reader.root().join(path).exists();
    let is_v2 = exists(reader, "/sys/fs/cgroup/cgroup.controllers");
    if exists(reader, "/sys/fs/cgroup/memory.stat") || has_memory_controller(reader, "/sys/fs/cgroup") {
        return Version::V2;
    }
    if exists(reader, "/sys/fs/cgroup/memory/memory.stat") {
        let is_hybrid = exists(reader, "/sys/fs/cgroup/unified/cgroup.controllers");
        return if is_hybrid { Version::Hybrid } else { Version::V1 };
    }
    if let Some(base) = ELSEWHERE
        .into_iter()
        .find(|base| exists(reader, &format!("{base}/memory.stat")))
    {
        return Version::V1Elsewhere(base);
    }
    if has_memory_controller(reader, UNIFIED) {
        return Version::V2Unified;
    }
    // A hierarchy of version 2 whose memory controller is switched off, or that a recording shows in part.
    if is_v2 { Version::V2 } else { Version::None }
}

/// Whether control groups of version 2 are there without the memory controller: it was switched off at boot, or not handed
/// to the container that this is.
pub fn memory_is_off(reader: &mut Reader) -> bool {
    let path = format!("{}/cgroup.controllers", Version::V2.base());
    let others = reader.read(&path).is_ok_and(|names| !names.trim().is_empty());
    others && detect(reader) == Version::V2 && {
        let stat = format!("{}/memory.stat", Version::V2.base());
        !reader.root().join(&stat).exists() && !has_memory_controller(reader, Version::V2.base())
    }
}

fn has_memory_controller(reader: &mut Reader, base: &str) -> bool {
    let path = format!("{base}/cgroup.controllers");
    if !reader.root().join(&path).exists() {
        return false;
    }
    // Beside version 1, which may have all controllers, the file may be empty: not even a line ends (`cgroup_print_ss_mask`).
    let controllers = if base == UNIFIED {
        reader.read(&path)
    } else {
        reader.value(&path)
    };
    controllers.is_ok_and(|names| names.split_ascii_whitespace().any(|name| name == "memory"))
}

/// How the text of a file is shaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `name value` lines.
    NameValues,
    /// `name N0=.. N1=..` lines.
    NodeValues,
    /// Pressure lines.
    Pressure,
    /// Lines of `name=value` words, one line per block device; summed over the devices.
    DeviceSums,
    /// One number or `max`, under this name.
    Single(&'static str),
}

/// A file of a control group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// Its name.
    pub name: &'static str,
    /// The source in counter keys.
    pub source: &'static str,
    /// How to read it.
    pub shape: Shape,
}

const fn file(name: &'static str, shape: Shape) -> File {
    File {
        name,
        source: name,
        shape,
    }
}

const FILES_V2: &[File] = &[
    file("memory.stat", Shape::NameValues),
    file("memory.numa_stat", Shape::NodeValues),
    file("memory.events", Shape::NameValues),
    file("memory.events.local", Shape::NameValues),
    file("memory.swap.events", Shape::NameValues),
    file("memory.current", Shape::Single("current")),
    file("memory.peak", Shape::Single("peak")),
    file("memory.min", Shape::Single("min")),
    file("memory.low", Shape::Single("low")),
    file("memory.high", Shape::Single("high")),
    file("memory.max", Shape::Single("max")),
    file("memory.swap.current", Shape::Single("current")),
    file("memory.swap.peak", Shape::Single("peak")),
    file("memory.swap.high", Shape::Single("high")),
    file("memory.swap.max", Shape::Single("max")),
    file("memory.zswap.current", Shape::Single("current")),
    file("memory.zswap.max", Shape::Single("max")),
    file("memory.zswap.writeback", Shape::Single("writeback")),
    file("memory.pressure", Shape::Pressure),
    file("cpu.pressure", Shape::Pressure),
    file("io.pressure", Shape::Pressure),
    file("irq.pressure", Shape::Pressure),
    file("cpu.stat", Shape::NameValues),
    file("io.stat", Shape::DeviceSums),
];

/// Version 1 means other things by the same names (no descendants, pages per node), hence the sources of their own.
const FILES_V1: &[File] = &[
    File {
        name: "memory.stat",
        source: "memory.stat.v1",
        shape: Shape::NameValues,
    },
    File {
        name: "memory.numa_stat",
        source: "memory.numa_stat.v1",
        shape: Shape::NodeValues,
    },
    file("memory.usage_in_bytes", Shape::Single("usage_in_bytes")),
    file("memory.max_usage_in_bytes", Shape::Single("max_usage_in_bytes")),
    file("memory.limit_in_bytes", Shape::Single("limit_in_bytes")),
    file("memory.soft_limit_in_bytes", Shape::Single("soft_limit_in_bytes")),
    file("memory.memsw.usage_in_bytes", Shape::Single("usage_in_bytes")),
    file(
        "memory.memsw.max_usage_in_bytes",
        Shape::Single("max_usage_in_bytes"),
    ),
    file("memory.memsw.limit_in_bytes", Shape::Single("limit_in_bytes")),
    file("memory.kmem.usage_in_bytes", Shape::Single("usage_in_bytes")),
    file("memory.swappiness", Shape::Single("swappiness")),
    file("memory.oom_control", Shape::NameValues),
    file("memory.failcnt", Shape::Single("failcnt")),
];

/// Reads one file of a group. A limit of `max` is handed on as `None`.
pub fn read(
    reader: &mut Reader,
    version: Version,
    group: &str,
    file: &File,
    mut emit: impl FnMut(&str, Option<i64>),
) -> Outcome<()> {
    let path = format!("{}{}/{}", version.base(), group.trim_end_matches('/'), file.name);
    reader.parse(&path, |content| match file.shape {
        Shape::NameValues => text::name_values(content, |name, value| {
            let is_none = name.starts_with("hierarchical_mem") && is_no_limit(value.unsigned_abs());
            emit(name, Some(value).filter(|_| !is_none));
        }),
        Shape::NodeValues => text::node_values(content, |name, value| emit(name, Some(value))),
        Shape::Pressure => text::pressure_totals(content, |name, value| emit(name, Some(value))),
        Shape::DeviceSums => {
            let sums = device_sums(content)?;
            for (name, value) in &sums {
                emit(name, Some(*value));
            }
            Ok(())
        }
        Shape::Single(name) => single(file, content.trim()).map(|value| emit(name, value)),
    })
}

/// The value of a file with one number; `None` where the group has no limit. Version 1 prints the largest number of
/// pages that fits for "no limit" (`PAGE_COUNTER_MAX`: 2^63 less a page of any size, 2^31 pages less one on 32 bits),
/// and kernels before 3.19 printed 2^63-1 or 2^64-1 (`RES_COUNTER_MAX`).
fn single(file: &File, text: &str) -> Result<Option<i64>, ParseError> {
    if file.name.ends_with("limit_in_bytes")
        && let Ok(bytes) = text.parse::<u64>()
        && is_no_limit(bytes)
    {
        return Ok(None);
    }
    text::limit(text)
}

fn is_no_limit(bytes: u64) -> bool {
    bytes >= NO_LIMIT_BYTES || bytes == NO_LIMIT_OF_32_BITS_BYTES
}

/// 2^63 less the largest page that a kernel uses as its base page, and more.
const NO_LIMIT_BYTES: u64 = (1 << 63) - (1 << 20);
const NO_LIMIT_OF_32_BITS_BYTES: u64 = 8_796_093_018_112;

/// Sums of `io.stat` over block devices, whose numbers say nothing outside the host. A group that did no I/O has an empty
/// file, which is a sum of 0.
fn device_sums(content: &str) -> Result<BTreeMap<&str, i64>, ParseError> {
    let mut sums: BTreeMap<&str, i64> = IO_STAT_NAMES.iter().map(|name| (*name, 0)).collect();
    for (index, line) in content.lines().enumerate() {
        // Further words belong to I/O controllers such as `cost.usage=3`; a device alone in its line did nothing.
        for (name, value) in line
            .split_ascii_whitespace()
            .filter_map(|word| word.split_once('='))
        {
            if let Some(sum) = sums.get_mut(name) {
                let value = text::number(value)
                    .ok_or_else(|| ParseError::new(index + 1, name, "not a whole number of 63 bits"))?;
                *sum = sum.saturating_add(value);
            }
        }
    }
    Ok(sums)
}

/// What `io.stat` counts: bytes and requests read, written and discarded.
const IO_STAT_NAMES: [&str; 6] = ["rbytes", "wbytes", "rios", "wios", "dbytes", "dios"];

/// The groups chosen for reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Groups {
    /// Paths from the hierarchy's root, sorted; `/` itself first where it has memory files.
    pub paths: Vec<String>,
    /// Groups left out because of the limit or of a name that cannot travel.
    pub dropped: usize,
}

/// Most directories that are looked into.
const MAX_VISITED: usize = 20_000;
/// Deepest level that is looked into.
const MAX_DEPTH: usize = 16;

/// Chooses `/` and all leaf groups; above `limit` those that use most memory.
pub fn groups(reader: &mut Reader, version: Version, limit: usize) -> Groups {
    if version == Version::None {
        return Groups::default();
    }
    let mut groups = Groups::default();
    let mut leaves = Vec::new();
    let mut visited = 0;
    visit(reader, version, "", 0, &mut visited, &mut leaves);
    leaves.retain(|path| {
        let travels = !path.contains(['|', '\n']) && !path.chars().any(char::is_control);
        groups.dropped += usize::from(!travels);
        travels
    });
    if leaves.len() > limit {
        groups.dropped += leaves.len() - limit;
        leaves.sort_by_cached_key(|path| std::cmp::Reverse(usage_bytes(reader, version, path)));
        leaves.truncate(limit);
    }
    let root_has_files = reader
        .root()
        .join(&format!("{}/memory.stat", version.base()))
        .exists();
    groups.paths.extend(root_has_files.then(|| "/".to_owned()));
    groups.paths.extend(leaves);
    groups.paths.sort_unstable();
    groups
}

/// Lists the lowest groups with memory files; whether there are any in this part of the tree. Groups below them are
/// threads of one program, or have no memory controller: their memory is counted above.
fn visit(
    reader: &Reader,
    version: Version,
    group: &str,
    depth: usize,
    visited: &mut usize,
    leaves: &mut Vec<String>,
) -> bool {
    *visited += 1;
    let children = if depth < MAX_DEPTH {
        child_groups(reader, version, group)
    } else {
        Vec::new()
    };
    let mut found = false;
    for child in children {
        if *visited >= MAX_VISITED {
            break;
        }
        let path = format!("{group}/{child}");
        found |= visit(reader, version, &path, depth + 1, visited, leaves);
    }
    if !found && !group.is_empty() && has_memory_files(reader, version, group) {
        leaves.push(group.to_owned());
        found = true;
    }
    found
}

fn has_memory_files(reader: &Reader, version: Version, group: &str) -> bool {
    let exists = |file: &&str| {
        let path = format!("{}{group}/{file}", version.base());
        reader.root().join(&path).exists()
    };
    ["memory.stat", "memory.current", "memory.usage_in_bytes"]
        .iter()
        .any(exists)
}

/// The group that counts the memory of a process in `group`: the group itself, or the nearest one above it that has
/// memory files. `group` where none has, as in recordings of parts.
pub fn memory_group(reader: &Reader, version: Version, group: &str) -> String {
    let mut candidate = group;
    while !candidate.trim_end_matches('/').is_empty() {
        if has_memory_files(reader, version, candidate) {
            return candidate.to_owned();
        }
        candidate = candidate.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
    group.to_owned()
}

fn child_groups(reader: &Reader, version: Version, group: &str) -> Vec<String> {
    let directory = reader.root().join(&format!("{}{group}", version.base()));
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    names
}

fn usage_bytes(reader: &mut Reader, version: Version, group: &str) -> i64 {
    let file = match version {
        Version::V2 | Version::V2Unified => "memory.current",
        _ => "memory.usage_in_bytes",
    };
    reader
        .number(&format!("{}{group}/{file}", version.base()))
        .unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::fake_root;

    fn values(reader: &mut Reader, version: Version, group: &str, name: &str) -> Vec<(String, Option<i64>)> {
        let file = version.files().iter().find(|file| file.name == name).unwrap();
        let mut values = Vec::new();
        read(reader, version, group, file, |name, value| {
            values.push((name.to_owned(), value));
        })
        .unwrap()
        .unwrap();
        values
    }

    #[test]
    fn a_memory_controller_that_is_off_is_told_from_files_that_are_not_there() {
        let is_off = |files: &[(&str, &str)]| memory_is_off(&mut fake_root::reader(files).1);
        let controllers = "sys/fs/cgroup/cgroup.controllers";
        assert!(is_off(&[(controllers, "cpuset cpu io pids\n")]));
        assert!(!is_off(&[(controllers, "cpuset cpu io memory pids\n")]));
        assert!(!is_off(&[
            (controllers, "cpuset cpu\n"),
            ("sys/fs/cgroup/memory/memory.stat", "rss 0\n")
        ]));
        assert!(!is_off(&[(controllers, "")]), "not read by who collected it");
        assert!(!is_off(&[]));
    }

    #[test]
    fn leaves_and_the_root_are_chosen() {
        let (_directory, mut reader) = fake_root::reader(&[
            ("sys/fs/cgroup/cgroup.controllers", "memory"),
            ("sys/fs/cgroup/memory.stat", "anon 1\n"),
            ("sys/fs/cgroup/a.slice/memory.current", "5"),
            ("sys/fs/cgroup/a.slice/b.service/memory.current", "10"),
            ("sys/fs/cgroup/a.slice/c.service/memory.current", "20"),
            ("sys/fs/cgroup/d|e/memory.current", "30"),
        ]);
        assert_eq!(detect(&mut reader), Version::V2);
        let all = groups(&mut reader, Version::V2, 200);
        assert_eq!(all.paths, ["/", "/a.slice/b.service", "/a.slice/c.service"]);
        assert_eq!(all.dropped, 1);
        let few = groups(&mut reader, Version::V2, 1);
        assert_eq!(few.paths, ["/", "/a.slice/c.service"]);
        assert_eq!(few.dropped, 2);
    }

    #[test]
    fn a_limit_of_max_is_absent_and_the_root_reads_like_any_group() {
        let (_directory, mut reader) = fake_root::reader(&[
            ("sys/fs/cgroup/memory.stat", "anon 7\n"),
            ("sys/fs/cgroup/load/memory.max", "max\n"),
            ("sys/fs/cgroup/load/memory.numa_stat", "anon N0=1 N1=2\n"),
        ]);
        assert_eq!(
            values(&mut reader, Version::V2, "/", "memory.stat"),
            [("anon".to_owned(), Some(7))]
        );
        assert_eq!(
            values(&mut reader, Version::V2, "/load", "memory.max"),
            [("max".to_owned(), None)]
        );
        let by_node = values(&mut reader, Version::V2, "/load", "memory.numa_stat");
        assert_eq!(
            by_node,
            [("anon[N0]".to_owned(), Some(1)), ("anon[N1]".to_owned(), Some(2))]
        );
    }

    #[test]
    fn memory_of_threads_is_counted_in_the_group_above_them() {
        let scope = "sys/fs/cgroup/machine.slice/machine-qemu.scope";
        let (_directory, mut reader) = fake_root::reader(&[
            (&format!("{scope}/libvirt/memory.stat"), "anon 1\n"),
            (&format!("{scope}/libvirt/emulator/cgroup.type"), "threaded\n"),
            (&format!("{scope}/libvirt/vcpu0/cgroup.type"), "threaded\n"),
            ("sys/fs/cgroup/user.slice/cpu.stat", "usage_usec 1\n"),
        ]);
        let path = "/machine.slice/machine-qemu.scope/libvirt";
        assert_eq!(groups(&mut reader, Version::V2, 200).paths, [path]);
        let threads = format!("{path}/emulator");
        assert_eq!(memory_group(&reader, Version::V2, &threads), path);
        assert_eq!(memory_group(&reader, Version::V2, "/user.slice"), "/user.slice");
        assert_eq!(memory_group(&reader, Version::V2, "/"), "/");
    }

    #[test]
    fn block_devices_are_summed_and_no_io_is_a_zero() {
        let (_directory, mut reader) = fake_root::reader(&[
            (
                "sys/fs/cgroup/load/io.stat",
                "8:0 rbytes=10 wbytes=4 rios=1 wios=1 dbytes=0 dios=0 cost.usage=7\n254:0 \n8:16 rbytes=5 wbytes=1 rios=2 wios=1 dbytes=3 dios=1\n",
            ),
            ("sys/fs/cgroup/idle/io.stat", ""),
        ]);
        let seen = values(&mut reader, Version::V2, "/load", "io.stat");
        let expected = [
            ("dbytes", 3),
            ("dios", 1),
            ("rbytes", 15),
            ("rios", 3),
            ("wbytes", 5),
            ("wios", 2),
        ];
        assert_eq!(seen, expected.map(|(name, value)| (name.to_owned(), Some(value))));
        assert!(
            values(&mut reader, Version::V2, "/idle", "io.stat")
                .iter()
                .all(|(_, value)| *value == Some(0))
        );
    }

    #[test]
    fn version_1_is_found_and_read() {
        let (_directory, mut reader) = fake_root::reader(&[
            ("sys/fs/cgroup/memory/memory.stat", "cache 1\n"),
            ("sys/fs/cgroup/memory/app/memory.usage_in_bytes", "4096\n"),
            ("sys/fs/cgroup/unified/cgroup.controllers", ""),
        ]);
        let version = detect(&mut reader);
        assert_eq!(version, Version::Hybrid);
        assert_eq!(groups(&mut reader, version, 200).paths, ["/", "/app"]);
        let usage = values(&mut reader, version, "/app", "memory.usage_in_bytes");
        assert_eq!(usage, [("usage_in_bytes".to_owned(), Some(4096))]);
    }

    #[test]
    fn a_host_without_cgroups_has_none() {
        let (_directory, mut reader) = fake_root::reader(&[]);
        assert_eq!(detect(&mut reader), Version::None);
        assert_eq!(groups(&mut reader, Version::None, 200), Groups::default());
    }

    #[test]
    fn memory_groups_are_found_wherever_they_are_mounted() {
        let cases = [
            (
                vec![("sys/fs/cgroup/unified/cgroup.controllers", "cpuset memory\n")],
                Version::V2Unified,
            ),
            // The memory controller is with neither version.
            (
                vec![("sys/fs/cgroup/unified/cgroup.controllers", "")],
                Version::None,
            ),
            (
                vec![
                    ("sys/fs/cgroup/cgroup.controllers", "cpu\n"),
                    ("dev/memcg/memory.stat", "cache 1\n"),
                ],
                Version::V1Elsewhere("/dev/memcg"),
            ),
            (
                vec![("cgroup/memory/memory.stat", "cache 1\n")],
                Version::V1Elsewhere("/cgroup/memory"),
            ),
            (vec![("sys/fs/cgroup/cgroup.controllers", "cpu\n")], Version::V2),
            (
                vec![
                    ("sys/fs/cgroup/memory/memory.stat", "cache 1\n"),
                    ("sys/fs/cgroup/unified/cgroup.controllers", "\n"),
                ],
                Version::Hybrid,
            ),
            (vec![("sys/fs/cgroup/pids/tasks", "1\n")], Version::None),
        ];
        for (files, version) in cases {
            let (_directory, mut reader) = fake_root::reader(&files);
            assert_eq!(detect(&mut reader), version, "{files:?}");
            assert_eq!(reader.take_problems(), [], "{files:?}");
        }
    }

    #[test]
    fn groups_below_unified_are_read_as_version_2() {
        let (_directory, mut reader) = fake_root::reader(&[
            ("sys/fs/cgroup/unified/cgroup.controllers", "memory\n"),
            ("sys/fs/cgroup/unified/user.slice/memory.stat", "anon 7\n"),
            ("sys/fs/cgroup/unified/user.slice/memory.current", "4096\n"),
        ]);
        let version = detect(&mut reader);
        assert_eq!(version.name(), "v2");
        assert_eq!(groups(&mut reader, version, 200).paths, ["/user.slice"]);
        assert_eq!(
            values(&mut reader, version, "/user.slice", "memory.stat"),
            [("anon".to_owned(), Some(7))]
        );
    }

    #[test]
    fn the_largest_numbers_of_version_1_are_no_limit() {
        let limit = |text: &str| {
            let path = "sys/fs/cgroup/memory/app/memory.limit_in_bytes";
            let (_directory, mut reader) = fake_root::reader(&[(path, text)]);
            values(&mut reader, Version::V1, "/app", "memory.limit_in_bytes")[0].1
        };
        for none in [
            "18446744073709551615\n", // 2^64-1
            "9223372036854775807\n",  // 2^63-1
            "9223372036854771712\n",  // pages of 4 KiB
            "9223372036854759424\n",  // 16 KiB
            "9223372036854710272\n",  // 64 KiB
            "8796093018112\n",        // 32 bits
        ] {
            assert_eq!(limit(none), None, "{none}");
        }
        assert_eq!(limit("8796093022208\n"), Some(8 << 40), "8 TiB is a limit");
        assert_eq!(limit("0\n"), Some(0));
        let stat = "hierarchical_memory_limit 9223372036854771712\nhierarchical_memsw_limit 4096\n";
        let (_directory, mut reader) = fake_root::reader(&[("sys/fs/cgroup/memory/app/memory.stat", stat)]);
        let limits = values(&mut reader, Version::V1, "/app", "memory.stat");
        assert_eq!(
            limits.into_iter().map(|(_, value)| value).collect::<Vec<_>>(),
            [None, Some(4096)]
        );
    }
}
