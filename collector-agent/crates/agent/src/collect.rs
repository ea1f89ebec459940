//! One full reading of a host: every counter from one root, and what the host is.
//!
//! The collector keeps its buffers and its list of names, so that a reading whose names are those of the time before
//! allocates next to nothing. Costly files have a cadence of their own: what is not read has no value, never the old one.

mod cadence;
mod config;
mod damos;
mod frame;
mod groups;
mod host;
mod notes;
mod processes;
mod slow;

use std::collections::BTreeSet;
use std::sync::Arc;

use tierscope_host::services::{Discovered, FoundService, Rules, Walker};
use tierscope_rootfs::{ReadError, Reader, Root};
use tierscope_sample::counters::CounterSample;
use tierscope_sample::placement::NodeClasses;
use tierscope_sysfs::cgroup::{Groups, Version};
use tierscope_sysfs::node_classes::node_classes;

use crate::doctor::LinkErrors;
use cadence::{Backoff, Timer};
use damos::Damos;
use frame::Frame;
use processes::{Rounds, Scene};
use slow::{Generations, Slow};

pub use cadence::Rescan;
pub use config::{CollectorConfig, ProcessFiles};
use notes::Notes;
pub use notes::{Dropped, Gone};
pub use processes::largest as largest_processes;
pub use slow::SlowCadences;

/// When a reading was made, by the host's clocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// `CLOCK_REALTIME` in nanoseconds since the Unix epoch.
    pub wall_ns: i64,
    /// `CLOCK_BOOTTIME` in nanoseconds, where known.
    pub boottime_ns: Option<i64>,
    /// The kernel's boot id, or "".
    pub boot_id: Arc<str>,
}

/// One reading.
#[derive(Debug)]
pub struct Collected {
    /// All counters.
    pub sample: CounterSample,
    /// Files of the host and its nodes that gave nothing, and files of groups that may not be read.
    pub gone: Vec<Gone>,
    /// Lines that could not be understood.
    pub problems: Vec<ReadError>,
    /// What limits left out.
    pub dropped: Dropped,
}

/// Reads a host again and again.
#[derive(Debug)]
pub struct Collector {
    config: CollectorConfig,
    rules: Rules,
    reader: Reader,
    frame: Frame,
    walker: Walker,
    discovered: Discovered,
    /// Services that have counters of their own: those of the last rescan, so that the layout holds in between.
    services: Vec<FoundService>,
    nodes: Vec<u32>,
    /// Classes of the nodes' memory, as of the last rescan.
    classes: NodeClasses,
    /// Scopes of services whose placement is known from their control groups.
    placed: BTreeSet<String>,
    version: Version,
    groups: Groups,
    absent_files: Vec<u32>,
    rescan: Backoff,
    walk: Timer,
    zoneinfo: Timer,
    schemes: Timer,
    group_files: Timer,
    rounds: Rounds,
    slow: Slow,
    damos: Damos,
    link_errors: LinkErrors,
}

impl Collector {
    /// A collector of the host beneath `root`.
    pub fn new(root: Root, config: CollectorConfig, rules: Rules) -> Self {
        Self {
            frame: Frame::new(config.max_names),
            reader: Reader::new(root),
            walker: Walker::default(),
            discovered: Discovered::default(),
            services: Vec::new(),
            nodes: Vec::new(),
            classes: NodeClasses::new(),
            placed: BTreeSet::new(),
            version: Version::None,
            groups: Groups::default(),
            absent_files: Vec::new(),
            rescan: Backoff::new(config.rescan),
            walk: Timer::default(),
            zoneinfo: Timer::default(),
            schemes: Timer::default(),
            group_files: Timer::default(),
            rounds: Rounds::default(),
            slow: Slow::default(),
            damos: Damos::default(),
            link_errors: LinkErrors::default(),
            config,
            rules,
        }
    }

    /// Goes on with another root: the next snapshot of a recording. Names stay, so that layouts do.
    pub fn set_root(&mut self, root: Root) {
        self.reader = Reader::new(root);
        self.walker.forget();
    }

    /// Services and processes as of the last rescan.
    pub fn discovered(&self) -> &Discovered {
        &self.discovered
    }

    /// The rules by which processes are named.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The reader of the root, for what else is to be read beneath it.
    pub fn reader(&mut self) -> &mut Reader {
        &mut self.reader
    }

    /// The reader, and what is remembered of errors of links between two descriptions of the host.
    pub(crate) fn reader_and_errors(&mut self) -> (&mut Reader, &mut LinkErrors) {
        (&mut self.reader, &mut self.link_errors)
    }

    /// Reads everything that is due.
    pub fn collect(&mut self, stamp: Stamp) -> Collected {
        let mut notes = Notes::default();
        let now_ns = stamp.boottime_ns.unwrap_or(stamp.wall_ns);
        if self.config.services && self.walk.take(now_ns, self.config.rescan.walk_min_ns) {
            self.discovered = self.walker.walk(&mut self.reader, &self.rules);
        }
        if self.rescan.take(now_ns) {
            let changed = self.look_again();
            self.rescan.settle(changed);
        }
        self.frame.begin();
        host::read_host(&mut self.reader, &mut self.frame, &mut notes);
        host::read_nodes(&mut self.reader, &mut self.frame, &mut notes, &self.nodes);
        if self.schemes.take(now_ns, self.config.schemes_min_ns) {
            self.damos
                .read(&mut self.reader, &mut self.frame, &mut notes, now_ns);
        }
        if self.zoneinfo.take(now_ns, self.config.zoneinfo_min_ns) {
            host::read_zones(&mut self.reader, &mut self.frame, &mut notes);
        }
        let generations = self.slow.read(
            &mut self.reader,
            &mut self.frame,
            &mut notes,
            &self.nodes,
            (now_ns, &self.config.slow),
        );
        if self.group_files.take(now_ns, self.config.groups_min_ns) {
            self.read_groups(&mut notes);
        }
        self.put_generations(generations.as_ref());
        self.read_processes(now_ns);
        let dropped = Dropped {
            names: self.frame.refused(),
            cgroups: self.groups.dropped,
            services: self.discovered.dropped,
        };
        host::put_limits(&mut self.frame, dropped);
        let sample = CounterSample {
            end_wall_ns: stamp.wall_ns,
            end_boottime_ns: stamp.boottime_ns,
            boot_id: stamp.boot_id,
            values: self.frame.finish(),
        };
        Collected {
            sample,
            gone: notes.gone,
            problems: self.reader.take_problems(),
            dropped,
        }
    }

    /// Looks for nodes, groups and services; whether any came or went.
    fn look_again(&mut self) -> bool {
        let nodes = tierscope_sysfs::nodes::ids(&mut self.reader).unwrap_or_default();
        let version = tierscope_sysfs::cgroup::detect(&mut self.reader);
        let groups = tierscope_sysfs::cgroup::groups(&mut self.reader, version, self.config.max_cgroups);
        let same_services = self.services.iter().map(|service| &service.id).eq(self
            .discovered
            .services
            .iter()
            .map(|service| &service.id));
        let changed = !same_services || nodes != self.nodes || groups != self.groups;
        self.absent_files = vec![0; groups.paths.len()];
        self.services.clone_from(&self.discovered.services);
        (self.nodes, self.version, self.groups) = (nodes, version, groups);
        self.classes = node_classes(&mut self.reader, &self.nodes);
        self.slow.keep(&mut self.frame);
        self.frame.forget_unused();
        changed
    }

    fn read_processes(&mut self, now_ns: i64) {
        let Some(limits) = self.config.process_files else {
            return;
        };
        Rounds::keep(&mut self.frame, &self.services);
        let scene = Scene {
            discovered: &self.discovered,
            services: &self.services,
            classes: &self.classes,
            placed: &self.placed,
            limits,
        };
        self.rounds
            .read(&mut self.reader, &mut self.frame, &scene, now_ns);
    }

    fn read_groups(&mut self, notes: &mut Notes) {
        let plan = groups::Plan::new(
            self.version,
            &self.groups,
            &self.services,
            &self.classes,
            self.config.max_names,
        );
        self.placed = groups::read(
            &mut self.reader,
            &mut self.frame,
            notes,
            &plan,
            &mut self.absent_files,
        );
    }

    /// Writes the generations of services when they were read.
    fn put_generations(&mut self, generations: Option<&Generations>) {
        if let Some(generations) = generations {
            let plan = groups::Plan::new(
                self.version,
                &self.groups,
                &self.services,
                &self.classes,
                self.config.max_names,
            );
            let scopes = groups::put_generations(&mut self.frame, &plan, generations);
            self.slow.remember(scopes, "lru_gen");
        }
    }
}

#[cfg(test)]
mod tests;
