//! The one file of a field kit: a tar in a zstd frame, written as it grows, bounded in bytes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use tierscope_clock::{SECOND_NS, wall_ns};
use zstd::stream::write::Encoder;

/// Snapshots of one host are much alike: a window of 8 MiB holds several of them.
const WINDOW_LOG: u32 = 23;
const ZSTD_LEVEL: i32 = 3;
/// Kept free for the members that are written last.
const RESERVED_BYTES: u64 = 1 << 20;
/// What a member takes beside its content: its header and padding.
const MEMBER_BYTES: u64 = 1536;

/// A kit tells of a whole host: nobody but who made it reads it.
const OWNER_ALONE: u32 = 0o600;

/// Counts what reaches the file.
struct Counted {
    file: File,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A kit that is being written. Until [`Archive::finish`] it stands beside its place, with `.part` at its end.
pub(crate) struct Archive {
    tar: tar::Builder<Encoder<'static, Counted>>,
    path: PathBuf,
    part: PathBuf,
    limit_bytes: u64,
    /// Bytes that were given since the last flush, which may all reach the file yet.
    pending_bytes: u64,
}

impl Archive {
    /// Begins a kit that will stand at `path` and take at most `limit_bytes`.
    ///
    /// # Errors
    /// Where the file cannot be made.
    pub(crate) fn begin(path: &Path, limit_bytes: u64) -> Result<Self> {
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        // What stands there may be a link of somebody else's: it is taken away, never written through.
        if let Err(error) = fs::remove_file(&part)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error).with_context(|| format!("{} cannot be replaced", part.display()));
        }
        let mut only_ours = OpenOptions::new();
        only_ours.write(true).create_new(true).mode(OWNER_ALONE);
        let file = only_ours.open(&part).with_context(|| {
            format!(
                "{} cannot be written; choose another place with --out",
                part.display()
            )
        })?;
        let mut encoder = Encoder::new(Counted { file, bytes: 0 }, ZSTD_LEVEL)?;
        encoder.long_distance_matching(true)?;
        encoder.window_log(WINDOW_LOG)?;
        Ok(Self {
            tar: tar::Builder::new(encoder),
            path: path.to_owned(),
            part,
            limit_bytes,
            pending_bytes: 0,
        })
    }

    /// Whether members with so many bytes have room: what is kept free for the last members is not counted.
    pub(crate) fn has_room(&self, members: u64, bytes: u64) -> bool {
        let wanted = self.written_bytes() + self.pending_bytes + bytes + members * MEMBER_BYTES;
        wanted + RESERVED_BYTES <= self.limit_bytes
    }

    pub(crate) fn add(&mut self, name: &str, content: &[u8]) -> Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_mtime((wall_ns() / SECOND_NS).cast_unsigned());
        self.pending_bytes += content.len() as u64 + MEMBER_BYTES;
        self.tar
            .append_data(&mut header, name, content)
            .with_context(|| format!("{name} cannot be written into {}", self.part.display()))
    }

    /// Brings what was given into the file.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.tar.get_mut().flush()?;
        self.pending_bytes = 0;
        Ok(())
    }

    /// Ends the kit and puts it into its place; its size in bytes.
    pub(crate) fn finish(self) -> Result<u64> {
        let counted = self.tar.into_inner()?.finish()?;
        counted.file.sync_all()?;
        fs::rename(&self.part, &self.path)
            .with_context(|| format!("{} cannot be put into its place", self.path.display()))?;
        Ok(counted.bytes)
    }

    fn written_bytes(&self) -> u64 {
        self.tar.get_ref().get_ref().bytes
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Bytes that do not compress.
    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..bytes).map(|_| next()).collect()
    }

    #[test]
    fn the_file_stays_below_its_limit_and_holds_what_was_added() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kit.tar.zst");
        let foreign = directory.path().join("foreign");
        fs::write(&foreign, "theirs").unwrap();
        std::os::unix::fs::symlink(&foreign, directory.path().join("kit.tar.zst.part")).unwrap();
        let limit_bytes = 3 << 20;
        let mut archive = Archive::begin(&path, limit_bytes).unwrap();
        let (piece, mut added) = (noise(300_000), 0);
        while archive.has_room(1, piece.len() as u64) {
            archive.add(&format!("piece/{added}"), &piece).unwrap();
            added += 1;
            if added % 2 == 0 {
                archive.flush().unwrap();
            }
        }
        archive.add("last", &noise(500_000)).unwrap();
        assert_eq!(
            fs::read(&foreign).unwrap(),
            b"theirs",
            "nothing is written through a link"
        );
        assert!(!path.exists());
        let bytes = archive.finish().unwrap();
        assert!(
            bytes <= limit_bytes && added >= 5,
            "{bytes} bytes with {added} pieces"
        );
        let kit = fs::metadata(&path).unwrap();
        assert_eq!((kit.len(), kit.permissions().mode() & 0o777), (bytes, 0o600));
        let mut tar =
            tar::Archive::new(zstd::stream::read::Decoder::new(File::open(&path).unwrap()).unwrap());
        let names: Vec<String> = tar
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        assert_eq!((names.len(), names[added].as_str()), (added + 1, "last"));
    }
}
