//! The specification of a simulated fleet.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::Deserialize;

/// Which recordings and traces stand for which services. Relative paths start at the file's own directory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spec {
    recordings_dir: PathBuf,
    traces_dir: PathBuf,
    #[serde(rename = "service")]
    pub(crate) services: Vec<ServiceSpec>,
}

/// One service of the fleet.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceSpec {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Executable.
    pub(crate) group: String,
    /// Its share of the hosts.
    pub(crate) weight: u32,
    /// Kernel recordings, one of them per host.
    pub(crate) recordings: Vec<PathBuf>,
    /// Page trace for its heat; without it the service has no heat.
    pub(crate) trace: Option<TraceSpec>,
}

/// A stretch of a page trace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TraceSpec {
    pub(crate) file: PathBuf,
    /// First interval.
    pub(crate) first: usize,
    /// Number of intervals, played in a loop.
    pub(crate) intervals: usize,
    /// Intervals of the trace that are merged into one minute.
    pub(crate) stride: usize,
}

/// Reads and checks a specification; paths in the answer are complete.
pub(crate) fn read(path: &Path) -> anyhow::Result<Spec> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the fleet's specification {}", path.display()))?;
    let mut spec: Spec = toml::from_str(&text).with_context(|| format!("in {}", path.display()))?;
    let base = path.parent().unwrap_or(Path::new("."));
    let recordings = base.join(&spec.recordings_dir);
    let traces = base.join(&spec.traces_dir);
    if spec.services.is_empty() {
        bail!("{}: no [[service]]: a fleet needs at least one", path.display());
    }
    for service in &mut spec.services {
        check(service).with_context(|| format!("in {}: service {}", path.display(), service.name))?;
        for recording in &mut service.recordings {
            *recording = recordings.join(&recording);
        }
        if let Some(trace) = &mut service.trace {
            trace.file = traces.join(&trace.file);
        }
    }
    Ok(spec)
}

fn check(service: &ServiceSpec) -> anyhow::Result<()> {
    if service.weight == 0 {
        bail!("weight is 0: leave the service out instead");
    }
    if service.recordings.is_empty() {
        bail!("it has no recordings: its hosts would have no counters");
    }
    if let Some(trace) = &service.trace
        && (trace.stride == 0 || trace.intervals < trace.stride)
    {
        bail!("its trace needs a stride of at least 1 and at least that many intervals");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> anyhow::Result<Spec> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("fleet.toml");
        std::fs::write(&path, text)?;
        read(&path)
    }

    const GOOD: &str = r#"
        recordings_dir = "rec"
        traces_dir = "traces"
        [[service]]
        namespace = "shop"
        name = "checkout"
        group = "redis-server"
        weight = 1
        recordings = ["a.tar.zst"]
    "#;

    #[test]
    fn paths_start_at_the_files_own_directory() -> anyhow::Result<()> {
        let spec = parse(GOOD)?;
        assert!(spec.services[0].recordings[0].is_absolute());
        assert!(spec.services[0].recordings[0].ends_with("rec/a.tar.zst"));
        Ok(())
    }

    #[test]
    fn an_unknown_word_is_named() {
        let error = parse(&GOOD.replace("weight", "wait")).expect_err("must be refused");
        assert!(format!("{error:#}").contains("wait"), "{error:#}");
    }

    #[test]
    fn a_service_without_weight_is_refused() {
        assert!(parse(&GOOD.replace("weight = 1", "weight = 0")).is_err());
    }
}
