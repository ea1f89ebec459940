//! Swap devices for Python: settings by name, and what comes out, by name.

use std::collections::HashMap;

use numpy::PyReadonlyArray1;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tierscope_swapdev::{
    Backend, Block, Compression, Event, Flash, Outcome, Params, Step, SwapError, Tenant,
    TenantOutcome, Traffic, Trim, ZonePolicy, Zoned, play, run,
};

use crate::settings::Settings;

create_exception!(
    tierscope_simcore,
    SwapDeviceFull,
    PyValueError,
    "The swap area, or the flash below it, has no room left."
);

type Figures = HashMap<&'static str, Option<f64>>;

/// Runs a swap device under tenants. Returns figures of the device, then of each tenant; None where there is none.
/// Raises `ValueError` that names the setting, and `SwapDeviceFull`.
#[pyfunction]
#[pyo3(signature = (backend, settings, tenants, *, seed))]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments from Python are owned"
)]
pub(crate) fn run_swap_device(
    py: Python<'_>,
    backend: &str,
    settings: HashMap<String, f64>,
    tenants: Vec<HashMap<String, f64>>,
    seed: u64,
) -> PyResult<(Figures, Vec<Figures>)> {
    let given = Settings(&settings);
    let params = Params {
        flash: given.flash()?,
        backend: given.backend(backend)?,
        tenants: tenants
            .iter()
            .map(|tenant| Settings(tenant).tenant())
            .collect::<PyResult<_>>()?,
        cpus: given.weight("cpus")?,
        warm_up_writes_ratio: given.number("warm_up_writes_ratio")?,
        measured_writes_ratio: given.number("measured_writes_ratio")?,
        seed,
    };
    let outcome = py.detach(|| run(&params)).map_err(|error| refuse(&error))?;
    let tenants = outcome.tenants.iter().map(tenant_figures).collect();
    Ok((device_figures(&outcome), tenants))
}

/// Plays traffic to a swap device: by event its time since the beginning, its page, and 0 out, 1 in or 2 stale. Returns
/// figures of the device and of the traffic. Raises as `run_swap_device` does.
#[pyfunction]
#[pyo3(signature = (backend, settings, *, at_ns, page, step, pass_ns, seed))]
#[allow(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    reason = "arguments from Python are owned, one for each column"
)]
pub(crate) fn play_swap_traffic(
    py: Python<'_>,
    backend: &str,
    settings: HashMap<String, f64>,
    at_ns: PyReadonlyArray1<'_, u64>,
    page: PyReadonlyArray1<'_, u32>,
    step: PyReadonlyArray1<'_, u32>,
    pass_ns: u64,
    seed: u64,
) -> PyResult<(Figures, Vec<Figures>)> {
    let given = Settings(&settings);
    let (at_ns, page, step) = (at_ns.as_slice()?, page.as_slice()?, step.as_slice()?);
    if at_ns.len() != page.len() || page.len() != step.len() {
        return Err(PyValueError::new_err("columns of events differ in length"));
    }
    let events = at_ns.iter().zip(page).zip(step);
    let traffic = Traffic {
        flash: given.flash()?,
        backend: given.backend(backend)?,
        pages: page.iter().max().map_or(0, |last| last + 1),
        events: events
            .map(|((at_ns, page), step)| event(*at_ns, *page, *step))
            .collect::<PyResult<_>>()?,
        pass_ns,
        warm_up_writes_ratio: given.number("warm_up_writes_ratio")?,
        measured_writes_ratio: given.number("measured_writes_ratio")?,
        seed,
    };
    let played = py
        .detach(|| play(&traffic))
        .map_err(|error| refuse(&error))?;
    let mut figures = device_figures(&played.outcome);
    figures.insert("asked_ns", Some(played.asked_ns as f64));
    figures.insert("is_settled", Some(f64::from(u8::from(played.is_settled))));
    let tenants = played.outcome.tenants.iter().map(tenant_figures).collect();
    Ok((figures, tenants))
}

fn event(at_ns: u64, page: u32, step: u32) -> PyResult<Event> {
    let step = match step {
        0 => Step::Out,
        1 => Step::In,
        2 => Step::Stale,
        other => {
            return Err(PyValueError::new_err(format!("there is no step {other}")));
        }
    };
    Ok(Event { at_ns, page, step })
}

fn refuse(error: &SwapError) -> PyErr {
    let said = error.to_string();
    match error {
        SwapError::Setting { .. } => PyValueError::new_err(said),
        SwapError::NoSlot | SwapError::NoFlash => SwapDeviceFull::new_err(said),
    }
}

impl Settings<'_> {
    fn flash(&self) -> PyResult<Flash> {
        Ok(Flash {
            slots: self.weight("slots")?,
            spare_ratio: self.number("spare_ratio")?,
            dies: self.weight("dies")?,
            slots_per_page: self.weight("slots_per_page")?,
            pages_per_block: self.weight("pages_per_block")?,
            read_ns: self.count("read_ns")?,
            transfer_ns: self.count("transfer_ns")?,
            program_ns: self.count("program_ns")?,
            erase_ns: self.count("erase_ns")?,
            write_buffer_slots: self.weight("write_buffer_slots")?,
        })
    }

    fn backend(&self, name: &str) -> PyResult<Backend> {
        Ok(match name {
            "block" => Backend::Block(self.block(Trim::Off)?),
            "block_trim_fine" => Backend::Block(self.block(Trim::Fine)?),
            "block_trim_coarse" => Backend::Block(self.block(Trim::Coarse)?),
            "zns" => Backend::Zoned(self.zoned(ZonePolicy::Single)?),
            "zns_per_core" => Backend::Zoned(self.zoned(ZonePolicy::PerCore)?),
            "zns_hot_cold" => Backend::Zoned(self.zoned(ZonePolicy::HotCold)?),
            "zns_per_tenant" => Backend::Zoned(self.zoned(ZonePolicy::PerTenant)?),
            "zram" => Backend::Zram(self.compression(u64::MAX, false)?),
            "zswap" => Backend::Zswap(
                self.compression(self.count("pool_bytes")?, true)?,
                self.block(Trim::Coarse)?,
            ),
            other => {
                return Err(PyValueError::new_err(format!(
                    "there is no swap device {other}"
                )));
            }
        })
    }

    fn block(&self, trim: Trim) -> PyResult<Block> {
        Ok(Block {
            trim,
            trim_ns: self.count("trim_ns")?,
            cutoff_ratio: self.number("cutoff_ratio")?,
        })
    }

    fn zoned(&self, policy: ZonePolicy) -> PyResult<Zoned> {
        Ok(Zoned {
            policy,
            open_zones: self.weight("open_zones")?,
            copy_ns: self.count("copy_ns")?,
        })
    }

    fn compression(&self, pool_bytes: u64, refuses_incompressible: bool) -> PyResult<Compression> {
        Ok(Compression {
            median_ratio: self.number("median_ratio")?,
            ratio_log_sd: self.number("ratio_log_sd")?,
            same_filled_ratio: self.number("same_filled_ratio")?,
            compress_ns: self.count("compress_ns")?,
            decompress_ns: self.count("decompress_ns")?,
            copy_ns: self.count("copy_ns")?,
            same_filled_ns: self.count("same_filled_ns")?,
            pool_bytes,
            refuses_incompressible,
        })
    }

    fn tenant(&self) -> PyResult<Tenant> {
        Ok(Tenant {
            pages: self.weight("pages")?,
            frames: self.weight("frames")?,
            threads: self.weight("threads")?,
            store_ratio: self.number("store_ratio")?,
            hot_pages_ratio: self.number("hot_pages_ratio")?,
            hot_accesses_ratio: self.number("hot_accesses_ratio")?,
            access_ns: self.count("access_ns")?,
        })
    }
}

fn device_figures(outcome: &Outcome) -> Figures {
    let counts = &outcome.counts;
    let counted = [
        ("elapsed_ns", outcome.elapsed_ns),
        ("swap_writes", counts.swap_writes),
        ("device_writes", counts.device_writes),
        ("flash_writes", counts.flash_writes),
        ("host_copies", counts.host_copies),
        ("device_copies", counts.device_copies),
        ("dropped_copies", counts.dropped_copies),
        ("trims", counts.trims),
        ("trimmed_slots", counts.trimmed_slots),
        ("erases", counts.erases),
    ];
    let ratios = [
        ("host_amplification", outcome.host_amplification()),
        ("device_amplification", outcome.device_amplification()),
        ("write_amplification", outcome.write_amplification()),
        ("used_ratio", Some(outcome.used_ratio)),
        ("busy_ratio", outcome.busy_ratio),
        ("pool_bytes", outcome.pool_bytes.map(|bytes| bytes as f64)),
        ("pool_pages", outcome.pool_pages.map(|pages| pages as f64)),
    ];
    let counted = counted.map(|(name, count)| (name, Some(count as f64)));
    counted.into_iter().chain(ratios).collect()
}

fn tenant_figures(tenant: &TenantOutcome) -> Figures {
    let at = |quantile| tenant.swap_in_quantile_ns(quantile).map(|ns| ns as f64);
    HashMap::from([
        ("accesses", Some(tenant.accesses as f64)),
        ("swap_ins", Some(tenant.swap_ins as f64)),
        ("evictions", Some(tenant.evictions as f64)),
        ("swap_outs", Some(tenant.swap_outs as f64)),
        ("swap_in_p50_ns", at(0.5)),
        ("swap_in_p99_ns", at(0.99)),
        ("swap_in_p999_ns", at(0.999)),
    ])
}
