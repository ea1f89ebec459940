//! Columns that rows of heat may lack; written by `contract/gen_heat.py` from `contract/heat_columns.toml`.

use crate::column::{ColumnValue, plus};

/// What a row of heat says beside its histograms; `None` where it was not measured.
#[rustfmt::skip]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Beside {
    /// Pages of the random sample that the row was scaled up from; none where every resident page was looked
    /// at.
    pub sampled_pages: Option<i64>,
    /// Bytes written in windows of 1, 2, 5 and 10 intervals, from write tracking beside the back end.
    pub written_bytes: Option<[i64; 4]>,
    /// 4,096 x distinct sub-pages of huge pages seen active in the newest 2 intervals: the lower bound of their
    /// hot bytes.
    pub subpage_active_bytes: Option<i64>,
    /// Resident bytes that were written and not yet saved to their file or to swap, at the interval's end:
    /// dirty in the page table or in the page's own flags (smaps).
    pub dirty_bytes: Option<i64>,
}

#[rustfmt::skip]
impl Beside {
    /// The sums of two parts of a row: of the columns that both have.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            sampled_pages: plus(self.sampled_pages, other.sampled_pages),
            written_bytes: plus(self.written_bytes, other.written_bytes),
            subpage_active_bytes: plus(self.subpage_active_bytes, other.subpage_active_bytes),
            dirty_bytes: plus(self.dirty_bytes, other.dirty_bytes),
        }
    }

    /// Name and value of every column, in the order of the contract.
    pub fn columns(&self) -> impl Iterator<Item = (&'static str, Option<ColumnValue<'_>>)> {
        [
            ("sampled_pages", self.sampled_pages.as_ref().map(|value| ColumnValue::One(*value))),
            ("written_bytes", self.written_bytes.as_ref().map(|values| ColumnValue::Several(values))),
            ("subpage_active_bytes", self.subpage_active_bytes.as_ref().map(|value| ColumnValue::One(*value))),
            ("dirty_bytes", self.dirty_bytes.as_ref().map(|value| ColumnValue::One(*value))),
        ]
        .into_iter()
    }
}
