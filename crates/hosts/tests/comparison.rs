//! Host clocks that are compared, of simulated machines and networks.

use hosts::comparison::{Comparison, Exchange};
use random::Random;
use vtime::HostTime;

const fn at(ns: i64) -> HostTime {
    HostTime::from_ns(ns)
}

/// Two clocks, of which one is ahead and runs faster, and words that take any time, some very long.
struct World {
    ahead: i64,
    ppb: i64,
    way_least: i64,
    random: Random,
}

impl World {
    fn theirs(&self, ours: i64) -> i64 {
        let faster = i128::from(ours) * i128::from(self.ppb) / 1_000_000_000;
        ours + self.ahead + i64::try_from(faster).unwrap()
    }

    fn way(&mut self) -> i64 {
        let long = if self.random.chance(20) { 5_000_000 } else { 60_000 };
        self.way_least + self.random.below(long) as i64
    }

    fn exchange(&mut self, asked: i64) -> Exchange {
        let heard = asked + self.way();
        let told = heard + self.random.below(50_000) as i64;
        let answered = told + self.way();
        let (heard, told) = (self.theirs(heard), self.theirs(told));
        Exchange { asked: at(asked), heard: at(heard), told: at(told), answered: at(answered) }
    }
}

/// Asked ten times a second for a minute, the other clock is known to some microseconds, also if it is 100 ppm fast.
#[test]
fn a_clock_is_known_however_far_it_is_ahead_and_however_fast_it_runs() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let ppb = random.below(200_000) as i64 - 100_000;
        let ahead = random.below(8_000_000_000_000_000_000) as i64 - 4_000_000_000_000_000_000;
        let way_least = 1_000 + random.below(200_000) as i64;
        let mut world = World { ahead, ppb, way_least, random };
        let mut comparison = Comparison::default();
        assert_eq!(comparison.ours(at(0)), None);
        for step in 0..600 {
            let now = 7_000_000_000 + step * 100_000_000;
            let exchange = world.exchange(now);
            assert!(comparison.take(&exchange));
            if step < 10 {
                // All may have taken long.
                continue;
            }
            let ours = now + 50_000_000;
            let found = comparison.ours(at(world.theirs(ours))).unwrap();
            // Before rates are known, what the clock gains in that time.
            let allowed = if step < 100 { 60_000 + 2_500 * ppb.abs() / 1000 } else { 30_000 };
            let off = found.as_ns() - ours;
            assert!(off.abs() < allowed, "seed {seed}: {off} ns off after {step} comparisons");
        }
        let rate = comparison.rate_ppb();
        assert!((rate - ppb).abs() < 5_000, "seed {seed}: {rate} for {ppb}");
    }
}

#[test]
fn nothing_that_is_said_makes_it_panic() {
    let mut random = Random::new(3);
    let edges = [i64::MIN, -1, 0, 1, i64::MAX];
    for _ in 0..100_000 {
        let mut comparison = Comparison::default();
        let mut time = || match random.below(3) {
            0 => at(edges[random.below(5) as usize]),
            1 => at(random.below(3_000_000_000) as i64),
            _ => at(random.below(u64::MAX) as i64),
        };
        for _ in 0..4 {
            let [asked, heard, told, answered] = [time(), time(), time(), time()];
            comparison.take(&Exchange { asked, heard, told, answered });
            comparison.ours(asked);
            comparison.rate_ppb();
        }
    }
}

#[test]
fn what_cannot_be_says_nothing() {
    let mut comparison = Comparison::default();
    let exchange = |times: [i64; 4]| {
        let [asked, heard, told, answered] = times.map(at);
        Exchange { asked, heard, told, answered }
    };
    for times in [[10, 0, 0, 5], [0, 8, 5, 10], [0, 0, 20, 10], [0, 0, 0, 1_000_000_001]] {
        assert!(!comparison.take(&exchange(times)), "{times:?}");
    }
    assert!(comparison.take(&exchange([100, 1_005, 1_006, 111])));
    assert_eq!(comparison.ours(at(1_005)), Some(at(105)));
}
