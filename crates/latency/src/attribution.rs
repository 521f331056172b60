//! Who is to blame for a late sample: samples and stalls, joined.
//!
//! The probe notes a stall for each wake-up that is far too late, with the evidence of that moment,
//! and its meter notes gaps. A sample belongs to the stall that the thread itself noted, or else to
//! the one on its core that covers most of the time it was late. A stall that covers less than half
//! of it explains nothing, and what nothing explains is called unexplained, never a guess.

use std::collections::BTreeMap;

use serde::Serialize;

use super::cell::{Cause, Cell, Detector, MarkKind, Samples, Stall, Thread};

/// Most samples that are listed one by one.
const WORST: usize = 12;
/// A stall must cover at least this share of a latency to explain it.
const COVERED_MIN: f64 = 0.5;

/// A late sample, and who is to blame.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Blamed {
    pub thread: i32,
    /// Its core; none: it was bound to no single one.
    pub core: Option<i32>,
    /// When it was due, ns since the cell began.
    pub at_ns: i64,
    pub latency_ns: u32,
    pub cause: Cause,
    /// Whom exactly, or why nobody is.
    pub who: String,
}

/// The late samples of a cell.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Attribution {
    /// What counts as late, ns.
    pub limit_ns: u32,
    pub late: u64,
    /// How many of these each is to blame for.
    pub causes: BTreeMap<Cause, u64>,
    /// The latest samples of all, the latest one first; also if none was later than the limit.
    pub worst: Vec<Blamed>,
}

impl Attribution {
    /// Of a cell; its histograms have no times, and so no causes.
    pub fn of(cell: &Cell, limit_ns: u32) -> Self {
        let stalls = Stalls::of(cell);
        let mut found = Self { limit_ns, ..Self::default() };
        for thread in &cell.threads {
            let Samples::Kept { at, latency_ns } = &thread.samples else { continue };
            let mut worst: Vec<usize> = Vec::new();
            for (index, latency_ns_now) in latency_ns.iter().enumerate() {
                if *latency_ns_now > limit_ns {
                    found.late += 1;
                    let blamed = stalls.blame(thread, at.at(index), *latency_ns_now);
                    *found.causes.entry(blamed.cause).or_default() += 1;
                }
                keep_worst(&mut worst, index, latency_ns);
            }
            let blame = |index: usize| stalls.blame(thread, at.at(index), latency_ns[index]);
            found.worst.extend(worst.into_iter().map(blame));
        }
        found.worst.sort_by_key(|blamed| std::cmp::Reverse(blamed.latency_ns));
        found.worst.truncate(WORST);
        found
    }
}

/// Keeps the numbers of the latest samples, the latest first.
fn keep_worst(worst: &mut Vec<usize>, index: usize, latency_ns: &[u32]) {
    let here = latency_ns[index];
    if worst.len() == WORST && worst.last().is_some_and(|last| latency_ns[*last] >= here) {
        return;
    }
    let place = worst.partition_point(|other| latency_ns[*other] >= here);
    worst.insert(place, index);
    worst.truncate(WORST);
}

/// The stalls of a cell, to be asked for a time.
struct Stalls<'c> {
    stalls: &'c [Stall],
    /// No stall is longer, ns.
    longest_ns: i64,
    metered: bool,
}

impl<'c> Stalls<'c> {
    fn of(cell: &'c Cell) -> Self {
        let longest_ns = cell.stalls.iter().map(|stall| stall.length_ns).max().unwrap_or(0);
        let metered = !cell.is_marked(MarkKind::NoMeter);
        Self { stalls: &cell.stalls, longest_ns, metered }
    }

    fn blame(&self, thread: &Thread, at_ns: i64, latency_ns: u32) -> Blamed {
        let (cause, who) = self.cause(thread.core, at_ns, latency_ns);
        let (thread, core) = (thread.number, thread.core);
        Blamed { thread, core, at_ns, latency_ns, cause, who }
    }

    fn cause(&self, core: Option<i32>, at_ns: i64, latency_ns: u32) -> (Cause, String) {
        let end_ns = at_ns.saturating_add(i64::from(latency_ns));
        let earliest_ns = at_ns.saturating_sub(self.longest_ns);
        let first = self.stalls.partition_point(|stall| stall.at_ns < earliest_ns);
        let meanwhile = self.stalls[first..].iter().take_while(|stall| stall.at_ns < end_ns);
        // A thread on no single core may have been held up on any.
        let here = meanwhile.filter(|stall| core.is_none_or(|core| core == stall.core));
        let covered = |stall: &Stall| (stall.end_ns().min(end_ns) - stall.at_ns.max(at_ns)).max(0);
        let rank = |stall: &&Stall| {
            let own = stall.seen_by == Detector::Wakeup && stall.at_ns == at_ns;
            (stall.cause != Cause::Unknown, own, covered(stall))
        };
        let enough = |stall: &&Stall| covered(stall) as f64 >= COVERED_MIN * f64::from(latency_ns);
        match here.filter(enough).max_by_key(rank) {
            Some(stall) => (stall.cause, stall.who.clone()),
            None if self.metered => (Cause::Unknown, "no stall was detected".to_owned()),
            None => (Cause::Unknown, "no stall meter ran".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn stall(core: i32, at_ms: i64, length_ms: i64, seen_by: Detector, cause: Cause) -> Stall {
        Stall {
            core,
            at_ns: at_ms * MS,
            length_ns: length_ms * MS,
            seen_by,
            cause,
            who: format!("{} at {at_ms}", cause.name()),
            evidence: String::new(),
        }
    }

    /// A sample each 10 ms on core 1, on time but for those given.
    fn cell(late: &[(usize, u32)], stalls: Vec<Stall>) -> Cell {
        let mut latency_ns = vec![2_000; 100];
        for (index, ms) in late {
            latency_ns[*index] = ms * 1_000_000;
        }
        let at = (0..100).map(|index| index * 10 * MS).collect();
        let samples = Samples::Kept { at, latency_ns };
        let threads = vec![Thread { core: Some(1), samples, ..Thread::default() }];
        Cell { threads, stalls, ..Cell::default() }
    }

    #[test]
    fn a_maximum_is_blamed_on_the_stall_that_its_thread_noted() {
        let stalls = vec![
            stall(1, 199, 9, Detector::Meter, Cause::Kernel),
            stall(1, 200, 5, Detector::Wakeup, Cause::Load),
            stall(0, 200, 5, Detector::Wakeup, Cause::Host),
        ];
        let found = Attribution::of(&cell(&[(20, 5)], stalls), 1_000_000);
        assert_eq!((found.late, found.causes), (1, BTreeMap::from([(Cause::Load, 1)])));
        assert_eq!(found.worst.len(), WORST);
        assert_eq!((found.worst[0].at_ns, found.worst[0].who.as_str()), (200 * MS, "load at 200"));
    }

    #[test]
    fn without_its_own_note_the_longest_cover_counts_and_too_little_explains_nothing() {
        let stalls = vec![
            stall(1, 190, 13, Detector::Meter, Cause::Kernel),
            stall(1, 203, 8, Detector::Meter, Cause::Stopped),
            stall(1, 500, 1, Detector::Meter, Cause::Host),
        ];
        let found = Attribution::of(&cell(&[(20, 11), (50, 9)], stalls), 1_000_000);
        let blamed: Vec<(Cause, &str)> =
            found.worst[..2].iter().map(|blamed| (blamed.cause, blamed.who.as_str())).collect();
        assert_eq!(
            blamed,
            [(Cause::Stopped, "stopped at 203"), (Cause::Unknown, "no stall was detected")]
        );
    }

    #[test]
    fn a_stall_that_knows_its_cause_is_preferred_to_one_that_does_not() {
        let stalls = vec![
            stall(1, 200, 5, Detector::Wakeup, Cause::Unknown),
            stall(1, 200, 5, Detector::Meter, Cause::Host),
        ];
        assert_eq!(Attribution::of(&cell(&[(20, 5)], stalls), 0).worst[0].cause, Cause::Host);
    }

    #[test]
    fn times_at_the_end_of_the_scale_do_no_harm() {
        let mut far = stall(1, 0, 0, Detector::Meter, Cause::Host);
        (far.at_ns, far.length_ns) = (i64::MAX - 1, i64::MAX);
        let found = Attribution::of(&cell(&[(20, 5)], vec![far]), 0);
        assert_eq!(found.worst[0].cause, Cause::Unknown);
    }
}
