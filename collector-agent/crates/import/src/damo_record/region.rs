//! One region of a record.

/// A stretch of addresses that DAMON takes as uniformly accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DamoRegion {
    /// First address.
    pub start: u64,
    /// The address after the last; above `start`.
    pub end: u64,
    /// Checks that found an access, of aggregation / sample interval.
    pub accesses: u32,
    /// Aggregation intervals for which the region has been about as it is; `None` where not recorded.
    pub age: Option<u32>,
}

impl DamoRegion {
    /// Length.
    pub fn bytes(&self) -> u64 {
        self.end - self.start
    }
}
