//! A host whose minutes are those of a recording, played again and again.

use std::sync::Arc;

use tierscope_sample::fold::IntervalEnd;
use tierscope_wire::{Content, CounterRow};

use crate::simulated::looped_heat::LoopedHeat;
use crate::simulated::looped_recording::LoopedRecording;
use crate::simulated::minutes::{Minutes, add_folded};
use crate::simulated::seeds::mix;
use crate::simulated::trace::Playing;

/// Where a host's heat comes from.
#[derive(Debug)]
pub(crate) enum Heat {
    /// Folded for this host alone, with everything that a fold gives.
    Own(Box<Playing>),
    /// Folded once for all hosts: heat rows and gaps of each service.
    Shared(Vec<Arc<LoopedHeat>>),
}

/// A recording that is played again and again.
#[derive(Debug)]
pub(crate) struct Recorded {
    recording: Arc<LoopedRecording>,
    heat: Option<Heat>,
    /// Position in the endless recording.
    step: u64,
}

impl Recorded {
    /// `seed` says where in its recordings it begins.
    pub(crate) fn new(recording: Arc<LoopedRecording>, heat: Option<Heat>, seed: u64) -> Self {
        Self {
            step: mix(seed, 5) % recording.len(),
            recording,
            heat,
        }
    }
}

impl Minutes for Recorded {
    /// A recording knows no time of day, and is as detailed everywhere.
    fn start_at(&mut self, _minute: i64, _detailed_from: i64) {}

    fn skip(&mut self, minutes: u64) {
        self.step += minutes;
    }

    fn add(&mut self, content: &mut Content, end: IntervalEnd, boot_id: &Arc<str>) {
        content.counters.push(CounterRow {
            layout: Arc::clone(&self.recording.layout),
            end_wall_ns: end.wall_ns,
            end_boottime_ns: end.boottime_ns,
            boot_id: Arc::clone(boot_id),
            values: self.recording.values(self.step),
        });
        match &mut self.heat {
            None => {}
            Some(Heat::Own(playing)) => add_folded(content, playing.minute(end)),
            Some(Heat::Shared(recordings)) => {
                for recording in recordings {
                    let (rows, gaps) = recording.minute(self.step, end);
                    content.heat.extend(rows);
                    content.gaps.extend(gaps);
                }
            }
        }
        self.step += 1;
    }
}
