//! Where the minutes of a simulated host come from.

use std::fmt::Debug;
use std::sync::Arc;

use tierscope_sample::fold::{Folded, IntervalEnd};
use tierscope_wire::Content;

/// Nanoseconds of a minute: the length of an interval.
pub(crate) const MINUTE_NS: i64 = 60_000_000_000;

/// What a host would have sent, one minute after the other.
pub(crate) trait Minutes: Debug + Send {
    /// Begins with a minute, counted since the Unix epoch. Before `detailed_from` little is told.
    fn start_at(&mut self, minute: i64, detailed_from: i64);

    /// Passes over minutes.
    fn skip(&mut self, minutes: u64);

    /// Adds the next minute, which ends at `end`.
    fn add(&mut self, content: &mut Content, end: IntervalEnd, boot_id: &Arc<str>);

    /// The version of the agent after the last minute, where it is not that of this program.
    fn agent_version(&self) -> Option<&str> {
        None
    }
}

/// Adds everything that a fold gave.
pub(crate) fn add_folded(content: &mut Content, folded: Folded) {
    content.heat.extend(folded.rows);
    content.gaps.extend(folded.gaps);
    content.tile_epochs.extend(folded.tile_epochs);
    content.tile_columns.extend(folded.tile_columns);
    content.page_samples.extend(folded.page_samples);
}
