use proptest::prelude::*;

use super::*;

const MS: Duration = Duration::from_millis(1);
const RECLAIM_MS: u64 = 3000;
const CLOSED: Seen = Seen {
    tripped: PhaseSet::NONE,
    initiates: false,
    is_final: false,
    open: Some(PhaseSet::NONE),
    is_charged: true,
    is_released: true,
    is_blocked: false,
};
const A: PhaseSet = PhaseSet::phase(0);
const ALL: PhaseSet = PhaseSet::ALL;

fn settings(shots_ms: &[u64], single_ms: Option<u64>) -> Settings {
    Settings {
        shots: shots_ms.iter().copied().map(Duration::from_millis).collect(),
        dead_time_single: single_ms.map(Duration::from_millis),
        reclaim: Duration::from_millis(RECLAIM_MS),
        open_within: 200 * MS,
        release_within: 1000 * MS,
        close_within: 300 * MS,
    }
}

/// An element, its time, and all states that it was in.
struct Bench {
    element: Reclosing,
    ms: u64,
    states: Vec<State>,
    last: Orders,
    rest_trips: usize,
}

impl Bench {
    /// With a breaker that is closed for so long that it is ready.
    fn new(settings: Settings) -> Self {
        let element = Reclosing::new(settings);
        let (states, last) = (vec![State::NotReady], Orders::default());
        let mut bench = Self { element, ms: 0, states, last, rest_trips: 0 };
        bench.lasts(RECLAIM_MS + 1, CLOSED);
        assert_eq!(bench.element.state(), (State::Ready, 0));
        bench
    }

    /// The same is seen for so long; answers the order at the end.
    fn lasts(&mut self, ms: u64, seen: Seen) -> bool {
        for _ in 0..ms {
            self.last = self.element.update(SampleTime::from_ns(self.ms * 1_000_000), &seen);
            self.ms += 1;
            self.rest_trips += usize::from(self.last.trip_rest);
            let (state, _) = self.element.state();
            if self.states.last() != Some(&state) {
                self.states.push(state);
            }
        }
        self.last.close
    }

    /// A trip of these poles, and a breaker that opens.
    fn trip(&mut self, poles: PhaseSet) {
        self.lasts(1, Seen { initiates: true, ..CLOSED });
        self.lasts(40, Seen { initiates: true, tripped: poles, ..CLOSED });
        self.lasts(60, Seen { tripped: poles, open: Some(poles), ..CLOSED });
    }

    fn state(&self) -> State {
        self.element.state().0
    }
}

const OPEN: Seen = Seen { open: Some(ALL), ..CLOSED };

#[test]
fn a_fault_that_is_gone_after_the_dead_time_is_forgotten_after_the_reclaim_time() {
    let mut bench = Bench::new(settings(&[500], None));
    bench.trip(ALL);
    assert!(!bench.lasts(500, OPEN) && bench.element.is_in_progress());
    assert!(bench.lasts(60, OPEN), "the order lasts until the breaker is closed");
    assert!(!bench.lasts(1, CLOSED));
    bench.lasts(RECLAIM_MS, CLOSED);
    use State::{AwaitingRelease, Closing, DeadTime, NotReady, Ready, Reclaiming, Tripping};
    assert_eq!(bench.states[..5], [NotReady, Ready, Tripping, DeadTime, Closing]);
    assert_eq!(bench.states[5..], [Reclaiming, Ready]);
    assert!(!bench.states.contains(&AwaitingRelease), "nothing is waited for");
}

#[test]
fn each_shot_has_its_dead_time_and_the_last_trip_locks_out() {
    let mut bench = Bench::new(settings(&[500, 2000], None));
    for dead_ms in [500, 2000] {
        bench.trip(ALL);
        assert!(!bench.lasts(dead_ms, OPEN) && bench.lasts(1, OPEN), "{dead_ms}");
        bench.lasts(100, CLOSED);
    }
    bench.trip(ALL);
    assert_eq!(bench.state(), State::Lockout(Reason::ShotsUsed));
    assert!(!bench.lasts(100_000, OPEN));
    // Closed by hand, it is ready again after the reclaim time.
    bench.lasts(RECLAIM_MS, CLOSED);
    assert_eq!(bench.state(), State::Lockout(Reason::ShotsUsed));
    bench.lasts(1, CLOSED);
    assert_eq!(bench.element.state(), (State::Ready, 0));
}

#[test]
fn a_breaker_closed_onto_a_fault_by_hand_stays_open() {
    let mut bench = Bench::new(settings(&[500], None));
    bench.lasts(5000, OPEN);
    bench.lasts(100, CLOSED);
    bench.trip(ALL);
    assert_eq!(bench.state(), State::Lockout(Reason::TripWhenNotReady));
}

#[test]
fn what_goes_wrong_locks_out_and_says_why() {
    let opened = |bench: &mut Bench| bench.trip(ALL);
    let nothing = |_: &mut Bench| ();
    type Before = fn(&mut Bench);
    let cases: [(Before, Seen, Reason); 7] = [
        (nothing, Seen { is_final: true, ..CLOSED }, Reason::FinalTrip),
        (nothing, Seen { tripped: ALL, ..CLOSED }, Reason::FinalTrip),
        (opened, Seen { is_final: true, ..OPEN }, Reason::FinalTrip),
        (opened, Seen { is_blocked: true, ..OPEN }, Reason::Blocked),
        (opened, Seen { is_charged: false, ..OPEN }, Reason::NotCharged),
        (opened, Seen { is_released: false, ..OPEN }, Reason::NotReleased),
        (opened, Seen { open: None, ..OPEN }, Reason::NotOpen),
    ];
    for (before, seen, reason) in cases {
        let mut bench = Bench::new(settings(&[500], None));
        before(&mut bench);
        assert!(!bench.lasts(2000, seen), "{reason:?}");
        assert_eq!(bench.state(), State::Lockout(reason));
        assert!(!bench.states.contains(&State::Closing), "{reason:?}");
    }
    let mut stuck = Bench::new(settings(&[500], None));
    stuck.lasts(1, Seen { initiates: true, ..CLOSED });
    stuck.lasts(300, Seen { tripped: ALL, ..CLOSED });
    assert_eq!(stuck.state(), State::Lockout(Reason::NotOpen));
    let mut slow = Bench::new(settings(&[500], None));
    slow.trip(ALL);
    slow.lasts(801, OPEN);
    assert_eq!(slow.state(), State::Lockout(Reason::NotClosed));
}

#[test]
fn closing_waits_for_release_and_energy_and_takes_its_chance() {
    let mut bench = Bench::new(settings(&[500], None));
    bench.trip(ALL);
    assert!(!bench.lasts(900, Seen { is_released: false, ..OPEN }));
    assert!(!bench.lasts(100, Seen { is_charged: false, ..OPEN }));
    assert!(bench.lasts(1, OPEN));
}

#[test]
fn one_pole_is_closed_again_without_a_release() {
    let mut bench = Bench::new(settings(&[500], Some(800)));
    assert!(bench.element.closes_pole());
    bench.trip(A);
    let open = Seen { open: Some(A), is_released: false, ..CLOSED };
    assert!(!bench.lasts(800, open) && bench.element.is_pole_open());
    assert!(!bench.element.closes_pole(), "the next trip is one of all poles");
    assert!(bench.lasts(1, open));
    bench.lasts(1, CLOSED);
    assert!(bench.state() == State::Reclaiming && !bench.element.is_pole_open());
}

#[test]
fn a_second_fault_while_a_pole_is_open_is_the_next_shot_or_the_end() {
    for (shots, state) in [
        (2, State::DeadTime),
        (1, State::Lockout(Reason::ShotsUsed)),
        (0, State::Lockout(Reason::ShotsUsed)),
    ] {
        let mut bench = Bench::new(settings(&[500, 2000][..shots], Some(800)));
        bench.trip(A);
        bench.lasts(300, Seen { open: Some(A), ..CLOSED });
        bench.lasts(1, Seen { initiates: true, open: Some(A), ..CLOSED });
        assert_eq!(bench.rest_trips, usize::from(shots < 2), "the others are tripped as well");
        bench.lasts(60, Seen { tripped: ALL, open: Some(A), ..CLOSED });
        bench.lasts(100, OPEN);
        assert_eq!(bench.state(), state, "{shots}");
        assert_eq!(bench.lasts(1902, OPEN), shots == 2);
    }
}

#[test]
fn a_pole_that_cannot_be_closed_takes_the_others_with_it() {
    let open = Seen { open: Some(A), ..CLOSED };
    for seen in [
        Seen { is_blocked: true, ..open },
        Seen { is_charged: false, ..open },
        Seen { open: None, ..open },
        Seen { open: Some(A | PhaseSet::phase(1)), ..open },
    ] {
        let mut bench = Bench::new(settings(&[500], Some(800)));
        bench.trip(A);
        bench.lasts(5000, seen);
        assert_eq!(bench.rest_trips, 1, "{seen:?}");
    }
}

#[test]
fn a_breaker_that_somebody_closes_pole_by_pole_meanwhile_is_not_locked_out() {
    let one_by_one = [A | PhaseSet::phase(1), A, PhaseSet::NONE].map(Some);
    for (waiting_ms, is_released) in [(100, true), (900, false)] {
        let mut bench = Bench::new(settings(&[500], None));
        bench.trip(ALL);
        bench.lasts(waiting_ms, Seen { is_released, ..OPEN });
        for open in one_by_one {
            bench.lasts(10, Seen { open, is_released, ..CLOSED });
        }
        assert_eq!((bench.state(), bench.rest_trips), (State::NotReady, 0));
    }
    let mut stuck = Bench::new(settings(&[500], None));
    stuck.trip(ALL);
    stuck.lasts(100, OPEN);
    stuck.lasts(100, Seen { open: Some(A), ..CLOSED });
    assert_eq!(stuck.state(), State::DeadTime);
    stuck.lasts(1, Seen { open: Some(A), ..CLOSED });
    assert_eq!((stuck.state(), stuck.rest_trips), (State::Lockout(Reason::NotOpen), 1));
}

#[test]
fn a_breaker_that_opens_all_poles_when_one_is_tripped_is_closed_as_after_a_trip_of_all() {
    let tripped = |bench: &mut Bench| {
        bench.lasts(40, Seen { initiates: true, tripped: A, ..CLOSED });
        bench.lasts(60, Seen { tripped: A, open: Some(ALL), ..CLOSED });
    };
    let later = |bench: &mut Bench| {
        bench.trip(A);
        bench.lasts(100, Seen { open: Some(A), ..CLOSED });
        bench.lasts(5, Seen { open: Some(A | PhaseSet::phase(2)), ..CLOSED });
    };
    let cases: [&dyn Fn(&mut Bench); 2] = [&tripped, &later];
    for before in cases {
        let mut bench = Bench::new(settings(&[500], Some(800)));
        before(&mut bench);
        let open = Seen { is_released: false, ..OPEN };
        assert!(!bench.lasts(700, open), "all poles need a release");
        assert!(bench.element.is_in_progress() && !bench.element.is_pole_open());
        assert!(bench.lasts(1, OPEN));
        let mut bench = Bench::new(settings(&[], Some(800)));
        before(&mut bench);
        assert!(!bench.lasts(2000, OPEN));
        assert_eq!(bench.state(), State::Lockout(Reason::NotOpen));
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A fault, a trip of these poles for 60 ms, and a breaker that opens meanwhile.
    Cleared(u8),
    Trip(u8),
    Final,
    NoTrip,
    /// The breaker is somewhere else, or nobody knows where.
    Open(Option<u8>),
    Charged(bool),
    Released(bool),
    Blocked(bool),
    Nothing,
}

fn any_event() -> impl Strategy<Value = (Event, u64)> {
    let poles = || prop_oneof![2 => Just(7u8), 2 => Just(1), 1 => 1u8..8];
    let event = prop_oneof![
        8 => poles().prop_map(Event::Cleared),
        1 => poles().prop_map(Event::Trip),
        1 => Just(Event::Final),
        2 => Just(Event::NoTrip),
        2 => (0u8..8).prop_map(|poles| Event::Open(Some(poles))),
        1 => Just(Event::Open(None)),
        2 => any::<bool>().prop_map(Event::Charged),
        2 => any::<bool>().prop_map(Event::Released),
        2 => any::<bool>().prop_map(Event::Blocked),
        4 => Just(Event::Nothing),
    ];
    let span = prop_oneof![0u64..50, 300u64..600, Just(RECLAIM_MS + 1)];
    (event, span)
}

fn poles(bits: u8) -> PhaseSet {
    PhaseSet::of([0, 1, 2].map(|bit| bits & (1 << bit) != 0))
}

/// An element with a breaker that closes 40 ms after its order, and what it did so far.
struct Judge {
    element: Reclosing,
    has_single: bool,
    ms: u64,
    closing_ms: u64,
    closed_ms: u64,
    shots: usize,
    was_initiated: bool,
    was_locked_out: bool,
    closings: usize,
}

impl Judge {
    fn step(&mut self, seen: &mut Seen) -> Result<(), TestCaseError> {
        let orders = self.element.update(SampleTime::from_ns(self.ms * 1_000_000), seen);
        self.ms += 1;
        self.was_initiated |= seen.initiates;
        let is_quiet = seen.is_closed() && !seen.is_trip();
        self.closed_ms = if is_quiet { self.closed_ms + 1 } else { 0 };
        if self.closed_ms >= RECLAIM_MS {
            (self.shots, self.was_initiated, self.was_locked_out) = (0, false, false);
        }
        // A trip that nothing has initiated since the last order to close.
        self.was_locked_out |= seen.is_trip() && !self.was_initiated;
        prop_assert!(!orders.close || !seen.is_trip() && !seen.is_blocked);
        if orders.close && self.closing_ms == 0 {
            (self.shots, self.closings) = (self.shots + 1, self.closings + 1);
            prop_assert!(self.was_initiated && !self.was_locked_out && seen.is_charged);
            prop_assert!(self.shots <= self.element.settings.shots_max());
            let open = seen.open.unwrap_or_default();
            let is_single = open.count() == 1 && self.has_single;
            prop_assert!(is_single || open == ALL && seen.is_released, "{open}");
            self.was_initiated = false;
        }
        self.closing_ms = if orders.close { self.closing_ms + 1 } else { 0 };
        if self.closing_ms == 40 {
            seen.open = Some(PhaseSet::NONE);
        }
        self.was_locked_out |= self.element.is_locked_out();
        Ok(())
    }

    fn lasts(&mut self, ms: u64, seen: &mut Seen) -> Result<(), TestCaseError> {
        (0..ms).try_for_each(|_| self.step(seen))
    }
}

/// Answers how often it closed.
fn judge(events: &[(Event, u64)], shots: usize, has_single: bool) -> Result<usize, TestCaseError> {
    let single_ms = has_single.then_some(450);
    let mut judge = Judge {
        element: Reclosing::new(settings(&[300, 400, 500][..shots], single_ms)),
        has_single,
        ms: 0,
        closing_ms: 0,
        closed_ms: 0,
        shots: 0,
        was_initiated: false,
        was_locked_out: false,
        closings: 0,
    };
    let mut seen = CLOSED;
    judge.lasts(RECLAIM_MS + 1, &mut seen)?;
    for (event, span_ms) in events {
        match *event {
            Event::Cleared(bits) => {
                seen.initiates = true;
                judge.lasts(1, &mut seen)?;
                // Of one pole if it would be closed, as the trip logic has it.
                let wanted = poles(bits);
                let is_single = wanted.count() == 1 && judge.element.closes_pole();
                (seen.initiates, seen.tripped) = (false, if is_single { wanted } else { ALL });
                judge.lasts(30, &mut seen)?;
                seen.open = seen.open.map(|open| open | seen.tripped);
                judge.lasts(30, &mut seen)?;
                seen.tripped = PhaseSet::NONE;
            }
            Event::Trip(bits) => seen.tripped = poles(bits),
            Event::Final => seen.is_final = true,
            Event::NoTrip => {
                (seen.initiates, seen.is_final, seen.tripped) = (false, false, PhaseSet::NONE);
            }
            Event::Open(bits) => seen.open = bits.map(poles),
            Event::Charged(is) => seen.is_charged = is,
            Event::Released(is) => seen.is_released = is,
            Event::Blocked(is) => seen.is_blocked = is,
            Event::Nothing => {}
        }
        judge.lasts(*span_ms, &mut seen)?;
    }
    Ok(judge.closings)
}

proptest! {
    /// Whatever breaker, elements and people do: it never closes without a trip, more often than it has
    /// shots, onto a breaker that is not open or a trip that lasts, while it is forbidden, or after a
    /// lockout, before the breaker was closed for the reclaim time.
    #[test]
    fn it_never_closes_when_it_must_not(
        events in prop::collection::vec(any_event(), 1..40),
        shots in 0usize..4,
        has_single in any::<bool>(),
    ) {
        judge(&events, shots, has_single)?;
    }
}

#[test]
fn what_is_judged_closes() {
    let events = [(Event::Cleared(1), 600), (Event::Cleared(7), 600), (Event::Cleared(1), 3100)];
    assert_eq!(judge(&events, 2, true).ok(), Some(2));
    assert_eq!(judge(&events[..1], 0, true).ok(), Some(1));
    assert_eq!(judge(&events[..1], 0, false).ok(), Some(0));
}

#[test]
fn a_trip_that_nothing_initiates_is_final_in_any_shot() {
    let single_pole = |bench: &mut Bench| {
        bench.trip(A);
        assert!(!bench.lasts(300, Seen { open: Some(A), ..CLOSED }));
        Some(A)
    };
    let closing = |bench: &mut Bench| {
        bench.trip(ALL);
        assert!(bench.lasts(501, OPEN));
        Some(ALL)
    };
    let reclaiming = |bench: &mut Bench| {
        closing(bench);
        bench.lasts(1, CLOSED);
        Some(PhaseSet::NONE)
    };
    type Before<'a> = &'a dyn Fn(&mut Bench) -> Option<PhaseSet>;
    let cases: [(Before<'_>, State, usize); 3] = [
        (&single_pole, State::DeadTime, 1),
        (&closing, State::Closing, 0),
        (&reclaiming, State::Reclaiming, 0),
    ];
    for (before, state, rest_trips) in cases {
        let mut bench = Bench::new(settings(&[500, 2000], Some(800)));
        let open = before(&mut bench);
        assert_eq!(bench.state(), state);
        assert!(!bench.lasts(1, Seen { tripped: ALL, open, ..CLOSED }));
        assert_eq!(bench.state(), State::Lockout(Reason::FinalTrip), "{state:?}");
        assert_eq!(bench.rest_trips, rest_trips, "{state:?}");
        assert!(!bench.lasts(5000, OPEN), "{state:?}");
    }
}

#[test]
fn a_trip_that_nothing_initiates_while_the_breaker_is_told_to_close_is_final() {
    let events = [(Event::Cleared(7), 301), (Event::Trip(7), 1), (Event::NoTrip, 401)];
    assert_eq!(judge(&events, 2, false).map_err(|error| error.to_string()), Ok(1));
}
