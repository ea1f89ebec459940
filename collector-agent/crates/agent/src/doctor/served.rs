//! Whether this host's sampler would say what served sampled loads: DRAM, another node's DRAM, CXL or a cache.

use serde::Serialize;
use tierscope_perf::{EventSet, SamplerKind};
use tierscope_rootfs::Root;

/// Which event would say it, or why none would.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ServedSource {
    /// The event; `None` where none would. Whether the kernel lets it be opened is tried when sampling begins.
    pub(crate) told_by: Option<String>,
    /// Why none would; "" where one does.
    pub(crate) reason: String,
}

/// What the units of the host beneath `root` and its processor offer.
pub(crate) fn served_source(root: &Root) -> ServedSource {
    let without = |reason: String| ServedSource {
        told_by: None,
        reason,
    };
    match EventSet::for_host(root) {
        Err(error) => without(error.to_string()),
        Ok(events) => match (events.served_by(), events.kind) {
            (Some(event), _) => ServedSource {
                told_by: Some(event.name.clone()),
                reason: String::new(),
            },
            (None, SamplerKind::Spe) => without(
                "packets of SPE say it in a code of each processor's own, which the agent does not decode: record with \
                 `perf mem record` and import that"
                    .to_owned(),
            ),
            (None, _) => without(
                "the kernel describes no event of this processor that says it (mem-loads with ldlat)".to_owned(),
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root::FakeRoot;

    const UNIT: &str = "sys/bus/event_source/devices/cpu";

    fn ice_lake() -> FakeRoot {
        let root = FakeRoot::new();
        root.write(
            "proc/cpuinfo",
            "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n",
        );
        root.write(&format!("{UNIT}/type"), "4\n");
        root
    }

    #[test]
    fn the_event_is_named_where_the_kernel_describes_it() {
        let root = ice_lake();
        let lacking = served_source(&root.root());
        assert_eq!(lacking.told_by, None);
        assert!(
            lacking.reason.contains("describes no event"),
            "{}",
            lacking.reason
        );
        for (term, bits) in [
            ("event", "config:0-7"),
            ("umask", "config:8-15"),
            ("ldlat", "config1:0-15"),
        ] {
            root.write(&format!("{UNIT}/format/{term}"), bits);
        }
        root.write(
            &format!("{UNIT}/events/mem-loads"),
            "event=0xcd,umask=0x1,ldlat=3\n",
        );
        let told = served_source(&root.root());
        assert_eq!(told.told_by.as_deref(), Some("mem-loads,ldlat=128"));
        assert_eq!(told.reason, "");
    }

    #[test]
    fn a_host_without_a_unit_says_so() {
        let root = FakeRoot::new();
        root.write("proc/cpuinfo", "vendor_id\t: AuthenticAMD\ncpu family\t: 25\n");
        let told = served_source(&root.root());
        assert_eq!(told.told_by, None);
        assert!(
            told.reason.contains("no performance monitoring unit"),
            "{}",
            told.reason
        );
    }
}
