//! Prometheus samples for Python: remote-write requests, packed bodies, rows of counters.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use numpy::{IntoPyArray as _, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tierscope_samples::body::{self, BodyError, Sample};
use tierscope_samples::fold::{self, Place};
use tierscope_samples::{Index, Labels, Limits, Request, SeriesRef, Unreadable, read, request};

type Column<'py, T> = Bound<'py, PyArray1<T>>;

/// Which series have which ids, for all threads.
#[pyclass(frozen, module = "tierscope_simcore")]
pub(crate) struct SeriesIndex(Index);

#[pymethods]
impl SeriesIndex {
    /// An index that forgets everything once it holds more than `most` series; `seed` is random.
    #[new]
    fn new(seed: u64, most: usize) -> Self {
        Self(Index::new(seed, most))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Forgets everything.
    fn clear(&self) {
        self.0.clear();
    }

    /// Reads a compressed request of a major version of remote write. Raises `OverflowError` over a limit, `ValueError`
    /// for a body that is not readable.
    #[pyo3(signature = (body, *, version = 1, inflated_bytes, samples, oldest_ms, newest_ms))]
    #[allow(
        clippy::too_many_arguments,
        reason = "arguments from Python have names"
    )]
    fn read(
        &self,
        py: Python<'_>,
        body: &[u8],
        version: u8,
        inflated_bytes: usize,
        samples: usize,
        oldest_ms: i64,
        newest_ms: i64,
    ) -> PyResult<WriteRequest> {
        let read = match version {
            1 => Request::read,
            2 => Request::read_v2,
            _ => return Err(PyValueError::new_err("version must be 1 or 2")),
        };
        let limits = Limits {
            inflated_bytes,
            samples,
            oldest_ms,
            newest_ms,
        };
        match py.detach(|| read(body, &self.0, &limits)) {
            Ok(request) => Ok(WriteRequest(Mutex::new(request))),
            Err(error) => Err(unreadable(&error)),
        }
    }
}

fn unreadable(error: &Unreadable) -> PyErr {
    let text = error.to_string();
    match error {
        Unreadable::TooLarge { .. }
        | Unreadable::TooMany(_)
        | Unreadable::TooManyQueries(_)
        | Unreadable::TooManySymbols(_)
        | Unreadable::TooManyLabels => PyOverflowError::new_err(text),
        Unreadable::NotSnappy(_) | Unreadable::NotARequest(_) | Unreadable::NotAReadRequest(_) => {
            PyValueError::new_err(text)
        }
    }
}

/// A request that was read.
#[pyclass(frozen, module = "tierscope_simcore")]
pub(crate) struct WriteRequest(Mutex<Request>);

impl WriteRequest {
    fn with<T>(&self, work: impl FnOnce(&mut Request) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl WriteRequest {
    fn __len__(&self) -> usize {
        self.with(|request| request.len())
    }

    /// Label sets that the index does not know, as lists of (name, value) by name.
    fn unknown(&self) -> Vec<Labels> {
        self.with(|request| request.unknown().cloned().collect())
    }

    /// Says where the unknown series are stored, as (series, target); None leaves one out.
    #[allow(
        clippy::needless_pass_by_value,
        reason = "arguments from Python are owned"
    )]
    fn resolve(&self, index: &SeriesIndex, found: Vec<Option<(i64, i64)>>) -> PyResult<()> {
        let found: Vec<Option<SeriesRef>> = found
            .into_iter()
            .map(|pair| pair.map(|(series, target)| SeriesRef { series, target }))
            .collect();
        self.with(|request| request.resolve(&found, &index.0))
            .map_err(PyValueError::new_err)
    }

    /// The stored series that brought native histograms.
    fn histogram_series(&self) -> Vec<i64> {
        self.with(|request| request.histogram_series().collect())
    }

    /// Samples left out: (labels that do not fit, the first such reason, too old, too far ahead).
    fn refusals(&self) -> (usize, Option<String>, usize, usize) {
        self.with(|request| {
            let refusals = &request.refusals;
            (
                refusals.labels,
                refusals.labels_reason.clone(),
                refusals.too_old,
                refusals.too_new,
            )
        })
    }
}

/// A packed body: target, start of the hour, oldest and newest time in milliseconds, samples, bytes.
type Packed<'py> = (i64, i64, i64, i64, usize, Bound<'py, PyBytes>);

/// Packs the samples of requests by target and hour of `hour_ms`; an hour holds the times after its start, and its end.
#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments from Python are owned"
)]
pub(crate) fn pack_requests<'py>(
    py: Python<'py>,
    requests: Vec<PyRef<'py, WriteRequest>>,
    hour_ms: i64,
    level: i32,
) -> PyResult<Vec<Packed<'py>>> {
    if hour_ms < 1 {
        return Err(PyValueError::new_err("hour_ms must be 1 or more"));
    }
    let inner: Vec<&Mutex<Request>> = requests.iter().map(|request| &request.0).collect();
    let packed = py.detach(|| {
        let mut parts: BTreeMap<(i64, i64), Vec<Sample>> = BTreeMap::new();
        for request in inner {
            let request = request.lock().unwrap_or_else(PoisonError::into_inner);
            request.split_into(&mut parts, hour_ms);
        }
        parts
            .into_iter()
            .filter_map(|(key, mut samples)| {
                body::tidy(&mut samples);
                Some((key, body::pack(&samples, level)?))
            })
            .collect::<Vec<_>>()
    });
    Ok(packed
        .into_iter()
        .map(|((target, hour), body)| {
            let bytes = PyBytes::new(py, &body.bytes);
            (
                target,
                hour,
                body.first_ms,
                body.last_ms,
                body.samples,
                bytes,
            )
        })
        .collect())
}

/// One body: samples, oldest and newest time, bytes.
type Joined<'py> = (usize, i64, i64, Bound<'py, PyBytes>);

/// Joins bodies to one: samples, oldest and newest time, bytes; None without samples.
#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments from Python are owned"
)]
pub(crate) fn join_bodies(
    py: Python<'_>,
    bodies: Vec<Vec<u8>>,
    level: i32,
) -> PyResult<Option<Joined<'_>>> {
    let joined = py
        .detach(|| {
            body::join(bodies.iter().map(Vec::as_slice)).map(|samples| body::pack(&samples, level))
        })
        .map_err(not_a_body)?;
    Ok(joined.map(|body| {
        (
            body.samples,
            body.first_ms,
            body.last_ms,
            PyBytes::new(py, &body.bytes),
        )
    }))
}

/// Samples of some series in (start, end], by series and time: ids, milliseconds, values.
#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments from Python are owned"
)]
pub(crate) fn read_bodies<'py>(
    py: Python<'py>,
    bodies: Vec<Vec<u8>>,
    series: PyReadonlyArray1<'py, i64>,
    start_ms: i64,
    end_ms: i64,
) -> PyResult<(Column<'py, i64>, Column<'py, i64>, Column<'py, f64>)> {
    let wanted: std::collections::HashSet<i64> = series.as_array().iter().copied().collect();
    let samples = py
        .detach(|| body::choose(&bodies, &wanted, start_ms, end_ms))
        .map_err(not_a_body)?;
    let ids: Vec<i64> = samples.iter().map(|sample| sample.series).collect();
    let times: Vec<i64> = samples.iter().map(|sample| sample.at_ms).collect();
    let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    Ok((
        ids.into_pyarray(py),
        times.into_pyarray(py),
        values.into_pyarray(py),
    ))
}

/// Rows of counters of (start, end]: times in milliseconds, values and presence, row by row over `columns`.
///
/// `series`, `places` and `scales` say which series goes to which column, and by what it is multiplied; `held_ms` how
/// long its values stand, 0 where they belong to the row of their scrape.
#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments from Python are owned"
)]
#[allow(clippy::too_many_arguments, reason = "columns of one table")]
pub(crate) fn fold_counters<'py>(
    py: Python<'py>,
    bodies: Vec<Vec<u8>>,
    series: PyReadonlyArray1<'py, i64>,
    places: PyReadonlyArray1<'py, i64>,
    scales: PyReadonlyArray1<'py, f64>,
    held_ms: PyReadonlyArray1<'py, i64>,
    columns: usize,
    start_ms: i64,
    end_ms: i64,
) -> PyResult<(Column<'py, i64>, Column<'py, i64>, Column<'py, bool>)> {
    let (series, places) = (series.as_array(), places.as_array());
    let (scales, held_ms) = (scales.as_array(), held_ms.as_array());
    let goes_to: Vec<Place> = series
        .iter()
        .zip(places.iter())
        .zip(scales.iter().zip(held_ms.iter()))
        .filter_map(|((series, column), (scale, held_ms))| {
            Some(Place {
                series: *series,
                column: usize::try_from(*column).ok()?,
                scale: *scale,
                held_ms: *held_ms,
            })
        })
        .collect();
    let wanted: std::collections::HashSet<i64> = goes_to.iter().map(|place| place.series).collect();
    let rows = py
        .detach(|| {
            body::choose(&bodies, &wanted, start_ms, end_ms)
                .map(|samples| fold::rows(&samples, &goes_to, columns))
        })
        .map_err(not_a_body)?;
    Ok((
        rows.times_ms.into_pyarray(py),
        rows.values.into_pyarray(py),
        rows.present.into_pyarray(py),
    ))
}

/// One series to write: labels by name, milliseconds, values.
type Written<'py> = (
    Labels,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, f64>,
);

/// A compressed request of these series, as Prometheus sends it.
#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments from Python are owned"
)]
pub(crate) fn write_request<'py>(
    py: Python<'py>,
    series: Vec<Written<'py>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let owned = own(&series)?;
    let bytes = py.detach(|| {
        request::write(
            owned
                .iter()
                .map(|(labels, times, values)| (&labels[..], &times[..], &values[..])),
        )
    });
    Ok(PyBytes::new(py, &bytes))
}

fn own(series: &[Written<'_>]) -> PyResult<Vec<read::Series>> {
    let owned = series.iter().map(|(labels, times, values)| {
        let (times, values) = (times.as_array().to_vec(), values.as_array().to_vec());
        (times.len() == values.len()).then(|| (labels.clone(), times, values))
    });
    owned
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| PyValueError::new_err("a series has not as many times as values"))
}

/// A selector: start and end in milliseconds, both included, and conditions as (label, operator, value).
type Asked = (i64, i64, Vec<(String, &'static str, String)>);

/// Reads a compressed request of remote read. Raises `OverflowError` over a limit, `ValueError` where it is none.
#[pyfunction]
pub(crate) fn read_selectors(body: &[u8], most: usize) -> PyResult<Vec<Asked>> {
    let queries = read::read(body, most).map_err(|error| unreadable(&error))?;
    Ok(queries
        .into_iter()
        .map(|query| {
            let matchers = query.matchers.into_iter();
            let conditions = matchers.map(|one| (one.label, one.operator, one.value));
            (query.start_ms, query.end_ms, conditions.collect())
        })
        .collect())
}

/// The compressed answer of remote read: the series of each query.
#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments from Python are owned"
)]
pub(crate) fn read_answer<'py>(
    py: Python<'py>,
    results: Vec<Vec<Written<'py>>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let owned = results.iter().map(|series| own(series));
    let owned = owned.collect::<PyResult<Vec<_>>>()?;
    let bytes = py.detach(|| read::answer(&owned));
    Ok(PyBytes::new(py, &bytes))
}

#[allow(clippy::needless_pass_by_value, reason = "taken by map_err")]
fn not_a_body(error: BodyError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
