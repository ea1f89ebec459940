//! What a field kit says of itself: its README, and the manifest for programs.

use serde::Serialize;
use tierscope_host::collectors;
use tierscope_sample::inventory::Inventory;

use crate::explain::PageSource;

/// Schema of the manifest; readers know a kit by it.
pub(crate) const SCHEMA: &str = "tierscope.field-kit/1";

/// First member of every kit.
pub(crate) const README: &str = "\
Tierscope field kit
===================

One recording of one host, made by `tierscope-agent fieldkit`. Look at it before you send it:

    tar --zstd -xf KIT.tar.zst

Member                  What it is
README.txt              this text
manifest.json           when it was recorded, how it ended, what is missing and why
doctor.json             what stands in the way of good memory tiering on this host
inventory.json          the host: processors, nodes of memory with their tiers, CXL devices, settings, collectors
<time>/                 one snapshot of the kernel's counters and settings, by its Unix time: copies of files in /proc and
                        /sys that belong to the host as a whole
batches/*.pb.zst        what a running agent would have uploaded, batch by batch (protobuf, zstd)
batches/texts.txt       every text in the batches, each once, so that you can read them without a program
samples/perf.data       only if you asked for it with --perf: some seconds of `perf mem record`

What is personal
----------------
- inventory.json and batches: names of services, control groups and of executables under system paths; other paths as a
  hash with a key that stays on the host. batches/texts.txt lists all of them. Serial numbers of CXL devices. The line
  of /proc/version, which names who built the kernel.
- <time>/: kernel release and boot id; the first one: /proc/cpuinfo. No process, no user, no path of a user.
- samples/perf.data: names of all programs and of the files that they map, process ids, virtual addresses. It is not
  redacted: that is why you have to ask for it.
- The host is called `field-kit` unless you gave --hostname.
Never in a kit: contents of memory or files, command lines, environments, machine id.

What it is good for
-------------------
    tierscope analyze KIT.tar.zst                            ledger of tier moves and verdict, without a database
    tierscope import field-kit KIT.tar.zst --host NAME       into an instance, marked as imported
";

/// How a kit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EndedBy {
    /// The time that was asked for was over.
    Time,
    /// Somebody interrupted it.
    Signal,
    /// It had reached its largest size.
    Size,
}

/// Something that the kit lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Missing {
    pub(crate) what: String,
    pub(crate) reason: String,
    /// What would bring it; "" where nothing is known to.
    pub(crate) hint: String,
}

/// `manifest.json`. Fields are only added.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Manifest {
    pub(crate) schema: &'static str,
    pub(crate) agent_version: &'static str,
    /// RFC 3339.
    pub(crate) began: String,
    /// RFC 3339.
    pub(crate) ended: String,
    pub(crate) began_wall_ns: i64,
    pub(crate) ended_wall_ns: i64,
    pub(crate) interval_seconds: u32,
    pub(crate) ended_by: EndedBy,
    /// Whether the running host was recorded; else a tree of files.
    pub(crate) live: bool,
    /// Whether root recorded it.
    pub(crate) as_root: bool,
    pub(crate) snapshots: u64,
    pub(crate) batches: u64,
    /// The back end that measured heat last; null where none did.
    pub(crate) heat_backend: Option<&'static str>,
    pub(crate) missing: Vec<Missing>,
}

/// What the collectors of the host could not do. Of back ends of heat the inventory says what the last interval did with
/// them; what keeps them from measuring here is in `pages`.
pub(crate) fn missing_of(inventory: &Inventory, pages: &PageSource) -> Vec<Missing> {
    let is_backend = |name: &str| collectors::facts(name).is_some_and(|facts| facts.is_backend);
    let inactive = inventory
        .collectors
        .iter()
        .filter(|collector| !collector.active && !is_backend(&collector.name));
    let refused = pages.passed_over.iter().map(|other| Missing {
        what: other.name.to_owned(),
        reason: other.reason.clone(),
        hint: other.hint.clone(),
    });
    inactive
        .map(|collector| Missing {
            what: collector.name.clone(),
            reason: collector.reason.clone(),
            hint: collector.enable_hint.clone(),
        })
        .chain(refused)
        .collect()
}
