//! What only a measurement can tell: how late threads wake up on the chosen cores, and what took
//! the cores away meanwhile.
//!
//! Limits of others: SEAPATH accepts 100 µs for its streams, guides for virtual protection 120 µs
//! of cyclictest over a day. A short measurement can show that a host is bad, never that it is
//! good for ever; so the item says what it rests on.

use std::io;
use std::time::Duration;

use probe::{Measured, Plan};

use super::host::{Host, ticks};
use super::{Cores, Finding};

/// Highest latency that SEAPATH's tests accept, ns.
const WAKEUP_NS_GOOD: i64 = 100_000;
/// Highest latency that vendors' guides for virtual protection accept, ns.
const WAKEUP_NS_MAX: i64 = 120_000;
/// As a protection task would run, below the kernel's own threads of priority 99.
const PRIORITY: i32 = 90;
/// Of the cyclic task that protection runs in.
const PERIOD_NS: u64 = 1_000_000;

/// How late wake-ups were, and what the host of a virtual machine took.
pub(super) fn findings(host: &Host, cores: &Cores, duration: Duration) -> [Finding; 2] {
    let stolen_ticks = || ticks(host, cores)[7];
    let before = stolen_ticks();
    let measured = wake_up(cores, duration);
    [wakeups(&measured, duration), stolen(before, stolen_ticks(), duration)]
}

fn wake_up(cores: &Cores, duration: Duration) -> io::Result<Measured> {
    let plan = Plan {
        cores: cores.iter().collect(),
        priority: Some(PRIORITY),
        period_ns: PERIOD_NS,
        duration_ns: u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX),
        ..Plan::default()
    };
    probe::measure(&plan)
}

fn wakeups(measured: &io::Result<Measured>, duration: Duration) -> Finding {
    let measured = match measured {
        Ok(measured) => measured,
        Err(error) => return Finding::unknown(error.to_string()),
    };
    let cores = &measured.cores;
    let mut samples: Vec<i64> = cores.iter().flat_map(|core| core.latency_ns.clone()).collect();
    samples.sort_unstable();
    let (Some(&max), Some(worst)) = (samples.last(), cores.iter().max_by_key(|c| c.max_ns()))
    else {
        return Finding::unknown("too short for even one period; see --duration");
    };
    let at = |share: f64| samples[((samples.len() - 1) as f64 * share) as usize];
    let us = |ns: i64| format!("{:.1}", ns as f64 / 1000.0);
    let found = format!(
        "p50 {}, p99 {}, max {} µs (core {}) of {} wake-ups in {:.0} s{}",
        us(at(0.5)),
        us(at(0.99)),
        us(max),
        worst.core,
        samples.len(),
        duration.as_secs_f64(),
        measured.warnings.iter().map(|text| format!("; {text}")).collect::<String>(),
    );
    let fix = "see the items above; if they are ok, the firmware or the host (steal time)";
    if max <= WAKEUP_NS_GOOD {
        Finding::ok(found)
    } else if max <= WAKEUP_NS_MAX {
        Finding::warn(found, fix)
    } else {
        Finding::fail(found, fix)
    }
}

/// By the ticks of 10 ms that the host of a virtual machine had taken.
fn stolen(before: u64, after: u64, duration: Duration) -> Finding {
    let ticks = after.saturating_sub(before);
    if ticks == 0 {
        return Finding::ok(format!("none in {:.0} s", duration.as_secs_f64()));
    }
    let found = format!("the host took the cores away for {} ms", ticks * 10);
    Finding::fail(found, "use dedicated cores, or a host without other guests")
}

#[cfg(test)]
mod tests {
    use probe::CoreLatency;

    use super::super::{Grade, host};
    use super::*;

    fn of(latency_ns: &[i64]) -> Finding {
        let core = CoreLatency { core: 3, latency_ns: latency_ns.to_vec(), missed: 0 };
        let measured = Measured { cores: vec![core], warnings: Vec::new() };
        wakeups(&Ok(measured), Duration::from_secs(1))
    }

    #[test]
    fn the_greatest_latency_decides() {
        assert_eq!(of(&[5_000, 100_000]).grade, Grade::Ok);
        assert_eq!(of(&[5_000, 110_000]).grade, Grade::Warn);
        let bad = of(&[5_000, 6_000, 900_000]);
        assert_eq!(bad.grade, Grade::Fail);
        assert!(bad.found.starts_with("p50 6.0, p99 6.0, max 900.0 µs (core 3) of 3"), "{bad:?}");
        assert_eq!(of(&[]).grade, Grade::NotMeasured);
    }

    #[test]
    fn a_refused_priority_is_no_measurement() {
        let refused = Err(io::Error::other("SCHED_FIFO 90: not permitted"));
        let item = wakeups(&refused, Duration::from_secs(1));
        assert_eq!(item.grade, Grade::NotMeasured);
        assert!(item.found.contains("SCHED_FIFO 90"), "{}", item.found);
    }

    #[test]
    fn steal_time_of_the_chosen_cores_counts() {
        let stat = "cpu  1 2 3 4 5 6 7 99 0 0\ncpu0 1 2 3 4 5 6 7 11 0 0\ncpu1 1 2 3 4 5 6 7 5 0 0";
        let (_root, host) = host::with(&[("/proc/stat", stat)]);
        let read = |cores: &str| ticks(&host, &cores.parse().unwrap())[7];
        assert_eq!((read("0"), read("0-1"), read("2")), (11, 16, 0));
        let second = Duration::from_secs(1);
        assert_eq!(stolen(read("0"), read("0"), second).grade, Grade::Ok);
        assert!(stolen(read("1"), read("0"), second).found.contains("60 ms"));
    }
}
