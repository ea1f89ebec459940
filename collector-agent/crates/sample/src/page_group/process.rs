//! What is known of one process of a group beside its pages.

use std::ops::Range;

use super::listed::PageMapping;

pub(super) const KINDS: usize = 3;

/// The reading of a process in the running interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Visit {
    /// The activity of the whole interval is known.
    pub(super) observed: bool,
    /// At least one mapping was given.
    pub(super) listed: bool,
}

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
    /// Mappings by address: those of the newest interval, or all seen so far where only some are listed.
    pub(super) mappings: Vec<PageMapping>,
    /// Addresses that a file took over from memory without one in the running interval.
    pub(super) replaced: Vec<Range<u64>>,
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

    /// Ends the reading of the running interval, if there was one.
    pub(super) fn end_visit(&mut self, all_mappings_are_listed: bool) {
        if let Some(visit) = self.visit {
            self.validity = self.validity << 1 | u64::from(visit.observed);
            self.take_mappings(all_mappings_are_listed);
        }
    }

    /// Takes over the mappings that were listed: in place of all others where every one is listed, else in place of
    /// those that they overlap.
    fn take_mappings(&mut self, all_are_listed: bool) {
        let listed = std::mem::take(&mut self.listed);
        self.replaced.clear();
        if listed.is_empty() {
            return;
        }
        if all_are_listed {
            self.mappings = listed;
            self.mappings.sort_by_key(|mapping| mapping.start);
            return;
        }
        for mapping in listed {
            let first = self.mappings.partition_point(|known| known.end <= mapping.start);
            let common = self.mappings[first..]
                .iter()
                .take_while(|known| known.start < mapping.end)
                .count();
            if mapping.inode != 0 {
                let gone = self.mappings[first..first + common]
                    .iter()
                    .filter(|known| known.inode == 0);
                let overlap =
                    |known: &PageMapping| known.start.max(mapping.start)..known.end.min(mapping.end);
                self.replaced.extend(gone.map(overlap));
            }
            self.mappings.splice(first..first + common, [mapping]);
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
        self.replaced.clear();
    }
}
