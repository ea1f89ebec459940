//! The walk over the pages of the listed processes, whatever shows their accesses: one visit a process and interval, folded
//! page by page.

use tierscope_host::names::NamePolicy;
use tierscope_pagetable::mappings::Namer;
use tierscope_pagetable::placement::Placement;
use tierscope_pagetable::process::Unmeasured;
use tierscope_rootfs::Root;
use tierscope_sample::fold::IntervalEnd;
use tierscope_sample::heat::Backend;
use tierscope_sample::page_group::Census;

use crate::backend::{HeatBackend, HeatProcess, HeatRound, HeatSettings};
use crate::page_groups::{PageGroups, mapping_namer};
use crate::tiers::Tiers;

/// Shows which pages of a process were accessed.
pub(crate) trait PageReader: Sized {
    /// Name of the back end that it serves.
    const NAME: &str;
    /// The back end in rows of heat.
    const BACKEND: Backend;
    type Error;

    /// One for processes of up to `rss_limit_bytes`; `namer` says how mapped files may be called.
    fn open(root: &Root, rss_limit_bytes: u64, namer: Box<Namer>) -> Result<Self, Self::Error>;

    /// Bytes read from `/proc` so far.
    fn bytes_read(&self) -> u64;

    /// Takes what is known now of where memory lies.
    fn set_placement(&mut self, placement: Placement);

    /// What stands in the way of exactness in intervals of `interval_s` seconds, in words. An error says why nobody can be
    /// measured now.
    fn obstacle(&mut self, _interval_s: f64) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// Reads what a process touched in the interval that ends, and begins its next one. `observed` says whether its pages
    /// were watched for a whole interval; `None` at the first visit, which shows what is resident and no activity.
    fn visit(
        &mut self,
        groups: &mut PageGroups,
        process: &HeatProcess,
        observed: Option<bool>,
    ) -> Result<(), Unmeasured>;
}

/// The back end over a reader of pages.
pub(crate) struct PageWalk<R> {
    reader: R,
    groups: PageGroups,
    tiers: Tiers,
    interval_s: f64,
}

impl<R: PageReader> PageWalk<R> {
    /// One that has visited no process yet. `names` says how mapped files may be called.
    pub(crate) fn new(root: &Root, settings: &HeatSettings, names: NamePolicy) -> Result<Self, R::Error> {
        let tiers = Tiers::read(root, settings);
        let reader = R::open(root, settings.rss_limit_bytes, mapping_namer(names))?;
        let groups = PageGroups::new(root, R::BACKEND, Census::Full, settings);
        Ok(Self {
            reader,
            groups: groups.with_tiers(tiers.labels()),
            tiers,
            interval_s: settings.interval_ns as f64 / 1e9,
        })
    }

    fn visit(&mut self, process: &HeatProcess, end: IntervalEnd) -> Result<(), Unmeasured> {
        let observed = self.groups.is_observed(process.key, end);
        self.reader.visit(&mut self.groups, process, observed)?;
        self.groups.begin(process.key, end);
        Ok(())
    }

    /// Skips everybody: what was touched is not known.
    fn skip_all(&mut self, processes: &[HeatProcess], reason: &str) -> HeatRound {
        self.groups.miss();
        let skipped = processes
            .iter()
            .map(|process| (process.clone(), reason.to_owned()));
        HeatRound {
            skipped: skipped.collect(),
            ..HeatRound::default()
        }
    }
}

impl<R: PageReader> HeatBackend for PageWalk<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn collect(&mut self, processes: &[HeatProcess], end: IntervalEnd) -> HeatRound {
        let (cpu_before, bytes_before) = (tierscope_clock::thread_cpu_ns(), self.reader.bytes_read());
        let note = match self.reader.obstacle(self.interval_s) {
            Ok(note) => note,
            Err(reason) => return self.skip_all(processes, &reason),
        };
        self.reader.set_placement(self.tiers.placement());
        let mut round = HeatRound {
            note,
            ..HeatRound::default()
        };
        for process in processes {
            if let Err(reason) = self.visit(process, end) {
                round.skipped.push((process.clone(), reason.to_string()));
            }
        }
        (round.folded, round.measured) = self.groups.finish(end);
        round.cpu_ns = tierscope_clock::thread_cpu_ns() - cpu_before;
        round.bytes_read = self.reader.bytes_read() - bytes_before;
        round
    }

    fn miss(&mut self) {
        self.groups.miss();
    }
}
