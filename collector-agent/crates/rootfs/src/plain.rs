//! Files that other accounts of a host may replace: read where they are plain, never waited for.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// `O_NONBLOCK` of all architectures that the agent is built for: include/uapi/asm-generic/fcntl.h.
const O_NONBLOCK: i32 = 0o4000;

/// Most bytes of a file that is read whole.
const WHOLE_BYTES: u64 = 8 << 20;

/// Opens a file to read what it holds now, whatever it is. A tree of recorded files may hold a named pipe.
pub(crate) fn open_unwaiting(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path)
}

/// The bytes of a plain file, at most 8 MiB.
///
/// # Errors
/// Where it cannot be opened or read, or is no plain file.
pub fn read_plain(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(path)?.take(WHOLE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a plain file to read it. Whoever put a named pipe or a device there keeps nobody waiting.
///
/// # Errors
/// Where it cannot be opened, or is no plain file.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let file = open_unwaiting(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a plain file"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_pipe_keeps_nobody_waiting() {
        let directory = tempfile::tempdir().expect("a directory");
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo runs").success());
        let refused = open_plain(&pipe).expect_err("nobody writes into it");
        assert!(refused.to_string().contains("not a plain file"), "{refused}");
        assert!(open_plain(directory.path()).is_err() && read_plain(&pipe).is_err());
        let file = directory.path().join("file");
        std::fs::write(&file, "text").expect("written");
        assert_eq!(
            io::read_to_string(open_plain(&file).expect("opened")).expect("read"),
            "text"
        );
    }
}
