//! When a batch is due: hosts of a fleet send at minutes of their own.

/// Nanoseconds of a minute.
const MINUTE_NS: i64 = 60_000_000_000;

/// The minutes at which a host sends.
#[derive(Debug)]
pub(crate) struct Sending {
    /// By how much its minutes are shifted against those of other hosts.
    shift_minutes: i64,
    /// Minutes of a batch and the stretch in which the last one was sent.
    sent: Option<(u32, i64)>,
}

impl Sending {
    /// The minutes of a host, by a hash of its id.
    pub(crate) fn new(host_hash: u32) -> Self {
        Self {
            shift_minutes: i64::from(host_hash),
            sent: None,
        }
    }

    /// Whether a batch of so many minutes is due with the collection that ended then. The first one is sent at once.
    pub(crate) fn is_due(&mut self, end_wall_ns: i64, minutes: u32) -> bool {
        let stretch = (end_wall_ns.div_euclid(MINUTE_NS) + self.shift_minutes).div_euclid(i64::from(minutes));
        // With each minute every collection is sent, those that are more frequent too.
        minutes == 1 || self.sent.replace((minutes, stretch)) != Some((minutes, stretch))
    }

    /// Whether the batch that is being held has to go before its time, as batches are to hold fewer minutes now.
    pub(crate) fn is_shortened(&self, minutes: u32) -> bool {
        self.sent.is_some_and(|(held_for, _)| minutes < held_for)
    }
}

/// FNV-1a: spreads host ids evenly, which is all that is asked of it.
pub(crate) fn spread_hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The minutes of an hour at which a host sends.
    fn minutes_of(host_hash: u32, minutes: u32) -> Vec<i64> {
        let mut sending = Sending::new(host_hash);
        (0..20)
            .filter(|minute| sending.is_due(minute * MINUTE_NS, minutes))
            .collect()
    }

    #[test]
    fn a_batch_is_due_each_so_many_minutes_at_minutes_of_the_host() {
        assert_eq!(minutes_of(0, 5), [0, 5, 10, 15]);
        // The first one goes at once, so that there is something to see.
        assert_eq!(minutes_of(2, 5), [0, 3, 8, 13, 18]);
        assert_eq!(minutes_of(7, 1).len(), 20);
    }

    #[test]
    fn a_plan_of_fewer_minutes_ends_what_is_held() {
        let mut sending = Sending::new(0);
        assert!(!sending.is_shortened(1), "nothing was sent yet");
        assert!(sending.is_due(0, 5));
        assert!(!sending.is_due(MINUTE_NS, 5));
        assert!(sending.is_shortened(1));
        assert!(!sending.is_shortened(5));
        assert!(!sending.is_shortened(10));
    }

    #[test]
    fn a_clock_that_is_set_back_holds_nothing_for_long() {
        let mut sending = Sending::new(0);
        assert!(sending.is_due(600 * MINUTE_NS, 5));
        assert!(sending.is_due(60 * MINUTE_NS, 5));
        assert!(!sending.is_due(61 * MINUTE_NS, 5));
    }
}
