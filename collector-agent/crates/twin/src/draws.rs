//! Random numbers by place: what is drawn depends on what it is for, never on what was drawn before.
//!
//! A run and its counterfactual (less DRAM, another setting, no incident) therefore see the same accesses, and differ by
//! what was changed alone.

/// What sets numbers of a row apart before they are mixed.
pub const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A source of numbers for one purpose (`SplitMix64` by index).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draws {
    key: u64,
}

impl Draws {
    /// The root of a run.
    pub fn new(seed: u64) -> Self {
        Self {
            key: finalise(seed.wrapping_add(GOLDEN)),
        }
    }

    /// A source of its own for one part of what this one is for.
    #[must_use]
    pub fn branch(self, number: u64) -> Self {
        Self {
            key: finalise(self.key ^ finalise(number.wrapping_add(GOLDEN))),
        }
    }

    /// A source of its own for what has a name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        let mut hash = 0xCBF2_9CE4_8422_2325_u64;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
        self.branch(hash)
    }

    /// 64 bits.
    #[inline]
    pub fn bits(self, index: u64) -> u64 {
        finalise(self.key.wrapping_add(index.wrapping_mul(GOLDEN)))
    }

    /// Above 0, at most 1.
    pub fn uniform(self, index: u64) -> f64 {
        ((self.bits(index) >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Mean 0, standard deviation 1 (Box and Muller).
    pub fn normal(self, index: u64) -> f64 {
        let bits = self.bits(index);
        let first = ((bits >> 32) + 1) as f64 / (1_u64 << 32) as f64;
        let second = (bits & 0xFFFF_FFFF) as f64 / (1_u64 << 32) as f64;
        (-2.0 * first.ln()).sqrt() * (std::f64::consts::TAU * second).cos()
    }

    /// `amount` rounded up or down at random, so that its mean is kept.
    pub fn rounded(self, index: u64, amount: f64) -> usize {
        let floor = amount.max(0.0).floor();
        floor as usize + usize::from(self.uniform(index) < amount - floor)
    }
}

/// Mixes the bits of a number, so that near ones give far ones (`SplitMix64`).
pub fn finalise(mut mixed: u64) -> u64 {
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_depend_on_their_place_alone() {
        let draws = Draws::new(7).named("host").branch(3);
        assert_eq!(draws.bits(9), Draws::new(7).named("host").branch(3).bits(9));
        assert_ne!(draws.bits(9), Draws::new(8).named("host").branch(3).bits(9));
        assert_ne!(draws.bits(9), draws.bits(10));
    }

    #[test]
    fn uniforms_and_normals_have_their_moments() {
        let draws = Draws::new(1);
        let count = 20_000_u64;
        let mean = |draw: &dyn Fn(u64) -> f64| (0..count).map(draw).sum::<f64>() / count as f64;
        assert!((mean(&|index| draws.uniform(index)) - 0.5).abs() < 0.01);
        assert!(mean(&|index| draws.normal(index)).abs() < 0.03);
        assert!((mean(&|index| draws.normal(index).powi(2)) - 1.0).abs() < 0.05);
        assert!((mean(&|index| draws.rounded(index, 2.3) as f64) - 2.3).abs() < 0.02);
    }
}
