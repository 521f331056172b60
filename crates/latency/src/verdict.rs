//! Does this platform keep the deadline? A verdict for each limit, with what it rests on.
//!
//! A sample of finite size cannot show that nothing is ever late. It can show, with 95 %
//! confidence, that at most a given share is: the upper end of the interval of a percentile lies
//! below the limit. It can show the opposite: the lower end lies above. Between the two, and where
//! there are too few samples for an upper end, there is no verdict but a number of samples to go.
//!
//! What a thread missed because it was late counts too: a wake-up that is 35 ms late at a period of
//! 10 ms stands for three more that were 25, 15 and 5 ms late. So does what was lost, as late. The
//! tables leave both out, as the published ones do.

use serde::Serialize;

use super::cell::{Cell, MarkKind, Samples, Thread};
use super::published;
use report_kit::figure::figure;
use report_kit::outcome::Outcome;
use report_kit::statistics::percentile::samples_needed;
use report_kit::statistics::{Distribution, Percentile, Summary};

/// The share of wake-ups that must be in time where nobody asks for another one.
pub(crate) const SHARE: f64 = 0.999;
/// Whiskers lie in the tails of a sample, so a jitter between them needs as many samples as this
/// percentile does.
const JITTER_SHARE: f64 = 0.99;
/// Missed periods that are counted one by one; further ones count as late.
const MISSED_MAX: u64 = 1_000_000;
/// The latency of an activation that never came: it is beyond all limits, and no time to be printed.
const NEVER_NS: f64 = u32::MAX as f64;

/// What must not be exceeded.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Limit {
    pub name: String,
    pub group: Group,
    pub quantity: Quantity,
    /// The budget for all of it, of which latency here is one part, ns.
    pub budget_ns: u64,
    pub source: String,
}

/// Whose a limit is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    Own,
    /// Of protection and control in power grids.
    Grid,
    /// Of services in general, as Queiroz et al. (2023) list them.
    Service,
}

/// What a limit is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// From the time that was asked for to the time at which a program runs.
    Latency,
    /// From whisker to whisker, as Queiroz et al. (2023) define the maximum jitter.
    Jitter,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verdict {
    pub limit: Limit,
    pub outcome: Outcome,
    pub statistic: String,
    /// Its value, ns; none: there are too few samples for it.
    pub value_ns: Option<f64>,
    /// The share of the budget that it eats.
    pub eats: Option<f64>,
    /// What it leaves of the budget for network and processing, ns; negative: it lacks so much.
    pub leaves_ns: Option<f64>,
    /// Activations it rests on: samples, missed periods and lost samples.
    pub samples: u64,
    /// So many are needed to say that it is met.
    pub samples_needed: u64,
    /// How many were later than the whole budget.
    pub over: u64,
    pub reason: String,
}

impl Limit {
    fn new(name: &str, group: Group, quantity: Quantity, budget_ns: u64, source: &str) -> Self {
        Self { name: name.to_owned(), group, quantity, budget_ns, source: source.to_owned() }
    }
}

/// The limits of the field.
pub(crate) fn limits() -> Vec<Limit> {
    let grid = [
        ("protection task, 1 ms", 1_000_000, "cycle of a protection task"),
        ("TT6, 3 ms", 3_000_000, "IEC 61850-5, transfer time class TT6"),
        ("quarter cycle at 60 Hz", 4_166_667, "a quarter of 1/60 s"),
        ("quarter cycle at 50 Hz", 5_000_000, "a quarter of 1/50 s"),
    ];
    let of_grid = |(name, budget_ns, source)| {
        Limit::new(name, Group::Grid, Quantity::Latency, budget_ns, source)
    };
    let of_service = |service: published::Requirement| {
        let both = [(Quantity::Latency, service.latency_ms), (Quantity::Jitter, service.jitter_ms)];
        both.map(|(quantity, ms)| {
            let budget_ns = (ms * 1e6).round() as u64;
            Limit::new(&service.service, Group::Service, quantity, budget_ns, "Queiroz 2023")
        })
    };
    let services = published::requirements().into_iter().flat_map(of_service);
    grid.into_iter().map(of_grid).chain(services).collect()
}

/// A limit on latency that the user asks for.
pub(crate) fn own(name: &str, budget_ns: u64) -> Limit {
    Limit::new(name, Group::Own, Quantity::Latency, budget_ns, "asked for")
}

/// The activations of a cell: its samples, what was missed because of them, and what was lost.
pub(crate) fn activations(cell: &Cell, samples: &Distribution) -> Distribution {
    let besides = cell.threads.iter().fold(Distribution::default(), |all, thread| {
        let lost = Distribution::of_counts([(u32::MAX, thread.counts.lost)]);
        all.merged(&lost).merged(&missed(thread, cell.method.period_ns))
    });
    samples.merged(&besides)
}

/// How late the periods were that a thread missed.
fn missed(thread: &Thread, period_ns: Option<i64>) -> Distribution {
    let mut left = thread.counts.missed;
    if left == 0 {
        return Distribution::default();
    }
    let period_ns = period_ns.and_then(|ns| u32::try_from(ns).ok()).filter(|ns| *ns > 0);
    let (Some(period_ns), true) = (period_ns, left <= MISSED_MAX) else {
        return Distribution::of_counts([(u32::MAX, left)]);
    };
    let mut late = Vec::new();
    for (latency_ns, count) in longer(&thread.samples, period_ns).counts() {
        let mut rest_ns = latency_ns - period_ns;
        loop {
            let count = count.min(left);
            late.push((rest_ns, count));
            left -= count;
            match rest_ns.checked_sub(period_ns) {
                Some(next_ns) if left > 0 => rest_ns = next_ns,
                _ => break,
            }
        }
    }
    // Periods that nobody can account for count as late.
    late.push((u32::MAX, left));
    Distribution::of_counts(late)
}

/// The samples that took at least so long.
fn longer(samples: &Samples, least_ns: u32) -> Distribution {
    let enough = |latency_ns: &u32| *latency_ns >= least_ns;
    match samples {
        Samples::Kept { latency_ns, .. } => {
            Distribution::of(&latency_ns.iter().copied().filter(enough).collect::<Vec<u32>>())
        }
        Samples::Counted(all) => Distribution::of_counts(all.counts().filter(|(ns, _)| enough(ns))),
    }
}

/// Judges a cell, of which these are all samples, by each limit. `share` of all activations must be
/// in time.
pub(crate) fn judge(
    cell: &Cell,
    samples: &Distribution,
    limits: &[Limit],
    share: f64,
) -> Vec<Verdict> {
    let activations = activations(cell, samples);
    let pace = pace(cell);
    let judge_one = |limit: &Limit| {
        let mut verdict = match limit.quantity {
            Quantity::Latency => latency(&activations, limit, share, pace),
            Quantity::Jitter => jitter(samples, limit, pace),
        };
        if let Some(mark) = cell.marks.iter().find(|mark| mark.kind.forbids_verdict()) {
            verdict.outcome = Outcome::NotMeasured;
            verdict.reason = mark.kind.meaning().to_owned();
        } else if cell.is_marked(MarkKind::Overflow) && limit.quantity == Quantity::Latency {
            verdict.reason += "; some latencies were longer than can be stored";
        }
        verdict
    };
    limits.iter().map(judge_one).collect()
}

fn latency(activations: &Distribution, limit: &Limit, share: f64, pace: Pace) -> Verdict {
    let budget_ns = limit.budget_ns as f64;
    let over = activations.count()
        - activations.up_to(u32::try_from(limit.budget_ns).unwrap_or(u32::MAX - 1));
    let samples = activations.count();
    let needed = samples_needed(share);
    let found = Percentile::of(activations, share);
    let later = format!("{over} of {samples} later than {}", ms(budget_ns));
    let timed = |ns: &f64| *ns < NEVER_NS;
    let (outcome, value_ns, reason) = match found {
        None => (Outcome::NotMeasured, None, "there are no samples".to_owned()),
        Some(Percentile { upper: Some(upper), .. }) if upper <= budget_ns && timed(&upper) => {
            (Outcome::Met, Some(upper), later)
        }
        Some(Percentile { lower, upper, .. }) if lower > budget_ns || !timed(&lower) => {
            (Outcome::Missed, upper.filter(timed).or(Some(lower).filter(timed)), later)
        }
        Some(Percentile { lower, upper: Some(upper), .. }) => {
            let why = format!(
                "its interval, {} to {}, contains the limit: {over} of {samples} were later",
                ms_or_never(lower),
                ms_or_never(upper)
            );
            (Outcome::NotMeasured, Some(upper).filter(timed), why)
        }
        Some(Percentile { upper: None, .. }) => {
            (Outcome::NotMeasured, None, too_few(samples, needed, pace))
        }
    };
    Verdict {
        limit: limit.clone(),
        outcome,
        statistic: format!("p{}, upper end of its 95 % interval", percent(share)),
        value_ns,
        eats: value_ns.map(|ns| ns / budget_ns),
        leaves_ns: value_ns.map(|ns| budget_ns - ns),
        samples,
        samples_needed: needed,
        over,
        reason,
    }
}

fn jitter(samples: &Distribution, limit: &Limit, pace: Pace) -> Verdict {
    let budget_ns = limit.budget_ns as f64;
    let (count, needed) = (samples.count(), samples_needed(JITTER_SHARE));
    let found = Summary::of(samples).filter(|_| count >= needed);
    let (outcome, value_ns, reason) = match found {
        Some(summary) => {
            let value = summary.maximum_jitter;
            let outcome = if value <= budget_ns { Outcome::Met } else { Outcome::Missed };
            let outside = count - inside(samples, &summary);
            (outcome, Some(value), format!("{outside} of {count} samples are outside the whiskers"))
        }
        None => (Outcome::NotMeasured, None, too_few(count, needed, pace)),
    };
    Verdict {
        limit: limit.clone(),
        outcome,
        statistic: "maximum jitter, whisker to whisker".to_owned(),
        value_ns,
        eats: value_ns.map(|ns| ns / budget_ns),
        leaves_ns: value_ns.map(|ns| budget_ns - ns),
        samples: count,
        samples_needed: needed,
        over: 0,
        reason,
    }
}

/// Samples between the whiskers, which are samples themselves.
fn inside(samples: &Distribution, summary: &Summary) -> u64 {
    let below = (summary.lower_whisker as u32).checked_sub(1).map_or(0, |ns| samples.up_to(ns));
    samples.up_to(summary.upper_whisker as u32) - below
}

/// How fast a cell takes samples, to say how long one must measure: its period in ns, and how many
/// threads take them; `None` where that is not known.
type Pace = Option<(i64, usize)>;

fn pace(cell: &Cell) -> Pace {
    let timed = cell.threads.iter().filter(|thread| matches!(thread.samples, Samples::Kept { .. }));
    Some((cell.method.period_ns?, timed.count())).filter(|(_, threads)| *threads > 0)
}

fn too_few(count: u64, needed: u64, pace: Pace) -> String {
    let so_long = pace.map_or_else(String::new, |(period_ns, threads)| {
        let seconds = needed as f64 * period_ns as f64 / 1e9 / threads as f64;
        format!(", so {} s like this", figure(seconds.ceil()))
    });
    format!("too few samples: {count}, but {needed} are needed{so_long}")
}

/// As [`ms`], where it may be the latency of an activation which never came.
fn ms_or_never(ns: f64) -> String {
    if ns < NEVER_NS { ms(ns) } else { "missed entirely".to_owned() }
}

/// Nanoseconds as milliseconds, with unit.
pub(crate) fn ms(ns: f64) -> String {
    format!("{} ms", figure(ns / 1e6))
}

/// A share as percent: `99.9`.
pub(crate) fn percent(share: f64) -> String {
    figure((share * 1e8).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::super::cell::{Counts, Method};
    use super::*;

    /// A cell at a period of 10 ms.
    fn cell(latency_ns: Vec<u32>) -> Cell {
        Cell {
            threads: vec![Samples::periodic(10_000_000, latency_ns).into()],
            method: Method { period_ns: Some(10_000_000), ..Method::default() },
            ..Cell::default()
        }
    }

    fn limit(quantity: Quantity, budget_ns: u64) -> Vec<Limit> {
        vec![Limit::new("own", Group::Own, quantity, budget_ns, "here")]
    }

    fn all(cell: &Cell) -> Distribution {
        cell.threads[0].samples.distribution()
    }

    fn judged(cell: &Cell, budget_ns: u64) -> Verdict {
        judge(cell, &all(cell), &limit(Quantity::Latency, budget_ns), SHARE).remove(0)
    }

    #[test]
    fn enough_samples_below_the_limit_meet_it_and_say_what_they_leave() {
        let verdict = judged(&cell(vec![500_000; 4_000]), 1_000_000);
        assert_eq!(
            (verdict.outcome, verdict.eats, verdict.leaves_ns),
            (Outcome::Met, Some(0.5), Some(5e5))
        );
        assert_eq!(verdict.statistic, "p99.9, upper end of its 95 % interval");
        assert_eq!((verdict.over, verdict.samples), (0, 4_000));
    }

    #[test]
    fn too_few_samples_are_no_verdict_and_the_number_needed_is_given() {
        let verdict = judged(&cell(vec![500_000; 3_687]), 1_000_000);
        assert_eq!((verdict.outcome, verdict.value_ns), (Outcome::NotMeasured, None));
        assert_eq!(verdict.reason, "too few samples: 3687, but 3688 are needed, so 37 s like this");
        assert_eq!(judged(&cell(Vec::new()), 1).reason, "there are no samples");
    }

    #[test]
    fn few_samples_are_enough_to_miss_it() {
        let verdict = judged(&cell(vec![2_000_000; 20]), 1_000_000);
        assert_eq!((verdict.outcome, verdict.over), (Outcome::Missed, 20));
        assert_eq!(verdict.leaves_ns, Some(-1e6));
    }

    #[test]
    fn a_limit_within_the_interval_is_no_verdict() {
        let mut latency_ns = vec![1_000; 10_000];
        latency_ns[..10].fill(2_000_000);
        let verdict = judged(&cell(latency_ns), 1_000_000);
        assert_eq!(verdict.outcome, Outcome::NotMeasured);
        assert!(verdict.reason.contains("contains the limit: 10 of 10000"), "{}", verdict.reason);
    }

    #[test]
    fn what_was_missed_and_lost_counts_as_late() {
        // 35 ms late at a period of 10 ms: three more that were 25, 15 and 5 ms late.
        let mut late = cell(vec![35_000_000]);
        late.threads[0].counts = Counts { missed: 3, lost: 2, ..Counts::default() };
        let counts: Vec<(u32, u64)> = activations(&late, &all(&late)).counts().collect();
        assert_eq!(
            counts,
            [(5_000_000, 1), (15_000_000, 1), (25_000_000, 1), (35_000_000, 1), (u32::MAX, 2)]
        );
        // More than its samples account for.
        late.threads[0].counts = Counts { missed: 9, ..Counts::default() };
        assert_eq!(activations(&late, &all(&late)).counts().last(), Some((u32::MAX, 6)));
        late.threads[0].counts.missed = u64::MAX >> 1;
        assert_eq!(activations(&late, &all(&late)).count(), 1 + (u64::MAX >> 1));
    }

    #[test]
    fn an_activation_that_never_came_has_no_time_to_be_printed() {
        let mut late = cell(vec![500_000; 4_000]);
        late.threads[0].counts = Counts { missed: 4, ..Counts::default() };
        let verdict = judged(&late, 1_000_000);
        assert_eq!((verdict.outcome, verdict.value_ns), (Outcome::NotMeasured, None));
        assert!(verdict.reason.contains("0.5 ms to missed entirely"), "{}", verdict.reason);
        late.threads[0].counts.missed = 4_000;
        let verdict = judged(&late, 1_000_000);
        assert_eq!(
            (verdict.outcome, verdict.value_ns, verdict.over),
            (Outcome::Missed, None, 4_000)
        );
        assert_eq!(
            judged(&late, 1 << 40).outcome,
            Outcome::Missed,
            "never is later than any limit"
        );
    }

    #[test]
    fn jitter_is_judged_between_the_whiskers_as_published() {
        let mut latency_ns: Vec<u32> = (0..1_000).map(|index| 1_000 + index % 100).collect();
        latency_ns[3] = 90_000;
        let cell = cell(latency_ns);
        let of = |budget_ns| {
            judge(&cell, &all(&cell), &limit(Quantity::Jitter, budget_ns), SHARE).remove(0)
        };
        assert_eq!((of(99).outcome, of(99).value_ns), (Outcome::Met, Some(99.0)));
        assert_eq!(of(98).outcome, Outcome::Missed);
        assert!(of(98).reason.starts_with("1 of 1000"), "{}", of(98).reason);
    }

    #[test]
    fn emulated_times_are_no_verdict_whatever_they_are() {
        let mut emulated = cell(vec![500; 4_000]);
        emulated.mark(MarkKind::Emulated.into());
        let verdict = judged(&emulated, 1_000_000);
        assert_eq!(verdict.outcome, Outcome::NotMeasured);
        assert!(verdict.reason.contains("emulated"));
    }

    #[test]
    fn the_limits_of_the_field_are_there() {
        let limits = limits();
        assert_eq!(limits.len(), 4 + 2 * 8);
        assert!(
            limits.iter().any(|limit| limit.name.contains("TT6") && limit.budget_ns == 3_000_000)
        );
    }
}
