//! The simulator for Python: a trace from columns, one simulation, and its figures as arrays.

use std::collections::HashMap;

use numpy::{
    IntoPyArray as _, PyArray1, PyArray2, PyArray3, PyArrayMethods as _, PyReadonlyArray1,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tierscope_engine::{
    GroupEvent, HintTime, HotPageSelection, Interleave, Interval, Kswapd, Lru, Memory, Offload,
    Pages, Params, Policy, Rows, Scan, Swap, SwapDevice, SwapEvent, Tenant, TenantInterval, Tpp,
    Trace, Watermarks, oracle_accesses, simulate, simulate_with_swap,
};

use crate::sampled_trace::PageTrace;
use crate::settings::Settings;

const KINDS: usize = 3;

/// A trace that is ready to be replayed.
#[pyclass(frozen, module = "tierscope_simcore")]
pub(crate) struct SimulationTrace {
    trace: Trace,
}

#[pymethods]
impl SimulationTrace {
    /// A trace from columns: pages with their kind, size in base pages, first and last interval; rows in order of
    /// interval. `tenants`: whose each page is, from 0. Raises `ValueError` that names the row or the page.
    #[new]
    #[allow(
        clippy::needless_pass_by_value,
        clippy::too_many_arguments,
        reason = "arguments from Python are owned, one for each column"
    )]
    #[pyo3(signature = (intervals, *, kinds, units, first, last, row_interval, row_page, row_accesses, row_written, tenants = None))]
    fn new(
        py: Python<'_>,
        intervals: usize,
        kinds: PyReadonlyArray1<'_, u8>,
        units: PyReadonlyArray1<'_, u32>,
        first: PyReadonlyArray1<'_, u32>,
        last: PyReadonlyArray1<'_, u32>,
        row_interval: PyReadonlyArray1<'_, u32>,
        row_page: PyReadonlyArray1<'_, u32>,
        row_accesses: PyReadonlyArray1<'_, u32>,
        row_written: PyReadonlyArray1<'_, bool>,
        tenants: Option<PyReadonlyArray1<'_, u8>>,
    ) -> PyResult<Self> {
        let pages = Pages {
            kinds: kinds.as_slice()?,
            units: units.as_slice()?,
            first: first.as_slice()?,
            last: last.as_slice()?,
            tenants: match &tenants {
                Some(some) => some.as_slice()?,
                None => &[],
            },
        };
        let rows = Rows {
            interval: row_interval.as_slice()?,
            page: row_page.as_slice()?,
            accesses: row_accesses.as_slice()?,
            written: row_written.as_slice()?,
        };
        let made = py.detach(|| Trace::new(intervals, pages, rows));
        made.map(|trace| Self { trace }).map_err(refuse)
    }

    /// A recording as a trace: each page is resident from its first access to the end.
    #[staticmethod]
    fn of_recording(py: Python<'_>, recording: &PageTrace) -> PyResult<Self> {
        py.detach(|| from_recording(recording))
            .map_err(PyValueError::new_err)
    }

    /// Intervals.
    #[getter]
    fn intervals(&self) -> usize {
        self.trace.intervals()
    }

    /// Pages ever resident.
    #[getter]
    fn pages(&self) -> usize {
        self.trace.pages()
    }

    /// Accesses of all intervals.
    #[getter]
    fn accesses(&self) -> u64 {
        self.trace.accesses()
    }

    /// Touched pages, summed over intervals.
    #[getter]
    fn touched(&self) -> usize {
        self.trace.touched()
    }

    /// Most base pages that were resident at once.
    #[getter]
    fn peak_units(&self) -> u64 {
        self.trace.peak_units()
    }

    /// Base pages in the largest page.
    #[getter]
    fn largest_units(&self) -> u64 {
        self.trace.largest()
    }

    /// Base pages of files that were accessed in one interval at most.
    fn read_once_units(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.trace.read_once_units())
    }

    /// Accesses that the densest pages of each interval take, float64 [intervals]: the bound of every policy.
    fn oracle<'py>(&self, py: Python<'py>, dram_units: u64) -> Bound<'py, PyArray1<f64>> {
        py.detach(|| oracle_accesses(&self.trace, dram_units))
            .into_pyarray(py)
    }

    /// Replays the trace. `policy` and `settings` are those of `domain/simulate`; one seed gives one result.
    ///
    /// `group`: what is asked of the service's control group, in order: interval, units to reclaim, limit of its units.
    /// `tenants`: of each its protection (`memory.low`) and its limit of DRAM, in units; with none, the trace is one's.
    /// `with_swap`: remember what pages do on swap.
    /// `armed_units`: what a recorded scanner armed in each interval.
    #[pyo3(signature = (policy, settings, *, seed = None, group = Vec::new(), tenants = Vec::new(), with_swap = false, armed_units = Vec::new()))]
    #[allow(
        clippy::needless_pass_by_value,
        clippy::too_many_arguments,
        reason = "arguments from Python are owned, and named"
    )]
    fn simulate(
        &self,
        py: Python<'_>,
        policy: &str,
        settings: HashMap<String, f64>,
        seed: Option<u64>,
        group: Vec<(u32, u64, Option<u64>)>,
        tenants: Vec<(u64, Option<u64>)>,
        with_swap: bool,
        armed_units: Vec<u64>,
    ) -> PyResult<SimulationOutcome> {
        let events = group
            .into_iter()
            .map(|(interval, reclaim_units, high_units)| GroupEvent {
                interval,
                reclaim_units,
                high_units,
            });
        let params = Params {
            group: events.collect(),
            tenants: tenants
                .iter()
                .map(|&(low_units, dram_max_units)| Tenant {
                    low_units,
                    dram_max_units,
                })
                .collect(),
            armed_units,
            ..Settings(&settings).params(policy, seed)?
        };
        let replay = || {
            if !with_swap {
                return simulate(&self.trace, params).map(|outcome| (outcome, None));
            }
            let (outcome, events) = simulate_with_swap(&self.trace, params)?;
            Ok((outcome, Some(swap_traffic(&events))))
        };
        let (outcome, swap) = py.detach(replay).map_err(refuse)?;
        Ok(SimulationOutcome {
            intervals: outcome.intervals,
            swap,
            tenants: outcome.tenants,
        })
    }
}

#[allow(clippy::needless_pass_by_value, reason = "taken by map_err")]
fn refuse(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn from_recording(recording: &PageTrace) -> Result<SimulationTrace, String> {
    let intervals = recording.accesses();
    let mut numbers: HashMap<(u8, u64), u32> = HashMap::new();
    let (mut kinds, mut first) = (Vec::new(), Vec::new());
    let (mut row_interval, mut row_page, mut row_accesses, mut row_written) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (now, accesses) in (0_u32..).zip(intervals) {
        for access in accesses {
            let count = access
                .loads
                .checked_add(access.stores)
                .ok_or_else(|| format!("row {}: more than 2^32 accesses", row_page.len() + 1))?;
            if count == 0 {
                continue;
            }
            let next = kinds.len() as u32;
            let number = *numbers
                .entry((access.kind as u8, access.page))
                .or_insert(next);
            if number == next {
                kinds.push(access.kind as u8);
                first.push(now);
            }
            row_interval.push(now);
            row_page.push(number);
            row_accesses.push(count);
            row_written.push(access.stores > 0);
        }
    }
    let pages = Pages {
        units: &vec![1; kinds.len()],
        last: &vec![(intervals.len() as u32).saturating_sub(1); kinds.len()],
        kinds: &kinds,
        first: &first,
        tenants: &[],
    };
    let rows = Rows {
        interval: &row_interval,
        page: &row_page,
        accesses: &row_accesses,
        written: &row_written,
    };
    let made = Trace::new(intervals.len(), pages, rows);
    made.map(|trace| SimulationTrace { trace })
        .map_err(|error| error.to_string())
}

impl Settings<'_> {
    fn policy(&self, name: &str) -> PyResult<Policy> {
        Ok(match name {
            "all_dram" => Policy::AllDram,
            "first_touch" => Policy::FirstTouch,
            "interleave" => Policy::Interleave(Interleave {
                dram_weight: self.weight("dram_weight")?,
                slow_weight: self.weight("slow_weight")?,
            }),
            "numa_balancing" => Policy::NumaBalancing,
            "hot_page_selection" => Policy::HotPageSelection(HotPageSelection {
                threshold_s: self.number("hot_threshold_s")?,
                limit_units_per_s: self.number("limit_units_per_s")?,
                automatic_threshold: self.is_on("automatic_threshold")?,
                free_fast_path_units: self.count("free_fast_path_units")?,
                allocation_demotes: self.is_on("allocation_demotes")?,
                needs_free: self.is_on("promotion_needs_free")?,
                threshold_intervals: self.weight("threshold_intervals")?,
            }),
            "autotiering" => Policy::AutoTiering {
                reserve_units: self.count("reserve_units")?,
                refill_units: self.count("refill_units")?,
                exchange_units: self.count("exchange_units")?,
            },
            "tpp" => Policy::Tpp(Tpp {
                type_aware: self.is_on("type_aware")?,
                decoupled: self.is_on("decoupled")?,
                active_lru_filter: self.is_on("active_lru_filter")?,
                demotion_watermark: self.count("demotion_watermark_units")?,
            }),
            other => return Err(PyValueError::new_err(format!("there is no policy {other}"))),
        })
    }

    fn memory(&self) -> PyResult<Memory> {
        let swap = if self.is_on("swap")? {
            let device = if self.is_on("swap_zoned")? {
                SwapDevice::Zns
            } else {
                SwapDevice::BlockSsd
            };
            Some(Swap {
                device,
                units: self.count("swap_units")?,
            })
        } else {
            None
        };
        Ok(Memory {
            dram_units: self.count("dram_units")?,
            slow_units: self.count("slow_units")?,
            swap,
            watermarks: Watermarks {
                low: self.count("watermark_low_units")?,
                high: self.count("watermark_high_units")?,
                promo: self.count("watermark_promo_units")?,
            },
        })
    }

    fn lru(&self) -> PyResult<Lru> {
        match self.count("lru")? {
            0 => Ok(Lru::Exact),
            1 => Ok(Lru::Classic),
            2 => Ok(Lru::MultiGeneration),
            other => Err(PyValueError::new_err(format!(
                "lru is {other}; it is 0 (exact), 1 (classic lists) or 2 (multi-generation)"
            ))),
        }
    }

    fn params(&self, policy: &str, seed: Option<u64>) -> PyResult<Params> {
        let offload = if self.is_on("offload")? {
            Some(Offload {
                step_s: self.number("offload_step_s")?,
                reclaim_ratio: self.number("offload_reclaim_ratio")?,
                pressure_target: self.number("offload_pressure_target")?,
                fault_s: self.number("swap_fault_s")?,
            })
        } else {
            None
        };
        let kswapd = if self.is_on("continuous_kswapd")? {
            Some(Kswapd {
                page_s: self.number("demotion_page_s")?,
                unit_s: self.number("demotion_unit_s")?,
                look_s: self.number("look_s")?,
                slow_low_units: self.count("slow_watermark_low_units")?,
                slow_high_units: self.count("slow_watermark_high_units")?,
                kernel_page_units: self.count("kernel_page_units")?,
            })
        } else {
            None
        };
        Ok(Params {
            kswapd,
            cache_trim_mode: self.is_on("cache_trim_mode")?,
            group: Vec::new(),
            tenants: Vec::new(),
            armed_units: Vec::new(),
            lru: self.lru()?,
            policy: self.policy(policy)?,
            memory: self.memory()?,
            offload,
            interval_s: self.number("interval_s")?,
            scan: Scan {
                pass_intervals: self.number("scan_pass_intervals")?,
                longest_pass_intervals: self.number("scan_longest_pass_intervals")?,
                pass_growth: self.number("scan_pass_growth")?,
                size_pages: self.weight("scan_size_pages")?,
            },
            hint_time: seed.map_or(HintTime::Expected, |seed| HintTime::Drawn { seed }),
            round_trip_intervals: [
                self.weight("round_trip_short_intervals")?,
                self.weight("round_trip_long_intervals")?,
            ],
        })
    }
}

/// What a simulation says of each interval.
#[pyclass(frozen, module = "tierscope_simcore")]
pub(crate) struct SimulationOutcome {
    intervals: Vec<Interval>,
    swap: Option<[Vec<u32>; 3]>,
    tenants: Vec<TenantInterval>,
}

/// Interval, page and step of each event, by base page; pages are numbered in the order in which they went to swap.
fn swap_traffic(events: &[SwapEvent]) -> [Vec<u32>; 3] {
    let mut first = HashMap::new();
    let mut pages = 0;
    let mut columns = [const { Vec::new() }; 3];
    for event in events {
        let from = *first.entry(event.page).or_insert_with(|| {
            pages += event.units;
            pages - event.units
        });
        for page in from..from + event.units {
            columns[0].push(event.interval);
            columns[1].push(page);
            columns[2].push(event.step as u32);
        }
    }
    columns
}

type Figure = fn(&Interval) -> f64;

/// Figures of one number an interval.
const FIGURES: [(&str, Figure); 24] = [
    ("touched", |at| at.touched as f64),
    ("round_trips_short", |at| at.round_trips[0] as f64),
    ("round_trips_long", |at| at.round_trips[1] as f64),
    ("hint_faults", |at| at.hint_faults as f64),
    ("activated", |at| at.activated as f64),
    ("candidates", |at| at.candidates as f64),
    ("limited", |at| at.limited as f64),
    ("failed_promotions", |at| at.failed_promotions as f64),
    ("failed_allocations", |at| at.failed_allocations as f64),
    ("major_faults", |at| at.major_faults as f64),
    ("swapped_in", |at| at.swapped_in as f64),
    ("swapped_out", |at| at.swapped_out as f64),
    ("swap_written", |at| at.swap_written as f64),
    ("dropped", |at| at.dropped as f64),
    ("refaulted", |at| at.refaulted as f64),
    ("offloaded", |at| at.offloaded as f64),
    ("born", |at| at.born as f64),
    ("died", |at| at.died as f64),
    ("dram_free", |at| at.dram_free as f64),
    ("swap_used", |at| at.swap_used as f64),
    ("away", |at| at.away as f64),
    ("nowhere", |at| at.nowhere as f64),
    ("placed_in_dram", |at| at.placed[0] as f64),
    ("threshold_s", |at| at.threshold_s),
];

#[pymethods]
impl SimulationOutcome {
    /// Accesses by kind and place (DRAM, slower tier, away), int64 [intervals, 3, 3].
    #[getter]
    fn accesses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<i64>>> {
        let flat = self
            .intervals
            .iter()
            .flat_map(|at| at.accesses.into_iter().flatten());
        integers(py, flat).reshape([self.intervals.len(), KINDS, 3])
    }

    /// Promoted base pages by kind, int64 [intervals, 3].
    #[getter]
    fn promoted<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let flat = self.intervals.iter().flat_map(|at| at.promoted);
        integers(py, flat).reshape([self.intervals.len(), KINDS])
    }

    /// Demoted base pages by kind, int64 [intervals, 3].
    #[getter]
    fn demoted<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let flat = self.intervals.iter().flat_map(|at| at.demoted);
        integers(py, flat).reshape([self.intervals.len(), KINDS])
    }

    /// Resident base pages by tier (DRAM, slower) and kind, int64 [intervals, 2, 3].
    #[getter]
    fn used<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<i64>>> {
        let flat = self
            .intervals
            .iter()
            .flat_map(|at| at.used.into_iter().flatten());
        integers(py, flat).reshape([self.intervals.len(), 2, KINDS])
    }

    /// What pages did on swap, in order: interval, page (numbered from 0), and 0 out, 1 in or 2 stale; uint32 each.
    /// None unless it was asked for.
    fn swap_traffic<'py>(&self, py: Python<'py>) -> Option<[Bound<'py, PyArray1<u32>>; 3]> {
        let swap = self.swap.as_ref()?;
        Some(
            swap.each_ref()
                .map(|column| column.clone().into_pyarray(py)),
        )
    }

    /// By tenant: accesses by place, resident base pages by tier, demoted ones, int64 [intervals, tenants, 6].
    #[getter]
    fn tenants<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<i64>>> {
        let flat = self.tenants.iter().flat_map(|at| {
            let places = at.accesses.into_iter().chain(at.used);
            places.chain([at.demoted])
        });
        let tenants = self.tenants.len() / self.intervals.len().max(1);
        integers(py, flat).reshape([self.intervals.len(), tenants, 6])
    }

    /// The other figures by name, float64 [intervals] each.
    fn figures<'py>(&self, py: Python<'py>) -> Vec<(&'static str, Bound<'py, PyArray1<f64>>)> {
        let column = |figure: Figure| {
            let values: Vec<f64> = self.intervals.iter().map(figure).collect();
            values.into_pyarray(py)
        };
        FIGURES
            .into_iter()
            .map(|(name, figure)| (name, column(figure)))
            .collect()
    }
}

fn integers(py: Python<'_>, values: impl Iterator<Item = u64>) -> Bound<'_, PyArray1<i64>> {
    let values: Vec<i64> = values.map(u64::cast_signed).collect();
    values.into_pyarray(py)
}
