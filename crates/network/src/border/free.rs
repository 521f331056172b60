//! Clocks that run by themselves (`sync: free`), and are put right beside that of the first host.
//!
//! Each other host asks the first one, or the first of those that are left, what its clocks show. So it knows when the first one has let all go on, on its
//! own clock ([`Free::goes_at`]), and by how much its virtual clock differs. If that is more than a little, it
//! goes ahead at once or stands for a moment; nobody sees it go back.
//!
//! That is right as far as words take the same both ways. By half of what the quickest ones took it may be wrong, and no
//! host can find out: where that is much, it is told, and counts as a disturbance as if frames came late by it.

use domain::{Domain, host_now};
use hosts::comparison::{Comparison, Exchange};
use hosts::words::{Clock, Runs, Word};
use vtime::late::ON_TIME_NS;
use vtime::{HostSpan, HostTime, VirtualSpan};

use crate::stats::{FreeClock, LatenessCounter};

/// From one question to the next: for the first ones, and then.
const ASKS_OFTEN: HostSpan = HostSpan::from_ms(2);
const ASKS: HostSpan = HostSpan::from_ms(100);
const OFTEN: u64 = 30;
/// What a virtual clock may differ by.
const TOLERANCE_NS: i64 = 10_000;
/// No word that lets all go on is as old, or as early.
const GOES_LONGEST: HostSpan = HostSpan::from_ms(1000);

#[derive(Debug)]
pub(super) struct Free {
    me: usize,
    /// The host that the others follow.
    first: usize,
    comparison: Comparison,
    asks: u64,
    ask_at: HostTime,
    /// Questions that were not answered yet: from whom, when they were asked and heard.
    asked: Vec<(usize, HostTime, HostTime)>,
    told: Vec<(Exchange, Option<Runs>)>,
    /// What the virtual clock differed by, each time before it was put right.
    differed: LatenessCounter,
    put_right: u64,
    /// What comparisons may have been wrong by, at most, since the clock runs.
    within: HostSpan,
    late: LatenessCounter,
}

impl Free {
    pub(super) fn new(me: usize, now: HostTime) -> Self {
        Self {
            me,
            first: 0,
            comparison: Comparison::default(),
            asks: 0,
            ask_at: now,
            asked: Vec::new(),
            told: Vec::new(),
            differed: LatenessCounter::default(),
            put_right: 0,
            within: HostSpan::ZERO,
            late: LatenessCounter::default(),
        }
    }

    /// A host is lost, and all follow this one now.
    pub(super) fn is_lost(&mut self, host: usize, first: usize) {
        self.asked.retain(|(from, ..)| *from != host);
        if first != self.first {
            self.first = first;
            (self.comparison, self.told) = (Comparison::default(), Vec::new());
            (self.asks, self.ask_at) = (0, host_now());
        }
    }

    /// Another host asks or tells. Returns on the own clock when all go on, if it says that. What is said to or by one that
    /// the others do not follow is nothing: of which hosts are lost not all are told at once.
    pub(super) fn heard(&mut self, from: usize, clock: Clock) -> Option<HostTime> {
        let now = host_now();
        match clock {
            Clock::Ask { asked } if self.me == self.first => self.asked.push((from, asked, now)),
            Clock::Tell { asked, heard, told, runs } if from == self.first => {
                self.told.push((Exchange { asked, heard, told, answered: now }, runs));
            }
            Clock::Goes { at } if from == self.first => return self.goes_at(at, now),
            Clock::Ask { .. } | Clock::Tell { .. } | Clock::Goes { .. } => {}
        }
        None
    }

    fn goes_at(&self, at: HostTime, now: HostTime) -> Option<HostTime> {
        let ours = self.comparison.ours(at)?;
        let off_ns = ours.as_ns().saturating_sub(now.as_ns()).saturating_abs();
        (off_ns < GOES_LONGEST.as_ns()).then_some(ours)
    }

    /// Answers, asks if it is time, and puts the clock right. `runs_since` is the round of holds since which the clock
    /// runs. Returns what is to be said, and to whom.
    pub(super) fn step(&mut self, domain: &Domain, runs_since: Option<u64>) -> Vec<(usize, Word)> {
        let mut says = Vec::new();
        for (from, asked, heard) in std::mem::take(&mut self.asked) {
            let told = host_now();
            let runs = runs_since.zip(domain.runs_by(told)).map(|(round, (at, tdf))| Runs {
                round,
                at,
                tdf_millionths: tdf.millionths(),
            });
            says.push((from, Word::Clock(Clock::Tell { asked, heard, told, runs })));
        }
        for (exchange, runs) in std::mem::take(&mut self.told) {
            if self.comparison.take(&exchange)
                && let Some(runs) = runs.filter(|runs| runs_since == Some(runs.round))
            {
                self.put_right(domain, &exchange, &runs);
            }
        }
        let now = host_now();
        if self.me != self.first && now >= self.ask_at {
            self.asks += 1;
            self.ask_at = now + if self.asks < OFTEN { ASKS_OFTEN } else { ASKS };
            says.push((self.first, Word::Clock(Clock::Ask { asked: now })));
        }
        says
    }

    /// When it has to ask again; never, on the first host.
    pub(super) fn due(&self) -> HostTime {
        if self.me == self.first { HostTime::MAX } else { self.ask_at }
    }

    /// A frame has come so much after its time on the clock of this host.
    pub(super) fn was_late(&mut self, by: VirtualSpan) {
        self.late.count(by.as_ns().unsigned_abs());
    }

    /// What is known at the end, of a host with that name.
    pub(super) fn account(&self, host: &str) -> FreeClock {
        FreeClock {
            host: host.to_owned(),
            rate_ppb: self.comparison.rate_ppb(),
            differed: self.differed.summary(),
            put_right: self.put_right,
            within_ns: self.within.as_ns(),
            late_frames: self.late.summary(),
        }
    }

    /// What one should look at before one trusts the results of a host with that name.
    pub(super) fn warnings(&self, host: &str) -> Vec<String> {
        let late = self.late.summary();
        let came = (late.max_ns >= ON_TIME_NS.unsigned_abs()).then(|| {
            format!(
                "{} frames from other hosts came after their time on the clock of host `{host}`, by up to {:.1} ms: the way \
                 between hosts takes longer than the links of the scenario; use `sync: granted`, a larger --tdf or longer delays",
                late.frames,
                late.max_ns as f64 / 1e6
            )
        });
        let knows = (self.within.as_ns() >= ON_TIME_NS).then(|| {
            format!(
                "the clock of host `{host}` was compared with that of the first host to within {:.1} ms only, as words \
                 between them take twice as long: by so much clocks may have been apart unnoticed",
                self.within.as_ns() as f64 / 1e6
            )
        });
        came.into_iter().chain(knows).collect()
    }

    fn put_right(&mut self, domain: &Domain, exchange: &Exchange, theirs: &Runs) {
        let now = host_now();
        let Some((own, tdf)) = domain.runs_by(now) else { return };
        let Some(told) = self.comparison.ours(exchange.told) else { return };
        let passed = now.as_ns().saturating_sub(told.as_ns()).clamp(0, GOES_LONGEST.as_ns());
        if let Some(within) = self.comparison.within() {
            self.within = self.within.max(within);
            domain.lateness().frames.note(within.as_ns());
        }
        if tdf.millionths() != theirs.tdf_millionths {
            return;
        }
        let factor = i128::from(theirs.tdf_millionths.max(1));
        let passed = i64::try_from(i128::from(passed) * 1_000_000 / factor).unwrap_or(i64::MAX);
        let is_ahead = own.as_ns().saturating_sub(theirs.at.as_ns().saturating_add(passed));
        self.differed.count(is_ahead.unsigned_abs());
        if is_ahead.saturating_abs() > TOLERANCE_NS {
            let host_ns = i128::from(is_ahead) * factor / 1_000_000;
            let longest = i128::from(GOES_LONGEST.as_ns());
            let host_ns = i64::try_from(host_ns.clamp(-longest, longest)).unwrap_or(0);
            domain.shift(HostSpan::from_ns(-host_ns));
            self.put_right += 1;
        }
    }
}
