use std::collections::VecDeque;

use super::*;

const HEALTHY_V: [f64; 3] = [63_500.0; 3];
const LOW_V: [f64; 3] = [20_000.0, 63_000.0, 63_000.0];
const WEAK: weak_infeed::Settings =
    weak_infeed::Settings { delay: Duration::from_millis(40), trip_below_v: Some(44_000.0) };
const POTT: Scheme = Scheme::Pott(None);
const DCB: Scheme = Scheme::Dcb { trips_unheard: false };

const QUIET: Seen = Seen {
    forward: false,
    phases: PhaseSet::NONE,
    underreaching: false,
    reverse: false,
    received: None,
    phases_v: Some(HEALTHY_V),
    is_closed: Some(true),
    is_swing: false,
};
const AHEAD: Seen = Seen { forward: true, ..QUIET };
const ON_LINE: Seen = Seen { underreaching: true, ..AHEAD };
const BEHIND: Seen = Seen { reverse: true, ..QUIET };

fn settings(scheme: Scheme) -> Settings {
    let coordination_ms = if matches!(scheme, Scheme::Dcb { .. }) { 50 } else { 0 };
    let [coordination, reversal] = [coordination_ms, 60].map(Duration::from_millis);
    Settings { scheme, coordination, reversal }
}

/// Two ends whose signals take so many ms; `see` is what each sees at a time, `is_up` whether the
/// link is there. Answers when each first trips, and what they have sent in each ms.
fn run(
    ends: [Scheme; 2],
    delay_ms: usize,
    see: impl Fn(u64) -> [Seen; 2],
    is_up: impl Fn(u64) -> bool,
) -> ([Option<u64>; 2], Vec<[bool; 2]>) {
    run_set(ends.map(settings), delay_ms, see, is_up)
}

/// As [`run`], with these settings.
fn run_set(
    ends: [Settings; 2],
    delay_ms: usize,
    see: impl Fn(u64) -> [Seen; 2],
    is_up: impl Fn(u64) -> bool,
) -> ([Option<u64>; 2], Vec<[bool; 2]>) {
    let mut ends = ends.map(Teleprotection::new);
    let mut link: VecDeque<[bool; 2]> = vec![[false; 2]; delay_ms + 1].into();
    let (mut tripped, mut all_sent) = ([None; 2], Vec::new());
    for ms in 0..1000 {
        let arrived = link.pop_front().expect("it is as long as the delay");
        let mut sent = [false; 2];
        for (end, seen) in see(ms).into_iter().enumerate() {
            let received = is_up(ms).then_some(arrived[1 - end]);
            let seen = Seen { received, ..seen };
            let decision = ends[end].update(SampleTime::from_ns(ms * 1_000_000), Some(&seen));
            sent[end] = decision.start;
            if decision.operate {
                tripped[end].get_or_insert(ms);
            }
        }
        link.push_back(sent);
        all_sent.push(sent);
    }
    (tripped, all_sent)
}

fn always(_ms: u64) -> bool {
    true
}

/// What both see from 100 ms on, the second 10 ms later.
fn from_100(seen: [Seen; 2]) -> impl Fn(u64) -> [Seen; 2] {
    move |ms| [(100, seen[0]), (110, seen[1])].map(|(at, seen)| if ms < at { QUIET } else { seen })
}

#[test]
fn a_fault_of_the_line_trips_both_ends_after_the_signal_has_come() {
    for delay in [0, 4, 15, 30] {
        let one_ms = delay as u64 + 1;
        let (tripped, _) = run([POTT; 2], delay, from_100([ON_LINE, AHEAD]), always);
        assert_eq!(tripped, [Some(110 + one_ms), Some(110.max(100 + one_ms))], "POTT {delay} ms");
        // The second end is sure of nothing: the first has to trip by its own zone.
        let (tripped, _) = run([Scheme::Putt; 2], delay, from_100([ON_LINE, AHEAD]), always);
        assert_eq!(tripped, [None, Some(110.max(100 + one_ms))], "PUTT {delay} ms");
        let (tripped, sent) = run([DCB; 2], delay, from_100([ON_LINE, AHEAD]), always);
        assert_eq!(tripped, [Some(150), Some(160)], "DCB {delay} ms");
        assert!(sent.iter().all(|sent| *sent == [false; 2]), "nothing blocks");
    }
}

#[test]
fn a_fault_outside_trips_neither_end() {
    for delay in [0, 4, 15, 30] {
        for scheme in [POTT, Scheme::Pott(Some(WEAK)), Scheme::Putt, DCB] {
            for seen in [[AHEAD, BEHIND], [BEHIND, AHEAD]] {
                let (tripped, _) = run([scheme; 2], delay, from_100(seen), always);
                let outside = (scheme, delay, seen[0].forward);
                // The block comes 10 ms and the delay after the fault ahead: within 50 ms.
                assert_eq!(tripped, [None; 2], "{outside:?}");
            }
        }
    }
}

#[test]
fn a_block_that_comes_later_than_coordination_is_too_late() {
    let (tripped, _) = run([DCB; 2], 39, from_100([AHEAD, BEHIND]), always);
    assert_eq!(tripped, [None; 2]);
    let (tripped, _) = run([DCB; 2], 40, from_100([AHEAD, BEHIND]), always);
    assert_eq!(tripped[0], Some(150));
}

#[test]
fn without_the_other_end_there_is_no_permission_and_dcb_does_as_set() {
    let lost = |_| false;
    let see = || from_100([ON_LINE, ON_LINE]);
    for scheme in [POTT, Scheme::Pott(Some(WEAK)), Scheme::Putt, DCB] {
        assert_eq!(run([scheme; 2], 4, see(), lost).0, [None; 2], "{scheme:?}");
    }
    let trusting = Scheme::Dcb { trips_unheard: true };
    assert_eq!(run([trusting; 2], 4, see(), lost).0, [Some(150), Some(160)]);
    // The link goes while it blocks: what set so follows trips then.
    let until_300 = |ms| ms < 300;
    let outside = || from_100([AHEAD, BEHIND]);
    assert_eq!(run([DCB; 2], 4, outside(), until_300).0, [None; 2]);
    assert_eq!(run([trusting; 2], 4, outside(), until_300).0, [Some(350), None]);
}

#[test]
fn an_evolving_fault_trips_after_the_guard() {
    let see = |ms: u64| match ms {
        0..100 => [QUIET; 2],
        100..200 => [AHEAD, BEHIND],
        _ => [AHEAD, AHEAD],
    };
    let (tripped, _) = run([POTT; 2], 4, see, always);
    // Behind until 199 ms, and guarded for 60 ms from then on.
    assert_eq!(tripped, [Some(264), Some(259)]);
}

#[test]
fn a_short_start_behind_does_not_guard() {
    let see = |ms: u64| match ms {
        0..100 => [QUIET; 2],
        100..119 => [AHEAD, BEHIND],
        _ => [AHEAD, AHEAD],
    };
    assert_eq!(run([POTT; 2], 4, see, always).0, [Some(124), Some(119)]);
}

#[test]
fn a_strong_end_trips_by_the_echo_of_a_weak_or_open_one() {
    let echo = weak_infeed::Settings { trip_below_v: None, ..WEAK };
    let low = Seen { phases_v: Some(LOW_V), ..QUIET };
    let open = Seen { is_closed: Some(false), ..low };
    // Both have the scheme; what differs is what the second sees.
    for (weak, second, of_second) in [
        (Some(WEAK), low, Some(145)),
        (Some(WEAK), open, None),
        (Some(WEAK), QUIET, None),
        (Some(echo), low, None),
    ] {
        let (tripped, sent) = run([Scheme::Pott(weak); 2], 4, from_100([AHEAD, second]), always);
        assert_eq!(tripped, [Some(150), of_second], "{weak:?} {second:?}");
        assert_eq!(sent.iter().filter(|sent| sent[1]).count(), 100, "one pulse");
    }
    let (tripped, sent) = run([POTT; 2], 4, from_100([AHEAD, low]), always);
    assert_eq!((tripped, sent.iter().any(|sent| sent[1])), ([None; 2], false));
    // One that cannot see does not know whether the fault is behind it.
    let blind = Seen { phases_v: None, ..QUIET };
    let (tripped, _) = run([Scheme::Pott(Some(WEAK)); 2], 4, from_100([AHEAD, blind]), always);
    assert_eq!(tripped, [None; 2]);
}

#[test]
fn a_weak_trip_names_the_phases_of_low_voltage() {
    let mut end = Teleprotection::new(settings(Scheme::Pott(Some(WEAK))));
    let seen = Seen { phases_v: Some(LOW_V), received: Some(true), ..QUIET };
    let decisions: Vec<Decision> =
        (0..60).map(|ms| end.update(SampleTime::from_ns(ms * 1_000_000), Some(&seen))).collect();
    assert_eq!(decisions[39], Decision::NONE);
    let phases = PhaseSet::phase(0) | PhaseSet::EARTH;
    let expected = Decision { start: true, operate: true, phases };
    assert_eq!(decisions[40], expected);
}

#[test]
fn two_weak_ends_do_not_answer_each_other_for_ever() {
    // The first end sends for a fault beyond that nobody else sees, for 50 ms.
    let see = |ms: u64| if (100..150).contains(&ms) { [AHEAD, QUIET] } else { [QUIET; 2] };
    for delay in 0..=30 {
        let (tripped, sent) = run([Scheme::Pott(Some(WEAK)); 2], delay, see, always);
        assert_eq!(tripped[1], None);
        assert!(sent[700..].iter().all(|sent| *sent == [false; 2]), "{delay} ms");
    }
}

#[test]
fn one_that_is_blocked_says_nothing_and_forgets() {
    let mut end = Teleprotection::new(settings(POTT));
    let now = SampleTime::from_ns(0);
    let seen = Seen { received: Some(true), ..AHEAD };
    assert!(end.update(now, Some(&seen)).operate);
    assert_eq!(end.update(now, None), Decision::NONE);
}

#[test]
fn without_its_guard_an_end_trips_when_the_current_turns_round() {
    let see = |ms: u64| match ms {
        0..100 => [QUIET; 2],
        100..200 => [AHEAD, BEHIND],
        200..210 => [AHEAD, AHEAD],
        _ => [BEHIND, AHEAD],
    };
    for scheme in [POTT, DCB] {
        let unguarded = Settings { reversal: Duration::ZERO, ..settings(scheme) };
        let (tripped, _) = run_set([unguarded; 2], 10, see, always);
        assert_eq!(tripped[1], (scheme == POTT).then_some(200), "{scheme:?}");
        assert_eq!(run([scheme; 2], 10, see, always).0, [None; 2], "{scheme:?}");
    }
    // Without the guard of the second end, the first would be blocked no longer.
    let slow = |ms: u64| match ms {
        0..100 => [QUIET; 2],
        100..200 => [AHEAD, BEHIND],
        _ => [if ms < 262 { AHEAD } else { BEHIND }, AHEAD],
    };
    let unguarded = Settings { reversal: Duration::ZERO, ..settings(DCB) };
    assert_eq!(run_set([unguarded; 2], 10, slow, always).0[0], Some(261));
    assert_eq!(run([DCB; 2], 10, slow, always).0[0], None);
}

proptest::proptest! {
    /// A fault of a parallel line near the second end, whose breaker opens there first: the current
    /// of this healthy line turns round, each element in its own time.
    #[test]
    fn a_reversal_of_current_trips_neither_end(
        delay in 0usize..=30,
        // When each sees the fault, and how long after the reversal it sees that.
        starts in [0u64..=15, 0..=15],
        drops in [0u64..=20, 0..=20],
        picks_up in [0u64..=20, 0..=20],
        turns_at in 150u64..300,
    ) {
        let (cleared_at, begin) = (turns_at + 150, 100);
        let see = |ms: u64| {
            let before = |end: usize| ms >= begin + starts[end] && ms < turns_at + drops[end];
            let after = |end: usize| {
                ms >= turns_at + picks_up[end] && ms < cleared_at + drops[end]
            };
            [
                Seen { forward: before(0), reverse: after(0), ..QUIET },
                Seen { reverse: before(1), forward: after(1), ..QUIET },
            ]
        };
        for scheme in [POTT, Scheme::Pott(Some(WEAK)), DCB] {
            let (tripped, _) = run([scheme; 2], delay, see, always);
            proptest::prop_assert_eq!(tripped, [None; 2], "{:?}", scheme);
        }
    }
}

#[test]
fn an_end_that_a_swing_slows_blocks_until_it_sees_a_fault_ahead() {
    // Fault from 100 ms on; the second end finds it 400 ms later than the first, with coordination of 50 ms.
    let found = |seen: [Seen; 2], is_swing| {
        let see = move |ms: u64| {
            [(100, seen[0]), (500, seen[1])].map(|(at, seen)| Seen {
                is_swing: is_swing && ms >= 10,
                ..if ms < at { QUIET } else { seen }
            })
        };
        run([DCB; 2], 5, see, always).0
    };
    assert_eq!(found([AHEAD, BEHIND], true), [None; 2]);
    assert!(found([AHEAD, BEHIND], false)[0].is_some(), "without a swing both are as fast");
    let [near, far] = found([AHEAD, AHEAD], true);
    assert!(
        near.is_some_and(|ms| (550..560).contains(&ms)) && far == Some(550),
        "{near:?} {far:?}"
    );
}

#[test]
fn there_is_no_echo_during_a_swing() {
    for (is_swing, echoes) in [(false, true), (true, false)] {
        let seen = Seen { is_swing, received: Some(true), ..QUIET };
        let mut end = Teleprotection::new(settings(Scheme::Pott(Some(WEAK))));
        let mut at = (0..200).map(|ms| SampleTime::from_ns(ms * 1_000_000));
        assert_eq!(at.any(|now| end.update(now, Some(&seen)).start), echoes);
    }
}
