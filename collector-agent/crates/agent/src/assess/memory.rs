//! How much memory is cold, as far as a reading without root can tell: bounds, never a guess between them.
//!
//! *Cold* is memory that nobody touched for two minutes, the window over which TPP (ASPLOS 2023, section 2) finds 55 to
//! 80 % of allocated memory idle. The kernel keeps an accessed bit per page and clears it when reclaim looks at the page.
//! So the bits bound coldness from one side, by how often reclaim looks:
//!
//! - rarely (a page's turn comes less often than every two minutes): what is not referenced was not touched for at least
//!   that long, so it is cold. That bounds cold memory from below.
//! - often: what is referenced was touched since the last look. That bounds it from above.
//!
//! The bit is set when a page is mapped (`mm/memory.c`, `do_anonymous_page`), so a clear one was cleared by somebody:
//! reclaim, or a writer of `clear_refs`, idle page tracking, DAMON. Where reclaim looked at fewer pages since boot than
//! have clear bits, somebody else clears them at a pace that nothing tells, and there is no bound from below.
//!
//! Only private memory counts, because shared pages appear in several processes. Sizes of the active and inactive lists
//! bound nothing: without reclaim nobody ages them (`mm/vmscan.c`, `shrink_active_list`).

use serde::Serialize;

use super::observed::Host;
use super::stock::Stock;
use crate::inventory::container_view::MOVABLE;

/// Memory that was not touched for this long is cold.
pub(super) const COLD_SECONDS: f64 = 120.0;
/// Readings over less than this say how it is now, not how it is.
const STEADY_SECONDS: f64 = 600.0;
/// How often reclaim looked at a page: on the inactive list, and on the active one.
const LOOKS: [&str; 5] = [
    "pgscan_kswapd",
    "pgscan_direct",
    "pgscan_khugepaged",
    "pgscan_proactive",
    "pgrefill",
];

/// Two bounds, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Bounds {
    pub(super) lo: i64,
    pub(super) hi: i64,
}

/// A figure that is only bounded, with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Figure {
    pub(super) unit: &'static str,
    /// Always `None`: nothing here measures the figure itself.
    pub(super) value: Option<i64>,
    /// What it lies between, by the method.
    pub(super) interval: Bounds,
    pub(super) method: String,
    pub(super) window_seconds: f64,
    pub(super) readings: usize,
    pub(super) grade: &'static str,
    /// Why there is no value.
    pub(super) reason: &'static str,
}

/// Memory of a host, and what is cold in its fastest tier.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Memory {
    #[serde(flatten)]
    pub(super) stock: Stock,
    /// Processes whose accessed bits were read, and all of them.
    pub(super) processes_read: usize,
    pub(super) processes: usize,
    pub(super) cold: Figure,
    pub(super) active: Figure,
    /// The least DRAM that holds what cannot move and keeps active memory at most half of it.
    pub(super) dram_needed: Figure,
    pub(super) dram_saving: Figure,
}

/// Memory at the reading with the most of it in use; else why nothing can be said of it.
pub(super) fn judge(host: &Host) -> Result<Memory, String> {
    let at = host.fullest();
    if let Some(problem) = at.inventory.topology_problems().next() {
        // A tier or a node that cannot be read would count as DRAM.
        return Err(format!("{} cannot be read: {}", problem.path, problem.reason));
    }
    let stock = Stock::of(at)?;
    let movable_bytes = stock.movable_bytes;
    let seen = Seen::of(host, movable_bytes);
    let cold = seen.cold_bytes(movable_bytes);
    let fixed_bytes = stock.used_bytes - movable_bytes;
    let needed = |active_bytes: i64, beside_bytes: i64| (2 * active_bytes).max(active_bytes + beside_bytes);
    let active = Bounds {
        lo: movable_bytes - cold.hi,
        hi: movable_bytes - cold.lo,
    };
    let dram_needed = Bounds {
        lo: needed(active.lo, fixed_bytes - stock.shrinkable_bytes),
        hi: needed(active.hi, fixed_bytes),
    };
    let dram_saving = Bounds {
        lo: (stock.dram_bytes - dram_needed.hi).max(0),
        hi: (stock.dram_bytes - dram_needed.lo).max(0),
    };
    let figure = |interval: Bounds, method: String| figure(host, interval, method);
    Ok(Memory {
        stock,
        processes_read: seen.processes_read,
        processes: at.processes.len(),
        cold: figure(cold, seen.method()),
        active: figure(
            active,
            "movable memory less what is cold".into(),
        ),
        dram_needed: figure(
            dram_needed,
            "the larger of twice the active memory, and active and immovable memory together; at least without what could be given back".into(),
        ),
        dram_saving: figure(dram_saving, "DRAM less the DRAM that is needed".into()),
    })
}

fn figure(host: &Host, interval: Bounds, method: String) -> Figure {
    Figure {
        unit: "bytes",
        value: None,
        interval,
        method,
        window_seconds: host.window_seconds(),
        readings: host.readings.len(),
        grade: if host.window_seconds() >= STEADY_SECONDS && host.problems().next().is_none() {
            "partial"
        } else {
            "early"
        },
        reason: "no source that needs no root measures it; these are bounds",
    }
}

/// How often accessed bits are cleared.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Pace {
    /// A page's turn comes every so many seconds, on average.
    Every(f64),
    /// Others clear bits too, so that nothing follows from them; why.
    Unknown(&'static str),
}

/// What accessed bits say of the host's private memory.
#[derive(Debug)]
struct Seen {
    referenced_bytes: i64,
    unreferenced_bytes: i64,
    /// Movable memory outside the fastest tier, where all of that might be.
    elsewhere_bytes: i64,
    processes_read: usize,
    pace: Pace,
}

impl Seen {
    fn of(host: &Host, movable_bytes: i64) -> Self {
        let at = host.fullest();
        let host_movable_bytes = at.sum("meminfo", &MOVABLE).unwrap_or(movable_bytes);
        let mut seen = Self {
            referenced_bytes: 0,
            unreferenced_bytes: 0,
            elsewhere_bytes: (host_movable_bytes - movable_bytes).max(0),
            processes_read: 0,
            pace: pace(host, host_movable_bytes),
        };
        let looked_at_bytes = at
            .sum("vmstat", &LOOKS)
            .unwrap_or(0)
            .saturating_mul(page_bytes(host));
        for rollup in at
            .processes
            .iter()
            .filter_map(|process| process.smaps_rollup.as_ref())
        {
            let sizes =
                ["Private_Clean", "Private_Dirty", "Rss", "Referenced"].map(|name| rollup.get(name).copied());
            let [
                Some(clean_bytes),
                Some(dirty_bytes),
                Some(rss_bytes),
                Some(referenced_bytes),
            ] = sizes
            else {
                continue;
            };
            let private_bytes = clean_bytes + dirty_bytes;
            seen.processes_read += 1;
            // Whatever of the shared memory is referenced leaves at least this much for the private one.
            seen.unreferenced_bytes += (private_bytes - referenced_bytes).max(0);
            seen.referenced_bytes += (private_bytes - (rss_bytes - referenced_bytes)).max(0);
        }
        let is_rare = matches!(seen.pace, Pace::Every(seconds) if seconds >= COLD_SECONDS);
        if is_rare && seen.unreferenced_bytes > looked_at_bytes {
            seen.pace = Pace::Unknown(
                "more of them are clear than reclaim can have cleared since boot: somebody else clears them",
            );
        }
        seen
    }

    fn cold_bytes(&self, movable_bytes: i64) -> Bounds {
        let here = |bytes: i64| (bytes - self.elsewhere_bytes).clamp(0, movable_bytes);
        let (lo, hot) = match self.pace {
            Pace::Every(seconds) if seconds >= COLD_SECONDS => (here(self.unreferenced_bytes), 0),
            Pace::Every(_) => (0, here(self.referenced_bytes)),
            Pace::Unknown(_) => (0, 0),
        };
        Bounds {
            lo,
            hi: (movable_bytes - hot).max(lo),
        }
    }

    fn method(&self) -> String {
        let bits = format!(
            "accessed bits of {} processes that may be read",
            self.processes_read
        );
        match self.pace {
            Pace::Every(seconds) => {
                format!("{bits}; reclaim looks at a page every {seconds:.0} s on average")
            }
            Pace::Unknown(why) => format!("sizes alone; {why}"),
        }
    }
}

fn pace(host: &Host, movable_bytes: i64) -> Pace {
    let inventory = &host.last().inventory;
    let found = |id: &str| inventory.findings.iter().any(|finding| finding.id == id);
    if found("damon-in-use") {
        return Pace::Unknown("DAMON clears accessed bits here");
    }
    if found("accessed-bits-cleared") {
        return Pace::Unknown("a program that clears accessed bits runs here");
    }
    if found("count-above-memory") {
        return Pace::Unknown("the kernel's count of pages that it looks at is wrong");
    }
    let Some(looks) = host.growth("vmstat", &LOOKS) else {
        return Pace::Unknown(if host.last().has_uptime() {
            "the kernel does not say how often reclaim looks at pages"
        } else {
            "over how long reclaim looked at pages is not in the reading"
        });
    };
    if found("mglru-on") {
        return Pace::Unknown(
            "generations of multi-generational LRU clear accessed bits without counting it",
        );
    }
    if looks.count == 0 {
        return if looks.since_boot || host.last().sum("vmstat", &LOOKS) == Some(0) {
            Pace::Unknown("reclaim cleared no accessed bit since boot, so that nothing tells who did")
        } else if looks.seconds >= COLD_SECONDS {
            Pace::Every(looks.seconds)
        } else {
            Pace::Unknown("reclaim rested for less than two minutes")
        };
    }
    if inventory.page_size_bytes == 0 {
        return Pace::Unknown(
            "the page size is not known, so that pages that reclaim looked at are no bytes",
        );
    }
    let pages = movable_bytes as f64 / page_bytes(host) as f64;
    Pace::Every(pages / looks.per_s())
}

fn page_bytes(host: &Host) -> i64 {
    i64::from(host.last().inventory.page_size_bytes.max(1))
}
