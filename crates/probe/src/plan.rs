//! What is to be measured: which probe, on which cores, how urgently, how often, how long.
//!
//! A plan is data. It travels as JSON to the machine that is measured, comes back in the head of
//! the stream, and is all that is needed to repeat a measurement.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString, IntoStaticStr, VariantNames};

pub(crate) const PRIORITIES: std::ops::RangeInclusive<i32> = 1..=99;
/// Shorter than this a period is over before a wake-up is; cyclictest stops there too, ns.
pub(crate) const PERIOD_NS_MIN: u64 = 10_000;
/// Ten years: sums with times of a clock stay far from the end of an `i64`, ns.
pub(crate) const SPAN_NS_MAX: u64 = 10 * 365 * 86_400 * 1_000_000_000;
/// More threads than this are a mistake, not a machine.
const CORES_MAX: usize = 4096;

/// One way to ask the platform how late it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(Display, EnumIter, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Kind {
    /// Sleeps until absolute times (clock_nanosleep(2)), as cyclictest does.
    Timer,
    /// Reads a timer that expires periodically (timerfd_create(2)).
    Timerfd,
    /// Another thread writes an eventfd(2); from the write to the reader's wake-up.
    Eventfd,
    /// Another thread sends a real-time signal; from tgkill(2) to the return of sigwaitinfo(2).
    Signal,
    /// Another thread writes a pipe(7).
    Pipe,
    /// Another thread wakes a futex(2).
    Futex,
    /// A datagram over the loopback interface, from send to return of recvmsg(2).
    Udp,
    /// A frame over a pair of virtual interfaces in a network namespace of the probe's own.
    Ethernet,
    /// An edge on a GPIO line, from the call that makes it to the return of read(2) with it.
    Gpio,
    /// A busy loop looks at the clock; the longest gap of each period, as oslat does.
    Noise,
    /// The first touch of a page of memory, once a period.
    PageFault,
}

impl Kind {
    /// As plans write it.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What its latency divides into where the kernel notes it, in order; empty: nothing.
    ///
    /// `udp` and `ethernet`: up to the driver's stamp, up to that of the receiving stack, up to user
    /// space. `gpio`: up to the kernel's stamp of the edge, up to user space.
    pub const fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Udp | Self::Ethernet => &["send", "pass", "receive"],
            Self::Gpio => &["raise", "receive"],
            _ => &[],
        }
    }
}

/// What is to be measured. In JSON each key may be left out, and an unknown one is an error.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plan {
    pub probe: Kind,
    /// One thread for each; thread `i` belongs to `cores[i]`.
    pub cores: Vec<usize>,
    /// Of SCHED_FIFO, 1 to 99; none: ordinary threads (SCHED_OTHER).
    pub priority: Option<i32>,
    /// Between two samples, ns.
    pub period_ns: u64,
    /// Length of the measurement, ns.
    pub duration_ns: u64,
    /// Whether all memory is locked and touched before it begins (mlockall(2)).
    pub lock_memory: bool,
    /// Whether processors are kept out of deep idle states (`/dev/cpu_dma_latency` held at 0).
    pub hold_awake: bool,
    /// Whether each thread is bound to its core. If not, the cores only say how many threads.
    pub pinned: bool,
    /// Whether a thread of the lowest priority spins on each core and notes gaps. It keeps the core
    /// from idling, and so changes what a wake-up costs: see `docs/reference/qcprobe.md`.
    pub stall_meter: bool,
    /// Whether the kernel records each context switch of the cores (perf_event_open(2)), so that a
    /// stall can be blamed on the very task. It makes each wake-up a little later; without it, and
    /// where it is not allowed, coarser evidence is used.
    pub record_switches: bool,
    /// Whether the kernel stamps what `udp` and `ethernet` send and receive, so that the latency can
    /// be split. It makes each of these samples a little later.
    pub split: bool,
    /// For `gpio`: lines of a board. None: the kernel simulates some (its module gpio-sim).
    pub gpio: Option<WiredLines>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            probe: Kind::Timer,
            cores: vec![0],
            priority: Some(90),
            period_ns: 1_000_000,
            duration_ns: 10_000_000_000,
            lock_memory: true,
            hold_awake: true,
            pinned: true,
            stall_meter: false,
            record_switches: false,
            split: false,
            gpio: None,
        }
    }
}

/// Two lines of a GPIO chip that are wired to each other.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WiredLines {
    /// The chip: `gpiochip0`, or its path.
    pub chip: String,
    /// Number of the line that is set.
    pub output: u32,
    /// Number of the line whose edges are read.
    pub input: u32,
}

/// A plan that cannot be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("plan, {key}: {problem}")]
pub struct BadPlan {
    pub(crate) key: &'static str,
    pub(crate) problem: String,
}

impl WiredLines {
    fn check(&self, threads: usize) -> Result<(), BadPlan> {
        let bad = |problem| Err(BadPlan { key: "gpio", problem });
        if self.chip.is_empty() || self.output == self.input {
            return bad("a chip, and two of its lines that are wired to each other".to_owned());
        }
        if threads != 1 {
            return bad(format!("two wired lines are for one core, not for {threads}"));
        }
        Ok(())
    }
}

impl Plan {
    /// Reads a plan from JSON, and checks it.
    ///
    /// # Errors
    /// What is wrong, with its place or key.
    pub fn from_json(text: &str) -> Result<Self, BadPlan> {
        let plan: Self = serde_json::from_str(text)
            .map_err(|error| BadPlan { key: "JSON", problem: error.to_string() })?;
        plan.check()?;
        Ok(plan)
    }

    /// Whether it can be carried out anywhere at all.
    ///
    /// # Errors
    /// The first key that is out of range, and the range.
    pub fn check(&self) -> Result<(), BadPlan> {
        let bad = |key, problem: String| Err(BadPlan { key, problem });
        if self.cores.is_empty() || self.cores.len() > CORES_MAX {
            return bad("cores", format!("{} of them; 1 to {CORES_MAX}", self.cores.len()));
        }
        if self.cores.iter().collect::<BTreeSet<_>>().len() < self.cores.len() {
            return bad("cores", "one is listed twice".to_owned());
        }
        if let Some(priority) = self.priority.filter(|priority| !PRIORITIES.contains(priority)) {
            return bad("priority", format!("{priority}; 1 to 99, or null for none"));
        }
        if !(PERIOD_NS_MIN..=SPAN_NS_MAX).contains(&self.period_ns) {
            let range = format!("give {PERIOD_NS_MIN} to {SPAN_NS_MAX}");
            return bad("period_ns", format!("{} ns; {range}", self.period_ns));
        }
        if !(self.period_ns..=SPAN_NS_MAX).contains(&self.duration_ns) {
            let range = format!("give one period, {} ns, to {SPAN_NS_MAX}", self.period_ns);
            return bad("duration_ns", format!("{} ns; {range}", self.duration_ns));
        }
        match &self.gpio {
            Some(lines) if self.probe == Kind::Gpio => lines.check(self.cores.len()),
            Some(_) => bad("gpio", format!("the probe is {}; only gpio has lines", self.probe)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator as _;

    use super::*;

    #[test]
    fn what_is_left_out_has_a_default_and_what_is_unknown_is_an_error() {
        assert_eq!(Plan::from_json("{}"), Ok(Plan::default()));
        let plan = Plan::from_json(r#"{"probe": "page-fault", "priority": null}"#).unwrap();
        assert_eq!((plan.probe, plan.priority), (Kind::PageFault, None));
        let error = Plan::from_json(r#"{"perod_ns": 5}"#).unwrap_err().to_string();
        assert!(error.contains("perod_ns") && error.contains("line 1"), "{error}");
    }

    #[test]
    fn a_plan_out_of_range_names_its_key() {
        for (text, key) in [
            (r#"{"cores": []}"#, "cores"),
            (r#"{"cores": [1, 1]}"#, "cores"),
            (r#"{"priority": 0}"#, "priority"),
            (r#"{"priority": 100}"#, "priority"),
            (r#"{"period_ns": 0}"#, "period_ns"),
            (r#"{"duration_ns": 999999}"#, "duration_ns"),
            (r#"{"probe": "gpio", "gpio": {"chip": "x", "output": 1, "input": 1}}"#, "gpio"),
            (r#"{"probe": "gpio", "gpio": {"chip": "", "output": 1, "input": 2}}"#, "gpio"),
            (r#"{"probe": "udp", "gpio": {"chip": "x", "output": 1, "input": 2}}"#, "gpio"),
            (
                r#"{"probe": "gpio", "cores": [0, 1], "gpio": {"chip": "x", "output": 1, "input": 2}}"#,
                "gpio",
            ),
            (r#"{"duration_ns": 18446744073709551615}"#, "duration_ns"),
        ] {
            let error = Plan::from_json(text).unwrap_err();
            assert_eq!(error.key, key, "{text}: {error}");
        }
    }

    #[test]
    fn kinds_are_written_by_their_names() {
        for kind in Kind::iter() {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert!("ptp".parse::<Kind>().is_err());
    }
}
