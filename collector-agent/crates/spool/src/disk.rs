//! The few file operations that the spool needs, so that tests can make each of them fail.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// File operations with the guarantees that the spool builds on.
pub trait Disk: Send {
    /// Makes a directory and its parents, readable by the owner alone.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Names and lengths of the files in a directory.
    fn list(&self, directory: &Path) -> io::Result<Vec<(String, u64)>>;

    /// At most `length` bytes from `offset`; fewer at the end of the file.
    fn read(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>>;

    /// Cuts the file at `offset`, appends `bytes` and makes both durable; creates the file when it is missing.
    /// After a failure or a crash any prefix of `bytes` may be there.
    fn write_at(&self, path: &Path, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Writes `bytes` over the beginning of the file and makes them durable; creates the file when it is missing.
    /// After a failure or a crash any prefix of `bytes` may be there, followed by what was there before.
    fn overwrite(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// The same without waiting until they are durable: a power cut may leave any prefix of `bytes`, the end of a process
    /// leaves all of them. A later [`Disk::overwrite`] of the file makes its content durable.
    fn overwrite_unsynced(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Replaces the whole file, durably: after a crash it has either the old content or the new one.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Removes a file. After a crash it may be back.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsDisk;

/// Makes the creation or renaming of entries durable.
fn sync_parent(path: &Path) -> io::Result<()> {
    path.parent()
        .map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}

/// Files of the spool say what runs on the host: for their owner alone.
fn owner_only(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

fn open_for_writing(path: &Path) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    match options.write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok((owner_only(options.create(true)).open(path)?, true))
        }
        file => Ok((file?, false)),
    }
}

fn temporary(path: &Path) -> PathBuf {
    path.with_extension("new")
}

impl Disk for OsDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<(String, u64)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_file() {
                files.push((entry.file_name().to_string_lossy().into_owned(), metadata.len()));
            }
        }
        Ok(files)
    }

    fn read(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::with_capacity(length.min(1 << 16));
        file.take(length as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn write_at(&self, path: &Path, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let (mut file, created) = open_for_writing(path)?;
        // Even a cut that changes nothing makes the file system write the file's description anew.
        if file.metadata()?.len() != offset {
            file.set_len(offset)?;
        }
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)?;
        file.sync_data()?;
        if created { sync_parent(path) } else { Ok(()) }
    }

    fn overwrite(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let (mut file, created) = open_for_writing(path)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        if created { sync_parent(path) } else { Ok(()) }
    }

    fn overwrite_unsynced(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        open_for_writing(path)?.0.write_all(bytes)
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let temporary = temporary(path);
        let mut options = OpenOptions::new();
        let mut file = owner_only(options.create(true).truncate(true).write(true)).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        sync_parent(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}
