//! Waiting times between attempts: doubling, with jitter, so that a fleet does not return all at once.

use std::time::Duration;

/// Waiting times of one client.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    most: Duration,
    failures: u32,
    random: u64,
}

impl Backoff {
    /// Waits between half of and the whole of `first`, doubling up to `most`. `seed` makes clients differ.
    pub fn new(first: Duration, most: Duration, seed: u64) -> Self {
        Self {
            first,
            most,
            failures: 0,
            random: seed | 1,
        }
    }

    /// How long to wait after another failure; at least `asked_for`, the service's Retry-After.
    pub fn next_wait(&mut self, asked_for: Option<Duration>) -> Duration {
        let doubled = self
            .first
            .saturating_mul(1_u32.checked_shl(self.failures.min(16)).unwrap_or(u32::MAX));
        self.failures = self.failures.saturating_add(1);
        let bound = doubled.min(self.most);
        let jittered = bound.mul_f64(0.5 + 0.5 * self.next_share());
        // The service's wish gets jitter on top: it told many clients the same.
        asked_for.map_or(jittered, |wish| {
            wish.max(jittered) + wish.mul_f64(0.25 * self.next_share())
        })
    }

    /// The next failure is the first again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// A number from 0 to 1 (xorshift; only spread matters here).
    fn next_share(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_the_limit_and_start_again() {
        let (first, most) = (Duration::from_secs(1), Duration::from_secs(60));
        let mut backoff = Backoff::new(first, most, 42);
        for attempt in 0..40 {
            let bound = first.saturating_mul(1 << attempt.min(10)).min(most);
            let wait = backoff.next_wait(None);
            assert!(wait >= bound / 2 && wait <= bound, "attempt {attempt}: {wait:?}");
        }
        backoff.reset();
        assert!(backoff.next_wait(None) <= first);
    }

    #[test]
    fn the_service_is_obeyed() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60), 7);
        let wait = backoff.next_wait(Some(Duration::from_secs(120)));
        assert!(wait >= Duration::from_secs(120) && wait <= Duration::from_secs(150));
    }

    #[test]
    fn two_clients_wait_differently() {
        let wait = |seed| Backoff::new(Duration::from_secs(8), Duration::from_secs(60), seed).next_wait(None);
        assert_ne!(wait(11), wait(902_843));
    }
}
