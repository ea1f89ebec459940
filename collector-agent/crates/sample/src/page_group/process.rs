//! What is known of one process of a group beside its pages.

use super::PageMapping;

/// Page kinds.
pub(super) const KINDS: usize = 3;

/// The reading of a process in the running interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Visit {
    /// The activity of the whole interval is known.
    pub(super) observed: bool,
    /// At least one mapping was given.
    pub(super) listed: bool,
}

/// One process.
#[derive(Debug, Default)]
pub(super) struct Process {
    /// `None` until it is read in the running interval.
    pub(super) visit: Option<Visit>,
    /// Bit i: it was observed i intervals ago.
    pub(super) validity: u64,
    /// Resident bytes by kind, as given in the running interval.
    pub(super) resident_bytes: [i64; KINDS],
    /// Mappings given in the running interval, in the order given.
    pub(super) listed: Vec<PageMapping>,
}

impl Process {
    /// Notes a mapping that is listed, or a further chunk of it.
    pub(super) fn list(&mut self, mapping: &PageMapping) {
        if let Some(visit) = &mut self.visit {
            visit.listed = true;
        }
        match self.listed.last_mut() {
            Some(last) if last.start == mapping.start => last.end = last.end.max(mapping.end),
            _ => self.listed.push(mapping.clone()),
        }
    }

    /// Its pages cannot be listed in the running interval, so they stay as they are.
    pub(super) fn is_out_of_sight(&self) -> bool {
        self.visit.is_some_and(|visit| !visit.observed && !visit.listed)
    }

    /// Begins the next interval.
    pub(super) fn end_interval(&mut self) {
        self.visit = None;
        self.resident_bytes = [0; KINDS];
        self.listed.clear();
    }
}
