//! Dies of a flash device as servers: reads go before programs and erases, but never interrupt the one that runs.
//!
//! Each die serves one operation at a time, without preemption, with two classes: reads first come, first served; all
//! other work in order behind them. A read therefore waits for the earlier reads of its die and for what is left of one
//! program or one piece of an erase.

use std::collections::VecDeque;

use crate::params::Flash;

struct Waiting {
    since_ns: u64,
    takes_ns: u64,
}

#[derive(Default)]
struct Die {
    free_at_ns: u64,
    waiting: VecDeque<Waiting>,
}

impl Die {
    /// Starts all waiting work that begins before `now`; returns how much of it that was.
    fn advance(&mut self, now_ns: u64) -> u64 {
        let mut started_ns = 0;
        while let Some(first) = self.waiting.front() {
            let start_ns = self.free_at_ns.max(first.since_ns);
            if start_ns >= now_ns {
                break;
            }
            self.free_at_ns = start_ns + first.takes_ns;
            started_ns += first.takes_ns;
            self.waiting.pop_front();
        }
        started_ns
    }
}

pub(crate) struct Dies {
    each: Vec<Die>,
    waiting_ns: u64,
    busy_ns: u64,
    flash: Flash,
}

impl Dies {
    pub(crate) fn new(flash: Flash) -> Self {
        let each = (0..flash.dies).map(|_| Die::default()).collect();
        Self {
            each,
            waiting_ns: 0,
            busy_ns: 0,
            flash,
        }
    }

    /// When a read that the host waits for has arrived in memory.
    pub(crate) fn read(&mut self, die: u32, now_ns: u64) -> u64 {
        let at = &mut self.each[die as usize];
        self.waiting_ns -= at.advance(now_ns);
        at.free_at_ns = at.free_at_ns.max(now_ns) + self.flash.read_ns;
        self.busy_ns += self.flash.read_ns;
        at.free_at_ns + self.flash.transfer_ns
    }

    /// Work that nobody waits for by itself.
    pub(crate) fn add(&mut self, die: u32, now_ns: u64, takes_ns: u64) {
        self.each[die as usize].waiting.push_back(Waiting {
            since_ns: now_ns,
            takes_ns,
        });
        self.waiting_ns += takes_ns;
        self.busy_ns += takes_ns;
    }

    pub(crate) fn program(&mut self, die: u32, now_ns: u64) {
        self.add(die, now_ns, self.flash.program_ns);
    }

    /// Erases a block on every die, in pieces as long as a program: reads suspend an erase.
    pub(crate) fn erase(&mut self, now_ns: u64) {
        for die in 0..self.flash.dies {
            let mut left_ns = self.flash.erase_ns;
            while left_ns > 0 {
                let piece_ns = left_ns.min(self.flash.program_ns);
                self.add(die, now_ns, piece_ns);
                left_ns -= piece_ns;
            }
        }
    }

    /// How long a writer waits until the write buffer takes its page; 0 where there is room.
    pub(crate) fn wait_for_room(&mut self, now_ns: u64) -> u64 {
        let limit_ns = u64::from(self.flash.write_buffer_slots / self.flash.slots_per_page)
            * self.flash.program_ns;
        if self.waiting_ns <= limit_ns {
            return 0;
        }
        for die in &mut self.each {
            self.waiting_ns -= die.advance(now_ns);
        }
        let over_ns = self.waiting_ns.saturating_sub(limit_ns);
        over_ns.div_ceil(u64::from(self.flash.dies))
    }

    /// Time for which dies were or will be busy, summed over dies.
    pub(crate) fn busy_ns(&self) -> u64 {
        self.busy_ns
    }
}
