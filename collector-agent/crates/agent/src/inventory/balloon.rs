//! Pages of a guest that a balloon driver holds for its hypervisor.

/// By the counters of `/proc/vmstat`: how many it holds (Linux 6.16 and later), else how many it took less those that it gave
/// back. Drivers that tell neither, as Hyper-V's before 6.16, are not seen. `None` where the kernel counts none.
pub(crate) fn balloon_pages(counter: impl Fn(&str) -> Option<i64>) -> Option<i64> {
    counter("nr_balloon_pages").or_else(|| {
        let taken = counter("balloon_inflate")?;
        Some(taken.saturating_sub(counter("balloon_deflate")?).max(0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_balloon_holds_is_what_it_took_and_did_not_give_back() {
        let of = |counters: &[(&str, i64)]| {
            balloon_pages(|wanted| {
                let found = counters.iter().find(|(name, _)| *name == wanted)?;
                Some(found.1)
            })
        };
        let events = [("balloon_inflate", 1638), ("balloon_deflate", 1622)];
        assert_eq!(of(&events), Some(16));
        let gauge = [("nr_balloon_pages", 7), events[0], events[1]];
        assert_eq!(of(&gauge), Some(7));
        assert_eq!(of(&[("balloon_inflate", 5)]), None);
        assert_eq!(of(&[]), None);
    }
}
