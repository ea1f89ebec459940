//! Pressure stall information: time in which tasks waited for memory.

use crate::laws::KernelWork;
use crate::tally::Tally;

/// Stalls of a cgroup or of a host since boot, and their averages (kernel/sched/psi.c).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pressure {
    /// Some task waited.
    pub some: Stalls,
    /// All tasks waited.
    pub full: Stalls,
}

/// One line of a pressure file.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stalls {
    /// Time stalled.
    pub total_us: u64,
    /// Per cent over 10, 60 and 300 seconds.
    pub averages: [f64; 3],
}

impl Stalls {
    fn add(&mut self, share: f64, interval_s: f64) {
        self.total_us += (share * interval_s * 1e6) as u64;
        for (average, window_s) in self.averages.iter_mut().zip([10.0, 60.0, 300.0]) {
            let kept = (-interval_s / window_s).exp();
            *average = *average * kept + 100.0 * share * (1.0 - kept);
        }
    }
}

/// Of the time in which some task waits, how much all of them do. A choice: services here have many threads.
const FULL_SHARE: f64 = 0.3;

impl Pressure {
    /// Adds an interval of a cgroup. Its tasks wait for faults that read, and for reclaim that they do themselves.
    pub fn add(&mut self, work: &KernelWork, done: &Tally, interval_s: f64) {
        self.advance(waiting_share(work, done, interval_s), interval_s);
    }

    /// Adds an interval of a host: the kernel counts kswapd's own work as a stall of the system, though nobody waits.
    pub fn add_host(&mut self, work: &KernelWork, done: &Tally, interval_s: f64) {
        let kswapd = done
            .demoted_kswapd
            .iter()
            .chain(&done.evicted_kswapd)
            .sum::<u64>();
        let busy = (kswapd as f64 * work.page_move_ns / 1e9 / interval_s).min(1.0);
        let waiting = waiting_share(work, done, interval_s);
        self.advance(1.0 - (1.0 - waiting) * (1.0 - busy), interval_s);
    }

    fn advance(&mut self, some: f64, interval_s: f64) {
        self.some.add(some, interval_s);
        self.full.add(some * FULL_SHARE, interval_s);
    }
}

/// Share of time in which at least one task waits: waits come at random.
fn waiting_share(work: &KernelWork, done: &Tally, interval_s: f64) -> f64 {
    let faults = done.refaulted.iter().sum::<u64>() as f64 * work.major_fault_ns;
    let direct = done
        .demoted_direct
        .iter()
        .chain(&done.evicted_direct)
        .sum::<u64>() as f64
        * work.page_move_ns;
    1.0 - (-(faults + direct) / 1e9 / interval_s).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::Laws;

    #[test]
    fn kswapd_stalls_the_system_and_no_cgroup() {
        let work = Laws::parse(Laws::DEFAULT).expect("the default laws").kernel_work;
        let done = Tally {
            demoted_kswapd: [1_000_000, 0, 0],
            ..Tally::default()
        };
        let (mut cgroup, mut host) = (Pressure::default(), Pressure::default());
        cgroup.add(&work, &done, 60.0);
        host.add_host(&work, &done, 60.0);
        assert_eq!(cgroup.some.total_us, 0);
        // A million pages at 3 us each.
        assert_eq!(host.some.total_us / 1000, 3000);
        assert!((host.some.averages[2] - 5.0 * (1.0 - (-0.2_f64).exp())).abs() < 1e-6);
    }
}
