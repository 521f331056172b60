//! What a merging unit says at its end, for people and as JSON.

use std::fmt;

use serde::Serialize;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) interface: String,
    pub(crate) streams: usize,
    pub(crate) duration_s: f64,
    pub(crate) frames: Frames,
    pub(crate) lateness_ns: LatenessFigures,
    pub(crate) faults: Vec<FaultStamps>,
    /// What to look at before trusting the figures.
    pub(crate) warnings: Vec<String>,
}

/// What became of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub(crate) struct Frames {
    /// Given to the interface, doubled ones twice.
    pub(crate) published: u64,
    /// Not taken by the interface, or so late that they were left out.
    pub(crate) dropped: u64,
    /// Sent later than one interval of their stream after they were due.
    pub(crate) late: u64,
    pub(crate) lost_on_purpose: u64,
    pub(crate) doubled_on_purpose: u64,
    /// Sent behind the next one because a disturbance says so.
    pub(crate) held_back_on_purpose: u64,
}

/// How late frames were sent, in ns.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub(crate) struct LatenessFigures {
    pub(crate) frames: u64,
    pub(crate) mean: f64,
    pub(crate) p50: u64,
    pub(crate) p90: u64,
    pub(crate) p99: u64,
    pub(crate) p99_9: u64,
    pub(crate) p99_99: u64,
    pub(crate) max: u64,
}

/// A fault and what came of it. Times of the host are those of `CLOCK_REALTIME`, spans are
/// measured on `CLOCK_MONOTONIC`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct FaultStamps {
    pub(crate) source: String,
    /// Number of the fault, from 1.
    pub(crate) number: u64,
    pub(crate) inception_realtime_ns: i64,
    /// From the inception until the trip came to this interface.
    pub(crate) trip_after_ns: Option<i64>,
    /// From the inception until all currents were zero, by the samples.
    pub(crate) interrupted_after_ns: Option<i64>,
}

impl fmt::Display for Summary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Frames { published, dropped, late, .. } = self.frames;
        let (streams, interface, duration_s) = (self.streams, &self.interface, self.duration_s);
        writeln!(out, "{streams} streams on {interface} for {duration_s:.3} s")?;
        writeln!(out, "frames: {published} published, {dropped} dropped, {late} late")?;
        let spoilt = [
            (self.frames.lost_on_purpose, "lost"),
            (self.frames.doubled_on_purpose, "doubled"),
            (self.frames.held_back_on_purpose, "held back"),
        ];
        for (count, what) in spoilt.into_iter().filter(|(count, _)| *count > 0) {
            writeln!(out, "on purpose: {count} {what}")?;
        }
        let us = |ns: u64| ns as f64 / 1000.0;
        let LatenessFigures { p50, p99, p99_9, p99_99, max, .. } = self.lateness_ns;
        writeln!(
            out,
            "lateness: p50 {:.1} us, p99 {:.1} us, p99.9 {:.1} us, p99.99 {:.1} us, max {:.1} us",
            us(p50),
            us(p99),
            us(p99_9),
            us(p99_99),
            us(max)
        )?;
        self.faults.iter().try_for_each(|fault| writeln!(out, "{fault}"))?;
        self.warnings.iter().try_for_each(|warning| writeln!(out, "warning: {warning}"))
    }
}

impl fmt::Display for FaultStamps {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inception = self.inception_realtime_ns;
        let (seconds, rest) =
            (inception.div_euclid(1_000_000_000), inception.rem_euclid(1_000_000_000));
        write!(out, "fault {} of {}: inception {seconds}.{rest:09}", self.number, self.source)?;
        let ms = |ns: i64| ns as f64 / 1e6;
        if let Some(after_ns) = self.trip_after_ns {
            write!(out, ", trip {:.3} ms later", ms(after_ns))?;
        }
        if let Some(after_ns) = self.interrupted_after_ns {
            write!(out, ", interrupted {:.3} ms later", ms(after_ns))?;
        }
        Ok(())
    }
}
