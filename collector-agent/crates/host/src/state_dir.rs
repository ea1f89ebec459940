//! The agent's state directory is for its own account alone, whatever the umask it was started with.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::Mode;

const OTHERS: u32 = 0o077;
const STICKY: u32 = 0o1000;

/// What agents keep there.
const OURS: [&str; 6] = [
    "bench.json",
    "credential.json",
    "guard-paused",
    "layouts",
    "spool",
    "status.json",
];

/// Makes the directory and closes it; what an earlier release left open in it is closed too. What this process makes
/// from now on is for its own account alone. A directory of somebody else, or one that all may write to, stays as it is.
pub fn open(directory: &Path) -> io::Result<()> {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    fs::create_dir_all(directory)?;
    for name in OURS {
        close_all(&directory.join(name))?;
    }
    let metadata = fs::metadata(directory)?;
    let shared = metadata.mode() & STICKY != 0 || metadata.uid() != rustix::process::geteuid().as_raw();
    if shared { Ok(()) } else { close(directory) }
}

fn close(path: &Path) -> io::Result<()> {
    let mode = fs::metadata(path)?.mode();
    if mode & OTHERS == 0 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode & 0o700))
}

fn close_all(path: &Path) -> io::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if metadata.is_symlink() {
        return Ok(());
    }
    close(path)?;
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            close_all(&entry?.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn nobody_else_reads_what_is_there_and_what_is_made() {
        let parent = tempfile::tempdir().unwrap();
        let (state, elsewhere) = (parent.path().join("state"), parent.path().join("elsewhere"));
        let layouts = state.join("layouts");
        fs::create_dir_all(&layouts).unwrap();
        fs::write(layouts.join("old"), "a").unwrap();
        fs::write(&elsewhere, "b").unwrap();
        std::os::unix::fs::symlink(&elsewhere, layouts.join("link")).unwrap();
        for open in [&state, &layouts, &layouts.join("old"), &elsewhere] {
            fs::set_permissions(open, Permissions::from_mode(0o755)).unwrap();
        }
        open(&state).unwrap();
        fs::write(state.join("status.json"), "{}").unwrap();
        fs::create_dir(state.join("spool")).unwrap();
        assert_eq!(
            [mode(&state), mode(&layouts), mode(&layouts.join("old"))],
            [0o700; 3]
        );
        assert_eq!(mode(&state.join("status.json")), 0o600);
        assert_eq!(mode(&state.join("spool")), 0o700);
        assert_eq!(mode(&elsewhere), 0o755, "a link is not followed");
    }
}
