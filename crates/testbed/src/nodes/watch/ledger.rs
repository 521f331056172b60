//! What is worth reporting of delays, bounded however long a run is. Pure.
//!
//! Long delays are reported one by one. Short ones matter by their sum only, so they are added up over a
//! second and reported if they are more than one in two hundred of it. Once much has been reported, what
//! comes is added up over longer times: the longest delay and the sum stay right, only when it was is
//! then known less well.

use std::collections::BTreeMap;

use super::delays::Delay;
use results::disturbance::{Cause, Disturbance};

/// Virtual time over which short delays are added up.
const ADD_UP_NS: i64 = 1_000_000_000;
/// The part of it that they must take to be reported.
const PART_REPORTED: i64 = 200;
/// Each time that so many were reported, the next ones are added up over twice the time.
const REPORTED_MAX: u32 = 20_000;
/// The first time over which long delays are added up.
const ADD_UP_LONG_NS: i64 = 50_000_000;

pub(super) type Party = (Option<String>, String);

#[derive(Debug)]
pub(super) struct Ledger {
    pending: BTreeMap<(Party, Cause), Disturbance>,
    least_ns: i64,
    /// Long ones are added up for so long.
    add_up_ns: i64,
    reported: u32,
}

impl Ledger {
    pub(super) fn new(least_ns: i64) -> Self {
        Self { pending: BTreeMap::new(), least_ns, add_up_ns: 0, reported: 0 }
    }

    pub(super) fn add(&mut self, party: Party, cause: Cause, delay: &Delay) {
        if delay.lost_ns <= 0 {
            return;
        }
        let known = self.entry(party, cause, delay.from_ns, delay.to_ns);
        known.from_ns = known.from_ns.min(delay.from_ns);
        known.longest_ns = known.longest_ns.max(delay.longest_ns);
        known.lost_ns = known.lost_ns.saturating_add(delay.lost_ns);
    }

    /// Takes in what is no delay, between two looks.
    pub(super) fn note(&mut self, party: Party, cause: Cause, from_ns: i64, to_ns: i64) {
        self.entry(party, cause, from_ns, to_ns.max(from_ns.saturating_add(1)));
    }

    /// What is pending, with this end.
    fn entry(
        &mut self,
        (node, who): Party,
        cause: Cause,
        from_ns: i64,
        to_ns: i64,
    ) -> &mut Disturbance {
        let key = ((node.clone(), who.clone()), cause);
        let new = Disturbance { from_ns, to_ns, node, who, cause, longest_ns: 0, lost_ns: 0 };
        let known = self.pending.entry(key).or_insert(new);
        known.to_ns = known.to_ns.max(to_ns);
        known
    }

    /// Takes out what is to be reported now; all that is worth it at the end.
    pub(super) fn take(&mut self, now_ns: i64, is_last: bool) -> Vec<Disturbance> {
        let (least_ns, add_up_ns) = (self.least_ns, self.add_up_ns);
        let mut reported = Vec::new();
        self.pending.retain(|_, one| {
            let since_ns = now_ns.saturating_sub(one.from_ns);
            let is_long = one.longest_ns >= least_ns || one.cause.is_no_delay();
            let until_ns = if is_long { add_up_ns } else { ADD_UP_NS.max(add_up_ns) };
            if since_ns < until_ns && !is_last {
                return true;
            }
            let length_ns = one.to_ns - one.from_ns;
            if is_long || one.lost_ns > length_ns / PART_REPORTED {
                reported.push(one.clone());
            }
            false
        });
        self.reported =
            self.reported.saturating_add(u32::try_from(reported.len()).unwrap_or(u32::MAX));
        if self.reported >= REPORTED_MAX {
            self.reported = 0;
            self.add_up_ns = (self.add_up_ns * 2).max(ADD_UP_LONG_NS);
        }
        reported
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn delay(at_ms: i64, lost_ns: i64) -> Delay {
        let (from_ns, to_ns) = (at_ms * MS, (at_ms + 50) * MS);
        let (who, cause) = (String::new(), Cause::Waited);
        Delay { who, cause, from_ns, to_ns, longest_ns: lost_ns, lost_ns }
    }

    fn party(who: &str) -> Party {
        (Some("n1".into()), who.into())
    }

    #[test]
    fn a_long_delay_is_reported_at_once_and_short_ones_by_their_sum() {
        let mut ledger = Ledger::new(MS);
        ledger.add(party("late"), Cause::Waited, &delay(0, 2 * MS));
        ledger.add(party("idle"), Cause::Waited, &delay(0, 0));
        let reported = ledger.take(50 * MS, false);
        assert_eq!(
            (reported.len(), reported[0].who.as_str(), reported[0].longest_ns),
            (1, "late", 2 * MS)
        );
        for look in 0..20 {
            ledger.add(party("busy"), Cause::Waited, &delay(look * 50, MS / 2));
            ledger.add(party("quiet"), Cause::Waited, &delay(look * 50, MS / 20));
        }
        assert_eq!(ledger.take(990 * MS, false), []);
        let reported = ledger.take(1000 * MS, false);
        assert_eq!((reported.len(), reported[0].who.as_str()), (1, "busy"));
        let (lost_ns, longest_ns, to_ns) = (10 * MS, MS / 2, 1000 * MS);
        assert_eq!(
            (reported[0].lost_ns, reported[0].longest_ns, reported[0].to_ns),
            (lost_ns, longest_ns, to_ns)
        );
    }

    #[test]
    fn a_refusal_is_reported_though_it_took_no_time() {
        let mut ledger = Ledger::new(MS);
        ledger.note(party("poor"), Cause::Refused, 50 * MS, 50 * MS);
        ledger.note(party("poor"), Cause::Refused, 50 * MS, 100 * MS);
        let reported = ledger.take(100 * MS, false);
        assert_eq!((reported.len(), reported[0].cause), (1, Cause::Refused));
        assert_eq!((reported[0].from_ns, reported[0].to_ns), (50 * MS, 100 * MS));
        assert_eq!(ledger.take(200 * MS, true), []);
    }

    #[test]
    fn at_the_end_nothing_is_kept_back() {
        let mut ledger = Ledger::new(MS);
        ledger.add(party("busy"), Cause::Waited, &delay(0, MS / 2));
        assert_eq!(ledger.take(50 * MS, false), []);
        assert_eq!(ledger.take(50 * MS, true).len(), 1);
        assert_eq!(ledger.take(50 * MS, true), []);
    }

    #[test]
    fn a_day_of_delays_is_reported_in_so_many_lines_and_none_is_forgotten() {
        let mut ledger = Ledger::new(MS);
        let (mut lines, mut lost_ns) = (0, 0);
        let looks = 24 * 3600 * 20;
        for look in 0..looks {
            ledger.add(party("late"), Cause::Waited, &delay(look * 50, 2 * MS));
            for one in ledger.take((look + 1) * 50 * MS, look + 1 == looks) {
                lines += 1;
                lost_ns += one.lost_ns;
            }
        }
        assert_eq!(lost_ns, looks * 2 * MS);
        assert!(lines < 200_000, "{lines}");
    }
}
