//! Who is to blame for a stall, from what is known about it. Decides and touches nothing.
//!
//! What took at least half of the time is the cause. The evidence is asked in the order of how much
//! it proves: a stop of the program itself; who had the core, by the kernel's own record; whether
//! the thread was ready to run at all, or even its timer was late. Time during which a task had the
//! core that must give way is no blame of that task: either the kernel could not be preempted on
//! its behalf, or the core was not there.

use super::task::Policy;
use crate::stream::{Cause, Detector};

/// Steal time is counted in ticks of this length: shorter stalls are known only to be within one.
const STEAL_TICK_NS: i64 = 10_000_000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Case {
    pub(crate) length_ns: i64,
    pub(crate) seen_by: Detector,
    /// Of the thread that was late, as SCHED_FIFO.
    pub(crate) priority: Option<i32>,
    /// Whether this is a virtual machine.
    pub(crate) virtualised: bool,
    /// The program was continued after a stop (SIGCONT) during the stall.
    pub(crate) continued: bool,
    /// Nobody of this program ran on any core, and others did.
    pub(crate) frozen: bool,
    pub(crate) run_delay_ns: Option<i64>,
    pub(crate) steal_ns: Option<i64>,
    /// Who had the core; `None` if it was not recorded.
    pub(crate) occupants: Option<Vec<Occupant>>,
    /// A more urgent task that ran last on the core, where it was not recorded who did.
    pub(crate) suspect: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Occupant {
    pub(crate) who: Who,
    pub(crate) ran_ns: i64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Who {
    /// Nobody, or the stall meter, which gives way to all.
    Nobody,
    /// A thread of the kernel.
    Kernel(String),
    /// A task, and its class, if it is still there to be asked.
    Task(String, Option<Policy>),
}

/// The cause, and whom exactly.
pub(crate) fn verdict(case: &Case) -> (Cause, String) {
    if case.continued {
        return (Cause::Stopped, "the probe was stopped and continued (SIGCONT)".to_owned());
    }
    let recorded = case.occupants.as_ref().and_then(|occupants| by_occupants(case, occupants));
    recorded.unwrap_or_else(|| by_delay(case))
}

impl Case {
    fn is_half(&self, ns: i64) -> bool {
        2 * ns >= self.length_ns
    }

    /// Whether a hypervisor says that it took the core.
    fn is_stolen(&self) -> bool {
        self.steal_ns
            .is_some_and(|ns| self.is_half(ns) || ns > 0 && self.length_ns < 2 * STEAL_TICK_NS)
    }
}

/// The verdict if somebody, or nobody, had the core for half of the time.
fn by_occupants(case: &Case, occupants: &[Occupant]) -> Option<(Cause, String)> {
    let time = |of: &dyn Fn(&Who) -> bool| {
        occupants.iter().filter(|one| of(&one.who)).map(|one| one.ran_ns).sum::<i64>()
    };
    let may_delay = |who: &Who| match who {
        Who::Task(_, policy) => policy.is_none_or(|policy| policy.may_delay(case.priority)),
        Who::Nobody | Who::Kernel(_) => false,
    };
    let must_give_way = |who: &Who| matches!(who, Who::Task(..)) && !may_delay(who);
    let is_kernel = |who: &Who| matches!(who, Who::Kernel(_));
    if case.is_half(time(&may_delay)) {
        return Some((Cause::Load, names(occupants, &may_delay)));
    }
    if case.is_half(time(&is_kernel)) {
        return Some((Cause::Kernel, names(occupants, &is_kernel)));
    }
    if case.frozen {
        let what = "no thread of the probe ran on any core while others did: frozen or traced";
        return Some((Cause::Stopped, what.to_owned()));
    }
    if case.is_half(time(&|who| *who == Who::Nobody)) {
        return Some((Cause::Host, nobody_ran(case)));
    }
    if !case.is_half(time(&must_give_way)) {
        return None;
    }
    let names = names(occupants, &must_give_way);
    if case.is_stolen() {
        return Some((
            Cause::Host,
            format!("the hypervisor took the core while {names} ran on it"),
        ));
    }
    if case.run_delay_ns.is_some_and(|ns| case.is_half(ns)) {
        return Some((
            Cause::Kernel,
            format!("the kernel could not be preempted while it ran for {names}"),
        ));
    }
    let what = format!(
        "the interrupt was late while {names} ran on the core: blocked, or delayed by a host"
    );
    Some((Cause::Unknown, what))
}

/// The verdict where it is not recorded who had the core.
fn by_delay(case: &Case) -> (Cause, String) {
    let was_ready = case.run_delay_ns.is_some_and(|ns| case.is_half(ns));
    if let Some(suspect) = case.suspect.as_ref().filter(|_| was_ready) {
        let what = format!("ready but not running; {suspect} has higher priority and ran there");
        return (Cause::Load, what);
    }
    if case.is_stolen() {
        return (Cause::Host, "the hypervisor took the core".to_owned());
    }
    if case.seen_by == Detector::Meter {
        let cause = if case.virtualised { Cause::Host } else { Cause::Unknown };
        let what = "the stall meter stopped without waiting: a hypervisor, firmware or interrupts";
        return (cause, what.to_owned());
    }
    if case.run_delay_ns.is_none() {
        return (Cause::Unknown, "not reported by this kernel".to_owned());
    }
    let (cause, what) = match (was_ready, case.priority) {
        (true, None) => (Cause::Load, "ready but not running: other ordinary tasks"),
        (true, Some(_)) => (
            Cause::Unknown,
            "ready but not running: a task that has ended, or a kernel that could not be preempted",
        ),
        (false, _) => (
            Cause::Unknown,
            "the interrupt was late: delayed by the kernel, firmware or a hypervisor",
        ),
    };
    (cause, what.to_owned())
}

fn nobody_ran(case: &Case) -> String {
    let what = if case.is_stolen() {
        "no task ran, and the hypervisor reports that it took the core"
    } else if case.virtualised {
        "no task ran: the hypervisor did not let the core wake up"
    } else {
        "no task ran: firmware, or a deep idle state"
    };
    what.to_owned()
}

/// The names of some, longest first.
fn names(occupants: &[Occupant], of: &dyn Fn(&Who) -> bool) -> String {
    let name = |one: &Occupant| match &one.who {
        Who::Nobody => None,
        Who::Kernel(name) | Who::Task(name, None) => Some(name.clone()),
        Who::Task(name, Some(policy)) => Some(format!("{name} ({policy})")),
    };
    let found: Vec<String> = occupants.iter().filter(|one| of(&one.who)).filter_map(name).collect();
    match found.as_slice() {
        [first, second, rest @ ..] if !rest.is_empty() => {
            format!("{first}, {second} and {} others", rest.len())
        }
        few => few.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wake-up of FIFO 90 that was 5 ms late on real hardware, and nothing more is known.
    fn late() -> Case {
        Case {
            length_ns: 5_000_000,
            seen_by: Detector::Wakeup,
            priority: Some(90),
            virtualised: false,
            continued: false,
            frozen: false,
            run_delay_ns: None,
            steal_ns: None,
            occupants: None,
            suspect: None,
        }
    }

    fn had(occupants: &[(Who, i64)]) -> Option<Vec<Occupant>> {
        let one = |(who, ran_ns): &(Who, i64)| Occupant { who: who.clone(), ran_ns: *ran_ns };
        Some(occupants.iter().map(one).collect())
    }

    fn task(policy: Policy) -> Who {
        Who::Task("spinner".to_owned(), Some(policy))
    }

    fn cause(case: &Case) -> Cause {
        verdict(case).0
    }

    #[test]
    fn a_more_urgent_task_that_had_the_core_is_blamed_by_name() {
        let occupants = had(&[(task(Policy::Fifo(99)), 4_900_000), (Who::Nobody, 100_000)]);
        let (cause, who) = verdict(&Case { occupants, ..late() });
        assert_eq!((cause, who.as_str()), (Cause::Load, "spinner (FIFO 99)"));
    }

    #[test]
    fn a_task_that_must_give_way_is_not_to_blame() {
        let occupants = had(&[(task(Policy::Ordinary), 4_900_000)]);
        let kept = Case { occupants, ..late() };
        assert_eq!(cause(&kept), Cause::Unknown);
        let ready = Case { run_delay_ns: Some(4_800_000), ..kept.clone() };
        assert_eq!(cause(&ready), Cause::Kernel);
        assert_eq!(cause(&Case { steal_ns: Some(10_000_000), ..ready }), Cause::Host);
        // Among equals it is.
        assert_eq!(cause(&Case { priority: None, ..kept }), Cause::Load);
    }

    #[test]
    fn several_small_ones_are_blamed_together() {
        let many = |name: &str| (Who::Task(name.to_owned(), None), 1_500_000);
        let occupants = had(&[many("a"), many("b"), many("c")]);
        let (cause, who) = verdict(&Case { occupants, ..late() });
        assert_eq!((cause, who.as_str()), (Cause::Load, "a, b and 1 others"));
        let occupants = had(&[(Who::Kernel("ksoftirqd/0".to_owned()), 3_000_000)]);
        assert_eq!(verdict(&Case { occupants, ..late() }).1, "ksoftirqd/0");
    }

    #[test]
    fn if_nobody_ran_it_was_the_host() {
        let occupants = had(&[(Who::Nobody, 5_000_000)]);
        let idle = Case { occupants, ..late() };
        assert_eq!(cause(&idle), Cause::Host);
        assert!(verdict(&idle).1.contains("firmware"));
        assert!(verdict(&Case { virtualised: true, ..idle }).1.contains("hypervisor"));
    }

    #[test]
    fn a_stop_of_the_probe_explains_all_the_rest() {
        let occupants = had(&[(task(Policy::Fifo(99)), 5_000_000)]);
        let spun = Case { occupants, ..late() };
        assert_eq!(cause(&Case { continued: true, ..spun }), Cause::Stopped);
    }

    #[test]
    fn a_freeze_is_seen_by_others_that_ran_unless_they_were_in_the_way() {
        let frozen = Case { frozen: true, ..late() };
        for (who, expected) in [
            (Who::Nobody, Cause::Stopped),
            (task(Policy::Ordinary), Cause::Stopped),
            (task(Policy::Fifo(99)), Cause::Load),
        ] {
            let occupants = had(&[(who, 5_000_000)]);
            assert_eq!(cause(&Case { occupants, ..frozen.clone() }), expected);
        }
    }

    #[test]
    fn without_a_record_the_run_delay_tells_what_it_can() {
        assert_eq!(cause(&late()), Cause::Unknown);
        let ready = Case { run_delay_ns: Some(4_000_000), ..late() };
        assert_eq!(cause(&ready), Cause::Unknown);
        let suspected = Case { suspect: Some("spinner (FIFO 99)".to_owned()), ..ready.clone() };
        assert_eq!(cause(&suspected), Cause::Load);
        // Some steal time within the same half second does not clear the suspect.
        assert_eq!(cause(&Case { steal_ns: Some(10_000_000), ..suspected }), Cause::Load);
        assert_eq!(cause(&Case { priority: None, ..ready }), Cause::Load);
        let not_even_ready = Case { run_delay_ns: Some(3_000), ..late() };
        assert!(verdict(&not_even_ready).1.contains("interrupt was late"));
        // Too short for a tick of steal time, which then means little less than all of it.
        assert_eq!(cause(&Case { steal_ns: Some(10_000_000), ..not_even_ready }), Cause::Host);
        let long = Case { length_ns: 100_000_000, steal_ns: Some(10_000_000), ..late() };
        assert_eq!(cause(&long), Cause::Unknown);
    }

    #[test]
    fn a_gap_of_the_meter_is_the_hosts_where_there_is_one() {
        let gap = Case { seen_by: Detector::Meter, ..late() };
        assert_eq!(cause(&gap), Cause::Unknown);
        assert_eq!(cause(&Case { virtualised: true, ..gap }), Cause::Host);
    }
}
