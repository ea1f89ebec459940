//! The page groups of a back end that tells pages apart: one for each service and executable, and since when the
//! interval of each process runs.

use std::collections::HashMap;
use std::sync::Arc;

use tierscope_host::names::NamePolicy;
use tierscope_pagetable::maps::Namer;
use tierscope_rootfs::Root;
use tierscope_sample::fold::{Folded, IntervalEnd, Measured};
use tierscope_sample::heat::{Backend, Granularity};
use tierscope_sample::page_group::{Census, PageGroup, PageGroupOptions, PageSize, ProcessReading};
use tierscope_sample::page_sample::{FIRST_BLOCK_NS, MAX_SAMPLED_PAGES, PageSampleOptions};
use tierscope_sample::tile_grid::EpochIds;
use tierscope_sample::vma_fold::ProcessKey;

use crate::backend::{HeatProcess, HeatSettings, is_one_interval};

/// Folds pages per service and executable.
pub(crate) struct PageGroups {
    backend: Backend,
    census: Census,
    base_page: PageSize,
    settings: HeatSettings,
    tiers: Vec<Arc<str>>,
    epoch_seeds: EpochIds,
    sample_key: [u64; 2],
    groups: HashMap<(Arc<str>, Arc<str>), PageGroup>,
    /// When the running interval of each process began.
    begun: HashMap<ProcessKey, IntervalEnd>,
    /// As `begun`, for the processes visited in this round.
    begin: HashMap<ProcessKey, IntervalEnd>,
}

impl PageGroups {
    /// No groups yet. `census` says which pages the back end lists.
    pub(crate) fn new(root: &Root, backend: Backend, census: Census, settings: &HeatSettings) -> Self {
        let mut epoch_seeds = EpochIds::new(settings.epoch_seed);
        let sample_key = [epoch_seeds.next_id(), epoch_seeds.next_id()];
        Self {
            backend,
            census,
            base_page: PageSize::of_bytes(root.page_bytes()),
            tiers: settings.tier.iter().cloned().collect(),
            settings: settings.clone(),
            epoch_seeds,
            sample_key,
            groups: HashMap::new(),
            begun: HashMap::new(),
            begin: HashMap::new(),
        }
    }

    /// As it was, with labels for several tiers.
    pub(crate) fn with_tiers(mut self, labels: &[Arc<str>]) -> Self {
        self.tiers = labels.to_vec();
        self
    }

    /// Whether the activity of a process since its last visit is that of one interval; `None` before the first visit.
    pub(crate) fn is_observed(&self, process: ProcessKey, end: IntervalEnd) -> Option<bool> {
        let began = *self.begun.get(&process)?;
        Some(is_one_interval(began, end, self.settings.interval_ns))
    }

    pub(crate) fn reading(&mut self, process: &HeatProcess, observed: bool) -> ProcessReading<'_> {
        let id = (Arc::clone(&process.service), Arc::clone(&process.group));
        let group = self.groups.entry(id).or_insert_with(|| {
            let measured = Measured {
                backend: self.backend,
                granularity: Granularity::Page,
                interval_ns: self.settings.interval_ns,
                service: Arc::clone(&process.service),
                group: Arc::clone(&process.group),
            };
            let (key, sampled_ratio) = (self.sample_key, 1.0);
            let options = PageGroupOptions {
                epoch_seed: self.epoch_seeds.next_id(),
                tiers: self.tiers.clone(),
                census: self.census,
                base_page: self.base_page,
                page_sample: Some(PageSampleOptions {
                    key,
                    sampled_ratio,
                    max_pages: MAX_SAMPLED_PAGES,
                    first_block_ns: Some(FIRST_BLOCK_NS),
                    block_origin_ns: 0,
                }),
                ..PageGroupOptions::default()
            };
            PageGroup::new(measured, options)
        });
        group.process(process.key, observed)
    }

    /// Notes that the next interval of a process has begun.
    pub(crate) fn begin(&mut self, process: ProcessKey, end: IntervalEnd) {
        self.begin.insert(process, end);
    }

    /// Ends the round: what all groups give, and the number of processes whose next interval has begun.
    pub(crate) fn finish(&mut self, end: IntervalEnd) -> (Folded, usize) {
        self.begun = std::mem::take(&mut self.begin);
        self.share_samples();
        let mut all = Folded::default();
        for group in self.groups.values_mut() {
            let folded = group.finish(end);
            all.rows.extend(folded.rows);
            all.gaps.extend(folded.gaps);
            all.tile_epochs.extend(folded.tile_epochs);
            all.tile_columns.extend(folded.tile_columns);
            all.page_samples.extend(folded.page_samples);
        }
        self.groups.retain(|_, group| !group.is_empty());
        (all, self.begun.len())
    }

    /// Gives each group of a service an equal part of the pages that the service may have in its samples.
    fn share_samples(&mut self) {
        let mut counts: HashMap<Arc<str>, usize> = HashMap::new();
        for (service, _) in self.groups.keys() {
            *counts.entry(Arc::clone(service)).or_default() += 1;
        }
        for ((service, _), group) in &mut self.groups {
            let count = counts.get(service).copied().unwrap_or(1);
            group.set_max_sampled_pages(MAX_SAMPLED_PAGES / count);
        }
    }

    /// Notes an interval without visits: the next one begins intervals and ends none.
    pub(crate) fn miss(&mut self) {
        self.begun.clear();
        self.begin.clear();
        self.groups.values_mut().for_each(PageGroup::miss);
    }
}

/// How mapped files may be called: by the policy for executables.
pub(crate) fn mapping_namer(names: NamePolicy) -> Box<Namer> {
    Box::new(move |path: &str| Arc::from(names.group(Some(path.trim_end_matches(" (deleted)")), "")))
}
