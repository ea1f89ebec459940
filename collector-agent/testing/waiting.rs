//! Waits of tests: for what is meant to happen, never for a time in which it should have happened.
//!
//! Tests of several crates include this file, because a crate of its own would be one more to publish and to order.

use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Far longer than anything takes on a busy machine: it ends tests that would never end, and decides nothing else.
const LOOKS: u32 = 30_000;

/// Looks until there is something to give. `look` says what it sees instead; the last of it ends the test after minutes.
pub(crate) fn wait_for<T>(mut look: impl FnMut() -> Result<T, String>) -> T {
    let mut seen = String::new();
    for _ in 0..LOOKS {
        match look() {
            Ok(found) => return found,
            Err(instead) => seen = instead,
        }
        std::thread::sleep(LOOK_EVERY);
    }
    panic!("waited for minutes: {seen}");
}
