//! Heat of the listed processes by accessed bits: reads, clears and folds once per interval.
//!
//! Each visit ends an interval of a process and begins its next one. The first visit only begins one, so it shows what
//! is resident and no activity. Rules: docs/method/heat.md, "Mappings".

use std::collections::HashMap;
use std::sync::Arc;

use tierscope_host::names::NamePolicy;
use tierscope_pagetable::probe::{ProbeError, probe_referenced};
use tierscope_pagetable::referenced::{ReferencedReader, Unmeasured};
use tierscope_rootfs::Root;
use tierscope_sample::fold::{IntervalEnd, Measured};
use tierscope_sample::heat::{Backend, Granularity};
use tierscope_sample::tile_grid::EpochIds;
use tierscope_sample::vma_fold::{ProcessKey, VmaFolder};

use crate::backend::{HeatBackend, HeatProcess, HeatRound, HeatSettings, Refusal, Started, is_one_interval};

/// The name of this back end.
pub(crate) const NAME: &str = "referenced";

type GroupKey = (Arc<str>, Arc<str>);

/// Measures heat of the listed processes, round by round.
pub(crate) struct ReferencedBackend {
    settings: HeatSettings,
    reader: ReferencedReader,
    groups: HashMap<GroupKey, VmaFolder>,
    /// When the running interval of each process began.
    cleared: HashMap<ProcessKey, IntervalEnd>,
    epoch_seeds: EpochIds,
}

impl ReferencedBackend {
    /// A collector that has visited no process yet. `names` says how mapped files may be called.
    pub(crate) fn new(root: Root, settings: HeatSettings, names: NamePolicy) -> Self {
        let mapping_name =
            move |path: &str| Arc::from(names.group(Some(path.trim_end_matches(" (deleted)")), ""));
        Self {
            reader: ReferencedReader::new(root, settings.rss_limit_bytes, Box::new(mapping_name)),
            epoch_seeds: EpochIds::new(settings.epoch_seed),
            settings,
            groups: HashMap::new(),
            cleared: HashMap::new(),
        }
    }

    fn visit(&mut self, process: &HeatProcess, end: IntervalEnd) -> Result<(), Unmeasured> {
        let began = self.cleared.get(&process.key).copied();
        let observed = began.is_some_and(|began| is_one_interval(began, end, self.settings.interval_ns));
        let readings = if began.is_some() {
            let readings = self.reader.read(process.key)?;
            self.reader.clear(process.key)?;
            readings
        } else {
            // What may not be cleared need not be read.
            self.reader.clear(process.key)?;
            self.reader.read(process.key)?
        };
        self.folder(process).observe(process.key, observed, readings);
        Ok(())
    }

    fn folder(&mut self, process: &HeatProcess) -> &mut VmaFolder {
        let key = (Arc::clone(&process.service), Arc::clone(&process.group));
        let (settings, seeds) = (&self.settings, &mut self.epoch_seeds);
        self.groups.entry(key).or_insert_with(|| {
            let measured = Measured {
                backend: Backend::Referenced,
                granularity: Granularity::Vma,
                interval_ns: settings.interval_ns,
                service: Arc::clone(&process.service),
                group: Arc::clone(&process.group),
            };
            VmaFolder::new(measured, settings.tier.clone(), seeds.next_id())
        })
    }
}

impl HeatBackend for ReferencedBackend {
    fn name(&self) -> &'static str {
        NAME
    }

    fn collect(&mut self, processes: &[HeatProcess], end: IntervalEnd) -> HeatRound {
        let (cpu_before, bytes_before) = (tierscope_clock::thread_cpu_ns(), self.reader.bytes_read());
        let mut round = HeatRound::default();
        let mut cleared = HashMap::new();
        for process in processes {
            match self.visit(process, end) {
                Ok(()) => {
                    cleared.insert(process.key, end);
                }
                Err(reason) => round.skipped.push((process.clone(), reason.to_string())),
            }
        }
        round.measured = cleared.len();
        self.cleared = cleared;
        for folder in self.groups.values_mut() {
            let folded = folder.finish(end);
            round.folded.rows.extend(folded.rows);
            round.folded.tile_epochs.extend(folded.tile_epochs);
            round.folded.tile_columns.extend(folded.tile_columns);
        }
        self.groups.retain(|_, folder| !folder.is_empty());
        round.cpu_ns = tierscope_clock::thread_cpu_ns() - cpu_before;
        round.bytes_read = self.reader.bytes_read() - bytes_before;
        round
    }

    fn miss(&mut self) {
        self.cleared.clear();
        for folder in self.groups.values_mut() {
            folder.miss();
        }
    }
}

/// Tries accessed bits on this process itself.
pub(crate) fn probe(root: &Root) -> Result<(), Refusal> {
    probe_referenced(root).map_err(|error| Refusal {
        reason: error.to_string(),
        hint: hint_of(&error).to_owned(),
    })
}

/// One that has measured nothing yet.
#[allow(clippy::unnecessary_wraps, reason = "other back ends can fail here")]
pub(crate) fn make(root: &Root, settings: &HeatSettings, names: &NamePolicy) -> Started {
    Ok(Box::new(ReferencedBackend::new(
        root.clone(),
        settings.clone(),
        names.clone(),
    )))
}

fn hint_of(error: &ProbeError) -> &'static str {
    match error {
        ProbeError::Refused(Unmeasured::NotSupported) => "use a kernel with CONFIG_PROC_PAGE_MONITOR",
        ProbeError::Refused(_) => "mount /proc with its files writable for their owners",
        ProbeError::NotFollowing { .. } => {
            "another program on this host may be clearing accessed bits: end it"
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::backend::DEFAULT_RSS_LIMIT_BYTES;
    use std::path::Path;
    use tierscope_sample::heat::PageKind;

    const MINUTE_NS: i64 = 60_000_000_000;

    /// A recorded tree with one process; clearing writes to a file and changes nothing.
    fn write_process(root: &Path, pid: u32, heap_kib: (u32, u32)) {
        let directory = root.join(format!("proc/{pid}"));
        std::fs::create_dir_all(&directory).unwrap();
        let stat = format!("{pid} (server) S 1 0 0 0 -1 0 1 0 0 0 2 1 0 0 20 0 3 0 77 82 5");
        let (rss, referenced) = heap_kib;
        let smaps = format!(
            "1000000-1100000 rw-p 0 00:00 0 [heap]\nRss: {rss} kB\nPss: {rss} kB\nReferenced: {referenced} kB\n\
             2000000-2010000 r--p 0 fe:00 9 /usr/lib/libz.so\nRss: 8 kB\nPss: 8 kB\nReferenced: 0 kB\n"
        );
        for (file, text) in [("stat", stat.as_str()), ("clear_refs", ""), ("smaps", &smaps)] {
            std::fs::write(directory.join(file), text).unwrap();
        }
    }

    fn collector(root: &Path) -> ReferencedBackend {
        let settings = HeatSettings {
            interval_ns: MINUTE_NS,
            rss_limit_bytes: DEFAULT_RSS_LIMIT_BYTES,
            tier: Some(Arc::from("dram")),
            epoch_seed: 7,
            sampling: crate::backend::SamplingSettings::default(),
        };
        ReferencedBackend::new(Root::new(root), settings, NamePolicy::plain())
    }

    fn process(pid: u32) -> HeatProcess {
        let key = ProcessKey {
            pid,
            start_time_ticks: 77,
        };
        HeatProcess {
            key,
            service: Arc::from("host/shop"),
            group: Arc::from("server"),
        }
    }

    fn end(minutes: f64) -> IntervalEnd {
        let wall_ns = (minutes * MINUTE_NS as f64) as i64;
        IntervalEnd {
            wall_ns,
            boottime_ns: Some(wall_ns),
        }
    }

    #[test]
    fn the_first_visit_shows_memory_and_the_second_its_activity() {
        let directory = tempfile::tempdir().unwrap();
        write_process(directory.path(), 9, (400, 100));
        let mut collector = collector(directory.path());
        let first = collector.collect(&[process(9)], end(1.0));
        let heap = &first.folded.rows[0];
        assert_eq!(
            (heap.validity, heap.resident_bytes, heap.never_bytes[0]),
            (0, 400 << 10, 400 << 10)
        );
        assert!(first.folded.tile_columns[0].cells.iter().all(|cell| *cell == 255));
        let second = collector.collect(&[process(9)], end(2.0));
        let heap = &second.folded.rows[0];
        assert_eq!(
            (heap.validity, heap.age_bytes[0], heap.never_bytes[1]),
            (1, 100 << 10, 300 << 10)
        );
        assert_eq!(
            (heap.granularity, heap.tier.as_deref()),
            (Granularity::Vma, Some("dram"))
        );
        assert_eq!(second.measured, 1);
        assert!(second.bytes_read > 0 && second.folded.gaps.is_empty());
        assert!(second.folded.tile_epochs.is_empty(), "the rows have not changed");
        assert!(
            second.folded.tile_columns[0]
                .cells
                .iter()
                .any(|cell| (1..=250).contains(cell))
        );
    }

    #[test]
    fn dirty_bytes_are_known_of_a_row_whose_mappings_all_say_them() {
        let directory = tempfile::tempdir().unwrap();
        write_process(directory.path(), 9, (400, 100));
        let smaps = directory.path().join("proc/9/smaps");
        let said = |shared: &str, dirty: u32| format!("{shared}_Clean: 0 kB\n{shared}_Dirty: {dirty} kB\n");
        let heap = |dirty| {
            format!(
                "Rss: 400 kB\nPss: 400 kB\n{}{}",
                said("Shared", 0),
                said("Private", dirty)
            )
        };
        let text = format!(
            "1000000-1100000 rw-p 0 00:00 0 [heap]\n{}1200000-1300000 rw-p 0 00:00 0\n{}\
             2000000-2010000 r--p 0 fe:00 9 /usr/lib/libz.so\nRss: 8 kB\nPss: 8 kB\n",
            heap(300),
            heap(0)
        );
        std::fs::write(smaps, text).unwrap();
        let mut collector = collector(directory.path());
        let rows = collector.collect(&[process(9)], end(1.0)).folded.rows;
        let found: Vec<_> = rows
            .iter()
            .map(|row| (row.kind, row.beside.dirty_bytes))
            .collect();
        let expected = [(PageKind::Anon, Some(300 << 10)), (PageKind::File, None)];
        assert_eq!(found, expected, "the file's lines do not say");
    }

    #[test]
    fn a_late_visit_and_a_missed_interval_are_not_activity_of_one_interval() {
        let directory = tempfile::tempdir().unwrap();
        write_process(directory.path(), 9, (400, 100));
        let mut collector = collector(directory.path());
        collector.collect(&[process(9)], end(1.0));
        let late = collector.collect(&[process(9)], end(2.5));
        assert_eq!(
            (late.folded.rows[0].validity, late.folded.rows[0].age_bytes[0]),
            (0, 0)
        );
        let in_time = collector.collect(&[process(9)], end(3.5));
        assert_eq!(in_time.folded.rows[0].validity, 0b1);
        collector.miss();
        let begun = collector.collect(&[process(9)], end(5.5));
        assert_eq!(begun.folded.rows[0].validity, 0b100);
    }

    #[test]
    fn processes_of_a_group_are_summed_and_ended_ones_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        write_process(directory.path(), 9, (400, 100));
        write_process(directory.path(), 10, (200, 50));
        let mut collector = collector(directory.path());
        collector.collect(&[process(9), process(10)], end(1.0));
        let both = collector.collect(&[process(9), process(10)], end(2.0));
        assert_eq!(
            (
                both.folded.rows[0].resident_bytes,
                both.folded.rows[0].age_bytes[0]
            ),
            (600 << 10, 150 << 10)
        );
        std::fs::remove_dir_all(directory.path().join("proc/10")).unwrap();
        let one = collector.collect(&[process(9), process(10)], end(3.0));
        assert_eq!(one.folded.rows[0].resident_bytes, 400 << 10);
        assert_eq!(one.skipped, [(process(10), Unmeasured::Gone.to_string())]);
        let none = collector.collect(&[], end(4.0));
        assert!(none.folded.rows.is_empty() && collector.groups.is_empty());
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let refused = ProbeError::Refused(Unmeasured::NotSupported);
        assert!(refused.to_string().contains("CONFIG_PROC_PAGE_MONITOR"));
        assert!(hint_of(&refused).contains("kernel"));
    }

    #[test]
    fn a_real_process_goes_through_two_rounds() {
        let root = Root::live();
        if let Err(refusal) = probe(&root) {
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), "skipped: {}", refusal.reason);
            return;
        }
        let key = tierscope_pagetable::probe::this_process(&root).unwrap();
        let this = HeatProcess { key, ..process(0) };
        let mut collector = collector(Path::new("/"));
        collector.collect(std::slice::from_ref(&this), end(1.0));
        let round = collector.collect(&[this], end(2.0));
        assert_eq!((round.measured, round.skipped.len()), (1, 0));
        let active: i64 = round.folded.rows.iter().map(|row| row.age_bytes[0]).sum();
        let resident: i64 = round.folded.rows.iter().map(|row| row.resident_bytes).sum();
        assert!(active > 0 && active <= resident, "{active} of {resident}");
        assert!(round.cpu_ns > 0);
    }
}
