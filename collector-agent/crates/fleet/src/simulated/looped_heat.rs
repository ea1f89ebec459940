//! Heat of one service, folded once and played by many hosts: a load of thousands of hosts then costs no fold of its own.

use tierscope_sample::fold::IntervalEnd;
use tierscope_sample::heat::{GapRow, HeatRow};

use crate::simulated::trace::Playing;

/// A turn of a trace in folded minutes. The fold is in its second turn, so that all histories are full.
#[derive(Debug)]
pub(crate) struct LoopedHeat {
    minutes: Vec<(Vec<HeatRow>, Vec<GapRow>)>,
}

impl LoopedHeat {
    /// Folds two turns and keeps the second one.
    pub(crate) fn fold(mut playing: Playing) -> Self {
        let turn = playing.turn();
        let mut minute = |_| {
            let folded = playing.minute(IntervalEnd {
                wall_ns: 0,
                boottime_ns: Some(0),
            });
            (folded.rows, folded.gaps)
        };
        (0..turn).for_each(|step| drop(minute(step)));
        Self {
            minutes: (0..turn).map(minute).collect(),
        }
    }

    /// The rows of a step, as if they had been measured at `end`; steps go on for ever.
    pub(crate) fn minute(&self, step: u64, end: IntervalEnd) -> (Vec<HeatRow>, Vec<GapRow>) {
        let (mut rows, mut gaps) = self.minutes[(step % self.minutes.len() as u64) as usize].clone();
        for row in &mut rows {
            row.end_wall_ns = end.wall_ns;
            row.end_boottime_ns = end.boottime_ns;
        }
        for gap in &mut gaps {
            gap.end_wall_ns = end.wall_ns;
        }
        (rows, gaps)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::simulated::trace::Trace;
    use tierscope_import::page_trace::Access;
    use tierscope_sample::heat::PageKind;

    fn accesses(pages: std::ops::Range<u64>) -> Vec<Access> {
        pages
            .map(|page| Access {
                page,
                kind: PageKind::Anon,
                loads: 1,
                stores: 0,
            })
            .collect()
    }

    #[test]
    fn a_turn_is_played_again_and_again_at_the_times_asked_for() {
        let trace = Arc::new(Trace::of(vec![accesses(0..8), accesses(0..2)]));
        let recording = LoopedHeat::fold(trace.start("shop/checkout", "redis-server", 0, 60_000_000_000));
        let end = |minute: i64| IntervalEnd {
            wall_ns: minute * 60_000_000_000,
            boottime_ns: None,
        };
        let (first, _) = recording.minute(0, end(7));
        let (again, _) = recording.minute(2, end(9));
        assert_eq!(first[0].resident_bytes, 8 * 4096);
        assert_eq!(first[0].end_wall_ns, 7 * 60_000_000_000);
        assert_eq!(again[0].end_wall_ns, 9 * 60_000_000_000);
        assert_eq!(first[0].age_bytes, again[0].age_bytes);
        assert_ne!(first[0].age_bytes, recording.minute(1, end(8)).0[0].age_bytes);
    }
}
