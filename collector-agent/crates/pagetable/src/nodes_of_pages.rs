//! On which NUMA node pages of a process lie, by `move_pages` without a target: for agents to which the kernel shows
//! no page frames.

use std::io;

/// Pages asked for at once; the kernel looks them up one by one.
const MOST_PAGES: usize = 4096;

/// The node of the page at each address, in order; `None` where no page is in memory.
///
/// Takes `CAP_SYS_PTRACE` for processes of other users. An error says that the kernel answers for none of them.
pub fn nodes_of_pages(pid: u32, addresses: &[u64]) -> io::Result<Vec<Option<u32>>> {
    let mut nodes = Vec::with_capacity(addresses.len());
    for part in addresses.chunks(MOST_PAGES) {
        let mut states = vec![-1_i32; part.len()];
        // SAFETY: both arrays have `part.len()` entries and outlive the call. Without target nodes nothing is moved.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_move_pages,
                libc::c_long::from(pid),
                part.len(),
                part.as_ptr(),
                std::ptr::null::<i32>(),
                states.as_mut_ptr(),
                0,
            )
        };
        if answer != 0 {
            return Err(io::Error::last_os_error());
        }
        nodes.extend(states.into_iter().map(|state| u32::try_from(state).ok()));
    }
    Ok(nodes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::own_memory::OwnMemory;

    #[test]
    fn own_pages_lie_on_a_node_and_untouched_ones_on_none() {
        let pages = MOST_PAGES + 2;
        let mut memory = OwnMemory::new(pages).unwrap();
        memory.write(0);
        memory.write(pages - 1);
        let addresses: Vec<u64> = memory
            .addresses()
            .step_by(tierscope_rootfs::Root::live().page_bytes() as usize)
            .collect();
        let nodes = match nodes_of_pages(std::process::id(), &addresses) {
            Ok(nodes) => nodes,
            Err(error) => {
                use std::io::Write as _;
                let _ = writeln!(io::stderr(), "skipped: {error}");
                return;
            }
        };
        assert_eq!(nodes.len(), pages);
        assert!(nodes[0].is_some() && nodes[pages - 1].is_some());
        assert!(nodes[1..pages - 1].iter().all(Option::is_none));
        assert!(nodes_of_pages(u32::MAX, &addresses).is_err(), "no such process");
    }
}
