//! The host's clocks, and times as text.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds of a second.
pub const SECOND_NS: i64 = 1_000_000_000;

fn nanoseconds(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(SECOND_NS).saturating_add(time.tv_nsec)
}

/// `CLOCK_REALTIME`, nanoseconds since the Unix epoch; 0 where it stands before that.
///
/// Through the standard library, so that tests can put a clock of their own in its place.
pub fn wall_ns() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_nanos()).unwrap_or(i64::MAX)
}

/// `CLOCK_BOOTTIME`, nanoseconds.
pub fn boottime_ns() -> i64 {
    nanoseconds(clock_gettime(ClockId::Boottime))
}

/// User and system time of this process, nanoseconds.
pub fn process_cpu_ns() -> i64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

/// User and system time of this thread, nanoseconds.
pub fn thread_cpu_ns() -> i64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// RFC 3339 in UTC, to the millisecond (days to civil date: Howard Hinnant, "chrono-compatible date algorithms").
pub fn rfc3339(wall_ns: i64) -> String {
    let seconds = wall_ns.div_euclid(SECOND_NS);
    let (days, second_of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
    let millisecond = wall_ns.rem_euclid(SECOND_NS) / 1_000_000;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_date_does() {
        // date -u -d @1795221490.441 +%FT%T.%3NZ, and the like.
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_795_221_490, "2026-11-21T00:38:10.000Z"),
            (4_107_542_399, "2100-02-28T23:59:59.000Z"),
        ];
        for (seconds, text) in cases {
            assert_eq!(rfc3339(seconds * SECOND_NS), text);
        }
        assert_eq!(rfc3339(1_500_000), "1970-01-01T00:00:00.001Z");
    }

    #[test]
    fn boot_time_does_not_go_back() {
        let before = boottime_ns();
        assert!(boottime_ns() >= before && before > 0);
    }
}
