//! Members of an archive from an unknown sender, in any of the usual forms: each is bounded before it is read.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Component, Path, PathBuf};

use super::form::{Form, HEAD_BYTES, form_of, may_be_tar, unpacked};
use crate::recognise;
use crate::tree_error::TreeProblem;

/// Longest name, and longest record of extensions that holds one (GNU long name, PAX).
const MAX_NAME_BYTES: u64 = 4096;
/// Most levels of directories.
const MAX_DEPTH: usize = 64;

/// What an archive may hold at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Members of any kind, and half of the directories that are made for them.
    pub files: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of all files.
    pub total_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: 2_000_000,
            file_bytes: 64 << 20,
            total_bytes: 4 << 30,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Directory,
    File,
    /// A link or a special file, which nobody unpacks.
    Other,
}

/// A member, whose name leads nowhere else.
pub(crate) struct Member<'m> {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    /// As announced.
    pub(crate) size_bytes: u64,
    /// Seconds since 1970, where the archive says.
    pub(crate) modified_s: Option<u64>,
    pub(crate) content: &'m mut dyn Read,
}

/// Hands out the members of an archive in their order. Members of all kinds count against `limits.files`.
pub(crate) fn each(
    archive: &Path,
    limits: Limits,
    mut take: impl FnMut(Member<'_>) -> Result<(), TreeProblem>,
) -> Result<(), TreeProblem> {
    let mut file = File::open(archive).map_err(TreeProblem::Open)?;
    let mut head = Vec::new();
    (&file)
        .take(HEAD_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(TreeProblem::Open)?;
    file.rewind().map_err(TreeProblem::Open)?;
    let Some(form) = form_of(&head) else {
        return Err(TreeProblem::NoArchive(recognise::words(archive)));
    };
    // A little more than all files, for the headers.
    let stream_bytes = limits
        .total_bytes
        .saturating_add(limits.files.saturating_mul(1536));
    if form == Form::Zip {
        return each_of_zip(file, limits, &mut take);
    }
    let mut content = unpacked(form, file).map_err(TreeProblem::Archive)?;
    let mut head = Vec::new();
    content
        .by_ref()
        .take(HEAD_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(TreeProblem::Archive)?;
    if !may_be_tar(&head) {
        // One file that is packed alone, as collectl and sysstat leave them.
        return Err(TreeProblem::NoArchive(recognise::words(archive)));
    }
    let content = io::Cursor::new(head).chain(content);
    each_of_tar(content.take(stream_bytes), limits, &mut take)
}

fn each_of_tar(
    stream: impl Read,
    limits: Limits,
    take: &mut impl FnMut(Member<'_>) -> Result<(), TreeProblem>,
) -> Result<(), TreeProblem> {
    let mut tar = tar::Archive::new(stream);
    let mut extension = Extension::default();
    let mut members = 0;
    // Raw, because the library reads records of extensions whole, however long they are.
    for entry in tar.entries().map_err(TreeProblem::Archive)?.raw(true) {
        let mut entry = entry.map_err(TreeProblem::Archive)?;
        members += 1;
        check("files", members, limits.files)?;
        let header = entry.header();
        let kind = header.entry_type();
        let size_bytes = header.entry_size().map_err(TreeProblem::Archive)?;
        if kind.is_gnu_longname()
            || kind.is_gnu_longlink()
            || kind.is_pax_local_extensions()
            || kind.is_pax_global_extensions()
        {
            check("bytes in one name", size_bytes, MAX_NAME_BYTES)?;
            let mut record = Vec::new();
            entry.read_to_end(&mut record).map_err(TreeProblem::Archive)?;
            if kind.is_gnu_longname() {
                extension.name = Some(record);
            } else if kind.is_pax_local_extensions() {
                extension.read_pax(&record);
            }
            continue;
        }
        let Extension { name, is_sparse } = std::mem::take(&mut extension);
        let name = name.unwrap_or_else(|| header.path_bytes().into_owned());
        let modified_s = header.mtime().ok();
        take(Member {
            path: safe_path(&name)?,
            // The content of a sparse file is a map first.
            kind: if kind.is_dir() {
                Kind::Directory
            } else if kind.is_file() && !is_sparse {
                Kind::File
            } else {
                Kind::Other
            },
            size_bytes,
            modified_s,
            content: &mut entry,
        })?;
    }
    Ok(())
}

/// What records say of the member that follows them.
#[derive(Debug, Default)]
struct Extension {
    name: Option<Vec<u8>>,
    is_sparse: bool,
}

impl Extension {
    /// Reads PAX records: `length name=value`, each to the end of its line.
    fn read_pax(&mut self, records: &[u8]) {
        for record in records.split(|byte| *byte == b'\n') {
            let after_length = record
                .iter()
                .position(|byte| *byte == b' ')
                .map_or(0, |at| at + 1);
            let record = &record[after_length..];
            if let Some(path) = record.strip_prefix(b"path=") {
                self.name = Some(path.to_owned());
            }
            self.is_sparse |= record.starts_with(b"GNU.sparse.");
        }
    }
}

fn each_of_zip(
    file: File,
    limits: Limits,
    take: &mut impl FnMut(Member<'_>) -> Result<(), TreeProblem>,
) -> Result<(), TreeProblem> {
    let damaged = |error: zip::result::ZipError| TreeProblem::Archive(io::Error::other(error));
    let packed_bytes = file.metadata().map_err(TreeProblem::Open)?.len();
    check("bytes", packed_bytes, limits.total_bytes)?;
    let mut zip = zip::ZipArchive::new(file).map_err(damaged)?;
    check("files", zip.len() as u64, limits.files)?;
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(damaged)?;
        let path = safe_path(entry.name_raw())?;
        let kind = if entry.is_dir() {
            Kind::Directory
        } else if entry.is_file() {
            Kind::File
        } else {
            Kind::Other
        };
        take(Member {
            path,
            kind,
            size_bytes: entry.size(),
            modified_s: None,
            content: &mut entry,
        })?;
    }
    Ok(())
}

pub(crate) fn check(what: &'static str, found: u64, limit: u64) -> Result<(), TreeProblem> {
    if found > limit {
        Err(TreeProblem::TooLarge { what, found, limit })
    } else {
        Ok(())
    }
}

/// A path of plain names only.
fn safe_path(name: &[u8]) -> Result<PathBuf, TreeProblem> {
    check("bytes in one name", name.len() as u64, MAX_NAME_BYTES)?;
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    let name = String::from_utf8_lossy(&name[..end]).into_owned();
    let mut safe = PathBuf::new();
    for component in Path::new(&name).components() {
        match component {
            Component::Normal(part) => safe.push(part),
            Component::CurDir => {}
            _ => return Err(TreeProblem::Escapes(name)),
        }
    }
    check(
        "levels of directories",
        safe.components().count() as u64,
        MAX_DEPTH as u64,
    )?;
    Ok(safe)
}
