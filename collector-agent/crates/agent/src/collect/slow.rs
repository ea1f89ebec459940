//! Sources that change slowly, or that cost more than they tell every few seconds: each at a cadence of its own.

use std::collections::BTreeMap;

use tierscope_clock::SECOND_NS;
use tierscope_procfs::buddyinfo;
use tierscope_rootfs::{Missing, ReadError, Reader};
use tierscope_sysfs::{
    cxl, damon_stat, devices, hotness, huge_pages, lru_gen, memory_blocks, ratings, resctrl, zram,
};

use super::cadence::Timer;
use super::frame::{Frame, SectionId};
use super::notes::{Gone, Notes};

/// Shortest times between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowCadences {
    /// Memory bandwidth: counters of hardware, a few files per socket.
    pub bandwidth_min_ns: i64,
    /// Free blocks, huge pages, compressed swap, generations, the kernel's own activity estimate, link errors.
    pub minute_min_ns: i64,
    /// What firmware and devices say of memory, which changes when hardware does.
    pub rare_min_ns: i64,
}

impl Default for SlowCadences {
    fn default() -> Self {
        Self {
            bandwidth_min_ns: 10 * SECOND_NS,
            minute_min_ns: 60 * SECOND_NS,
            rare_min_ns: 600 * SECOND_NS,
        }
    }
}

impl SlowCadences {
    /// Every time.
    pub(super) const ALWAYS: Self = Self {
        bandwidth_min_ns: 0,
        minute_min_ns: 0,
        rare_min_ns: 0,
    };
}

/// Rare readings after which a section that was not filled is forgotten: its device or source is gone.
const FORGET_AFTER: u32 = 20;

/// Scope and source of a section.
type Place = (String, &'static str);

/// The sources, with what they remember.
#[derive(Debug, Default)]
pub(super) struct Slow {
    bandwidth: Timer,
    minute: Timer,
    rare: Timer,
    caches: resctrl::CacheNodes,
    sizes: Vec<String>,
    /// Sections that are kept while they are not due, with the rare readings since they were last filled.
    kept: BTreeMap<Place, u32>,
}

/// Generations of control groups, for the services that own them.
pub(super) type Generations = lru_gen::ByGroup;

impl Slow {
    /// Keeps the sections in the frame while they are not due.
    pub(super) fn keep(&self, frame: &mut Frame) {
        for (scope, source) in self.kept.keys() {
            frame.section(scope, source);
        }
    }

    /// Keeps these sections from now on, as those that are filled here.
    pub(super) fn remember(&mut self, scopes: impl IntoIterator<Item = String>, source: &'static str) {
        self.kept
            .extend(scopes.into_iter().map(|scope| ((scope, source), 0)));
    }

    /// Reads what is due. Generations of control groups are handed back, because services have them too.
    pub(super) fn read(
        &mut self,
        reader: &mut Reader,
        frame: &mut Frame,
        notes: &mut Notes,
        node_ids: &[u32],
        (now_ns, cadences): (i64, &SlowCadences),
    ) -> Option<Generations> {
        let mut out = Out {
            frame,
            notes,
            kept: &mut self.kept,
        };
        if self.rare.take(now_ns, cadences.rare_min_ns) {
            out.age();
            self.caches = resctrl::cache_nodes(reader, node_ids);
            self.sizes = out.note(
                "/sys/kernel/mm/transparent_hugepage",
                huge_pages::transparent_sizes(reader),
            );
            read_hardware(reader, &mut out, node_ids);
        }
        if self.bandwidth.take(now_ns, cadences.bandwidth_min_ns) {
            read_bandwidth(reader, &mut out, &self.caches);
        }
        if !self.minute.take(now_ns, cadences.minute_min_ns) {
            return None;
        }
        read_buddyinfo(reader, &mut out);
        read_huge_pages(reader, &mut out, node_ids, &self.sizes);
        read_compressed_swap(reader, &mut out);
        read_damon_stat(reader, &mut out);
        read_link_errors(reader, &mut out);
        read_generations(reader, &mut out)
    }
}

/// Where values and problems go.
struct Out<'a> {
    frame: &'a mut Frame,
    notes: &'a mut Notes,
    kept: &'a mut BTreeMap<Place, u32>,
}

impl Out<'_> {
    /// The section of a source, kept from now on.
    fn section(&mut self, scope: &str, source: &'static str) -> SectionId {
        self.kept.insert((scope.to_owned(), source), 0);
        self.frame.section(scope, source)
    }

    fn put(&mut self, section: SectionId, name: &str, value: i64) {
        self.frame.put(section, name, Some(value));
    }

    /// Takes note of a source that is not there; what it gives, or nothing.
    fn note<T: Default>(&mut self, path: &str, outcome: Result<T, Missing>) -> T {
        outcome.unwrap_or_else(|missing| {
            self.notes.gone.push(Gone {
                path: path.to_owned(),
                missing,
            });
            T::default()
        })
    }

    /// Forgets sections that have not been filled for long.
    fn age(&mut self) {
        self.kept.retain(|_, age| {
            *age += 1;
            *age <= FORGET_AFTER
        });
    }
}

fn read_hardware(reader: &mut Reader, out: &mut Out<'_>, nodes: &[u32]) {
    for node in nodes {
        let scope = format!("node:{node}");
        let mut values = Vec::new();
        ratings::accesses(reader, *node, |name, value| values.push((name.to_owned(), value)));
        put_all(out, &scope, "hmat", &values);
        values.clear();
        ratings::memory_side_caches(reader, *node, |name, value| values.push((name.to_owned(), value)));
        put_all(out, &scope, "memory_side_cache", &values);
    }
    let blocks = memory_blocks::read(reader);
    let blocks = out.note("/sys/devices/system/memory", blocks.map(Some));
    if let Some(blocks) = blocks {
        let section = out.section("host", "memory_blocks");
        out.frame.put(section, "block_bytes", blocks.block_bytes);
        out.frame.put(section, "online", blocks.online);
        out.frame.put(section, "offline", blocks.offline);
    }
    put_all(out, "host", "dax", &dax_values(&devices::dax(reader)));
    put_all(out, "host", "cxl", &region_values(&cxl::regions(reader)));
    put_all(
        out,
        "host",
        "cxl_hmu",
        &hotness_values(&hotness::instances(reader)),
    );
}

/// Instances of monitoring units by the device that has them.
fn hotness_values(instances: &[hotness::Instance]) -> Vec<(String, i64)> {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for instance in instances {
        *counts.entry(&instance.device).or_default() += 1;
    }
    let named = counts.into_iter();
    named
        .map(|(device, count)| (format!("instances[{device}]"), count))
        .collect()
}

/// Values of a source that has none on most hosts: no values, no section.
fn put_all(out: &mut Out<'_>, scope: &str, source: &'static str, values: &[(String, i64)]) {
    if values.is_empty() {
        return;
    }
    let section = out.section(scope, source);
    for (name, value) in values {
        out.put(section, name, *value);
    }
}

fn dax_values(devices: &[devices::Dax]) -> Vec<(String, i64)> {
    let mut values = Vec::new();
    for dax in devices {
        let mut put = |name: &str, value: Option<i64>| {
            values.extend(value.map(|value| (format!("{name}[{}]", dax.name), value)));
        };
        put("size", dax.size_bytes.and_then(|bytes| i64::try_from(bytes).ok()));
        put("target_node", dax.target_node.map(i64::from));
        // A recording without links does not say which driver has the device.
        let is_kmem = dax.driver.as_deref().map(|driver| i64::from(driver == "kmem"));
        put("is_system_ram", is_kmem.or(dax.device_path.as_ref().map(|_| 0)));
    }
    values
}

fn region_values(regions: &[cxl::Region]) -> Vec<(String, i64)> {
    let mut values = Vec::new();
    for region in regions {
        let mut put = |name: &str, value: Option<i64>| {
            values.extend(value.map(|value| (format!("{name}[{}]", region.name), value)));
        };
        put(
            "region_size",
            region.size_bytes.and_then(|bytes| i64::try_from(bytes).ok()),
        );
        put("region_interleave_ways", region.interleave_ways.map(i64::from));
        put(
            "region_interleave_granularity_bytes",
            region.interleave_granularity_bytes.map(i64::from),
        );
        put("region_committed", region.committed.map(i64::from));
    }
    values
}

fn read_link_errors(reader: &mut Reader, out: &mut Out<'_>) {
    let mut values = Vec::new();
    for device in cxl::memory(reader) {
        let errors = device.pci.map(|pci| pci.errors).unwrap_or_default();
        for (name, count) in [
            ("aer_correctable", errors.correctable),
            ("aer_nonfatal", errors.nonfatal),
            ("aer_fatal", errors.fatal),
        ] {
            let count = count.and_then(|count| i64::try_from(count).ok());
            values.extend(count.map(|count| (format!("{name}[{}]", device.name), count)));
        }
    }
    put_all(out, "host", "cxl", &values);
}

fn read_bandwidth(reader: &mut Reader, out: &mut Out<'_>, caches: &resctrl::CacheNodes) {
    let by_node = resctrl::bandwidth(reader, caches);
    for (node, values) in out.note("/sys/fs/resctrl/mon_data", by_node) {
        let section = out.section(&format!("node:{node}"), "resctrl");
        for (name, value) in resctrl::FILES.into_iter().zip(values) {
            out.frame.put(section, name, value);
        }
    }
}

fn read_buddyinfo(reader: &mut Reader, out: &mut Out<'_>) {
    let outcome = buddyinfo::read(reader, |node, zone, order, blocks| {
        let section = out.section(&format!("zone:{node}/{zone}"), "buddyinfo");
        out.put(section, &format!("free_blocks[{order}]"), blocks);
    });
    out.notes.take("/proc/buddyinfo", outcome);
}

fn read_huge_pages(reader: &mut Reader, out: &mut Out<'_>, nodes: &[u32], sizes: &[String]) {
    for node in nodes {
        let mut values = Vec::new();
        let outcome = huge_pages::pools(reader, *node, |name, value| values.push((name.to_owned(), value)));
        let scope = format!("node:{node}");
        out.note(&format!("/sys/devices/system/node/node{node}/hugepages"), outcome);
        put_all(out, &scope, "hugepages", &values);
    }
    for size in sizes {
        let mut values = Vec::new();
        let outcome =
            huge_pages::transparent_stats(reader, size, |name, value| values.push((name.to_owned(), value)));
        let path = format!("/sys/kernel/mm/transparent_hugepage/hugepages-{size}/stats");
        out.note(&path, outcome);
        put_all(out, "host", "thp_stats", &values);
    }
}

fn read_compressed_swap(reader: &mut Reader, out: &mut Out<'_>) {
    let devices = zram::devices(reader);
    for device in out.note("/sys/block", devices) {
        let mut values = Vec::new();
        zram::stats(reader, &device, |name, value| {
            values.push((name.to_owned(), value));
        });
        put_all(out, "host", "zram", &values);
    }
    let mut values = Vec::new();
    let outcome = zram::zswap(reader, |name, value| values.push((name.to_owned(), value)));
    out.note("/sys/kernel/debug/zswap", outcome);
    put_all(out, "host", "zswap", &values);
}

fn read_damon_stat(reader: &mut Reader, out: &mut Out<'_>) {
    let enabled = damon_stat::enabled(reader);
    if out.note("/sys/module/damon_stat/parameters", enabled) {
        let section = out.section("host", "damon_stat");
        damon_stat::read(reader, |name, value| out.put(section, name, value));
    }
}

/// Sums over all control groups for the host; the groups are handed back.
fn read_generations(reader: &mut Reader, out: &mut Out<'_>) -> Option<Generations> {
    let groups: Result<Result<Generations, ReadError>, Missing> = lru_gen::read(reader);
    let groups = match groups {
        Ok(Ok(groups)) => groups,
        Ok(Err(_)) => return None,
        Err(missing) => {
            out.note("/sys/kernel/debug/lru_gen", Err::<(), _>(missing));
            return None;
        }
    };
    let mut sums: BTreeMap<u32, lru_gen::IdlePages> = BTreeMap::new();
    for ((_, node), pages) in &groups {
        sums.entry(*node).or_default().add(pages);
    }
    let section = out.section("host", "lru_gen");
    for (node, pages) in sums {
        put_idle_pages(out.frame, section, node, &pages);
    }
    Some(groups)
}

/// Writes the idle pages of one node: `anon_idle_60s[N0]` and its kin.
pub(super) fn put_idle_pages(frame: &mut Frame, section: SectionId, node: u32, pages: &lru_gen::IdlePages) {
    for (kind, values) in [("anon", &pages.anon), ("file", &pages.file)] {
        for (seconds, value) in lru_gen::IDLE_SECONDS.iter().zip(values) {
            frame.put(section, &format!("{kind}_idle_{seconds}s[N{node}]"), Some(*value));
        }
    }
}
