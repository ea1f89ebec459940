//! At which time a recording is sent: its own, or one at which the service keeps raw data.

use clap::ValueEnum;

use tierscope_clock::SECOND_NS;

/// How long the service takes raw data afterwards, and how far ahead.
const KEPT_NS: i64 = 7 * 86_400 * SECOND_NS;
const AHEAD_NS: i64 = 300 * SECOND_NS;

/// At which time a recording is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeChoice {
    /// At its own time if the service still takes that, else so that it ends now.
    #[default]
    Auto,
    /// At its own time.
    Recorded,
    /// So that it ends now.
    EndNow,
}

/// What is added to recorded times, for recordings that end at `last_ns`.
pub(crate) fn shift_ns(choice: TimeChoice, last_ns: i64, now_ns: i64) -> i64 {
    let is_taken = last_ns > now_ns - KEPT_NS && last_ns < now_ns + AHEAD_NS;
    match choice {
        TimeChoice::Recorded => 0,
        TimeChoice::Auto if is_taken => 0,
        TimeChoice::Auto | TimeChoice::EndNow => now_ns - last_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_future_recordings_end_now_unless_told_otherwise() {
        let (now, day) = (100 * 86_400 * SECOND_NS, 86_400 * SECOND_NS);
        assert_eq!(shift_ns(TimeChoice::Auto, now - day, now), 0);
        assert_eq!(shift_ns(TimeChoice::Auto, now - 8 * day, now), 8 * day);
        assert_eq!(shift_ns(TimeChoice::Auto, now + day, now), -day);
        assert_eq!(shift_ns(TimeChoice::Recorded, now - 8 * day, now), 0);
        assert_eq!(shift_ns(TimeChoice::EndNow, now - day, now), day);
    }
}
