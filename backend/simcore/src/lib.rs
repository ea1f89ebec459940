//! Python bindings of the page fold, records of damo, the simulator's inner loop, swap devices, and samples of Prometheus;
//! rows of live tables for binary COPY, the codec of blocks, and the fold of heat packs.

mod blocks;
mod damo;
mod heat_packs;
mod live_rows;
mod sampled_trace;
mod samples;
mod settings;
mod simulation;
mod swap_device;

use pyo3::prelude::*;

/// The extension module `tierscope_simcore`.
#[pymodule]
fn tierscope_simcore(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(blocks::pack_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(blocks::unpack_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(blocks::pack_floats, module)?)?;
    module.add_function(wrap_pyfunction!(blocks::pack_ints, module)?)?;
    module.add_function(wrap_pyfunction!(blocks::unpack_floats, module)?)?;
    module.add_function(wrap_pyfunction!(blocks::unpack_ints, module)?)?;
    module.add_class::<damo::DamoRecord>()?;
    module.add_function(wrap_pyfunction!(damo::looks_like_damo, module)?)?;
    module.add_function(wrap_pyfunction!(damo::recognise_file, module)?)?;
    module.add_function(wrap_pyfunction!(damo::read_damo, module)?)?;
    module.add_class::<heat_packs::HeatFold>()?;
    module.add_function(wrap_pyfunction!(live_rows::grouped_rows, module)?)?;
    module.add_function(wrap_pyfunction!(live_rows::int8_matrix_rows, module)?)?;
    module.add_class::<sampled_trace::PageTrace>()?;
    module.add_class::<sampled_trace::SampledFold>()?;
    module.add_class::<simulation::SimulationTrace>()?;
    module.add_class::<simulation::SimulationOutcome>()?;
    module.add_function(wrap_pyfunction!(swap_device::run_swap_device, module)?)?;
    module.add_function(wrap_pyfunction!(swap_device::play_swap_traffic, module)?)?;
    let full = module.py().get_type::<swap_device::SwapDeviceFull>();
    module.add("SwapDeviceFull", full)?;
    module.add_class::<samples::SeriesIndex>()?;
    module.add_class::<samples::WriteRequest>()?;
    module.add_function(wrap_pyfunction!(samples::pack_requests, module)?)?;
    module.add_function(wrap_pyfunction!(samples::join_bodies, module)?)?;
    module.add_function(wrap_pyfunction!(samples::read_bodies, module)?)?;
    module.add_function(wrap_pyfunction!(samples::fold_counters, module)?)?;
    module.add_function(wrap_pyfunction!(samples::write_request, module)?)?;
    module.add_function(wrap_pyfunction!(samples::read_selectors, module)?)?;
    module.add_function(wrap_pyfunction!(samples::read_answer, module)?)?;
    module.add_function(wrap_pyfunction!(sampled_trace::fold_sampled_trace, module)?)
}
