//! A page trace, and what the agent's fold says of it when it is sampled as hardware samples.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use numpy::{IntoPyArray as _, PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tierscope_import::page_trace::{Access, PageTraceReader, TraceLimits};
use tierscope_import::trace_fold::{TraceFolder, TraceIdentity};
use tierscope_import::trace_sample::{SampledTraceFolder, Sampling};
use tierscope_sample::fold::IntervalEnd;
use tierscope_sample::heat::{HeatRow, PageKind, WINDOWS};
use tierscope_sample::page_sample::{MAX_SAMPLED_PAGES, PageSample, SampleRow, SampledPage};

const KINDS: usize = 3;
const MINUTE_NS: i64 = 60_000_000_000;
/// By kind, anon, file and tmpfs.
type ByKind = [i64; KINDS];
/// By window of 1, 2, 5 and 10 intervals, then kind.
type ByWindow = [ByKind; WINDOWS.len()];
type Column<'py> = Bound<'py, PyArray1<i64>>;
/// Columns of one length.
type Rows<'py> = (
    Column<'py>,
    Column<'py>,
    Column<'py>,
    Column<'py>,
    Column<'py>,
);

/// A block of sampled pages: end, share of pages, then its columns.
type Block<'py> = (i64, f64, Vec<Column<'py>>);

/// A page trace in memory: its accesses by interval, and what is true of them.
#[pyclass(frozen, module = "tierscope_simcore")]
pub(crate) struct PageTrace {
    page_size_bytes: u32,
    interval_seconds: Option<f64>,
    intervals: Vec<Vec<Access>>,
    /// Pages accessed so far.
    resident_pages: Vec<ByKind>,
    /// Pages with loads in the windows that end with the interval.
    loaded_pages: Vec<ByWindow>,
    loads: Vec<ByKind>,
}

#[pymethods]
impl PageTrace {
    /// Reads a trace; `merged` intervals of it in a row become one. More rows than `max_rows` are refused before they
    /// are read. Raises `ValueError` with the cause.
    #[new]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "arguments from Python are owned"
    )]
    #[pyo3(signature = (path, merged = 1, max_rows = None))]
    fn new(py: Python<'_>, path: PathBuf, merged: usize, max_rows: Option<u64>) -> PyResult<Self> {
        if merged == 0 {
            return Err(PyValueError::new_err("merged must be 1 or more intervals"));
        }
        let read = py.detach(|| {
            let usual = TraceLimits::default();
            let limits = TraceLimits {
                rows: max_rows.unwrap_or(usual.rows),
                ..usual
            };
            let reader = PageTraceReader::open_with(&path, limits)?;
            let intervals = reader.intervals().collect::<Result<Vec<_>, _>>()?;
            Ok((
                reader.page_size_bytes(),
                reader.interval_seconds(),
                intervals,
            ))
        });
        let (page_size_bytes, interval_seconds, intervals) =
            read.map_err(|error: tierscope_import::trace_error::TraceError| {
                PyValueError::new_err(error.to_string())
            })?;
        let accesses: Vec<_> = intervals
            .into_iter()
            .map(|interval| interval.accesses)
            .collect();
        let intervals: Vec<_> = accesses.chunks(merged).map(merge).collect();
        let seconds = interval_seconds.map(|seconds| seconds * merged as f64);
        Ok(Self {
            interval_seconds: seconds,
            ..Self::describe(page_size_bytes, intervals)
        })
    }

    /// Bytes of a page.
    #[getter]
    fn page_size_bytes(&self) -> u32 {
        self.page_size_bytes
    }

    /// Length of an interval after merging, where the file says so.
    #[getter]
    fn interval_seconds(&self) -> Option<f64> {
        self.interval_seconds
    }

    /// Intervals, after merging.
    #[getter]
    fn intervals(&self) -> usize {
        self.intervals.len()
    }

    /// The rows: interval from 0, kind, page number as signed 64 bits, loads and stores, int64 [rows] each.
    fn rows<'py>(&self, py: Python<'py>) -> Rows<'py> {
        let rows = || {
            (0_i64..)
                .zip(&self.intervals)
                .flat_map(|(number, accesses)| accesses.iter().map(move |access| (number, access)))
        };
        let column = |value: fn(i64, &Access) -> i64| {
            let values: Vec<i64> = rows()
                .map(|(number, access)| value(number, access))
                .collect();
            values.into_pyarray(py)
        };
        (
            column(|number, _| number),
            column(|_, access| access.kind as i64),
            column(|_, access| access.page.cast_signed()),
            column(|_, access| i64::from(access.loads)),
            column(|_, access| i64::from(access.stores)),
        )
    }

    /// The blocks of sampled pages that the agent sends of the trace, with the same pages: end in nanoseconds from the
    /// trace's beginning, share of pages that the hash selects, and the columns, int64: before the end and observed
    /// [intervals]; id, kind, size, first and last interval [pages]; interval, page, loads and stores [rows].
    fn sample_pages<'py>(&self, py: Python<'py>, interval_ns: i64) -> PyResult<Vec<Block<'py>>> {
        if interval_ns <= 0 {
            return Err(PyValueError::new_err("interval_ns must be above 0"));
        }
        let samples = py.detach(|| self.fold_sample(interval_ns));
        Ok(samples.iter().map(|sample| block_of(py, sample)).collect())
    }

    /// Pages accessed so far, int64 [intervals, 3 kinds].
    #[getter]
    fn resident_pages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        by_kind(py, &self.resident_pages)
    }

    /// Pages with loads in the windows of 1, 2, 5 and 10 intervals, int64 [intervals, 4 windows, 3 kinds].
    #[getter]
    fn loaded_pages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<i64>>> {
        by_window(py, &self.loaded_pages)
    }

    /// Loads, int64 [intervals, 3 kinds].
    #[getter]
    fn loads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        by_kind(py, &self.loads)
    }
}

impl PageTrace {
    /// Accesses by interval.
    pub(crate) fn accesses(&self) -> &[Vec<Access>] {
        &self.intervals
    }

    fn fold_sample(&self, interval_ns: i64) -> Vec<PageSample> {
        let identity = TraceIdentity {
            service: Arc::from(""),
            group: Arc::from(""),
            interval_ns,
            page_size_bytes: self.page_size_bytes,
            tier: None,
            epoch_seed: 0,
            begin_wall_ns: 0,
            sampled_pages: MAX_SAMPLED_PAGES,
        };
        let mut folder = TraceFolder::new(&identity, &[]);
        let mut samples = Vec::new();
        for (number, accesses) in (1..).zip(&self.intervals) {
            let end = IntervalEnd {
                wall_ns: number * interval_ns,
                boottime_ns: None,
            };
            samples.extend(folder.fold(end, accesses).page_samples);
        }
        samples.extend(folder.finish().page_samples);
        samples
    }

    fn describe(page_size_bytes: u32, intervals: Vec<Vec<Access>>) -> Self {
        let mut last_load: [HashMap<u64, Option<usize>>; KINDS] = Default::default();
        let (mut resident_pages, mut loaded_pages, mut loads) =
            (Vec::new(), Vec::new(), Vec::new());
        for (now, accesses) in intervals.iter().enumerate() {
            let mut sums = [0; KINDS];
            for access in accesses {
                let last = last_load[access.kind as usize]
                    .entry(access.page)
                    .or_default();
                if access.loads > 0 {
                    *last = Some(now);
                }
                sums[access.kind as usize] += i64::from(access.loads);
            }
            loads.push(sums);
            resident_pages.push(std::array::from_fn(|kind| last_load[kind].len() as i64));
            loaded_pages.push(WINDOWS.map(|window| {
                let within =
                    |last: &&Option<usize>| last.is_some_and(|last| last + window as usize > now);
                std::array::from_fn(|kind| last_load[kind].values().filter(within).count() as i64)
            }));
        }
        Self {
            page_size_bytes,
            interval_seconds: None,
            intervals,
            resident_pages,
            loaded_pages,
            loads,
        }
    }
}

fn block_of<'py>(py: Python<'py>, sample: &PageSample) -> Block<'py> {
    let end_ns = sample.intervals.last().map_or(0, |&(end, _)| end);
    let intervals = |value: fn(i64, (i64, bool)) -> i64| {
        PyArray1::from_iter(py, sample.intervals.iter().map(|&one| value(end_ns, one)))
    };
    let pages =
        |value: fn(&SampledPage) -> i64| PyArray1::from_iter(py, sample.pages.iter().map(value));
    let rows = |value: fn(&SampleRow) -> u32| {
        PyArray1::from_iter(py, sample.rows.iter().map(|row| i64::from(value(row))))
    };
    let columns = vec![
        intervals(|last, (end, _)| last - end),
        intervals(|_, (_, observed)| i64::from(observed)),
        pages(|page| page.id.cast_signed()),
        pages(|page| page.kind as i64),
        pages(|page| i64::from(page.page_size_bytes)),
        pages(|page| i64::from(page.first_interval)),
        pages(|page| i64::from(page.last_interval)),
        rows(|row| row.interval),
        rows(|row| row.page),
        rows(|row| row.loads),
        rows(|row| row.stores),
    ];
    (end_ns, sample.sampled_ratio, columns)
}

/// The accesses of intervals in a row as those of one.
fn merge(intervals: &[Vec<Access>]) -> Vec<Access> {
    if let [one] = intervals {
        return one.clone();
    }
    let mut sums: BTreeMap<(PageKind, u64), Access> = BTreeMap::new();
    for access in intervals.iter().flatten() {
        let sum = sums.entry((access.kind, access.page)).or_insert(Access {
            loads: 0,
            stores: 0,
            ..*access
        });
        sum.loads = sum.loads.saturating_add(access.loads);
        sum.stores = sum.stores.saturating_add(access.stores);
    }
    sums.into_values().collect()
}

/// What the fold says of a sampled trace.
#[pyclass(frozen, module = "tierscope_simcore")]
pub(crate) struct SampledFold {
    load_samples: Vec<ByKind>,
    store_samples: Vec<ByKind>,
    distinct_pages: Vec<ByWindow>,
    f1_pages: Vec<ByWindow>,
    f2_pages: Vec<ByWindow>,
    resident_bytes: Vec<ByKind>,
}

#[pymethods]
impl SampledFold {
    /// Sampled loads, int64 [intervals, 3 kinds].
    #[getter]
    fn load_samples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        by_kind(py, &self.load_samples)
    }

    /// Sampled stores, another population, int64 [intervals, 3 kinds].
    #[getter]
    fn store_samples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        by_kind(py, &self.store_samples)
    }

    /// Pages with sampled loads in the windows of 1, 2, 5 and 10 intervals, int64 [intervals, 4 windows, 3 kinds].
    #[getter]
    fn distinct_pages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<i64>>> {
        by_window(py, &self.distinct_pages)
    }

    /// Those with exactly one, same shape.
    #[getter]
    fn f1_pages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<i64>>> {
        by_window(py, &self.f1_pages)
    }

    /// Those with exactly two, same shape.
    #[getter]
    fn f2_pages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<i64>>> {
        by_window(py, &self.f2_pages)
    }

    /// Resident bytes of the rows, int64 [intervals, 3 kinds].
    #[getter]
    fn resident_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        by_kind(py, &self.resident_bytes)
    }
}

/// Samples one event in `period_events` while `enabled_groups` of `core_groups` take turns, and folds the samples as
/// the agent folds live ones. One seed gives one result. Raises `ValueError` for settings that cannot be.
#[pyfunction]
#[pyo3(signature = (trace, *, period_events, core_groups, enabled_groups, seed))]
pub(crate) fn fold_sampled_trace(
    py: Python<'_>,
    trace: &PageTrace,
    period_events: f64,
    core_groups: u32,
    enabled_groups: u32,
    seed: u64,
) -> PyResult<SampledFold> {
    if !period_events.is_finite() || period_events < 1.0 {
        return Err(PyValueError::new_err(format!(
            "period_events is {period_events}; 1 or more is needed"
        )));
    }
    if enabled_groups == 0 || enabled_groups > core_groups {
        return Err(PyValueError::new_err(format!(
            "enabled_groups is {enabled_groups}; 1 to {core_groups} core groups can be enabled"
        )));
    }
    let sampling = Sampling {
        period_events,
        core_groups,
        enabled_groups,
        seed,
    };
    Ok(py.detach(|| fold(trace, sampling)))
}

fn fold(trace: &PageTrace, sampling: Sampling) -> SampledFold {
    let mut folder = SampledTraceFolder::new(sampling, MINUTE_NS, trace.page_size_bytes);
    let mut out = SampledFold {
        load_samples: Vec::new(),
        store_samples: Vec::new(),
        distinct_pages: Vec::new(),
        f1_pages: Vec::new(),
        f2_pages: Vec::new(),
        resident_bytes: Vec::new(),
    };
    for (number, accesses) in (1..).zip(&trace.intervals) {
        let resident = trace.resident_pages[out.resident_bytes.len()]
            .map(|pages| pages * i64::from(trace.page_size_bytes));
        let end = IntervalEnd {
            wall_ns: number * MINUTE_NS,
            boottime_ns: None,
        };
        out.push(&folder.fold(end, accesses, resident).rows);
    }
    out
}

impl SampledFold {
    fn push(&mut self, rows: &[HeatRow]) {
        let (mut loads, mut stores, mut resident) = ([0; KINDS], [0; KINDS], [0; KINDS]);
        let (mut distinct, mut f1, mut f2) = (
            ByWindow::default(),
            ByWindow::default(),
            ByWindow::default(),
        );
        for row in rows {
            let kind = row.kind as usize;
            let samples = row.samples.unwrap_or_default();
            loads[kind] += samples.loads as i64;
            stores[kind] += samples.stores as i64;
            resident[kind] += row.resident_bytes;
            let columns = [
                (&mut distinct, row.distinct_pages),
                (&mut f1, row.f1_pages),
                (&mut f2, row.f2_pages),
            ];
            for (sums, pages) in columns {
                for (sum, pages) in sums.iter_mut().zip(pages.unwrap_or_default()) {
                    sum[kind] += pages;
                }
            }
        }
        self.load_samples.push(loads);
        self.store_samples.push(stores);
        self.resident_bytes.push(resident);
        self.distinct_pages.push(distinct);
        self.f1_pages.push(f1);
        self.f2_pages.push(f2);
    }
}

fn by_kind<'py>(py: Python<'py>, rows: &[ByKind]) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let flat = numpy::PyArray1::from_iter(py, rows.iter().flatten().copied());
    flat.reshape([rows.len(), KINDS])
}

fn by_window<'py>(py: Python<'py>, rows: &[ByWindow]) -> PyResult<Bound<'py, PyArray3<i64>>> {
    let flat = numpy::PyArray1::from_iter(py, rows.iter().flatten().flatten().copied());
    flat.reshape([rows.len(), WINDOWS.len(), KINDS])
}
