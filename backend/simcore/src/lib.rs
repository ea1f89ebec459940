//! Python bindings of the page fold and the simulator's inner loop.

mod sampled_trace;
mod simulation;

use pyo3::prelude::*;

/// The extension module `tierscope_simcore`.
#[pymodule]
fn tierscope_simcore(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<sampled_trace::PageTrace>()?;
    module.add_class::<sampled_trace::SampledFold>()?;
    module.add_class::<simulation::SimulationTrace>()?;
    module.add_class::<simulation::SimulationOutcome>()?;
    module.add_function(wrap_pyfunction!(sampled_trace::fold_sampled_trace, module)?)
}
