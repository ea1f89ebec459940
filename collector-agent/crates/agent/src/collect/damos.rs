//! Statistics of DAMON's schemes, as long as somebody refreshes them.

use std::collections::BTreeMap;

use tierscope_clock::SECOND_NS;
use tierscope_rootfs::Reader;
use tierscope_sysfs::damos::{self, STATS, Scheme};

use super::frame::Frame;
use super::notes::{Gone, Notes};

/// Statistics that have not changed for so long, and that the kernel does not refresh by itself, say nothing of now.
const STALE_NS: i64 = 600 * SECOND_NS;

/// What schemes said before.
#[derive(Debug, Default)]
pub(super) struct Damos {
    seen: BTreeMap<String, Seen>,
}

#[derive(Debug)]
struct Seen {
    stats: [Option<i64>; STATS.len()],
    /// When they were seen to change; `None` before that.
    changed_ns: Option<i64>,
}

impl Damos {
    /// Puts the statistics of schemes whose kernel thread is on. Those that may be old have no value.
    pub(super) fn read(&mut self, reader: &mut Reader, frame: &mut Frame, notes: &mut Notes, now_ns: i64) {
        let schemes = match damos::schemes(reader) {
            Ok(schemes) => schemes,
            Err(missing) => {
                notes.gone.push(Gone {
                    path: "/sys/kernel/mm/damon/admin/kdamonds".to_owned(),
                    missing,
                });
                return;
            }
        };
        if schemes.is_empty() && self.seen.is_empty() {
            return;
        }
        let labels: Vec<String> = schemes.iter().map(Scheme::label).collect();
        let section = frame.section("host", "damos");
        if self.seen.keys().any(|label| !labels.contains(label)) {
            // A sum over schemes would lack the one that is gone for good.
            frame.clear(section);
            self.seen.retain(|label, _| labels.contains(label));
        }
        for (scheme, label) in schemes.iter().zip(labels) {
            let is_fresh = self.is_fresh(scheme, &label, now_ns);
            for (name, value) in STATS.into_iter().zip(scheme.stats) {
                if value.is_some() {
                    frame.put(section, &format!("{name}[{label}]"), value.filter(|_| is_fresh));
                }
            }
            let refreshed = i64::from(scheme.is_refreshed);
            frame.put(section, &format!("stats_refreshed[{label}]"), Some(refreshed));
        }
    }

    /// Whether the statistics of a scheme say something of now.
    fn is_fresh(&mut self, scheme: &Scheme, label: &str, now_ns: i64) -> bool {
        let seen = self.seen.entry(label.to_owned()).or_insert(Seen {
            stats: scheme.stats,
            changed_ns: None,
        });
        if seen.stats != scheme.stats {
            (seen.stats, seen.changed_ns) = (scheme.stats, Some(now_ns));
        }
        let is_recent = seen
            .changed_ns
            .is_some_and(|changed_ns| (0..=STALE_NS).contains(&(now_ns - changed_ns)));
        scheme.is_refreshed || is_recent
    }
}
