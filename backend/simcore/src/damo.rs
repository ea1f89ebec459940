//! Records of damo, and the working set that damo itself reports of them.

use std::path::PathBuf;

use numpy::{IntoPyArray as _, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tierscope_import::damo::{self, DamoLimits, DamoSnapshot};
use tierscope_import::damo_wss::WorkingSet;
use tierscope_import::recognise;

type Column<'py> = Bound<'py, PyArray1<i64>>;
/// Snapshots, average, percentiles by size and by time.
type Sizes = (usize, u64, Vec<u64>, Vec<u64>);

/// What one target of a record did, snapshot by snapshot.
#[pyclass(frozen, module = "tierscope_simcore")]
pub(crate) struct DamoRecord(damo::DamoRecord);

#[pymethods]
impl DamoRecord {
    /// Number of the kdamond, of its context, and of the context's target.
    #[getter]
    fn numbers(&self) -> (u32, u32, u64) {
        (self.0.kdamond, self.0.context, self.0.target)
    }

    /// Sampling and aggregation interval in nanoseconds, where the record says.
    #[getter]
    fn intervals_ns(&self) -> Option<(u64, u64)> {
        self.0
            .intervals
            .map(|known| (known.sample_ns, known.aggregation_ns))
    }

    /// Snapshots with regions that overlap, such regions, and the bytes that were recorded twice.
    #[getter]
    fn overlaps(&self) -> (usize, usize, u128) {
        let found = self.0.overlaps();
        (found.snapshots, found.regions, found.bytes)
    }

    /// Start and end of each snapshot on the recorded host's monotonic clock, and its number of regions, int64 each.
    fn snapshots<'py>(&self, py: Python<'py>) -> (Column<'py>, Column<'py>, Column<'py>) {
        let column = |value: fn(&DamoSnapshot) -> i64| {
            let values: Vec<i64> = self.0.snapshots.iter().map(value).collect();
            values.into_pyarray(py)
        };
        (
            column(|shot| shot.start_ns),
            column(|shot| shot.end_ns),
            column(|shot| shot.regions.len() as i64),
        )
    }

    /// Start, end, accesses and age (-1 where not recorded) of the regions of all snapshots in turn, clipped so that
    /// none overlap, int64 each.
    fn regions<'py>(
        &self,
        py: Python<'py>,
    ) -> (Column<'py>, Column<'py>, Column<'py>, Column<'py>) {
        let column = |value: fn(&damo::DamoRegion) -> i64| {
            let regions = self.0.snapshots.iter().flat_map(|shot| &shot.regions);
            let values: Vec<i64> = regions.map(value).collect();
            values.into_pyarray(py)
        };
        (
            column(|region| region.start.cast_signed()),
            column(|region| region.end.cast_signed()),
            column(|region| i64::from(region.accesses)),
            column(|region| region.age.map_or(-1, i64::from)),
        )
    }

    /// The working set as `damo report wss` has it: snapshots that count, average, percentiles by size and by time, in
    /// bytes. None where none is left.
    #[allow(
        clippy::needless_pass_by_value,
        reason = "arguments from Python are owned"
    )]
    fn working_set(&self, threshold: u32, excluded: usize, percents: Vec<u32>) -> Option<Sizes> {
        let set = WorkingSet::of(&self.0, threshold, excluded)?;
        Some((
            set.bytes.len(),
            set.average_bytes(),
            set.by_size(&percents),
            set.by_time(&percents),
        ))
    }
}

/// What a file is by its content, what to do with it, and how `analyze` calls what it takes; None where nothing tells.
/// Raises `OSError`.
#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments from Python are owned"
)]
pub(crate) fn recognise_file(
    path: PathBuf,
) -> PyResult<Option<(String, String, Option<&'static str>)>> {
    let told = recognise::recognise(&path).map_err(PyErr::from)?;
    Ok(told.map(|told| (told.what, told.next_step, told.analyzed_as)))
}

/// Whether a file that begins with `head` is a record of damo.
#[pyfunction]
pub(crate) fn looks_like_damo(head: &[u8]) -> bool {
    damo::looks_like_damo(head)
}

/// Reads a record of damo in any of its forms. Raises `OSError`, and `ValueError` with the cause.
#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments from Python are owned"
)]
pub(crate) fn read_damo(py: Python<'_>, path: PathBuf) -> PyResult<Vec<DamoRecord>> {
    let records = py.detach(|| {
        let limits = DamoLimits::default();
        let bytes = damo::read_file(&path, limits)?;
        Ok(damo::read(&bytes, limits))
    });
    let records = records.map_err(|error: std::io::Error| PyErr::from(error))?;
    let records = records.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(records.into_iter().map(DamoRecord).collect())
}
