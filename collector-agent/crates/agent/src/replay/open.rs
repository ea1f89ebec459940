//! Which kind of recording a file is.

use std::path::Path;

use anyhow::Result;

use super::damo::Damo;
use super::perf::PerfSource;
use super::source::HeatSource;
use super::traces::Trace;

/// Opens a recording of heat by its content, a page trace by its name; `None` for anything else.
pub(crate) fn open_heat(path: &Path) -> Result<Option<Box<dyn HeatSource>>> {
    let is_parquet = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"));
    if is_parquet {
        return Ok(Some(Box::new(Trace::open(path)?)));
    }
    if path.is_dir() {
        return Ok(None);
    }
    if let Some(damo) = Damo::open(path)? {
        return Ok(Some(Box::new(damo)));
    }
    let perf = PerfSource::open(path)?;
    Ok(perf.map(|perf| Box::new(perf) as Box<dyn HeatSource>))
}
