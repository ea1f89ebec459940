//! The bound of every policy: in each interval the densest pages lie in DRAM, moved there for nothing and in time.

use crate::trace::Trace;

/// Accesses that DRAM would serve in each interval. A page that fits in part counts in part.
pub fn oracle_accesses(trace: &Trace, dram_units: u64) -> Vec<f64> {
    (0..trace.intervals())
        .map(|now| serve(trace, now, dram_units))
        .collect()
}

fn serve(trace: &Trace, now: usize, dram_units: u64) -> f64 {
    let mut pages: Vec<(u32, u64)> = trace
        .rows(now)
        .map(|row| (row.accesses, trace.size(row.page)))
        .collect();
    let wanted: u64 = pages.iter().map(|(_, units)| units).sum();
    if wanted <= dram_units {
        return pages.iter().map(|&(accesses, _)| f64::from(accesses)).sum();
    }
    if pages.iter().all(|&(_, units)| units == 1) {
        let (top, ..) = pages.select_nth_unstable_by(dram_units as usize, |a, b| b.0.cmp(&a.0));
        return top.iter().map(|&(accesses, _)| f64::from(accesses)).sum();
    }
    pages.sort_unstable_by(|a, b| (u64::from(b.0) * a.1).cmp(&(u64::from(a.0) * b.1)));
    let (mut left, mut served) = (dram_units, 0.0);
    for (accesses, units) in pages {
        let taken = units.min(left);
        served += f64::from(accesses) * taken as f64 / units as f64;
        left -= taken;
        if left == 0 {
            break;
        }
    }
    served
}
