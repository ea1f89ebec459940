//! How many bytes may be sent: so many in an hour, spread out, so that a full queue does not fill a narrow link.

use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);
/// Share of an hour's bytes that may be sent at once after a pause.
const BURST_SHARE: f64 = 1.0 / 6.0;

/// A bucket that fills evenly and from which what is sent is taken.
#[derive(Debug)]
pub(crate) struct Allowance {
    bytes_per_second: f64,
    most_bytes: f64,
    /// Below zero after something larger than the bucket was sent.
    left_bytes: f64,
    at: Instant,
}

impl Allowance {
    /// A full bucket.
    pub(crate) fn new(bytes_per_hour: u64) -> Self {
        let most_bytes = bytes_per_hour as f64 * BURST_SHARE;
        Self {
            bytes_per_second: bytes_per_hour as f64 / HOUR.as_secs_f64(),
            most_bytes,
            left_bytes: most_bytes,
            at: Instant::now(),
        }
    }

    /// How long to wait before `bytes` may be sent; `None` when they may be sent now. What is larger than the bucket
    /// goes when it is full.
    pub(crate) fn wait(&mut self, bytes: usize, now: Instant) -> Option<Duration> {
        let elapsed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left_bytes = (self.left_bytes + elapsed * self.bytes_per_second).min(self.most_bytes);
        self.at = now;
        let lacking = (bytes as f64).min(self.most_bytes) - self.left_bytes;
        (lacking > 0.0).then(|| Duration::from_secs_f64(lacking / self.bytes_per_second))
    }

    pub(crate) fn take(&mut self, bytes: usize) {
        self.left_bytes -= bytes as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hours_bytes_take_an_hour() {
        let mut allowance = Allowance::new(3_600_000);
        let start = allowance.at;
        let (mut now, mut sent) = (start, 0_u64);
        while now < start + HOUR {
            match allowance.wait(50_000, now) {
                None => {
                    allowance.take(50_000);
                    sent += 50_000;
                }
                Some(wait) => now += wait,
            }
        }
        // An hour's bytes and the burst at its beginning, to a batch.
        assert!((4_100_000..=4_250_000).contains(&sent), "{sent}");
    }

    #[test]
    fn a_batch_larger_than_the_bucket_goes_when_it_is_full_and_is_paid_back() {
        let mut allowance = Allowance::new(600);
        let start = allowance.at;
        assert_eq!(allowance.wait(500, start), None);
        allowance.take(500);
        // 400 bytes of debt and a bucket of 100 at a sixth of a byte per second.
        assert_eq!(allowance.wait(500, start), Some(Duration::from_secs(3000)));
        assert_eq!(allowance.wait(500, start + Duration::from_secs(3001)), None);
    }
}
