//! What tells that files are not those of a host's own kernel: sizes that one kernel cannot print together (a container's
//! own `meminfo` of lxcfs over counters of its host), and kernels that are programs (gVisor).

/// Every kernel of gVisor says that it was built then, five minutes after Linux 4.4.
const GVISOR_BUILD: &str = "Sun Jan 10 15:06:54 PST 2016";

/// Why files of a kernel with this version say nothing of a host; `None` where they may.
pub(crate) fn sandbox(kernel_version: &str) -> Option<String> {
    let is_sandbox = kernel_version.contains(GVISOR_BUILD);
    is_sandbox.then(|| {
        "this is a sandbox of gVisor: its files are made up by a program, not by its host's kernel".to_owned()
    })
}

/// Pages that are on the lists of reclaim, so that they can be moved.
pub(crate) const MOVABLE: [&str; 4] = ["Active(anon)", "Inactive(anon)", "Active(file)", "Inactive(file)"];

/// Sizes of memory that are read together, in bytes. `None` where one is not shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(clippy::struct_field_names, reason = "names carry their unit")]
pub(crate) struct Sizes {
    /// `MemTotal` and `MemFree` of the host.
    pub(crate) total_bytes: Option<i64>,
    pub(crate) free_bytes: Option<i64>,
    /// The four lists of reclaim together.
    pub(crate) movable_bytes: Option<i64>,
    /// `MemTotal` of all nodes together.
    pub(crate) nodes_bytes: Option<i64>,
}

const GIB: f64 = (1_u64 << 30) as f64;
/// Sizes are read one after the other, and per-CPU counts lag: more than this over the whole is no rounding.
const EXCESS_PERCENT: i64 = 3;

/// Why the sizes cannot be those of one kernel; `None` where they can.
pub(crate) fn contradiction(sizes: Sizes) -> Option<String> {
    let total_bytes = sizes.total_bytes.filter(|bytes| *bytes > 0)?;
    let most = total_bytes.saturating_add(total_bytes / 100 * EXCESS_PERCENT);
    let parts = [
        ("its lists of reclaim hold", sizes.movable_bytes),
        ("its free memory is", sizes.free_bytes),
        ("its nodes have", sizes.nodes_bytes),
    ];
    let (what, bytes) = parts
        .into_iter()
        .filter_map(|(what, bytes)| Some((what, bytes?)))
        .find(|(_, bytes)| *bytes > most)?;
    Some(format!(
        "this is a container's view of its host: {what} {:.1} GiB, and MemTotal is {:.1} GiB",
        bytes as f64 / GIB,
        total_bytes as f64 / GIB
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_gvisor_are_known_by_when_they_were_built() {
        assert!(sandbox("Linux version 4.19.0-gvisor #1 SMP Sun Jan 10 15:06:54 PST 2016").is_some());
        assert_eq!(
            sandbox("Linux version 4.4.0 (x) #1 SMP Tue Jan 12 00:00:00 UTC 2016"),
            None
        );
    }

    #[test]
    fn parts_above_the_whole_are_told_and_rounding_is_not() {
        let sizes = Sizes {
            total_bytes: Some(100 << 30),
            free_bytes: Some(100 << 30),
            movable_bytes: Some(101 << 30),
            nodes_bytes: Some(103 << 30),
        };
        assert_eq!(contradiction(sizes), None);
        let above = |change: fn(&mut Sizes)| {
            let mut sizes = sizes;
            change(&mut sizes);
            contradiction(sizes).unwrap_or_default()
        };
        assert!(above(|sizes| sizes.nodes_bytes = Some(512 << 30)).contains("nodes have 512.0 GiB"));
        assert!(above(|sizes| sizes.movable_bytes = Some(104 << 30)).contains("104.0 GiB"));
        assert!(above(|sizes| sizes.free_bytes = Some(104 << 30)).contains("free memory"));
        assert_eq!(above(|sizes| sizes.total_bytes = None), "");
    }
}
