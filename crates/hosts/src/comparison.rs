//! What another host's clock shows beside the own one, found out by asking (`sync: free`).
//!
//! Who asks notes when, and when the answer came; the answer says when the question came and when it left (Mills 1991,
//! RFC 5905 section 8). What the clock of the other one is ahead lies within half of what both ways took of the
//! middle. Words are late more often than early, so of each half second the comparison with the shortest ways
//! counts; through some of these goes a straight line, each weighing the more the shorter its ways were. Its slope is
//! how much faster the other clock runs.
//!
//! Host clocks are compared and not virtual ones, as they run on while these stand.

use std::collections::VecDeque;

use vtime::{HostSpan, HostTime};

/// In each of these one comparison counts.
const SPAN: HostSpan = HostSpan::from_ms(500);
/// So many of them.
const SPANS: usize = 32;
/// Over less than this nothing is said of rates.
const LEAST_FOR_RATE: HostSpan = HostSpan::from_ms(2000);
/// No clock of a machine that works is further off (the kernel corrects by at most 500 ppm, and so may the other one's).
const RATE_MOST: f64 = 1e-3;
/// Ways that took longer say nothing.
const WAYS_LONGEST: HostSpan = HostSpan::from_ms(1000);

/// A clock beside another one.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    counted: VecDeque<Compared>,
    /// The line through them.
    line: Option<Line>,
}

/// One question and its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exchange {
    /// On the own clock.
    pub asked: HostTime,
    /// On the other one.
    pub heard: HostTime,
    /// On the other one.
    pub told: HostTime,
    /// On the own clock.
    pub answered: HostTime,
}

#[derive(Clone, Copy, Debug)]
struct Compared {
    /// On the own clock, ns.
    at: i64,
    /// By how much the other one was ahead, ns.
    ahead: i64,
    /// What both ways took, ns.
    ways: i64,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    at: i64,
    ahead: i64,
    rate: f64,
}

impl Exchange {
    /// `None` if the times cannot be, or say nothing.
    fn compared(&self) -> Option<Compared> {
        let [asked, heard, told, answered] =
            [self.asked, self.heard, self.told, self.answered].map(|time| i128::from(time.as_ns()));
        let ways = (answered - asked) - (told - heard);
        let is_possible = asked <= answered
            && heard <= told
            && (0..=i128::from(WAYS_LONGEST.as_ns())).contains(&ways);
        let ahead = ((heard - asked) + (told - answered)) / 2;
        let [at, ahead, ways] = [(asked + answered) / 2, ahead, ways].map(i64::try_from);
        is_possible.then_some(())?;
        Some(Compared { at: at.ok()?, ahead: ahead.ok()?, ways: ways.ok()? })
    }
}

impl Comparison {
    /// Takes what was found out. Returns whether it was anything.
    pub fn take(&mut self, exchange: &Exchange) -> bool {
        let Some(compared) = exchange.compared() else { return false };
        let span = |one: &Compared| one.at.div_euclid(SPAN.as_ns());
        match self.counted.back_mut() {
            Some(last) if span(last) == span(&compared) => {
                if compared.ways <= last.ways {
                    *last = compared;
                }
            }
            _ => self.counted.push_back(compared),
        }
        while self.counted.len() > SPANS {
            self.counted.pop_front();
        }
        self.line = self.through_counted();
        true
    }

    /// How often it was found out, at most some dozens.
    pub fn counted(&self) -> usize {
        self.counted.len()
    }

    /// What the own clock shows when the other one shows `theirs`; `None` before the first comparison.
    pub fn ours(&self, theirs: HostTime) -> Option<HostTime> {
        let line = self.line?;
        // Where it is ahead by what it was ahead by then, but for what that changes meanwhile.
        let about = theirs.as_ns().saturating_sub(line.ahead);
        let changed = (about.saturating_sub(line.at)) as f64 * line.rate;
        Some(HostTime::from_ns(about.saturating_sub(changed as i64)))
    }

    /// By how much faster the other clock runs, in parts per billion.
    pub fn rate_ppb(&self) -> i64 {
        self.line.map_or(0, |line| (line.rate * 1e9) as i64)
    }

    fn through_counted(&self) -> Option<Line> {
        let (first, last) = (self.counted.front()?, self.counted.back()?);
        let spans = last.at.saturating_sub(first.at);
        if spans < LEAST_FOR_RATE.as_ns() {
            let best = self.counted.iter().min_by_key(|one| one.ways)?;
            return Some(Line { at: best.at, ahead: best.ahead, rate: 0.0 });
        }
        let mut sums = [0.0; 3];
        let relative = |one: &Compared| {
            let weight = 1.0 / (one.ways as f64 + 1000.0).powi(2);
            let at = one.at.saturating_sub(last.at) as f64;
            (weight, at, one.ahead.saturating_sub(last.ahead) as f64)
        };
        for (weight, at, ahead) in self.counted.iter().map(relative) {
            sums[0] += weight;
            sums[1] += weight * at;
            sums[2] += weight * ahead;
        }
        let [at_mean, ahead_mean] = [sums[1] / sums[0], sums[2] / sums[0]];
        let (mut both, mut square) = (0.0, 0.0);
        for (weight, at, ahead) in self.counted.iter().map(relative) {
            both += weight * (at - at_mean) * (ahead - ahead_mean);
            square += weight * (at - at_mean).powi(2);
        }
        let rate = if square > 0.0 { (both / square).clamp(-RATE_MOST, RATE_MOST) } else { 0.0 };
        let ahead = ahead_mean - rate * at_mean;
        Some(Line { at: last.at, ahead: last.ahead.saturating_add(ahead as i64), rate })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use random::Random;

    use super::*;

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

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
        /// Asked ten times a second for a minute, the other clock is known to some microseconds, also if it is 100 ppm fast.
        #[test]
        fn a_clock_is_known_however_far_it_is_ahead_and_however_fast_it_runs(
            ahead in -4_000_000_000_000_000_000..4_000_000_000_000_000_000i64,
            ppb in -100_000..100_000i64,
            way_least in 1_000..200_000i64,
            seed: u64,
        ) {
            let mut world = World { ahead, ppb, way_least, random: Random::new(seed) };
            let mut comparison = Comparison::default();
            prop_assert_eq!(comparison.ours(at(0)), None);
            for step in 0..600 {
                let now = 7_000_000_000 + step * 100_000_000;
                let exchange = world.exchange(now);
                prop_assert!(comparison.take(&exchange));
                if step < 10 {
                    // All may have taken long.
                    continue;
                }
                let ours = now + 50_000_000;
                let found = comparison.ours(at(world.theirs(ours))).unwrap();
                // Before rates are known, what the clock gains in that time.
                let allowed = if step < 40 { 60_000 + 2_500 * ppb.abs() / 1000 } else { 30_000 };
                let off = found.as_ns() - ours;
                prop_assert!(off.abs() < allowed, "{} ns off after {} comparisons", off, step);
            }
            prop_assert!((comparison.rate_ppb() - ppb).abs() < 5_000, "{}", comparison.rate_ppb());
        }

        #[test]
        fn nothing_that_is_said_makes_it_panic(times: [i64; 8]) {
            let mut comparison = Comparison::default();
            for times in times.windows(4) {
                let [asked, heard, told, answered] = [times[0], times[1], times[2], times[3]].map(at);
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
}
