//! Sees control groups as the host does: in a container the kernel shows their paths from the container's own group.

use std::fs::{File, read_link};
use std::os::fd::AsFd as _;
use std::path::Path;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

const HOST: &str = "/proc/1/ns/cgroup";
const OWN: &str = "/proc/thread-self/ns/cgroup";

/// Moves this thread, and all that it starts from now on, into the view of process 1, where that is another one. Takes
/// `CAP_SYS_ADMIN`; without it paths stay as the container sees them.
pub(crate) fn enter() {
    enter_view(Path::new(HOST));
}

fn enter_view(view: &Path) {
    let is_own = read_link(view).is_ok_and(|view| read_link(OWN).is_ok_and(|own| view == own));
    if let Ok(view) = File::open(view)
        && !is_own
    {
        let _ = move_into_link_name_space(view.as_fd(), Some(LinkNameSpaceType::ControlGroup));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Command, Stdio};

    /// On a thread of its own, so that other tests keep their view. The other view is one that a child makes.
    #[test]
    fn a_thread_takes_over_another_processs_view() {
        let child = Command::new("unshare")
            .args(["--cgroup", "sh", "-c", "echo ready; read line"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut ready = String::new();
        let mut child = child.expect("unshare is part of every system");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        output.read_line(&mut ready).expect("readable");
        if ready.is_empty() {
            child.wait().expect("ended");
            let _ = writeln!(
                std::io::stderr(),
                "skipped: no right to make a view of control groups"
            );
            return;
        }
        let view = Path::new("/proc").join(child.id().to_string()).join("ns/cgroup");
        let other = read_link(&view).expect("readable");
        let seen = std::thread::spawn(move || {
            let before = read_link(OWN).expect("readable");
            enter_view(&view);
            (before, read_link(OWN).expect("readable"))
        });
        let (before, after) = seen.join().expect("ended");
        drop(child.stdin.take());
        child.wait().expect("ended");
        assert_ne!(before, other);
        assert_eq!(after, other);
    }
}
