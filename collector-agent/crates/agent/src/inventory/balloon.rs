//! Pages of a guest that a balloon driver holds for its hypervisor.

use tierscope_sample::inventory::Knob;

/// Pages in the two pools of cooperative memory management on z/VM (`arch/s390/mm/cmm.c`).
const POOLS: [&str; 2] = ["/proc/sys/vm/cmm_pages", "/proc/sys/vm/cmm_timed_pages"];

/// By the counters of `/proc/vmstat`: how many it holds (Linux 6.16 and later), else how many it took less those that it gave
/// back; on z/VM no less than its pools hold. Drivers that tell neither, as Hyper-V's before 6.16, are not seen. `None` where
/// nothing tells.
pub(crate) fn balloon_pages(counter: impl Fn(&str) -> Option<i64>, knobs: &[Knob]) -> Option<i64> {
    let told = counter("nr_balloon_pages").or_else(|| {
        let taken = counter("balloon_inflate")?;
        Some(taken.saturating_sub(counter("balloon_deflate")?).max(0))
    });
    let in_pool = |path: &&str| {
        let knob = knobs.iter().find(|knob| knob.path == **path)?;
        knob.value.as_deref()?.parse::<i64>().ok()
    };
    let pooled = POOLS.iter().filter_map(in_pool).reduce(i64::saturating_add);
    told.max(pooled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_balloon_holds_is_what_it_took_and_did_not_give_back() {
        let of = |counters: &[(&str, i64)]| {
            let counter = |wanted: &str| {
                let found = counters.iter().find(|(name, _)| *name == wanted)?;
                Some(found.1)
            };
            balloon_pages(counter, &[])
        };
        let events = [("balloon_inflate", 1638), ("balloon_deflate", 1622)];
        assert_eq!(of(&events), Some(16));
        let gauge = [("nr_balloon_pages", 7), events[0], events[1]];
        assert_eq!(of(&gauge), Some(7));
        assert_eq!(of(&[("balloon_inflate", 5)]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn pools_of_a_guest_of_z_vm_are_added_up() {
        let knob = |path: &str, value: Option<&str>| Knob {
            path: path.to_owned(),
            value: value.map(str::to_owned),
            unavailable: None,
        };
        let pools = [knob(POOLS[0], Some("7")), knob(POOLS[1], Some("2"))];
        assert_eq!(balloon_pages(|_| None, &pools), Some(9));
        assert_eq!(
            balloon_pages(|_| Some(0), &pools),
            Some(9),
            "a counter that its driver leaves alone"
        );
        assert_eq!(balloon_pages(|_| None, &[knob(POOLS[0], None)]), None);
    }
}
