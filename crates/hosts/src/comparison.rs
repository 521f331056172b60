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

    /// By how much what is known may be wrong, if words take longer in one direction: half of what both ways took at best.
    /// `None` before the first comparison.
    pub fn within(&self) -> Option<HostSpan> {
        let least = self.counted.iter().map(|one| one.ways).min()?;
        Some(HostSpan::from_ns(least / 2))
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
