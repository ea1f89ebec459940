//! Python bindings of the page fold and the simulator's inner loop.

use pyo3::prelude::*;

/// The extension module `tierscope_simcore`.
#[pymodule]
fn tierscope_simcore(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
