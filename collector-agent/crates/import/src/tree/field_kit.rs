//! Field kits: one recording of one host in a `.tar.zst`, of which the batches are read here. Its snapshots are those of
//! [`crate::tree`].

use std::io::Read;
use std::path::Path;

use serde::Deserialize;

use super::members::{Limits, check, each};
use crate::tree_error::{TreeError, TreeProblem};

/// What the manifest of a kit begins with.
const SCHEMA_FAMILY: &str = "tierscope.field-kit/";
/// Bytes of a batch (the service takes no larger one), of the manifest, and of all batches.
const MAX_BATCH_BYTES: u64 = 1 << 20;
const MAX_MANIFEST_BYTES: u64 = 1 << 20;
const MAX_TOTAL_BYTES: u64 = 1 << 30;
/// Members that are looked at.
const MAX_MEMBERS: u64 = 4_000_000;
/// Bytes that are inflated, as for trees of snapshots.
const MAX_INFLATED_BYTES: u64 = 8 << 30;

/// What is read of a kit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldKit {
    /// Compressed batches in their order.
    pub batches: Vec<Vec<u8>>,
    /// What the manifest says.
    pub manifest: KitManifest,
}

/// What is used of a kit's manifest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct KitManifest {
    /// `tierscope.field-kit/1`.
    pub schema: String,
    /// `CLOCK_REALTIME` of the begin, nanoseconds since the Unix epoch.
    pub began_wall_ns: i64,
    /// That of the end.
    pub ended_wall_ns: i64,
    /// What the kit lacks.
    #[serde(default)]
    pub missing: Vec<KitMissing>,
}

/// Something that a kit lacks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct KitMissing {
    /// What.
    pub what: String,
    /// Why.
    pub reason: String,
}

/// Reads the batches of a kit; `None` for an archive that is none.
///
/// # Errors
/// Where the file cannot be read, or a kit holds more than is taken.
pub fn open(path: &Path) -> Result<Option<FieldKit>, TreeError> {
    read(path).map_err(|problem| TreeError {
        path: path.to_owned(),
        problem,
    })
}

fn read(path: &Path) -> Result<Option<FieldKit>, TreeProblem> {
    let (mut batches, mut manifest) = (Vec::new(), None);
    let mut total_bytes = 0;
    let limits = Limits {
        files: MAX_MEMBERS,
        total_bytes: MAX_INFLATED_BYTES,
        ..Limits::default()
    };
    each(path, limits, |member| {
        let name = member.path.display().to_string();
        if name == "manifest.json" {
            check("bytes in its manifest", member.size_bytes, MAX_MANIFEST_BYTES)?;
            let mut text = String::new();
            let mut content = member.content.take(MAX_MANIFEST_BYTES);
            content.read_to_string(&mut text).map_err(TreeProblem::Archive)?;
            let parsed: Result<KitManifest, _> = serde_json::from_str(&text);
            manifest = parsed
                .ok()
                .filter(|manifest| manifest.schema.starts_with(SCHEMA_FAMILY));
        } else if name.starts_with("batches/") && name.ends_with(".pb.zst") {
            check("bytes in one batch", member.size_bytes, MAX_BATCH_BYTES)?;
            total_bytes += member.size_bytes;
            check("bytes of batches", total_bytes, MAX_TOTAL_BYTES)?;
            let mut body = Vec::new();
            let mut content = member.content.take(MAX_BATCH_BYTES);
            content.read_to_end(&mut body).map_err(TreeProblem::Archive)?;
            batches.push((name, body));
        }
        Ok(())
    })?;
    batches.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    let batches = batches.into_iter().map(|(_, body)| body).collect();
    Ok(manifest.map(|manifest| FieldKit { batches, manifest }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn kit(members: &[(&str, &[u8])]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let encoder = zstd::stream::write::Encoder::new(file.reopen().unwrap(), 1).unwrap();
        let mut tar = tar::Builder::new(encoder);
        for (name, content) in members {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            tar.append_data(&mut header, name, *content).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap();
        file
    }

    const MANIFEST: &[u8] = br#"{"schema": "tierscope.field-kit/1", "began_wall_ns": 5, "ended_wall_ns": 9,
        "missing": [{"what": "pebs", "reason": "no unit", "hint": ""}], "later": true}"#;

    #[test]
    fn batches_come_in_their_order_with_what_is_missing() {
        let file = kit(&[
            ("README.txt", b"read me"),
            ("batches/000001.pb.zst", b"two"),
            ("batches/000000.pb.zst", b"one"),
            ("batches/texts.txt", b"host"),
            ("manifest.json", MANIFEST),
        ]);
        let kit = open(file.path()).unwrap().unwrap();
        assert_eq!(kit.batches, [b"one", b"two"]);
        assert_eq!((kit.manifest.ended_wall_ns, kit.manifest.missing.len()), (9, 1));
    }

    #[test]
    fn other_archives_are_none_and_damaged_ones_an_error() {
        let tree = kit(&[("1795221490/proc/vmstat", b"pgfault 1\n")]);
        assert_eq!(open(tree.path()).unwrap(), None);
        let foreign = kit(&[("manifest.json", br#"{"schema": "other/1"}"#)]);
        assert_eq!(open(foreign.path()).unwrap(), None);
        let large = vec![0; (MAX_BATCH_BYTES + 1) as usize];
        let too_large = kit(&[("batches/000000.pb.zst", &large), ("manifest.json", MANIFEST)]);
        let message = open(too_large.path()).unwrap_err().to_string();
        assert!(message.contains("bytes in one batch"), "{message}");
        std::fs::write(tree.path(), b"no archive").unwrap();
        assert!(open(tree.path()).is_err());
    }
}
