//! Seeded random numbers for simulations, statistics and tests: SplitMix64 (Steele et al. 2014), the
//! same for a seed for ever. Nothing for keys.
#![no_std]
#![forbid(unsafe_code)]

/// The numbers that follow from a seed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Random(u64);

impl Random {
    /// Any seed is as good as any other.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number of 64 bits.
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `end`, without it; 0 if that is 0.
    pub const fn below(&mut self, end: u64) -> u64 {
        ((self.number() as u128 * end as u128) >> 64) as u64
    }

    /// From `from` to `to`, both ends included.
    pub const fn within(&mut self, from: u64, to: u64) -> u64 {
        from + self.below(to - from + 1)
    }

    /// From 0 to 1, without it.
    pub const fn share(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True this often in a thousand times.
    pub const fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    /// One of these, which are not none.
    pub const fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        let mut random = Random::new(1_234_567);
        let numbers = [(); 3].map(|()| random.number());
        let published =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(numbers, published);
    }
}
