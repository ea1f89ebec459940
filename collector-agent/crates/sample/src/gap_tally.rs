//! Counts of the gaps that ended in a block, of the pages of one class, and the row of gaps that they make.

use std::sync::Arc;

use crate::fold::{Measured, PageClass};
use crate::gaps::GapEnd;
use crate::heat::{GAP_BINS, GapRow};

/// Pages whose gaps ended in the block; index i counts gaps of i + 1 intervals.
#[derive(Debug, Clone)]
pub(crate) struct GapTally {
    closed: [i64; GAP_BINS],
    freed: [i64; GAP_BINS],
    censored: [i64; GAP_BINS],
}

impl Default for GapTally {
    fn default() -> Self {
        Self {
            closed: [0; GAP_BINS],
            freed: [0; GAP_BINS],
            censored: [0; GAP_BINS],
        }
    }
}

impl GapTally {
    /// Counts the end of one page's gap.
    pub(crate) fn end(&mut self, end: GapEnd) {
        let (bins, gap) = match end {
            GapEnd::Closed(gap) => (&mut self.closed, gap),
            GapEnd::Freed(gap) => (&mut self.freed, gap),
            GapEnd::Censored(gap) => (&mut self.censored, gap),
        };
        bins[gap as usize - 1] += 1;
    }

    /// Counts the end of one page's gap, if it has one.
    #[inline]
    pub(crate) fn end_if(&mut self, end: Option<GapEnd>) {
        if let Some(end) = end {
            self.end(end);
        }
    }

    /// Adds these gaps, and the `open` ones, to the row of the class's kind. `block` is its end and its intervals.
    pub(crate) fn add_to(
        &self,
        rows: &mut Vec<GapRow>,
        measured: &Measured,
        block: (i64, u32),
        page: &PageClass,
        open: &[i64; GAP_BINS],
    ) {
        let known = rows.iter().position(|row| row.kind == page.kind);
        let index = known.unwrap_or_else(|| {
            rows.push(empty_row(measured, block, page));
            rows.len() - 1
        });
        let row = &mut rows[index];
        let columns = [
            (&mut row.closed_bytes, &self.closed),
            (&mut row.freed_bytes, &self.freed),
            (&mut row.open_bytes, open),
            (&mut row.censored_bytes, &self.censored),
        ];
        for (bytes, pages) in columns {
            for (bytes, pages) in bytes.iter_mut().zip(pages) {
                *bytes += pages * i64::from(page.page_size_bytes);
            }
        }
    }
}

fn empty_row(measured: &Measured, (end_wall_ns, intervals): (i64, u32), page: &PageClass) -> GapRow {
    GapRow {
        backend: measured.backend,
        granularity: measured.granularity,
        interval_ns: measured.interval_ns,
        end_wall_ns,
        intervals,
        service: Arc::clone(&measured.service),
        group: Arc::clone(&measured.group),
        kind: page.kind,
        closed_bytes: [0; GAP_BINS],
        freed_bytes: [0; GAP_BINS],
        open_bytes: [0; GAP_BINS],
        censored_bytes: [0; GAP_BINS],
    }
}
