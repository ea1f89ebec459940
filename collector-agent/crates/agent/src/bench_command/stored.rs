//! The newest result of every pair of nodes, kept in the state directory.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tierscope_membench::{MembenchError, Target};
use tierscope_sample::inventory::NodeBench;
use tierscope_sysfs::copy_engines::CopyEngine;

/// Name of the file.
const FILE: &str = "bench.json";
/// Shape of the document (docs/agent-json.md).
const SCHEMA: &str = "tierscope.bench/1";

/// What one run measured, and what is kept of all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Document {
    schema: String,
    /// Measured pairs.
    pub(crate) benches: Vec<NodeBench>,
    /// Pairs that were not measured by the newest run.
    pub(crate) skipped: Vec<SkippedPair>,
    /// Engines that copy memory in place of processors; none of them is measured. `None` where no driver shows any.
    #[serde(default)]
    pub(crate) copy_engines: Option<Vec<CopyEngine>>,
}

/// A pair of nodes that was not measured, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SkippedPair {
    pub(crate) cpu_node: u32,
    pub(crate) memory_node: u32,
    pub(crate) reason: String,
}

impl SkippedPair {
    pub(crate) fn new(target: &Target, error: &MembenchError) -> Self {
        Self {
            cpu_node: target.cpu_node,
            memory_node: target.memory_node,
            reason: error.to_string(),
        }
    }
}

impl Document {
    pub(crate) fn new(benches: Vec<NodeBench>, skipped: Vec<SkippedPair>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            benches,
            skipped,
            copy_engines: None,
        }
    }
}

/// What is kept in a state directory; nothing where no bench was run or the file is damaged.
pub(crate) fn load(state_dir: &Path) -> Vec<NodeBench> {
    let text = fs::read_to_string(state_dir.join(FILE)).unwrap_or_default();
    let document: Option<Document> = serde_json::from_str(&text).ok();
    document
        .filter(|document| document.schema == SCHEMA)
        .map(|document| document.benches)
        .unwrap_or_default()
}

/// Keeps a result as a whole. Pairs that it did not measure keep their older result.
pub(super) fn save(state_dir: &Path, document: &Document) -> io::Result<()> {
    tierscope_host::state_dir::open(state_dir)?;
    let mut kept = document.clone();
    let pair = |bench: &NodeBench| (bench.cpu_node, bench.memory_node);
    let is_older = |old: &NodeBench| !document.benches.iter().any(|new| pair(new) == pair(old));
    kept.benches.extend(load(state_dir).into_iter().filter(is_older));
    kept.benches.sort_by_key(pair);
    let path = state_dir.join(FILE);
    let temporary = path.with_extension("new");
    fs::write(&temporary, serde_json::to_string(&kept)?)?;
    fs::rename(&temporary, &path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn bench(memory_node: u32, measured_wall_ns: i64) -> NodeBench {
        NodeBench {
            memory_node,
            measured_wall_ns,
            ..NodeBench::default()
        }
    }

    #[test]
    fn a_run_replaces_the_pairs_that_it_measured_and_no_others() {
        let directory = tempfile::tempdir().unwrap();
        let state_dir = directory.path().join("new");
        assert_eq!(load(&state_dir), []);
        save(
            &state_dir,
            &Document::new(vec![bench(0, 1), bench(1, 1)], Vec::new()),
        )
        .unwrap();
        save(&state_dir, &Document::new(vec![bench(1, 2)], Vec::new())).unwrap();
        assert_eq!(load(&state_dir), [bench(0, 1), bench(1, 2)]);
    }

    #[test]
    fn a_damaged_or_foreign_file_is_no_result() {
        let directory = tempfile::tempdir().unwrap();
        for text in ["{", "{\"schema\":\"other/1\",\"benches\":[],\"skipped\":[]}"] {
            fs::write(directory.path().join(FILE), text).unwrap();
            assert_eq!(load(directory.path()), []);
        }
    }
}
