//! Seeded random numbers for simulations, statistics, tests and programs in a simulation: SplitMix64
//! (Steele et al. 2014), the same for a seed for ever. Nothing for keys.
#![no_std]
#![forbid(unsafe_code)]

/// The numbers that follow from a seed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Random(u64);

/// What the state grows by with each number.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A seed that follows from another one and a purpose; those of other purposes have nothing to do with it.
pub const fn seed_for(seed: u64, purpose: u64) -> u64 {
    Random(Random(purpose).number() ^ seed).number()
}

/// The same, for a purpose that has a name.
pub fn seed_named(seed: u64, name: &str) -> u64 {
    // Numbered purposes are small numbers.
    let begin = seed_for(seed, !(name.len() as u64));
    name.bytes().fold(begin, |seed, octet| seed_for(seed, octet.into()))
}

impl Random {
    /// Any seed is as good as any other.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// What follows from a seed after that many numbers.
    pub const fn after(seed: u64, numbers: u64) -> Self {
        Self(seed.wrapping_add(numbers.wrapping_mul(STEP)))
    }

    /// Any number of 64 bits.
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
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
    extern crate std;

    use std::vec::Vec;

    use super::{Random, seed_for, seed_named};

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        let mut random = Random::new(1_234_567);
        let numbers = [(); 3].map(|()| random.number());
        let published =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(numbers, published);
    }

    #[test]
    fn numbers_can_be_left_out() {
        let mut all = Random::new(7);
        for count in 0..5 {
            assert_eq!(Random::after(7, count), all);
            all.number();
        }
    }

    #[test]
    fn each_purpose_has_a_seed_of_its_own() {
        let mut seeds: Vec<u64> =
            (0..1000).flat_map(|n| [seed_for(1, n), seed_for(2, n)]).collect();
        seeds.extend(["", "a", "b", "ab", "ba"].map(|name| seed_named(1, name)));
        let count = seeds.len();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), count);
    }
}
