//! The rows of an interval, and their fit to the resident bytes where a back end does not list every page.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::PageGroup;
use super::listed::{Census, PageSize};
use super::process::KINDS;
use super::unseen::most_unseen_pages;
use crate::fold::{IntervalEnd, PageClass};
use crate::heat::{AGE_BUCKET_STARTS, AGE_BUCKETS, HeatRow, OVERLAP_LAGS, PageKind, WINDOWS};
use crate::history::{age_bucket, mask};
use crate::page_size;
use crate::page_tally::PageTally;

/// Bytes of a sub-page of a huge page.
const SUBPAGE_BYTES: i64 = page_size::MODEL_BYTES as i64;
const ALL_KINDS: [PageKind; KINDS] = [PageKind::Anon, PageKind::File, PageKind::Tmpfs];

impl PageGroup {
    /// The rows of the interval that ends. Counts of classes begin anew.
    pub(super) fn rows(&mut self, end: IntervalEnd) -> Vec<HeatRow> {
        let lags = self.known_lags();
        let validity = self.validity;
        let unseen = self.samples_events().then(|| self.most_unseen_bytes());
        let taken: Vec<_> = self
            .classes
            .iter_mut()
            .map(|class| {
                (
                    class.page.clone(),
                    std::mem::take(&mut class.tally),
                    std::mem::take(&mut class.subpages),
                )
            })
            .filter(|(_, tally, _)| tally.pages > 0)
            .collect();
        let row_of = |(page, tally, subpages): &(PageClass, PageTally, i64)| {
            let row = tally.row(&self.measured, end, page, validity, lags);
            let mut row = self.describe(row, tally.pages);
            let huge = page.page_size_bytes == PageSize::Huge2M.bytes();
            row.beside.subpage_active_bytes =
                (huge && self.samples_events()).then_some(subpages * SUBPAGE_BYTES);
            row
        };
        let mut rows: Vec<_> = taken.iter().map(row_of).collect();
        for kind in ALL_KINDS {
            match self.options.census {
                Census::Full | Census::Touched => {}
                Census::Seen => self.add_unseen(&mut rows, kind, end),
                Census::Sample => self.scale_up(&mut rows, kind, end),
            }
            if let Some(unseen) = unseen {
                let unseen = unseen[kind as usize].map(|bytes| bytes * self.scales[kind as usize]);
                raise_active(&mut rows, kind, unseen);
            }
        }
        rows
    }

    /// Most bytes of each kind that were active in the windows without a sample. Of a sampler that did not say with
    /// which probability it samples, that is all.
    fn most_unseen_bytes(&mut self) -> [[f64; WINDOWS.len()]; KINDS] {
        let (period, duty) = (self.interval.period.value(), self.interval.duty.value());
        let chance = period.map_or(0.0, |period| duty.unwrap_or(1.0) / period);
        // What an interval that nobody observed hides is unknown as a whole.
        self.chances
            .push(if self.validity & 1 == 1 { chance } else { 1.0 });
        let chances = self.chances.windows(f64::min);
        // Where no sample hit a page of a larger size, unseen pages are taken to be small.
        let base_bytes = self.options.base_page.bytes();
        let small = |kind: PageKind| ((kind as usize, base_bytes), [0.0; WINDOWS.len()]);
        let mut counts = BTreeMap::from(ALL_KINDS.map(small));
        for class in self.classes.iter_mut() {
            class.stores.push(class.tally.samples.stores);
            if class.tally.pages > 0 {
                let key = (class.page.kind as usize, class.page.page_size_bytes);
                let stores = class.stores.windows(|sum, more| sum + more);
                let of_size = counts.entry(key).or_default();
                for (window, count) in of_size.iter_mut().enumerate() {
                    *count += class.tally.f1[window] as f64 + stores[window] as f64;
                }
            }
        }
        let mut bytes = [[0.0; WINDOWS.len()]; KINDS];
        for ((kind, page_bytes), counts) in counts {
            for (window, count) in counts.into_iter().enumerate() {
                bytes[kind][window] += most_unseen_pages(count, chances[window]) * f64::from(page_bytes);
            }
        }
        bytes
    }

    /// The lags of the hot-set overlap at which both windows were observed.
    fn known_lags(&self) -> [bool; OVERLAP_LAGS.len()] {
        OVERLAP_LAGS.map(|lag| {
            let both = mask(2) | mask(2) << lag;
            self.validity & both == both
        })
    }

    /// Adds to a row what is the same for all rows of the group.
    fn describe(&self, mut row: HeatRow, pages: i64) -> HeatRow {
        row.bits_per_interval = (64 / self.shape.intervals()) as u8;
        row.period_events = self.interval.period.value();
        row.duty_ratio = self.interval.duty.value();
        if !self.counts {
            row.samples = None;
            (row.distinct_pages, row.f1_pages, row.f2_pages) = (None, None, None);
        }
        if self.options.census == Census::Sample {
            row.beside.sampled_pages = Some(pages);
        }
        row
    }

    fn empty_row(&self, end: IntervalEnd, kind: PageKind) -> HeatRow {
        let sole = self.options.tiers.as_slice();
        let page = PageClass {
            kind,
            page_size_bytes: self.options.base_page.bytes(),
            tier: if let [tier] = sole {
                Some(Arc::clone(tier))
            } else {
                None
            },
        };
        let row = PageTally::default().row(&self.measured, end, &page, self.validity, self.known_lags());
        self.describe(row, 0)
    }

    /// Adds the resident bytes of which nothing was ever seen, by the run of intervals for which their process was
    /// observed. Where more was seen than is resident, the rest was freed since: the oldest is taken for it.
    fn add_unseen(&self, rows: &mut Vec<HeatRow>, kind: PageKind, end: IntervalEnd) {
        let resident: i64 = self.resident_of(kind).map(|(_, bytes, _)| bytes).sum();
        let tracked: i64 = rows
            .iter()
            .filter(|row| row.kind == kind)
            .map(|row| row.resident_bytes)
            .sum();
        if resident == 0 {
            return;
        }
        if tracked > resident {
            for row in rows.iter_mut().filter(|row| row.kind == kind) {
                let target =
                    (i128::from(row.resident_bytes) * i128::from(resident) / i128::from(tracked)) as i64;
                take_oldest(row, target);
            }
            return;
        }
        let unseen = resident - tracked;
        let mut never = [0.0; AGE_BUCKETS];
        for (_, bytes, run) in self.resident_of(kind) {
            never[age_bucket(run.min(self.shape.intervals()))] += bytes as f64;
        }
        let never = apportion(&never, unseen);
        let empty = self.empty_row(end, kind);
        let known = rows.iter().position(|row| {
            (row.kind, row.page_size_bytes, &row.tier) == (kind, empty.page_size_bytes, &empty.tier)
        });
        let at = known.unwrap_or_else(|| {
            rows.push(empty);
            rows.len() - 1
        });
        let row = &mut rows[at];
        row.resident_bytes += unseen;
        row.active_count_bytes[0] += unseen;
        for (sum, bytes) in row.never_bytes.iter_mut().zip(never) {
            *sum += bytes;
        }
    }

    /// Scales the rows of a kind up to its resident bytes.
    fn scale_up(&mut self, rows: &mut Vec<HeatRow>, kind: PageKind, end: IntervalEnd) {
        let resident: i64 = self.resident_of(kind).map(|(_, bytes, _)| bytes).sum();
        let of_kind: Vec<_> = rows.iter_mut().filter(|row| row.kind == kind).collect();
        let tracked: Vec<f64> = of_kind.iter().map(|row| row.resident_bytes as f64).collect();
        let sum: f64 = tracked.iter().sum();
        if resident == 0 {
            self.scales[kind as usize] = 1.0;
            return;
        }
        if of_kind.is_empty() {
            let mut row = self.empty_row(end, kind);
            row.validity = 0;
            (row.resident_bytes, row.never_bytes[0], row.active_count_bytes[0]) =
                (resident, resident, resident);
            rows.push(row);
            return;
        }
        self.scales[kind as usize] = resident as f64 / sum;
        for (row, target) in of_kind.into_iter().zip(apportion_all(&tracked, resident)) {
            scale(row, target);
        }
    }
}

/// Raises the upper bounds of the rows of a kind by what no sample showed.
fn raise_active(rows: &mut [HeatRow], kind: PageKind, unseen: [f64; WINDOWS.len()]) {
    for row in rows.iter_mut().filter(|row| row.kind == kind) {
        for (bytes, more) in row.active_hi_bytes.iter_mut().zip(unseen) {
            *bytes = bytes.saturating_add(more as i64).min(row.resident_bytes);
        }
    }
}

/// Makes a row smaller, its oldest bytes first.
fn take_oldest(row: &mut HeatRow, target: i64) {
    let take = |bins: &mut dyn Iterator<Item = &mut i64>, mut excess: i64| {
        for bin in bins {
            let taken = excess.min(*bin);
            *bin -= taken;
            excess -= taken;
        }
    };
    let excess = row.resident_bytes - target;
    take(
        &mut row
            .never_bytes
            .iter_mut()
            .rev()
            .chain(row.age_bytes.iter_mut().rev()),
        excess,
    );
    take(&mut row.active_count_bytes.iter_mut(), excess);
    row.resident_bytes = target;
    for bytes in row.active_lo_bytes.iter_mut().chain(&mut row.active_hi_bytes) {
        *bytes = (*bytes).min(target);
    }
}

/// Scales a row to `target` resident bytes; every histogram keeps its shape and adds up to them.
fn scale(row: &mut HeatRow, target: i64) {
    let factor = target as f64 / row.resident_bytes as f64;
    let as_real = |bytes: &i64| *bytes as f64;
    let known_before = known_active(row);
    let ages: Vec<f64> = row
        .age_bytes
        .iter()
        .chain(&row.never_bytes)
        .map(as_real)
        .collect();
    let ages = apportion_all(&ages, target);
    row.age_bytes.copy_from_slice(&ages[..AGE_BUCKETS]);
    row.never_bytes.copy_from_slice(&ages[AGE_BUCKETS..]);
    row.active_count_bytes = apportion(&row.active_count_bytes.map(|bytes| bytes as f64), target);
    let known = known_active(row);
    for (index, before) in known_before.into_iter().enumerate() {
        let more = (row.active_lo_bytes[index] - before) as f64 * factor;
        row.active_lo_bytes[index] = (known[index] + more.round() as i64).min(target);
    }
    row.active_hi_bytes = row.active_lo_bytes;
    for (both, either) in row.hot_overlap_bytes.iter_mut().flatten() {
        *both = (*both as f64 * factor).round() as i64;
        *either = (*either as f64 * factor).round() as i64;
    }
    row.resident_bytes = target;
}

/// Bytes of ages within each window.
fn known_active(row: &HeatRow) -> [i64; WINDOWS.len()] {
    WINDOWS.map(|window| {
        let buckets = row.age_bytes.iter().zip(AGE_BUCKET_STARTS);
        buckets
            .filter(|(_, start)| *start < window)
            .map(|(bytes, _)| bytes)
            .sum()
    })
}

fn apportion<const N: usize>(weights: &[f64; N], total: i64) -> [i64; N] {
    let mut parts = [0; N];
    parts.copy_from_slice(&apportion_all(weights, total));
    parts
}

/// Parts of `total` in proportion to `weights`, by largest remainder: they add up to it. All zero weights: the first
/// gets all.
fn apportion_all(weights: &[f64], total: i64) -> Vec<i64> {
    let sum: f64 = weights.iter().sum();
    if sum <= 0.0 {
        let mut parts = vec![0; weights.len()];
        parts[0] = total;
        return parts;
    }
    let exact: Vec<f64> = weights.iter().map(|weight| weight / sum * total as f64).collect();
    let mut parts: Vec<i64> = exact.iter().map(|part| part.floor() as i64).collect();
    let mut order: Vec<usize> = (0..weights.len()).filter(|&at| weights[at] > 0.0).collect();
    order.sort_by(|&a, &b| (exact[b] - exact[b].floor()).total_cmp(&(exact[a] - exact[a].floor())));
    let rest = total - parts.iter().sum::<i64>();
    for &at in order.iter().cycle().take(rest.max(0) as usize) {
        parts[at] += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_and_keep_their_proportions() {
        assert_eq!(apportion(&[1.0, 1.0, 1.0], 10), [4, 3, 3]);
        assert_eq!(apportion(&[0.0, 5.0, 0.0], 7), [0, 7, 0]);
        assert_eq!(apportion(&[0.0, 0.0], 7), [7, 0]);
        let parts = apportion_all(&[0.1, 0.7, 0.2], 1 << 40);
        assert_eq!(parts.iter().sum::<i64>(), 1 << 40);
    }
}
