//! Numbers from a seed.

use tierscope_twin::draws::{GOLDEN, finalise};

/// A number that depends on both arguments and looks random.
pub(crate) fn mix(seed: u64, number: u64) -> u64 {
    finalise(seed ^ number.wrapping_mul(GOLDEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        assert_eq!(mix(7, 3), mix(7, 3));
        assert_ne!(mix(7, 3), mix(8, 3));
        assert_ne!(mix(7, 3), mix(7, 4));
    }
}
