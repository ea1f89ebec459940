//! The order of a pointer chase: a random permutation that is one single cycle.

/// A generator of random numbers that is fast and good enough to defeat prefetchers (xorshift64*, Vigna 2016).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15 | 1)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        ((high * u64::from(bound)) >> 32) as u32
    }
}

/// For each of `n` places the next one; starting anywhere, every place is visited before the start comes again
/// (Sattolo 1986). A chase over it never settles in a shorter cycle that a cache could hold.
pub(crate) fn cycle(n: u32, random: &mut Random) -> Vec<u32> {
    let mut next: Vec<u32> = (0..n).collect();
    for place in (1..n).rev() {
        next.swap(place as usize, random.below(place) as usize);
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_order_is_one_cycle(n in 1_u32..2000, seed: u64) {
            let next = cycle(n, &mut Random::new(seed));
            let mut place = 0;
            for step in 1..=n {
                place = next[place as usize];
                prop_assert_eq!(place == 0, step == n, "back at the start after {} of {} steps", step, n);
            }
        }
    }

    #[test]
    fn neighbours_are_not_visited_in_order() {
        let next = cycle(10_000, &mut Random::new(1));
        let in_order = next
            .iter()
            .zip(1..)
            .filter(|(next, place)| *next == place)
            .count();
        assert!(in_order < 20, "{in_order} of 10000 lead to the next line");
    }
}
