//! A relay in its stride asks for no memory: not while the frequency moves, not when a fault comes
//! and trips, not for a stream that breaks off, not when the setting group changes.

#[path = "support/feeder.rs"]
mod feeder;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use feeder::{MergingUnit, RATE};
use iec61850::SampleTime;
use iec61850::stream::State;
use iec61850::wire::SampledValues;
use substation::engine::{Arrival, Change, Engine};
use substation::settings;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.with(|asked| asked.set(asked.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Every kind of element at once, on the feeder's stream.
const SETTINGS: &str = include_str!("../../substation/tests/data/relay.yaml");
/// Those that look at others.
const LINE: &str = include_str!("../../substation/tests/data/line.yaml");

/// Kinds of elements that may differ do, and one is off; `I> ahead` sees the load, which holds a
/// change up.
const GROUPS: &str = "
groups:
  2:
    I>>: {pick_up: 4 kA}
    I>: {k: 0.4}
    IE>: off
    U<: {delay: 2 s}
    f<: {delay: 200 ms}
    Z1: {reach: 7 ohm}
    Id: {pick_up: 40 %}
    Y0: {delay: 200 ms}
";

/// Runs a relay on a feeder of this frequency whose fault comes at that time; samples between
/// `gap` are lost. Answers all changes and how often memory was asked for.
fn run(
    settings: &str,
    frequency_hz: f64,
    fault_at_s: f64,
    gap: std::ops::Range<u32>,
) -> (Vec<(u32, Change)>, u64) {
    let text = settings.replace("sv_id: MU02", "sv_id: MU99");
    let relay = settings::read("relay.yaml", &text).expect("the settings are good");
    let mut engine = Engine::new(&relay.protection);
    let unit = MergingUnit::new(1, Some(fault_at_s), frequency_hz);
    let mut changes = Vec::with_capacity(4096);
    let (mut asked, mut shown) = (0, 0);
    for number in 0..RATE * 3 / 2 {
        let now = SampleTime::of_sample(number.into(), RATE);
        let frame = unit.frame(number);
        let decoded = SampledValues::decode(&frame).expect("it is a frame");
        let before = ASKED.with(Cell::get);
        if !gap.contains(&number) {
            engine.sample(&Arrival::new(0, now, decoded.header, decoded.first()));
        }
        if number == RATE / 2 || number == RATE / 2 + 400 {
            engine.want_group(now, if number == RATE / 2 { 2 } else { 1 });
        }
        if number % 4 == 0 {
            changes.extend(engine.step(now).iter().map(|change| (number, *change)));
            // Shown four times a second; what is not valid shows nothing of before.
            let is_shown = engine.measurands().next().is_some_and(|of| of.is_some());
            let is_valid = engine.counters().next().is_some_and(|of| of.0 == State::Valid);
            assert!(is_valid || !is_shown, "at {number}");
            shown += u32::from(is_shown);
        }
        asked += ASKED.with(Cell::get) - before;
    }
    assert!(shown > 0, "something is measured");
    (changes, asked)
}

#[test]
fn a_relay_asks_for_no_memory_and_trips() {
    let grouped = SETTINGS.to_owned() + GROUPS;
    for (settings, frequency_hz) in
        [(&*grouped, 50.0), (&*grouped, 49.3), (&*grouped, 51.7), (LINE, 50.0)]
    {
        let (changes, asked) = run(settings, frequency_hz, 1.0, 0..0);
        assert_eq!(asked, 0, "at {frequency_hz} Hz");
        for group in [2, 1].into_iter().filter(|_| settings != LINE) {
            assert!(changes.iter().any(|(_, change)| *change == Change::Group(group)), "{group}");
        }
        // The place of Q0 among the breakers is 0; the fault begins at sample 4000.
        let trip = changes.iter().find(|(_, change)| *change == Change::Trip(0, true));
        let (number, _) = trip.expect("it trips");
        assert!((RATE..RATE + 160).contains(number), "{frequency_hz} Hz: at {number}");
    }
}

#[test]
fn a_stream_that_breaks_off_at_the_fault_trips_nothing() {
    let (changes, asked) = run(SETTINGS, 50.0, 1.0, RATE - 20..RATE * 2);
    assert_eq!(asked, 0);
    assert!(changes.iter().any(|(_, change)| *change == Change::Stream(0, State::Invalid)));
    assert!(!changes.iter().any(|(_, change)| matches!(change, Change::Trip(_, true))));
}
