//! Heat of single pages by idle page tracking, on kernels that have it. Rules: docs/method/page-bits.md.

use tierscope_host::names::NamePolicy;
use tierscope_pagetable::idle::{IdleError, IdleReader, probe_idle};
use tierscope_pagetable::mappings::Namer;
use tierscope_pagetable::placement::Placement;
use tierscope_pagetable::process::Unmeasured;
use tierscope_rootfs::Root;
use tierscope_sample::heat::Backend;

use crate::backend::{HeatProcess, HeatSettings, Refusal, Started};
use crate::page_groups::PageGroups;
use crate::page_walk::{PageReader, PageWalk};

/// The name of this back end.
pub(crate) const NAME: &str = "idle_page";

/// Measures which pages were touched since they were marked idle.
pub(crate) type IdlePageBackend = PageWalk<IdleReader>;

impl PageReader for IdleReader {
    const NAME: &str = NAME;
    const BACKEND: Backend = Backend::IdlePage;
    type Error = IdleError;

    fn open(root: &Root, rss_limit_bytes: u64, namer: Box<Namer>) -> Result<Self, IdleError> {
        Self::new(root, rss_limit_bytes, namer, Placement::default())
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_read()
    }

    fn set_placement(&mut self, placement: Placement) {
        self.set_placement(placement);
    }

    fn visit(
        &mut self,
        groups: &mut PageGroups,
        process: &HeatProcess,
        observed: Option<bool>,
    ) -> Result<(), Unmeasured> {
        let mut reading = groups.reading(process, observed == Some(true));
        self.read_and_mark(process.key, |mapping, pages| reading.mapping(mapping, pages))
    }
}

/// Tries idle marks on this process itself.
pub(crate) fn probe(root: &Root) -> Result<(), Refusal> {
    probe_idle(root).map_err(|error| refusal(&error))
}

/// One that has measured nothing yet.
pub(crate) fn make(root: &Root, settings: &HeatSettings, names: &NamePolicy) -> Started {
    let backend = IdlePageBackend::new(root, settings, names.clone()).map_err(|error| refusal(&error))?;
    Ok(Box::new(backend))
}

fn refusal(error: &IdleError) -> Refusal {
    let hint = match error {
        IdleError::NotSupported => "use a kernel with CONFIG_IDLE_PAGE_TRACKING, or another back end",
        IdleError::Refused { .. } => "give the agent CAP_SYS_ADMIN, or run it as root",
        _ => "use another back end",
    };
    Refusal {
        reason: error.to_string(),
        hint: hint.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::backend::{DEFAULT_RSS_LIMIT_BYTES, HeatBackend as _};
    use std::path::Path;
    use std::sync::Arc;
    use tierscope_sample::fold::IntervalEnd;
    use tierscope_sample::vma_fold::ProcessKey;

    const MINUTE_NS: i64 = 60_000_000_000;
    const BITMAP: &str = "sys/kernel/mm/page_idle/bitmap";
    const PRESENT: u64 = 1 << 63;

    /// A recorded host with one process of two pages, in the frames 3 and 4.
    fn write_host(root: &Path, page_bytes: u64) {
        let write = |path: &str, bytes: &[u8]| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        };
        let words = |words: &[u64]| -> Vec<u8> { words.iter().flat_map(|word| word.to_ne_bytes()).collect() };
        write(
            "proc/9/stat",
            b"9 (a) S 1 0 0 0 -1 0 1 0 0 0 2 1 0 0 20 0 3 0 77 82 5",
        );
        let mapped = format!("{:x}-{:x}", 2 * page_bytes, 4 * page_bytes);
        write(
            "proc/9/maps",
            format!("{mapped} rw-p 00000000 00:00 0 [heap]\n").as_bytes(),
        );
        write("proc/9/pagemap", &words(&[0, 0, PRESENT | 3, PRESENT | 4]));
        write("proc/kpageflags", &words(&[1 << 5; 64]));
        write(BITMAP, &words(&[0]));
    }

    fn end(minutes: i64) -> IntervalEnd {
        IntervalEnd {
            wall_ns: minutes * MINUTE_NS,
            boottime_ns: Some(minutes * MINUTE_NS),
        }
    }

    #[test]
    fn pages_of_every_size_grow_old_while_their_marks_stay() {
        for page_bytes in [4096, 16384, 65536] {
            grow_old(page_bytes);
        }
    }

    fn grow_old(page_bytes: u32) {
        let directory = tempfile::tempdir().unwrap();
        write_host(directory.path(), u64::from(page_bytes));
        let bytes = i64::from(page_bytes);
        let settings = HeatSettings {
            interval_ns: MINUTE_NS,
            rss_limit_bytes: DEFAULT_RSS_LIMIT_BYTES,
            tier: Some(Arc::from("dram")),
            epoch_seed: 7,
            sampling: crate::backend::SamplingSettings::default(),
        };
        let root = Root::new(directory.path()).with_page_bytes(u64::from(page_bytes));
        let mut backend = IdlePageBackend::new(&root, &settings, NamePolicy::plain()).unwrap();
        let this = HeatProcess {
            key: ProcessKey {
                pid: 9,
                start_time_ticks: 77,
            },
            service: Arc::from("host/shop"),
            group: Arc::from("server"),
        };
        let processes = std::slice::from_ref(&this);
        let first = backend.collect(processes, end(1));
        assert_eq!((first.measured, first.folded.rows[0].validity), (1, 0));
        // An access takes the mark of frame 4 away.
        std::fs::write(directory.path().join(BITMAP), (1_u64 << 3).to_ne_bytes()).unwrap();
        let second = backend.collect(processes, end(2));
        let row = &second.folded.rows[0];
        assert_eq!(
            (row.validity, row.backend, row.resident_bytes, row.page_size_bytes),
            (1, Backend::IdlePage, 2 * bytes, page_bytes)
        );
        assert_eq!((row.age_bytes[0], row.tier.as_deref()), (bytes, Some("dram")));
        let third = backend.collect(processes, end(3));
        assert_eq!(
            (
                third.folded.rows[0].age_bytes[0],
                third.folded.rows[0].age_bytes[1]
            ),
            (0, bytes)
        );
        let other = HeatProcess {
            key: ProcessKey { pid: 10, ..this.key },
            ..this
        };
        let gone = backend.collect(&[other], end(4));
        assert_eq!((gone.measured, gone.skipped.len()), (0, 1));
        assert!(gone.folded.rows.is_empty());
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let refusal = probe(&Root::new(directory.path())).unwrap_err();
        assert!(refusal.reason.contains("CONFIG_IDLE_PAGE_TRACKING"));
        assert!(refusal.hint.contains("another back end"));
    }
}
